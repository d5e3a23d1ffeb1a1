//! Compares full-text indexes with twins that SQLite has filled and optimized: they have the same bytes, and the same answers, also after
//! changes.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::index::{FullText, Index};
use sqluice::options::WritePath;
use sqluice::progress::Context;
use sqluice_testkit::cases;

use super::support::{Answer, ask, insert, make, same};
use crate::support::files::Home;

/// Everything that is random in a case.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    rows: usize,
    detail: &'static str,
    columnsize: bool,
    prefix: Option<&'static str>,
    tokenize: Option<&'static str>,
    own: bool,
    unindexed: bool,
    rowid_alias: bool,
    journal_mode: &'static str,
    page_bytes: u32,
}

fn case() -> impl Strategy<Value = Case> {
    let tokenizers = [
        None,
        None,
        Some("porter"),
        Some("ascii"),
        Some("trigram"),
        Some("unicode61 remove_diacritics 2 tokenchars '-_'"),
    ];
    let table = (any::<u64>(), 0usize..400, any::<bool>(), 0..2usize, 9u32..14);
    let options = (
        prop::sample::select(vec!["full", "full", "column", "none"]),
        any::<bool>(),
        prop::sample::select(vec![None, Some("2"), Some("1 4"), Some("3,3")]),
        prop::sample::select(tokenizers.to_vec()),
        any::<bool>(),
        any::<bool>(),
    );
    (table, options).prop_map(|((seed, rows, rowid_alias, mode, page), options)| {
        let (detail, columnsize, prefix, tokenize, own, unindexed) = options;
        let journal_mode = ["delete", "wal"][mode];
        let page_bytes = 1 << page;
        Case {
            seed,
            rows,
            detail,
            columnsize: columnsize || own,
            prefix,
            tokenize,
            own,
            unindexed,
            rowid_alias,
            journal_mode,
            page_bytes,
        }
    })
}

impl Case {
    fn full_text(&self) -> FullText {
        let mut options = vec![format!("detail={}", self.detail)];
        if !self.columnsize {
            options.push("columnsize=0".to_owned());
        }
        let columns = if self.unindexed { "t(a, c UNINDEXED, b)" } else { "t(a, b)" };
        FullText::new([columns])
            .name("f".to_owned())
            .prefix(self.prefix.map(str::to_owned))
            .tokenize(self.tokenize.map(str::to_owned))
            .options(options)
            .own_content(self.own)
            .triggers(true)
    }

    /// Makes the database without the full-text table.
    fn database(&self, path: &Path) {
        let random = &mut fastrand::Rng::with_seed(self.seed);
        let connection = Connection::open(path).unwrap();
        let id = if self.rowid_alias { "id INTEGER PRIMARY KEY, " } else { "" };
        connection
            .execute_batch(&format!(
                "PRAGMA page_size = {}; PRAGMA journal_mode = {}; PRAGMA synchronous = off;
                 CREATE TABLE t ({id}a, b REAL, x INT)",
                self.page_bytes, self.journal_mode
            ))
            .unwrap();
        // The first rows are older than the column c.
        connection
            .execute_batch("INSERT INTO t (rowid, a, b) VALUES (-9, 'every 5.0 run', 7), (-8, 3, NULL)")
            .unwrap();
        connection.execute_batch("ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'a default run'").unwrap();
        insert(&connection, 10, self.rows, random);
    }

    /// Has SQLite make the full-text table, by several flushes and `optimize`.
    fn fill(&self, path: &Path) {
        let full_text = self.full_text();
        let prepared = Index::new(path, [""; 0]).full_text(full_text).prepare(&Context::default()).unwrap();
        let plan = &prepared.plan().full_text[0];
        assert_eq!(plan.write_path, WritePath::Sorted, "{}", plan.why);
        let fill = match (self.own, self.unindexed) {
            (false, _) => "INSERT INTO f(f) VALUES ('rebuild')",
            (true, false) => "INSERT INTO f(rowid, a, b) SELECT rowid, a, b FROM t",
            (true, true) => "INSERT INTO f(rowid, a, c, b) SELECT rowid, a, c, b FROM t",
        };
        let connection = Connection::open(path).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA synchronous = off; {};
                 INSERT INTO f(f, rank) VALUES ('automerge', 0), ('hashsize', 1000); {fill};
                 INSERT INTO f(f) VALUES ('optimize');
                 INSERT INTO f(f, rank) VALUES ('automerge', 4), ('hashsize', 1048576); {}",
                plan.sql,
                plan.triggers.join("; ")
            ))
            .unwrap();
    }
}

/// Returns the rows of the shadow tables without the structure and the options, as if the only segment had number 1.
pub(super) fn shadows(connection: &Connection) -> Vec<(&'static str, Answer)> {
    let segment = "(SELECT max(segid) - 1 FROM f_idx)";
    [
        ("averages", "SELECT block FROM f_data WHERE id = 1".to_owned()),
        (
            "data",
            format!("SELECT id - coalesce({segment} << 37, 0), block FROM f_data WHERE id > 10 ORDER BY id"),
        ),
        ("idx", format!("SELECT segid - {segment}, term, pgno FROM f_idx ORDER BY segid, term")),
        ("docsize", "SELECT id, sz FROM f_docsize ORDER BY id".to_owned()),
        ("content", "SELECT * FROM f_content ORDER BY id".to_owned()),
    ]
    .map(|(name, sql)| (name, ask(connection, &sql, &[])))
    .into()
}

/// Has SQLite change both databases in the same way, and compares them after each change.
fn change_both(ours: &Connection, twin: &Connection, case: &Case) {
    let changes = [
        "DELETE FROM t WHERE rowid % 10 = 3",
        "UPDATE t SET a = 'every changed ' || coalesce(a, ''), b = b WHERE rowid % 7 = 1",
        "INSERT INTO t (rowid, a, b, c) SELECT rowid + 100000, b, a, c FROM t WHERE rowid % 5 = 2",
        "INSERT INTO f(f, rank) VALUES ('merge', 50)",
        "INSERT INTO f(f, rank) VALUES ('merge', -200)",
        "INSERT INTO f(f) VALUES ('optimize')",
        "INSERT INTO f(f) VALUES ('rebuild')",
    ];
    for sql in changes {
        for connection in [ours, twin] {
            connection.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error} {case:?}"));
        }
        same(ours, twin, sql);
    }
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn an_index_is_that_of_optimize(case in case()) {
        let home = Home::new();
        let (before, twin) = (home.path("before.db"), home.path("twin.db"));
        case.database(&before);
        fs::copy(&before, &twin).unwrap();
        case.fill(&twin);
        let twin = Connection::open(&twin).unwrap();
        let expected = shadows(&twin);
        // SQLite lays out a single segment in another way, and two flushes are certain only with some text.
        let is_same_bytes = case.rows > 40;
        for (threads, memory) in [(1, 64 << 20), (2, 1 << 20), (4, 2 << 20)] {
            let path = home.path(&format!("{threads}.db"));
            fs::copy(&before, &path).unwrap();
            let report = make(&path, case.full_text(), threads, memory).unwrap();
            let report = &report.full_text[0];
            prop_assert_eq!(report.rows, case.rows as u64 + 2);
            let ours = Connection::open(&path).unwrap();
            if is_same_bytes {
                for (ours, expected) in shadows(&ours).iter().zip(&expected) {
                    prop_assert!(ours == expected, "{} with {} threads", ours.0, threads);
                }
            }
            if threads == 2 {
                same(&ours, &twin, "new");
                change_both(&ours, &twin, &case);
            } else {
                let checked = ours.execute_batch("INSERT INTO f(f, rank) VALUES ('integrity-check', 1)");
                prop_assert!(checked.is_ok(), "{checked:?}");
            }
        }
    }
}
