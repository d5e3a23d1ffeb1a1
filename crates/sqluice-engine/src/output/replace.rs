//! A database that is replaced by a new one of the same name.
//!
//! ```text
//!  before the work                              when the new file is whole and synced
//!  ---------------                              -------------------------------------
//!  it is a file, empty or begins as a           open     through SQLite: rolls a hot journal back, reads the log
//!     database does                             leave    WAL mode, which copies the log into it and removes the log
//!  recover  through SQLite: no hot journal      lock     BEGIN EXCLUSIVE: no process reads or writes it, or has it open
//!     is left, and no log                       remove   -journal, -wal, -shm: by now they hold nothing
//!  lock     exclusively, and let go:            fsync    the folder: they are gone before the new file exists
//!     no process uses it                        rename   the new file over it
//!                                               fsync    the folder
//!                                               close    the old one, which has no name any more
//! ```
//!
//! Invariant: the name is that of the old database or of the new one at every moment, and never the new one beside the
//! journal or log of the old: SQLite would roll that into it silently.
//!
//! * SQLite removes a journal or a log without syncing the folder. A power failure could bring it back beside the new
//!   file, if the folder was not synced between the two.
//! * Closing any descriptor of a file drops all locks that this process has on it. So the old file is read here only
//!   before SQLite opens it.
//! * SQLite makes the first page of an empty file when it locks it. This connection keeps its journal in memory: what it
//!   removes when it closes would be the journal of the new file.
//! * Until the rename every step is one of SQLite's own or undoes nothing: a killed run leaves the old database, at
//!   worst in rollback mode when it was in WAL mode. A run that fails here puts that back.
//! * Where an open file can't be replaced (Windows), the old database is closed before the rename, which fails if another process has it open.
//! * A process that merely has it open holds a lock in WAL mode. In rollback mode no process does, so `users::find` looks for them. A
//!   process that it can't see keeps reading the old database; SQLite refuses its writes (`SQLITE_READONLY_DBMOVED`).

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use sqluice_core::error::{Error, Result};
use sqluice_core::waits;
use sqluice_format::database::MAGIC;
use sqluice_platform::identity::{self, Identity};
use sqluice_platform::names::{self, Folder};
use sqluice_platform::rights::{self, Rights};
use sqluice_platform::users;

use super::explained;
use super::place::TargetPath;

/// What lies beside a database and belongs to it, or would belong to any other of its name.
const SIBLINGS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// How long to wait for another process that uses the old database, before the work and after it: by then the run has
/// something to lose. Both are scaled by [`waits`].
const WAIT_BEFORE: Duration = Duration::from_secs(1);
const WAIT_AFTER: Duration = Duration::from_secs(10);

/// The old database.
#[derive(Clone, Debug)]
pub(super) struct Old {
    /// As the user named it; for messages.
    name: PathBuf,
    path: PathBuf,
    rights: Rights,
}

impl Old {
    /// Checks that the file at `path` may be replaced, without changing anything.
    pub(super) fn find(name: &Path, path: PathBuf, metadata: &Metadata) -> Result<Old> {
        if !metadata.is_file() {
            return Err(Error::target(format!("{} is not a file, and is not replaced", name.display()))
                .hint("name another file"));
        }
        let cannot_read =
            |error| explained(Error::target(format!("cannot read {}", name.display())).about(name), error);
        rights::check_write(&path).map_err(|_| read_only(name))?;
        let mut start = Vec::new();
        let file = File::open(&path).map_err(cannot_read)?;
        file.take(MAGIC.len() as u64).read_to_end(&mut start).map_err(cannot_read)?;
        if !start.is_empty() && start != MAGIC {
            return Err(no_database(name));
        }
        Ok(Old { name: name.to_owned(), path, rights: Rights::of(metadata) })
    }

    /// Gives the new file the owner and permissions of the old one, the owner as far as we may.
    pub(super) fn pass_on_permissions(&self, to: &File) -> io::Result<()> {
        self.rights.give(to)
    }

    /// Lets SQLite bring it in order, and makes sure that no other process uses it.
    pub(super) fn recover(&self) -> Result<()> {
        self.waiting(waits::scaled(WAIT_BEFORE), || {
            self.refuse_users()?;
            let connection = self.open()?;
            if journal_mode(&connection, "")? != "wal" {
                return connection.execute_batch("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; ROLLBACK");
            }
            // The last one to close it copies the log into it. Asked for before anything is read, this locking mode
            // takes a lock that a process does not hold by merely having it open.
            drop(connection);
            let connection = self.open()?;
            connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE; SELECT count(*) FROM sqlite_schema")
        })
    }

    /// Takes it for us alone; `None` when it is gone by now.
    pub(super) fn lock(&self) -> Result<Option<Locked>> {
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.is_file() => {
                self.waiting(waits::scaled(WAIT_AFTER), || self.try_lock()).map(Some)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => Err(Error::target(format!("{} is no longer the file that it was", self.name.display()))
                .hint("another process changed it during the run: look at it, and run again")),
        }
    }

    fn try_lock(&self) -> rusqlite::Result<Locked> {
        // Before anything is changed, and again when no process can begin to use it.
        let before = self.refuse_users()?;
        let connection = self.open()?;
        let was_wal = journal_mode(&connection, "")? == "wal";
        let connection = Arc::new(Mutex::new(connection));
        let locked = Locked { connection, was_wal, name: self.name.clone() };
        // Another run may have replaced it between our opening and our locking it.
        let begun = locked.begin().and_then(|()| self.refuse_users()).and_then(|now| match now == before {
            true => Ok(()),
            false => Err(busy("it was replaced")),
        });
        match begun {
            Ok(()) => Ok(locked),
            Err(error) => {
                locked.release();
                Err(error)
            }
        }
    }

    /// Makes sure that no other process has it open; returns which file has the name.
    fn refuse_users(&self) -> rusqlite::Result<Option<Identity>> {
        let Ok(identity) = identity::of_link(&self.path) else { return Ok(None) };
        match users::find(&self.path, identity) {
            Some(user) => Err(busy(&format!("{user} has it open"))),
            None => Ok(Some(identity)),
        }
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        // An absolute path is never taken for a URI.
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        // We wait ourselves: some locks SQLite does not wait for.
        connection.busy_timeout(Duration::ZERO)?;
        Ok(connection)
    }

    /// Tries until no other process is in the way, or `wait` is over.
    fn waiting<T>(&self, wait: Duration, attempt: impl Fn() -> rusqlite::Result<T>) -> Result<T> {
        let started = Instant::now();
        loop {
            match attempt() {
                Err(error) if is_busy(&error) && started.elapsed() < wait => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                other => return other.map_err(|error| self.failed(error)),
            }
        }
    }

    fn failed(&self, error: rusqlite::Error) -> Error {
        let name = &self.name;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Error::target(format!("{} is in use", name.display()))
                    .because(error.to_string())
                    .hint("close what has it open, and run again; it is as it was")
            }
            Some(ErrorCode::ReadOnly) => read_only(name),
            Some(ErrorCode::NotADatabase) => no_database(name),
            _ => Error::target(format!(
                "SQLite cannot open {}, so it is unknown whether it is in use",
                name.display()
            ))
            .because(error.to_string())
            .hint("if it is no longer needed, remove it yourself, and the -journal or -wal beside it"),
        }
    }
}

/// The old database, which no other process can use until this is dropped.
#[derive(Debug)]
pub(super) struct Locked {
    connection: Arc<Mutex<Connection>>,
    was_wal: bool,
    name: PathBuf,
}

impl Locked {
    /// The connection, in its transaction.
    pub(super) fn connection(&self) -> &Arc<Mutex<Connection>> {
        &self.connection
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it was in WAL mode.
    pub(super) fn was_wal(&self) -> bool {
        self.was_wal
    }

    fn begin(&self) -> rusqlite::Result<()> {
        let connection = self.lock();
        if self.was_wal {
            journal_mode(&connection, " = DELETE")?;
        }
        journal_mode(&connection, " = MEMORY")?;
        connection.execute_batch("BEGIN EXCLUSIVE")?;
        match &*journal_mode(&connection, "")? {
            "memory" => Ok(()),
            _ => Err(busy("another process put it in WAL mode")),
        }
    }

    /// Gives the file `temporary` the name of the old database, which is gone then, but for us.
    pub(super) fn give_way(self, temporary: &Path, place: &TargetPath, folder: &Folder) -> Result<Gone> {
        match self.clear_and_rename(temporary, place, folder) {
            // From here on this connection must do nothing that SQLite would do by name.
            Ok(()) => Ok(Gone { _connection: self.connection }),
            Err(error) => {
                let failed = self.not_replaced(error);
                self.release();
                Err(failed)
            }
        }
    }

    /// As [`Locked::give_way`], for what is released later, if this fails.
    pub(super) fn give_way_later(&self, temporary: &Path, place: &TargetPath, folder: &Folder) -> Result<()> {
        self.clear_and_rename(temporary, place, folder).map_err(|error| self.not_replaced(error))
    }

    fn not_replaced(&self, error: io::Error) -> Error {
        let what = Error::target(format!("cannot replace {}", self.name.display())).about(&self.name);
        explained(what, error)
    }

    fn clear_and_rename(&self, temporary: &Path, place: &TargetPath, folder: &Folder) -> io::Result<()> {
        for suffix in SIBLINGS {
            match fs::remove_file(place.sibling(suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        folder.sync()?;
        if !names::OPEN_FILES_ARE_REPLACED {
            self.close();
        }
        names::rename_over(temporary, &place.path())
    }

    /// Closes the file of the connection: from here on the rename alone keeps other processes away, for it fails where one has the file open.
    fn close(&self) {
        if let Ok(nothing) = Connection::open_in_memory() {
            *self.lock() = nothing;
        }
    }

    /// Lets go of a database that stays, in the mode that it was in, if no other process prevents it.
    pub(super) fn release(&self) {
        let connection = self.lock();
        let _ = connection.execute_batch("ROLLBACK");
        if self.was_wal {
            // By way of a mode that has a journal: the change is a transaction.
            let _ = journal_mode(&connection, " = DELETE");
            let _ = journal_mode(&connection, " = WAL");
        }
    }
}

/// The old database, which has no name any more. Dropped, it touches no file that has one.
#[derive(Debug)]
pub(super) struct Gone {
    _connection: Arc<Mutex<Connection>>,
}

/// Sets the journal mode, if `set` does, and returns it. Reads the schema first, and so recovers what is to be recovered.
fn journal_mode(connection: &Connection, set: &str) -> rusqlite::Result<String> {
    connection.query_row(&format!("PRAGMA journal_mode{set}"), [], |row| row.get(0))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn busy(why: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), Some(why.to_owned()))
}

fn no_database(name: &Path) -> Error {
    Error::target(format!("{} is not a SQLite database, and is not replaced", name.display()))
        .hint("name another file, or remove this one yourself if it is no longer needed")
}

fn read_only(name: &Path) -> Error {
    Error::target(format!("{} is read-only, and is not replaced", name.display()))
        .hint("name another file, or permit writing to this one")
}
