//! `index` makes the same entries as CREATE INDEX, byte for byte, in databases of every kind.

use std::path::Path;

use crate::support::files::{Home, integrity};
use crate::support::lived_in::{entries, fill, journal_mode, root_page, schema_rows};
use crate::support::{Random, cases};
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::error::Error;
use sqluice::index::{Index, Report};
use sqluice::options::{WriteOptions, WritePath};

/// Indexed columns and expressions, with orders and collations.
const KEYS: [&str; 21] = [
    "a",
    "a DESC",
    "b",
    "b COLLATE NOCASE, a",
    "b COLLATE RTRIM DESC, c DESC",
    "c",
    "d",
    "d, a COLLATE BINARY",
    "c DESC, d, k",
    "k",
    "k, k COLLATE NOCASE",
    "a, b, c, d, k",
    "a, a COLLATE NOCASE",
    "b, d DESC",
    "lower(b)",
    "a || k, c",
    "c + d DESC",
    "length(a), b COLLATE NOCASE DESC",
    "typeof(d) COLLATE RTRIM, d",
    "CAST(a AS REAL), \"d\"",
    "coalesce(a, c) -- a comment\n, k",
];

/// WHERE clauses of partial indexes.
const FILTERS: [&str; 9] = [
    "",
    "",
    "",
    "",
    " WHERE a > 5",
    " WHERE b IS NOT NULL",
    " WHERE typeof(c) = 'real'",
    " WHERE d = 5 OR k < 9",
    " WHERE c -- a comment",
];

fn index(path: &Path, statements: &[String], threads: usize, chunk_pages: usize) -> Result<Report, Error> {
    let page_bytes = {
        Connection::open(path).unwrap().query_row("PRAGMA page_size", [], |row| row.get::<_, u32>(0)).unwrap()
    } as usize;
    let write = WriteOptions::new()
        .threads(threads)
        .memory_bytes(16 << 20)
        .tune(|tuning| tuning.chunk_bytes = chunk_pages * page_bytes);
    Index::new(path, statements).write(write).run()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn index_entries_equal_those_of_create_index_byte_for_byte(
        seed in any::<u64>(),
        wal in any::<bool>(),
        rows in prop_oneof![Just(0..1usize), Just(0..30), Just(0..800)],
        threads in 1..4usize,
        chunk_pages in 1..40usize,
    ) {
        let mut random = Random(seed);
        let home = Home::new();
        let (ours, theirs) = (home.path("ours.db"), home.path("theirs.db"));
        let mode = if wal { "wal" } else { random.pick(&["delete", "truncate", "persist"]) };
        let rows = rows.start + random.below(rows.len());
        let said = {
            let connection = Connection::open(&ours).unwrap();
            connection.execute_batch("PRAGMA synchronous = off").unwrap();
            let said = fill(&connection, &mut random, rows);
            connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
            said
        };
        std::fs::copy(&ours, &theirs).unwrap();
        let statements: Vec<String> = (0..1 + random.below(3))
            .map(|at| {
                let unique = if random.one_in(4) { "UNIQUE " } else { "" };
                let (key, filter) = (random.pick(&KEYS), random.pick(&FILTERS));
                format!("create {unique}index  if not exists main.\"i {at}\" ON T ({key}){filter} -- end")
            })
            .collect();
        let said = format!("{said}; {mode}; {statements:?}");
        let twin = Connection::open(&theirs).unwrap();
        twin.execute_batch("PRAGMA synchronous = off; BEGIN").unwrap();
        let made = statements.iter().try_for_each(|sql| twin.execute_batch(sql));
        let report = index(&ours, &statements, threads, chunk_pages);
        if let Err(error) = made {
            let refused = report.map(drop).expect_err(&said);
            prop_assert!(error.to_string().contains("UNIQUE"), "{}: {}", said, error);
            prop_assert!(refused.message().starts_with("UNIQUE constraint failed"), "{said}: {refused:?}");
            twin.execute_batch("ROLLBACK").unwrap();
        } else {
            twin.execute_batch("COMMIT").unwrap();
            let report = report.map_err(|error| TestCaseError::fail(format!("{said}: {error:?}")))?;
            prop_assert!(report.indexes.iter().all(|index| index.root_page > 0 || index.write_path == WritePath::Sqlite));
            prop_assert_eq!(&report.journal_mode_after, &report.journal_mode_before);
        }
        let after = Connection::open(&ours).unwrap();
        prop_assert_eq!(integrity(&after), "ok", "{}", said);
        prop_assert_eq!(schema_rows(&after), schema_rows(&twin), "{}", said);
        // The indexes are read from the files below, so the log is copied into each file first.
        for connection in [&after, &twin] {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        }
        let (our_bytes, their_bytes) = (std::fs::read(&ours).unwrap(), std::fs::read(&theirs).unwrap());
        for (kind, name, ..) in schema_rows(&twin) {
            if kind == "index" {
                let our_entries = entries(&our_bytes, root_page(&after, &name));
                let their_entries = entries(&their_bytes, root_page(&twin, &name));
                prop_assert!(our_entries == their_entries, "{}: {}", said, name);
            }
        }
        // SQLite can change both databases afterwards.
        after.execute_batch("INSERT OR IGNORE INTO t (k, a) VALUES (77, 'later'); DELETE FROM t WHERE b = 'b'").unwrap();
        prop_assert_eq!(integrity(&after), "ok", "{}", said);
        drop(after);
        // Modes other than WAL are not stored in the file, so they are not told apart.
        prop_assert_eq!(journal_mode(&ours) == "wal", wal);
    }
}
