//! Checks the terms and doclists of a segment, and its split keys: the rows of `t_idx`, by which a search finds the page of a term.

use std::collections::HashSet;

use super::super::doclist_index::PAGES_MIN;
use super::super::read::{Damage, Pages, ReadError, SegmentReader, SegmentSpan, Step};
use super::super::{PREFIX_INDEXES_MAX, index_byte};
use super::{Checked, Declared, Finding, Rows, doclist_index};

/// An entry of a segment: a row that has a term.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The term, with the byte of its index.
    pub term: &'a [u8],
    /// The rowid of the row.
    pub rowid: i64,
    /// The stored bytes of the columns and positions at which the row has the term.
    pub positions: &'a [u8],
    /// `true` for the first entry of a term in its segment.
    pub is_first: bool,
}

/// The reason why a segment was not read to its end.
pub(super) enum Stop<E> {
    Error(E),
    Damaged(Damage),
}

fn stop<F, E: From<F>>(error: ReadError<F>) -> Stop<E> {
    match error {
        ReadError::Stopped(error) => Stop::Error(error.into()),
        ReadError::Damaged(damage) => Stop::Damaged(damage),
    }
}

/// The check of a segment.
pub(super) struct Check<'c> {
    declared: &'c Declared,
    span: &'c SegmentSpan,
    checked: &'c mut Checked,
    indexes: &'c mut HashSet<i64>,
    keys: Keys,
    /// The current term, and the term before it.
    term: Vec<u8>,
    before: Vec<u8>,
    /// The page of the current term. The field `mark` is `true` if the split key of this page says that the term has a doclist index, and
    /// `None` if the page has no split key.
    page: u32,
    mark: Option<bool>,
    /// The pages after `page` on which rows of the current term start, and all pages between these pages.
    leaves: Vec<doclist_index::Child>,
}

/// The split keys of a segment, in order.
#[derive(Default)]
struct Keys {
    last: Option<Vec<u8>>,
    /// The page of `last`, and `true` if the key says that the term has a doclist index.
    page: Option<(i64, bool)>,
    is_at_end: bool,
}

impl Keys {
    fn advance<R: Rows>(&mut self, segment: u16, rows: &mut R) -> Result<(), R::Error> {
        let page = rows.next_split_key(segment, &mut self.last)?;
        self.page = page.map(|page| (page >> 1, page & 1 == 1));
        self.is_at_end = page.is_none();
        Ok(())
    }
}

impl<'c> Check<'c> {
    pub(super) fn new(
        declared: &'c Declared,
        span: &'c SegmentSpan,
        checked: &'c mut Checked,
        indexes: &'c mut HashSet<i64>,
    ) -> Check<'c> {
        let (keys, leaves) = (Keys::default(), Vec::new());
        let (term, before) = (Vec::new(), Vec::new());
        Check { declared, span, checked, indexes, keys, term, before, page: 0, mark: None, leaves }
    }

    pub(super) fn run<R: Rows, E: From<R::Error>>(
        &mut self,
        rows: &mut R,
        each: &mut dyn FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        let error = |error: R::Error| Stop::Error(error.into());
        self.keys.advance(self.span.id, rows).map_err(error)?;
        if self.span.leaves() == 0 {
            return Ok(());
        }
        let mut reader = SegmentReader::new(self.span, self.declared.detail);
        let mut is_first = true;
        loop {
            let row = match reader.step(rows).map_err(stop)? {
                None => break,
                Some(Step::Term(_)) => {
                    self.end_term(reader.page(), rows).map_err(error)?;
                    self.begin_term(&reader, rows).map_err(error)?;
                    is_first = true;
                    continue;
                }
                Some(Step::Row(row)) => row,
            };
            self.checked.has_deleted |= row.is_deleted;
            if row.is_first_of_page {
                self.add_leaf(row.page, Some(row.rowid));
            }
            if row.is_present {
                let entry = Entry { term: &self.term, rowid: row.rowid, positions: row.positions, is_first };
                each(&entry).map_err(Stop::Error)?;
                is_first = false;
            }
        }
        self.end_term(self.span.last + 1, rows).map_err(error)?;
        while let Some((page, _)) = self.keys.page {
            self.stray(page);
            self.keys.advance(self.span.id, rows).map_err(error)?;
        }
        Ok(())
    }

    /// Adds a page to the pages of the doclist, after the pages before it on which no row starts.
    fn add_leaf(&mut self, page: u32, rowid: Option<i64>) {
        if let Some(&(last, _)) = self.leaves.last() {
            self.leaves.extend((last + 1..page).map(|between| (between, None)));
        } else if rowid.is_none() {
            return;
        }
        self.leaves.push((page, rowid));
    }

    fn stray(&mut self, page: i64) {
        // An unfinished merge leaves the split keys of pages that it has moved; edited pages may have lost all terms.
        if page >= i64::from(self.span.first) && !self.declared.is_edited {
            self.checked.findings.push(Finding::StraySplitKey { segment: self.span.id, page });
        }
    }

    fn begin_term<R: Rows>(&mut self, reader: &SegmentReader, rows: &mut R) -> Result<(), R::Error> {
        let (segment, page) = (self.span.id, reader.term_page());
        self.before.clear();
        std::mem::swap(&mut self.before, &mut self.term);
        self.term.extend_from_slice(reader.term());
        let indexes = index_byte(0)..=index_byte(self.declared.prefixes.min(PREFIX_INDEXES_MAX));
        if !self.term.first().is_some_and(|byte| indexes.contains(byte)) {
            self.checked.findings.push(Finding::Index { segment, page });
        }
        self.page = page;
        if !reader.is_first_term() {
            return Ok(());
        }
        self.mark = None;
        while let Some((stray, _)) = self.keys.page.filter(|(of, _)| *of < i64::from(page)) {
            self.stray(stray);
            self.keys.advance(segment, rows)?;
        }
        let key = self.keys.last.as_deref().filter(|_| !self.keys.is_at_end);
        match (self.keys.page, key) {
            (Some((of, mark)), Some(key)) if of == i64::from(page) => {
                let is_first_page = page == self.span.first;
                let separates = key <= &self.term[..] && (is_first_page || key > &self.before[..]);
                if !separates {
                    self.checked.findings.push(Finding::SplitKey { segment, page });
                }
                self.mark = Some(mark);
                self.keys.advance(segment, rows)?;
            }
            // If the segment begins after page 1, its first page may lack a split key: a search that finds no key begins at this page.
            _ if page == self.span.first && page > 1 => {}
            _ => self.checked.findings.push(Finding::NoSplitKey { segment, page }),
        }
        Ok(())
    }

    /// Ends the doclist of the current term. The next term starts on `page`, or the segment ends before it.
    fn end_term<P: Pages>(&mut self, page: u32, pages: &mut P) -> Result<(), P::Error> {
        let Check { declared, span, page: term_page, .. } = *self;
        // The next term starts on the same page, so the doclist takes no further page; or there is no term yet.
        if page == term_page || term_page == 0 {
            return Ok(());
        }
        // Pages on which only positions continue are listed, except a page on which another term starts.
        if page > term_page + 1 && self.leaves.last().is_some_and(|(last, _)| *last < page - 1) {
            self.add_leaf(page - 1, None);
        }
        let leaves = std::mem::take(&mut self.leaves);
        let place = (span.id, term_page);
        let (segment, page_count) = (span.id, page - term_page);
        match self.mark.filter(|_| !declared.is_edited) {
            Some(true) if !doclist_index::is_right(pages, place, &leaves, self.indexes)? => {
                self.checked.findings.push(Finding::DoclistIndex { segment, page: term_page });
            }
            Some(false) if !leaves.is_empty() && page_count > PAGES_MIN => {
                self.checked.findings.push(Finding::Unmarked { segment, page: term_page });
            }
            _ => {}
        }
        Ok(())
    }
}
