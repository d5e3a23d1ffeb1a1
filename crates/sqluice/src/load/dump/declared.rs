//! A database in memory in which the declarations of a dump are run, so that SQLite can describe its tables.
//!
//! SQLite keeps the description of tables in memory, but still reads all rows of `sqlite_schema` to run a CREATE: n declarations would
//! take time in proportion to n². So the rows are moved out of `sqlite_schema` before each CREATE, and put back before any statement that
//! may read them, such as CREATE VIRTUAL TABLE:
//!
//! ```text
//!  CREATE TABLE a(x)       rows aside: -       sqlite_schema: a
//!  CREATE INDEX i ON a(x)  rows aside: a       sqlite_schema: i       SQLite knows a and i
//!  DROP INDEX i            rows aside: -       sqlite_schema: a       put back before the statement
//! ```
//!
//! Invariant: SQLite never reads the schema again while rows are out of `sqlite_schema`. SQLite would do so after an error in a CREATE,
//! but such an error ends the load; and for statements other than CREATE, but the rows are put back before these.

use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

/// A database in memory; see the module's description.
pub(super) struct Declared {
    connection: Connection,
    /// The rows that are out of `sqlite_schema`, in order.
    aside: Vec<[Value; COLUMNS]>,
}

/// The number of columns of `sqlite_schema`.
const COLUMNS: usize = 5;

impl Declared {
    /// Creates an empty database.
    pub(super) fn open() -> Result<Declared> {
        let connection = Connection::open_in_memory()?;
        // Each table takes at least one page, so small pages save memory.
        connection.pragma_update(None, "page_size", 512)?;
        Ok(Declared { connection, aside: Vec::new() })
    }

    /// Returns the connection, to describe tables by their names and to prepare statements. Rows may be missing in `sqlite_schema`.
    pub(super) fn known(&self) -> &Connection {
        &self.connection
    }

    /// Returns the connection as [`Declared::known`] does, for functions that need it mutable.
    pub(super) fn known_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Puts all rows back into `sqlite_schema`, and returns the connection.
    pub(super) fn whole(&mut self) -> Result<&Connection> {
        self.put_back()?;
        Ok(&self.connection)
    }

    /// Moves the rows out of `sqlite_schema`, so that the next CREATE is fast.
    pub(super) fn take_aside(&mut self) -> Result<()> {
        let aside = &mut self.aside;
        with_writable_schema(&self.connection, |connection| {
            let mut rows = connection.prepare_cached(
                "SELECT type, name, tbl_name, rootpage, sql FROM main.sqlite_schema ORDER BY rowid",
            )?;
            let rows = rows
                .query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]))?;
            let known = aside.len();
            for row in rows {
                aside.push(row?);
            }
            if aside.len() > known {
                connection.prepare_cached("DELETE FROM main.sqlite_schema")?.execute([])?;
            }
            Ok(())
        })
    }

    /// Puts all rows back into `sqlite_schema`.
    pub(super) fn put_back(&mut self) -> Result<()> {
        if self.aside.is_empty() {
            return Ok(());
        }
        // Move the rows of the last declarations to the others first, so that all rows are put back in order.
        self.take_aside()?;
        let rows = std::mem::take(&mut self.aside);
        with_writable_schema(&self.connection, |connection| {
            let mut insert =
                connection.prepare_cached("INSERT INTO main.sqlite_schema VALUES (?1, ?2, ?3, ?4, ?5)")?;
            connection.execute_batch("BEGIN")?;
            for row in rows {
                insert.execute(row)?;
            }
            connection.execute_batch("COMMIT")
        })
    }
}

/// Calls `work` while `sqlite_schema` is writable.
fn with_writable_schema<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    const SETTING: DbConfig = DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA;
    let before = connection.db_config(SETTING)?;
    connection.set_db_config(SETTING, true)?;
    let done = work(connection);
    connection.set_db_config(SETTING, before)?;
    done
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// The statements that random dumps consist of. They share few names, so that one statement affects the objects of others.
    const STATEMENTS: [&str; 20] = [
        "CREATE TABLE a(x INTEGER PRIMARY KEY, y UNIQUE)",
        "CREATE TABLE IF NOT EXISTS a(x)",
        "CREATE TABLE b(x PRIMARY KEY, y REFERENCES a(y)) WITHOUT ROWID",
        "CREATE TABLE c(x INTEGER PRIMARY KEY AUTOINCREMENT, z)",
        "CREATE TABLE d AS SELECT * FROM a",
        "CREATE INDEX i ON a(y)",
        "CREATE INDEX i2 ON b(y, x)",
        "CREATE UNIQUE INDEX IF NOT EXISTS i3 ON c(z)",
        "CREATE VIEW v AS SELECT * FROM a, b",
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN INSERT INTO b VALUES(new.x, new.y); END",
        "CREATE TRIGGER t2 INSTEAD OF DELETE ON v BEGIN DELETE FROM a; END",
        "DROP TABLE a",
        "DROP TABLE IF EXISTS b",
        "DROP INDEX i",
        "DROP VIEW IF EXISTS v",
        "DROP TRIGGER t",
        "ALTER TABLE a RENAME TO e",
        "ALTER TABLE c ADD COLUMN w DEFAULT 1",
        "ALTER TABLE b RENAME COLUMN y TO w",
        "ANALYZE",
    ];

    /// Runs a statement as a load of a dump does: the rows of `sqlite_schema` are moved aside before a CREATE, and put back before any
    /// other statement.
    fn run(declared: &mut Declared, sql: &str) -> Result<()> {
        match sql.starts_with("CREATE") {
            true => declared.take_aside()?,
            false => declared.put_back()?,
        }
        declared.known().execute_batch(sql)
    }

    fn rows(connection: &Connection) -> Vec<(String, String, String, Option<String>)> {
        let mut rows =
            connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid").unwrap();
        let rows = rows
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .unwrap()
            .collect::<Result<_>>();
        rows.unwrap()
    }

    /// Returns the number of instructions that SQLite's machine executes for `tables` tables with an index each.
    fn instructions(tables: usize, aside: bool) -> u64 {
        let mut declared = Declared::open().unwrap();
        let count = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&count);
        let handler = move || {
            counter.fetch_add(1, Relaxed);
            false
        };
        declared.known_mut().progress_handler(1, Some(handler)).unwrap();
        for table in 0..tables {
            for sql in
                [format!("CREATE TABLE t{table}(a, b)"), format!("CREATE INDEX i{table} ON t{table}(a)")]
            {
                match aside {
                    true => run(&mut declared, &sql).unwrap(),
                    false => declared.known().execute_batch(&sql).unwrap(),
                }
            }
        }
        let listed = rows(declared.whole().unwrap()).len();
        assert_eq!(listed, 2 * tables);
        count.load(Relaxed)
    }

    #[test]
    fn the_work_for_declaring_tables_is_proportional_to_their_number() {
        let (few, many) = (instructions(50, true), instructions(400, true));
        assert!(many < 9 * few, "{few} instructions for 50 tables, {many} for 400");
        // SQLite by itself reads all rows for each CREATE.
        let (few, many) = (instructions(50, false), instructions(400, false));
        assert!(many > 20 * few, "{few} instructions for 50 tables, {many} for 400");
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(200))]

        #[test]
        fn random_declarations_have_the_same_effect_and_errors_as_in_an_ordinary_database(
            statements in vec(select(&STATEMENTS[..]), 0..25),
        ) {
            let plain = Connection::open_in_memory().unwrap();
            let mut declared = Declared::open().unwrap();
            for sql in &statements {
                let message = |result: Result<()>| result.err().map(|error| error.to_string());
                prop_assert_eq!(message(run(&mut declared, sql)), message(plain.execute_batch(sql)), "{}", sql);
            }
            prop_assert_eq!(rows(declared.whole().unwrap()), rows(&plain));
        }
    }
}
