//! Indexes: the order of their entries, and the columns of each entry.
//!
//! ```text
//!  index on (b, a DESC) of a table with rowids              | b | a | rowid |     the rowid makes entries unique
//!  the same index of a WITHOUT ROWID table with key (k, a)  | b | a | k |         the columns of (k, a) that b, a lacks
//!  the rows of this WITHOUT ROWID table                     | k | a | all other columns |
//! ```
//!
//! A repeated column with the same collation is left out the second time. `index_xinfo` lists the columns that are kept.

use std::collections::HashMap;

use rusqlite::Connection;
use sqluice_format::key::{Collation, KeyColumn, KeyOrder};

use super::Object;

/// An index, or the rows of a WITHOUT ROWID table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Index {
    /// The name; `sqlite_autoindex_...` for the index of a constraint.
    pub name: String,
    /// `true` if no two rows may have the same key, unless a part of the key is NULL.
    pub unique: bool,
    /// `true` if the index has a WHERE clause.
    pub partial: bool,
    /// The origin of the index.
    pub origin: IndexOrigin,
    /// All columns of the index's records.
    pub columns: Vec<IndexColumn>,
    /// The number of leading columns that form the key. The columns after them make entries unique.
    pub key_columns: usize,
    /// The statement; `None` for automatic indexes.
    pub sql: Option<String>,
}

/// The origin of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexOrigin {
    /// CREATE INDEX.
    Statement,
    /// A UNIQUE constraint.
    Unique,
    /// A PRIMARY KEY that is not an alias of the rowid.
    PrimaryKey,
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexColumn {
    /// The source of the column's values.
    pub value: Indexed,
    /// The name of the collation.
    pub collation: String,
    /// `true` if the order is descending.
    pub descending: bool,
}

/// The source of the values of an index's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// The column of the table at this position.
    Column(usize),
    /// The rowid.
    Rowid,
    /// An expression that SQLite computes.
    Expression,
}

/// The indexes of a database in `sqlite_schema`: the position there and the statement of each, by name. They are read once, because joining
/// each table's indexes with `sqlite_schema` would read all of `sqlite_schema` for each table.
pub(super) struct StoredIndexes(HashMap<String, (usize, Option<String>)>);

impl StoredIndexes {
    /// Collects the indexes among all objects, which are in the order of `sqlite_schema`.
    pub(super) fn new(objects: &[Object]) -> StoredIndexes {
        let indexes = objects.iter().enumerate().filter(|(_, object)| object.kind == "index");
        StoredIndexes(indexes.map(|(at, object)| (object.name.clone(), (at, object.sql.clone()))).collect())
    }
}

impl Index {
    /// Reads the indexes of a table from SQLite's PRAGMAs.
    pub(super) fn from_catalogue(
        connection: &Connection,
        table: &str,
        StoredIndexes(stored): &StoredIndexes,
    ) -> rusqlite::Result<Vec<Index>> {
        let mut list = connection.prepare_cached(
            "SELECT name, \"unique\", origin, partial FROM pragma_index_list(?1) ORDER BY seq DESC",
        )?;
        let indexes = list.query_map([table], |row| {
            Ok(Index {
                name: row.get(0)?,
                unique: row.get(1)?,
                origin: match row.get::<_, String>(2)?.as_str() {
                    "u" => IndexOrigin::Unique,
                    "pk" => IndexOrigin::PrimaryKey,
                    _ => IndexOrigin::Statement,
                },
                partial: row.get(3)?,
                sql: None,
                columns: Vec::new(),
                key_columns: 0,
            })
        })?;
        let mut indexes = indexes.collect::<rusqlite::Result<Vec<Index>>>()?;
        for index in &mut indexes {
            index.sql = stored.get(&index.name).and_then(|(_, sql)| sql.clone());
        }
        // The index of a WITHOUT ROWID table's key is not in `sqlite_schema`, and sorts first.
        indexes.sort_by_key(|index| stored.get(&index.name).map(|(at, _)| *at));
        let mut columns = connection
            .prepare_cached("SELECT cid, coll, \"desc\", key FROM pragma_index_xinfo(?1) ORDER BY seqno")?;
        for index in &mut indexes {
            let mut rows = columns.query([&index.name])?;
            while let Some(row) = rows.next()? {
                let value = match row.get::<_, i64>(0)? {
                    -1 => Indexed::Rowid,
                    -2 => Indexed::Expression,
                    column => Indexed::Column(column as usize),
                };
                index.columns.push(IndexColumn { value, collation: row.get(1)?, descending: row.get(2)? });
                index.key_columns += usize::from(row.get::<_, bool>(3)?);
            }
        }
        Ok(indexes)
    }

    /// Returns the order of the records by all columns that make them unique; `None` if a collation is not built into SQLite.
    pub fn order(&self) -> Option<KeyOrder> {
        key_order(self.columns.iter().map(|column| (&*column.collation, column.descending)))
    }
}

/// Returns the order by columns with these collations; the `bool` is `true` for descending columns. Returns `None` if a collation is not
/// built into SQLite.
pub fn key_order<'a>(columns: impl Iterator<Item = (&'a str, bool)>) -> Option<KeyOrder> {
    let columns = columns.map(|(collation, descending)| {
        let collation = match () {
            () if collation.eq_ignore_ascii_case("BINARY") => Collation::Binary,
            () if collation.eq_ignore_ascii_case("NOCASE") => Collation::NoCase,
            () if collation.eq_ignore_ascii_case("RTRIM") => Collation::RTrim,
            () => return None,
        };
        Some(KeyColumn { collation, descending })
    });
    columns.collect::<Option<Vec<_>>>().map(KeyOrder::new)
}
