//! `generate`: a database from a schema and a seed, or more rows for one that is there.
//!
//! Rows that are added to a table are those that come next: of a table of 1,000 rows that gets 500 more, the same seed makes what it
//! makes of 1,500.

use std::path::PathBuf;

use crate::encode::Conversions;
use crate::error::{Error, Place, Result};
use crate::existing_database;
pub use crate::r#gen::{PRESETS, Preset, preset};
use crate::r#gen::{Spec, TableSpec, parents};
use crate::new_database;
use crate::pipeline::Job;
use crate::plan::{Action, IfThere, OnConflict, Plan, Road, Rows, There, WriteOptions};
use crate::progress::{Amount, Cancel, Progress};
use crate::report::Report;
use crate::schema::{Schema, Table};

/// A database to make up.
#[derive(Clone, Debug)]
pub struct Generate {
    /// The database; `None`: make its pages and throw them away. Of one that is there, tables must be declared the same, and
    /// [`IfThere`] says what becomes of them.
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
    /// What is asked for.
    generate: Generate,
    plan: Plan,
    /// The first row of each table, counted from 0.
    first_rows: Vec<u64>,
    schema: Schema,
    spec: Spec,
    rows: Vec<u64>,
    seed: u64,
}

impl Generate {
    /// Understands the schema and decides what will be done. Nothing is written.
    ///
    /// # Errors
    /// When a comment is malformed, a table is unknown, nobody said how many rows it gets, or what is there is in the way.
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
        let there = match &self.target {
            Some(target) => There::look(target, &self.write)?,
            None => None,
        };
        let (schema, mut plan) = self.plan(there.as_ref())?;
        let mut first_rows = Vec::new();
        let mut bytes = 0;
        for (index, (declared, table)) in schema.tables.iter().zip(&spec.tables).enumerate() {
            first_rows.push(match &there {
                Some(there) => self.choose((index, declared), there, &mut plan, table, rows[index])?,
                None => 0,
            });
            self.sort_unless_counted((index, declared), &mut plan, table)?;
            let (plan, rows) = (&mut plan.tables[index], rows[index]);
            plan.rows = Some(rows);
            plan.sources = vec![format!("the generator, seed {}", self.seed)];
            let entries: u64 = declared.indexes.iter().map(|index| table.entry_bytes(declared, index)).sum();
            bytes += (table.row_bytes() + entries).saturating_mul(rows);
        }
        plan.estimated_bytes = Some(bytes);
        if there.is_none() && self.write.foreign_keys.is_none() && self.write.on_conflict == OnConflict::Abort
        {
            let known = parents::are_there(&schema, &spec, &rows);
            plan.tables.iter_mut().zip(known).for_each(|(plan, known)| plan.parents_known = known);
        }
        Ok(PreparedGenerate { generate: self.clone(), plan, first_rows, schema, spec, rows, seed: self.seed })
    }

    /// The schema of what is written, and how that is done.
    fn plan(&self, there: Option<&There>) -> Result<(Schema, Plan)> {
        let Some(there) = there else {
            let plan = Plan::new(&self.schema, self.target.clone(), &self.write)?;
            return Ok((self.schema.clone(), plan));
        };
        if let IfThere::Upsert(_) = self.write.if_there {
            return Err(Error::usage("rows that are made up are added to others, or replace them")
                .hint("IfThere::Append or IfThere::Replace"));
        }
        for table in &self.schema.tables {
            there.refuse_name(
                &table.name,
                &self.write.if_there,
                "--append adds to its rows, --overwrite replaces the whole database",
            )?;
        }
        let schema = there.combine(self.schema.clone())?;
        let plan = Plan::into_existing(&schema, there, &self.write)?;
        Ok((schema, plan))
    }

    /// The road of a table, now that its rows are known. Returns the first of these.
    fn choose(
        &self,
        (index, declared): (usize, &Table),
        there: &There,
        plan: &mut Plan,
        table: &TableSpec,
        rows: u64,
    ) -> Result<u64> {
        let last = there.about(&declared.name).filter(|_| plan.tables[index].action == Action::Append);
        let first_row = last.and_then(|about| u64::try_from(about.largest_rowid?).ok()).unwrap_or(0);
        let with_rowids = table.rowids().is_some();
        let arriving = Rows {
            about: Some(rows),
            with_rowids,
            ascending: table.counts_rows(),
            first_rowid: i64::try_from(first_row)
                .ok()
                .filter(|_| with_rowids)
                .map(|row| row.saturating_add(1)),
            ..Rows::default()
        };
        plan.choose((index, declared), there, arriving, &self.write)?;
        Ok(first_row)
    }

    /// Rowids must ascend, and of what can be asked for only the number of the row does that: other rows are sorted.
    fn sort_unless_counted(
        &self,
        (index, declared): (usize, &Table),
        plan: &mut Plan,
        table: &TableSpec,
    ) -> Result<()> {
        match table.rowids() {
            Some(column) if !table.counts_rows() && plan.tables[index].road != Road::Insert => {
                let why = format!("rows are not in the order of {}", column.name);
                plan.sort_rows((index, declared), column.is_nullable(), &why, &self.write)
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
        let mut report = self.attempt(progress, cancel);
        for _ in 1..existing_database::LOOKS_MAX {
            match report {
                // Another program that was waited for has changed the schema.
                Err(error) if error.is_out_of_date() => {
                    report = self.generate.prepare()?.attempt(progress, cancel);
                }
                other => return other,
            }
        }
        report
    }

    /// Does what is planned, unless the database has another schema by now.
    fn attempt(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Report> {
        progress.phase("generate", Some(Amount { rows: self.rows.iter().sum(), bytes: 0 }));
        let rows = self.first_rows.iter().zip(&self.rows);
        let tables = self.schema.tables.iter().zip(&self.spec.tables).zip(rows);
        let jobs = tables.map(|((table, spec), (&first, &rows))| {
            let source = Box::new(spec.source_from(self.seed, first, rows)?);
            Ok(Job { table, conversions: Conversions::All, source })
        });
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        let cancel = cancel.child();
        let written = match self.plan.existing {
            // What has no room is refused there, when what a killed run left is gone.
            None => new_database::write(&self.plan, &self.schema, jobs, None, "generate", progress, &cancel),
            Some(_) => {
                self.plan.refuse()?;
                existing_database::write(&self.plan, &self.schema, jobs, None, "generate", progress, &cancel)
            }
        };
        written.map_err(with_rows)
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
