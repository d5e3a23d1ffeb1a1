//! `merge`: several databases as one.
//!
//! ```no_run
//! use sqluice::merge::Merge;
//!
//! let report = Merge::new("all.db", ["shard1.db", "shard2.db"]).run()?;
//! println!("{} rows", report.rows);
//! # Ok::<(), sqluice::error::Error>(())
//! ```
//!
//! Tables that are declared alike become one table, with the rows of one source after another; other objects are copied. Where rowids
//! allow it, leaves are taken as they are; indexes are merged from those of the sources, which are in order. One committed state of each
//! source is read, which other processes may go on using.
//!
//! A target that exists is the first source, and is replaced by the result: no other process may use it meanwhile.

mod declarations;
mod design;
mod inserted;
mod known;
mod options;
mod orphans;
mod place;
mod places;
mod plan;
mod references;
mod report;
mod run;
mod sources;
mod tables;
mod virtual_tables;

use std::time::Instant;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Context;
use sqluice_engine::output::{Exclusive, Replacement, Target, Wanted};
use sqluice_engine::plan::Memory;
use sqluice_engine::report::PhaseReport;

pub use options::{Merge, Orphans};
pub use place::{Place, Placed};
pub use plan::{MergePlan, PlannedTable};
pub use report::{MergeReport, MergedIndex, MergedSource, MergedTable, OrphanedRows, Renumbered};

use crate::remote;
use design::Design;

/// A merge with its plan, which [`Merge::prepare`] returns.
#[derive(Clone, Debug)]
pub struct PreparedMerge {
    merge: Merge,
    plan: MergePlan,
}

impl PreparedMerge {
    /// Returns the plan of the merge.
    pub fn plan(&self) -> &MergePlan {
        &self.plan
    }

    /// Merges the sources as they are by now, watched and stopped by `context`.
    ///
    /// # Errors
    /// As [`Merge::run_with`].
    pub fn run(self, context: &Context<'_>) -> Result<MergeReport> {
        self.merge.run_with(context)
    }
}

impl Merge {
    /// Connects to the store if the target is a URL, for [`Merge::wanted`]. Otherwise the plan and the run connect.
    ///
    /// # Errors
    /// If the store can't be reached.
    #[doc(hidden)]
    pub fn connect(mut self, context: &Context<'_>) -> Result<Merge> {
        remote::connect(Some(&self.target), &mut self.write, &context.cancel)?;
        Ok(self)
    }

    /// Looks at the sources and plans the merge. Nothing is written.
    ///
    /// # Errors
    /// As [`Merge::run_with`], except for errors that only the run finds.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedMerge> {
        context.cancel.check()?;
        let merge = self.clone().connect(context)?;
        let plan = merge.plan(context)?;
        Ok(PreparedMerge { merge, plan })
    }

    fn plan(&self, context: &Context<'_>) -> Result<MergePlan> {
        let wanted = self.wanted();
        self.refuse(&wanted)?;
        // Asked before the target is read: looking at its file would end its locks.
        let replacement = self.replacement(&wanted)?;
        let sources = sources::open(self, &wanted.target, None, context)?;
        let shared = sources::shared(&sources)?;
        let design = Design::new(self, &sources, &shared, &context.cancel)?;
        Ok(MergePlan { replacement, ..MergePlan::new(self, &sources, &shared, &design) })
    }

    /// Merges, silently.
    ///
    /// # Errors
    /// As [`Merge::run_with`].
    pub fn run(&self) -> Result<MergeReport> {
        self.run_with(&Context::default())
    }

    /// Merges, watched and stopped by `context`.
    ///
    /// # Errors
    /// If a source can't be read or is damaged, objects of the same name differ, rows have the same key, or the target can't be
    /// written: it is as it was, or absent, then.
    pub fn run_with(&self, context: &Context<'_>) -> Result<MergeReport> {
        if remote::is_unconnected(Some(&self.target), &self.write) {
            return self.clone().connect(context)?.run_with(context);
        }
        let wanted = self.wanted();
        self.refuse(&wanted)?;
        sources::named(self)?;
        context.progress.phase("lock", None);
        let started = Instant::now();
        let keeps = self.keeps_target();
        // Looked at before it is locked: closing a file ends its locks.
        let before = if keeps { wanted.replacing().recover_replaced(&context.cancel)? } else { None };
        // Released when all of it is read, and so after the snapshot.
        let exclusive = keeps.then(|| Exclusive::take(&wanted.target, &context.cancel)).transpose()?;
        let mut report = run::run(self, &wanted.target, exclusive, context)?;
        report.before = before;
        let seconds = started.elapsed().as_secs_f64();
        // What precedes the first page: locks, keys that are repeated, and rows that SQLite inserts.
        report.phases.insert(0, PhaseReport::new("prepare", seconds - report.seconds));
        report.seconds = seconds;
        Ok(report)
    }

    /// Whether the target exists, and keeps its rows.
    fn keeps_target(&self) -> bool {
        !self.write.overwrite && self.target.metadata().is_ok_and(|metadata| metadata.is_file())
    }

    /// Returns the method by which a file that has the name of the target will be replaced, if such a file
    /// exists.
    fn replacement(&self, wanted: &Wanted) -> Result<Option<Replacement>> {
        match self.keeps_target() || self.write.overwrite {
            true => wanted.replacing().replacement(None),
            false => Ok(None),
        }
    }

    /// Whether the target is the first of the sources. A file of no bytes is a database without tables, and none of them.
    pub fn adds_to_target(&self) -> bool {
        self.keeps_target() && self.target.metadata().is_ok_and(|metadata| metadata.len() > 0)
    }

    /// Refuses options and a target that can't be. To be called before sources are read: looking at a file that is read would end its
    /// locks.
    fn refuse(&self, wanted: &Wanted) -> Result<()> {
        if self.write.threads == Some(0) {
            return Err(Error::usage(message![Setting::Threads, " must be at least 1"]));
        }
        Memory::divide(&self.write, true)?;
        if self.keeps_target() { Ok(()) } else { wanted.refuse() }
    }

    /// The file that is wanted.
    pub fn wanted(&self) -> Wanted {
        Wanted::new(Target::resolve(&self.target, &self.write), self.write.overwrite)
    }
}
