//! What is decided before anything is written.

mod support;

use std::path::Path;

use sqluice::error::{Error, ErrorKind};
use sqluice::generate::Generate;
use sqluice::plan::{Plan, WriteOptions};
use sqluice::progress::{Cancel, Silent};
use sqluice::schema::Schema;
use sqluice::write::write_tables;
use support::files::Home;

fn generate(sql: &str, rows: &[(Option<&str>, u64)], write: WriteOptions) -> Result<Plan, Error> {
    let generate = Generate {
        target: None,
        schema: Schema::parse(sql.to_owned(), Path::new("x.sql"))?,
        rows: rows.iter().map(|(name, rows)| (name.map(str::to_owned), *rows)).collect(),
        seed: 7,
        write,
    };
    Ok(generate.prepare()?.plan().clone())
}

fn refused(sql: &str) -> Error {
    generate(sql, &[(None, 1)], WriteOptions::default()).unwrap_err()
}

#[test]
fn what_cannot_be_made_yet_is_refused_by_name() {
    for (sql, what) in [
        ("CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID", "table t is WITHOUT ROWID"),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT)", "table t is AUTOINCREMENT"),
        ("CREATE TABLE t (a UNIQUE)", "table t has UNIQUE"),
        ("CREATE TABLE t (a INT PRIMARY KEY)", "table t has UNIQUE or a PRIMARY KEY that is not its rowid"),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY DESC)", "table t has UNIQUE or a PRIMARY KEY"),
        ("CREATE TABLE t (a CHECK (a > 0))", "table t has a CHECK"),
        ("CREATE TABLE t (a, b AS (a))", "table t has a generated column"),
        ("CREATE TABLE t (a); CREATE INDEX i ON t (a)", "index i of table t can't be made yet"),
        ("CREATE TABLE t (a); CREATE VIRTUAL TABLE r USING rtree(a, b, c)", "virtual table r"),
        ("CREATE VIRTUAL TABLE r USING fts5(a); CREATE TABLE t (a)", "virtual table r"),
        ("CREATE VIEW v AS SELECT 1", "declares no table"),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY -- gen: int(1, 9)\n)", "must be row()"),
    ] {
        let error = refused(sql);
        assert!(error.message().contains(what), "{sql}: {error}");
        assert_eq!(error.kind(), ErrorKind::Input, "{sql}");
    }
}

#[test]
fn rows_for_a_table_by_name_count_more_than_rows_for_all_and_later_ones_more_than_earlier() {
    let sql = "CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x);";
    let rows = |rows: &[(Option<&str>, u64)]| -> Vec<u64> {
        let plan = generate(sql, rows, WriteOptions::default()).unwrap();
        plan.tables.iter().map(|table| table.rows.unwrap()).collect()
    };
    assert_eq!(rows(&[(None, 5)]), [5, 5, 5]);
    assert_eq!(rows(&[(Some("B"), 7), (None, 5)]), [5, 7, 5]);
    assert_eq!(rows(&[(None, 5), (Some("b"), 7), (Some("b"), 0), (None, 6)]), [6, 0, 6]);
    assert_eq!(rows(&[(Some("a"), 1), (Some("b"), 2), (Some("c"), 3)]), [1, 2, 3]);

    let nobody = generate(sql, &[(Some("a"), 1), (Some("c"), 1)], WriteOptions::default()).unwrap_err();
    assert_eq!((nobody.kind(), nobody.message()), (ErrorKind::Usage, "how many rows shall b have?"));
    let unknown = generate(sql, &[(None, 1), (Some("d"), 1)], WriteOptions::default()).unwrap_err();
    assert_eq!(unknown.to_string(), "x.sql:1:14: the schema has no table d, only: a, b, c");
}

#[test]
fn threads_are_as_many_as_asked_for_and_fit_the_memory() {
    let plan = |options| generate("CREATE TABLE t (a)", &[(None, 1)], options);
    let options = WriteOptions { chunk_bytes: 1 << 20, ..WriteOptions::default() };
    let threads = |threads, memory_bytes| {
        plan(WriteOptions { threads: Some(threads), memory_bytes, ..options }).map(|plan| plan.threads)
    };
    assert_eq!(threads(5, 256 << 20).unwrap(), 5);
    assert_eq!(threads(5, 6 << 20).unwrap(), 2);
    assert_eq!(threads(1, 3 << 20).unwrap(), 1);
    let error = threads(1, (3 << 20) - 1).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Usage, "3145727 bytes of memory are too few"));
    assert_eq!(threads(0, 256 << 20).unwrap_err().kind(), ErrorKind::Usage);
    assert!(plan(options).unwrap().threads > 0);
}

#[test]
fn a_plan_prints_what_will_be_done() {
    let plan = generate("CREATE TABLE t (a)", &[(None, 3)], WriteOptions::default()).unwrap();
    let printed = plan.to_string();
    for part in [
        "target   none",
        "pages    of 4096 bytes, 2048 at a time",
        "t: 3 rows from the generator, seed 7",
        "CREATE TABLE t (a)",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

#[test]
fn nothing_is_written_for_a_plan_that_is_refused() {
    let home = Home::new();
    let path = home.path("x.db");
    let schema = Schema::parse("CREATE TABLE t (a UNIQUE)".to_owned(), Path::new("x.sql")).unwrap();
    let write = |sources| {
        let options = WriteOptions::default();
        write_tables(Some(&path), &schema, sources, &options, &Silent, &Cancel::new()).unwrap_err()
    };
    assert_eq!(write(vec![Box::new(sqluice::source::NoRows)]).kind(), ErrorKind::Input);
    assert_eq!(write(vec![]).message(), "0 sources of rows for 1 tables");
    assert_eq!(home.names(), Vec::<String>::new());
}

#[test]
fn a_plan_notes_that_triggers_do_not_fire() {
    let sql = "CREATE TABLE t (a); CREATE TRIGGER later AFTER INSERT ON t BEGIN DELETE FROM t; END;";
    let generate = Generate {
        target: None,
        schema: Schema::parse(sql.to_owned(), Path::new("s.sql")).unwrap(),
        rows: vec![(None, 3)],
        seed: 1,
        write: WriteOptions::default(),
    };
    let plan = generate.prepare().unwrap().plan().to_string();
    assert!(
        plan.contains("\n-- note     trigger later is made after the rows, and does not fire for them\n"),
        "{plan}"
    );
}
