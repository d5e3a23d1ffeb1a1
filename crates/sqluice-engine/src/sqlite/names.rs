//! Names of tables, columns and rows, in SQL and in messages.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use sqluice_core::batch::Value;
use sqluice_core::batch::describe;
use sqluice_core::schema::index::{Index, IndexOrigin, Indexed};
use sqluice_core::schema::{Table, quoted};

/// Returns the name of a table in SQL.
pub(super) fn in_main(table: &Table) -> String {
    format!("main.{}", quoted(&table.name))
}

/// Returns the name of the staging table, which has the rows until SQLite inserts them.
pub(super) fn in_staging(table: &Table) -> String {
    format!("staging.{}", quoted(&table.name))
}

/// Returns `true` if the rowid of a row is the number of its record, because no column is the rowid.
pub(super) fn rowid_is_record(table: &Table) -> bool {
    table.rowid_alias.is_none() && table.rowid_name().is_some()
}

/// The columns that identify a row of a table in messages: the rowid if it has a name, otherwise the PRIMARY KEY.
pub(super) struct RowNames {
    /// The columns in SQL, in their order in the table's tree.
    pub(super) columns: Vec<String>,
    /// The names of the columns for messages; empty if rows are identified by their rowids.
    names: Vec<String>,
}

impl RowNames {
    pub(super) fn of(table: &Table) -> RowNames {
        if let Some(rowid) = table.rowid_name() {
            return RowNames { columns: vec![rowid.to_owned()], names: Vec::new() };
        }
        let names = RowNames::key(table);
        RowNames { columns: names.iter().map(|name| quoted(name)).collect(), names }
    }

    /// Returns the names of the columns of the PRIMARY KEY.
    pub(super) fn key(table: &Table) -> Vec<String> {
        let primary = |index: &&Index| index.origin == IndexOrigin::PrimaryKey;
        let key = match table.rowid_alias {
            Some(alias) => vec![Indexed::Column(alias)],
            None => {
                let index = table.clustered.iter().chain(&table.indexes).find(primary);
                let columns = index.map_or(&[][..], |index| &index.columns[..index.key_columns]);
                columns.iter().map(|column| column.value).collect()
            }
        };
        let names = key.into_iter().filter_map(|value| match value {
            Indexed::Column(column) => Some(table.columns[column].name.clone()),
            Indexed::Rowid | Indexed::Expression => None,
        });
        names.collect()
    }

    /// Describes the row whose values begin at column `at` of a result: `17`, or `(k = 'x')`.
    pub(super) fn describe(&self, row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
        if self.names.is_empty() {
            return match self.columns.len() {
                0 => Ok("somewhere".to_owned()),
                _ => shown(row, at),
            };
        }
        Ok(format!("({})", values(row, at, &self.names)?))
    }
}

/// Formats the values of a result from column `at` on, with their names: `a = 1, b = 'x'`.
pub(super) fn values<S: AsRef<str>>(row: &Row<'_>, at: usize, names: &[S]) -> rusqlite::Result<String> {
    const VALUES_MAX: usize = 8;
    let mut pairs = Vec::new();
    for (index, name) in names.iter().enumerate().take(VALUES_MAX) {
        pairs.push(format!("{} = {}", name.as_ref(), shown(row, at + index)?));
    }
    Ok(pairs.join(", ") + if names.len() > VALUES_MAX { ", ..." } else { "" })
}

/// Formats a value for a message, truncated.
fn shown(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(describe(&match row.get_ref(column)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(int) => Value::Int(int),
        ValueRef::Real(real) => Value::Real(real),
        ValueRef::Text(text) => Value::Text(text),
        ValueRef::Blob(blob) => Value::Blob(blob),
    }))
}
