//! Full-text tables that are given rows of their own: those of FTS5 that keep their texts, and those that keep none.
//!
//! The rows of a table whose text is in another table are those of the other table.

use rusqlite::Connection;
use sqluice_core::schema::Table;
use sqluice_core::schema::virtual_table::VirtualTableSql;

use super::declaration::{Content, Declaration, columns};
use crate::options::OnConflict;

/// The reason why the index of a table is built here, as a sentence.
pub(crate) const BUILT_HERE: &str = "its terms are sorted on all cores";

/// Returns the virtual table `name` of a connection as a table that takes rows: its rowid and its columns. Returns `None` for tables of other
/// modules, and for tables whose text is in another table. `sql` is the statement of the table.
///
/// # Errors
/// If SQLite can't read the table, as without its tokenizer.
pub fn table(connection: &Connection, name: &str, sql: &str) -> rusqlite::Result<Option<Table>> {
    let made = VirtualTableSql::of(sql);
    let is_other = made.option("content").is_some_and(|content| !content.trim().is_empty());
    if is_other || !made.module.eq_ignore_ascii_case("fts5") {
        return Ok(None);
    }
    Ok(Some(Table::of_virtual(name, sql, columns(connection, name)?).with_rowid()))
}

/// Chooses if the index of a new table is built here. The error is the reason why SQLite must build it, as a sentence.
pub(crate) fn is_built_here(table: &Table, on_conflict: OnConflict) -> Result<(), String> {
    if !VirtualTableSql::of(&table.sql).module.eq_ignore_ascii_case("fts5") {
        return Err("the module of a virtual table stores its rows".to_owned());
    }
    match Declaration::in_schema(&table.sql, &table.name) {
        Ok(Ok(declaration)) if declaration.content == Content::None => decides_no_conflict(on_conflict),
        Ok(Ok(_)) => Ok(()),
        Ok(Err(why)) => Err(why),
        // SQLite gives its message when it creates the table.
        Err(_) => Err("only SQLite understands how it is declared".to_owned()),
    }
}

/// Returns an error, the reason as a sentence, if only SQLite decides which of two rows with one rowid stays.
pub(crate) fn decides_no_conflict(on_conflict: OnConflict) -> Result<(), String> {
    match on_conflict {
        OnConflict::Abort => Ok(()),
        _ => Err("SQLite decides about rows whose keys exist".to_owned()),
    }
}
