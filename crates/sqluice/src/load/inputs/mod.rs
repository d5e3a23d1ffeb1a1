//! Finds the inputs of a load: the files that the user names, and those in the folders and archives that the user names.
//!
//! ```text
//!  a.csv                 a file that the user names is loaded, whatever it contains
//!  data.zip/a.csv        so is a member of an archive that the user names
//!  folder/  data.zip     in a folder or archive, a.csv and sub/b.csv.gz are loaded;
//!                        .git/, x.db and LICENSE are left out, and reported with a reason
//! ```
//!
//! Modules, from the bottom up:
//!
//! * `choice`: the reasons to leave out a file in a folder or archive, by its name; `input`: an input of a load
//! * `folder`: the files in a folder; `archive`: the members of an archive; `opening`: recognises archives among the named files
//! * `table_names`: the files whose tables are named after their folders, too
//!
//! Invariant: the inputs are in the order of the names in the request, and the files of a folder in the order of their paths, whatever the
//! order of the file system is.

#[cfg(feature = "archives")]
mod archive;
pub(crate) mod choice;
mod folder;
pub(crate) mod input;
mod opening;
mod table_names;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, ErrorKind, Result};
use sqluice_core::progress::Context;
use sqluice_core::remote::{is_url, without_secrets};
use sqluice_engine::plan::{LeftOutFile, left_out_in_words};
use sqluice_sources::input::{MemberPattern, Named, is_of_pg_dump};

use super::request::Request;
use super::request::shared_paths::Outputs;
use input::LoadInput;
use opening::{Archives, Opened};

/// The reason to leave out an archive if none of its members matches the pattern that the user gives.
const NO_MATCH: &str = "an archive without a matching file";

/// The inputs of a load.
#[derive(Default)]
pub(crate) struct Inputs {
    pub(crate) files: Vec<LoadInput>,
    /// The files that are left out because of their names or kinds, and the folders and archives without files.
    pub(crate) left_out: Vec<LeftOutFile>,
    /// The folders and archives that can't be read or lack the file that is named, by their names in messages.
    pub(crate) bad: Vec<(String, Error)>,
}

/// Finds the inputs of a load: lists the folders and archives that are named. Archives are recognised by their first bytes.
pub(crate) fn find(load: &Request, named: Vec<Named>, context: &Context<'_>) -> Result<Inputs> {
    let (mut found, mut empty) = (Inputs::default(), Vec::new());
    let outputs = Outputs::of(load);
    let mut archives = Archives::new(&named, load, context);
    let paths = named.iter().map(|named| named.path.join(named.within.as_deref().unwrap_or(Path::new(""))));
    let paths: HashSet<PathBuf> = paths.collect();
    for Named { path, within, is_one_of_many } in named {
        context.cancel.check()?;
        let name = without_secrets(&path).display().to_string();
        if within.is_none() && !is_url(&path) && path.is_dir() && !is_of_pg_dump(&path) {
            if !found.add(&name, folder::list(&path, &outputs, &context.cancel))? {
                empty.push(LeftOutFile::new(name, "a folder without files"));
            }
            continue;
        }
        match archives.open(&path, load, context) {
            Ok(Opened::Archive(archive)) => {
                let listed = opening::list(&path, &archive, within.as_deref(), is_one_of_many);
                if !found.add(&name, listed)? {
                    let why = if within.is_some() { NO_MATCH } else { "an archive without files" };
                    empty.push(LeftOutFile::new(name, why));
                }
            }
            Ok(Opened::File(_)) if within.is_some() => {
                let within = within.unwrap_or_default();
                let is_wild = MemberPattern::new(&within).is_ok_and(|pattern| pattern.is_wild());
                let path = path.join(within);
                match is_wild && !is_url(&path) {
                    true => {
                        let error = Error::input(format!("no file matches {}", path.display()));
                        found.add(&name, Err(error))?;
                    }
                    false => found.files.push(LoadInput::named(path)),
                }
            }
            Ok(Opened::File(file)) => found.files.push(file),
            // An object in a store may have the name of an archive in its path, so the whole path is tried as the name of an object.
            Err(error) if is_url(&path) && within.is_some() && error.kind() == ErrorKind::Input => {
                found.files.push(LoadInput::named(path.join(within.unwrap_or_default())));
            }
            Err(error) => drop(found.add(&name, Err(error))?),
        }
    }
    found.drop_repeated(&paths);
    found.left_out.extend(empty);
    table_names::choose(&mut found.files);
    Ok(found)
}

impl Inputs {
    /// Adds the files of a folder or an archive, or the error about it. Returns `false` if it has no files.
    fn add(&mut self, name: &str, listed: Result<Inputs>) -> Result<bool> {
        match listed {
            Ok(Inputs { files, left_out, bad }) => {
                let has_files = !(files.is_empty() && left_out.is_empty() && bad.is_empty());
                self.files.extend(files);
                self.left_out.extend(left_out);
                self.bad.extend(bad);
                Ok(has_files)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.bad.push((name.to_owned(), error));
                Ok(true)
            }
        }
    }

    /// Removes the files that were found twice, because folders overlap, and those that are `named`, too.
    fn drop_repeated(&mut self, named: &HashSet<PathBuf>) {
        let is_new = |path: PathBuf, seen: &mut HashSet<PathBuf>| !named.contains(&path) && seen.insert(path);
        let (mut loaded, mut left_out) = (HashSet::new(), HashSet::new());
        self.files.retain(|file| !file.is_found || is_new(file.path.clone(), &mut loaded));
        self.left_out.retain(|file| is_new(PathBuf::from(&file.name), &mut left_out));
    }
}

/// Returns the error for a load whose files are all left out.
pub(crate) fn nothing_left(left_out: &[LeftOutFile]) -> Error {
    let lines: Vec<String> =
        left_out_in_words(left_out).iter().map(|line| format!("\n  left out: {line}")).collect();
    Error::input(format!("there is no file to load{}", lines.concat())).hint(
        "of folders and archives, files with the extension of a format are loaded; name any other file to load it",
    )
}

/// Sorts left-out files by name.
pub(crate) fn sort(left_out: &mut [LeftOutFile]) {
    left_out.sort_by_cached_key(|file| PathBuf::from(&file.name));
}
