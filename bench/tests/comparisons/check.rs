//! The comparison of checks runs, and refuses to time what is wrong.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{assert_fails, scratch, script, sqluice, the_record};

/// The comparison of a few rows, in a folder.
fn check(folder: &Path, sqluice: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_check"));
    command.args(["--rows", "5000", "--rounds", "2"]);
    command.arg("--dir").arg(folder.join("files")).arg("--results").arg(folder.join("results"));
    command.arg("--sqluice").arg(sqluice).output().unwrap()
}

#[test]
fn a_run_prints_a_table_and_keeps_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), sqluice());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    for part in ["| 5,000 rows with 4 indexes, ", "| `sqluice check` |", "ratio of the medians: "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(scratch(folder.path()), [""; 0]);
    let record = the_record(folder.path());
    let laps = record["rounds"].as_array().unwrap().iter().map(|round| round.as_object().unwrap().len());
    assert_eq!(laps.collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn a_database_that_is_not_sound_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let unsound = r#""$SQLUICE" "$@" | sed 's/"sound": true/"sound": false/'"#;
    assert_fails(&check(folder.path(), &script(folder.path(), unsound)), "sqluice says", folder.path());
}
