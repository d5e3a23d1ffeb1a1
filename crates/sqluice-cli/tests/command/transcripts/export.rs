//! Transcripts of `export`: reports, plans, and refused requests.

use std::fs;
use std::io::Read;
use std::path::Path;

use rusqlite::Connection;

use crate::support::{end, folder, generate, names, run, start};
use crate::transcript::matches;

fn shop(folder: &Path) {
    let sql = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, code); CREATE TABLE empty (a);
        INSERT INTO item VALUES (1, 'tea', NULL), (2, '', x'00')";
    Connection::open(folder.join("shop.db")).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn an_exported_table_has_its_rows_in_the_file_and_the_report_counts_them() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let ran = run(folder, ["export", "shop.db", "item", "--to", "item.csv", "--columns", "id,name"]).ok();
    assert!(
        matches(&ran.stderr, "Exported 2 rows to item.csv: 19 bytes in [..]s ([..] rows/s)\n"),
        "{ran:?}"
    );
    assert_eq!(ran.stdout, "");
    assert_eq!(fs::read_to_string(folder.join("item.csv")).unwrap(), "id,name\n1,tea\n2,\"\"\n");
    let args = ["export", "shop.db", "--to", "all/", "-f", "ndjson", "--mixed", "null", "-v", "-j1"];
    let ran = run(folder, args).ok();
    let expected = "\
Exported 2 rows to 2 files: [..] bytes in [..]s ([..] rows/s)
  all/item.ndjson: 2 rows, [..] bytes
  all/empty.ndjson: 0 rows, 0 bytes
note: all/item.ndjson: 1 value of column code became NULL
  1 thread, journal mode delete, other programs could not commit meanwhile
";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    let report = run(folder, ["export", "shop.db", "empty", "--to", "e.json", "--json"]).ok().json();
    assert_eq!((&report["files"][0]["rows"], &report["files"][0]["format"]), (&0.into(), &"json".into()));
    assert_eq!(report["lets_others_commit"], false);
}

#[test]
fn a_dry_run_of_export_says_how_rows_are_read_and_whether_other_processes_can_commit() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let ran = run(folder, ["export", "shop.db", "item", "--to", "item.parquet", "--dry-run", "-j2"]).ok();
    let expected = "\
shop.db: journal mode delete, others cannot commit until all is read; 2 threads
table item to item.parquet (Parquet), read by pages, on all cores
  id, name, code
";
    assert_eq!(ran.stdout, expected);
    let args =
        ["export", "shop.db", "item", "--to", "-", "-f", "tsv", "--where", "id > 1", "--dry-run", "--json"];
    let plan = run(folder, args).ok().json();
    let file = &plan["files"][0];
    assert_eq!((&file["read_by"], &file["path"]), (&"sqlite".into(), &serde_json::Value::Null));
    assert_eq!(names(folder), ["shop.db"]);
}

#[test]
fn a_refused_export_leaves_no_file_and_the_error_names_the_flag_that_helps() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    fs::write(folder.join("old.csv"), "old").unwrap();
    for (args, code, message) in [
        (&["item", "--to", "item.csv"][..], 1, "(table item, rowid 2, column code)"),
        (&["item", "--to", "item.csv"], 1, "--mixed null writes NULL instead"),
        (&["item", "--to", "old.csv"], 1, "replace this one: --overwrite"),
        (&["--to", "x.csv"], 2, "several tables: item, empty"),
        (&["--to", "x.csv"], 2, "--to FOLDER"),
        (&["item", "--to", "-"], 2, "--format csv"),
        (&["item", "--to", "-", "-f", "csv", "--json"], 2, "name a file: --to FILE"),
        (&["itme", "--to", "x.csv"], 2, "did you mean item?"),
        (&["--to", "x.csv", "--query", "SELECT a FROM"], 2, "incomplete input"),
        (
            &["--to", "x.sql", "--where", "id = 1"],
            2,
            "--where has no meaning for SQL, which has whole tables",
        ),
        (&["--to", "x.sql", "--mixed", "null"], 2, "--mixed has no meaning for SQL"),
        (&["--to", "x/", "-f", "sql"], 2, "x/ is a folder, and SQL is one file for all tables"),
        (&["--to", "x/", "-f", "sql"], 2, "name a file: --to x/dump.sql"),
        (&["itme", "--to", "x.sql"], 2, "did you mean item?"),
        (&["--to", "-", "-f", "sql", "--json"], 2, "name a file: --to FILE"),
    ] {
        let args = [&["export", "shop.db"], args].concat();
        let ran = run(folder, &args);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.code() == Some(code) && said.contains(message), "{args:?}: {ran:?}");
        assert_eq!(names(folder), ["old.csv", "shop.db"]);
    }
    assert_eq!(fs::read_to_string(folder.join("old.csv")).unwrap(), "old");
}

#[test]
fn a_database_is_exported_as_a_file_of_sql_statements() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let sql = "CREATE TABLE hidden (rowid, oid, _rowid_); CREATE INDEX item_by_name ON item (name)";
    Connection::open(folder.join("shop.db")).unwrap().execute_batch(sql).unwrap();
    let ran = run(folder, ["export", "shop.db", "--to", "shop.sql", "--dry-run", "-j2"]).ok();
    let expected = "\
shop.db: journal mode delete, others cannot commit until all is read; 2 threads
database to shop.sql (SQL), read by pages, on all cores
  item, empty, hidden
  rows of table hidden get new rowids, because its columns have all names of the rowid
";
    assert_eq!(ran.stdout, expected);
    assert_eq!(names(folder), ["shop.db"]);
    let ran = run(folder, ["export", "shop.db", "--to", "shop.sql", "-v", "-j1"]).ok();
    let expected = "\
Exported 2 rows to shop.sql: [..] bytes in [..]s ([..] rows/s)
  table item: 2 rows
  table empty: 0 rows
  table hidden: 0 rows
note: shop.sql: rows of table hidden get new rowids, because its columns have all names of the rowid
  1 thread, journal mode delete, other programs could not commit meanwhile
";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    let statements = "\
PRAGMA page_size=4096;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, code);
INSERT INTO \"item\" (\"id\",\"name\",\"code\") VALUES (1,'tea',NULL),(2,'',X'00');
CREATE TABLE empty (a);
CREATE TABLE hidden (rowid, oid, _rowid_);
CREATE INDEX item_by_name ON item (name);
COMMIT;
";
    assert_eq!(fs::read_to_string(folder.join("shop.sql")).unwrap(), statements);
    let ran = run(folder, ["export", "shop.db", "--to", "-", "-f", "sql"]).ok();
    assert_eq!(ran.stdout, statements);
    assert!(ran.stderr.starts_with("note: standard output: rows of table hidden get new rowids"), "{ran:?}");
    let report = run(folder, ["export", "shop.db", "item", "--to", "item.sql.zst", "--json"]).ok().json();
    let file = &report["files"][0];
    assert_eq!((&file["table"], &file["format"]), (&serde_json::Value::Null, &"sql".into()));
    assert_eq!(file["tables"], serde_json::json!([{ "table": "item", "rows": 2 }]));
}

#[test]
fn an_export_to_standard_output_succeeds_when_the_reader_closes_the_pipe() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "300k")).ok();
    let query = "SELECT count(*) AS n FROM user";
    let ran = run(folder, ["export", "x.db", "--to", "-", "-f", "csv", "--query", query]).ok();
    assert_eq!(ran.stdout, "n\n300000\n");
    for format in ["csv", "json", "parquet", "arrow", "sql"] {
        let mut child = start(folder, ["export", "x.db", "--to", "-", "-f", format]);
        let mut start = [0; 4];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let ran = end(child).ok();
        assert_eq!(ran.stderr, "", "{format}: {ran:?}");
    }
}
