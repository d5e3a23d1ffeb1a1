//! Looks at all rows of a source before anything is loaded. Each thread keeps evidence of its own, which is merged at the end.
//!
//! Invariant: neither the evidence nor the error depends on the number of threads ([`sqluice_core::source::scan`]).

use sqluice_core::batch::Batch;
use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Cancel, Context};
use sqluice_core::source::kept::Kept;
use sqluice_core::source::{BadRow, Part, Quoting, Refused, Sink, Source, scan};

use super::{Counting, Evidence, Kinds};

/// The evidence and the kinds of all values of a column.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// The evidence of all values.
    pub evidence: Evidence,
    /// The kinds of the values. Parts and rows are those of the scanned source.
    pub kinds: Kinds,
}

/// Returns the evidence and the kinds of each of `columns`, over all rows of the source except malformed ones, which the load reports.
/// `results` are the columns that have results of expressions: their kinds are not counted. The bytes of each part are reported as
/// progress; the caller names the phase.
///
/// If the source can't be read to its end, the evidence so far is returned beside the error.
pub fn scan(
    source: &mut dyn Source,
    columns: &[usize],
    results: &[usize],
    threads: usize,
    context: &Context<'_>,
) -> (Vec<Scanned>, Result<()>) {
    let begin =
        || vec![Scanned { evidence: Evidence::new(), kinds: Kinds::new(Counting::All) }; columns.len()];
    let look = |scanned: &mut Vec<Scanned>, index: u64, part: &mut dyn Part| {
        let written = (part.is_typed(), part.quoting());
        let cancel = &context.cancel;
        part.decode(&mut Scanning { columns, results, cancel, scanned, written, next: (index, 0) })?;
        context.progress.advance(Amount { rows: 0, bytes: part.input_bytes() });
        Ok(())
    };
    let (seen, read) = scan::scan(source, threads, &context.cancel, begin, look);
    let mut all = begin();
    for seen in seen {
        for (all, scanned) in all.iter_mut().zip(seen) {
            all.evidence.merge(scanned.evidence);
            all.kinds.merge(&scanned.kinds);
        }
    }
    (all, read)
}

/// A sink that looks at rows and stores nothing.
struct Scanning<'a> {
    columns: &'a [usize],
    results: &'a [usize],
    cancel: &'a Cancel,
    scanned: &'a mut [Scanned],
    /// The part's [`Part::is_typed`] and [`Part::quoting`].
    written: (bool, Option<Quoting>),
    /// The number of the part, and its next row.
    next: (u64, u64),
}

impl Sink for Scanning<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self.cancel.check()?;
        for (Scanned { evidence, kinds }, &column) in self.scanned.iter_mut().zip(self.columns) {
            match self.results.contains(&column) {
                true => evidence.see_results(&batch.columns[column], batch.rows),
                false => kinds.see(evidence, &batch.columns[column], batch.rows, self.written, self.next),
            }
        }
        self.next.1 += batch.rows as u64;
        Ok(())
    }

    /// Looks at all rows, because the types follow from the rows that are left out, too.
    fn kept_rows(&mut self, batch: &Batch<'_>, _: &Kept<'_>) -> Result<(), Refused> {
        self.rows(batch)
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        self.next.1 += 1;
        self.cancel.check()
    }
}
