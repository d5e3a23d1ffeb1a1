//! Chooses an order of rows that fills their leaf pages.
//!
//! ```text
//!  by name    |3515 .....|2918 ......|1435 2600|1100 489 .....|      a box is a leaf, with the bytes that each row takes on it
//!  chosen     |3515 489 .|2918 1100 .|1435 2600|                     a leaf has 4088 bytes; the rest of a row is on overflow pages
//! ```
//!
//! A file of 10 kB takes between 0.5 and 4 kB of its leaf. In the order of names, the empty space adds up to a third of all leaves. So a
//! leaf begins with the first row that is left, and continues with the largest row that still fits, and so on: a folder of files of 8 to
//! 12 kB takes 5% less space.

use std::collections::BTreeSet;

use sqluice_format::cell::table_leaf_split;
use sqluice_format::page::{Geometry, PageKind};
use sqluice_format::value::SerialType;
use sqluice_format::{record, varint};

/// The size of an overflow page's number in a leaf cell, in bytes.
const OVERFLOW_BYTES: usize = 4;
const POINTER_BYTES: usize = 2;

/// Chooses an order for rows with payloads of these sizes. Returns the indexes of the rows in the chosen order. `rowid` is the rowid of
/// the first row.
pub(super) fn filling(payloads: &[usize], rowid: i64, geometry: Geometry) -> Vec<usize> {
    let room = geometry.usable_bytes() - PageKind::LeafTable.header_bytes();
    // The rowids of a part have about the same length, so the length of the largest is used.
    let rowid_bytes = varint::len(rowid as u64 + payloads.len() as u64);
    let bytes = |row: usize| {
        let split = table_leaf_split(payloads[row], geometry);
        let overflow = if split.overflow_pages > 0 { OVERFLOW_BYTES } else { 0 };
        POINTER_BYTES + varint::len(payloads[row] as u64) + rowid_bytes + split.local + overflow
    };
    let mut left: BTreeSet<(usize, usize)> = (0..payloads.len()).map(|row| (bytes(row), row)).collect();
    let mut order = Vec::with_capacity(payloads.len());
    let mut taken = vec![false; payloads.len()];
    for first in 0..payloads.len() {
        let (mut free, mut next) = (room, (!taken[first]).then(|| (bytes(first), first)));
        while let Some((bytes, row)) = next {
            left.remove(&(bytes, row));
            taken[row] = true;
            order.push(row);
            free = free.saturating_sub(bytes);
            next = left.range(..(free + 1, 0)).next_back().copied();
        }
    }
    order
}

/// Returns the payload size of a row with these integers, and a text and a blob of these sizes.
pub(super) fn payload(ints: &[i64], text: usize, blob: usize) -> usize {
    let types = ints.iter().map(|int| SerialType::of_int(*int));
    let types = types.chain([SerialType::of_text(text), SerialType::of_blob(blob)]);
    let (header, content) = types.fold((0, 0), |(header, content), kind| {
        (header + varint::len(kind.0), content + kind.content_bytes().unwrap_or(0) as usize)
    });
    record::header_bytes(header) + content
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sqluice_format::page::PageSize;

    use super::*;

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn the_order_in_which_rows_fill_pages_has_every_row_once(payloads in proptest::collection::vec(0usize..20_000, 0..200)) {
            let geometry = Geometry::new(PageSize::DEFAULT, 0).unwrap();
            let mut order = filling(&payloads, 1, geometry);
            order.sort_unstable();
            prop_assert!(order.into_iter().eq(0..payloads.len()));
        }
    }

    #[test]
    fn a_leaf_page_takes_the_first_remaining_row_and_then_the_largest_rows_that_fit() {
        let geometry = Geometry::new(PageSize::DEFAULT, 0).unwrap();
        assert_eq!(filling(&[3000, 2000, 1500, 500, 1000, 100], 1, geometry), [0, 4, 1, 2, 3, 5]);
    }
}
