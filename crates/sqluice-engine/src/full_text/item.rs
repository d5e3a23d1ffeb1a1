//! Doclists as items of the sorter: in the order of terms, and for each term in the order of rowids.
//!
//! ```text
//!  rowid    the first rowid of the doclist
//!  record   | bytes of the term, the term | age | the last rowid as the distance from the first | entries |
//! ```
//!
//! The age is 0 for new rows, and greater for an older segment. It decides between two entries of one rowid. An odd age says that entries have
//! marks of deleted rows.

use sqluice_core::error::Result;
use sqluice_format::fts5::Doclist;
use sqluice_format::varint;

use crate::sort::{Buffer, Item, Layout, Order};

/// Returns the age of a doclist of segment `number`, counted from the newest one on.
pub(super) fn age(number: usize, has_marks: bool) -> u32 {
    2 * (number as u32 + 1) + u32::from(has_marks)
}

/// Returns `true` if entries have marks of deleted rows.
pub(super) const fn has_marks(age: u32) -> bool {
    age & 1 == 1
}

/// Returns the layout of items that are doclists.
pub(super) fn of_doclists() -> Layout {
    Layout { order: Order::Bytes, rowid: true, number: false }
}

/// Returns the layout of items that are the sizes of rows.
pub(super) fn of_sizes() -> Layout {
    Layout { order: Order::Rowid, rowid: true, number: false }
}

/// Pushes a doclist of a term.
///
/// # Errors
/// If temporary space runs out.
pub(super) fn push(buffer: &mut Buffer<'_>, term: &[u8], age: u32, doclist: &Doclist<'_>) -> Result<()> {
    let (age, distance) = (u64::from(age), doclist.last.wrapping_sub(doclist.first) as u64);
    let heads = varint::len(term.len() as u64) + varint::len(age) + varint::len(distance);
    let record_bytes = heads + term.len() + doclist.entries.len();
    buffer.push_with(doclist.first, 0, record_bytes, |room| {
        let mut at = varint::write(room, term.len() as u64);
        room[at..at + term.len()].copy_from_slice(term);
        at += term.len();
        at += varint::write(&mut room[at..], age);
        at += varint::write(&mut room[at..], distance);
        room[at..record_bytes].copy_from_slice(doclist.entries);
    })
}

/// Returns the term, the age and the doclist of an item; `None` if [`push`] can't have written the item.
#[inline]
pub(super) fn parse<'a>(item: &Item<'a>) -> Option<(&'a [u8], u32, Doclist<'a>)> {
    let (len, n) = varint::first(item.record)?;
    let (term, rest) = item.record[n..].split_at_checked(usize::try_from(len).ok()?)?;
    let (age, n) = varint::first(rest)?;
    let (distance, m) = varint::first(&rest[n..])?;
    let last = item.rowid.wrapping_add(distance as i64);
    Some((term, u32::try_from(age).ok()?, Doclist { first: item.rowid, last, entries: &rest[n + m..] }))
}
