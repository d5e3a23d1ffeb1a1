//! The command that the comparisons measure, and scripts that stand in for the command or for other programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The command that is measured: the one of this build, made now if these tests run without it.
pub(crate) fn sqluice() -> &'static Path {
    static SQLUICE: OnceLock<PathBuf> = OnceLock::new();
    SQLUICE.get_or_init(|| {
        let file = Path::new(env!("CARGO_BIN_EXE_sqluice-bench")).with_file_name("sqluice");
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
