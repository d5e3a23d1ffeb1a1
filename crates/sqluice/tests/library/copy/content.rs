//! The content of a database, to compare a copy with its source: schema, rows with rowids and storage classes, and fields of the
//! header.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Statement};

/// A value with its storage class and all bits: floats are compared as bits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Exact {
    Real(u64),
    Text(Vec<u8>),
    Null,
    Int(i64),
    Blob(Vec<u8>),
}

/// All that a copy must keep.
#[derive(Debug, PartialEq)]
pub(crate) struct Content {
    /// Type, name, table and statement of each object, in the order of the schema.
    pub(crate) schema: Vec<[Option<String>; 4]>,
    /// The values of `encoding`, `user_version`, `application_id` and `default_cache_size`.
    pragmas: Vec<String>,
    /// The rows of each table with their rowids, in the order of rowids; WITHOUT ROWID, the rows in the order of the key.
    tables: Vec<(String, Vec<Vec<Exact>>)>,
}

pub(crate) fn open(db: &Path) -> Connection {
    Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap()
}

pub(crate) fn pragma(connection: &Connection, name: &str) -> String {
    connection
        .query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, Value>(0))
        .map(|value| format!("{value:?}"))
        .unwrap()
}

/// Returns the content of a database, whose virtual tables must be of modules that the built-in SQLite has.
pub(crate) fn content(db: &Path) -> Content {
    let connection = open(db);
    let mut schema =
        connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid").unwrap();
    let schema = schema
        .query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))
        .unwrap()
        .map(Result::unwrap)
        .collect::<Vec<[Option<String>; 4]>>();
    let names = ["encoding", "user_version", "application_id", "default_cache_size"];
    let pragmas = names.iter().map(|name| pragma(&connection, name)).collect();
    let tables = schema.iter().filter(|object| object[0].as_deref() == Some("table")).map(|object| {
        let name = object[1].clone().unwrap();
        (name.clone(), rows(&connection, &name))
    });
    let tables = tables.collect();
    Content { schema, pragmas, tables }
}

fn rows(connection: &Connection, table: &str) -> Vec<Vec<Exact>> {
    let table = format!("\"{}\"", table.replace('"', "\"\""));
    let with_rowids = format!("SELECT _rowid_, * FROM {table} ORDER BY _rowid_");
    let statement =
        connection.prepare(&with_rowids).or_else(|_| connection.prepare(&format!("SELECT * FROM {table}")));
    exact(statement.unwrap())
}

/// Returns the rows of a table in rowid order. A rowid that is not a column is left out.
pub(crate) fn values(connection: &Connection, table: &str) -> Vec<Vec<Exact>> {
    let table = format!("\"{}\"", table.replace('"', "\"\""));
    let by_rowid = connection.prepare(&format!("SELECT * FROM {table} ORDER BY _rowid_"));
    exact(by_rowid.or_else(|_| connection.prepare(&format!("SELECT * FROM {table}"))).unwrap())
}

fn exact(mut statement: Statement<'_>) -> Vec<Vec<Exact>> {
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut all = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let value = |column| match row.get_ref(column).unwrap() {
            rusqlite::types::ValueRef::Real(real) => Exact::Real(real.to_bits()),
            rusqlite::types::ValueRef::Text(text) => Exact::Text(text.to_vec()),
            rusqlite::types::ValueRef::Null => Exact::Null,
            rusqlite::types::ValueRef::Integer(int) => Exact::Int(int),
            rusqlite::types::ValueRef::Blob(blob) => Exact::Blob(blob.to_vec()),
        };
        all.push((0..columns).map(value).collect());
    }
    all
}

/// Returns the result of `integrity_check`: `ok` for a sound database.
pub(crate) fn integrity(db: &Path) -> String {
    let connection = open(db);
    let mut check = connection.prepare("PRAGMA integrity_check").unwrap();
    let lines = check.query_map([], |row| row.get::<_, String>(0)).unwrap();
    lines.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

impl Content {
    /// Sorts the objects, so that their order in the schema does not matter.
    pub(crate) fn sort(&mut self) {
        self.schema.sort();
        self.tables.sort_by(|(a, _), (b, _)| a.cmp(b));
    }

    /// Leaves out the encoding, because a load of a dump makes a database in UTF-8, whatever the encoding of the dumped database was.
    pub(crate) fn without_encoding(&mut self) {
        self.pragmas.remove(0);
    }

    /// Leaves out the rowids and the order of the rows of SQLite's own tables: SQLite writes a row of `sqlite_sequence` when a table gets
    /// its first row, and statistics in the order of its list of tables.
    pub(crate) fn sort_tables_of_sqlite(&mut self) {
        for (_, rows) in self.tables.iter_mut().filter(|(name, _)| name.starts_with("sqlite_")) {
            rows.iter_mut().for_each(|row| drop(row.remove(0)));
            rows.sort_by_key(|row| format!("{row:?}"));
        }
    }

    /// Leaves out SQLite's own tables without rows.
    pub(crate) fn without_empty_tables_of_sqlite(&mut self) {
        let is_empty =
            |(name, rows): &(String, Vec<Vec<Exact>>)| name.starts_with("sqlite_") && rows.is_empty();
        let empty: Vec<String> =
            self.tables.extract_if(.., |table| is_empty(table)).map(|(name, _)| name).collect();
        self.schema.retain(|object| !object[1].as_ref().is_some_and(|name| empty.contains(name)));
    }

    /// Returns the first difference to another content in words; `None` if there is none.
    pub(crate) fn difference(&self, other: &Content) -> Option<String> {
        if (&self.schema, &self.pragmas) != (&other.schema, &other.pragmas) {
            return Some(format!(
                "{:?}\n{:?}\n{:?}\n{:?}",
                self.schema, other.schema, self.pragmas, other.pragmas
            ));
        }
        let names =
            |content: &Content| content.tables.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        if names(self) != names(other) {
            return Some(format!("tables {:?} and {:?}", names(self), names(other)));
        }
        let mut tables = self.tables.iter().zip(&other.tables);
        tables.find_map(|((name, rows), (_, others))| {
            if rows.len() != others.len() {
                return Some(format!("{name}: {} and {} rows", rows.len(), others.len()));
            }
            let (row, other) = rows.iter().zip(others).find(|(row, other)| row != other)?;
            Some(format!("{name}: {row:?} and {other:?}"))
        })
    }
}
