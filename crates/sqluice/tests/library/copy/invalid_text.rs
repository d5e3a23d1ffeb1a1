//! Text that is not valid UTF-8, which SQLite keeps as it is: copied, masked, profiled, exported and loaded.

use std::path::Path;

use rusqlite::Connection;
use sqluice::copy::{Copy, MaskFile, Masking, Purpose};
use sqluice::export::{Export, Mixed, formats};
use sqluice::load::Load;
use sqluice::profile::Profile;
use sqluice::schema::Schema;

/// Makes a database with three rows. The text of the second has the bytes `ff fe`, or in UTF-16 half a surrogate pair.
fn database(path: &Path, encoding: &str) {
    let connection = Connection::open(path).unwrap();
    let bad = if encoding == "UTF-8" { "x'fffe'" } else { "x'00d8'" };
    connection
        .execute_batch(&format!(
            "PRAGMA encoding = '{encoding}'; CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
             INSERT INTO t VALUES (1, 'ann', 30), (2, CAST({bad} AS TEXT), 40), (3, 'carl', 50);"
        ))
        .unwrap();
}

fn hex(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut rows =
        connection.prepare("SELECT id || ' ' || hex(CAST(name AS BLOB)) || ' ' || age FROM t").unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn invalid_text_ends_an_export_unless_null_is_written_for_it_or_its_column_is_left_out() {
    for encoding in ["UTF-8", "UTF-16le"] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        database(&path("a.db"), encoding);
        for format in [&formats::NDJSON, &formats::CSV, &formats::PARQUET, &formats::ARROW] {
            let file = path(&format!("t.{}", format.extensions[0]));
            let export = Export::new(path("a.db"), &file).format(format);
            let error = export.clone().run().unwrap_err();
            assert!(error.message().contains("not valid Unicode (table t, rowid 2, column name)"), "{error}");
            let report = export.clone().mixed(Mixed::Null).run().unwrap();
            assert_eq!(report.rows(), 3);
            assert_eq!(report.files[0].nulled, [("name".to_owned(), 1)], "{encoding} {format:?}");
            let some = export.columns(["id".to_owned(), "age".to_owned()].to_vec()).overwrite(true);
            assert_eq!(some.run().unwrap().rows(), 3);
        }
        let lines = std::fs::read_to_string(path("t.ndjson")).unwrap();
        assert_eq!(lines.lines().nth(1), Some("{\"id\":2,\"age\":40}"));
    }
}

#[test]
fn a_load_puts_rows_with_invalid_text_into_the_reject_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    database(&path("a.db"), "UTF-8");
    let load = Load::new(path("new.db"), [path("a.db")]);
    let run = |load: Load| load.run();
    let error = run(load.clone()).unwrap_err();
    assert!(error.message().contains("not valid Unicode (table t, rowid 2, column name)"), "{error}");
    let report = run(load.reject(path("bad.csv"))).unwrap();
    assert_eq!(report.rows, 2);
    assert_eq!(hex(&path("new.db")), ["1 616E6E 30", "3 6361726C 50"]);
    let rejects = String::from_utf8_lossy(&std::fs::read(path("bad.csv")).unwrap()).into_owned();
    assert!(
        rejects.contains("a.db,,,") && rejects.contains("rowid 2") && rejects.contains("40"),
        "{rejects}"
    );
}

#[test]
fn a_masked_copy_keeps_the_invalid_text_of_columns_without_a_mask() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    database(&path("a.db"), "UTF-8");
    let sql = "CREATE TABLE t (age INTEGER -- gen: int(1, 9)\n);";
    let mask = Schema::parse(sql, Path::new("mask.sql")).and_then(MaskFile::new).unwrap();
    let masking = Masking::new(mask).unwrap();
    Copy::new(path("a.db"), path("b.db")).mask(masking).run().unwrap();
    let rows = hex(&path("b.db"));
    assert!(rows[1].starts_with("2 FFFE ") && rows[1] != "2 FFFE 40", "{rows:?}");
}

#[test]
fn invalid_text_can_be_profiled_and_statements_for_d1_store_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for encoding in ["UTF-8", "UTF-16be"] {
        database(&path(encoding), encoding);
        assert_eq!(Profile::new(path(encoding)).run().unwrap().rows, 3);
    }
    Copy::new(path("UTF-8"), path("d1")).purpose(Purpose::D1).run().unwrap();
    let connection = Connection::open(path("from_d1.db")).unwrap();
    connection.execute_batch(&std::fs::read_to_string(path("d1").join("0001.sql")).unwrap()).unwrap();
    assert_eq!(hex(&path("from_d1.db")), hex(&path("UTF-8")));
}

#[test]
fn objects_of_an_application_are_left_out_of_a_profile_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let connection = Connection::open(path("a.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX by_name ON t (name COLLATE NOCASE);
             INSERT INTO t (name) VALUES ('a'), ('b');",
        )
        .unwrap();
    // This connection lacks the collation, so the name of the collation is written into the text of the schema.
    let redeclare = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'NOCASE', 'german'); PRAGMA writable_schema = RESET;";
    connection.execute_batch(redeclare).unwrap();
    let profiled = Profile::new(path("a.db")).run().unwrap();
    assert_eq!(profiled.notes, ["index by_name is left out: no such collation sequence: german"]);
    assert!(profiled.text.contains("CREATE TABLE t") && !profiled.text.contains("CREATE INDEX"));
    // A copy does not need the collation: it copies the index unchanged.
    Copy::new(path("a.db"), path("b.db")).run().unwrap();
    connection.execute_batch("CREATE TABLE u (name TEXT UNIQUE COLLATE NOCASE)").unwrap();
    connection.execute_batch(redeclare).unwrap();
    let profiled = Profile::new(path("a.db")).run().unwrap();
    assert_eq!(profiled.notes[1..], ["table u is left out: no such collation sequence: german"]);
    assert!(profiled.text.contains("CREATE TABLE t") && !profiled.text.contains("CREATE TABLE u"));
    Profile::new(path("a.db")).exclude_tables(["u"]).run().unwrap();
}
