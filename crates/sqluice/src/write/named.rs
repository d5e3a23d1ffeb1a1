//! Writes rows with named columns to existing or new tables.
//!
//! ```text
//!  rows     name, id                                  the columns that the caller's source gives
//!  table    id INTEGER PRIMARY KEY, name TEXT, note TEXT DEFAULT '-'
//!  mapping  Field(1)                Field(0)   Constant('-')          how batches fill the table: [`PreparedWrite::filled`]
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqluice_core::error::{Assumption, Error, Result, Setting, message};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::remote::is_url;
use sqluice_core::schema::{Schema, Table};
use sqluice_core::setters;
use sqluice_core::source::columns::{ColumnFrom, Constant};
use sqluice_core::source::{NoRows, Part, Source};
use sqluice_engine::attempts::{self, Outcome, Refuted};
use sqluice_engine::encode::Coercion;
use sqluice_engine::options::{IfExists, WriteOptions, WritePath};
use sqluice_engine::output::Target;
use sqluice_engine::plan::{ExpectedRows, Plan};
use sqluice_engine::report::Report;
use sqluice_engine::target::TargetSnapshot;
use sqluice_engine::trees::Job;
use sqluice_sources::convert::MomentForm;

use super::add;
use crate::expressions::functions::Functions;
use crate::full_text::{OverOthers, add_taking_rows, taking_rows};
use crate::load::expressions::source::{Outputs, computed};
use crate::load::files::default_value::{self, DefaultValue};
use crate::load::files::file::outputs_of_defaults;
use crate::load::request::names;
use crate::remote;

/// The name of a table, and the names of the columns that a source of rows gives to it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NamedRows {
    /// The table.
    pub table: String,
    /// The columns of the rows, in the order of the source.
    pub columns: Vec<String>,
    /// `true` if rows may be in any order of their INTEGER PRIMARY KEY, and may have NULL in it, which becomes the largest earlier key
    /// plus 1. If `false`, a row whose key is not greater than the key of the previous row ends the run with an error that refutes
    /// [`Assumption::RowOrder`], unless SQLite inserts the rows.
    pub in_any_order: bool,
    /// The approximate number of rows of the source, if known.
    pub about: Option<u64>,
}

/// Rows for tables of a new or existing database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Write {
    /// The database.
    pub target: PathBuf,
    /// The declarations of the tables that the database does not have yet.
    pub schema: Schema,
    /// The tables that get rows, with the columns of these rows. A run needs a source for each element, in the same order.
    pub rows: Vec<NamedRows>,
    /// `true` if a conversion that loses digits of a text is an error.
    pub lossless: bool,
    /// The options for writing the database.
    pub options: WriteOptions,
}

/// A write whose tables are known and whose plan is made.
#[derive(Debug)]
pub struct PreparedWrite {
    write: Write,
    plan: Plan,
    schema: Schema,
    /// For each source of rows, its table and the mapping from its rows to the table's columns.
    tables: Vec<(usize, Vec<ColumnFrom>)>,
    /// For each source of rows, the columns whose DEFAULT has another value in each row; `None` if there are none.
    varying: Vec<Option<Arc<Outputs>>>,
    /// The functions that compute DEFAULTs.
    functions: Functions,
}

/// Returns the table `name` of the database at `target`, or `None` if the table or the database does not exist.
///
/// # Errors
/// If the file is not a database that can be read and written.
pub fn table_of(target: &Path, name: &str, options: &WriteOptions) -> Result<Option<Table>> {
    // An object in a store is always a new database, so it has no table yet.
    if is_url(target) {
        return Ok(None);
    }
    let target = Target::resolve(target, options);
    Ok(attempts::look(Some(&target), options)?.and_then(|existing| existing.table(name).cloned()))
}

/// Returns, for each column of the table `name`, the notation of its timestamps; `None` if it is the notation of a new table. Returns an
/// empty list if the table does not exist, or its rows are replaced.
///
/// # Errors
/// If the file is not a database that can be read and written.
pub fn moment_forms(
    target: &Path,
    name: &str,
    options: &WriteOptions,
) -> Result<Vec<(String, Option<MomentForm>)>> {
    if is_url(target) {
        return Ok(Vec::new());
    }
    let existing = attempts::look(Some(&Target::resolve(target, options)), options)?;
    let Some((existing, table)) =
        existing.as_ref().and_then(|existing| Some((existing, existing.table(name)?)))
    else {
        return Ok(Vec::new());
    };
    let names = table.columns.iter().map(|column| column.name.clone());
    Ok(names.zip(names::moment_forms(existing, name)).collect())
}

impl NamedRows {
    /// Creates rows for `table` with these columns.
    pub fn new(table: impl Into<String>, columns: impl IntoIterator<Item = impl Into<String>>) -> NamedRows {
        NamedRows {
            table: table.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            ..NamedRows::default()
        }
    }
}

setters! { NamedRows:
    /// Accepts rows in any order of their INTEGER PRIMARY KEY, which may be NULL.
    in_any_order(in_any_order: bool) = in_any_order;
    /// Sets the approximate number of rows.
    about(rows: impl Into<Option<u64>>) = rows.into();
}

setters! { Write:
    /// Sets the tables that get rows, with the columns of these rows. A run needs a source for each of them, in the same order.
    rows(rows: impl IntoIterator<Item = NamedRows>) = rows.into_iter().collect();
    /// Refuses a conversion that loses digits of a text.
    lossless(lossless: bool) = lossless;
    /// Sets the options for writing the database.
    options(options: WriteOptions) = options;
}

impl Write {
    /// Creates a write to `target`. `schema` declares the tables that the database does not have yet.
    pub fn new(target: impl Into<PathBuf>, schema: Schema) -> Write {
        Write {
            target: target.into(),
            schema,
            rows: Vec::new(),
            lossless: false,
            options: WriteOptions::default(),
        }
    }

    /// Writes the rows of one source for each of [`Write::rows`], in order, without progress reports.
    ///
    /// # Errors
    /// As [`Write::prepare`] and [`PreparedWrite::run`].
    pub fn run(&self, sources: Vec<Box<dyn Source + '_>>) -> Result<Report> {
        self.run_with(sources, &Context::default())
    }

    /// Writes the rows of one source for each of [`Write::rows`], in order. Reports progress to `context`, and stops if `context` is
    /// canceled.
    ///
    /// # Errors
    /// As [`Write::prepare`] and [`PreparedWrite::run`].
    pub fn run_with(&self, sources: Vec<Box<dyn Source + '_>>, context: &Context<'_>) -> Result<Report> {
        self.prepare(context)?.run(sources, context)
    }

    /// Plans the write. Writes nothing.
    ///
    /// # Errors
    /// If a table is unknown or prevents the write, columns do not fit, or the database can't be written.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedWrite> {
        context.cancel.check()?;
        let mut write = self.clone();
        remote::connect(Some(&write.target), &mut write.options, &context.cancel)?;
        let functions = Functions::of_run(&write.options)?.of_schema();
        write.plan(functions)
    }

    /// Plans the write. `functions` compute the DEFAULTs of columns that the rows lack.
    fn plan(self, functions: Functions) -> Result<PreparedWrite> {
        let Write { rows, options, .. } = &self;
        let target = Target::resolve(&self.target, options);
        let existing = attempts::look(Some(&target), options)?;
        let encoding = existing.as_ref().map_or("UTF-8", |existing| existing.encoding);
        let functions = functions.in_encoding(encoding);
        let declared = self.declared();
        let schema = match &existing {
            None => declared,
            Some(existing) => self.with_tables(declared, existing)?,
        };
        let mut plan = Plan::of(&schema, Some(&target), existing.as_ref(), options)?;
        if existing.is_none() {
            OverOthers::of(&schema)?.add_to(&mut plan);
        }
        let (mut tables, mut varying): (Vec<(usize, Vec<ColumnFrom>)>, Vec<_>) = (Vec::new(), Vec::new());
        for rows in rows {
            let named = |table: &Table| table.name.eq_ignore_ascii_case(&rows.table);
            let Some(index) = schema.tables.iter().position(named) else {
                return Err(Error::usage(format!("there is no declaration for table {}", rows.table)));
            };
            if tables.iter().any(|(other, _)| *other == index) {
                return Err(Error::usage(format!("there are two sources of rows for table {}", rows.table)));
            }
            let table = &schema.tables[index];
            let (filled, of_rows) = rows.fill(table, &functions, existing.is_some())?;
            varying.push(match of_rows.is_empty() {
                true => None,
                false => Some(Arc::new(outputs_of_defaults(&of_rows, table.columns.len(), &functions))),
            });
            rows.choose((index, table), existing.as_ref(), (&filled, &functions), &mut plan, options)?;
            tables.push((index, filled));
        }
        plan.refuse()?;
        Ok(PreparedWrite { write: self, plan, schema, tables, varying, functions })
    }

    /// Returns the schema, extended by the full-text tables that get rows.
    fn declared(&self) -> Schema {
        let mut schema = self.schema.clone();
        let tables = taking_rows(&schema);
        let gets_rows = |name: &str| self.rows.iter().any(|rows| rows.table.eq_ignore_ascii_case(name));
        add_taking_rows(&mut schema, &tables, gets_rows);
        schema
    }

    /// Returns the schema with the existing tables that get rows, and without the existing tables that get none.
    fn with_tables(&self, declared: Schema, existing: &TargetSnapshot) -> Result<Schema> {
        let if_exists = &self.options.if_exists;
        for rows in &self.rows {
            let hint = message![
                "add to its rows, replace them, or update the rows whose keys the new rows have: ",
                Setting::Append,
                ", ",
                Setting::ReplaceTable,
                ", ",
                Setting::Upsert
            ];
            existing.refuse_name(&rows.table, if_exists, hint)?;
        }
        let mut schema = existing.combine(declared)?;
        schema.tables.retain(|table| existing.table(&table.name).is_none());
        for rows in &self.rows {
            if let Some(table) = existing.table(&rows.table) {
                if let IfExists::Upsert(keys) = if_exists {
                    rows.check_keys(keys, table)?;
                }
                schema.tables.push(table.clone());
            }
        }
        Ok(schema)
    }
}

impl NamedRows {
    /// Returns the mapping from the rows to the columns of a table. Also returns the columns whose DEFAULT has another value in each row,
    /// with the SQL of the DEFAULT; in the mapping they are NULL.
    fn fill(
        &self,
        table: &Table,
        functions: &Functions,
        by_sqlite: bool,
    ) -> Result<(Vec<ColumnFrom>, Varying)> {
        let mut varying = Vec::new();
        let same = |one: &String, other: &str| one.eq_ignore_ascii_case(other);
        for (index, name) in self.columns.iter().enumerate() {
            if self.columns[..index].iter().any(|other| same(other, name)) {
                return Err(Error::usage(format!("the rows have two columns {name:?}"))
                    .hint("SQLite ignores the case of ASCII letters in names"));
            }
            let Some(column) = table.column(name) else {
                let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).take(20).collect();
                return Err(Error::input(format!("table {} has no column {name:?}", table.name))
                    .hint(format!("its columns are {}", names.join(", "))));
            };
            if table.columns[column].generated.is_some() {
                return Err(Error::input(format!("the rows have column {name}, which SQLite computes"))
                    .hint("leave it out"));
            }
        }
        let filled = table.columns.iter().enumerate().map(|(index, column)| {
            match self.columns.iter().position(|name| same(name, &column.name)) {
                Some(field) => Ok(ColumnFrom::Field(field)),
                // SQLite chooses the next rowid for NULL.
                None if column.generated.is_some() || table.rowid_alias == Some(index) => {
                    Ok(ColumnFrom::Constant(Constant::Null))
                }
                None => match default_value::of(column, functions) {
                    Ok(DefaultValue::Constant(constant)) => Ok(ColumnFrom::Constant(constant)),
                    Ok(DefaultValue::Varying(sql)) => {
                        varying.push((index, sql));
                        Ok(ColumnFrom::Constant(Constant::Null))
                    }
                    // SQLite computes the default when it inserts the row.
                    Err(_) if by_sqlite => Ok(ColumnFrom::Constant(Constant::Null)),
                    Err(error) => Err(error),
                },
            }
        });
        let filled = filled.collect::<Result<_>>()?;
        Ok((filled, varying))
    }

    /// Chooses the write path of the rows.
    fn choose(
        &self,
        (index, table): (usize, &Table),
        existing: Option<&TargetSnapshot>,
        (filled, functions): (&[ColumnFrom], &Functions),
        plan: &mut Plan,
        options: &WriteOptions,
    ) -> Result<()> {
        let given = |column: &usize| matches!(filled[*column], ColumnFrom::Field(_));
        let with_rowids = table.rowid_alias.as_ref().is_some_and(given);
        if let Some(existing) = existing {
            let columns = 0..table.columns.len();
            let computed = columns.clone().find(|column| {
                let declared = &table.columns[*column];
                let left_out = !given(column) && declared.generated.is_none();
                left_out
                    && table.rowid_alias != Some(*column)
                    && default_value::of(declared, functions).is_err()
            });
            let rows = ExpectedRows {
                about: self.about,
                with_rowids,
                ascending: !self.in_any_order,
                columns: Some(columns.filter(given).collect()),
                computed: computed.map(|column| table.columns[column].name.clone()),
                ..ExpectedRows::default()
            };
            plan.choose((index, table), existing, rows, options)?;
        }
        match plan.tables[index].write_path {
            WritePath::Pages | WritePath::Sorted if with_rowids && self.in_any_order => {
                let why = "rows may be in any order of their rowids";
                plan.sort_rows((index, table), true, why, options)
            }
            _ => Ok(()),
        }
    }

    /// Checks that the rows have the key columns of an upsert, and that these columns are a key of the table.
    fn check_keys(&self, keys: &[String], table: &Table) -> Result<()> {
        let same = |one: &str, other: &String| one.eq_ignore_ascii_case(other);
        if let Some(key) = keys.iter().find(|key| !self.columns.iter().any(|name| same(key, name))) {
            return Err(Error::usage(format!("the key has the column {key:?}, which the rows do not have"))
                .hint("an upsert finds rows by the values of these columns"));
        }
        let names = |key: Vec<usize>| key.into_iter().map(|column| &*table.columns[column].name);
        let known: Vec<Vec<&str>> = table.unique_keys().into_iter().map(|key| names(key).collect()).collect();
        let is_key = |known: &Vec<&str>| {
            known.len() == keys.len() && keys.iter().all(|key| known.iter().any(|name| same(name, key)))
        };
        if known.iter().any(is_key) {
            return Ok(());
        }
        let message =
            format!("no PRIMARY KEY or UNIQUE constraint of table {} is on {}", table.name, keys.join(", "));
        let known: Vec<String> = known.iter().map(|names| names.join(", ")).collect();
        Err(Error::usage(message).hint(match known.is_empty() {
            true => format!("create one: CREATE UNIQUE INDEX ... ON {} ({})", table.name, keys.join(", ")),
            false => format!("its keys are {}", known.join("; ")),
        }))
    }
}

impl PreparedWrite {
    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the table that gets the rows with the index `rows` in [`Write::rows`], and the origin of each of its columns. The batches
    /// of the source must have these columns.
    pub fn filled(&self, rows: usize) -> (&Table, &[ColumnFrom]) {
        let (table, filled) = &self.tables[rows];
        (&self.schema.tables[*table], filled)
    }

    /// Writes the rows of one source for each table, in order. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If a source fails, a value can't be stored, or the database can't be written. The database is then unchanged.
    pub fn run(mut self, mut sources: Vec<Box<dyn Source + '_>>, context: &Context<'_>) -> Result<Report> {
        let (tables, given) = (self.tables.len(), sources.len());
        if tables != given {
            return Err(Error::usage(format!("{given} sources of rows for {tables} tables")));
        }
        let done = attempts::run(
            &mut self,
            |prepared| Outcome::of(prepared.attempt(&mut sources, context)),
            PreparedWrite::plan_again,
        );
        done.map_err(with_rows)
    }

    /// Plans again for the present schema of the database, if its tables still take the same rows.
    fn plan_again(&mut self, refuted: Refuted) -> Result<()> {
        if refuted.assumption != Assumption::Schema {
            return Err(refuted.error);
        }
        let again = self.write.clone().plan(self.functions.clone())?;
        let same = |rows| {
            let (before, now) = (self.filled(rows), again.filled(rows));
            before.0.sql == now.0.sql && before.1 == now.1
        };
        if !(0..self.tables.len()).all(same) {
            return Err(refuted.error);
        }
        *self = again;
        Ok(())
    }

    fn attempt(&self, sources: &mut [Box<dyn Source + '_>], context: &Context<'_>) -> Result<Report> {
        context
            .progress
            .phase("write", sources.iter().map(|source| source.total()).try_fold(Amount::default(), add));
        let coercion = if self.write.lossless { Coercion::Lossless } else { Coercion::All };
        let mut given: Vec<Option<Borrowed<'_, '_>>> = self.schema.tables.iter().map(|_| None).collect();
        for (((table, _), varying), source) in self.tables.iter().zip(&self.varying).zip(sources) {
            given[*table] = Some(Borrowed { source, varying: varying.clone() });
        }
        let jobs = self.schema.tables.iter().zip(given).map(|(table, source)| Job {
            table,
            coercion,
            source: match source {
                Some(source) => Box::new(source),
                None => Box::new(NoRows) as Box<dyn Source + '_>,
            },
        });
        attempts::write(&self.plan, &self.schema, jobs.collect(), None, "write", &context.child())
    }
}

/// Columns whose DEFAULT has another value in each row, with the SQL of the DEFAULT.
type Varying = Vec<(usize, String)>;

/// A source that an attempt borrows. If the attempt has read no rows from it, another attempt can use it.
struct Borrowed<'b, 's> {
    source: &'b mut Box<dyn Source + 's>,
    /// The DEFAULTs that have another value in each row, if any.
    varying: Option<Arc<Outputs>>,
}

impl Source for Borrowed<'_, '_> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let part = self.source.next_part()?;
        Ok(match &self.varying {
            Some(varying) => part.map(|part| computed(part, varying)),
            None => part,
        })
    }

    fn total(&self) -> Option<Amount> {
        self.source.total()
    }
}

/// Adds the positions of the rows to an error about two rows with the same key.
fn with_rows(mut error: Error) -> Error {
    let Some(duplicate) = error.take_duplicate() else { return error };
    error.with_words(format!(" ({})", duplicate.rows))
}
