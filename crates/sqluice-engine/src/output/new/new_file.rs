//! A database that is written to a temporary file. When the file is complete, it is renamed, or SQLite writes its pages into the old
//! database (`replace`).
//!
//! ```text
//!  create   .NAME.sqluice-tmp-...  locked, for its owner alone
//!  write    pages 2..N, 1 MiB or more at a time, past the page cache (O_DIRECT) where the file system can
//!  write    page 1, which makes the file a database
//!  chmod    to the mode of a new database of SQLite, or of the replaced database
//!  fsync    the file
//!  rename   to NAME: replaces the old database (`replace`), or fails if a file has the name
//!  fsync    the folder
//! ```
//!
//! Invariant: NAME is the old file or the complete new database. SQLite would silently roll a leftover `NAME-journal` or `NAME-wal` into
//! the new file. So if there is such a leftover but no database NAME, the run is refused.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::waits;
use sqluice_platform::durable;
use sqluice_platform::names::{Folder, rename_to_new};
use sqluice_platform::rights::Rights;
use sqluice_platform::shell::quoted;

use super::filled_by_processes;
use super::in_place::Exclusive;
use crate::output::direct::Direct;
use crate::output::replace::{NewContent, Old};
use crate::output::target::wanted::{Wanted, exists};
use crate::output::{Output, Replaced, Replacement, TargetPath, explained, leftover};

/// The time to wait for processes that still write to a shared file. A network file system releases the locks of an unreachable process
/// sooner. The wait is scaled by [`waits`].
const WRITERS_WAIT: Duration = Duration::from_secs(120);

/// A new file that gets its name when it is complete.
#[derive(Debug)]
pub struct NewFile {
    /// The path that the user gave, for messages.
    name: PathBuf,
    path: TargetPath,
    /// The database that has the name until the new file is complete.
    old: Option<Old>,
    /// The old database, if this process has locked it exclusively because it is the source of the new one.
    exclusive: Option<Arc<Exclusive>>,
    replaced: Option<Replaced>,
    /// The temporary files that killed processes left behind and that were removed.
    removed: Vec<PathBuf>,
    /// The folder of the file. It is opened first, so that a missing permission is reported before anything is written.
    folder: Folder,
    file: File,
    temporary: Option<PathBuf>,
    direct: Direct,
    page_bytes: usize,
    cancel: Cancel,
}

impl NewFile {
    /// Begins the wanted file, with pages of `page_bytes` bytes. If `exclusive` is given, the file replaces this database.
    ///
    /// # Errors
    /// If the name belongs to a file that may not be replaced or is in use, a `-journal` or `-wal` exists without a database, the folder is
    /// not writable, or the disk has too little space.
    pub fn create(
        wanted: &Wanted,
        exclusive: Option<&Arc<Exclusive>>,
        page_bytes: usize,
        cancel: &Cancel,
    ) -> Result<NewFile> {
        let path = match exclusive {
            Some(exclusive) => exclusive.path(),
            None => wanted.target.path()?,
        };
        let removed = leftover::remove_stale(&path.folder, &path.file_name);
        let old = match exclusive {
            Some(exclusive) => {
                wanted.refuse_too_little(path, true)?;
                Some(exclusive.old().clone())
            }
            None => wanted.refuse_at(path)?,
        };
        old.as_ref().map_or(Ok(()), |old| old.refuse_page_size(page_bytes))?;
        let cannot_create = |error| cannot_create(&path.folder, error);
        let folder = Folder::open(&path.folder).map_err(cannot_create)?;
        let (file, temporary) = match &wanted.continues {
            Some(path) => (filled_by_processes::take(path, waits::scaled(WRITERS_WAIT))?, path.clone()),
            None => leftover::create(&path.folder, &path.file_name).map_err(cannot_create)?,
        };
        let direct = Direct::new(&file, page_bytes);
        let mut new = NewFile {
            name: wanted.target.name().to_owned(),
            path: path.clone(),
            old,
            exclusive: exclusive.cloned(),
            replaced: None,
            removed,
            folder,
            file,
            temporary: Some(temporary),
            direct,
            page_bytes,
            cancel: cancel.clone(),
        };
        // `Exclusive::take` has already recovered the database of `exclusive`.
        if let (Some(old), None) = (&new.old, exclusive) {
            old.recover(cancel)?;
            new.replaced = Some(Replaced::read(&new.path));
        }
        Ok(new)
    }

    /// Returns the temporary files that killed processes left behind and that were removed.
    pub fn removed(&self) -> &[PathBuf] {
        &self.removed
    }

    /// Returns the content of the replaced database, if it was read.
    pub fn replaced(&self) -> Option<&Replaced> {
        self.replaced.as_ref()
    }

    /// Gives the file its name, which must be free.
    fn take_free_name(&self, temporary: &Path) -> Result<()> {
        self.path.refuse_siblings()?;
        rename_to_new(temporary, &self.path.path()).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&self.name),
            _ => self.failed("give its name to", error),
        })
    }

    fn failed(&self, what: &str, error: impl Into<io::Error>) -> Error {
        explained(
            Error::target(format!("cannot {what} {}", self.name.display())).about(&self.name),
            error.into(),
        )
    }
}

impl Output for NewFile {
    fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()> {
        self.direct.write(&self.file, offset, pages).map_err(|error| self.failed("write", error))
    }

    // SQLite may open the file by this path, and read and write it through the page cache although this descriptor does not: direct writes
    // leave no stale pages in the cache, and the fsync of the commit covers the writes of other descriptors.
    fn path(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    fn commit(mut self: Box<Self>) -> Result<Option<Replacement>> {
        // The new file gets its final permissions. Until now, only its owner may read it.
        let given = match &self.old {
            Some(old) => old.pass_on_permissions(&self.file),
            None => Rights::of_new_database().give(&self.file),
        };
        given.map_err(|error| self.failed("create", error))?;
        durable::sync(&self.file).map_err(|error| self.failed("write", error))?;
        let temporary = self.temporary.as_ref().expect("commit happens once");
        let new =
            NewContent { temporary, target: &self.path, folder: &self.folder, page_bytes: self.page_bytes };
        let replacement = match (&self.exclusive, &self.old) {
            (Some(exclusive), _) => Some(exclusive.give_way(new, &self.cancel)?),
            (None, Some(old)) => match old.lock_after(&self.cancel)? {
                Some(locked) => Some(locked.give_way(new, &self.cancel)?),
                None => None,
            },
            (None, None) => None,
        };
        match &replacement {
            // The pages are now in the old file. The temporary file is removed when `self` is dropped.
            Some(Replacement::Transaction { .. }) => return Ok(replacement),
            Some(Replacement::Rename) => {}
            None => self.take_free_name(temporary)?,
        }
        self.temporary = None;
        // The file is complete and has its name. The sync of the folder makes the name durable, too.
        let synced = self.folder.sync().map_err(|error| {
            let what =
                format!("{} is complete, but its name is not known to be on disk", self.name.display());
            let hint = match self.old {
                None => "check the disk; after a power failure the file may be gone",
                Some(_) => "check the disk; after a power failure the old file may be back",
            };
            Error::target(what).about(&self.name).because(error).hint(hint)
        });
        synced.map(|()| replacement)
    }

    fn describe(&self) -> &'static str {
        self.direct.describe()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

fn cannot_create(folder: &Path, error: io::Error) -> Error {
    let failure = Error::target(format!("cannot create a file in {}", folder.display())).about(folder);
    match folder.exists() {
        true => explained(failure, error),
        false => failure
            .because(error)
            .hint(format!("make it first: mkdir -p {}", quoted(&folder.to_string_lossy()))),
    }
}
