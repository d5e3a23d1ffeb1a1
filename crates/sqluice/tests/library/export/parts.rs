//! Reads of a table in parts: the parts make up the table, and a read fails if another connection has committed since they were planned.

use std::path::Path;

use arrow_array::RecordBatch;
use rusqlite::Connection;
use sqluice::error::Error;
use sqluice::progress::{Cancel, Context};
use sqluice::read::Read;
use sqluice_reader::Snapshot;
use sqluice_reader::snapshot::ReadOptions;
use sqluice_testkit::effort::tries;

const TABLES: [&str; 3] = [
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, any, price DECIMAL(9, 2), later DATE)",
    "CREATE TABLE t (name TEXT, id INTEGER, any, price NUMERIC, later DATE, PRIMARY KEY (name, id)) WITHOUT ROWID",
    "CREATE TABLE t (id INT, name TEXT, any, price NUMERIC, later DATE)",
];

/// Makes a table whose columns without a type have other kinds of values at the end than at the beginning.
fn make(db: &Path, table: &str, journal_mode: &str, rows: u32) {
    let connection = Connection::open(db).unwrap();
    let sql = format!(
        "PRAGMA page_size = 512; PRAGMA journal_mode = {journal_mode}; {table};
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
         INSERT INTO t (id, name, any, price, later) SELECT i, format('name %05d', i),
             CASE WHEN i < 2900 THEN NULL ELSE 'text ' || i END, CASE WHEN i < 1500 THEN i ELSE i + 0.5 END,
             CASE WHEN i > 100 THEN '2026-11-24' END FROM n"
    );
    connection.execute_batch(&sql).unwrap();
}

fn rows(read: &Read) -> Result<Vec<RecordBatch>, Error> {
    read.open(&Context::default())?.collect()
}

/// Returns the rows as text, one after another.
fn shown(batches: &[RecordBatch]) -> Vec<String> {
    let row = |batch: &RecordBatch, row: usize| format!("{:?}", batch.slice(row, 1).columns());
    batches
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(|at| row(batch, at)).collect::<Vec<_>>())
        .collect()
}

#[test]
fn the_parts_of_a_table_in_order_make_up_the_whole_table_with_its_types() {
    for table in TABLES {
        for count in [0, 1, 3000] {
            let folder = tempfile::tempdir().unwrap();
            let db = folder.path().join("x.db");
            make(&db, table, "DELETE", count);
            let whole = Read::table(&db, "t").threads(1);
            let expected = rows(&whole).unwrap();
            let schema = whole.open(&Context::default()).unwrap().schema().clone();
            let basis = whole.find_basis(&Context::default()).unwrap();
            for parts in [1, 2, 7, tries(50, 1000, 1000)] {
                let mut found = Vec::new();
                let mut filled = 0;
                for part in 0..parts {
                    let read = whole.clone().part((part, parts)).basis(basis.clone());
                    let batches = rows(&read).unwrap();
                    assert!(
                        batches.iter().all(|batch| batch.schema() == schema),
                        "{table}, part {part} of {parts}"
                    );
                    filled += u32::from(batches.iter().any(|batch| batch.num_rows() > 0));
                    found.extend(batches);
                }
                assert!(count < 3000 || filled >= parts.min(7), "{filled} of {parts} parts have rows");
                assert_eq!(shown(&found), shown(&expected), "{table}, {count} rows, {parts} parts");
            }
        }
    }
}

#[test]
fn parts_of_a_table_can_be_read_with_some_of_the_columns() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("x.db");
    make(&db, TABLES[0], "DELETE", 3000);
    let whole = Read::table(&db, "t").columns(vec!["price".to_owned(), "id".to_owned()]).threads(2);
    let basis = whole.find_basis(&Context::default()).unwrap();
    let mut found = Vec::new();
    for part in 0..5 {
        found.extend(rows(&whole.clone().part((part, 5)).basis(basis.clone())).unwrap());
    }
    assert_eq!(shown(&found), shown(&rows(&whole).unwrap()));
    let others = Read::table(&db, "t").columns(vec!["id".to_owned()]).basis(basis);
    assert!(rows(&others).unwrap_err().to_string().contains("different columns"));
}

#[test]
fn reading_a_part_of_a_table_fails_if_the_database_changed_since_the_parts_were_planned() {
    for journal_mode in ["DELETE", "WAL"] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("x.db");
        make(&db, TABLES[0], journal_mode, 3000);
        // This connection stays open, because SQLite removes the log in WAL mode when the last connection is closed.
        let writer = Connection::open(&db).unwrap();
        let mut changes = 0;
        for change in [
            "UPDATE t SET name = 'another' WHERE id = 1",
            "PRAGMA wal_checkpoint(TRUNCATE); UPDATE t SET name = 'a third' WHERE id = 1",
            "CREATE TABLE other (x)",
        ] {
            let whole = Read::table(&db, "t").threads(1);
            let basis = whole.find_basis(&Context::default()).unwrap();
            let part = whole.part((1, 3)).basis(basis);
            let before = shown(&rows(&part).unwrap());
            assert_eq!(shown(&rows(&part).unwrap()), before, "a reading changes nothing");
            writer.execute_batch(change).unwrap();
            let error = rows(&part).unwrap_err().to_string();
            assert!(error.contains("has changed since"), "{journal_mode}: {error}");
            changes += 1;
        }
        assert_eq!(changes, 3);
    }
}

#[test]
fn each_change_of_a_database_whose_log_is_restarted_gives_another_state() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("x.db");
    make(&db, TABLES[0], "WAL", 10);
    let state = || Snapshot::begin(&db, &ReadOptions::new(), &Cancel::new()).unwrap().state().unwrap();
    let writer = Connection::open(&db).unwrap();
    let mut states = vec![state()];
    for _ in 0..20 {
        writer
            .execute_batch("UPDATE t SET name = name || 'x' WHERE id = 1; PRAGMA wal_checkpoint(RESTART)")
            .unwrap();
        states.push(state());
        assert_eq!(states.last(), Some(&state()));
    }
    states.sort();
    states.dedup();
    assert_eq!(states.len(), 21, "{states:#?}");
}

#[test]
fn reading_parts_of_views_queries_and_conditions_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("x.db");
    make(&db, TABLES[0], "DELETE", 10);
    let connection = Connection::open(&db).unwrap();
    connection
        .execute_batch(
            "CREATE VIEW v AS SELECT * FROM t; CREATE VIRTUAL TABLE f USING fts5(a);
             CREATE TABLE g (a, b AS (a + 1) VIRTUAL)",
        )
        .unwrap();
    for (read, message) in [
        (Read::table(&db, "v"), "can't be read in parts"),
        (Read::table(&db, "f"), "can't be read in parts"),
        (Read::table(&db, "g"), "can't be read in parts"),
        (Read::query(&db, "SELECT * FROM t"), "a query has no parts"),
        (Read::table(&db, "t").limit(3), "exclude each other"),
        (Read::table(&db, "t").filter("id > 3".to_owned()), "exclude each other"),
        (Read::table(&db, "t").part((2, 2)), "part 2 of 2 does not exist"),
        (Read::table(&db, "t").part((0, 0)), "part 0 of 0 does not exist"),
    ] {
        let read = if read.part.is_none() { read.part((0, 2)) } else { read };
        let error = rows(&read).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    // The other columns of a table with a computed column can be read in parts.
    let stored = Read::table(&db, "g").columns(vec!["a".to_owned()]).part((0, 1));
    assert!(rows(&stored).is_ok());
}
