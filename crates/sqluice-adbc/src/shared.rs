//! The SQLite connection that statements, results and metadata queries share, and the state of its transaction.
//!
//! Invariant: while a thread writes rows as pages, only this thread uses the connection, and it leaves no statement open after a call.
//! Other threads wait.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use adbc_core::error::{Result, Status};
use rusqlite::{Connection, InterruptHandle, OpenFlags};
use sqluice_core::progress::Cancel;
use sqluice_core::rows;
use sqluice_engine::existing::{Existing, OpenTransaction, vfs};

use crate::descriptors;
use crate::errors::{error, of_engine, of_sqlite};
use crate::{existing, names};

/// A connection that several threads share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// `true` if the database is a file and no other connection of the process shares its page cache (`cache=shared`).
    has_own_pages: bool,
    /// Wakes the threads that wait until another thread has written rows as pages.
    turn: Condvar,
    /// The number of running results: statements that are still open, because some of their rows have not been read.
    running_results: AtomicUsize,
    /// The flag that cancels the run of the engine, if one is running.
    run: Mutex<Option<Cancel>>,
    interrupt: InterruptHandle,
    /// The number of cancellations. SQLite ignores a cancellation while no statement runs, such as between two batches of rows.
    cancellations: AtomicU64,
}

/// The connection with the state of its transaction, which a thread uses while it holds the lock.
pub(crate) struct State {
    pub(crate) connection: Connection,
    /// ADBC's autocommit: `true` if each statement is a transaction by itself.
    pub(crate) autocommit: bool,
    /// `true` if SQLite itself has rolled back the program's transaction after an error.
    is_lost: Cell<bool>,
    /// `true` while rows are being written to a table.
    pub(crate) is_ingesting: Cell<bool>,
    /// The thread that is writing rows as pages, if any.
    writes_pages: Option<ThreadId>,
    /// The pages that the engine has written for the open transaction; `None` if it has written none.
    pages: Cell<Option<OpenTransaction>>,
}

impl Shared {
    /// Opens the database `name`, a path or a URI. It is an error if this process has it open through another SQLite library.
    pub(crate) fn open(name: &str) -> Result<Arc<Shared>> {
        descriptors::note_from_now_on();
        if let Some(file) = names::file(name)
            && descriptors::is_open_elsewhere(&file)
        {
            let file = file.display();
            let message = format!(
                "{file} is already open in this process through another SQLite, such as that of the module sqlite3"
            );
            let why = "close that connection first: if it were closed later, the operating system would release the locks of this \
                       connection, too, and rows could be lost";
            return Err(error(Status::InvalidState, format!("{message}; {why}")));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_FULL_MUTEX;
        let doing = format!("cannot open {name}");
        let opened = match vfs() {
            Some(vfs) => Connection::open_with_flags_and_vfs(name, flags, vfs),
            None => Connection::open_with_flags(name, flags),
        };
        let connection = opened.map_err(|found| of_sqlite(&found, &doing))?;
        rows::register(&connection).map_err(|found| of_sqlite(&found, &doing))?;
        let interrupt = connection.get_interrupt_handle();
        let state = Mutex::new(State {
            connection,
            autocommit: true,
            is_lost: Cell::new(false),
            is_ingesting: Cell::new(false),
            writes_pages: None,
            pages: Cell::new(None),
        });
        Ok(Arc::new(Shared {
            state,
            has_own_pages: names::file(name).is_some() && !name.contains("cache=shared"),
            turn: Condvar::new(),
            running_results: AtomicUsize::new(0),
            run: Mutex::new(None),
            interrupt,
            cancellations: AtomicU64::new(0),
        }))
    }

    /// Locks the connection for this thread. Waits while another thread writes rows as pages.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_others =
            |state: &mut State| state.writes_pages.is_some_and(|one| one != thread::current().id());
        self.turn.wait_while(state, is_others).unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a result as running, with an open statement, until the guard is dropped.
    pub(crate) fn running_result(self: &Arc<Shared>) -> RunningResult {
        self.running_results.fetch_add(1, Ordering::SeqCst);
        RunningResult(Arc::clone(self))
    }

    /// Returns a flag that [`Shared::interrupt`] sets, until the guard is dropped.
    pub(crate) fn cancellable(&self) -> Run<'_> {
        let cancel = Cancel::new();
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel.clone());
        Run { shared: self, cancel }
    }

    /// Cancels the running operation of the connection: the engine's run and SQLite's statement.
    pub(crate) fn interrupt(&self) {
        self.cancellations.fetch_add(1, Ordering::SeqCst);
        if let Some(run) = &*self.run.lock().unwrap_or_else(PoisonError::into_inner) {
            run.cancel();
        }
        self.interrupt.interrupt();
    }

    /// Returns the number of cancellations until now.
    pub(crate) fn cancellations(&self) -> u64 {
        self.cancellations.load(Ordering::SeqCst)
    }

    /// Returns an error if there was a cancellation since [`Shared::cancellations`] returned `before`.
    pub(crate) fn check_cancelled(&self, before: u64) -> Result<()> {
        match self.cancellations() == before {
            true => Ok(()),
            false => Err(error(Status::Cancelled, "interrupted")),
        }
    }
}

/// A guard: while it exists, a result counts as running.
pub(crate) struct RunningResult(Arc<Shared>);

impl Drop for RunningResult {
    fn drop(&mut self) {
        self.0.running_results.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A guard: while it exists, [`Shared::interrupt`] sets `cancel`.
pub(crate) struct Run<'s> {
    shared: &'s Shared,
    pub(crate) cancel: Cancel,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        *self.shared.run.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A guard: while it exists, only the thread that took it can use the connection.
pub(crate) struct Turn<'s>(&'s Shared);

impl Turn<'_> {
    /// Reserves the connection for this thread, to write rows as pages. Returns `None` if a transaction is open, a result is not read to
    /// its end, other connections share the page cache, or the database is not a file.
    pub(crate) fn take(shared: &Shared) -> Option<Turn<'_>> {
        let mut state = shared.lock();
        let is_reading = shared.running_results.load(Ordering::SeqCst) > 0;
        if !shared.has_own_pages || !state.connection.is_autocommit() || is_reading {
            return None;
        }
        state.writes_pages = Some(thread::current().id());
        Some(Turn(shared))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().writes_pages = None;
        self.0.turn.notify_all();
    }
}

impl State {
    /// Returns `true` if rows are being written as pages. Then no other statement may change the database, and none may stay open.
    pub(crate) fn writes_pages(&self) -> bool {
        self.writes_pages.is_some()
    }

    /// Returns the database for the engine, or `None` if pages can't be written into it. The result must be dropped before this state.
    pub(crate) fn existing(&self) -> Result<Option<Existing>> {
        existing::of(&self.connection).map_err(of_engine)
    }

    /// Begins a transaction with the write lock. In a new, empty file, writes the first page before that: pages without a first page would
    /// not be a database for other programs.
    pub(crate) fn begin_on_a_page(&self) -> Result<()> {
        let pages = self.connection.query_row("PRAGMA main.page_count", [], |row| row.get::<_, i64>(0));
        if pages.map_err(|found| of_sqlite(&found, "cannot read the database"))? == 0 {
            self.run("PRAGMA main.user_version = 0")?;
        }
        self.run("BEGIN IMMEDIATE")
    }

    /// Keeps the written pages until the end of the transaction; with autocommit, commits them at once.
    pub(crate) fn keep(&self, pages: OpenTransaction) -> Result<()> {
        self.pages.set(Some(pages));
        match self.autocommit {
            true => self.run("COMMIT").inspect_err(|_| self.roll_back_pages()),
            false => Ok(()),
        }
    }

    /// Rolls back the transaction, if it has written pages, and removes them from the file. SQLite may already have rolled back.
    fn roll_back_pages(&self) {
        let Some(pages) = self.pages.take() else { return };
        match self.existing() {
            Ok(Some(mut existing)) => pages.roll_back(&mut existing),
            // The engine can't use the database now: a later transaction removes the pages from the file.
            _ => drop(self.run("ROLLBACK")),
        }
    }

    /// Runs statements without a result.
    pub(crate) fn run(&self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|found| of_sqlite(&found, sql))
    }

    /// Begins a transaction if autocommit is off and none is open. Called before each statement.
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
            let message =
                format!("rows are being written by this connection: cannot {how} before it has finished");
            return Err(error(Status::InvalidState, message));
        }
        if self.is_lost.take() && how == "COMMIT" {
            // The program may have run statements after SQLite's rollback. To the program they belong to the lost transaction, so undo
            // them, too.
            if !self.connection.is_autocommit() {
                self.run("ROLLBACK")?;
            }
            let message = "cannot COMMIT: SQLite has rolled the transaction back after an error, and none of its changes is stored";
            return Err(error(Status::InvalidState, message));
        }
        match self.connection.is_autocommit() {
            // No statement has begun the transaction.
            true => Ok(()),
            false if how == "COMMIT" => {
                self.run(how)?;
                self.pages.set(None);
                Ok(())
            }
            false => {
                self.roll_back_pages();
                match self.connection.is_autocommit() {
                    true => Ok(()),
                    false => self.run(how),
                }
            }
        }
    }

    /// Updates the state of the transaction after a statement. SQLite rolls a transaction back by itself after some errors, such as a full
    /// disk.
    pub(crate) fn note_transaction(&self, was_open: bool, has_failed: bool) {
        if was_open && !self.autocommit && self.connection.is_autocommit() {
            // If the statement has not failed, it was a COMMIT or ROLLBACK of the program.
            self.is_lost.set(has_failed);
        }
        if was_open && self.connection.is_autocommit() {
            // After a COMMIT this does nothing.
            self.roll_back_pages();
        }
    }

    /// Switches autocommit on or off. Switching it on commits an open transaction.
    pub(crate) fn set_autocommit(&mut self, autocommit: bool) -> Result<()> {
        if autocommit && !self.autocommit {
            self.end("COMMIT")?;
        }
        self.autocommit = autocommit;
        Ok(())
    }
}

/// Rolls back what was not committed.
impl Drop for State {
    fn drop(&mut self) {
        self.roll_back_pages();
    }
}
