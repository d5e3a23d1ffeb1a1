//! Who may use a file.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use crate::system;

/// Owner and permissions of a file. On Windows a new file has those of its folder, and this is empty.
#[derive(Clone, Debug)]
pub struct Rights(system::rights::Rights);

impl Rights {
    /// Those of a file.
    pub fn of(metadata: &Metadata) -> Rights {
        Rights(system::rights::Rights::of(metadata))
    }

    /// Gives them to another file, the owner as far as the process may.
    ///
    /// # Errors
    /// When the permissions can't be set.
    pub fn give(&self, to: &File) -> io::Result<()> {
        self.0.give(to)
    }
}

/// Checks that the process may write to a file, or create files in a folder. Windows only knows files that are read-only.
///
/// # Errors
/// When it may not.
pub fn check_write(path: &Path) -> io::Result<()> {
    system::rights::check_write(path)
}
