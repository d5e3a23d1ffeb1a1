//! The report of a copy.

use std::path::PathBuf;

use serde::Serialize;
#[cfg(feature = "export")]
use sqluice_core::error::Result;
#[cfg(feature = "export")]
use sqluice_core::progress::Cancel;
use sqluice_engine::attempts::copied_database::{Copied, CopiedObject};
use sqluice_engine::output::{Replaced, Replacement};
use sqluice_engine::report::PhaseReport;
use sqluice_format::page::Geometry;
use sqluice_reader::StoredObject;

use super::{ChosenSetting, MaskPlan, Opened, Purpose, SelectedRows};
#[cfg(feature = "export")]
use super::{Copy, inspect_file};

/// The report of a copy.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CopyReport {
    /// The database that was copied.
    pub source: PathBuf,
    /// `true` if the source was downloaded to a temporary file first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fetched: bool,
    /// The new file; for [`Purpose::D1`], the folder of the SQL files.
    pub target: PathBuf,
    /// The number of bytes of the source.
    pub source_bytes: u64,
    /// The number of bytes of the copy.
    pub bytes: u64,
    /// The number of pages of the copy; 0 for a folder of SQL files.
    pub pages: u32,
    /// The page size of the copy, in bytes.
    pub page_bytes: usize,
    /// The checksum of all pages, in hexadecimal; empty if SQLite wrote the copy, or if the copy is a folder of SQL files.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
    /// The way in which pages were written: `direct` (without the system's cache), `buffered`, or `sqlite` if SQLite wrote the copy.
    pub output: &'static str,
    /// The journal mode of the source.
    pub source_journal_mode: String,
    /// The number of rows of all tables.
    pub rows: u64,
    /// The number of leaves of all tables and indexes that were copied unchanged.
    pub relocated_leaves: u64,
    /// The number of leaves that were rewritten.
    pub rewritten_leaves: u64,
    /// The number of worker threads.
    pub threads: usize,
    /// The duration of the copy in seconds.
    pub seconds: f64,
    /// The time of each phase, in order.
    pub phases: Vec<PhaseReport>,
    /// The tables, in the order of the schema.
    pub tables: Vec<CopiedTable>,
    /// The indexes, in the order of the schema.
    pub indexes: Vec<CopiedIndex>,
    /// The number of copied views, triggers and virtual tables; in a folder of SQL files, also of indexes.
    pub others: usize,
    /// The objects that were left out, such as `index orders_by_date`.
    pub left_out: Vec<String>,
    /// The objects that do not work in the copy because of left-out objects.
    pub broken: Vec<String>,
    /// The database that was replaced; `None` if the target did not exist.
    pub replaced: Option<Replaced>,
    /// The method by which the database was replaced; `None` if the target did not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The temporary files of killed runs, which were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PathBuf>,
    /// The purpose of the copy; `None` for no particular purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// The settings that follow from the purpose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<ChosenSetting>,
    /// The other files that were written: beside the target, or in the target if it is a folder of SQL files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// The rows that conditions and samples have left out; `None` without conditions and samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<SelectedRows>,
    /// The masked columns, and remarks about unmasked values; `None` if the copy is not masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask: Option<MaskPlan>,
}

/// A copied table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopiedTable {
    /// The name of the table.
    pub name: String,
    /// The number of rows.
    pub rows: u64,
    /// The root page of the B-tree; `None` if SQLite wrote the copy, or if the rows were written as statements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_page: Option<u32>,
    /// The number of leaf pages.
    pub leaf_pages: u64,
    /// The number of leaf pages that were copied unchanged.
    pub relocated_leaves: u64,
    /// The number of overflow pages.
    pub overflow_pages: u64,
    /// `true` if the rows of a WITHOUT ROWID table were out of order, and were sorted.
    pub sorted: bool,
}

/// A copied index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopiedIndex {
    /// The name of the index.
    pub name: String,
    /// The name of the table that the index belongs to.
    pub table: String,
    /// The number of entries.
    pub entries: u64,
    /// The root page of the B-tree; `None` if SQLite wrote the copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_page: Option<u32>,
    /// The number of leaf pages.
    pub leaf_pages: u64,
    /// The number of leaf pages that were copied unchanged.
    pub relocated_leaves: u64,
    /// `true` if the index was out of order, and was sorted.
    pub sorted: bool,
    /// The reason why the order of the entries was not verified; `None` if it was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
}

impl CopiedTable {
    /// Returns the report of a table whose rows were written as statements.
    #[cfg(feature = "export")]
    pub(super) fn of_statements(name: &str, rows: u64) -> CopiedTable {
        CopiedTable {
            name: name.to_owned(),
            rows,
            root_page: None,
            leaf_pages: 0,
            relocated_leaves: 0,
            overflow_pages: 0,
            sorted: false,
        }
    }
}

impl CopyReport {
    /// Returns the report of a copy as statements, before any statement is written.
    #[cfg(feature = "export")]
    pub(super) fn of_statements(opened: &Opened) -> CopyReport {
        CopyReport { output: "buffered", ..CopyReport::begun(opened) }
    }

    /// Returns the report before anything is written.
    fn begun(opened: &Opened) -> CopyReport {
        let Opened { settled, snapshot, objects, selection, .. } = opened;
        let copy = &settled.copy;
        let left_out = objects.iter().filter(|object| !selection.has(object));
        CopyReport {
            source: snapshot.name().to_owned(),
            fetched: snapshot.is_fetched(),
            target: copy.target.clone(),
            source_bytes: snapshot.bytes(),
            bytes: 0,
            pages: 0,
            page_bytes: 0,
            checksum: String::new(),
            output: "",
            source_journal_mode: snapshot.journal_mode().to_owned(),
            rows: 0,
            relocated_leaves: 0,
            rewritten_leaves: 0,
            threads: 0,
            seconds: 0.0,
            phases: Vec::new(),
            tables: Vec::new(),
            indexes: Vec::new(),
            others: 0,
            left_out: left_out.map(StoredObject::describe).collect(),
            broken: selection.broken().to_vec(),
            replaced: None,
            replacement: None,
            removed: Vec::new(),
            purpose: copy.purpose,
            chosen: settled.chosen.clone(),
            files: Vec::new(),
            selected: opened.subset.as_ref().map(|subset| subset.rows.clone()),
            mask: opened.masked.as_ref().map(|masked| masked.plan.clone()),
        }
    }

    /// Puts the phases that ran before the copy at the start of the report.
    pub(super) fn after(mut self, phases: &[PhaseReport]) -> CopyReport {
        self.seconds += phases.iter().map(|phase| phase.seconds).sum::<f64>();
        self.phases.splice(0..0, phases.iter().cloned());
        self
    }

    /// Writes the files that the purpose wants beside the copy, and adds them to the report.
    #[cfg(feature = "export")]
    pub(super) fn finish(mut self, copy: &Copy, cancel: &Cancel) -> Result<CopyReport> {
        if copy.purpose == Some(Purpose::Datasette) {
            let counts: Vec<(String, u64)> =
                self.tables.iter().map(|table| (table.name.clone(), table.rows)).collect();
            self.files.push(inspect_file::write(&copy.target, &counts, copy.write.overwrite, cancel)?);
        }
        Ok(self)
    }

    pub(super) fn new(
        opened: &Opened,
        copied: &[CopiedObject<'_>],
        made: &Copied,
        geometry: Geometry,
    ) -> CopyReport {
        let mut report = CopyReport {
            bytes: u64::from(made.pages) * geometry.page_bytes() as u64,
            pages: made.pages,
            page_bytes: geometry.page_bytes(),
            checksum: made.checksum.as_ref().map_or(String::new(), |checksum| checksum.to_hex()),
            output: made.output,
            threads: made.threads,
            seconds: made.seconds,
            phases: made.phases.clone(),
            replaced: made.replaced.clone(),
            replacement: made.replacement.clone(),
            removed: made.removed.clone(),
            ..CopyReport::begun(opened)
        };
        for (CopiedObject { object, .. }, tree) in copied.iter().zip(&made.trees) {
            let Some(copied) = tree else {
                report.others += 1;
                continue;
            };
            let (tree, name) = (copied.tree, object.name.clone());
            report.relocated_leaves += copied.relocated;
            report.rewritten_leaves += tree.leaf_pages - copied.relocated;
            // The root page is unknown if SQLite wrote the copy.
            let root_page = made.checksum.as_ref().map(|_| tree.root_page);
            let leaf_pages = tree.leaf_pages;
            let (relocated_leaves, sorted) = (copied.relocated, copied.sorted);
            if object.kind == "index" {
                report.indexes.push(CopiedIndex {
                    name,
                    table: object.table.clone(),
                    entries: tree.entries,
                    root_page,
                    leaf_pages,
                    relocated_leaves,
                    sorted,
                    unverified: object.tree.as_ref().and_then(|tree| tree.unknown_order.clone()),
                });
            } else {
                report.rows += tree.entries;
                report.tables.push(CopiedTable {
                    name,
                    rows: tree.entries,
                    root_page,
                    leaf_pages,
                    relocated_leaves,
                    overflow_pages: tree.overflow_pages,
                    sorted,
                });
            }
        }
        report
    }
}
