//! Reads the pages of the database for the check, on several threads, and computes their checksum.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::checksum::{Checksum, PageHash};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context};
use sqluice_format::check::ReadPage;
use sqluice_format::page::{Geometry, PageSize};
use sqluice_platform::positioned::Positioned;
use sqluice_reader::connection::unreadable;

use super::snapshot::Snapshot;

/// The number of bytes read at once: a multiple of every page size. All windows of a thread fit into the L2 cache.
const WINDOW_BYTES: u64 = 64 << 10;

/// The number of windows that a reader keeps: one for each level of a deep tree.
const WINDOWS: usize = 8;

/// The source of the bytes of pages.
#[derive(Clone, Copy)]
pub(super) enum Bytes<'a> {
    /// The file, which does not change during the check.
    File(&'a File),
    /// SQLite's view of the pages, if the newest pages are in the WAL.
    Log(&'a Snapshot),
}

/// The state that all threads share.
pub(super) struct Shared<'a> {
    from: Bytes<'a>,
    pub(super) path: &'a Path,
    pub(super) file_bytes: u64,
    pub(super) context: &'a Context<'a>,
    /// A bit for each page that the checksum includes already; empty if no checksum is computed.
    summed: Vec<AtomicU64>,
    /// A bit for each window that progress includes already: a window may be read several times, and by several threads.
    counted: Vec<AtomicU64>,
}

fn bits(number: u64) -> Vec<AtomicU64> {
    (0..number.div_ceil(64)).map(|_| AtomicU64::new(0)).collect()
}

/// Sets the bit `number`. Returns `true` if this call has set it, and `false` if the bit was set before or does not exist.
fn set_bit(bits: &[AtomicU64], number: u64) -> bool {
    let bit = 1 << (number % 64);
    let word = bits.get((number / 64) as usize);
    word.is_some_and(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
}

/// A reader of pages, which reads whole windows of the file and keeps the last few. If a tree was written in order, each of its levels is
/// read in order, and so each window only once.
pub(super) struct FilePages<'a> {
    shared: &'a Shared<'a>,
    /// The windows, the most recently read first.
    windows: Vec<Window>,
    /// The checksum of the pages that this reader was the first to read, among the readers of all threads.
    pub(super) checksum: Checksum,
}

/// A window: [`WINDOW_BYTES`] bytes of the file, or fewer at its end. The offset of the first byte is a multiple of [`WINDOW_BYTES`].
#[derive(Default)]
struct Window {
    at: u64,
    bytes: Vec<u8>,
}

impl<'a> Shared<'a> {
    /// Creates the shared state, with a checksum if the page size is given.
    pub(super) fn new(
        (from, path): (Bytes<'a>, &'a Path),
        file_bytes: u64,
        checksum: Option<PageSize>,
        context: &'a Context<'a>,
    ) -> Shared<'a> {
        let pages = checksum.map_or(0, |size| file_bytes / size.bytes() as u64 + 1);
        let counted = bits(file_bytes.div_ceil(WINDOW_BYTES));
        Shared { from, path, file_bytes, context, summed: bits(pages), counted }
    }

    /// Returns a reader for one thread.
    pub(super) fn pages(&'a self) -> FilePages<'a> {
        FilePages { shared: self, windows: Vec::new(), checksum: Checksum::default() }
    }

    /// Returns `true` if a checksum is computed and this is the first call for the page.
    fn is_first(&self, number: u32) -> bool {
        set_bit(&self.summed, u64::from(number))
    }

    /// Ends the progress reports: bytes that are read from now on are not counted.
    pub(super) fn stop_counting(&self) {
        self.counted.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
    }

    /// Returns the pages that are not in the checksum yet, such as unread pages of the freelist, except the lock page.
    pub(super) fn unread(&self, geometry: Geometry, page_count: u32) -> Vec<u32> {
        let is_unread = |number: &u32| {
            let word = self.summed[*number as usize / 64].load(Ordering::Relaxed);
            word >> (number % 64) & 1 == 0 && *number != geometry.lock_page()
        };
        (1..=page_count).filter(is_unread).collect()
    }
}

impl FilePages<'_> {
    /// Returns the window with the byte at offset `at`.
    fn window(&mut self, at: u64) -> Result<&Window> {
        let start = at - at % WINDOW_BYTES;
        let found = self.windows.iter().position(|window| window.at == start && !window.bytes.is_empty());
        let index = match found {
            Some(index) => index,
            None => {
                let Shared { from, path, file_bytes, context, counted, .. } = self.shared;
                context.cancel.check()?;
                if self.windows.len() < WINDOWS {
                    self.windows.push(Window::default());
                }
                let index = self.windows.len() - 1;
                let Window { at, bytes } = &mut self.windows[index];
                *at = start;
                bytes.resize((file_bytes - start).min(WINDOW_BYTES) as usize, 0);
                match from {
                    Bytes::File(file) => {
                        file.read_exact_at(bytes, start).map_err(|e| Error::read(path, e))?
                    }
                    Bytes::Log(log) => log.read_at(bytes, start).map_err(|e| unreadable(path, e))?,
                }
                if set_bit(counted, start / WINDOW_BYTES) {
                    context.progress.advance(Amount { rows: 0, bytes: bytes.len() as u64 });
                }
                index
            }
        };
        self.windows[..=index].rotate_right(1);
        Ok(&self.windows[0])
    }
}

impl ReadPage for FilePages<'_> {
    type Error = Error;

    fn read_page(&mut self, number: u32, into: &mut [u8]) -> Result<()> {
        let at = u64::from(number - 1) * into.len() as u64;
        let window = self.window(at)?;
        let skip = (at - window.at) as usize;
        into.copy_from_slice(&window.bytes[skip..skip + into.len()]);
        // The first call reads only the file header, which is less than a page.
        if into.len() >= 512 && self.shared.is_first(number) {
            self.checksum.add(number, PageHash::of(into));
        }
        Ok(())
    }
}
