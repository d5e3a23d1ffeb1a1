//! Merges the segments of an index between two terms whose pages do not fit into memory. Even a single doclist may be larger than memory.
//!
//! ```text
//!  segment, newest   apple 8 - 9    pear 7
//!  segment           apple 2 - 7                plum 1
//!  segment, oldest   apple 1        pear 4
//!                      └──> apple 1, apple 2 - 7, apple 8 - 9, pear 4, pear 7, plum 1
//! ```
//!
//! A doclist comes in pieces, as many as there are pages that it lies on. Bytes of a piece are not copied, and of its rows only rowids and sizes
//! are read.

use std::cmp::Ordering;

use sqluice_format::fts5::read::{Advanced, Pages, ReadError, Rows, SegmentReader, Tombstones};
use sqluice_format::fts5::{Detail, Doclist, EntryList};

use super::dictionary::{LONG, start_of};
use super::item;
use super::range::{Bounds, Input, filter};
use crate::tournament::Tournament;

/// The segments that are merged.
pub(super) struct Merge<'m> {
    detail: Detail,
    bounds: Bounds<'m>,
    /// The segments, the newest first.
    sources: Vec<Source<'m>>,
    places: Vec<Place>,
    tournament: Tournament,
    is_begun: bool,
}

/// A segment.
struct Source<'m> {
    reader: SegmentReader,
    tombstones: &'m Tombstones,
    /// The rows of the current piece that no tombstone hides. The piece itself is used if there are no tombstones.
    left: EntryList,
}

/// The place of a source in the order of pieces.
#[derive(Clone, Copy)]
struct Place {
    /// The start of the term, see [`start_of`]. A source without a further piece is last.
    start: u128,
    /// The first rowid of the piece.
    rowid: i64,
    is_at_end: bool,
}

/// A part of the doclist of a term in one segment.
pub(super) struct Piece<'m> {
    pub(super) term: &'m [u8],
    /// The age of the segment, see [`item`].
    pub(super) age: u32,
    pub(super) doclist: Doclist<'m>,
}

impl Source<'_> {
    /// Returns the current piece.
    fn rows(&self) -> Option<Rows<'_>> {
        let rows = self.reader.rows();
        match self.tombstones.is_empty() {
            true => Some(rows),
            false => self.left.doclist().map(|doclist| Rows { doclist, ..rows }),
        }
    }

    /// Steps to the next piece. Returns its place.
    fn advance<P: Pages>(
        &mut self,
        (detail, bounds): (Detail, &Bounds<'_>),
        start: u128,
        pages: &mut P,
    ) -> Result<Place, ReadError<P::Error>> {
        let mut start = start;
        loop {
            match bounds.advance(&mut self.reader, pages)? {
                None => return Ok(Place { start: u128::MAX, rowid: i64::MAX, is_at_end: true }),
                Some(Advanced::Term) => start = start_of(self.reader.term()),
                Some(Advanced::Rows) => {
                    if !self.tombstones.is_empty() {
                        filter(&self.reader.rows(), self.tombstones, detail, &mut self.left);
                    }
                    if let Some(rows) = self.rows() {
                        return Ok(Place { start, rowid: rows.doclist.first, is_at_end: false });
                    }
                }
            }
        }
    }
}

impl<'m> Merge<'m> {
    /// Creates a merge of the terms of a range. Each segment is read from a page on that is at most the first one with such a term.
    ///
    /// # Errors
    /// If a page can't be read, is missing or is damaged.
    pub(super) fn new<P: Pages>(
        inputs: impl Iterator<Item = (&'m Input, u32)>,
        detail: Detail,
        bounds: Bounds<'m>,
        pages: &mut P,
    ) -> Result<Merge<'m>, ReadError<P::Error>> {
        let (mut sources, mut places) = (Vec::new(), Vec::new());
        for (input, first) in inputs {
            let reader = input.reader((first, input.span.last), detail);
            let mut source = Source { reader, tombstones: &input.tombstones, left: EntryList::default() };
            places.push(source.advance((detail, &bounds), 0, pages)?);
            sources.push(source);
        }
        Ok(Merge { detail, bounds, sources, places, tournament: Tournament::default(), is_begun: false })
    }

    /// Returns for each segment the page from which the terms after the range start. The merge must be at its end.
    pub(super) fn next_pages(&self) -> impl Iterator<Item = u32> + '_ {
        self.sources.iter().map(|source| match self.bounds.high {
            Some(high) if source.reader.term() >= high => source.reader.term_page(),
            _ => source.reader.page() + 1,
        })
    }

    /// Returns the next piece, or `None` at the end. Pieces come in the order of terms, and of first rowids within a term.
    ///
    /// # Errors
    /// If a page can't be read, is missing or is damaged. The merge must not be used afterwards.
    pub(super) fn next<P: Pages>(&mut self, pages: &mut P) -> Result<Option<Piece<'_>>, ReadError<P::Error>> {
        let Merge { detail, bounds, sources, places, tournament, is_begun } = self;
        if sources.is_empty() {
            return Ok(None);
        }
        if *is_begun {
            let winner = tournament.winner();
            places[winner] = sources[winner].advance((*detail, bounds), places[winner].start, pages)?;
            tournament.replay(|a, b| is_less(sources, places, a, b));
        } else {
            tournament.rebuild(sources.len(), |a, b| is_less(sources, places, a, b));
            *is_begun = true;
        }
        let winner = tournament.winner();
        if places[winner].is_at_end {
            return Ok(None);
        }
        let source = &sources[winner];
        Ok(source.rows().map(|Rows { doclist, has_marks }| Piece {
            term: source.reader.term(),
            age: item::age(winner, has_marks),
            doclist,
        }))
    }
}

/// Returns `true` if the piece of source `a` comes before that of `b`.
#[inline]
fn is_less(sources: &[Source<'_>], places: &[Place], a: usize, b: usize) -> bool {
    let (of_a, of_b) = (&places[a], &places[b]);
    let is_equal = of_a.start == of_b.start;
    // Terms of up to 15 bytes are in `start` as a whole.
    if is_equal && of_a.start as u8 == LONG {
        let order = sources[a].reader.term().cmp(sources[b].reader.term());
        return order.then(of_a.rowid.cmp(&of_b.rowid)).then(a.cmp(&b)) == Ordering::Less;
    }
    // All parts are compared, as a branch would not be predicted. Sources at the end have equal places.
    let is_less_row = of_a.rowid < of_b.rowid;
    let is_equal_row = of_a.rowid == of_b.rowid;
    (of_a.start < of_b.start) | is_equal & (is_less_row | is_equal_row & (a < b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_terms_have_the_order_of_terms() {
        let terms: [&[u8]; 10] = [
            b"",
            b"\0",
            b"\0\0",
            b"0",
            b"0\0",
            b"0a",
            b"0aaaaaaaaaaaaaa",
            b"0aaaaaaaaaaaaaa\0",
            b"0aaaaaaaaaaaaaab",
            b"\xff",
        ];
        for (one, next) in terms.iter().zip(&terms[1..]) {
            let (one, next) = (start_of(one), start_of(next));
            assert!(one < next || one == next && one as u8 == LONG, "{next:x}");
        }
    }
}
