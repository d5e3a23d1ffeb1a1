//! Rows that are read from pages, with computed columns from SQLite, equal the rows of SELECT.

use std::path::Path;
use std::sync::Arc;

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice_core::batch::{Batch, ROWS_MAX, Value};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::quoted;
use sqluice_core::source::{Refused, Source};
use sqluice_reader::Snapshot;
use sqluice_reader::rows::{ReadPath, Rows, Selection};
use sqluice_reader::snapshot::ReadOptions;
use sqluice_testkit::tables::{Exact, by_sqlite, make_table};

fn exact(value: &Value<'_>) -> Exact {
    match *value {
        Value::Null => Exact::Null,
        Value::Int(int) => Exact::Int(int),
        Value::Real(real) => Exact::Real(real.to_bits()),
        Value::Text(text) => Exact::Text(text.to_vec()),
        Value::Blob(blob) => Exact::Blob(blob.to_vec()),
    }
}

fn snapshot(db: &Path) -> Arc<Snapshot> {
    Arc::new(Snapshot::begin(db, &ReadOptions::new(), &Cancel::new()).unwrap())
}

fn of_table(db: &Path, table: &str, selection: &Selection) -> sqluice_core::error::Result<Rows> {
    let snapshot = snapshot(db);
    let schema = snapshot.schema().unwrap();
    Rows::of_table(&snapshot, &schema, table, selection)
}

fn drain(source: &mut dyn Source) -> sqluice_core::error::Result<Vec<Vec<Exact>>> {
    let mut rows = Vec::new();
    while let Some(mut part) = source.next_part()? {
        part.decode(&mut |batch: &Batch<'_>| -> Result<(), Refused> {
            assert!((1..=ROWS_MAX).contains(&batch.rows));
            for row in 0..batch.rows {
                rows.push(batch.columns.iter().map(|column| exact(&column.get(row))).collect());
            }
            Ok(())
        })?;
    }
    Ok(rows)
}

fn read(rows: &Rows, part_bytes: usize) -> Vec<Vec<Exact>> {
    drain(&mut *rows.source(part_bytes, &Cancel::new()).unwrap()).unwrap()
}

/// Asserts that rows are equal, and shows the first difference.
fn same(read: &[Vec<Exact>], expected: &[Vec<Exact>]) -> Result<(), TestCaseError> {
    for (row, (read, expected)) in read.iter().zip(expected).enumerate() {
        prop_assert!(read == expected, "row {}: {:.300?} and not {:.300?}", row, read, expected);
    }
    prop_assert_eq!(read.len(), expected.len());
    Ok(())
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(150))]

    #[test]
    fn every_value_of_any_table_is_what_select_returns(seed in any::<u64>()) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("x.db");
        let name = make_table(&mut rng, &db);
        // In WAL mode the newest pages stay in the log while this is open.
        let open = Connection::open(&db).unwrap();
        let sql = format!("PRAGMA wal_autocheckpoint = 0; DELETE FROM {} WHERE c0 IS NULL OR c0 = ''", quoted(&name));
        open.execute_batch(&sql).unwrap();
        let expected = by_sqlite(&db, &format!("SELECT * FROM {} NOT INDEXED", quoted(&name)));
        // Create the index after the SELECT: SQLite might read an index that has all columns, in the order of the index.
        if rng.bool() {
            let sql = format!("CREATE INDEX by_c0 ON {} (c0)", quoted(&name));
            Connection::open(&db).unwrap().execute_batch(&sql).unwrap();
        }
        let rows = of_table(&db, &name, &Selection::default()).unwrap();
        let part_bytes = *rng.choice(&[1, 4096, 1 << 20]).unwrap();
        same(&read(&rows, part_bytes), &expected)?;
        let limit = rng.u64(0..200);
        let limited = of_table(&db, &name, &Selection::default().limit(limit)).unwrap();
        let first = expected.len().min(limit as usize);
        same(&read(&limited, part_bytes), &expected[..first])?;
        // Some of the columns, in another order.
        let mut chosen: Vec<usize> = (0..rows.columns().len()).collect();
        rng.shuffle(&mut chosen);
        chosen.truncate(rng.usize(1..=chosen.len()));
        let columns: Vec<String> = chosen.iter().map(|&column| rows.columns()[column].name.clone()).collect();
        let expected: Vec<Vec<Exact>> =
            expected.iter().map(|row| chosen.iter().map(|&column| row[column].clone()).collect()).collect();
        let some = of_table(&db, &name, &Selection::default().columns(columns)).unwrap();
        same(&read(&some, part_bytes), &expected)?;
    }
}

#[test]
fn each_part_of_a_counted_source_has_the_number_of_its_first_row() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("x.db");
    let connection = Connection::open(&db).unwrap();
    let sql =
        "PRAGMA page_size = 512; CREATE TABLE t (a, b); CREATE TABLE w (a PRIMARY KEY, b) WITHOUT ROWID;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO t SELECT i, 'row ' || i FROM n; INSERT INTO w SELECT * FROM t";
    connection.execute_batch(sql).unwrap();
    for table in ["t", "w"] {
        let rows = of_table(&db, table, &Selection::default()).unwrap();
        assert_eq!(rows.read_path(), ReadPath::Pages);
        let mut source = rows.counted_source(5..15_000, &Cancel::new()).unwrap();
        let (mut next, mut parts) = (5, 0);
        while let Some(mut part) = source.next_part().unwrap() {
            assert_eq!(part.first_row(), next);
            parts += 1;
            part.decode(&mut |batch: &Batch<'_>| -> Result<(), Refused> {
                assert_eq!(exact(&batch.columns[0].get(0)), Exact::Int(next as i64 - 4));
                next += batch.rows as u64;
                Ok(())
            })
            .unwrap();
        }
        assert_eq!((next, source.rows_done()), (15_000, 15_000));
        assert!(parts >= 1);
    }
}

#[test]
fn views_virtual_tables_conditions_and_queries_are_read_by_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("x.db");
    let connection = Connection::open(&db).unwrap();
    let sql =
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c AS (a * 2)); CREATE VIEW v AS SELECT b, a FROM t;
        CREATE VIRTUAL TABLE f USING fts5(x, y); INSERT INTO f VALUES ('one', 'two');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        INSERT INTO t (a, b) SELECT i, 'row ' || i FROM n; CREATE INDEX i ON t (b)";
    connection.execute_batch(sql).unwrap();
    drop(connection);
    for (table, sql) in
        [("t", "SELECT * FROM t NOT INDEXED"), ("v", "SELECT * FROM v"), ("f", "SELECT * FROM f")]
    {
        let rows = of_table(&db, table, &Selection::default()).unwrap();
        assert_eq!(rows.read_path(), ReadPath::Sqlite);
        assert_eq!(read(&rows, 4096), by_sqlite(&db, sql), "{table}");
    }
    let filter = Selection::default().filter("b LIKE '%7' -- or not".to_owned()).limit(40);
    let rows = of_table(&db, "t", &filter).unwrap();
    assert_eq!(read(&rows, 4096), by_sqlite(&db, "SELECT * FROM t WHERE b LIKE '%7' LIMIT 40"));
    let stored = Selection::default().columns(vec!["B".to_owned(), "rowid".to_owned()]);
    let rows = of_table(&db, "T", &stored).unwrap();
    assert_eq!(rows.read_path(), ReadPath::Pages);
    assert_eq!(read(&rows, 4096), by_sqlite(&db, "SELECT b, rowid FROM t NOT INDEXED"));
    let query = "SELECT count(*) AS n, max(b) AS last, 1.5 AS half, NULL AS void FROM t GROUP BY a % 7";
    let rows = Rows::of_query(&snapshot(&db), query, None).unwrap();
    assert_eq!(read(&rows, 1), by_sqlite(&db, query));
    let rows = Rows::of_query(&snapshot(&db), &format!("{query}; -- all"), Some(3)).unwrap();
    assert_eq!(read(&rows, 1), by_sqlite(&db, &format!("{query} LIMIT 3")));
}

#[test]
fn statements_that_are_no_queries_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("x.db");
    Connection::open(&db).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    for (sql, message) in [
        ("DELETE FROM t", "changes the database"),
        ("COMMIT", "returns no rows"),
        ("SELECT 1; SELECT 2", "several statements"),
        ("SELECT a FROM t WHERE", "incomplete input"),
        ("SELECT a, a FROM t", "two columns are called a"),
        ("", "returns no rows"),
    ] {
        let error = Rows::of_query(&snapshot(&db), sql, None).unwrap_err();
        let cause = std::error::Error::source(&error).map_or(String::new(), ToString::to_string);
        assert!(format!("{error}: {cause}").contains(message), "{sql}: {error}: {cause}");
    }
    let error = of_table(&db, "u", &Selection::default()).unwrap_err();
    assert!(error.message().contains("no table u"), "{error}");
    let error = of_table(&db, "t", &Selection::default().columns(vec!["b".to_owned()])).unwrap_err();
    assert!(error.message().contains("no column b"), "{error}");
}

#[test]
fn text_that_is_not_unicode_is_an_error_with_its_place() {
    for (encoding, bytes) in [("UTF-8", "x'61ff'"), ("UTF-16le", "x'610000d8'"), ("UTF-16be", "x'0061d800'")]
    {
        for (kind, place) in
            [("", "table t, rowid 2, column b"), ("WITHOUT ROWID", "table t, key 20, column b")]
        {
            let folder = tempfile::tempdir().unwrap();
            let db = folder.path().join("x.db");
            let sql = format!(
                "PRAGMA encoding = '{encoding}'; CREATE TABLE t (a INT PRIMARY KEY, b TEXT) {kind};
                 INSERT INTO t VALUES (10, '\u{e4}'), (20, CAST({bytes} AS TEXT)), (30, CAST({bytes} AS TEXT))"
            );
            Connection::open(&db).unwrap().execute_batch(&sql).unwrap();
            let rows = of_table(&db, "t", &Selection::default()).unwrap();
            let error = drain(&mut *rows.source(4096, &Cancel::new()).unwrap()).unwrap_err();
            assert!(error.message().contains(place), "{encoding} {kind}: {error}");
        }
    }
}
