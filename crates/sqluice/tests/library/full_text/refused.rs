//! Tests of full-text indexes that are refused, each with its reason. The database stays as it was.

use rusqlite::Connection;
use sqluice::index::{FullText, Index};
use sqluice::progress::Context;

use crate::support::files::Home;
use crate::support::lived_in::but_for_counters;

#[test]
fn what_can_not_be_made_is_refused_by_name_before_anything_is_written() {
    let home = Home::new();
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a, b); INSERT INTO t VALUES ('x', 'y'); CREATE VIEW v AS SELECT a FROM t;
             CREATE TABLE w (k PRIMARY KEY, a) WITHOUT ROWID; CREATE TABLE r (rowid, _rowid_, oid);
             CREATE TABLE taken_data (x); CREATE VIRTUAL TABLE o USING fts5(a)",
        )
        .unwrap();
    connection.close().unwrap();
    let before = but_for_counters(&path);
    let of = |table: &str| FullText::new([table]);
    let t = || of("t(a)");
    for (full_text, message) in [
        (of("t"), "\"t\" is no table with columns"),
        (of("u(a)"), "table u does not exist"),
        (of("t(c)"), "table t has no column c"),
        (of("v(a)"), "v can't have a full-text index here: it is a view"),
        (
            of("w(a)"),
            "w can't have a full-text index here: it is WITHOUT ROWID, and FTS5 finds rows by their rowids",
        ),
        (of("o(a)"), "o can't have a full-text index here: it is a virtual table, or SQLite's own"),
        (of("r(rowid)"), "columns of table r have all names of the rowid"),
        (t().name("t".to_owned()), "table t exists already"),
        (t().name("taken".to_owned()), "table taken_data exists already"),
        (
            t().tokenize("snowball english".to_owned()),
            "SQLite refuses the full-text index: no such tokenizer: snowball",
        ),
        (
            t().tokenize("unicode61 remove_diacritics 9".to_owned()),
            "SQLite refuses the full-text index: error in tokenizer constructor",
        ),
        (
            t().prefix("0".to_owned()),
            "SQLite refuses the full-text index: prefix length out of range (max 999)",
        ),
        (t().options(["detail=half"]), "the FTS5 option detail must be full, column or none, not \"half\""),
        (t().options(["columnsize=2"]), "the FTS5 option columnsize must be 0 or 1, not \"2\""),
        (
            t().options(["columnsize"]),
            "`fts_option`: \"columnsize\" is no name and value, such as detail=none",
        ),
        (t().options(["detail=none", "detail=full"]), "the FTS5 option detail is given twice"),
        (t().options(["content=x"]), "the FTS5 option content has a setting of its own"),
        (
            t().options(["contentless_delete=1"]),
            "the FTS5 option contentless_delete is for contentless tables, and this index has content",
        ),
        (t().options(["pgsz=64"]), "the FTS5 option pgsz is not known here"),
        (
            FullText::new(["t(a)", "t(b)"]).name("f".to_owned()),
            "`fts_name` is the name of one full-text table, and `fts` is given 2 times",
        ),
        (FullText::default(), "no index to create"),
    ] {
        let index = Index::new(&path, [""; 0]).full_text(full_text);
        let planned = index.prepare(&Context::default()).unwrap_err();
        assert_eq!(planned.message(), message);
        assert_eq!(index.run().unwrap_err().message(), message);
    }
    assert!(but_for_counters(&path) == before);
}

#[test]
fn a_row_that_is_too_big_for_sqlite_is_named() {
    let home = Home::new();
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    // SQLite refuses the text before it takes memory for it.
    connection
        .execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n, other); CREATE INDEX i ON t (other);
             INSERT INTO t VALUES (-3, 5, 9), (7, 2000000000, 8), (9, 3, 7);
             CREATE VIEW v AS SELECT id, CAST(zeroblob(n) AS TEXT) AS a FROM t;
             CREATE VIRTUAL TABLE f USING fts5(a, content=v, content_rowid=id)",
        )
        .unwrap();
    connection.close().unwrap();
    let index = Index::new(&path, [""; 0]).full_text(FullText::default().rebuild(["f"]));
    let error = index.run().unwrap_err();
    assert_eq!(error.message(), "the row with rowid 7 of v is too big for the full-text index f");
    assert!(error.hint_text().unwrap().contains("1,000,000,000 bytes"), "{error}");
}
