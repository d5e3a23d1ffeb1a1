//! Where rows come from: a source hands out parts in order, and a part becomes batches on any core.
//!
//! ```text
//!  Source::next_part   one thread at a time, in order: cuts the input (a byte range, a range of rows)
//!  Part::decode        any thread, several at once: makes batches, in order, and feeds them to the sink
//! ```
//!
//! Invariant: how the input is cut depends on the input alone, never on threads or memory.

#[cfg(feature = "csv")]
pub mod csv;

use crate::batch::Batch;
use crate::error::{Error, Place, Result};
use crate::progress::Amount;

/// A sequence of parts.
pub trait Source: Send {
    /// The next part, or `None` after the last. Quick: parts are cut under a lock.
    ///
    /// # Errors
    /// When the input can't be read or cut.
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>>;

    /// Rows or bytes of input in all, if that is known before reading.
    fn total(&self) -> Option<Amount> {
        None
    }
}

/// A run of consecutive rows.
pub trait Part: Send {
    /// The number of its first row, counted from 0 over the whole source.
    fn first_row(&self) -> u64;

    /// Bytes of input that it stands for; 0 where there is no input.
    fn input_bytes(&self) -> u64 {
        0
    }

    /// Where in the input it begins, if there is such a place.
    fn place(&self) -> Option<Place> {
        None
    }

    /// Makes all batches, in order, none empty, each of at most [`ROWS_MAX`](crate::batch::ROWS_MAX) rows, with a column
    /// for every column of the table.
    ///
    /// # Errors
    /// What the sink refused, with the place in the input added; or its own when the input is malformed.
    fn decode(&mut self, sink: &mut Sink<'_>) -> Result<()>;
}

/// Takes a batch, or says which value of it can't be stored.
pub type Sink<'a> = dyn FnMut(&Batch<'_>) -> Result<(), Refused> + 'a;

/// Why the sink takes no more batches.
#[derive(Debug)]
pub struct Refused {
    /// Row within the batch and column of the value that is to blame, when one is.
    pub at: Option<(usize, usize)>,
    /// What is wrong, column and value named. Whoever decodes adds the place.
    pub error: Error,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused { at: None, error }
    }
}

/// A source without rows.
#[derive(Clone, Copy, Debug)]
pub struct NoRows;

impl Source for NoRows {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        Ok(None)
    }
}
