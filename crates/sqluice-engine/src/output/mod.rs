//! The outputs of a run: files, objects and temporary files that pages are written to.
//!
//! * `target_path`, `target`: the target of a database, resolved once; checks of existing files and free space
//! * `replace`: an old database that a new database of the same name replaces
//! * `new`: a new database: a temporary file until it is complete, a replacement of its source, at a destination, or filled by several
//!   processes
//! * `whole_file`, `whole_files`: files of any content, which get their names when they are complete
//! * `leftover`, `scratch`: temporary files, also those that killed processes left behind; `direct`: writes past the page cache

mod direct;
mod leftover;
mod new;
mod replace;
mod scratch;
mod target;
mod target_path;
mod whole_file;
mod whole_files;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::destination::{Destination, NewObject, Output, Replacement};
pub(crate) use direct::Direct;
pub(crate) use leftover::{create as create_temporary, remove_stale, rights_of_file};
pub use new::{Exclusive, NewFile, create_shared};
pub(crate) use new::{ReadBack, SharedRange, exists_at, read_back};
pub(crate) use replace::set_versions;
pub use replace::{Replaced, ReplacedTable};
pub use scratch::Scratch;
pub(crate) use target::refuse_growth;
pub use target::{Target, Wanted};
pub use target_path::TargetPath;
pub use whole_file::WholeFile;
pub use whole_files::WholeFiles;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_format::page::Geometry;

/// A new database whose pages are being written.
pub(crate) struct Created {
    pub(crate) output: Box<dyn Output>,
    /// The content of the database that is replaced, if it was read.
    pub(crate) replaced: Option<Replaced>,
    /// The temporary files that killed processes left behind and that were removed.
    pub(crate) removed: Vec<PathBuf>,
}

/// Creates the wanted database, with pages of `geometry`: a new file, a file that replaces the database of `exclusive`, or an object. An
/// object that SQLite finishes is a file in `sqlite_folder` first.
pub(crate) fn create(
    wanted: &Wanted,
    geometry: Geometry,
    exclusive: Option<&Arc<Exclusive>>,
    sqlite_folder: Option<&Path>,
    cancel: &Cancel,
) -> Result<Created> {
    let page_bytes = geometry.page_bytes();
    if let Some(destination) = wanted.target.destination() {
        let replaced = wanted.refuse_at_destination(&**destination)?;
        let start = geometry.offset(geometry.lock_page());
        let lock_page = start..start + page_bytes as u64;
        let output = wanted.create_at(destination, lock_page, sqlite_folder, cancel)?;
        return Ok(Created { output, replaced, removed: Vec::new() });
    }
    let file = NewFile::create(wanted, exclusive, page_bytes, cancel)?;
    let (replaced, removed) = (file.replaced().cloned(), file.removed().to_vec());
    Ok(Created { output: Box::new(file), replaced, removed })
}

/// Removes the temporary files beside `target` that killed processes left behind, and returns their paths. A run that writes to `target`
/// removes these files itself.
pub fn remove_leftovers(target: &Path) -> Vec<PathBuf> {
    // A path that can't be a target has no temporary files.
    TargetPath::resolve(target).map_or(Vec::new(), |path| remove_stale(&path.folder, &path.file_name))
}

/// An output that discards all pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Output for Discard {
    fn write(&mut self, _: u64, _: &[&[u8]]) -> Result<()> {
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<Option<Replacement>> {
        Ok(None)
    }

    fn describe(&self) -> &'static str {
        "discarded"
    }
}

/// Adds the cause `error` to `failure`, and a hint about a remedy if one is known.
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
