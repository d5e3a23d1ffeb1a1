//! Page numbers, and the pages that have theirs and wait to be written.
//!
//! ```text
//!  chunk        interior pages   chunk              one system call for all of them
//!  +--+--+--+   +--+--+          +--+--+--+--+
//!  |90|91|92|   |93|94|          |95|96|97|98|      the lock-byte page has no number: there the run is cut in two
//!  +--+--+--+   +--+--+          +--+--+--+--+
//! ```

use std::ops::Range;

use sqluice_format::aligned::AlignedBuffer;
use sqluice_format::chunk::Chunk;
use sqluice_format::page::{self, Geometry, PAGE_NUMBER_MAX, PageKind};
use sqluice_format::tree::AppendPage;

use super::pass::Sealed;
use crate::checksum::{Checksum, PageHash};
use crate::error::{Error, Result};
use crate::output::Output;

/// Whose chunk it is that none of the workers gave.
const NO_WORKER: usize = usize::MAX;

/// Gives pages their numbers; writes them when it is told to.
#[derive(Debug)]
pub(crate) struct Appender {
    geometry: Geometry,
    next_page: u64,
    /// What waits, in the order of its pages: they have the numbers from `first` on.
    waiting: Vec<Piece>,
    waiting_bytes: usize,
    first: u32,
    /// The single pages among what waits.
    singles: AlignedBuffer,
    /// Single pages that were appended.
    appended: u64,
    checksum: Checksum,
}

/// Pages that follow each other.
#[derive(Debug)]
enum Piece {
    Chunk(Box<Sealed>),
    /// That part of the single pages.
    Singles(Range<usize>),
}

impl AppendPage for Appender {
    fn append_page(&mut self, page: &[u8]) -> u32 {
        // Past the last legal number the page is lost: `check` says so before anything is committed.
        let number = self.take_numbers(1).unwrap_or(PAGE_NUMBER_MAX);
        let start = self.singles.bytes().len();
        self.singles.extend_from_slice(page);
        let end = self.singles.bytes().len();
        match self.waiting.last_mut() {
            Some(Piece::Singles(range)) => range.end = end,
            _ => self.wait(number, Piece::Singles(start..end)),
        }
        self.waiting_bytes += page.len();
        self.checksum.add(number, PageHash::of(page));
        self.appended += 1;
        number
    }
}

impl Appender {
    pub(super) fn new(geometry: Geometry) -> Appender {
        Appender::after(geometry, 1)
    }

    /// Gives the numbers after that of page `last`.
    pub(crate) fn after(geometry: Geometry, last: u32) -> Appender {
        Appender {
            geometry,
            next_page: u64::from(geometry.skip_lock_page(last + 1)),
            waiting: Vec::new(),
            waiting_bytes: 0,
            first: 0,
            singles: AlignedBuffer::default(),
            appended: 0,
            checksum: Checksum::default(),
        }
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Single pages that were appended since this was asked last.
    pub(super) fn take_appended(&mut self) -> u64 {
        std::mem::take(&mut self.appended)
    }

    /// Bytes of the pages that wait.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// The first of `count` numbers that follow each other, the lock-byte page left out.
    fn take_numbers(&mut self, count: u32) -> Result<u32> {
        let first = self.next_page;
        let lock_page = u64::from(self.geometry.lock_page());
        self.next_page += u64::from(count);
        if first <= lock_page && lock_page <= self.next_page {
            self.next_page += 1;
        }
        self.check()?;
        Ok(first as u32)
    }

    /// Whether all numbers so far are legal.
    pub(super) fn check(&self) -> Result<()> {
        if self.next_page - 1 <= u64::from(PAGE_NUMBER_MAX) {
            return Ok(());
        }
        Err(Error::target("the database would have more than 4,294,967,294 pages")
            .hint("choose a larger --page-size"))
    }

    fn wait(&mut self, first: u32, piece: Piece) {
        if self.waiting.is_empty() {
            self.first = first;
        }
        self.waiting.push(piece);
    }

    /// Gives the pages of a chunk their numbers, and returns the first, and what `read` makes of the chunk that has them.
    pub(super) fn append_chunk<T>(
        &mut self,
        mut sealed: Sealed,
        read: impl FnOnce(&Chunk) -> T,
    ) -> Result<(u32, T)> {
        let (geometry, page_bytes) = (self.geometry, self.geometry.page_bytes());
        let Sealed { chunk, hashes, .. } = &mut sealed;
        let first = self.take_numbers(chunk.page_count())?;
        chunk.relocate(first);
        // A leaf may hold the heads of several chains.
        let mut patched: Vec<usize> = chunk.links().iter().map(|link| link.at / page_bytes).collect();
        patched.sort_unstable();
        patched.dedup();
        for page in patched {
            hashes[page] = PageHash::of(&chunk.bytes()[page * page_bytes..][..page_bytes]);
        }
        for (index, hash) in (0..).zip(&*hashes) {
            self.checksum.add(geometry.nth_page(first, index), *hash);
        }
        self.waiting_bytes += chunk.bytes().len();
        let read = read(chunk);
        self.wait(first, Piece::Chunk(Box::new(sealed)));
        Ok((first, read))
    }

    /// The same for a chunk that no worker wants back.
    pub(crate) fn append_whole(&mut self, chunk: Chunk) -> Result<u32> {
        let pages = chunk.bytes().chunks_exact(self.geometry.page_bytes());
        let hashes = pages.map(PageHash::of).collect();
        Ok(self.append_chunk(Sealed { worker: NO_WORKER, chunk, hashes }, |_| ())?.0)
    }

    /// Writes what waits; `done` gets the chunks back.
    pub(super) fn flush(&mut self, output: &mut dyn Output, mut done: impl FnMut(Sealed)) -> Result<()> {
        let singles = self.singles.bytes();
        let pages = self.waiting.iter().map(|piece| match piece {
            Piece::Chunk(sealed) => sealed.chunk.bytes(),
            Piece::Singles(range) => &singles[range.clone()],
        });
        let lock_page = self.geometry.lock_page();
        let until_lock_page = match lock_page.checked_sub(self.first) {
            Some(pages) => usize::try_from(u64::from(pages) * self.geometry.page_bytes() as u64),
            None => Ok(usize::MAX),
        };
        let (before, after) = split(pages, until_lock_page.unwrap_or(usize::MAX));
        for (first, pages) in [(self.first, before), (lock_page + 1, after)] {
            if !pages.is_empty() {
                output.write(self.geometry.offset(first), &pages)?;
            }
        }
        for piece in self.waiting.drain(..) {
            if let Piece::Chunk(sealed) = piece {
                done(*sealed);
            }
        }
        self.singles.set_len(0);
        self.waiting_bytes = 0;
        Ok(())
    }

    /// Writes what waits and then page 1, which completes the file. Returns the checksum of all pages.
    pub(crate) fn finish(mut self, page_1: &[u8], output: &mut dyn Output) -> Result<Checksum> {
        self.check()?;
        self.flush(output, drop)?;
        self.singles.extend_from_slice(page_1);
        self.checksum.add(1, PageHash::of(page_1));
        output.write(0, &[self.singles.bytes()])?;
        Ok(self.checksum)
    }

    /// Pages in the file, page 1 and the lock-byte page among them.
    pub(crate) fn page_count(&self) -> u32 {
        let last = (self.next_page - 1) as u32;
        // The lock-byte page is only there when something follows it.
        if last == self.geometry.lock_page() { last - 1 } else { last }
    }
}

/// Appends the root of a tree without entries, a leaf of that kind; returns its number.
pub(crate) fn append_empty_leaf(kind: PageKind, pages: &mut Appender) -> u32 {
    let mut empty = vec![0; pages.geometry.page_bytes()];
    page::write_header(&mut empty, kind, 0, pages.geometry.usable_bytes());
    pages.append_page(&empty)
}

/// Slices that follow each other, cut in two after `at` bytes. None is empty.
fn split<'a>(slices: impl Iterator<Item = &'a [u8]>, at: usize) -> (Vec<&'a [u8]>, Vec<&'a [u8]>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut left = at;
    for slice in slices {
        let (head, tail) = slice.split_at(left.min(slice.len()));
        left -= head.len();
        before.extend((!head.is_empty()).then_some(head));
        after.extend((!tail.is_empty()).then_some(tail));
    }
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn slices_are_cut_where_asked_and_never_empty() {
        let slices: [&[u8]; 3] = [&[1, 2], &[3], &[4, 5, 6]];
        for at in 0..9 {
            let (before, after) = split(slices.into_iter(), at);
            assert_eq!(before.concat().len(), at.min(6));
            assert_eq!([before.concat(), after.concat()].concat(), [1, 2, 3, 4, 5, 6]);
            assert!(before.iter().chain(&after).all(|slice| !slice.is_empty()));
        }
    }
}
