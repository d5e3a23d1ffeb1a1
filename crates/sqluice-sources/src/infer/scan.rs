//! Looks at all rows of a source, on some threads, before anything is loaded: each keeps evidence of its own, which is merged at the end.
//!
//! Invariant: neither the evidence nor the error depends on the number of threads ([`sqluice_core::source::scan`]).

use sqluice_core::batch::Batch;
use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Cancel, Context};
use sqluice_core::source::{BadRow, Part, Refused, Sink, Source, scan};

use super::{Evidence, see_all};

/// The evidence of each of `columns`, over all rows of the source except malformed ones, which the load reports. The progress is given the
/// bytes of each part; the caller names the phase.
///
/// What is known when the source can't be read any further is returned with the error.
pub fn scan(
    source: &mut dyn Source,
    columns: &[usize],
    threads: usize,
    context: &Context<'_>,
) -> (Vec<Evidence>, Result<()>) {
    let begin = || vec![Evidence::new(); columns.len()];
    let look = |evidence: &mut Vec<Evidence>, _: u64, part: &mut dyn Part| {
        let typed = part.is_typed();
        part.decode(&mut Scanning { columns, cancel: &context.cancel, evidence, typed })?;
        context.progress.advance(Amount { rows: 0, bytes: part.input_bytes() });
        Ok(())
    };
    let (seen, read) = scan::scan(source, threads, &context.cancel, begin, look);
    let mut all = begin();
    for evidence in seen {
        all.iter_mut().zip(evidence).for_each(|(all, evidence)| all.merge(evidence));
    }
    (all, read)
}

/// A sink that only looks.
struct Scanning<'a> {
    columns: &'a [usize],
    cancel: &'a Cancel,
    evidence: &'a mut [Evidence],
    typed: bool,
}

impl Sink for Scanning<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self.cancel.check()?;
        see_all(self.evidence, self.columns, batch, self.typed);
        Ok(())
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        self.cancel.check()
    }
}
