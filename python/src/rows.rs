//! Converts rows of Python to columns: tuples and other sequences, dicts, objects with attributes, and columns that come in chunks.
//!
//! Values whose type is exactly `str`, `int`, `float`, `bytes`, `bool` or `None` are read here. `sqluice._values.adapt` first converts all
//! other values to one of these.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, TimeUnit};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyAttributeError, PyException};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyIterator, PyList, PyString, PyTuple};
use sqluice::convert::MomentForm;
use sqluice::source::arrow::{ArrowOptions, guessed_type};
use sqluice::source::cells::Cells;
use sqluice_format::limits::LENGTH_MAX;

use crate::arrow::ArrowFeed;
use crate::errors::of_value;
use crate::run::Feed;
use crate::source::{ColumnOfPython, Forms, FoundColumn, Piece, RowsOfPython};

/// The maximum number of rows of a part: of the rows that are passed to the engine at once. A chunk that is a list of columns is one part,
/// whatever its size.
const PART_ROWS: usize = 32 << 10;

/// The number of bytes of text and blobs with which a part of single rows ends, even with fewer rows.
const PART_BYTES: usize = 4 << 20;

/// The form of the items that the iterator gives.
pub(crate) enum Shape {
    /// A sequence with a value for each column.
    Sequence,
    /// A dict whose keys are names of columns. A missing key is NULL.
    Mapping {
        names: Vec<Py<PyString>>,
        /// `true` if keys that are not in `names` are ignored, `false` if such a key is an error.
        others: bool,
    },
    /// An object with attributes of these names.
    Attributes(Vec<Py<PyString>>),
    /// A chunk of rows instead of a row: an object with record batches, or a list of columns. A column is a list of values, a tuple with a
    /// list of timestamps, a buffer of int64 or float64, or an array of Arrow.
    Columns,
}

impl Shape {
    /// Returns the shape that Python calls by this name: "mapping", "chosen" (a mapping with other keys), "attributes", "columns" or
    /// "sequence".
    pub(crate) fn new(py: Python<'_>, shape: &str, names: &[String]) -> Shape {
        let interned = || names.iter().map(|name| PyString::new(py, name).unbind()).collect();
        match shape {
            "mapping" => Shape::Mapping { names: interned(), others: false },
            "chosen" => Shape::Mapping { names: interned(), others: true },
            "attributes" => Shape::Attributes(interned()),
            "columns" => Shape::Columns,
            _ => Shape::Sequence,
        }
    }
}

/// The rows of a Python iterator, converted part by part.
pub(crate) struct RowFeed {
    rows: Py<PyIterator>,
    shape: Shape,
    names: Vec<String>,
    /// The forms in which timestamps are written to columns of an existing table; `None` for the usual form.
    forms: Vec<Option<MomentForm>>,
    adapt: Py<PyAny>,
    /// The number of rows that were converted so far.
    done: u64,
    /// The number of values so far in the current column of a chunk.
    done_of_chunk: u64,
    /// The first part, if [`RowFeed::look`] has read it already.
    first: Option<RowsOfPython>,
    /// The record batches of the current chunk; `None` for a chunk of another kind.
    batches: Option<ArrowFeed>,
    /// The remaining rows of the current batch; `None` if none are left.
    batch: Option<RecordBatch>,
    /// The units of columns of durations, which are stored as integers.
    units: Vec<Option<TimeUnit>>,
    /// For columns whose types follow from values: the kinds of their values so far. `None` for columns whose type is given.
    watched: Vec<Option<FoundColumn>>,
    options: ArrowOptions,
    /// `true` if the rows can be read again, with other types.
    again: bool,
    /// `true` if a value after the first part did not fit the type that was chosen for its column.
    pub(crate) other: bool,
}

impl RowFeed {
    /// Makes a feed of rows of this shape, for columns with these names.
    pub(crate) fn new(
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        shape: Shape,
        names: Vec<String>,
        forms: &Forms,
    ) -> PyResult<RowFeed> {
        let adapt = py.import("sqluice._values")?.getattr("adapt")?.unbind();
        let rows = rows.try_iter()?.unbind();
        let (watched, units) = (vec![None; names.len()], vec![None; names.len()]);
        Ok(RowFeed {
            rows,
            shape,
            forms: names.iter().map(|name| forms.of(name)).collect(),
            names,
            adapt,
            done: 0,
            done_of_chunk: 0,
            first: None,
            batches: None,
            batch: None,
            units,
            watched,
            options: ArrowOptions::default(),
            again: false,
            other: false,
        })
    }

    /// Sets `again`: `true` if the rows can be read again.
    pub(crate) fn again(self, again: bool) -> RowFeed {
        RowFeed { again, ..self }
    }

    /// Reads the first part. Returns the kinds of values in each column, together with those that are `known` from earlier attempts.
    pub(crate) fn look(&mut self, py: Python<'_>, known: &[FoundColumn]) -> PyResult<Vec<FoundColumn>> {
        self.first = self.part(py)?;
        let none = std::iter::repeat(FoundColumn::default());
        let known = known.iter().cloned().chain(none).take(self.names.len());
        Ok(match &self.first {
            None => known.collect(),
            Some(part) => {
                part.columns.iter().zip(known).map(|(column, known)| column.found().and(known)).collect()
            }
        })
    }

    /// Sets, for each column, the kinds of values that its declared type was chosen for. A later value of another kind is then an error;
    /// `None` accepts all values.
    pub(crate) fn watch(&mut self, watched: Vec<Option<FoundColumn>>, options: ArrowOptions) {
        (self.watched, self.options) = (watched, options);
    }

    /// Returns an element for each column: the kinds of its values so far if its type follows from them, otherwise the default.
    pub(crate) fn found(&self) -> Vec<FoundColumn> {
        self.watched.iter().map(|found| found.clone().unwrap_or_default()).collect()
    }

    /// Returns the next part; `None` after the last.
    fn part(&mut self, py: Python<'_>) -> PyResult<Option<RowsOfPython>> {
        if let Shape::Columns = self.shape {
            return self.chunk(py);
        }
        let mut columns: Vec<Cells> = self.names.iter().map(|_| Cells::default()).collect();
        let mut rows = 0;
        let iterator = self.rows.clone_ref(py).into_bound(py);
        while rows < PART_ROWS {
            let Some(row) = iterator.clone().next() else { break };
            self.push_row(&row?, &mut columns)?;
            rows += 1;
            self.done += 1;
            if columns.iter().map(Cells::data_bytes).sum::<usize>() >= PART_BYTES {
                break;
            }
        }
        let columns = columns.into_iter().map(ColumnOfPython::Cells).collect();
        Ok((rows > 0).then_some(RowsOfPython { rows, columns }))
    }

    fn push_row(&self, row: &Bound<'_, PyAny>, columns: &mut [Cells]) -> PyResult<()> {
        let py = row.py();
        match &self.shape {
            Shape::Sequence => {
                if let Ok(tuple) = row.cast::<PyTuple>() {
                    self.check_length(py, tuple.len())?;
                    for (index, value) in tuple.iter_borrowed().enumerate() {
                        self.push(&value, index, &mut columns[index])?;
                    }
                } else if let Ok(list) = row.cast::<PyList>() {
                    self.check_length(py, list.len())?;
                    // A list can change while it is read.
                    for (index, value) in list.iter().take(columns.len()).enumerate() {
                        self.push(&value, index, &mut columns[index])?;
                    }
                } else {
                    let tuple = self.as_tuple(row)?;
                    self.check_length(py, tuple.len())?;
                    for (index, value) in tuple.iter_borrowed().enumerate() {
                        self.push(&value, index, &mut columns[index])?;
                    }
                }
            }
            Shape::Mapping { names, others } => {
                let made;
                let dict = match row.cast::<PyDict>() {
                    Ok(dict) => dict,
                    Err(_) => {
                        made = self.as_dict(row)?;
                        &made
                    }
                };
                let mut found = 0;
                for (index, name) in names.iter().enumerate() {
                    match dict.get_item(name)? {
                        Some(value) => {
                            found += 1;
                            self.push(&value, index, &mut columns[index])?;
                        }
                        None => columns[index].push_null(),
                    }
                }
                if found < dict.len() && !others {
                    return Err(self.unknown_key(dict));
                }
            }
            Shape::Attributes(names) => {
                for (index, name) in names.iter().enumerate() {
                    let value = row.getattr(name).map_err(|error| {
                        match error.is_instance_of::<PyAttributeError>(py) {
                            true => {
                                self.about(py, index, "the row has no such attribute", None, Some(&error))
                            }
                            false => error,
                        }
                    })?;
                    self.push(&value, index, &mut columns[index])?;
                }
            }
            Shape::Columns => {}
        }
        Ok(())
    }

    #[inline]
    fn push(&self, value: &Bound<'_, PyAny>, column: usize, cells: &mut Cells) -> PyResult<()> {
        if value.is_none() {
            cells.push_null();
        } else if !self.push_exact(value, column, cells)? {
            let adapted = self.adapt.bind(value.py()).call1((value,)).map_err(|error| {
                // Ctrl-C and similar exceptions are raised unchanged.
                if !error.is_instance_of::<PyException>(value.py()) {
                    return error;
                }
                self.about(value.py(), column, &error.value(value.py()).to_string(), None, Some(&error))
            })?;
            let formed = match self.forms[column] {
                Some(form) if is_datetime(value)? => in_form(&adapted, &form),
                _ => None,
            };
            if let Some(text) = formed {
                cells.push_text(&text);
            } else if adapted.is_none() {
                cells.push_null();
            } else if !self.push_exact(&adapted, column, cells)? {
                let message = format!("a {} can't be stored", value.get_type().name()?);
                let hint = "convert it to str, int, float or bytes";
                return Err(self.about(value.py(), column, &message, Some(hint), None));
            }
        }
        Ok(())
    }

    /// Appends a value of a type that SQLite stores. Returns `false` for a value of another type, without appending it.
    #[inline]
    fn push_exact(&self, value: &Bound<'_, PyAny>, column: usize, cells: &mut Cells) -> PyResult<bool> {
        let py = value.py();
        if let Ok(text) = value.cast_exact::<PyString>() {
            let text = text.to_str().map_err(|error| {
                self.about(py, column, "text with half of a surrogate pair is no Unicode", None, Some(&error))
            })?;
            self.check_bytes(py, column, text.len())?;
            cells.push_text(text);
        } else if let Ok(int) = value.cast_exact::<PyInt>() {
            let int = int.extract::<i64>().map_err(|error| {
                let hint = "SQLite's integers have 64 bits: store it as str or float";
                self.about(py, column, "the integer is too large for SQLite", Some(hint), Some(&error))
            })?;
            cells.push_int(int);
        } else if let Ok(real) = value.cast_exact::<PyFloat>() {
            let real = real.value();
            // SQLite stores NaN as NULL.
            if real.is_nan() { cells.push_null() } else { cells.push_real(real) }
        } else if let Ok(blob) = value.cast_exact::<PyBytes>() {
            self.check_bytes(py, column, blob.as_bytes().len())?;
            cells.push_blob(blob.as_bytes());
        } else if let Ok(truth) = value.cast_exact::<PyBool>() {
            cells.push_int(i64::from(truth.is_true()));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Returns the rows of the next chunk that is not empty, or, from a chunk of record batches, some of its rows. `None` at the end.
    fn chunk(&mut self, py: Python<'_>) -> PyResult<Option<RowsOfPython>> {
        loop {
            if let Some(rows) = self.rows_of_batch(py)? {
                return Ok(Some(rows));
            }
            let Some(chunk) = self.rows.clone_ref(py).into_bound(py).next() else { return Ok(None) };
            let chunk = chunk?;
            if crate::arrow::is_rows(&chunk)? {
                let feed = ArrowFeed::after(&chunk, self.done)?;
                self.check_length(py, feed.schema.fields().len())?;
                self.batches = Some(feed);
            } else if let Some(rows) = self.columns_of(py, &chunk)? {
                return Ok(Some(rows));
            }
        }
    }

    /// Returns rows of the current batch, or of the next batch of the chunk; `None` if the chunk has no more.
    fn rows_of_batch(&mut self, py: Python<'_>) -> PyResult<Option<RowsOfPython>> {
        let Some(feed) = &mut self.batches else { return Ok(None) };
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => match feed.next(py)? {
                Some(Piece::Batch(batch)) => batch,
                _ => {
                    self.batches = None;
                    return Ok(None);
                }
            },
        };
        let kinds = feed.batches.kinds().to_vec();
        for (index, kind) in kinds.iter().enumerate() {
            self.check_unit(py, index, kind)?;
        }
        let rows = batch.num_rows().min(PART_ROWS);
        if rows < batch.num_rows() {
            self.batch = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        self.done += rows as u64;
        let columns = batch.columns().iter().map(|column| column.slice(0, rows)).zip(kinds);
        let columns = columns.map(|(column, kind)| ColumnOfPython::Arrow(column, kind)).collect();
        Ok(Some(RowsOfPython { rows, columns }))
    }

    /// Refuses durations whose unit differs from that of earlier ones, because a column stores them as integers of one unit.
    fn check_unit(&mut self, py: Python<'_>, index: usize, kind: &DataType) -> PyResult<()> {
        let &DataType::Duration(unit) = kind else { return Ok(()) };
        let known = *self.units[index].get_or_insert(unit);
        if known == unit {
            return Ok(());
        }
        let message = format!("these durations are of the unit {unit:?}, but those before of {known:?}");
        Err(self.about(py, index, &message, Some("cast all durations to one unit"), None))
    }

    fn columns_of(&mut self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<Option<RowsOfPython>> {
        let mut columns = Vec::new();
        let mut rows = None;
        for (index, column) in chunk.try_iter()?.enumerate() {
            let cells = self.column(py, &column?, index)?;
            let length = cells.1;
            if *rows.get_or_insert(length) != length {
                return Err(self.about(py, index, "the columns have different lengths", None, None));
            }
            columns.push(cells.0);
        }
        let rows = rows.unwrap_or(0);
        self.check_length(py, columns.len())?;
        self.done += rows as u64;
        self.done_of_chunk = 0;
        Ok((rows > 0).then_some(RowsOfPython { rows, columns }))
    }

    fn column(
        &mut self,
        py: Python<'_>,
        column: &Bound<'_, PyAny>,
        index: usize,
    ) -> PyResult<(ColumnOfPython, usize)> {
        if crate::arrow::is_column(column)? {
            let name = self.names.get(index).map_or("", String::as_str);
            let (array, kind) = crate::arrow::array(column, name, self.done)?;
            self.check_unit(py, index, &kind)?;
            let rows = array.len();
            return Ok((ColumnOfPython::Arrow(array, kind), rows));
        }
        let (cells, rows) = self.cells(py, column, index)?;
        Ok((ColumnOfPython::Cells(cells), rows))
    }

    fn cells(&mut self, py: Python<'_>, column: &Bound<'_, PyAny>, index: usize) -> PyResult<(Cells, usize)> {
        // A tuple marks a column of timestamps.
        if let Ok(column) = column.cast::<PyTuple>() {
            let column = column.get_item(0)?;
            let Some(form) = self.forms.get(index).copied().flatten() else {
                return self.cells(py, &column, index);
            };
            let formed = PyList::empty(py);
            for value in column.try_iter()? {
                let value = value?;
                match in_form(&value, &form) {
                    Some(text) => formed.append(text)?,
                    None => formed.append(value)?,
                }
            }
            return self.cells(py, &formed, index);
        }
        if let Ok(list) = column.cast::<PyList>() {
            let mut cells = Cells::default();
            self.done_of_chunk = 0;
            for value in list.iter() {
                self.push(&value, index, &mut cells)?;
                self.done_of_chunk += 1;
            }
            return Ok((cells, self.done_of_chunk as usize));
        }
        if let Ok(ints) = PyBuffer::<i64>::get(column) {
            let ints = ints.to_vec(py)?;
            let rows = ints.len();
            return Ok((Cells::from(ints), rows));
        }
        let reals = PyBuffer::<f64>::get(column)?.to_vec(py)?;
        let rows = reals.len();
        if !reals.iter().any(|real| real.is_nan()) {
            return Ok((Cells::from(reals), rows));
        }
        let mut cells = Cells::default();
        for real in reals {
            if real.is_nan() { cells.push_null() } else { cells.push_real(real) }
        }
        Ok((cells, rows))
    }

    fn as_tuple<'py>(&self, row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = row.py();
        let text = row.cast::<PyString>().is_ok() || row.cast::<PyBytes>().is_ok();
        let tuple = match text {
            true => None,
            false => py.get_type::<PyTuple>().call1((row,)).ok().and_then(|tuple| tuple.cast_into().ok()),
        };
        tuple.ok_or_else(|| self.no_row(row))
    }

    fn as_dict<'py>(&self, row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let py = row.py();
        let made = py.get_type::<PyDict>().call1((row,)).ok().and_then(|dict| dict.cast_into().ok());
        made.ok_or_else(|| self.no_row(row))
    }

    fn no_row(&self, row: &Bound<'_, PyAny>) -> PyErr {
        let py = row.py();
        let kind = row.get_type().name().map_or("object".to_owned(), |name| name.to_string());
        let message = format!("row {}: a {kind} is no row like the first", self.done + 1);
        crate::errors::usage(py, message)
    }

    fn check_length(&self, py: Python<'_>, length: usize) -> PyResult<()> {
        let columns = self.names.len();
        if length == columns {
            return Ok(());
        }
        let row = self.done + 1;
        let message = format!("row {row} has {length} values, but there are {columns} columns");
        let error = sqluice::error::Error::input(message).of_record("", row);
        Err(crate::errors::raised_by_write(py, &error))
    }

    fn check_bytes(&self, py: Python<'_>, column: usize, bytes: usize) -> PyResult<()> {
        if bytes <= LENGTH_MAX {
            return Ok(());
        }
        let message = format!("{bytes} bytes are too many: SQLite stores at most {LENGTH_MAX}");
        Err(self.about(py, column, &message, None, None))
    }

    fn unknown_key(&self, dict: &Bound<'_, PyDict>) -> PyErr {
        let py = dict.py();
        let known = |key: &Bound<'_, PyAny>| match &self.shape {
            Shape::Mapping { names, .. } => names.iter().any(|name| key.eq(name).unwrap_or(false)),
            _ => false,
        };
        let key =
            dict.keys().into_iter().find(|key| !known(key)).map(|key| key.to_string()).unwrap_or_default();
        let hint = "name all keys by columns=, or only those to write, in the order of their columns";
        self.about_named(py, &key, "no row before has this key", Some(hint), None)
    }

    fn about(
        &self,
        py: Python<'_>,
        column: usize,
        message: &str,
        hint: Option<&str>,
        cause: Option<&PyErr>,
    ) -> PyErr {
        let name = self.names.get(column).map_or("", String::as_str);
        self.about_named(py, name, message, hint, cause)
    }

    fn about_named(
        &self,
        py: Python<'_>,
        name: &str,
        message: &str,
        hint: Option<&str>,
        cause: Option<&PyErr>,
    ) -> PyErr {
        let error = of_value(py, message, self.done + self.done_of_chunk + 1, name, hint);
        error.set_cause(py, cause.map(|cause| cause.clone_ref(py)));
        error
    }

    /// Returns an error if a value of the part does not fit the type of its column.
    fn check_kinds(&mut self, py: Python<'_>, part: &RowsOfPython) -> PyResult<()> {
        for (index, column) in part.columns.iter().enumerate() {
            let Some(known) = &self.watched[index] else { continue };
            let is_the_same = |kind: &DataType| {
                known.arrow.as_ref() == Some(kind) && guessed_type(kind, self.options).is_none()
            };
            if matches!(column, ColumnOfPython::Arrow(_, kind) if is_the_same(kind)) {
                continue;
            }
            let all = known.clone().and(column.found());
            let declared = known.declared_type(self.options);
            // A column without a declared type converts nothing, so any value fits. If it has had only NULLs and the rows can be read
            // again, a later value can still give it a type.
            if declared.is_empty() && !(self.again && *known == FoundColumn::default()) {
                continue;
            }
            if all.declared_type(self.options) == declared {
                self.watched[index] = Some(all);
                continue;
            }
            let row = match column {
                ColumnOfPython::Cells(cells) => cells.first_other(known.seen).unwrap_or(0),
                ColumnOfPython::Arrow(_, _) => 0,
            };
            self.watched[index] = Some(all);
            self.other = true;
            let message =
                format!("the first rows gave this column the type {declared}, which does not fit this value");
            let name = &self.names[index];
            let hint =
                format!("schema={{{name:?}: \"\"}} keeps all values as they are, another type converts them");
            let number = self.done - part.rows as u64 + row as u64 + 1;
            return Err(of_value(py, &message, number, name, Some(&hint)));
        }
        Ok(())
    }
}

/// Returns `true` for a `datetime` and the timestamps of pandas and NumPy.
fn is_datetime(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.hasattr("hour")? && value.hasattr("year")? || value.get_type().name()? == "datetime64")
}

/// Returns a timestamp in a form, if it is a text; otherwise `None`.
fn in_form(value: &Bound<'_, PyAny>, form: &MomentForm) -> Option<String> {
    let text = value.cast_exact::<PyString>().ok()?.to_str().ok()?;
    let mut formed = Vec::new();
    form.write(text.as_bytes(), &mut formed);
    String::from_utf8(formed).ok()
}

impl Feed for RowFeed {
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Piece>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(Piece::Rows(first)));
        }
        let Some(part) = self.part(py)? else { return Ok(None) };
        self.check_kinds(py, &part)?;
        Ok(Some(Piece::Rows(part)))
    }
}
