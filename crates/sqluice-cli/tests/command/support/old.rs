//! Old databases that a test replaces, in every state in which SQLite may leave a database.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

/// The state in which the last connection left an old database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// A file of no bytes, which is a database without tables for SQLite.
    Empty,
    /// In rollback mode, closed by all connections.
    Rollback,
    /// In rollback mode, with a journal that is kept after the commit with a zeroed header (journal_mode=PERSIST).
    Persist,
    /// In rollback mode, killed in a transaction that must be rolled back.
    HotJournal,
    /// In WAL mode, closed by all connections.
    Wal,
    /// In WAL mode, killed: the newest rows are in the log.
    StaleWal,
}

/// All states.
pub(crate) const LEFT: [Left; 6] =
    [Left::Empty, Left::Rollback, Left::Persist, Left::HotJournal, Left::Wal, Left::StaleWal];

/// The number of rows of an old database, unless it is empty.
pub(crate) const ROWS: i64 = 300;

/// The content of a database, as SQLite reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// All rows of an old database, and no other.
    Old,
    /// No table.
    Empty,
    /// The new database: this many rows of the table `user`.
    New(i64),
    /// Any other content, or damage.
    Neither(String),
}

impl Left {
    /// Makes `folder`/x.db in this state.
    pub(crate) fn make(self, folder: &Path) {
        if self == Left::Empty {
            fs::write(folder.join("x.db"), "").unwrap();
            return;
        }
        // Make the database in another folder, and copy it with its journal or log while the connection is open, as if the process had been
        // killed.
        let elsewhere = super::folder();
        let file = |suffix: &str| elsewhere.path().join(format!("x.db{suffix}"));
        let connection = Connection::open(file("")).unwrap();
        connection.execute_batch(self.begin()).unwrap();
        let fill = format!(
            "CREATE TABLE old (i INTEGER PRIMARY KEY, t TEXT); \
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) \
             INSERT INTO old SELECT i, printf('%0100d', i) FROM n"
        );
        connection.execute_batch(&fill).unwrap();
        connection.execute_batch(self.end()).unwrap();
        for suffix in ["", "-journal", "-wal"] {
            let copied = fs::copy(file(suffix), folder.join(format!("x.db{suffix}")));
            assert_eq!(copied.is_ok(), suffix.is_empty() || Some(suffix) == self.sibling(), "{self:?}");
        }
    }

    fn begin(self) -> &'static str {
        match self {
            Left::Persist => "PRAGMA journal_mode = PERSIST",
            Left::Wal => "PRAGMA journal_mode = WAL",
            Left::StaleWal => {
                "CREATE TABLE early (a); PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0"
            }
            _ => "PRAGMA journal_mode = DELETE",
        }
    }

    fn end(self) -> &'static str {
        match self {
            // With such a small cache, SQLite writes pages to the file before the commit.
            Left::HotJournal => "PRAGMA cache_size = 2; BEGIN; UPDATE old SET t = printf('%0100d', -i)",
            Left::StaleWal => "DROP TABLE early",
            Left::Wal => "PRAGMA wal_checkpoint(TRUNCATE)",
            _ => "SELECT 1",
        }
    }

    /// Returns the content that SQLite reads from a database in this state.
    pub(crate) fn content(self) -> Content {
        if self == Left::Empty { Content::Empty } else { Content::Old }
    }

    /// Returns the name of the journal or log beside the database, if it has one.
    pub(crate) fn sibling(self) -> Option<&'static str> {
        match self {
            Left::Persist | Left::HotJournal => Some("-journal"),
            Left::Wal | Left::StaleWal => Some("-wal"),
            Left::Empty | Left::Rollback => None,
        }
    }

    /// Returns `true` if the database is in WAL mode.
    pub(crate) fn is_wal(self) -> bool {
        self.sibling() == Some("-wal")
    }
}

/// Returns the content of a database, after SQLite has recovered it.
pub(crate) fn content(database: &Path) -> Content {
    if !database.exists() {
        return Content::Neither("there is nothing".to_owned());
    }
    let read = || -> rusqlite::Result<Content> {
        let connection = Connection::open(database)?;
        let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let tables: String =
            connection.query_row("SELECT ifnull(group_concat(name), '') FROM sqlite_schema", [], |row| {
                row.get(0)
            })?;
        Ok(match (&*sound, &*tables) {
            ("ok", "") => Content::Empty,
            ("ok", "old") => {
                let right = format!(
                    "SELECT count(*) FROM old WHERE i BETWEEN 1 AND {ROWS} AND t = printf('%0100d', i)"
                );
                match (one("SELECT count(*) FROM old")?, one(&right)?) {
                    (ROWS, ROWS) => Content::Old,
                    counts => Content::Neither(format!("{counts:?} rows are there and right")),
                }
            }
            // The keys of generated rows count from 1.
            ("ok", "user") => match (one("SELECT count(*) FROM user")?, one("SELECT max(id) FROM user")?) {
                (rows, last) if rows == last => Content::New(rows),
                counts => Content::Neither(format!("{counts:?} rows and the last")),
            },
            other => Content::Neither(format!("{other:?}")),
        })
    };
    read().unwrap_or_else(|error| Content::Neither(error.to_string()))
}

/// Returns the journal mode of a database that no connection uses.
pub(crate) fn journal_mode(database: &Path) -> String {
    Connection::open(database)
        .and_then(|connection| connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)))
        .unwrap()
}

/// Makes a database to merge, with [`ROWS`] further rows of the table `old`, whose keys follow those of the other databases.
pub(crate) fn make_more(database: &Path) {
    let connection = Connection::open(database).unwrap();
    let fill = format!(
        "CREATE TABLE old (i INTEGER PRIMARY KEY, t TEXT); \
         WITH n (i) AS (SELECT {ROWS} + 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2 * {ROWS}) \
         INSERT INTO old SELECT i, printf('%0100d', i) FROM n"
    );
    connection.execute_batch(&fill).unwrap();
}

/// Returns the number of rows of `old`, after checking that all rows up to the last exist with the right values, and the journal mode.
///
/// # Errors
/// If the database is damaged or a row is wrong. The text describes the fault.
pub(crate) fn rows_and_mode(database: &Path) -> Result<(i64, String), String> {
    let read = || -> rusqlite::Result<(String, [i64; 3], String)> {
        let connection = Connection::open(database)?;
        let sound = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        let sql = "SELECT count(*), ifnull(max(i), 0), total(t = printf('%0100d', i)) FROM old";
        let numbers = connection
            .query_row(sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get::<_, f64>(2)? as i64]))?;
        Ok((sound, numbers, connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?))
    };
    match read().map_err(|error| error.to_string())? {
        (sound, [rows, last, right], mode) if sound == "ok" && rows == last && rows == right => {
            Ok((rows, mode))
        }
        other => Err(format!("{other:?}")),
    }
}
