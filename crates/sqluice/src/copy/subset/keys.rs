//! The keys of rows, and the temporary database that stores the keys of left-out rows.
//!
//! ```text
//!  table with rowids    CREATE TABLE left0 (k0 INTEGER PRIMARY KEY)
//!  WITHOUT ROWID        CREATE TABLE left1 (k0 TEXT, k1 INTEGER, PRIMARY KEY (k0, k1)) WITHOUT ROWID
//! ```
//!
//! The columns compare bytes (BINARY), and have the affinities of the table's columns. So two keys of a table are equal only if they are
//! the same value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, params_from_iter};
use sqluice_core::affinity::Affinity;
use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::rows::{self, Rows};
use sqluice_core::schema::{Schema, Table, quoted};
use sqluice_core::sqlite_error::failed;
use sqluice_engine::output::Scratch;

use crate::copy::{Opened, begin_temporary};

/// The key that identifies a row of a table: its rowid, or the PRIMARY KEY of a WITHOUT ROWID table.
#[derive(Clone, Debug)]
pub(super) struct RowKey {
    /// The names of the key's columns, in the form that the reader of rows takes.
    pub(super) names: Vec<String>,
    /// The positions of the key's columns in the table. The position after the last column means the rowid.
    pub(super) columns: Vec<usize>,
    affinities: Vec<Affinity>,
    is_rowid: bool,
}

impl RowKey {
    /// Returns the key of a table's rows.
    ///
    /// # Errors
    /// If no name means the rowid.
    pub(super) fn of(table: &Table) -> Result<RowKey> {
        if let Some(key) = table.primary_key().filter(|_| table.without_rowid) {
            let names = key.iter().map(|column| table.columns[*column].name.clone()).collect();
            let affinities = key.iter().map(|column| table.columns[*column].affinity).collect();
            return Ok(RowKey { names, columns: key, affinities, is_rowid: false });
        }
        let alias = table.rowid_alias.map(|alias| (table.columns[alias].name.clone(), alias));
        let rowid = || Some((table.rowid_name()?.to_owned(), table.columns.len()));
        let Some((name, column)) = alias.or_else(rowid) else {
            let message =
                format!("the columns of table {} hide its rowid, so no row can be left out", table.name);
            return Err(Error::input(message).hint("rename one of its columns rowid, _rowid_ and oid"));
        };
        Ok(RowKey {
            names: vec![name],
            columns: vec![column],
            affinities: vec![Affinity::Integer],
            is_rowid: true,
        })
    }

    /// Returns the statement that creates a table of keys.
    pub(super) fn create(&self, name: &str) -> String {
        if self.is_rowid {
            return format!("CREATE TABLE {name} (k0 INTEGER PRIMARY KEY)");
        }
        let columns = self.affinities.iter().enumerate().map(|(at, affinity)| {
            let declared = match affinity {
                Affinity::Blob => "BLOB",
                Affinity::Text => "TEXT",
                Affinity::Numeric => "NUMERIC",
                Affinity::Integer => "INTEGER",
                Affinity::Real => "REAL",
            };
            format!("k{at} {declared}")
        });
        let (columns, keys) = (columns.collect::<Vec<_>>().join(", "), self.fields());
        format!("CREATE TABLE {name} ({columns}, PRIMARY KEY ({keys})) WITHOUT ROWID")
    }

    fn fields(&self) -> String {
        (0..self.names.len()).map(|at| format!("k{at}")).collect::<Vec<_>>().join(", ")
    }

    /// Returns the statement that adds a key to a table of keys.
    pub(super) fn insert(&self, name: &str) -> String {
        let places = vec!["?"; self.names.len()].join(", ");
        format!("INSERT OR IGNORE INTO {name} VALUES ({places})")
    }

    /// Returns the columns of the key as SQL, qualified with the alias of the table.
    pub(super) fn selected(&self, alias: &str) -> String {
        self.names.iter().map(|name| format!("{alias}.{}", self.in_sql(name))).collect::<Vec<_>>().join(", ")
    }

    /// Returns an SQL condition: the table of keys `keys` has the key of the row of `alias`.
    pub(super) fn is_in(&self, keys: &str, alias: &str) -> String {
        let equal = self.names.iter().enumerate();
        let equal = equal.map(|(at, name)| format!("l.k{at} = {alias}.{}", self.in_sql(name)));
        let equal: Vec<String> = equal.collect();
        format!("EXISTS (SELECT 1 FROM {keys} AS l WHERE {})", equal.join(" AND "))
    }

    /// Returns a name for SQL, in quotes except if it means the rowid: SQLite could read "rowid" in quotes as a text.
    fn in_sql(&self, name: &str) -> String {
        let is_name_of_rowid = ["rowid", "_rowid_", "oid"].contains(&name);
        if self.is_rowid && is_name_of_rowid { name.to_owned() } else { quoted(name) }
    }
}

/// The temporary database with the keys of left-out rows.
pub(super) struct KeyFile {
    file: Scratch,
    /// The connection; `None` after [`KeyFile::finish`].
    connection: Option<Mutex<Connection>>,
    tables: BTreeMap<usize, RowKey>,
}

impl KeyFile {
    /// Creates the temporary database of keys, in the folder for the temporary files of the target.
    pub(super) fn create(opened: &Opened, cancel: &Cancel) -> Result<KeyFile> {
        let file = opened.settled.wanted.target.scratch()?;
        let connection = begin_temporary(file.path(), opened.snapshot.header(), cancel)?;
        rows::register(&connection).map_err(cannot_write)?;
        Ok(KeyFile { file, connection: Some(Mutex::new(connection)), tables: BTreeMap::new() })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Creates the table of keys for the table at position `number` in the schema, if it does not exist. Returns the key of the table's
    /// rows.
    pub(super) fn add(&mut self, number: usize, table: &Table) -> Result<&RowKey> {
        if !self.tables.contains_key(&number) {
            let key = RowKey::of(table)?;
            self.connection()?.execute_batch(&key.create(&name_of(number))).map_err(cannot_write)?;
            self.tables.insert(number, key);
        }
        Ok(&self.tables[&number])
    }

    /// Returns the connection.
    pub(super) fn connection(&self) -> Result<MutexGuard<'_, Connection>> {
        let connection = self.connection.as_ref();
        let connection = connection.ok_or_else(|| Error::target("the list of left-out rows is closed"))?;
        Ok(connection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the keys of rows of the table at position `number` in the schema, with one statement. `keys` has a column for each column of
    /// the key.
    pub(super) fn insert(&self, number: usize, keys: &Rows<'_>) -> Result<()> {
        let Some(key) = self.tables.get(&number).filter(|_| !keys.is_empty()) else { return Ok(()) };
        let columns: Vec<String> = (1..=key.names.len()).map(|column| format!("c{column}")).collect();
        let sql = format!(
            "INSERT OR IGNORE INTO {} SELECT {} FROM sqluice_rows(?1)",
            name_of(number),
            columns.join(", ")
        );
        let connection = self.connection()?;
        let mut insert = connection.prepare_cached(&sql).map_err(cannot_write)?;
        let inserted = keys.lend(&mut insert, 1, |insert| insert.execute());
        inserted.and_then(|inserted| inserted).map_err(cannot_write)?;
        Ok(())
    }

    /// Copies the keys of the table at position `number` in the schema to the table `name` of the connection `to`.
    pub(super) fn send(&self, number: usize, to: &Connection, name: &str) -> Result<()> {
        let Some(key) = self.tables.get(&number) else { return Ok(()) };
        let connection = self.connection()?;
        let select = format!("SELECT {} FROM {}", key.fields(), name_of(number));
        transfer(&connection, &select, to, &key.insert(name)).map_err(cannot_write)
    }

    /// Adds the keys in the table `name` of the connection `from` to the keys of the table at position `number` in the schema.
    pub(super) fn receive(&self, number: usize, from: &Connection, name: &str) -> Result<()> {
        let Some(key) = self.tables.get(&number) else { return Ok(()) };
        let connection = self.connection()?;
        let select = format!("SELECT {} FROM {name}", key.fields());
        transfer(from, &select, &connection, &key.insert(&name_of(number))).map_err(cannot_write)
    }

    /// Ends the collection of keys. Returns a lookup for each table with left-out rows, by the position of the table in the schema.
    pub(super) fn finish(&mut self, schema: &Schema) -> Result<BTreeMap<usize, Arc<Lookup>>> {
        if let Some(connection) = self.connection.take() {
            let connection = connection.into_inner().unwrap_or_else(PoisonError::into_inner);
            connection.flush_prepared_statement_cache();
            connection.execute_batch("COMMIT").map_err(cannot_write)?;
            connection.close().map_err(|(_, error)| cannot_write(error))?;
        }
        let lookup = |(number, key): (&usize, &RowKey)| {
            let lookup = Lookup {
                path: self.file.path().to_owned(),
                table: schema.tables[*number].name.clone(),
                keys: name_of(*number),
                key: key.clone(),
                idle: Mutex::default(),
            };
            (*number, Arc::new(lookup))
        };
        Ok(self.tables.iter().map(lookup).collect())
    }
}

/// A filter for the batches of one table: looks up the keys of the rows to find the rows that are kept.
#[derive(Debug)]
pub(in crate::copy) struct Lookup {
    path: PathBuf,
    /// The table, for messages.
    table: String,
    /// The name of the table of keys.
    keys: String,
    key: RowKey,
    /// The connections that no thread uses at present.
    idle: Mutex<Vec<Connection>>,
}

impl Lookup {
    /// Returns the positions in a batch of the rows that are kept. `read` has, for each column of the batch, its position in the table.
    ///
    /// # Errors
    /// If the temporary database can't be read.
    pub(in crate::copy) fn kept(&self, batch: &Batch<'_>, read: &[usize]) -> Result<Vec<u32>> {
        let places: Option<Vec<usize>> =
            self.key.columns.iter().map(|column| read.iter().position(|read| read == column)).collect();
        let places = places.ok_or_else(|| Error::input(format!("table {} has no key", self.table)))?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let cannot = |error| failed(error, "read a temporary database");
        let connection = idle.map_or_else(|| self.open(), Ok).map_err(cannot)?;
        let kept = self.look_up(&connection, batch, &places).map_err(cannot)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(kept)
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.execute_batch("PRAGMA cache_size = -1024")?;
        Ok(connection)
    }

    fn look_up(
        &self,
        connection: &Connection,
        batch: &Batch<'_>,
        places: &[usize],
    ) -> rusqlite::Result<Vec<u32>> {
        let keys = &self.keys;
        if self.key.is_rowid {
            let rowids: Vec<i64> = (0..batch.rows)
                .map(|row| match batch.columns[places[0]].get(row) {
                    Value::Int(rowid) => rowid,
                    _ => 0,
                })
                .collect();
            let (Some(first), Some(last)) = (rowids.iter().min(), rowids.iter().max()) else {
                return Ok(Vec::new());
            };
            let sql = format!("SELECT k0 FROM {keys} WHERE k0 BETWEEN ?1 AND ?2 ORDER BY k0");
            let mut statement = connection.prepare_cached(&sql)?;
            let left_out = statement.query_map([first, last], |row| row.get(0))?;
            let left_out = left_out.collect::<rusqlite::Result<Vec<i64>>>()?;
            let is_kept = |row: &u32| left_out.binary_search(&rowids[*row as usize]).is_err();
            return Ok((0..batch.rows as u32).filter(is_kept).collect());
        }
        let equal: Vec<String> = (0..places.len()).map(|at| format!("k{at} = ?{}", at + 1)).collect();
        let sql = format!("SELECT 1 FROM {keys} WHERE {}", equal.join(" AND "));
        let mut statement = connection.prepare_cached(&sql)?;
        let mut kept = Vec::new();
        for row in 0..batch.rows {
            let key = places.iter().map(|place| borrowed(batch.columns[*place].get(row)));
            if !statement.exists(params_from_iter(key))? {
                kept.push(row as u32);
            }
        }
        Ok(kept)
    }
}

fn borrowed(value: Value<'_>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match value {
        Value::Null => ValueRef::Null,
        Value::Int(int) => ValueRef::Integer(int),
        Value::Real(real) => ValueRef::Real(real),
        Value::Text(text) => ValueRef::Text(text),
        Value::Blob(blob) => ValueRef::Blob(blob),
    })
}

/// Returns the name of the table with the keys of a table's left-out rows.
fn name_of(number: usize) -> String {
    format!("left{number}")
}

fn transfer(from: &Connection, select: &str, to: &Connection, insert: &str) -> rusqlite::Result<()> {
    let (mut select, mut insert) = (from.prepare(select)?, to.prepare(insert)?);
    let columns = select.column_count();
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|at| row.get_ref(at).map(ToSqlOutput::Borrowed));
        insert.execute(params_from_iter(values.collect::<rusqlite::Result<Vec<_>>>()?))?;
    }
    Ok(())
}

fn cannot_write(error: rusqlite::Error) -> Error {
    failed(error, "write the list of left-out rows")
}
