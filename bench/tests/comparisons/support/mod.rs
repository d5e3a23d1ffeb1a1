//! Builds the command that the comparisons measure, and writes scripts that replace it or other programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the path of `sqluice` of this build. Builds it first if only these tests were built.
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

/// Writes a script that replaces the command. In the script, `$SQLUICE` is the real command.
pub(crate) fn script(folder: &Path, body: &str) -> PathBuf {
    stand_in(folder, "stand-in", body)
}

/// Writes a script that replaces another program, in a file called `name`. In the script, `$SQLUICE` is the command.
pub(crate) fn stand_in(folder: &Path, name: &str, body: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\nSQLUICE='{}'\n{body}\n", sqluice().display())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}
