//! Reads all segments of an index as one: terms in order, each with its rowids.
//!
//! ```text
//!  newest segment    apple: 3, only marked as deleted     pear: 7
//!  second segment    apple: 2, 3                          pear: 7
//!  oldest segment    apple: 1                                           plum: 4
//!  read as           apple: 1, 2                          pear: 7       plum: 4       pear has the entry of the newest segment
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::doclist::Detail;
use super::{Pages, ReadError, SegmentReader, Step, Structure, Tombstones};

/// A row that has a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergedRow<'a> {
    /// The term that the row has.
    pub term: &'a [u8],
    /// The rowid of the row.
    pub rowid: i64,
    /// The stored bytes of the columns and positions at which the row has the term.
    pub positions: &'a [u8],
}

/// A reader of the entries of all segments of an index, as one sequence of rows: ordered by term, and within a term by rowid.
#[derive(Debug)]
pub struct MergedReader {
    /// The segments, the newest first.
    sources: Vec<Source>,
    /// The next term of each source: its first bytes as a number, which decides most comparisons, the whole term, and the position of the
    /// source in `sources`.
    terms: BinaryHeap<Reverse<(u64, Vec<u8>, usize)>>,
    /// Buffers of earlier terms, to be used again.
    free: Vec<Vec<u8>>,
    /// For each source that has the current term: its current rowid, and the position of the source in `sources`.
    rows: BinaryHeap<Reverse<(i64, usize)>>,
    /// The positions in `sources` of the sources that must advance, because their current row was used.
    used: Vec<usize>,
    term: Vec<u8>,
}

/// A segment while it is read.
#[derive(Debug)]
struct Source {
    reader: SegmentReader,
    tombstones: Tombstones,
    /// `true` if the current row has the term.
    is_present: bool,
}

/// The next step of a source.
enum Next {
    Row(i64),
    Term,
    End,
}

impl Source {
    fn next<P: Pages>(&mut self, pages: &mut P) -> Result<Next, ReadError<P::Error>> {
        Ok(match self.reader.step(pages)? {
            Some(Step::Row(row)) => {
                self.is_present = row.is_present;
                Next::Row(row.rowid)
            }
            Some(Step::Term(_)) => Next::Term,
            None => Next::End,
        })
    }
}

impl MergedReader {
    /// Creates a reader of all segments of an index.
    ///
    /// # Errors
    /// If the tombstones or the first page of a segment can't be read, are missing or are damaged.
    pub fn new<P: Pages>(
        structure: &Structure,
        detail: Detail,
        pages: &mut P,
    ) -> Result<MergedReader, ReadError<P::Error>> {
        let mut sources = Vec::new();
        for (_, segment) in structure.segments().filter(|(_, segment)| segment.leaves() > 0) {
            let tombstones = Tombstones::read(segment, pages)?;
            sources.push(Source {
                reader: SegmentReader::new(segment, detail),
                tombstones,
                is_present: false,
            });
        }
        let (terms, rows, free) = (BinaryHeap::new(), BinaryHeap::new(), Vec::new());
        let mut merged = MergedReader { sources, terms, free, rows, used: Vec::new(), term: Vec::new() };
        for source in 0..merged.sources.len() {
            merged.advance(source, pages)?;
        }
        Ok(merged)
    }

    /// Advances a source to its next row, which is added to `rows`, or to its next term, which is added to `terms`.
    fn advance<P: Pages>(&mut self, source: usize, pages: &mut P) -> Result<(), ReadError<P::Error>> {
        if let Some(rowid) = self.step(source, pages)? {
            self.rows.push(Reverse((rowid, source)));
        }
        Ok(())
    }

    /// Advances a source. Returns its next row, or adds its next term to `terms` and returns `None`. At the end of the source, returns
    /// `None`.
    fn step<P: Pages>(&mut self, source: usize, pages: &mut P) -> Result<Option<i64>, ReadError<P::Error>> {
        match self.sources[source].next(pages)? {
            Next::Row(rowid) => return Ok(Some(rowid)),
            Next::Term => {
                let term = self.sources[source].reader.term();
                let mut buffer = self.free.pop().unwrap_or_default();
                buffer.clear();
                buffer.extend_from_slice(term);
                self.terms.push(Reverse((first_bytes(term), buffer, source)));
            }
            Next::End => {}
        }
        Ok(None)
    }

    /// Returns the next row, or `None` at the end.
    ///
    /// # Errors
    /// If a page can't be read, is missing or is damaged. The reader must not be used afterwards.
    pub fn next<P: Pages>(&mut self, pages: &mut P) -> Result<Option<MergedRow<'_>>, ReadError<P::Error>> {
        loop {
            // Most rows follow another of the same segment: they take no turn in the heap.
            if let [source] = self.used[..] {
                match self.step(source, pages)? {
                    None => self.used.clear(),
                    Some(rowid) if self.rows.peek().is_some_and(|Reverse((other, _))| *other <= rowid) => {
                        self.rows.push(Reverse((rowid, source)));
                        self.used.clear();
                    }
                    Some(rowid) if self.of_source(source, rowid) == Some((source, true)) => {
                        let positions = self.sources[source].reader.positions();
                        return Ok(Some(MergedRow { term: &self.term, rowid, positions }));
                    }
                    Some(_) => continue,
                }
            }
            while let Some(source) = self.used.pop() {
                self.advance(source, pages)?;
            }
            let Some(Reverse((rowid, newest))) = self.rows.pop() else {
                if !self.next_term(pages)? {
                    return Ok(None);
                }
                continue;
            };
            self.used.push(newest);
            let mut row = self.of_source(newest, rowid);
            while let Some(Reverse((other, source))) =
                self.rows.peek().copied().filter(|next| next.0.0 == rowid)
            {
                self.rows.pop();
                self.used.push(source);
                // Tombstones hide the row of their own segment alone.
                row = row.or_else(|| self.of_source(source, other));
            }
            if let Some((source, true)) = row {
                let positions = self.sources[source].reader.positions();
                return Ok(Some(MergedRow { term: &self.term, rowid, positions }));
            }
        }
    }

    /// Returns the source, and `true` if its current row has the term. Returns `None` if a tombstone hides the row.
    fn of_source(&self, source: usize, rowid: i64) -> Option<(usize, bool)> {
        let Source { tombstones, is_present, .. } = &self.sources[source];
        (!tombstones.contains(rowid)).then_some((source, *is_present))
    }

    /// Begins the next term in all sources that have it. Returns `false` at the end.
    fn next_term<P: Pages>(&mut self, pages: &mut P) -> Result<bool, ReadError<P::Error>> {
        let Some(Reverse((_, term, source))) = self.terms.pop() else { return Ok(false) };
        self.free.push(std::mem::replace(&mut self.term, term));
        self.used.push(source);
        while self.terms.peek().is_some_and(|next| next.0.1 == self.term) {
            if let Some(Reverse((_, term, source))) = self.terms.pop() {
                self.free.push(term);
                self.used.push(source);
            }
        }
        while let Some(source) = self.used.pop() {
            self.advance(source, pages)?;
        }
        Ok(true)
    }
}

/// Returns the first eight bytes of a term, as a number in the order of terms.
fn first_bytes(term: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let count = term.len().min(8);
    bytes[..count].copy_from_slice(&term[..count]);
    u64::from_be_bytes(bytes)
}
