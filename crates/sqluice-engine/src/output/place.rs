//! Where a file lies: its folder and its name in it, symbolic links followed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result};
use sqluice_platform::paths::ends_with_separator;

/// Where a file will be: symbolic links followed.
#[derive(Clone, Debug)]
pub struct TargetPath {
    /// Its folder.
    pub folder: PathBuf,
    /// Its name in the folder.
    pub file_name: OsString,
}

impl TargetPath {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.file_name)
    }

    /// A file beside it.
    pub fn sibling(&self, suffix: &str) -> PathBuf {
        let mut name = self.file_name.clone();
        name.push(suffix);
        self.folder.join(name)
    }

    /// Refuses a place beside which SQLite would find something to roll into a new file.
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

/// The folder and the name of the file that is meant.
pub fn place(target: &Path) -> Result<TargetPath> {
    let resolved = resolve(target)?;
    let ends_in_slash = ends_with_separator(target);
    let file_name = match resolved.file_name() {
        Some(file_name) if !ends_in_slash => file_name.to_owned(),
        _ => {
            let what = match target.as_os_str().is_empty() {
                true => "the name of the database is empty".to_owned(),
                false => format!("{} is a folder", target.display()),
            };
            return Err(Error::target(what).hint("name a file in a folder that exists"));
        }
    };
    let folder = match resolved.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    Ok(TargetPath { folder, file_name })
}

/// Follows symbolic links to the file that is meant, which need not exist.
fn resolve(target: &Path) -> Result<PathBuf> {
    const LINKS_MAX: usize = 40;
    let mut path = target.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::target(format!("{}: too many symbolic links", target.display())))
}
