//! What a merge did.

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
    /// The database that has all of it.
    pub target: PathBuf,
    /// The databases that were merged, in order.
    pub sources: Vec<MergedSource>,
    /// Those of them that were fetched to temporary files first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fetched: Vec<PathBuf>,
    /// Bytes of the result.
    pub bytes: u64,
    /// Its pages.
    pub pages: u32,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// The checksum of all pages, in hexadecimal; empty when SQLite wrote the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
    /// How pages got to the disk: `direct` or `buffered`, or by `sqlite`.
    pub output: &'static str,
    /// Rows of all tables.
    pub rows: u64,
    /// Rows that were left out because others have their keys.
    pub left_out_rows: u64,
    /// Leaves that were taken as they are, of all tables and indexes.
    pub relocated_leaves: u64,
    /// Leaves that were written anew.
    pub rewritten_leaves: u64,
    /// Worker threads.
    pub threads: usize,
    /// Seconds that it took.
    pub seconds: f64,
    /// What the time went into, in order.
    pub phases: Vec<PhaseReport>,
    /// The tables, in the order of the schema.
    pub tables: Vec<MergedTable>,
    /// The indexes, in the order of the schema.
    pub indexes: Vec<MergedIndex>,
    /// Views and triggers.
    pub others: usize,
    /// Virtual tables that SQLite made and filled.
    pub virtual_tables: Vec<String>,
    /// Objects that were left out.
    pub left_out: Vec<String>,
    /// Rows whose parents were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphans: Vec<OrphanedRows>,
    /// The database that was replaced.
    pub replaced: Option<Replaced>,
    /// The method by which the result took the place of the old database, or of the target that was added to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The temporary files of killed runs, which were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PathBuf>,
    /// What the target held before, if it existed and was added to.
    pub before: Option<Replaced>,
}

/// A database that was merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergedSource {
    /// Its name.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Its journal mode.
    pub journal_mode: String,
}

/// A table of the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergedTable {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// How many sources have it.
    pub sources: usize,
    /// `copied`, `concatenated`, `interleaved`, `renumbered` or `inserted`.
    pub method: &'static str,
    /// Why SQLite inserted its rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Rows that were left out because others have their keys.
    pub left_out: u64,
    /// Whether a column shows the new rowids: an INTEGER PRIMARY KEY.
    pub new_keys: bool,
    /// The sources whose rows have new rowids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub renumbered: Vec<Renumbered>,
    /// The columns whose values follow new numbers of another table, or of this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub following: Vec<String>,
    /// Differences between the declarations of sources that change no value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// The number of these that were taken as they are.
    pub relocated_leaves: u64,
}

/// New rowids of the rows of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Renumbered {
    /// The source.
    pub source: PathBuf,
    /// What was added to each.
    pub added: i64,
}

/// Rows that refer to rows of their source which were left out, because others have their keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OrphanedRows {
    /// Their table.
    pub table: String,
    /// The columns that refer.
    pub columns: Vec<String>,
    /// The table that they refer to.
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
    /// Its name.
    pub name: String,
    /// The table that it is on.
    pub table: String,
    /// Its entries.
    pub entries: u64,
    /// Whether it was sorted, because it was out of order in a source or is in another order there.
    pub sorted: bool,
}

/// The sources of a table whose rows have new rowids.
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
            // Of SQLite's own tables, none is one of the user's.
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
