//! Lists the files in a folder and in the folders below it.
//!
//! Links to files are followed. Links to folders are not: a link may lead back to a folder above it. The memory is proportional to the
//! names.

use std::fs::{self, DirEntry, FileType};
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_engine::plan::LeftOutFile;

use super::Inputs;
use super::choice::{HIDDEN, is_hidden, why_not};
use super::input::LoadInput;
use crate::load::request::shared_paths::Outputs;

/// Lists the files in the folder `root` and below it.
pub(super) fn list(root: &Path, outputs: &Outputs, cancel: &Cancel) -> Result<Inputs> {
    let mut listed = Inputs::default();
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match entries(&folder) {
            Ok(entries) => entries,
            // Go on with the other folders: their files may be readable.
            Err(error) if folder != root => {
                listed.bad.push((folder.display().to_string(), error));
                continue;
            }
            Err(error) => return Err(error),
        };
        for entry in entries {
            cancel.check()?;
            let path = entry.path();
            match chosen(&entry, &path, outputs) {
                Chosen::Folder => folders.push(path),
                Chosen::File => paths.push(path),
                Chosen::LeftOut { why, is_folder } => {
                    let slash = if is_folder { "/" } else { "" };
                    listed.left_out.push(LeftOutFile::new(format!("{}{slash}", path.display()), why));
                }
            }
        }
    }
    paths.sort_unstable();
    listed.bad.sort_by(|(one, _), (other, _)| one.cmp(other));
    listed.files = paths.into_iter().map(LoadInput::of_folder).collect();
    Ok(listed)
}

fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let unreadable = |error| Error::read(folder, error);
    fs::read_dir(folder).and_then(Iterator::collect).map_err(unreadable)
}

/// The decision about an entry of a folder.
enum Chosen {
    Folder,
    File,
    LeftOut { why: &'static str, is_folder: bool },
}

fn chosen(entry: &DirEntry, path: &Path, outputs: &Outputs) -> Chosen {
    let kind = entry.file_type().ok();
    let is_folder = kind.is_some_and(|kind| kind.is_dir());
    if is_hidden(&entry.file_name().to_string_lossy()) {
        return Chosen::LeftOut { why: HIDDEN, is_folder };
    }
    if is_folder {
        return Chosen::Folder;
    }
    let why = why_no_file(kind, path).or_else(|| outputs.why_not(path)).or_else(|| why_not(path));
    why.map_or(Chosen::File, |why| Chosen::LeftOut { why, is_folder: false })
}

/// Returns the reason why an entry that is not a folder can't be read as a file; `None` if it can.
fn why_no_file(kind: Option<FileType>, path: &Path) -> Option<&'static str> {
    let is_link = kind.is_some_and(|kind| kind.is_symlink());
    match fs::metadata(path) {
        Ok(about) if about.is_file() => None,
        Ok(about) if about.is_dir() => Some("a link to a folder"),
        Err(_) if is_link => Some("a link to nothing"),
        // The error of an unreadable file is reported when the file is opened.
        Err(_) => None,
        Ok(_) => Some("a pipe, a socket or a device"),
    }
}
