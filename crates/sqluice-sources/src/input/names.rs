//! Names of inputs: finds the files that match a pattern, and the table name for a file.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::mem;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};

use sqluice_core::error::{Error, Result};

use super::compression::Compression;

/// The matching options, as in a shell. [`Matcher::fits`] decides about hidden names.
const MATCH: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Returns the name of a file without its folder, the extension of a compressed file, and one more extension: `x` for `dir/x.csv.gz`. The
/// dots at the start of a hidden file's name are removed, too. Returns `None` if nothing is left, if the name is not UTF-8, and for standard
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

/// Returns the stem of a file with the folders between `below` and the file: `2024_x` for `dir/2024/x.csv` below `dir`.
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

/// A file or folder that the user names, or members of an archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The path of the file, the folder or the archive.
    pub path: PathBuf,
    /// A name or a pattern of members of the archive, such as `dir/a.csv`; `None` for the whole file, folder or archive.
    pub within: Option<PathBuf>,
    /// `true` if a pattern matches other files or archives, too, so that an archive need not have a matching member.
    pub is_one_of_many: bool,
}

impl Named {
    /// Names a whole file, folder or archive.
    pub fn whole(path: impl Into<PathBuf>) -> Named {
        Named { path: path.into(), within: None, is_one_of_many: false }
    }

    /// Names members of the archive at `path`, by a name or a pattern.
    pub fn within(path: impl Into<PathBuf>, members: impl Into<PathBuf>) -> Named {
        Named { path: path.into(), within: Some(members.into()), is_one_of_many: false }
    }
}

/// Returns the files, folders and members of archives that match the patterns, by the rules of [`expand`]. A path may continue within an
/// archive: `data.zip/a.csv`, `data.zip/*.csv`. A wildcard matches an archive if the extension of an archive follows it: `*.zip/*.csv`.
///
/// # Errors
/// If a pattern is malformed or matches nothing, a folder can't be listed, or standard input (`-`) is named twice.
pub fn named<P: AsRef<Path>>(patterns: &[P]) -> Result<Vec<Named>> {
    let mut all = Vec::new();
    for pattern in patterns.iter().map(P::as_ref) {
        if fs::symlink_metadata(pattern).is_ok() {
            all.push(Named::whole(pattern));
        } else if is_pattern(pattern.as_os_str()) {
            let Matches { files, archives } = matches(pattern)?;
            let mut named: Vec<Named> = files.into_iter().map(Named::whole).chain(archives).collect();
            if named.is_empty() {
                return Err(no_match(pattern));
            }
            named.sort();
            let is_one_of_many = named.len() > 1;
            all.extend(named.into_iter().map(|named| Named { is_one_of_many, ..named }));
        } else {
            all.push(within_archive(pattern).unwrap_or_else(|| Named::whole(pattern)));
        }
    }
    let files: Vec<&Path> = all.iter().map(|named| named.path.as_path()).collect();
    refuse_stdin_twice(&files)?;
    Ok(all)
}

/// Returns the archive and the members that a path names, if a part of the path is a file. A slash after the file means all members.
fn within_archive(path: &Path) -> Option<Named> {
    let path: PathBuf = path.components().collect();
    let archive = path.ancestors().find(|ancestor| ancestor.is_file())?;
    Some(Named::within(archive, path.strip_prefix(archive).ok()?))
}

/// Returns `true` if a file has the extension of an archive, such as `.zip` or `.tar.gz`.
pub fn is_named_as_archive(path: &Path) -> bool {
    let of = |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match of(path).as_deref() {
        Some("zip" | "tar" | "tgz" | "taz" | "tbz" | "tbz2" | "txz" | "tzst") => true,
        Some(last) if Compression::has_extension(last) => {
            path.file_stem().is_some_and(|stem| of(Path::new(stem)).as_deref() == Some("tar"))
        }
        _ => false,
    }
}

/// Returns the files that match the patterns, in the order of the patterns; the matches of a pattern are sorted by name. A name with `*`, `?`
/// or `[` that is not the name of a file is a pattern; any other name is returned unchanged. As in a shell, a pattern only matches hidden
/// files if it begins with a dot. Folders are left out.
///
/// # Errors
/// If a pattern is malformed or matches nothing, a folder can't be listed, or standard input (`-`) is named twice.
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

/// Checks that the files have standard input (`-`) at most once, because it can be read only once.
///
/// # Errors
/// If standard input is named twice.
pub fn refuse_stdin_twice<P: AsRef<Path>>(files: &[P]) -> Result<()> {
    if files.iter().filter(|file| file.as_ref() == Path::new("-")).count() > 1 {
        return Err(Error::usage("standard input (-) is named twice").hint("it can be read only once"));
    }
    Ok(())
}

/// Returns `true` if a name may be a pattern. A name that is not UTF-8 is not a pattern.
fn is_pattern(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.contains(['*', '?', '[']))
}

/// The files and archives that match a pattern.
struct Matches {
    /// The files that match the whole pattern.
    files: Vec<PathBuf>,
    /// The archives that match a part of the pattern, with the rest of the pattern for their members.
    archives: Vec<Named>,
}

/// Returns the files that match a pattern, sorted by name.
fn meant_by(pattern: &Path) -> Result<Vec<PathBuf>> {
    let mut found = matches(pattern)?.files;
    found.sort();
    if found.is_empty() { Err(no_match(pattern)) } else { Ok(found) }
}

fn no_match(pattern: &Path) -> Error {
    Error::input(format!("no file matches {}", pattern.display()))
}

/// Returns the files and archives that match a pattern, in any order. Folders are left out.
fn matches(pattern: &Path) -> Result<Matches> {
    let (mut found, mut archives) = (vec![PathBuf::new()], Vec::new());
    let mut components = pattern.components();
    while let Some(component) = components.next() {
        let is_wild = match component {
            Component::Normal(name) if is_pattern(name) => {
                let matcher = Matcher::new(name, pattern)?;
                let folders = mem::take(&mut found);
                for folder in folders {
                    found.extend(matcher.entries(&folder)?);
                }
                true
            }
            _ => {
                found.iter_mut().for_each(|path| path.push(component));
                false
            }
        };
        let rest = components.as_path();
        if rest != Path::new("") && (!is_wild || is_named_as_archive(Path::new(component.as_os_str()))) {
            archives
                .extend(found.extract_if(.., |path| path.is_file()).map(|path| Named::within(path, rest)));
        }
    }
    found.retain(|path| fs::symlink_metadata(path).is_ok() && !path.is_dir());
    Ok(Matches { files: found, archives })
}

/// A pattern for names of members of an archive. As for files, a wildcard does not match `/`, and hidden names only match a pattern that
/// begins with a dot.
pub struct MemberPattern(Vec<PatternPart>);

enum PatternPart {
    Name(String),
    Wild(Matcher),
}

impl MemberPattern {
    /// Parses a pattern, such as `dir/*.csv`.
    ///
    /// # Errors
    /// If the pattern is malformed.
    pub fn new(pattern: &Path) -> Result<MemberPattern> {
        let parts = pattern.components().filter(|component| *component != Component::CurDir);
        let part = |component: Component<'_>| match component {
            Component::Normal(name) if is_pattern(name) => {
                Ok(PatternPart::Wild(Matcher::new(name, pattern)?))
            }
            name => Ok(PatternPart::Name(name.as_os_str().to_string_lossy().into_owned())),
        };
        parts.map(part).collect::<Result<_>>().map(MemberPattern)
    }

    /// Returns `true` if the pattern has wildcards.
    pub fn is_wild(&self) -> bool {
        self.0.iter().any(|part| matches!(part, PatternPart::Wild(_)))
    }

    /// Returns `true` if the pattern matches the name of a member.
    pub fn matches(&self, member: &str) -> bool {
        let names: Vec<&str> = member.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        names.len() == self.0.len()
            && self.0.iter().zip(names).all(|(part, name)| match part {
                PatternPart::Name(exact) => exact == name,
                PatternPart::Wild(matcher) => matcher.fits(OsStr::new(name)),
            })
    }
}

/// A pattern for the names in a folder.
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

    /// Returns the matching entries of a folder; none if the folder does not exist or is a file.
    fn entries(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let here = if folder == Path::new("") { Path::new(".") } else { folder };
        let unreadable = |error| Error::read(here, error);
        let entries = match fs::read_dir(here) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            // On some systems, listing a file as a folder has another kind of error.
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

    /// Returns `true` if a name matches. Bytes that are not UTF-8 only match a wildcard.
    fn fits(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        name.starts_with('.') == self.hidden && self.pattern.matches_with(&name, MATCH)
    }
}
