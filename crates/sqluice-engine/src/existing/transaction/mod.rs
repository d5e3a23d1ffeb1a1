//! The one transaction that changes the database, by SQL and by pages.
//!
//! * `obstacle`: the reason why pages can't be written into a database directly
//! * `past_the_end`: pages written past the end of the file
//! * `playback`: pages passed to SQLite through a savepoint that is rolled back; `sub_journal`: the file from which SQLite rolls back
//! * `dbpage`: truncation of the file by SQLite
//!
//! The rules of the transaction:
//!
//! * Raw writes and SQLite share the file, but never a page at the same time: SQLite writes the pages up to its own page count, raw writes
//!   go past it. So SQLite must not allocate pages between [`Transaction::past_the_end`] and [`Transaction::publish`].
//! * In WAL mode, a checkpoint copies the WAL into the file and truncates the file to the size in the WAL, which is the old size: appended
//!   pages would be lost. So a complete checkpoint is done first, under the write lock: then the WAL has nothing left that another process
//!   could copy.
//! * After an error or a cancellation, the new pages are cut off before ROLLBACK, while no other process can allocate pages. If COMMIT has
//!   failed, its effect is unknown: then nothing is cut off, as the new pages may be part of the database.
//! * In WAL mode, a WAL without pages has no size, and a new reader takes the size of the file. If the file were truncated then, later
//!   writes of this reader would be malformed. So SQLite truncates the file: it commits an unchanged page 1 with the right size, and a
//!   reader that began before can no longer write.

mod dbpage;
pub(super) mod obstacle;
mod past_the_end;
mod playback;
pub(super) mod sub_journal;

use std::io;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::quoted;

use super::{Existing, WAIT, is_busy};
use past_the_end::PastTheEnd;

/// The number of VDBE instructions between two checks of the cancel flag.
const CANCEL_STEPS: i32 = 1000;

/// A write transaction. Dropping it without a commit rolls back.
#[derive(Debug)]
pub struct Transaction<'e> {
    existing: &'e mut Existing,
    cancel: Cancel,
    /// The size of the file at the beginning, after its tail was cut off. Valid if `checkpointed` is set.
    file_bytes: u64,
    /// `true` if all pages of the WAL, if any, are known to be in the file. Otherwise nothing may be cut off from the file.
    checkpointed: bool,
    /// `true` if the database is in WAL mode and the WAL has pages. Then a new reader takes the size of the database from the WAL,
    /// otherwise from the size of the file.
    log_tells_size: bool,
    state: State,
}

/// The state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// The write lock was never taken, so there is nothing to undo.
    Waiting,
    Open,
    /// COMMIT has failed, and its effect is unknown.
    Unknown,
    Committed,
    /// The transaction is open, and the caller of the engine ends it.
    Left,
}

/// The number of attempts to bring the database and its WAL into a state in which pages can be written.
const TRIES: usize = 5;

/// The time between two checkpoint attempts.
const PAUSE: Duration = Duration::from_millis(2);

impl<'e> Transaction<'e> {
    /// Begins the transaction. With `is_begun`, the caller has taken the write lock with BEGIN IMMEDIATE.
    pub(super) fn begin(
        existing: &'e mut Existing,
        cancel: &Cancel,
        is_begun: bool,
    ) -> Result<Transaction<'e>> {
        cancel.check()?;
        let deadline = Instant::now() + existing.busy_timeout;
        let cancel = cancel.clone();
        let mut transaction = Transaction {
            existing,
            cancel,
            file_bytes: 0,
            checkpointed: false,
            log_tells_size: false,
            state: State::Waiting,
        };
        transaction.watch()?;
        for attempt in 0..TRIES {
            match is_begun && attempt == 0 {
                true => transaction.is_locked()?,
                false => transaction.lock(deadline)?,
            }
            if transaction.settle(false)? {
                return Ok(transaction);
            }
        }
        // After each try, another process changed the database before the lock was taken again. The transaction goes on unsettled:
        // `checkpointed` is `false`, so no pages can be written, and SQLite must insert the rows ([`Transaction::obstacle`]).
        transaction.lock(deadline)?;
        Ok(transaction)
    }

    /// Resumes a transaction that was [left](Transaction::leave). The tuple is the result of [`Transaction::abandon`].
    pub(super) fn resume(
        existing: &'e mut Existing,
        (file_bytes, checkpointed, log_tells_size): (u64, bool, bool),
    ) -> Transaction<'e> {
        let (cancel, state) = (Cancel::new(), State::Open);
        Transaction { existing, cancel, file_bytes, checkpointed, log_tells_size, state }
    }

    /// Ends this value, but not the transaction. Returns the fields `file_bytes`, `checkpointed` and `log_tells_size`.
    pub(super) fn abandon(&mut self) -> (u64, bool, bool) {
        self.state = State::Left;
        (self.file_bytes, self.checkpointed, self.log_tells_size)
    }

    /// Interrupts SQLite when the cancel flag is set.
    fn watch(&mut self) -> Result<()> {
        let cancelled = self.cancel.clone();
        let handler = Some(move || cancelled.check().is_err());
        let connection = &mut self.existing.connection;
        connection.progress_handler(CANCEL_STEPS, handler).map_err(|error| self.failed(error, "watch"))
    }

    /// Takes the write lock. Waits until `deadline` at most.
    fn lock(&mut self, deadline: Instant) -> Result<()> {
        // `file_bytes` is from an earlier transaction, so the file must not be cut to this size.
        self.checkpointed = false;
        let begin = |connection: &Connection| connection.execute_batch("BEGIN IMMEDIATE");
        self.existing.waiting_until(deadline, &self.cancel, "lock", begin)?;
        self.is_locked()
    }

    /// Marks the transaction as open. Called when the write lock was taken.
    fn is_locked(&mut self) -> Result<()> {
        self.state = State::Open;
        // Another process may have changed the journal mode since the database was opened.
        self.existing.journal_mode = self.query("PRAGMA main.journal_mode", "read")?;
        Ok(())
    }

    /// Cuts off the tail: bytes past the last page that the database counts, which a failed load left. `is_own` is `true` if this
    /// transaction has written the tail. Cutting ends the transaction, as SQLite reads the size of the file when a transaction begins.
    /// Returns `true` if nothing was cut off and the transaction is still open.
    fn settle(&mut self, is_own: bool) -> Result<bool> {
        let wal = self.existing.journal_mode == "wal";
        let log_pages = if wal { self.checkpoint()? } else { None };
        self.file_bytes = self.existing.file.len().map_err(|error| self.cannot_cut(error))?;
        self.log_tells_size = log_pages.is_some_and(|pages| pages > 0);
        self.checkpointed = !wal || log_pages.is_some();
        let of_kind = obstacle::of_kind(self.existing).map_err(|error| self.failed(error, "look at"))?;
        if !self.checkpointed || of_kind.is_some() {
            return Ok(true);
        }
        let page_count = self.page_count()?;
        let bytes = u64::from(page_count) * self.existing.geometry.page_bytes() as u64;
        // SQLite may report one page for an empty file, because it will create this page.
        let has_tail = self.file_bytes > bytes && page_count > 0;
        if has_tail && !is_own {
            self.refuse_tail_in_use()?;
        }
        if wal && has_tail && !self.sees_pages()? {
            // In WAL mode, only SQLite can cut off the tail safely, and it can't without `sqlite_dbpage`. Then the size of the file is an
            // obstacle to writing pages ([`Transaction::obstacle`]).
            return Ok(true);
        }
        if wal && !self.log_tells_size && page_count > 0 && !self.sees_pages()? {
            // The commit of an unchanged page puts it into the WAL, which then states the size of the database. So pages that this
            // transaction appends later can be cut off again.
            let version: i64 = self.query("PRAGMA main.user_version", "read")?;
            self.execute(&format!("PRAGMA main.user_version = {version}; COMMIT"))?;
            return Ok(false);
        }
        if wal && has_tail {
            let cut = dbpage::cut_tail(self.connection(), page_count);
            cut.map_err(|error| self.failed(error, "write to"))?;
            self.execute("COMMIT")?;
            return Ok(false);
        }
        if has_tail {
            self.existing.file.set_len(bytes).map_err(|error| self.cannot_cut(error))?;
            self.execute("ROLLBACK")?;
        }
        Ok(!has_tail)
    }

    /// Runs a checkpoint on another connection, as a connection in a transaction can't. Returns the number of pages in the WAL, or `None`
    /// if not all of them could be copied into the file in time.
    fn checkpoint(&self) -> Result<Option<u64>> {
        let started = Instant::now();
        loop {
            // Other checkpoints, and readers of pages that only the WAL has, mostly end soon.
            let copied = match self.copy_log() {
                Err(error) if is_busy(&error) => None,
                other => other.map_err(|error| self.failed(error, "copy the log into"))?,
            };
            if copied.is_some() || started.elapsed() >= WAIT {
                return Ok(copied);
            }
            self.cancel.check()?;
            std::thread::sleep(PAUSE);
        }
    }

    /// Tries to run a checkpoint once. Returns the number of pages in the WAL, or `None` if readers kept some of them from being copied.
    /// SQLite does not wait for checkpoints of other processes: the error is `SQLITE_BUSY`.
    fn copy_log(&self) -> rusqlite::Result<Option<u64>> {
        let other = Connection::open(&self.existing.path)?;
        other.busy_timeout(WAIT)?;
        other.query_row("PRAGMA main.wal_checkpoint(PASSIVE)", [], |row| {
            let (busy, log, copied): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((busy == 0 && log == copied).then(|| u64::try_from(log).unwrap_or(0)))
        })
    }

    /// Returns the reason, as a sentence, why pages can't be written into this database now, so that SQLite must insert the rows. Returns
    /// `None` if pages can be written.
    ///
    /// # Errors
    /// If the query fails.
    pub fn obstacle(&self) -> Result<Option<String>> {
        if !self.checkpointed {
            let why = "another process reads pages that are only in its WAL, so that the WAL can't be copied into the file";
            return Ok(Some(why.to_owned()));
        }
        let of_kind = obstacle::of_kind(self.existing).map_err(|error| self.failed(error, "look at"))?;
        match of_kind {
            Some(why) => Ok(Some(why)),
            None => obstacle::of_state(self.existing, self.file_bytes)
                .map_err(|error| self.failed(error, "look at")),
        }
    }

    /// Returns the connection, in its transaction.
    pub(crate) fn connection(&self) -> &Connection {
        &self.existing.connection
    }

    /// Returns the database that the transaction changes.
    pub fn existing(&self) -> &Existing {
        self.existing
    }

    /// Returns the cancel flag of the run.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Runs SQL.
    ///
    /// # Errors
    /// If SQLite can't run the statements.
    pub(crate) fn execute(&self, sql: &str) -> Result<()> {
        self.connection().execute_batch(sql).map_err(|error| self.failed(error, "change"))
    }

    /// Returns the number of pages of the database, as this transaction sees it.
    ///
    /// # Errors
    /// If the query fails.
    pub fn page_count(&self) -> Result<u32> {
        self.query("PRAGMA main.page_count", "read")
    }

    /// Returns the root page of a table or index.
    ///
    /// # Errors
    /// If no object has that name, or the query fails.
    pub(crate) fn root_page(&self, name: &str) -> Result<u32> {
        let sql = "SELECT rootpage FROM main.sqlite_schema
                   WHERE name = ?1 COLLATE NOCASE AND type IN ('table', 'index')";
        let root = self.connection().query_row(sql, [name], |row| row.get(0)).optional();
        let root = root.map_err(|error| self.failed(error, "read the schema of"))?;
        root.ok_or_else(|| Error::target(format!("{name} has no root page")))
    }

    /// Returns `true` if pages can be read, through SQLite or from the file. The file must then have all pages of the WAL.
    pub(super) fn pages_are_readable(&self) -> Result<bool> {
        Ok(self.checkpointed || self.sees_pages()?)
    }

    /// Returns `true` if `sqlite_dbpage` is available, which returns pages as this transaction sees them.
    pub(super) fn sees_pages(&self) -> Result<bool> {
        sqluice_reader::dbpage::is_available(self.connection()).map_err(|error| self.failed(error, "look at"))
    }

    /// Returns a page as this transaction sees it. Without `sqlite_dbpage`, the page is read from the file, and must then belong to a tree
    /// that this transaction has not changed.
    ///
    /// # Errors
    /// If no page has this number, or the page can't be read.
    pub(crate) fn read_page(&self, number: u32) -> Result<Vec<u8>> {
        let page = match self.sees_pages()? {
            true => sqluice_reader::dbpage::read(self.connection(), number)
                .map_err(|error| self.failed(error, "read"))?,
            false => self.existing.page_of_file(number)?,
        };
        page.ok_or_else(|| Error::target(format!("{} has no page {number}", self.existing.name.display())))
    }

    /// Deletes all rows of a table.
    ///
    /// # Errors
    /// If SQLite can't delete the rows, or if triggers change rows and SQLite lacks `sqlite_dbpage`, without which the changed pages can't be
    /// read in this transaction.
    pub(crate) fn delete_rows(&self, table: &str) -> Result<()> {
        let before = self.connection().total_changes();
        self.execute(&format!("DELETE FROM main.{}", quoted(table)))?;
        let changed = self.connection().total_changes() - before;
        if changed != self.connection().changes() && !self.sees_pages()? {
            let message = format!(
                "triggers of {table} change other tables when its rows are deleted, so that no pages can be written into the database"
            );
            let hint =
                format!("first delete its rows (DELETE FROM {}), then append the new ones", quoted(table));
            return Err(Error::target(message).hint(hint));
        }
        Ok(())
    }

    /// Returns the number of the last page, and an output for the pages after it. Until [`Transaction::publish`], SQLite must not allocate
    /// pages.
    ///
    /// # Errors
    /// If the query fails.
    pub(crate) fn past_the_end(&self) -> Result<(u32, PastTheEnd<'_>)> {
        let Existing { file, name, geometry, .. } = &*self.existing;
        Ok((self.page_count()?, PastTheEnd::new(file, name, geometry.page_bytes())))
    }

    /// Makes written pages part of the database, which then has `page_count` pages. `overwritten` are pages that existed before; `last` is
    /// the last page, if the database has grown. After this, SQL works again and sees the pages.
    ///
    /// # Errors
    /// If SQLite can't write, or the run is cancelled.
    pub(crate) fn publish(
        &self,
        overwritten: &[(u32, Vec<u8>)],
        page_count: u32,
        last: Option<Vec<u8>>,
    ) -> Result<()> {
        self.cancel.check()?;
        debug_assert!(overwritten.iter().all(|(number, _)| *number < page_count || last.is_none()));
        let last = last.as_ref().map(|page| (page_count, &page[..]));
        playback::publish(self.connection(), overwritten, last)
            .map_err(|error| self.failed(error, "write to"))
    }

    /// Commits. In rollback mode, waits for readers.
    ///
    /// # Errors
    /// If the run is cancelled, other processes read all the time, or a deferred FOREIGN KEY is violated. The database is then unchanged.
    /// Also if the database can't be written. It is then unknown if SQLite has committed.
    pub fn commit(mut self) -> Result<()> {
        self.cancel.check()?;
        self.unwatch();
        let committed = self.existing.waiting(&self.cancel, "commit to", |connection| {
            match connection.execute_batch("COMMIT") {
                Err(error) if is_busy(&error) => Err(error),
                other => Ok(other),
            }
        })?;
        self.state = match &committed {
            Ok(()) => State::Committed,
            // A deferred FOREIGN KEY is violated: COMMIT has checked the constraint and done nothing.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => State::Open,
            Err(_) => State::Unknown,
        };
        committed.map_err(|error| self.failed(error, "commit to"))
    }

    /// Returns the error for a failed SQLite operation. `what` is the verb of the operation.
    pub(crate) fn failed(&self, error: rusqlite::Error, what: &str) -> Error {
        self.existing.failed(error, what)
    }

    pub(super) fn query<T: rusqlite::types::FromSql>(&self, sql: &str, what: &str) -> Result<T> {
        self.connection().query_row(sql, [], |row| row.get(0)).map_err(|error| self.failed(error, what))
    }

    fn cannot_cut(&self, error: io::Error) -> Error {
        let name = self.existing.name.display();
        Error::target(format!("cannot remove the bytes after the last page of {name}"))
            .about(&self.existing.name)
            .because(error)
    }

    fn unwatch(&mut self) {
        let _ = self.existing.connection.progress_handler(CANCEL_STEPS, None::<fn() -> bool>);
    }
}

impl Transaction<'_> {
    /// Rolls back, and cuts off the pages that this transaction has appended.
    fn give_up(&mut self) {
        // Without appended pages, this transaction has no tail, and must not cut off a tail of another process.
        let bytes = self.existing.file.len();
        if self.checkpointed && bytes.is_ok_and(|bytes| bytes <= self.file_bytes) {
            let _ = self.connection().execute_batch("ROLLBACK");
            return;
        }
        if !self.connection().is_autocommit() {
            let simple = self.log_tells_size || self.existing.journal_mode != "wal";
            if self.checkpointed && simple {
                let _ = self.existing.file.set_len(self.file_bytes);
            }
            if self.checkpointed && !simple {
                self.free_tail();
            }
            let _ = self.connection().execute_batch("ROLLBACK");
            if !self.checkpointed || simple {
                return;
            }
        }
        // After some errors SQLite itself has rolled back and released the lock. Then the lock is taken again to cut off the tail.
        for _ in 0..2 {
            // The lock is not waited for: if another process writes now, the next run cuts off the tail.
            let settled = self.lock(Instant::now()).and_then(|()| self.settle(true));
            if !matches!(settled, Ok(false)) {
                break;
            }
        }
        if !self.connection().is_autocommit() {
            let _ = self.connection().execute_batch("ROLLBACK");
        }
    }

    /// Frees the disk space of the tail, the pages that this transaction has appended, without changing the size of the file. Afterwards,
    /// SQLite cuts off the tail in a transaction that writes a page to the WAL ([`Transaction::settle`]). This write would fail if the tail
    /// took all space of the disk.
    fn free_tail(&self) {
        let (Ok(len), Some(file)) = (self.existing.file.len(), self.existing.file.descriptor()) else {
            return;
        };
        if let Some(tail) = len.checked_sub(self.file_bytes).filter(|tail| *tail > 0) {
            // On a file system without holes, nothing is freed. Then the tail is still cut off if the disk has room for that page of the
            // WAL.
            sqluice_platform::ranges::free(file, self.file_bytes, tail);
        }
    }
}

/// Rolls back an uncommitted transaction.
impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.unwatch();
        match self.state {
            State::Waiting | State::Committed | State::Left => {}
            State::Open => self.give_up(),
            State::Unknown => {
                let _ = self.connection().execute_batch("ROLLBACK");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::options::WriteOptions;
    use crate::output::Target;

    /// The number of times that SQLite found the database locked.
    static ATTEMPTS: AtomicUsize = AtomicUsize::new(0);

    fn count(_: i32) -> bool {
        ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        false
    }

    #[test]
    fn without_a_busy_timeout_the_lock_is_tried_once() {
        for (mode, lock) in [("delete", "IMMEDIATE"), ("wal", "IMMEDIATE"), ("wal", "EXCLUSIVE")] {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("x.db");
            let other = Connection::open(&path).unwrap();
            let set = format!("PRAGMA journal_mode = {mode}; CREATE TABLE t (a)");
            other.execute_batch(&set).unwrap();
            let target = Target::resolve(&path, &WriteOptions::default());
            let mut existing = Existing::open(&target, Duration::ZERO).unwrap();
            other.execute_batch(&format!("BEGIN {lock}")).unwrap();
            existing.connection.busy_handler(Some(count)).unwrap();
            ATTEMPTS.store(0, Ordering::Relaxed);
            let error = existing.begin(&Cancel::new()).unwrap_err();
            assert!(error.message().contains("x.db is in use"), "{error}");
            assert_eq!(ATTEMPTS.load(Ordering::Relaxed), 1, "{mode} {lock}");
        }
    }
}
