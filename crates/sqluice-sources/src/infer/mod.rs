//! Which type a column of text has, decided over all of its values, so that nothing that was written is lost.
//!
//! ```text
//!  sample ──> Evidence ──> guess ──> load, with the source in a Watch ──> done
//!                            ^                  │ a value that does not fit the guess
//!                            └── scan <─────────┘ the load starts again
//! ```
//!
//! * [`Evidence`] is what is known of a column: it holds the rules.
//! * [`Kinds`] are the reasons why a column is TEXT, for notes.
//! * [`Watch`] looks at the rows beside a load that goes by a guess, and stops it once that is wrong.
//! * [`scan`] looks at all rows before anything is loaded.
//!
//! Invariant: what is concluded of a column depends on its values alone, in whatever order and by however many threads they
//! are seen.

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
pub use kinds::{Found, Kinds};
pub use scan::{Scanned, scan};
pub use watch::{Watch, Watched};

use sqluice_core::batch::Batch;

/// Adds the rows of a batch to the evidence of each of `columns`; whether they are typed, their part says
/// ([`Part::is_typed`](sqluice_core::source::Part::is_typed)).
fn see_all(evidence: &mut [Evidence], columns: &[usize], batch: &Batch<'_>, typed: bool) {
    for (evidence, &column) in evidence.iter_mut().zip(columns) {
        evidence.see_batch(&batch.columns[column], batch.rows, typed);
    }
}
