//! Reports the files that can't be loaded: all of them in one error or, with `skip_bad_files`, as skipped files in the report.
//!
//! ```text
//!  a.csv  good        without skip_bad_files    error: 2 of 3 files can't be loaded: b.csv ..., c.csv ...
//!  b.csv  bad         with skip_bad_files       a.csv is loaded; Report::skipped lists b.csv and c.csv
//!  c.csv  bad
//! ```
//!
//! A file is found to be bad when it is opened, when the columns of its table are determined, or when its rows are read. In the last
//! case, the attempt to load ends, and the next attempt leaves out the file.

use std::collections::HashMap;

use sqluice_core::error::{Error, ErrorKind, Message, Result, Setting, message};
use sqluice_core::remote::without_secrets;
use sqluice_engine::report::SkippedFile;

use super::file::LoadFile;
use crate::load::inputs::input::LoadInput;
use crate::load::request::Request;

/// A file that can't be loaded.
pub(crate) struct BadFile {
    /// The name of the file in messages.
    pub(crate) name: String,
    pub(crate) error: Error,
}

impl BadFile {
    pub(crate) fn new(file: &LoadFile, error: Error) -> BadFile {
        BadFile { name: file.name(), error }
    }

    fn skipped(&self) -> SkippedFile {
        let mut why = Message::default();
        if let Some(line) = self.error.place().and_then(|place| place.line) {
            why.push(format!("line {line}: "));
        }
        why.push(self.error.what());
        if let Some(cause) = std::error::Error::source(&self.error) {
            why.push(format!(": {cause}"));
        }
        SkippedFile::new(&self.name, why)
    }
}

/// Returns the skipped files if all `bad` files can be skipped, or else an error about the bad files. `good` is the number of files that
/// can be loaded.
pub(crate) fn judge(load: &Request, good: usize, mut bad: Vec<BadFile>) -> Result<Vec<SkippedFile>> {
    let is_content = |bad: &BadFile| bad.error.kind() == ErrorKind::Input;
    if load.skip_bad_files && good > 0 && bad.iter().all(is_content) {
        return Ok(bad.iter().map(BadFile::skipped).collect());
    }
    if let Some(interrupted) = bad.iter().position(|bad| bad.error.kind() == ErrorKind::Interrupted) {
        return Err(bad.swap_remove(interrupted).error);
    }
    if bad.len() < 2 {
        return bad.pop().map_or(Ok(Vec::new()), |bad| Err(bad.error));
    }
    let (count, files) = (bad.len(), good + bad.len());
    let skips = good > 0 && !load.skip_bad_files && bad.iter().all(is_content);
    let error = Error::several(
        format!("{count} of {files} files can't be loaded:"),
        bad.into_iter().map(|bad| bad.error).collect(),
    );
    Err(match skips {
        true => error.hint(message![Setting::SkipBadFiles, " loads the others"]),
        false => error,
    })
}

/// Sorts bad files in the order of `inputs`, the files of the load.
pub(crate) fn in_order(bad: &mut [BadFile], inputs: &[LoadInput]) {
    let places: HashMap<String, usize> = inputs
        .iter()
        .enumerate()
        .map(|(place, input)| (without_secrets(&input.path).display().to_string(), place))
        .collect();
    bad.sort_by_key(|bad| places.get(&bad.name).copied());
}

/// Separates the files whose samples have a bad row from the good files. All files are good if bad rows go to a `reject` file.
pub(crate) fn with_bad_rows(load: &Request, files: Vec<LoadFile>) -> (Vec<LoadFile>, Vec<BadFile>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for mut file in files {
        match file.first_fault.take_if(|_| load.reject.is_none()) {
            Some(error) => bad.push(BadFile::new(&file, error)),
            None => good.push(file),
        }
    }
    (good, bad)
}
