//! Loads of several files into one table or into a table each: columns, defaults, limits and reports.

#![cfg(feature = "load")]

use crate::support::files::{Home, integrity, open};
use crate::support::load::{Way, run, schema, shown};
use sqluice::error::{ErrorKind, Result};
use sqluice::load::{FormatOptions, Load, SAMPLE_BYTES};
use sqluice::report::{RecognisedPreamble, Report};

/// Loads files of these names and texts into `x.db`.
fn load(home: &Home, files: &[(&str, &str)], with: impl FnOnce(Load) -> Load) -> Result<Report> {
    let put = |(name, text): &(&str, &str)| Way::Path.put(home, name, text.as_bytes());
    let paths: Vec<_> = files.iter().map(put).collect();
    run(with(
        Load::new(home.path("x.db"), paths).tune(|tuning| (tuning.part_bytes, tuning.sample_bytes) = (8, 16)),
    ))
}

fn into_t(load: Load) -> Load {
    load.table("t")
}

/// Returns all rows of a table as SQL literals, with their rowids.
fn rows(home: &Home, table: &str) -> Vec<String> {
    let database = open(&home.path("x.db"));
    assert_eq!(integrity(&database), "ok");
    let mut columns = database.prepare("SELECT name FROM pragma_table_info(?1)").unwrap();
    let columns = columns.query_map([table], |row| row.get::<_, String>(0)).unwrap();
    let quotes: String = columns.map(|name| format!(" || ' ' || quote(\"{}\")", name.unwrap())).collect();
    let mut rows = database.prepare(&format!("SELECT rowid || ':'{quotes} FROM \"{table}\"")).unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Returns the statement that makes a table, on one line.
fn ddl(home: &Home, table: &str) -> String {
    let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    let sql: String = open(&home.path("x.db")).query_row(sql, [table], |row| row.get(0)).unwrap();
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn columns_of_several_files_are_matched_by_name_in_any_order_and_case_and_rowids_continue() {
    let home = Home::new();
    let files = [
        ("1.csv", "a,b\n1,x\n2,y\n"),
        ("2.csv", "B,A\nz,3\n"),
        ("3.csv", "b\nu\n"),
        ("4.csv", "a\n"),
        ("5.csv", "A\n5\n"),
    ];
    load(&home, &files, into_t).unwrap();
    assert_eq!(rows(&home, "t"), ["1: 1 'x'", "2: 2 'y'", "3: 3 'z'", "4: NULL 'u'", "5: 5 NULL"]);
    assert_eq!(ddl(&home, "t"), r#"CREATE TABLE "t" ( "a" INTEGER, "b" TEXT )"#);
}

#[test]
fn a_column_that_one_of_several_files_lacks_gets_its_default() {
    let home = Home::new();
    let declared =
        "CREATE TABLE t (a INTEGER NOT NULL DEFAULT -7, b TEXT DEFAULT 'it''s', c, d BLOB DEFAULT x'00ff')";
    let files = [("1.csv", "c\nx\n"), ("2.csv", "b,c\ny,z\n"), ("3.csv", "d,a\nw,4\n")];
    load(&home, &files, |load| into_t(load.schema(schema(declared)))).unwrap();
    assert_eq!(
        rows(&home, "t"),
        ["1: -7 'it''s' 'x' X'00FF'", "2: -7 'y' 'z' X'00FF'", "3: 4 'it''s' NULL 'w'"]
    );
}

#[test]
fn a_column_that_only_a_later_file_has_is_an_error_with_its_place_or_added() {
    let files = [("1.csv", "a\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), ("2.csv", "# x\na,extra\n1,2.5\n")];
    let commented = |load: Load| into_t(load).format(FormatOptions::new().comment(b'#'));
    let home = Home::new();
    let error = load(&home, &files, commented).unwrap_err();
    assert_eq!(
        shown(&error, &home),
        "2.csv:2:3: table t has no column \"extra\" \
         [its columns are a; `add_columns` adds what is missing, `columns` names those to load]"
    );
    assert_eq!(home.names().len(), 2);

    let home = Home::new();
    load(&home, &files, |load| commented(load).add_columns(true)).unwrap();
    assert_eq!(ddl(&home, "t"), r#"CREATE TABLE "t" ( "a" INTEGER, "extra" REAL )"#);
    assert_eq!(rows(&home, "t")[8..], ["9: 9 NULL", "10: 1 2.5"]);

    let home = Home::new();
    load(&home, &files, |load| commented(load).columns(["A"])).unwrap();
    assert_eq!(rows(&home, "t")[8..], ["9: 9", "10: 1"]);
}

#[test]
fn columns_added_by_files_follow_the_declared_columns() {
    let files = [("1.csv", "new,b\n1,x\n"), ("2.csv", "a,other\n2,0.5\n")];
    for (ended, strict) in [
        (";", ""),
        ("", ""),
        (" -- and so on", ""),
        ("; /* open", ""),
        (" /* open", ""),
        (" /* closed */", " STRICT"),
    ] {
        let home = Home::new();
        let declared = format!("PRAGMA user_version = 3; CREATE TABLE t (a INTEGER, b TEXT){strict}{ended}");
        let with = |load: Load| into_t(load.schema(schema(&declared)).add_columns(true));
        load(&home, &files, with).unwrap();
        let expected = r#"CREATE TABLE t (a INTEGER, b TEXT, "new" INTEGER, "other" REAL)"#;
        assert!(ddl(&home, "t").starts_with(&format!("{expected}{strict}")), "{}", ddl(&home, "t"));
        assert_eq!(rows(&home, "t"), ["1: NULL 'x' 1 NULL", "2: 2 NULL NULL 0.5"]);
        let version = |row: &rusqlite::Row<'_>| row.get::<_, i32>(0);
        assert_eq!(open(&home.path("x.db")).query_row("PRAGMA user_version", [], version).unwrap(), 3);
    }
}

#[test]
fn files_without_a_header_are_loaded_by_position() {
    let headerless = |load: Load| into_t(load).format(FormatOptions::new().header(false));
    let files = [("1.csv", "1,x\n2,y\n"), ("2.csv", "3,z\n")];
    let home = Home::new();
    load(&home, &files, headerless).unwrap();
    assert_eq!(ddl(&home, "t"), r#"CREATE TABLE "t" ( "column1" INTEGER, "column2" TEXT )"#);
    assert_eq!(rows(&home, "t"), ["1: 1 'x'", "2: 2 'y'", "3: 3 'z'"]);

    let declared = |load: Load| headerless(load).schema(schema("CREATE TABLE t (name TEXT, n TEXT)"));
    let home = Home::new();
    load(&home, &files, declared).unwrap();
    assert_eq!(rows(&home, "t"), ["1: '1' 'x'", "2: '2' 'y'", "3: '3' 'z'"]);

    // With names in `columns`, the columns are matched by name.
    let home = Home::new();
    load(&home, &files, |load| declared(load).columns(["n", "name"])).unwrap();
    assert_eq!(rows(&home, "t"), ["1: 'x' '1'", "2: 'y' '2'", "3: 'z' '3'"]);

    let home = Home::new();
    let error = load(&home, &[("1.csv", "1,x\n"), ("2.csv", "1,2,3\n")], declared).unwrap_err();
    assert_eq!(
        shown(&error, &home),
        "2.csv has 3 columns, and table t has 2 \
         [`columns` names the columns of a file without a header, in their order]"
    );
}

#[test]
fn each_file_makes_a_table_of_its_own_name() {
    let files = [("one.csv", "a\n1\n"), ("two.x.tsv", "b\tc\nx\t1.5\n"), ("empty.csv", "n,m\n")];
    let home = Home::new();
    let report = load(&home, &files, |load| load).unwrap();
    let tables: Vec<(&str, u64)> =
        report.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect();
    assert_eq!(tables, [("one", 1), ("two.x", 1), ("empty", 0)]);
    assert_eq!(rows(&home, "two.x"), ["1: 'x' 1.5"]);
    assert_eq!(ddl(&home, "empty"), r#"CREATE TABLE "empty" ( "n" TEXT, "m" TEXT )"#);

    let home = Home::new();
    let error = load(&home, &[("one.csv", "a\n1\n"), ("ONE.tsv", "a\n1\n")], |load| load).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(
        shown(&error, &home),
        "one.csv and ONE.tsv would both make table ONE [`table = NAME` loads all files into one table]"
    );
}

#[test]
fn a_wrong_type_guess_about_one_table_loses_no_rows_of_pipes() {
    let home = Home::new();
    let long = |rows: usize, last: &str| format!("a\n{}{last}\n", "1\n".repeat(rows));
    let given = Way::Pipe.put(&home, "given.csv", long(500, "2").replacen('a', "g", 1).as_bytes());
    let whole = Way::Pipe.put(&home, "whole.csv", b"w\n7\n");
    let guessed = Way::GzipPipe.put(&home, "guessed.csv", long(500, "x").as_bytes());
    let load = Load::new(home.path("x.db"), [given, whole, guessed])
        .types([("g", "INTEGER")])
        .tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (40, 100));
    assert_eq!(run(load).unwrap().rows, 501 + 1 + 501);
    assert_eq!(ddl(&home, "guessed"), r#"CREATE TABLE "guessed" ( "a" TEXT )"#);
    assert_eq!(rows(&home, "guessed")[500], "501: 'x'");
    assert_eq!(rows(&home, "given")[500], "501: 2");
}

#[test]
fn a_limit_counts_rows_over_all_files_of_a_table_and_only_rows_read_determine_types() {
    let files = [("1.csv", "a\n1\n2\n"), ("2.csv", "a\n3.5\nx\n"), ("3.csv", "a\ny\n")];
    for (limit, declared, last) in [
        (0, "TEXT", None),
        (1, "INTEGER", Some("1: 1")),
        (2, "INTEGER", Some("2: 2")),
        (3, "REAL", Some("3: 3.5")),
        (4, "TEXT", Some("4: 'x'")),
        (5, "TEXT", Some("5: 'y'")),
        (9, "TEXT", Some("5: 'y'")),
    ] {
        for sample_bytes in [1, 3, 5, 8, 1000] {
            let home = Home::new();
            let report = load(&home, &files, |load| {
                into_t(load).limit(limit).tune(|tuning| tuning.sample_bytes = sample_bytes)
            })
            .unwrap();
            assert_eq!(report.rows, limit.min(5));
            assert_eq!(
                ddl(&home, "t"),
                format!(r#"CREATE TABLE "t" ( "a" {declared} )"#),
                "{limit} {sample_bytes}"
            );
            assert_eq!(rows(&home, "t").last().map(String::as_str), last);
        }
    }
}

#[test]
fn a_row_limit_applies_to_each_table_separately() {
    let home = Home::new();
    let files = [("one.csv", "a\n1\n2\nx\n"), ("two.csv", "a\n5\n")];
    load(&home, &files, |load| load.limit(2)).unwrap();
    assert_eq!(rows(&home, "one"), ["1: 1", "2: 2"]);
    assert_eq!(rows(&home, "two"), ["1: 5"]);
}

#[test]
fn lines_after_the_limit_are_not_read() {
    let home = Home::new();
    let files = [("1.csv", "a\n1\n2,too many\n")];
    assert_eq!(load(&home, &files, |load| load.limit(1)).unwrap().rows, 1);
    let home = Home::new();
    let bad = |load: Load| load.limit(2).reject(home.path("bad.csv"));
    let report = load(&home, &files, bad).unwrap();
    assert_eq!((report.rows, report.rejected), (1, 1), "bad rows count");
}

#[test]
fn padded_rows_are_counted_for_each_file_and_table() {
    let home = Home::new();
    // The sample of a.csv has integers only, so that the file is loaded twice. Its padded rows are counted once.
    let a = "a,b,c\n1\n2,3\n4,5,6\n7\nx,8,9\n";
    let files = [("a.csv", a), ("b.csv", "a,b,c\n1,2\n"), ("c.csv", "a,b,c\n1,2,3\n")];
    let pad = |load: Load| load.format(FormatOptions::new().pad(true));
    let report = load(&home, &files, |load| pad(into_t(load))).unwrap();
    assert_eq!(report.inputs.iter().map(|input| input.padded).collect::<Vec<_>>(), [3, 1, 0]);
    assert_eq!((report.rows, report.tables[0].padded), (7, 4));
    assert_eq!(rows(&home, "t")[..3], ["1: '1' NULL NULL", "2: '2' 3 NULL", "3: '4' 5 6"]);
    let home = Home::new();
    let report = load(&home, &files, pad).unwrap();
    assert_eq!(report.tables.iter().map(|table| table.padded).collect::<Vec<_>>(), [3, 1, 0]);
    // A row that is rejected is not padded.
    let home = Home::new();
    let rejecting = |load: Load| {
        pad(load).reject(home.path("bad.csv")).schema(schema("CREATE TABLE a(a, b NOT NULL, c)"))
    };
    let report = load(&home, &files[..1], rejecting).unwrap();
    assert_eq!((report.rows, report.rejected, report.tables[0].padded), (3, 2, 1));
}

#[test]
fn all_records_of_a_file_without_a_header_may_lack_the_last_named_columns() {
    let home = Home::new();
    let format = FormatOptions::new().pad(true).header(false);
    let with = |load: Load| load.format(format).columns(["a", "b", "c"]);
    let report = load(&home, &[("t.csv", "1,2\n3\n")], with).unwrap();
    assert_eq!(rows(&home, "t"), ["1: 1 2 NULL", "2: 3 NULL NULL"]);
    assert_eq!(report.tables[0].padded, 2);
}

#[test]
fn the_report_has_the_skipped_lines_comments_and_footer_of_a_file() {
    let home = Home::new();
    let text = "Sales of May\n\nid;n;m\n# x\n1;2;3\n# y\n3;4;5\nTotal;9\n";
    let format = FormatOptions::new().pad(true);
    let with = |load: Load| load.format(format).tune(|tuning| tuning.sample_bytes = SAMPLE_BYTES);
    let report = load(&home, &[("t.csv", text), ("u.csv", "a,b\n1,2\n")], with).unwrap();
    let csv = |input: usize| report.inputs[input].recognised.csv.clone().unwrap();
    let preamble = RecognisedPreamble::new(2, "Sales of May");
    assert_eq!((csv(0).preamble, csv(0).comments, csv(0).footer), (Some(preamble), 2, Some(8)));
    assert_eq!((csv(1).preamble, csv(1).comments, csv(1).footer), (None, 0, None));
    let notes = |input: usize| report.inputs[input].notes.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(notes(0)[2], "line 8, at the end of the file, looks like a footer");
    assert_eq!((notes(0).len(), notes(1).len()), (3, 0));
}
