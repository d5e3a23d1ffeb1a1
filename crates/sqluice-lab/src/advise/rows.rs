//! The rows that all ways write: the generator writes them to a database, SQLite reads them back, and they stay in memory, column by
//! column.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, types::Value};
use sqluice::error::{Error, Result};
use sqluice::generate::Generate;
use sqluice::options::WriteOptions;
use sqluice::progress::{Cancel, Context};
use sqluice::schema::{Schema, Table};

/// The seed of the generator.
const SEED: u64 = 1;

/// The rows of all tables.
#[derive(Debug)]
pub(super) struct SampleRows {
    /// The tables, in the order of the schema.
    pub(super) tables: Vec<TableRows>,
    /// The row count of each table.
    pub(super) per_table: u64,
    /// The size of the database that the rows were read from, in bytes.
    pub(super) database_bytes: u64,
}

/// The rows of a table.
#[derive(Debug, PartialEq)]
pub(super) struct TableRows {
    /// The name of the table.
    pub(super) name: String,
    /// The names of the columns that can be inserted: not those that SQLite computes.
    pub(super) columns: Vec<String>,
    /// The values of each column, in the order of the rowid or of the PRIMARY KEY.
    pub(super) values: Vec<Vec<Value>>,
    order: String,
}

impl SampleRows {
    /// Generates `rows` rows of each table and reads them.
    pub(super) fn make(schema: &Schema, folder: &Path, rows: u64, cancel: &Cancel) -> Result<SampleRows> {
        let file = folder.join("rows.db");
        generate(schema, &file, rows, WriteOptions::default(), cancel)?;
        let database_bytes = file.metadata().map_err(|error| Error::read(&file, error))?.len();
        let connection = open_to_read(&file)?;
        let read = |table: &Table| {
            let mut rows = TableRows::empty(table);
            rows.values = rows.read(&connection, None)?;
            Ok(rows)
        };
        let tables = schema.tables.iter().map(read).collect::<rusqlite::Result<Vec<_>>>();
        let tables = tables.map_err(|error| sqlite("cannot read the generated rows", error))?;
        drop(connection);
        std::fs::remove_file(&file)
            .map_err(|error| Error::target("cannot remove the generated database").because(error))?;
        Ok(SampleRows { tables, per_table: rows, database_bytes })
    }

    /// Returns the approximate size of the values in memory, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let values = self.tables.iter().flat_map(|table| table.values.iter().flatten());
        // 56 bytes are the size of a value and of the borrowed value that `sqluice_rows` reads.
        let bytes = values.map(|value| match value {
            Value::Text(text) => 56 + text.len() as u64,
            Value::Blob(blob) => 56 + blob.len() as u64,
            _ => 56,
        });
        bytes.sum()
    }

    /// Compares a database with the first `rows_max` rows of each table and describes the first difference; `None` if they are equal.
    pub(super) fn differs(&self, file: &Path, rows_max: Option<u64>) -> Result<Option<String>> {
        let connection = open_to_read(file)?;
        for table in &self.tables {
            let wrong = table
                .differs(&connection, rows_max)
                .map_err(|error| sqlite("cannot read the written rows", error))?;
            if wrong.is_some() {
                return Ok(wrong);
            }
        }
        Ok(None)
    }
}

impl TableRows {
    fn empty(table: &Table) -> TableRows {
        let given = table.columns.iter().filter(|column| column.generated.is_none());
        // A column may be called `rowid`, `_rowid_` or `oid`, which hides this name of the rowid.
        let taken = |name: &&str| table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
        let rowid = ["rowid", "_rowid_", "oid"].into_iter().find(|name| !taken(name));
        let order = match (&table.clustered, rowid) {
            (None, Some(rowid)) => format!(" ORDER BY {rowid}"),
            // No ORDER BY is needed: SQLite scans a WITHOUT ROWID table in the order of its key, and a table whose columns take all names
            // of the rowid in the order of the rowid.
            _ => String::new(),
        };
        TableRows {
            name: table.name.clone(),
            columns: given.map(|column| column.name.clone()).collect(),
            values: Vec::new(),
            order,
        }
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    /// Returns the names of the columns, for a statement.
    pub(super) fn column_list(&self) -> String {
        self.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
    }

    fn read(&self, connection: &Connection, limit: Option<usize>) -> rusqlite::Result<Vec<Vec<Value>>> {
        let limit = limit.map_or_else(String::new, |limit| format!(" LIMIT {limit}"));
        // Without NOT INDEXED, SQLite could scan an index that has all columns, in the order of the index.
        let sql = format!(
            "SELECT {} FROM {} NOT INDEXED{}{limit}",
            self.column_list(),
            quoted(&self.name),
            self.order
        );
        let mut statement = connection.prepare(&sql)?;
        let mut values = vec![Vec::new(); self.columns.len()];
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for (at, column) in values.iter_mut().enumerate() {
                column.push(row.get(at)?);
            }
        }
        Ok(values)
    }

    fn differs(&self, connection: &Connection, rows_max: Option<u64>) -> rusqlite::Result<Option<String>> {
        let expected =
            rows_max.map_or(self.len(), |max| self.len().min(usize::try_from(max).unwrap_or(usize::MAX)));
        let found = self.read(connection, None)?;
        let count = found.first().map_or(0, Vec::len);
        if count != expected {
            return Ok(Some(format!("{} has {count} rows instead of {expected}", self.name)));
        }
        for ((column, found), there) in self.columns.iter().zip(&found).zip(&self.values) {
            if let Some(row) = (0..count).find(|row| found[*row] != there[*row]) {
                return Ok(Some(format!("{}.{column} of row {} has another value", self.name, row + 1)));
            }
        }
        Ok(None)
    }
}

/// Generates a database of the schema with sqluice, which writes its pages.
pub(super) fn generate(
    schema: &Schema,
    file: &Path,
    rows: u64,
    write: WriteOptions,
    cancel: &Cancel,
) -> Result<()> {
    // Foreign keys are not checked: all tables have the same row count, so a parent row may be missing.
    let write = write.foreign_keys(false);
    let generate = Generate::new(file, schema.clone()).rows(rows).seed(SEED).write(write);
    generate.run_with(&Context::default().cancel(cancel)).map(|_| ())
}

/// Quotes a name for SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns an error that says `what` failed, and why, according to SQLite.
pub(super) fn sqlite(what: &str, error: rusqlite::Error) -> Error {
    Error::target(what).because(error)
}

fn open_to_read(file: &Path) -> Result<Connection> {
    let connection =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX);
    connection.map_err(|error| sqlite("cannot open the written database", error))
}
