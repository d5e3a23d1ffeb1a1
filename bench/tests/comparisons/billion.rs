//! Tests of `bench/billion`: it runs with few rows, and fails if a program writes wrong rows.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::comparison::Comparison;
use crate::support::sqluice;
use rustix::process::{Pid, Signal, kill_process};

/// Returns the comparison with flags for few rows.
fn billion() -> Comparison {
    let rows = ["--rows", "20k", "--sql-rows", "10k", "--discard-rows", "20k", "--rounds", "2"];
    Comparison::new("billion", &rows)
}

#[test]
fn the_benchmark_prints_medians_and_ratios_keeps_a_record_and_leaves_no_files() {
    let comparison = billion();
    let parts =
        &["machine: ", "round 2 of 2", "M rows/s", "generate / raw write, time", "generate / INSERT, rate"];
    let record = comparison.assert_says(sqluice(), &[], parts);
    assert_eq!(fs::read_dir(comparison.files()).unwrap().count(), 0);
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round["generate"]["rows"], 20_000);
        assert_eq!(round["raw"]["bytes"], round["generate"]["bytes"]);
        assert!(round["generate"]["memory_bytes"].as_u64().unwrap() > 1 << 20, "{round}");
    }
    let ratios = record["ratios"].as_array().unwrap();
    let attach = ratios.iter().find(|ratio| ratio["what"] == "generate / ATTACH copy, rate").unwrap();
    assert!(attach["spread"]["median"].as_f64().unwrap() > 0.0);
    assert_eq!(ratios.len(), 4);
}

#[test]
fn a_missing_row_fails_the_benchmark() {
    let comparison = billion();
    // The script writes the small source correctly, and the big file with a row less, but reports all rows.
    let short = r#"case "$*" in *20000*) ;; *) exec "$SQLUICE" "$@" ;; esac
"$SQLUICE" "$1" "$2" "$3" "$4" "$5" 19999 "$7" "$8" | sed 's/"rows": 19999/"rows": 20000/'"#;
    comparison.assert_fails(&comparison.script(short), &[], "19999 rows instead of 20000");
}

#[test]
fn a_report_of_too_few_rows_fails_the_benchmark() {
    let comparison = billion();
    let short = r#""$SQLUICE" "$@" | sed 's/"rows": 20000/"rows": 19999/'"#;
    comparison.assert_fails(&comparison.script(short), &[], "reports 19999 rows");
}

#[test]
fn an_interrupted_benchmark_leaves_no_files() {
    let comparison = billion();
    let endless = r#"case "$1" in --version) echo 0 ;; *) echo half > "$2"; exec sleep 60 ;; esac"#;
    let mut run = comparison
        .command(&comparison.script(endless), &[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let files = comparison.files();
    let source =
        || fs::read_dir(&files).ok()?.flatten().next().map(|entry| entry.path().join("source.db").exists());
    let start = Instant::now();
    while source() != Some(true) {
        assert!(start.elapsed() < Duration::from_secs(20), "nothing was started");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(fs::read_dir(&files).unwrap().count(), 0, "files are left");
}
