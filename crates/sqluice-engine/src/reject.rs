//! The reject file: a CSV file of bad rows.
//!
//! ```text
//!  file,line,column,reason,record
//!  orders.csv,17,9,"NULL in column total, which is NOT NULL","16,open,"
//! ```
//!
//! `record` has the bytes of the row in the input, without the line end. Only quotes are doubled. `line` and `column` are the place of the
//! fault.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::source::BadRow;
use sqluice_platform::names::{self, Folder};
use sqluice_platform::{durable, errors};

use crate::output::{self, TargetPath};

/// The header of the file.
const HEADER: &str = "file,line,column,reason,record\n";

/// The reject file. It gets its name when it is complete, or when the run fails and the file has rows. Until then, it has a temporary name
/// beside the final name, and an existing file stays.
#[derive(Debug)]
pub struct RejectFile {
    path: PathBuf,
    file: BufWriter<File>,
    rows: u64,
    rows_max: u64,
    overwrite: bool,
    /// The inputs whose rows are counted.
    tallies: Vec<Tally>,
    /// The bad rows of each input.
    inputs: HashMap<PathBuf, Bad>,
    /// The temporary file; `None` if the file has its name, or is a terminal or a pipe.
    unnamed: Option<Unnamed>,
}

/// An input, and the number of its rows read so far.
#[derive(Clone, Debug)]
pub struct Tally {
    /// The name of the input in messages.
    pub input: PathBuf,
    /// The number of rows read, including bad rows.
    pub rows: Arc<AtomicU64>,
}

/// The bad rows of an input.
#[derive(Debug)]
struct Bad {
    rows: u64,
    /// The place and the message of the first bad row.
    first: (sqluice_core::error::Place, Message),
}

/// The number of bad rows, and the number of their lines in the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// The number of rows.
    pub rows: u64,
    /// The number of lines. A quoted field may have several lines.
    pub lines: u64,
}

impl Rejected {
    pub(crate) fn add(&mut self, bad: &BadRow) {
        self.rows += 1;
        self.lines += bad.lines();
    }
}

/// An input with at least this number of rows ends the run if at least nine tenths of its rows are bad.
const JUDGED_ROWS_MIN: u64 = 20;

/// An input with more bad rows than this number ends the run if it has more bad rows than good ones.
const OUTNUMBERING_MIN: u64 = 100;

#[derive(Debug)]
struct Unnamed {
    temporary: PathBuf,
    target: TargetPath,
}

impl RejectFile {
    /// Refuses an existing file that [`RejectFile::create`] would refuse. Writes nothing.
    pub fn refuse(path: &Path, overwrite: bool) -> Result<()> {
        match path.symlink_metadata() {
            _ if path.is_dir() => Err(cannot_write(path, errors::is_folder())),
            Ok(_) if !overwrite && !is_special(path) => Err(cannot_write(path, errors::exists())),
            _ => Ok(()),
        }
    }

    /// Begins a file of up to `rows_max` rows. The file must not exist unless `overwrite` is set.
    pub fn create(path: &Path, overwrite: bool, rows_max: u64) -> Result<RejectFile> {
        RejectFile::refuse(path, overwrite)?;
        let fail = |error| cannot_write(path, error);
        let (file, unnamed) = if is_special(path) {
            (OpenOptions::new().write(true).open(path).map_err(fail)?, None)
        } else {
            let target = TargetPath::resolve(path)?;
            output::remove_stale(&target.folder, &target.file_name);
            let (file, temporary) =
                output::create_temporary(&target.folder, &target.file_name).map_err(fail)?;
            (file, Some(Unnamed { temporary, target }))
        };
        let mut file = BufWriter::new(file);
        file.write_all(HEADER.as_bytes()).map_err(fail)?;
        let (tallies, inputs) = (Vec::new(), HashMap::new());
        Ok(RejectFile { path: path.to_owned(), file, rows: 0, rows_max, overwrite, tallies, inputs, unnamed })
    }

    /// Sets the tallies, which count the rows that are read from each input.
    pub fn with_tallies(mut self, tallies: Vec<Tally>) -> RejectFile {
        self.tallies = tallies;
        self
    }

    /// Returns the number of rows in the file.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the row exceeds the limit, or can't be written.
    pub(crate) fn add(&mut self, bad: &BadRow) -> Result<()> {
        self.write(bad).map_err(|error| self.failed(error))?;
        self.rows += 1;
        self.count(&bad.error);
        if self.rows > self.rows_max {
            let (message, max) = (bad.error.message(), self.rows_max);
            let error = Error::input(format!("{message} (bad row {}; the limit is {max})", self.rows));
            let error = match bad.error.place() {
                Some(place) => error.at(place.clone()),
                None => error,
            };
            let path = self.path.display();
            return Err(error.hint(message![
                format!("all of them are in {path}; "),
                Setting::MaxRejects,
                " lets more pass"
            ]));
        }
        Ok(())
    }

    fn count(&mut self, error: &Error) {
        let Some(place) = error.place() else { return };
        match self.inputs.get_mut(&place.file) {
            Some(bad) => bad.rows += 1,
            None => {
                let first = (place.clone(), error.what().clone());
                self.inputs.insert(place.file.clone(), Bad { rows: 1, first });
            }
        }
    }

    /// Returns an error if too many rows of an input are bad: if all rows are bad; if the input has at least [`JUDGED_ROWS_MIN`] rows, and
    /// nine tenths of them are bad; or if more than [`OUTNUMBERING_MIN`] rows are bad, and they outnumber the good rows. Returns no error
    /// if the user has set a limit.
    fn judge(&self) -> Result<()> {
        if self.rows_max != u64::MAX {
            return Ok(());
        }
        for Tally { input, rows } in &self.tallies {
            let (Some(bad), rows) = (self.inputs.get(input), rows.load(Ordering::Relaxed)) else { continue };
            let mostly = rows >= JUDGED_ROWS_MIN && bad.rows.saturating_mul(10) >= rows.saturating_mul(9)
                || bad.rows > OUTNUMBERING_MIN && bad.rows > rows - bad.rows.min(rows);
            if bad.rows < rows && !mostly {
                continue;
            }
            let how_many = match bad.rows < rows {
                true => format!("{} of {rows} rows of this file are bad", bad.rows),
                false => "every row of this file is bad".to_owned(),
            };
            let (place, what) = &bad.first;
            let message = message![how_many, "; the first: ", what];
            let path = self.path.display();
            return Err(Error::input(message).at(place.clone()).hint(message![
                format!("all bad rows are in {path}; "),
                Setting::MaxRejects.to("N"),
                " accepts up to N"
            ]));
        }
        Ok(())
    }

    fn write(&mut self, bad: &BadRow) -> io::Result<()> {
        let place = bad.error.place();
        let name = place.map(|place| place.file.to_string_lossy()).unwrap_or_default();
        let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let (line, column) = place.map_or((None, None), |place| (place.line, place.column));
        write_field(&mut self.file, name.as_bytes())?;
        write!(self.file, ",{},{},", number(line), number(column))?;
        write_field(&mut self.file, bad.error.message().as_bytes())?;
        self.file.write_all(b",")?;
        write_field(&mut self.file, &bad.raw)?;
        self.file.write_all(b"\n")
    }

    /// Makes the file durable, and gives it its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.name().map_err(|error| self.failed(error))
    }

    /// Commits the file around the commit of a database, unless too many rows of an input are bad: the error is then that of
    /// `RejectFile::judge`. A file with rows is committed before the database, so that every row missing from the database is in the file,
    /// even after a crash. An empty file is committed after the database.
    pub(crate) fn finish_around<T>(
        mut rejects: Option<RejectFile>,
        commit: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        rejects.as_ref().map_or(Ok(()), RejectFile::judge)?;
        rejects.take_if(|rejects| rejects.rows() > 0).map_or(Ok(()), RejectFile::finish)?;
        let committed = commit()?;
        rejects.map_or(Ok(()), RejectFile::finish)?;
        Ok(committed)
    }

    fn name(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let unless_special = |synced: io::Result<()>| match synced {
            // Pipes, terminals and some folders can't be synced.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        };
        if let Some(Unnamed { target, .. }) = &self.unnamed {
            output::rights_of_file(&target.path()).give(self.file.get_ref())?;
        }
        unless_special(durable::sync(self.file.get_ref()))?;
        let Some(Unnamed { temporary, target }) = &self.unnamed else { return Ok(()) };
        match self.overwrite {
            true => names::rename_over(temporary, &target.path())?,
            false => names::rename_to_new(temporary, &target.path())?,
        }
        let folder = Folder::open(&target.folder);
        self.unnamed = None;
        folder?.sync()
    }

    fn failed(&self, error: io::Error) -> Error {
        cannot_write(&self.path, error)
    }
}

fn cannot_write(path: &Path, error: io::Error) -> Error {
    let failure = Error::target(format!("cannot write the rejected rows to {}", path.display())).about(path);
    match error.kind() {
        io::ErrorKind::AlreadyExists => failure
            .because(error)
            .hint(message!["name another file, or replace this one: ", Setting::OverwriteReject]),
        io::ErrorKind::IsADirectory => failure.because(error).hint("name a file in it"),
        io::ErrorKind::NotFound => failure.because(error).hint("make its folder first, or name another file"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            failure.because(error).hint("choose a folder that you may write to")
        }
        _ => failure.because(error),
    }
}

/// Returns `true` for a terminal or a pipe, which is written to directly.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir())
}

impl Drop for RejectFile {
    fn drop(&mut self) {
        if self.rows > 0 && self.unnamed.is_some() {
            // A failed run keeps its bad rows, as they may show the reason.
            let _ = self.name();
        }
        if let Some(Unnamed { temporary, .. }) = &self.unnamed {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

/// Writes a CSV field, in quotes if it needs them.
fn write_field(out: &mut impl Write, field: &[u8]) -> io::Result<()> {
    let plain = !field.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) && !field.is_empty();
    if plain {
        return out.write_all(field);
    }
    out.write_all(b"\"")?;
    for (index, part) in field.split(|&byte| byte == b'"').enumerate() {
        if index > 0 {
            out.write_all(b"\"\"")?;
        }
        out.write_all(part)?;
    }
    out.write_all(b"\"")
}
