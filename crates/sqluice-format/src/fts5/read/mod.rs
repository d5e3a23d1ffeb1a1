//! Readers of the rows of a full-text index. They trust no byte: a fault is an error with its place.
//!
//! ```text
//!  row 10 ──> Structure: levels, oldest segment first ──> SegmentSpan: the first and last leaf of a segment
//!                                                            │
//!  leaves ──> SegmentReader ──> Step::Term, Step::Row, Step::Row, ..., Step::Term, ...
//!                                           │
//!                                       Positions: columns and positions
//!  IndexPage: a page of a doclist index       Tombstones: deleted rows of a segment       averages, docsize
//! ```
//!
//! Levels are numbered from 0, and a lower level is newer; within a level, later segments are newer. If two segments have the same term and
//! rowid, only the entry of the newer segment counts. This entry may be marked: then the row was deleted from older segments.
//!
//! * `structure`: row 10; `totals`: averages and sizes of rows
//! * `leaf`: the head and footer of a leaf; `segment`: the terms and rows of a segment; `positions`: the positions of a row
//! * `merged`: all segments as one
//! * `doclist_index`: pages of doclist indexes; `tombstones`: pages of tombstones
//!
//! Invariant: the memory that a reader takes is in proportion to the pages that it was given.

mod doclist_index;
mod leaf;
mod merged;
mod positions;
mod segment;
mod structure;
mod tombstones;
mod totals;

use std::fmt;

pub use doclist_index::IndexPage;
pub use leaf::Leaf;
pub use merged::{MergedReader, MergedRow};
pub use positions::Positions;
pub use segment::{Advanced, Row, Rows, SegmentReader, Step};
pub use structure::{Level, SegmentSpan, Structure};
pub use tombstones::Tombstones;
pub use totals::{parse_averages, parse_docsize};

use super::first_number;

/// A source of the rows of `t_data`.
pub trait Pages {
    /// The error of the source.
    type Error;

    /// Replaces `block` by the block of the row `id`. Returns `false` if there is no such row.
    ///
    /// # Errors
    /// If the row can't be read.
    fn page(&mut self, id: i64, block: &mut Vec<u8>) -> Result<bool, Self::Error>;
}

/// A fault of a full-text index, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The `id` of the row of `t_data`, or of `t_docsize` for a size.
    pub row: i64,
    /// The offset in the block.
    pub offset: usize,
    /// The kind of the fault.
    pub fault: Fault,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// A row that another row names is missing.
    Missing,
    /// The block ends within a number or a list.
    Short,
    /// Bytes follow the end of the content.
    Trailing,
    /// A number is out of its range.
    Range,
    /// A total differs from the sum of its parts.
    Total,
    /// A term is not greater than the term before.
    TermOrder,
    /// A rowid is not greater than the rowid before.
    RowOrder,
    /// A column is not greater than the column before.
    ColumnOrder,
    /// A list does not end where the next one begins.
    Overrun,
    /// Two segments have the same number.
    Twice,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Missing => "the row is missing",
            Fault::Short => "the block ends too early",
            Fault::Trailing => "bytes follow the end",
            Fault::Range => "a number is out of its range",
            Fault::Total => "a total is wrong",
            Fault::TermOrder => "terms are out of order",
            Fault::RowOrder => "rowids are out of order",
            Fault::ColumnOrder => "columns are out of order",
            Fault::Overrun => "a list does not end where the next one begins",
            Fault::Twice => "two segments have one number",
        })
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}, byte {}: {}", self.row, self.offset, self.fault)
    }
}

/// The reason why a reader can't go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError<E> {
    /// The error of the source.
    Stopped(E),
    /// The index is damaged.
    Damaged(Damage),
}

impl<E> From<Damage> for ReadError<E> {
    fn from(damage: Damage) -> ReadError<E> {
        ReadError::Damaged(damage)
    }
}

impl<E: fmt::Display> fmt::Display for ReadError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Stopped(error) => error.fmt(f),
            ReadError::Damaged(damage) => damage.fmt(f),
        }
    }
}

/// A reader of the numbers of a block.
#[derive(Clone, Copy, Debug)]
struct Numbers<'a> {
    row: i64,
    block: &'a [u8],
    at: usize,
}

impl<'a> Numbers<'a> {
    fn new(row: i64, block: &'a [u8], at: usize) -> Numbers<'a> {
        Numbers { row, block, at }
    }

    fn damage(&self, fault: Fault) -> Damage {
        Damage { row: self.row, offset: self.at, fault }
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.block.len()
    }

    /// Reads a number.
    #[inline]
    fn next(&mut self) -> Result<u64, Damage> {
        match self.block.get(self.at) {
            Some(&byte @ ..0x80) => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => self.next_long(),
        }
    }

    /// Reads a number of several bytes.
    #[inline(never)]
    fn next_long(&mut self) -> Result<u64, Damage> {
        let rest = self.block.get(self.at..).unwrap_or_default();
        let (value, bytes) = first_number(rest).ok_or(self.damage(Fault::Short))?;
        self.at += bytes;
        Ok(value)
    }

    /// Reads a number of at most `most`.
    #[inline]
    fn at_most(&mut self, most: u64) -> Result<u64, Damage> {
        let start = self.at;
        let value = self.next()?;
        if value <= most {
            Ok(value)
        } else {
            Err(Damage { row: self.row, offset: start, fault: Fault::Range })
        }
    }

    /// Returns an error if bytes follow.
    fn end(&self) -> Result<(), Damage> {
        if self.is_at_end() { Ok(()) } else { Err(self.damage(Fault::Trailing)) }
    }
}
