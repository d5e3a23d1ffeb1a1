//! `export`.

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
fn a_table_becomes_a_file_and_the_report_says_so() {
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
fn a_dry_run_says_how_rows_are_read_and_whether_others_can_commit() {
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
fn what_is_refused_leaves_nothing_and_names_flags() {
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
fn standard_output_takes_rows_and_may_be_closed() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "300k")).ok();
    let query = "SELECT count(*) AS n FROM user";
    let ran = run(folder, ["export", "x.db", "--to", "-", "-f", "csv", "--query", query]).ok();
    assert_eq!(ran.stdout, "n\n300000\n");
    for format in ["csv", "json", "parquet", "arrow"] {
        let mut child = start(folder, ["export", "x.db", "--to", "-", "-f", format]);
        let mut start = [0; 4];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let ran = end(child).ok();
        assert_eq!(ran.stderr, "", "{format}: {ran:?}");
    }
}
