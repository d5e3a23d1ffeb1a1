//! Which type a column of text has, decided over all of its values, so that nothing that was written is lost.
//!
//! ```text
//!  sample ──> Evidence ──> guess ──> load, with the source in a Watch ──> done
//!                            ^                  │ a value that does not fit the guess
//!                            └── scan <─────────┘ the load starts again
//! ```
//!
//! * [`Evidence`] is what is known of a column: it holds the rules.
//! * [`Watch`] looks at the rows beside a load that goes by a guess, and stops it once that is wrong.
//! * [`scan`] looks at all rows before anything is loaded.
//!
//! Invariant: what is concluded of a column depends on its values alone, in whatever order and by however many threads they
//! are seen.

mod evidence;
mod printers;
mod scan;
mod short;
#[cfg(test)]
mod tests;
mod watch;
mod written;

pub use evidence::{Evidence, Inferred};
pub use scan::scan;
pub use watch::{Watch, Watched};

use sqluice_core::batch::Batch;

/// Adds the rows of a batch to the evidence of each of `columns`; whether they are typed, their part says
/// ([`Part::is_typed`](sqluice_core::source::Part::is_typed)).
fn see_all(evidence: &mut [Evidence], columns: &[usize], batch: &Batch<'_>, typed: bool) {
    for (evidence, &column) in evidence.iter_mut().zip(columns) {
        match typed {
            true => evidence.see_typed(&batch.columns[column], batch.rows),
            false => evidence.see(&batch.columns[column], batch.rows),
        }
    }
}
