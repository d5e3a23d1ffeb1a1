//! Transcripts of `load` about the tables and columns that files become.

use crate::transcript::{ONE_ROW, Transcript, sqluice};

const TABLES: &str = "SELECT name FROM sqlite_schema ORDER BY rowid";

fn load(args: &str) -> Transcript {
    sqluice(&format!("load x.db {args}"))
}

#[test]
fn a_file_makes_a_table_of_its_name_with_the_types_of_its_values() {
    load("one.csv")
        .file(ONE_ROW.0, ONE_ROW.1)
        .succeeds()
        .prints("")
        .says("Loaded 1 row into x.db: 8.2 kB in [..] ([..] rows/s)\none: a INTEGER, b INTEGER")
        .holds(
            "SELECT sql FROM sqlite_schema",
            "'CREATE TABLE \"one\" (\n  \"a\" INTEGER,\n  \"b\" INTEGER\n)'",
        )
        .holds("SELECT * FROM one", "1|2");
    load("in.csv")
        .file("in.csv", "i,r,t,zip,big,date,mixed,none\n1,1.5,x,01234,12345678901234567890,2024-01-02,1,\n-2,2.25,,2,1,2024-01-03,x,\n")
        .succeeds()
        .holds("SELECT * FROM \"in\"", "1|1.5|'x'|'01234'|'12345678901234567890'|'2024-01-02'|'1'|NULL\n-2|2.25|NULL|'2'|'1'|'2024-01-03'|'x'|NULL");
}

#[test]
fn a_column_name_with_a_line_end_is_printed_on_one_line() {
    load("in.csv")
        .file("in.csv", "a,\"code\n(of 2024)\"\n1,x\n")
        .succeeds()
        .says("Loaded 1 row into x.db: [..]\nin: a INTEGER, code\\n(of 2024) TEXT")
        .holds("SELECT \"code\n(of 2024)\" FROM \"in\"", "'x'");
}

#[test]
fn a_string_of_digits_in_json_is_text_without_a_note() {
    load("in.ndjson")
        .file("in.ndjson", "{\"id\":\"8000410\"}\n{\"id\":\"8000411\"}\n")
        .succeeds()
        .says("Loaded 2 rows into x.db: [..]\nread in.ndjson: ndjson\nin: id TEXT");
}

#[test]
fn several_files_make_several_tables() {
    load("a.csv b.tsv 'c d.csv'")
        .file("a.csv", "x\n1\n")
        .file("b.tsv", "x\ty\n2\t3\n")
        .file("c d.csv", "x\n4\n")
        .succeeds()
        .says("Loaded 3 rows into x.db: [..]\na: x INTEGER\nb: x INTEGER, y INTEGER\nc d: x INTEGER")
        .holds(TABLES, "'a'\n'b'\n'c d'")
        .holds(
            "SELECT x, NULL FROM a UNION ALL SELECT x, y FROM b UNION ALL SELECT x, NULL FROM \"c d\"",
            "1|NULL\n2|3\n4|NULL",
        );
}

#[test]
fn the_flag_table_puts_all_files_into_one_table_in_the_order_of_the_arguments() {
    for flag in ["-t log", "--table log", "--table=log"] {
        load(&format!("b.csv a.csv {flag}"))
            .file("a.csv", "x,y\n1,one\n")
            .file("b.csv", "Y,x\ntwo,2\nthree,3\n")
            .succeeds()
            .holds("SELECT rowid, * FROM log", "1|'two'|2\n2|'three'|3\n3|'one'|1");
    }
}

#[test]
fn a_pattern_loads_the_matching_files_in_the_order_of_their_names() {
    let with_files = |args| {
        load(args)
            .file("log-2.csv", "n\n2\n")
            .file("log-1.csv", "n\n1\n")
            .file("other.csv", "n\n3\n")
            .file("log-d.csv/", "")
    };
    with_files("'log-*.csv' -t log").succeeds().holds("SELECT n FROM log", "1\n2");
    with_files("log-?.csv").succeeds().holds(TABLES, "'log-1'\n'log-2'");
    with_files("'[!l]*.csv'").succeeds().holds(TABLES, "'other'");
    with_files("'no-*.csv'").fails(1, "error: no file matches no-*.csv");
    with_files("'log-[.csv'").fails(
        2,
        "error: log-[.csv is neither a file nor a pattern\n  caused by: [..]\n\n\
         hint: in a pattern, [ begins a set of characters, and [[] is the character itself",
    );
    load("'[a].csv'").file("[a].csv", "n\n1\n").succeeds().holds(TABLES, "'[a]'");
}

#[test]
fn two_files_that_would_make_the_same_table_need_a_flag() {
    load("a.csv d/A.csv").file("a.csv", "x\n1\n").file("d/", "").file("d/A.csv", "x\n2\n").fails(
        2,
        "error: a.csv and d/A.csv would both make table A\n\nhint: --name-from path names tables after their folders, too; --table NAME loads \
         all files into one table",
    );
}

#[test]
fn standard_input_is_loaded_like_a_file_and_needs_a_table_name() {
    load("- -t t").stdin("a,b\n1,x\n").succeeds().holds("SELECT * FROM t", "1|'x'");
    load("one.csv - -t t")
        .file(ONE_ROW.0, ONE_ROW.1)
        .stdin("a,b\n3,4\n")
        .succeeds()
        .holds("SELECT * FROM t", "1|2\n3|4");
    load("-")
        .stdin("a,b\n1,x\n")
        .fails(2, "error: no table can be named after standard input\n\nhint: name it: --table NAME");
    load("- - -t t")
        .stdin("a\n")
        .fails(2, "error: standard input (-) is named twice\n\nhint: it can be read only once");
    load("- -t t")
        .fails(1, "error: standard input: the file is empty\n\nhint: its first line should name the columns");
    load("- -t t").stdin("a,b\n1\n").fails(
        1,
        "error: standard input:2:2: the record ends after field 1: the header has 2\n\n\
         hint: --pad fills missing fields with NULL; --reject FILE writes such rows to a file and goes on",
    );
    // A file called - can be named by a longer path.
    load("./-").file("-", "a\n1\n").succeeds().holds(TABLES, "'-'");
}

#[test]
fn the_flag_schema_declares_the_tables() {
    let schema = "CREATE TABLE t (b TEXT NOT NULL, a REAL, c TEXT DEFAULT 'd', id INTEGER PRIMARY KEY); CREATE TABLE u (v);\n\
                  CREATE VIEW w AS SELECT a FROM t;";
    load("in.csv --schema s.sql -t T")
        .file("in.csv", "a,B\n1,007\n2,\"\"\n")
        .file("s.sql", schema)
        .succeeds()
        .holds("SELECT * FROM t", "'007'|1.0|'d'|1\n''|2.0|'d'|2")
        .holds("SELECT * FROM u", "")
        .holds("SELECT * FROM w", "1.0\n2.0");
    load("t.csv --schema s.sql")
        .file("t.csv", "7,x\n9,y\n")
        .file("s.sql", "CREATE TABLE t (id INTEGER PRIMARY KEY, b)")
        .succeeds()
        .says("note: t.csv: the first record is taken for a row; if it names the columns: --header\nLoaded 2 rows into [..]\nt: id INTEGER, b")
        .holds("SELECT * FROM t", "7|'x'\n9|'y'");
}

#[test]
fn a_column_that_the_schema_lacks_is_refused_with_its_place() {
    let with = |args: &str, csv: &str, schema: &str| load(args).file("t.csv", csv).file("s.sql", schema);
    with("t.csv --schema s.sql", "a,b\n1,2\n", "CREATE TABLE u (a); CREATE TABLE v (a)")
        .fails(2, "error: s.sql declares no table t\n\nhint: --table names one of: u, v");
    with("t.csv --schema s.sql", "a,b\n1,2\n", "CREATE TABLE t (a)").fails(
        1,
        "error: t.csv:1:3: table t has no column \"b\"\n\n\
         hint: its columns are a; --add-columns adds what is missing, --columns names those to load",
    );
    with("t.csv --schema s.sql", "a\n1\n", "CREATE TABLE t (a, b DEFAULT (user_id()))").fails(
        1,
        "error: there are no values for column b, and its DEFAULT user_id() can't be computed\n  \
         caused by: no such function: user_id\n\n\
         hint: give the column values, or declare another DEFAULT",
    );
    with("t.csv --schema s.sql --no-header", "1,2\n", "CREATE TABLE t (a)").fails(
        1,
        "error: t.csv has 2 columns, and table t has 1\n\n\
         hint: --columns names the columns of a file without a header, in their order",
    );
    with("t.csv --schema s.sql", "a\n1\n", "CREATE TABLE t (a")
        .fails(1, "error: s.sql:1:1: incomplete input");
    with("t.csv --schema no.sql", "a\n1\n", "")
        .fails(1, "error: cannot read no.sql\n  caused by: No such file or directory (os error 2)");
    with("t.csv --schema s.sql", "a\n1\n", "").fails(1, "error: s.sql: the schema declares no table");
}

#[test]
fn the_flag_type_declares_the_type_of_a_column() {
    load("one.csv --type a=TEXT --type B=REAL")
        .file(ONE_ROW.0, ONE_ROW.1)
        .succeeds()
        .holds("SELECT * FROM one", "'1'|2.0");
    load("one.csv --type 'a=INTEGER PRIMARY KEY' --type 'b=TEXT NOT NULL'")
        .file(ONE_ROW.0, "a,b\n7,2\n9,3\n")
        .succeeds()
        .holds("SELECT rowid, * FROM one", "7|7|'2'\n9|9|'3'");
    // If --type names a column twice, the last type is used.
    load("one.csv --type a=TEXT --type a=REAL")
        .file(ONE_ROW.0, ONE_ROW.1)
        .succeeds()
        .holds("SELECT * FROM one", "1.0|2");
}

#[test]
fn an_unknown_type_is_refused() {
    let types = "INTEGER, REAL, NUMERIC, TEXT, BLOB, ANY, or what other systems call them, such as VARCHAR(20), STRING, DATE, \
                 TIMESTAMP, BOOLEAN, BIGINT, INT64, DOUBLE, FLOAT64, DECIMAL(10,2), UUID, JSON, BYTES";
    let hint = format!("hint: types are {types}");
    let refused = |flags: &str, stderr: &str| {
        load(&format!("one.csv {flags}")).file(ONE_ROW.0, ONE_ROW.1).fails(2, &format!("error: {stderr}"));
    };
    for (given, why) in [
        ("TEXT, z TEXT", "that declares more or less than a column"),
        ("TEXT --", "that declares more or less than a column"),
        ("TEXT /*", "incomplete input"),
        ("TEXT) --", "near \")\": syntax error"),
        ("x y )", "near \")\": syntax error"),
        ("TEXT NOT", "near \",\": syntax error"),
    ] {
        // The message quotes the value as a shell requires.
        refused(&format!("--type 'a={given}'"), &format!("--type 'a={given}': {why}\n\n{hint}"));
    }
    for strict in ["", "--strict "] {
        refused(
            &format!("{strict}--type a=VARCHR"),
            &format!(
                "--type a=VARCHR: there is no type called VARCHR\n\nhint: did you mean VARCHAR? Types are {types}"
            ),
        );
    }
    refused("--type a=geometry", &format!("--type a=geometry: there is no type called geometry\n\n{hint}"));
    refused(
        "--type c=TEXT",
        "--type names the column \"c\", which no file has\n\nhint: the columns are: a, b",
    );
    refused(
        "--type 'a=INTEGER PRIMARY KEY' --type 'b=INTEGER PRIMARY KEY'",
        "table \"one\" has more than one primary key\n\n\
         hint: --type declares a column, --table names the table, --schema declares everything",
    );
    for text in ["a", "=TEXT", "a="] {
        refused(
            &format!("--type {text}"),
            &format!(
                "invalid value '{text}' for '--type <COL=TYPE>': \"{text}\" is not COLUMN=TYPE, such as zip=TEXT\n\n\
                 For more information, try '--help'."
            ),
        );
    }
}

#[test]
fn type_names_of_other_databases_become_types_of_the_same_meaning() {
    for (given, expected) in [
        ("STRING", "'TEXT'|'01234'"),
        ("str", "'TEXT'|'01234'"),
        ("DATE", "'TEXT'|'01234'"),
        ("VARCHAR(5)", "'VARCHAR(5)'|'01234'"),
        ("any", "'BLOB'|'01234'"),
        ("bytes", "'BLOB'|'01234'"),
        ("int64", "'int64'|1234"),
        ("bool", "'INTEGER'|1234"),
        ("f64", "'REAL'|1234.0"),
    ] {
        load(&format!("t.csv --type zip={given}")).file("t.csv", "zip,n\n01234,1\n").succeeds().holds(
            "SELECT type, zip FROM pragma_table_info('t') AS info, t WHERE info.name = 'zip'",
            expected,
        );
    }
    load("t.csv --type zip=STRING").file("t.csv", "zip,n\n01234,1\n").succeeds().says(
        "note: column zip: STRING is TEXT in SQLite\nLoaded 1 row into x.db: [..]\nt: zip TEXT, n INTEGER",
    );
}

#[test]
fn a_null_marker_in_a_column_of_numbers_is_reported_with_the_flag_that_reads_null() {
    let csv = "price,day\n1.5,2024-01-31\n2,\\N\nn/a,2024-02-01\n3.25,2024-02-02\n4,2024-02-03\n";
    load("t.csv").file("t.csv", csv).succeeds().says(
        "Loaded 5 rows[..]\nt: price TEXT, day TEXT\n\
         note: t.price is TEXT, not REAL, and keeps \"n/a\" (t.csv:4), one of 5 values, as text; --null n/a reads NULL\n\
         note: t.day keeps \"\\\\N\" (t.csv:3), one of 5 values, as text; --null '\\N' reads NULL",
    );
}

#[test]
fn notes_about_amounts_percentages_and_quoted_null_markers_name_the_flags_that_read_them() {
    let numbers: String = (1..30).map(|row| format!("{row}.5,{row}.5,{row}.5,${row}\n")).collect();
    let csv = format!("price,share,known,cost\n{numbers}(2.50),12.5%,\"NA\",$7.50\n");
    load("t.csv").file("t.csv", &csv).succeeds().says(
        "Loaded 30 rows[..]\nt: price TEXT, share TEXT, known TEXT, cost TEXT\n\
         note: t.price is TEXT, not REAL: \"(2.50)\" (t.csv:31) is not a plain number, the only one of 30 values; --accounting price reads them\n\
         note: t.share is TEXT, not REAL: \"12.5%\" (t.csv:31) is not a plain number, the only one of 30 values; \
         the value has a percent sign, and no flag reads all values of the column\n\
         note: t.known is TEXT, not REAL: \"NA\" (t.csv:31) is not a number, the only one of 30 values, and --null does not read it, \
         as it is in quotes; --type known=REAL makes it REAL\n\
         note: t.cost is TEXT, not REAL: 30 of 30 values are not plain numbers, such as \"$1\" (t.csv:2); --accounting cost reads them",
    );
    load("t.csv --columns price,cost --accounting price --accounting cost").file("t.csv", &csv).succeeds().says(
        "Loaded 30 rows[..]\nt: price REAL (number with signs of accounting), cost REAL (number with signs of accounting)",
    );
}

#[test]
fn a_column_that_is_text_because_of_few_values_is_reported_with_the_first_of_these_values() {
    let said = "Loaded 5 rows[..]\nt: price TEXT, v TEXT, zip TEXT\n\
                note: t.price is TEXT, not REAL: \"unknown\" (t.csv:4) is not a number, the only one of 5 values; --type price=REAL makes it REAL\n\
                note: t.v is TEXT, not REAL: as numbers, values such as \"1.10\" (t.csv:3) would be written differently; --type v=REAL makes it REAL";
    let csv = "price,v,zip\n1.5,1.9,01234\n2,1.10,12345\nunknown,1.2,23456\n3.25,1.3,34567\n4,1.4,45678\n";
    load("t.csv").file("t.csv", csv).succeeds().says(said);
    let two = "v,w\n1.9,1.5\n1.10,2.5\n1.2,2.50\n1.3,3.5\n1.4,4.5\n";
    load("t.csv").file("t.csv", two).succeeds().says(
        "Loaded 5 rows[..]\nt: v TEXT, w TEXT\n\
         note: t.v and t.w are TEXT, not REAL: as numbers, values such as \"1.10\" (t.csv:3) would be written differently; \
         --type v=REAL makes the first REAL",
    );
    let report = load("t.csv --json").file("t.csv", csv).succeeds().ran.json();
    let columns = &report["tables"][0]["columns"];
    assert_eq!((&columns[0]["type"], &columns[0]["missed"]["type"]), (&"TEXT".into(), &"REAL".into()));
    assert_eq!(
        (&columns[0]["missed"]["value"], &columns[0]["missed"]["line"]),
        (&"unknown".into(), &4.into())
    );
    assert!(columns[2]["missed"].is_null(), "postcodes are no numbers that were missed");
}

#[test]
fn a_warning_names_the_declared_type_that_turns_a_code_with_leading_zeros_into_a_number() {
    load("t.csv --schema s.sql")
        .file("s.sql", "CREATE TABLE t (zip STRING, day DATE, code TEXT, n INTEGER);")
        .file("t.csv", "zip,day,code,n\n123,x,01,1\n01234,y,02,2\n")
        .succeeds()
        .says(
            "Loaded 2 rows[..]\nt: zip STRING, day DATE, code TEXT, n INTEGER\n\
             warning: t.zip is declared \"STRING\", so \"01234\" (t.csv:3) becomes 1234; TEXT keeps it",
        )
        .holds("SELECT zip FROM t", "123\n1234");
}

#[test]
fn a_warning_names_a_code_with_leading_zeros_even_after_other_changed_numbers() {
    load("t.csv --schema s.sql")
        .file("s.sql", "CREATE TABLE t (price REAL);")
        .file("t.csv", "price\n1.5\n.5\n007\n")
        .succeeds()
        .says(
            "Loaded 3 rows[..]\nt: price REAL\n\
             warning: t.price is declared \"REAL\", so \"007\" (t.csv:4) becomes 7; TEXT keeps it",
        )
        .holds("SELECT price FROM t", "1.5\n0.5\n7.0");
}

#[test]
fn the_flags_type_and_strict_are_refused_beside_a_schema() {
    for (flag, shown) in [("--type a=TEXT", "--type <COL=TYPE>"), ("--strict", "--strict")] {
        load(&format!("one.csv --schema s.sql {flag}"))
            .file(ONE_ROW.0, ONE_ROW.1)
            .file("s.sql", "CREATE TABLE one (a, b)")
            .fails(
                2,
                &format!(
                    "error: the argument '--schema <FILE.sql>' cannot be used with '{shown}'\n\n\
                     Usage: [..]\n\nFor more information, try '--help'."
                ),
            );
    }
}

#[test]
fn the_flag_strict_makes_strict_tables() {
    load("one.csv --strict")
        .file(ONE_ROW.0, "a,b,c\n1,2.5,x\n")
        .succeeds()
        .holds("SELECT sql LIKE '% STRICT' FROM sqlite_schema", "1")
        .holds("SELECT * FROM one", "1|2.5|'x'");
}

#[test]
fn the_flag_columns_selects_and_orders_columns() {
    let with = |flags: &str| load(&format!("t.csv {flags}")).file("t.csv", "a,b,c\n1,2,3\n");
    with("--columns c,A").succeeds().holds("SELECT * FROM t", "3|1");
    with("--columns c --columns a").succeeds().holds("SELECT * FROM t", "3|1");
    with("--columns a,z").fails(
        2,
        "error: --columns names the column \"z\", which no file has\n\nhint: the columns are: a, b, c",
    );
    let twice = "hint: SQLite ignores the case of ASCII letters in names";
    with("--columns a,b,A").fails(2, &format!("error: --columns names the column \"A\" twice\n\n{twice}"));
    with("--columns a,").fails(
        2,
        "error: invalid value 'a,' for '--columns <A,B,...>': a name is missing in \"a,\"\n\nFor more information, try '--help'.",
    );
    with("--columns a --schema s.sql")
        .file("s.sql", "CREATE TABLE t (z, a)")
        .succeeds()
        .holds("SELECT * FROM t", "NULL|'1'");
}

#[test]
fn a_hint_lists_at_most_20_names() {
    let header = (0..30).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",") + "\n";
    load("t.csv --header --columns z").file("t.csv", header).fails(
        2,
        "error: --columns names the column \"z\", which no file has\n\n\
         hint: the columns are: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19 and 10 more",
    );
}

#[test]
fn the_flag_columns_names_the_columns_of_a_file_without_a_header() {
    let with = |flags: &str| load(&format!("t.csv --no-header {flags}")).file("t.csv", "1,2\n3,4\n");
    with("--columns x,y").succeeds().holds("SELECT x, y FROM t", "1|2\n3|4");
    with("--columns y,x --schema s.sql")
        .file("s.sql", "CREATE TABLE t (x, y)")
        .succeeds()
        .holds("SELECT x, y FROM t", "'2'|'1'\n'4'|'3'");
    let hint = "hint: if the file has no header, give a name for each of its columns";
    with("--columns x").fails(2, &format!("error: t.csv has 2 columns, and --columns names 1\n\n{hint}"));
    with("--columns x,y,z").fails(2, &format!("error: t.csv has 2 columns, and --columns names 3\n\n{hint}"));
    with("--columns x,X").fails(
        2,
        "error: --columns names the column \"X\" twice\n\n\
         hint: SQLite ignores the case of ASCII letters in names",
    );
}

#[test]
fn the_flag_add_columns_adds_missing_columns() {
    for flag in ["--add-columns", "--alter"] {
        load(&format!("t.csv --schema s.sql {flag}"))
            .file("t.csv", "a,b\n1,2.5\n")
            .file("s.sql", "CREATE TABLE t (a TEXT) -- no semicolon")
            .succeeds()
            .holds("SELECT * FROM t", "'1'|2.5");
        load(&format!("a.csv b.csv -t t {flag}"))
            .file("a.csv", "a\n1\n")
            .file("b.csv", "b,a\nx,2\n")
            .succeeds()
            .holds("SELECT a, b FROM t", "1|NULL\n2|'x'");
    }
    load("a.csv b.csv -t t").file("a.csv", "a\n1\n").file("b.csv", "b,a\nx,2\n").fails(
        1,
        "error: b.csv:1:1: table t has no column \"b\"\n\n\
         hint: its columns are a; --add-columns adds what is missing, --columns names those to load",
    );
}

#[test]
fn the_flag_limit_applies_to_each_table_and_later_records_are_not_read() {
    load("a.csv b.csv c.csv --limit 2")
        .file("a.csv", "n\n1\n2\nbad,row\n")
        .file("b.csv", "n\n3\n")
        .file("c.csv", "n\n")
        .succeeds()
        .holds("SELECT n FROM a UNION ALL SELECT n FROM b", "1\n2\n3");
    load("a.csv b.csv -t t --limit 3")
        .file("a.csv", "n\n1\n2\n")
        .file("b.csv", "n\n3\n4\n")
        .succeeds()
        .holds("SELECT n FROM t", "1\n2\n3");
    load("a.csv --limit 0").file("a.csv", "n\n1\n").succeeds().holds("SELECT * FROM a", "");
    load("a.csv --limit x").file("a.csv", "n\n1\n").fails(
        2,
        "error: invalid value 'x' for '--limit <N>': \"x\" is not a count such as 1000, 1_000, 1e6, 10M or 1B\n\n\
         For more information, try '--help'.",
    );
}

#[test]
fn the_plan_that_dry_run_prints_is_a_schema_for_the_same_database() {
    // Windows allows no line break in a file name.
    let lines = if cfg!(windows) { "two lines.csv" } else { "two\nlines.csv" };
    let files = |transcript: Transcript| {
        transcript
            .file("a.csv", "n,name,price\n1,x,1.5\n2,\"y\"\"z\",\n")
            .file("b c.csv", "zip,group,we;ird,\"new\nline\"\n01234,1,,x\n")
            .file("d.tsv", "a\n")
            .file(lines, "x\n1\n")
    };
    for (flags, made) in [
        ("", "a.csv 'b c.csv' d.tsv"),
        ("--strict", "a.csv 'b c.csv' d.tsv"),
        ("--type n=TEXT", "a.csv"),
        ("", &*format!("a.csv '{lines}'")),
    ] {
        let plan = files(load(&format!("{made} {flags} --dry-run"))).succeeds().says("");
        assert!(plan.ran.stdout.starts_with("-- target   x.db (new)\n"), "{}", plan.ran.stdout);
        assert!(!plan.folder().join("x.db").exists());
        let direct = files(load(&format!("{made} {flags}"))).succeeds();
        let declared =
            files(load(&format!("{made} --schema s.sql"))).file("s.sql", &plan.ran.stdout).succeeds();
        let rows = "SELECT * FROM a";
        declared
            .holds(rows, &direct.found(rows))
            .holds("SELECT sql FROM sqlite_schema", &direct.found("SELECT sql FROM sqlite_schema"));
    }
}

#[test]
fn the_plan_of_a_load_with_a_schema_can_itself_be_used_as_the_schema() {
    let schema = "PRAGMA user_version = 7; CREATE TABLE t (a TEXT); CREATE TABLE u (v); CREATE VIEW w AS SELECT a FROM t; \
                  CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END; PRAGMA application_id = -3;";
    let with = |flags: &str| {
        load(&format!("t.csv --schema s.sql --add-columns {flags}"))
            .file("t.csv", "a,b\n1,2\n")
            .file("s.sql", schema)
    };
    let (plan, direct) = (with("--dry-run").succeeds(), with("").succeeds());
    let sql = "SELECT name FROM sqlite_schema UNION ALL SELECT a || b FROM t \
               UNION ALL SELECT user_version FROM pragma_user_version \
               UNION ALL SELECT application_id FROM pragma_application_id";
    assert_eq!(direct.found(sql), "'t'\n'u'\n'w'\n'g'\n'12'\n7\n-3");
    load("t.csv --schema s.sql")
        .file("t.csv", "a,b\n1,2\n")
        .file("s.sql", &plan.ran.stdout)
        .succeeds()
        .holds(sql, &direct.found(sql));
}

#[test]
fn empty_and_repeated_column_names_are_replaced_and_reported() {
    load("t.csv --header")
        .file("t.csv", "a,,a\n1,2,3\n")
        .succeeds()
        .says(
            "note: t.csv: column 2 has no name, and is called \"column2\"\n\
             note: t.csv: column 3 repeats the name \"a\", and is called \"a_2\"\n\
             Loaded 1 row into [..]\nt: a INTEGER, column2 INTEGER, a_2 INTEGER",
        )
        .holds("SELECT a, column2, a_2 FROM t", "1|2|3");
}

#[test]
fn a_table_can_have_any_name_that_sqlite_does_not_reserve() {
    load("one.csv -t 'my \"table\"; --'")
        .file(ONE_ROW.0, ONE_ROW.1)
        .succeeds()
        .holds(TABLES, "'my \"table\"; --'");
    load("one.csv -t select").file(ONE_ROW.0, ONE_ROW.1).succeeds().holds("SELECT * FROM \"select\"", "1|2");
    load("one.csv -t sqlite_x").file(ONE_ROW.0, ONE_ROW.1).fails(
        2,
        "error: object name reserved for internal use: sqlite_x\n\n\
             hint: --type declares a column, --table names the table, --schema declares everything",
    );
    load("one.csv -t ''").file(ONE_ROW.0, ONE_ROW.1).fails(
        2,
        "error: a value is required for '--table <NAME>' but none was supplied\n\nFor more information, try '--help'.",
    );
}

#[test]
fn a_table_has_at_most_two_thousand_columns() {
    let header = |columns: usize| (0..columns).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",") + "\n";
    load("t.csv --header")
        .file("t.csv", header(2000))
        .succeeds()
        .holds("SELECT count(*) FROM pragma_table_info('t')", "2000");
    load("t.csv --header").file("t.csv", header(2001)).fails(
        1,
        "error: t.csv:1:[..]: field 2001 of the header: a table of SQLite has at most 2000 columns\n\n\
         hint: is the delimiter the right one?",
    );
    let prefixed = |prefix: &str| header(1500).replace('c', prefix);
    for (schema, columns) in [("", 3000), ("--schema s.sql", 3001)] {
        load(&format!("a.csv b.csv -t t --add-columns {schema}"))
            .file("a.csv", prefixed("a"))
            .file("b.csv", prefixed("b"))
            .file("s.sql", "CREATE TABLE t (z)")
            .fails(
                1,
                &format!(
                    "error: table t would have {columns} columns, and a table of SQLite has at most 2000\n\n\
                     hint: --columns names those to load"
                ),
            );
    }
}

#[test]
fn a_file_without_any_of_the_selected_columns_is_refused() {
    load("a.csv b.csv --columns id")
        .file("a.csv", "id,x\n1,2\n")
        .file("b.csv", "zz\ny\n")
        .fails(2, "error: --columns names no column of b.csv\n\nhint: the columns are: zz");
}
