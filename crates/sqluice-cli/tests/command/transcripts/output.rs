//! The output of commands: `--quiet`, `--verbose`, `--json`, plans and colour, on standard output and standard error.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{folder, generate, names, run};
use crate::transcript::{ONE_ROW, matches, sqluice};

#[test]
fn a_quiet_run_prints_only_errors_and_a_verbose_run_prints_more() {
    let folder = folder();
    let folder = folder.path();
    let ran = run(folder, [&["-q"], &generate("q.db", "3")[..]].concat()).ok();
    assert_eq!((&*ran.stdout, &*ran.stderr), ("", ""));
    let ran = run(folder, ["check", "q.db", "--quiet"]).ok();
    assert_eq!((&*ran.stdout, &*ran.stderr), ("", ""));
    let ran = run(folder, [&generate("q.db", "3")[..], &["-q"]].concat())
        .failed(1, "q.db already has a table user");
    assert!(ran.stderr.contains("hint: "));

    let ran = run(folder, generate("n.db", "3")).ok();
    assert_eq!(ran.stdout, "");
    assert!(matches(&ran.stderr, "Generated 3 rows into n.db: 8.2 kB in [..] ([..] rows/s)"), "{ran:?}");
    let ran = run(folder, [&generate("v.db", "3")[..], &["-v", "-j1"]].concat()).ok();
    let expected = "\
Generated 3 rows into v.db: 8.2 kB in [..] ([..] rows/s)
  checksum [..]
  1 thread, [..] writes, 2 pages of 4096 bytes
  generate [..]s, sync [..]s
  user: 3 rows; 1 leaf, 0 interior, 0 overflow pages, root 2";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
}

#[test]
fn the_report_of_a_load_has_the_row_count_first_and_the_recognised_formats_below() {
    let folder = folder();
    fs::write(folder.path().join(ONE_ROW.0), ONE_ROW.1).unwrap();
    let ran = run(folder.path(), ["load", "x.db", "one.csv"]).ok();
    let expected = "\
Loaded 1 row into x.db: 8.2 kB in [..]s ([..] rows/s)
  read one.csv: comma, header
  one: a INTEGER, b INTEGER";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    let ran = run(folder.path(), ["load", "x.db", "one.csv", "--append", "--color=always"]).ok();
    assert!(ran.stderr.starts_with("\x1b[1;32mLoaded\x1b[0m 1 row into x.db, now 8.2 kB, in "), "{ran:?}");
}

#[test]
fn the_report_of_a_load_has_the_full_text_tables_whose_indexes_were_made() {
    let folder = folder();
    let folder = folder.path();
    let schema = "\
CREATE TABLE one (a INTEGER, b TEXT);
CREATE VIRTUAL TABLE f USING fts5(b, content=one);
CREATE TRIGGER t AFTER INSERT ON one BEGIN INSERT INTO f(rowid, b) VALUES (new.rowid, new.b); END;
CREATE VIRTUAL TABLE own USING fts5(a, b)";
    // With few rows, SQLite would insert the rows into the index by the trigger, and the report would not list the index.
    let rows: String = (0..1000).map(|row| format!("{row},word{row}\n")).collect();
    fs::write(folder.join("many.csv"), format!("a,b\n{rows}")).unwrap();
    fs::write(folder.join("s.sql"), schema).unwrap();
    for (name, listed) in [("one", "f"), ("own", "own")] {
        // In a new database, the index `f` is made even if the load fills only the table `own`, and `one` stays empty.
        let all = if name == "own" { json!(["own", "f"]) } else { json!([listed]) };
        let load = ["load", "x.db", "many.csv", "--table", name];
        let new = [&load[..], &["--schema", "s.sql", "--overwrite"]].concat();
        let append = [&load[..], &["--append"]].concat();
        for (args, expected) in [(new, all), (append, json!([listed]))] {
            let ran = run(folder, [&args[..], &["--json"]].concat()).ok();
            assert_eq!(ran.json()["full_text"], expected, "{args:?}");
            let ran = run(folder, [&args[..], &["--verbose"]].concat()).ok();
            let line = format!("  {listed}: full-text index has the new rows\n");
            assert!(ran.stderr.contains(&line), "{args:?}: {ran:?}");
        }
    }
}

#[test]
fn with_json_an_error_is_json_on_standard_output() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), "a,b\n1,2\n3\n").unwrap();
    fs::write(folder.join("u.csv"), "c,d\n1,2\n3\n").unwrap();
    let failed = |args: &[&str], code: i32| {
        let ran = run(folder, args);
        assert_eq!((ran.code(), &*ran.stderr), (Some(code), ""), "{args:?}: {ran:?}");
        let error = ran.json()["error"].clone();
        assert!(!error["message"].as_str().unwrap().starts_with("error"), "{error}");
        error
    };
    let of_row = failed(&["load", "x.db", "t.csv", "--json"], 1);
    assert_eq!(of_row["message"], "the record ends after field 1: the header has 2");
    let place = ["kind", "file", "line", "column", "byte", "path"].map(|key| of_row[key].clone());
    assert_eq!(json!(place), json!(["input", "t.csv", 3, 2, 9, "t.csv"]));

    let several = failed(&["load", "x.db", "t.csv", "u.csv", "--json"], 1);
    let files: Vec<_> =
        several["parts"].as_array().unwrap().iter().map(|part| part["file"].clone()).collect();
    assert_eq!(files, ["t.csv", "u.csv"]);

    let missing = failed(&["--json", "check", "missing.db"], 1);
    let cause = "No such file or directory (os error 2)";
    assert_eq!(json!([missing["path"], missing["causes"][0]]), json!(["missing.db", cause]));
    let usage = failed(&["load", "x.db", "t.csv", "--json", "--format", "tsv", "--delimiter", ","], 2);
    assert_eq!(json!([usage["kind"], usage["line"]]), json!(["usage", null]));
    assert_eq!(usage["hint"], "leave one of the two out");

    // Errors of command lines that can't be parsed are JSON, too, if `--json` comes before any `--`.
    let unknown = failed(&["load", "x.db", "t.csv", "--json", "--overwrit"], 2);
    let message = "load has no flag --overwrit";
    assert_eq!(json!([unknown["kind"], unknown["message"]]), json!(["usage", message]));
    assert_eq!(unknown["hint"], "sqluice load x.db t.csv --json --overwrite");
    let plain = run(folder, ["load", "x.db", "--no-such", "--", "--json"]).failed(2, "unexpected argument");
    assert_eq!(plain.stdout, "");
    assert!(run(folder, ["load", "--json", "--help"]).ok().stdout.starts_with("Load CSV"));
}

#[test]
fn with_json_standard_output_has_nothing_but_the_report() {
    let folder = folder();
    let folder = folder.path();
    let ran = run(folder, [&["--json"], &generate("x.db", "1000")[..]].concat()).ok();
    assert_eq!(ran.stderr, "");
    let report = ran.json();
    assert_eq!((&report["target"], &report["rows"]), (&"x.db".into(), &1000.into()));
    assert_eq!(report["bytes"], fs::metadata(folder.join("x.db")).unwrap().len());

    let check = run(folder, ["check", "x.db", "--json", "--full"]).ok().json();
    assert_eq!((&check["sound"], &check["rows"]), (&true.into(), &1000.into()));
    assert_eq!(
        (&check["checksum"], &check["sqlite_check"]),
        (&report["checksum"], &"integrity_check".into())
    );

    let info = run(folder, ["info", "--json", "x.db"]).ok().json();
    assert_eq!((&info["pages"], &info["sound"]), (&report["pages"], &true.into()));
    assert_eq!(info["trees"][1]["name"], "user");
    assert_eq!(info["trees"][1]["rows"], 1000);

    let plan = run(folder, [&generate("y.db", "1000")[..], &["--json", "--dry-run"]].concat()).ok().json();
    assert_eq!(
        (&plan["tables"][0]["write_path"], &plan["tables"][0]["rows"]),
        (&"pages".into(), &1000.into())
    );
    assert_eq!(names(folder), ["x.db"], "a dry run makes nothing");

    let ran = run(folder, [&["--json"], &generate("x.db", "3")[..]].concat());
    assert_eq!((ran.code(), &*ran.stderr), (Some(1), ""));
    assert_eq!(ran.json()["error"]["message"], "x.db already has a table user");
}

#[test]
fn a_dry_run_prints_the_plan_of_the_run() {
    sqluice("load x.db one.csv --dry-run -j 1").file(ONE_ROW.0, ONE_ROW.1).succeeds().says("").prints(
        "\
-- target   x.db (new)
-- size     about 8.2 kB
-- pages    of 4096 bytes, 2048 at a time
-- threads  1 and a writer, 50331648 bytes of buffers
-- table    one: rows from one.csv (comma, quote \", header)
--   path   pages: a new rowid table without indexes
CREATE TABLE \"one\" (
  \"a\" INTEGER,
  \"b\" INTEGER
);",
    );
    sqluice("generate s.sql --rows 1k --discard --dry-run -j 4 --memory 48MiB --page-size 8192")
        .file("s.sql", "CREATE TABLE t (a INTEGER)")
        .succeeds()
        .says("")
        .prints(
            "\
-- target   none: pages are made and thrown away
-- size     about 11.0 kB
-- pages    of 8192 bytes, 1024 at a time
-- threads  2 and a writer, 50331648 bytes of buffers
-- table    t: 1000 rows from the generator, seed 1
--   path   pages: a new rowid table without indexes
CREATE TABLE t (a INTEGER);",
        );
}

#[test]
fn errors_have_the_same_words_with_and_without_colour() {
    let ran = run(Path::new("/"), ["check", "/no/such", "--color", "always"]);
    assert!(ran.stderr.starts_with("\x1b[1;31merror:\x1b[0m cannot read /no/such\n"), "{ran:?}");
    for when in ["auto", "never"] {
        let ran = run(Path::new("/"), ["check", "/no/such", "--color", when]);
        assert!(ran.stderr.starts_with("error: cannot read /no/such\n"), "{ran:?}");
    }
}
