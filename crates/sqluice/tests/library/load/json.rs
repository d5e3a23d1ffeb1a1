//! Loads of JSON and NDJSON: columns, types and values do not depend on the sample.
#![cfg(feature = "load")]

use std::fs;

use crate::support::cases;
use crate::support::files::Home;
use crate::support::load::{Way, feed, run, schema, shown};
use proptest::prelude::*;
use proptest::sample::select;
use rusqlite::Connection;
use rusqlite::types::Value;
use sqluice::load::{FormatOptions, Load, formats};

/// Returns the declared columns of a table, as `name type` each.
fn columns(db: &Connection, table: &str) -> Vec<String> {
    let mut pragma =
        db.prepare(&format!("SELECT name || ' ' || type FROM pragma_table_info('{table}')")).unwrap();
    let names = pragma.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

fn rows(db: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = db.prepare(sql).unwrap();
    let width = statement.column_count();
    let rows = statement.query_map([], |row| (0..width).map(|column| row.get(column)).collect()).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Returns rows as text that shows the storage classes of the values.
fn told(db: &Connection, table: &str) -> Vec<String> {
    let value = |value: Value| match value {
        Value::Null => "-".to_owned(),
        Value::Integer(int) => int.to_string(),
        Value::Real(real) => format!("{real:?}"),
        Value::Text(text) => format!("'{text}'"),
        Value::Blob(blob) => format!("{blob:?}"),
    };
    let rows = rows(db, &format!("SELECT * FROM {table} ORDER BY rowid"));
    rows.into_iter().map(|row| row.into_iter().map(value).collect::<Vec<_>>().join(" ")).collect()
}

/// Loads a file with the given text into table x.
fn loaded(name: &str, text: &str, with: impl FnOnce(Load) -> Load) -> (Home, Result<Connection, String>) {
    let home = Home::new();
    fs::write(home.path(name), text).unwrap();
    let load = Load::new(home.path("x.db"), [home.path(name)]).table("x");
    let done = run(with(load)).map(|_| Connection::open(home.path("x.db")).unwrap());
    let done = done.map_err(|error| shown(&error, &home));
    (home, done)
}

/// Gives a load samples and parts of a few bytes.
fn tiny(load: Load) -> Load {
    load.tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (8, 8))
}

#[test]
fn json_keys_that_appear_late_become_columns_too() {
    let text = "{\"a\":1}\n{\"b\":\"x\"}\n{\"c\":{\"d\":[1, 2]},\"a\":2.5}\n{\"A\":true}\n";
    for with in [tiny, |load| load] {
        let (_home, db) = loaded("x.ndjson", text, with);
        let db = db.unwrap();
        assert_eq!(columns(&db, "x"), ["a REAL", "b TEXT", "c TEXT", "A_2 INTEGER"]);
        assert_eq!(told(&db, "x"), ["1.0 - - -", "- 'x' - -", "2.5 - '{\"d\":[1, 2]}' -", "- - - 1"]);
    }
}

#[test]
fn a_json_column_gets_the_type_that_holds_all_its_values() {
    for (values, expected, stored) in [
        ("1 2 -3", "INTEGER", "1 2 -3"),
        ("1 2.5 1e3", "REAL", "1.0 2.5 1000.0"),
        ("1 9007199254740993", "INTEGER", "1 9007199254740993"),
        ("0.5 9007199254740993", "TEXT", "'0.5' '9007199254740993'"),
        ("1 18446744073709551615", "TEXT", "'1' '18446744073709551615'"),
        ("1.50 0.12345678901234567890", "TEXT", "'1.50' '0.12345678901234567890'"),
        ("1e999 1", "TEXT", "'1e999' '1'"),
        ("\"1\" \"2\"", "TEXT", "'1' '2'"),
        ("1 \"007\"", "TEXT", "'1' '007'"),
        ("true false null", "INTEGER", "1 0 -"),
        ("true \"yes\"", "TEXT", "'true' 'yes'"),
        ("null null", "TEXT", "- -"),
        ("[] 1", "TEXT", "'[]' '1'"),
    ] {
        let text: String = values.split(' ').map(|value| format!("{{\"a\":{value}}}\n")).collect();
        for with in [tiny, |load| load] {
            let (_home, db) = loaded("x.jsonl", &text, with);
            let db = db.unwrap();
            assert_eq!(columns(&db, "x"), [format!("a {expected}")], "{values}");
            assert_eq!(told(&db, "x").join(" "), stored, "{values}");
        }
    }
}

#[test]
fn json_values_are_converted_by_the_affinity_of_a_declared_column() {
    let text = "{\"i\":\"7\",\"t\":1.50,\"n\":18446744073709551615,\"b\":true}\n{\"t\":false,\"n\":1}\n";
    let declared = "CREATE TABLE x (i INTEGER, t TEXT, n, b BLOB, d DEFAULT 'none')";
    for with in [tiny, |load| load] {
        let (_home, db) = loaded("x.json", text, |load| with(load).schema(schema(declared)));
        assert_eq!(
            told(&db.unwrap(), "x"),
            ["7 '1.50' '18446744073709551615' 1 'none'", "- 'false' 1 - 'none'"]
        );
    }
}

#[test]
fn a_json_key_that_a_declared_table_lacks_is_an_error_even_after_the_sample() {
    let text = "{\"a\":1}\n{\"a\":2}\n{\"a\":3,\"b\":4}\n";
    for with in [tiny, |load| load] {
        let declared = |load: Load| with(load).schema(schema("CREATE TABLE x (a)"));
        let (_home, db) = loaded("x.json", text, declared);
        assert_eq!(
            db.unwrap_err(),
            "x.json:3:8: table x has no column \"b\" [its columns are a; `add_columns` adds what is missing, `columns` names those to load]"
        );
        let (_home, db) = loaded("x.json", text, |load| declared(load).add_columns(true));
        assert_eq!(told(&db.unwrap(), "x"), ["1 -", "2 -", "3 4"]);
        let (_home, db) = loaded("x.json", text, |load| declared(load).columns(["a"]));
        assert_eq!(told(&db.unwrap(), "x"), ["1", "2", "3"]);
    }
}

#[test]
fn selected_columns_and_indexes_may_name_json_keys_that_appear_late() {
    let text = "{\"a\":1}\n{\"a\":2}\n{\"a\":3,\"late\":4,\"z\":5}\n";
    let named = |load: Load| tiny(load).columns(["LATE", "a"]).indexes(["late"]);
    let (_home, db) = loaded("x.json", text, named);
    let db = db.unwrap();
    assert_eq!(columns(&db, "x"), ["late INTEGER", "a INTEGER"]);
    assert_eq!(told(&db, "x"), ["- 1", "- 2", "4 3"]);
}

#[test]
fn keys_of_rejected_json_rows_do_not_become_columns() {
    let text = "{\"a\":1}\n{\"b\":}\n[]\n{\"a\":\n{\"a\":2}\n";
    for with in [tiny, |load| load] {
        let home = Home::new();
        fs::write(home.path("x.json"), text).unwrap();
        let load = Load::new(home.path("x.db"), [home.path("x.json")]).reject(home.path("r.csv"));
        let report = run(with(load)).unwrap();
        assert_eq!(report.rejected, 3);
        let db = Connection::open(home.path("x.db")).unwrap();
        assert_eq!(
            (columns(&db, "x"), told(&db, "x")),
            (vec!["a INTEGER".to_owned()], vec!["1".to_owned(), "2".to_owned()])
        );
        let rejects = fs::read_to_string(home.path("r.csv")).unwrap();
        assert!(rejects.contains("expected a value, found '}'"), "{rejects}");
    }
    let (_home, db) = loaded("x.json", text, tiny);
    assert_eq!(
        db.unwrap_err(),
        "x.json:2:6: expected a value, found '}' [`reject = FILE` writes such rows to a file and goes on]"
    );
}

#[test]
fn json_keys_with_escapes_are_distinguished_from_similar_keys_without_escapes() {
    let text =
        concat!(r#"{"a\":1,\"b":0,"a":5,"b":6}"#, "\n", r#"{"a":1,"b":2}"#, "\n", r#"{"a\\":3,"b":4}"#, "\n");
    let (_home, db) = loaded("x.ndjson", text, |load| load);
    let db = db.unwrap();
    assert_eq!(columns(&db, "x"), [r#"a":1,"b INTEGER"#, "a INTEGER", "b INTEGER", r"a\ INTEGER"]);
    assert_eq!(told(&db, "x"), ["0 5 6 -", "- 1 2 -", "- - 4 3"]);
}

#[test]
fn a_bad_json_row_is_reported_rather_than_a_later_unknown_key() {
    let text = "{\"id\":1}\n".to_owned() + &"{\"id\":\"x\"}\n{\"id\":2,\"new\":1}\n".repeat(3);
    let strict = |load: Load| tiny(load).schema(schema("CREATE TABLE x(id INTEGER) STRICT"));
    let (_home, db) =
        loaded("x.ndjson", &text, |load| strict(load).tune(|tuning| tuning.part_bytes = 1 << 20));
    let error = db.unwrap_err();
    assert!(error.starts_with("x.ndjson:2:"), "{error}");
}

#[test]
fn a_json_record_with_more_white_space_than_the_memory_holds_ends_the_load() {
    let text = "{\"a\":1}".to_owned() + &" ".repeat(33 << 20) + "\n{\"a\":2}\n";
    let (_home, db) = loaded("x.ndjson", &text, |load| load);
    let error = db.unwrap_err();
    assert!(error.starts_with("x.ndjson:1:1: the record that begins here is longer"), "{error}");
}

#[test]
fn a_million_blank_lines_between_json_records_are_skipped() {
    let text = "{\"a\":1}\n".to_owned() + &"\n".repeat(1 << 20) + "{\"a\":2}\n";
    let (_home, db) = loaded("x.ndjson", &text, |load| load);
    assert_eq!(told(&db.unwrap(), "x"), ["1", "2"]);
}

#[test]
fn a_json_file_without_a_record_needs_a_schema() {
    for (name, text) in [("x.json", ""), ("x.json", "[]"), ("x.ndjson", "\n\n")] {
        let (_home, db) = loaded(name, text, |load| load);
        assert_eq!(
            db.unwrap_err(),
            format!("{name}: the file has no record, so its columns are unknown [`schema` declares them]")
        );
        let (_home, db) = loaded(name, text, |load| load.schema(schema("CREATE TABLE x (a)")));
        assert!(told(&db.unwrap(), "x").is_empty());
    }
}

#[test]
fn settings_of_csv_are_refused_for_json() {
    let (_home, db) = loaded("x.json", "{}", |load| load.format(FormatOptions::new().delimiter(b';')));
    assert!(db.unwrap_err().starts_with("`delimiter` is for CSV, but x.json is NDJSON"));
}

#[test]
fn an_object_over_several_lines_is_refused_in_the_format_ndjson() {
    let (_home, db) = loaded("x.json", "{\n  \"a\": 1\n}\n", |load| {
        let format = FormatOptions::new().format(&formats::NDJSON);
        load.format(format)
    });
    assert_eq!(
        db.unwrap_err(),
        "x.json:1:2: expected a key in quotes, and the record ends [a record is one line; jq -c . makes it so]"
    );
}

#[test]
fn a_row_limit_ends_the_reading_of_several_json_and_csv_files() {
    let home = Home::new();
    fs::write(home.path("1.json"), "{\"a\":1}\n{\"a\":2}\n").unwrap();
    fs::write(home.path("2.json"), "[{\"b\":3},{\"c\":4}]").unwrap();
    fs::write(home.path("3.csv"), "a\n5\n").unwrap();
    let files = ["1.json", "2.json", "3.csv"].map(|name| home.path(name));
    for (limit, expected) in
        [(3, vec!["1 -", "2 -", "- 3"]), (9, vec!["1 - -", "2 - -", "- 3 -", "- - 4", "5 - -"])]
    {
        let mut load = Load::new(home.path("x.db"), &files).table("x").add_columns(true).limit(limit);
        load.write.overwrite = true;
        run(load).unwrap();
        let stored = told(&Connection::open(home.path("x.db")).unwrap(), "x");
        let width = expected[0].len();
        assert_eq!(stored.iter().map(|row| &row[..width.min(row.len())]).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_limit_hides_no_late_keys_of_a_json_file_after_another_file() {
    let home = Home::new();
    fs::write(home.path("1.csv"), "a,late\n1,2\n3,4\n5,6\n7,8\n").unwrap();
    fs::write(home.path("2.json"), "{\"a\":9}\n{\"a\":10,\"late\":\"x\"}\n").unwrap();
    let load = tiny(Load::new(home.path("x.db"), ["1.csv", "2.json"].map(|name| home.path(name))))
        .table("x")
        .limit(6);
    run(load).unwrap();
    let stored = told(&Connection::open(home.path("x.db")).unwrap(), "x");
    assert_eq!(stored, ["1 '2'", "3 '4'", "5 '6'", "7 '8'", "9 -", "10 'x'"]);
}

#[test]
fn a_selected_json_key_that_appears_late_in_a_pipe_is_loaded() {
    let home = Home::new();
    let text = "{\"a\":1}\n{\"a\":2}\n{\"a\":3,\"late\":4}\n";
    feed(&home.path("x.json"), move |pipe| drop(std::io::Write::write_all(pipe, text.as_bytes())));
    let load = tiny(Load::new(home.path("x.db"), [home.path("x.json")]));
    run(load.columns(["late"])).unwrap();
    assert_eq!(told(&Connection::open(home.path("x.db")).unwrap(), "x"), ["-", "-", "4"]);
}

/// Generates a value as JSON, and as SQLite stores it in a column without a type.
fn value() -> impl Strategy<Value = (String, Value)> {
    prop_oneof![
        Just(("null".to_owned(), Value::Null)),
        any::<i64>().prop_map(|int| (int.to_string(), Value::Integer(int))),
        (-1e9..1e9f64).prop_map(|real| (format!("{real:?}"), Value::Real(real))),
        "[a-zé\"\\\\\n0-9]{0,12}".prop_map(|text| (serde_json::to_string(&text).unwrap(), Value::Text(text))),
        any::<bool>().prop_map(|is| (is.to_string(), Value::Integer(is.into()))),
        select(vec!["[1,{\"a\":null}]", "{}"])
            .prop_map(|json| (json.to_owned(), Value::Text(json.to_owned()))),
    ]
}

proptest! {
    #![proptest_config(cases(60))]

    /// The columns have no types, so that nothing is converted: values are read back as they were written.
    #[test]
    fn every_json_value_is_stored_unchanged_in_an_untyped_column(
        rows_in in prop::collection::vec(prop::collection::vec(prop::option::of(value()), 4), 1..40),
        sample_bytes in select(vec![1, 50, 1 << 20]),
        part_bytes in select(vec![1, 50, 1 << 20]),
        array: bool,
        way in select(Way::ALL.to_vec()),
    ) {
        let home = Home::new();
        let object = |row: &Vec<Option<(String, Value)>>| {
            let members = row.iter().enumerate().filter_map(|(at, value)| {
                value.as_ref().map(|(json, _)| format!("\"k{at}\":{json}"))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        };
        let objects: Vec<String> = rows_in.iter().map(object).collect();
        let text = if array { format!("[{}]", objects.join(",")) } else { objects.join("\n") };
        let file = way.put(&home, "x.dat", text.as_bytes());
        let declared = "CREATE TABLE x (k0, k1, k2, k3)";
        let kind = Some(if array { &formats::JSON } else { &formats::NDJSON });
        let load = Load::new(home.path("x.db"), [file])
            .schema(schema(declared))
            .format(FormatOptions::new().format(kind))
            .tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (sample_bytes, part_bytes));
        run(load).unwrap();
        let db = Connection::open(home.path("x.db")).unwrap();
        let expected: Vec<Vec<Value>> = rows_in
            .into_iter()
            .map(|row| row.into_iter().map(|value| value.map_or(Value::Null, |(_, value)| value)).collect())
            .collect();
        prop_assert_eq!(rows(&db, "SELECT * FROM x ORDER BY rowid"), expected);
    }
}

#[test]
fn json_objects_are_read_with_and_without_line_ends_in_them() {
    let pretty = "{\n  \"id\": 1,\n  \"tags\": [\n    \"a\"\n  ]\n}\n{\n  \"id\": 2\n}\n";
    for name in ["x.json", "x.jsonl", "x"] {
        let (_home, db) = loaded(name, pretty, tiny);
        assert_eq!(told(&db.unwrap(), "x"), ["1 '[\n    \"a\"\n  ]'", "2 -"], "{name}");
    }
    let (_home, db) = loaded("x.json", "{\"id\":1}{\"id\":2} {\"id\":3}", tiny);
    assert_eq!(told(&db.unwrap(), "x"), ["1", "2", "3"]);
}

#[test]
fn a_negative_zero_in_json_is_stored_as_in_csv_with_and_without_a_declared_type() {
    let told_of = |name: &str, text: &str, types: &[(&str, &str)]| {
        let types = types.iter().map(|(name, ty)| ((*name).to_owned(), (*ty).to_owned()));
        let (_home, db) = loaded(name, text, |load| load.types(types));
        told(&db.unwrap(), "x")
    };
    let json = "{\"a\":-0}\n{\"a\":1}\n";
    assert_eq!(told_of("x.json", json, &[]), ["'-0'", "'1'"]);
    assert_eq!(told_of("x.csv", "a\n-0\n1\n", &[]), ["'-0'", "'1'"]);
    let declared = [("a", "INTEGER")];
    assert_eq!(told_of("x.json", json, &declared), told_of("x.csv", "a\n-0\n1\n", &declared));
}

#[test]
fn the_error_about_a_file_that_is_no_table_names_the_real_format() {
    for (text, what) in [
        ("<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "an HTML page"),
        ("<?xml version=\"1.0\"?>\n<rows/>\n", "an XML file"),
        ("%PDF-1.7\n1 0 obj\n", "a PDF file"),
        ("PK\u{3}\u{4}0000000000000000000000\u{11}\0\0\0word/document.xml", "a document of a word processor"),
        ("SQLite format 3\0", "a SQLite database"),
    ] {
        for name in ["x.csv", "x.data"] {
            let (_home, db) = loaded(name, text, |load| load);
            let error = db.unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
    // With the format given as CSV, the file is read as CSV.
    let csv = FormatOptions::new().format(&formats::CSV);
    let (_home, db) = loaded("x", "<html>,b\n1,2\n", |load| load.format(csv));
    assert_eq!(told(&db.unwrap(), "x"), ["1 2"]);
}

#[test]
fn json_objects_in_every_layout_are_found_after_a_first_object_of_any_length() {
    for long in [100, 4_080, 4_090, 5_000, 40_000] {
        let (text, blanks) = ("x".repeat(long), " ".repeat(long));
        let first = format!("{{\"a\":1,\"t\":\"{text}\"}}");
        for json in [
            // Both objects are on several lines.
            format!("{{\"a\":1,\"t\":\"{text}\",\n  \"b\":2}}\n{{\n  \"a\":3\n}}\n"),
            // Both objects are on one line.
            format!("{first}{{\"a\":3}}"),
            // Blanks are between the objects.
            format!("{first}{blanks}{{\"a\":3}}\n"),
            // Each object is on a line of its own.
            format!("{first}\n{{\"a\":3}}\n"),
            // Blanks are before and within the first object.
            format!("{blanks}\n{{{blanks}\n\"a\":1}}\n{{\"a\":3}}\n"),
            // The objects are in an array, after blanks.
            format!("{blanks}[{first},{{\"a\":3}}]"),
            // The first object has a list over many lines.
            format!("{{\"a\":1,\"l\":[{}1]\n}}\n{{\"a\":3}}", "1,\n".repeat(long / 3)),
        ] {
            for name in ["x.json", "x.data"] {
                let (_home, db) = loaded(name, &json, |load| load);
                let found = rows(&db.unwrap(), "SELECT a FROM x ORDER BY rowid");
                assert_eq!(
                    found,
                    [[Value::Integer(1)], [Value::Integer(3)]],
                    "{name}, {long}: {}",
                    &json[..20]
                );
            }
        }
    }
}
