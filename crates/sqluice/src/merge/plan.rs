//! The plan of a merge, which `--dry-run` prints.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use sqluice_core::size::{Bytes, grouped};
use sqluice_engine::output::Replacement;

use super::Merge;
use super::design::Design;
use super::report::{self, Renumbered};
use super::sources::{self, Shared, Source};
use super::tables::{self, Method};

/// The plan of a merge.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MergePlan {
    /// The database that gets all rows.
    pub target: PathBuf,
    /// `true` if the target is the first source. No other process may use the target meanwhile.
    pub adds_to_target: bool,
    /// The method that will replace an existing file at the target; `None` if no file is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The sources, in order.
    pub sources: Vec<PathBuf>,
    /// The sources that were downloaded to temporary files first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fetched: Vec<PathBuf>,
    /// The number of bytes of the sources.
    pub source_bytes: u64,
    /// The sources to which other processes can't commit meanwhile.
    pub keeps_waiting: Vec<PathBuf>,
    /// The plan for each table, in the order of the schema.
    pub tables: Vec<PlannedTable>,
    /// The virtual tables that are created and filled.
    pub virtual_tables: Vec<String>,
    /// The members of `virtual_tables` with content or an index that only SQLite makes, on one core. This crate makes the indexes of the
    /// other members, on all cores.
    pub by_sqlite: Vec<String>,
    /// The objects that are left out.
    pub left_out: Vec<String>,
    /// `true` if ANALYZE is run.
    pub analyze: bool,
}

/// The plan for a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedTable {
    /// The name.
    pub name: String,
    /// The number of sources that have the table.
    pub sources: usize,
    /// The number of sources with rows.
    pub with_rows: usize,
    /// `copied`, `concatenated`, `interleaved`, `renumbered` or `inserted`.
    pub method: &'static str,
    /// The method in words.
    pub how: String,
    /// `true` if rows get new rowids and the rowid is an INTEGER PRIMARY KEY, so that values of a column change.
    pub new_keys: bool,
    /// The sources whose rows get new rowids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub renumbered: Vec<Renumbered>,
    /// The columns whose values change because they refer to renumbered keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub following: Vec<String>,
    /// Differences between the declarations of sources that change no value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl MergePlan {
    pub(super) fn new(
        merge: &Merge,
        sources: &[Source],
        shared: &[Shared],
        design: &Design<'_>,
    ) -> MergePlan {
        let waiting = sources.iter().filter(|source| !source.snapshot.lets_others_commit());
        let tables = design.tables.iter().map(|merged| {
            let with_rows = merged.with_rows();
            PlannedTable {
                name: merged.table.name.clone(),
                sources: merged.sources,
                with_rows,
                method: merged.method.name(),
                how: how(merged, with_rows),
                new_keys: merged.has_new_keys(),
                renumbered: report::renumbered(merged, sources),
                following: design.following(merged),
                notes: merged.notes().to_vec(),
            }
        });
        MergePlan {
            target: merge.target.clone(),
            fetched: sources::fetched(sources),
            adds_to_target: merge.adds_to_target(),
            replacement: None,
            sources: sources.iter().map(|source| source.snapshot.name().to_owned()).collect(),
            source_bytes: sources.iter().map(|source| source.snapshot.bytes()).sum(),
            keeps_waiting: waiting.map(|source| source.snapshot.name().to_owned()).collect(),
            tables: tables.collect(),
            virtual_tables: design
                .virtual_tables
                .iter()
                .map(|table| shared[table.object].name.clone())
                .collect(),
            by_sqlite: design
                .virtual_tables
                .iter()
                .filter(|table| !table.is_indexed_here())
                .map(|table| shared[table.object].name.clone())
                .collect(),
            left_out: design.left_out.clone(),
            analyze: merge.write.analyze,
        }
    }
}

impl Method {
    /// Returns the name of the method in plans and reports.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Method::Copied => "copied",
            Method::Concatenated => "concatenated",
            Method::Interleaved => "interleaved",
            Method::Renumbered => "renumbered",
            Method::Inserted(_) => "inserted",
        }
    }
}

fn how(merged: &tables::MergedTable<'_>, with_rows: usize) -> String {
    let indexes = match merged.indexes.len() {
        0 => "",
        _ => "; indexes merged in their order",
    };
    match &merged.method {
        Method::Copied if with_rows == 0 => "no source has rows".to_owned(),
        Method::Copied => "copied: one source has rows".to_owned(),
        Method::Concatenated => format!("full leaves as they are, one source after another{indexes}"),
        Method::Interleaved => format!("row by row, by their keys{indexes}"),
        Method::Renumbered => {
            let numbers = if merged.has_new_keys() { "keys" } else { "rowids" };
            format!("one source after another, with new {numbers}{indexes}")
        }
        Method::Inserted(why) => format!("SQLite inserts them: {why}"),
    }
}

/// Formats the plan as `--dry-run` prints it.
impl fmt::Display for MergePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = Bytes(self.source_bytes);
        let databases = match self.sources.len() {
            1 => "1 database".to_owned(),
            number => format!("{number} databases"),
        };
        writeln!(f, "{databases} into {}: {bytes}", self.target.display())?;
        for source in &self.fetched {
            writeln!(f, "{} is fetched to a temporary file first", source.display())?;
        }
        if self.adds_to_target {
            writeln!(
                f,
                "{} is the first of them and is replaced: no other process may use it",
                self.target.display()
            )?;
        }
        if let Some(how @ Replacement::Transaction { .. }) = &self.replacement {
            writeln!(f, "{} is replaced {how}", self.target.display())?;
        }
        match self.keeps_waiting.len() {
            0 => writeln!(f, "other processes can write to the sources meanwhile, and their logs grow")?,
            _ => {
                let names: Vec<String> =
                    self.keeps_waiting.iter().map(|path| path.display().to_string()).collect();
                writeln!(f, "other processes wait with their commits to {}", names.join(", "))?;
            }
        }
        for PlannedTable { name, sources, how, new_keys, renumbered, following, notes, .. } in &self.tables {
            let of = if *sources == 1 { "1 source" } else { &format!("{sources} sources") };
            writeln!(f, "table {name} of {of}: {how}")?;
            // New rowids are only shown if a column is the rowid.
            for Renumbered { source, added } in renumbered.iter().filter(|_| *new_keys) {
                let added = grouped(added.unsigned_abs());
                writeln!(f, "  {added} is added to the keys of {}", source.display())?;
            }
            for column in following {
                writeln!(f, "  column {column} follows new numbers")?;
            }
            for note in notes {
                writeln!(f, "  {note}")?;
            }
        }
        for table in &self.virtual_tables {
            let how = match self.by_sqlite.contains(table) {
                true => "SQLite makes it again",
                false => "its index is made again on all cores",
            };
            writeln!(f, "virtual table {table}: {how}")?;
        }
        for object in &self.left_out {
            writeln!(f, "left out: {object}")?;
        }
        if self.analyze { writeln!(f, "ANALYZE is run") } else { Ok(()) }
    }
}
