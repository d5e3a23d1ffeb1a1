//! Decodes the columns and positions at which a row has a term: an entry of a doclist.

use super::super::doclist::Detail;
use super::{Damage, Fault, Numbers};

/// The columns and positions of an entry, in order. Positions are 0 with `detail=column`, and there are no items with `detail=none`.
#[derive(Clone, Debug)]
pub struct Positions<'a> {
    numbers: Numbers<'a>,
    detail: Detail,
    column: u64,
    position: u64,
    is_first: bool,
}

impl<'a> Positions<'a> {
    /// Creates a reader of the positions in the row `row` of `t_data`. Offsets of faults count from the start of `positions`.
    pub fn new(detail: Detail, row: i64, positions: &'a [u8]) -> Positions<'a> {
        Positions { numbers: Numbers::new(row, positions, 0), detail, column: 0, position: 0, is_first: true }
    }

    fn read(&mut self) -> Result<(u32, u32), Damage> {
        let place = self.numbers;
        let mut value = self.numbers.at_most(i32::MAX as u64)?;
        if self.detail == Detail::Full && value == 1 {
            let place = self.numbers;
            let column = self.numbers.at_most(i32::MAX as u64)?;
            // Column 0 is never stored, and columns ascend. So each stored column is greater than the column before.
            if column <= self.column {
                return Err(place.damage(Fault::ColumnOrder));
            }
            (self.column, self.position) = (column, 0);
            value = self.numbers.at_most(i32::MAX as u64)?;
        }
        let delta = value.checked_sub(2).ok_or(place.damage(Fault::Range))?;
        if self.detail == Detail::Column {
            if delta == 0 && !self.is_first {
                return Err(place.damage(Fault::ColumnOrder));
            }
            self.column += delta;
        } else {
            self.position += delta;
        }
        self.is_first = false;
        if self.column.max(self.position) > i32::MAX as u64 {
            return Err(place.damage(Fault::Range));
        }
        Ok((self.column as u32, self.position as u32))
    }
}

impl Iterator for Positions<'_> {
    type Item = Result<(u32, u32), Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.detail == Detail::None || self.numbers.is_at_end() {
            return None;
        }
        let next = self.read();
        if next.is_err() {
            self.numbers.at = usize::MAX;
        }
        Some(next)
    }
}
