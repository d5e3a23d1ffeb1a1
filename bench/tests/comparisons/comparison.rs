//! Runs a comparison with few rows in a temporary folder, and checks its output, its record, the files that it leaves, or its error. The
//! record is the JSON file with the measured times that a comparison writes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{script, stand_in};
use tempfile::TempDir;

/// A comparison with its files in `files` and its record in `results` of a temporary folder.
pub(crate) struct Comparison {
    name: &'static str,
    flags: Vec<OsString>,
    folder: TempDir,
}

impl Comparison {
    /// Creates a comparison whose runs all have these flags.
    pub(crate) fn new(name: &'static str, flags: &[&str]) -> Comparison {
        let flags = flags.iter().map(OsString::from).collect();
        Comparison { name, flags, folder: tempfile::tempdir().unwrap() }
    }

    /// Replaces another program by a script. `program` is the name of the flag for its file.
    pub(crate) fn with_stand_in(mut self, program: &str, body: &str) -> Comparison {
        let file = stand_in(self.folder(), program, body);
        self.flags.extend([format!("--{program}").into(), file.into()]);
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.folder().join("files")
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.folder().join("results")
    }

    /// Writes a shell script that runs in place of sqluice, and can call the real one as `$SQLUICE`.
    pub(crate) fn script(&self, body: &str) -> PathBuf {
        script(self.folder(), body)
    }

    /// Returns a command that runs the comparison and measures this program.
    pub(crate) fn command(&self, sqluice: &Path, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sqluice-bench"));
        command.arg(self.name).args(&self.flags).args(flags);
        command.arg("--dir").arg(self.files()).arg("--results").arg(self.results());
        command.arg("--sqluice").arg(sqluice);
        command
    }

    pub(crate) fn run(&self, sqluice: &Path, flags: &[&str]) -> Output {
        self.command(sqluice, flags).output().unwrap()
    }

    /// Runs the comparison, which must succeed and remove its temporary files. Returns its output and its record.
    pub(crate) fn succeed(&self, sqluice: &Path, flags: &[&str]) -> (String, serde_json::Value) {
        let output = self.run(sqluice, flags);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(self.scratch(), [""; 0], "files are left");
        (String::from_utf8(output.stdout).unwrap(), self.record())
    }

    /// Runs the comparison, which must succeed and print each of the texts `parts`. Returns its record.
    pub(crate) fn assert_says(&self, sqluice: &Path, flags: &[&str], parts: &[&str]) -> serde_json::Value {
        let (said, record) = self.succeed(sqluice, flags);
        for part in parts {
            assert!(said.contains(part), "{part}: {said}");
        }
        record
    }

    /// Runs the comparison, which must fail with the text `reason`, write no record, and remove its temporary files.
    pub(crate) fn assert_fails(&self, sqluice: &Path, flags: &[&str], reason: &str) {
        let output = self.run(sqluice, flags);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(reason), "{said}");
        assert_eq!(self.scratch(), [""; 0], "files are left");
        assert!(!self.results().exists(), "a failed run has a record");
    }

    /// Runs a part of the comparison with a script in place of sqluice. The run must fail with the text `reason`.
    pub(crate) fn assert_part_fails(&self, part: &str, body: &str, reason: &str) {
        self.assert_fails(&self.script(body), &["--rounds", "1", "--only", part], reason);
    }

    /// Returns the names of the temporary files that runs left in `files`.
    fn scratch(&self) -> Vec<String> {
        let names = fs::read_dir(self.files()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("sqluice-scratch-")).collect()
    }

    /// Returns the only record in `results`.
    fn record(&self) -> serde_json::Value {
        let records: Vec<_> = fs::read_dir(self.results()).unwrap().collect();
        assert_eq!(records.len(), 1);
        serde_json::from_slice(&fs::read(records[0].as_ref().unwrap().path()).unwrap()).unwrap()
    }
}
