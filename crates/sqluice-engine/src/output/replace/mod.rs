//! Replaces a database by a new database of the same name. `replacement_report` reads the old content for the report; `transfer` lets
//! SQLite write the new pages into the old file.
//!
//! ```text
//!  before the work
//!    check    the target is a file of one name, empty or with the header of a database
//!    lock     EXCLUSIVE, through SQLite, which also rolls a hot journal back and runs a checkpoint
//!    look     for users, other processes that have the database open, also without a lock
//!    unlock   unless the database is the source
//!
//!  when the new file is complete and synced
//!    lock     as before, unless the lock was kept
//!    look     for users again, as new users may have come
//!    rename, if no process can have the database open:
//!      remove   -journal, -wal, -shm: they are empty by now
//!      fsync    the folder: they are gone before the new file exists
//!      rename   the new file over the old one
//!      fsync    the folder
//!    otherwise a transaction (`transfer`): the new pages into the old file
//!    close    the old file
//! ```
//!
//! Invariant: at every moment, the file of the name is the complete old or the complete new database. While the new database has the name,
//! no journal or WAL of the old database is beside it: SQLite would silently roll them into the new database.
//!
//! Invariant: the journal mode of the old database is not changed as long as the old database has its name. In WAL mode the lock is that of
//! `locking_mode = EXCLUSIVE`, which keeps the WAL index in memory. The WAL is empty (`wal_checkpoint(TRUNCATE)`) before it is removed.
//!
//! * SQLite removes a journal or a WAL without syncing the folder. Without a sync before the rename, a power failure could bring the
//!   removed file back beside the new database.
//! * Closing any descriptor of a file drops all locks of this process on the file. So this module reads the old file itself only before
//!   SQLite opens it.
//! * After the rename, the connection to the old file must not remove a journal or WAL by name: it could be that of the new database. So in
//!   WAL mode, the connection leaves the WAL when it closes (`SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE`). In a rollback mode, it keeps its journal
//!   in memory. It needs a journal although it only takes a lock: in an empty file, SQLite writes the first page when it begins the
//!   transaction.
//! * Until the rename, every step is one of SQLite's own or leaves the old database as it is: if this process is killed, the old database
//!   is still in its journal mode.
//! * On systems where an open file can't be replaced (Windows), the old database is closed before the rename. The rename fails if another
//!   process has the old database open.
//! * In WAL mode, a process with an open database holds a lock after its first read. In a rollback mode, idle processes hold no locks, so
//!   `users::find` searches for them. If `users::find` can't see all processes that may open the file, the file is not renamed: a process
//!   with the old file open would keep reading it.
//! * A process that opened the old file just before the rename waits for the lock on it. The process gets the lock when this process closes
//!   the old file, which has no name any more. If that file were still in WAL mode, the other process would write to the WAL of the new
//!   database, which has the same name. So after the rename, the header of the old file is set to a rollback mode (`Locked::send_away`).
//!   Then SQLite refuses the writes of the other process (`SQLITE_READONLY_DBMOVED`).
//! * SQLite uses a WAL or a journal of the right name before it reads the header, so the header alone does not protect the new database:
//!   the waiting process would commit to the WAL of the new database, from pages of the old one. So the new database is locked before it
//!   gets the name, and until the processes that had opened the old file have closed it ([`SEND_AWAY`] at most): no process can create a
//!   WAL or a journal beside a locked database.

mod replacement_report;
mod transfer;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::waits;
use sqluice_format::database::{Header, MAGIC, VERSIONS_AT};
use sqluice_format::page::DATABASE_HEADER_BYTES;
use sqluice_platform::identity::{self, Identity};
use sqluice_platform::locks;
use sqluice_platform::names::{self, Folder};
use sqluice_platform::positioned::Positioned;
use sqluice_platform::rights::{self, Rights};
use sqluice_platform::users::{self, Unseen, User, Users};

use super::target_path::TargetPath;
use super::{Replacement, explained};
use crate::options::WriteOptions;
pub use replacement_report::{Replaced, ReplacedTable};
pub(crate) use transfer::set_versions;
use transfer::{Into, ROLLBACK, transfer};

/// The suffixes of the files that SQLite keeps beside a database.
const SIBLINGS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// The smallest time to wait for other users of the old database when the new database is complete, even if the busy timeout is shorter: a
/// timeout would now waste the finished work. The wait is scaled by [`waits`].
const WAIT_AFTER: Duration = Duration::from_secs(10);

/// The time that SQLite waits for a lock in each attempt. Meanwhile SQLite blocks new readers, which makes a gap between programs that open
/// the database repeatedly.
const LOCK_WAIT: Duration = Duration::from_millis(250);

/// The longest time for which the new database stays locked for processes that opened the old file just before the rename. SQLite tries a
/// lock again after 100 ms at most. The time is scaled by [`waits`].
const SEND_AWAY: Duration = Duration::from_secs(2);

/// The time between two attempts to take the lock. Programs that open a database briefly leave only short gaps.
const AGAIN: Duration = Duration::from_millis(5);

/// The old database, which a new database of the same name replaces.
#[derive(Clone, Debug)]
pub(super) struct Old {
    /// The path that the user gave, for messages.
    name: PathBuf,
    path: PathBuf,
    rights: Rights,
    /// The page size of a database in WAL mode, which can't change; `None` if the database is not in WAL mode.
    wal_page_bytes: Option<usize>,
    busy_timeout: Duration,
    assume_unused: bool,
}

/// The options for taking over a database that may be in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitOptions {
    /// The time to wait for other processes.
    pub(super) busy_timeout: Duration,
    /// `true` if the run may assume that only the processes that `users::find` sees have the database open.
    pub(super) assume_unused: bool,
}

impl WaitOptions {
    /// Returns the wait options of a run.
    pub(super) fn of(options: &WriteOptions) -> WaitOptions {
        WaitOptions { busy_timeout: options.busy_timeout, assume_unused: options.assume_unused }
    }
}

/// A complete, synced new file that replaces the old database.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewContent<'a> {
    /// The path of the new file.
    pub(super) temporary: &'a Path,
    /// The path of the old database.
    pub(super) target: &'a TargetPath,
    /// The folder of both files.
    pub(super) folder: &'a Folder,
    /// The page size of the new file.
    pub(super) page_bytes: usize,
}

impl Old {
    /// Checks that the file at `path` may be replaced, without changing anything.
    pub(super) fn find(name: &Path, path: PathBuf, options: WaitOptions) -> Result<Old> {
        let cannot_read =
            |error| explained(Error::target(format!("cannot read {}", name.display())).about(name), error);
        let metadata = fs::symlink_metadata(&path).map_err(cannot_read)?;
        if !metadata.is_file() {
            return Err(Error::target(format!("{} is not a file, and is not replaced", name.display()))
                .hint("name another file"));
        }
        rights::check_write(&path).map_err(|_| read_only(name))?;
        let mut start = Vec::new();
        let file = File::open(&path).map_err(cannot_read)?;
        (&file).take(DATABASE_HEADER_BYTES as u64).read_to_end(&mut start).map_err(cannot_read)?;
        if !start.is_empty() && !start.starts_with(MAGIC) {
            return Err(no_database(name));
        }
        match identity::name_count(&file).map_err(cannot_read)? {
            0 | 1 => {}
            names => return Err(several_names(name, names)),
        }
        let header = Header::from_bytes(&start).ok().filter(|header| header.read_version == 2);
        let wal_page_bytes = header.map(|header| header.geometry.page_bytes());
        let WaitOptions { busy_timeout, assume_unused } = options;
        let (name, rights) = (name.to_owned(), Rights::of(&metadata));
        Ok(Old { name, path, rights, wal_page_bytes, busy_timeout, assume_unused })
    }

    /// Gives the new file the permissions of the old file, and its owner as far as the process may.
    pub(super) fn pass_on_permissions(&self, to: &File) -> io::Result<()> {
        self.rights.give(to)
    }

    /// Returns the method, a rename or a transaction, that would replace the database now. Processes that are seen to have the database
    /// open do not count, as they may close it before the new file is complete.
    pub(super) fn replacement(&self) -> Replacement {
        let users = self.users().map_or(Users::default(), |(_, users)| users);
        self.replacement_beside(&Users { seen: Vec::new(), ..users })
    }

    /// Returns the method that replaces the database while `users` have it open.
    fn replacement_beside(&self, users: &Users) -> Replacement {
        let why = match (users.seen.first(), users.unseen) {
            (Some(user), _) => format!("{} has it open", user.name),
            (None, None) => return Replacement::Rename,
            (None, Some(_)) if self.assume_unused => return Replacement::Rename,
            (None, Some(Unseen::Machines)) => "other machines may have it open".to_owned(),
            (None, Some(Unseen::Processes(why))) => match rights::may_others_open(&self.path) {
                Ok(false) => return Replacement::Rename,
                _ => format!("others may have it open, and {why}"),
            },
        };
        Replacement::Transaction { why }
    }

    /// Refuses new pages of another size than the old ones if they must be written in a transaction: a transaction can't change the page
    /// size of a database in WAL mode.
    pub(super) fn refuse_page_size(&self, page_bytes: usize) -> Result<()> {
        let Some(old) = self.wal_page_bytes.filter(|old| *old != page_bytes) else { return Ok(()) };
        match self.replacement() {
            Replacement::Transaction { why } => Err(self.other_page_size(old, &why)),
            Replacement::Rename => Ok(()),
        }
    }

    fn other_page_size(&self, old: usize, why: &str) -> Error {
        let message = format!(
            "{} is in journal mode wal, in which its pages of {old} bytes cannot get another size",
            self.name.display()
        );
        Error::target(message).because(format!("it cannot be replaced by a rename: {why}")).hint(message![
            "keep the page size: ",
            Setting::PageSize.to(old.to_string()),
            "; or, if no other process has the database open: ",
            Setting::AssumeUnused
        ])
    }

    /// Lets SQLite recover the database, and checks that no other process uses it.
    pub(super) fn recover(&self, cancel: &Cancel) -> Result<()> {
        self.waiting(self.busy_timeout, cancel).map(drop)
    }

    /// Locks the database exclusively before the new file is written, as the database is the source of the new content.
    pub(super) fn lock_before(&self, cancel: &Cancel) -> Result<Locked> {
        self.waiting(self.busy_timeout, cancel)
    }

    /// Locks the database exclusively, when the new file is complete. Returns `None` if the database no longer exists.
    pub(super) fn lock_after(&self, cancel: &Cancel) -> Result<Option<Locked>> {
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.is_file() => {
                let wait = self.busy_timeout.max(waits::scaled(WAIT_AFTER));
                self.waiting(wait, cancel).map(Some)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Ok(_) => Err(Error::target(format!("{} is no longer a regular file", self.name.display()))
                .hint("another process has put something else in its place during the run: look at it, and run again")),
            Err(error) => Err(Error::target(format!("cannot look at {}", self.name.display())).because(error)),
        }
    }

    fn try_lock(&self, stayed: &mut Option<Vec<User>>) -> rusqlite::Result<Locked> {
        // Users are checked before anything is locked.
        let before = self.refuse_users(stayed)?;
        self.finish_journal()?;
        let connection = self.open()?;
        connection.busy_timeout(LOCK_WAIT)?;
        // If set before the first read, this locking mode keeps all locks, and needs no shared memory in WAL mode. Any other connection
        // that has read a database in WAL mode holds a lock until it is closed, so the exclusive lock fails.
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = EXTRA")?;
        let is_wal = journal_mode(&connection, "")? == "wal";
        if is_wal {
            // The database is locked now. If another process has replaced it before, the WAL of this name belongs to the new database.
            if identity::of_link(&self.path).ok() != before {
                return Err(busy("it was replaced"));
            }
            let blocked: i64 =
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
            if blocked != 0 {
                return Err(busy("its log is in use"));
            }
        } else {
            journal_mode(&connection, " = MEMORY")?;
        }
        connection.execute_batch("BEGIN EXCLUSIVE")?;
        // Another run may have replaced the database after this connection opened it and before the connection locked it.
        match identity::of_link(&self.path).ok() == before {
            true => {
                self.remove_log_index();
                Ok(Locked { connection: Arc::new(Mutex::new(connection)), is_wal, old: self.clone() })
            }
            false => Err(busy("it was replaced")),
        }
    }

    /// Removes the WAL index (`-shm`). A program that closes the database while this run waits for the lock can't remove the index. The
    /// connection of this run has its own index in memory. Only this run has a lock on the database now. In WAL mode, each program that has
    /// read the database holds a lock until the program closes it, so no other program uses the index; in a rollback mode, nothing uses it.
    fn remove_log_index(&self) {
        let mut index = self.path.clone().into_os_string();
        index.push("-shm");
        // The index holds no data, so an error does not matter.
        let _ = fs::remove_file(index);
    }

    /// Lets SQLite roll back and remove a hot journal. The connection of [`Old::try_lock`] would only truncate the journal, as its locking
    /// mode is EXCLUSIVE.
    fn finish_journal(&self) -> rusqlite::Result<()> {
        let mut journal = self.path.clone().into_os_string();
        journal.push("-journal");
        match fs::metadata(journal).is_ok_and(|about| about.len() > 0) {
            true => self.open()?.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())),
            false => Ok(()),
        }
    }

    /// Refuses if a process has had the database open at every attempt to lock it. `stayed` holds these processes: `None` before the first
    /// attempt; each attempt removes the processes that no longer have it open. A process that opened the database after the first attempt
    /// is no reason to refuse, because it may close the database soon, or waits for the lock. Returns the identity of the file that has the
    /// name now, or `None` if no file has the name.
    fn refuse_users(&self, stayed: &mut Option<Vec<User>>) -> rusqlite::Result<Option<Identity>> {
        let Some((identity, users)) = self.users() else { return Ok(None) };
        let mut still = stayed.take().unwrap_or_else(|| users.seen.clone());
        still.retain(|user| users.seen.contains(user));
        match stayed.insert(still).first() {
            Some(user) => Err(busy(&format!("{} has it open", user.name))),
            None => Ok(Some(identity)),
        }
    }

    /// Returns the identity of the file that has the name now, and its users; `None` if no file has the name.
    fn users(&self) -> Option<(Identity, Users)> {
        let identity = identity::of_link(&self.path).ok()?;
        Some((identity, users::find(&self.path, identity)))
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        // An absolute path is never parsed as a URI.
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        // SQLite does not wait for some locks, so this code waits and tries again itself.
        connection.busy_timeout(Duration::ZERO)?;
        Ok(connection)
    }

    /// Tries to lock the database until it succeeds or `wait` is over.
    fn waiting(&self, wait: Duration, cancel: &Cancel) -> Result<Locked> {
        let started = Instant::now();
        let mut stayed = None;
        loop {
            match self.try_lock(&mut stayed) {
                Err(error) if is_busy(&error) && started.elapsed() < wait => {
                    cancel.check()?;
                    std::thread::sleep(AGAIN);
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
                    .hint("close what has it open, and run again; the database is unchanged")
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

/// The old database, locked: no other process can use it until this value is dropped.
#[derive(Debug)]
pub(super) struct Locked {
    connection: Arc<Mutex<Connection>>,
    is_wal: bool,
    old: Old,
}

impl Locked {
    /// Returns the connection to the database, in its transaction.
    pub(super) fn connection(&self) -> &Arc<Mutex<Connection>> {
        &self.connection
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if the database is in WAL mode.
    pub(super) fn is_wal(&self) -> bool {
        self.is_wal
    }

    /// Returns the description of the old database: its path, permissions and wait options.
    pub(super) fn old(&self) -> &Old {
        &self.old
    }

    /// Replaces the old database by the new file, and closes the connection to the old one.
    pub(super) fn give_way(&self, new: NewContent<'_>, cancel: &Cancel) -> Result<Replacement> {
        // Processes that have opened the database since it was locked wait for the lock, and would read the old file after a rename.
        let users = self.old.users().map_or(Users::default(), |(_, users)| users);
        let replacement = self.old.replacement_beside(&users);
        let mut old_file = None;
        let replaced = match &replacement {
            Replacement::Rename => self.clear_and_rename(new, &mut old_file).map_err(|error| {
                let what = Error::target(format!("cannot replace {}", self.old.name.display()));
                explained(what.about(&self.old.name), error)
            }),
            Replacement::Transaction { why } => self.transfer(new, why, cancel),
        };
        // The connection is closed before `old_file`, as closing another descriptor of the file would drop the locks of the connection.
        self.close();
        replaced.map(|()| replacement)
    }

    fn transfer(&self, new: NewContent<'_>, why: &str, cancel: &Cancel) -> Result<()> {
        if let Some(old) = self.old.wal_page_bytes.filter(|old| self.is_wal && *old != new.page_bytes) {
            return Err(self.old.other_page_size(old, why));
        }
        let mut connection = self.lock();
        let into = Into { connection: &mut connection, name: &self.old.name, is_wal: self.is_wal };
        transfer(new.temporary, into, cancel)
    }

    fn clear_and_rename(&self, new: NewContent<'_>, old_file: &mut Option<File>) -> io::Result<()> {
        let NewContent { temporary, target, folder, .. } = new;
        let path = target.path();
        let identity = identity::of_link(&path)?;
        if self.is_wal && names::OPEN_FILES_ARE_REPLACED {
            *old_file = Some(OpenOptions::new().write(true).open(&path)?);
        }
        // From here on, the connection must not make SQLite open or remove files by name: they may belong to the new database.
        let leaves_log = self.lock().set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        leaves_log.map_err(io::Error::other)?;
        if !names::OPEN_FILES_ARE_REPLACED {
            // From now on, only the rename excludes other processes: it fails if a process has the file open.
            self.close();
        }
        for suffix in SIBLINGS {
            match fs::remove_file(target.sibling(suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        folder.sync()?;
        let new_file = match names::OPEN_FILES_ARE_REPLACED {
            true => Some(OpenOptions::new().read(true).write(true).open(temporary)?),
            false => None,
        };
        if let Some(new_file) = &new_file {
            // On a file system without locks, SQLite has none either.
            let _ = locks::try_lock_database(new_file);
        }
        names::rename_over(temporary, &path)?;
        if new_file.is_some() && users::find(&path, identity) != Users::default() {
            self.send_away(&path, identity, old_file.as_ref());
        }
        Ok(())
    }

    /// Lets the processes that wait for the lock of the old file, which has no name any more, find out that it was replaced. The new
    /// database must be locked meanwhile, so that it has no journal and no WAL. The old file is in WAL mode if `old_file` is given.
    fn send_away(&self, path: &Path, identity: Identity, old_file: Option<&File>) {
        if let Some(old_file) = old_file {
            // A write error does not harm the new database.
            let _ = old_file.write_all_at(&ROLLBACK, VERSIONS_AT as u64);
        }
        self.close();
        let (started, wait) = (Instant::now(), waits::scaled(SEND_AWAY));
        while !users::find(path, identity).seen.is_empty() && started.elapsed() < wait {
            std::thread::sleep(AGAIN);
        }
    }

    /// Closes the database file: the connection is replaced by one to an empty database in memory.
    fn close(&self) {
        if let Ok(nothing) = Connection::open_in_memory() {
            *self.lock() = nothing;
        }
    }
}

/// Returns the journal mode. If `set` is ` = ` and a mode, sets this mode first; if `set` is empty, changes nothing. SQLite reads the
/// schema before, and so recovers the database.
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

fn several_names(name: &Path, names: u64) -> Error {
    let name = name.display();
    Error::target(format!("{name} has {names} names (hard links), and is not replaced"))
        .because("the new database would have one of them, and the old one the others")
        .hint(format!("remove the others (find them: find . -samefile {name}), or name another file"))
}

fn read_only(name: &Path) -> Error {
    Error::target(format!("{} is read-only, and is not replaced", name.display()))
        .hint("name another file, or permit writing to this one")
}
