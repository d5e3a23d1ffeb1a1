//! Rebuilds the indexes of a table that gets many rows: old and new entries are sorted together.
//!
//! ```text
//!  old tree     [ root R | ... leaves ... ]  ──read, all cores──>  sorter  <──entries of the new rows
//!                    │            └── to the freelist                │ merge
//!                    │                                              v
//!  new tree     [ root R | ... leaves past the end of the file ... ]            sqlite_schema stays as it is
//! ```
//!
//! Each insertion in arbitrary order would read and write a leaf. A rebuild reads and writes every leaf once.
//!
//! Only SQLite frees pages. DROP INDEX would free the root, too, and automatic indexes can't be dropped. So a temporary row
//! of `sqlite_schema` declares the tree as a WITHOUT ROWID table, and DELETE without WHERE on this table frees all pages but the root. The
//! temporary row may make `sqlite_schema` grow by a page, so the row is deleted again before new pages are numbered. The tree is emptied
//! after that: until then, SQLite uses the declaration that it has parsed and keeps in memory.

use sqluice_core::error::Result;
use sqluice_core::progress::Progress;
use sqluice_core::schema::Table;

use super::entries::{self, TreePosition};
use crate::existing::Transaction;
use crate::sort::Sorter;
use crate::trees::{Changes, OldEntries};

/// The reader of old indexes. It pushes their entries to the sorters of the indexes that replace them.
pub(in crate::existing) struct OldIndexes<'t> {
    pub(in crate::existing) transaction: &'t Transaction<'t>,
    /// The number of pages of the database before new pages are written.
    pub(in crate::existing) page_count: u32,
    pub(in crate::existing) threads: usize,
    pub(in crate::existing) progress: &'t dyn Progress,
}

impl OldEntries for OldIndexes<'_> {
    fn give(&self, table: &Table, index: usize, root_page: u32, sorter: &Sorter) -> Result<()> {
        let OldIndexes { transaction, page_count, threads, progress } = *self;
        let place = TreePosition { root_page, geometry: transaction.existing().geometry(), page_count };
        let view = transaction.view(page_count, progress)?;
        let index = &table.indexes[index];
        let fields = index.columns.len()..=index.columns.len();
        entries::of_index(view, (&index.name, fields, &Changes::default()), place, sorter, threads).map(drop)
    }
}

/// Trees whose pages will go to the freelist, except their roots.
#[derive(Debug)]
pub(in crate::existing) struct Clearing<'t> {
    transaction: &'t Transaction<'t>,
    tables: Vec<String>,
}

impl<'t> Clearing<'t> {
    /// Declares the trees with these roots to SQLite. SQLite may allocate pages for the declarations, so this happens before new pages get
    /// their numbers. [`Clearing::clear`] allocates no pages.
    ///
    /// # Errors
    /// If SQLite refuses the declaration.
    pub(in crate::existing) fn prepare(
        transaction: &'t Transaction<'t>,
        roots: &[u32],
    ) -> Result<Clearing<'t>> {
        let names = roots.iter().map(|root| format!("sqluice old tree {root}"));
        let clearing = Clearing { transaction, tables: names.collect() };
        if roots.is_empty() {
            return Ok(clearing);
        }
        let connection = transaction.connection();
        let shown = || {
            connection.execute_batch("PRAGMA writable_schema = ON")?;
            for (name, root) in clearing.tables.iter().zip(roots) {
                connection.execute(
                    "INSERT INTO main.sqlite_schema (type, name, tbl_name, rootpage, sql)
                     VALUES ('table', ?1, ?1, ?2, 'CREATE TABLE \"' || ?1 || '\" (x PRIMARY KEY) WITHOUT ROWID')",
                    (name, root),
                )?;
            }
            connection.execute_batch("PRAGMA writable_schema = RESET; PRAGMA writable_schema = ON")?;
            for (name, root) in clearing.tables.iter().zip(roots) {
                // The preparation makes SQLite read the schema, if it has not done so.
                connection.prepare(&delete_all(name))?;
                connection.execute(
                    "DELETE FROM main.sqlite_schema WHERE name = ?1 AND rootpage = ?2",
                    (name, root),
                )?;
            }
            connection.execute_batch("PRAGMA writable_schema = OFF")
        };
        shown().map_err(|error| transaction.failed(error, "change the schema of"))?;
        Ok(clearing)
    }

    /// Frees all pages of the trees except the roots. The old entries must have been read before.
    ///
    /// # Errors
    /// If SQLite can't free the pages, for example because a tree is damaged.
    pub(in crate::existing) fn clear(self) -> Result<()> {
        let cleared = self
            .tables
            .iter()
            .try_for_each(|name| self.transaction.connection().execute_batch(&delete_all(name)));
        cleared.map_err(|error| self.transaction.failed(error, "free pages of"))
    }
}

fn delete_all(name: &str) -> String {
    format!("DELETE FROM main.\"{name}\"")
}

/// Makes SQLite forget the temporary declarations of the old trees.
impl Drop for Clearing<'_> {
    fn drop(&mut self) {
        if !self.tables.is_empty() {
            let _ = self.transaction.connection().execute_batch("PRAGMA writable_schema = RESET");
        }
    }
}
