//! The report of a run: the rows and pages of each table, the phases and their times, the inputs of a load, and notes for the user.

mod recognised;

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;
use sqluice_core::error::{Message, Setting};

use crate::options::{Action, OnConflict, WritePath};
pub use crate::output::{Replaced, ReplacedTable, Replacement};
pub use crate::phases::PhaseReport;
use crate::phases::Phases;
use crate::plan::{ColumnReport, Plan, TablePlan, message_as_text, path_as_text};
pub use crate::plan::{LeftOutFile, left_out_in_words};
use crate::trees::{Written, WrittenTree};
pub use recognised::{padded_in_words, recognised_in_words};
pub use sqluice_core::source::recognised::{Recognised, RecognisedCsv, RecognisedPreamble};

/// The report of a run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The written file or object; `None` if the pages were discarded.
    #[serde(serialize_with = "path_as_text")]
    pub target: Option<PathBuf>,
    /// The number of rows of all tables.
    pub rows: u64,
    /// The number of bad rows that went to the reject file.
    pub rejected: u64,
    /// The number of lines that these bad rows take in the input.
    pub rejected_lines: u64,
    /// The number of rows that were left out because of their keys or by a trigger.
    pub ignored: u64,
    /// The number of pages of the file.
    pub pages: u32,
    /// The page size in bytes.
    pub page_bytes: usize,
    /// The number of bytes of the file.
    pub bytes: u64,
    /// The checksum of all pages, in hexadecimal: see [`checksum`](sqluice_core::checksum). Empty for an existing database, which is not
    /// read as a whole, and if one transaction has replaced a database.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
    /// The kind of I/O that wrote the pages: `direct` or `buffered` for a file, `uploaded` or `spooled` for an object in an object store
    /// (as pages are made, or from a finished file), `sqlite` if SQLite wrote all of them, or `discarded`.
    pub output: &'static str,
    /// The effect of the run on a database that existed before; `None` if the run created a new database.
    pub existing: Option<ExistingReport>,
    /// The content of the database that was replaced; `None` if none was.
    pub replaced: Option<Replaced>,
    /// The method by which the run replaced the database; `None` if it replaced none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The temporary files that killed runs had left behind, and that this run removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PathBuf>,
    /// The number of worker threads.
    pub threads: usize,
    /// The seconds from the examination of the input to the durable file.
    pub seconds: f64,
    /// The time of each phase, in order; phases that ran at the same time overlap.
    pub phases: Vec<PhaseReport>,
    /// The report of each table.
    pub tables: Vec<TableReport>,
    /// The full-text tables whose indexes got the terms of all new rows at once, instead of row by row through triggers or inserts; also
    /// the tables that the user asked for, even if SQLite added each row to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub full_text: Vec<String>,
    /// The recognised format of each input of a load, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputReport>,
    /// The files that were left out because they could not be loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedFile>,
    /// The files of folders and archives that a load has left out, because they are not named: hidden files, databases, pictures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutFile>,
    /// The constraints that a database generated from a profile lacks: no rows were found that satisfy the constraint, or the key to which
    /// it refers is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedConstraint>,
    /// Notes on results that a user may not expect. Front ends print them in their own terms.
    #[serde(skip)]
    pub notes: Vec<Message>,
}

/// A constraint of the schema that the database does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DroppedConstraint {
    /// The name of the table.
    pub table: String,
    /// The constraint: `CHECK (a < b)`, `UNIQUE (a, b)`, `UNIQUE of index i`, `FOREIGN KEY (a) REFERENCES p`.
    pub constraint: String,
}

impl DroppedConstraint {
    /// Creates the report of a constraint.
    pub fn new(table: impl Into<String>, constraint: impl Into<String>) -> DroppedConstraint {
        DroppedConstraint { table: table.into(), constraint: constraint.into() }
    }
}

/// An input of a load, and its format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InputReport {
    /// The name of the file in messages.
    pub name: String,
    /// The table of the rows.
    pub table: String,
    /// The format that was recognised in the input.
    #[serde(flatten)]
    pub recognised: Recognised,
    /// The number of rows that were loaded although fields are missing at their end. The missing fields are NULL.
    pub padded: u64,
    /// Notes on readings of the input that a user may not expect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Message>,
    /// Warnings about ambiguous values, with the place of the first value and the setting for another reading.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Message>,
}

/// A file that could not be loaded, and was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkippedFile {
    /// The name of the file in messages.
    pub name: String,
    /// The reason why the file could not be loaded.
    #[serde(serialize_with = "message_as_text")]
    pub why: Message,
}

impl InputReport {
    /// Creates the report of the input `name`, whose rows went to `table`.
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
    /// Creates a skipped file with its name and the reason.
    pub fn new(name: impl Into<String>, why: Message) -> SkippedFile {
        SkippedFile { name: name.into(), why }
    }
}

impl Report {
    /// Returns the report in the terms of a front end, ready to be serialized: with the notes and warnings about inputs, and the reasons
    /// why files were skipped or left out. `notes` stay as they are.
    #[must_use]
    pub fn in_terms(mut self, name: impl Fn(Setting, Option<&str>) -> String) -> Report {
        let notes =
            self.inputs.iter_mut().flat_map(|input| input.notes.iter_mut().chain(&mut input.warnings));
        let skipped = self.skipped.iter_mut().map(|skipped| &mut skipped.why);
        let left_out = self.left_out.iter_mut().map(|file| &mut file.why);
        notes.chain(skipped).chain(left_out).for_each(|message| *message = message.in_terms(&name));
        self
    }

    /// Returns the report of the written tables. The caller adds the checksum, or the report of an existing database.
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
            full_text: Vec::new(),
            inputs: Vec::new(),
            skipped: Vec::new(),
            left_out: Vec::new(),
            dropped: Vec::new(),
            notes: plan.notes.clone(),
        }
    }
}

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
        filtered: 0,
        filtered_null: 0,
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
    /// The journal mode before the run.
    pub journal_mode_before: String,
    /// The journal mode after the run, which is the same.
    pub journal_mode_after: String,
    /// The number of pages before the run.
    pub pages_before: u32,
    /// The number of pages written directly. The number of pages that SQLite wrote is unknown.
    pub pages_written: u64,
    /// The full-text tables that did not get the new rows of their tables, as no trigger adds them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub full_text_behind: Vec<String>,
}

/// The report of a table. If SQLite filled the table, only the root page is known, and the numbers of pages are 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableReport {
    /// The name of the table.
    pub name: String,
    /// The effect of the run on the table.
    pub action: Action,
    /// The number of written rows.
    pub rows: u64,
    /// The number of bad rows that went to the reject file.
    pub rejected: u64,
    /// The number of lines that these bad rows take in the input.
    pub rejected_lines: u64,
    /// The number of rows that were loaded although fields are missing at their end. The missing fields are NULL.
    pub padded: u64,
    /// The number of records that the filter has left out.
    pub filtered: u64,
    /// The number of `filtered` records for which the filter was NULL, neither true nor false.
    pub filtered_null: u64,
    /// The number of rows that were left out because of their keys or by a trigger.
    pub ignored: u64,
    /// The number of `rows` that changed an existing row; `None` for an upsert into a large database or with triggers, which is not
    /// counted.
    pub updated: Option<u64>,
    /// The number of rows, including existing rows, that a later row with the same key replaced; `None` if the rows are not counted, as for
    /// [`TableReport::updated`].
    pub replaced: Option<u64>,
    /// The write path of the rows.
    pub write_path: WritePath,
    /// The root page of the B-tree.
    pub root_page: u32,
    /// The number of leaf pages.
    pub leaf_pages: u64,
    /// The number of interior pages.
    pub interior_pages: u64,
    /// The number of overflow pages.
    pub overflow_pages: u64,
    /// The columns of the table.
    pub columns: Vec<ColumnReport>,
    /// The report of each index.
    pub indexes: Vec<IndexReport>,
}

/// The report of an index. If SQLite made the index, the numbers of pages are unknown and given as 0, and so is the number of entries of a
/// partial index. If a statement made the index, the root page is 0, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexReport {
    /// The name of the index.
    pub name: String,
    /// The write path of the entries.
    pub write_path: WritePath,
    /// The number of entries of the index.
    pub entries: u64,
    /// The root page of the B-tree.
    pub root_page: u32,
    /// The number of leaf pages.
    pub leaf_pages: u64,
    /// The number of interior pages.
    pub interior_pages: u64,
    /// The number of overflow pages.
    pub overflow_pages: u64,
}

impl IndexReport {
    /// Creates the report of an index that was written as `tree`.
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
