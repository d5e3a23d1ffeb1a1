//! The writer of a segment: terms with their doclists in, in order; leaf pages and their split keys out.
//!
//! The pages break as those of `optimize` do:
//!
//! * before a term, if the page is not empty and `used` + bytes of the term + 2 reach the page size (`used`: the bytes of content and
//!   footer)
//! * before a rowid, if `used` has reached the page size
//! * within positions, as long as `used` + the rest of the positions reach the page size: whole varints fill the page up to its size or
//!   past it
//! * after more than 1,000 pages, at the next term: the page ends, however empty, and all begins anew, as `optimize` then starts another
//!   piece of work
//!
//! The split key of a page is the shortest beginning of its first term that is greater than the term before. Pages without a term have
//! none.

use std::fmt;

use super::doclist::{Detail, Doclist, DoclistCursor, MalformedDoclist};
use super::doclist_index::DoclistIndex;
use super::{DataRow, PAGE_BYTES_MAX, PAGE_BYTES_MIN, page_id, push_number};
use crate::varint;

/// The number of pages after which `optimize` begins anew.
const PAGES_OF_WORK: u32 = 1000;

/// The size of the two numbers at the start of a leaf.
pub(super) const HEAD_BYTES: usize = 4;

/// The largest page number: the highest bits of a page's `id` have another meaning.
pub(super) const LEAVES_MAX: u32 = (1 << 31) - 257;

/// A receiver of the rows of a segment.
pub trait SegmentRows {
    /// The error of the receiver.
    type Error;

    /// Takes a row of `t_data` with a leaf. The leaves come in the order of their ids.
    ///
    /// # Errors
    /// If the row can't be stored.
    fn leaf(&mut self, id: i64, block: &[u8]) -> Result<(), Self::Error>;

    /// Takes a row of `t_idx`: the split key of a page, and the column `pgno`. The rows come in the order of their keys.
    ///
    /// # Errors
    /// If the row can't be stored.
    fn split_key(&mut self, segment: u16, key: &[u8], page: i64) -> Result<(), Self::Error>;
}

/// The reason why a segment was not written to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentError<E> {
    /// The error of the receiver.
    Stopped(E),
    /// A doclist is malformed.
    Malformed,
    /// The segment has more pages than FTS5 can number.
    Full,
}

impl<E> From<MalformedDoclist> for SegmentError<E> {
    fn from(_: MalformedDoclist) -> SegmentError<E> {
        SegmentError::Malformed
    }
}

impl<E: fmt::Display> fmt::Display for SegmentError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SegmentError::Stopped(error) => error.fmt(f),
            SegmentError::Malformed => f.write_str("a doclist is malformed"),
            SegmentError::Full => f.write_str("a segment has no room for more pages"),
        }
    }
}

/// A segment that was written to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The number of the segment, from 1 on.
    pub id: u16,
    /// The number of leaves, which have the page numbers from 1 on.
    pub leaves: u32,
}

/// The writer of a segment.
#[derive(Clone, Debug)]
pub struct SegmentWriter {
    id: u16,
    page_bytes: usize,
    detail: Detail,
    /// The number of the current page, from 1 on.
    page: u32,
    /// The number of pages since `optimize` would have begun anew.
    pages_of_work: u32,
    /// The content of the current page, with its head.
    content: Vec<u8>,
    /// The distances of the terms on the current page.
    footer: Vec<u8>,
    /// The offset of the last term on the current page; 0 before the first term.
    term_at: usize,
    term: Vec<u8>,
    last_rowid: i64,
    is_first_of_doclist: bool,
    page_has_term: bool,
    page_has_rowid: bool,
    /// The last page that has a term, and its split key, until it is known if this term has a doclist index.
    split: Option<(u32, Vec<u8>)>,
    doclist_index: DoclistIndex,
    /// The pages of doclist indexes: rows of `t_data` with higher ids than all leaves.
    held: Vec<DataRow>,
}

impl SegmentWriter {
    /// Creates a writer of segment `id`, with pages of `page_bytes` bytes.
    ///
    /// # Panics
    /// If FTS5 does not allow such pages.
    pub fn new(id: u16, detail: Detail, page_bytes: usize) -> SegmentWriter {
        assert!((PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes), "a page size that FTS5 can read");
        SegmentWriter {
            id,
            page_bytes,
            detail,
            page: 1,
            pages_of_work: 0,
            content: vec![0; HEAD_BYTES],
            footer: Vec::new(),
            term_at: 0,
            term: Vec::new(),
            last_rowid: 0,
            is_first_of_doclist: false,
            page_has_term: false,
            page_has_rowid: true,
            split: Some((1, Vec::new())),
            doclist_index: DoclistIndex::default(),
            held: Vec::new(),
        }
    }

    /// Begins a term, which must be greater than the term before.
    ///
    /// # Errors
    /// The error of `rows`, or if the segment is full.
    pub fn term<R: SegmentRows>(&mut self, term: &[u8], rows: &mut R) -> Result<(), SegmentError<R::Error>> {
        if self.pages_of_work > PAGES_OF_WORK {
            self.begin_anew(rows)?;
        }
        if self.used() + term.len() + 2 >= self.page_bytes && self.content.len() > HEAD_BYTES {
            self.end_page(rows)?;
        }
        push_number(&mut self.footer, (self.content.len() - self.term_at) as u64);
        self.term_at = self.content.len();
        let shared = self.term.iter().zip(term).take_while(|(a, b)| a == b).count();
        if self.page_has_term {
            debug_assert!(term > &self.term[..], "terms ascend");
            push_number(&mut self.content, shared as u64);
            push_number(&mut self.content, (term.len() - shared) as u64);
            self.content.extend_from_slice(&term[shared..]);
        } else {
            if self.page > 1 {
                self.end_split(rows)?;
                let key_bytes = if self.term.is_empty() { term.len() } else { shared + 1 };
                self.split = Some((self.page, term[..key_bytes].to_vec()));
            }
            push_number(&mut self.content, term.len() as u64);
            self.content.extend_from_slice(term);
        }
        self.term.truncate(shared);
        self.term.extend_from_slice(&term[shared..]);
        (self.page_has_term, self.page_has_rowid, self.is_first_of_doclist) = (true, true, true);
        self.doclist_index.begin_term(self.page);
        Ok(())
    }

    /// Appends rows to the doclist of the current term. The rows must follow those before.
    ///
    /// # Errors
    /// The error of `rows`, or if the doclist is malformed or the segment full.
    pub fn doclist<R: SegmentRows>(
        &mut self,
        doclist: &Doclist<'_>,
        rows: &mut R,
    ) -> Result<(), SegmentError<R::Error>> {
        // Most doclists are short, and no page ends within them.
        if self.used() + varint::BYTES_MAX + doclist.entries.len() < self.page_bytes {
            self.rowid(doclist.first);
            self.content.extend_from_slice(doclist.entries);
            self.last_rowid = doclist.last;
            return Ok(());
        }
        let (entries, detail) = (doclist.entries, self.detail);
        let mut cursor = DoclistCursor::new(doclist.first);
        let mut next = cursor.next(entries, detail).transpose()?;
        while let Some(entry) = next {
            if self.used() >= self.page_bytes {
                self.end_page(rows)?;
            }
            self.rowid(entry.rowid);
            // Rows that fit on the page as a whole are copied at once.
            let start = cursor.at() - entry.stored.len();
            let room = self.page_bytes.saturating_sub(self.used());
            let mut end = None;
            while let Some(entry) = next
                && cursor.at() - start < room
            {
                (end, self.last_rowid) = (Some(cursor.at()), entry.rowid);
                next = cursor.next(entries, detail).transpose()?;
            }
            if let Some(end) = end {
                self.content.extend_from_slice(&entries[start..end]);
                continue;
            }
            if self.detail == Detail::None {
                self.content.extend_from_slice(entry.stored);
            } else {
                let size = 2 * entry.positions.len() as u64 + u64::from(entry.is_deleted);
                push_number(&mut self.content, size);
                self.positions(entry.positions, rows)?;
            }
            next = cursor.next(entries, detail).transpose()?;
        }
        if self.last_rowid == doclist.last { Ok(()) } else { Err(SegmentError::Malformed) }
    }

    /// Writes the rowid of the next row.
    #[inline]
    fn rowid(&mut self, rowid: i64) {
        if !self.page_has_rowid {
            let offset = self.content.len() as u16;
            self.content[..2].copy_from_slice(&offset.to_be_bytes());
            let of_segment = (self.id, self.page_bytes);
            self.doclist_index.push(of_segment, self.page, rowid, &mut self.held);
        }
        let is_absolute = self.is_first_of_doclist || !self.page_has_rowid;
        let stored = if is_absolute { rowid } else { rowid.wrapping_sub(self.last_rowid) };
        push_number(&mut self.content, stored as u64);
        self.last_rowid = rowid;
        (self.page_has_rowid, self.is_first_of_doclist) = (true, false);
    }

    /// Writes the positions of a row, on as many pages as they need.
    fn positions<R: SegmentRows>(
        &mut self,
        mut positions: &[u8],
        rows: &mut R,
    ) -> Result<(), SegmentError<R::Error>> {
        while self.used() + positions.len() >= self.page_bytes {
            let room = self.page_bytes.saturating_sub(self.used());
            let mut end = 0;
            while end < room {
                let (_, n) = varint::read(&positions[end..]).ok_or(SegmentError::Malformed)?;
                end += n;
            }
            let (now, later) = positions.split_at(end);
            self.content.extend_from_slice(now);
            positions = later;
            self.end_page(rows)?;
        }
        self.content.extend_from_slice(positions);
        Ok(())
    }

    /// Ends the segment. Returns it with the pages of its doclist indexes: rows of `t_data`, in the order of their ids.
    ///
    /// # Errors
    /// The error of `rows`, or if the segment is full.
    pub fn finish<R: SegmentRows>(
        mut self,
        rows: &mut R,
    ) -> Result<(Segment, Vec<DataRow>), SegmentError<R::Error>> {
        self.end_work(rows)?;
        self.held.sort_unstable_by_key(|(id, _)| *id);
        Ok((Segment { id: self.id, leaves: self.page - 1 }, self.held))
    }

    /// Returns the number of bytes that are used of the current page.
    #[inline]
    fn used(&self) -> usize {
        self.content.len() + self.footer.len()
    }

    /// Ends the current page, and passes it to `rows`.
    fn end_page<R: SegmentRows>(&mut self, rows: &mut R) -> Result<(), SegmentError<R::Error>> {
        if self.page >= LEAVES_MAX {
            return Err(SegmentError::Full);
        }
        let end = self.content.len() as u16;
        self.content[2..HEAD_BYTES].copy_from_slice(&end.to_be_bytes());
        if self.page_has_term {
            self.content.extend_from_slice(&self.footer);
        } else {
            self.doclist_index.end_page(self.page_has_rowid);
        }
        rows.leaf(page_id(self.id, None, self.page), &self.content).map_err(SegmentError::Stopped)?;
        self.content.clear();
        self.content.resize(HEAD_BYTES, 0);
        self.footer.clear();
        self.term_at = 0;
        self.page += 1;
        self.pages_of_work += 1;
        (self.page_has_term, self.page_has_rowid) = (false, false);
        Ok(())
    }

    /// Writes the split key of the last page that has a term. By now it is known if this term has a doclist index.
    fn end_split<R: SegmentRows>(&mut self, rows: &mut R) -> Result<(), SegmentError<R::Error>> {
        let Some((page, key)) = self.split.take() else { return Ok(()) };
        let has_index = self.doclist_index.take(self.id, &mut self.held);
        let page = i64::from(page) << 1 | i64::from(has_index);
        rows.split_key(self.id, &key, page).map_err(SegmentError::Stopped)
    }

    /// Ends the last page and its split key.
    fn end_work<R: SegmentRows>(&mut self, rows: &mut R) -> Result<(), SegmentError<R::Error>> {
        if self.content.len() > HEAD_BYTES {
            self.end_page(rows)?;
        }
        if self.page > 1 { self.end_split(rows) } else { Ok(()) }
    }

    /// Begins anew, as `optimize` does with another piece of work.
    fn begin_anew<R: SegmentRows>(&mut self, rows: &mut R) -> Result<(), SegmentError<R::Error>> {
        self.end_work(rows)?;
        self.doclist_index = DoclistIndex::default();
        self.term.clear();
        self.pages_of_work = 0;
        (self.page_has_term, self.page_has_rowid) = (false, true);
        Ok(())
    }
}
