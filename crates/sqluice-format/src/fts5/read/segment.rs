//! Reads a segment leaf by leaf, and returns its terms in order, each followed by the rows that have the term: one by one, or all that a
//! leaf has of them.

use super::super::doclist::{Detail, Doclist};
use super::super::page_id;
use super::super::segment::HEAD_BYTES;
use super::leaf::{Leaf, next_term};
use super::{Damage, Fault, Numbers, Pages, ReadError, SegmentSpan};

/// The largest size of the positions of a row: FTS5 keeps the size in 31 bits.
const POSITIONS_MAX: u64 = i32::MAX as u64;

/// The next content of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A term. The rows that have it follow.
    Term(&'a [u8]),
    /// A row of the doclist of the term.
    Row(Row<'a>),
}

/// An entry of a doclist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The rowid of the row.
    pub rowid: i64,
    /// `true` if older segments have entries of this row for the term, which no longer count.
    pub is_deleted: bool,
    /// `true` if the row has the term.
    pub is_present: bool,
    /// The stored bytes of the columns and positions at which the row has the term.
    pub positions: &'a [u8],
    /// The number of the page on which the entry starts.
    pub page: u32,
    /// `true` if the rowid is the first one on its page, and precedes all terms there.
    pub is_first_of_page: bool,
}

/// The kind of content that [`SegmentReader::advance`] has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advanced {
    /// A term, which is [`SegmentReader::term`]. Its rows follow.
    Term,
    /// Rows of the doclist of the term, which are [`SegmentReader::rows`].
    Rows,
}

/// Consecutive rows of a doclist as they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows<'a> {
    /// The rows, with their stored entries.
    pub doclist: Doclist<'a>,
    /// `true` if an entry has a mark of a deleted row, or no positions with a detail that stores them.
    pub has_marks: bool,
}

/// The place of the rows that were read last.
#[derive(Clone, Copy, Debug, Default)]
struct RowsPlace {
    first: i64,
    last: i64,
    /// The range of their entries in the page, or `None` if `positions` has the only entry, which continues on other pages.
    in_block: Option<(usize, usize)>,
    has_marks: bool,
}

/// The reader of a segment.
#[derive(Clone, Debug)]
pub struct SegmentReader {
    segment: u16,
    last_page: u32,
    detail: Detail,
    /// The number of the page in `block`; one less than the first page before any page was read.
    page: u32,
    block: Vec<u8>,
    at: usize,
    /// The end of the content.
    end: usize,
    /// The offset of the first rowid that precedes all terms, until it was read.
    first_rowid: Option<usize>,
    /// The offset of the next term of the page, if there is one.
    next_term: Option<usize>,
    /// The place of the next number in the footer.
    footer: usize,
    /// `true` if the current term is the first one on its page.
    is_first_term: bool,
    term: Vec<u8>,
    term_page: u32,
    /// `true` if no doclist can begin before the first page.
    is_start: bool,
    /// `true` once a term was read.
    has_term: bool,
    /// `true` if the rows of the current term are skipped.
    skips_rows: bool,
    /// The rowid that was read last in the doclist; `None` before the first.
    rowid: Option<i64>,
    /// `true` once a term or a rowid of the page was read: until then, a rowid must be the one that the head of the page names.
    is_begun: bool,
    positions: Vec<u8>,
    rows: RowsPlace,
}

impl SegmentReader {
    /// Creates a reader of all terms of a segment.
    pub fn new(segment: &SegmentSpan, detail: Detail) -> SegmentReader {
        let reader = SegmentReader::of_pages(segment.id, (segment.first, segment.last), detail);
        SegmentReader { is_start: true, ..reader }
    }

    /// Creates a reader of the terms that start on pages from `first` to `last`. A doclist that begins before `first` is skipped.
    pub fn of_pages(segment: u16, (first, last): (u32, u32), detail: Detail) -> SegmentReader {
        SegmentReader {
            segment,
            last_page: last,
            detail,
            // Pages are numbered from 1. `first` is 0 if the segment has no pages.
            page: first.max(1) - 1,
            block: Vec::new(),
            at: 0,
            end: 0,
            first_rowid: None,
            next_term: None,
            footer: 0,
            is_first_term: false,
            term: Vec::new(),
            term_page: 0,
            is_start: false,
            has_term: false,
            skips_rows: false,
            rowid: None,
            is_begun: false,
            positions: Vec::new(),
            rows: RowsPlace::default(),
        }
    }

    /// Returns the number of the page that was read last.
    pub fn page(&self) -> u32 {
        self.page
    }

    /// Returns the current term; an empty one before the first.
    pub fn term(&self) -> &[u8] {
        &self.term
    }

    /// Returns the number of the page on which the current term starts.
    pub fn term_page(&self) -> u32 {
        self.term_page
    }

    /// Returns `true` if the current term is the first one on its page.
    pub fn is_first_term(&self) -> bool {
        self.is_first_term
    }

    /// Skips the rows of the current term that were not read, without a check.
    pub fn skip_rows(&mut self) {
        (self.skips_rows, self.first_rowid) = (true, None);
        self.at = self.next_term.unwrap_or(self.end);
    }

    /// Returns the positions of the row that was read last, as they are stored.
    pub fn positions(&self) -> &[u8] {
        &self.positions
    }

    fn id(&self) -> i64 {
        page_id(self.segment, None, self.page)
    }

    fn damage(&self, fault: Fault) -> Damage {
        Damage { row: self.id(), offset: self.at, fault }
    }

    /// Reads on: to the next term, or the next row of the current term. Returns `None` at the end of the segment.
    ///
    /// # Errors
    /// If a page can't be read, is missing or is damaged. The reader must not be used afterwards.
    #[inline]
    pub fn step<P: Pages>(&mut self, pages: &mut P) -> Result<Option<Step<'_>>, ReadError<P::Error>> {
        Ok(match self.find_content(pages)? {
            None => None,
            Some(Advanced::Term) => Some(Step::Term(&self.term)),
            Some(Advanced::Rows) => Some(Step::Row(self.read_row(pages)?)),
        })
    }

    /// Reads on: to the next term, or to further rows of the current term, as many as lie side by side on a page. Returns `None` at the end
    /// of the segment.
    ///
    /// # Errors
    /// If a page can't be read, is missing or is damaged. The reader must not be used afterwards.
    #[inline]
    pub fn advance<P: Pages>(&mut self, pages: &mut P) -> Result<Option<Advanced>, ReadError<P::Error>> {
        let content = self.find_content(pages)?;
        if content == Some(Advanced::Rows) {
            self.read_rows(pages)?;
        }
        Ok(content)
    }

    /// Returns the rows that [`SegmentReader::advance`] has read last.
    #[inline]
    pub fn rows(&self) -> Rows<'_> {
        let RowsPlace { first, last, in_block, has_marks } = self.rows;
        let entries = match in_block {
            Some((start, end)) => &self.block[start..end],
            None => &self.positions,
        };
        Rows { doclist: Doclist { first, last, entries }, has_marks }
    }

    /// Finds the next content, and reads it if it is a term.
    fn find_content<P: Pages>(&mut self, pages: &mut P) -> Result<Option<Advanced>, ReadError<P::Error>> {
        loop {
            if self.at >= self.end {
                if self.next_term.is_some() {
                    return Err(self.damage(Fault::Overrun).into());
                }
                if !self.load(pages)? {
                    return self.end_of_segment();
                }
                if !self.has_term || self.skips_rows {
                    if !self.has_term
                        && self.is_start
                        && self.end > HEAD_BYTES
                        && self.next_term != Some(HEAD_BYTES)
                    {
                        return Err(self.damage(Fault::Overrun).into());
                    }
                    // The page begins with the rest of a doclist that is skipped.
                    self.first_rowid = None;
                    self.at = self.next_term.unwrap_or(self.end);
                }
                continue;
            }
            if self.next_term == Some(self.at) {
                // A term without a row is a fault.
                if self.has_term && !self.skips_rows && self.rowid.is_none() {
                    return Err(self.damage(Fault::Overrun).into());
                }
                self.read_term()?;
                return Ok(Some(Advanced::Term));
            }
            return Ok(Some(Advanced::Rows));
        }
    }

    fn end_of_segment<E>(&self) -> Result<Option<Advanced>, ReadError<E>> {
        // A term without a row is a fault.
        if self.has_term && !self.skips_rows && self.rowid.is_none() {
            return Err(self.damage(Fault::Short).into());
        }
        Ok(None)
    }

    /// Reads the next page. Returns `false` after the last one.
    fn load<P: Pages>(&mut self, pages: &mut P) -> Result<bool, ReadError<P::Error>> {
        if self.page >= self.last_page {
            return Ok(false);
        }
        self.page += 1;
        let id = self.id();
        if !pages.page(id, &mut self.block).map_err(ReadError::Stopped)? {
            return Err(Damage { row: id, offset: 0, fault: Fault::Missing }.into());
        }
        let leaf = Leaf::parse(id, &self.block)?;
        (self.at, self.end, self.first_rowid) = (HEAD_BYTES, leaf.end, leaf.first_rowid);
        (self.footer, self.is_begun) = (self.end, false);
        self.next_term = self.find_term(0)?;
        if let (Some(rowid), Some(term)) = (self.first_rowid, self.next_term)
            && rowid >= term
        {
            return Err(Damage { row: id, offset: 0, fault: Fault::Overrun }.into());
        }
        Ok(true)
    }

    /// Returns the offset of the term after the one at `before`, or `None` if it is the last term of the page.
    fn find_term(&mut self, before: usize) -> Result<Option<usize>, Damage> {
        let mut footer = Numbers::new(self.id(), &self.block, self.footer);
        if footer.is_at_end() {
            return Ok(None);
        }
        let found = next_term(&mut footer, before, before == 0, self.end)?;
        self.footer = footer.at;
        Ok(Some(found))
    }

    fn read_term(&mut self) -> Result<(), Damage> {
        let start = self.at;
        let is_first = self.term_page != self.page || !self.has_term;
        let mut numbers = Numbers::new(self.id(), &self.block[..self.end], self.at);
        let shared = if is_first { 0 } else { numbers.at_most(self.term.len() as u64)? as usize };
        let bytes = numbers.at_most(self.end as u64)? as usize;
        let new = self.block[..self.end].get(numbers.at..numbers.at + bytes);
        let new = new.filter(|new| !new.is_empty()).ok_or(numbers.damage(Fault::Short))?;
        let before = &self.term[shared..];
        let ascends = match before.first() {
            _ if !self.has_term => true,
            // Most terms differ in the first byte that is not shared.
            Some(byte) if *byte != new[0] => new[0] > *byte,
            _ => new > before,
        };
        if !ascends {
            return Err(self.damage(Fault::TermOrder));
        }
        let at = numbers.at + bytes;
        self.term.truncate(shared);
        self.term.extend_from_slice(new);
        self.at = at;
        (self.term_page, self.has_term, self.rowid, self.is_begun) = (self.page, true, None, true);
        (self.is_first_term, self.skips_rows) = (is_first, false);
        self.next_term = self.find_term(start)?;
        Ok(())
    }

    /// Reads the rowid at the current place, and creates a reader of its entry.
    #[inline]
    fn read_rowid(&self, limit: usize) -> Result<(i64, Numbers<'_>), Damage> {
        let is_first_of_page = self.first_rowid == Some(self.at);
        // The first rowid on a page, and the first of a doclist, are absolute.
        if self.is_begun == is_first_of_page || !self.has_term {
            return Err(self.damage(Fault::Overrun));
        }
        let mut numbers = Numbers::new(self.id(), &self.block[..limit], self.at);
        let value = numbers.next()? as i64;
        let rowid = match self.rowid {
            Some(last) if !is_first_of_page => last.wrapping_add(value),
            _ => value,
        };
        if self.rowid.is_some_and(|last| rowid <= last) {
            return Err(self.damage(Fault::RowOrder));
        }
        Ok((rowid, numbers))
    }

    fn read_row<P: Pages>(&mut self, pages: &mut P) -> Result<Row<'_>, ReadError<P::Error>> {
        let page = self.page;
        let is_first_of_page = self.first_rowid == Some(self.at);
        let limit = self.next_term.unwrap_or(self.end);
        let (rowid, mut numbers) = self.read_rowid(limit)?;
        let (mut is_deleted, mut is_present) = (false, true);
        let mut size = 0;
        if self.detail == Detail::None {
            let mut mark = || {
                let is_there = numbers.at < limit && numbers.block[numbers.at] == 0;
                numbers.at += usize::from(is_there);
                is_there
            };
            if mark() {
                is_deleted = true;
                is_present = mark();
            }
        } else {
            let value = numbers.at_most(2 * POSITIONS_MAX + 1)?;
            is_deleted = value & 1 == 1;
            size = (value / 2) as usize;
            is_present = size > 0;
        }
        self.at = numbers.at;
        (self.rowid, self.first_rowid, self.is_begun) = (Some(rowid), None, true);
        self.positions.clear();
        self.read_positions(size, pages)?;
        let positions = &self.positions[..];
        Ok(Row { rowid, is_deleted, is_present, positions, page, is_first_of_page })
    }

    /// Reads rows up to the next term, the end of the page, or a row whose positions continue on other pages. Such a row is read alone.
    fn read_rows<P: Pages>(&mut self, pages: &mut P) -> Result<(), ReadError<P::Error>> {
        let limit = self.next_term.unwrap_or(self.end);
        let (first, mut numbers) = self.read_rowid(limit)?;
        let start = numbers.at;
        let (mut last, mut end, mut has_marks) = (first, start, false);
        let mut rowid = first;
        loop {
            if self.detail == Detail::None {
                let marks = numbers.block[numbers.at..].iter().take(2).take_while(|byte| **byte == 0).count();
                has_marks |= marks > 0;
                numbers.at += marks;
            } else {
                let value = numbers.at_most(2 * POSITIONS_MAX + 1)?;
                let size = (value / 2) as usize;
                if size > limit - numbers.at {
                    if end > start {
                        break;
                    }
                    let positions_at = numbers.at;
                    self.positions.clear();
                    self.positions.extend_from_slice(&self.block[start..positions_at]);
                    self.at = positions_at;
                    (self.rowid, self.first_rowid, self.is_begun) = (Some(first), None, true);
                    self.rows = RowsPlace { first, last: first, in_block: None, has_marks: value & 1 == 1 };
                    return self.read_positions(positions_at - start + size, pages);
                }
                has_marks |= value & 1 == 1 || size == 0;
                numbers.at += size;
            }
            (last, end) = (rowid, numbers.at);
            if end >= limit {
                break;
            }
            let delta_at = numbers.at;
            rowid = last.wrapping_add(numbers.next()? as i64);
            if rowid <= last {
                return Err(Damage { row: numbers.row, offset: delta_at, fault: Fault::RowOrder }.into());
            }
        }
        self.at = end;
        (self.rowid, self.first_rowid, self.is_begun) = (Some(last), None, true);
        self.rows = RowsPlace { first, last, in_block: Some((start, end)), has_marks };
        Ok(())
    }

    /// Adds the positions of a row to `positions`, until these have `bytes` bytes. They may continue on other pages.
    fn read_positions<P: Pages>(&mut self, bytes: usize, pages: &mut P) -> Result<(), ReadError<P::Error>> {
        loop {
            let left = bytes - self.positions.len();
            // The positions end where the next rowid or term begins.
            let limit = self.first_rowid.or(self.next_term).unwrap_or(self.end);
            let here = left.min(limit - self.at);
            self.positions.extend_from_slice(&self.block[self.at..self.at + here]);
            self.at += here;
            if here == left {
                return Ok(());
            }
            if self.at < self.end {
                return Err(self.damage(Fault::Overrun).into());
            }
            if !self.load(pages)? {
                return Err(self.damage(Fault::Short).into());
            }
        }
    }
}
