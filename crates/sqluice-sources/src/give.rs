//! Gives rows to the sink, and reports the refused rows one by one.
//!
//! ```text
//!  rows    1 2 3 4 5 6       all at once: refused because of 3
//!          1 2               taken
//!              3             a bad row, with its place
//!                4 5 6       taken
//! ```
//!
//! Invariant: every row goes to the sink once, in order: in a batch that the sink takes, or as a bad row.

use std::ops::Range;

use sqluice_core::error::{Error, Result};
use sqluice_core::source::{BadRow, Refused, RefusedRow, Sink};

/// Rows that a decoder has found in its part, and can give to a sink.
pub(super) trait GivenRows {
    /// Gives the rows of this range to the sink, as one batch.
    fn batch(&mut self, rows: Range<usize>, sink: &mut dyn Sink) -> Result<(), Refused>;

    /// Returns the [`BadRow`] for row `row`, which can't be stored because of column `column`: `error` with the place of the value in the
    /// input, and the bytes of the row.
    fn refused(&mut self, row: usize, column: usize, error: Error) -> BadRow;
}

/// Gives `rows` rows to the sink: all at once, or, if the sink refuses some, the rows between the refused ones. Refused rows are reported
/// as bad rows, in order, and so are the rows in `refused`, which are known to be bad.
pub(super) fn give(
    rows: usize,
    mut refused: Vec<RefusedRow>,
    found: &mut dyn GivenRows,
    sink: &mut dyn Sink,
) -> Result<()> {
    // The refused rows that are not reported yet, in reverse order.
    refused.reverse();
    let mut from = 0;
    while from < rows {
        let to = refused.last().map_or(rows, |next| next.row);
        if from < to {
            match found.batch(from..to, sink) {
                Ok(()) => from = to,
                Err(Refused::Rows(more)) => {
                    assert!(!more.is_empty(), "a batch is refused for some of its rows");
                    let more = more.into_iter().rev();
                    refused.extend(more.map(|more| RefusedRow { row: from + more.row, ..more }));
                }
                Err(Refused::Stop { at: None, error }) => return Err(error),
                Err(Refused::Stop { at: Some((row, column)), error }) => {
                    return Err(found.refused(from + row, column, error).error);
                }
            }
        } else if let Some(RefusedRow { row, column, error }) = refused.pop() {
            sink.bad_row(found.refused(row, column, error))?;
            from = row + 1;
        }
    }
    Ok(())
}
