//! Transcripts of `lab`: the list of experiments, the printed tables of figures, the JSON record of a run, and wrong usage.

use std::fs;

use serde_json::Value;

use crate::support::{end, folder, run, send, start};

#[test]
fn the_list_of_the_lab_has_one_name_in_each_line() {
    let list = run("/".as_ref(), ["lab", "--list"]).ok().stdout;
    let names: Vec<&str> = list.lines().collect();
    assert_eq!((names.len(), names.first(), names.last()), (29, Some(&"insert-method"), Some(&"wal-normal")));
    assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')), "{list}");
}

#[test]
fn the_table_of_an_experiment_has_the_published_figures_in_its_last_column() {
    let folder = folder();
    let ran = run(folder.path(), ["lab", "transaction", "--scale", "tiny"]).ok();
    assert!(
        ran.stdout.starts_with("Transactions and reused statements (transaction)\n  what a transaction and a reused statement are worth\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("voidstar"), "{}", ran.stdout);
    let line = |name: &str| ran.stdout.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(line("separate transaction per row").ends_with(" 429"), "{}", ran.stdout);
    assert!(line("one transaction, reused statement").ends_with(" 2.46 M"), "{}", ran.stdout);
    assert!(line("sqluice pages").starts_with("  sqluice pages [sqluice]"), "{}", ran.stdout);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_lab_run_is_recorded_as_json_and_compared_with_a_later_run() {
    let folder = folder();
    let lab =
        ["lab", "booleans", "--scale", "tiny", "--runs", "2", "--warmup", "1", "--export-json", "a.json"];
    run(folder.path(), lab).ok();
    let record: Value = serde_json::from_slice(&fs::read(folder.path().join("a.json")).unwrap()).unwrap();
    assert_eq!(
        (&record["scale"], &record["runs"], &record["warmup"]),
        (&"tiny".into(), &2.into(), &1.into())
    );
    assert_eq!(record["command"], lab.iter().fold("sqluice".to_owned(), |all, one| format!("{all} {one}")));
    let outcome = &record["experiments"][0]["variants"][0]["outcome"];
    assert_eq!((&outcome["outcome"], outcome["samples"].as_array().unwrap().len()), (&"measured".into(), 2));
    let ran = run(folder.path(), ["lab", "booleans", "--scale", "tiny", "--compare", "a.json"]).ok();
    assert!(ran.stdout.lines().any(|line| line.ends_with("published  change")), "{}", ran.stdout);
    let json = run(folder.path(), ["lab", "booleans", "--scale", "tiny", "--json"]).ok();
    assert!(serde_json::from_str::<Value>(&json.stdout).unwrap()["experiments"][0]["id"] == "booleans");
}

#[test]
fn lab_reports_wrong_usage_before_anything_is_measured() {
    let folder = folder();
    let failed = |args: &[&str], code, says: &str| {
        run(folder.path(), ["lab"].iter().chain(args)).failed(code, says);
    };
    failed(&["nothing"], 2, "there is no experiment nothing");
    failed(&["--scale", "huge"], 2, "is not a scale: use tiny, small, medium, full");
    failed(&["--runs", "0"], 2, "0 is not in 1..=1000");
    failed(&["booleans", "--compare", "none.json"], 1, "none.json");
    fs::write(folder.path().join("no.json"), "{}").unwrap();
    failed(&["booleans", "--compare", "no.json"], 1, "no.json is not a record of the lab");
    failed(&["booleans", "--export-json", "none/x.json"], 1, "cannot write none/x.json");
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn ctrl_c_keeps_what_was_measured_and_writes_the_record() {
    let folder = folder();
    let lab = [
        "lab",
        "insert-method",
        "billion-variants",
        "--scale",
        "0.2",
        "--export-json",
        "a.json",
        "--dir",
        "x",
    ];
    let child = start(folder.path(), lab);
    let scratch = folder.path().join("x");
    // The first variant runs once its folder exists, and only then is the run interrupted.
    while !fs::read_dir(&scratch).is_ok_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|entry| entry.path().join("case").exists()))
    }) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    send(&child, "INT");
    let ran = end(child);
    assert_eq!(ran.status.code(), Some(130), "{ran:?}");
    assert!(
        ran.stdout.contains("the run was interrupted first") && ran.stderr.contains("interrupted:"),
        "{ran:?}"
    );
    let record: Value = serde_json::from_slice(&fs::read(folder.path().join("a.json")).unwrap()).unwrap();
    assert_eq!(record["interrupted"], true);
    assert_eq!(record["experiments"][0]["variants"][0]["outcome"]["outcome"], "measured");
    assert_eq!(record["experiments"][1]["variants"][0]["outcome"]["reason"], "interrupted");
    assert_eq!(fs::read_dir(scratch).unwrap().count(), 0);
}
