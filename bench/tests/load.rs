//! The comparison of loads runs, and refuses to time what is wrong.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::{assert_fails, scratch, script, sqluice, the_record};
use tpchgen::csv::LineItemCsv;
use tpchgen::generators::LineItemGenerator;

/// Not one of those whose number of rows is known: it would take too long here.
const SCALE: &str = "0.001";

/// A script that stands in for the generator, whose library made its file; it may make it once.
fn tpchgen(folder: &Path) -> PathBuf {
    let lines = LineItemGenerator::new(SCALE.parse().unwrap(), 1, 1);
    let rows: String = lines.iter().map(|line| format!("{}\n", LineItemCsv::new(line))).collect();
    fs::write(folder.join("made.csv"), format!("{}\n{rows}", LineItemCsv::header())).unwrap();
    let body = r#"#!/bin/sh
case "$*" in
    --version) echo stand-in 1.0 ;;
    "csv --help") ;;
    "csv --tables=lineitem --scale-factor 0.001 --output-dir "*)
        mkdir "$6" && mv "$(dirname "$0")/made.csv" "$6/lineitem.csv" ;;
    *) exit 1 ;;
esac
"#;
    let file = folder.join("tpchgen");
    fs::write(&file, body).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// The comparison of a few rows, in a folder.
fn load(folder: &Path, sqluice: &Path, rounds: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_load"));
    command.args(["--scale", SCALE, "--rounds", rounds]);
    command.arg("--dir").arg(folder.join("files")).arg("--results").arg(folder.join("results"));
    command.arg("--sqluice").arg(sqluice).arg("--tpchgen").arg(folder.join("tpchgen"));
    command.output().unwrap()
}

/// The comparison with a script in the place of sqluice, which must fail for a reason.
fn assert_refused(body: &str, reason: &str) {
    let folder = tempfile::tempdir().unwrap();
    tpchgen(folder.path());
    let output = load(folder.path(), &script(folder.path(), body), "1");
    assert_fails(&output, reason, folder.path());
}

#[test]
fn a_run_tells_tables_keeps_a_record_and_the_input_alone() {
    let folder = tempfile::tempdir().unwrap();
    tpchgen(folder.path());
    let output = load(folder.path(), sqluice(), "2");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    for part in [
        "| `lineitem` at scale 0.001: 6,005 rows, 1 MB of CSV |",
        "| `sqluice load --schema`, durable |",
        "| time of `.import` to `load --schema` |",
        "| 10 within 15% |",
        "input by stand-in 1.0",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(scratch(folder.path()), [""; 0]);
    let record = the_record(folder.path());
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round.as_object().unwrap().len(), 5);
        assert_eq!(round["ten"]["rows"], 60_050);
        assert!(round["import"]["memory_bytes"].as_u64().unwrap() > 1 << 20, "{round}");
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 5);

    // The stand-in can't make the file again: the next run finds it.
    fs::remove_dir_all(folder.path().join("results")).unwrap();
    assert!(load(folder.path(), sqluice(), "1").status.success());

    // Nor is a file taken that somebody shortened.
    let kept = folder.path().join("files/lineitem-sf0.001/lineitem.csv");
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, &text[..text.len() / 2]).unwrap();
    assert!(!load(folder.path(), sqluice(), "1").status.success());
}

#[test]
fn a_value_that_differs_fails_the_run() {
    let other = r#""$SQLUICE" "$@" || exit
case "$1" in load) sqlite3 "$2" "UPDATE lineitem SET l_tax = l_tax + 0.01 WHERE rowid = 7" ;; esac"#;
    assert_refused(other, "where the first import has");
}

#[test]
fn a_row_too_few_fails_the_run() {
    let short = r#""$SQLUICE" "$@" || exit
case "$1" in load) sqlite3 "$2" "DELETE FROM lineitem WHERE rowid = 7" ;; esac"#;
    assert_refused(short, "6004 rows instead of 6005");
}

#[test]
fn a_report_of_too_few_rows_fails_the_run() {
    assert_refused(r#""$SQLUICE" "$@" | sed 's/"rows": 6005/"rows": 6004/'"#, "reports 6004 rows");
}

#[test]
fn a_file_that_sqlite_finds_unsound_fails_the_run() {
    // The number of free pages, which no query looks at.
    let unsound = r#""$SQLUICE" "$@" || exit
case "$1" in load) printf '\005' | dd of="$2" bs=1 seek=39 conv=notrunc status=none ;; esac"#;
    assert_refused(unsound, "quick_check says");
}
