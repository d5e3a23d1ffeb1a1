//! Queries that check the written trees before COMMIT: SQLite must find the entries that were written.
//!
//! In small new trees, all entries are counted. In large new trees, only the first entries and the largest rowid are read, as a count reads
//! every leaf. In a table that had rows before, only the largest rowid is read.

use rusqlite::{Connection, OptionalExtension};
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::index::Index;
use sqluice_core::schema::{Table, quoted};

use crate::expressions::{prepare_by_index, terms};
use crate::options::WritePath;
use crate::trees::{Written, WrittenTree};

/// The largest number of leaves that a tree may have if its entries are to be counted.
const LEAVES_MAX: u64 = 500;

/// Checks that SQLite finds the largest rowid of a table. If the table is new (`is_new`), also checks that SQLite finds its rows and the
/// entries of its indexes.
pub(super) fn verify(
    connection: &Connection,
    table: &Table,
    write_paths: &[WritePath],
    written: &Written,
    is_new: bool,
) -> Result<()> {
    let rows = written.tree.entries;
    let name = format!("main.{}", quoted(&table.name));
    if is_new {
        count(connection, &table.name, &format!("{name} NOT INDEXED"), &written.tree)?;
    }
    if let (Some(largest), Some(rowid)) = (written.largest_rowid, table.rowid_name())
        && rows > 0
    {
        let sql = format!("SELECT {rowid} FROM {name} NOT INDEXED ORDER BY {rowid} DESC LIMIT 1");
        let found: Option<i64> = connection
            .query_row(&sql, [], |row| row.get(0))
            .optional()
            .map_err(|e| cannot(&table.name, e))?;
        if written.ignored == 0 && found != Some(largest) {
            let found = found.map_or("none".to_owned(), |rowid| rowid.to_string());
            return Err(differs(&table.name, &format!("its last rowid is {found}, not {largest}")));
        }
    }
    for ((index, write_path), tree) in table.indexes.iter().zip(write_paths).zip(&written.indexes) {
        if let (WritePath::Sorted, Some(tree), true) = (write_path, tree, is_new) {
            verify_index(connection, table, index, tree)?;
        }
    }
    Ok(())
}

fn verify_index(connection: &Connection, table: &Table, index: &Index, tree: &WrittenTree) -> Result<()> {
    // Without its WHERE, a partial index can't be used.
    let filter = terms(index, table).and_then(|terms| terms.filter);
    let filter = filter.map_or_else(String::new, |filter| format!(" WHERE {filter}\n"));
    let from = format!("main.{} INDEXED BY {}{filter}", quoted(&table.name), quoted(&index.name));
    count(connection, &index.name, &from, tree)
}

/// Compares the number of entries that SQLite finds in a small tree with the number that was written. For a large tree, checks only that
/// SQLite finds at least two entries. An index that no query can use is not checked.
fn count(connection: &Connection, name: &str, from: &str, tree: &WrittenTree) -> Result<()> {
    let wanted = if tree.leaf_pages <= LEAVES_MAX { tree.entries } else { 2 };
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {from} LIMIT ?1)");
    let Some(mut query) = prepare_by_index(connection, &sql).map_err(|error| cannot(name, error))? else {
        return Ok(());
    };
    let found: i64 = query
        .query_row([wanted.saturating_add(1).cast_signed()], |row| row.get(0))
        .map_err(|error| cannot(name, error))?;
    let found = found.cast_unsigned();
    let fits = if tree.leaf_pages <= LEAVES_MAX { found == wanted } else { found >= wanted };
    if fits { Ok(()) } else { Err(differs(name, &format!("{found} entries, not {}", tree.entries))) }
}

fn cannot(name: &str, error: rusqlite::Error) -> Error {
    Error::target(format!("SQLite cannot read what was written to {name}")).because(error)
}

fn differs(name: &str, what: &str) -> Error {
    Error::target(format!(
        "the check after writing failed: SQLite does not find in {name} what was written there"
    ))
    .because(what.to_owned())
}
