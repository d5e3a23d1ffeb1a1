//! The rows about the whole table: averages, structure, and the sizes of rows.
//!
//! ```text
//!  averages    rows, tokens of column 0, tokens of column 1, ...                  varints
//!  structure   cookie (4 bytes), [FF 00 00 01 with contentless_delete=1],
//!              levels, segments, write counter,
//!              for each level: segments in a merge, segments, and for each segment:
//!                id, first page, last page,
//!                [lowest and highest origin, tombstone pages, tombstones, rows with contentless_delete=1]
//!  size        tokens of column 0, tokens of column 1, ...
//! ```

use super::segment::Segment;
use crate::varint;

/// The `id` of the averages in `t_data`.
pub const AVERAGES_ID: i64 = 1;

/// The `id` of the structure in `t_data`.
pub const STRUCTURE_ID: i64 = 10;

/// The mark of a structure whose segments have tombstones.
pub(super) const WITH_TOMBSTONES: [u8; 4] = [0xff, 0, 0, 1];

/// Returns the averages: the number of rows, and the total of tokens of each column.
pub fn averages(rows: u64, tokens: &[u64]) -> Vec<u8> {
    let mut block = Vec::new();
    varint::push(&mut block, rows);
    tokens.iter().for_each(|tokens| varint::push(&mut block, *tokens));
    block
}

/// Appends the size of a row: the number of tokens of each column.
pub fn push_docsize(out: &mut Vec<u8>, tokens: &[u32]) {
    tokens.iter().for_each(|tokens| varint::push(out, u64::from(*tokens)));
}

/// Returns the level for a segment with this number of leaves: the level on which automatic merges would have left the segment. On a lower
/// level, a large segment would soon be merged again with small ones.
pub fn level_of(leaves: u32) -> u32 {
    let mut level = 4;
    // A segment on a level below 16 has at most 256 * 4^(level - 2) leaves.
    while level < 16 && u64::from(leaves) > 256 << (2 * (level - 2)) {
        level += 1;
    }
    level
}

/// Returns the structure of a table with one segment. `cookie` is the cookie of the structure that is replaced; `deletable_rows` is the
/// number of rows of a table with `contentless_delete=1`, whose rows all have origin 1.
pub fn structure(cookie: [u8; 4], segment: &Segment, level: u32, deletable_rows: Option<u64>) -> Vec<u8> {
    if segment.leaves == 0 {
        return structure_of_none(cookie, deletable_rows.is_some());
    }
    let mut block = head(cookie, deletable_rows.is_some());
    let mut push = |value: u64| varint::push(&mut block, value);
    push(u64::from(level) + 1);
    push(1);
    // The write counter counts leaves.
    push(u64::from(segment.leaves));
    for _ in 0..level {
        push(0);
        push(0);
    }
    push(0);
    push(1);
    push(u64::from(segment.id));
    push(1);
    push(u64::from(segment.leaves));
    if let Some(rows) = deletable_rows {
        [1, 1, 0, 0, rows].into_iter().for_each(push);
    }
    block
}

/// Returns the structure of a table without a segment.
pub fn structure_of_none(cookie: [u8; 4], has_tombstones: bool) -> Vec<u8> {
    let mut block = head(cookie, has_tombstones);
    block.extend_from_slice(&[0, 0, 0]);
    block
}

fn head(cookie: [u8; 4], has_tombstones: bool) -> Vec<u8> {
    let mut block = cookie.to_vec();
    if has_tombstones {
        block.extend_from_slice(&WITH_TOMBSTONES);
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_segment_has_a_higher_level() {
        let levels = [1, 256, 4096, 4097, 16_384, 16_385, u32::MAX].map(level_of);
        assert_eq!(levels, [4, 4, 4, 5, 5, 6, 14]);
    }

    #[test]
    fn a_segment_without_leaves_is_not_listed_in_the_structure_record() {
        let segment = Segment { id: 1, leaves: 0 };
        assert_eq!(structure([0, 0, 0, 9], &segment, 4, None), [0, 0, 0, 9, 0, 0, 0]);
        assert_eq!(structure([0; 4], &segment, 4, Some(3)), [0, 0, 0, 0, 0xff, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_structure_record_lists_the_segment_on_the_given_level() {
        let segment = Segment { id: 1, leaves: 300 };
        let block = structure([0; 4], &segment, 2, None);
        assert_eq!(block, [0, 0, 0, 0, 3, 1, 0x82, 0x2c, 0, 0, 0, 0, 0, 1, 1, 1, 0x82, 0x2c]);
        let block = structure([0; 4], &segment, 0, Some(5));
        assert_eq!(
            block,
            [0, 0, 0, 0, 0xff, 0, 0, 1, 1, 1, 0x82, 0x2c, 0, 1, 1, 1, 0x82, 0x2c, 1, 1, 0, 0, 5]
        );
    }
}
