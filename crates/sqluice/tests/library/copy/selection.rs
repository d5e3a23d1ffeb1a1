//! Copies of some tables, or without some tables or indexes.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sqluice::copy::{Copy, CopyReport};
use sqluice::error::Result;

use super::content::{integrity, open};

fn shop() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
    Connection::open(&source)
        .unwrap()
        .execute_batch(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE);
             CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer REFERENCES customers, day TEXT);
             CREATE TABLE log (at, what);
             CREATE INDEX by_day ON orders (day);
             CREATE UNIQUE INDEX once ON log (at);
             CREATE VIEW sales AS SELECT name, day FROM orders JOIN customers ON customers.id = customer;
             CREATE VIEW days AS SELECT DISTINCT day FROM orders;
             CREATE TRIGGER logs AFTER INSERT ON orders BEGIN INSERT INTO log VALUES (new.id, 'order'); END;
             CREATE VIRTUAL TABLE words USING fts5(text);
             INSERT INTO words VALUES ('some words');
             INSERT INTO customers (name) VALUES ('Ann'), ('Bob');
             INSERT INTO orders (customer, day) VALUES (1, '2026-01-01'), (2, '2026-01-02');
             ANALYZE;",
        )
        .unwrap();
    (folder, source, target)
}

fn run(copy: &Copy) -> Result<CopyReport> {
    copy.run()
}

fn names(db: &Path, sql: &str) -> Vec<String> {
    let connection = open(db);
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn objects(db: &Path) -> Vec<String> {
    names(db, "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY rowid")
}

#[test]
fn a_selection_that_breaks_a_view_trigger_or_reference_is_refused_unless_forced() {
    let (_folder, source, target) = shop();
    let copy = Copy::new(&source, &target).exclude_tables(["customers"]);
    let error = run(&copy).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("view sales") && said.contains("foreign key of table orders to customers"),
        "{said}"
    );
    assert!(!said.contains("view days") && !said.contains("trigger"), "{said}");
    assert!(!target.exists());
    let report = run(&copy.force(true)).unwrap();
    assert_eq!(report.broken.len(), 2);
    assert_eq!(integrity(&target), "ok");
    assert!(!objects(&target).contains(&"customers".to_owned()));
    assert_eq!(names(&target, "SELECT name FROM sqlite_sequence"), ["orders"]);
    assert!(!names(&target, "SELECT tbl FROM sqlite_stat1").contains(&"customers".to_owned()));
}

#[test]
fn the_error_about_a_table_left_out_of_a_copy_names_the_trigger_that_uses_it() {
    let (_folder, source, target) = shop();
    let error = run(&Copy::new(&source, &target).exclude_tables(["log"])).unwrap_err();
    assert!(error.to_string().contains("trigger logs"), "{error}");
}

#[test]
fn the_setting_no_indexes_leaves_out_only_indexes_that_are_not_unique() {
    let (_folder, source, target) = shop();
    let report = run(&Copy::new(&source, &target).no_indexes(true)).unwrap();
    assert_eq!(report.left_out, ["index by_day"]);
    assert_eq!(integrity(&target), "ok");
    assert!(!names(&target, "SELECT coalesce(idx, '') FROM sqlite_stat1").contains(&"by_day".to_owned()));
}

#[test]
fn selected_virtual_tables_are_copied_with_their_shadow_tables() {
    let (_folder, source, target) = shop();
    let report = run(&Copy::new(&source, &target).tables(["WORDS", "customers"])).unwrap();
    assert!(report.rows > 0);
    assert_eq!(integrity(&target), "ok");
    let kept = objects(&target);
    assert!(kept.iter().all(|name| name.starts_with("words") || name == "customers"), "{kept:?}");
    assert_eq!(names(&target, "SELECT text FROM words WHERE words MATCH 'some'"), ["some words"]);
}

#[test]
fn selecting_a_table_that_does_not_exist_is_an_error_with_the_nearest_name() {
    let (_folder, source, target) = shop();
    let error = run(&Copy::new(&source, &target).tables(["order"])).unwrap_err();
    assert!(error.to_string().contains("no table or view order"), "{error}");
    assert!(error.hint_text().unwrap().contains("orders"));
}
