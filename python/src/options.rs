//! Converts the arguments of Python functions to values of settings, by the declared kind of each setting.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use sqluice::error::{Error, Result, Setting};
use sqluice::given::{Given, RowCount, TakesSettings, Value};
use sqluice::options::{PageSize, WriteOptions};
use sqluice::settings::{Declaration, Kind, Taker, Verb, numbers};
use sqluice::source::arrow::ArrowOptions;

use crate::errors::raised;
use crate::terms;

/// Reads the settings of a verb from a dict. A setting that is None or missing is not given.
pub(crate) fn given(verb: Verb, arguments: &Bound<'_, PyDict>) -> PyResult<Given> {
    Given::collect(verb, |setting, declaration| {
        let argument = arguments.get_item(setting.name())?.filter(|argument| !argument.is_none());
        argument.map(|argument| value(setting, declaration.kind, &argument)).transpose()
    })
}

/// Converts an argument to the value of a setting.
fn value(setting: Setting, kind: Kind, argument: &Bound<'_, PyAny>) -> PyResult<Value> {
    let refused = |error: Error| raised(argument.py(), &error);
    Ok(match kind {
        Kind::Switch | Kind::YesOrNo => Value::Switch(argument.extract()?),
        Kind::Count | Kind::Bytes | Kind::PageSize | Kind::Unsigned => Value::Count(argument.extract()?),
        Kind::Integer(..) => Value::Integer(argument.extract()?),
        Kind::Real => Value::Real(argument.extract()?),
        Kind::Duration => Value::Duration(seconds(argument.extract()?).map_err(refused)?),
        Kind::Path => Value::Path(argument.extract()?),
        Kind::Statements => statements(argument)?,
        Kind::Character => {
            let text: String = argument.extract()?;
            Value::Character(role(setting, &text).map_err(refused)?)
        }
        Kind::Texts | Kind::Names | Kind::Columns | Kind::Indexes => Value::Texts(names(argument)?),
        Kind::TableTexts => Value::Pairs(table_texts(argument)?),
        Kind::Types | Kind::Dates | Kind::Separators | Kind::Expressions | Kind::Renames => {
            Value::Pairs(argument.extract()?)
        }
        Kind::Booleans => match argument.extract() {
            Ok(columns) => {
                let columns: Vec<(String, (String, String))> = columns;
                Value::Booleans(columns.into_iter().map(|(name, words)| (name, Some(words))).collect())
            }
            Err(_) => Value::Booleans(names(argument)?.into_iter().map(|name| (name, None)).collect()),
        },
        Kind::RowCounts => match argument.extract() {
            Ok(rows) => Value::RowCounts(vec![RowCount::Count(None, rows)]),
            Err(_) => {
                let rows: Vec<(String, u64)> = argument.extract()?;
                let rows = rows.into_iter().map(|(table, rows)| RowCount::Count(Some(table), rows));
                Value::RowCounts(rows.collect())
            }
        },
        Kind::Share => argument.extract().map(|(share, shares)| Value::Share(share, shares))?,
        _ => Value::Text(argument.extract()?),
    })
}

/// Reads statements, or the path of their file.
pub(crate) fn statements(argument: &Bound<'_, PyAny>) -> PyResult<Value> {
    match argument.is_instance_of::<PyString>() {
        true => Ok(Value::Text(argument.extract()?)),
        false => Ok(Value::Path(argument.extract()?)),
    }
}

/// Reads pairs of a table and a text. A number is converted to text.
fn table_texts(argument: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    let pairs: Vec<(String, Bound<'_, PyAny>)> = argument.extract()?;
    let text = |value: Bound<'_, PyAny>| match value.extract::<u64>() {
        Ok(number) => Ok(number.to_string()),
        Err(_) => value.extract(),
    };
    pairs.into_iter().map(|(table, value)| Ok((table, text(value)?))).collect()
}

/// Reads names: a str is one name.
fn names(argument: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match argument.is_instance_of::<PyString>() {
        true => Ok(vec![argument.extract()?]),
        false => argument.extract(),
    }
}

/// Reads a character with a role in CSV, such as the quote. An empty text means that no character has the role: the result is then `None`.
fn role(setting: Setting, text: &str) -> Result<Option<u8>> {
    match text.as_bytes() {
        [] => Ok(None),
        [byte] if byte.is_ascii() => Ok(Some(*byte)),
        _ => Err(Error::usage(format!("{} is not one character of ASCII", setting.name()))),
    }
}

/// The options that all writing functions have.
pub(crate) struct Options(Given);

impl<'py> FromPyObject<'_, 'py> for Options {
    type Error = PyErr;

    fn extract(arguments: Borrowed<'_, 'py, PyAny>) -> PyResult<Options> {
        given(Verb::Write, &*arguments.cast::<PyDict>()?).map(Options)
    }
}

impl Options {
    pub(crate) fn write(&self) -> Result<WriteOptions> {
        let mut options = WriteOptions::new();
        self.0.hand_over(&mut [&mut options])?;
        Ok(options)
    }
}

/// A setting of a function: its name, the parameter that sets it, the word that the parameter takes for it (such as `"append"` of
/// `if_exists`; `None` if the parameter takes the setting's value), and the default.
type Parameter<'py> = (&'static str, String, Option<String>, Option<Bound<'py, PyAny>>);

/// Returns the settings that are declared for a function, and the parameters that set them.
#[pyfunction]
pub(crate) fn settings<'py>(py: Python<'py>, function: &str) -> PyResult<Vec<Parameter<'py>>> {
    let verb = Verb::ALL.iter().find(|verb| verb.name() == function);
    let declared = verb.into_iter().flat_map(|verb| verb.settings());
    let declared = declared.filter(|(_, declaration)| declaration.taker != Taker::Command);
    let parameters = declared.filter_map(|(setting, declaration)| {
        let (parameter, word) = terms::place(*setting, declaration)?;
        let default = default(py, declaration).map(|default| (setting.name(), parameter, word, default));
        Some(default)
    });
    parameters.collect()
}

/// Returns the declared default as a Python object; `None` without one.
fn default<'py>(py: Python<'py>, declaration: &Declaration) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(text) = declaration.default else { return Ok(None) };
    let wrong = |error: String| raised(py, &Error::usage(error));
    Ok(Some(match declaration.kind {
        Kind::Bytes => numbers::bytes(text).map_err(wrong)?.into_pyobject(py)?.into_any(),
        Kind::Count | Kind::Unsigned | Kind::Integer(..) => {
            numbers::count(text).map_err(wrong)?.into_pyobject(py)?.into_any()
        }
        Kind::Duration => numbers::duration(text).map_err(wrong)?.as_secs_f64().into_pyobject(py)?.into_any(),
        _ => text.into_pyobject(py)?.into_any(),
    }))
}

/// Returns the options for decimals and timestamps of Arrow.
pub(crate) fn arrow(decimal: &str, timestamp: &str) -> Result<ArrowOptions> {
    let mut options = ArrowOptions::new();
    options.set(Setting::Decimal, &Value::Text(decimal.to_owned()))?;
    options.set(Setting::Timestamp, &Value::Text(timestamp.to_owned()))?;
    Ok(options)
}

/// Returns the page size of this number of bytes.
pub(crate) fn page_size(bytes: u32) -> Result<PageSize> {
    PageSize::new(bytes)
        .ok_or_else(|| Error::usage(format!("page_size={bytes} is not a power of two from 512 to 65536")))
}

/// Returns the duration of this number of seconds.
pub(crate) fn seconds(seconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| Error::usage(format!("{seconds} seconds are not a duration")).because(error))
}

/// Returns the error for a value that is not one of the allowed words.
pub(crate) fn choice(name: &str, given: &str, words: &str) -> Error {
    Error::usage(format!("{name}: {given:?} is not one of {words}"))
}
