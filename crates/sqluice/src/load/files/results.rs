//! Gathers evidence for the types of computed columns from a sample.

use sqluice_core::batch::Batch;
use sqluice_core::error::{Error, Result};
use sqluice_core::source::{BadRow, Refused, Sink};
use sqluice_sources::infer::Evidence;

use super::rowid_order::Ascending;

/// A sink that gathers evidence for the types of results, and the order of rowids.
pub(crate) struct ResultObserver {
    /// The columns of the batches, each with its evidence.
    pub(crate) evidence: Vec<(usize, Evidence)>,
    /// The column of the rowids, if any, and their order.
    pub(crate) rowids: Option<(usize, Ascending)>,
    pub(crate) first_fault: Option<Error>,
}

impl Sink for ResultObserver {
    fn rows(&mut self, batch: &Batch<'_>) -> std::result::Result<(), Refused> {
        for (column, evidence) in &mut self.evidence {
            evidence.see_results(&batch.columns[*column], batch.rows);
        }
        if let Some((column, ascending)) = &mut self.rowids {
            ascending.see(&batch.columns[*column], batch.rows);
        }
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.first_fault.get_or_insert(bad.error);
        Ok(())
    }
}
