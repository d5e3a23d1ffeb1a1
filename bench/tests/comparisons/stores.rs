//! The comparison of a folder and its database runs, and refuses to time what is wrong.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{assert_fails, scratch, script, the_record};

/// The comparison of a few files, in a folder.
fn stores(folder: &Path, sqluice: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stores"));
    command.args(["--files", "50", "--rounds", "2"]).args(flags);
    command.arg("--dir").arg(folder.join("files")).arg("--results").arg(folder.join("results"));
    command.arg("--sqluice").arg(sqluice).output().unwrap()
}

/// What packs and unpacks as `sqluice` would, by `sqlite3`; `$AFTER` is done to what came out.
const STAND_IN: &str = r#"case "$1" in
    pack) cd "$3" && sqlite3 "$2" -Ac . && eval "$AFTER_PACK" ;;
    unpack) mkdir "$3" && cd "$3" && sqlite3 "$2" -Ax && eval "$AFTER_UNPACK" ;;
    *) exec "$SQLUICE" "$@" ;;
esac > /dev/null"#;

fn stand_in(folder: &Path, after_pack: &str, after_unpack: &str) -> std::path::PathBuf {
    let version = r#"[ "$1" = --version ] && exec echo stand-in"#;
    let body = format!("AFTER_PACK='{after_pack}'\nAFTER_UNPACK='{after_unpack}'\n{version}\n{STAND_IN}");
    script(folder, &body)
}

#[test]
fn a_run_prints_tables_and_keeps_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let output = stores(folder.path(), &stand_in(folder.path(), ":", ":"), &["--fill"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    for part in [
        "folder: round 2 of 2",
        "| `cp -r` | 50 |",
        "| `BlobStore::get` | 50 |",
        "| time of files as kvtest reads them to `get_into`, mmap |",
        "| at most 0.90, aim 0.85 |",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(scratch(folder.path()), [""; 0]);
    let record = the_record(folder.path());
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round.as_object().unwrap().len(), 19);
        assert_eq!(round["pack"]["rows"], 50);
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 16);
}

#[test]
fn a_file_that_was_not_packed_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let short = r#"sqlite3 "$2" "DELETE FROM sqlar WHERE rowid = 7""#;
    let sqluice = stand_in(folder.path(), short, ":");
    assert_fails(&stores(folder.path(), &sqluice, &["--only", "folder"]), "49 files of", folder.path());
}

#[test]
fn a_file_that_came_out_with_other_bytes_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let sqluice = stand_in(folder.path(), ":", "echo more >> file-0000007.txt");
    let output = stores(folder.path(), &sqluice, &["--only", "folder"]);
    assert_fails(&output, "file-0000007.txt has other bytes", folder.path());
}

#[test]
fn entities_are_written_in_every_way_and_each_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_entities"));
    command.args(["--rows-scale", "0.005", "--rounds", "2"]);
    command.arg("--dir").arg(folder.path().join("files")).arg("--results").arg(folder.path().join("results"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(scratch(folder.path()), [""; 0]);
    let record = the_record(folder.path());
    assert_eq!(record["rounds"].as_array().unwrap().len(), 2);
    assert_eq!(record["ratios"].as_array().unwrap().len(), 18);
    let said = String::from_utf8(output.stdout).unwrap();
    // Three sizes in three ways.
    assert_eq!(
        said.lines().filter(|line| line.starts_with("| 50 ") && line.contains("MiB")).count(),
        9,
        "{said}"
    );
}
