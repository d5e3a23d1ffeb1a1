//! Conversions of text columns on request (`--date`, `--boolean`, `--decimal-comma`, `--thousands`): dates, booleans, decimal commas,
//! separators of thousands.

#![cfg(feature = "load")]

use std::fs;

use crate::support::files::{Home, integrity, open};
use crate::support::load::{Way, plain, run, schema, shown};
use crate::support::{Random, cases};
use proptest::prelude::*;
use rusqlite::types::Value;
use sqluice::convert::Convert;
use sqluice::error::{ErrorKind, Result};
use sqluice::load::{FormatOptions, Load};
use sqluice::options::{IfExists, WriteOptions};
use sqluice::progress::Context;
use sqluice::report::Report;

fn date(column: &str, format: &str) -> (String, Convert) {
    (column.to_owned(), Convert::Date(format.to_owned()))
}

fn boolean(column: &str) -> (String, Convert) {
    (column.to_owned(), Convert::Boolean(None))
}

fn comma(column: &str) -> (String, Convert) {
    (column.to_owned(), Convert::DecimalComma)
}

fn thousands(column: &str, separator: &str) -> (String, Convert) {
    (column.to_owned(), Convert::Thousands(separator.to_owned()))
}

fn load_file(home: &Home, name: &str, text: &str, with: impl FnOnce(Load) -> Load) -> Result<Report> {
    let file = Way::Path.put(home, name, text.as_bytes());
    run(with(Load::new(home.path("x.db"), [file]).table("t")))
}

fn load(home: &Home, csv: &str, convert: Vec<(String, Convert)>) -> Result<Report> {
    load_file(home, "t.csv", csv, |load| load.convert(convert))
}

fn rows(home: &Home) -> Vec<Vec<Value>> {
    let database = open(&home.path("x.db"));
    assert_eq!(integrity(&database), "ok");
    let mut statement = database.prepare("SELECT * FROM t ORDER BY rowid").unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

fn sql(home: &Home) -> String {
    let database = open(&home.path("x.db"));
    let sql: String = database.query_row("SELECT sql FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

const CSV: &str = "placed;paid;price;units\n31.01.2024;yes;1.234,50;1'000\n;;;\n1.2.2024;No;3,5;2\n";

fn all() -> Vec<(String, Convert)> {
    vec![
        date("Placed", "%d.%m.%Y"),
        boolean("paid"),
        comma("price"),
        thousands("price", "."),
        thousands("units", "'"),
    ]
}

#[test]
fn declared_conversions_of_dates_booleans_and_numbers_are_stored() {
    let home = Home::new();
    let report = load(&home, CSV, all()).unwrap();
    assert_eq!(
        sql(&home),
        r#"CREATE TABLE "t" ( "placed" TEXT, "paid" INTEGER, "price" REAL, "units" INTEGER )"#
    );
    let null = || Value::Null;
    assert_eq!(
        rows(&home),
        [
            vec![text("2024-01-31"), Value::Integer(1), Value::Real(1234.5), Value::Integer(1000)],
            vec![null(), null(), null(), null()],
            vec![text("2024-02-01"), Value::Integer(0), Value::Real(3.5), Value::Integer(2)],
        ]
    );
    let conversions: Vec<_> =
        report.tables[0].columns.iter().map(|column| column.conversion.as_deref()).collect();
    let how = ["date %d.%m.%Y", "boolean", "number with a decimal comma and \".\" between thousands"];
    assert_eq!(conversions[..3], how.map(Some));
    let database = open(&home.path("x.db"));
    let days: f64 = database
        .query_row("SELECT max(julianday(placed)) - min(julianday(placed)) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(days, 1.0);
}

#[test]
fn the_plan_of_a_load_says_how_columns_are_converted() {
    let home = Home::new();
    let file = Way::Path.put(&home, "t.csv", CSV.as_bytes());
    let load = Load::new(home.path("x.db"), [file]).convert(all());
    let plan = load.prepare(&Context::default()).unwrap().plan().to_string();
    assert!(plan.contains("--   column placed: date %d.%m.%Y\n--   column paid: boolean\n"), "{plan}");
}

#[test]
fn empty_text_and_tokens_of_null_are_null_in_converted_columns() {
    let home = Home::new();
    let format = plain().null(["NA"]).empty_as_text(true);
    load_file(&home, "t.csv", "d,b\n\"\",\nNA,NA\n2024-01-01,y\n", |load| {
        load.format(format).convert(vec![date("d", "%Y-%m-%d"), boolean("b")])
    })
    .unwrap();
    let null = || vec![Value::Null, Value::Null];
    assert_eq!(rows(&home), [null(), null(), vec![text("2024-01-01"), Value::Integer(1)]]);
}

#[test]
fn a_value_that_does_not_match_its_conversion_ends_the_load_with_its_place() {
    let bad = [
        (
            "d\n01.02.2024\n31.02.2024\n",
            "'31.02.2024' in column d is not a date of the format %d.%m.%Y: that month has no such day",
        ),
        ("d\n01.02.2024\n2024-02-01\n", "'2024-02-01' in column d is not a date of the format %d.%m.%Y"),
    ];
    for (csv, message) in bad {
        let home = Home::new();
        let error = load(&home, csv, vec![date("d", "%d.%m.%Y")]).unwrap_err();
        assert_eq!((shown(&error, &home), error.kind()), (format!("t.csv:3:1: {message}"), ErrorKind::Input));
        assert_eq!(home.names(), ["t.csv"], "nothing is left behind");
    }
    for (value, convert, message) in [
        (
            "maybe",
            boolean("d"),
            "'maybe' in column d is not a boolean (true/false, t/f, yes/no, y/n, on/off or 1/0)",
        ),
        ("3.14", comma("d"), "'3.14' in column d is not a number with a decimal comma"),
        (
            "1'00",
            thousands("d", "'"),
            "'1'00' in column d does not have three digits after each separator of thousands",
        ),
        ("1 000", thousands("d", "'"), "'1 000' in column d is not a number with \"'\" between thousands"),
    ] {
        let home = Home::new();
        let error = load(&home, &format!("a;d\n1;\nx;{value}\n"), vec![convert]).unwrap_err();
        assert_eq!(shown(&error, &home).replace('\\', ""), format!("t.csv:3:3: {message}"));
    }
}

#[test]
fn bad_values_go_to_the_reject_file_and_do_not_affect_column_types() {
    let home = Home::new();
    let csv = "n,d,x\n1,31.02.2024,word\n2,01.02.2024,7\n3,1.13.2024,8\n4,,9\n";
    let reject = home.path("bad.csv");
    let report = load_file(&home, "t.csv", csv, |load| {
        load.convert(vec![date("d", "%d.%m.%Y")]).reject(reject.clone())
    })
    .unwrap();
    assert_eq!((report.rows, report.rejected), (2, 2));
    assert_eq!(sql(&home), r#"CREATE TABLE "t" ( "n" INTEGER, "d" TEXT, "x" INTEGER )"#);
    let rejected = fs::read_to_string(reject).unwrap();
    let lines: Vec<&str> = rejected.lines().collect();
    assert!(lines[1].contains(",2,3,") && lines[1].ends_with("\"1,31.02.2024,word\""), "{rejected}");
    assert!(lines[2].contains(",4,3,'1.13.2024' in column d is not a date"), "{rejected}");
}

#[test]
fn a_column_of_numbers_with_decimal_commas_is_real_or_integer() {
    let home = Home::new();
    load(&home, "a;b\n1,9;007\n1,10;12\n3;5\n", vec![comma("a"), comma("b")]).unwrap();
    assert_eq!(sql(&home), r#"CREATE TABLE "t" ( "a" REAL, "b" INTEGER )"#);
    let real = |real: f64, int: i64| vec![Value::Real(real), Value::Integer(int)];
    assert_eq!(rows(&home), [real(1.9, 7), real(1.1, 12), real(3.0, 5)]);
}

#[test]
fn numbers_with_too_many_digits_make_bad_rows_unless_lossy() {
    let csv = "a;b\n0,1;1\n0,12345678901234567890;2\n";
    let home = Home::new();
    let error = load(&home, csv, vec![comma("a")]).unwrap_err();
    let message = "t.csv:3:1: '0,12345678901234567890' in column a has more digits than a float holds [to round such numbers: \
                   `lossy`]";
    assert_eq!(shown(&error, &home), message);
    load_file(&home, "t.csv", csv, |load| load.convert(vec![comma("a")]).lossy(true)).unwrap();
    let row = |real, int| vec![Value::Real(real), Value::Integer(int)];
    assert_eq!(rows(&home), [row(0.1, 1), row(0.123_456_789_012_345_68, 2)]);
    let home = Home::new();
    let error = load(&home, "a;b\n0,1;1\n9007199254740993;2\n", vec![comma("a")]).unwrap_err();
    assert!(
        shown(&error, &home).contains("t.csv:3:1: '9007199254740993' in column a has more digits"),
        "{error:?}"
    );
    // A column of integers stores the number exactly, also after an empty value.
    let home = Home::new();
    load_file(&home, "t.csv", "a;b\n;1\n9007199254740993;2\n", |load| {
        load.convert(vec![comma("a")]).tune(|tuning| tuning.sample_bytes = 6)
    })
    .unwrap();
    assert_eq!(rows(&home)[1], [Value::Integer(9_007_199_254_740_993), Value::Integer(2)]);
}

#[test]
fn constraints_of_a_column_apply_to_converted_values() {
    let home = Home::new();
    let declared = "CREATE TABLE t (d DATE NOT NULL, b TEXT, n INTEGER DEFAULT 5, later TEXT DEFAULT '1.1.2024') STRICT;";
    let declared = declared.replace("DATE", "TEXT");
    load_file(&home, "t.csv", "d;b;n\n1.2.2024;true;1.000\n", |load| {
        load.schema(schema(&declared)).convert(vec![
            date("d", "%d.%m.%Y"),
            boolean("b"),
            comma("n"),
            thousands("n", "."),
        ])
    })
    .unwrap();
    assert_eq!(rows(&home), [[text("2024-02-01"), text("1"), Value::Integer(1000), text("1.1.2024")]]);
    let write = WriteOptions::new().if_exists(IfExists::Append);
    let more = |csv: &str, convert: Vec<(String, Convert)>| {
        let write = write.clone();
        load_file(&home, "more.csv", csv, |load| load.convert(convert).write(write))
    };
    more("n;d\n2.000;2.2.2024\n", vec![date("d", "%d.%m.%Y"), thousands("n", "."), comma("n")]).unwrap();
    assert_eq!(rows(&home)[1], [text("2024-02-02"), Value::Null, Value::Integer(2000), text("1.1.2024")]);
    let error = more("n;d\n3;x\n", vec![date("d", "%d.%m.%Y")]).unwrap_err();
    assert!(shown(&error, &home).contains("'x' in column d is not a date"), "{error:?}");
    let error = more("n;d\n1,5;2.2.2024\n", vec![comma("n"), date("d", "%d.%m.%Y")]).unwrap_err();
    assert!(shown(&error, &home).contains("in column n, which is INTEGER of a STRICT table"), "{error:?}");
    assert_eq!(rows(&home).len(), 2);
}

#[test]
fn conversions_find_the_columns_of_a_file_without_a_header_by_the_names_of_the_table() {
    let home = Home::new();
    load_file(&home, "t.csv", "1.2.2024;1\n", |load| {
        load.schema(schema("CREATE TABLE t (d TEXT, n INTEGER)"))
            .format(FormatOptions::new().header(false))
            .convert(vec![date("d", "%d.%m.%Y")])
    })
    .unwrap();
    assert_eq!(rows(&home), [[text("2024-02-01"), Value::Integer(1)]]);
}

#[test]
fn keys_are_compared_by_their_converted_values() {
    let home = Home::new();
    load_file(&home, "t.csv", "id,x\n\"1,000\",a\n\"999\",b\n\"2,000\",c\n", |load| {
        load.convert(vec![thousands("id", ",")]).primary_key(["id"])
    })
    .unwrap();
    let row = |id, x: &str| vec![Value::Integer(id), text(x)];
    assert_eq!(rows(&home), [row(999, "b"), row(1000, "a"), row(2000, "c")]);
}

#[test]
fn strings_in_json_are_converted_to_dates_and_booleans_and_decimal_commas_are_refused() {
    let home = Home::new();
    let json = "{\"d\": \"1.2.2024\", \"b\": \"yes\"}\n{\"d\": null, \"b\": true}\n{\"b\": 0, \"d\": \"\"}\n";
    load_file(&home, "t.ndjson", json, |load| load.convert(vec![date("d", "%d.%m.%Y"), boolean("b")]))
        .unwrap();
    assert_eq!(sql(&home), r#"CREATE TABLE "t" ( "d" TEXT, "b" INTEGER )"#);
    let row = |d, b| vec![d, Value::Integer(b)];
    assert_eq!(rows(&home), [row(text("2024-02-01"), 1), row(Value::Null, 1), row(Value::Null, 0)]);
    let home = Home::new();
    load_file(&home, "t.ndjson", "{\"d\": 20240201}\n", |load| load.convert(vec![date("d", "%Y%m%d")]))
        .unwrap();
    assert_eq!(rows(&home), [[text("2024-02-01")]]);
    for (json, convert, message) in [
        ("{\"d\": [1]}\n", date("d", "%Y"), "`date = d=%Y`: the month is missing in it"),
        ("{\"d\": [1]}\n", date("d", "%F"), "'[1]' in column d is not a date of the format %F"),
        ("{\"d\": 2}\n", boolean("d"), "2 in column d is not a boolean"),
        (
            "{\"d\": \"3,5\"}\n",
            comma("d"),
            "`decimal_comma` is for formats that write numbers as text, and t.ndjson (NDJSON) has a type for numbers",
        ),
    ] {
        let home = Home::new();
        let error = load_file(&home, "t.ndjson", json, |load| load.convert(vec![convert])).unwrap_err();
        let shown = shown(&error, &home);
        assert!(shown.contains(message), "{shown}");
    }
}

#[test]
fn a_conversion_of_an_unknown_column_is_refused_with_the_nearest_name() {
    let refused = |csv: &str, convert, columns: Option<&[&str]>| {
        let home = Home::new();
        let with = |load: Load| {
            let load = load.convert([convert]);
            if let Some(names) = columns { load.columns(names.iter().copied()) } else { load }
        };
        let error = load_file(&home, "t.csv", csv, with).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        shown(&error, &home)
    };
    assert_eq!(
        refused("placed,b\n1,2\n", date("plced", "%F"), None),
        "`date` names the column \"plced\", which no file has [did you mean placed? the columns are: placed, b]"
    );
    assert_eq!(
        refused("placed,b\n1,2\n", boolean("quantity"), None),
        "`boolean` names the column \"quantity\", which no file has [the columns are: placed, b]"
    );
    assert_eq!(
        refused("a,b\n1,2\n", comma("b"), Some(&["a"])),
        "`decimal_comma` names the column \"b\", which is not loaded [the columns are: a, b]"
    );
}

/// Returns a CSV file with dates, booleans and numbers in converted notations, and the values to be stored.
fn written(random: &mut Random, rows: usize, decimals_from: usize) -> (String, Vec<Vec<Value>>) {
    let (mut csv, mut stored) = ("n;d;b;x;free\n".to_owned(), Vec::new());
    for row in 0..rows {
        let (day, month, year) = (1 + random.below(28), 1 + random.below(12), 1900 + random.below(200));
        let (int, truth) = (random.next() as i64 >> (20 + random.below(44)), random.one_in(2));
        let sign = if int < 0 { "-" } else { "" };
        let digits = int.unsigned_abs().to_string();
        let mut grouped = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push('.');
            }
            grouped.push(digit);
        }
        let cents = random.below(100_000);
        let decimal = format!("{},{:02}", cents / 100, cents % 100);
        let (x, number) = match row < decimals_from {
            true => (cents.to_string(), Value::Integer(cents as i64)),
            false => (decimal.clone(), Value::Real(decimal.replace(',', ".").parse().unwrap())),
        };
        let null = random.one_in(5);
        let d = if null { String::new() } else { format!("{day}.{month:02}.{year}") };
        csv += &format!("{sign}{grouped};{d};{};{x};{row}\n", if truth { "YES" } else { "no" });
        stored.push(vec![
            Value::Integer(int),
            if null { Value::Null } else { text(&format!("{year}-{month:02}-{day:02}")) },
            Value::Integer(truth.into()),
            number,
            Value::Integer(row as i64),
        ]);
    }
    (csv, stored)
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn converted_values_do_not_depend_on_parts_threads_or_guessed_types(
        seed in any::<u64>(),
        rows_count in 1..3000usize,
        decimals_from in 0..4000usize,
        part_bytes in 64..20_000usize,
        sample_bytes in 200..4000usize,
        threads in 1..4usize,
        bad_one_in in prop_oneof![Just(0), 2..200usize],
        way in prop::sample::select(Way::ALL.to_vec()),
    ) {
        let mut random = Random(seed);
        let (csv, stored) = written(&mut random, rows_count, decimals_from);
        let mut lines: Vec<String> = csv.lines().map(str::to_owned).collect();
        let mut expected = Vec::new();
        let mut bad = 0;
        for (line, row) in lines[1..].iter_mut().zip(stored) {
            if bad_one_in > 0 && random.one_in(bad_one_in) {
                let fields: Vec<&str> = line.split(';').collect();
                let wrong = random.below(4);
                let wrong_value = ["1.00", "30.02.2024", "jein", "3.5"][wrong];
                let fields: Vec<&str> =
                    fields.iter().enumerate().map(|(index, &field)| if index == wrong { wrong_value } else { field }).collect();
                *line = fields.join(";");
                bad += 1;
            } else {
                expected.push(row);
            }
        }
        // A bad value does not change the type of its column, so only the rows that are kept decide whether the column has floats.
        if expected.iter().any(|row| matches!(row[3], Value::Real(_))) {
            for number in expected.iter_mut().map(|row| &mut row[3]) {
                if let Value::Integer(int) = *number {
                    *number = Value::Real(int as f64);
                }
            }
        }
        let home = Home::new();
        let file = way.put(&home, "t.csv", (lines.join("\n") + "\n").as_bytes());
        let load = Load::new(home.path("x.db"), [file])
            .table("t")
            .convert([date("d", "%d.%m.%Y"), boolean("b"), comma("x"), thousands("n", "."), comma("n")])
            .format(plain().delimiter(b';'))
            .reject(home.path("bad.csv"))
            .rejects_max(u64::MAX - 1)
            .write(WriteOptions::new().threads(threads))
            .tune(|tuning| (tuning.part_bytes, tuning.sample_bytes) = (part_bytes, sample_bytes));
        let loaded = run(load);
        let report = loaded.unwrap();
        prop_assert_eq!((report.rows, report.rejected), (expected.len() as u64, bad));
        prop_assert_eq!(rows(&home), expected);
    }
}
