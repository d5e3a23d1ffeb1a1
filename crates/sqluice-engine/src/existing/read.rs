//! Pages of an existing file, for any number of threads.
//!
//! ```text
//!  a page that nothing leads to      one read of 16 KiB or a page
//!  the bytes after a window          twice as many as the window had, up to 256 KiB
//! ```
//!
//! Windows begin and end where pages do, and lie in memory where direct I/O wants them: it may be on while others write.
//!
//! So a tree whose leaves lie in order is read by large windows, level by level, and one that grew by insertion, whose leaves
//! lie anywhere, by small ones.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sqluice_format::aligned::AlignedBuffer;
use sqluice_format::check::ReadPage;
use sqluice_format::scan::ScanError;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Cancel, Progress};

/// Bytes that are read at once, at most: a multiple of every page size.
const WINDOW_BYTES_MAX: u64 = 256 << 10;

/// Bytes that are read at once, at least.
const WINDOW_BYTES_MIN: u64 = 16 << 10;

/// Windows that are kept: one for each level of a deep tree, and one for what overflows.
const WINDOWS: usize = 8;

/// A file that does not change, as all threads see it.
#[derive(Clone, Copy)]
pub(crate) struct FileView<'a> {
    pub(crate) file: &'a File,
    pub(crate) path: &'a Path,
    /// Bytes of it that count.
    pub(crate) file_bytes: u64,
    /// Receives the number of bytes that are read.
    pub(crate) progress: &'a dyn Progress,
    pub(crate) cancel: &'a Cancel,
}

/// Reads pages for one thread.
pub(crate) struct FilePages<'a> {
    view: FileView<'a>,
    /// The last used is first.
    windows: Vec<Window>,
}

/// A part of the file.
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
    pub(crate) fn pages(self) -> FilePages<'a> {
        FilePages { view: self, windows: Vec::new() }
    }

    /// Why a tree could not be read.
    pub(crate) fn failed(&self, error: ScanError<Error>) -> Error {
        match error {
            ScanError::Stopped(error) => error,
            ScanError::Damaged(damage) => damaged(self.path, &damage.to_string()),
        }
    }
}

/// The error for a file that is damaged.
pub(crate) fn damaged(path: &Path, what: &str) -> Error {
    Error::input(format!("{} is damaged: {what}", path.display()))
        .hint("`sqluice check` reports the details; SQLite's .recover may save what is left")
}

impl FilePages<'_> {
    /// The window that has that many bytes from `at` on.
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
        let FileView { file, path, file_bytes, progress, cancel } = self.view;
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
        let read = file.read_exact_at(window.buffer.bytes_mut(), at);
        if let Err(error) = read {
            window.buffer.set_len(0);
            return Err(Error::read(path, error));
        }
        if wanted < bytes {
            return Err(damaged(path, "it ends within a page"));
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
