//! Parquet files by Python: pyarrow makes one, and pyarrow and ADBC load it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use crate::process::{Runner, Took};

/// The program that Python runs.
const PROGRAM: &str = include_str!("frames.py");

/// A Python that has pyarrow and ADBC's driver for SQLite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) python: &'a Path,
}

/// What Python says of a load, in seconds.
#[derive(Debug, Deserialize)]
struct Seconds {
    read: f64,
    ingest: f64,
}

impl Frames<'_> {
    /// What it is made of, in a line.
    pub(crate) fn versions(self) -> anyhow::Result<String> {
        let said = self.run(&["versions".as_ref()]).with_context(|| {
            format!("{} lacks pyarrow or ADBC: tools/setup bench installs them", self.python.display())
        })?;
        Ok(said.stdout.trim().to_owned())
    }

    /// Makes a Parquet file of the rows of a CSV file, in row groups as pyarrow cuts them by default.
    pub(crate) fn parquet(self, csv: &Path, file: &Path) -> anyhow::Result<()> {
        self.run(&["parquet".as_ref(), csv.as_os_str(), file.as_os_str()]).map(drop)
    }

    /// Loads a Parquet file. Reading and ingesting count, COMMIT with them; Python's start and imports do not, which favours it.
    pub(crate) fn ingest(self, file: &Path, target: &Path) -> anyhow::Result<(Took, Option<String>)> {
        let took = self.run(&["ingest".as_ref(), file.as_os_str(), target.as_os_str()])?;
        let Seconds { read, ingest } =
            serde_json::from_str(&took.stdout).context("Python says something else than seconds")?;
        Ok((Took { seconds: read + ingest, ..took }, Some(format!("reading {read:.2} s"))))
    }

    fn run(self, arguments: &[&OsStr]) -> anyhow::Result<Took> {
        self.runner.run(Command::new(self.python).args(["-c", PROGRAM]).args(arguments))
    }
}
