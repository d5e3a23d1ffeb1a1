//! What the tests of the comparisons share: the command or its stand-in, and what a run leaves.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The command that is measured: the one of this build, made now if these tests run without it.
pub(crate) fn sqluice() -> &'static Path {
    static SQLUICE: OnceLock<PathBuf> = OnceLock::new();
    SQLUICE.get_or_init(|| {
        let file = Path::new(env!("CARGO_BIN_EXE_billion")).with_file_name("sqluice");
        if !file.exists() {
            let built = Command::new(env!("CARGO")).args(["build", "-p", "sqluice-cli"]).status().unwrap();
            assert!(built.success());
        }
        file
    })
}

/// A script that stands in for the command; `$SQLUICE` in it is the command.
pub(crate) fn script(folder: &Path, body: &str) -> PathBuf {
    stand_in(folder, "stand-in", body)
}

/// A script that stands in for another program, as [`script`] does for the command.
pub(crate) fn stand_in(folder: &Path, name: &str, body: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\nSQLUICE='{}'\n{body}\n", sqluice().display())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// A run with `files` and `results` in that folder failed for a reason, and left no files that only it needed.
pub(crate) fn assert_fails(output: &Output, reason: &str, folder: &Path) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(reason), "{said}");
    assert_eq!(scratch(folder), [""; 0], "files are left");
    assert!(!folder.join("results").exists(), "a failed run has a record");
}

/// Names of what is left of runs in `files`.
pub(crate) fn scratch(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder.join("files")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("sqluice-scratch-")).collect()
}

/// The only record in `results`.
pub(crate) fn the_record(folder: &Path) -> serde_json::Value {
    let records: Vec<_> = fs::read_dir(folder.join("results")).unwrap().collect();
    assert_eq!(records.len(), 1);
    serde_json::from_slice(&fs::read(records[0].as_ref().unwrap().path()).unwrap()).unwrap()
}
