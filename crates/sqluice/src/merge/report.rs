//! The report of a merge.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use sqluice_core::size::grouped;
use sqluice_engine::attempts::copied_database::Copied;
use sqluice_engine::output::{Replaced, Replacement};
use sqluice_engine::report::PhaseReport;
use sqluice_format::page::Geometry;

use super::known::{LeftOut, Run};
use super::sources::{self, Source};
use super::tables::{self, Method};

/// The report of a merge.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MergeReport {
    /// The merged database.
    pub target: PathBuf,
    /// The sources, in order.
    pub sources: Vec<MergedSource>,
    /// The sources that were downloaded to temporary files first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fetched: Vec<PathBuf>,
    /// The number of bytes of the result.
    pub bytes: u64,
    /// The number of pages of the result.
    pub pages: u32,
    /// The page size in bytes.
    pub page_bytes: usize,
    /// The checksum of all pages, in hexadecimal; empty if SQLite wrote the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
    /// The way in which pages were written: `direct` (without the system's cache), `buffered`, or `sqlite` if SQLite wrote the file.
    pub output: &'static str,
    /// The number of rows of all tables, except SQLite's own tables and the tables of `virtual_tables`.
    pub rows: u64,
    /// The number of rows that were left out because other rows have their keys.
    pub left_out_rows: u64,
    /// The number of leaves of all tables and indexes that were copied unchanged.
    pub relocated_leaves: u64,
    /// The number of leaves that were rewritten.
    pub rewritten_leaves: u64,
    /// The number of worker threads.
    pub threads: usize,
    /// The duration of the merge in seconds.
    pub seconds: f64,
    /// The time of each phase, in order.
    pub phases: Vec<PhaseReport>,
    /// The tables, in the order of the schema.
    pub tables: Vec<MergedTable>,
    /// The indexes, in the order of the schema.
    pub indexes: Vec<MergedIndex>,
    /// The number of views and triggers.
    pub others: usize,
    /// The virtual tables that SQLite created and filled.
    pub virtual_tables: Vec<String>,
    /// The objects that were left out.
    pub left_out: Vec<String>,
    /// The rows whose parents were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphans: Vec<OrphanedRows>,
    /// The database that was replaced; `None` if the target did not exist.
    pub replaced: Option<Replaced>,
    /// The method by which the result replaced the old file at the target; `None` if no file was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The temporary files of killed runs, which were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PathBuf>,
    /// The content of the target before the merge, if it was the first source.
    pub before: Option<Replaced>,
}

/// A merged source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergedSource {
    /// The path or URL of the database.
    pub path: PathBuf,
    /// The number of bytes.
    pub bytes: u64,
    /// The journal mode.
    pub journal_mode: String,
}

/// A table of the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergedTable {
    /// The name.
    pub name: String,
    /// The number of rows.
    pub rows: u64,
    /// The number of sources that have the table.
    pub sources: usize,
    /// `copied`, `concatenated`, `interleaved`, `renumbered` or `inserted`.
    pub method: &'static str,
    /// The reason why SQLite inserted the rows, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The number of rows that were left out because other rows have their keys.
    pub left_out: u64,
    /// `true` if rows have new rowids and the rowid is an INTEGER PRIMARY KEY, so that values of a column have changed.
    pub new_keys: bool,
    /// The sources whose rows have new rowids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub renumbered: Vec<Renumbered>,
    /// The columns whose values have changed because they refer to renumbered keys of another table, or of this table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub following: Vec<String>,
    /// Differences between the declarations of sources that change no value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The number of leaf pages.
    pub leaf_pages: u64,
    /// The number of leaf pages that were copied unchanged.
    pub relocated_leaves: u64,
}

/// The change of the rowids of a source's rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Renumbered {
    /// The source.
    pub source: PathBuf,
    /// The number that was added to each rowid.
    pub added: i64,
}

/// Rows whose parents in their source were left out, because other rows have the parents' keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OrphanedRows {
    /// The table of these rows.
    pub table: String,
    /// The referring columns.
    pub columns: Vec<String>,
    /// The parent table.
    pub parent: String,
    /// The number of these rows.
    pub rows: u64,
}

impl fmt::Display for OrphanedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OrphanedRows { table, columns, parent, rows } = self;
        let what = if *rows == 1 { "row" } else { "rows" };
        write!(f, "{} {what} of {table} ({}) to {parent}", grouped(*rows), columns.join(", "))
    }
}

/// An index of the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergedIndex {
    /// The name.
    pub name: String,
    /// The table of the index.
    pub table: String,
    /// The number of entries.
    pub entries: u64,
    /// `true` if the index was sorted, because it was out of order or in another order in a source.
    pub sorted: bool,
}

/// Returns the sources that give a table rows with new rowids.
pub(super) fn renumbered(merged: &tables::MergedTable<'_>, sources: &[Source]) -> Vec<Renumbered> {
    let members = merged.members.iter().filter(|member| member.offset != 0);
    let renumbered = members.map(|member| Renumbered {
        source: sources[member.source].snapshot.name().to_owned(),
        added: member.offset,
    });
    renumbered.collect()
}

impl MergeReport {
    pub(super) fn new(run: &Run<'_>, left_out: &LeftOut, made: &Copied, geometry: Geometry) -> MergeReport {
        let Run { merge, sources, shared, design, inserted, .. } = *run;
        let of_source = |source: &Source| MergedSource {
            path: source.snapshot.name().to_owned(),
            bytes: source.snapshot.bytes(),
            journal_mode: source.snapshot.journal_mode().to_owned(),
        };
        let mut report = MergeReport {
            target: merge.target.clone(),
            fetched: sources::fetched(sources),
            sources: sources.iter().map(of_source).collect(),
            bytes: u64::from(made.pages) * geometry.page_bytes() as u64,
            pages: made.pages,
            page_bytes: geometry.page_bytes(),
            checksum: made.checksum.as_ref().map_or(String::new(), |checksum| checksum.to_hex()),
            output: made.output,
            rows: 0,
            left_out_rows: 0,
            relocated_leaves: 0,
            rewritten_leaves: 0,
            threads: made.threads,
            seconds: made.seconds,
            phases: made.phases.clone(),
            tables: Vec::new(),
            indexes: Vec::new(),
            others: 0,
            virtual_tables: design.virtual_tables.iter().map(|table| table.name.clone()).collect(),
            left_out: design.left_out.clone(),
            orphans: Vec::new(),
            replaced: made.replaced.clone(),
            replacement: made.replacement.clone(),
            removed: made.removed.clone(),
            before: None,
        };
        for (place, tree) in design.written.iter().zip(&made.trees) {
            let object = &shared[*place];
            let Some(copied) = tree else {
                report.others += 1;
                continue;
            };
            let (tree, name) = (copied.tree, object.name.clone());
            report.relocated_leaves += copied.relocated;
            report.rewritten_leaves += tree.leaf_pages - copied.relocated;
            if object.kind == "index" {
                let table = object.object(sources).table.clone();
                report.indexes.push(MergedIndex {
                    name,
                    table,
                    entries: tree.entries,
                    sorted: copied.sorted,
                });
                continue;
            }
            // Rows of SQLite's own tables are not counted.
            report.rows += if name.starts_with("sqlite_") { 0 } else { tree.entries };
            let Some(&at) = design.table_of.get(place) else { continue };
            let merged = &design.tables[at];
            let members = || merged.members.iter();
            let own = members().filter_map(|member| left_out.get(&(member.source, at)));
            let by_sqlite = inserted.map_or(0, |inserted| inserted.left_out[at]);
            let rows_left_out = own.map(|rows| rows.len() as u64).sum::<u64>() + by_sqlite;
            report.left_out_rows += rows_left_out;
            report.tables.push(MergedTable {
                name,
                rows: tree.entries,
                sources: merged.sources,
                method: merged.method.name(),
                why: match &merged.method {
                    Method::Inserted(why) => Some(why.clone()),
                    _ => None,
                },
                left_out: rows_left_out,
                new_keys: merged.has_new_keys(),
                renumbered: renumbered(merged, sources),
                following: design.following(merged),
                notes: merged.notes().to_vec(),
                leaf_pages: tree.leaf_pages,
                relocated_leaves: copied.relocated,
            });
        }
        report
    }
}
