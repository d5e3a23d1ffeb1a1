//! `merge`: merges several databases into one.
//!
//! ```no_run
//! use sqluice::merge::Merge;
//!
//! let report = Merge::new("all.db", ["shard1.db", "shard2.db"]).run()?;
//! println!("{} rows", report.rows);
//! # Ok::<(), sqluice::error::Error>(())
//! ```
//!
//! Tables with the same declaration become one table, with the rows of one source after another. Other objects are copied. If the rowids
//! of the sources do not overlap, leaves are copied unchanged. Indexes are merged from the sorted indexes of the sources. One committed
//! state of each source is read, and other processes may use the sources meanwhile.
//!
//! An existing target is the first source, unless it is empty or `write` says to overwrite it, and the result replaces it: no other
//! process may use the target meanwhile.

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

pub use options::Merge;
pub use place::{Place, Placed};
pub use plan::{MergePlan, PlannedTable};
pub use report::{MergeReport, MergedIndex, MergedSource, MergedTable, OrphanedRows, Renumbered};

pub use crate::references::Orphans;
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

    /// Merges the present state of the sources. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// As [`Merge::run_with`].
    pub fn run(self, context: &Context<'_>) -> Result<MergeReport> {
        self.merge.run_with(context)
    }
}

impl Merge {
    /// If the target is a URL, connects to its store, so that [`Merge::wanted`] knows the store. Without this call, the plan and the run
    /// connect.
    ///
    /// # Errors
    /// If the store can't be reached.
    #[doc(hidden)]
    pub fn connect(mut self, context: &Context<'_>) -> Result<Merge> {
        remote::connect(Some(&self.target), &mut self.write, &context.cancel)?;
        Ok(self)
    }

    /// Examines the sources and plans the merge. Writes nothing.
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
        // Find the replacement before the target is read: the search opens and closes the target's file, and closing a file drops all
        // locks of this process on the file.
        let replacement = self.replacement(&wanted)?;
        let sources = sources::open(self, &wanted.target, None, context)?;
        let shared = sources::shared(&sources)?;
        let design = Design::new(self, &sources, &shared, &context.cancel)?;
        Ok(MergePlan { replacement, ..MergePlan::new(self, &sources, &shared, &design) })
    }

    /// Merges without progress reports.
    ///
    /// # Errors
    /// As [`Merge::run_with`].
    pub fn run(&self) -> Result<MergeReport> {
        self.run_with(&Context::default())
    }

    /// Merges. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If an option is invalid, a source can't be read or is damaged, objects of the same name differ, rows have the same key or lose their
    /// parent, or the target can't be written. The target is then unchanged, or absent.
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
        // The target is examined before it is locked, as closing a file drops its locks.
        let before = if keeps { wanted.replacing().recover_replaced(&context.cancel)? } else { None };
        // The lock is dropped after the snapshot, when the whole target has been read.
        let exclusive = keeps.then(|| Exclusive::take(&wanted.target, &context.cancel)).transpose()?;
        let mut report = run::run(self, &wanted.target, exclusive, context)?;
        report.before = before;
        let seconds = started.elapsed().as_secs_f64();
        // This phase ends before the first page is written: locks, the search for repeated keys, and rows that SQLite inserts.
        report.phases.insert(0, PhaseReport::new("prepare", seconds - report.seconds));
        report.seconds = seconds;
        Ok(report)
    }

    /// Returns `true` if the target exists and keeps its rows.
    fn keeps_target(&self) -> bool {
        !self.write.overwrite && self.target.metadata().is_ok_and(|metadata| metadata.is_file())
    }

    /// Returns the method that will replace an existing file at the target; `None` if no file is replaced.
    fn replacement(&self, wanted: &Wanted) -> Result<Option<Replacement>> {
        match self.keeps_target() || self.write.overwrite {
            true => wanted.replacing().replacement(None),
            false => Ok(None),
        }
    }

    /// Returns `true` if the target is the first source. An empty file is no source.
    pub fn adds_to_target(&self) -> bool {
        self.keeps_target() && self.target.metadata().is_ok_and(|metadata| metadata.len() > 0)
    }

    /// Refuses invalid options and targets. Must be called before the sources are locked: if a target is also a source, its file may be
    /// opened here, and closing a file drops this process's locks on the file.
    fn refuse(&self, wanted: &Wanted) -> Result<()> {
        if self.write.threads == Some(0) {
            return Err(Error::usage(message![Setting::Threads, " must be at least 1"]));
        }
        Memory::divide(&self.write, true)?;
        if self.keeps_target() { Ok(()) } else { wanted.refuse() }
    }

    /// Returns the request for the new file: its path, and the replacement of an existing file.
    pub fn wanted(&self) -> Wanted {
        Wanted::new(Target::resolve(&self.target, &self.write), self.write.overwrite)
    }
}
