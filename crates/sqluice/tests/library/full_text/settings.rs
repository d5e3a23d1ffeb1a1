//! Tests of full-text indexes: the plan, the choice between sqluice and SQLite, one transaction with other indexes, and canceled runs.

use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use sqluice::index::{FullText, Index};
use sqluice::options::WritePath;
use sqluice::progress::{Amount, Cancel, Context, Progress};

use super::support::{ask, insert, make, same};
use crate::support::files::Home;
use crate::support::lived_in::but_for_counters;

/// Makes a database with the table `t`.
fn database(home: &Home, before: &str, columns: &str) -> std::path::PathBuf {
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(&format!("{before}; PRAGMA synchronous = off; CREATE TABLE t ({columns})"))
        .unwrap();
    insert(&connection, 0, 300, &mut fastrand::Rng::with_seed(4));
    path
}

#[test]
fn a_plan_has_the_statements_and_writes_nothing() {
    let home = Home::new();
    let path = database(&home, "", "id INTEGER PRIMARY KEY, a, b, c");
    let before = but_for_counters(&path);
    let full_text = FullText::new(["t(a, b UNINDEXED)"])
        .tokenize("unicode61 tokenchars '-'".to_owned())
        .prefix("2 3".to_owned())
        .options(["detail=none"])
        .triggers(true);
    let prepared = Index::new(&path, [""; 0]).full_text(full_text).prepare(&Context::default()).unwrap();
    let plan = &prepared.plan().full_text[0];
    assert_eq!(
        plan.sql,
        "CREATE VIRTUAL TABLE \"t_fts\" USING fts5(\"a\", \"b\" UNINDEXED, content=\"t\", content_rowid=\"id\", \
         tokenize='unicode61 tokenchars ''-''', prefix='2 3', detail='none')"
    );
    assert_eq!((&*plan.name, &*plan.table, plan.triggers.len()), ("t_fts", "t", 3));
    assert!(
        prepared
            .plan()
            .to_string()
            .contains("-- t_fts on t: full-text index, sorted, its terms are sorted on all cores\n")
    );
    assert!(but_for_counters(&path) == before);
}

#[test]
fn sqlite_builds_what_only_sqlite_can_read() {
    for (before, columns, options, own, why) in [
        ("", "a AS (b || 'x'), b, c", &[][..], false, "SQLite computes column a"),
        ("PRAGMA encoding = 'UTF-16le'", "a, b, c", &[], false, "UTF-16"),
        ("PRAGMA auto_vacuum = full", "a, b, c", &[], true, "auto_vacuum"),
        ("", "a, b, c", &["locale=1"], false, "locales"),
    ] {
        let home = Home::new();
        let path = home.path("x.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("{before}; CREATE TABLE t ({columns})")).unwrap();
        connection
            .execute_batch(
                "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200)
                 INSERT INTO t (b, c) SELECT 'every run ' || i, 'antler' FROM n",
            )
            .unwrap();
        let full_text =
            FullText::new(["t(a, b)"]).name("f".to_owned()).options(options.iter().copied()).own_content(own);
        let index = Index::new(&path, [""; 0]).full_text(full_text.clone());
        let prepared = index.prepare(&Context::default()).unwrap();
        let plan = &prepared.plan().full_text[0];
        assert!(plan.write_path == WritePath::Sqlite && plan.why.contains(why), "{}", plan.why);
        make(&path, full_text, 2, 64 << 20).unwrap();
        let connection = Connection::open(&path).unwrap();
        let found = ask(&connection, "SELECT count(*) FROM f WHERE f MATCH 'every run'", &[]).unwrap();
        assert_eq!(found, [[200.into()]]);
        same(&connection, &connection, why);
    }
}

#[test]
fn indexes_and_full_text_indexes_are_one_transaction() {
    let home = Home::new();
    let path = database(&home, "PRAGMA journal_mode = wal", "a, b, c");
    let index = Index::new(&path, ["CREATE INDEX by_c ON t (c)"]);
    let report = index.full_text(FullText::new(["t(a)", "\"t\"(b)"])).run().unwrap_err();
    assert_eq!(report.message(), "two full-text indexes are called t_fts");
    let index = Index::new(&path, ["CREATE INDEX by_c ON t (c)"]);
    let report = index.full_text(FullText::new(["t(a, b)"]).name("f".to_owned())).run().unwrap();
    assert_eq!((report.indexes[0].entries, report.full_text[0].rows), (300, 300));
    let connection = Connection::open(&path).unwrap();
    same(&connection, &connection, "both");
    let names = ask(&connection, "SELECT name FROM sqlite_schema WHERE name IN ('by_c', 'f')", &[]).unwrap();
    assert_eq!(names.len(), 2);
}

#[test]
fn a_table_without_rows_or_words_gets_an_index_that_works() {
    for rows in ["", "INSERT INTO t VALUES ('', NULL, x''), ('---', '...', '')"] {
        let home = Home::new();
        let path = home.path("x.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("CREATE TABLE t (a, b, c); {rows}")).unwrap();
        drop(connection);
        let report =
            make(&path, FullText::new(["t(a, b, c)"]).name("f".to_owned()).triggers(true), 2, 64 << 20);
        assert_eq!(report.unwrap().full_text[0].terms, 0);
        let connection = Connection::open(&path).unwrap();
        same(&connection, &connection, "empty");
        connection.execute_batch("INSERT INTO t VALUES ('every run', 'run', 1)").unwrap();
        same(&connection, &connection, "with a row");
        assert_eq!(
            ask(&connection, "SELECT count(*) FROM f WHERE f MATCH 'run'", &[]).unwrap(),
            [[1.into()]]
        );
    }
}

/// Cancels a run when it reports its progress for the time `at`, counted from 0.
pub(super) struct StopAt {
    at: usize,
    reports: AtomicUsize,
    pub(super) cancel: Cancel,
}

impl StopAt {
    pub(super) fn new(at: usize) -> StopAt {
        StopAt { at, reports: AtomicUsize::new(0), cancel: Cancel::new() }
    }
}

impl Progress for StopAt {
    fn phase(&self, _: &str, _: Option<Amount>) {
        if self.reports.fetch_add(1, Ordering::Relaxed) == self.at {
            self.cancel.cancel();
        }
    }

    fn advance(&self, _: Amount) {
        self.phase("", None);
    }
}

#[test]
fn a_run_that_is_canceled_anywhere_leaves_the_database_as_it_was() {
    for mode in ["delete", "wal"] {
        let home = Home::new();
        let path = database(&home, &format!("PRAGMA journal_mode = {mode}"), "a, b, c");
        let before = but_for_counters(&path);
        let mut canceled = 0;
        for at in 0.. {
            let stop = StopAt::new(at);
            let full_text = FullText::new(["t(a, b)"]).name("f".to_owned()).own_content(true);
            let index = Index::new(&path, [""; 0]).full_text(full_text);
            let context = Context::default().progress(&stop).cancel(&stop.cancel);
            if index.run_with(&context).is_ok() {
                break;
            }
            canceled += 1;
            assert!(mode == "wal" || but_for_counters(&path) == before, "{at}");
            let connection = Connection::open(&path).unwrap();
            let tables = ask(&connection, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'f%'", &[]);
            assert_eq!(tables.unwrap(), [[0.into()]], "{at}");
        }
        assert!(canceled > 5, "{canceled}");
        let connection = Connection::open(&path).unwrap();
        same(&connection, &connection, mode);
    }
}
