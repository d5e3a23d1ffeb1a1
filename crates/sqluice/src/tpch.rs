//! `tpch`: the database of the TPC-H benchmark at any scale, with its keys.
//!
//! Its rows are those of every other generator of TPC-H; [`schema`] says how they are stored. Every FOREIGN KEY of it points to a
//! row by how the rows are made, so they are only checked if [`WriteOptions::foreign_keys`] asks for it.
//!
//! ```no_run
//! use sqluice::tpch::Tpch;
//!
//! let report = Tpch::new("tpch.db", 0.1).run()?;
//! println!("{} rows", report.rows);
//! # Ok::<(), sqluice::error::Error>(())
//! ```

use std::path::PathBuf;

use sqluice_core::error::{Error, Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_engine::attempts::{self, Outcome};
use sqluice_engine::encode::Coercion;
use sqluice_engine::options::{IfExists, WriteOptions};
use sqluice_engine::output::Target;
use sqluice_engine::plan::Plan;
use sqluice_engine::report::Report;
use sqluice_engine::trees::Job;
use sqluice_sources::tpch::{TEXT_BYTES, TpchTable};

use crate::remote;
use crate::write::plan_tables;
pub use sqluice_sources::tpch::schema;

/// The eight tables of TPC-H.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tpch {
    /// The database; `None`: build its pages and discard them. An existing one gets the tables, if it has none of their names.
    pub target: Option<PathBuf>,
    /// How large: 1 is 8.7 million rows and about 1.3 GB. Above 0, at most 100,000.
    pub scale: f64,
    /// How to write. 300 MiB of text are needed besides the memory.
    pub write: WriteOptions,
}

/// TPC-H, and how it will be written.
#[derive(Debug)]
pub struct PreparedTpch {
    tpch: Tpch,
    plan: Plan,
    schema: Schema,
}

setters! { Tpch:
    /// Sets the database; `None`: builds all pages and writes none.
    target(target: impl Into<Option<PathBuf>>) = target.into();
    /// Sets how the database is written.
    write(options: WriteOptions) = options;
}

impl TakesSettings for Tpch {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            // The rows of the benchmark depend on the scale alone.
            Setting::Seed => Ok(true),
            _ => self.write.set(setting, value),
        }
    }
}

impl Tpch {
    /// TPC-H at that scale, in the database `target`.
    pub fn new(target: impl Into<PathBuf>, scale: f64) -> Tpch {
        Tpch::without_target(scale).target(target.into())
    }

    /// Builds all pages and writes none: for benchmarks.
    pub fn without_target(scale: f64) -> Tpch {
        Tpch { target: None, scale, write: WriteOptions::default() }
    }

    /// Generates the tables, silently.
    ///
    /// # Errors
    /// As [`Tpch::prepare`] and [`PreparedTpch::run`].
    pub fn run(&self) -> Result<Report> {
        self.run_with(&Context::default())
    }

    /// Generates the tables, watched and stopped by `context`.
    ///
    /// # Errors
    /// As [`Tpch::prepare`] and [`PreparedTpch::run`].
    pub fn run_with(&self, context: &Context<'_>) -> Result<Report> {
        self.prepare(context)?.run(context)
    }

    /// Decides what will be done. Nothing is written.
    ///
    /// # Errors
    /// If the scale is out of range, or existing tables are in the way.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedTpch> {
        context.cancel.check()?;
        let mut tpch = self.clone();
        remote::connect(tpch.target.as_deref(), &mut tpch.write, &context.cancel)?;
        tpch.plan()
    }

    fn plan(self) -> Result<PreparedTpch> {
        let tables = TpchTable::all(self.scale)?;
        let options = &self.write;
        let target = self.target.as_deref().map(|target| Target::resolve(target, options));
        if options.if_exists != IfExists::Fail {
            return Err(Error::usage("the rows of TPC-H belong to no other table")
                .hint("name a database that has none of its tables, or replace it as a whole"));
        }
        let (schema, mut plan) = plan_tables(&schema()?, target.as_ref(), options)?;
        plan.foreign_keys = options.foreign_keys.unwrap_or(false);
        for (plan, table) in plan.tables.iter_mut().zip(&tables) {
            plan.rows = table.rows();
            plan.sources = vec![format!("TPC-H, scale {}", self.scale)];
        }
        plan.estimated_bytes = Some(tables.iter().map(TpchTable::bytes_about).sum());
        plan.notes.push(format!("{} MiB of text are needed besides the memory", TEXT_BYTES >> 20).into());
        attempts::note_destination(&schema, &mut plan);
        Ok(PreparedTpch { tpch: self, plan, schema })
    }
}

impl PreparedTpch {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Generates the tables, watched and stopped by `context`.
    ///
    /// # Errors
    /// If the database can't be written: it is as it was, then.
    pub fn run(self, context: &Context<'_>) -> Result<Report> {
        let mut prepared = self;
        attempts::run(
            &mut prepared,
            |prepared| Outcome::of(prepared.attempt(context)),
            |prepared, refuted| {
                refuted.by_schema()?;
                *prepared = prepared.tpch.clone().plan()?;
                Ok(())
            },
        )
    }

    /// Does what is planned, unless the database has another schema by now.
    fn attempt(&self, context: &Context<'_>) -> Result<Report> {
        let tables = TpchTable::all(self.tpch.scale)?;
        let rows = tables.iter().map(TpchTable::rows_about).sum();
        context.progress.phase("generate", Some(Amount { rows, bytes: 0 }));
        let jobs = self.schema.tables.iter().zip(tables).map(|(table, source)| Job {
            table,
            coercion: Coercion::All,
            source: Box::new(source),
        });
        attempts::write(&self.plan, &self.schema, jobs.collect(), None, "generate", &context.child())
    }
}
