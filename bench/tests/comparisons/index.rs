//! The comparison of keys and indexes runs, and refuses to time what is wrong.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{assert_fails, scratch, script, sqluice, the_record};

/// The comparison of a few rows, in a folder.
fn index(folder: &Path, sqluice: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_index"));
    command.args(["--rows-scale", "0.0001"]).args(flags);
    command.arg("--dir").arg(folder.join("files")).arg("--results").arg(folder.join("results"));
    command.arg("--sqluice").arg(sqluice).output().unwrap()
}

/// A part of the comparison with a script in the place of sqluice, which must fail for a reason.
fn assert_refused(part: &str, body: &str, reason: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = index(folder.path(), &script(folder.path(), body), &["--rounds", "1", "--only", part]);
    assert_fails(&output, reason, folder.path());
}

#[test]
fn a_run_prints_tables_and_keeps_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let output = index(folder.path(), sqluice(), &["--rounds", "2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    for part in [
        "| `sqluice generate`, index on `area` | 2,000 |",
        "| ... what the index adds |",
        "| the same, ten times the rows | 10,000 |",
        "| time of `INSERT` with SQLite's defaults to `load`, UUIDs |",
        "| at most 1.50 |",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(scratch(folder.path()), [""; 0]);
    let record = the_record(folder.path());
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round.as_object().unwrap().len(), 15);
        assert_eq!(round["shuffled"]["rows"], 1000);
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 7);
}

#[test]
fn a_part_can_be_measured_alone() {
    let folder = tempfile::tempdir().unwrap();
    let output = index(folder.path(), sqluice(), &["--rounds", "1", "--only", "memory"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = the_record(folder.path());
    assert_eq!(record["rounds"][0].as_object().unwrap().len(), 2);
    assert_eq!(record["ratios"].as_array().unwrap().len(), 2);
}

#[test]
fn an_index_that_is_not_there_fails_the_run() {
    let without = r#""$SQLUICE" "$@" || exit
case "$1 $3" in *area.sql) sqlite3 "$2" "DROP INDEX by_area" ;; esac"#;
    assert_refused("area", without, "entries {} instead of");
}

#[test]
fn a_value_that_differs_fails_the_run() {
    let other = r#""$SQLUICE" "$@" || exit
case "$1 $3" in *area.sql) sqlite3 "$2" "UPDATE user SET age = age + 5 WHERE id = 7" ;; esac"#;
    assert_refused("area", other, "where another way has");
    let keyed = r#""$SQLUICE" "$@" || exit
case "$1" in load) sqlite3 "$2" "UPDATE item SET value = value + 1 WHERE value = (SELECT max(value) FROM item)" ;; esac"#;
    assert_refused("keys", keyed, "where another way has");
}

#[test]
fn an_index_that_sqlite_finds_unsound_fails_the_run() {
    let unsound = r#""$SQLUICE" "$@" || exit
case "$1 $3" in *area.sql) sqlite3 "$2" "PRAGMA writable_schema = 1;
    UPDATE sqlite_schema SET sql = replace(sql, '(area)', '(area DESC)') WHERE name = 'by_area'" ;; esac"#;
    assert_refused("area", unsound, "integrity_check says");
}
