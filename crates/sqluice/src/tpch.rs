//! `tpch`: the database of the TPC-H benchmark at any scale, with its keys.
//!
//! Its rows are those of every other generator of TPC-H; [`schema`] says how they are stored. Every FOREIGN KEY of it points to a
//! row by how the rows are made, so nobody looks unless [`WriteOptions::foreign_keys`] asks for it.
//!
//! ```no_run
//! use sqluice::options::WriteOptions;
//! use sqluice::progress::{Cancel, Silent};
//! use sqluice::tpch::Tpch;
//!
//! let tpch = Tpch { target: Some("tpch.db".into()), scale: 0.1, write: WriteOptions::default() };
//! let report = tpch.prepare()?.run(&Silent, &Cancel::new())?;
//! println!("{} rows", report.rows);
//! # Ok::<(), sqluice::error::Error>(())
//! ```

use std::path::PathBuf;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_core::schema::Schema;
use sqluice_engine::encode::Conversions;
use sqluice_engine::existing_database;
use sqluice_engine::new_database;
use sqluice_engine::options::{IfExists, WriteOptions};
use sqluice_engine::pipeline::Job;
use sqluice_engine::plan::Plan;
use sqluice_engine::report::Report;
use sqluice_sources::tpch::{TEXT_BYTES, TpchTable};

use crate::write::into_existing;
pub use sqluice_sources::tpch::schema;

/// The eight tables of TPC-H.
#[derive(Clone, Debug)]
pub struct Tpch {
    /// The database; `None`: make its pages and throw them away. One that is there gets the tables, if it has none of their names.
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

impl Tpch {
    /// Decides what will be done. Nothing is written.
    ///
    /// # Errors
    /// When there is no such scale, or what is there is in the way.
    pub fn prepare(&self) -> Result<PreparedTpch> {
        let tables = TpchTable::all(self.scale)?;
        let options = &self.write;
        if options.if_exists != IfExists::Refuse {
            return Err(Error::usage("the rows of TPC-H belong to no other table")
                .hint("name a database that has none of its tables, or replace it as a whole"));
        }
        let there = self
            .target
            .as_deref()
            .map(|target| sqluice_engine::existing::look(target, options))
            .transpose()?
            .flatten();
        let schema = schema()?;
        let (schema, mut plan) = match there {
            None => {
                let plan = Plan::new(&schema, self.target.clone(), options)?;
                (schema, plan)
            }
            Some(there) => into_existing(&schema, &there, options)?,
        };
        plan.foreign_keys = options.foreign_keys.unwrap_or(false);
        for (plan, table) in plan.tables.iter_mut().zip(&tables) {
            plan.rows = table.rows();
            plan.sources = vec![format!("TPC-H, scale {}", self.scale)];
        }
        plan.estimated_bytes = Some(tables.iter().map(TpchTable::bytes_about).sum());
        plan.notes.push(format!("{} MiB of text are needed besides the memory", TEXT_BYTES >> 20).into());
        Ok(PreparedTpch { tpch: self.clone(), plan, schema })
    }
}

impl PreparedTpch {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Does it.
    ///
    /// # Errors
    /// When the database can't be written: it is as it was, then.
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Report> {
        let mut report = self.attempt(progress, cancel);
        for _ in 1..existing_database::LOOKS_MAX {
            match report {
                // Another program that was waited for has changed the schema.
                Err(error) if error.is_out_of_date() => {
                    report = self.tpch.prepare()?.attempt(progress, cancel);
                }
                other => return other,
            }
        }
        report
    }

    /// Does what is planned, unless the database has another schema by now.
    fn attempt(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Report> {
        let tables = TpchTable::all(self.tpch.scale)?;
        let rows = tables.iter().map(TpchTable::rows_about).sum();
        progress.phase("generate", Some(Amount { rows, bytes: 0 }));
        let jobs = self.schema.tables.iter().zip(tables).map(|(table, source)| Job {
            table,
            conversions: Conversions::All,
            source: Box::new(source),
        });
        let (jobs, cancel) = (jobs.collect(), cancel.child());
        match self.plan.existing {
            // What has no room is refused there, when what a killed run left is gone.
            None => new_database::write(&self.plan, &self.schema, jobs, None, "generate", progress, &cancel),
            Some(_) => {
                self.plan.refuse()?;
                existing_database::write(&self.plan, &self.schema, jobs, None, "generate", progress, &cancel)
            }
        }
    }
}
