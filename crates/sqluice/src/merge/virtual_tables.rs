//! Rebuilds the virtual tables that several sources have, and FTS5 tables whose text is in a table that several sources have.
//!
//! SQLite creates these tables in the result, and inserts the rows that they store. The indexes of full-text tables are then built from all
//! rows: by this crate on all cores, or by SQLite if only SQLite can. Shadow tables are not merged, because their keys are the same in
//! every source.

use std::path::Path;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, params_from_iter};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::{Cancel, Context};
use sqluice_core::schema::quoted;
use sqluice_core::schema::token::same;
use sqluice_core::sqlite_error::failed;
use sqluice_engine::full_text::declaration::Declaration;
use sqluice_engine::full_text::table::{Means, rebuild};
use sqluice_engine::options::OnConflict;

use super::Merge;
use super::inserted::not_inserted;
use super::sources::{Shared, Source};
use super::tables::differently;
use crate::copy::{in_new_file, means_of_text, of_application};
use sqluice_core::schema::virtual_table::VirtualTableSql;

/// A virtual table to rebuild.
#[derive(Clone, Debug)]
pub(super) struct VirtualTable {
    /// The position of the table among the shared objects.
    pub(super) object: usize,
    pub(super) name: String,
    sql: String,
    /// The positions of the sources that have the table.
    members: Vec<usize>,
    /// The names of the shadow tables, in lower case.
    pub(super) shadows: Vec<String>,
    content: Content,
}

/// The way to get a virtual table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The rows of the sources, by their columns and rowids.
    Rows,
    /// The rows of an R*Tree, whose first column is the rowid.
    Boxes,
    /// The virtual table stores no texts of its own: its rows are in another table of the result.
    Table,
}

/// Returns the virtual tables to rebuild.
pub(super) fn rebuilt(
    sources: &[Source],
    shared: &[Shared],
    is_excluded: &dyn Fn(&str) -> bool,
) -> Result<Vec<VirtualTable>> {
    let mut rebuilt = Vec::new();
    for (object, table) in shared.iter().enumerate() {
        if !table.is_virtual(sources) || is_excluded(&table.name) {
            continue;
        }
        let sql = table.object(sources).sql.clone().unwrap_or_default();
        let is_shared = |name: &str| {
            let mut tables = shared.iter().filter(|shared| shared.kind == "table");
            tables.any(|shared| shared.name.eq_ignore_ascii_case(name) && shared.members.len() > 1)
        };
        let made = VirtualTableSql::of(&sql);
        let external = made.option("content").filter(|content| !content.is_empty());
        let follows = made.module.eq_ignore_ascii_case("fts5") && external.as_deref().is_some_and(is_shared);
        if table.members.len() == 1 && !follows {
            continue;
        }
        for &member in &table.members {
            let (source, at) = member;
            if !same(&sql, sources[source].objects[at].sql.as_deref().unwrap_or("")) {
                return Err(differently(sources, table, table.members[0], member));
            }
        }
        let content = match made.module.to_ascii_lowercase().as_str() {
            "fts5" if external.is_some() => Content::Table,
            "fts5" if made.option("content").is_none() => Content::Rows,
            "rtree" | "rtree_i32" => Content::Boxes,
            "fts5" => return Err(refused(table, "it does not keep the text that it was made of")),
            module => {
                return Err(refused(
                    table,
                    &format!("the rows of virtual tables of {module} can't be joined"),
                ));
            }
        };
        let owned = |(source, _): &(usize, usize)| {
            let lower = table.name.to_ascii_lowercase();
            let is_own =
                move |name: &&String| name.strip_prefix(&lower).is_some_and(|rest| rest.starts_with('_'));
            sources[*source].shadows.iter().filter(is_own).cloned().collect::<Vec<_>>()
        };
        let mut shadows: Vec<String> = table.members.iter().flat_map(owned).collect();
        shadows.sort_unstable();
        shadows.dedup();
        let members = table.members.iter().map(|(source, _)| *source).collect();
        let name = table.name.clone();
        rebuilt.push(VirtualTable { object, name, sql, members, shadows, content });
    }
    Ok(rebuilt)
}

fn refused(table: &Shared, why: &str) -> Error {
    Error::input(format!("table {} can't be merged: {why}", table.name)).hint(message![
        "make it again afterwards: ",
        Setting::ExcludeTable.to(&table.name),
        " leaves the table out"
    ])
}

/// Returns the virtual table that owns a table, or the name of the table itself.
pub(super) fn owner(object: &Shared, sources: &[Source]) -> String {
    let lower = object.object(sources).table.to_ascii_lowercase();
    let (source, _) = object.members[0];
    let source = &sources[source];
    if !source.shadows.contains(&lower) {
        return lower;
    }
    let virtual_tables = source.objects.iter().filter(|other| other.kind == "table" && other.tree.is_none());
    let names = virtual_tables.map(|other| other.name.to_ascii_lowercase());
    let owners =
        names.filter(|name| lower.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('_')));
    owners.max_by_key(String::len).unwrap_or(lower)
}

/// Returns `true` if SQLite has work left after the pages are written.
pub(super) fn is_needed(merge: &Merge, tables: &[VirtualTable]) -> bool {
    merge.write.analyze || !tables.is_empty()
}

/// Creates and fills the virtual tables in the file at a path, and runs ANALYZE if requested.
pub(super) fn finish(
    merge: &Merge,
    tables: &[VirtualTable],
    sources: &[Source],
    path: &Path,
    context: &Context<'_>,
) -> Result<()> {
    let means = means_of_text(&merge.write, path, context)?;
    in_new_file(path, &context.cancel, |connection| {
        for table in tables {
            table.make(connection, merge.write.on_conflict, sources, &means)?;
        }
        match merge.write.analyze {
            true => connection.execute_batch("ANALYZE main").map_err(|error| failed(error, "run ANALYZE")),
            false => Ok(()),
        }
    })
}

impl VirtualTable {
    /// Returns `true` if this crate builds the full-text index of the table, and `false` if SQLite does or the table has none.
    pub(super) fn is_indexed_here(&self) -> bool {
        self.content != Content::Boxes && matches!(Declaration::in_schema(&self.sql, &self.name), Ok(Ok(_)))
    }

    fn make(
        &self,
        connection: &Connection,
        on_conflict: OnConflict,
        sources: &[Source],
        means: &Means<'_>,
    ) -> Result<()> {
        let cannot = |error| of_application(failed(error, &format!("make table {}", self.name)), &self.name);
        connection.execute_batch(&self.sql).map_err(cannot)?;
        let fill = || {
            let filled = rebuild(connection, &self.name, means).map(drop);
            filled.map_err(|error| of_application(error, &self.name))
        };
        // Store the texts first: the index is built from all of them together.
        let own_content = match self.content {
            Content::Table => return fill(),
            Content::Rows => Declaration::of(connection, &self.name).map_err(cannot)?.ok(),
            Content::Boxes => None,
        };
        let own_content = own_content.and_then(|declaration| declaration.own_content());
        for &source in &self.members {
            let target = (connection, own_content.as_deref());
            self.insert(target, &sources[source], on_conflict, means.cancel)?;
        }
        if own_content.is_some() { fill() } else { Ok(()) }
    }

    fn insert(
        &self,
        (connection, own_content): (&Connection, Option<&str>),
        source: &Source,
        on_conflict: OnConflict,
        cancel: &Cancel,
    ) -> Result<()> {
        let cannot_read = |error| {
            let what = format!("read table {} of {}", self.name, source.name());
            of_application(failed(error, &what), &self.name)
        };
        let name = quoted(&self.name);
        let snapshot = source.snapshot.connection();
        let rowid = if self.content == Content::Rows { "rowid, " } else { "" };
        let mut select = snapshot.prepare(&format!("SELECT {rowid}* FROM {name}")).map_err(cannot_read)?;
        let columns: Vec<String> = select.column_names().map(quoted).collect();
        let or = match on_conflict {
            OnConflict::Abort => "",
            OnConflict::Ignore => "OR IGNORE ",
            OnConflict::Replace => "OR REPLACE ",
        };
        let places = vec!["?"; columns.len()].join(", ");
        let insert = match own_content {
            Some(content) => format!("INSERT {or}INTO main.{content} VALUES ({places})"),
            None => format!("INSERT {or}INTO {name} ({}) VALUES ({places})", columns.join(", ")),
        };
        let mut insert = connection
            .prepare(&insert)
            .map_err(|error| failed(error, &format!("fill table {}", self.name)))?;
        let mut rows = select.query([]).map_err(cannot_read)?;
        while let Some(row) = rows.next().map_err(cannot_read)? {
            cancel.check()?;
            let values = (0..columns.len()).map(|column| row.get_ref(column).map(ToSqlOutput::Borrowed));
            let values = values.collect::<rusqlite::Result<Vec<_>>>().map_err(cannot_read)?;
            insert.execute(params_from_iter(values)).map_err(|error| {
                let rowid: i64 = row.get(0).unwrap_or_default();
                let row = format!("row {rowid} of table {} of {}", self.name, source.name());
                of_application(not_inserted(error, &row), &self.name)
            })?;
        }
        Ok(())
    }
}
