//! Converts errors of the engine to exceptions. The Python function `sqluice._errors.of_engine` chooses the class.

use std::error::Error as StdError;
use std::io;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sqluice::error::Error;

use crate::terms::Function;

/// Returns the exception for an error. The texts of the exception name settings as parameters of `load`.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    raised_by(py, error, Function::default())
}

/// Returns the exception for an error. The texts of the exception name settings as parameters of `write` and `Writer`.
pub(crate) fn raised_by_write(py: Python<'_>, error: &Error) -> PyErr {
    raised_by(py, error, Function::Write)
}

/// Returns the exception for an error. The texts of the exception name settings as parameters of the Python function `function`.
pub(crate) fn raised_by(py: Python<'_>, error: &Error, function: Function) -> PyErr {
    match exception(py, error, function) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

fn exception<'py>(py: Python<'py>, error: &Error, function: Function) -> PyResult<Bound<'py, PyAny>> {
    let about = PyDict::new(py);
    about.set_item("kind", error.kind().name())?;
    about.set_item("message", function.rendered(error.what()))?;
    about.set_item("hint", error.remedy().and_then(|remedy| function.hint(remedy)))?;
    about.set_item("path", error.path())?;
    about.set_item("column", error.column())?;
    if let Some(place) = error.place() {
        // Python would take an empty path for the folder `.`.
        about.set_item("file", Some(&place.file).filter(|file| !file.as_os_str().is_empty()))?;
        about.set_item("sheet", place.sheet.as_deref())?;
        about.set_item("line", place.line)?;
        if place.column.is_some() {
            about.set_item("column", place.column)?;
        }
        about.set_item("byte", place.byte)?;
    }
    let parts: PyResult<Vec<_>> = error.parts().iter().map(|part| exception(py, part, function)).collect();
    about.set_item("parts", parts?)?;
    if let Some((table, row)) = error.record() {
        about.set_item("table", table)?;
        about.set_item("row", row)?;
    }
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(one) = cause {
        if let Some(error) = one.downcast_ref::<io::Error>() {
            match error.raw_os_error() {
                Some(code) => about.set_item("errno", code)?,
                // SQLite reports a full disk without an error code of the system.
                None if error.kind() == io::ErrorKind::StorageFull => {
                    about.set_item("errno", py.import("errno")?.getattr("ENOSPC")?)?;
                }
                None => {}
            }
        }
        causes.push(said(one, function));
        cause = one.source();
    }
    about.set_item("causes", causes)?;
    py.import("sqluice._errors")?.getattr("of_engine")?.call((), Some(&about))
}

/// Returns the text of a cause, with its place and without its hint.
fn said(cause: &(dyn StdError + 'static), function: Function) -> String {
    match cause.downcast_ref::<Error>() {
        Some(error) => {
            let place = error.place().map_or(String::new(), |place| format!("{place}: "));
            place + &function.rendered(error.what())
        }
        None => cause.to_string(),
    }
}

/// Returns the exception for a value that can't be stored. `row` is the number of its row, counted from 1.
pub(crate) fn of_value(py: Python<'_>, message: &str, row: u64, column: &str, hint: Option<&str>) -> PyErr {
    let made = || -> PyResult<Bound<'_, PyAny>> {
        let about = PyDict::new(py);
        about.set_item("kind", "input")?;
        about.set_item("message", format!("row {row}, column {column}: {message}"))?;
        about.set_item("row", row)?;
        about.set_item("column", column)?;
        about.set_item("hint", hint)?;
        py.import("sqluice._errors")?.getattr("of_engine")?.call((), Some(&about))
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// Returns the usage error for wrong arguments or data of `write`.
pub(crate) fn usage(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raised_by_write(py, &Error::usage(message.into()))
}
