//! Merges the segments of an index between two terms: the doclists of each term are found by its number.
//!
//! ```text
//!  pages of each segment ──> (term, doclist in the pages) ──> dictionary: a number for each term
//!                                                                │ distinct terms sorted, pieces counted by term
//!                                          apple: pieces 0, 4, 9   pear: pieces 1, 5   plum: piece 3
//!                                                                │ one after another
//!                                                            doclists of all terms
//! ```
//!
//! Each segment is read from its first page to its last, so its bytes are in the CPU cache. Only distinct terms are sorted. The pieces of a term
//! come from the oldest segment on, which is the order of their rowids unless rows were changed.

use std::convert::Infallible;
use std::ops::Range;

use sqluice_core::error::{Error, Result};
use sqluice_format::fts5::read::{
    Advanced, Damage, Leaf, Pages, ReadError, Rows, SegmentReader, SegmentSpan, Tombstones,
};
use sqluice_format::fts5::{Detail, Doclist, DoclistCursor, EntryList, SegmentError};

use super::dictionary::{Dictionary, Key, start_of};
use super::item;
use super::join::{Joined, Joiner};

/// The bytes of memory that a dictionary keeps for the next range.
const DICTIONARY_BYTES: usize = 8 << 20;

/// The bytes of the pages whose terms are ordered at once: terms and pieces stay in the second-level cache.
const GROUP_BYTES: usize = if cfg!(test) { 512 } else { 128 << 10 };

/// A segment that is merged.
pub(super) struct Input {
    pub(super) span: SegmentSpan,
    pub(super) tombstones: Tombstones,
}

impl Input {
    /// Returns a reader of the terms that start on pages from `first` to `last`.
    pub(super) fn reader(&self, (first, last): (u32, u32), detail: Detail) -> SegmentReader {
        match first == self.span.first {
            true => SegmentReader::new(&SegmentSpan { last, ..self.span }, detail),
            false => SegmentReader::of_pages(self.span.id, (first, last), detail),
        }
    }
}

/// The terms of a range: from `low` on, and before `high`, if that is not `None`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds<'b> {
    pub(super) low: &'b [u8],
    pub(super) high: Option<&'b [u8]>,
}

impl Bounds<'_> {
    /// Reads on within the range. Returns `None` at its end. The pages of the reader may begin before the range.
    #[inline]
    pub(super) fn advance<P: Pages>(
        &self,
        reader: &mut SegmentReader,
        pages: &mut P,
    ) -> std::result::Result<Option<Advanced>, ReadError<P::Error>> {
        loop {
            match reader.advance(pages)? {
                Some(Advanced::Term) if reader.term() < self.low => reader.skip_rows(),
                Some(Advanced::Term) if self.high.is_some_and(|high| reader.term() >= high) => {
                    return Ok(None);
                }
                advanced => return Ok(advanced),
            }
        }
    }
}

/// Puts the entries of `rows` that `tombstones` do not hide into `left`, which is emptied first.
pub(super) fn filter(rows: &Rows<'_>, tombstones: &Tombstones, detail: Detail, left: &mut EntryList) {
    left.clear();
    let mut cursor = DoclistCursor::new(rows.doclist.first);
    // The reader has read all entries, so none is malformed.
    while let Some(Ok(entry)) = cursor.next(rows.doclist.entries, detail) {
        if !tombstones.contains(entry.rowid) {
            left.push(entry.rowid, entry.stored);
        }
    }
}

/// The pages of all segments that have terms of a range.
#[derive(Default)]
pub(super) struct Chunk {
    /// The range has no term before this one.
    pub(super) low: Vec<u8>,
    /// The range ends before this term.
    pub(super) high: Option<Vec<u8>>,
    /// The bytes of all pages.
    pub(super) bytes: Vec<u8>,
    /// The start of each page in `bytes`.
    pub(super) starts: Vec<usize>,
    pub(super) parts: Vec<Part>,
}

/// The pages of a segment in a chunk.
pub(super) struct Part {
    /// The number of the segment among those that are merged, the newest first.
    pub(super) input: usize,
    /// The number of the first page in the segment.
    pub(super) first_page: u32,
    /// The numbers of the pages in the chunk.
    pub(super) pages: Range<usize>,
}

impl Chunk {
    /// Adds a page.
    pub(super) fn push(&mut self, block: &[u8]) {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(block);
    }

    /// Returns the place of a page in `bytes`.
    pub(super) fn place(&self, page: usize) -> Range<usize> {
        self.starts[page]..self.starts.get(page + 1).copied().unwrap_or(self.bytes.len())
    }

    /// Returns terms between which the pages have about [`GROUP_BYTES`] bytes.
    fn cuts(&self) -> std::result::Result<Vec<&[u8]>, Damage> {
        let mut terms: Vec<&[u8]> = Vec::new();
        for page in 0..self.starts.len() {
            // The pages were parsed when they were added to the chunk. So this can't fail, and no error names the id 0.
            terms.extend(Leaf::parse(0, &self.bytes[self.place(page)])?.first_term()?);
        }
        terms.retain(|term| *term > &self.low[..] && self.high.as_ref().is_none_or(|high| *term < &high[..]));
        terms.sort_unstable();
        let step = (self.starts.len() * GROUP_BYTES / self.bytes.len().max(1)).max(1);
        let mut cuts: Vec<&[u8]> = terms.into_iter().skip(step).step_by(step).collect();
        cuts.dedup();
        Ok(cuts)
    }
}

impl Part {
    /// Returns the number of a page of the segment in the chunk.
    pub(super) fn number(&self, page: u32) -> Option<usize> {
        let number = self.pages.start + usize::try_from(page.checked_sub(self.first_page)?).ok()?;
        Some(number).filter(|number| self.pages.contains(number))
    }
}

/// The pages of a part, for its reader.
struct PartPages<'c> {
    chunk: &'c Chunk,
    part: &'c Part,
}

impl Pages for PartPages<'_> {
    type Error = Infallible;

    fn page(&mut self, id: i64, block: &mut Vec<u8>) -> std::result::Result<bool, Infallible> {
        let page = self.part.number((id & ((1 << 31) - 1)) as u32);
        block.clear();
        page.inspect(|page| block.extend_from_slice(&self.chunk.bytes[self.chunk.place(*page)]));
        Ok(page.is_some())
    }
}

/// Consecutive rows of a term in a segment.
#[derive(Clone, Copy)]
struct Piece {
    first: i64,
    last: i64,
    /// The place of the entries in those of all pieces.
    start: u32,
    bytes: u32,
    age: u32,
    /// The number of the term.
    term: u32,
}

/// The fault that ends a merge.
#[derive(Debug)]
pub(super) enum RangeFault {
    /// A page is missing or damaged.
    Damaged(Damage),
    /// A doclist is malformed.
    Malformed,
}

/// Merges ranges on one thread. It keeps its memory from one range to the next.
pub(super) struct RangeMerger<'i> {
    inputs: &'i [Input],
    detail: Detail,
    dictionary: Dictionary,
    pieces: Vec<Piece>,
    /// The entries of all pieces.
    entries: Vec<u8>,
    left: EntryList,
    /// The distinct terms: the start of each, and its number.
    terms: Vec<(u128, u32)>,
    /// The end of the pieces of each term in `ordered`.
    ends: Vec<u32>,
    /// The numbers of the pieces, in the order of their terms.
    ordered: Vec<u32>,
}

/// A segment whose pages are being read.
struct Source<'c> {
    part: &'c Part,
    reader: SegmentReader,
    /// The kind of the content that was read last; `None` at the end.
    content: Option<Advanced>,
}

impl<'i> RangeMerger<'i> {
    /// Creates a merger of ranges of `inputs`.
    pub(super) fn new(inputs: &'i [Input], detail: Detail) -> RangeMerger<'i> {
        RangeMerger {
            inputs,
            detail,
            dictionary: Dictionary::new(0),
            pieces: Vec::new(),
            entries: Vec::new(),
            left: EntryList::default(),
            terms: Vec::new(),
            ends: Vec::new(),
            ordered: Vec::new(),
        }
    }

    /// Merges the pages of a range.
    pub(super) fn merge(&mut self, chunk: &Chunk) -> std::result::Result<MergedRange, RangeFault> {
        let failed = |error| match error {
            ReadError::Damaged(damage) => RangeFault::Damaged(damage),
            ReadError::Stopped(never) => match never {},
        };
        let bounds = Bounds { low: &chunk.low, high: None };
        // The oldest segment comes first.
        let sources = chunk.parts.iter().rev().map(|part| {
            let last_page = part.first_page + part.pages.len() as u32 - 1;
            let mut reader = self.inputs[part.input].reader((part.first_page, last_page), self.detail);
            let content = bounds.advance(&mut reader, &mut PartPages { chunk, part }).map_err(failed)?;
            Ok(Source { part, reader, content })
        });
        let mut sources = sources.collect::<std::result::Result<Vec<_>, RangeFault>>()?;
        let mut merged = MergedRange::default();
        merged.bytes.reserve(chunk.bytes.len());
        let cuts = chunk.cuts().map_err(RangeFault::Damaged)?;
        for high in cuts.into_iter().map(Some).chain([chunk.high.as_deref()]) {
            self.dictionary.clear(DICTIONARY_BYTES);
            self.pieces.clear();
            self.entries.clear();
            for source in &mut sources {
                self.read(chunk, source, high).map_err(failed)?;
            }
            self.order();
            self.join(&mut merged)?;
        }
        Ok(merged)
    }

    /// Reads the pieces of a segment up to a term.
    fn read(
        &mut self,
        chunk: &Chunk,
        source: &mut Source<'_>,
        high: Option<&[u8]>,
    ) -> std::result::Result<(), ReadError<Infallible>> {
        let Source { part, reader, content } = source;
        let input = &self.inputs[part.input];
        let mut pages = PartPages { chunk, part };
        let mut term = 0;
        while let Some(found) = *content {
            if found == Advanced::Term {
                let bytes = reader.term();
                if high.is_some_and(|high| bytes >= high) {
                    return Ok(());
                }
                term = self.dictionary.number(0, Key::of(bytes), bytes);
            } else {
                let mut rows = reader.rows();
                if !input.tombstones.is_empty() {
                    filter(&rows, &input.tombstones, self.detail, &mut self.left);
                    match self.left.doclist() {
                        Some(doclist) => rows.doclist = doclist,
                        None => {
                            *content = reader.advance(&mut pages)?;
                            continue;
                        }
                    }
                }
                let Rows { doclist, has_marks } = rows;
                self.pieces.push(Piece {
                    first: doclist.first,
                    last: doclist.last,
                    start: self.entries.len() as u32,
                    bytes: doclist.entries.len() as u32,
                    age: item::age(part.input, has_marks),
                    term,
                });
                self.entries.extend_from_slice(doclist.entries);
            }
            *content = reader.advance(&mut pages)?;
        }
        Ok(())
    }

    /// Orders the terms, and the pieces by their terms.
    fn order(&mut self) {
        let RangeMerger { dictionary, pieces, terms, ends, ordered, .. } = self;
        let count = dictionary.len() as u32;
        let term = |number: u32| &dictionary.term(number)[1..];
        terms.clear();
        terms.extend((0..count).map(|number| (start_of(term(number)), number)));
        terms.sort_unstable_by_key(|(start, _)| *start);
        // Only long terms may have the same start.
        for same in terms.chunk_by_mut(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            same.sort_unstable_by(|a, b| term(a.1).cmp(term(b.1)));
        }
        ends.clear();
        ends.resize(count as usize, 0);
        pieces.iter().for_each(|piece| ends[piece.term as usize] += 1);
        let mut end = 0;
        for (_, number) in &*terms {
            let count = std::mem::replace(&mut ends[*number as usize], end);
            end += count;
        }
        // `ends` has the start of the pieces of each term, which moves to their end.
        ordered.clear();
        ordered.resize(pieces.len(), 0);
        for (number, piece) in pieces.iter().enumerate() {
            let at = &mut ends[piece.term as usize];
            ordered[*at as usize] = number as u32;
            *at += 1;
        }
    }

    /// Joins the pieces of each term.
    fn join(&mut self, merged: &mut MergedRange) -> std::result::Result<(), RangeFault> {
        let RangeMerger { dictionary, pieces, entries, terms, ends, ordered, .. } = self;
        let doclist = |piece: &Piece| Doclist {
            first: piece.first,
            last: piece.last,
            entries: &entries[piece.start as usize..][..piece.bytes as usize],
        };
        merged.pieces += pieces.len() as u64;
        let mut start = 0;
        for (_, number) in &*terms {
            let end = ends[*number as usize] as usize;
            let found = &mut ordered[start..end];
            start = end;
            let term = &dictionary.term(*number)[1..];
            let is_plain = |number: &u32| !item::has_marks(pieces[*number as usize].age);
            let follows = |pair: &[u32]| pieces[pair[0] as usize].last < pieces[pair[1] as usize].first;
            if found.iter().all(is_plain) && found.windows(2).all(follows) {
                found.iter().for_each(|number| merged.push(term, &doclist(&pieces[*number as usize])));
                merged.end_term();
                continue;
            }
            found.sort_unstable_by_key(|number| {
                let piece = &pieces[*number as usize];
                (piece.first, piece.age / 2)
            });
            let mut joiner = Joiner::new(self.detail, true);
            for number in found {
                let piece = &pieces[*number as usize];
                joiner.push(term, piece.age, &doclist(piece), merged).map_err(|_| RangeFault::Malformed)?;
            }
            joiner.finish(merged).map_err(|_| RangeFault::Malformed)?;
            merged.end_term();
        }
        Ok(())
    }
}

/// The doclists of all terms of a range, in order.
#[derive(Default)]
pub(super) struct MergedRange {
    /// Each term, and its entries.
    bytes: Vec<u8>,
    doclists: Vec<MergedDoclist>,
    /// `true` while further rows of the last term may follow.
    is_open: bool,
    /// The number of pieces that were merged.
    pub(super) pieces: u64,
}

struct MergedDoclist {
    first: i64,
    last: i64,
    term_bytes: u32,
    entries_bytes: u32,
}

impl MergedRange {
    /// Appends rows to the doclist of a term.
    #[inline]
    fn push(&mut self, term: &[u8], doclist: &Doclist<'_>) {
        let MergedRange { bytes, doclists, is_open, .. } = self;
        let start = bytes.len();
        match doclists.last_mut().filter(|_| *is_open) {
            Some(last) => {
                doclist.push_after(last.last, bytes);
                last.last = doclist.last;
                last.entries_bytes += (bytes.len() - start) as u32;
            }
            None => {
                bytes.extend_from_slice(term);
                bytes.extend_from_slice(doclist.entries);
                let (term_bytes, entries_bytes) = (term.len() as u32, doclist.entries.len() as u32);
                doclists.push(MergedDoclist {
                    first: doclist.first,
                    last: doclist.last,
                    term_bytes,
                    entries_bytes,
                });
                *is_open = true;
            }
        }
    }

    fn end_term(&mut self) {
        self.is_open = false;
    }

    /// Hands all doclists to `to`.
    ///
    /// # Errors
    /// The error of `to`.
    pub(super) fn pass_on(&self, to: &mut impl Joined) -> Result<()> {
        let mut rest = &self.bytes[..];
        self.doclists.iter().try_for_each(|found| {
            let (term, others) = rest.split_at(found.term_bytes as usize);
            let (entries, others) = others.split_at(found.entries_bytes as usize);
            rest = others;
            to.take(term, &Doclist { first: found.first, last: found.last, entries })
        })
    }
}

impl Joined for MergedRange {
    fn take(&mut self, term: &[u8], doclist: &Doclist<'_>) -> Result<()> {
        self.push(term, doclist);
        Ok(())
    }

    fn malformed(&self) -> Error {
        Error::target(SegmentError::<Infallible>::Malformed.to_string())
    }
}
