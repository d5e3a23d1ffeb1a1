//! The function `write`: writes rows of Python or Arrow to a table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Fields};
use crossbeam_channel::bounded;
use pyo3::prelude::*;
use sqluice::affinity::Affinity;
use sqluice::convert::{Conversion, ConvertedColumn, Converting};
use sqluice::error::{Assumption, Error, Result, Setting, message};
use sqluice::options::{IfExists, WriteOptions};
use sqluice::progress::Context;
use sqluice::report::Report;
use sqluice::schema::index::{IndexOrigin, Indexed};
use sqluice::schema::{Schema, Table};
use sqluice::source::Source;
use sqluice::source::arrow::{ArrowOptions, ArrowRows, ArrowSource, declared_type, guessed_type, is_moment};
use sqluice::source::columns::ColumnFrom;
use sqluice::source::json::unique_names;
use sqluice::write::{NamedRows, NewTable, PreparedWrite, Write, moment_forms, table_of};

use crate::arrow::ArrowFeed;
use crate::commands::Noted;
use crate::errors::raised_by_write;
use crate::options::{self, Options};
use crate::rows::{RowFeed, Shape};
use crate::run::{Feed, run_fed};
use crate::source::{Batches, Forms, FoundColumn, Numbered, Pieces, RowSource};
use crate::terms::Function;

/// The number of messages with rows that may wait for the engine.
const PIECES_AHEAD: usize = 2;

/// The arguments about the table.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TableArgs {
    table: String,
    primary_key: Vec<String>,
    index: Vec<String>,
    unique: Vec<String>,
    /// Statements that declare the table; `None` if the columns follow from `types` and the rows.
    schema: Option<String>,
    /// Declared types of columns, by name.
    types: Vec<(String, String)>,
    strict: bool,
    without_rowid: bool,
    decimal: String,
    timestamp: String,
    /// The approximate number of rows; `None` if unknown.
    about: Option<u64>,
}

impl TableArgs {
    /// Returns a new table with these columns. Types in `types` take precedence over those of `columns`.
    fn new_table(&self, columns: Vec<(String, String)>) -> NewTable {
        let declared = columns.into_iter().map(|(name, found)| {
            let declared = self.given_type(&name).map_or(found, str::to_owned);
            (name, declared)
        });
        NewTable::new(&self.table, declared)
            .primary_key(&self.primary_key)
            .indexes(&self.index)
            .uniques(&self.unique)
            .strict(self.strict)
            .without_rowid(self.without_rowid)
    }

    /// Returns the declared types for columns of Arrow.
    pub(crate) fn types_of(
        &self,
        names: &[String],
        fields: &Fields,
        options: ArrowOptions,
    ) -> Vec<(String, String)> {
        let types = fields.iter().map(|field| declared_type(field.data_type(), options).unwrap_or_default());
        names.iter().cloned().zip(types.map(|declared| self.strictly(declared))).collect()
    }

    /// Returns the declared types for columns whose values so far are of the kinds `found`.
    pub(crate) fn types_found(
        &self,
        names: &[String],
        found: &[FoundColumn],
        options: ArrowOptions,
    ) -> Vec<(String, String)> {
        let types = found.iter().map(|found| self.strictly(found.declared_type(options)));
        names.iter().cloned().zip(types).collect()
    }

    /// Returns a declared type, or the type that replaces it in a STRICT table.
    fn strictly(&self, declared: &str) -> String {
        // A STRICT table has no NUMERIC columns.
        match declared {
            "NUMERIC" if self.strict => "REAL".to_owned(),
            declared => declared.to_owned(),
        }
    }

    /// Returns a note for each column of decimals that is TEXT because its values can't be read before they are written.
    pub(crate) fn notes_of(&self, names: &[String], fields: &Fields, options: ArrowOptions) -> Vec<String> {
        let noted = names.iter().zip(fields).filter_map(|(name, field)| {
            let kind = field.data_type();
            let guess = guessed_type(kind, options).filter(|_| self.given_type(name).is_none())?.name();
            let condition = match guess {
                "INTEGER" => "if all values are 64-bit integers",
                _ => "if floats are exact enough for you",
            };
            Some(format!(
                "{}.{name} is TEXT: a number does not keep all digits of {kind}, and the values of a stream are not known before \
                 they are written; {condition}, schema={{{name:?}: {guess:?}}} makes it {guess}",
                self.table
            ))
        });
        noted.collect()
    }

    /// Returns the name of the table.
    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    /// Returns the columns whose types are given, with these types.
    pub(crate) fn declared(&self) -> Vec<(String, String)> {
        self.types.clone()
    }

    pub(crate) fn arrow(&self) -> Result<ArrowOptions> {
        options::arrow(&self.decimal, &self.timestamp)
    }

    fn given_type(&self, name: &str) -> Option<&str> {
        let mut types = self.types.iter();
        types.find(|(column, _)| column.eq_ignore_ascii_case(name)).map(|(_, declared)| &**declared)
    }

    /// Returns an error if a type is given for a column that does not exist.
    fn check_types(&self, names: &[String]) -> Result<()> {
        let is_given = |column: &String| names.iter().any(|name| name.eq_ignore_ascii_case(column));
        match self.types.iter().find(|(column, _)| !is_given(column)) {
            None => Ok(()),
            Some((column, _)) => {
                let first: Vec<&str> = names.iter().map(String::as_str).take(20).collect();
                Err(Error::usage(format!(
                    "schema gives a type for column {column:?}, which the rows do not have"
                ))
                .hint(format!("choose one of: {}", first.join(", "))))
            }
        }
    }
}

/// Returns a source of record batches for the table with the index `index` in the prepared write. `kinds` are the types of the original
/// data; in the batches, text is binary data.
pub(crate) fn of_arrow(
    batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    kinds: &[DataType],
    prepared: &PreparedWrite,
    index: usize,
    options: ArrowOptions,
    forms: &Forms,
) -> Box<dyn Source> {
    let (table, filled) = prepared.filled(index);
    let as_text = table.columns.iter().map(|column| column.affinity == Affinity::Text);
    let as_text: Vec<bool> = as_text.collect();
    let rows = ArrowRows::new(None, kinds.len(), filled.to_vec(), &as_text, options);
    let source = ArrowSource::new(Box::new(batches), rows.kinds(kinds), 0..u64::MAX);
    let formed = table.columns.iter().zip(filled).enumerate().filter_map(|(index, (column, from))| {
        let ColumnFrom::Field(field) = from else { return None };
        let form = forms.of(&column.name).filter(|_| is_moment(&kinds[*field], options))?;
        let conversion = Arc::new(Conversion::of_form(form));
        Some(ConvertedColumn { index, name: column.name.clone(), conversion })
    });
    Box::new(Numbered(Converting::over(Box::new(source), formed.collect())))
}

/// Returns the names of the columns, in which repeated and empty names are replaced as for files, and notes about the replaced names.
pub(crate) fn column_names(given: Vec<String>) -> (Vec<String>, Vec<String>) {
    let (names, renamed) = unique_names(given);
    let notes = renamed.iter().map(|renamed| {
        format!("column {} ({:?}) is called {:?}", renamed.index + 1, renamed.from, renamed.to)
    });
    (names, notes.collect())
}

/// Rows as the Python code gives them.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    /// The shape, the names of the columns, the rows.
    Rows(String, Vec<String>, Bound<'py, PyAny>),
    /// An object with record batches, and an iterator of further such objects.
    Arrow(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>),
}

/// Returns the columns of an existing table, without generated columns; `None` if the table does not exist.
#[pyfunction]
pub(crate) fn columns_of(py: Python<'_>, target: PathBuf, table: &str) -> PyResult<Option<Vec<String>>> {
    let found = py.detach(|| table_of(&target, table, &WriteOptions::default()));
    let found = found.map_err(|error| raised_by_write(py, &error))?;
    Ok(found.map(|table| {
        let taking = table.columns.into_iter().filter(|column| column.generated.is_none());
        taking.map(|column| column.name).collect()
    }))
}

/// Writes rows. `make` returns the rows; `again` is `true` if it can be called more than once, and `in_order` if the rows are known to
/// ascend by their rowid. Returns the report as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the package gives each of them")]
pub(crate) fn write(
    py: Python<'_>,
    target: PathBuf,
    make: &Bound<'_, PyAny>,
    again: bool,
    in_order: bool,
    table: TableArgs,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let failed = |error: Error| raised_by_write(py, &error);
    let options = write.write().map_err(failed)?;
    let mut writing = Writing {
        forms: py.detach(|| forms_of(&target, &table, &options)).map_err(failed)?,
        target,
        arrow: table.arrow().map_err(failed)?,
        options,
        table,
        in_any_order: !again && !in_order,
        known: Vec::new(),
    };
    loop {
        match writing.attempt(py, make, again, progress)? {
            Attempt::Done(report, notes) => {
                return crate::commands::as_json(py, &Noted::new(*report, Function::Write, notes));
            }
            Attempt::OutOfOrder => writing.in_any_order = true,
            Attempt::OtherTypes(seen) => writing.known = seen,
        }
    }
}

/// Returns the forms that timestamps have in the columns of an existing table.
pub(crate) fn forms_of(target: &Path, table: &TableArgs, options: &WriteOptions) -> Result<Forms> {
    moment_forms(target, &table.table, options).map(Forms)
}

/// The result of an attempt.
enum Attempt {
    Done(Box<Report>, Vec<String>),
    /// The rows are not in the order of their rowids: the next attempt must sort them.
    OutOfOrder,
    /// A value did not fit the type of its column: the next attempt must use types for these kinds of values.
    OtherTypes(Vec<FoundColumn>),
}

struct Writing {
    target: PathBuf,
    table: TableArgs,
    options: WriteOptions,
    arrow: ArrowOptions,
    in_any_order: bool,
    /// The kinds of values that earlier attempts have found in the columns.
    known: Vec<FoundColumn>,
    forms: Forms,
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
            Given::Rows(shape, keys, rows) => {
                let shape = Shape::new(py, &shape, &keys);
                let (names, notes) = column_names(keys);
                let mut feed = RowFeed::new(py, &rows, shape, names.clone(), &self.forms)?.again(again);
                let found = feed.look(py, &self.known)?;
                let (prepared, is_new) =
                    self.prepare(py, self.table.types_found(&names, &found, self.arrow))?;
                if is_new {
                    let watched = names.iter().zip(found);
                    let watched =
                        watched.map(|(name, found)| self.table.given_type(name).is_none().then_some(found));
                    feed.watch(watched.collect(), self.arrow);
                }
                let source = |pieces, prepared: &PreparedWrite| {
                    Box::new(RowSource::new(Pieces(pieces), prepared.filled(0), self.arrow, &self.forms))
                        as Box<dyn Source>
                };
                match self.run(py, &mut feed, prepared, source, progress) {
                    Err(_) if feed.other && again => Ok(Attempt::OtherTypes(feed.found())),
                    done => self.ended(py, done?, again, notes),
                }
            }
            Given::Arrow(first, more) => {
                let mut feed = ArrowFeed::new(&first, more.as_ref())?;
                let fields = feed.schema.fields().clone();
                let (names, mut notes) =
                    column_names(fields.iter().map(|field| field.name().clone()).collect());
                let types = self.table.types_of(&names, &fields, self.arrow);
                let (prepared, is_new) = match again {
                    true => {
                        let found = feed.look(py, &self.known, self.arrow)?;
                        let types = types.into_iter().zip(&found).map(|((name, declared), found)| {
                            (name, found.map_or(declared, |found| found.name().to_owned()))
                        });
                        let (prepared, is_new) = self.prepare(py, types.collect())?;
                        if is_new {
                            let given = |name: &String| self.table.given_type(name).is_some();
                            let watched = names.iter().zip(found);
                            let watched = watched.map(|(name, found)| found.filter(|_| !given(name)));
                            feed.watch(watched.collect());
                        }
                        (prepared, is_new)
                    }
                    false => self.prepare(py, types)?,
                };
                if is_new && !again {
                    notes.extend(self.table.notes_of(&names, &fields, self.arrow));
                }
                let kinds = feed.batches.kinds().to_vec();
                let source = |pieces, prepared: &PreparedWrite| {
                    of_arrow(Batches(pieces), &kinds, prepared, 0, self.arrow, &self.forms)
                };
                match self.run(py, &mut feed, prepared, source, progress) {
                    Err(_) if feed.other && again => Ok(Attempt::OtherTypes(feed.found())),
                    done => self.ended(py, done?, again, notes),
                }
            }
        }
    }

    /// Prepares the write. Also returns `true` if the table is new and its types follow from the rows.
    fn prepare(&self, py: Python<'_>, columns: Vec<(String, String)>) -> PyResult<(PreparedWrite, bool)> {
        py.detach(|| self.prepared(columns)).map_err(|error| raised_by_write(py, &error))
    }

    fn prepared(&self, columns: Vec<(String, String)>) -> Result<(PreparedWrite, bool)> {
        let (write, is_new) =
            wanted(&self.target, &self.options, vec![(&self.table, columns)], self.in_any_order)?;
        Ok((write.prepare(&Context::default())?, is_new[0]))
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
        run_fed(py, progress, Some((feed, to)), |context| prepared.run(vec![source], context))
    }

    fn ended(
        &self,
        py: Python<'_>,
        done: Result<Report>,
        again: bool,
        notes: Vec<String>,
    ) -> PyResult<Attempt> {
        match done {
            Ok(report) => Ok(Attempt::Done(Box::new(report), notes)),
            Err(error) if error.refuted() == Some(Assumption::RowOrder) && again && !self.in_any_order => {
                Ok(Attempt::OutOfOrder)
            }
            Err(error) => Err(raised_by_write(py, &error)),
        }
    }
}

/// Returns the write of rows to `tables`, each with its columns and the types for a new table. Also returns, for each table, `true` if it
/// is new and gets these types.
pub(crate) fn wanted(
    target: &Path,
    options: &WriteOptions,
    tables: Vec<(&TableArgs, Vec<(String, String)>)>,
    in_any_order: bool,
) -> Result<(Write, Vec<bool>)> {
    let mut options = options.clone();
    let (mut sql, mut rows, mut are_new) = (String::new(), Vec::new(), Vec::new());
    for (args, columns) in tables {
        let there = table_of(target, &args.table, &options)?;
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        are_new.push(there.is_none() && args.schema.is_none());
        if let (IfExists::Upsert(keys), Some(there)) = (&mut options.if_exists, &there)
            && keys.is_empty()
        {
            *keys = primary_key_of(there);
            if keys.is_empty() {
                let message = format!("table {} has no PRIMARY KEY to find its rows by", there.name);
                let hint = message![
                    "name the columns of a UNIQUE constraint or index: ",
                    Setting::PrimaryKey.to("A,B")
                ];
                return Err(Error::usage(message).hint(hint));
            }
        }
        sql += &match (&args.schema, &there) {
            (Some(sql), _) => Schema::parse(sql.clone(), Path::new("schema"))?.sql + "\n;\n",
            (None, Some(_)) => String::new(),
            (None, None) => {
                args.check_types(&names)?;
                args.new_table(columns).schema(target, &options)?.sql
            }
        };
        rows.push(NamedRows::new(&args.table, names).in_any_order(in_any_order).about(args.about));
    }
    let schema = Schema::parse(sql, Path::new("schema"))?;
    Ok((Write::new(target, schema).rows(rows).options(options), are_new))
}

/// Returns the columns of a table's PRIMARY KEY; empty if it has none.
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
