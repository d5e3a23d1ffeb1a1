//! A temporary folder for the files of a run. The folder is removed when the run ends, also after an error; the folder of a killed run
//! is removed by the next run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sqluice::error::{Error, Result, Setting, message};
use sqluice_platform::space;
use tempfile::TempDir;

/// The prefix of the folders' names.
const PREFIX: &str = "sqluice-scratch-";
const LOCK: &str = "lock";

/// The folder of a run.
#[derive(Debug)]
pub struct Scratch {
    /// A locked file, which marks the folder as in use. It must be closed before the folder is removed: Windows can't remove an open file.
    _lock: File,
    folder: TempDir,
}

impl Scratch {
    /// Creates the folder in `parent`, where `bytes` must be free.
    ///
    /// # Errors
    /// When the folder can't be created or space is short.
    pub fn new(parent: &Path, bytes: u64) -> Result<Scratch> {
        let failed = |what: &str, error: std::io::Error| {
            Error::target(format!("cannot {what} {}", parent.display())).about(parent).because(error)
        };
        fs::create_dir_all(parent).map_err(|error| failed("make", error))?;
        remove_stale(parent);
        let free = free_bytes(parent)?;
        if free < bytes {
            let (parent, free, bytes) = (parent.display(), free as f64 / 1e9, bytes as f64 / 1e9);
            let message = format!("{parent} has {free:.1} GB free, and this run may need {bytes:.1} GB");
            return Err(Error::target(message).hint(message![
                "name another folder (",
                Setting::Dir,
                "), or measure less"
            ]));
        }
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
        let folder = folder.map_err(|error| failed("make a folder in", error))?;
        let lock = File::create(folder.path().join(LOCK)).and_then(|lock| lock.lock().map(|()| lock));
        Ok(Scratch { _lock: lock.map_err(|error| failed("lock a file in", error))?, folder })
    }

    /// Returns the path of the folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }
}

/// Returns the bytes that are free for this user on the file system of a folder; 0 if the system does not report them.
///
/// # Errors
/// When the folder can't be examined.
pub fn free_bytes(folder: &Path) -> Result<u64> {
    let free = space::free_bytes(folder).map_err(|error| {
        Error::target(format!("cannot determine the free space in {}", folder.display()))
            .about(folder)
            .because(error)
    })?;
    Ok(free.unwrap_or(0))
}

/// Removes a file if it exists.
///
/// # Errors
/// When the file exists and can't be removed.
pub fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::target(format!("cannot remove {}", file.display())).about(file).because(error))
        }
        _ => Ok(()),
    }
}

/// Removes the folders of runs that were killed: their lock files are no longer locked.
fn remove_stale(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let free = || File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if ours && free() {
            // Another run may have removed the folder at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_killed_run_is_removed_and_that_of_a_live_one_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let killed = parent.path().join("sqluice-scratch-killed");
        let other = parent.path().join("other");
        for folder in [&killed, &other] {
            fs::create_dir(folder).unwrap();
            File::create(folder.join(LOCK)).unwrap();
        }
        let live = Scratch::new(parent.path(), 1).unwrap();
        let next = Scratch::new(parent.path(), 1).unwrap();
        assert!(!killed.exists() && other.exists() && live.folder().exists());
        let folder = next.folder().to_owned();
        drop(next);
        assert!(!folder.exists());
    }

    #[test]
    fn too_little_free_space_is_an_error_before_anything_is_written() {
        let parent = tempfile::tempdir().unwrap();
        let error = Scratch::new(parent.path(), u64::MAX).unwrap_err();
        assert!(error.hint_text().unwrap_or_default().contains("`dir`"), "{error}");
    }
}
