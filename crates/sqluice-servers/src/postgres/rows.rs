//! Reads the rows of all tables, on one connection or several.
//!
//! ```text
//!  tables     rows 1   rows 2   rows 3   rows 4 ...
//!               │        │        │        │
//!            worker A worker B worker A worker B       each with its own connection, in the same snapshot
//!               └────────┴───┬────┴────────┘
//!                            v  blocks of each piece, in the order of the pieces
//!                         reader
//! ```

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sqluice_core::error::{Error, ErrorKind, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::blocks::BLOCK_BYTES;

use super::connection::{Connection, Failure};
use super::settings::Settings;
use super::{BEGIN, prepare, query};
use crate::pieces::{Gone, Pieces, Reader, Rows, blocks_max, pieces};

/// The minimum memory of a [`Worker`]: the blocks of a piece that waits for the reader, and of a piece that is being read.
pub(super) const WORKER_BYTES: u64 = 8 * BLOCK_BYTES as u64;

/// The SQLSTATE if a lock is not available at once.
const NOT_AVAILABLE: &str = "55P03";

/// The number of pages of a range. The text of its rows usually fits into the blocks that may wait for the reader.
const RANGE_PAGES: u64 = 512;

/// A COPY statement that reads a table, a range of its pages, or a query.
pub(super) struct Copy {
    /// The text of the statement.
    pub(super) sql: String,
    /// The table that the worker locks; for a query, the name of the table that its rows make.
    pub(super) table: Arc<str>,
    /// `true` if `table` is a table of the server, quoted for SQL.
    pub(super) is_table: bool,
}

impl Copy {
    /// Returns the beginning of the error message if the statement fails.
    fn doing(&self) -> String {
        match self.is_table {
            true => format!("cannot read table {}", self.table),
            false => "cannot run the query".to_owned(),
        }
    }

    /// Adds the table to the message of an error of the connection.
    fn failed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Interrupted => error,
            _ => Error::input(self.doing()).because(error),
        }
    }
}

/// The number of connections that read rows, and the snapshot that they share.
pub(super) struct Workers {
    /// The name of the exported snapshot.
    pub(super) snapshot: String,
    pub(super) count: usize,
}

/// Returns the SQL conditions that split a table of about `pages` pages into ranges. The last range has no upper bound, as the number of
/// pages is an estimate. `None` stands for the whole table.
pub(super) fn ranges(pages: u64) -> impl Iterator<Item = Option<String>> {
    let count = (pages / RANGE_PAGES).max(1);
    (0..count).map(move |range| {
        let (start, end) = (range * RANGE_PAGES, (range + 1) * RANGE_PAGES);
        match (count, range + 1 == count) {
            (1, _) => None,
            (_, true) => Some(format!("ctid >= '({start},0)'")),
            _ => Some(format!("ctid >= '({start},0)' AND ctid < '({end},0)'")),
        }
    })
}

/// The settings of the sessions that read rows.
pub(super) struct Session {
    pub(super) settings: Settings,
    pub(super) row_security: bool,
    /// `true` if the session uses the user's default search_path, because the SQL has conditions or a query of the user.
    pub(super) resets_path: bool,
    /// The memory for rows that wait for the reader, in bytes.
    pub(super) memory_bytes: u64,
}

/// Starts to read the pieces in `list`: on the connection that took the snapshot, or on several other connections.
pub(super) fn start(
    main: Connection,
    session: Session,
    list: Vec<(usize, Copy)>,
    workers: Option<Workers>,
    stop: &Cancel,
) -> Reader {
    let count = workers.as_ref().map_or(1, |workers| workers.count);
    let (pieces, mut reader) = pieces(list, blocks_max(session.memory_bytes, count), stop.clone());
    let Some(Workers { snapshot, count }) = workers else {
        reader.watch(thread::spawn(move || {
            let mut main = main;
            read_pieces(&pieces, |copy, rows| copied(&mut main, copy, rows));
        }));
        return reader;
    };
    // The snapshot exists until the exporting transaction ends: keep `main` open until the last worker ends.
    let shared = Arc::new((pieces, session, snapshot, Mutex::new(main)));
    for _ in 0..count {
        let (shared, stop) = (Arc::clone(&shared), stop.clone());
        reader.watch(thread::spawn(move || {
            let (pieces, session, snapshot, main) = &*shared;
            let mut worker = None;
            read_pieces(pieces, |copy, rows| {
                let worker = match &mut worker {
                    Some(worker) => worker,
                    none => {
                        let opened = Worker::open(session, snapshot, &stop);
                        none.insert(opened.map_err(|error| copy.failed(error))?)
                    }
                };
                worker.read(copy, rows, main)
            });
        }));
    }
    reader
}

/// The reason why a thread stops reading.
enum Stop {
    Failed(Error),
    /// The reader was dropped.
    NoReader,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Stop {
        Stop::NoReader
    }
}

/// Reads pieces until none is left, or until one fails.
fn read_pieces(pieces: &Pieces<Copy>, mut read: impl FnMut(&Copy, &mut Rows) -> Result<(), Stop>) {
    while let Some((copy, mut rows)) = pieces.take() {
        match read(&copy, &mut rows) {
            Ok(()) => {
                if rows.finish().is_err() {
                    return;
                }
            }
            Err(Stop::Failed(error)) => return rows.fail(error),
            Err(Stop::NoReader) => return,
        }
    }
}

/// Reads the rows of a piece into blocks.
fn copied(connection: &mut Connection, copy: &Copy, rows: &mut Rows) -> Result<(), Stop> {
    let failed = |failure: Failure| match failure {
        Failure::Server(error) => Stop::Failed(error.into_error(&copy.doing())),
        Failure::Other(error) => Stop::Failed(copy.failed(error)),
    };
    connection.copy(&copy.sql).map_err(failed)?;
    while connection.copied(&mut rows.block, BLOCK_BYTES).map_err(failed)? {
        rows.send()?;
    }
    Ok(())
}

/// One of several connections that read pieces.
struct Worker {
    connection: Connection,
    /// The tables that the connection has locked.
    locked: HashSet<Arc<str>>,
}

impl Worker {
    fn open(session: &Session, snapshot: &str, stop: &Cancel) -> Result<Worker> {
        Ok(Worker { connection: open(session, snapshot, stop)?, locked: HashSet::new() })
    }

    /// Reads a piece, on this connection or, if the table can't be locked, on `main`, the connection that took the snapshot.
    fn read(&mut self, copy: &Copy, rows: &mut Rows, main: &Mutex<Connection>) -> Result<(), Stop> {
        if copy.is_table && !self.locked.contains(&copy.table) {
            if !self.lock(&copy.table)? {
                // `main` has locked the table since the snapshot. Wait until all earlier pieces are read: they may need `main`, too.
                rows.wait_for_reader()?;
                let mut main = main.lock().unwrap_or_else(PoisonError::into_inner);
                return copied(&mut main, copy, rows);
            }
            self.locked.insert(Arc::clone(&copy.table));
        }
        copied(&mut self.connection, copy, rows)
    }

    /// Locks a table against changes of its definition. Returns `false` if another session waits to change the table: that session waits for
    /// `main`, and this connection would wait for that session without end.
    fn lock(&mut self, table: &str) -> Result<bool> {
        let doing = || format!("cannot lock table {table}");
        let sql = format!(
            "SAVEPOINT before_lock; LOCK TABLE ONLY {table} IN ACCESS SHARE MODE NOWAIT; RELEASE before_lock"
        );
        match self.connection.query(&sql) {
            Ok(_) => Ok(true),
            Err(Failure::Server(error)) if error.code == NOT_AVAILABLE => {
                query(&mut self.connection, "ROLLBACK TO before_lock; RELEASE before_lock", &doing())?;
                Ok(false)
            }
            Err(failure) => Err(failure.into_error(&doing())),
        }
    }
}

/// Opens a connection that sees the exported snapshot.
fn open(session: &Session, snapshot: &str, stop: &Cancel) -> Result<Connection> {
    let mut connection = Connection::open(&session.settings, stop)?;
    prepare(&mut connection, session.row_security)?;
    let snapshot = snapshot.replace('\'', "''");
    query(
        &mut connection,
        &format!("{BEGIN}; SET TRANSACTION SNAPSHOT '{snapshot}'"),
        "cannot use the exported snapshot",
    )?;
    if session.resets_path {
        query(&mut connection, "RESET search_path", "cannot prepare the session")?;
    }
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_ranges_cover_each_page_of_a_table_once_and_the_last_range_has_no_end() {
        for pages in [0, 1, RANGE_PAGES, 2 * RANGE_PAGES - 1] {
            assert_eq!(ranges(pages).collect::<Vec<_>>(), [None], "{pages}");
        }
        let found: Vec<_> = ranges(3 * RANGE_PAGES + 5).flatten().collect();
        let [first, second, last] = &found[..] else { panic!("{found:?}") };
        assert_eq!(first, "ctid >= '(0,0)' AND ctid < '(512,0)'");
        assert_eq!(second, "ctid >= '(512,0)' AND ctid < '(1024,0)'");
        assert_eq!(last, "ctid >= '(1024,0)'");
    }
}
