//! The functions for the second round of a distributed job, in which tasks copy their leaves to the target: each to its place in the
//! file.

use std::path::PathBuf;

use pyo3::prelude::*;
use sqluice::error::{Error, Result};
use sqluice::merge::{Merge, Place, Placed};

use crate::commands::{as_json, reported};
use crate::options::Options;
use crate::run::run;
use crate::terms::Function;

fn from_json(place: &str) -> Result<Place> {
    serde_json::from_str(place)
        .map_err(|error| Error::usage("this text is not a place of a merge").because(error))
}

/// Counts the pages that the rows of a table take in a merge.
#[pyfunction]
pub(crate) fn count_pages(py: Python<'_>, source: PathBuf, table: &str, write: Options) -> PyResult<u32> {
    run(py, Function::default(), None, |context| Place::count(&source, table, &write.write()?, context))
}

/// Removes the temporary files that killed runs have left beside a target.
#[pyfunction]
pub(crate) fn remove_leftovers(target: PathBuf) {
    sqluice::output::remove_leftovers(&target);
}

/// Exchanges the names of two folders in one step. Returns `False` if the file system does not support that.
#[pyfunction]
pub(crate) fn exchange(first: PathBuf, second: PathBuf) -> PyResult<bool> {
    match sqluice_platform::names::exchange(&first, &second) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Creates the unfinished file of a merge. Returns, as JSON, the place in the file for the leaves of each source; `None` if the sources
/// can't be merged in this way.
#[pyfunction]
pub(crate) fn places(
    py: Python<'_>,
    target: PathBuf,
    sources: Vec<PathBuf>,
    table: &str,
    file: PathBuf,
    pages: Vec<u32>,
    write: Options,
) -> PyResult<Option<String>> {
    let places = run(py, Function::default(), None, |context| {
        Merge::new(target, sources).write(write.write()?).places(table, &file, &pages, context)
    })?;
    places.map(|places| as_json(py, &places)).transpose()
}

/// Copies the leaves of a source to their place, and writes their list to the file `list`.
#[pyfunction]
pub(crate) fn place(py: Python<'_>, place: &str, list: PathBuf, write: Options) -> PyResult<()> {
    run(py, Function::default(), None, |context| from_json(place)?.write(&list, &write.write()?, context))
}

/// Completes a merge whose leaves have been written.
#[pyfunction]
pub(crate) fn merge_placed(
    py: Python<'_>,
    target: PathBuf,
    sources: Vec<PathBuf>,
    placed: Vec<(String, PathBuf)>,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    reported(py, progress, |context| {
        let placed = placed.into_iter().map(|(place, list)| Ok(Placed { place: from_json(&place)?, list }));
        let placed = placed.collect::<Result<Vec<_>>>()?;
        Merge::new(target, sources).placed(placed).write(write.write()?).run_with(context)
    })
}
