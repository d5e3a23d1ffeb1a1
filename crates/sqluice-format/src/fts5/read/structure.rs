//! The structure of a full-text index (row 10 of `t_data`), which lists the segments by levels.

use super::super::page_id;
use super::super::segment::LEAVES_MAX;
use super::super::totals::{STRUCTURE_ID, WITH_TOMBSTONES};
use super::{Damage, Fault, Numbers};
use crate::varint;

/// The largest number of segments, and of levels.
const SEGMENTS_MAX: u64 = 2000;

/// The structure of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// A number that changes with the options of the table.
    pub cookie: [u8; 4],
    /// `true` for tables with `contentless_delete=1`, whose segments have origins and tombstones.
    pub has_tombstones: bool,
    /// The number of leaves that automatic merges have counted.
    pub write_counter: u64,
    /// The levels, from 0 on: a lower level is newer.
    pub levels: Vec<Level>,
}

/// A level of the structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// The number of segments, from the oldest on, that an unfinished merge has partly moved to the last segment of the next level.
    pub merging: usize,
    /// The segments, the oldest first.
    pub segments: Vec<SegmentSpan>,
}

/// A segment in the structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentSpan {
    /// The number of the segment.
    pub id: u16,
    /// The number of the first leaf; 0 if an unfinished merge has moved all terms away.
    pub first: u32,
    /// The number of the last leaf.
    pub last: u32,
    /// The lowest and the highest origin of the rows, in a table with tombstones. FTS5 numbers its writes of new rows; the origin of a row
    /// is the number of the write that has added the row.
    pub origins: (u64, u64),
    /// The number of pages of tombstones.
    pub tombstone_pages: u32,
    /// The number of tombstones, the marks of deleted rows.
    pub tombstones: u64,
    /// The number of rows, in a table with tombstones.
    pub rows: u64,
}

impl SegmentSpan {
    /// Returns the number of leaves.
    pub fn leaves(&self) -> u32 {
        if self.first == 0 { 0 } else { self.last - self.first + 1 }
    }

    /// Returns the `id` of a leaf in `t_data`.
    pub fn leaf_id(&self, page: u32) -> i64 {
        page_id(self.id, None, page)
    }
}

impl Structure {
    /// Parses the structure, the block of row 10.
    ///
    /// # Errors
    /// If the structure is damaged.
    pub fn parse(block: &[u8]) -> Result<Structure, Damage> {
        let mut numbers = Numbers::new(STRUCTURE_ID, block, 0);
        let cookie = *block.first_chunk::<4>().ok_or(numbers.damage(Fault::Short))?;
        let has_tombstones = block[4..].starts_with(&WITH_TOMBSTONES);
        numbers.at = if has_tombstones { 8 } else { 4 };
        let levels_count = numbers.at_most(SEGMENTS_MAX)?;
        let segments_place = numbers;
        let segments_count = numbers.at_most(SEGMENTS_MAX)?;
        let write_counter = numbers.next()?;
        let mut levels: Vec<Level> = Vec::new();
        for number in 0..levels_count {
            let place = numbers;
            let merging = numbers.at_most(SEGMENTS_MAX)? as usize;
            let count = numbers.at_most(SEGMENTS_MAX)? as usize;
            let is_last = number + 1 == levels_count;
            let is_awaited = levels.last().is_some_and(|level| level.merging > 0);
            if merging > count || is_last && merging > 0 || is_awaited && count == 0 {
                return Err(place.damage(Fault::Range));
            }
            let segments =
                (0..count).map(|_| span(&mut numbers, has_tombstones)).collect::<Result<_, _>>()?;
            levels.push(Level { merging, segments });
        }
        numbers.end()?;
        let structure = Structure { cookie, has_tombstones, write_counter, levels };
        let mut ids: Vec<u16> = structure.segments().map(|(_, segment)| segment.id).collect();
        if ids.len() as u64 != segments_count {
            return Err(segments_place.damage(Fault::Total));
        }
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(segments_place.damage(Fault::Twice));
        }
        Ok(structure)
    }

    /// Returns the block of the structure.
    pub fn to_block(&self) -> Vec<u8> {
        let mut block = self.cookie.to_vec();
        if self.has_tombstones {
            block.extend_from_slice(&WITH_TOMBSTONES);
        }
        let mut push = |value: u64| varint::push(&mut block, value);
        push(self.levels.len() as u64);
        push(self.segments().count() as u64);
        push(self.write_counter);
        for Level { merging, segments } in &self.levels {
            push(*merging as u64);
            push(segments.len() as u64);
            for segment in segments {
                [u64::from(segment.id), segment.first.into(), segment.last.into()]
                    .into_iter()
                    .for_each(&mut push);
                if self.has_tombstones {
                    let SegmentSpan { origins, tombstone_pages, tombstones, rows, .. } = *segment;
                    let of_rows = [origins.0, origins.1, tombstone_pages.into(), tombstones, rows];
                    of_rows.into_iter().for_each(&mut push);
                }
            }
        }
        block
    }

    /// Returns the segments with the numbers of their levels, the newest segment first.
    pub fn segments(&self) -> impl Iterator<Item = (usize, &SegmentSpan)> {
        let levels = self.levels.iter().enumerate();
        levels.flat_map(|(number, level)| level.segments.iter().rev().map(move |segment| (number, segment)))
    }
}

/// Parses the numbers of one segment in a structure.
fn span(numbers: &mut Numbers<'_>, has_tombstones: bool) -> Result<SegmentSpan, Damage> {
    let place = numbers.damage(Fault::Range);
    let id = numbers.at_most(u16::MAX.into())? as u16;
    let first = numbers.at_most(LEAVES_MAX.into())? as u32;
    let last = numbers.at_most(LEAVES_MAX.into())? as u32;
    // A segment whose terms an unfinished merge has moved has pages 0 to 0.
    if id == 0 || last < first || first == 0 && last > 0 {
        return Err(place);
    }
    let mut segment = SegmentSpan { id, first, last, ..SegmentSpan::default() };
    if has_tombstones {
        segment.origins = (numbers.next()?, numbers.next()?);
        segment.tombstone_pages = numbers.at_most(LEAVES_MAX.into())? as u32;
        segment.tombstones = numbers.next()?;
        segment.rows = numbers.next()?;
    }
    Ok(segment)
}
