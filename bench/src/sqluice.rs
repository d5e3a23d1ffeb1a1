//! Runs the measured program, `sqluice`, and parses its reports.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::process::{Runner, Took};
use crate::words;

/// The fields of a report that comparisons read.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// The number of rows that the command wrote.
    pub rows: u64,
    /// The size of the database in bytes.
    pub bytes: u64,
    /// The checksum of the pages; empty if the database existed before.
    #[serde(default)]
    pub checksum: String,
    /// The kind of output: direct, buffered, discarded.
    pub output: String,
    #[serde(default)]
    tables: Vec<Table>,
}

/// A table in a report.
#[derive(Clone, Debug, Deserialize)]
struct Table {
    write_path: String,
    #[serde(default)]
    indexes: Vec<Index>,
}

/// An index in a report.
#[derive(Clone, Debug, Deserialize)]
struct Index {
    write_path: String,
}

impl Report {
    /// Formats the write paths of the tables and their indexes, and the kind of output.
    pub fn write_paths(&self) -> String {
        let mut write_paths = Vec::new();
        for table in &self.tables {
            write_paths.push(table.write_path.clone());
            write_paths.extend(table.indexes.iter().map(|index| format!("index {}", index.write_path)));
        }
        write_paths.push(self.output.clone());
        write_paths.join(", ")
    }
}

/// The fields of the report of `sqluice check` that comparisons read.
#[derive(Clone, Debug, Deserialize)]
pub struct Checked {
    /// `true` if the check found no error.
    pub sound: bool,
    /// The number of rows in the database.
    pub rows: u64,
}

/// The command `sqluice`.
#[derive(Debug)]
pub struct Sqluice<'a> {
    runner: &'a Runner,
    file: PathBuf,
}

impl<'a> Sqluice<'a> {
    /// Creates the command for a program file.
    pub fn new(runner: &'a Runner, file: PathBuf) -> Sqluice<'a> {
        Sqluice { runner, file }
    }

    /// Runs a verb with `--json`.
    ///
    /// # Errors
    /// When the command fails.
    pub fn run(&self, arguments: &[impl AsRef<OsStr>]) -> anyhow::Result<Took> {
        self.run_to(0, arguments)
    }

    /// Runs a verb with `--json`, which must end with this exit status.
    ///
    /// # Errors
    /// When the command ends with another exit status.
    pub fn run_to(&self, code: i32, arguments: &[impl AsRef<OsStr>]) -> anyhow::Result<Took> {
        let mut command = Command::new(&self.file);
        self.runner.run_to(code, command.args(arguments).args(["--json", "--no-progress"]))
    }

    /// Runs a verb that writes `rows` rows, and parses its report.
    ///
    /// # Errors
    /// When the command fails, or reports another number of rows.
    pub fn write(&self, arguments: &[impl AsRef<OsStr>], rows: u64) -> anyhow::Result<(Took, Report)> {
        let took = self.run(arguments)?;
        let report: Report = serde_json::from_str(&took.stdout).context("sqluice reports something else")?;
        ensure!(report.rows == rows, "sqluice reports {} rows instead of {rows}", report.rows);
        Ok((took, report))
    }

    /// Checks a database, which must be sound.
    ///
    /// # Errors
    /// When the command fails, or finds an error.
    pub fn check(&self, database: &Path) -> anyhow::Result<(Took, Checked)> {
        let took = self.run(&words!["check", database])?;
        let checked: Checked = serde_json::from_str(&took.stdout).context("a report is JSON")?;
        ensure!(checked.sound, "sqluice says: {}", took.stdout);
        Ok((took, checked))
    }

    /// Returns the name and the version of the program.
    ///
    /// # Errors
    /// When the program does not run.
    pub fn version(&self) -> anyhow::Result<String> {
        Ok(self.runner.run(Command::new(&self.file).arg("--version"))?.stdout.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_paths_has_the_paths_of_tables_and_indexes_and_the_output() {
        let report = |tables: &str| {
            let json = format!(r#"{{"rows": 1, "bytes": 4096, "output": "direct"{tables}}}"#);
            serde_json::from_str::<Report>(&json).unwrap().write_paths()
        };
        assert_eq!(report(""), "direct");
        let tables = r#", "tables": [{"write_path": "pages", "indexes": [{"write_path": "sorted"}]}, {"write_path": "insert"}]"#;
        assert_eq!(report(tables), "pages, index sorted, insert, direct");
    }
}
