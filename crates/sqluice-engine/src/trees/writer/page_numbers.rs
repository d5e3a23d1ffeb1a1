//! Assigns page numbers to chunks and single pages, and keeps the numbered pages until they are written together.
//!
//! ```text
//!  chunk        interior pages   chunk              one system call for all pages
//!  +--+--+--+   +--+--+          +--+--+--+--+
//!  |90|91|92|   |93|94|          |95|96|97|98|      the lock-byte page is skipped, which splits the range in two
//!  +--+--+--+   +--+--+          +--+--+--+--+
//! ```

use std::ops::Range;

use sqluice_core::checksum::{Checksum, PageHash};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_format::aligned::AlignedBuffer;
use sqluice_format::chunk::Chunk;
use sqluice_format::page::{self, Geometry, PAGE_NUMBER_MAX, PageKind};
use sqluice_format::tree::AppendPage;

use crate::output::Output;
use crate::trees::workers::message::Sealed;

/// The worker number of a chunk that no worker made.
const NO_WORKER: usize = usize::MAX;

/// The size in bytes up to which a chunk is small: its pages are copied, so that the chunk can go back to its worker before the pages are
/// written. Small files and tables make many small chunks, and writing each of them on its own would be slow.
const COPIED_BYTES_MAX: usize = 64 << 10;

/// An appender, which assigns page numbers to new pages at the end of the file, and writes the pages on request. A *single page* is a page
/// that is appended alone: an interior page, an empty root, or a page of the schema.
#[derive(Debug)]
pub(crate) struct Appender {
    geometry: Geometry,
    /// The number of bytes of waiting pages from which on they are due to be written, even if they are only copies.
    chunk_bytes: usize,
    next_page: u64,
    /// The pages to write, with consecutive numbers. The first page has the number `first`.
    waiting: Vec<WaitingPages>,
    waiting_bytes: usize,
    first: u32,
    /// The bytes of the waiting single pages, and copies of the waiting pages of small chunks.
    singles: AlignedBuffer,
    /// The small chunks whose pages were copied to `singles`, so that they can go back to their workers.
    copied: Vec<Sealed>,
    /// The number of single pages appended since the last call of [`Appender::take_appended`]. `all_appended` is the number of all single
    /// pages that got new numbers.
    appended: u64,
    all_appended: u32,
    /// The range of the single pages, in a file in which they come before all chunks; `None` if they come between the chunks.
    first_singles: Option<SinglesRange>,
    checksum: Checksum,
    /// The numbers of existing interior pages that are rebuilt. The next single pages get these numbers instead of new ones.
    reused: Vec<u32>,
    /// The numbers of existing pages that change, with their new bytes.
    overwritten: Vec<(u32, Vec<u8>)>,
}

/// The range of page numbers for the single pages that come before all chunks, and the pages of this range that are not written yet.
#[derive(Debug)]
struct SinglesRange {
    /// The number that the next single page gets.
    next: u32,
    /// The pages that are not written yet. The first page has the number `first`.
    waiting: AlignedBuffer,
    first: u32,
}

/// Pages with consecutive numbers that wait to be written.
#[derive(Debug)]
enum WaitingPages {
    Chunk(Box<Sealed>),
    /// The overflow pages of a chunk: all pages but the first, which was a leaf and replaces an existing root.
    Overflow(Box<Sealed>),
    /// A range of bytes of `Appender::singles`.
    Singles(Range<usize>),
}

impl AppendPage for Appender {
    fn append_page(&mut self, page: &[u8]) -> u32 {
        if let Some(number) = self.reused.pop() {
            self.overwrite(number, page.to_vec());
            self.appended += 1;
            return number;
        }
        if let Some(range) = &mut self.first_singles {
            let number = range.next;
            range.next = self.geometry.skip_lock_page(number + 1);
            range.waiting.extend_from_slice(page);
            self.checksum.add(number, PageHash::of(page));
            (self.appended, self.all_appended) = (self.appended + 1, self.all_appended + 1);
            return number;
        }
        // If no legal number is left, the page gets a wrong number. `Appender::check` then returns an error before the file is committed.
        let number = self.take_numbers(1).unwrap_or(PAGE_NUMBER_MAX);
        self.wait_copied(number, page);
        self.checksum.add(number, PageHash::of(page));
        (self.appended, self.all_appended) = (self.appended + 1, self.all_appended + 1);
        number
    }
}

impl Appender {
    /// Creates the appender for a file that has `page_count` pages. Chunks have `chunk_bytes` bytes.
    pub(crate) fn after(page_count: u32, geometry: Geometry, chunk_bytes: usize) -> Appender {
        let next_page = u64::from(page_count) + 1;
        Appender {
            geometry,
            chunk_bytes,
            next_page: next_page + u64::from(next_page == u64::from(geometry.lock_page())),
            waiting: Vec::new(),
            waiting_bytes: 0,
            first: 0,
            singles: AlignedBuffer::default(),
            copied: Vec::new(),
            appended: 0,
            all_appended: 0,
            first_singles: None,
            checksum: Checksum::default(),
            reused: Vec::new(),
            overwritten: Vec::new(),
        }
    }

    /// Creates the appender for a file in which other processes have written the pages 2 to `last_page`. `checksum` is the checksum of
    /// these pages.
    pub(crate) fn after_placed(
        last_page: u32,
        checksum: Checksum,
        geometry: Geometry,
        chunk_bytes: usize,
    ) -> Appender {
        Appender { checksum, ..Appender::after(last_page, geometry, chunk_bytes) }
    }

    /// Creates the appender for a new file in which all single pages come directly after page 1, and all chunks after them. `singles` is
    /// the number of single pages, which must be known.
    pub(crate) fn after_singles(singles: u32, geometry: Geometry, chunk_bytes: usize) -> Appender {
        let next = geometry.skip_lock_page(2);
        let last = geometry.nth_page(1, singles);
        let first_singles = Some(SinglesRange { next, waiting: AlignedBuffer::default(), first: next });
        Appender { first_singles, ..Appender::after(last, geometry, chunk_bytes) }
    }

    /// Gives the next single pages the numbers of existing pages, whose bytes they replace.
    pub(crate) fn reuse(&mut self, numbers: impl IntoIterator<Item = u32>) {
        self.reused.extend(numbers);
    }

    /// Keeps the new bytes of an existing page for [`Appender::finish_growing`].
    fn overwrite(&mut self, number: u32, bytes: Vec<u8>) {
        self.overwritten.push((number, bytes));
    }

    /// Keeps the new bytes of an existing root page, which is an interior page now, for [`Appender::finish_growing`].
    pub(crate) fn overwrite_root(&mut self, number: u32, bytes: Vec<u8>) {
        self.appended += 1;
        self.overwrite(number, bytes);
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Returns the number of single pages that were appended since the last call.
    pub(crate) fn take_appended(&mut self) -> u64 {
        std::mem::take(&mut self.appended)
    }

    /// Returns the number of bytes of the pages that wait to be written.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Takes `count` consecutive numbers, skipping the lock-byte page. Returns the first number.
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

    /// Returns an error if a page got a number above the limit of SQLite.
    pub(crate) fn check(&self) -> Result<()> {
        if self.next_page - 1 <= u64::from(PAGE_NUMBER_MAX) {
            return Ok(());
        }
        Err(Error::target("the database would have more than 4,294,967,294 pages")
            .hint(message!["choose larger pages: ", Setting::PageSize]))
    }

    fn wait(&mut self, first: u32, piece: WaitingPages) {
        if self.waiting.is_empty() {
            self.first = first;
        }
        self.waiting.push(piece);
    }

    /// Copies pages, to write them later. The first page has the number `first`.
    fn wait_copied(&mut self, first: u32, pages: &[u8]) {
        let start = self.singles.bytes().len();
        self.singles.extend_from_slice(pages);
        let end = self.singles.bytes().len();
        match self.waiting.last_mut() {
            Some(WaitingPages::Singles(range)) => range.end = end,
            _ => self.wait(first, WaitingPages::Singles(start..end)),
        }
        self.waiting_bytes += pages.len();
    }

    /// Returns `true` if the waiting pages should be written now: because workers may wait for their chunks, or because the waiting pages
    /// have at least `chunk_bytes` bytes.
    pub(crate) fn is_due(&self) -> bool {
        let copied = |piece: &WaitingPages| matches!(piece, WaitingPages::Singles(_));
        self.waiting_bytes >= self.chunk_bytes || !self.waiting.iter().all(copied)
    }

    /// Calls `done` with each small chunk whose pages have been copied. `done` returns the chunk to its worker.
    pub(crate) fn give_back(&mut self, done: impl FnMut(Sealed)) {
        self.copied.drain(..).for_each(done);
    }

    /// Assigns numbers to the pages of a chunk and sets the links between its pages. Returns the first number, and the result of `read`,
    /// which is called with the numbered chunk.
    pub(crate) fn append_chunk<T>(
        &mut self,
        mut sealed: Sealed,
        read: impl FnOnce(&Chunk) -> T,
    ) -> Result<(u32, T)> {
        let (geometry, page_bytes) = (self.geometry, self.geometry.page_bytes());
        let Sealed { chunk, hashes, .. } = &mut sealed;
        let first = self.take_numbers(chunk.page_count())?;
        chunk.relocate(first);
        // The pages with links have changed, so they are hashed again: each once, though a leaf may link to several overflow chains.
        let mut patched: Vec<usize> = chunk.links().iter().map(|link| link.at / page_bytes).collect();
        patched.sort_unstable();
        patched.dedup();
        for page in patched {
            hashes[page] = PageHash::of(&chunk.bytes()[page * page_bytes..][..page_bytes]);
        }
        for (index, hash) in (0..).zip(&*hashes) {
            self.checksum.add(geometry.nth_page(first, index), *hash);
        }
        let read = read(chunk);
        let bytes = sealed.chunk.bytes();
        if bytes.len() <= COPIED_BYTES_MAX.min(self.chunk_bytes / 2) {
            self.wait_copied(first, bytes);
            self.copied.push(sealed);
        } else {
            self.waiting_bytes += bytes.len();
            self.wait(first, WaitingPages::Chunk(Box::new(sealed)));
        }
        Ok((first, read))
    }

    /// Makes the only leaf of a chunk the root of an existing tree, whose page number is `root`. The overflow pages of the leaf get new
    /// numbers.
    pub(crate) fn append_below_root(&mut self, root: u32, mut sealed: Sealed) -> Result<()> {
        let page_bytes = self.geometry.page_bytes();
        let count = sealed.chunk.page_count() - 1;
        let first = self.take_numbers(count)?;
        sealed.chunk.relocate_overflow(first);
        let (leaf, overflow) = sealed.chunk.bytes().split_at(page_bytes);
        self.overwrite(root, leaf.to_vec());
        for (index, page) in (0..).zip(overflow.chunks_exact(page_bytes)) {
            self.checksum.add(self.geometry.nth_page(first, index), PageHash::of(page));
        }
        self.waiting_bytes += overflow.len();
        self.wait(first, WaitingPages::Overflow(Box::new(sealed)));
        Ok(())
    }

    /// Appends a chunk that no worker made. Returns the number of its first page.
    pub(crate) fn append_whole(&mut self, chunk: Chunk) -> Result<u32> {
        let pages = chunk.bytes().chunks_exact(self.geometry.page_bytes());
        let hashes = pages.map(PageHash::of).collect();
        Ok(self.append_chunk(Sealed { worker: NO_WORKER, chunk, hashes }, |_| ())?.0)
    }

    /// Writes the waiting pages, and passes each written chunk to `done`, which returns it to its worker.
    pub(crate) fn flush(&mut self, output: &mut dyn Output, mut done: impl FnMut(Sealed)) -> Result<()> {
        let singles = self.singles.bytes();
        let pages = self.waiting.iter().map(|piece| match piece {
            WaitingPages::Chunk(sealed) => sealed.chunk.bytes(),
            WaitingPages::Overflow(sealed) => &sealed.chunk.bytes()[self.geometry.page_bytes()..],
            WaitingPages::Singles(range) => &singles[range.clone()],
        });
        write_range(self.first, pages, self.geometry, output)?;
        if let Some(range) = &mut self.first_singles
            && range.waiting.bytes().len() >= self.chunk_bytes
        {
            range.write(self.geometry, output)?;
        }
        self.copied.drain(..).for_each(&mut done);
        for piece in self.waiting.drain(..) {
            if let WaitingPages::Chunk(sealed) | WaitingPages::Overflow(sealed) = piece {
                done(*sealed);
            }
        }
        self.singles.set_len(0);
        self.waiting_bytes = 0;
        Ok(())
    }

    /// Writes the waiting pages and then page 1, which completes a new file. Returns the checksum of all pages.
    pub(crate) fn finish(mut self, page_1: &[u8], output: &mut dyn Output) -> Result<Checksum> {
        self.check()?;
        self.flush(output, drop)?;
        if let Some(range) = &mut self.first_singles {
            range.write(self.geometry, output)?;
        }
        self.singles.extend_from_slice(page_1);
        self.checksum.add(1, PageHash::of(page_1));
        output.write(0, &[self.singles.bytes()])?;
        Ok(self.checksum)
    }

    /// Writes the waiting pages of a file that existed before. Returns the existing pages that change, with their new bytes, which the
    /// caller must write.
    pub(crate) fn finish_growing(mut self, output: &mut dyn Output) -> Result<Vec<(u32, Vec<u8>)>> {
        self.check()?;
        self.flush(output, drop)?;
        Ok(self.overwritten)
    }

    /// Returns the checksum of the pages so far.
    pub(crate) fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// Returns the number of all single pages that were appended, without existing pages that were rebuilt.
    pub(crate) fn singles(&self) -> u32 {
        self.all_appended
    }

    /// Returns the number of pages that the file has after all pages are written, including page 1 and the lock-byte page.
    pub(crate) fn page_count(&self) -> u32 {
        let last = (self.next_page - 1) as u32;
        // The lock-byte page exists only if another page follows it.
        if last == self.geometry.lock_page() { last - 1 } else { last }
    }
}

impl SinglesRange {
    /// Writes the pages of the range that are not written yet.
    fn write(&mut self, geometry: Geometry, output: &mut dyn Output) -> Result<()> {
        write_range(self.first, std::iter::once(self.waiting.bytes()), geometry, output)?;
        self.waiting.set_len(0);
        self.first = self.next;
        Ok(())
    }
}

/// Writes pages with consecutive numbers from `first` on. No page has the number of the lock-byte page, so pages before and after it are
/// written separately.
fn write_range<'a>(
    first: u32,
    pages: impl Iterator<Item = &'a [u8]>,
    geometry: Geometry,
    output: &mut dyn Output,
) -> Result<()> {
    let lock_page = geometry.lock_page();
    let until_lock_page = match lock_page.checked_sub(first) {
        Some(pages) => usize::try_from(u64::from(pages) * geometry.page_bytes() as u64),
        None => Ok(usize::MAX),
    };
    let (before, after) = split(pages, until_lock_page.unwrap_or(usize::MAX));
    for (first, pages) in [(first, before), (lock_page + 1, after)] {
        if !pages.is_empty() {
            output.write(geometry.offset(first), &pages)?;
        }
    }
    Ok(())
}

/// Appends the root of a tree without entries, an empty leaf of kind `kind`. Returns the number of the page.
pub(crate) fn append_empty_leaf(kind: PageKind, pages: &mut Appender) -> u32 {
    let mut empty = vec![0; pages.geometry.page_bytes()];
    page::write_header(&mut empty, kind, 0, pages.geometry.usable_bytes());
    pages.append_page(&empty)
}

/// Divides a list of slices after `at` bytes in total. Returns the slices before and the slices after this position. If the position is
/// within a slice, this slice is split; empty slices are left out.
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
    fn splitting_a_list_of_slices_at_a_byte_gives_all_bytes_and_no_empty_slices() {
        let slices: [&[u8]; 3] = [&[1, 2], &[3], &[4, 5, 6]];
        for at in 0..9 {
            let (before, after) = split(slices.into_iter(), at);
            assert_eq!(before.concat().len(), at.min(6));
            assert_eq!([before.concat(), after.concat()].concat(), [1, 2, 3, 4, 5, 6]);
            assert!(before.iter().chain(&after).all(|slice| !slice.is_empty()));
        }
    }
}
