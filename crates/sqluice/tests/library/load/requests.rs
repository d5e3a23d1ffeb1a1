//! Settings of a load, and the errors for wrong settings and for files that do not suit them.

#![cfg(feature = "load")]

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::support::files::{Home, integrity, open};
use crate::support::load::{Way, feed, gzip, plain, run, schema, shown};
use sqluice::error::{ErrorKind, Result};
use sqluice::load::Load;
use sqluice::options::WriteOptions;
use sqluice::progress::{Context, Progress};

/// Loads a file `t.csv`.
fn load(home: &Home, csv: &str, with: impl FnOnce(Load) -> Load) -> Result<()> {
    let file = Way::Path.put(home, "t.csv", csv.as_bytes());
    run(with(Load::new(home.path("x.db"), [file]))).map(|_| ())
}

/// Returns the CREATE TABLE of the table in `x.db`, on one line, and the number of its rows.
fn made(home: &Home) -> (String, i64) {
    let database = open(&home.path("x.db"));
    assert_eq!(integrity(&database), "ok");
    let sql: String = database.query_row("SELECT sql FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    let rows = database.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
    (sql.split_whitespace().collect::<Vec<_>>().join(" "), rows)
}

#[track_caller]
fn makes(csv: &str, with: impl FnOnce(Load) -> Load, columns: &str, rows: i64) {
    let home = Home::new();
    load(&home, csv, with).unwrap();
    assert_eq!(made(&home), (format!("CREATE TABLE \"t\" ( {columns} )"), rows));
}

/// Asserts that the load fails with this kind and message, and leaves no file.
#[track_caller]
fn fails(csv: &str, with: impl FnOnce(Load) -> Load, kind: ErrorKind, message: &str) {
    let home = Home::new();
    let error = load(&home, csv, with).unwrap_err();
    assert_eq!((shown(&error, &home).as_str(), error.kind()), (message, kind));
    assert_eq!(home.names(), ["t.csv"], "nothing is left behind");
}

fn types(types: &[(&str, &str)]) -> Vec<(String, String)> {
    types.iter().map(|&(name, declared)| (name.to_owned(), declared.to_owned())).collect()
}

const CSV: &str = "a,b,c\n1,x,0.5\n2,y,1.25\n";

#[test]
fn columns_of_a_load_can_be_selected_and_ordered() {
    makes(CSV, |load| load, r#""a" INTEGER, "b" TEXT, "c" REAL"#, 2);
    makes(CSV, |load| load.columns(["C", "a"]), r#""c" REAL, "a" INTEGER"#, 2);
    let unknown = "`columns` names the column \"d\", which no file has [the columns are: a, b, c]";
    fails(CSV, |load| load.columns(["a", "d"]), ErrorKind::Usage, unknown);
    let twice = "`columns` names the column \"A\" twice [SQLite ignores the case of ASCII letters in names]";
    fails(CSV, |load| load.columns(["a", "A"]), ErrorKind::Usage, twice);
}

#[test]
fn types_of_columns_can_be_declared() {
    let with = |given: &[(&str, &str)]| {
        let types = types(given);
        move |load: Load| load.types(types)
    };
    makes(
        CSV,
        with(&[("A", "TEXT"), ("c", "NUMERIC NOT NULL")]),
        r#""a" TEXT, "b" TEXT, "c" NUMERIC NOT NULL"#,
        2,
    );
    makes(CSV, with(&[("a", "INTEGER PRIMARY KEY")]), r#""a" INTEGER PRIMARY KEY, "b" TEXT, "c" REAL"#, 2);
    makes(CSV, with(&[("a", "TEXT"), ("a", "REAL")]), r#""a" REAL, "b" TEXT, "c" REAL"#, 2);
    makes(CSV, with(&[("a", "")]), r#""a" , "b" TEXT, "c" REAL"#, 2);
    let unknown = "`types` names the column \"d\", which no file has [the columns are: a, b, c]";
    fails(CSV, with(&[("d", "TEXT")]), ErrorKind::Usage, unknown);
}

#[test]
fn an_unknown_type_is_refused_before_anything_is_read() {
    let hint = "[types are INTEGER, REAL, NUMERIC, TEXT, BLOB, ANY, or what other systems call them, such as VARCHAR(20), STRING, \
                DATE, TIMESTAMP, BOOLEAN, BIGINT, INT64, DOUBLE, FLOAT64, DECIMAL(10,2), UUID, JSON, BYTES]";
    for (declared, why) in [
        ("INTEGER PRIMARY KEY)", r#"near ")": syntax error"#),
        ("INTEGER) STRICT --", r#"near ")": syntax error"#),
        ("TEXT /*", "incomplete input"),
        ("TEXT, b TEXT", "that declares more or less than a column"),
        ("TEXT); CREATE TABLE u (a TEXT", "that declares more or less than a column"),
        ("TEXT); CREATE VIEW v AS SELECT (1", "that declares more or less than a column"),
        ("TEXT PRIMARY PRIMARY", r#"near "PRIMARY": syntax error"#),
    ] {
        // If the declaration of a column in a STRICT table ends too early, SQLite gives an error about the next column. So only some
        // declarations have this message in a STRICT table, too.
        let both = [false, true];
        for strict in both
            .into_iter()
            .filter(|strict| !strict || declared.starts_with("TEXT P") || declared.starts_with("TEXT /"))
        {
            let message = format!("`types = a={declared}`: {why} {hint}");
            fails(
                CSV,
                |load| load.types(types(&[("a", declared)])).strict(strict),
                ErrorKind::Usage,
                &message,
            );
        }
    }
    for strict in [false, true] {
        let hint = hint.replacen("types", "did you mean VARCHAR? Types", 1);
        let message = format!("`types = a=VARCHR`: there is no type called VARCHR {hint}");
        fails(CSV, |load| load.types(types(&[("a", "VARCHR")])).strict(strict), ErrorKind::Usage, &message);
    }
}

#[test]
fn errors_of_sqlite_about_a_generated_declaration_name_no_place_in_the_data() {
    let hint = "[`types` declares a column, `table` names the table, `schema` declares everything]";
    let message = format!("object name reserved for internal use: sqlite_x {hint}");
    fails(CSV, |load| load.table("sqlite_x"), ErrorKind::Usage, &message);
    let twice = types(&[("a", "INTEGER PRIMARY KEY"), ("b", "INTEGER PRIMARY KEY")]);
    let message = format!("table \"t\" has more than one primary key {hint}");
    fails(CSV, |load| load.types(twice), ErrorKind::Usage, &message);
}

#[test]
fn columns_may_have_the_names_of_sql_keywords() {
    let csv = "rowid,select,\"a\"\"b\",oid,\"x\ny\",;--,_rowid_\n1,2,3,4,5,6,7\n";
    let home = Home::new();
    load(&home, csv, |load| load).unwrap();
    let quoted =
        "SELECT \"rowid\" || \"select\" || \"a\"\"b\" || oid || \"x\ny\" || \";--\" || _rowid_ FROM t";
    assert_eq!(open(&home.path("x.db")).query_row(quoted, [], |row| row.get(0)), Ok("1234567".to_owned()));
}

#[test]
fn settings_that_declare_columns_are_refused_beside_a_schema() {
    let declared = || Some(schema("CREATE TABLE t (a, b, c)"));
    let message = "the schema decides the types of the columns, and which tables are STRICT \
                   [leave out `strict` and `types`, or the schema]";
    fails(CSV, |load| load.schema(declared()).strict(true), ErrorKind::Usage, message);
    let types = types(&[("a", "TEXT")]);
    fails(CSV, |load| load.schema(declared()).types(types), ErrorKind::Usage, message);
    let message = "x.sql declares no table u [`table` names one of: t]";
    let with = |load: Load| load.schema(declared()).table("u");
    fails(CSV, with, ErrorKind::Usage, message);
}

#[test]
fn a_strict_table_gets_guessed_types_that_fit_all_rows() {
    let home = Home::new();
    load(&home, CSV, |load| load.strict(true).tune(|tuning| tuning.sample_bytes = 8)).unwrap();
    assert_eq!(made(&home).0, r#"CREATE TABLE "t" ( "a" INTEGER, "b" TEXT, "c" REAL ) STRICT"#);
    // If a STRICT table refuses a value of a guessed type, the guess is corrected as usual.
    let home = Home::new();
    load(&home, "a\n1\n2\n3\nx\n", |load| {
        load.strict(true).tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (4, 2))
    })
    .unwrap();
    assert_eq!(made(&home), (r#"CREATE TABLE "t" ( "a" TEXT ) STRICT"#.to_owned(), 4));
}

#[test]
fn conversions_that_lose_digits_need_the_setting_lossy() {
    let types = types(&[("n", "INTEGER")]);
    let csv = "n\n1\n12345678901234567890\n";
    let message = "t.csv:3:1: '12345678901234567890' in column n has more than 64 bits, and would become a float \
                   [declare the column TEXT, or accept SQLite's conversion: `lossy`]";
    fails(csv, |load| load.types(types.clone()), ErrorKind::Input, message);
    makes(csv, |load| load.types(types).lossy(true), r#""n" INTEGER"#, 2);
}

#[test]
fn a_file_without_rows_makes_a_table_without_rows_and_an_empty_one_is_an_error() {
    for csv in ["a,b\n", "a,b", "\u{feff}a,b\r\n\r\n"] {
        makes(csv, |load| load, r#""a" TEXT, "b" TEXT"#, 0);
    }
    for csv in ["", "\n\n", "\u{feff}"] {
        let message = "t.csv: the file is empty [its first line should name the columns]";
        fails(csv, |load| load, ErrorKind::Input, message);
    }
}

#[test]
fn a_header_may_be_longer_than_the_sample() {
    let names: Vec<String> = (0..200).map(|number| format!("a_rather_long_name_{number}")).collect();
    let csv = format!("{}\n{}\n", names.join(","), vec!["7"; 200].join(","));
    for way in Way::ALL {
        for sample_bytes in [0, 1, 100, 5000] {
            let home = Home::new();
            let file = way.put(&home, "t.csv", csv.as_bytes());
            run(Load::new(home.path("x.db"), [file]).tune(|tuning| tuning.sample_bytes = sample_bytes))
                .unwrap();
            assert_eq!(made(&home).1, 1);
        }
    }
}

#[test]
fn a_header_that_is_longer_than_a_record_may_be_is_an_error() {
    let csv = format!("{}\n{}", "a,".repeat(500), "1\n".repeat(2000));
    let write = WriteOptions::new().threads(1).memory_bytes(4000).tune(|tuning| tuning.chunk_bytes = 512);
    let message = "t.csv:1:1: the record that begins here is longer than 500 bytes [is a closing quote missing? \
                   if the record is that long, give more memory: `memory`]";
    fails(
        &csv,
        |load| load.write(write).format(plain()).tune(|tuning| tuning.sample_bytes = 10),
        ErrorKind::Input,
        message,
    );
}

#[test]
fn a_first_record_that_is_malformed_is_an_error_with_its_place() {
    let csv = format!("a,\"b\"x\n{}", "1,2\n".repeat(1000));
    let message = "t.csv:1:3: the quoted field that begins here closes in column 6 before 'x', where a comma or the end of the line \
                   should be [a quote inside a quoted field is written twice: \"\"]";
    for sample_bytes in [3, 100, 1 << 20] {
        let with = |load: Load| load.format(plain()).tune(|tuning| tuning.sample_bytes = sample_bytes);
        fails(&csv, with, ErrorKind::Input, message);
    }
}

#[test]
fn comment_lines_before_the_first_record_are_skipped_up_to_a_limit() {
    let csv = format!("{}a,b\n1,2\n", "# comment\n".repeat(300));
    let format = plain().comment(b'#');
    let with = |memory_bytes| {
        let write =
            WriteOptions::new().threads(1).memory_bytes(memory_bytes).tune(|tuning| tuning.chunk_bytes = 512);
        let format = format.clone();
        move |load: Load| load.write(write).format(format).tune(|tuning| tuning.sample_bytes = 10)
    };
    makes(&csv, with(1 << 20), r#""a" INTEGER, "b" INTEGER"#, 1);
    let message = "the first record does not end within 255 bytes \
                   [`skip_lines = N` skips the lines before the first record]";
    fails(&csv, with(2000), ErrorKind::Input, message);
}

#[test]
fn a_gzip_file_that_is_cut_off_is_reported_as_incomplete_gzip_data() {
    let packed = gzip("a,b\n1,2\n".repeat(5000).as_bytes());
    for sample_bytes in [10, 1 << 20] {
        let home = Home::new();
        let file = home.path("t.csv.gz");
        fs::write(&file, &packed[..packed.len() - 20]).unwrap();
        let error =
            run(Load::new(home.path("x.db"), [&file]).tune(|tuning| tuning.sample_bytes = sample_bytes))
                .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.message().contains("gzip"), "{error}");
        assert_eq!(home.names(), ["t.csv.gz"]);
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no pipes in folders")]
fn errors_of_the_target_are_reported_before_a_pipe_is_read() {
    for in_the_way in ["x.db", "x.db-wal", "bad.csv"] {
        let home = Home::new();
        fs::write(home.path(in_the_way), "precious").unwrap();
        let pipe = home.path("t.csv");
        let (told, tells) = std::sync::mpsc::channel();
        feed(&pipe, move |pipe| told.send(pipe.write_all(b"a\n1\n").is_ok()).unwrap());
        let load = Load::new(home.path("x.db"), [&pipe]).reject(home.path("bad.csv"));
        assert_eq!(run(load).unwrap_err().kind(), ErrorKind::Target);
        assert!(tells.try_recv().is_err(), "nobody has opened the pipe");
        assert_eq!(fs::read_to_string(home.path(in_the_way)).unwrap(), "precious");
        // Opens the pipe, so that its writer can end.
        drop(fs::File::open(&pipe));
    }
}

/// A progress that changes the file when the types are read again.
struct Changing<'a>(&'a Path, &'a str);

impl Progress for Changing<'_> {
    fn phase(&self, name: &str, _: Option<sqluice::progress::Amount>) {
        if name == "types" {
            fs::write(self.0, self.1).unwrap();
        }
    }
}

#[test]
fn an_input_that_changes_while_it_is_read_is_an_error() {
    let home = Home::new();
    let file = home.path("t.csv");
    let numbers = format!("a,b\n{}", "1,2\n".repeat(500));
    let prepared = |reject| {
        fs::write(&file, &numbers).unwrap();
        let mut load = Load::new(home.path("x.db"), [&file])
            .tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (20, 100));
        load.reject = reject;
        load.prepare(&Context::default()).unwrap()
    };
    let changed = |error: sqluice::error::Error| {
        assert_eq!(
            shown(&error, &home),
            "the input has changed while it was read [wait until no program writes to it]"
        );
        assert_eq!(home.names(), ["t.csv"]);
    };
    // The file has other columns than when its types were found.
    for header in ["b,a\n", "a,b,c\n"] {
        let prepared = prepared(None);
        fs::write(&file, numbers.replacen("a,b\n", header, 1)).unwrap();
        changed(prepared.run(&Context::default()).unwrap_err());
    }
    // The types follow from the first content of the file, and do not fit the second content.
    let mut prepared = prepared(Some(home.path("bad.csv")));
    prepared.settle_types(&Context::default()).unwrap();
    fs::write(&file, numbers.replace("1,2", "x,2")).unwrap();
    changed(prepared.run(&Context::default()).unwrap_err());
    // A guess proves wrong, and for the second attempt the file has changed.
    let prepared = {
        fs::write(&file, format!("{numbers}x,y\n")).unwrap();
        let load = Load::new(home.path("x.db"), [&file])
            .tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (20, 100));
        load.prepare(&Context::default()).unwrap()
    };
    let changing = Changing(&file, "b,a\n1,2\n");
    changed(prepared.run(&Context::default().progress(&changing)).unwrap_err());
}
