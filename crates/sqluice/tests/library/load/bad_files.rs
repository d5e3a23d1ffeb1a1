//! Files that can't be loaded: all are reported at once, or left out on request. A load that rejects nearly all rows is an error.

#![cfg(feature = "load")]

use std::fs;
use std::path::PathBuf;

use crate::support::files::{Home, open};
use crate::support::load::{plain, run, schema, shown};
use proptest::prelude::*;
use sqluice::error::{ErrorKind, Setting};
use sqluice::load::{Load, NameFrom};
use sqluice::report::Report;

/// Writes files, and gives their paths.
fn put(home: &Home, files: &[(&str, &str)]) -> Vec<PathBuf> {
    let put = |(name, text): &(&str, &str)| {
        let path = home.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    files.iter().map(put).collect()
}

fn rows(home: &Home, table: &str) -> Vec<String> {
    let database = open(&home.path("x.db"));
    let columns: i64 = database
        .query_row(&format!("SELECT count(*) FROM pragma_table_info('{table}')"), [], |row| row.get(0))
        .unwrap();
    let mut statement = database.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        let value = |column: i64| row.get::<_, rusqlite::types::Value>(column as usize).unwrap();
        let texts = (0..columns).map(|column| match value(column) {
            rusqlite::types::Value::Null => "NULL".to_owned(),
            rusqlite::types::Value::Integer(int) => int.to_string(),
            rusqlite::types::Value::Real(real) => format!("{real:?}"),
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Blob(_) => "blob".to_owned(),
        });
        Ok(texts.collect::<Vec<_>>().join("|"))
    };
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

fn skipped(report: &Report, home: &Home) -> Vec<String> {
    let folder = home.path("");
    let line = |name: &str, why: String| format!("{name}: {why}").replace(folder.to_str().unwrap(), "");
    report.skipped.iter().map(|skipped| line(&skipped.name, skipped.why.to_string())).collect()
}

const MIXED: [(&str, &str); 5] = [
    ("a.csv", "a,b\n1,2\n"),
    ("b.csv", ""),
    ("c.csv", "a,b\n1,2\n3\n4,5\n"),
    ("d.csv", "a,b\n7,8\n"),
    ("e.csv", "a,b\n\"1,2,3\n"),
];

#[test]
fn all_files_that_cannot_be_loaded_are_reported_at_once() {
    let home = Home::new();
    let mut files = put(&home, &MIXED);
    files.insert(1, home.path("missing.csv"));
    let error = run(Load::new(home.path("x.db"), &files)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    let text = shown(&error, &home);
    let cause = std::io::Error::from_raw_os_error(2);
    let start = format!("4 of 6 files can't be loaded:\n  cannot read missing.csv: {cause}");
    assert!(text.starts_with(&start), "{text}");
    for part in ["\n  b.csv: the file is empty", "\n  c.csv:3:2: ", "\n  e.csv:2:1: "] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert_eq!(error.parts().len(), 4);
    assert_eq!(error.remedy().unwrap().settings().collect::<Vec<_>>(), [Setting::SkipBadFiles]);
    assert!(!home.path("x.db").exists());
}

#[test]
fn bad_rows_in_the_samples_of_several_files_are_reported_together() {
    let home = Home::new();
    let files = put(&home, &[MIXED[0], MIXED[2], MIXED[4]]);
    let error = run(Load::new(home.path("x.db"), &files)).unwrap_err();
    assert!(shown(&error, &home).starts_with("2 of 3 files can't be loaded:\n  c.csv:3:2: "));
    let error = run(Load::new(home.path("x.db"), &files[..2])).unwrap_err();
    assert!(shown(&error, &home).starts_with("c.csv:3:2: the record ends after field 1"));
    assert!(error.parts().is_empty());
}

#[test]
fn the_error_about_a_thousand_bad_files_lists_some_and_counts_the_others() {
    let home = Home::new();
    let files: Vec<PathBuf> = (0..1000).map(|number| home.path(&format!("{number}.csv"))).collect();
    let error = run(Load::new(home.path("x.db"), &files)).unwrap_err();
    let text = shown(&error, &home);
    assert_eq!(text.lines().count(), 26, "{text}");
    assert!(text.lines().last().unwrap().starts_with("  and 976 more"), "{text}");
    assert_eq!(error.parts().len(), 1000);
}

#[test]
fn files_that_cannot_be_loaded_are_left_out_on_request_and_reported() {
    let home = Home::new();
    let files = put(&home, &MIXED);
    let load = Load::new(home.path("x.db"), &files).skip_bad_files(true);
    let report = run(load).unwrap();
    let tables: Vec<&str> = report.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(tables, ["a", "d"]);
    assert_eq!(
        skipped(&report, &home),
        [
            "b.csv: the file is empty",
            "c.csv: line 3: the record ends after field 1: the header has 2",
            "e.csv: line 2: the quoted field that begins here never ends",
        ]
    );
}

#[test]
fn a_file_whose_rows_prove_bad_after_the_sample_is_left_out_too() {
    let home = Home::new();
    let late = format!("a,b\n{}1,2,3\n", "1,2\n".repeat(1000));
    let files = put(&home, &[("a.csv", "a,b\n1,2\n"), ("late.csv", &late), ("z.csv", "a,b\n3,4\n")]);
    for table in [None, Some("t".to_owned())] {
        let mut load = Load::new(home.path("x.db"), &files)
            .skip_bad_files(true)
            .write(sqluice::options::WriteOptions::new().overwrite(true))
            .tune(|tuning| tuning.sample_bytes = 100);
        load.tables = table.clone().into_iter().collect();
        let report = run(load).unwrap();
        let why = "late.csv: line 1002: field 3 of this record: the header has only 2";
        assert_eq!(skipped(&report, &home), [why]);
        assert_eq!(report.rows, 2);
        assert_eq!(rows(&home, if table.is_some() { "t" } else { "z" }).last().unwrap(), "3|4");
    }
}

#[test]
fn a_file_with_other_columns_than_its_table_is_left_out() {
    let home = Home::new();
    let files = put(
        &home,
        &[("a.csv", "a,b\n1,2\n"), ("b.csv", "a,c\n1,2\n"), ("c.csv", "b\n9\n"), ("d.csv", "d\n9\n")],
    );
    let load = Load::new(home.path("x.db"), &files).table("t");
    let error = run(load.clone()).unwrap_err();
    let text = shown(&error, &home);
    assert!(text.contains("b.csv:1:3: ") && text.contains("d.csv:1:1: "), "{text}");
    let report = run(load.skip_bad_files(true)).unwrap();
    assert_eq!(report.skipped.len(), 2);
    assert_eq!(rows(&home, "t"), ["1|2", "NULL|9"]);
}

#[test]
fn a_file_that_would_give_its_table_more_than_2000_columns_is_left_out() {
    let home = Home::new();
    let wide = |prefix: &str| {
        let names: Vec<String> = (0..1500).map(|column| format!("{prefix}{column}")).collect();
        format!("{}\n{}\n", names.join(","), vec!["1"; 1500].join(","))
    };
    let paths = put(&home, &[("a.csv", &wide("a")), ("b.csv", &wide("b")), ("c.csv", "a7\n5\n")]);
    let load = Load::new(home.path("x.db"), paths).table("t").add_columns(true).skip_bad_files(true);
    let report = run(load).unwrap();
    let why = "b.csv: table t would have 3000 columns, and a table of SQLite has at most 2000";
    assert_eq!(skipped(&report, &home), [why]);
    assert_eq!(rows(&home, "t").len(), 2);
}

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_of_more_columns_than_a_table_has_is_left_out() {
    use crate::support::columnar::{Container, batch};
    let home = Home::new();
    let names: Vec<String> = (0..2001).map(|column| format!("c{column}")).collect();
    let write = |file: &str, columns: usize| {
        let value = || std::sync::Arc::new(arrow_array::Int64Array::from(vec![columns as i64]));
        let columns = names[..columns].iter().map(|name| (name.as_str(), value() as arrow_array::ArrayRef));
        Container::Parquet.write(&home.path(file), &[batch(columns.collect())], 9);
        home.path(file)
    };
    let files = [write("m.parquet", 2001), write("a.parquet", 2), write("z.parquet", 2000)];
    let load = Load::new(home.path("x.db"), &files).skip_bad_files(true);
    let report = run(load.clone()).unwrap();
    let why = |table: &str| {
        format!("m.parquet: table {table} would have 2001 columns, and a table of SQLite has at most 2000")
    };
    assert_eq!(skipped(&report, &home), [why("m")]);
    assert_eq!((rows(&home, "a"), rows(&home, "z").len()), (vec!["2|2".to_owned()], 1));
    fs::remove_file(home.path("x.db")).unwrap();
    let report = run(load.table("t").add_columns(true)).unwrap();
    assert_eq!(skipped(&report, &home), [why("t")]);
    assert_eq!(rows(&home, "t").len(), 2);
}

#[test]
fn a_load_of_bad_files_alone_is_an_error_even_with_skip_bad_files() {
    let home = Home::new();
    let files = put(&home, &[MIXED[1], MIXED[2]]);
    let load = Load::new(home.path("x.db"), &files).skip_bad_files(true);
    let error = run(load).unwrap_err();
    assert!(shown(&error, &home).starts_with("2 of 2 files can't be loaded:"));
}

#[test]
fn tables_of_files_with_one_name_are_named_after_the_folders_on_request() {
    let home = Home::new();
    let files = put(&home, &[("y/2024/s.csv", "a\n1\n"), ("y/2025/s.csv", "a\n2\n"), ("y/s.csv", "a\n3\n")]);
    let load = Load::new(home.path("x.db"), &files);
    let error = run(load.clone()).unwrap_err();
    assert_eq!(error.remedy().unwrap().settings().next(), Some(Setting::NameFrom));
    run(load.name_from(NameFrom::Path)).unwrap();
    let all: Vec<Vec<String>> = ["2024_s", "2025_s", "s"].iter().map(|table| rows(&home, table)).collect();
    assert_eq!(all, [["1"], ["2"], ["3"]]);
}

#[test]
fn a_first_record_that_is_bad_goes_to_the_reject_file_like_any_other() {
    let declared = Some(schema("CREATE TABLE t (a INTEGER, b INTEGER)"));
    for schema in [None, declared] {
        let home = Home::new();
        let files = put(&home, &[("t.csv", "1\n2,3\n4,5\n")]);
        let format = plain().header(false);
        let load =
            Load::new(home.path("x.db"), files).schema(schema).format(format).reject(home.path("bad.csv"));
        let report = run(load).unwrap();
        assert_eq!((report.rows, report.rejected), (2, 1));
        assert_eq!(rows(&home, "t"), ["2|3", "4|5"]);
        let bad = fs::read_to_string(home.path("bad.csv")).unwrap();
        assert!(bad.ends_with(",1,2,the record ends after field 1: it should have 2,1\n"), "{bad}");
    }
}

#[test]
fn a_header_whose_length_no_row_has_is_an_error_with_and_without_a_reject_file() {
    for (text, message) in [
        ("a,b\n1,2,3\n4,5,6\n", "t.csv:1:1: the header has 2 fields, and the rows have 3"),
        ("a,b,c\n1,2\n4,5\n", "t.csv:1:1: the header has 3 fields, and the rows have 2"),
    ] {
        let home = Home::new();
        let files = put(&home, &[("t.csv", text)]);
        let mut load = Load::new(home.path("x.db"), files).format(plain());
        for reject in [None, Some(home.path("bad.csv"))] {
            load.reject = reject;
            let error = run(load.clone()).unwrap_err();
            assert!(shown(&error, &home).starts_with(message), "{error}");
        }
    }
}

#[test]
fn a_load_that_rejects_nearly_all_rows_is_an_error_unless_that_is_allowed() {
    for (good, bad) in [(0, 1), (0, 5), (2, 18), (1, 99)] {
        let home = Home::new();
        let text = format!("a\n{}{}", "x\n".repeat(bad), "1\n".repeat(good));
        let files = put(&home, &[("t.csv", &text)]);
        let schema = Some(schema("CREATE TABLE t (a INTEGER CHECK (1)) STRICT"));
        let load =
            Load::new(home.path("x.db"), files).schema(schema).format(plain()).reject(home.path("bad.csv"));
        let error = run(load.clone()).unwrap_err();
        let text = shown(&error, &home);
        assert!(text.starts_with("t.csv:2:1: ") && text.contains("; the first: "), "{text}");
        assert!(!home.path("x.db").exists());
        assert_eq!(fs::read_to_string(home.path("bad.csv")).unwrap().lines().count(), bad + 1);
        fs::remove_file(home.path("bad.csv")).unwrap();
        let report = run(load.rejects_max(100)).unwrap();
        assert_eq!((report.rows, report.rejected), (good as u64, bad as u64));
    }
}

#[test]
fn a_load_that_rejects_some_rows_is_no_error() {
    let home = Home::new();
    let files = put(&home, &[("t.csv", &format!("a,b\n{}3\n", "1,2\n".repeat(2))), ("u.csv", "a\n")]);
    let load = Load::new(home.path("x.db"), files).format(plain()).reject(home.path("bad.csv"));
    assert_eq!(run(load).unwrap().rejected, 1);
}

#[test]
fn the_report_has_the_time_that_sampling_the_files_took() {
    let home = Home::new();
    let files = put(&home, &[MIXED[0], MIXED[3]]);
    let report = run(Load::new(home.path("x.db"), &files)).unwrap();
    let phases: Vec<&str> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases[..3], ["sample", "plan", "load"]);
    let seconds: f64 = report.phases.iter().map(|phase| phase.seconds).sum();
    assert!(seconds <= report.seconds * 1.001 && seconds > report.seconds * 0.5, "{report:?}");
}

proptest! {
    #![proptest_config(crate::support::cases(32))]

    #[test]
    fn the_setting_skip_bad_files_loads_exactly_the_files_that_can_be_loaded_alone(
        texts in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec!["1,2\n", "3,4\n", "5\n", "6,7,8\n", "\"9\n", ",\n"]), 0..6),
            1..6),
        sample_bytes in prop::sample::select(vec![8usize, 1 << 20]),
        threads in 1..4usize,
    ) {
        let home = Home::new();
        let texts: Vec<String> = texts.into_iter().map(|lines| format!("a,b\n{}", lines.concat())).collect();
        let names: Vec<String> = (0..texts.len()).map(|number| format!("t{number}.csv")).collect();
        let named: Vec<(&str, &str)> = names.iter().zip(&texts).map(|(name, text)| (&**name, &**text)).collect();
        let files = put(&home, &named);
        let load = |files: &[PathBuf], database: &str| {
            Load::new(home.path(database), files)
                .format(plain())
                .skip_bad_files(true)
                .write(sqluice::options::WriteOptions::new().threads(threads))
                .tune(|tuning| tuning.sample_bytes = sample_bytes)
        };
        let alone: Vec<bool> = files
            .iter()
            .enumerate()
            .map(|(number, file)| run(load(std::slice::from_ref(file), &format!("{number}.db"))).is_ok())
            .collect();
        let loaded = run(load(&files, "x.db"));
        prop_assert_eq!(loaded.is_ok(), alone.contains(&true));
        if let Ok(report) = loaded {
            let tables: Vec<String> = report.tables.iter().map(|table| format!("{}.csv", table.name)).collect();
            let good: Vec<&String> = names.iter().zip(&alone).filter(|(_, good)| **good).map(|(name, _)| name).collect();
            prop_assert_eq!(tables.iter().collect::<Vec<_>>(), good);
            prop_assert_eq!(report.skipped.len(), alone.iter().filter(|good| !**good).count());
        }
    }
}
