//! Reads the content of a lap's database with SQLite: a digest of all values of each table, and of the entries of each index.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use anyhow::Context;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde::{Deserialize, Serialize};

use crate::db::read;

/// The content of a table or an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest {
    /// The number of rows or entries.
    pub(crate) rows: u64,
    /// The digest of all values, in the order of the rowids for a table, in the order of the index for an index.
    digest: u64,
}

/// The digests of each table, and of each index of a CREATE INDEX statement, by name.
pub(crate) type Digests = BTreeMap<String, Digest>;

pub(crate) fn digests(file: &Path) -> anyhow::Result<Digests> {
    let db = read(file)?;
    let mut objects = db.prepare(
        "SELECT name, CASE type
           WHEN 'table' THEN 'SELECT * FROM \"' || name || '\" NOT INDEXED ORDER BY rowid'
           ELSE 'SELECT ' || (SELECT group_concat(name) FROM pragma_index_info(s.name)) || ', rowid FROM \"' || tbl_name
                || '\" INDEXED BY \"' || name || '\" ORDER BY ' || (SELECT group_concat(name) FROM pragma_index_info(s.name))
         END
         FROM sqlite_schema AS s WHERE type = 'table' OR (type = 'index' AND sql NOT NULL)",
    )?;
    let objects = objects.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let objects: Vec<(String, String)> = objects.collect::<Result<_, _>>()?;
    objects
        .into_iter()
        .map(|(name, sql)| {
            let digest = digest(&db, &sql).with_context(|| format!("cannot read {name}"))?;
            Ok((name, digest))
        })
        .collect()
}

fn digest(db: &Connection, sql: &str) -> rusqlite::Result<Digest> {
    let mut values = db.prepare(sql)?;
    let columns = values.column_count();
    let (mut rows, mut hasher) = (0, DefaultHasher::new());
    let mut read = values.query([])?;
    while let Some(row) = read.next()? {
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Null => 0_u8.hash(&mut hasher),
                ValueRef::Integer(int) => (1_u8, int).hash(&mut hasher),
                ValueRef::Real(real) => (2_u8, real.to_bits()).hash(&mut hasher),
                ValueRef::Text(text) => (3_u8, text).hash(&mut hasher),
                ValueRef::Blob(blob) => (4_u8, blob).hash(&mut hasher),
            }
        }
        rows += 1;
    }
    Ok(Digest { rows, digest: hasher.finish() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Digests {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.db");
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        digests(&file).unwrap()
    }

    #[test]
    fn the_digest_depends_on_the_type_and_place_of_every_value() {
        let made = "CREATE TABLE t (a, b); CREATE INDEX i ON t (b, a);";
        let rows = |rows| of(&format!("{made} INSERT INTO t VALUES {rows}"));
        let whole = rows("(1, 'x'), (2, 'y')");
        assert_eq!(whole.values().map(|digest| digest.rows).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(whole, rows("(1, 'x'), (2, 'y')"));
        for other in [
            "(1, 'x')",
            "(2, 'y'), (1, 'x')",
            "(1, 'x'), (2.0, 'y')",
            "(1, 'x'), (2, x'79')",
            "(1, 'x'), (2, NULL)",
        ] {
            let other = rows(other);
            assert!(whole["t"] != other["t"] && whole["i"] != other["i"], "{other:?}");
        }
    }
}
