//! What was done.

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use crate::pipeline::{Written, WrittenTree};
use crate::plan::{Action, Plan, Road, TablePlan, path_as_text};
use crate::progress::{Amount, Progress};

/// What a run did.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The file that was written; `None`: the pages were thrown away.
    #[serde(serialize_with = "path_as_text")]
    pub target: Option<PathBuf>,
    /// Rows of all tables.
    pub rows: u64,
    /// Bad rows that went to the reject file.
    pub rejected: u64,
    /// Pages of the file.
    pub pages: u32,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// The checksum of all pages, in hexadecimal: see [`checksum`](crate::checksum). Empty for a database that was there before,
    /// which is not read as a whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
    /// How pages got to the disk: `direct`, `buffered` or `discarded`, or by `sqlite`.
    pub output: &'static str,
    /// What became of a database that was there before.
    pub existing: Option<ExistingReport>,
    /// Worker threads.
    pub threads: usize,
    /// Seconds, from the plan to the durable file.
    pub seconds: f64,
    /// What the time went into, in order; phases that ran at the same time overlap.
    pub phases: Vec<PhaseReport>,
    /// What happened to each table.
    pub tables: Vec<TableReport>,
}

impl Report {
    /// Of tables that are written; whoever wrote them adds the checksum, or what became of a database that was there.
    pub(crate) fn of(
        plan: &Plan,
        tables: &[Written],
        pages: u32,
        output: &'static str,
        started: Instant,
        phases: Phases<'_>,
    ) -> Report {
        Report {
            target: plan.target.clone(),
            rows: tables.iter().map(|table| table.tree.entries).sum(),
            rejected: tables.iter().map(|table| table.rejected).sum(),
            pages,
            page_bytes: plan.page_bytes,
            bytes: u64::from(pages) * plan.page_bytes as u64,
            checksum: String::new(),
            output,
            existing: None,
            threads: plan.threads,
            seconds: started.elapsed().as_secs_f64(),
            phases: phases.finish(),
            tables: plan
                .tables
                .iter()
                .zip(tables)
                .map(|(plan, table)| report_of_table(plan, table))
                .collect(),
        }
    }
}

/// What is told of a table.
fn report_of_table(plan: &TablePlan, written: &Written) -> TableReport {
    let WrittenTree { root_page, entries, leaf_pages, interior_pages, overflow_pages } = written.tree;
    let indexes = plan.indexes.iter().zip(&written.indexes).map(|(plan, written)| {
        let tree = written.unwrap_or_default();
        IndexReport {
            name: plan.name.clone(),
            road: plan.road,
            entries: tree.entries,
            root_page: tree.root_page,
            leaf_pages: tree.leaf_pages,
            interior_pages: tree.interior_pages,
            overflow_pages: tree.overflow_pages,
        }
    });
    TableReport {
        name: plan.name.clone(),
        action: plan.action,
        rows: entries,
        rejected: written.rejected,
        ignored: written.ignored,
        road: plan.road,
        root_page,
        leaf_pages,
        interior_pages,
        overflow_pages,
        indexes: indexes.collect(),
    }
}

/// What became of a database that was there before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExistingReport {
    /// Its journal mode before.
    pub journal_mode_before: String,
    /// Its journal mode after: the same.
    pub journal_mode_after: String,
    /// Pages that it had before.
    pub pages_before: u32,
    /// Pages that were written past SQLite. How many SQLite wrote nobody knows.
    pub pages_written: u64,
}

/// A phase of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseReport {
    /// What was done, such as `load`, `sort orders.by_date`, `merge orders.by_date`, `write` or `sqlite`.
    pub name: String,
    /// Seconds that it took.
    pub seconds: f64,
}

/// What a run did to a table. Of the pages of one that SQLite filled only the root is known: there are 0 others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableReport {
    /// Its name.
    pub name: String,
    /// What was done to it.
    pub action: Action,
    /// Rows written.
    pub rows: u64,
    /// Bad rows that went to the reject file.
    pub rejected: u64,
    /// Rows that were left out because of their keys.
    pub ignored: u64,
    /// The way that they took.
    pub road: Road,
    /// The root of its B-tree.
    pub root_page: u32,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Interior pages.
    pub interior_pages: u64,
    /// Overflow pages.
    pub overflow_pages: u64,
    /// What happened to each of its indexes.
    pub indexes: Vec<IndexReport>,
}

/// What a run did to an index. Of one that SQLite made the pages are not known, nor the entries where it has a WHERE: these are
/// 0, and so is the root where a statement made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IndexReport {
    /// Its name.
    pub name: String,
    /// The way that its entries took.
    pub road: Road,
    /// Its entries.
    pub entries: u64,
    /// The root of its B-tree.
    pub root_page: u32,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Interior pages.
    pub interior_pages: u64,
    /// Overflow pages.
    pub overflow_pages: u64,
}

/// The phases of a run, as they come: told to who watches, and timed.
pub(crate) struct Phases<'p> {
    progress: &'p dyn Progress,
    done: Vec<PhaseReport>,
    current: Option<(String, Instant)>,
}

impl<'p> Phases<'p> {
    /// Begins with a phase that was told already.
    pub(crate) fn new(progress: &'p dyn Progress, first: &str) -> Phases<'p> {
        Phases { progress, done: Vec::new(), current: Some((first.to_owned(), Instant::now())) }
    }

    /// Who watches.
    pub(crate) fn progress(&self) -> &'p dyn Progress {
        self.progress
    }

    /// A phase begins, and the one before it ends.
    pub(crate) fn begin(&mut self, name: &str, total: Option<Amount>) {
        self.progress.phase(name, total);
        self.time(name);
    }

    /// A phase begins that others tell of.
    pub(crate) fn time(&mut self, name: &str) {
        if let Some((name, since)) = self.current.replace((name.to_owned(), Instant::now())) {
            self.done.push(PhaseReport { name, seconds: since.elapsed().as_secs_f64() });
        }
    }

    /// What the time went into.
    pub(crate) fn finish(mut self) -> Vec<PhaseReport> {
        self.time("");
        self.done
    }
}
