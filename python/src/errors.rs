//! The engine's error as an exception, which Python makes: `sqluice._errors.of_engine`.

use std::error::Error as _;
use std::io;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sqluice::error::{Error, ErrorKind};

/// The exception for an error.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    match exception(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let about = PyDict::new(py);
    let kind = match error.kind() {
        ErrorKind::Input => "input",
        ErrorKind::Target => "target",
        ErrorKind::Usage => "usage",
        ErrorKind::Interrupted => "interrupted",
    };
    about.set_item("kind", kind)?;
    about.set_item("message", error.message())?;
    about.set_item("hint", error.hint_text())?;
    if let Some(place) = error.place() {
        about.set_item("file", place.file.clone())?;
        about.set_item("line", place.line)?;
        about.set_item("column", place.column)?;
        about.set_item("byte", place.byte)?;
    }
    if let Some((table, row)) = error.record() {
        about.set_item("table", table)?;
        about.set_item("row", row)?;
    }
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(one) = cause {
        if let Some(code) = one.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            about.set_item("errno", code)?;
        }
        causes.push(one.to_string());
        cause = one.source();
    }
    about.set_item("causes", causes)?;
    py.import("sqluice._errors")?.getattr("of_engine")?.call((), Some(&about))
}

/// An exception about a value of a row, counted from 1, that is given.
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

/// What was asked for makes no sense.
pub(crate) fn usage(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raised(py, &Error::usage(message))
}
