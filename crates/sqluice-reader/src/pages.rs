//! Pages of an existing file, for any number of threads.
//!
//! ```text
//!  a page that follows no window     one read of 16 KiB, or of a page if it is larger
//!  the bytes after a window          a read of twice the window's size, up to 256 KiB
//! ```
//!
//! A tree whose leaves lie in order is therefore read in large windows, level by level. A tree that grew by insertion, with its leaves
//! anywhere in the file, is read in small windows.
//!
//! Windows begin and end at page boundaries and are aligned in memory for direct I/O, which other users of the file may have turned on.
//!
//! Pages with a frame in the write-ahead log are read through SQLite, one at a time.

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use sqluice_format::aligned::AlignedBuffer;
use sqluice_format::check::ReadPage;
use sqluice_format::scan::{Damage, ScanError};

use rusqlite::Connection;
use sqluice_core::error::{DamagedTree, Error, Result, Setting, message};
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_platform::positioned::Positioned;

use crate::at_rest::AtRest;
use crate::connection::unreadable;
use crate::dbpage;
use crate::descriptor::Descriptor;

/// The maximum size of a read: a multiple of every page size.
const WINDOW_BYTES_MAX: u64 = 256 << 10;

/// The minimum size of a read.
const WINDOW_BYTES_MIN: u64 = 16 << 10;

/// The number of windows that a reader keeps: one for each level of a deep tree, and one for overflow pages.
const WINDOWS: usize = 8;

/// A file that does not change while it is read, shared by all threads that read its pages.
#[derive(Clone, Copy)]
pub struct FileView<'a> {
    /// The file that is read.
    pub file: ViewedFile<'a>,
    /// The pages in the write-ahead log, if any.
    pub log: Option<Log<'a>>,
    /// The path as named by the user.
    pub path: &'a Path,
    /// The size of all pages.
    pub file_bytes: u64,
    /// The maximum reading time; `None` for no limit.
    pub limit: Option<Limit>,
    /// The check that shows whether the file has changed, if the file is read without locks.
    pub at_rest: Option<&'a AtRest>,
    /// The receiver of the number of bytes that are read.
    pub progress: &'a dyn Progress,
    /// A flag that ends the reading.
    pub cancel: &'a Cancel,
}

/// A file that is read.
#[derive(Clone, Copy, Debug)]
pub enum ViewedFile<'a> {
    /// A file that stays open.
    Open(&'a File),
    /// A file that may be closed once it has been read.
    Closable(&'a RwLock<Option<Descriptor>>),
}

/// The pages that a transaction sees in the write-ahead log.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    /// The connection in its transaction.
    pub connection: &'a Mutex<Connection>,
    /// A bitmap of the pages that may be in the log. The lowest bit of the first word is page 1.
    pub pages: &'a [u64],
    /// The size of a page.
    pub page_bytes: usize,
}

/// The maximum time for reading a database.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The moment at which the time for reading is over.
    pub until: Instant,
    /// The total time for reading, for messages.
    pub limit: Duration,
}

/// A reader of the pages of a file, for one thread.
pub struct FilePages<'a> {
    view: FileView<'a>,
    /// The windows, the most recently used first.
    windows: Vec<Window>,
}

/// A part of the file that was read into memory.
#[derive(Default)]
struct Window {
    at: u64,
    buffer: AlignedBuffer,
}

impl Window {
    fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    fn end(&self) -> u64 {
        self.at + self.bytes().len() as u64
    }
}

impl<'a> FileView<'a> {
    /// Returns a reader for one thread.
    pub fn pages(self) -> FilePages<'a> {
        FilePages { view: self, windows: Vec::new() }
    }

    /// Checks that reading has not taken longer than the [`Limit`], and that the file has not changed.
    ///
    /// # Errors
    /// When the time is over, or the file has changed.
    pub fn check(&self) -> Result<()> {
        self.limit.map_or(Ok(()), |limit| limit.check(self.path))?;
        self.at_rest.map_or(Ok(()), |at_rest| at_rest.check(self.path))
    }

    /// Returns the error for a table or index that could not be read.
    pub fn failed_in(&self, tree: DamagedTree, error: ScanError<Error>) -> Error {
        match error {
            ScanError::Stopped(error) => error,
            ScanError::Damaged(Damage { page, what }) => {
                let kind = if tree.is_index { "index" } else { "table" };
                let what = format!("{kind} {}, page {page}: {what}", tree.name);
                damaged(self.path, &what).damaged(tree)
            }
        }
    }

    /// Returns the error for a tree that could not be read.
    pub fn failed(&self, error: ScanError<Error>) -> Error {
        match error {
            ScanError::Stopped(error) => error,
            ScanError::Damaged(damage) => damaged(self.path, &damage.to_string()),
        }
    }
}

/// The hint for a damaged file.
pub const DAMAGED_HINT: &str =
    "`sqluice check` lists the faults, and `sqluice recover damaged.db new.db` saves the rows that are sound";

/// Returns the error for a damaged file.
pub fn damaged(path: &Path, what: &str) -> Error {
    Error::input(format!("{} is damaged: {what}", path.display())).hint(DAMAGED_HINT)
}

impl Limit {
    pub(crate) fn check(self, path: &Path) -> Result<()> {
        if Instant::now() < self.until {
            return Ok(());
        }
        let seconds = self.limit.as_secs_f64();
        Err(Error::target(format!(
            "{} was read for {seconds} seconds, and others wait to write to it",
            path.display()
        ))
        .hint(message![
            "allow more time (",
            Setting::BusyLimit.to("SECONDS"),
            "), or run again when nothing is written"
        ]))
    }
}

impl Log<'_> {
    /// Replaces each page in `into` that is also in the write-ahead log by its version in the log. `into` has the pages from byte `at` of
    /// the file on, of which the first `read` bytes were read: the file may lack pages that are only in the log. Returns the number of
    /// bytes at the start of `into` that are now valid.
    fn patch(self, into: &mut [u8], at: u64, read: usize, path: &Path) -> Result<usize> {
        let first = at / self.page_bytes as u64;
        let mut right = 0;
        for (index, page) in (first..).zip(into.chunks_mut(self.page_bytes)) {
            let is_in_log =
                self.pages.get((index / 64) as usize).is_some_and(|word| word >> (index % 64) & 1 == 1);
            if is_in_log {
                let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
                let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
                let found =
                    dbpage::read_into(&connection, number, page).map_err(|error| unreadable(path, error))?;
                if !found {
                    return Ok(right);
                }
            } else if right + page.len() > read {
                return Ok(right);
            }
            right += page.len();
        }
        Ok(right)
    }
}

impl ViewedFile<'_> {
    /// Fills `into` from byte `at` of the file on, up to the end of the file. Returns the number of bytes read.
    fn read_up_to(self, into: &mut [u8], at: u64) -> std::io::Result<usize> {
        match self {
            ViewedFile::Open(file) => read_up_to(file, into, at),
            ViewedFile::Closable(descriptor) => {
                let descriptor = descriptor.read().unwrap_or_else(PoisonError::into_inner);
                let descriptor = descriptor.as_ref().ok_or_else(|| std::io::Error::other("it is closed"))?;
                read_up_to(descriptor.file(), into, at)
            }
        }
    }
}

/// Fills `into` from byte `at` of the file on, up to the end of the file. Returns the number of bytes read.
fn read_up_to(file: &File, into: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut done = 0;
    while done < into.len() {
        match file.read_at(&mut into[done..], at + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

impl FilePages<'_> {
    /// Returns a window that contains `bytes` bytes from offset `at`.
    #[inline]
    fn window(&mut self, at: u64, bytes: u64) -> Result<&Window> {
        let has = |window: &Window| window.at <= at && at + bytes <= window.end();
        let index = match self.windows.iter().position(has) {
            Some(index) => index,
            None => self.fill(at, bytes)?,
        };
        self.windows[..=index].rotate_right(1);
        Ok(&self.windows[0])
    }

    #[cold]
    fn fill(&mut self, at: u64, bytes: u64) -> Result<usize> {
        let FileView { file, log, path, file_bytes, progress, cancel, .. } = self.view;
        cancel.check()?;
        let follows = self.windows.iter().position(|window| window.end() == at && !window.bytes().is_empty());
        let index = follows.unwrap_or_else(|| {
            if self.windows.len() < WINDOWS {
                self.windows.push(Window::default());
            }
            self.windows.len() - 1
        });
        let before = if follows.is_some() { self.windows[index].bytes().len() as u64 } else { 0 };
        let wanted = (2 * before).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX).max(bytes);
        let wanted = wanted.min(file_bytes.saturating_sub(at));
        let window = &mut self.windows[index];
        window.at = at;
        window.buffer.set_len(wanted as usize);
        let read = file.read_up_to(window.buffer.bytes_mut(), at).map_err(|error| Error::read(path, error));
        let patched = read.and_then(|read| match log {
            Some(log) => log.patch(window.buffer.bytes_mut(), at, read, path),
            None => Ok(read),
        });
        match patched {
            Ok(read) if read as u64 == wanted && wanted >= bytes => {}
            Ok(_) => {
                window.buffer.set_len(0);
                return Err(damaged(path, "it ends within a page"));
            }
            Err(error) => {
                window.buffer.set_len(0);
                return Err(error);
            }
        }
        if let Err(error) = self.view.check() {
            self.windows[index].buffer.set_len(0);
            return Err(error);
        }
        progress.advance(Amount { rows: 0, bytes: wanted });
        Ok(index)
    }
}

impl ReadPage for FilePages<'_> {
    type Error = Error;

    fn read_page(&mut self, number: u32, into: &mut [u8]) -> Result<()> {
        let at = u64::from(number - 1) * into.len() as u64;
        let window = self.window(at, into.len() as u64)?;
        let skip = (at - window.at) as usize;
        into.copy_from_slice(&window.bytes()[skip..skip + into.len()]);
        Ok(())
    }
}
