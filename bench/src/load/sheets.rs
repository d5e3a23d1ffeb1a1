//! Workbooks in Python: openpyxl creates an XLSX file, and pandas loads it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::data::{COLUMNS, Input};
use super::frames::Seconds;
use crate::process::{Runner, Took};

/// The program that Python runs.
const PROGRAM: &str = include_str!("sheets.py");

/// The number of cells of the workbook below its header, if the input has enough rows.
const CELLS: u64 = 1_000_000;

/// A Python interpreter with openpyxl and pandas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sheets<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) python: &'a Path,
}

impl Sheets<'_> {
    /// Returns the versions of the packages, in a line.
    pub(crate) fn versions(self) -> anyhow::Result<String> {
        let said = self.run(&["versions".as_ref()]).with_context(|| {
            format!("{} lacks openpyxl or pandas: tools/setup bench installs them", self.python.display())
        })?;
        Ok(said.stdout.trim().to_owned())
    }

    /// Writes the first rows of a CSV file to the only sheet of an XLSX file. Keys are whole numbers, and dates have the format of dates.
    pub(crate) fn book(self, csv: &Input, file: &Path) -> anyhow::Result<Input> {
        let rows = csv.rows.min(CELLS / COLUMNS as u64);
        let number = rows.to_string();
        self.run(&["book".as_ref(), csv.file.as_os_str(), number.as_ref(), file.as_os_str()])?;
        Input::made(file.to_owned(), rows)
    }

    /// Loads an XLSX file. The time includes reading, inserting and COMMIT, but not Python's start and imports, which favours Python.
    pub(crate) fn load(self, file: &Path, target: &Path) -> anyhow::Result<(Took, Option<String>)> {
        let took = self.run(&["load".as_ref(), file.as_os_str(), target.as_os_str()])?;
        Seconds::counted(took)
    }

    fn run(self, arguments: &[&OsStr]) -> anyhow::Result<Took> {
        self.runner.run(Command::new(self.python).args(["-c", PROGRAM]).args(arguments))
    }
}
