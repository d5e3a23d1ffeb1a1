//! Verifies the database of a lap: SQLite counts and sums up the rows of a table, and counts the entries of each index.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

/// The content of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The number of rows.
    pub rows: i64,
    /// The sum of the requested expression.
    pub sum: i64,
    /// The smallest key.
    pub first: String,
    /// The largest key.
    pub last: String,
    /// The number of entries of each index that a CREATE INDEX made.
    pub indexes: BTreeMap<String, i64>,
    /// The number of rows that belong to the partial index; 0 if the table has none.
    pub kept: i64,
}

impl Found {
    /// Reads a table, and sums up an expression of its columns.
    ///
    /// # Errors
    /// When SQLite reports an error, or entries of an index are not in order or do not match their rows.
    pub fn of(db: &Connection, table: &str, sum: &str) -> anyhow::Result<Found> {
        let key: String = db.query_row(
            "SELECT coalesce((SELECT name FROM pragma_table_info(?1) WHERE pk = 1), 'rowid')",
            [table],
            |row| row.get(0),
        )?;
        let sql = format!(
            "SELECT count(*), coalesce(sum({sum}), 0), coalesce(min({key}), '') || '', coalesce(max({key}), '') || ''
             FROM {table} NOT INDEXED"
        );
        let mut found = db.query_row(&sql, [], |row| {
            let (rows, sum, first, last) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(Found { rows, sum, first, last, indexes: BTreeMap::new(), kept: 0 })
        })?;
        let mut indexes = db.prepare(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL AND tbl_name = ?1",
        )?;
        let listed =
            indexes.query_map([table], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        for (name, declared) in listed.collect::<Result<Vec<_>, _>>()? {
            let filter = declared.split_once(" WHERE ").map(|(_, filter)| filter);
            let filter = filter.map_or_else(String::new, |filter| format!(" WHERE {filter}"));
            let count = |of: &str| {
                db.query_row(&format!("SELECT count(*) FROM {table} {of}{filter}"), [], |row| {
                    row.get::<_, i64>(0)
                })
            };
            let entries = count(&format!("INDEXED BY {name}"))?;
            in_order(db, table, &name, (&declared, &filter)).with_context(|| format!("index {name}"))?;
            if !filter.is_empty() {
                found.kept = count("NOT INDEXED")?;
            }
            found.indexes.insert(name, entries);
        }
        Ok(found)
    }

    /// Returns the content without the indexes.
    #[must_use]
    pub fn without_indexes(&self) -> Found {
        Found { indexes: BTreeMap::new(), kept: 0, ..self.clone() }
    }
}

/// Checks that the first 100,000 entries of an index are in order and match their rows. The term of an index on an expression is taken
/// from the text of its CREATE INDEX statement.
fn in_order(
    db: &Connection,
    table: &str,
    index: &str,
    (declared, filter): (&str, &str),
) -> anyhow::Result<()> {
    let name: Option<String> =
        db.query_row("SELECT name FROM pragma_index_info(?1) WHERE seqno = 0", [index], |row| row.get(0))?;
    let between = declared.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
    let first = name.or(between.map(|(terms, _)| terms.to_owned())).context("the index has a term")?;
    let sql = format!(
        "SELECT count(*) FROM (SELECT it, entry_rowid, lag(it) OVER () AS previous FROM
            (SELECT {first} AS it, rowid AS entry_rowid FROM {table} INDEXED BY {index}{filter} ORDER BY {first} LIMIT 100000))
         WHERE previous > it OR it IS NOT (SELECT {first} FROM {table} NOT INDEXED WHERE rowid = entry_rowid)"
    );
    let wrong: i64 = db.query_row(&sql, [], |row| row.get(0))?;
    ensure!(wrong == 0, "{wrong} entries are not in order, or are not those of their rows");
    Ok(())
}
