//! Refuses a load that would write to one of its inputs, or to one file twice, before anything is written. Files are compared by identity,
//! not by name.

use std::fs;
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_engine::output::TargetPath;
use sqluice_platform::identity::{self, Identity};
use sqluice_platform::paths::canonical;
use sqluice_platform::streams::{self, Stream};

use super::options::Load;

/// The suffixes of the sidecar files of a database.
const SIBLINGS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// The file that a path leads to. Two values are equal if and only if the paths lead to the same file.
#[derive(PartialEq, Eq)]
enum FileMeant {
    /// A file that exists.
    Existing(Identity),
    /// A file that does not exist yet, by its full path.
    New(PathBuf),
}

/// Refuses to overwrite one of `inputs` or the schema file, or to write two outputs to one file.
pub(crate) fn refuse_shared<'p>(load: &Load, inputs: impl IntoIterator<Item = &'p Path>) -> Result<()> {
    let mut read: Vec<FileMeant> = inputs.into_iter().filter_map(meant).collect();
    read.extend(load.schema.iter().filter_map(|schema| meant(&schema.file)));
    let target = meant(&load.target);
    if target.as_ref().is_some_and(|target| read.contains(target)) {
        let message = format!("{} is read by this load, and can't be its database", load.target.display());
        return Err(Error::usage(message).hint("name the database first, then the files"));
    }
    let Some((path, Some(reject))) = load.reject.as_ref().map(|path| (path, meant(path))) else {
        return Ok(());
    };
    let is = if read.contains(&reject) {
        "is read by this load"
    } else if target.as_ref() == Some(&reject) {
        "is the database"
    } else if siblings(&load.target).any(|sibling| meant(&sibling).as_ref() == Some(&reject)) {
        "is a sidecar file of the database"
    } else {
        return Ok(());
    };
    let message = format!("{} {is}, and can't have the rejected rows", path.display());
    Err(Error::usage(message).hint(message!["name another file: ", Setting::Reject.to("FILE")]))
}

/// The files that a load writes, and the sidecar files of its database.
pub(crate) struct Outputs(Vec<(FileMeant, &'static str)>);

impl Outputs {
    /// Returns the outputs of a load.
    pub(crate) fn of(load: &Load) -> Outputs {
        let target = [(load.target.clone(), "the database of this load")];
        let beside = siblings(&load.target).map(|path| (path, "a file of the database of this load"));
        let reject = load.reject.iter().map(|path| (path.clone(), "the file of the rejected rows"));
        let all = target.into_iter().chain(beside).chain(reject);
        Outputs(all.filter_map(|(path, why)| Some((meant(&path)?, why))).collect())
    }

    /// If the load writes the file at `path`, returns the reason why it can't be an input; otherwise `None`.
    pub(crate) fn why_not(&self, path: &Path) -> Option<&'static str> {
        let file = meant(path)?;
        self.0.iter().find(|(output, _)| *output == file).map(|(_, why)| *why)
    }
}

/// Returns the paths of the sidecar files of the database that `target` means.
fn siblings(target: &Path) -> impl Iterator<Item = PathBuf> {
    let place = TargetPath::resolve(target).ok();
    SIBLINGS.iter().filter_map(move |suffix| Some(place.as_ref()?.sibling(suffix)))
}

/// Returns the file that a path leads to. Returns `None` if writing there replaces no file: for a pipe, a terminal, or a path in a
/// missing folder.
fn meant(path: &Path) -> Option<FileMeant> {
    if path == Path::new("-") {
        let file = streams::standard_input().ok()?;
        let is_file = matches!(streams::kind(&file), Ok(Stream::File(_)));
        return Some(FileMeant::Existing(identity::of_file(&file).ok().filter(|_| is_file)?));
    }
    if let Ok(about) = fs::metadata(path) {
        return Some(FileMeant::Existing(identity::of_path(path).ok().filter(|_| about.is_file())?));
    }
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    Some(FileMeant::New(canonical(folder).ok()?.join(path.file_name()?)))
}

#[cfg(test)]
mod tests {
    use sqluice_testkit::system::symlink;

    use super::*;

    #[test]
    #[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
    fn input_reject_file_and_database_may_not_be_one_file_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.csv"), "a\n1\n").unwrap();
        fs::hard_link(at("a.csv"), at("hard.csv")).unwrap();
        symlink("a.csv", at("soft.csv"));
        symlink("below/far.db", at("link.db"));
        fs::create_dir(at("below")).unwrap();
        let refused = |target: &str, reject: &str| {
            let load = Load { reject: Some(at(reject)), ..Load::new(at(target), [at("a.csv")]) };
            refuse_shared(&load, load.files.iter().map(PathBuf::as_path)).is_err()
        };
        for name in ["a.csv", "hard.csv", "soft.csv", "below/../a.csv"] {
            assert!(refused("x.db", name), "rejects to {name}");
            assert!(refused(name, "r.csv"), "database {name}");
        }
        for name in ["x.db", "below/../x.db", "x.db-journal", "x.db-wal", "x.db-shm"] {
            assert!(refused("x.db", name), "rejects to {name}");
        }
        assert!(refused("link.db", "below/far.db-wal"), "beside what the link means");
        assert!(!refused("x.db", "r.csv") && !refused("x.db", "below/a.csv") && !refused("x.db", "no/r.csv"));
    }

    #[test]
    #[cfg_attr(windows, ignore = "Windows has no /dev/null")]
    fn a_terminal_or_a_null_device_may_be_given_several_times() {
        let load = Load { reject: Some("/dev/null".into()), ..Load::new("x.db", ["/dev/null"]) };
        assert!(refuse_shared(&load, load.files.iter().map(PathBuf::as_path)).is_ok());
    }
}
