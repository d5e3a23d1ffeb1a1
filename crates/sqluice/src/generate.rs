//! `generate`: a new database from a schema and a seed.

use std::path::PathBuf;

use crate::encode::Conversions;
use crate::error::{Error, Place, Result};
pub use crate::r#gen::preset;
use crate::r#gen::{Spec, TableSpec};
use crate::new_database;
use crate::pipeline::Job;
use crate::plan::{Plan, WriteOptions};
use crate::progress::{Amount, Cancel, Progress};
use crate::report::Report;
use crate::schema::Schema;

/// A database to make up.
#[derive(Clone, Debug)]
pub struct Generate {
    /// The database, which must not exist unless it may be overwritten; `None`: make its pages and throw them away.
    pub target: Option<PathBuf>,
    /// What it declares, and what its columns hold.
    pub schema: Schema,
    /// How many rows: of the table of that name, or of each that is not named. What comes later counts more.
    pub rows: Vec<(Option<String>, u64)>,
    /// Makes the values differ; the same seed makes the same file.
    pub seed: u64,
    /// How to write.
    pub write: WriteOptions,
}

/// A generation whose schema is understood.
#[derive(Debug)]
pub struct PreparedGenerate {
    plan: Plan,
    schema: Schema,
    spec: Spec,
    rows: Vec<u64>,
    seed: u64,
}

impl Generate {
    /// Understands the schema and decides what will be done. Nothing is written.
    ///
    /// # Errors
    /// When a comment is malformed, a table is unknown, or nobody said how many rows it gets.
    pub fn prepare(&self) -> Result<PreparedGenerate> {
        let schema = &self.schema;
        let spec = Spec::new(schema)?;
        if schema.tables.is_empty() {
            return Err(Error::input("the schema declares no table").at(Place::file(&schema.file)));
        }
        for (name, _) in &self.rows {
            if let Some(name) = name.as_ref().filter(|name| schema.table(name).is_none()) {
                return Err(unknown_table(schema, name));
            }
        }
        let rows = schema.tables.iter().map(|table| self.rows_of(&table.name)).collect::<Result<Vec<_>>>()?;
        let mut plan = Plan::new(schema, self.target.clone(), &self.write)?;
        let mut bytes = 0;
        for (index, (declared, table)) in schema.tables.iter().zip(&spec.tables).enumerate() {
            self.sort_unless_counted(&mut plan, index, table)?;
            let (plan, rows) = (&mut plan.tables[index], rows[index]);
            plan.rows = Some(rows);
            plan.sources = vec![format!("the generator, seed {}", self.seed)];
            let entries: u64 = declared.indexes.iter().map(|index| table.entry_bytes(declared, index)).sum();
            bytes += (table.row_bytes() + entries).saturating_mul(rows);
        }
        plan.estimated_bytes = Some(bytes);
        Ok(PreparedGenerate { plan, schema: schema.clone(), spec, rows, seed: self.seed })
    }

    /// Rowids must ascend, and of what can be asked for only the number of the row does that: other rows are sorted.
    fn sort_unless_counted(&self, plan: &mut Plan, index: usize, table: &TableSpec) -> Result<()> {
        match table.rowids() {
            Some(column) if !table.counts_rows() => {
                let why = format!("rows are not in the order of {}", column.name);
                plan.sort_rows((index, &self.schema.tables[index]), column.is_nullable(), &why, &self.write)
            }
            _ => Ok(()),
        }
    }

    fn rows_of(&self, table: &str) -> Result<u64> {
        let named =
            |name: &Option<String>| name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(table));
        let last = |which: &dyn Fn(&Option<String>) -> bool| self.rows.iter().rfind(|(name, _)| which(name));
        match last(&named).or_else(|| last(&Option::is_none)) {
            Some((_, rows)) => Ok(*rows),
            None => Err(Error::usage(format!("how many rows shall {table} have?"))
                .hint(format!("--rows {table}=1M, or --rows 1M for every table"))),
        }
    }
}

impl PreparedGenerate {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What each column is filled with.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Does it.
    ///
    /// # Errors
    /// When the database can't be written: there is none, then.
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Report> {
        progress.phase("generate", Some(Amount { rows: self.rows.iter().sum(), bytes: 0 }));
        let tables = self.schema.tables.iter().zip(&self.spec.tables).zip(&self.rows);
        let jobs = tables.map(|((table, spec), &rows)| {
            Ok(Job { table, conversions: Conversions::All, source: Box::new(spec.source(self.seed, rows)?) })
        });
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        new_database::write(&self.plan, &self.schema, jobs, None, "generate", progress, &cancel.child())
            .map_err(with_rows)
    }
}

/// Adds to an error about two rows with the same key which they are.
fn with_rows(mut error: Error) -> Error {
    let Some(duplicate) = error.take_duplicate() else { return error };
    error.with_words(&format!(" ({})", duplicate.rows)).hint(
        "where each key may be there once, row() never repeats itself, and of a wide range few values come twice",
    )
}

/// The error for a table that the schema does not have, at the first that it has.
fn unknown_table(schema: &Schema, name: &str) -> Error {
    let names: Vec<&str> = schema.tables.iter().map(|table| table.name.as_str()).collect();
    Error::usage(format!("the schema has no table {name}, only: {}", names.join(", ")))
        .at(schema.place_of_table(names[0]))
        .hint("--rows TABLE=N names a table of the schema; --rows N means every table")
}
