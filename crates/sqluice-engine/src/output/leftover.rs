//! The temporary file beside a target, and the temporary files that killed processes left behind.
//!
//! ```text
//!  big.db                         the target: absent until it is complete
//!  .big.db.sqluice-tmp-4711-0     the pages so far, locked while its process lives
//! ```
//!
//! A killed process can't remove its file. The next run for the same target finds the file, sees that no process holds the lock, and
//! removes the file.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use sqluice_platform::locks::{Lock, try_lock};
use sqluice_platform::rights::{self, Rights};
use sqluice_platform::{identity, locks, paths};

/// The largest number of bytes of a target name that go into the name of its temporary file: a file name has at most 255 bytes.
const NAME_BYTES_MAX: usize = 200;

/// The part of the name of a temporary file that follows the name of its target.
const INFIX: &str = ".sqluice-tmp-";

/// Returns the beginning of the names of all temporary files of `target`.
fn prefix(target: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(paths::cut(target, NAME_BYTES_MAX));
    prefix.push(INFIX);
    prefix
}

/// Creates and locks a temporary file for `target` in `folder`. Only its owner may read the file until it is finished.
pub(crate) fn create(folder: &Path, target: &OsStr) -> io::Result<(File, PathBuf)> {
    let process = std::process::id();
    for attempt in 0.. {
        let mut name = prefix(target);
        name.push(format!("{process}-{attempt}"));
        let path = folder.join(name);
        let mut options = OpenOptions::new();
        let file = match rights::private(options.read(true).write(true).create_new(true)).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        match try_lock(&file) {
            Ok(Lock::Taken) if is_still_at(&file, &path) => return Ok((file, path)),
            // Between the creation and the lock, another process took the file for a leftover and removes it.
            Ok(Lock::Taken | Lock::Held) => {}
            // This file system has no locks. So no process can lock this file and take it for a leftover.
            Err(_) => return Ok((file, path)),
        }
    }
    unreachable!("the loop ends by returning")
}

/// Removes the temporary files of `target` that belong to no living process, and returns their paths.
pub(crate) fn remove_stale(folder: &Path, target: &OsStr) -> Vec<PathBuf> {
    Leftovers::list(folder).remove_stale(target)
}

/// The temporary files in a folder.
#[derive(Debug)]
pub(super) struct Leftovers {
    folder: PathBuf,
    names: Vec<OsString>,
}

impl Leftovers {
    /// Lists the temporary files in `folder`. Returns an empty list if the folder can't be read: leftovers that can't be removed are no
    /// error.
    pub(super) fn list(folder: &Path) -> Leftovers {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name());
        let infix = INFIX.as_bytes();
        let is_temporary =
            |name: &OsString| name.as_encoded_bytes().windows(infix.len()).any(|part| part == infix);
        Leftovers { folder: folder.to_owned(), names: names.filter(is_temporary).collect() }
    }

    /// Removes the temporary files of `target` that belong to no living process, and returns their paths.
    pub(super) fn remove_stale(&self, target: &OsStr) -> Vec<PathBuf> {
        let prefix = prefix(target);
        let mut removed = Vec::new();
        for name in &self.names {
            if !name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
                continue;
            }
            let path = self.folder.join(name);
            // Pipes and symbolic links with such a name are not opened.
            let Ok(file) = locks::open(&path) else { continue };
            let unlocked = try_lock(&file).is_ok_and(|lock| lock == Lock::Taken);
            if unlocked && is_still_at(&file, &path) && std::fs::remove_file(&path).is_ok() {
                removed.push(path);
            }
        }
        removed.sort();
        removed
    }
}

/// Returns the permissions that a temporary file gets when it is renamed to `target`: those of the replaced file, or of any new file.
pub(crate) fn rights_of_file(target: &Path) -> Rights {
    target.metadata().map_or_else(|_| Rights::of_new_file(), |metadata| Rights::of(&metadata))
}

/// Returns `true` if the open file still has the name `path`.
pub(super) fn is_still_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|about| about.is_file())
        && identity::of_file(file).is_ok_and(|file| identity::of_link(path).is_ok_and(|path| file == path))
}
