//! The type of a column of text, decided by all of its values, so that nothing that was written is lost.
//!
//! ```text
//!  sample ──> Evidence ──> guess ──> load, with the source in a Watch ──> done
//!                            ^                  │ a value that does not fit the guess
//!                            └── scan <─────────┘ the load starts again
//! ```
//!
//! * [`Evidence`] is what is known about a column's values, and concludes the type.
//! * [`Kinds`] counts the kinds of a column's values: the reasons, for messages, why a column is TEXT.
//! * [`Watch`] looks at the rows during a load with guessed types, and stops the load if a guess is wrong.
//! * [`scan`] looks at all rows before anything is loaded.
//!
//! Invariant: the type of a column depends on its values alone, not on their order or on the number of threads.

mod evidence;
mod kinds;
mod printers;
mod scan;
mod short;
#[cfg(test)]
mod tests;
mod watch;
mod written;

pub use evidence::{Evidence, Inferred};
pub use kinds::{Counting, Found, Kinds};
pub use scan::{Scanned, scan};
pub use watch::{Watch, Watched};

use sqluice_core::batch::Batch;

/// Adds the rows of a batch to the evidence of each of `columns`, among which `results` have results of expressions. `typed` is the part's
/// [`Part::is_typed`](sqluice_core::source::Part::is_typed).
fn see_all(
    evidence: &mut [Evidence],
    (columns, results): (&[usize], &[usize]),
    batch: &Batch<'_>,
    typed: bool,
) {
    for (evidence, &column) in evidence.iter_mut().zip(columns) {
        match results.contains(&column) {
            true => evidence.see_results(&batch.columns[column], batch.rows),
            false => evidence.see_batch(&batch.columns[column], batch.rows, typed),
        }
    }
}
