//! Sources one after the other, as one: the files of a table.
//!
//! ```text
//!  a.csv   rows 0 .. 1000        opened first
//!  b.csv   rows 1000 .. 1700     opened when a.csv is cut to its end, which determines where b.csv begins
//!  c.csv   rows 1700 ..
//! ```
//!
//! Invariant: one source is open at a time, whatever their number.

use std::ops::Range;

use super::{Part, Source};
use crate::error::Result;
use crate::progress::Amount;

/// A source that can be one of several.
pub trait Counted: Source {
    /// How many rows its parts so far have, bad ones included.
    fn rows_done(&self) -> u64;
}

/// See the module's description.
pub struct Chain<F> {
    open: F,
    current: Option<Box<dyn Counted>>,
    /// Rows that the present source and those after it may have.
    rows: Range<u64>,
    total: Option<Amount>,
}

impl<F> Chain<F>
where
    F: FnMut(Range<u64>) -> Option<Result<Box<dyn Counted>>>,
{
    /// `open` opens the next source; `None` ends the chain. The source is to number its rows from the start of the range on, and to
    /// stop before its end. Rows are up to `rows_max`, all sources together; `total` is what they have in all, if that is
    /// known.
    pub fn new(open: F, rows_max: Option<u64>, total: Option<Amount>) -> Chain<F> {
        Chain { open, current: None, rows: 0..rows_max.unwrap_or(u64::MAX), total }
    }
}

impl<F> Source for Chain<F>
where
    F: FnMut(Range<u64>) -> Option<Result<Box<dyn Counted>>> + Send,
{
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some(part) = current.next_part()? {
                    return Ok(Some(part));
                }
                self.rows.start += current.rows_done();
            }
            // Closed before the next one is opened.
            self.current = None;
            if self.rows.is_empty() {
                return Ok(None);
            }
            match (self.open)(self.rows.clone()) {
                Some(source) => self.current = Some(source?),
                None => return Ok(None),
            }
        }
    }

    fn total(&self) -> Option<Amount> {
        self.total
    }
}
