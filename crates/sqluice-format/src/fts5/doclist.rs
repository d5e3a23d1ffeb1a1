//! Doclists: the rows that have a term, with the positions of the term in each row.
//!
//! ```text
//!  first   rowid of the first row
//!  entries size, positions | delta, size, positions | delta, size, positions | ...
//!  last    rowid of the last row
//! ```
//!
//! The first rowid of a [`Doclist`] is not among its entries. So doclists of consecutive ranges of rows are joined without a change of
//! their entries: only the first rowid of each is written, as a delta from the last rowid of the doclist before.

use super::{first_number, push_number};

/// The detail of an index: its option `detail`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Detail {
    /// An entry has the columns and positions at which the row has the term.
    #[default]
    Full,
    /// An entry has the columns in which the row has the term.
    Column,
    /// An entry has no columns and no positions.
    None,
}

/// A doclist, or a part of one, of at least one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doclist<'a> {
    /// The rowid of the first row.
    pub first: i64,
    /// The rowid of the last row.
    pub last: i64,
    /// The entry of the first row. For each later row, the distance of its rowid from the rowid of the row before, and its entry.
    pub entries: &'a [u8],
}

/// The error for a doclist that ends within an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedDoclist;

/// A row of a doclist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The rowid of the row.
    pub rowid: i64,
    /// `true` if older segments have entries of this row for the term, which no longer count.
    pub is_deleted: bool,
    /// `true` if the row has the term.
    pub is_present: bool,
    /// The stored bytes of the columns and positions at which the row has the term.
    pub positions: &'a [u8],
    /// The whole entry as it is stored, without the rowid.
    pub stored: &'a [u8],
}

impl<'a> Doclist<'a> {
    /// Appends the doclist to the entries of a doclist whose last row is `last`.
    #[inline]
    pub fn push_after(&self, last: i64, entries: &mut Vec<u8>) {
        push_number(entries, self.first.wrapping_sub(last) as u64);
        entries.extend_from_slice(self.entries);
    }

    /// Returns the entries, one after another.
    pub fn entries(
        &self,
        detail: Detail,
    ) -> impl Iterator<Item = Result<Entry<'a>, MalformedDoclist>> + use<'a> {
        let mut cursor = DoclistCursor::new(self.first);
        let entries = self.entries;
        std::iter::from_fn(move || cursor.next(entries, detail))
    }
}

/// A place in the entries of a doclist, which the caller keeps.
#[derive(Clone, Copy, Debug)]
pub struct DoclistCursor {
    at: usize,
    rowid: i64,
    is_first: bool,
}

impl DoclistCursor {
    /// Creates a cursor before the first entry, whose rowid is `first`.
    pub const fn new(first: i64) -> DoclistCursor {
        DoclistCursor { at: 0, rowid: first, is_first: true }
    }

    /// Returns the offset of the end of the last entry.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// Returns the next entry of `entries`; `None` after the last one.
    #[inline]
    pub fn next<'a>(
        &mut self,
        entries: &'a [u8],
        detail: Detail,
    ) -> Option<Result<Entry<'a>, MalformedDoclist>> {
        let mut rest = &entries[self.at..];
        let is_first = std::mem::take(&mut self.is_first);
        if rest.is_empty() && !(is_first && detail == Detail::None) {
            return None;
        }
        let next = next_entry(&mut rest, &mut self.rowid, is_first, detail);
        self.at = if next.is_some() { entries.len() - rest.len() } else { entries.len() };
        Some(next.ok_or(MalformedDoclist))
    }
}

/// Removes the next entry from the start of `rest`, and returns it, or `None` if `rest` ends within the entry.
#[inline]
fn next_entry<'a>(rest: &mut &'a [u8], rowid: &mut i64, is_first: bool, detail: Detail) -> Option<Entry<'a>> {
    if !is_first {
        let (delta, n) = first_number(rest)?;
        *rest = &rest[n..];
        *rowid = rowid.wrapping_add(delta as i64);
    }
    let start = *rest;
    let (is_deleted, is_present, positions);
    if detail == Detail::None {
        // No distance of rowids is 0, so a 0 is a mark: one 0 for a deleted row, two if the row has the term again.
        let marks = rest.iter().take(2).take_while(|byte| **byte == 0).count();
        (is_deleted, is_present, positions) = (marks > 0, marks != 1, &[][..]);
        *rest = &rest[marks..];
    } else {
        let (size, n) = first_number(rest)?;
        let others;
        (positions, others) = rest[n..].split_at_checked(usize::try_from(size / 2).ok()?)?;
        (is_deleted, is_present) = (size & 1 == 1, !positions.is_empty());
        *rest = others;
    }
    let stored = &start[..start.len() - rest.len()];
    Some(Entry { rowid: *rowid, is_deleted, is_present, positions, stored })
}

/// A builder of a doclist from entries of other doclists. The entries come in ascending order of their rowids.
#[derive(Clone, Debug, Default)]
pub struct EntryList {
    rowids: Option<(i64, i64)>,
    entries: Vec<u8>,
}

impl EntryList {
    /// Appends an entry as it is stored.
    #[inline]
    pub fn push(&mut self, rowid: i64, stored: &[u8]) {
        self.rowid(rowid);
        self.entries.extend_from_slice(stored);
    }

    /// Appends an entry with these positions. `is_deleted` and `is_present` are those of [`Entry`].
    #[inline]
    pub fn push_row(
        &mut self,
        detail: Detail,
        rowid: i64,
        (is_deleted, is_present): (bool, bool),
        positions: &[u8],
    ) {
        if let (Detail::Full | Detail::Column, false, Some((first, last)), [_] | [_, _]) =
            (detail, is_deleted, self.rowids, positions)
            && let delta @ 1..0x4000 = rowid.wrapping_sub(last) as u64
        {
            // Most rows have a term once: the bytes are put together in a word, and written at once.
            let long = (delta >> 7 | 0x80) << 8 | delta & 0x7f;
            let (head, bytes) = if delta < 0x80 { (delta, 1) } else { (long, 2) };
            let head = (head << 8) | (2 * positions.len() as u64);
            let word = positions.iter().fold(head, |word, byte| word << 8 | u64::from(*byte));
            let bytes = bytes + 1 + positions.len();
            let end = self.entries.len() + bytes;
            self.entries.extend_from_slice(&(word << (u64::BITS as usize - 8 * bytes)).to_be_bytes());
            self.entries.truncate(end);
            self.rowids = Some((first, rowid));
            return;
        }
        self.rowid(rowid);
        if detail == Detail::None {
            let marks = usize::from(is_deleted) + usize::from(is_deleted && is_present);
            self.entries.extend_from_slice(&[0, 0][..marks]);
        } else {
            push_number(&mut self.entries, 2 * positions.len() as u64 + u64::from(is_deleted));
            self.entries.extend_from_slice(positions);
        }
    }

    /// Appends all entries of a doclist.
    #[inline]
    pub fn push_doclist(&mut self, doclist: &Doclist<'_>) {
        self.push(doclist.first, doclist.entries);
        self.rowids = self.rowids.map(|(first, _)| (first, doclist.last));
    }

    fn rowid(&mut self, rowid: i64) {
        self.rowids = match self.rowids {
            None => Some((rowid, rowid)),
            Some((first, last)) => {
                push_number(&mut self.entries, rowid.wrapping_sub(last) as u64);
                Some((first, rowid))
            }
        };
    }

    /// Returns the doclist; `None` without entries.
    pub fn doclist(&self) -> Option<Doclist<'_>> {
        self.rowids.map(|(first, last)| Doclist { first, last, entries: &self.entries })
    }

    /// Returns the number of bytes of the entries.
    pub fn bytes(&self) -> usize {
        self.entries.len()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.rowids = None;
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use sqluice_testkit::full_text::stored_positions;

    use super::*;

    const DETAILS: [Detail; 3] = [Detail::Full, Detail::Column, Detail::None];

    fn built(detail: Detail, rows: &[(i64, &[(u32, u32)])]) -> (Vec<u8>, i64, i64) {
        let mut list = EntryList::default();
        for (rowid, occurrences) in rows {
            list.push_row(
                detail,
                *rowid,
                (false, true),
                &stored_positions(occurrences, detail == Detail::Full),
            );
        }
        let Doclist { first, last, entries } = list.doclist().unwrap();
        (entries.to_vec(), first, last)
    }

    #[test]
    fn an_entry_has_the_positions_of_each_column() {
        let rows: &[(i64, &[(u32, u32)])] =
            &[(7, &[(0, 0), (0, 0), (0, 5), (2, 1)]), (200, &[(1, 3), (1, 4)])];
        assert_eq!(built(Detail::Full, rows).0, [12, 2, 2, 7, 1, 2, 3, 0x81, 0x41, 8, 1, 1, 5, 3]);
        assert_eq!(built(Detail::Column, rows).0, [4, 2, 4, 0x81, 0x41, 2, 3]);
        assert_eq!(built(Detail::None, rows), (vec![0x81, 0x41], 7, 200));
    }

    #[test]
    fn entries_are_read_back_with_their_rowids() {
        let many: Vec<(u32, u32)> = (0..3_000).map(|position| (0, 3 * position)).collect();
        let rows: &[(i64, &[(u32, u32)])] =
            &[(i64::MIN, &[(0, 1)]), (-1, &many), (0, &[(3, 0)]), (i64::MAX, &many[..64])];
        for detail in DETAILS {
            let (entries, first, last) = built(detail, rows);
            let doclist = Doclist { first, last, entries: &entries };
            let read: Result<Vec<_>, _> = doclist.entries(detail).collect();
            let rowids: Vec<i64> = read.unwrap().iter().map(|entry| entry.rowid).collect();
            assert_eq!(rowids, [i64::MIN, -1, 0, i64::MAX]);
            assert_eq!((first, last), (i64::MIN, i64::MAX));
        }
    }

    #[test]
    fn a_doclist_that_ends_within_an_entry_is_malformed() {
        let (entries, first, last) = built(Detail::Full, &[(1, &[(0, 1), (0, 2)]), (2, &[(0, 900)])]);
        for end in 0..entries.len() {
            let doclist = Doclist { first, last, entries: &entries[..end] };
            let read: Result<Vec<_>, _> = doclist.entries(Detail::Full).collect();
            assert_eq!(read.is_err(), ![0, 3].contains(&end), "{end}");
        }
    }
}
