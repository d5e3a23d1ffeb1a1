//! Several sources as one, one after the other: the files of a table.
//!
//! ```text
//!  a.csv   rows 0 .. 1000        opened first
//!  b.csv   rows 1000 .. 1700     opened when a.csv is cut to its end, which determines where b.csv begins
//!  c.csv   rows 1700 ..
//! ```
//!
//! Invariant: at most one source of a chain is open at a time, however many sources the chain has.

use std::ops::Range;

use super::{Part, Source};
use crate::error::Result;
use crate::progress::Amount;

/// A source that can be part of a chain.
pub trait Counted: Source {
    /// Returns the number of rows in the parts that were handed out so far, bad rows included.
    fn rows_done(&self) -> u64;
}

/// Several sources as one source, one after the other.
pub struct Chain<F> {
    open: F,
    current: Option<Box<dyn Counted>>,
    /// The numbers that are left for the rows of the current source and of the sources after it.
    rows: Range<u64>,
    total: Option<Amount>,
}

impl<F> Chain<F>
where
    F: FnMut(Range<u64>) -> Option<Result<Box<dyn Counted>>>,
{
    /// Creates a chain. `open` opens the next source, and returns `None` at the end of the chain. The source must number its rows from the
    /// start of the given range on, and stop at the range's end. All sources together have at most `rows_max` rows; `total` is the amount
    /// of all sources, if it is known.
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
            // The source is closed before the next one is opened.
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
