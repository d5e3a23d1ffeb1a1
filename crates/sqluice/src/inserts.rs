//! The rows of a table as INSERT statements that restore them exactly: with their rowids, and without computed columns.

use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_core::schema::{Schema, Table};
use sqluice_reader::Snapshot;
use sqluice_reader::rows::{Rows, Selection};
use sqluice_writers::sql::{SqlEncoder, StatementLimits};

/// Returns `true` if a table or an index is one of SQLite's own.
pub(crate) fn is_internal(name: &str) -> bool {
    name.starts_with("sqlite_")
}

/// The rows of a table, and the columns that the INSERT statements name.
#[derive(Clone, Debug)]
pub(crate) struct Inserts {
    pub(crate) rows: Rows,
    columns: Vec<String>,
    /// `true` if no statement can name the rowid, because columns have all of its names. The restored rows then get new rowids.
    pub(crate) hides_rowid: bool,
}

impl Inserts {
    /// Prepares the rows of a table for which `filter` is true. `schema` is the schema that has the table.
    ///
    /// # Errors
    /// If the table can't be read, or SQLite does not accept the filter.
    pub(crate) fn of_table(
        snapshot: &Arc<Snapshot>,
        schema: &Schema,
        table: &Table,
        filter: Option<String>,
    ) -> Result<Inserts> {
        // If a column is the rowid (INTEGER PRIMARY KEY), this column is written, and no rowid besides.
        let rowid = table.rowid_name().filter(|_| table.rowid_alias.is_none()).map(str::to_owned);
        let hides_rowid = !table.without_rowid && table.rowid_alias.is_none() && rowid.is_none();
        let stored = table.columns.iter().filter(|column| column.generated.is_none());
        let columns: Vec<String> =
            rowid.into_iter().chain(stored.map(|column| column.name.clone())).collect();
        let wanted = Selection::default().columns(columns.clone()).filter(filter);
        let rows = Rows::of_table(snapshot, schema, &table.name, &wanted)?;
        Ok(Inserts { rows, columns, hides_rowid })
    }

    /// Returns the encoder of the rows.
    pub(crate) fn encoder(&self, limits: StatementLimits) -> SqlEncoder {
        SqlEncoder::new(self.rows.name(), &self.columns, limits)
    }
}
