//! Doclists as items of the sorter: in the order of terms, and for each term in the order of rowids.
//!
//! ```text
//!  rowid    the first rowid of the doclist
//!  record   | header | term: a blob | age, the last rowid as the distance from the first, and the entries: a blob |
//! ```
//!
//! The age is 0 for new rows, and greater for an older segment. It decides between two entries of one rowid. An odd age says that entries have
//! marks of deleted rows.

use sqluice_core::error::Result;
use sqluice_format::fts5::Doclist;
use sqluice_format::key::{KeyColumn, KeyOrder};
use sqluice_format::record;
use sqluice_format::value::SerialType;
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
    Layout { order: Order::Record(KeyOrder::new([KeyColumn::default()])), rowid: true, number: false }
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
    let list_bytes = varint::len(age) + varint::len(distance) + doclist.entries.len();
    let serials = [SerialType::of_blob(term.len()).0, SerialType::of_blob(list_bytes).0];
    let header = record::header_bytes(serials.iter().map(|serial| varint::len(*serial)).sum());
    let record_bytes = header + term.len() + list_bytes;
    buffer.push_with(doclist.first, 0, record_bytes, |room| {
        let mut at = varint::write(room, header as u64);
        for serial in serials {
            at += varint::write(&mut room[at..], serial);
        }
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
    let record = item.record;
    let (header, at) = varint::first(record)?;
    let (term, n) = varint::first(record.get(at..)?)?;
    let (list, m) = varint::first(&record[at + n..])?;
    let blob_bytes = |serial: u64| SerialType(serial).content_bytes().map(|bytes| bytes as usize);
    if at + n + m != usize::try_from(header).ok()? {
        return None;
    }
    let (term, rest) = record[at + n + m..].split_at_checked(blob_bytes(term)?)?;
    if rest.len() != blob_bytes(list)? {
        return None;
    }
    let (age, n) = varint::first(rest)?;
    let (distance, m) = varint::first(&rest[n..])?;
    let last = item.rowid.wrapping_add(distance as i64);
    Some((term, u32::try_from(age).ok()?, Doclist { first: item.rowid, last, entries: &rest[n + m..] }))
}
