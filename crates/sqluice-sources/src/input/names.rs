//! The names of inputs: the files that a pattern matches, and the name of the table for a file.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::mem;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};

use sqluice_core::error::{Error, Result};

use super::compression::Compression;

/// The matching rules of a shell. `fits` decides about hidden names.
const MATCH: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Returns the name of a file without its folder, the extension of its compression, and one more extension: `x` of `dir/x.csv.gz`. The dots
/// at the start of a hidden file's name are removed, too. Returns `None` if nothing is left, the name is not UTF-8, or the file is standard
/// input.
pub fn stem(path: &Path) -> Option<String> {
    if path == Path::new("-") {
        return None;
    }
    let name = path.file_name()?.to_str()?.trim_start_matches('.');
    let cut = |name: &str| Path::new(name).file_stem()?.to_str().map(str::to_owned);
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    let compressed = extension.is_some_and(Compression::has_extension);
    let name = if compressed { cut(name)? } else { name.to_owned() };
    cut(&name)
}

/// Returns the stem with the folders between `below` and the file: `2024_x` of `dir/2024/x.csv` below `dir`.
pub fn stem_with_folders(path: &Path, below: &Path) -> Option<String> {
    let mut name = stem(path)?;
    let folders = path.parent().and_then(|folder| folder.strip_prefix(below).ok());
    for folder in folders.into_iter().flat_map(Path::components).rev() {
        if let Component::Normal(folder) = folder {
            name = format!("{}_{name}", folder.to_str()?);
        }
    }
    Some(name)
}

/// Returns the files that the patterns match, in the order of the patterns; the files of one pattern are sorted by name. A pattern has a
/// `*`, `?` or `[` and is not the name of a file; anything else is a name, and stays. As in a shell, a pattern matches hidden files only if
/// it begins with a dot. Folders are left out.
///
/// # Errors
/// If a pattern is malformed or matches nothing, or standard input (`-`) is named twice.
pub fn expand<P: AsRef<Path>>(patterns: &[P]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for pattern in patterns.iter().map(P::as_ref) {
        if is_pattern(pattern.as_os_str()) && fs::symlink_metadata(pattern).is_err() {
            files.extend(meant_by(pattern)?);
        } else {
            files.push(pattern.to_owned());
        }
    }
    refuse_stdin_twice(&files)?;
    Ok(files)
}

/// Refuses standard input (`-`) that is named twice.
///
/// # Errors
/// If standard input is named twice.
pub fn refuse_stdin_twice(files: &[PathBuf]) -> Result<()> {
    if files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Error::usage("standard input (-) is named twice").hint("it can be read only once"));
    }
    Ok(())
}

/// Returns `true` if a name may be a pattern. A name that is not UTF-8 is no pattern.
fn is_pattern(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.contains(['*', '?', '[']))
}

/// Returns the files that a pattern matches.
fn meant_by(pattern: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        match component {
            Component::Normal(name) if is_pattern(name) => {
                let matcher = Matcher::new(name, pattern)?;
                let folders = mem::take(&mut found);
                for folder in folders {
                    found.extend(matcher.entries(&folder)?);
                }
            }
            _ => found.iter_mut().for_each(|path| path.push(component)),
        }
    }
    found.retain(|path| fs::symlink_metadata(path).is_ok() && !path.is_dir());
    found.sort();
    if found.is_empty() {
        return Err(Error::input(format!("no file matches {}", pattern.display())));
    }
    Ok(found)
}

/// A pattern for the names in one folder.
struct Matcher {
    pattern: Pattern,
    hidden: bool,
}

impl Matcher {
    fn new(name: &OsStr, whole: &Path) -> Result<Matcher> {
        let text = name.to_string_lossy();
        let pattern = Pattern::new(&text).map_err(|error| {
            Error::usage(format!("{} is neither a file nor a pattern", whole.display()))
                .because(error)
                .hint("in a pattern, [ begins a set of characters, and [[] is the character itself")
        })?;
        Ok(Matcher { pattern, hidden: text.starts_with('.') })
    }

    /// Returns the matching entries of a folder; none if the folder does not exist.
    fn entries(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let here = if folder == Path::new("") { Path::new(".") } else { folder };
        let unreadable = |error| Error::read(here, error);
        let entries = match fs::read_dir(here) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            // Some systems return another error for a file.
            Err(_) if here.is_file() => return Ok(Vec::new()),
            entries => entries.map_err(unreadable)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry.map_err(unreadable)?.file_name();
            if self.fits(&name) {
                found.push(folder.join(name));
            }
        }
        Ok(found)
    }

    /// Returns `true` if a name matches. Bytes of the name that are not UTF-8 become characters that only a wildcard matches.
    fn fits(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        name.starts_with('.') == self.hidden && self.pattern.matches_with(&name, MATCH)
    }
}
