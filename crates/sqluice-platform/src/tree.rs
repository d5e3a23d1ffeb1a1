//! Files, folders and links below a folder. A call names an entry by one component ([`Folder::folder`] also by several), and follows no
//! link, so that it stays below the folder.
//!
//! ```text
//!  Unix      an open folder, and calls relative to it (openat) that follow no link
//!  Windows   a folder that stays open, so that it can't be renamed or replaced, and paths that begin with its path
//! ```
//!
//! Names are bytes: the bytes of the file system, on Windows UTF-8.

use std::fs::File;
use std::io;
use std::path::Path;

pub use crate::answers::{About, Fault, Kind};
use crate::system;

/// Returns the fault of the name that the error of a call reports, or `None` if the call failed for another reason.
pub fn fault(error: &io::Error) -> Option<Fault> {
    system::tree::fault(error)
}

/// Returns the reason why the system can't have a file with this name, or would misread the name: reserved names, alternate streams.
/// Returns `None` if the name is right.
pub fn refused_component(component: &[u8]) -> Option<&'static str> {
    system::tree::refused_component(component)
}

/// Returns the mode bits that new files lack, if they are known.
pub fn umask() -> Option<u32> {
    system::tree::umask()
}

/// An open folder. Calls name its entries relative to the folder.
#[derive(Debug)]
pub struct Folder(system::tree::Folder);

impl Folder {
    /// Opens a folder by its path. Links are followed.
    ///
    /// # Errors
    /// When the folder can't be opened.
    pub fn open(path: &Path) -> io::Result<Folder> {
        system::tree::Folder::open(path).map(Folder)
    }

    /// Opens a folder below this folder; `name` may have several components, none of which is followed if it is a link.
    ///
    /// # Errors
    /// When the folder can't be opened, or a component is a link.
    pub fn folder(&self, name: &[u8]) -> io::Result<Folder> {
        self.0.folder(name).map(Folder)
    }

    /// Returns the names of all entries except `.` and `..`, in any order.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn names(&self) -> io::Result<impl Iterator<Item = io::Result<(Vec<u8>, Kind)>>> {
        self.0.names()
    }

    /// Returns the properties of an entry. A link is not followed.
    ///
    /// # Errors
    /// When the entry does not exist or can't be inspected.
    pub fn about(&self, component: &[u8]) -> io::Result<About> {
        self.0.about(component)
    }

    /// Returns the target of a link.
    ///
    /// # Errors
    /// When the entry is not a link or can't be read.
    pub fn link(&self, component: &[u8]) -> io::Result<Vec<u8>> {
        self.0.link(component)
    }

    /// Opens a file for reading. A link is not followed: [`Fault::NoFolder`]. Opening a FIFO does not wait for a writer.
    ///
    /// # Errors
    /// When the file can't be opened.
    pub fn file(&self, component: &[u8]) -> io::Result<File> {
        self.0.file(component)
    }

    /// Creates a file with the permissions of `mode`, as far as the umask permits.
    ///
    /// # Errors
    /// When the name already exists or the disk fails.
    pub fn create_file(&self, component: &[u8], mode: Option<u32>) -> io::Result<File> {
        self.0.create_file(component, mode)
    }

    /// Creates a folder.
    ///
    /// # Errors
    /// When the name already exists or the disk fails.
    pub fn create_folder(&self, component: &[u8]) -> io::Result<()> {
        self.0.create_folder(component)
    }

    /// Creates a symbolic link. Systems without links refuse.
    ///
    /// # Errors
    /// When the name already exists or the disk fails.
    pub fn create_link(&self, target: &[u8], component: &[u8]) -> io::Result<()> {
        self.0.create_link(target, component)
    }

    /// Renames an entry. An existing entry with the new name is replaced.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.0.rename(from, to)
    }

    /// Removes a file or link.
    ///
    /// # Errors
    /// When the entry can't be removed.
    pub fn remove(&self, component: &[u8]) -> io::Result<()> {
        self.0.remove(component)
    }

    /// Sets the permissions of this folder.
    ///
    /// # Errors
    /// When the process lacks the right.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.0.set_mode(mode)
    }

    /// Sets the modification time of this folder, in seconds since 1970.
    ///
    /// # Errors
    /// When the process lacks the right, or the file system can't store the time.
    pub fn set_time(&self, mtime: i64) -> io::Result<()> {
        self.0.set_time(mtime)
    }

    /// Sets the modification time of a link, if the file system stores it.
    ///
    /// # Errors
    /// When the process lacks the right.
    pub fn set_link_time(&self, component: &[u8], mtime: i64) -> io::Result<()> {
        self.0.set_link_time(component, mtime)
    }
}

/// Sets the permissions of a file.
///
/// # Errors
/// When the process lacks the right.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    system::tree::set_mode(file, mode)
}

/// Sets the modification time of a file, in seconds since 1970.
///
/// # Errors
/// When the process lacks the right, or the file system can't store the time.
pub fn set_time(file: &File, mtime: i64) -> io::Result<()> {
    system::tree::set_time(file, mtime)
}
