//! What is in a folder, and below: the list that rows are made of.
//!
//! ```text
//!  names      one thread reads the folders; what is excluded is not entered
//!  sorted     by the bytes of the whole names, so a folder precedes what is in it
//!  looked at  all threads ask for mode, time and size: a part of the list each
//! ```
//!
//! Memory is the list: a name and 40 bytes for each file, folder and link.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::Serialize;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_engine::output;

use super::name::{shown, split};
use super::select::Selection;
use super::{FILE_BYTES_MAX, Layout, NAME_BYTES_MAX};

/// Something that is in the folder and not in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Skipped {
    /// Its name, relative to the folder; what is no UTF-8 in it is escaped.
    pub name: String,
    /// Why.
    pub why: &'static str,
}

/// What becomes a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    name_start: usize,
    name_bytes: u32,
    pub(crate) file_type: FileType,
    /// As `st_mode`.
    pub(crate) mode: u32,
    /// Seconds since 1970.
    pub(crate) mtime: i64,
    /// Bytes, of a file.
    pub(crate) bytes: u64,
}

/// The files, folders and links below a folder, by name.
#[derive(Debug)]
pub(crate) struct List {
    /// The folder, as the user named it.
    pub(crate) path: PathBuf,
    pub(crate) root: OwnedFd,
    /// All names, one after another.
    names: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) skipped: Vec<Skipped>,
}

/// Files that the run itself writes: they can't be read while they are.
struct Own {
    /// The database's name relative to the folder, if it is inside.
    relative: Option<Vec<u8>>,
    /// Device and inode of the database and what belongs to it: it may have other names.
    files: Vec<(u64, u64)>,
}

const TO_ENTER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What SQLite calls the files beside a database.
const SIBLINGS: [&str; 4] = ["", "-journal", "-wal", "-shm"];

impl List {
    /// Walks `folder`, which is packed into `target`.
    ///
    /// # Errors
    /// When something in it can't be read, or stored.
    pub(crate) fn new(
        folder: &Path,
        target: &Path,
        layout: Layout,
        selection: &Selection,
        threads: usize,
        cancel: &Cancel,
    ) -> Result<List> {
        // What the user names may be a link, and what is no folder is not waited for.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(folder, flags, Mode::empty());
        let root = root.map_err(|error| Error::read(folder, error.into()))?;
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

    /// Where a file is.
    pub(crate) fn path_of(&self, name: &[u8]) -> PathBuf {
        self.path.join(std::ffi::OsStr::from_bytes(name))
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// Bytes of all names.
    pub(crate) fn name_bytes(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.name_bytes)).sum()
    }

    /// The first name that is no UTF-8.
    pub(crate) fn odd_name(&self) -> Option<&[u8]> {
        self.entries.iter().map(|entry| self.name(entry)).find(|name| std::str::from_utf8(name).is_err())
    }

    /// Reads the names in a folder.
    fn enter(
        &mut self,
        folder: &[u8],
        folders: &mut Vec<Vec<u8>>,
        own: &Own,
        selection: &Selection,
    ) -> Result<()> {
        let failed = |list: &List, error: Errno| Error::read(&list.path_of(folder), error.into());
        let opened = open_folder(&self.root, folder).map_err(|error| failed(self, error))?;
        for found in Dir::read_from(&opened).map_err(|error| failed(self, error))? {
            let found = found.map_err(|error| failed(self, error))?;
            let component = found.file_name().to_bytes();
            if component == b"." || component == b".." {
                continue;
            }
            let mut name = folder.to_vec();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend_from_slice(component);
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
            let file_type = match found.file_type() {
                FileType::Unknown => {
                    let about = rustix::fs::statat(&opened, found.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                    FileType::from_raw_mode(about.map_err(|error| failed(self, error))?.st_mode)
                }
                known => known,
            };
            match why_skipped(file_type, &name, own) {
                Some(why) if selection.includes(&name) => self.skip(&name, why),
                Some(_) => {}
                None => self.push(&name, file_type),
            }
            if file_type == FileType::Directory {
                folders.push(name);
            }
        }
        Ok(())
    }

    fn skip(&mut self, name: &[u8], why: &'static str) {
        self.skipped.push(Skipped { name: shown(name), why });
    }

    fn push(&mut self, name: &[u8], file_type: FileType) {
        let name_start = self.names.len();
        self.names.extend_from_slice(name);
        let name_bytes = name.len() as u32;
        self.entries.push(Entry { name_start, name_bytes, file_type, mode: 0, mtime: 0, bytes: 0 });
    }

    /// Of folders that were not asked for, keeps those that lead to something.
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

    /// Leaves out what a layout has no rows for.
    fn leave_out_for(&mut self, layout: Layout) {
        if layout == Layout::Sqlar {
            return;
        }
        let List { names, entries, skipped, .. } = self;
        let links = entries.iter().filter(|entry| entry.file_type == FileType::Symlink);
        skipped.extend(
            links.map(|link| Skipped { name: shown(link.name(names)), why: "kv holds no symbolic links" }),
        );
        entries.retain(|entry| entry.file_type == FileType::RegularFile);
    }

    /// Asks for what is to be known of each entry.
    fn look(&mut self, own: &Own, threads: usize, cancel: &Cancel) -> Result<()> {
        let List { path, root, names, entries, skipped } = self;
        let (names, path, root) = (&*names, &*path, root.as_fd());
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

/// The error for a file that SQLite can't hold.
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

/// Why something gets no row.
fn why_skipped(file_type: FileType, name: &[u8], own: &Own) -> Option<&'static str> {
    match file_type {
        FileType::RegularFile => own.has_name(name).then_some(THE_DATABASE),
        FileType::Directory | FileType::Symlink => None,
        FileType::Fifo => Some("it is a FIFO"),
        FileType::Socket => Some("it is a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("it is a device"),
        _ => Some("it is not a file, folder or link"),
    }
}

/// Asks for what is to be known of some entries; returns which of them are the run's own files.
fn look_at(
    entries: &mut [Entry],
    names: &[u8],
    (root, path): (BorrowedFd<'_>, &Path),
    own: &Own,
    cancel: &Cancel,
) -> Result<Vec<usize>> {
    let mut folder = Folder::default();
    let mut own_files = Vec::new();
    for (at, entry) in entries.iter_mut().enumerate() {
        if at.is_multiple_of(1024) {
            cancel.check()?;
        }
        let name = entry.name(names);
        let failed = |error: Errno| Error::read(&path.join(std::ffi::OsStr::from_bytes(name)), error.into());
        let (folder, component) = folder.of(root, name).map_err(failed)?;
        let about = rustix::fs::statat(folder, component, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        if FileType::from_raw_mode(about.st_mode) != entry.file_type {
            return Err(changed(&path.join(std::ffi::OsStr::from_bytes(name))));
        }
        if entry.file_type == FileType::RegularFile && own.has_file(&about) {
            own_files.push(at);
        }
        entry.know(&about);
    }
    Ok(own_files)
}

impl Entry {
    #[allow(clippy::unnecessary_cast, reason = "these have other types on other systems")]
    fn know(&mut self, about: &Stat) {
        (self.mode, self.mtime) = (about.st_mode as u32, about.st_mtime as i64);
        self.bytes = if self.file_type == FileType::RegularFile { about.st_size as u64 } else { 0 };
    }
}

/// The error for what is something else than it was when its name was read.
pub(crate) fn changed(path: &Path) -> Error {
    Error::input(format!("{} has changed while the folder was read", path.display()))
        .hint("run again when no program writes to it")
}

/// The folder that was used last: files of one folder follow each other.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    opened: Option<(Vec<u8>, OwnedFd)>,
}

impl Folder {
    /// The folder of a name, opened, and its last component.
    pub(crate) fn of<'f, 'n>(
        &'f mut self,
        root: BorrowedFd<'f>,
        name: &'n [u8],
    ) -> Result<(BorrowedFd<'f>, &'n [u8]), Errno> {
        let (folder, component) = split(name);
        if folder.is_empty() {
            return Ok((root, component));
        }
        if self.opened.as_ref().is_none_or(|(opened, _)| opened != folder) {
            self.opened = Some((folder.to_vec(), open_folder(root, folder)?));
        }
        let opened = self.opened.as_ref().map_or(root, |(_, opened)| opened.as_fd());
        Ok((opened, component))
    }
}

/// Opens a folder below another.
fn open_folder(root: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let name = if name.is_empty() { b"." } else { name };
    rustix::fs::openat(root, name, TO_ENTER, Mode::empty())
}

impl Own {
    fn find(folder: &Path, target: &Path) -> Result<Own> {
        let place = output::place(target)?;
        let canonical = |path: &Path| fs::canonicalize(path).map_err(|error| Error::read(path, error));
        let relative =
            canonical(&place.folder).ok().zip(Some(canonical(folder)?)).and_then(|(of_target, folder)| {
                let inside = of_target.strip_prefix(folder).ok()?.join(&place.file_name);
                Some(inside.as_os_str().as_bytes().to_vec())
            });
        let mut files = Vec::new();
        for suffix in SIBLINGS {
            match fs::metadata(place.sibling(suffix)) {
                Ok(about) => files.push((about.dev(), about.ino())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::read(&place.sibling(suffix), error)),
            }
        }
        Ok(Own { relative, files })
    }

    /// Whether a name is that of the database, or of a file that exists while it is written.
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

    #[allow(clippy::unnecessary_cast, reason = "these have other types on other systems")]
    fn has_file(&self, about: &Stat) -> bool {
        self.files.contains(&(about.st_dev as u64, about.st_ino as u64))
    }
}
