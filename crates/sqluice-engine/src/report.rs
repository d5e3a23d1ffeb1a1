//! The report of a run.

mod recognised;

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;
use sqluice_core::error::{Message, Setting};

use crate::options::{Action, OnConflict, WritePath};
pub use crate::output::{Replaced, ReplacedTable, Replacement};
pub use crate::phases::PhaseReport;
use crate::phases::Phases;
use crate::plan::{ColumnReport, Plan, TablePlan, path_as_text};
use crate::trees::{Written, WrittenTree};
pub use recognised::{padded_in_words, recognised_in_words};
pub use sqluice_core::source::recognised::{Recognised, RecognisedCsv, RecognisedPreamble};

/// The report of a run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The file that was written; `None`: the pages were discarded.
    #[serde(serialize_with = "path_as_text")]
    pub target: Option<PathBuf>,
    /// Rows of all tables.
    pub rows: u64,
    /// Bad rows that went to the reject file.
    pub rejected: u64,
    /// The lines of these rows in the input.
    pub rejected_lines: u64,
    /// Rows that were left out: another row has the same key, or a trigger says so.
    pub ignored: u64,
    /// Pages of the file.
    pub pages: u32,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// The checksum of all pages, in hexadecimal: see [`checksum`](sqluice_core::checksum). Empty for a database that existed before,
    /// which is not read as a whole, and where one transaction has replaced a database.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
    /// How pages got to the disk: `direct`, `buffered` or `discarded`, or by `sqlite`.
    pub output: &'static str,
    /// The effect of the run on a database that existed before.
    pub existing: Option<ExistingReport>,
    /// The content of the database that was replaced.
    pub replaced: Option<Replaced>,
    /// The method by which that database was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The temporary files of killed runs, which were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PathBuf>,
    /// Worker threads.
    pub threads: usize,
    /// Seconds, from the look at the input to the durable file.
    pub seconds: f64,
    /// The time of each phase, in order; phases that ran at the same time overlap.
    pub phases: Vec<PhaseReport>,
    /// The report of each table.
    pub tables: Vec<TableReport>,
    /// The recognised format of each input of a load, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputReport>,
    /// Files that were left out because they could not be loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedFile>,
    /// Notes on what a user might not expect, which front ends word in their own terms.
    #[serde(skip)]
    pub notes: Vec<Message>,
}

/// An input of a load, and how it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InputReport {
    /// The file, as messages call it.
    pub name: String,
    /// The table that its rows went to.
    pub table: String,
    /// How it was read.
    #[serde(flatten)]
    pub recognised: Recognised,
    /// Rows that were loaded although fields are missing at their end, which are NULL.
    pub padded: u64,
    /// Notes on what a user might not expect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Message>,
    /// Values that may not be what they seem, with the place of the first, and the setting that reads them in another way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Message>,
}

/// A file that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkippedFile {
    /// The file, as messages call it.
    pub name: String,
    /// Why it could not be loaded.
    #[serde(serialize_with = "message_as_text")]
    pub why: Message,
}

impl InputReport {
    /// An input of that name, whose rows went to `table`.
    pub fn new(name: impl Into<String>, table: impl Into<String>, recognised: Recognised) -> InputReport {
        InputReport {
            name: name.into(),
            table: table.into(),
            recognised,
            padded: 0,
            notes: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl SkippedFile {
    /// The name of the file, and what is wrong with it.
    pub fn new(name: impl Into<String>, why: Message) -> SkippedFile {
        SkippedFile { name: name.into(), why }
    }
}

fn message_as_text<S: serde::Serializer>(message: &Message, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(message)
}

impl Report {
    /// The report with its notes in the terms of a front end, ready to be printed or serialized.
    #[must_use]
    pub fn in_terms(mut self, name: impl Fn(Setting, Option<&str>) -> String) -> Report {
        let notes =
            self.inputs.iter_mut().flat_map(|input| input.notes.iter_mut().chain(&mut input.warnings));
        let skipped = self.skipped.iter_mut().map(|skipped| &mut skipped.why);
        notes.chain(skipped).for_each(|message| *message = message.in_terms(&name));
        self
    }

    /// The report of tables that are written; the writer adds the checksum, or the report of an existing database.
    pub(crate) fn of(
        plan: &Plan,
        tables: &[Written],
        pages: u32,
        output: &'static str,
        started: Instant,
        phases: Phases<'_>,
    ) -> Report {
        let reports: Vec<TableReport> = plan
            .tables
            .iter()
            .zip(tables)
            .map(|(of_table, table)| report_of_table(of_table, table, plan.on_conflict))
            .collect();
        Report {
            target: plan.target.as_ref().map(|target| target.name().to_owned()),
            rows: tables.iter().map(|table| table.tree.entries).sum(),
            rejected: tables.iter().map(|table| table.rejected.rows).sum(),
            rejected_lines: tables.iter().map(|table| table.rejected.lines).sum(),
            ignored: reports.iter().map(|table| table.ignored).sum(),
            pages,
            page_bytes: plan.page_bytes,
            bytes: u64::from(pages) * plan.page_bytes as u64,
            checksum: String::new(),
            output,
            existing: None,
            replaced: None,
            replacement: None,
            removed: Vec::new(),
            threads: plan.threads,
            seconds: started.elapsed().as_secs_f64(),
            phases: phases.finish(),
            tables: reports,
            inputs: Vec::new(),
            skipped: Vec::new(),
            notes: plan.notes.clone(),
        }
    }
}

/// The report of a table.
fn report_of_table(plan: &TablePlan, written: &Written, on_conflict: OnConflict) -> TableReport {
    let (ignored, none) = (written.ignored, Some(0));
    let (updated, replaced, ignored) = match (plan.action, plan.write_path, on_conflict) {
        (Action::Upsert, ..) => (written.replacing, none, ignored),
        (_, WritePath::Insert, OnConflict::Replace) => (none, written.replacing, ignored),
        (_, _, OnConflict::Replace) => (none, Some(ignored), 0),
        _ => (none, none, ignored),
    };
    let WrittenTree { root_page, entries, leaf_pages, interior_pages, overflow_pages } = written.tree;
    let indexes =
        plan.indexes.iter().zip(&written.indexes).map(|(plan, written)| {
            IndexReport::new(&plan.name, plan.write_path, written.unwrap_or_default())
        });
    TableReport {
        name: plan.name.clone(),
        action: plan.action,
        rows: entries,
        rejected: written.rejected.rows,
        rejected_lines: written.rejected.lines,
        padded: 0,
        ignored,
        updated,
        replaced,
        write_path: plan.write_path,
        root_page,
        leaf_pages,
        interior_pages,
        overflow_pages,
        columns: plan.all_columns.clone(),
        indexes: indexes.collect(),
    }
}

/// The effect of the run on a database that existed before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExistingReport {
    /// Its journal mode before.
    pub journal_mode_before: String,
    /// Its journal mode after: the same.
    pub journal_mode_after: String,
    /// Pages that it had before.
    pub pages_before: u32,
    /// Pages that were written past SQLite. The number that SQLite wrote is unknown.
    pub pages_written: u64,
}

/// The report of a table. If SQLite filled it, only the root page is known, and the numbers of pages are 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableReport {
    /// Its name.
    pub name: String,
    /// What was done to it.
    pub action: Action,
    /// Rows written.
    pub rows: u64,
    /// Bad rows that went to the reject file.
    pub rejected: u64,
    /// The lines of these rows in the input.
    pub rejected_lines: u64,
    /// Rows that were loaded although fields are missing at their end, which are NULL.
    pub padded: u64,
    /// Rows that were left out: another row has the same key, or a trigger says so.
    pub ignored: u64,
    /// The number of `rows` that changed an existing row; `None`: of an upsert into a large database or with triggers, which is not
    /// counted.
    pub updated: Option<u64>,
    /// The number of rows, existing ones included, that a later row with the same key replaced; `None`: as above.
    pub replaced: Option<u64>,
    /// The write path of its rows.
    pub write_path: WritePath,
    /// The root of its B-tree.
    pub root_page: u32,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Interior pages.
    pub interior_pages: u64,
    /// Overflow pages.
    pub overflow_pages: u64,
    /// Its columns.
    pub columns: Vec<ColumnReport>,
    /// The report of each of its indexes.
    pub indexes: Vec<IndexReport>,
}

/// The report of an index. If SQLite made it, its pages are unknown, and so are the entries of a partial one: these are
/// 0, and so is the root if a statement made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexReport {
    /// Its name.
    pub name: String,
    /// The write path of its entries.
    pub write_path: WritePath,
    /// The number of its entries.
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

impl IndexReport {
    /// An index that is now the B-tree `tree`.
    pub fn new(name: impl Into<String>, write_path: WritePath, tree: WrittenTree) -> IndexReport {
        let WrittenTree { root_page, entries, leaf_pages, interior_pages, overflow_pages } = tree;
        IndexReport {
            name: name.into(),
            write_path,
            entries,
            root_page,
            leaf_pages,
            interior_pages,
            overflow_pages,
        }
    }
}
