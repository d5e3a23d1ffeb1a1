//! The inputs of the part `archives`, both made from the CSV file: a ZIP archive with all rows in 20 members, and a folder with a seventh
//! of the rows in 1,000 small files.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::data::Input;
use crate::process::{Runner, Took};
use crate::sync;

/// The number of members of the archive.
pub(crate) const MEMBERS: u64 = 20;

/// The number of small files.
pub(crate) const FILES: u64 = 1000;

/// The divisor of the row count for the small files: at scale 1, a file has about 100 kB.
pub(crate) const SMALL: u64 = 7;

/// Divides the first `rows` rows of a CSV file among `files` files in `folder`, each with the header.
fn divide(csv: &Path, rows: u64, files: u64, folder: &Path) -> anyhow::Result<Input> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut lines = BufReader::with_capacity(1 << 20, File::open(csv).context("opening the input")?);
    let mut header = Vec::new();
    lines.read_until(b'\n', &mut header)?;
    let (mut line, mut bytes, mut written) = (Vec::new(), 0, 0);
    for number in 0..files {
        let path = folder.join(format!("part-{number:04}.csv"));
        let mut out =
            BufWriter::new(File::create(&path).with_context(|| format!("cannot write {}", path.display()))?);
        out.write_all(&header)?;
        bytes += header.len() as u64;
        let end = rows * (number + 1) / files;
        while written < end {
            line.clear();
            ensure!(lines.read_until(b'\n', &mut line)? > 0, "{} has too few rows", csv.display());
            out.write_all(&line)?;
            bytes += line.len() as u64;
            written += 1;
        }
        out.flush()?;
        sync(&path)?;
    }
    Ok(Input::of_folder(folder.to_owned(), rows, bytes))
}

/// Writes the small files into `folder`.
pub(crate) fn write_folder(csv: &Input, folder: &Path) -> anyhow::Result<Input> {
    divide(&csv.file, csv.rows / SMALL, FILES, folder)
}

/// Writes the archive `file`. Its members are written to `folder` first, which is removed.
pub(crate) fn write_archive(
    runner: &Runner,
    csv: &Input,
    folder: &Path,
    file: &Path,
) -> anyhow::Result<Input> {
    divide(&csv.file, csv.rows, MEMBERS, folder)?;
    let mut command = Command::new("zip");
    runner.run(command.args(["-q", "-r"]).arg(file).arg(".").current_dir(folder)).context("zip")?;
    fs::remove_dir_all(folder)?;
    sync(file)?;
    Input::made(file.to_owned(), csv.rows)
}

/// Extracts the archive into `folder`.
pub(crate) fn unzip(runner: &Runner, archive: &Path, folder: &Path) -> anyhow::Result<Took> {
    runner.run(Command::new("unzip").arg("-q").arg(archive).arg("-d").arg(folder)).context("unzip")
}
