//! Rows appended to a table with indexes: the indexes are rebuilt from their old entries and those of the new rows, and compared with a
//! copy into which SQLite inserts the same rows.

use crate::support::existing::{Old, add, assert_whole, content, copied, one, schema};
use crate::support::files::Home;
use crate::support::keys::{Row, insert, source};
use crate::support::lived_in::{but_for_counters, entries, root_page};
use crate::support::rows::Owned;
use crate::support::{Random, cases};
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::options::{OnConflict, WriteOptions};

const DECLARED: &str =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, a COLLATE NOCASE, b, UNIQUE (b, id));
    CREATE INDEX t_a ON t (a DESC, b); CREATE UNIQUE INDEX t_u ON t (u DESC, id)";

/// Returns `count` rows with keys from `first` on.
fn rows(random: &mut Random, first: i64, count: usize, bytes: usize) -> Vec<Row> {
    let row = |number: i64, random: &mut Random| {
        let unique = if random.one_in(5) {
            Owned::Null
        } else {
            Owned::Text(format!("{}{number}", random.next() % 9).into_bytes())
        };
        let a = match random.below(4) {
            0 => Owned::Int(random.next() as i64 % 20),
            1 => Owned::Text(random.pick(&["a", "A", "b", "B "]).as_bytes().to_vec()),
            _ => Owned::Text(vec![b'a' + random.next() as u8 % 20; random.below(bytes)]),
        };
        let b = if random.one_in(3) { Owned::Null } else { Owned::Int(random.next() as i64 % 1000) };
        vec![Owned::Int(number), unique, a, b]
    };
    (0..count as i64).map(|number| row(first + number, random)).collect()
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn indexes_rebuilt_by_an_append_have_the_old_and_the_new_entries(
        wal in any::<bool>(),
        page_bytes in prop::sample::select(&[512u32, 512, 1024, 4096, 65536][..]),
        (there, come) in (prop_oneof![Just(0usize), 1..40usize, 40..2500usize], prop_oneof![1..30usize, 30..2000usize]),
        bytes in prop::sample::select(&[10usize, 60, 3000][..]),
        threads in 1..4usize,
        seed in any::<u64>(),
    ) {
        let mut random = Random(seed);
        let home = Home::new();
        let path = home.path("x.db");
        Old { page_bytes, wal, rows: 50, deleted: 2, then: String::new() }.create(&path);
        let database = Connection::open(&path).unwrap();
        database.execute_batch(&format!("PRAGMA synchronous = OFF; {DECLARED}; BEGIN")).unwrap();
        insert(&database, "t", OnConflict::Abort, &rows(&mut random, 5, there, bytes)).unwrap();
        // The pages of an index that grew by insertion and lost entries are in no order in the file.
        database.execute_batch("DELETE FROM t WHERE id % 3 = 1; COMMIT").unwrap();
        database.close().unwrap();
        let theirs = copied(&home, &path, "theirs.db");
        let come = rows(&mut random, 5 + there as i64, come, bytes);

        let chunk_bytes = page_bytes as usize * (1 + random.below(30));
        let options = WriteOptions::new().threads(threads).tune(|tuning| tuning.chunk_bytes = chunk_bytes);
        add(&path, &schema(DECLARED), vec![source(&come, 100)], &options).map_err(|e| TestCaseError::fail(format!("{e:?}")))?;
        let twin = Connection::open(&theirs).unwrap();
        twin.execute_batch("BEGIN").unwrap();
        insert(&twin, "t", OnConflict::Abort, &come).unwrap();
        twin.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();

        assert_whole(&path, if wal { "wal" } else { "delete" });
        let ours = Connection::open(&path).unwrap();
        prop_assert!(content(&ours) == content(&twin));
        let (our_bytes, their_bytes) = (std::fs::read(&path).unwrap(), std::fs::read(&theirs).unwrap());
        for name in ["sqlite_autoindex_t_1", "sqlite_autoindex_t_2", "t_a", "t_u"] {
            prop_assert!(entries(&our_bytes, root_page(&ours, name)) == entries(&their_bytes, root_page(&twin, name)), "{name}");
        }
        // The old pages of a large index become free pages, which SQLite uses again.
        if there > 1000 && page_bytes == 512 {
            prop_assert!(one::<i64>(&ours, "PRAGMA freelist_count") > 20);
        }
        ours.execute_batch("INSERT INTO t (u, a, b) SELECT 'later' || id, a, b FROM t; DELETE FROM t WHERE id % 2 = 1").unwrap();
        ours.close().unwrap();
        assert_whole(&path, if wal { "wal" } else { "delete" });
    }
}

#[test]
fn appending_a_key_that_exists_already_is_refused_and_changes_nothing() {
    for wal in [false, true] {
        let home = Home::new();
        let path = home.path("x.db");
        Old { wal, ..Old::default() }.create(&path);
        let database = Connection::open(&path).unwrap();
        let random = &mut Random(7);
        database.execute_batch(&format!("{DECLARED}; BEGIN")).unwrap();
        insert(&database, "t", OnConflict::Abort, &rows(random, 1, 3000, 30)).unwrap();
        database.execute_batch("UPDATE t SET u = 'taken' WHERE id = 77; COMMIT").unwrap();
        database.close().unwrap();
        let before = but_for_counters(&path);
        let mut come = rows(random, 3001, 2000, 30);
        come[500][1] = Owned::Text(b"taken".to_vec());
        let refused =
            add(&path, &schema(DECLARED), vec![source(&come, 100)], &WriteOptions::default()).unwrap_err();
        assert_eq!(refused.message(), "UNIQUE constraint failed: t.u = 'taken' in rowids 77 and 3501");
        assert_whole(&path, if wal { "wal" } else { "delete" });
        assert!(but_for_counters(&path) == before, "wal {wal}");
    }
}
