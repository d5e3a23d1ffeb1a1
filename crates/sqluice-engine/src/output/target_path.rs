//! The folder and name of a file, with symbolic links resolved.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result};
use sqluice_platform::paths::ends_with_separator;

/// The folder and the name of a file, which need not exist. Symbolic links are resolved.
#[derive(Clone, Debug)]
pub struct TargetPath {
    /// The folder of the file.
    pub folder: PathBuf,
    /// The name of the file in the folder.
    pub file_name: OsString,
}

/// The reason why a path can't be the path of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unresolved {
    Empty,
    Folder,
    TooManyLinks,
}

impl TargetPath {
    /// Resolves the name of a file.
    ///
    /// # Errors
    /// If the name is empty or names a folder, or has too many symbolic links.
    pub fn resolve(name: &Path) -> Result<TargetPath> {
        resolve(name).map_err(|unresolved| unresolved.error(name))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.file_name)
    }

    /// Returns the path of the file whose name is this name and a suffix, such as `-wal`.
    pub fn sibling(&self, suffix: &str) -> PathBuf {
        let mut name = self.file_name.clone();
        name.push(suffix);
        self.folder.join(name)
    }

    /// Refuses a path with a `-journal` or `-wal` file beside it, which SQLite would roll into a new file.
    pub(super) fn refuse_siblings(&self) -> Result<()> {
        for suffix in ["-journal", "-wal"] {
            let sibling = self.sibling(suffix);
            if fs::metadata(&sibling).is_ok_and(|metadata| metadata.len() > 0) {
                let message = format!("{} is left from another database", sibling.display());
                return Err(Error::target(message).hint(
                    "SQLite would roll it into the new file: if it is no longer needed, remove it or move it away",
                ));
            }
        }
        Ok(())
    }
}

impl Unresolved {
    pub(super) fn error(self, name: &Path) -> Error {
        let hint = "name a file in a folder that exists";
        match self {
            Unresolved::Empty => Error::target("the name of the database is empty").hint(hint),
            Unresolved::Folder => Error::target(format!("{} is a folder", name.display())).hint(hint),
            Unresolved::TooManyLinks => Error::target(format!("{}: too many symbolic links", name.display())),
        }
    }
}

/// Resolves the name of a file, and all symbolic links.
pub(super) fn resolve(name: &Path) -> std::result::Result<TargetPath, Unresolved> {
    let resolved = follow_links(name)?;
    let ends_in_slash = ends_with_separator(name);
    let file_name = match resolved.file_name() {
        Some(file_name) if !ends_in_slash => file_name.to_owned(),
        _ if name.as_os_str().is_empty() => return Err(Unresolved::Empty),
        _ => return Err(Unresolved::Folder),
    };
    let folder = match resolved.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    Ok(TargetPath { folder, file_name })
}

/// Follows symbolic links to the final file, which need not exist.
fn follow_links(name: &Path) -> std::result::Result<PathBuf, Unresolved> {
    const LINKS_MAX: usize = 40;
    let mut path = name.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(Unresolved::TooManyLinks)
}
