//! The input: TPC-H's `lineitem` at a scale, from `tpchgen-cli`. The file is kept in the folder for the next run, with a
//! note about its origin; files that are derived from it are removed after the run.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::process::Runner;
use crate::scratch::Scratch;
use crate::shell::version_of;
use crate::sync;

const FILE: &str = "lineitem.csv";
const NOTE: &str = "made.json";

/// The declaration of the table, with SQLite's type for each column.
pub(crate) const SCHEMA: &str = include_str!("lineitem.sql");

/// The number of columns of the table.
pub(crate) const COLUMNS: usize = 16;

/// The number of leading columns that are numbers; the others are text.
pub(crate) const NUMBERS: usize = 8;

/// The size of the file at scale 1, rounded up, in bytes.
const BYTES_AT_SCALE_1: f64 = 800e6;

/// The row counts by scale, which are equal in all versions of the generator.
const KNOWN_ROWS: [(f64, u64); 4] = [(0.01, 60_175), (0.1, 600_572), (1.0, 6_001_215), (10.0, 59_986_052)];

/// A file of rows.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Input {
    #[serde(skip)]
    pub(crate) file: PathBuf,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    #[serde(skip)]
    newlines: u64,
}

/// The note beside the file, with its size and the version of its generator. It tells if a file of an earlier run is complete.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    made_by: String,
    rows: u64,
    bytes: u64,
}

impl Input {
    /// Syncs a new file of `rows` rows and returns it as an input.
    pub(crate) fn made(file: PathBuf, rows: u64) -> anyhow::Result<Input> {
        sync(&file)?;
        let (newlines, bytes) = count(&file)?;
        Ok(Input { file, rows, bytes, newlines })
    }

    /// Returns a folder of files as an input.
    pub(crate) fn of_folder(folder: PathBuf, rows: u64, bytes: u64) -> Input {
        Input { file: folder, rows, bytes, newlines: 0 }
    }

    /// Returns a CSV file with a header and one line for each row as an input.
    fn csv(file: PathBuf) -> anyhow::Result<Input> {
        let (newlines, bytes) = count(&file)?;
        ensure!(newlines > 1, "{} has no rows", file.display());
        Ok(Input { file, rows: newlines - 1, bytes, newlines })
    }

    /// Reads the input into the page cache, and checks that its size has not changed.
    pub(crate) fn warm(&self) -> anyhow::Result<()> {
        if self.file.is_dir() {
            let mut bytes = 0;
            for entry in fs::read_dir(&self.file)? {
                bytes += count(&entry?.path())?.1;
            }
            ensure!(bytes == self.bytes, "{} has changed", self.file.display());
            return Ok(());
        }
        ensure!(count(&self.file)? == (self.newlines, self.bytes), "{} has changed", self.file.display());
        Ok(())
    }

    /// Writes and syncs a file with one header and `times` copies of all rows.
    pub(crate) fn repeated(&self, times: u64, file: PathBuf) -> anyhow::Result<Input> {
        let write = || -> std::io::Result<()> {
            let (mut from, mut to) = (BufReader::new(File::open(&self.file)?), File::create(&file)?);
            let mut header = Vec::new();
            from.read_until(b'\n', &mut header)?;
            std::io::copy(&mut header.as_slice(), &mut to)?;
            for _ in 0..times {
                from.seek(SeekFrom::Start(header.len() as u64))?;
                std::io::copy(&mut from, &mut to)?;
            }
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", file.display()))?;
        sync(&file)?;
        let csv = Input::csv(file)?;
        ensure!(csv.rows == self.rows * times, "{} has {} rows", csv.file.display(), csv.rows);
        Ok(csv)
    }
}

/// Reads a whole file, and counts its line ends and bytes. Afterwards the file is in the page cache if memory allows.
fn count(file: &Path) -> anyhow::Result<(u64, u64)> {
    let count = || -> std::io::Result<(u64, u64)> {
        let (mut opened, mut buffer) = (File::open(file)?, vec![0; 1 << 20]);
        let (mut newlines, mut bytes) = (0, 0);
        loop {
            match opened.read(&mut buffer)? {
                0 => return Ok((newlines, bytes)),
                n => {
                    newlines += buffer[..n].iter().filter(|&&byte| byte == b'\n').count() as u64;
                    bytes += n as u64;
                }
            }
        }
    };
    count().with_context(|| format!("cannot read {}", file.display()))
}

/// Returns the file at a scale, from an earlier run or newly created, and the version of its generator.
pub(crate) fn lineitem(
    runner: &Runner,
    tpchgen: &Path,
    parent: &Path,
    scale: f64,
) -> anyhow::Result<(Input, String)> {
    let folder = parent.join(format!("lineitem-sf{scale}"));
    if !is_whole(&folder) {
        let scratch = Scratch::new(parent, (scale * BYTES_AT_SCALE_1) as u64)?;
        let fresh = scratch.file("lineitem");
        make(runner, tpchgen, scale, &fresh)?;
        // An incomplete or changed folder of an earlier run is removed.
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&fresh, &folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let csv = Input::csv(folder.join(FILE))?;
    let known = KNOWN_ROWS.iter().find(|(known, _)| *known == scale);
    ensure!(
        known.is_none_or(|(_, rows)| csv.rows == *rows),
        "{} has {} rows, and lineitem at scale {scale} has others: remove {}",
        csv.file.display(),
        csv.rows,
        folder.display()
    );
    Ok((csv, note(&folder).context("the file has a note")?.made_by))
}

fn note(folder: &Path) -> Option<Note> {
    serde_json::from_slice(&fs::read(folder.join(NOTE)).ok()?).ok()
}

/// Returns `true` if the file has the number of rows and bytes in its note.
fn is_whole(folder: &Path) -> bool {
    match (note(folder), Input::csv(folder.join(FILE))) {
        (Some(note), Ok(csv)) => note.rows == csv.rows && note.bytes == csv.bytes,
        _ => false,
    }
}

fn make(runner: &Runner, tpchgen: &Path, scale: f64, folder: &Path) -> anyhow::Result<()> {
    let made_by = version_of(runner, tpchgen)?;
    // Version 4 of `tpchgen-cli` has a subcommand for each format, older versions have a flag and reject the subcommand.
    let verb = Command::new(tpchgen).args(["csv", "--help"]).output()?.status.success();
    let mut command = Command::new(tpchgen);
    command.arg(if verb { "csv" } else { "--format=csv" });
    command.args(["--tables=lineitem", "--scale-factor", &scale.to_string(), "--output-dir"]).arg(folder);
    runner.run(&mut command)?;
    let csv = Input::csv(folder.join(FILE))?;
    sync(&csv.file)?;
    let note = Note { made_by, rows: csv.rows, bytes: csv.bytes };
    let note = serde_json::to_string_pretty(&note)? + "\n";
    fs::write(folder.join(NOTE), note).with_context(|| format!("cannot write in {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_rows_are_written_several_times_has_one_header() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("once.csv");
        fs::write(&file, "a,b\n1,2\n3,4\n").unwrap();
        let once = Input::csv(file).unwrap();
        assert_eq!((once.rows, once.bytes), (2, 12));
        let thrice = once.repeated(3, folder.path().join("thrice.csv")).unwrap();
        assert_eq!(fs::read_to_string(&thrice.file).unwrap(), "a,b\n1,2\n3,4\n1,2\n3,4\n1,2\n3,4\n");
    }

    #[test]
    fn a_file_that_changed_is_not_measured() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.csv");
        fs::write(&file, "a,b\n1,2\n").unwrap();
        let csv = Input::csv(file).unwrap();
        csv.warm().unwrap();
        fs::write(&csv.file, "a,b\n1,2\n3,4\n").unwrap();
        assert!(csv.warm().is_err());
    }
}
