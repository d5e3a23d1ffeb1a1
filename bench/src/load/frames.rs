//! Parquet files in Python: pyarrow creates a file, and pyarrow and ADBC load it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use crate::process::{Runner, Took};

/// The program that Python runs.
const PROGRAM: &str = include_str!("frames.py");

/// A Python interpreter with pyarrow and ADBC's driver for SQLite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) python: &'a Path,
}

/// The times of a load that Python reports, in seconds.
#[derive(Debug, Deserialize)]
pub(super) struct Seconds {
    read: f64,
    ingest: f64,
}

impl Seconds {
    /// Replaces the time of a process by the time that the process reports. Returns what is printed beside it, too.
    pub(super) fn counted(took: Took) -> anyhow::Result<(Took, Option<String>)> {
        let Seconds { read, ingest } =
            serde_json::from_str(&took.stdout).context("Python says something else than seconds")?;
        Ok((Took { seconds: read + ingest, ..took }, Some(format!("reading {read:.2} s"))))
    }
}

impl Frames<'_> {
    /// Returns the versions of the packages, in a line.
    pub(crate) fn versions(self) -> anyhow::Result<String> {
        let said = self.run(&["versions".as_ref()]).with_context(|| {
            format!("{} lacks pyarrow or ADBC: tools/setup bench installs them", self.python.display())
        })?;
        Ok(said.stdout.trim().to_owned())
    }

    /// Writes the rows of a CSV file to a Parquet file, with pyarrow's default row groups.
    pub(crate) fn parquet(self, csv: &Path, file: &Path) -> anyhow::Result<()> {
        self.run(&["parquet".as_ref(), csv.as_os_str(), file.as_os_str()]).map(drop)
    }

    /// Loads a Parquet file. The time includes reading, ingesting and COMMIT, but not Python's start and imports, which favours Python.
    pub(crate) fn ingest(self, file: &Path, target: &Path) -> anyhow::Result<(Took, Option<String>)> {
        let took = self.run(&["ingest".as_ref(), file.as_os_str(), target.as_os_str()])?;
        Seconds::counted(took)
    }

    fn run(self, arguments: &[&OsStr]) -> anyhow::Result<Took> {
        self.runner.run(Command::new(self.python).args(["-c", PROGRAM]).args(arguments))
    }
}
