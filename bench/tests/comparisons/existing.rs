//! The comparison of ways to change existing databases runs, and refuses to time what is wrong.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{assert_fails, scratch, script, sqluice, the_record};

/// The comparison of a few rows, in a folder.
fn existing(folder: &Path, sqluice: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_existing"));
    command.args(["--rows-scale", "0.0001"]).args(flags);
    command.arg("--dir").arg(folder.join("files")).arg("--results").arg(folder.join("results"));
    command.arg("--sqluice").arg(sqluice).output().unwrap()
}

/// A part of the comparison with a script in the place of sqluice, which must fail for a reason.
fn assert_refused(part: &str, body: &str, reason: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = existing(folder.path(), &script(folder.path(), body), &["--rounds", "1", "--only", part]);
    assert_fails(&output, reason, folder.path());
}

#[test]
fn a_run_prints_tables_and_keeps_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let output = existing(folder.path(), sqluice(), &["--rounds", "2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    for part in [
        "append: round 2 of 2",
        "| `sqluice generate`, WAL | 2,000 |",
        "| prepared `INSERT`, 1 row | 500 |",
        "| `IN (SELECT value FROM carray(?1))` | 200 |",
        "| time of `CREATE INDEX`, the faster, to `sqluice index` |",
        "| at least 5, aim 8 |",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(scratch(folder.path()), [""; 0]);
    let record = the_record(folder.path());
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round.as_object().unwrap().len(), 26);
        assert_eq!(round["append"]["rows"], 500);
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 13);
}

#[test]
fn what_needs_only_sqlite_can_be_measured_alone() {
    let folder = tempfile::tempdir().unwrap();
    let output = existing(folder.path(), sqluice(), &["--rounds", "1", "--only", "insert", "--only", "in"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = the_record(folder.path());
    assert_eq!(record["rounds"][0].as_object().unwrap().len(), 14);
    assert_eq!(record["ratios"].as_array().unwrap().len(), 6);
}

#[test]
fn a_table_that_was_there_and_changed_fails_the_run() {
    let changed = r#""$SQLUICE" "$@" || exit
case "$1 $2" in *lap.db) sqlite3 "$2" "UPDATE user SET age = age + 5 WHERE id = 7" ;; esac"#;
    assert_refused("table", changed, "where another way has");
}

#[test]
fn another_journal_mode_than_before_fails_the_run() {
    let switched = r#""$SQLUICE" "$@" || exit
case "$1 $2" in *lap.db) sqlite3 "$2" "PRAGMA journal_mode = DELETE" > /dev/null ;; esac"#;
    assert_refused("table", switched, "the journal mode is delete instead of wal");
}

#[test]
fn a_row_too_few_fails_the_run() {
    let short = r#""$SQLUICE" "$@" || exit
case "$1 $2" in *lap.db) sqlite3 "$2" "DELETE FROM item WHERE id = 7" ;; esac"#;
    assert_refused("append", short, r#"rows and entries [("item", 2499, {"by_key": 2499})] instead of"#);
}

#[test]
fn an_index_that_is_not_there_fails_the_run() {
    let without = r#"case "$1" in
    index) echo '{}' ;;
    *) exec "$SQLUICE" "$@" ;;
esac"#;
    assert_refused("index", without, r#"rows and entries [("user", 2000, {})] instead of"#);
}
