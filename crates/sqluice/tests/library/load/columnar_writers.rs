//! Parquet files of widely used programs: each loaded value is what pyarrow reads. `data/parquet/README.md` says which programs.
#![cfg(feature = "parquet")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::files::Home;
use crate::support::load::run;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use sqluice::load::Load;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/parquet")
}

/// Returns the rows of the file, as JSON: blobs are objects with their bytes.
fn loaded(path: &Path) -> Vec<Value> {
    let home = Home::new();
    let load = Load::new(home.path("x.db"), [path]).table("x");
    run(load).unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
    let db = Connection::open(home.path("x.db")).unwrap();
    let mut statement = db.prepare("SELECT * FROM x ORDER BY rowid").unwrap();
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = statement.query_map([], |row| {
        let value = |at| match row.get_ref_unwrap(at) {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(int) => json!(int),
            ValueRef::Real(real) => json!(real),
            ValueRef::Text(text) => json!(str::from_utf8(text).unwrap()),
            ValueRef::Blob(blob) => {
                json!({"blob": blob.iter().map(|byte| format!("{byte:02x}")).collect::<String>()})
            }
        };
        Ok(names.iter().enumerate().map(|(at, name)| (name.clone(), value(at))).collect())
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// Returns true if a value is as expected. `{"json": ...}` expects a text that is this value in JSON.
fn is_as_expected(value: &Value, expected: &Value) -> bool {
    match (value, expected.get("json")) {
        (Value::String(text), Some(expected)) => serde_json::from_str::<Value>(text).unwrap() == *expected,
        _ => value == expected,
    }
}

#[test]
fn every_value_is_read_as_pyarrow_reads_it_whichever_program_wrote_it() {
    let mut files = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if !path
            .extension()
            .is_some_and(|end| ["parquet", "arrow", "arrows"].iter().any(|known| end == *known))
        {
            continue;
        }
        files += 1;
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let program = stem.rsplit_once('_').map_or(stem, |(program, _)| program);
        let expected = [stem, program, "rows"].map(|name| folder().join(format!("{name}.ndjson")));
        let expected = expected.into_iter().find(|path| path.exists()).unwrap();
        let expected: Vec<Value> = fs::read_to_string(expected)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let rows = loaded(&path);
        assert_eq!(rows.len(), expected.len(), "{}", path.display());
        for (number, (row, expected)) in rows.iter().zip(&expected).enumerate() {
            for (name, expected) in expected.as_object().unwrap() {
                let value = &row[name];
                assert!(
                    is_as_expected(value, expected),
                    "{}, row {number}, column {name}: {value}, not {expected}",
                    path.display()
                );
            }
            assert_eq!(row.as_object().unwrap().len(), expected.as_object().unwrap().len());
        }
    }
    assert!(files >= 13, "{files} files");
}

#[test]
fn encrypted_parquet_files_are_refused_as_encrypted() {
    for name in ["encrypted_footer.parquet", "encrypted_columns.parquet"] {
        let home = Home::new();
        let load = Load::new(home.path("x.db"), [folder().join("refused").join(name)]);
        let error = run(load).unwrap_err();
        assert_eq!(error.message(), "the file is encrypted", "{name}: {error:?}");
        assert!(!home.path("x.db").exists());
    }
}
