//! Tests of ingested rows that become pages within the open transaction of a connection, and of the cases in which SQLite inserts the rows.

use std::path::Path;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float64Array, Int32Array, Int64Array, LargeStringArray,
    RecordBatchIterator, StringArray, StringViewArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::ArrowError;
use tempfile::TempDir;

use super::*;
use crate::ingest::ingest;
use crate::names::shared_memory;
use crate::query::{Results, execute};
use crate::raw::Statement;

/// A row count that is large enough for the rows to be written as pages.
const MANY: i64 = 20_000;

fn in_file(home: &TempDir) -> Arc<Shared> {
    Shared::open(home.path().join("a.db").to_str().unwrap()).unwrap()
}

fn sql(shared: &Arc<Shared>, sql: &str) -> Result<()> {
    execute(Statement::new(shared, sql)?, None).map(drop)
}

fn one<T: rusqlite::types::FromSql>(shared: &Shared, sql: &str) -> T {
    shared.lock().connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Returns the result of a query on another connection.
fn seen(path: &Path, sql: &str) -> i64 {
    let other = rusqlite::Connection::open(path).unwrap();
    other.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn into(table: &str) -> Target {
    Target { table: Some(table.to_owned()), ..Target::default() }
}

fn appending(table: &str) -> Target {
    Target { mode: Some(adbc_core::options::IngestMode::Append), ..into(table) }
}

fn ints(from: i64, rows: i64) -> RecordBatch {
    let ints: ArrayRef = Arc::new(Int64Array::from_iter_values(from..from + rows));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((from..from + rows).map(|int| format!("text {int}"))));
    RecordBatch::try_from_iter([("a", ints), ("b", texts)]).unwrap()
}

/// Returns a stream of the batches of an iterator.
fn stream(
    schema: SchemaRef,
    batches: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send + 'static,
) -> Box<dyn RecordBatchReader + Send> {
    Box::new(RecordBatchIterator::new(batches, schema))
}

fn many() -> Box<dyn RecordBatchReader + Send> {
    stream(ints(0, 0).schema(), [Ok(ints(0, MANY))].into_iter())
}

/// Writes rows as pages; returns `None` if they have to be inserted with SQL.
fn as_pages(
    shared: &Arc<Shared>,
    target: &Target,
    rows: Box<dyn RecordBatchReader + Send>,
) -> Result<Option<i64>> {
    let name = format!("main.\"{}\"", target.table.as_deref().unwrap());
    write(shared, target, &name, &mut Rows::new(rows)?, shared.cancellations())
}

/// Returns rows with columns of most Arrow types, with NULLs.
fn of_all_types() -> RecordBatch {
    let rows = || 0..MANY;
    let some = |row: &i64| row % 7 != 3;
    let texts = || rows().map(move |row| some(&row).then(|| "é\0x".repeat((row % 50) as usize)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("int64", Arc::new(Int64Array::from_iter_values(rows().map(|row| row.wrapping_mul(i64::MAX / 7))))),
        ("int32", Arc::new(rows().map(|row| some(&row).then_some(row as i32)).collect::<Int32Array>())),
        ("uint64", Arc::new(UInt64Array::from_iter_values(rows().map(|row| row as u64)))),
        ("flag", Arc::new(rows().map(|row| some(&row).then_some(row % 2 == 0)).collect::<BooleanArray>())),
        ("real", Arc::new(rows().map(|row| some(&row).then(|| row as f64 / 4.0)).collect::<Float64Array>())),
        (
            "odd",
            Arc::new(Float64Array::from_iter_values(
                rows().map(|row| [f64::NAN, -0.0, f64::INFINITY, 1e300][row as usize % 4]),
            )),
        ),
        ("text", Arc::new(texts().collect::<StringArray>())),
        ("large", Arc::new(texts().collect::<LargeStringArray>())),
        ("view", Arc::new(texts().collect::<StringViewArray>())),
        ("blob", Arc::new(texts().map(|text| text.map(String::into_bytes)).collect::<BinaryArray>())),
        ("date", Arc::new(Date32Array::from_iter_values(rows().map(|row| row as i32 - 10_000)))),
        (
            "moment",
            Arc::new(TimestampMicrosecondArray::from_iter_values(rows().map(|row| row * 12_345_678_901))),
        ),
        ("nulls", arrow_array::new_null_array(&DataType::Null, MANY as usize)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// Returns all values of a table, with their classes.
fn content(shared: &Shared, table: &str) -> Vec<String> {
    let state = shared.lock();
    let mut statement = state.connection.prepare(&format!("SELECT rowid, * FROM {table}")).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let values = (0..columns).map(|column| Ok(format!("{:?}", row.get_ref(column)?)));
        values.collect::<rusqlite::Result<Vec<String>>>().map(|values| values.join("|"))
    });
    rows.unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn rows_written_as_pages_equal_rows_inserted_by_sqlite() {
    let home = tempfile::tempdir().unwrap();
    let (file, memory) = (in_file(&home), Shared::open(&shared_memory()).unwrap());
    for (number, table) in [
        "t (a TEXT, int64, real INTEGER, b, text REAL, flag NUMERIC NOT NULL)",
        "u (int64, c AS (int64 % 7) STORED)",
    ]
    .iter()
    .enumerate()
    {
        for shared in [&file, &memory] {
            sql(shared, &format!("CREATE TABLE {table}")).unwrap();
        }
        let name = table.split(' ').next().unwrap();
        let columns: &[&str] = if number == 0 { &["int64", "real", "text", "date"] } else { &["int64"] };
        let rows = of_all_types();
        let chosen = |name: &str| {
            let name = if name == "flag" { "int64" } else { name };
            Arc::clone(rows.column_by_name(name).unwrap())
        };
        let named = columns
            .iter()
            .map(|name| if *name == "date" { ("flag", chosen("flag")) } else { (*name, chosen(name)) });
        let batch =
            RecordBatch::try_from_iter_with_nullable(named.map(|(name, column)| (name, column, true)))
                .unwrap();
        for _ in 0..2 {
            let given = || stream(batch.schema(), [Ok(batch.clone())].into_iter());
            assert_eq!(as_pages(&file, &appending(name), given()).unwrap(), Some(MANY));
            assert_eq!(ingest(&memory, &appending(name), given()).unwrap(), MANY);
        }
        assert_eq!(content(&file, name), content(&memory, name));
    }
    let batch = of_all_types();
    let given =
        || stream(batch.schema(), [Ok(batch.slice(0, 3)), Ok(batch.slice(3, MANY as usize - 3))].into_iter());
    assert_eq!(as_pages(&file, &into("new"), given()).unwrap(), Some(MANY));
    assert_eq!(ingest(&memory, &into("new"), given()).unwrap(), MANY);
    assert_eq!(content(&file, "new"), content(&memory, "new"));
    let schema = "SELECT sql FROM sqlite_schema WHERE name = 'new'";
    assert_eq!(one::<String>(&file, schema), one::<String>(&memory, schema));
    assert_eq!(one::<String>(&file, "PRAGMA integrity_check"), "ok");
}

/// The ways in which a transaction ends without a COMMIT.
const ENDS: [&str; 3] = ["ROLLBACK of the driver", "ROLLBACK by SQL", "close"];

#[test]
fn an_uncommitted_transaction_with_rows_written_as_pages_leaves_no_rows() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        for end in ENDS {
            for before in ["", "CREATE TABLE old AS SELECT 1 AS a"] {
                let home = tempfile::tempdir().unwrap();
                let path = home.path().join("a.db");
                let shared = in_file(&home);
                drop(one::<String>(&shared, &format!("PRAGMA journal_mode = {mode}")));
                if !before.is_empty() {
                    sql(&shared, before).unwrap();
                }
                let bytes = 4096 * one::<i64>(&shared, "PRAGMA page_count").max(1) as u64;
                shared.lock().set_autocommit(false).unwrap();
                assert_eq!(as_pages(&shared, &into("t"), many()).unwrap(), Some(MANY), "{mode} {before}");
                assert_eq!(one::<i64>(&shared, "SELECT count(*) FROM t"), MANY);
                assert_eq!(seen(&path, "SELECT count(*) FROM sqlite_schema"), i64::from(!before.is_empty()));
                sql(&shared, "INSERT INTO t SELECT a + 100000, b FROM t").unwrap();
                match end {
                    "ROLLBACK of the driver" => shared.lock().end("ROLLBACK").unwrap(),
                    "ROLLBACK by SQL" => sql(&shared, "ROLLBACK").unwrap(),
                    _ => drop(shared),
                }
                let what = format!("{mode}, {end}, {before}");
                assert_eq!(
                    seen(&path, "SELECT count(*) FROM sqlite_schema"),
                    i64::from(!before.is_empty()),
                    "{what}"
                );
                assert!(std::fs::metadata(&path).unwrap().len() <= bytes, "{what}");
                let again = in_file(&home);
                again.lock().set_autocommit(false).unwrap();
                assert_eq!(as_pages(&again, &into("t"), many()).unwrap(), Some(MANY), "{what}");
                again.lock().end("COMMIT").unwrap();
                assert_eq!(seen(&path, "SELECT count(*) FROM t"), MANY, "{what}");
                assert_eq!(one::<String>(&again, "PRAGMA integrity_check"), "ok", "{what}");
            }
        }
    }
}

#[test]
fn savepoints_and_changes_after_rows_written_as_pages_belong_to_the_transaction() {
    let home = tempfile::tempdir().unwrap();
    let shared = in_file(&home);
    shared.lock().set_autocommit(false).unwrap();
    assert_eq!(as_pages(&shared, &into("t"), many()).unwrap(), Some(MANY));
    sql(&shared, "SAVEPOINT mine").unwrap();
    sql(&shared, "UPDATE t SET b = NULL").unwrap();
    // In an open transaction, rows can't be written as pages.
    assert_eq!(as_pages(&shared, &appending("t"), many()).unwrap(), None);
    assert_eq!(ingest(&shared, &appending("t"), many()).unwrap(), MANY);
    sql(&shared, "ROLLBACK TO mine").unwrap();
    sql(&shared, "DELETE FROM t WHERE a >= 5000").unwrap();
    shared.lock().end("COMMIT").unwrap();
    let path = home.path().join("a.db");
    assert_eq!(seen(&path, "SELECT count(*) FROM t WHERE b LIKE 'text %'"), 5000);
    assert_eq!(one::<String>(&shared, "PRAGMA integrity_check"), "ok");
}

#[test]
fn rows_are_inserted_with_sql_if_pages_are_impossible() {
    let cases = [
        ("a table with an index", "CREATE TABLE t (a UNIQUE, b)"),
        ("a trigger", "CREATE TABLE t (a, b); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END"),
        ("a CHECK", "CREATE TABLE t (a CHECK (a >= 0), b)"),
        ("given rowids", "CREATE TABLE t (a INTEGER PRIMARY KEY, b)"),
        ("a DEFAULT", "CREATE TABLE t (a, b, c DEFAULT 1)"),
        ("WITHOUT ROWID", "CREATE TABLE t (a PRIMARY KEY, b) WITHOUT ROWID"),
        (
            "a view",
            "CREATE TABLE u (a, b); CREATE VIEW t AS SELECT * FROM u; CREATE TRIGGER r INSTEAD OF INSERT ON t BEGIN INSERT INTO u VALUES (new.a, new.b); END",
        ),
        ("a temporary table", "CREATE TABLE t (a, b); CREATE TEMP TABLE t (a, b)"),
        ("temporary files in memory", "CREATE TABLE t (a, b); PRAGMA temp_store = MEMORY"),
        ("auto_vacuum", "PRAGMA auto_vacuum = FULL; CREATE TABLE t (a, b)"),
        ("UTF-16", "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (a, b)"),
        ("a journal in memory", "CREATE TABLE t (a, b); PRAGMA journal_mode = MEMORY"),
        ("an attached database", "CREATE TABLE t (a, b); ATTACH ':memory:' AS other"),
        (
            "exclusive locks",
            "CREATE TABLE t (a, b); PRAGMA locking_mode = EXCLUSIVE; INSERT INTO t VALUES (-1, 'x'); DELETE FROM t",
        ),
    ];
    for (what, made) in cases {
        let home = tempfile::tempdir().unwrap();
        let shared = in_file(&home);
        shared.lock().connection.execute_batch(made).unwrap();
        assert_eq!(as_pages(&shared, &appending("t"), many()).unwrap(), None, "{what}");
        assert!(shared.lock().connection.is_autocommit(), "{what}");
        if what != "a view" {
            assert_eq!(ingest(&shared, &appending("t"), many()).unwrap(), MANY, "{what}");
            assert_eq!(one::<i64>(&shared, "SELECT count(*) FROM main.t"), MANY, "{what}");
        }
    }
    let home = tempfile::tempdir().unwrap();
    let shared = in_file(&home);
    let uri = format!("file:{}?cache=shared", home.path().join("shared.db").display());
    for name in [uri, shared_memory(), ":memory:".to_owned()] {
        let shared = Shared::open(&name).unwrap();
        assert_eq!(as_pages(&shared, &into("t"), many()).unwrap(), None, "{name}");
        assert_eq!(ingest(&shared, &into("t"), many()).unwrap(), MANY, "{name}");
    }
    let few = stream(ints(0, 0).schema(), [Ok(ints(0, 10))].into_iter());
    assert_eq!(as_pages(&shared, &into("few"), few).unwrap(), None);
}

#[test]
fn a_stream_of_rows_may_query_the_connection_but_not_change_it() {
    let home = tempfile::tempdir().unwrap();
    let shared = in_file(&home);
    assert_eq!(as_pages(&shared, &into("old"), many()).unwrap(), Some(MANY));
    let inner = Arc::clone(&shared);
    let mut kept = Vec::new();
    let batches = (0..MANY / 1000).map(move |number| {
        // The first batches are read ahead, before rows are written as pages: the connection is not yet restricted.
        if number < 3 {
            return Ok(ints(number * 1000, 1000));
        }
        let query = Statement::new(&inner, "SELECT a FROM old").unwrap();
        let mut result = Results::new(query, None, 1024).unwrap();
        result.next().unwrap().unwrap();
        // The result has no open statement, even if it is not read to its end.
        kept.push(result);
        if number == 5 {
            for change in [
                "INSERT INTO old VALUES (1, 1)",
                "COMMIT",
                "ROLLBACK",
                "ATTACH ':memory:' AS x",
                "PRAGMA temp_store = 2",
            ] {
                assert!(sql(&inner, change).unwrap_err().message.contains("being written"), "{change}");
            }
            inner.lock().end("ROLLBACK").unwrap_err();
            ingest(&inner, &into("third"), many()).unwrap_err();
        }
        Ok(ints(number * 1000, 1000))
    });
    assert_eq!(ingest(&shared, &into("t"), stream(ints(0, 0).schema(), batches)).unwrap(), MANY);
    assert_eq!(one::<i64>(&shared, "SELECT count(*) FROM t"), MANY);
    assert_eq!(one::<String>(&shared, "PRAGMA integrity_check"), "ok");
}

#[test]
fn rows_are_inserted_with_sql_while_a_result_is_being_read() {
    let home = tempfile::tempdir().unwrap();
    let shared = in_file(&home);
    assert_eq!(as_pages(&shared, &into("old"), many()).unwrap(), Some(MANY));
    let query = Statement::new(&shared, "SELECT a FROM old").unwrap();
    let reading = Results::new(query, None, 1024).unwrap();
    assert_eq!(as_pages(&shared, &into("t"), many()).unwrap(), None);
    assert_eq!(reading.map(|batch| batch.unwrap().num_rows() as i64).sum::<i64>(), MANY);
    assert_eq!(as_pages(&shared, &into("t"), many()).unwrap(), Some(MANY));
}

#[test]
fn a_failed_ingestion_leaves_no_rows() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.db");
    let shared = in_file(&home);
    sql(&shared, "CREATE TABLE t (a NOT NULL, b)").unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    let schema = ints(0, 0).schema();

    let failing = [Ok(ints(0, MANY)), Err(ArrowError::ComputeError("mine".to_owned()))].into_iter();
    let error = ingest(&shared, &into("u"), stream(Arc::clone(&schema), failing)).unwrap_err();
    assert!(error.message.contains("mine"), "{}", error.message);

    let inner = Arc::clone(&shared);
    let cancelled = (0..50).map(move |number| {
        if number == 25 {
            inner.interrupt();
        }
        Ok(ints(number * 1000, 1000))
    });
    let error = ingest(&shared, &into("u"), stream(Arc::clone(&schema), cancelled)).unwrap_err();
    assert_eq!(error.status, Status::Cancelled);

    let nulls = arrow_array::new_null_array(&DataType::Null, MANY as usize);
    let batch = RecordBatch::try_from_iter([("a", nulls)]).unwrap();
    let error =
        ingest(&shared, &appending("t"), stream(batch.schema(), [Ok(batch)].into_iter())).unwrap_err();
    assert_eq!(error.status, Status::Integrity, "{}", error.message);

    let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX; MANY as usize]));
    let batch = RecordBatch::try_from_iter([("a", large)]).unwrap();
    let error =
        ingest(&shared, &appending("t"), stream(batch.schema(), [Ok(batch)].into_iter())).unwrap_err();
    assert_eq!(error.status, Status::InvalidData);
    assert!(error.message.contains("too large"), "{}", error.message);

    assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes);
    assert_eq!(one::<i64>(&shared, "SELECT count(*) FROM t, sqlite_schema"), 0);
    assert_eq!(one::<i64>(&shared, "SELECT count(*) FROM sqlite_schema"), 1);
    assert_eq!(ingest(&shared, &appending("t"), many()).unwrap(), MANY);
}

#[test]
fn a_description_of_a_table_begins_no_transaction() {
    use adbc_core::{Connection, Database, Driver};
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.db").to_str().unwrap().to_owned();
    let options = [(adbc_core::options::OptionDatabase::Uri, path.as_str().into())];
    let database = crate::driver::Driver.new_database_with_opts(options).unwrap();
    let off = [(adbc_core::options::OptionConnection::AutoCommit, "false".into())];
    let connection = database.new_connection_with_opts(off).unwrap();
    assert_eq!(connection.get_table_schema(None, None, "t").unwrap_err().status, Status::NotFound);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (a)").unwrap();
    connection.get_table_schema(None, None, "t").unwrap();
    other.execute_batch("DROP TABLE t").unwrap();
}

#[test]
fn other_threads_see_all_rows_of_an_ingestion_or_none() {
    let home = tempfile::tempdir().unwrap();
    let shared = in_file(&home);
    sql(&shared, "CREATE TABLE t (a, b)").unwrap();
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let mut written = 0;
                for _ in 0..5 {
                    let rows = stream(ints(0, 0).schema(), [Ok(ints(number * MANY, MANY))].into_iter());
                    match ingest(&shared, &appending("t"), rows) {
                        Ok(rows) => written += rows,
                        // Another thread is already writing rows with this connection.
                        Err(refused) => assert!(refused.message.contains("already"), "{}", refused.message),
                    }
                    assert_eq!(one::<i64>(&shared, "SELECT count(*) FROM t") % MANY, 0);
                }
                written
            })
        })
        .collect();
    let written: i64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
    assert_eq!(one::<i64>(&shared, "SELECT count(*) FROM t"), written);
    assert_eq!(one::<String>(&shared, "PRAGMA integrity_check"), "ok");
}
