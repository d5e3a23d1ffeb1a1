//! Where pages go.

mod direct;
mod exclusive;
mod free_space;
mod leftover;
mod new_file;
mod place;
mod read_back;
mod replace;
mod replaced;
mod scratch;
mod users;
mod wanted;
mod whole_file;

use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) use direct::Direct;
pub use exclusive::Exclusive;
pub(crate) use free_space::refuse_growth;
pub(crate) use leftover::{create as create_temporary, remove_stale};
pub use new_file::NewFile;
pub(crate) use new_file::rename_to_new;
pub use place::{TargetPath, place};
pub(crate) use read_back::{ReadBack, read_back};
pub use replaced::{Replaced, ReplacedTable};
pub use scratch::Scratch;
pub use wanted::Wanted;
pub use whole_file::WholeFile;

use sqluice_core::error::{Error, Result};

/// Takes finished pages in the order of their numbers; page 1 is the last.
pub trait Output: Send {
    /// Writes whole pages from byte `offset` of the file on. The slices follow each other in it.
    ///
    /// # Errors
    /// When they can't be written. Nothing may follow then but dropping the output, which leaves things as they were.
    fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()>;

    /// Makes what was written durable, and the target.
    ///
    /// # Errors
    /// When it can't be: things are as they were, then.
    fn commit(self: Box<Self>) -> Result<()>;

    /// The path of the file until it has its name, if any. When page 1 is written, SQLite may open it by this path and change
    /// it, and must close it before the commit; nothing is written by [`Output::write`] after that.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// How pages get to the disk, for the report.
    fn describe(&self) -> &'static str;
}

/// Takes pages and forgets them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Output for Discard {
    fn write(&mut self, _: u64, _: &[&[u8]]) -> Result<()> {
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        Ok(())
    }

    fn describe(&self) -> &'static str {
        "discarded"
    }
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &File) -> io::Result<()> {
    match folder.sync_all() {
        // Some file systems have no fsync for folders: their names are as durable as they get.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

/// Adds the cause, and what the user can do about it.
pub fn explained(failure: Error, error: io::Error) -> Error {
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
