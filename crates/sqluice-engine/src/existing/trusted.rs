//! Checks the trees that are about to change for damage: writes to a damaged tree, as pages or by INSERT, would damage it more.
//!
//! ```text
//!  header, freelist, schema table      always: new pages come from the freelist, roots from the schema table
//!  trees of the growing tables         in a database up to 16 MiB: all of their pages
//!                                      in a larger database: only the first and the last page of each level, to save time
//! ```
//!
//! On the other pages, SQLite checks the sizes of cells as it reads them (`PRAGMA cell_size_check`).

use sqluice_core::error::{Error, Result};
use sqluice_format::check::{self, Only, Options, ReadPage};

use super::Transaction;
use sqluice_reader::pages::damaged;

/// The largest size in bytes of a database in which all pages of the trees are read.
const WHOLE_BYTES_MAX: u64 = 16 << 20;

impl Transaction<'_> {
    /// Refuses a database in which the trees of these tables, the header, the freelist or the schema table are damaged. Must be called
    /// before anything is changed. Checks nothing if SQLite lacks `sqlite_dbpage` and the file may lack pages of the WAL.
    ///
    /// # Errors
    /// If the database is damaged or can't be read.
    pub fn refuse_damaged(&self, tables: &[&str]) -> Result<()> {
        let readable = self.pages_are_readable()?;
        let page_count = self.page_count()?;
        if !readable || page_count == 0 {
            return Ok(());
        }
        let geometry = self.existing().geometry();
        let bytes = u64::from(page_count) * geometry.page_bytes() as u64;
        let only = Only { tables, edges: bytes > WHOLE_BYTES_MAX };
        let options = Options {
            only: Some(only),
            problems_max: 1,
            pending_byte: (geometry.lock_page() - 1) * geometry.page_bytes() as u32,
            ..Options::default()
        };
        let report = check::check(&mut BySqlite(self), bytes, &options)?;
        match report.problems.first() {
            None => Ok(()),
            Some(problem) => Err(damaged(self.existing().name(), &problem.to_string())),
        }
    }
}

impl Transaction<'_> {
    /// Refuses a damaged database before its tail is cut off. If a damaged header states too few pages, the bytes past the stated last page
    /// are no tail, but pages of tables.
    ///
    /// # Errors
    /// If the database is damaged or can't be read.
    pub(super) fn refuse_tail_in_use(&self) -> Result<()> {
        let read = || {
            let sql = "SELECT name FROM main.sqlite_schema WHERE type = 'table'";
            let mut names = self.connection().prepare(sql)?;
            names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
        };
        let names = read().map_err(|error| self.failed(error, "read the schema of"))?;
        self.refuse_damaged(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// A reader of pages as the transaction sees them, in any journal mode.
struct BySqlite<'t>(&'t Transaction<'t>);

impl ReadPage for BySqlite<'_> {
    type Error = Error;

    fn read_page(&mut self, number: u32, into: &mut [u8]) -> Result<()> {
        self.0.cancel().check()?;
        let page = self.0.read_page(number)?;
        let start = page.get(..into.len());
        into.copy_from_slice(start.ok_or_else(|| damaged(self.0.existing().name(), "a page is too short"))?);
        Ok(())
    }
}
