//! A temporary file that a run needs while it makes a database, such as the staging database. The file is removed afterwards.

use std::fs::File;
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result};
use sqluice_platform::positioned::Positioned;

use super::{Output, Replacement, TargetPath, explained, leftover};

/// A temporary file for a target. If the process is killed, the next run for the same target removes the file.
#[derive(Debug)]
pub struct Scratch {
    file: File,
    path: PathBuf,
    removed: Vec<PathBuf>,
}

impl Scratch {
    /// Creates the file in `folder`.
    ///
    /// # Errors
    /// If no file can be created in the folder.
    pub fn create(folder: &Path, target: &TargetPath) -> Result<Scratch> {
        let removed = leftover::remove_stale(folder, &target.file_name);
        let (file, path) = leftover::create(folder, &target.file_name).map_err(|error| {
            explained(
                Error::target(format!("cannot create a file in {}", folder.display())).about(folder),
                error,
            )
        })?;
        Ok(Scratch { file, path, removed })
    }

    /// Returns the temporary files that killed processes left behind and that were removed.
    pub fn removed(&self) -> &[PathBuf] {
        &self.removed
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Output for Scratch {
    fn write(&mut self, mut offset: u64, pages: &[&[u8]]) -> Result<()> {
        for pages in pages {
            self.file.write_all_at(pages, offset).map_err(|error| {
                explained(
                    Error::target(format!("cannot write {}", self.path.display())).about(&self.path),
                    error,
                )
            })?;
            offset += pages.len() as u64;
        }
        Ok(())
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn commit(self: Box<Self>) -> Result<Option<Replacement>> {
        Ok(None)
    }

    fn describe(&self) -> &'static str {
        "buffered"
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
