//! The connection of SQLite that statements, results and descriptions share.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adbc_core::error::{Result, Status};
use rusqlite::{Connection, InterruptHandle, OpenFlags};
use sqluice_core::rows;

use crate::descriptors;
use crate::errors::{error, of_sqlite};
use crate::names;

/// A connection, and how its transactions are.
pub(crate) struct Shared {
    state: Mutex<State>,
    interrupt: InterruptHandle,
    /// The number of cancellations. SQLite ignores a cancellation while no statement runs, such as between two batches of rows.
    cancellations: AtomicU64,
}

/// The connection, while its lock is held.
pub(crate) struct State {
    pub(crate) connection: Connection,
    /// Each statement is a transaction of its own.
    pub(crate) autocommit: bool,
    /// SQLite has rolled the open transaction back after an error.
    is_lost: Cell<bool>,
    /// Rows are being written to a table, under a savepoint.
    pub(crate) is_ingesting: Cell<bool>,
}

impl Shared {
    /// Opens a database.
    pub(crate) fn open(name: &str) -> Result<Arc<Shared>> {
        descriptors::note_from_now_on();
        if let Some(file) = names::file(name)
            && descriptors::is_open_elsewhere(&file)
        {
            let file = file.display();
            let message = format!(
                "{file} is open in this process by something else, such as a connection of the module sqlite3"
            );
            let why = "when that closes the file, locks of this connection end, and rows could be lost: close it first";
            return Err(error(Status::InvalidState, format!("{message}; {why}")));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_FULL_MUTEX;
        let doing = format!("cannot open {name}");
        let connection =
            Connection::open_with_flags(name, flags).map_err(|found| of_sqlite(&found, &doing))?;
        rows::register(&connection).map_err(|found| of_sqlite(&found, &doing))?;
        let interrupt = connection.get_interrupt_handle();
        let (is_lost, is_ingesting) = (Cell::new(false), Cell::new(false));
        let state = Mutex::new(State { connection, autocommit: true, is_lost, is_ingesting });
        Ok(Arc::new(Shared { state, interrupt, cancellations: AtomicU64::new(0) }))
    }

    /// Returns the connection; other threads wait until it is let go.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what the connection does now.
    pub(crate) fn interrupt(&self) {
        self.cancellations.fetch_add(1, Ordering::SeqCst);
        self.interrupt.interrupt();
    }

    /// Returns the number of cancellations until now.
    pub(crate) fn cancellations(&self) -> u64 {
        self.cancellations.load(Ordering::SeqCst)
    }

    /// Returns an error if something was cancelled since there were `before` cancellations.
    pub(crate) fn check_cancelled(&self, before: u64) -> Result<()> {
        match self.cancellations() == before {
            true => Ok(()),
            false => Err(error(Status::Cancelled, "interrupted")),
        }
    }
}

impl State {
    /// Runs statements without a result.
    pub(crate) fn run(&self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|found| of_sqlite(&found, sql))
    }

    /// Begins the transaction that was asked for, before the first statement in it.
    pub(crate) fn begin(&self) -> Result<()> {
        if !self.autocommit && self.connection.is_autocommit() {
            self.run("BEGIN")?;
        }
        Ok(())
    }

    /// Ends the transaction by COMMIT or ROLLBACK.
    pub(crate) fn end(&self, how: &str) -> Result<()> {
        if self.autocommit {
            return Err(error(Status::InvalidState, format!("no transaction is active: cannot {how}")));
        }
        if self.is_ingesting.get() {
            let message = format!("rows are being written by this connection: cannot {how} before their end");
            return Err(error(Status::InvalidState, message));
        }
        if self.is_lost.take() && how == "COMMIT" {
            // Statements after the loss belong to the same transaction of the caller.
            if !self.connection.is_autocommit() {
                self.run("ROLLBACK")?;
            }
            let message = "cannot COMMIT: SQLite has rolled the transaction back after an error, and none of its changes is stored";
            return Err(error(Status::InvalidState, message));
        }
        match self.connection.is_autocommit() {
            // No statement was run in it.
            true => Ok(()),
            false => self.run(how),
        }
    }

    /// Notes how the transaction is after a statement. SQLite rolls a transaction back by itself after some errors, such as a full disk.
    pub(crate) fn note_transaction(&self, was_open: bool, has_failed: bool) {
        if was_open && !self.autocommit && self.connection.is_autocommit() {
            // A statement that has not failed was a COMMIT or ROLLBACK of the caller.
            self.is_lost.set(has_failed);
        }
    }

    /// Sets whether each statement is a transaction of its own. A transaction that is open is committed.
    pub(crate) fn set_autocommit(&mut self, autocommit: bool) -> Result<()> {
        if autocommit && !self.autocommit {
            self.end("COMMIT")?;
        }
        self.autocommit = autocommit;
        Ok(())
    }
}
