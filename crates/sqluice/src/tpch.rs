//! `tpch`: generates the database of the TPC-H benchmark at any scale, with its keys.
//!
//! The rows are the same as those of other TPC-H generators; [`schema`] declares the tables. By construction, every FOREIGN KEY refers to a
//! row, so foreign keys are only checked if [`WriteOptions::foreign_keys`] requests it.
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
    /// The database; `None` to build the pages and discard them. The tables are added to an existing database, if it has no tables with
    /// these names.
    pub target: Option<PathBuf>,
    /// The scale factor, above 0 and at most 100,000. Scale 1 is 8.7 million rows and about 1.3 GB.
    pub scale: f64,
    /// The options for writing the database. The texts of the generator take 300 MiB in addition to the memory budget.
    pub write: WriteOptions,
}

/// A TPC-H database with its plan.
#[derive(Debug)]
pub struct PreparedTpch {
    tpch: Tpch,
    plan: Plan,
    schema: Schema,
}

setters! { Tpch:
    /// Sets the database; `None` to build the pages and discard them.
    target(target: impl Into<Option<PathBuf>>) = target.into();
    /// Sets the options for writing the database.
    write(options: WriteOptions) = options;
}

impl TakesSettings for Tpch {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            // The rows of the benchmark depend only on the scale, so no seed is needed.
            Setting::Seed => Ok(true),
            _ => self.write.set(setting, value),
        }
    }
}

impl Tpch {
    /// Creates a TPC-H database of this scale at `target`.
    pub fn new(target: impl Into<PathBuf>, scale: f64) -> Tpch {
        Tpch::without_target(scale).target(target.into())
    }

    /// Creates a TPC-H database whose pages are built and discarded, for benchmarks.
    pub fn without_target(scale: f64) -> Tpch {
        Tpch { target: None, scale, write: WriteOptions::default() }
    }

    /// Generates the tables without progress reports.
    ///
    /// # Errors
    /// As [`Tpch::prepare`] and [`PreparedTpch::run`].
    pub fn run(&self) -> Result<Report> {
        self.run_with(&Context::default())
    }

    /// Generates the tables. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// As [`Tpch::prepare`] and [`PreparedTpch::run`].
    pub fn run_with(&self, context: &Context<'_>) -> Result<Report> {
        self.prepare(context)?.run(context)
    }

    /// Plans the run. Writes nothing.
    ///
    /// # Errors
    /// If the scale is out of range, or existing tables prevent the run.
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
            return Err(Error::usage("TPC-H rows can't be added to existing tables")
                .hint("name a database that has none of the TPC-H tables, or overwrite the whole database"));
        }
        let (schema, mut plan) = plan_tables(&schema()?, target.as_ref(), options)?;
        plan.foreign_keys = options.foreign_keys.unwrap_or(false);
        for (plan, table) in plan.tables.iter_mut().zip(&tables) {
            plan.rows = table.rows();
            plan.sources = vec![format!("TPC-H, scale {}", self.scale)];
        }
        plan.estimated_bytes = Some(tables.iter().map(TpchTable::bytes_about).sum());
        plan.notes.push(
            format!(
                "the generator needs {} MiB for its texts, in addition to the memory budget",
                TEXT_BYTES >> 20
            )
            .into(),
        );
        attempts::note_destination(&schema, &mut plan);
        Ok(PreparedTpch { tpch: self, plan, schema })
    }
}

impl PreparedTpch {
    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Generates the tables. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If the database can't be written. The database is then unchanged.
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

    /// Executes the plan, unless the schema of the database has changed.
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
