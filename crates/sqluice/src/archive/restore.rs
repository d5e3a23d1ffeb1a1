//! Creates files, folders and links in a folder, and never outside of it.
//!
//! ```text
//!  a/b/c    root ──> open "a" in root ──> open "b" in "a" ──> create a new "c" in "b"
//!           no step follows a symbolic link, whichever process created the link
//! ```
//!
//! Invariant: when a name exists already, the old file stays, or, if it may be replaced, is replaced by the complete new file, which is
//! written beside it and then renamed. A new file gets its name at once and grows as it is written; if it can't be finished, it is
//! removed.

use std::fs::File;
use std::io;

use sqluice_core::error::Error;
use sqluice_platform::errors;
use sqluice_platform::tree::{self, Fault, Folder, Kind, fault, umask};

use super::PERMISSIONS;
use super::name::SafeName;

/// The reason why a row is not restored.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The row can't be restored because of its content, its kind, its name, or a missing permission. Other rows may succeed.
    Refused(String),
    /// A file or link of this name exists, which `overwrite` would replace.
    Exists,
    /// An object is in the way: it has the name and can't be replaced, or it is no folder where the path needs a folder. Another row of
    /// the archive may have created it.
    InTheWay(String),
    /// Another error of the system, such as a full or failing disk: other rows would fail, too.
    Ends(io::Error),
}

/// A creator of files, folders and links in a folder. Each thread has its own.
#[derive(Debug)]
pub(crate) struct Below<'r> {
    root: &'r Folder,
    overwrite: bool,
    /// The permission bits that the system withholds from new files; `None` if unknown.
    umask: Option<u32>,
    /// The folder that was used last, and its name: the next file is often in the same folder. `None` before the first folder below the
    /// root, and after a folder that could not be opened.
    current: Option<(Vec<u8>, Folder)>,
}

/// The mode and the modification time of a restored file; `None` for the defaults of new files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct About {
    pub(crate) mode: Option<u32>,
    pub(crate) mtime: Option<i64>,
}

/// The maximum number of names to try for a temporary file.
const TEMPORARIES_MAX: u32 = 1000;

/// The reason why a row is refused if a file or link of its name exists.
pub(crate) const EXISTS: &str = "a file or link of its name exists";

impl<'r> Below<'r> {
    pub(crate) fn new(root: &'r Folder, overwrite: bool) -> Below<'r> {
        Below { root, overwrite, umask: umask(), current: None }
    }

    /// Creates a file. `write` is called with the open file and writes the content.
    pub(crate) fn file(
        &mut self,
        name: &SafeName,
        about: About,
        write: impl FnOnce(&mut File) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let (overwrite, umask) = (self.overwrite, self.umask);
        let (folder, component) = self.place(name)?;
        let (file, temporary) = match folder.create_file(component, about.mode) {
            Ok(file) => (file, None),
            Err(error) if overwrite && fault(&error) == Some(Fault::Exists) => {
                let (file, temporary) = create_beside(folder, about.mode)?;
                (file, Some(temporary))
            }
            Err(error) => return Err(of_io(error)),
        };
        let finish = |mut file: File| {
            write(&mut file)?;
            about.give(&file, umask)?;
            drop(file);
            match &temporary {
                Some(temporary) => folder.rename(temporary.as_bytes(), component).map_err(of_io),
                None => Ok(()),
            }
        };
        let done = finish(file);
        if done.is_err() {
            let made = temporary.as_ref().map_or(component, |temporary| temporary.as_bytes());
            let _ = folder.remove(made);
        }
        done
    }

    /// Creates a symbolic link.
    pub(crate) fn link(&mut self, name: &SafeName, target: &[u8], mtime: Option<i64>) -> Result<(), Failed> {
        if target.contains(&0) {
            return Err(Failed::Refused("its link target contains a NUL".to_owned()));
        }
        let overwrite = self.overwrite;
        let (folder, component) = self.place(name)?;
        match folder.create_link(target, component) {
            Ok(()) => set_link_time(folder, component, mtime),
            Err(error) if overwrite && fault(&error) == Some(Fault::Exists) => {
                let make = |temporary: &str| folder.create_link(target, temporary.as_bytes());
                let ((), temporary) = make_beside(make)?;
                set_link_time(folder, temporary.as_bytes(), mtime)
                    .and_then(|()| folder.rename(temporary.as_bytes(), component).map_err(of_io))
                    .inspect_err(|_| {
                        let _ = folder.remove(temporary.as_bytes());
                    })
            }
            Err(error) => Err(of_io(error)),
        }
    }

    /// Creates a folder, if it does not exist.
    pub(crate) fn folder(&mut self, name: &SafeName) -> Result<(), Failed> {
        self.enter(name.bytes()).map(drop)
    }

    /// Sets the mode and time of a folder. Nothing may be created in the folder afterwards.
    pub(crate) fn finish_folder(&mut self, name: &SafeName, about: About) -> Result<(), Failed> {
        let folder = self.enter(name.bytes())?;
        // A row without a mode leaves the mode of the folder as it is.
        let done = about.mode.map_or(Ok(()), |mode| folder.set_mode(mode & PERMISSIONS));
        done.and_then(|()| about.mtime.map_or(Ok(()), |mtime| folder.set_time(mtime))).map_err(of_io)
    }

    /// Returns the folder that contains a name, opened and created if necessary, and the last component of the name.
    fn place<'n>(&mut self, name: &'n SafeName) -> Result<(&Folder, &'n [u8]), Failed> {
        let (folder, component) = name.split();
        if component.is_empty() {
            return Err(Failed::Refused("it has the name of the folder itself".to_owned()));
        }
        Ok((self.enter(folder)?, component))
    }

    /// Opens a folder. Creates the folder and its parents if they are missing.
    fn enter(&mut self, name: &[u8]) -> Result<&Folder, Failed> {
        if name.is_empty() {
            return Ok(self.root);
        }
        if self.current.as_ref().is_none_or(|(current, _)| current != name) {
            let (mut at, rest) = match self.current.take() {
                // The wanted folder is inside the folder that is open.
                Some((current, folder)) if name.starts_with(&current) && name[current.len()] == b'/' => {
                    (Some(folder), &name[current.len() + 1..])
                }
                _ => (None, name),
            };
            for component in rest.split(|&byte| byte == b'/') {
                let folder = at.as_ref().unwrap_or(self.root);
                at = Some(step(folder, component)?);
            }
            self.current = at.map(|folder| (name.to_vec(), folder));
        }
        Ok(self.current.as_ref().map_or(self.root, |(_, folder)| folder))
    }
}

/// Opens a folder in another folder. Creates it if nothing has its name.
fn step(folder: &Folder, component: &[u8]) -> Result<Folder, Failed> {
    let open = || folder.folder(component);
    let opened = match open() {
        Err(error) if fault(&error) == Some(Fault::Missing) => match folder.create_folder(component) {
            // Another thread may have created the folder first.
            Err(error) if fault(&error) != Some(Fault::Exists) => Err(error),
            _ => open(),
        },
        other => other,
    };
    opened.map_err(|error| match fault(&error) {
        Some(Fault::NoFolder) => {
            let is_link = folder.about(component).is_ok_and(|about| about.kind == Kind::Link);
            let what = if is_link { "a symbolic link" } else { "no folder" };
            Failed::InTheWay(format!("{} in its path is {what}", super::name::shown(component)))
        }
        _ => of_io(error),
    })
}

/// Creates a file under a temporary name, with the permission bits of `mode`. Returns the file and its name.
fn create_beside(folder: &Folder, mode: Option<u32>) -> Result<(File, String), Failed> {
    make_beside(|temporary| folder.create_file(temporary.as_bytes(), mode))
}

/// Creates a file or link under an unused temporary name.
fn make_beside<T>(make: impl Fn(&str) -> io::Result<T>) -> Result<(T, String), Failed> {
    for number in 0..TEMPORARIES_MAX {
        let temporary = format!(".sqluice-tmp-{}-{number}", std::process::id());
        match make(&temporary) {
            Err(error) if fault(&error) == Some(Fault::Exists) => {}
            Ok(made) => return Ok((made, temporary)),
            Err(error) => return Err(of_io(error)),
        }
    }
    Err(of_io(errors::exists()))
}

impl About {
    /// Sets the mode and time of a complete file.
    fn give(self, file: &File, umask: Option<u32>) -> Result<(), Failed> {
        // A new file was created with its mode. Only bits that the umask removed are still missing.
        if let Some(mode) = self.mode.filter(|mode| umask.is_none_or(|umask| mode & umask & PERMISSIONS != 0))
        {
            tree::set_mode(file, mode & PERMISSIONS).map_err(of_io)?;
        }
        match self.mtime {
            Some(mtime) => tree::set_time(file, mtime).map_err(of_io),
            None => Ok(()),
        }
    }
}

fn set_link_time(folder: &Folder, component: &[u8], mtime: Option<i64>) -> Result<(), Failed> {
    mtime.map_or(Ok(()), |mtime| folder.set_link_time(component, mtime).map_err(of_io))
}

/// Classifies a system error: it concerns only this row, or all following rows fail, too.
pub(crate) fn of_io(error: io::Error) -> Failed {
    let in_the_way = |why: &str| Failed::InTheWay(why.to_owned());
    let why = match fault(&error) {
        Some(Fault::Exists) => return Failed::Exists,
        Some(Fault::IsFolder) => return in_the_way("a folder of its name exists"),
        Some(Fault::NoFolder) => return in_the_way("its path leads through something that is not a folder"),
        Some(Fault::TooLong) => "a component of its name is longer than the file system takes",
        Some(Fault::Denied) => "permission denied",
        Some(Fault::BadName | Fault::Missing) => "the file system refuses its name",
        Some(Fault::NoLinks) => "symbolic links can't be created on this system",
        None => return Failed::Ends(error),
    };
    Failed::Refused(why.to_owned())
}

impl Failed {
    /// Returns the error that ends the run.
    pub(crate) fn ends(error: io::Error, name: &str) -> Error {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space; what was restored so far stays"
            }
            io::ErrorKind::ReadOnlyFilesystem => "choose a folder that you may write to",
            _ => "what was restored so far stays",
        };
        Error::target(format!("cannot write {name}")).about(name).because(error).hint(hint)
    }
}
