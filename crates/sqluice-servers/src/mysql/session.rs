//! Opens sessions, and begins the snapshot that all of them read.
//!
//! ```text
//!                                                                 time ──>
//!  guard:   locks the definitions of all tables ──────────────────────────> ends
//!  reader:             begins the snapshot ──> locks the definitions ──> reads rows ...
//! ```
//!
//! A snapshot of InnoDB has rows, but no definitions: a table that is truncated or altered after the snapshot began would look empty, or
//! reading it would fail. So another connection, the guard, locks the definitions before the snapshot begins, and releases them once the
//! reader has locked them within the snapshot's transaction. No definition changes in between; ALTER TABLE and TRUNCATE wait until the rows
//! are read.
//!
//! An ALTER TABLE that waits for the guard also blocks the reader, and the guard waits for the reader. So the reader waits for only one
//! second; then both transactions end, ALTER TABLE runs, and the snapshot is tried again.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;

use super::connection::{Connection, failure, quoted};
use super::packets::Fault;
use super::settings::Settings;

/// The number of times that all tables are listed before the definitions are locked, and again afterwards. A single list is not enough:
/// while ALTER TABLE renames a table, the list may lack the table.
pub(super) const LISTS: usize = 8;
/// The pause between two lists of all tables.
const PAUSE: Duration = Duration::from_millis(5);

/// The number of times that a snapshot is tried while definitions change.
const TRIES_MAX: usize = 20;

/// The number of the server's error for a wait for a lock that timed out.
const LOCK_WAIT: u16 = 1205;
/// The number of the server's error for a deadlock.
const DEADLOCK: u16 = 1213;
/// The number of the server's error for a table that does not exist.
const NO_TABLE: u16 = 1146;
/// The number of the server's error for a table whose definition has changed.
const DEFINITION_CHANGED: u16 = 1412;

/// A statement that locks definitions.
pub(super) struct Locking {
    /// The table or query that errors name.
    what: String,
    sql: String,
    /// `true` if the table was in a list of all tables: an error that the table does not exist then means that it was just dropped.
    is_listed: bool,
}

impl Locking {
    /// Returns the statement that locks the definition of a table. It reads no row.
    pub(super) fn table(name: &str) -> Locking {
        let sql = format!("SELECT 1 FROM {} LIMIT 0", quoted(name));
        Locking { what: format!("the table {name}"), sql, is_listed: true }
    }

    /// Returns the statement that locks the definitions of the tables of a query.
    pub(super) fn query(sql: &str, table: &str) -> Locking {
        let what = format!("the query for the table {table}");
        Locking { what, sql: format!("EXPLAIN {sql}"), is_listed: false }
    }
}

/// Opens a connection with the session settings of mysqldump.
pub(super) fn open(settings: &Arc<Settings>, cancel: &Cancel) -> Result<Connection> {
    let mut connection = Connection::open(settings, cancel)?;
    let needed = [
        "SET NAMES utf8mb4",
        "SET SESSION sql_mode = ''",
        "SET SESSION time_zone = '+00:00'",
        "SET SESSION sql_quote_show_create = 1",
        // With READ COMMITTED, each statement would have its own snapshot.
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET SESSION net_write_timeout = 31536000, net_read_timeout = 31536000, wait_timeout = 31536000",
        // A server's default for these variables may cut off or refuse large results.
        "SET SESSION sql_select_limit = 18446744073709551615, sql_big_selects = 1",
    ];
    // Statements have no time limit. The variable differs between MariaDB and MySQL.
    let limit = match connection.is_mariadb() {
        true => "SET SESSION max_statement_time = 0",
        false => "SET SESSION max_execution_time = 0",
    };
    for sql in needed {
        connection.execute(sql).map_err(|fault| failure(fault, "setting up the session"))?;
    }
    match connection.execute(limit) {
        // Old servers do not know the variable.
        Ok(()) | Err(Fault::Server(_)) => {}
        Err(fault) => return Err(failure(fault, "setting up the session")),
    }
    Ok(connection)
}

/// The reason why a snapshot can't begin now, or can't begin at all.
enum Obstacle {
    /// The definition of this table, or of a table of this query, is changing: the snapshot is tried again.
    Changing(String),
    Failed(Error),
}

/// Begins one snapshot on all `readers` while no definition can change. With several readers, all tables of the server are locked meanwhile.
///
/// `list` returns the statements that lock the definitions. For a single reader, `list` is called `lists` times before the snapshot begins,
/// and again once the definitions are locked, because tables may be created and dropped in between. For several readers it is called once.
///
/// # Errors
/// If definitions change all the time, or the user lacks a right.
pub(super) fn begin(
    readers: &mut [Connection],
    settings: &Arc<Settings>,
    lists: usize,
    cancel: &Cancel,
    list: &mut dyn FnMut(&mut Connection) -> Result<Vec<Locking>>,
) -> Result<()> {
    let mut guard = open(settings, cancel)?;
    let is_shared = readers.len() > 1;
    let mut last = String::new();
    for _ in 0..TRIES_MAX {
        cancel.check()?;
        let begun = match is_shared {
            true => begin_locked(readers, &mut guard, list),
            false => begin_guarded(&mut readers[0], &mut guard, lists, list),
        };
        match begun {
            Ok(()) => return Ok(()),
            Err(Obstacle::Failed(error)) => return Err(error),
            Err(Obstacle::Changing(table)) => last = table,
        }
    }
    Err(Error::input(format!(
        "no snapshot could begin: at every try, a statement was changing or locking {last}"
    ))
    .hint("run again when no ALTER TABLE, TRUNCATE or LOCK TABLES runs"))
}

/// Begins the snapshot of a single reader while the guard holds locks on the definitions.
fn begin_guarded(
    reader: &mut Connection,
    guard: &mut Connection,
    lists: usize,
    list: &mut dyn FnMut(&mut Connection) -> Result<Vec<Locking>>,
) -> Result<(), Obstacle> {
    const STARTING: &str = "beginning the snapshot";
    run(guard, "SET SESSION lock_wait_timeout = 60", STARTING)?;
    run(guard, "START TRANSACTION READ ONLY", STARTING)?;
    let mut locked: Vec<Locking> = Vec::new();
    for number in 0..lists {
        let listed = list(guard).map_err(Obstacle::Failed)?;
        let news = listed.into_iter().filter(|listed| !has(&locked, listed)).collect::<Vec<_>>();
        locked.extend(news);
        if number + 1 < lists {
            thread::sleep(PAUSE);
        }
    }
    lock(guard, &locked)?;
    run(reader, "SET SESSION lock_wait_timeout = 1", STARTING)?;
    run(reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", STARTING)?;
    let result = lock(reader, &locked).and_then(|()| list_again(reader, &locked, lists, list));
    if result.is_err() {
        run(reader, "ROLLBACK", STARTING)?;
    }
    run(guard, "ROLLBACK", STARTING)?;
    run(reader, "SET SESSION lock_wait_timeout = 31536000", STARTING)?;
    result
}

/// Begins the snapshot of several readers while the guard holds a read lock on all tables, so that no session can write.
fn begin_locked(
    readers: &mut [Connection],
    guard: &mut Connection,
    list: &mut dyn FnMut(&mut Connection) -> Result<Vec<Locking>>,
) -> Result<(), Obstacle> {
    const LOCKING: &str = "locking the server for the snapshot of several connections";
    run(guard, "SET SESSION lock_wait_timeout = 60", LOCKING)?;
    match guard.execute("FLUSH TABLES WITH READ LOCK") {
        Ok(()) => {}
        Err(Fault::Server(error)) if matches!(error.code, LOCK_WAIT | DEADLOCK) => {
            return Err(Obstacle::Changing("a table".to_owned()));
        }
        Err(fault) => {
            // ER_SPECIFIC_ACCESS_DENIED_ERROR.
            let lacks_right = matches!(&fault, Fault::Server(error) if error.code == 1227);
            let error = failure(fault, LOCKING);
            return Err(Obstacle::Failed(match lacks_right {
                true => error.hint("grant the user RELOAD, or read by one connection, which needs no lock"),
                false => error,
            }));
        }
    }
    let mut result = Ok(());
    // No table is created or dropped under this lock, so the list of the first reader holds for all readers.
    let mut listed = None;
    for reader in readers.iter_mut() {
        result = begin_beside(reader, &mut listed, list);
        if result.is_err() {
            break;
        }
    }
    run(guard, "UNLOCK TABLES", LOCKING)?;
    result
}

/// Begins the snapshot of one of several readers, while the server is locked. Only the first reader lists the tables.
fn begin_beside(
    reader: &mut Connection,
    listed: &mut Option<Vec<Locking>>,
    list: &mut dyn FnMut(&mut Connection) -> Result<Vec<Locking>>,
) -> Result<(), Obstacle> {
    const STARTING: &str = "beginning the snapshot";
    run(reader, "SET SESSION lock_wait_timeout = 1", STARTING)?;
    run(reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", STARTING)?;
    let locked = match listed {
        Some(locked) => locked,
        none => none.insert(list(reader).map_err(Obstacle::Failed)?),
    };
    lock(reader, locked)?;
    run(reader, "SET SESSION lock_wait_timeout = 31536000", STARTING)
}

/// Lists the definitions again once they are locked. Returns an error if the list has other definitions than `locked`, also after retries.
fn list_again(
    reader: &mut Connection,
    locked: &[Locking],
    lists: usize,
    list: &mut dyn FnMut(&mut Connection) -> Result<Vec<Locking>>,
) -> Result<(), Obstacle> {
    let mut lacking = None;
    for number in 1..=2 * lists {
        let behind = list(reader).map_err(Obstacle::Failed)?;
        if let Some(other) = behind.iter().find(|listed| !has(locked, listed)) {
            return Err(Obstacle::Changing(other.what.clone()));
        }
        lacking = locked.iter().find(|locking| !has(&behind, locking));
        if lacking.is_none() && number >= lists {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    lacking.map_or(Ok(()), |lacking| Err(Obstacle::Changing(lacking.what.clone())))
}

/// Returns `true` if `list` has the statement of `wanted`.
fn has(list: &[Locking], wanted: &Locking) -> bool {
    list.iter().any(|locking| locking.sql == wanted.sql)
}

/// Locks definitions until the connection's transaction ends.
fn lock(connection: &mut Connection, locked: &[Locking]) -> Result<(), Obstacle> {
    for Locking { what, sql, is_listed } in locked {
        match connection.execute(sql) {
            Ok(()) => {}
            Err(Fault::Server(error))
                if matches!(error.code, LOCK_WAIT | DEADLOCK | DEFINITION_CHANGED)
                    || error.code == NO_TABLE && *is_listed =>
            {
                return Err(Obstacle::Changing(what.clone()));
            }
            Err(fault) => return Err(Obstacle::Failed(failure(fault, &format!("reading {what}")))),
        }
    }
    Ok(())
}

fn run(connection: &mut Connection, sql: &str, doing: &str) -> Result<(), Obstacle> {
    connection.execute(sql).map_err(|fault| Obstacle::Failed(failure(fault, doing)))
}
