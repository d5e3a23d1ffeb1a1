//! An input of a load, before it is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "archives")]
use std::sync::Mutex;

use sqluice_core::error::{Error, Result};
use sqluice_core::remote::RemoteFile;
#[cfg(feature = "archives")]
use sqluice_platform::shell::quoted;
#[cfg(feature = "archives")]
use sqluice_sources::input::archive::{Archive, ArchiveKind};
#[cfg(feature = "archives")]
use sqluice_sources::input::stem;
use sqluice_sources::input::{InputFile, InputOptions};

/// An input of a load.
pub(crate) struct LoadInput {
    /// The path or the URL. For a member of an archive: the name of the archive, a slash and the path of the member.
    pub(crate) path: PathBuf,
    /// The path from which the name of the table is made. For a member of an archive, this path lacks the extension of the archive.
    pub(crate) named_after: PathBuf,
    /// `true` if the user has not named the file itself, but its folder or archive.
    pub(crate) is_found: bool,
    /// `true` if the table is named after the folders of the file, too, as other files have the same name.
    pub(crate) with_folders: bool,
    #[cfg(feature = "archives")]
    place: Place,
}

/// The place from which an input is opened.
#[cfg(feature = "archives")]
enum Place {
    /// The path or the URL of the input.
    Path,
    /// An input whose first bytes are known already. [`LoadInput::open`] takes `input`, and later calls open the file again.
    Opened { input: Box<Mutex<Option<InputFile>>>, remote: Option<Arc<dyn RemoteFile>> },
    /// A member of an archive.
    Member(Arc<Archive>, usize),
}

impl LoadInput {
    /// Creates the input for a file or a URL that is named.
    pub(crate) fn named(path: PathBuf) -> LoadInput {
        LoadInput {
            named_after: path.clone(),
            path,
            is_found: false,
            with_folders: false,
            #[cfg(feature = "archives")]
            place: Place::Path,
        }
    }

    /// Creates the input for a file that is named and whose first bytes are known. `remote` is the file behind a URL.
    #[cfg(feature = "archives")]
    pub(super) fn opened(path: PathBuf, input: InputFile, remote: Option<Arc<dyn RemoteFile>>) -> LoadInput {
        LoadInput {
            place: Place::Opened { input: Box::new(Mutex::new(Some(input))), remote },
            ..LoadInput::named(path)
        }
    }

    /// Creates the input for a file of a folder that is named.
    pub(crate) fn of_folder(path: PathBuf) -> LoadInput {
        LoadInput { is_found: true, ..LoadInput::named(path) }
    }

    /// Creates the input for a member of the archive at `path`.
    #[cfg(feature = "archives")]
    pub(super) fn of_member(path: &Path, archive: &Arc<Archive>, index: usize, is_found: bool) -> LoadInput {
        let member = &archive.members()[index].path;
        // The name of a URL is without its query, and standard input has no name.
        let archive_name = if path == Path::new("-") { Path::new("") } else { archive.name() };
        let folder =
            archive_name.parent().unwrap_or(Path::new("")).join(stem(archive_name).unwrap_or_default());
        LoadInput {
            path: archive.member_name(index),
            named_after: folder.join(member.trim_start_matches('/')),
            is_found,
            with_folders: false,
            place: Place::Member(Arc::clone(archive), index),
        }
    }

    /// Opens the input. An input at a URL can be opened only if its first bytes are known already.
    pub(crate) fn open(&self, options: InputOptions) -> Result<InputFile> {
        #[cfg(feature = "archives")]
        match &self.place {
            Place::Path => {}
            Place::Member(archive, index) => return archive.input(*index, options),
            Place::Opened { input, remote } => {
                let taken = input.lock().ok().and_then(|mut input| input.take());
                match (taken, remote) {
                    (Some(input), _) => return Ok(input),
                    (None, Some(remote)) => return InputFile::of_remote(Arc::clone(remote), options),
                    (None, None) => {}
                }
            }
        }
        InputFile::new(&self.path, options)
    }

    /// Returns the file behind the URL of the input, if it is known already.
    pub(crate) fn remote(&self) -> Option<&Arc<dyn RemoteFile>> {
        #[cfg(feature = "archives")]
        if let Place::Opened { remote, .. } = &self.place {
            return remote.as_ref();
        }
        None
    }

    /// Returns `true` if the input is a member of an archive.
    pub(crate) fn is_member(&self) -> bool {
        #[cfg(feature = "archives")]
        if let Place::Member(..) = &self.place {
            return true;
        }
        false
    }

    /// Returns the error for a database in a stream or an archive: SQLite reads only files, at any offset.
    pub(crate) fn no_database_file(&self, name: &Path) -> Error {
        #[cfg(feature = "archives")]
        if let Place::Member(archive, index) = &self.place {
            let extract = match archive.kind() {
                ArchiveKind::Zip => "unzip",
                _ => "tar -xf",
            };
            let member = &archive.members()[*index].path;
            let message = format!("{} is a database in an archive, and SQLite reads files", name.display());
            return Error::input(message).hint(format!(
                "extract it, and load that: {extract} {} {}",
                quoted(&archive.name().to_string_lossy()),
                quoted(member)
            ));
        }
        let message = format!("{} is a stream, and a database is read in any order", name.display());
        Error::input(message).hint("save it as a file, and load that")
    }
}
