//! Lists the content of a folder, at any depth. Each entry of the list becomes a row.
//!
//! ```text
//!  names      one thread reads the folders; excluded folders are not entered
//!  sorted     by the bytes of the whole names, so a folder precedes its content
//!  metadata   all threads read mode, time and size, each thread for a section of the list
//! ```
//!
//! In memory, the list takes the bytes of the name and 40 bytes more for each file, folder and link.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_engine::output::TargetPath;
use sqluice_platform::identity::{self, Identity};
use sqluice_platform::paths;
use sqluice_platform::tree::{About, Folder, Kind};

use super::name::{shown, split};
use super::select::Selection;
use super::{FILE_BYTES_MAX, Layout, NAME_BYTES_MAX};

/// An entry of the folder that is not in the archive, although the selection takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Skipped {
    /// The name relative to the folder; bytes that are not UTF-8 are escaped.
    pub name: String,
    /// The reason.
    pub why: &'static str,
}

/// An entry that becomes a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    name_start: usize,
    name_bytes: u32,
    pub(crate) kind: Kind,
    /// The mode as `st_mode`.
    pub(crate) mode: u32,
    /// The modification time in seconds since 1970.
    pub(crate) mtime: i64,
    /// The number of bytes of a file.
    pub(crate) bytes: u64,
}

/// The files, folders and links below a folder, by name.
#[derive(Debug)]
pub(crate) struct List {
    /// The folder as the user gave it.
    pub(crate) path: PathBuf,
    pub(crate) root: Folder,
    /// All names, one after another.
    names: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) skipped: Vec<Skipped>,
}

/// The files that the run itself writes (the database and its sidecar files), which can't be packed.
struct Own {
    /// The name of the database relative to the folder, if it is inside the folder.
    relative: Option<Vec<u8>>,
    /// The identities of the database and its sidecar files, which may have other names.
    files: Vec<Identity>,
}

/// The suffixes of the database and its sidecar files.
const SIBLINGS: [&str; 4] = ["", "-journal", "-wal", "-shm"];

impl List {
    /// Lists the content of `folder` for a pack into `target`.
    ///
    /// # Errors
    /// If an entry can't be read or stored.
    pub(crate) fn new(
        folder: &Path,
        target: &Path,
        layout: Layout,
        selection: &Selection,
        threads: usize,
        cancel: &Cancel,
    ) -> Result<List> {
        // The folder that the user names may be a symbolic link.
        let root = Folder::open(folder).map_err(|error| Error::read(folder, error))?;
        let mut list = List {
            path: folder.to_owned(),
            root,
            names: Vec::new(),
            entries: Vec::new(),
            skipped: Vec::new(),
        };
        let own = Own::find(folder, target)?;
        let mut folders = vec![Vec::new()];
        while let Some(folder) = folders.pop() {
            cancel.check()?;
            list.enter(&folder, &mut folders, &own, selection)?;
        }
        list.keep_included(selection);
        list.leave_out_for(layout);
        let List { names, entries, .. } = &mut list;
        entries.sort_unstable_by(|one, other| one.name(names).cmp(other.name(names)));
        list.skipped.sort_by(|one, other| one.name.cmp(&other.name));
        list.look(&own, threads, cancel)?;
        list.refuse_too_large()?;
        Ok(list)
    }

    pub(crate) fn name(&self, entry: &Entry) -> &[u8] {
        entry.name(&self.names)
    }

    /// Returns the path of a file.
    pub(crate) fn path_of(&self, name: &[u8]) -> PathBuf {
        self.path.join(paths::from_bytes(name))
    }

    /// Returns the number of bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// Returns the number of bytes of all names.
    pub(crate) fn name_bytes(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.name_bytes)).sum()
    }

    /// Returns the first name that is not UTF-8; `None` if all names are UTF-8.
    pub(crate) fn odd_name(&self) -> Option<&[u8]> {
        self.entries.iter().map(|entry| self.name(entry)).find(|name| std::str::from_utf8(name).is_err())
    }

    /// Adds the names in `folder` to the list, except excluded ones, and its subfolders to `folders`.
    fn enter(
        &mut self,
        folder: &[u8],
        folders: &mut Vec<Vec<u8>>,
        own: &Own,
        selection: &Selection,
    ) -> Result<()> {
        let failed = |list: &List, error: io::Error| Error::read(&list.path_of(folder), error);
        let opened = self.root.folder(folder).map_err(|error| failed(self, error))?;
        for found in opened.names().map_err(|error| failed(self, error))? {
            let (component, kind) = found.map_err(|error| failed(self, error))?;
            let mut name = folder.to_vec();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend_from_slice(&component);
            if selection.excludes(&name) {
                continue;
            }
            if name.len() > NAME_BYTES_MAX {
                let message = format!(
                    "{} is longer than {NAME_BYTES_MAX} bytes, relative to {}",
                    shown(&name),
                    self.path.display()
                );
                return Err(Error::input(message)
                    .hint(message!["pack a folder further down, or leave it out: ", Setting::Exclude]));
            }
            match why_skipped(kind, &name, own) {
                Some(why) if selection.includes(&name) => self.skip(&name, why),
                Some(_) => {}
                None => self.push(&name, kind),
            }
            if kind == Kind::Folder {
                folders.push(name);
            }
        }
        Ok(())
    }

    fn skip(&mut self, name: &[u8], why: &'static str) {
        self.skipped.push(Skipped { name: shown(name), why });
    }

    fn push(&mut self, name: &[u8], kind: Kind) {
        let name_start = self.names.len();
        self.names.extend_from_slice(name);
        let name_bytes = name.len() as u32;
        self.entries.push(Entry { name_start, name_bytes, kind, mode: 0, mtime: 0, bytes: 0 });
    }

    /// Removes the entries that the selection does not include. A folder stays if an entry inside it does.
    fn keep_included(&mut self, selection: &Selection) {
        if !selection.has_includes() {
            return;
        }
        let List { names, entries, .. } = self;
        let is_kept = |entry: &Entry| selection.includes(entry.name(names));
        let mut leading = std::collections::BTreeSet::new();
        for entry in entries.iter().filter(|entry| is_kept(entry)) {
            let mut folder = split(entry.name(names)).0;
            while !folder.is_empty() && leading.insert(folder) {
                folder = split(folder).0;
            }
        }
        entries.retain(|entry| is_kept(entry) || leading.contains(entry.name(names)));
    }

    /// Removes the entries that `layout` can't store. Links among them are recorded as skipped, folders are not.
    fn leave_out_for(&mut self, layout: Layout) {
        if layout == Layout::Sqlar {
            return;
        }
        let List { names, entries, skipped, .. } = self;
        let links = entries.iter().filter(|entry| entry.kind == Kind::Link);
        skipped.extend(
            links.map(|link| Skipped { name: shown(link.name(names)), why: "kv holds no symbolic links" }),
        );
        entries.retain(|entry| entry.kind == Kind::File);
    }

    /// Reads the metadata of all entries, and removes the entries that turn out to be the run's own files.
    fn look(&mut self, own: &Own, threads: usize, cancel: &Cancel) -> Result<()> {
        let List { path, root, names, entries, skipped } = self;
        let (names, path, root) = (&*names, &*path, &*root);
        let share = entries.len().div_ceil(threads.max(1)).max(1);
        let looked: Vec<Result<Vec<usize>>> = std::thread::scope(|scope| {
            let look = |part| move || look_at(part, names, (root, path), own, cancel);
            let threads: Vec<_> = entries.chunks_mut(share).map(|part| scope.spawn(look(part))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(Error::target("a thread panicked"))))
                .collect()
        });
        let mut gone = Vec::new();
        for (part, own) in looked.into_iter().enumerate() {
            gone.extend(own?.into_iter().map(|at| part * share + at));
        }
        for &at in gone.iter().rev() {
            let entry = entries.remove(at);
            skipped.push(Skipped { name: shown(entry.name(names)), why: THE_DATABASE });
        }
        Ok(())
    }

    fn refuse_too_large(&self) -> Result<()> {
        match self.entries.iter().find(|entry| entry.bytes > FILE_BYTES_MAX) {
            None => Ok(()),
            Some(entry) => Err(too_large(&self.path_of(self.name(entry)), entry.bytes)),
        }
    }
}

/// Returns the error for a file that is too large for SQLite.
pub(crate) fn too_large(path: &Path, bytes: u64) -> Error {
    let message =
        format!("{} has {bytes} bytes, and SQLite holds at most 1,000,000,000 in a row", path.display());
    Error::input(message).hint(message!["leave it out: ", Setting::Exclude])
}

impl Entry {
    fn name<'n>(&self, names: &'n [u8]) -> &'n [u8] {
        &names[self.name_start..self.name_start + self.name_bytes as usize]
    }
}

const THE_DATABASE: &str = "it is the database itself";

/// Returns the reason why an entry gets no row, or `None` if it gets one.
fn why_skipped(kind: Kind, name: &[u8], own: &Own) -> Option<&'static str> {
    match kind {
        Kind::File => own.has_name(name).then_some(THE_DATABASE),
        Kind::Folder | Kind::Link => None,
        Kind::Fifo => Some("it is a FIFO"),
        Kind::Socket => Some("it is a socket"),
        Kind::Device => Some("it is a device"),
        Kind::Other => Some("it is not a file, folder or link"),
    }
}

/// Reads the metadata of some entries. Returns the entries that turn out to be the run's own files, such as the database under another
/// name.
fn look_at(
    entries: &mut [Entry],
    names: &[u8],
    (root, path): (&Folder, &Path),
    own: &Own,
    cancel: &Cancel,
) -> Result<Vec<usize>> {
    let mut folder = OpenFolder::default();
    let mut own_files = Vec::new();
    for (at, entry) in entries.iter_mut().enumerate() {
        if at.is_multiple_of(1024) {
            cancel.check()?;
        }
        let name = entry.name(names);
        let path = || path.join(paths::from_bytes(name));
        let failed = |error: io::Error| Error::read(&path(), error);
        let (folder, component) = folder.of(root, name).map_err(failed)?;
        let about = folder.about(component).map_err(failed)?;
        if about.kind != entry.kind {
            return Err(changed(&path()));
        }
        if entry.kind == Kind::File && own.files.contains(&about.identity) {
            own_files.push(at);
        }
        entry.know(&about);
    }
    Ok(own_files)
}

impl Entry {
    fn know(&mut self, about: &About) {
        (self.mode, self.mtime) = (about.mode, about.mtime);
        self.bytes = if self.kind == Kind::File { about.bytes } else { 0 };
    }
}

/// Returns the error for an entry whose kind has changed since it was listed.
pub(crate) fn changed(path: &Path) -> Error {
    Error::input(format!("{} has changed while the folder was read", path.display()))
        .hint("run again when no program writes to it")
}

/// The folder that was opened last, kept open because the next file of a [`List`], which is sorted by name, is often in the same folder.
#[derive(Debug, Default)]
pub(crate) struct OpenFolder {
    opened: Option<(Vec<u8>, Folder)>,
}

impl OpenFolder {
    /// Opens the folder of a name. Returns the folder and the last component of the name.
    pub(crate) fn of<'f, 'n>(
        &'f mut self,
        root: &'f Folder,
        name: &'n [u8],
    ) -> io::Result<(&'f Folder, &'n [u8])> {
        let (folder, component) = split(name);
        if folder.is_empty() {
            return Ok((root, component));
        }
        if self.opened.as_ref().is_none_or(|(opened, _)| opened != folder) {
            self.opened = Some((folder.to_vec(), root.folder(folder)?));
        }
        let opened = self.opened.as_ref().map_or(root, |(_, opened)| opened);
        Ok((opened, component))
    }
}

impl Own {
    fn find(folder: &Path, target: &Path) -> Result<Own> {
        let target = TargetPath::resolve(target)?;
        let canonical = |path: &Path| paths::canonical(path).map_err(|error| Error::read(path, error));
        let relative =
            canonical(&target.folder).ok().zip(Some(canonical(folder)?)).and_then(|(of_target, folder)| {
                let inside = of_target.strip_prefix(folder).ok()?.join(&target.file_name);
                Some(paths::bytes(inside.as_os_str()).into_owned())
            });
        let mut files = Vec::new();
        for suffix in SIBLINGS {
            match identity::of_path(&target.sibling(suffix)) {
                Ok(file) => files.push(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::read(&target.sibling(suffix), error)),
            }
        }
        Ok(Own { relative, files })
    }

    /// Returns `true` if a name is that of the database or of one of its sidecar and temporary files.
    fn has_name(&self, name: &[u8]) -> bool {
        let Some(own) = &self.relative else { return false };
        let ((folder, own_name), (of_name, component)) = (split(own), split(name));
        if folder != of_name {
            return false;
        }
        let temporary = [b".", own_name, b".sqluice-tmp-"].concat();
        let suffix = component.strip_prefix(own_name);
        component.starts_with(&temporary)
            || suffix.is_some_and(|suffix| SIBLINGS.iter().any(|known| known.as_bytes() == suffix))
    }
}
