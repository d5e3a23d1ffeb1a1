//! Describes the machine and the commit that are measured.

use std::fmt;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

pub use sqluice_lab::machine::now;

/// The measured machine and commit.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The properties that the system reports.
    #[serde(flatten)]
    pub facts: sqluice_lab::machine::Machine,
    /// The short hash of the commit, with a `+` if the work tree has changes.
    pub commit: String,
}

impl Machine {
    /// Describes this machine, with the file system of `folder`, and the commit.
    pub fn here(folder: &Path) -> Machine {
        Machine { facts: sqluice_lab::machine::Machine::here(folder), commit: commit() }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; commit {}", self.facts, self.commit)
    }
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) else { return "unknown".to_owned() };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|files| !files.is_empty());
    commit + if changed { "+" } else { "" }
}
