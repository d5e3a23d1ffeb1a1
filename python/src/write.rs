//! `write`: rows of Python or Arrow into a table.

use std::path::{Path, PathBuf};

use crossbeam_channel::bounded;
use pyo3::prelude::*;
use pyo3::types::PyString;
use sqluice::affinity::Affinity;
use sqluice::error::{Error, Result};
use sqluice::plan::{IfThere, WriteOptions};
use sqluice::report::Report;
use sqluice::schema::index::{IndexOrigin, Indexed};
use sqluice::schema::{Schema, Table};
use sqluice::source::Source;
use sqluice::source::arrow::{ArrowOptions, ArrowSource, Rows, declared_type};
use sqluice::write::{NamedRows, NewTable, PreparedWrite, Write, table_of};

use crate::arrow::ArrowFeed;
use crate::cells::Seen;
use crate::errors::raised;
use crate::options::{self, Options};
use crate::rows::{RowFeed, Shape};
use crate::run::{Feed, run_fed};
use crate::source::{Batches, Numbered, RowSource};

/// Pieces that wait for the engine.
const PIECES_AHEAD: usize = 2;

/// What is said about the table.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TableArgs {
    table: String,
    primary_key: Vec<String>,
    index: Vec<String>,
    unique: Vec<String>,
    /// Statements that declare it.
    schema: Option<String>,
    /// Declared types of columns, by name.
    types: Vec<(String, String)>,
    strict: bool,
    without_rowid: bool,
    decimal: String,
    timestamp: String,
    /// How many rows there are, about.
    about: Option<u64>,
}

/// Rows as the package gives them.
#[derive(FromPyObject)]
enum Given<'py> {
    /// The shape, the names of the columns, the rows.
    Rows(String, Vec<String>, Bound<'py, PyAny>),
    /// What has record batches, and what more may come.
    Arrow(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>),
}

/// The names of the columns of a table that is there that take values.
#[pyfunction]
pub(crate) fn columns_of(py: Python<'_>, target: PathBuf, table: &str) -> PyResult<Option<Vec<String>>> {
    let found = py.detach(|| table_of(&target, table, &WriteOptions::default()));
    let found = found.map_err(|error| raised(py, &error))?;
    Ok(found.map(|table| {
        let taking = table.columns.into_iter().filter(|column| column.generated.is_none());
        taking.map(|column| column.name).collect()
    }))
}

/// Writes rows; `make` gives them, `again` says that it can do so more than once. Returns the report as JSON.
#[pyfunction]
pub(crate) fn write(
    py: Python<'_>,
    target: PathBuf,
    make: &Bound<'_, PyAny>,
    again: bool,
    table: TableArgs,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let failed = |error: Error| raised(py, &error);
    let mut writing = Writing {
        target,
        arrow: options::arrow(&table.decimal, &table.timestamp).map_err(failed)?,
        options: write.write().map_err(failed)?,
        table,
        in_any_order: !again,
        known: Vec::new(),
    };
    loop {
        match writing.attempt(py, make, again, progress)? {
            Attempt::Done(report) => return crate::doors::as_json(py, &report),
            Attempt::OutOfOrder => writing.in_any_order = true,
            Attempt::OtherTypes(seen) => writing.known = seen,
        }
    }
}

/// What came of an attempt.
enum Attempt {
    Done(Box<Report>),
    /// Rows do not come in the order of their rowids.
    OutOfOrder,
    /// Values are not of the types that were found.
    OtherTypes(Vec<Seen>),
}

struct Writing {
    target: PathBuf,
    table: TableArgs,
    options: WriteOptions,
    arrow: ArrowOptions,
    in_any_order: bool,
    /// What kinds of values the columns have, as far as attempts have shown.
    known: Vec<Seen>,
}

impl Writing {
    fn attempt(
        &self,
        py: Python<'_>,
        make: &Bound<'_, PyAny>,
        again: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Attempt> {
        match make.call0()?.extract()? {
            Given::Rows(shape, names, rows) => {
                let interned = || names.iter().map(|name| PyString::new(py, name).unbind()).collect();
                let shape = match shape.as_str() {
                    "mapping" => Shape::Mapping { names: interned(), others: false },
                    "chosen" => Shape::Mapping { names: interned(), others: true },
                    "attributes" => Shape::Attributes(interned()),
                    "columns" => Shape::Columns,
                    _ => Shape::Sequence,
                };
                let mut feed = RowFeed::new(py, &rows, shape, names.clone())?;
                let seen = feed.look(py, &self.known)?;
                let found = names.iter().zip(&seen);
                let found: Vec<_> =
                    found.map(|(name, seen)| (name.clone(), seen.declared_type().to_owned())).collect();
                let (prepared, is_new) = self.prepare(py, found)?;
                if is_new {
                    let watched = names.iter().zip(seen);
                    let watched = watched.map(|(name, seen)| self.given_type(name).is_none().then_some(seen));
                    feed.watch(watched.collect());
                }
                let source = |pieces, prepared: &PreparedWrite| {
                    Box::new(RowSource::new(pieces, prepared.filled(0).1.to_vec())) as Box<dyn Source>
                };
                match self.run(py, &mut feed, prepared, source, progress) {
                    Err(_) if feed.other && again => Ok(Attempt::OtherTypes(feed.seen())),
                    done => self.ended(py, done?, again),
                }
            }
            Given::Arrow(first, more) => {
                let mut feed = ArrowFeed::new(&first, more.as_ref())?;
                let fields = feed.schema.fields().clone();
                let found = fields.iter().map(|field| {
                    // A STRICT table has no NUMERIC columns.
                    let declared = match declared_type(field.data_type(), self.arrow).unwrap_or_default() {
                        "NUMERIC" if self.table.strict => "REAL",
                        declared => declared,
                    };
                    (field.name().clone(), declared.to_owned())
                });
                let (prepared, _) = self.prepare(py, found.collect())?;
                let source = |pieces, prepared: &PreparedWrite| {
                    let (table, filled) = prepared.filled(0);
                    let as_text = table.columns.iter().map(|column| column.affinity == Affinity::Text);
                    let as_text: Vec<bool> = as_text.collect();
                    let rows = Rows::new(PathBuf::new(), fields.len(), filled.to_vec(), &as_text, self.arrow);
                    let source = ArrowSource::new(Box::new(Batches(pieces)), rows, 0..u64::MAX);
                    Box::new(Numbered(source)) as Box<dyn Source>
                };
                let done = self.run(py, &mut feed, prepared, source, progress)?;
                self.ended(py, done, again)
            }
        }
    }

    /// What is written, and whether the table's types were found here.
    fn prepare(&self, py: Python<'_>, columns: Vec<(String, String)>) -> PyResult<(PreparedWrite, bool)> {
        py.detach(|| self.prepared(columns)).map_err(|error| raised(py, &error))
    }

    fn prepared(&self, columns: Vec<(String, String)>) -> Result<(PreparedWrite, bool)> {
        let TableArgs { table, primary_key, index, unique, schema, strict, without_rowid, about, .. } =
            &self.table;
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let there = table_of(&self.target, table, &self.options)?;
        let is_new = there.is_none() && schema.is_none();
        let mut options = self.options.clone();
        if let (IfThere::Upsert(keys), Some(there)) = (&mut options.if_there, &there)
            && keys.is_empty()
        {
            *keys = primary_key_of(there);
        }
        let schema = match (schema, &there) {
            (Some(sql), _) => Schema::parse(sql.clone(), Path::new("schema"))?,
            (None, Some(_)) => Schema::parse(String::new(), Path::new(""))?,
            (None, None) => {
                self.check_types(&names)?;
                let declared = columns.into_iter().map(|(name, found)| {
                    let declared = self.given_type(&name).map_or(found, str::to_owned);
                    (name, declared)
                });
                let new = NewTable {
                    name: table.clone(),
                    columns: declared.collect(),
                    primary_key: primary_key.clone(),
                    indexes: index.clone(),
                    uniques: unique.clone(),
                    strict: *strict,
                    without_rowid: *without_rowid,
                };
                new.schema(&self.target, &options)?
            }
        };
        let rows = NamedRows {
            table: table.clone(),
            columns: names,
            in_any_order: self.in_any_order,
            about: *about,
        };
        let write = Write { target: self.target.clone(), schema, rows: vec![rows], lossless: false, options };
        Ok((write.prepare()?, is_new))
    }

    fn given_type(&self, name: &str) -> Option<&str> {
        let mut types = self.table.types.iter();
        types.find(|(column, _)| column.eq_ignore_ascii_case(name)).map(|(_, declared)| &**declared)
    }

    /// Types are given for columns that there are.
    fn check_types(&self, names: &[String]) -> Result<()> {
        let is_there = |column: &String| names.iter().any(|name| name.eq_ignore_ascii_case(column));
        match self.table.types.iter().find(|(column, _)| !is_there(column)) {
            None => Ok(()),
            Some((column, _)) => {
                let first: Vec<&str> = names.iter().map(String::as_str).take(20).collect();
                Err(Error::usage(format!("schema gives column {column:?} a type, and the rows have none"))
                    .hint(format!("there are: {}", first.join(", "))))
            }
        }
    }

    fn run(
        &self,
        py: Python<'_>,
        feed: &mut dyn Feed,
        prepared: PreparedWrite,
        source: impl FnOnce(crossbeam_channel::Receiver<crate::source::Piece>, &PreparedWrite) -> Box<dyn Source>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Result<Report>> {
        let (to, pieces) = bounded(PIECES_AHEAD);
        let source = source(pieces, &prepared);
        run_fed(py, progress, Some((feed, to)), |progress, cancel| {
            prepared.run(vec![source], progress, cancel)
        })
    }

    fn ended(&self, py: Python<'_>, done: Result<Report>, again: bool) -> PyResult<Attempt> {
        match done {
            Ok(report) => Ok(Attempt::Done(Box::new(report))),
            Err(error) if error.is_out_of_order() && again && !self.in_any_order => Ok(Attempt::OutOfOrder),
            Err(error) => Err(raised(py, &error)),
        }
    }
}

/// The columns of a table's PRIMARY KEY.
fn primary_key_of(table: &Table) -> Vec<String> {
    let name = |column: usize| table.columns[column].name.clone();
    if let Some(alias) = table.rowid_alias {
        return vec![name(alias)];
    }
    let of_key = table.indexes.iter().find(|index| index.origin == IndexOrigin::PrimaryKey);
    let Some(key) = table.clustered.as_ref().or(of_key) else { return Vec::new() };
    let columns = key.columns[..key.key_columns].iter();
    let columns = columns.filter_map(|column| match column.value {
        Indexed::Column(column) => Some(name(column)),
        Indexed::Rowid | Indexed::Expression => None,
    });
    columns.collect()
}
