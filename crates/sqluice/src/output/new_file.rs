//! A database that does not exist yet.
//!
//! ```text
//!  create   .NAME.sqluice-tmp-...  locked
//!  write    pages 2..N in order, 1 MiB or more at a time, past the page cache (O_DIRECT) where the file system can
//!  write    page 1, which makes it a database
//!  fsync    the file
//!  rename   to NAME, unless something has that name by now
//!  fsync    the folder
//! ```
//!
//! Invariant: under NAME there is nothing, or all of it. A leftover `NAME-journal` or `NAME-wal` would be rolled into the
//! new file by SQLite without a word, so it is refused.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{Output, leftover};
use crate::error::{Error, Result};

/// Direct I/O asks for multiples of the disk's block size, in memory and in the file. This is one everywhere.
const DIRECT_BYTES: usize = 4096;

/// A new file that gets its name when it is whole.
#[derive(Debug)]
pub struct NewFile {
    /// As the user named it; for messages.
    name: PathBuf,
    folder: PathBuf,
    /// Open from the start: where that is not permitted, it is known before anything is written.
    open_folder: File,
    file_name: OsString,
    file: File,
    temporary: Option<PathBuf>,
    direct: bool,
}

impl NewFile {
    /// Begins the file that will be `target`, of pages of `page_bytes` bytes.
    ///
    /// # Errors
    /// When `target` exists, a `-journal` or `-wal` lies beside it, or nothing can be written there.
    pub fn create(target: &Path, page_bytes: usize) -> Result<NewFile> {
        let (folder, file_name) = place(target)?;
        leftover::remove_stale(&folder, &file_name);
        refuse_existing(target, &folder.join(&file_name))?;
        refuse_siblings(&folder, &file_name)?;
        let open_folder = File::open(&folder).map_err(|error| cannot_create(&folder, error))?;
        let (file, temporary) =
            leftover::create(&folder, &file_name).map_err(|error| cannot_create(&folder, error))?;
        let direct = page_bytes.is_multiple_of(DIRECT_BYTES) && set_direct(&file, true);
        Ok(NewFile {
            name: target.to_owned(),
            folder,
            open_folder,
            file_name,
            file,
            temporary: Some(temporary),
            direct,
        })
    }

    /// Refuses a target that [`NewFile::create`] would refuse for what lies there. Nothing is written.
    ///
    /// # Errors
    /// When `target` exists, or a `-journal` or `-wal` lies beside it.
    pub fn refuse(target: &Path) -> Result<()> {
        let (folder, file_name) = place(target)?;
        refuse_existing(target, &folder.join(&file_name))?;
        refuse_siblings(&folder, &file_name)
    }

    fn write_all(&mut self, mut offset: u64, mut slices: &mut [IoSlice<'_>]) -> Result<(), Errno> {
        while !slices.is_empty() {
            match rustix::io::pwritev(&self.file, slices, offset) {
                Ok(0) => return Err(Errno::IO),
                Ok(n) => {
                    IoSlice::advance_slices(&mut slices, n);
                    offset += n as u64;
                }
                Err(Errno::INTR) => {}
                // A file system may take the flag and refuse the write, or have written a part that is no whole block.
                Err(Errno::INVAL) if self.direct => {
                    set_direct(&self.file, false);
                    self.direct = false;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn failed(&self, what: &str, error: impl Into<io::Error>) -> Error {
        explained(Error::target(format!("cannot {what} {}", self.name.display())), error.into())
    }
}

impl Output for NewFile {
    fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()> {
        let mut slices: Vec<IoSlice<'_>> =
            pages.iter().filter(|pages| !pages.is_empty()).map(|pages| IoSlice::new(pages)).collect();
        self.write_all(offset, &mut slices).map_err(|error| self.failed("write", error))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.file.sync_all().map_err(|error| self.failed("write", error))?;
        refuse_siblings(&self.folder, &self.file_name)?;
        let temporary = self.temporary.take().expect("commit comes once");
        let target = self.folder.join(&self.file_name);
        if let Err(error) = rename_to_new(&temporary, &target) {
            self.temporary = Some(temporary);
            return Err(if error.kind() == io::ErrorKind::AlreadyExists {
                exists(&self.name)
            } else {
                self.failed("give its name to", error)
            });
        }
        // The file is whole and has its name: what is left is to make the name as durable as the content.
        match self.open_folder.sync_all() {
            // Some file systems have no fsync for folders: their names are as durable as they get.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            Err(error) => {
                let what =
                    format!("{} is complete, but its name is not known to be on disk", self.name.display());
                Err(Error::target(what)
                    .because(error)
                    .hint("check the disk; after a power failure the file may be gone"))
            }
            Ok(()) => Ok(()),
        }
    }

    fn describe(&self) -> &'static str {
        if self.direct { "direct" } else { "buffered" }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Switches direct I/O; says whether it is on.
#[cfg(target_os = "linux")]
fn set_direct(file: &File, direct: bool) -> bool {
    let set = rustix::fs::fcntl_getfl(file).and_then(|mut flags| {
        flags.set(OFlags::DIRECT, direct);
        rustix::fs::fcntl_setfl(file, flags)
    });
    direct && set.is_ok()
}

#[cfg(not(target_os = "linux"))]
fn set_direct(_: &File, _: bool) -> bool {
    false
}

/// Renames unless `to` exists, in one step where the file system has it.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    let here = rustix::fs::CWD;
    match rustix::fs::renameat_with(here, from, here, to, rustix::fs::RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            // A hard link fails when the name is taken, too. Once it is there, the old name does no harm.
            fs::hard_link(from, to)?;
            let _ = fs::remove_file(from);
            Ok(())
        }
        other => Ok(other?),
    }
}

fn cannot_create(folder: &Path, error: io::Error) -> Error {
    let failure = Error::target(format!("cannot create a file in {}", folder.display()));
    match folder.exists() {
        true => explained(failure, error),
        false => failure.because(error).hint(format!("make it first: mkdir -p {}", folder.display())),
    }
}

/// Adds the cause, and what the user can do about it.
fn explained(failure: Error, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::NotADirectory => "a part of this path is a file, not a folder",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a folder that you may write to"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space or choose another folder; nothing was left behind"
        }
        io::ErrorKind::FileTooLarge => {
            "raise the limit on file sizes (ulimit -f) or choose another file system"
        }
        _ => return failure.because(error),
    };
    failure.because(error).hint(hint)
}

/// The folder and the name of the file that is meant, symbolic links followed.
fn place(target: &Path) -> Result<(PathBuf, OsString)> {
    let resolved = resolve(target)?;
    let ends_in_slash = target.as_os_str().as_encoded_bytes().ends_with(b"/");
    let file_name = match resolved.file_name() {
        Some(file_name) if !ends_in_slash => file_name.to_owned(),
        _ => {
            let what = match target.as_os_str().is_empty() {
                true => "the name of the database is empty".to_owned(),
                false => format!("{} is a folder", target.display()),
            };
            return Err(Error::target(what).hint("name a file in a folder that exists"));
        }
    };
    let folder = match resolved.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    Ok((folder, file_name))
}

/// Follows symbolic links to the file that is meant, which need not exist.
fn resolve(target: &Path) -> Result<PathBuf> {
    const LINKS_MAX: usize = 40;
    let mut path = target.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::target(format!("{}: too many symbolic links", target.display())))
}

fn exists(target: &Path) -> Error {
    Error::target(format!("{} already exists", target.display()))
        .hint("name another file, or remove this one; an existing file is never replaced")
}

fn refuse_existing(target: &Path, resolved: &Path) -> Result<()> {
    match fs::symlink_metadata(resolved) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::target(format!("{} is a folder", target.display())).hint("name a file in it"))
        }
        Ok(_) => Err(exists(target)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(explained(Error::target(format!("cannot look at {}", target.display())), error)),
    }
}

/// Refuses a target beside which SQLite would find something to roll into it.
fn refuse_siblings(folder: &Path, file_name: &OsStr) -> Result<()> {
    for suffix in ["-journal", "-wal"] {
        let mut name = file_name.to_owned();
        name.push(suffix);
        let sibling = folder.join(name);
        if fs::metadata(&sibling).is_ok_and(|metadata| metadata.len() > 0) {
            let message = format!("{} is left from another database", sibling.display());
            return Err(Error::target(message).hint(
                "SQLite would roll it into the new file: if nobody needs it any more, remove it, or move it away",
            ));
        }
    }
    Ok(())
}
