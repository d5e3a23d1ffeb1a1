//! Full-text tables that exist: their segments are merged into one, or their index is made again from the texts.

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::quoted;
use sqluice_core::schema::virtual_table::VirtualTableSql;
use sqluice_core::similar;
use sqluice_core::sqlite_error::failed;

use crate::existing::Transaction;
use crate::full_text::WrittenTextIndex;
use crate::full_text::declaration::{Content, Declaration};
use crate::full_text::table::{Means, TextTable};
use crate::options::WritePath;
use crate::phases::Phases;
use crate::trees::Settings;

/// The work on a full-text table that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All segments are merged into one.
    Optimize,
    /// The index is made again from the texts.
    Rebuild,
}

/// A full-text table to remake.
pub struct Remake {
    /// The name.
    pub name: String,
    /// The work.
    pub kind: Kind,
    /// The table or view with the texts.
    pub table: String,
    /// SQLite's own statement for the work.
    pub sql: String,
    /// The declaration; `None` if SQLite does the work.
    declaration: Option<Declaration>,
    /// The reason for the write path, as a sentence.
    pub why: String,
}

impl Remake {
    /// Returns `Sorted` if the work is done here, or `Sqlite` if SQLite does it.
    pub fn write_path(&self) -> WritePath {
        if self.declaration.is_some() { WritePath::Sorted } else { WritePath::Sqlite }
    }
}

/// The result of the work on a full-text table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Remade {
    /// The counts of the index (rows, tokens, terms, pages) if the engine wrote it; `None` if SQLite did the work.
    pub written: Option<WrittenTextIndex>,
    /// The number of segments that were merged.
    pub merged_segments: usize,
}

/// Returns the full-text tables to remake, each with the kind of work.
///
/// # Errors
/// If a table does not exist, is no table of FTS5, or keeps no text to make its index of.
pub fn remakes(connection: &Connection, wanted: &[(String, Kind)]) -> Result<Vec<Remake>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let cannot = |error| failed(error, "read the schema");
    let sql = "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'";
    let mut query = connection.prepare(sql).map_err(cannot)?;
    let all = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(cannot)?;
    let mut all: Vec<(String, String)> = all.collect::<rusqlite::Result<_>>().map_err(cannot)?;
    all.retain(|(_, sql)| VirtualTableSql::of(sql).module.eq_ignore_ascii_case("fts5"));
    let remake = |(index, (wanted_name, kind)): (usize, &(String, Kind))| {
        let Some((name, _)) = all.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted_name)) else {
            return Err(Error::target(format!("{wanted_name} is no full-text table (FTS5) of the database"))
                .hint(similar::hint(wanted_name, all.iter().map(|(name, _)| &**name))));
        };
        if wanted[..index].iter().any(|other| other.0.eq_ignore_ascii_case(name) && other.1 == *kind) {
            return Err(Error::usage(format!("full-text table {name} is given twice")));
        }
        let declaration = Declaration::of(connection, name).map_err(cannot)?;
        let content = declaration.as_ref().map(|declaration| declaration.content.clone());
        if *kind == Kind::Rebuild && content == Ok(Content::None) {
            return Err(Error::target(format!("full-text table {name} keeps no text to make its index of"))
                .hint(format!(
                    "empty it: INSERT INTO {name}({name}) VALUES ('delete-all'); then insert the texts",
                    name = quoted(name)
                )));
        }
        let table = match content {
            Ok(Content::External { table, .. }) => table,
            _ => name.clone(),
        };
        let (command, ours) = match kind {
            Kind::Optimize => ("optimize", "its segments are merged on all cores"),
            Kind::Rebuild => ("rebuild", "its terms are sorted on all cores"),
        };
        let (declaration, why) = match declaration {
            Ok(declaration) => (Some(declaration), ours.to_owned()),
            Err(why) => (None, why),
        };
        let quoted = quoted(name);
        let sql = format!("INSERT INTO {quoted}({quoted}) VALUES ('{command}')");
        Ok(Remake { name: name.clone(), kind: *kind, table, sql, declaration, why })
    };
    wanted.iter().enumerate().map(remake).collect()
}

/// Does the work on a full-text table in an open transaction. Commits nothing.
///
/// # Errors
/// If the index is damaged and is not made again, or the file can't be written.
pub fn remake(
    transaction: &Transaction<'_>,
    remake: &Remake,
    settings: &Settings,
    phases: &mut Phases<'_>,
) -> Result<Remade> {
    let by_sqlite = |phases: &mut Phases<'_>| {
        phases.begin(&format!("sqlite {}", remake.name), None);
        transaction.execute(&remake.sql).map(|()| Remade::default())
    };
    let Some(declaration) = &remake.declaration else { return by_sqlite(phases) };
    let cancel = transaction.cancel().child();
    let means = Means {
        workers: settings.workers,
        // No pages are written meanwhile, so their buffers are free.
        memory_bytes: settings.sort_bytes
            + settings.workers * settings.chunks_per_worker * settings.chunk_bytes,
        temp_dir: settings.temp_dir.clone(),
        cancel: &cancel,
        progress: phases.progress(),
    };
    let table = TextTable::new(transaction.connection(), declaration, means)
        .with_errors(|error, what| transaction.failed(error, what));
    match remake.kind {
        Kind::Optimize => {
            phases.begin(&format!("optimize {}", remake.name), None);
            let (merged_segments, written) = table.optimize()?;
            Ok(Remade { written: Some(written), merged_segments })
        }
        Kind::Rebuild => {
            phases.begin(&format!("rebuild {}", remake.name), None);
            match table.rebuild()? {
                Some(written) => Ok(Remade { written: Some(written), merged_segments: 0 }),
                None => by_sqlite(phases),
            }
        }
    }
}
