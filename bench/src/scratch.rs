//! A folder for the files of a run. It is gone when the run ends, whichever way it does; what a killed run left is
//! removed by the next one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use tempfile::TempDir;

const PREFIX: &str = "sqluice-bench-";
const LOCK: &str = "lock";

/// The folder of a run.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    /// Held as long as the folder is in use.
    _lock: File,
}

impl Scratch {
    /// Makes the folder in `parent`, where `bytes` must be free.
    ///
    /// # Errors
    /// When it can't be made or space is short.
    pub fn new(parent: &Path, bytes: u64) -> anyhow::Result<Scratch> {
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        remove_stale(parent);
        let disk = rustix::fs::statvfs(parent).context("cannot ask for free space")?;
        let free = disk.f_bavail * disk.f_frsize;
        ensure!(
            free >= bytes,
            "{} has {:.1} GB free, and this run may need {:.1} GB: name another folder with --dir, or fewer rows",
            parent.display(),
            free as f64 / 1e9,
            bytes as f64 / 1e9
        );
        let folder =
            tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).context("cannot make a folder")?;
        let lock = File::create(folder.path().join(LOCK)).context("cannot make a file")?;
        lock.lock().context("cannot lock a file")?;
        Ok(Scratch { folder, _lock: lock })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }
}

/// Removes a file if it is there, so that its space is free for the next lap.
///
/// # Errors
/// When it is there and stays.
pub fn remove(file: &Path) -> anyhow::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// Removes the folders of runs that were killed: nobody holds their lock.
fn remove_stale(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let free = || File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if ours && free() {
            // Another run may be as quick.
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
        let killed = parent.path().join("sqluice-bench-killed");
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
    fn too_little_space_is_told_before_anything_is_written() {
        let parent = tempfile::tempdir().unwrap();
        let error = Scratch::new(parent.path(), u64::MAX).unwrap_err();
        assert!(error.to_string().contains("--dir"), "{error}");
    }
}
