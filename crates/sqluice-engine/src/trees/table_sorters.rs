//! The sorters of a table: one for each index that is built from sorted entries, and one for the rows if they may arrive out of order.

use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::schema::Table;

use super::Settings;
use super::keys::unique::{key_order, numbered, primary_key};
use crate::encode::entries::Entries;
use crate::encode::{IndexPlace, index_places};
use crate::expressions::Expressions;
use crate::options::WritePath;
use crate::plan::TablePlan;
use crate::sort::{Layout, Order, Prefetch, Sorted, Sorter, Spill};

/// The number of threads that read spilled blocks for each worker that merges runs. Disks are faster with concurrent reads.
const READS_PER_WORKER: usize = 2;

/// The sorters of a table: for its rows, if these must be sorted, and for its indexes.
pub(crate) struct TableSorters {
    pub(super) rows: Option<Sorter>,
    /// The sorter of each index that is built from sorted entries, with the position of the index in [`Table::indexes`].
    pub(super) indexes: Vec<(usize, Sorter)>,
}

/// The sorted items of a table: the rows if they were sorted, and the entries of each index with the position of the index in
/// [`Table::indexes`].
type SortedTable = (Option<Sorted>, Vec<(usize, Sorted)>);

impl TableSorters {
    /// Creates the sorters of a table. `sources` is 2 if the indexes get first the entries of new rows and then those of existing rows,
    /// otherwise 1. It divides the memory of each sorter, so that the entries of both can stay in memory.
    pub(super) fn new(
        table: &Table,
        plan: &TablePlan,
        settings: &Settings,
        sources: usize,
        spill: &Arc<Spill>,
    ) -> TableSorters {
        let sorted = |index: &usize| plan.indexes[*index].write_path == WritePath::Sorted;
        let indexes: Vec<usize> = (0..table.indexes.len()).filter(sorted).collect();
        let rows = plan.write_path == WritePath::Sorted;
        let sorters = indexes.len() + usize::from(rows);
        let workers = if plan.in_sequence { 1 } else { settings.workers };
        let buffer_bytes = share(settings, sorters) / workers.max(1) / sources;
        let rows = rows.then(|| {
            let layout = match &table.clustered {
                Some(key) => Layout { order: Order::Record(primary_key(key)), rowid: false, number: true },
                None => Layout { order: Order::Rowid, rowid: true, number: true },
            };
            Sorter::new(layout, buffer_bytes, spill)
        });
        let number = numbered(table, plan, settings.on_conflict);
        let indexes = indexes.into_iter().map(|index| {
            let order = Order::Record(key_order(&table.indexes[index]));
            (index, Sorter::new(Layout { order, rowid: false, number }, buffer_bytes, spill))
        });
        TableSorters { rows, indexes: indexes.collect() }
    }

    /// Returns one worker's encoders, which fill the sorters: one for the rows if they are sorted, then one for each index that is built
    /// from sorted entries.
    pub(super) fn entries<'s>(
        &'s self,
        table: &Table,
        expressions: Option<&Expressions>,
    ) -> Vec<Entries<'s>> {
        let places = expressions.map_or_else(Vec::new, |expressions| index_places(expressions, table));
        let place = |index: usize| places.get(index).copied().unwrap_or_default();
        let rows = self.rows.as_ref().map(|sorter| match &table.clustered {
            Some(clustered) => Entries::of_index(clustered, IndexPlace::default(), table, sorter.buffer()),
            None => Entries::of_rows(table, sorter.buffer()),
        });
        let indexes = self.indexes.iter().map(|(index, sorter)| {
            Entries::of_index(&table.indexes[*index], place(*index), table, sorter.buffer())
        });
        rows.into_iter().chain(indexes).collect()
    }

    /// Returns the positions of the indexes in [`Table::indexes`].
    pub(super) fn index_numbers(&self) -> Vec<usize> {
        self.indexes.iter().map(|(index, _)| *index).collect()
    }

    pub(super) fn sorted(self, settings: &Settings, cancel: &Cancel) -> Result<SortedTable> {
        let sorters = self.indexes.len() + usize::from(self.rows.is_some());
        let merge_bytes = share(settings, sorters);
        let ahead = Arc::new(Prefetch::new(READS_PER_WORKER * settings.workers)?);
        let sorted = |sorter: Sorter| sorter.sorted(merge_bytes, settings.workers, &ahead, cancel);
        let rows = self.rows.map(sorted).transpose()?;
        let indexes = self.indexes.into_iter().map(|(index, sorter)| Ok((index, sorted(sorter)?)));
        Ok((rows, indexes.collect::<Result<_>>()?))
    }
}

/// Returns the number of bytes of memory for each of `sorters` sorters, first for its buffers and later for merging. A quarter of
/// `sort_bytes` is kept for the lists of pieces and starts of spilled runs, which grow with the spilled data.
fn share(settings: &Settings, sorters: usize) -> usize {
    settings.sort_bytes / 4 * 3 / sorters.max(1)
}
