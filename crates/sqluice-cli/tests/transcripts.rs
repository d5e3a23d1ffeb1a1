//! What the command says, where, and its exit code: a transcript for each flag and each error.
//!
//! `[..]` in a transcript stands for anything within a line.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use support::{checksum, folder, generate, integrity, names, run};

/// A command line, split at spaces, and what comes of it.
struct Transcript {
    /// Files that are there before.
    files: &'static [(&'static str, &'static str)],
    args: &'static str,
    code: i32,
    stdout: &'static str,
    stderr: &'static str,
}

impl Transcript {
    fn check(&self) {
        let folder = folder();
        for (name, content) in self.files {
            match name.strip_suffix('/') {
                Some(name) => fs::create_dir(folder.path().join(name)).unwrap(),
                None => fs::write(folder.path().join(name), content).unwrap(),
            }
        }
        let before = names(folder.path());
        let ran = run(folder.path(), self.args.split(' '));
        assert_eq!(ran.code(), Some(self.code), "{}: {ran:?}", self.args);
        for (said, expected) in [(&ran.stdout, self.stdout), (&ran.stderr, self.stderr)] {
            assert!(matches(said, expected), "{}\nsaid:\n{said}\nexpected:\n{expected}", self.args);
        }
        if self.code != 0 {
            assert_eq!(names(folder.path()), before, "{}: something was left", self.args);
        }
    }
}

/// Whether `said` is `expected`, line by line.
fn matches(said: &str, expected: &str) -> bool {
    let (said, expected): (Vec<_>, Vec<_>) = (said.lines().collect(), expected.lines().collect());
    said.len() == expected.len()
        && said.iter().zip(expected).all(|(said, expected)| line_matches(said, expected))
}

fn line_matches(said: &str, expected: &str) -> bool {
    match expected.split_once("[..]") {
        None => said == expected,
        Some((start, rest)) => said.strip_prefix(start).is_some_and(|said| {
            (0..=said.len()).any(|at| said.is_char_boundary(at) && line_matches(&said[at..], rest))
        }),
    }
}

fn check(transcripts: &[Transcript]) {
    transcripts.iter().for_each(Transcript::check);
}

/// A transcript of something that fails and leaves nothing.
const fn fails(
    files: &'static [(&'static str, &'static str)],
    args: &'static str,
    code: i32,
    stderr: &'static str,
) -> Transcript {
    Transcript { files, args, code, stdout: "", stderr }
}

const HEADER_ONLY: (&str, &str) = ("h.csv", "a,b\n");
const ONE_ROW: (&str, &str) = ("one.csv", "a,b\n1,2\n");

#[test]
fn wrong_usage_is_told_with_exit_code_2() {
    check(&[
        fails(
            &[],
            "generate x.db --preset user",
            2,
            "\
error: how many rows shall user have?

hint: --rows user=1M, or --rows 1M for every table",
        ),
        fails(
            &[],
            "generate x.db --preset users --rows 3",
            2,
            "\
error: no preset is called `users`

hint: there are: user",
        ),
        fails(
            &[],
            "generate x.db --rows 3",
            2,
            "\
error: no schema is named

hint: name a file with CREATE TABLE statements, or a built-in schema: --preset user",
        ),
        fails(
            &[],
            "generate --preset user --rows 3",
            2,
            "\
error: no database is named

hint: name one, or make pages for nobody: --discard",
        ),
        fails(
            &[],
            "generate x.db --preset user --rows 3 --discard",
            2,
            "\
error: x.db is one file too many

hint: with --discard no database is named, and with --preset no schema file",
        ),
        fails(
            &[("s.sql", "")],
            "generate x.db s.sql --rows 3 --discard",
            2,
            "\
error: s.sql is one file too many

hint: with --discard no database is named, only a schema file",
        ),
        fails(
            &[("s.sql", "")],
            "generate x.db s.sql --rows 3 --preset user",
            2,
            "\
error: s.sql is one file too many

hint: with --preset no schema file is named, only a database",
        ),
        fails(
            &[],
            "generate x.db --preset user --rows person=3",
            2,
            "\
error: preset:user:1:14: the schema has no table person, only: user

hint: --rows TABLE=N names a table of the schema; --rows N means every table",
        ),
        fails(
            &[("s.sql", "-- two\nCREATE TABLE a (b);\nCREATE TABLE c (d);")],
            "generate x.db s.sql --rows b=1",
            2,
            "\
error: s.sql:2:14: the schema has no table b, only: a, c

hint: --rows TABLE=N names a table of the schema; --rows N means every table",
        ),
        fails(
            &[("s.sql", "CREATE TABLE a (b); CREATE TABLE c (d);")],
            "generate x.db s.sql --rows a=1",
            2,
            "\
error: how many rows shall c have?

hint: --rows c=1M, or --rows 1M for every table",
        ),
        fails(
            &[],
            "generate x.db --preset user --rows 9223372036854775808",
            2,
            "\
error: 9223372036854775808 rows are more than a table can have

hint: SQLite numbers rows up to 9223372036854775807",
        ),
        fails(
            &[],
            "generate x.db --preset user --rows many",
            2,
            "\
error: invalid value 'many' for '--rows <[TABLE=]N>': \"many\" is no count such as 1000, 1_000, 1e6, 10M or 1B

For more information, try '--help'.",
        ),
        fails(
            &[],
            "generate x.db --preset user --rows 3 --memory 1MiB",
            2,
            "\
error: 1048576 bytes of memory are too few

hint: --memory 24MiB or more",
        ),
        fails(
            &[],
            "generate x.db --preset user --rows 3 --memory lots",
            2,
            "\
error: invalid value 'lots' for '--memory <SIZE>': \"lots\" is no size such as 65536, 512MiB or 2GB

For more information, try '--help'.",
        ),
        fails(
            &[],
            "generate x.db --preset user --rows 3 --threads 0",
            2,
            "\
error: invalid value '0' for '--threads <N>': 0 is not in 1..=1024

For more information, try '--help'.",
        ),
        fails(
            &[],
            "generate x.db --preset user --rows 3 --seed x",
            2,
            "\
error: invalid value 'x' for '--seed <N>': invalid digit found in string

For more information, try '--help'.",
        ),
        fails(
            &[],
            "generate x.db --preset user --rows 3 --color pink",
            2,
            "\
error: invalid value 'pink' for '--color <WHEN>'
  [possible values: auto, always, never]

For more information, try '--help'.",
        ),
        fails(
            &[],
            "check x.db --quiet --verbose",
            2,
            "\
error: the argument '--quiet' cannot be used with '--verbose'

Usage: [..]

For more information, try '--help'.",
        ),
        fails(
            &[ONE_ROW, ("s.sql", "CREATE TABLE t (a)")],
            "load x.db one.csv --schema s.sql",
            2,
            "\
error: s.sql declares no table one

hint: --table names one of: t",
        ),
        fails(
            &[],
            "frobnicate x.db",
            2,
            "\
error: unrecognized subcommand 'frobnicate'

Usage: sqluice [OPTIONS] <COMMAND>

For more information, try '--help'.",
        ),
    ]);
}

#[test]
fn a_target_that_is_in_the_way_is_refused() {
    let exists = "\
error: x.db already exists

hint: name another file, or replace this one: --overwrite";
    check(&[
        fails(&[("x.db", "precious")], "generate x.db --preset user --rows 3", 1, exists),
        fails(&[("x.db", "")], "generate x.db --preset user --rows 3", 1, exists),
        fails(&[("x.db", "precious")], "generate x.db --preset user --rows 3 --dry-run", 1, exists),
        fails(&[("x.db", "precious"), ONE_ROW], "load x.db one.csv", 1, exists),
        fails(
            &[("x.db/", "")],
            "generate x.db --preset user --rows 3",
            1,
            "\
error: x.db is a folder

hint: name a file in it",
        ),
        fails(
            &[],
            "generate x/ --preset user --rows 3",
            1,
            "\
error: x/ is a folder

hint: name a file in a folder that exists",
        ),
        fails(
            &[],
            "generate / --preset user --rows 3",
            1,
            "\
error: / is a folder

hint: name a file in a folder that exists",
        ),
        fails(
            &[],
            "generate no/such/x.db --preset user --rows 3",
            1,
            "\
error: cannot create a file in no/such
  caused by: No such file or directory (os error 2)

hint: make it first: mkdir -p no/such",
        ),
        fails(
            &[("f", "")],
            "generate f/x.db --preset user --rows 3",
            1,
            "\
error: cannot look at f/x.db
  caused by: Not a directory (os error 20)

hint: a part of this path is a file, not a folder",
        ),
        fails(
            &[],
            "generate /proc/x.db --preset user --rows 3",
            1,
            "\
error: cannot create a file in /proc
  caused by: [..]",
        ),
    ]);
}

#[test]
fn what_is_no_database_is_not_overwritten() {
    let no_database = "\
error: x.db is no SQLite database, and is not replaced

hint: name another file, or remove this one yourself if nobody needs it any more";
    let generate = "generate x.db --preset user --rows 3 --overwrite";
    check(&[
        fails(&[("x.db", "a,b\n1,2\n")], generate, 1, no_database),
        fails(&[("x.db", "a")], generate, 1, no_database),
        fails(&[("x.db", "SQLite format 3")], generate, 1, no_database),
        fails(&[("x.db", "SQLite format 3\0, and more")], generate, 1, no_database),
        fails(
            &[("x.db", "a,b\n1,2\n")],
            "generate x.db --preset user --rows 3 --overwrite --dry-run",
            1,
            no_database,
        ),
        // The arguments swapped.
        fails(
            &[ONE_ROW, ("x.csv", "a\n")],
            "load one.csv x.csv --overwrite",
            1,
            "\
error: one.csv is no SQLite database, and is not replaced

hint: name another file, or remove this one yourself if nobody needs it any more",
        ),
        fails(
            &[("x.db/", "")],
            generate,
            1,
            "\
error: x.db is a folder

hint: name a file in it",
        ),
        fails(
            &[],
            "generate /dev/null --preset user --rows 3 --overwrite",
            1,
            "\
error: /dev/null is no file, and is not replaced

hint: name another file",
        ),
        fails(
            &[],
            "generate --discard --preset user --rows 3 --overwrite",
            2,
            "\
error: the argument '--discard' cannot be used with '--overwrite'

Usage: [..]

For more information, try '--help'.",
        ),
    ]);
}

#[test]
fn a_file_that_will_not_fit_is_refused_before_anything_is_written() {
    let too_large = "\
error: x.db will take about 18.0 PB, and there are only [..] free in .

hint: free some space or choose another folder";
    let files: &'static [_] = &[("s.sql", "CREATE TABLE t (a)")];
    let args = "generate x.db --preset user --rows 1000T";
    let dry = "generate x.db --preset user --rows 1000T --dry-run";
    check(&[fails(files, args, 1, too_large), fails(files, dry, 1, too_large)]);
    // What is thrown away needs no room.
    let discarded = "generate --preset user --rows 1000T --discard --dry-run";
    run(Path::new("/"), discarded.split(' ')).ok();

    let folder = folder();
    run(folder.path(), generate("x.db", "3")).ok();
    let ran = run(folder.path(), [&generate("x.db", "1000T")[..], &["--overwrite"]].concat());
    let too_large = format!("{too_large}: the old one stays until the new one is whole");
    assert!(ran.code() == Some(1) && matches(&ran.stderr, &too_large), "{ran:?}");
    run(folder.path(), ["check", "x.db"]).ok();
}

#[test]
fn a_leftover_journal_that_sqlite_would_roll_in_is_refused() {
    let files: [&'static [_]; 2] = [&[("x.db-journal", "hot")], &[("x.db-wal", "hot")]];
    let stderr = [
        "error: ./x.db-journal is left from another database",
        "error: ./x.db-wal is left from another database",
    ];
    let hint = "hint: SQLite would roll it into the new file: if nobody needs it any more, remove it, or move it away";
    for (files, stderr) in files.into_iter().zip(stderr) {
        for args in ["generate x.db --preset user --rows 3", "generate x.db --preset user --rows 3 --dry-run"]
        {
            let stderr = format!("{stderr}\n\n{hint}").leak();
            fails(files, args, 1, stderr).check();
        }
    }
}

#[test]
fn an_empty_journal_is_in_nobodys_way() {
    let folder = folder();
    for name in ["x.db-journal", "x.db-wal"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    run(folder.path(), generate("x.db", "3")).ok();
    assert_eq!(integrity(&folder.path().join("x.db")), "ok");
    let count = |connection: rusqlite::Connection| {
        connection.query_row("SELECT count(*) FROM user", [], |row| row.get(0))
    };
    assert_eq!(rusqlite::Connection::open(folder.path().join("x.db")).and_then(count), Ok(3));
}

#[test]
fn mistakes_in_a_schema_say_file_line_and_column() {
    const DECLARES_ONLY: &str = "\n\nhint: keep the CREATE statements, drop the rest";
    for (sql, stderr) in [
        (
            "CREATE TABLE t (\n  a INTEGER, -- gen: digts(6)\n  b TEXT);",
            "error: s.sql:2:22: no function is called `digts`\n\nhint: did you mean digits(n)? There are: [..]",
        ),
        ("CREATE TABLE t (\n  a INTEGER,\n  b,, c);", "error: s.sql:3:5: near \",\": syntax error"),
        ("CREATE TABLE t (a);\nCREATE TABLE t (b);", "error: s.sql:2:14: table t already exists"),
        ("CREATE TABLE t (a", "error: s.sql:1:1: incomplete input"),
        ("", "error: s.sql: the schema declares no table"),
        (
            "CREATE TABLE t (a); -- one;\nCREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT ';'; SELECT 2; END;\n  DROP TABLE u;",
            "error: s.sql:3:3: no such table: u",
        ),
        (
            "CREATE TABLE t (a);\nCREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1;",
            "error: s.sql:2:1: incomplete input",
        ),
        (
            "CREATE TABLE t (a);\nINSERT INTO t VALUES (1);",
            &format!(
                "error: s.sql:2:1: a schema file only declares, and this one changes rows of t{DECLARES_ONLY}"
            ),
        ),
        (
            "CREATE TABLE t (a); ATTACH 'y.db' AS y;",
            &format!(
                "error: s.sql:1:21: a schema file only declares, and this one attaches y.db{DECLARES_ONLY}"
            ),
        ),
        (
            "CREATE TABLE t (a); VACUUM INTO 'y.db';",
            &format!(
                "error: s.sql:1:21: a schema file only declares, and this one attaches y.db{DECLARES_ONLY}"
            ),
        ),
        (
            "PRAGMA journal_mode = wal; CREATE TABLE t (a)",
            &format!(
                "error: s.sql:1:1: a schema file only declares, and this one sets PRAGMA journal_mode{DECLARES_ONLY}"
            ),
        ),
        (
            "CREATE TEMP TABLE t (a)",
            &format!(
                "error: s.sql:1:1: a schema file only declares, and this one makes something temporary{DECLARES_ONLY}"
            ),
        ),
    ] {
        schema_refused(sql, stderr);
    }
}

#[test]
fn what_cannot_be_made_yet_is_refused_with_the_reason() {
    let table = |why: &str| {
        format!(
            "error: s.sql:1:14: table t {why}, which can't be filled yet\n\n\
             hint: declare it without, and add what is missing with sqlite3 afterwards"
        )
    };
    for (sql, why) in [
        ("CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID", "is WITHOUT ROWID"),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT)", "is AUTOINCREMENT"),
        ("CREATE TABLE t (a UNIQUE)", "has UNIQUE or a PRIMARY KEY that is not its rowid"),
        ("CREATE TABLE t (a TEXT PRIMARY KEY)", "has UNIQUE or a PRIMARY KEY that is not its rowid"),
        ("CREATE TABLE t (a CHECK (a > 1))", "has a CHECK"),
        ("CREATE TABLE t (a, b AS (a + 1))", "has a generated column"),
    ] {
        schema_refused(sql, &table(why));
    }
    let hint = "hint: leave it out of the schema, and make it with sqlite3 afterwards";
    schema_refused(
        "CREATE TABLE t (a); CREATE INDEX i ON t (a)",
        &format!("error: s.sql: index i of table t can't be made yet\n\n{hint}"),
    );
    schema_refused(
        "CREATE TABLE t (a); CREATE VIRTUAL TABLE v USING dbstat",
        &format!("error: s.sql: virtual table v can't be made yet\n\n{hint}"),
    );
    schema_refused(
        "CREATE TABLE t (a INTEGER PRIMARY KEY -- gen: int(1, 9)\n)",
        "error: the INTEGER PRIMARY KEY of t must be row() for now\n\n\
         hint: rows in another order of their keys can't be written yet",
    );
}

#[track_caller]
fn schema_refused(sql: &str, stderr: &str) {
    let folder = folder();
    fs::write(folder.path().join("s.sql"), sql).unwrap();
    let ran = run(folder.path(), ["generate", "x.db", "s.sql", "--rows", "3"]);
    assert_eq!((ran.code(), &*ran.stdout), (Some(1), ""), "{sql}: {ran:?}");
    assert!(matches(&ran.stderr, stderr), "{sql}\nsaid:\n{}\nexpected:\n{stderr}", ran.stderr);
    assert_eq!(names(folder.path()), ["s.sql"], "{sql}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let no_such = "  caused by: No such file or directory (os error 2)";
    for (args, file) in [
        ("generate x.db no.sql --rows 3", "no.sql"),
        ("load x.db no.csv", "no.csv"),
        ("check no.db", "no.db"),
        ("info no.db", "no.db"),
    ] {
        fails(&[], args, 1, format!("error: cannot read {file}\n{no_such}").leak()).check();
    }
    let folder: &'static [_] = &[("d/", "")];
    let is_folder = "error: cannot read d\n  caused by: Is a directory (os error 21)";
    check(&[
        fails(folder, "generate x.db d --rows 3", 1, is_folder),
        fails(folder, "load x.db d", 1, is_folder),
        fails(folder, "check d", 1, "error: d is no file\n\nhint: name a database file"),
        fails(folder, "info d", 1, "error: d is no file\n\nhint: name a database file"),
        fails(&[("e.db", "")], "info e.db", 1, "error: e.db is no SQLite database: it is empty"),
        fails(
            &[("t.db", "text")],
            "info t.db",
            1,
            "\
error: t.db is no SQLite database: page 1: the file is shorter than the 100 bytes of a database header",
        ),
    ]);
}

#[test]
fn csv_files_without_rows_are_databases_and_those_without_a_header_are_not() {
    let folder = folder();
    fs::write(folder.path().join(HEADER_ONLY.0), HEADER_ONLY.1).unwrap();
    let ran = run(folder.path(), ["load", "x.db", "h.csv"]).ok();
    assert!(
        matches(&ran.stderr, "0 rows to x.db: 8.192 kB in [..] s (0.0 M rows/s), checksum [..]"),
        "{ran:?}"
    );
    assert_eq!(integrity(&folder.path().join("x.db")), "ok");
    let sql = rusqlite::Connection::open(folder.path().join("x.db"))
        .and_then(|connection| connection.query_row("SELECT sql FROM sqlite_schema", [], |row| row.get(0)));
    assert_eq!(sql, Ok("CREATE TABLE \"h\" (\n  \"a\" TEXT,\n  \"b\" TEXT\n)".to_owned()));

    check(&[
        fails(
            &[("e.csv", "")],
            "load x.db e.csv",
            1,
            "\
error: e.csv: the file is empty

hint: its first line should name the columns",
        ),
        fails(
            &[("m.csv", "a,b\n1,2\n3\n")],
            "load x.db m.csv",
            1,
            "\
error: m.csv:3:2: the record ends after field 1: the header has 2",
        ),
        fails(
            &[("m.csv", "a,b\n1,\"2\n")],
            "load x.db m.csv",
            1,
            "\
error: m.csv:2:3: the quoted field that begins here never ends",
        ),
        fails(
            &[ONE_ROW, ("s.sql", "CREATE TABLE t (a)")],
            "load x.db one.csv --schema s.sql --table t",
            1,
            "\
error: one.csv:1:3: the table has no column \"b\"

hint: its columns are a",
        ),
    ]);
}

#[test]
fn the_flags_of_load_do_what_they_say() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("in.csv"), "a,b\nx,\ny,\"\"\n").unwrap();
    fs::write(
        folder.join("s.sql"),
        "CREATE TABLE t (b TEXT, a TEXT, c TEXT DEFAULT 'd'); CREATE TABLE u (v)",
    )
    .unwrap();
    let rows = |db: &str, sql: &str| -> Vec<String> {
        let connection = rusqlite::Connection::open(folder.join(db)).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    run(folder, ["load", "1.db", "in.csv"]).ok();
    assert_eq!(rows("1.db", "SELECT quote(a) || quote(b) FROM \"in\""), ["'x'NULL", "'y'''"]);
    run(folder, ["load", "2.db", "in.csv", "--empty-as-text", "--table", "my table"]).ok();
    assert_eq!(rows("2.db", "SELECT quote(a) || quote(b) FROM \"my table\""), ["'x'''", "'y'''"]);
    run(folder, ["load", "3.db", "in.csv", "--schema", "s.sql", "-t", "T"]).ok();
    assert_eq!(rows("3.db", "SELECT quote(a) || quote(b) || quote(c) FROM t"), ["'x'NULL'd'", "'y''''d'"]);
    assert_eq!(rows("3.db", "SELECT v FROM u"), [""; 0]);
    for db in ["1.db", "2.db", "3.db"] {
        assert_eq!(integrity(&folder.join(db)), "ok");
    }
}

#[test]
fn rows_are_counted_as_people_write_them() {
    for (rows, expected) in
        [("1_000", 1000), ("1e3", 1000), ("2.5k", 2500), ("0", 0), ("user=7", 7), ("USER=7", 7)]
    {
        let ran =
            run(Path::new("/"), ["generate", "--discard", "--json", "--preset", "user", "-n", rows]).ok();
        assert_eq!(ran.json()["rows"], expected, "{rows}");
    }
    let folder = folder();
    fs::write(folder.path().join("s.sql"), "CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x);")
        .unwrap();
    let args = [
        "generate",
        "s.sql",
        "--discard",
        "--json",
        "--rows",
        "b=2",
        "--rows",
        "3",
        "--rows",
        "c=4",
        "-n",
        "c=5",
    ];
    let ran = run(folder.path(), args).ok();
    let counts: Vec<_> = (0..3).map(|table| ran.json()["tables"][table]["rows"].as_u64().unwrap()).collect();
    assert_eq!(counts, [3, 2, 5]);
}

#[test]
fn all_eight_page_sizes_and_no_other_are_taken() {
    let folder = folder();
    for page_bytes in [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536] {
        let size = page_bytes.to_string();
        let name = format!("{size}.db");
        let args = [&generate(&name, "10k")[..], &["--json", "--page-size", &size]].concat();
        let ran = run(folder.path(), args).ok();
        assert_eq!(ran.json()["page_bytes"], page_bytes);
        let path = folder.path().join(&name);
        assert_eq!(integrity(&path), "ok", "{page_bytes}");
        assert_eq!(ran.json()["checksum"], checksum(&path), "{page_bytes}");
        let connection = rusqlite::Connection::open(&path).unwrap();
        let said: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
        assert_eq!(said, page_bytes);
    }
    let ran = run(
        folder.path(),
        ["generate", "--discard", "--json", "--preset", "user", "-n1", "--page-size", "64KiB"],
    );
    assert_eq!(ran.ok().json()["page_bytes"], 65536);
    for size in ["0", "1", "256", "1000", "4095", "131072", "-4096", "big"] {
        let size = format!("--page-size={size}");
        let ran = run(folder.path(), ["generate", "x.db", "--preset", "user", "-n1", &size]);
        ran.failed(2, "for '--page-size <BYTES>'");
    }
}

#[test]
fn targets_may_have_any_name() {
    let folder = folder();
    let folder = folder.path();
    for name in [
        "x.db",
        "./y.db",
        "my data.db",
        "Ünïcödé 数据.db",
        "file:x",
        "file:y?mode=memory",
        ":memory:",
        "-",
        "*",
    ] {
        run(folder, ["generate", "--preset", "user", "--rows", "3", "--", name]).ok();
        run(folder, ["check", "--", name]).ok();
        run(folder, ["info", "--", name]).ok();
        assert!(folder.join(name).is_file(), "{name}: {:?}", names(folder));
    }
    assert_eq!(names(folder).len(), 9);

    fs::create_dir(folder.join("below")).unwrap();
    let absolute = folder.join("below/x.db");
    run(folder, generate(absolute.to_str().unwrap(), "3")).ok();
    run(&folder.join("below"), generate("../up.db", "3")).ok();
    assert!(absolute.is_file() && folder.join("up.db").is_file());

    let long = "x".repeat(247);
    run(folder, generate(&long, "3")).ok();
    run(folder, generate(&"x".repeat(256), "3")).failed(1, "File name too long");
}

#[test]
fn a_name_that_is_no_utf8_is_taken_and_reported_as_well_as_json_can() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let name = OsStr::from_bytes(b"\xff.db");
    let args = ["generate", "--json", "--preset", "user", "--rows", "3"].map(OsStr::new);
    let ran = run(folder.path(), args.into_iter().chain([name])).ok();
    assert_eq!(ran.json()["target"], "\u{fffd}.db");
    run(folder.path(), [OsStr::new("check"), name]).ok();
}

#[test]
fn a_dangling_link_makes_the_file_that_it_points_to() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir(folder.join("data")).unwrap();
    symlink("data/other.db", folder.join("x.db")).unwrap();
    symlink("x.db", folder.join("y.db")).unwrap();
    // A journal beside the link is nobody's: SQLite looks beside the file.
    fs::write(folder.join("y.db-journal"), "nothing").unwrap();
    run(folder, generate("y.db", "3")).ok();
    assert!(folder.join("y.db").is_symlink() && folder.join("x.db").is_symlink());
    assert_eq!(names(&folder.join("data")), ["other.db"]);
    assert_eq!(integrity(&folder.join("data/other.db")), "ok");
    run(folder, generate("x.db", "3")).failed(1, "x.db already exists");

    fs::remove_file(folder.join("data/other.db")).unwrap();
    fs::write(folder.join("data/other.db-wal"), "hot").unwrap();
    run(folder, generate("x.db", "3")).failed(1, "data/other.db-wal is left from another database");

    symlink("loop", folder.join("loop")).unwrap();
    run(folder, generate("loop", "3")).failed(1, "loop: too many symbolic links");
}

#[test]
fn quiet_is_silent_and_verbose_says_more() {
    let folder = folder();
    let folder = folder.path();
    let ran = run(folder, [&["-q"], &generate("q.db", "3")[..]].concat()).ok();
    assert_eq!((&*ran.stdout, &*ran.stderr), ("", ""));
    let ran = run(folder, ["check", "q.db", "--quiet"]).ok();
    assert_eq!((&*ran.stdout, &*ran.stderr), ("", ""));
    let ran = run(folder, [&generate("q.db", "3")[..], &["-q"]].concat()).failed(1, "q.db already exists");
    assert!(ran.stderr.contains("hint: "));

    let ran = run(folder, generate("n.db", "3")).ok();
    assert_eq!(ran.stdout, "");
    assert!(
        matches(&ran.stderr, "3 rows to n.db: 8.192 kB in [..] s ([..] M rows/s), checksum [..]"),
        "{ran:?}"
    );
    let ran = run(folder, [&generate("v.db", "3")[..], &["-v", "-j1"]].concat()).ok();
    let expected = "\
3 rows to v.db: 8.192 kB in [..] s ([..] M rows/s), checksum [..]
1 threads, [..] writes, 2 pages of 4096 bytes
  user: 3 rows; 1 leaf, 0 interior, 0 overflow pages, root 2";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
}

#[test]
fn json_is_all_that_standard_output_gets() {
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
    assert_eq!((&plan["tables"][0]["road"], &plan["tables"][0]["rows"]), (&"pages".into(), &1000.into()));
    assert_eq!(names(folder), ["x.db"], "a dry run makes nothing");

    let ran = run(folder, [&["--json"], &generate("x.db", "3")[..]].concat());
    ran.failed(1, "x.db already exists");
}

#[test]
fn a_dry_run_prints_the_plan_and_does_nothing() {
    check(&[
        Transcript {
            files: &[ONE_ROW],
            args: "load x.db one.csv --dry-run -j 1",
            code: 0,
            stderr: "",
            stdout: "\
target   x.db (new)
pages    of 4096 bytes, 2048 at a time
threads  1 and a writer, 50331648 bytes of buffers
table    one: rows from one.csv
  road   pages: a new rowid table without indexes
  CREATE TABLE \"one\" (
    \"a\" TEXT,
    \"b\" TEXT
  )",
        },
        Transcript {
            files: &[("s.sql", "CREATE TABLE t (a INTEGER)")],
            args: "generate s.sql --rows 1k --discard --dry-run -j 4 --memory 48MiB --page-size 8192",
            code: 0,
            stderr: "",
            stdout: "\
target   none: pages are made and thrown away
size     about 11.0 kB
pages    of 8192 bytes, 1024 at a time
threads  2 and a writer, 50331648 bytes of buffers
table    t: 1000 rows from the generator, seed 1
  road   pages: a new rowid table without indexes
  CREATE TABLE t (a INTEGER)",
        },
    ]);
}

#[test]
fn the_version_names_sqlites() {
    let version = format!("sqluice {} (SQLite {})\n", env!("CARGO_PKG_VERSION"), rusqlite::version());
    for flag in ["--version", "-V"] {
        assert_eq!(run(Path::new("/"), [flag]).ok().stdout, version);
    }
}

#[test]
fn help_names_every_verb_and_the_exit_codes() {
    let help = run(Path::new("/"), ["--help"]).ok().stdout;
    for word in
        ["generate", "load", "check", "info", "--json", "0 done", "1 the input", "2 wrong", "130 interrupted"]
    {
        assert!(help.contains(word), "{word}");
    }
    for verb in ["generate", "load", "check", "info"] {
        assert!(
            run(Path::new("/"), [verb, "--help"]).ok().stdout.contains(&format!("Usage: sqluice {verb} "))
        );
    }
}

#[test]
fn check_finds_a_sound_database_sound() {
    let folder = folder();
    run(folder.path(), generate("x.db", "10k")).ok();
    for (args, by) in
        [(&["check", "x.db"][..], "quick_check"), (&["check", "x.db", "--full"], "integrity_check")]
    {
        let ran = run(folder.path(), args).ok();
        let expected = format!(
            "sound: 10,000 rows, [..] pages, [..] kB, checksum [..]; read by sqluice and by SQLite's {by} in [..] s"
        );
        assert!(matches(&ran.stdout, &expected), "{ran:?}");
        assert_eq!(ran.stderr, "");
    }
    fs::write(folder.path().join("empty.db"), "").unwrap();
    let ran = run(folder.path(), ["check", "empty.db"]).ok();
    assert!(ran.stdout.starts_with("sound: 0 rows, 0 pages, 0 bytes; "), "{ran:?}");
}

#[test]
fn check_says_what_is_wrong_with_a_database_that_is_not_sound() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "10k")).ok();
    let sound = fs::read(folder.join("x.db")).unwrap();
    let pages = sound.len() / 4096;
    let unsound = |content: &[u8], expected: &str| {
        fs::write(folder.join("y.db"), content).unwrap();
        for args in [&["check", "y.db"][..], &["check", "y.db", "--full", "-q"], &["check", "y.db", "--json"]]
        {
            let ran = run(folder, args);
            assert_eq!((ran.code(), &*ran.stderr), (Some(1), ""), "{ran:?}");
            if args.contains(&"--json") {
                assert_eq!(ran.json()["sound"], false);
            } else {
                assert!(
                    ran.stdout.contains(expected) && ran.stdout.contains("NOT sound: "),
                    "{expected}: {ran:?}"
                );
            }
        }
    };
    let with = |at: usize, byte: u8| {
        let mut content = sound.clone();
        content[at] = byte;
        content
    };
    unsound(&with(4096, 0xff), "user: page 2: 255 is no kind of B-tree page");
    unsound(&with(4096 + 4, 0xff), "user: page 2: ");
    unsound(&with(31, 99), &format!("the header counts 99 pages, the file has {pages}"));
    unsound(&with(0, b'X'), "page 1: the file does not begin as a SQLite database does");
    unsound(
        &sound[..sound.len() - 4096],
        &format!("the header counts {pages} pages, the file has {}", pages - 1),
    );
    unsound(b"This is a text.\n", "page 1: the file is shorter than the 100 bytes of a database header");
    unsound(&b"This is a long text.\n".repeat(1000), "SQLite: file is not a database");
    // Every page of the file, one byte somewhere in its head.
    for page in 1..pages {
        unsound(&with(page * 4096 + 1, sound[page * 4096 + 1] ^ 0x10), &format!("page {}", page + 1));
    }
}

#[test]
fn info_says_what_is_in_a_database() {
    let folder = folder();
    run(folder.path(), generate("x.db", "10k")).ok();
    let ran = run(folder.path(), ["info", "x.db"]).ok();
    let expected = "\
size      [..] kB
pages     [..] of 4096 bytes
free      0 pages on the freelist
journal   rollback
encoding  UTF-8
schema    format 4, cookie 1
user      version 0, application id 0
written   by SQLite [..] or as it would

name           kind                     rows       pages  overflow depth   fill
sqlite_schema  table                       1           1         0     1   [..]%
user           table                  10,000          [..]         0     2  [..]%";
    assert!(matches(&ran.stdout, expected), "{}", ran.stdout);

    fs::write(folder.path().join("y.db"), &fs::read(folder.path().join("x.db")).unwrap()[..8192]).unwrap();
    let ran = run(folder.path(), ["info", "y.db"]).ok();
    assert!(ran.stdout.contains("NOT sound: sqluice check tells more"), "{ran:?}");
}

#[test]
fn checksums_of_pages_thrown_away_written_and_checked_are_equal() {
    let folder = folder();
    let folder = folder.path();
    let schema =
        "CREATE TABLE a (i INTEGER, t TEXT, -- gen: text(0, 9000)\n b TEXT); CREATE TABLE b (i INTEGER);";
    fs::write(folder.join("s.sql"), schema).unwrap();
    let mut seen = Vec::new();
    for seed in ["1", "2"] {
        let flags = ["--rows", "2000", "--json", "--seed", seed];
        let discarded = run(folder, [&["generate", "s.sql", "--discard"], &flags[..]].concat()).ok().json();
        let name = format!("{seed}.db");
        let written = run(folder, [&["generate", &name, "s.sql"], &flags[..]].concat()).ok().json();
        let one_thread =
            run(folder, [&["generate", "s.sql", "--discard", "-j1"], &flags[..]].concat()).ok().json();
        assert_eq!(discarded["output"], "discarded");
        assert_eq!(discarded["target"], serde_json::Value::Null);
        let checked = checksum(&folder.join(&name));
        for report in [discarded, written, one_thread] {
            assert_eq!(report["checksum"], checked);
        }
        seen.push(checked);
    }
    assert_ne!(seen[0], seen[1], "another seed, another file");
}

#[test]
fn colour_comes_when_it_is_asked_for_and_never_alone() {
    let ran = run(Path::new("/"), ["check", "/no/such", "--color", "always"]);
    assert!(ran.stderr.starts_with("\x1b[1;31merror:\x1b[0m cannot read /no/such\n"), "{ran:?}");
    for when in ["auto", "never"] {
        let ran = run(Path::new("/"), ["check", "/no/such", "--color", when]);
        assert!(ran.stderr.starts_with("error: cannot read /no/such\n"), "{ran:?}");
    }
}
