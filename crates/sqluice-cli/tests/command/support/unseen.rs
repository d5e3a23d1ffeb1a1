//! Runs that see no other processes, in folders that other users may enter, as in a container that shares a folder with the machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use sqluice_testkit::skip::skipped;
use tempfile::TempDir;

use super::SQLUICE;

/// The flags of `unshare` by which it runs a program with its own list of processes, and kills the program when it is killed itself.
const CONTAINER: [&str; 4] = ["--pid", "--fork", "--kill-child", "--mount-proc"];

/// Returns a temporary folder that every user may enter.
pub(crate) fn open_folder() -> TempDir {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), everyone).unwrap();
    folder
}

/// Returns a command that runs `program ARGS` in a container, in `folder`; `None` if containers can't be made here, and the test is
/// skipped.
pub(crate) fn contained(folder: &Path, program: &str, args: &[&str]) -> Option<Command> {
    let can = Command::new("unshare").args(CONTAINER).arg("true").output();
    if !can.is_ok_and(|tried| tried.status.success()) {
        skipped("cannot make a container (are you root?)");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(CONTAINER).arg(program).args(args).current_dir(folder);
    Some(command)
}

/// Returns a command that runs `sqluice ARGS` in a container; `None` if the test is skipped.
pub(crate) fn sqluice(folder: &Path, args: &[&str]) -> Option<Command> {
    contained(folder, SQLUICE, args)
}
