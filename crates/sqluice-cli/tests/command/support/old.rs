//! Databases that are to be replaced, in every state that SQLite may have left them in.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

/// How an old database was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// A file of no bytes: to SQLite a database without tables.
    Empty,
    /// In rollback mode, by everyone.
    Rollback,
    /// In rollback mode, with a journal that is kept, its header zeroed.
    Persist,
    /// In the middle of a transaction that must be rolled back.
    HotJournal,
    /// In WAL mode, by everyone.
    Wal,
    /// In WAL mode, killed: the newest rows are in the log.
    StaleWal,
}

/// All states.
pub(crate) const LEFT: [Left; 6] =
    [Left::Empty, Left::Rollback, Left::Persist, Left::HotJournal, Left::Wal, Left::StaleWal];

/// Rows of the old database, but for the empty one.
pub(crate) const ROWS: i64 = 300;

/// What a database file holds, as SQLite sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// All rows of an old database, and no other.
    Old,
    /// No table.
    Empty,
    /// That many rows of the table `user`.
    New(i64),
    /// Nothing, or not all.
    Neither(String),
}

impl Left {
    /// Makes `folder`/x.db, left like this.
    pub(crate) fn make(self, folder: &Path) {
        if self == Left::Empty {
            fs::write(folder.join("x.db"), "").unwrap();
            return;
        }
        // Made elsewhere and copied with what lies beside it, as it is at that moment.
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
            // With so small a cache, pages go to the file before the commit.
            Left::HotJournal => "PRAGMA cache_size = 2; BEGIN; UPDATE old SET t = printf('%0100d', -i)",
            Left::StaleWal => "DROP TABLE early",
            Left::Wal => "PRAGMA wal_checkpoint(TRUNCATE)",
            _ => "SELECT 1",
        }
    }

    /// What is in it for SQLite.
    pub(crate) fn content(self) -> Content {
        if self == Left::Empty { Content::Empty } else { Content::Old }
    }

    /// What is left beside it.
    pub(crate) fn sibling(self) -> Option<&'static str> {
        match self {
            Left::Persist | Left::HotJournal => Some("-journal"),
            Left::Wal | Left::StaleWal => Some("-wal"),
            Left::Empty | Left::Rollback => None,
        }
    }

    /// Whether it is in WAL mode.
    pub(crate) fn is_wal(self) -> bool {
        self.sibling() == Some("-wal")
    }
}

/// What is in the database of that name, when SQLite has recovered it.
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
            // The generator counts.
            ("ok", "user") => match (one("SELECT count(*) FROM user")?, one("SELECT max(id) FROM user")?) {
                (rows, last) if rows == last => Content::New(rows),
                counts => Content::Neither(format!("{counts:?} rows and the last")),
            },
            other => Content::Neither(format!("{other:?}")),
        })
    };
    read().unwrap_or_else(|error| Content::Neither(error.to_string()))
}

/// The journal mode of a database that is not in use.
pub(crate) fn journal_mode(database: &Path) -> String {
    Connection::open(database)
        .and_then(|connection| connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)))
        .unwrap()
}

/// Makes a database with rows that `old` of the others lacks: as many as [`ROWS`], behind its own.
pub(crate) fn make_more(database: &Path) {
    let connection = Connection::open(database).unwrap();
    let fill = format!(
        "CREATE TABLE old (i INTEGER PRIMARY KEY, t TEXT); \
         WITH n (i) AS (SELECT {ROWS} + 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2 * {ROWS}) \
         INSERT INTO old SELECT i, printf('%0100d', i) FROM n"
    );
    connection.execute_batch(&fill).unwrap();
}

/// The number of rows of `old`, which are right and all there up to the last, and the journal mode.
///
/// # Errors
/// The fault of the database.
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
