//! `unpack`: restores the rows of an archive as files.
//!
//! ```text
//!  ranges of rowids ──> threads, a connection each ──> files, and their folders as needed
//!                                                         │ links, modes and times of folders: remembered
//!                                                         └─> at the end: links, then modes and times of folders, the deepest first
//! ```
//!
//! A row that can't be restored, or whose file would be outside of the folder, is refused and reported by name; the other rows are
//! restored. No file is created through a symbolic link of the archive: links are created last, when all files exist.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rusqlite::Connection;
use serde::Serialize;
use sqluice_core::error::{Error, Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::setters;
use sqluice_engine::plan::path_as_text;
use sqluice_platform::tree::Folder;
use sqluice_stores::deflate::{InflateError, Inflater};

use super::contradiction;
use super::name::{SafeName, shown};
use super::restore::{About, Below, EXISTS, Failed, of_io};
use super::rows::{Archive, BadItem, Item};
use super::{Kind, Layout, Selection};

/// The unpacking of an archive: the database, the folder and the options.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unpack {
    /// The database.
    pub database: PathBuf,
    /// The folder; it is created if it does not exist.
    pub folder: PathBuf,
    /// The table; `None` for `sqlar` if it exists, otherwise `kv`.
    pub layout: Option<Layout>,
    /// The files to unpack.
    pub selection: Selection,
    /// `true` if existing files and links are replaced. Existing folders are always used.
    pub overwrite: bool,
    /// `true` if files are spread over nested folders of at most 100 entries each. The digits of the rowid are taken two at a time, and
    /// each pair but the last names a folder. The last pair names the file if the key of the row is its rowid; otherwise the key names
    /// it. In a table without rowids, each row has the digits of 0.
    pub tree: bool,
    /// The number of threads; `None` for one per core.
    pub threads: Option<usize>,
}

/// The report of an unpacked archive.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct UnpackReport {
    /// The folder with the restored files. A run always sets it.
    #[serde(serialize_with = "path_as_text")]
    pub folder: Option<PathBuf>,
    /// The table.
    pub layout: Layout,
    /// The number of restored files.
    pub files: u64,
    /// The number of folders that have rows of their own.
    pub folders: u64,
    /// The number of symbolic links.
    pub links: u64,
    /// The number of bytes of all files.
    pub file_bytes: u64,
    /// The number of refused rows.
    pub refused: u64,
    /// The number of rows refused because a file or link of their name exists, which `overwrite` would replace.
    pub existing: u64,
    /// The first thousand refused rows with the reasons, in the order of their rowids.
    pub refusals: Vec<Refusal>,
    /// The number of threads.
    pub threads: usize,
    /// The duration in seconds.
    pub seconds: f64,
}

/// A row that was not restored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// The name of the row; bytes that are not UTF-8 are escaped.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// The maximum number of refusals that are reported individually.
const REFUSALS_MAX: usize = 1000;

/// The number of ranges of rowids per thread: many small ranges, so that no thread works alone for long at the end.
const RANGES_PER_THREAD: i128 = 64;

/// The minimum number of rows of a range.
const RANGE_ROWS_MIN: i128 = 128;

impl TakesSettings for Unpack {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Kv => self.layout = Some(Layout::given(value)?),
            Setting::Include | Setting::Exclude => return self.selection.set(setting, value),
            Setting::Overwrite => self.overwrite = value.to()?,
            Setting::Tree => self.tree = value.to()?,
            Setting::Threads => self.threads = Some(value.to()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

setters! { Unpack:
    /// Sets the table to read; `None` for `sqlar` if it exists, otherwise `kv`.
    layout(layout: impl Into<Option<Layout>>) = layout.into();
    /// Unpacks only the files that `selection` selects.
    selection(selection: Selection) = selection;
    /// Replaces existing files and links.
    overwrite(overwrite: bool) = overwrite;
    /// Spreads the files over folders of at most 100 entries.
    tree(tree: bool) = tree;
    /// Sets the number of threads; `None` for one per core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
}

impl Unpack {
    /// Creates an `Unpack` of all files of `database` into `folder`.
    pub fn new(database: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Unpack {
        Unpack {
            database: database.into(),
            folder: folder.into(),
            layout: None,
            selection: Selection::default(),
            overwrite: false,
            tree: false,
            threads: None,
        }
    }

    /// Unpacks the archive without progress reports. Refused rows are in the report.
    ///
    /// # Errors
    /// As [`Unpack::run_with`].
    pub fn run(&self) -> Result<UnpackReport> {
        self.run_with(&Context::default())
    }

    /// Unpacks the archive. Reports progress to `context`, and stops if `context` is canceled. Refused rows are in the report.
    ///
    /// # Errors
    /// If the database has no archive or can't be read, the folder can't be created, or the disk is full or fails. Files restored before
    /// the error stay.
    pub fn run_with(&self, context: &Context<'_>) -> Result<UnpackReport> {
        context.cancel.check()?;
        let started = Instant::now();
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.threads.unwrap_or_else(cores).max(1);
        let (archive, connections) = Archive::open(&self.database, self.layout, threads)?;
        let root = self.make_folder()?;
        context.progress.phase("unpack", Some(Amount { rows: archive.rows, bytes: 0 }));
        let run = UnpackRun {
            unpack: self,
            archive: &archive,
            root: &root,
            ranges: Mutex::new(Ranges::new(archive.rowids, threads)),
            // Two digits per level, and at least three levels, like the tree that SQLite's test program kvtest makes.
            tree_steps: archive.rowids.map_or(3, |(_, last)| last.max(1).ilog(100) as usize + 1).max(3),
            context: &context.child(),
        };
        let mut connections = connections;
        let mut restored = run.all(&mut connections)?;
        run.links(&connections[0], &mut restored)?;
        run.folders(&mut restored)?;
        let refusals = restored.refusals.into_values().flatten();
        Ok(UnpackReport {
            folder: Some(self.folder.clone()),
            layout: archive.layout,
            files: restored.files,
            folders: restored.made_folders,
            links: restored.made_links,
            file_bytes: restored.file_bytes,
            refused: restored.refused,
            existing: restored.existing,
            refusals: refusals.take(REFUSALS_MAX).collect(),
            threads,
            seconds: started.elapsed().as_secs_f64(),
        })
    }

    fn make_folder(&self) -> Result<Folder> {
        let made = fs::create_dir_all(&self.folder).and_then(|()| Folder::open(&self.folder));
        made.map_err(|error| {
            let message = format!("cannot make the folder {}", self.folder.display());
            sqluice_engine::output::explained(Error::target(message).about(&self.folder), error)
        })
    }
}

/// The ranges of rowids that no thread has taken yet.
struct Ranges {
    next: i128,
    last: i128,
    step: i128,
}

impl Ranges {
    fn new(rowids: Option<(i64, i64)>, threads: usize) -> Ranges {
        let (first, last) = rowids.map_or((0, -1), |(first, last)| (i128::from(first), i128::from(last)));
        let step = ((last - first) / (threads as i128 * RANGES_PER_THREAD)).max(RANGE_ROWS_MIN);
        Ranges { next: first, last, step }
    }

    fn next(&mut self) -> Option<(i64, i64)> {
        if self.next > self.last {
            return None;
        }
        let (first, last) = (self.next, (self.next + self.step - 1).min(self.last));
        self.next = last + 1;
        Some((first as i64, last as i64))
    }
}

/// The state of a run that all threads share.
struct UnpackRun<'r> {
    unpack: &'r Unpack,
    archive: &'r Archive,
    root: &'r Folder,
    ranges: Mutex<Ranges>,
    tree_steps: usize,
    context: &'r Context<'r>,
}

/// The results of a thread, and its links and folders, which are finished at the end of the run.
#[derive(Default)]
struct Restored {
    files: u64,
    file_bytes: u64,
    made_folders: u64,
    made_links: u64,
    refused: u64,
    existing: u64,
    /// The first refusals, by the rowids of their rows.
    refusals: BTreeMap<i64, Vec<Refusal>>,
    links: Vec<(i64, SafeName, Vec<u8>, Option<i64>)>,
    folders: Vec<(i64, SafeName, About)>,
}

impl Restored {
    fn refuse(&mut self, rowid: i64, name: String, why: String) {
        self.refused += 1;
        self.refusals.entry(rowid).or_default().push(Refusal { name, why });
        if self.refusals.len() > REFUSALS_MAX {
            self.refusals.pop_last();
        }
    }

    fn add(&mut self, other: Restored) {
        self.files += other.files;
        self.file_bytes += other.file_bytes;
        self.refused += other.refused;
        self.existing += other.existing;
        for (rowid, refusals) in other.refusals {
            self.refusals.entry(rowid).or_default().extend(refusals);
        }
        self.links.extend(other.links);
        self.folders.extend(other.folders);
    }

    /// Records the result of a row: restored, refused, or an error that ends the run. Returns `true` if the row was restored.
    fn note(&mut self, rowid: i64, name: &[u8], done: Result<(), Failed>) -> Result<bool> {
        match done {
            Ok(()) => Ok(true),
            Err(Failed::Refused(why) | Failed::InTheWay(why)) => {
                self.refuse(rowid, shown(name), why);
                Ok(false)
            }
            Err(Failed::Exists) => {
                self.existing += 1;
                self.refuse(rowid, shown(name), EXISTS.to_owned());
                Ok(false)
            }
            Err(Failed::Ends(error)) => Err(Failed::ends(error, &shown(name))),
        }
    }
}

impl UnpackRun<'_> {
    /// Restores all files, and the folders that contain them.
    fn all(&self, connections: &mut [Connection]) -> Result<Restored> {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                connections.iter_mut().map(|connection| scope.spawn(move || self.one(connection))).collect();
            let mut restored = Restored::default();
            let mut failed = None;
            for thread in threads {
                match thread.join().unwrap_or_else(|_| Err(Error::target("a thread panicked"))) {
                    Ok(part) => restored.add(part),
                    // The first error has interrupted the other threads: their interruptions are only consequences.
                    Err(error)
                        if failed.is_none()
                            || error.kind() != sqluice_core::error::ErrorKind::Interrupted =>
                    {
                        failed = Some(error);
                    }
                    Err(_) => {}
                }
            }
            match failed {
                None => Ok(restored),
                Some(error) => Err(error),
            }
        })
    }

    /// Restores ranges of rows on one thread, until no range is left.
    fn one(&self, connection: &Connection) -> Result<Restored> {
        let mut thread = Thread {
            run: self,
            below: Below::new(self.root, self.unpack.overwrite),
            inflater: None,
            restored: Restored::default(),
        };
        let next = || self.ranges.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(range) = next() {
            let mut rows = 0;
            let read = self.archive.read(connection, range, |rowid, item| {
                self.context.cancel.check()?;
                rows += 1;
                thread.take(connection, rowid, item)
            });
            if let Err(error) = read {
                self.context.cancel.cancel();
                return Err(error);
            }
            self.context.progress.advance(Amount { rows, bytes: 0 });
        }
        Ok(thread.restored)
    }

    /// Creates the links, after all files.
    fn links(&self, connection: &Connection, restored: &mut Restored) -> Result<()> {
        let mut below = Below::new(self.root, self.unpack.overwrite);
        let mut links = std::mem::take(&mut restored.links);
        links.sort_unstable_by_key(|(rowid, ..)| *rowid);
        for (rowid, name, target, mtime) in links {
            self.context.cancel.check()?;
            let made = below.link(&name, &target, mtime);
            let made = self.explained(connection, &name, Kind::Link, made)?;
            restored.made_links += u64::from(restored.note(rowid, name.bytes(), made)?);
        }
        Ok(())
    }

    /// If a row failed because of an object in its way, and another row of the archive contradicts it, returns a reason that names this
    /// other row. Other results are returned unchanged.
    fn explained(
        &self,
        connection: &Connection,
        name: &SafeName,
        kind: Kind,
        done: Result<(), Failed>,
    ) -> Result<Result<(), Failed>> {
        // In a tree, file names are not the names of rows, so no row can be named as the one that made the object.
        if self.unpack.tree || !matches!(done, Err(Failed::InTheWay(_) | Failed::Exists)) {
            return Ok(done);
        }
        let selection = &self.unpack.selection;
        let other = contradiction::with_another_row((self.archive, connection), selection, name, kind)?;
        Ok(other.map_or(done, |why| Err(Failed::Refused(why))))
    }

    /// Sets the modes and times of folders, from the deepest folders on.
    fn folders(&self, restored: &mut Restored) -> Result<()> {
        let mut below = Below::new(self.root, self.unpack.overwrite);
        let mut folders = std::mem::take(&mut restored.folders);
        folders.sort_unstable_by(|(_, one, _), (_, other, _)| other.cmp(one));
        for (rowid, name, about) in folders {
            self.context.cancel.check()?;
            let done = below.finish_folder(&name, about);
            restored.made_folders += u64::from(restored.note(rowid, name.bytes(), done)?);
        }
        Ok(())
    }

    /// Returns the file name for a row with the name `name`.
    fn name_of(&self, rowid: i64, name: &[u8]) -> Result<SafeName, String> {
        if !self.unpack.tree {
            return SafeName::new(name).map_err(str::to_owned);
        }
        let by_key = name == rowid.to_string().as_bytes();
        let Ok(mut number) = u64::try_from(rowid) else {
            return Err("folders by rowid need a rowid of at least 0".to_owned());
        };
        let mut steps: Vec<String> = Vec::new();
        for _ in 0..self.tree_steps {
            steps.push(format!("{:02}", number % 100));
            number /= 100;
        }
        steps.reverse();
        let mut path = steps.join("/").into_bytes();
        if !by_key {
            if name.contains(&b'/') {
                return Err("folders by rowid need a name without /".to_owned());
            }
            path.truncate(path.len() - 2);
            path.extend_from_slice(name);
        }
        SafeName::new(&path).map_err(str::to_owned)
    }
}

/// The state of one thread that restores rows.
struct Thread<'r> {
    run: &'r UnpackRun<'r>,
    below: Below<'r>,
    inflater: Option<Inflater>,
    restored: Restored,
}

impl Thread<'_> {
    /// Restores a file or a folder. Links, and modes and times of folders, are remembered for the end of the run.
    fn take(&mut self, connection: &Connection, rowid: i64, item: Result<Item<'_>, BadItem>) -> Result<()> {
        let Thread { run, below, inflater, restored } = self;
        let item = match item {
            Ok(item) => item,
            Err(BadItem { name, why }) => {
                restored.refuse(rowid, name, why);
                return Ok(());
            }
        };
        let name = match run.name_of(rowid, &item.name) {
            Ok(name) => name,
            Err(why) => {
                restored.refuse(rowid, shown(&item.name), why);
                return Ok(());
            }
        };
        if !run.unpack.selection.takes(name.bytes()) {
            return Ok(());
        }
        let about = About { mode: item.mode, mtime: item.mtime };
        match item.kind {
            Kind::Link => restored.links.push((rowid, name, item.data.to_vec(), item.mtime)),
            Kind::Folder => {
                let made = run.explained(connection, &name, Kind::Folder, below.folder(&name))?;
                if restored.note(rowid, &item.name, made)? {
                    restored.folders.push((rowid, name, about));
                }
            }
            Kind::File => {
                let write = |file: &mut File| write_content(&item, inflater, file);
                let made = below.file(&name, about, write);
                let made = run.explained(connection, &name, Kind::File, made)?;
                if restored.note(rowid, &item.name, made)? {
                    restored.files += 1;
                    restored.file_bytes += item.bytes;
                }
            }
        }
        Ok(())
    }
}

/// Writes the content of a file.
pub(super) fn write_content(
    item: &Item<'_>,
    inflater: &mut Option<Inflater>,
    to: &mut dyn Write,
) -> Result<(), Failed> {
    if item.data.len() as u64 == item.bytes {
        return to.write_all(item.data).map_err(of_io);
    }
    let inflater = inflater.get_or_insert_with(Inflater::default);
    inflater.inflate(item.data, item.bytes, to).map_err(|error| match error {
        InflateError::Wrong(why) => Failed::Refused(why),
        InflateError::Write(error) => of_io(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_of_the_threads_cover_every_rowid_once() {
        for (rowids, threads) in [
            (None, 1),
            (Some((1, 1)), 2),
            (Some((-5, 1_000_000)), 3),
            (Some((i64::MIN, i64::MAX)), 2),
            (Some((i64::MAX, i64::MAX)), 2),
        ] {
            let mut ranges = Ranges::new(rowids, threads);
            let mut next = rowids.map(|(first, _)| i128::from(first));
            let mut count = 0;
            while let Some((first, last)) = ranges.next() {
                assert_eq!(Some(i128::from(first)), next);
                assert!(first <= last);
                next = Some(i128::from(last) + 1);
                count += 1;
            }
            assert_eq!(next, rowids.map(|(_, last)| i128::from(last) + 1));
            assert!(count <= threads * 130);
        }
    }
}
