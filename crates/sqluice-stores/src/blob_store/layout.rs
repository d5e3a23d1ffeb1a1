//! The two kinds of table in which a store can keep its blobs, and the SQL for each.
//!
//! ```text
//!  kv      k TEXT PRIMARY KEY | v BLOB
//!  sqlar   name TEXT PRIMARY KEY | mode INT | mtime INT | sz INT | data BLOB      the SQLite Archive of `sqlite3 -A`
//! ```
//!
//! Keys are text of arbitrary bytes. In an archive, only files are blobs: a folder has no data, and a symbolic link has the size -1. Data
//! that is shorter than `sz` is deflated.

use std::path::Path;

use rusqlite::Connection;

use sqluice_core::error::{Error, Result};

/// The table of a new store.
pub(super) const CREATE: &str = "CREATE TABLE kv(k TEXT PRIMARY KEY, v BLOB)";

/// The kind of table that holds the blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Kv,
    Sqlar,
}

/// The name, declared type and position in the primary key of each column.
type Columns = &'static [(&'static str, &'static str, i64)];

/// The columns of an existing table.
type Declared = Vec<(String, String, i64)>;

const KV: Columns = &[("k", "TEXT", 1), ("v", "BLOB", 0)];
const SQLAR: Columns =
    &[("name", "TEXT", 1), ("mode", "INT", 0), ("mtime", "INT", 0), ("sz", "INT", 0), ("data", "BLOB", 0)];

impl Layout {
    pub(super) fn table(self) -> &'static str {
        match self {
            Layout::Kv => "kv",
            Layout::Sqlar => "sqlar",
        }
    }

    /// Returns the indexes, counted from 0, of the column with the blob, and of the column with the blob's size (`None` for `kv`).
    pub(super) fn columns(self) -> (usize, Option<usize>) {
        match self {
            Layout::Kv => (1, None),
            Layout::Sqlar => (4, Some(3)),
        }
    }

    /// Returns the name of the blob's column.
    pub(super) fn blob(self) -> &'static str {
        match self {
            Layout::Kv => "v",
            Layout::Sqlar => "data",
        }
    }

    /// Returns SQL that selects rowid, blob and size by key.
    pub(super) fn select(self) -> &'static str {
        match self {
            Layout::Kv => "SELECT rowid, v, NULL FROM kv WHERE k = ?1",
            Layout::Sqlar => "SELECT rowid, data, sz FROM sqlar WHERE name = ?1",
        }
    }

    /// Returns SQL that selects rowid, size of the stored blob, and size by key, without reading the blob itself.
    pub(super) fn measure(self) -> &'static str {
        match self {
            Layout::Kv => "SELECT rowid, octet_length(v), NULL FROM kv WHERE k = ?1",
            Layout::Sqlar => "SELECT rowid, octet_length(data), sz FROM sqlar WHERE name = ?1",
        }
    }

    /// Returns SQL that selects key, blob and size in the order of keys: from the key ?1 on if `first` is `true`, else only keys after
    /// ?1.
    pub(super) fn walk(self, first: bool) -> &'static str {
        match (self, first) {
            (Layout::Kv, true) => "SELECT k, v, NULL FROM kv WHERE k >= ?1 AND typeof(k) = 'text' ORDER BY k",
            (Layout::Kv, false) => "SELECT k, v, NULL FROM kv WHERE k > ?1 AND typeof(k) = 'text' ORDER BY k",
            (Layout::Sqlar, true) => {
                "SELECT name, data, sz FROM sqlar WHERE name >= ?1 AND typeof(name) = 'text' ORDER BY name"
            }
            (Layout::Sqlar, false) => {
                "SELECT name, data, sz FROM sqlar WHERE name > ?1 AND typeof(name) = 'text' ORDER BY name"
            }
        }
    }

    pub(super) fn count(self) -> &'static str {
        match self {
            Layout::Kv => "SELECT count(*) FROM kv WHERE typeof(k) = 'text'",
            Layout::Sqlar => {
                "SELECT count(*) FROM sqlar WHERE typeof(name) = 'text' AND data IS NOT NULL AND sz >= 0"
            }
        }
    }

    /// Returns SQL that writes a blob. An existing row keeps its rowid, so that its index entry stays unchanged.
    pub(super) fn put(self) -> &'static str {
        match self {
            Layout::Kv => "INSERT INTO kv(k, v) VALUES (?1, ?2) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
            // The mode 33188 is 0o100644: a file that everybody may read and only its owner may write.
            Layout::Sqlar => {
                "INSERT INTO sqlar(name, mode, mtime, sz, data) VALUES (?1, 33188, unixepoch(), octet_length(?2), ?2)
                 ON CONFLICT(name) DO UPDATE SET mode = excluded.mode, mtime = excluded.mtime, sz = excluded.sz,
                 data = excluded.data"
            }
        }
    }

    pub(super) fn remove(self) -> &'static str {
        match self {
            Layout::Kv => "DELETE FROM kv WHERE k = ?1",
            Layout::Sqlar => "DELETE FROM sqlar WHERE name = ?1 AND data IS NOT NULL AND sz >= 0",
        }
    }

    /// Returns SQL for the root pages of the table and of the index of its primary key. The table may have other indexes.
    pub(super) fn roots(self) -> &'static str {
        match self {
            Layout::Kv => {
                "SELECT t.rootpage, i.rootpage FROM sqlite_schema t, pragma_index_list('kv') l, sqlite_schema i
                 WHERE t.type = 'table' AND lower(t.name) = 'kv' AND l.origin = 'pk' AND i.name = l.name"
            }
            Layout::Sqlar => {
                "SELECT t.rootpage, i.rootpage FROM sqlite_schema t, pragma_index_list('sqlar') l, sqlite_schema i
                 WHERE t.type = 'table' AND lower(t.name) = 'sqlar' AND l.origin = 'pk' AND i.name = l.name"
            }
        }
    }

    /// Returns the layout of a database: `kv` if it has this table, else `sqlar`. Returns `None` if the database is empty.
    pub(super) fn of(connection: &Connection, path: &Path) -> Result<Option<Layout>> {
        let failed = |error| super::failed(error, "read", path);
        let encoding: String =
            connection.query_row("PRAGMA encoding", [], |row| row.get(0)).map_err(failed)?;
        let has = |table: &str| {
            let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND lower(name) = ?1";
            connection
                .query_row(sql, [table], |row| row.get::<_, i64>(0))
                .map(|count| count > 0)
                .map_err(failed)
        };
        let layout = match (has("kv")?, has("sqlar")?) {
            (true, _) => Layout::Kv,
            (false, true) => Layout::Sqlar,
            (false, false) => {
                let sql = "SELECT count(*) FROM sqlite_schema";
                let objects: i64 = connection.query_row(sql, [], |row| row.get(0)).map_err(failed)?;
                return if objects == 0 { Ok(None) } else { Err(no_store(path)) };
            }
        };
        if encoding != "UTF-8" {
            let message =
                format!("the text of {} is {encoding}, in which keys are not bytes", path.display());
            return Err(Error::target(message).hint("a store needs a database in UTF-8"));
        }
        layout.verify(connection, path)?;
        Ok(Some(layout))
    }

    /// Checks that the table has the columns and the primary key of this layout.
    fn verify(self, connection: &Connection, path: &Path) -> Result<()> {
        let declared = || -> rusqlite::Result<(Declared, bool)> {
            let mut columns = connection.prepare("SELECT name, type, pk FROM pragma_table_xinfo(?1)")?;
            let columns =
                columns.query_map([self.table()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let columns = columns.collect::<rusqlite::Result<Vec<_>>>()?;
            // The lookup in pages needs an index whose entries are the key, compared by its bytes and ascending, and the rowid.
            let sql = r#"SELECT count(*) = 2 AND max(x.coll <> 'BINARY') = 0 AND max(x."desc") = 0
                AND max(x.cid = -1) = 1 FROM pragma_index_list(?1) l, pragma_index_xinfo(l.name) x WHERE l.origin = 'pk'"#;
            let plain = connection.query_row(sql, [self.table()], |row| row.get::<_, Option<bool>>(0))?;
            Ok((columns, plain == Some(true)))
        };
        let (columns, plain) =
            declared().map_err(|error| super::failed(error, "read the schema of", path))?;
        let wanted = if self == Layout::Kv { KV } else { SQLAR };
        let same = |(is, wanted): (&(String, String, i64), &(&str, &str, i64))| {
            is.0.eq_ignore_ascii_case(wanted.0) && is.1.eq_ignore_ascii_case(wanted.1) && is.2 == wanted.2
        };
        if plain && columns.len() == wanted.len() && columns.iter().zip(wanted).all(same) {
            return Ok(());
        }
        let wanted: Vec<String> =
            wanted.iter().map(|(name, declared, _)| format!("{name} {declared}")).collect();
        let message = format!(
            "the table {} of {} does not have the columns and the key of a store",
            self.table(),
            path.display()
        );
        Err(Error::target(message).hint(format!(
            "a store has the table {}({}), with {} as the PRIMARY KEY",
            self.table(),
            wanted.join(", "),
            wanted[0].split(' ').next().unwrap_or_default()
        )))
    }
}

fn no_store(path: &Path) -> Error {
    let message = format!("{} has neither a table kv nor a table sqlar", path.display());
    Error::target(message).hint(format!("name another file, or make one in it: {CREATE}"))
}
