//! Indexes: the order of their entries, and what each entry holds.
//!
//! ```text
//!  index on (b, a DESC) of a table with rowids       | b | a | rowid |            key: b, a; rowid makes it unique
//!  ... of a WITHOUT ROWID table with key (k, a)       | b | a | k |                 those columns of the key that are still missing
//!  the rows of that table                             | k | a | all other columns |
//! ```
//!
//! A column that is repeated with the same collation is left out the second time; `index_xinfo` lists the columns kept.

use std::collections::HashMap;

use rusqlite::Connection;
use sqluice_format::key::{Collation, KeyColumn, KeyOrder};

use super::Object;

/// An index, or the rows of a WITHOUT ROWID table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Index {
    /// Its name; `sqlite_autoindex_...` for those that constraints bring.
    pub name: String,
    /// Whether no two rows may have the same key, unless NULL is part of it.
    pub unique: bool,
    /// Whether it has a WHERE.
    pub partial: bool,
    /// What it is for.
    pub origin: IndexOrigin,
    /// The columns of its records, all of them.
    pub columns: Vec<IndexColumn>,
    /// The number of leading columns that form its key. The columns after them make entries unique.
    pub key_columns: usize,
    /// Its statement; `None` for automatic indexes.
    pub sql: Option<String>,
}

/// What brought an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexOrigin {
    /// CREATE INDEX.
    Statement,
    /// A UNIQUE constraint.
    Unique,
    /// A PRIMARY KEY that is not another name for the rowid.
    PrimaryKey,
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexColumn {
    /// The source of its values.
    pub value: Indexed,
    /// The name of its collation.
    pub collation: String,
    /// Whether the order is descending.
    pub descending: bool,
}

/// What a column of an index holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// The column of the table with that index.
    Column(usize),
    /// The rowid.
    Rowid,
    /// Something that SQLite computes.
    Expression,
}

/// The indexes of a database as `sqlite_schema` has them: by name, the place there and the statement. Read once: a join of each table's
/// indexes with `sqlite_schema` reads all of it for each table.
pub(super) struct StoredIndexes(HashMap<String, (usize, Option<String>)>);

impl StoredIndexes {
    /// Takes the indexes of all objects, which are in the order of `sqlite_schema`.
    pub(super) fn new(objects: &[Object]) -> StoredIndexes {
        let indexes = objects.iter().enumerate().filter(|(_, object)| object.kind == "index");
        StoredIndexes(indexes.map(|(at, object)| (object.name.clone(), (at, object.sql.clone()))).collect())
    }
}

impl Index {
    /// Reads the columns of an index back from SQLite.
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
        // The key of a WITHOUT ROWID table is not stored.
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

    /// The order of its records by all columns that make them unique; `None` when a collation is not one of SQLite's own.
    pub fn order(&self) -> Option<KeyOrder> {
        key_order(self.columns.iter().map(|column| (&*column.collation, column.descending)))
    }
}

/// The order by columns with these collations, each with whether it is descending; `None` when a collation is not one of SQLite's own.
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
