//! Joins the doclists of several segments: for each term, the rows of all segments in order.
//!
//! ```text
//!  newest segment    | 5 - 90 |             | 300 - 400 |    in: doclists of a term, with their first and last rowids
//!  older segment           | 80 - 200 |
//!                    |     5 - 200     |    | 300 - 400 |    out: doclists that do not overlap
//! ```
//!
//! If several segments have an entry of one rowid, the entry of the newest segment counts. A doclist that overlaps no other one is passed
//! on unchanged. Entries of overlapping doclists are joined to doclists of about 64 KiB.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

use sqluice_core::error::Result;
use sqluice_format::fts5::{Detail, Doclist, DoclistCursor, EntryList, MalformedDoclist};

use super::item::has_marks;

/// The number of bytes from which joined entries are passed on.
const JOINED_BYTES: usize = 64 << 10;

/// A receiver of the joined doclists.
pub(crate) trait Joined {
    /// Takes a doclist of a term. The doclists of a term follow one another.
    fn take(&mut self, term: &[u8], doclist: &Doclist<'_>) -> Result<()>;

    /// Returns the error for a doclist that is malformed.
    fn malformed(&self) -> sqluice_core::error::Error;
}

/// Joins the doclists that are pushed, and passes the joined ones on.
pub(super) struct Joiner {
    detail: Detail,
    /// `true` if no older segment remains, so that marks of deleted rows have no effect.
    is_oldest: bool,
    term: Vec<u8>,
    /// The last doclist, if it overlaps none before, until it is known if it overlaps the next one. While one is held, `pending` is empty.
    held: Option<Held>,
    held_entries: Vec<u8>,
    pending: BinaryHeap<Reverse<Piece>>,
    joined: EntryList,
    /// The buffers of pieces that were passed on.
    free: Vec<Vec<u8>>,
}

/// A doclist without marks. Its entries are stored beside it.
#[derive(Clone, Copy)]
struct Held {
    age: u32,
    first: i64,
    last: i64,
}

/// A doclist that may overlap others, at its next entry.
struct Piece {
    rowid: i64,
    age: u32,
    /// The stored bytes of the entry.
    stored: Range<usize>,
    is_deleted: bool,
    is_present: bool,
    entries: Vec<u8>,
    cursor: DoclistCursor,
    first: i64,
    last: i64,
    /// `true` if no entry was taken.
    is_whole: bool,
}

impl PartialEq for Piece {
    fn eq(&self, other: &Piece) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Piece {}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Piece) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Piece {
    fn cmp(&self, other: &Piece) -> Ordering {
        (self.rowid, self.age).cmp(&(other.rowid, other.age))
    }
}

impl Piece {
    /// Steps to the next entry. Returns `false` after the last one.
    fn step(&mut self, detail: Detail) -> std::result::Result<bool, MalformedDoclist> {
        let Some(entry) = self.cursor.next(&self.entries, detail) else { return Ok(false) };
        let entry = entry?;
        let bytes = entry.stored.len();
        self.stored = self.cursor.at() - bytes..self.cursor.at();
        (self.rowid, self.is_deleted, self.is_present) = (entry.rowid, entry.is_deleted, entry.is_present);
        Ok(true)
    }
}

impl Joiner {
    /// Creates a joiner. `is_oldest` is `true` if no segment remains that is older than the joined ones.
    pub(super) fn new(detail: Detail, is_oldest: bool) -> Joiner {
        Joiner {
            detail,
            is_oldest,
            term: Vec::new(),
            held: None,
            held_entries: Vec::new(),
            pending: BinaryHeap::new(),
            joined: EntryList::default(),
            free: Vec::new(),
        }
    }

    /// Takes a doclist. Doclists come in the order of terms, and for each term in the order of first rowids.
    pub(super) fn push(
        &mut self,
        term: &[u8],
        age: u32,
        doclist: &Doclist<'_>,
        to: &mut impl Joined,
    ) -> Result<()> {
        if term != self.term {
            self.finish(to)?;
            self.term.clear();
            self.term.extend_from_slice(term);
        }
        match self.held {
            Some(held) if held.last < doclist.first => self.pass_held(to)?,
            Some(held) => {
                self.held = None;
                let entries = std::mem::replace(&mut self.held_entries, self.free.pop().unwrap_or_default());
                self.add(held, entries, to)?;
            }
            None => self.pass_on(Some(doclist.first), to)?,
        }
        let Doclist { first, last, entries } = *doclist;
        let held = Held { age, first, last };
        if self.pending.is_empty() && !has_marks(age) {
            self.held_entries.clear();
            self.held_entries.extend_from_slice(entries);
            self.held = Some(held);
            return Ok(());
        }
        let mut copy = self.free.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(entries);
        self.add(held, copy, to)
    }

    /// Adds a doclist to those that may overlap.
    fn add(&mut self, Held { age, first, last }: Held, entries: Vec<u8>, to: &mut impl Joined) -> Result<()> {
        let mut piece = Piece {
            rowid: first,
            age,
            stored: 0..0,
            is_deleted: false,
            is_present: false,
            entries,
            cursor: DoclistCursor::new(first),
            first,
            last,
            is_whole: true,
        };
        if piece.step(self.detail).map_err(|_| to.malformed())? {
            self.pending.push(Reverse(piece));
        }
        Ok(())
    }

    /// Passes on the doclist that is held.
    #[inline]
    fn pass_held(&mut self, to: &mut impl Joined) -> Result<()> {
        self.flush(to)?;
        let Some(Held { first, last, .. }) = self.held.take() else { return Ok(()) };
        to.take(&self.term, &Doclist { first, last, entries: &self.held_entries })
    }

    /// Passes on all rows of the current term.
    pub(super) fn finish(&mut self, to: &mut impl Joined) -> Result<()> {
        self.pass_held(to)?;
        self.pass_on(None, to)?;
        self.flush(to)
    }

    fn flush(&mut self, to: &mut impl Joined) -> Result<()> {
        if let Some(doclist) = self.joined.doclist() {
            to.take(&self.term, &doclist)?;
        }
        self.joined.clear();
        Ok(())
    }

    /// Passes on the rows before `limit`.
    fn pass_on(&mut self, limit: Option<i64>, to: &mut impl Joined) -> Result<()> {
        let is_before = |rowid: i64| limit.is_none_or(|limit| rowid < limit);
        let mut taken = None;
        while self.pending.peek().is_some_and(|Reverse(piece)| is_before(piece.rowid)) {
            let is_alone = self.pending.len() == 1;
            let Some(Reverse(mut piece)) = self.pending.pop() else { break };
            if is_alone
                && piece.is_whole
                && !has_marks(piece.age)
                && is_before(piece.last)
                && taken != Some(piece.rowid)
            {
                self.flush(to)?;
                let doclist = Doclist { first: piece.first, last: piece.last, entries: &piece.entries };
                to.take(&self.term, &doclist)?;
                self.free.push(piece.entries);
                continue;
            }
            // The newest entry of a rowid comes first.
            if taken != Some(piece.rowid) {
                taken = Some(piece.rowid);
                if piece.is_present || piece.is_deleted && !self.is_oldest {
                    self.joined.push(piece.rowid, &piece.entries[piece.stored.clone()]);
                    if self.joined.bytes() >= JOINED_BYTES {
                        self.flush(to)?;
                    }
                }
            }
            piece.is_whole = false;
            if piece.step(self.detail).map_err(|_| to.malformed())? {
                self.pending.push(Reverse(piece));
            } else {
                self.free.push(piece.entries);
            }
        }
        Ok(())
    }
}
