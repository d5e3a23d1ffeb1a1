//! Files that are renamed to their final names together, when all are complete.
//!
//! A complete file stays open, so that its lock shows other processes that the file is in use. Files beyond the system's limit of open
//! files are closed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_platform::open_files;

use super::whole_file::{InFolder, WholeFile};

/// The number of files that may be open besides the written files: the database, its log, temporary files of sorters.
const OTHER_FILES: u64 = 256;

/// A set of complete files that get their names together. If the set is dropped before, all files are removed.
#[derive(Debug)]
pub struct WholeFiles {
    overwrite: bool,
    /// The largest number of complete files that stay open.
    open_max: u64,
    /// The open folder of the file that was created last, if any. The next file is usually in the same folder.
    folder: Option<Arc<InFolder>>,
    complete: Vec<WholeFile>,
}

impl WholeFiles {
    /// Returns an empty set of files. With `overwrite`, existing files are replaced. `count` is the expected number of files.
    pub fn new(overwrite: bool, count: usize) -> WholeFiles {
        let allowed = open_files::allow(count as u64 + OTHER_FILES);
        WholeFiles {
            overwrite,
            open_max: allowed.saturating_sub(OTHER_FILES),
            folder: None,
            complete: Vec::new(),
        }
    }

    /// Begins a file.
    ///
    /// # Errors
    /// If its name is taken and may not be overwritten, or its folder can't be written to.
    pub fn create(&mut self, path: &Path) -> Result<WholeFile> {
        WholeFile::create_in(&mut self.folder, path, self.overwrite)
    }

    /// Takes a file to which nothing more is written, and makes its bytes durable.
    ///
    /// # Errors
    /// If the bytes can't be made durable.
    pub fn add(&mut self, mut file: WholeFile) -> Result<()> {
        file.complete()?;
        if self.complete.len() as u64 >= self.open_max {
            file.close();
        }
        self.complete.push(file);
        Ok(())
    }

    /// Returns the complete files that were added so far.
    pub fn files(&self) -> &[WholeFile] {
        &self.complete
    }

    /// Returns the temporary files that killed processes left behind and that were removed.
    pub fn removed(&self) -> Vec<PathBuf> {
        self.complete.iter().flat_map(WholeFile::removed).cloned().collect()
    }

    /// Gives all files their names, and makes the names in the folder of the last file durable.
    ///
    /// # Errors
    /// The error of the first file that can't get its name, after which no file gets its name, or the error of the last folder.
    pub fn finish(mut self) -> Result<()> {
        let mut last = None;
        for mut file in self.complete.drain(..) {
            if let Some(folder) = file.give_name()? {
                last = Some((file, folder));
            }
        }
        last.map_or(Ok(()), |(file, folder)| file.sync_name(&folder))
    }
}
