//! Files, folders and links below a folder, and never elsewhere.
//!
//! ```text
//!  Unix      an open folder, and calls relative to it (openat) that follow no link
//!  Windows   a folder that stays open, so that it can't be renamed or replaced, and paths that begin with its own
//! ```
//!
//! Names are bytes: those of the file system, on Windows UTF-8.

use std::fs::File;
use std::io;
use std::path::Path;

pub use crate::answers::{About, Fault, Kind};
use crate::system;

/// Which fault of a name an error means.
pub fn fault(error: &io::Error) -> Option<Fault> {
    system::tree::fault(error)
}

/// Why the system can't have a file of this name, or would take the name for another: reserved names, alternate streams.
pub fn refused_component(component: &[u8]) -> Option<&'static str> {
    system::tree::refused_component(component)
}

/// Bits of a mode that new files lack, if they are known.
pub fn umask() -> Option<u32> {
    system::tree::umask()
}

/// An open folder.
#[derive(Debug)]
pub struct Folder(system::tree::Folder);

impl Folder {
    /// Opens a folder by its path, links followed.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open(path: &Path) -> io::Result<Folder> {
        system::tree::Folder::open(path).map(Folder)
    }

    /// Opens a folder in it; `name` may lead through others. The last component is not followed, if it is a link.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn folder(&self, name: &[u8]) -> io::Result<Folder> {
        self.0.folder(name).map(Folder)
    }

    /// What is in it, in any order, but for `.` and `..`.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn names(&self) -> io::Result<impl Iterator<Item = io::Result<(Vec<u8>, Kind)>>> {
        self.0.names()
    }

    /// What is known of something in it, which is not followed.
    ///
    /// # Errors
    /// When it does not exist or can't be asked.
    pub fn about(&self, component: &[u8]) -> io::Result<About> {
        self.0.about(component)
    }

    /// What a link in it names.
    ///
    /// # Errors
    /// When it is no link, or can't be read.
    pub fn link(&self, component: &[u8]) -> io::Result<Vec<u8>> {
        self.0.link(component)
    }

    /// Opens a file in it for reading. A link is not followed: [`Fault::NoFolder`]. A FIFO is not waited for.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn file(&self, component: &[u8]) -> io::Result<File> {
        self.0.file(component)
    }

    /// Creates a file in it, with the permissions of `mode` as far as the umask lets it.
    ///
    /// # Errors
    /// When the name is taken, or the disk fails.
    pub fn create_file(&self, component: &[u8], mode: Option<u32>) -> io::Result<File> {
        self.0.create_file(component, mode)
    }

    /// Creates a folder in it.
    ///
    /// # Errors
    /// When the name is taken, or the disk fails.
    pub fn create_folder(&self, component: &[u8]) -> io::Result<()> {
        self.0.create_folder(component)
    }

    /// Creates a symbolic link in it; a system without them refuses.
    ///
    /// # Errors
    /// When the name is taken, or the disk fails.
    pub fn create_link(&self, target: &[u8], component: &[u8]) -> io::Result<()> {
        self.0.create_link(target, component)
    }

    /// Renames something in it; what had the new name is gone then.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.0.rename(from, to)
    }

    /// Removes a file or link in it.
    ///
    /// # Errors
    /// When it can't be removed.
    pub fn remove(&self, component: &[u8]) -> io::Result<()> {
        self.0.remove(component)
    }

    /// Sets its own permissions.
    ///
    /// # Errors
    /// When the process may not.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.0.set_mode(mode)
    }

    /// Sets its own time, in seconds since 1970.
    ///
    /// # Errors
    /// When the process may not, or the file system has no such time.
    pub fn set_time(&self, mtime: i64) -> io::Result<()> {
        self.0.set_time(mtime)
    }

    /// Sets the time of a link in it, where the file system keeps one.
    ///
    /// # Errors
    /// When the process may not.
    pub fn set_link_time(&self, component: &[u8], mtime: i64) -> io::Result<()> {
        self.0.set_link_time(component, mtime)
    }
}

/// Sets the permissions of a file.
///
/// # Errors
/// When the process may not.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    system::tree::set_mode(file, mode)
}

/// Sets the time of a file, in seconds since 1970.
///
/// # Errors
/// When the process may not, or the file system has no such time.
pub fn set_time(file: &File, mtime: i64) -> io::Result<()> {
    system::tree::set_time(file, mtime)
}
