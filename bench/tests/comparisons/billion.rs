//! The comparison runs, and refuses to time what is wrong.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{assert_fails, script, sqluice, the_record};
use rustix::process::{Pid, Signal, kill_process};

/// The comparison of a few rows, in a folder.
fn billion(folder: &Path, sqluice: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_billion"));
    command.args(["--rows", "20k", "--sql-rows", "10k", "--discard-rows", "20k", "--rounds", "2"]);
    command.arg("--dir").arg(folder.join("files")).arg("--results").arg(folder.join("results"));
    command.arg("--sqluice").arg(sqluice);
    command
}

#[test]
fn a_run_prints_medians_and_ratios_keeps_a_record_and_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let output = billion(folder.path(), sqluice()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    for part in
        ["machine: ", "round 2 of 2", "M rows/s", "generate / raw write, time", "generate / INSERT, rate"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(fs::read_dir(folder.path().join("files")).unwrap().count(), 0);
    let record = the_record(folder.path());
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round["generate"]["rows"], 20_000);
        assert_eq!(round["raw"]["bytes"], round["generate"]["bytes"]);
        assert!(round["generate"]["memory_bytes"].as_u64().unwrap() > 1 << 20, "{round}");
    }
    assert!(record["ratios"]["generate_to_attach"]["median"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_row_too_few_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    // Makes the small source as it should be, and the big file a row short, under a report that says otherwise.
    let short = r#"case "$*" in *20000*) ;; *) exec "$SQLUICE" "$@" ;; esac
"$SQLUICE" "$1" "$2" "$3" "$4" "$5" 19999 "$7" "$8" | sed 's/"rows": 19999/"rows": 20000/'"#;
    let output = billion(folder.path(), &script(folder.path(), short)).output().unwrap();
    assert_fails(&output, "19999 rows instead of 20000", folder.path());
}

#[test]
fn a_report_of_too_few_rows_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let short = r#""$SQLUICE" "$@" | sed 's/"rows": 20000/"rows": 19999/'"#;
    let output = billion(folder.path(), &script(folder.path(), short)).output().unwrap();
    assert_fails(&output, "reports 19999 rows", folder.path());
}

#[test]
fn an_interrupted_run_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let endless = r#"case "$1" in --version) echo 0 ;; *) echo half > "$2"; exec sleep 60 ;; esac"#;
    let endless = script(folder.path(), endless);
    let mut run =
        billion(folder.path(), &endless).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let files = folder.path().join("files");
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
