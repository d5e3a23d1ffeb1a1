//! Structs as rows: each field is stored as rusqlite stores the same value.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use serde::{Serialize, Serializer};
use sqluice::error::Error;
use sqluice::options::{IfExists, WriteOptions, WritePath};
use sqluice::progress::Context;
use sqluice::write::{WriteRows, write_rows};

#[derive(Clone, Copy, Debug, Serialize)]
enum Colour {
    Red,
    Green,
}

#[derive(Clone, Debug, Serialize)]
struct Inner {
    x: i32,
    name: String,
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    int: i64,
    byte: u8,
    unsigned: u64,
    real: f64,
    single: f32,
    text: String,
    letter: char,
    truth: bool,
    maybe_int: Option<i64>,
    maybe_text: Option<String>,
    #[serde(serialize_with = "as_bytes")]
    blob: Vec<u8>,
    colour: Colour,
    list: Vec<i32>,
    inner: Option<Inner>,
    unit: (),
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<i32>,
}

fn as_bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

const COLUMNS: usize = 16;

/// Returns the row as values that rusqlite binds.
fn bound(row: &Row) -> Vec<Value> {
    let json = |value: serde_json::Result<String>| Value::Text(value.unwrap());
    vec![
        row.int.into(),
        row.byte.into(),
        i64::try_from(row.unsigned).unwrap().into(),
        row.real.into(),
        f64::from(row.single).into(),
        row.text.clone().into(),
        row.letter.to_string().into(),
        row.truth.into(),
        row.maybe_int.into(),
        row.maybe_text.clone().into(),
        row.blob.clone().into(),
        format!("{:?}", row.colour).into(),
        json(serde_json::to_string(&row.list)),
        row.inner.as_ref().map_or(Value::Null, |inner| json(serde_json::to_string(inner))),
        Value::Null,
        row.skipped.into(),
    ]
}

prop_compose! {
    fn inners()(x: i32, name in ".{0,6}") -> Inner {
        Inner { x, name }
    }
}

prop_compose! {
    fn rows()(
        (int, byte, real, single) in (any::<i64>(), any::<u8>(), proptest::num::f64::ANY, proptest::num::f32::ANY),
        unsigned in 0..=i64::MAX as u64,
        (text, letter, truth) in (".{0,12}", any::<char>(), any::<bool>()),
        (maybe_int, maybe_text) in (any::<Option<i64>>(), proptest::option::of("[0-9.e-]{0,8}")),
        blob in proptest::collection::vec(any::<u8>(), 0..300),
        red: bool,
        list in proptest::collection::vec(any::<i32>(), 0..4),
        inner in proptest::option::of(inners()),
        skipped: Option<i32>,
    ) -> Row {
        let colour = if red { Colour::Red } else { Colour::Green };
        Row {
            int, byte, unsigned, real, single, text, letter, truth, maybe_int, maybe_text, blob, colour, list, inner,
            unit: (), skipped,
        }
    }
}

/// Returns all values of a table with their types.
fn values(connection: &Connection, table: &str) -> Vec<Vec<(String, Value)>> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {table} ORDER BY rowid")).unwrap();
    let columns = statement.column_count();
    let types: Vec<String> =
        statement.column_names().map(|name| format!("typeof(\"{name}\"), \"{name}\"")).collect();
    drop(statement);
    let sql = format!("SELECT {} FROM {table} ORDER BY rowid", types.join(", "));
    statement = connection.prepare(&sql).unwrap();
    let rows = statement.query_map([], |row| {
        (0..columns).map(|column| Ok((row.get(2 * column)?, row.get(2 * column + 1)?))).collect()
    });
    rows.unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

/// Inserts the rows by rusqlite into a table that is declared like that of `connection`, and returns the stored values.
fn inserted(connection: &Connection, rows: &[Row]) -> Vec<Vec<(String, Value)>> {
    let sql: String =
        connection.query_row("SELECT sql FROM sqlite_schema WHERE name = 'r'", [], |row| row.get(0)).unwrap();
    let twin = Connection::open_in_memory().unwrap();
    twin.execute_batch(&sql).unwrap();
    let marks = vec!["?"; COLUMNS].join(", ");
    let mut insert = twin.prepare(&format!("INSERT INTO r VALUES ({marks})")).unwrap();
    for row in rows {
        insert.execute(rusqlite::params_from_iter(bound(row))).unwrap();
    }
    values(&twin, "r")
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(48))]

    #[test]
    fn every_field_is_stored_as_rusqlite_stores_it(rows in proptest::collection::vec(rows(), 1..40), repeat in 1..200usize) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.db");
        // Enough rows for several parts, and more than the rows from which types are found.
        let many: Vec<Row> = rows.iter().cycle().take(rows.len() * repeat).cloned().collect();
        let report = write_rows(&path, "r", many.clone()).unwrap();
        prop_assert_eq!(report.rows, many.len() as u64);
        let connection = Connection::open(&path).unwrap();
        let (found, expected) = (values(&connection, "r"), inserted(&connection, &many));
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(found, expected);
        }
        prop_assert_eq!(found.len(), expected.len());
    }

    #[test]
    fn borrowed_and_owned_structs_make_the_same_file(rows in proptest::collection::vec(rows(), 1..40), repeat in 1..200usize) {
        let home = tempfile::tempdir().unwrap();
        let [one, two, three] = ["one.db", "two.db", "three.db"].map(|name| home.path().join(name));
        let many: Vec<Row> = rows.iter().cycle().take(rows.len() * repeat).cloned().collect();
        WriteRows::new(&one, "r").run_borrowing_with(&many, &Context::default()).unwrap();
        WriteRows::new(&two, "r").run(many.clone()).unwrap();
        WriteRows::new(&three, "r").options(WriteOptions::new().threads(1)).run(many).unwrap();
        let bytes = [one, two, three].map(|path| std::fs::read(path).unwrap());
        prop_assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
    }
}

/// Returns the names and declared types of a table's columns.
fn declared(path: &Path, table: &str) -> String {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT group_concat(name || ' ' || type, ', ') FROM pragma_table_info(?1)";
    connection.query_row(sql, [table], |row| row.get(0)).unwrap()
}

fn first<T: rusqlite::types::FromSql>(path: &Path, sql: &str) -> T {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn fields_of_a_struct_become_columns_of_the_types_of_their_values() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    let inner = Some(Inner { x: 1, name: "a".to_owned() });
    let row = Row {
        int: -1,
        byte: 2,
        unsigned: 3,
        real: 0.5,
        single: 0.25,
        text: "t".to_owned(),
        letter: 'l',
        truth: true,
        maybe_int: None,
        maybe_text: Some("m".to_owned()),
        blob: vec![0, 255],
        colour: Colour::Green,
        list: vec![1, 2],
        inner,
        unit: (),
        skipped: None,
    };
    write_rows(&path, "r", [row]).unwrap();
    assert_eq!(
        declared(&path, "r"),
        "int INTEGER, byte INTEGER, unsigned INTEGER, real REAL, single REAL, text TEXT, letter TEXT, truth INTEGER, \
         maybe_int , maybe_text TEXT, blob BLOB, colour TEXT, list TEXT, inner TEXT, unit , skipped "
    );
    assert_eq!(first::<String>(&path, "SELECT list || inner FROM r"), "[1,2]{\"x\":1,\"name\":\"a\"}");
}

#[derive(Clone, Debug, Serialize)]
struct Pair {
    id: i64,
    name: &'static str,
}

const PAIRS: [Pair; 3] = [Pair { id: 3, name: "c" }, Pair { id: 1, name: "a" }, Pair { id: 2, name: "b" }];

#[test]
fn structs_are_written_with_the_requested_keys() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    WriteRows::new(&path, "p").primary_key(["id"]).uniques(["name"]).run(PAIRS).unwrap();
    assert_eq!(first::<String>(&path, "SELECT group_concat(rowid || name) FROM p"), "1a,2b,3c");
    let twice = WriteRows::new(&path, "p").if_exists(IfExists::Append).run([PAIRS[0].clone()]);
    let error = twice.unwrap_err();
    assert!(error.to_string().contains("UNIQUE"), "{error}");
    let error = WriteRows::new(home.path().join("y.db"), "p")
        .primary_key(["id"])
        .run([PAIRS[0].clone(), PAIRS[0].clone()]);
    let error = error.unwrap_err();
    assert!(error.message().contains("rows 1 and 2"), "{error}");
}

#[test]
fn rows_declared_to_ascend_that_do_not_ascend_are_an_error() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    let write = WriteRows::new(&path, "p").primary_key(["id"]).ascending(true);
    assert!(write.run(PAIRS).is_err());
    assert!(!path.exists());
    let ascending = (0..100_000).map(|id| Pair { id, name: "n" });
    write.run(ascending).unwrap();
    assert_eq!(first::<i64>(&path, "SELECT sum(id) FROM p"), (0..100_000).sum::<i64>());
}

#[test]
fn structs_can_be_appended_to_a_table_or_update_or_replace_rows() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    let write = WriteRows::new(&path, "p").primary_key(["id"]);
    write.run(PAIRS).unwrap();
    let error = write.run(PAIRS).unwrap_err();
    assert!(error.to_string().contains("append"), "{error}");
    let content = || first::<String>(&path, "SELECT group_concat(id || name) FROM p");
    write.clone().if_exists(IfExists::Append).run([Pair { id: 9, name: "z" }]).unwrap();
    assert_eq!(content(), "1a,2b,3c,9z");
    let upsert = write.clone().if_exists(IfExists::Upsert(vec!["id".to_owned()]));
    upsert.run([Pair { id: 2, name: "x" }, Pair { id: 4, name: "d" }]).unwrap();
    assert_eq!(content(), "1a,2x,3c,4d,9z");
    write.clone().if_exists(IfExists::Replace).run([Pair { id: 5, name: "e" }]).unwrap();
    assert_eq!(content(), "5e");
    write.clone().if_exists(IfExists::Append).run(Vec::<Pair>::new()).unwrap();
    assert_eq!(content(), "5e");
    write.overwrite(true).run(PAIRS).unwrap();
    assert_eq!(content(), "1a,2b,3c");
}

#[test]
fn fields_of_structs_go_into_the_columns_of_their_names_in_any_order() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE p (NAME TEXT, other TEXT DEFAULT 'd', id INTEGER)").unwrap();
    connection.close().unwrap();
    WriteRows::new(&path, "p").if_exists(IfExists::Append).run(PAIRS).unwrap();
    let shown = "SELECT group_concat(format('%s-%s-%s', id, name, other)) FROM p";
    assert_eq!(first::<String>(&path, shown), "3-c-d,1-a-d,2-b-d");
}

#[test]
fn rows_of_tuples_need_column_names_and_rows_of_maps_use_their_keys() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    let error = write_rows(&path, "t", [(1, "a")]).unwrap_err();
    assert!(error.to_string().contains("columns"), "{error}");
    WriteRows::new(&path, "t").columns(["number", "word"]).run([(1, "a"), (2, "b")]).unwrap();
    assert_eq!(declared(&path, "t"), "number INTEGER, word TEXT");
    let maps = [BTreeMap::from([("a", 1), ("b", 2)]), BTreeMap::from([("b", 3), ("c", 4)])];
    write_rows(&path, "m", maps).unwrap();
    assert_eq!(declared(&path, "m"), "a INTEGER, b INTEGER, c INTEGER");
    let shown = "SELECT group_concat(format('%s-%s-%s', a, b, c)) FROM m";
    assert_eq!(first::<String>(&path, shown), "1-2-,-3-4");
    let error = WriteRows::new(&path, "u").columns(["a", "b", "c"]).run([(1, 2)]).unwrap_err();
    assert!(error.message().contains("row 1: the row has 2 values for 3 columns"), "{error}");
    let error = write_rows(&path, "v", [7]).unwrap_err();
    assert!(error.message().contains("row 1: an integer is not a row"), "{error}");
}

/// Asserts that a run failed with an error for row `number`, in a message that has these words, and that no database was made.
fn assert_refused(done: Result<sqluice::report::Report, Error>, path: &Path, number: u64, words: &[&str]) {
    let error = done.unwrap_err();
    let text = error.to_string();
    assert!(words.iter().all(|words| text.contains(words)), "{text}");
    assert!(text.contains(&format!("row {number}")), "{text}");
    assert_eq!(error.record().map(|(_, number)| number), Some(number));
    assert!(!path.exists());
}

#[test]
fn errors_about_structs_name_the_row_and_the_field() {
    #[derive(Clone, Serialize)]
    struct Sum {
        id: u64,
        #[serde(flatten)]
        more: BTreeMap<&'static str, serde_json::Value>,
    }
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    let plain = |id| Sum { id, more: BTreeMap::from([("n", serde_json::json!(1))]) };
    let with_one = |bad: Sum, at: usize, rows: usize| {
        let rows = (0..rows).map(move |row| if row + 1 == at { bad.clone() } else { plain(row as u64) });
        write_rows(&path, "s", rows)
    };
    // The error is among the first rows, from which types are found, or after them.
    for at in [1, 700, 5000, 16_384, 16_385, 70_000] {
        let large = Sum { id: u64::MAX, ..plain(0) };
        assert_refused(with_one(large, at, 80_000), &path, at as u64, &["\"id\"", "18446744073709551615"]);
    }
    let text = Sum { id: 1, more: BTreeMap::from([("n", serde_json::json!("12"))]) };
    assert_refused(with_one(text, 70_000, 80_000), &path, 70_000, &["\"n\"", "INTEGER"]);
    let unknown = Sum { id: 1, more: BTreeMap::from([("m", serde_json::json!(1))]) };
    assert_refused(with_one(unknown, 70_000, 80_000), &path, 70_000, &["\"m\"", "do not have this field"]);
    // The first of two errors is reported.
    let two = (1..=80_000u64).map(|row| Sum { id: if row > 60_000 { u64::MAX } else { row }, ..plain(0) });
    assert_refused(write_rows(&path, "s", two), &path, 60_001, &["\"id\""]);
}

#[test]
fn an_error_of_the_iterator_ends_the_run_and_names_the_row() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    for at in [1, 100, 20_000, 60_000] {
        let rows = (1..70_000).map(|row| match row == at {
            true => Err(std::io::Error::other("the line broke")),
            false => Ok(Pair { id: row, name: "n" }),
        });
        let error = WriteRows::new(&path, "p").try_run_with(rows, &Context::default()).unwrap_err();
        assert!(
            error.to_string().contains("the line broke") || {
                let cause = std::error::Error::source(&error);
                cause.is_some_and(|cause| cause.to_string() == "the line broke")
            }
        );
        assert!(error.message().contains(&format!("the source of the rows failed at row {at}")), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn declared_column_types_override_the_types_of_the_values() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    let write = WriteRows::new(&path, "t").columns(["a", "b"]).types([("a", "TEXT")]);
    write.run([(7, 8)]).unwrap();
    let twin = Connection::open_in_memory().unwrap();
    twin.execute_batch("CREATE TABLE t (a TEXT, b INTEGER)").unwrap();
    twin.execute("INSERT INTO t VALUES (?1, ?2)", params![7, 8]).unwrap();
    assert_eq!(values(&Connection::open(&path).unwrap(), "t"), values(&twin, "t"));
    let error = WriteRows::new(&path, "u").columns(["a"]).types([("z", "TEXT")]).run([(7,)]).unwrap_err();
    assert!(error.message().contains("\"z\""), "{error}");
}

#[test]
fn sixty_rows_of_1_mib_are_stored() {
    #[derive(Serialize)]
    struct Large {
        id: u32,
        text: String,
    }
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    let rows = (0..60).map(|id| Large { id, text: "x".repeat(1 << 20) });
    write_rows(&path, "l", rows).unwrap();
    assert_eq!(first::<i64>(&path, "SELECT sum(length(text)) + sum(id) FROM l"), (60 << 20) + 59 * 30);
}

#[test]
fn an_existing_table_with_indexes_gets_pages_when_the_iterator_has_many_rows() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.db");
    let pairs = |ids: std::ops::Range<i64>| ids.map(|id| Pair { id, name: "n" });
    let write = WriteRows::new(&path, "p").primary_key(["id"]).indexes(["name"]).ascending(true);
    write.run(pairs(0..10)).unwrap();
    let more = write.if_exists(IfExists::Append);
    let path_of = |report: sqluice::report::Report| report.tables[0].write_path;
    assert_eq!(path_of(more.run(pairs(10..30_000)).unwrap()), WritePath::Pages);
    // The number of rows that pass a filter is unknown, so SQLite inserts them, unless `about` gives a number.
    let some = pairs(30_000..60_000).filter(|pair| pair.id > 0);
    assert_eq!(path_of(more.run(some).unwrap()), WritePath::Insert);
    let some = pairs(60_000..90_000).filter(|pair| pair.id > 0);
    assert_eq!(path_of(more.about(30_000).run(some).unwrap()), WritePath::Pages);
    assert_eq!(first::<i64>(&path, "SELECT sum(id) FROM p"), (0..90_000).sum::<i64>());
}
