//! Filters, computed columns, and columns that a load leaves out or renames. SQLite computes the expected values.

#![cfg(feature = "load")]

use crate::support::files::{Home, integrity, open, rows_of};
use crate::support::load::{Way, plain, run, shown};
use crate::support::tables::quoted;
use crate::support::{Random, cases};
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::ToSqlOutput;
use sqluice::error::Result;
use sqluice::export::Export;
use sqluice::load::Load;
use sqluice::options::{IfExists, WriteOptions};
use sqluice::progress::Context;
use sqluice::report::Report;

const PEOPLE: &str = "id,email,age,price\n1, Ann@Example.org,31,1.5\n2,bob@example.org,17,2.5\n3,Carl@x.org,,3.25\n4,dora@x.org,44,4.0\n";

fn load(home: &Home, csv: &str, with: impl FnOnce(Load) -> Load) -> Result<Report> {
    let file = Way::Path.put(home, "t.csv", csv.as_bytes());
    run(with(Load::new(home.path("x.db"), [file]).format(plain())))
}

fn refused(csv: &str, with: impl FnOnce(Load) -> Load) -> String {
    let home = Home::new();
    let error = load(&home, csv, with).map(|_| ()).unwrap_err();
    assert!(!home.path("x.db").exists(), "an error leaves nothing behind");
    shown(&error, &home)
}

/// Returns all rows of table `t` with their rowids, as text.
fn values(home: &Home) -> Vec<String> {
    let database = open(&home.path("x.db"));
    assert_eq!(integrity(&database), "ok");
    let mut statement = database.prepare("SELECT rowid, * FROM t ORDER BY rowid").unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let values = (0..columns).map(|at| {
            Ok(match row.get_ref(at)? {
                rusqlite::types::ValueRef::Null => "NULL".to_owned(),
                rusqlite::types::ValueRef::Integer(int) => int.to_string(),
                rusqlite::types::ValueRef::Real(real) => format!("{real:?}"),
                rusqlite::types::ValueRef::Text(text) | rusqlite::types::ValueRef::Blob(text) => {
                    String::from_utf8_lossy(text).into_owned()
                }
            })
        });
        Ok(values.collect::<rusqlite::Result<Vec<String>>>()?.join("|"))
    });
    rows.unwrap().map(|row| row.unwrap()).collect()
}

fn columns(home: &Home) -> String {
    let database = open(&home.path("x.db"));
    let sql: String =
        database.query_row("SELECT sql FROM sqlite_schema WHERE name = 't'", [], |row| row.get(0)).unwrap();
    sql.split_whitespace().collect::<Vec<_>>().join(" ").replace("CREATE TABLE \"t\" ", "")
}

#[test]
fn a_load_filters_rows_and_computes_excludes_and_renames_columns() {
    let home = Home::new();
    let report = load(&home, PEOPLE, |load| {
        load.filter("age >= 18")
            .set("email", "lower(trim(email))")
            .set("domain", "substr(email, instr(email, '@') + 1)")
            .set("double", "price * 2")
            .exclude_columns(["age"])
            .rename("id", "person_id")
    })
    .unwrap();
    assert_eq!(
        columns(&home),
        r#"( "person_id" INTEGER, "email" TEXT, "price" REAL, "domain" TEXT, "double" REAL )"#
    );
    assert_eq!(
        values(&home),
        ["1|1|ann@example.org|1.5|example.org|3.0", "4|4|dora@x.org|4.0|x.org|8.0"],
        "rowids count the records of the file"
    );
    let table = &report.tables[0];
    assert_eq!((report.rows, table.filtered, table.filtered_null), (2, 2, 1));
}

#[test]
fn a_select_list_determines_all_columns_of_the_table() {
    let home = Home::new();
    load(&home, PEOPLE, |load| {
        load.select("id, lower(email) AS \"e mail\", max(age, 18) grown, Price, age + 1")
    })
    .unwrap();
    assert_eq!(
        columns(&home),
        r#"( "id" INTEGER, "e mail" TEXT, "grown" INTEGER, "price" REAL, "age + 1" INTEGER )"#
    );
    assert_eq!(values(&home)[2], "3|3|carl@x.org|NULL|3.25|NULL");
    let home = Home::new();
    load(&home, PEOPLE, |load| load.select("*, id * 2 AS twice")).unwrap();
    assert_eq!(values(&home)[1], "2|2|bob@example.org|17|2.5|4");
    let error = refused(PEOPLE, |load| load.select("*, id"));
    assert!(error.starts_with("table t would have two columns named \"id\""), "{error}");
}

#[test]
fn expressions_use_columns_computed_before_them_and_the_filter_uses_the_values_of_the_file() {
    let home = Home::new();
    load(&home, "a,b\n1,x\n2,y\n", |load| {
        load.filter("a = 2")
            .set("a", "a + 10")
            .set("c", "(a * 2) || b")
            .set("a", "a + 1")
            .set("d", "a || c")
            .set("b", "upper(b)")
    })
    .unwrap();
    assert_eq!(columns(&home), r#"( "a" INTEGER, "b" TEXT, "c" TEXT, "d" TEXT )"#);
    assert_eq!(values(&home), ["2|13|Y|24y|1324y"]);
}

#[test]
fn a_computed_column_of_text_gets_the_guessed_or_the_declared_type() {
    let home = Home::new();
    let csv = "id,raw\n1,x1\n2,x22\n3,y007\n";
    load(&home, csv, |load| load.filter("raw LIKE 'x%'").set("n", "substr(raw, 2)")).unwrap();
    assert_eq!(columns(&home), r#"( "id" INTEGER, "raw" TEXT, "n" INTEGER )"#);
    assert_eq!(values(&home), ["1|1|x1|1", "2|2|x22|22"]);
    let home = Home::new();
    load(&home, csv, |load| load.set("n", "substr(raw, 2)")).unwrap();
    assert_eq!(columns(&home), r#"( "id" INTEGER, "raw" TEXT, "n" TEXT )"#);
    let home = Home::new();
    load(&home, csv, |load| load.set("n", "substr(raw, 2)").types([("n", "INTEGER")])).unwrap();
    assert_eq!(values(&home)[2], "3|3|y007|7");
}

#[test]
fn a_declared_type_applies_to_a_column_under_its_old_or_new_name() {
    let home = Home::new();
    let csv = "zip,n\n1,2\n3,4\n";
    load(&home, csv, |load| {
        load.types([("zip", "TEXT")]).set("long", "zip || 'x'").rename("zip", "postcode")
    })
    .unwrap();
    assert_eq!(columns(&home), r#"( "postcode" TEXT, "n" INTEGER, "long" TEXT )"#);
    let home = Home::new();
    let load_it =
        |load: Load| load.types([("postcode", "TEXT")]).set("long", "typeof(zip)").rename("zip", "postcode");
    load(&home, csv, load_it).unwrap();
    assert_eq!(
        columns(&home),
        r#"( "postcode" TEXT, "n" INTEGER, "long" TEXT )"#,
        "only the table has the name"
    );
    assert_eq!(values(&home)[0], "1|1|2|text");
    let home = Home::new();
    load(&home, csv, |load| load.types([("n", "REAL")]).set("n", "CAST(n AS INTEGER)")).unwrap();
    assert_eq!(columns(&home), r#"( "zip" INTEGER, "n" INTEGER )"#, "the type is that of the file's column");
}

/// Makes samples and parts small, so that the sample ends before the file does.
fn with_small_parts(load: Load) -> Load {
    load.tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (64, 32))
}

#[test]
fn expressions_get_values_of_the_column_type_that_all_rows_determine() {
    let home = Home::new();
    let mut csv = "n\n".to_owned();
    (0..500).for_each(|n| csv += &format!("{n}\n"));
    csv += "0.5\n";
    load(&home, &csv, |load| with_small_parts(load).set("kind", "typeof(n)").set("half", "n / 2")).unwrap();
    assert_eq!(columns(&home), r#"( "n" REAL, "kind" TEXT, "half" REAL )"#);
    assert_eq!(values(&home)[1], "2|1.0|real|0.5");
}

#[test]
fn types_of_computed_columns_follow_from_all_rows_that_are_kept() {
    let home = Home::new();
    let mut csv = "n\n".to_owned();
    (0..500).for_each(|n| csv += &format!("{n}\n"));
    load(&home, &csv, |load| with_small_parts(load).set("x", "CASE WHEN n = 499 THEN 'last' ELSE '1' END"))
        .unwrap();
    assert_eq!(columns(&home), r#"( "n" INTEGER, "x" TEXT )"#);
    let home = Home::new();
    load(&home, &csv, |load| with_small_parts(load).set("x", "CASE WHEN n = 499 THEN 0.5 ELSE n END"))
        .unwrap();
    assert_eq!(columns(&home), r#"( "n" INTEGER, "x" REAL )"#);
    let home = Home::new();
    load(&home, &csv, |load| {
        with_small_parts(load).filter("n < 499").set("x", "CASE WHEN n = 499 THEN 'last' ELSE '1' END")
    })
    .unwrap();
    assert_eq!(columns(&home), r#"( "n" INTEGER, "x" INTEGER )"#, "rows that are left out have no results");
}

#[test]
fn expressions_may_not_use_an_undeclared_column_that_is_text_because_of_few_values() {
    let mut csv = "id,price\n".to_owned();
    (0..50).for_each(|n| csv += &format!("{n},{n}\n"));
    csv += "50,n/a\n";
    let error = refused(&csv, |load| load.filter("price > 9"));
    assert!(error.starts_with("t.csv:52:"), "{error}");
    assert!(error.contains("column price") && error.contains("'n/a'") && error.contains("types"), "{error}");
    let home = Home::new();
    load(&home, &csv, |load| load.filter("price > '9'").types([("price", "TEXT")])).unwrap();
    let home = Home::new();
    load(&home, &csv, |load| load.filter("id > 9")).unwrap();
    assert_eq!(columns(&home), r#"( "id" INTEGER, "price" TEXT )"#, "no expression uses the price");
    // The text may also be after the sample.
    let mut csv = "id,price\n".to_owned();
    (0..500).for_each(|n| csv += &format!("{n},{n}\n"));
    csv += "500,n/a\n";
    let error = refused(&csv, |load| with_small_parts(load).filter("price > 9").exclude_columns(["price"]));
    assert!(error.starts_with("t.csv:502:") && error.contains("'n/a'"), "{error}");
}

#[test]
fn types_of_file_columns_follow_from_all_records_even_those_that_the_filter_excludes() {
    let home = Home::new();
    load(&home, "id,x\n1,5\n2,6\n3,total\n", |load| load.filter("id < 3")).unwrap();
    assert_eq!(columns(&home), r#"( "id" INTEGER, "x" TEXT )"#);
    let home = Home::new();
    let mut csv = "id,x\n".to_owned();
    (0..500).for_each(|n| csv += &format!("{n},{n}\n"));
    csv += "500,total\n";
    load(&home, &csv, |load| with_small_parts(load).filter("id < 3")).unwrap();
    assert_eq!(columns(&home), r#"( "id" INTEGER, "x" TEXT )"#);
    assert_eq!(values(&home).len(), 3);
}

#[test]
fn a_record_on_which_an_expression_fails_is_a_bad_row() {
    let csv = "id,doc\n1,\"{\"\"a\"\":1}\"\n2,{oops\n3,\"{\"\"a\"\":3}\"\n4,{\n";
    let set = |load: Load| load.set("a", "doc ->> '$.a'");
    let error = refused(csv, set);
    assert!(error.starts_with("t.csv:3:3: ") && error.contains("malformed JSON (doc is '{oops')"), "{error}");
    assert!(error.contains("a=doc ->> '$.a'"), "{error}");
    let home = Home::new();
    let report = load(&home, csv, |load| set(load).reject(home.path("bad.csv"))).unwrap();
    assert_eq!((report.rows, report.rejected), (2, 2));
    assert_eq!(values(&home), ["1|1|{\"a\":1}|1", "3|3|{\"a\":3}|3"]);
    let rejected = std::fs::read_to_string(home.path("bad.csv")).unwrap();
    assert!(rejected.contains("2,{oops") && rejected.contains("malformed JSON"), "{rejected}");
}

#[test]
fn a_malformed_row_ends_the_load_even_if_the_filter_would_exclude_the_row() {
    let error = refused("id,x\n1,2\n2\n3,4\n", |load| load.filter("id = 1"));
    assert!(error.starts_with("t.csv:3"), "{error}");
}

#[test]
fn the_limit_counts_records_that_are_read_not_rows_that_are_kept() {
    let home = Home::new();
    let report = load(&home, PEOPLE, |load| load.filter("id > 1").limit(3)).unwrap();
    assert_eq!((report.rows, report.tables[0].filtered), (2, 1));
}

#[test]
fn a_filter_may_leave_out_all_rows() {
    let home = Home::new();
    let report = load(&home, PEOPLE, |load| load.filter("0").set("x", "id + 1")).unwrap();
    assert_eq!((report.rows, report.tables[0].filtered, report.tables[0].filtered_null), (0, 4, 0));
    assert_eq!(values(&home), Vec::<String>::new());
}

#[test]
fn keys_and_indexes_can_use_renamed_and_computed_columns() {
    let home = Home::new();
    let file = Way::Path.put(&home, "t.csv", b"uid,name\n30,c\n10,a\n20,b\n");
    run(Load::new(home.path("x.db"), [file])
        .filter("uid <> 20")
        .set("upper", "upper(name)")
        .rename("uid", "id")
        .primary_key(["id"])
        .indexes(["upper"]))
    .unwrap();
    assert_eq!(values(&home), ["10|10|a|A", "30|30|c|C"]);
    let database = open(&home.path("x.db"));
    let by_index: i64 = database
        .query_row("SELECT id FROM t INDEXED BY idx_t_upper WHERE upper = 'C'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(by_index, 30);
}

#[test]
fn a_repeated_key_is_reported_with_the_lines_of_its_records() {
    let csv = "id,name\n1,a\n2,B\n3,b\n4,x\n5,b\n";
    let error = refused(csv, |load| load.filter("id > 1").set("name", "lower(name)").uniques(["name"]));
    assert!(error.contains("lines 3 and 4") && error.starts_with("t.csv:4"), "{error}");
}

#[test]
fn existing_tables_get_the_filtered_and_computed_rows() {
    let home = Home::new();
    let database = Connection::open(home.path("x.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, at TEXT DEFAULT 'now', CHECK (id > 0));
             INSERT INTO t VALUES (1, 'old', 'x'), (2, 'other', 'y')",
        )
        .unwrap();
    drop(database);
    let file = Way::Path.put(&home, "t.csv", b"n,label\n2,New\n0,bad\n7,Seven\n");
    let load = || {
        Load::new(home.path("x.db"), [&file])
            .table("t")
            .filter("n > 0")
            .set("label", "trim(label) || '!'")
            .rename("n", "id")
            .rename("label", "name")
    };
    let report =
        run(load().write(WriteOptions::new().if_exists(IfExists::Upsert(vec!["id".to_owned()])))).unwrap();
    assert_eq!(report.tables[0].filtered, 1);
    let database = open(&home.path("x.db"));
    assert_eq!(
        rows_of(&database, "t"),
        [
            "1: 1 integer, 'old' text, 'x' text",
            "2: 2 integer, 'New!' text, 'y' text",
            "7: 7 integer, 'Seven!' text, 'now' text"
        ]
    );
    let file = Way::Path.put(&home, "more.csv", b"n,label\n8,a\n9,b\n10,c\n");
    let append =
        Load::new(home.path("x.db"), [&file]).table("t").filter("n <> 9").select("n AS id, label AS name");
    run(append.write(WriteOptions::new().if_exists(IfExists::Append))).unwrap();
    assert_eq!(rows_of(&database, "t").len(), 5);
}

#[test]
fn filters_and_computed_columns_apply_to_all_files_of_a_table() {
    let home = Home::new();
    let one = Way::Path.put(&home, "1.csv", b"id,x\n1,1\n2,2\n");
    let two = Way::Path.put(&home, "2.csv", b"x,id\n1.5,3\n9,4\n");
    run(Load::new(home.path("x.db"), [&one, &two])
        .table("t")
        .filter("x > 1")
        .set("half", "x / 2")
        .exclude_columns(["x"]))
    .unwrap();
    assert_eq!(columns(&home), r#"( "id" INTEGER, "half" REAL )"#);
    assert_eq!(values(&home), ["2|2|1.0", "3|3|0.75", "4|4|4.5"], "x is REAL in both files");
}

#[test]
fn the_error_about_an_expression_names_the_table_that_lacks_the_column() {
    let home = Home::new();
    let one = Way::Path.put(&home, "one.csv", b"id,x\n1,1\n");
    let two = Way::Path.put(&home, "two.csv", b"id,y\n3,1.5\n");
    let error = run(Load::new(home.path("x.db"), [&one, &two]).filter("x > 1")).map(|_| ()).unwrap_err();
    assert!(
        shown(&error, &home).contains("\"x\", which table two does not have"),
        "{}",
        shown(&error, &home)
    );
    assert!(!home.path("x.db").exists());
}

#[test]
fn json_files_and_pipes_are_filtered_and_computed_too() {
    let ndjson = "{\"id\": 1, \"price\": 2.5, \"tags\": {\"a\": \"x\"}}\n{\"id\": 2, \"price\": 1, \"tags\": {\"a\": \"7\"}}\n{\"id\": 3, \"price\": 9, \"late\": \"8\"}\n";
    for way in Way::ALL {
        let home = Home::new();
        let file = way.put(&home, "t.ndjson", ndjson.as_bytes());
        let load = Load::new(home.path("x.db"), [file]).table("t");
        run(load
            .filter("price > 1")
            .set("a", "tags ->> '$.a'")
            .set("twice", "price * 2")
            .exclude_columns(["tags"]))
        .unwrap();
        assert_eq!(
            columns(&home),
            r#"( "id" INTEGER, "price" REAL, "late" TEXT, "a" TEXT, "twice" REAL )"#,
            "{way:?}"
        );
        assert_eq!(values(&home), ["1|1|2.5|NULL|x|5.0", "3|3|9.0|8|NULL|18.0"]);
    }
}

#[test]
fn rows_of_a_source_database_can_be_filtered_and_computed() {
    let home = Home::new();
    let database = Connection::open(home.path("from.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL)",
        )
        .unwrap();
    drop(database);
    run(Load::new(home.path("x.db"), [home.path("from.db")])
        .table("t")
        .filter("b <> 'x'")
        .set("c", "a || b"))
    .unwrap();
    assert_eq!(values(&home), ["2|2|y|2y"]);
}

#[test]
fn the_plan_shows_the_first_rows_before_and_after_the_expressions() {
    let home = Home::new();
    let file = Way::Path.put(&home, "t.csv", b"id,name\n1,a\n2,b\n3,c\n4,d\n5,e\n");
    let load = Load::new(home.path("x.db"), [file])
        .filter("id > 1")
        .set("name", "upper(name)")
        .rename("id", "number");
    let plan = load.prepare(&Context::default()).unwrap().plan().to_string();
    let lines = "--   before id='1', name='a'\n--   before id='2', name='b'\n--   before id='3', name='c'\n\
                 --   after  number='2', name='B'\n--   after  number='3', name='C'\n--   after  number='4', name='D'\n";
    assert!(plan.contains(lines), "{plan}");
}

#[test]
fn the_name_of_the_loaded_file_can_be_a_column() {
    let home = Home::new();
    let one = Way::Path.put(&home, "one.csv", b"id\n1\n2\n");
    let two = Way::Pipe.put(&home, "two.csv", b"id\n3\n");
    run(Load::new(home.path("x.db"), [&one, &two])
        .table("t")
        .filter("id > 1")
        .select("*, source_file AS file"))
    .unwrap();
    assert_eq!(columns(&home), r#"( "id" INTEGER, "file" TEXT )"#);
    let pipe = if cfg!(windows) { two.display().to_string() } else { "NULL".to_owned() };
    assert_eq!(values(&home), [format!("2|2|{}", one.display()), format!("3|3|{pipe}")]);
    let home = Home::new();
    let report = load(&home, "id,source_file\n1,mine\n", |load| load.set("x", "source_file || '!'")).unwrap();
    let note = "table t: source_file is the column of that name, not the name of the file";
    assert!(report.notes.iter().any(|said| said.to_string() == note), "{:?}", report.notes);
    assert_eq!(values(&home), ["1|1|mine|mine!"], "a column of the file has the name");
    let home = Home::new();
    let report = load(&home, "id,source_file\n1,mine\n", |load| load.set("x", "id + 1")).unwrap();
    assert!(report.notes.iter().all(|said| !said.to_string().contains("source_file")), "{:?}", report.notes);
}

/// Returns a file of records `id,note`, and the identifier of each record that is well-formed, with the line of its first character.
fn numbered(random: &mut Random, first: i64) -> (String, Vec<(i64, i64)>) {
    let end = random.pick(&["\n", "\n", "\r\n", "\r"]);
    let (mut text, mut line, mut records) = (format!("id,note{end}"), 2, Vec::new());
    for id in (first..).take(random.pick(&[1, 20, 500, 30_000])) {
        if random.one_in(20) {
            text += end;
            line += 1;
        }
        let (note, lines) = match random.below(12) {
            0 => (format!("\"one{end}two\""), 2),
            1 => (format!("\"{end}{end}three, \"\"quoted\"\" ä\""), 3),
            2 => ("x,too many fields".to_owned(), 1),
            _ => ("a note of some length".to_owned(), 1),
        };
        if !note.ends_with("fields") {
            records.push((id, line));
        }
        text += &format!("{id},{note}{end}");
        line += lines;
    }
    (text, records)
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn the_line_number_of_each_record_can_be_a_column(seed: u64, threads in 1..4usize) {
        let mut random = Random(seed);
        let home = Home::new();
        let (one, mut wanted) = numbered(&mut random, 1);
        let (two, of_two) = numbered(&mut random, 1_000_000);
        wanted.extend(of_two);
        wanted.retain(|(id, line)| id % 3 != 0 && line % 2 == 1);
        let files = [Way::Path.put(&home, "one.csv", one.as_bytes()), Way::Pipe.put(&home, "two.csv", two.as_bytes())];
        let load = Load::new(home.path("x.db"), files)
            .table("t")
            .filter("id % 3 <> 0 AND source_line % 2 = 1")
            .select("id, source_line AS line")
            .reject(home.path("bad.csv"))
            .rejects_max(1_000_000)
            .write(WriteOptions::new().threads(threads));
        run(load).unwrap();
        let database = open(&home.path("x.db"));
        let mut statement = database.prepare("SELECT id, line FROM t ORDER BY rowid").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let found: Vec<(i64, i64)> = rows.map(Result::unwrap).collect();
        prop_assert_eq!(found, wanted);
    }
}

#[test]
fn source_line_is_the_line_of_a_json_record_and_the_number_of_a_parquet_or_arrow_record() {
    let home = Home::new();
    let database = Connection::open(home.path("a.db")).unwrap();
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
        WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) INSERT INTO t SELECT i, 'text' FROM n";
    database.execute_batch(sql).unwrap();
    drop(database);
    let formats: &[&str] =
        if cfg!(feature = "parquet") { &["jsonl", "parquet", "arrow"] } else { &["jsonl"] };
    for format in formats {
        let file = home.path(&format!("t.{format}"));
        Export::new(home.path("a.db"), &file).overwrite(true).run().unwrap();
        // The numbers in `source_line` begin at 1 again in the second file.
        let copy = home.path(&format!("copy.{format}"));
        std::fs::copy(&file, &copy).unwrap();
        let target = home.path(&format!("{format}.db"));
        let load = Load::new(&target, [&file, &copy]).table("t").filter("source_line <> 7");
        run(load
            .select("id, source_line AS line, source_file AS file")
            .write(WriteOptions::new().threads(3)))
        .unwrap();
        let sql = "SELECT count(*), sum(id = line), count(DISTINCT file), min(typeof(line)) FROM t";
        let found = open(&target).query_row(sql, [], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, i64>(2)?,
                row.get::<_, String>(3)?,
            ))
        });
        assert_eq!(found.unwrap(), (9998, 9998, 2, "integer".to_owned()), "{format}");
    }
    let pretty = "[\n  {\"id\": 1,\n   \"a\": 2},\n\n  {\"id\": 2}, {\"id\": 3}\n]\n";
    let file = Way::Path.put(&home, "pretty.json", pretty.as_bytes());
    run(Load::new(home.path("x.db"), [&file]).table("t").select("id, source_line AS line")).unwrap();
    assert_eq!(values(&home), ["1|1|2", "2|2|5", "3|3|5"]);
}

#[test]
fn a_column_called_source_line_hides_the_line_number() {
    let home = Home::new();
    let report = load(&home, "id,Source_Line\n1,mine\n", |load| load.set("x", "source_line || '!'")).unwrap();
    let note = "table t: source_line is the column of that name, not the line of the record";
    assert!(report.notes.iter().any(|said| said.to_string() == note), "{:?}", report.notes);
    assert_eq!(values(&home), ["1|1|mine|mine!"]);
}

#[test]
fn expressions_use_the_given_names_of_a_file_without_a_header() {
    let home = Home::new();
    let file = Way::Path.put(&home, "t.csv", b"1,a\n2,b\n");
    let format = plain().header(false);
    run(Load::new(home.path("x.db"), [file])
        .format(format)
        .columns(["n", "letter"])
        .filter("n = 2")
        .set("letter", "upper(letter)"))
    .unwrap();
    assert_eq!(columns(&home), r#"( "n" INTEGER, "letter" TEXT )"#);
    assert_eq!(values(&home), ["2|2|B"]);
}

#[test]
fn expressions_can_use_regular_expressions_sha256_and_math_functions() {
    let home = Home::new();
    load(&home, "id,s\n1,ab12cd3\n2,\n", |load| {
        load.set("r", "regexp_replace(s, '([0-9]+)', '<\\1>')")
            .set("e", "regexp_extract(s, '[a-z]([0-9])', 1)")
            .set("m", "s REGEXP '^ab'")
            .set("h", "sha256('abc')")
            .set("q", "sqrt(id * 4.0) + pow(2, 3) + floor(1.7)")
            .set("n", "datetime('now') = current_timestamp AND datetime('now') = datetime()")
    })
    .unwrap();
    let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(
        values(&home),
        [
            format!("1|1|ab12cd3|ab<12>cd<3>|1|1|{sha}|11.0|1"),
            format!("2|2|NULL|NULL|NULL|NULL|{sha}|{:?}|1", 8f64.sqrt() + 9.0)
        ]
    );
}

#[test]
fn aggregates_subqueries_and_window_functions_are_refused_by_name() {
    let by_filter: [(&str, &str); 34] = [
        ("max(age) > 1", "aggregate function max()"),
        ("count(*) > 1", "aggregate function count()"),
        ("sum(age) > 1", "aggregate function sum()"),
        ("group_concat(email) = ''", "aggregate function group_concat()"),
        ("total(DISTINCT age) > 1", "aggregate function total()"),
        ("count(age) FILTER (WHERE id > 1) > 0", "aggregate function count()"),
        ("row_number() OVER () > 1", "window function row_number()"),
        ("sum(age) OVER (ORDER BY id) > 1", "window function"),
        ("lag(age) OVER w > 1", "w"),
        ("age IN (SELECT 1)", "subqueries prohibited"),
        ("EXISTS (SELECT 1)", "subqueries prohibited"),
        ("(SELECT max(age) FROM t) > 1", "subqueries prohibited"),
        ("age > ?", "parameters prohibited"),
        ("age > ?1", "parameters prohibited"),
        ("age > :least", "parameters prohibited"),
        ("age > @least", "parameters prohibited"),
        ("age > $least", "parameters prohibited"),
        ("random() > 0", "random()"),
        ("length(randomblob(8)) > 0", "randomblob()"),
        ("load_extension('x')", "load_extension()"),
        ("readfile('/etc/passwd') = ''", "readfile()"),
        ("writefile('x', 'y')", "writefile()"),
        ("last_insert_rowid() > 0", "last_insert_rowid()"),
        ("changes() > 0", "changes()"),
        ("rowid > 1", "\"rowid\""),
        ("_rowid_ > 1", "\"_rowid_\""),
        ("oid > 1", "\"oid\""),
        ("\"nobody\" = 1", "\"nobody\""),
        ("nobody = 1", "\"nobody\""),
        ("nothing(age)", "nothing"),
        ("age > 1 ORDER BY id", "ORDER"),
        ("age > 1 LIMIT 1", "LIMIT"),
        ("age > 1; DROP TABLE t", "semicolon"),
        ("(age, id) = 1 AND RAISE(ABORT, 'x')", ""),
    ];
    for (filter, named) in by_filter {
        let error = refused(PEOPLE, |load| load.filter(filter));
        assert!(error.contains(named), "{filter}: {error}");
        let error = refused(PEOPLE, |load| load.set("x", filter));
        assert!(error.contains(named), "{filter} as a column: {error}");
    }
    let by_list = [
        ("id FROM t", "FROM"),
        ("DISTINCT id", "DISTINCT"),
        ("id UNION SELECT 1", "UNION"),
        ("count(*)", "count()"),
        ("id GROUP BY id", "GROUP"),
        ("id WHERE id > 1", "WHERE"),
        ("id, nobody", "\"nobody\""),
        ("a.*", ""),
    ];
    for (list, named) in by_list {
        let error = refused(PEOPLE, |load| load.select(list));
        assert!(error.contains(named), "{list}: {error}");
    }
    for filter in [
        "",
        " ",
        "-- nothing",
        "age >",
        "(age",
        "age)",
        "age) OR (age = 1",
        "1)), CHECK ((2",
        "email REGEXP '('",
    ] {
        refused(PEOPLE, |load| load.filter(filter));
    }
    refused(PEOPLE, |load| load.exclude_columns(["nobody"]));
    refused(PEOPLE, |load| load.rename("nobody", "x"));
    refused(PEOPLE, |load| load.rename("id", "age"));
    refused(PEOPLE, |load| load.exclude_columns(["id", "email", "age", "price"]));
    refused(PEOPLE, |load| load.select("id").set("x", "1"));
}

#[test]
fn the_error_about_a_too_large_result_names_the_row_and_the_expression() {
    for bomb in [
        "zeroblob(2000000000)",
        "zeroblob(id * 100000000)",
        "printf('%2000000000d', id)",
        "printf('%*d', id * 100000000, 1)",
        "replace(replace(replace(printf('%10000d', 1), ' ', printf('%10000d', 1)), ' ', printf('%1000d', 1)), ' ', 'xxxx')",
    ] {
        let error =
            refused(PEOPLE, |load| load.set("x", bomb).write(WriteOptions::new().memory_bytes(64 << 20)));
        assert!(error.starts_with("t.csv:2") && error.contains("x="), "{bomb}: {error}");
    }
}

/// Expressions over an INTEGER `a`, a REAL `b`, a TEXT `c` and an INTEGER `d` with NULLs.
const EXPRESSIONS: [&str; 27] = [
    "{0} + 1",
    "{0} * {1}",
    "{0} || ''",
    "lower({0})",
    "upper({0}) || {1}",
    "{0} > {1}",
    "{0} = '5'",
    "coalesce({0}, {1})",
    "CASE WHEN {0} > 3 THEN {1} ELSE 'x' END",
    "CAST({0} AS TEXT)",
    "CAST({0} AS INTEGER)",
    "CAST({0} AS REAL)",
    "typeof({0})",
    "substr({0}, 2)",
    "max({0}, {1})",
    "abs({0})",
    "nullif({0}, {1})",
    "{0} IS NULL",
    "{0} IN (1, '2', 3.0)",
    "{0} BETWEEN 2 AND {1}",
    "quote({0})",
    "length({0}) -- the length",
    "x'00ff'",
    "round({0}, 1)",
    "NOT ({0} <> 3 OR {1} <= 'b')",
    "{0} / {1} > 1",
    "{0} = NULL",
];

fn expression(random: &mut Random, names: &[String]) -> String {
    let template = random.pick(&EXPRESSIONS);
    let [first, second] = [(); 2].map(|()| names[random.below(names.len())].clone());
    template.replace("{0}", &quoted(&first)).replace("{1}", &quoted(&second))
}

fn field(random: &mut Random, column: usize) -> String {
    let n = random.below(12);
    match column {
        0 => n.to_string(),
        1 => format!("{}.{}", n, 1 + random.below(9)),
        2 => random.pick(&["a", "B c", "5", "x'y", "é", "", "12", "007", "1.5"]).to_owned(),
        _ if n < 4 => String::new(),
        _ => (n as i64 - 8).to_string(),
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn filtered_and_computed_rows_equal_those_of_insert_select(
        seed in any::<u64>(),
        rows in 1..300usize,
        (sets, has_filter, is_small) in (0..5usize, any::<bool>(), any::<bool>()),
    ) {
        let mut random = Random(seed);
        let mut csv = "a,b,c,d\n".to_owned();
        for _ in 0..rows {
            let fields: Vec<String> = (0..4).map(|column| field(&mut random, column)).collect();
            csv += &format!("{}\n", fields.join(","));
        }
        // The twin has the rows of the file as a table.
        let staging = Home::new();
        // A column of almost only numbers must be declared if expressions use it.
        load(&staging, &csv, |load| load.types([("c", "TEXT")])).unwrap();
        let staging = open(&staging.path("x.db"));
        let mut names: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let filter = has_filter.then(|| expression(&mut random, &names));
        let mut inner = format!("SELECT rowid AS \"row\", * FROM t WHERE {}\n", filter.as_deref().unwrap_or("1"));
        let mut with: Vec<(String, String)> = Vec::new();
        for _ in 0..sets {
            let column = random.pick(&["a", "c", "e", "f"]).to_owned();
            let sql = expression(&mut random, &names);
            let is_new = !names.contains(&column);
            let listed: Vec<String> = names.iter().map(|name| match *name == column {
                true => format!("({sql}\n) AS {}", quoted(name)),
                false => quoted(name),
            }).collect();
            let more = if is_new { format!(", ({sql}\n) AS {}", quoted(&column)) } else { String::new() };
            inner = format!("SELECT \"row\", {}{more} FROM ({inner})\n", listed.join(", "));
            if is_new {
                names.push(column.clone());
            }
            with.push((column, sql));
        }
        for (threads, memory) in [(1, 256 << 20), (3, 32 << 20)] {
            let home = Home::new();
            let loaded = load(&home, &csv, |load| {
                let mut load = load.types([("c", "TEXT")]);
                load.filter.clone_from(&filter);
                load.sets.clone_from(&with);
                if is_small {
                    load = with_small_parts(load);
                }
                load.write(WriteOptions::new().threads(threads).memory_bytes(memory))
            });
            let report = loaded.map_err(|error| TestCaseError::fail(error.message()))?;
            let ours = open(&home.path("x.db"));
            prop_assert_eq!(integrity(&ours), "ok");
            let sql: String = ours.query_row("SELECT sql FROM sqlite_schema", [], |row| row.get(0)).unwrap();
            let twin = Connection::open_in_memory().unwrap();
            twin.execute_batch("PRAGMA foreign_keys = 0").unwrap();
            twin.execute_batch(&sql.replace("\"t\"", "twin")).unwrap();
            let mut staged = staging.prepare(&format!("SELECT * FROM ({inner}) ORDER BY \"row\"")).unwrap();
            let places: Vec<String> = (1..=names.len() + 1).map(|at| format!("?{at}")).collect();
            let listed: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            let insert = format!("INSERT INTO twin (rowid, {}) VALUES ({})", listed.join(", "), places.join(", "));
            let mut insert = twin.prepare(&insert).unwrap();
            let mut found = staged.query([]).unwrap();
            while let Some(row) = found.next().unwrap() {
                for at in 0..=names.len() {
                    insert.raw_bind_parameter(at + 1, ToSqlOutput::Borrowed(row.get_ref(at).unwrap())).unwrap();
                }
                insert.raw_execute().unwrap();
            }
            drop(insert);
            prop_assert_eq!(rows_of(&ours, "t"), rows_of(&twin, "twin"), "{:?} where {:?}", &with, &filter);
            prop_assert_eq!(report.rows + report.tables[0].filtered, rows as u64);
            let nulls = format!("SELECT count(*) FROM t WHERE ({}\n) IS NULL", filter.as_deref().unwrap_or("1"));
            let nulls: i64 = staging.query_row(&nulls, [], |row| row.get(0)).unwrap();
            prop_assert_eq!(report.tables[0].filtered_null, nulls as u64, "{:?}", &filter);
        }
    }
}
