//! Encodes the rows of a source. The rows go onto pages or to a sorter, their index entries to sorters.

use sqluice_core::batch::{Batch, ROWS_MAX};
use sqluice_core::error::Result;
use sqluice_core::schema::Table;
use sqluice_core::source::kept::{Kept, Picked};
use sqluice_core::source::{BadRow, Refused, Sink};
use sqluice_format::scan::Leaf;

use crate::encode::entries::{Entries, RecordFields};
use crate::encode::{
    AnyOrder, Coercion, Encoder, LastRowid, RowidRange, Rowids, no_rowids_left, out_of_order,
};
use crate::expressions::Expressions;
use crate::options::WritePath;
use crate::plan::TablePlan;
use crate::trees::Settings;
use crate::trees::existing_trees::{Edge, ExistingTrees};
use crate::trees::table_sorters::TableSorters;
use crate::trees::workers::message::Task;
use crate::trees::workers::part_ends::PartEnds;
use crate::trees::workers::worker::{Done, Filling};

/// A table to write whose rows arrive from a source.
pub(crate) struct RowsTree<'a> {
    pub(crate) table: &'a Table,
    /// The expressions that are evaluated for each row.
    pub(crate) expressions: Option<&'a Expressions>,
    pub(crate) coercion: Coercion,
    /// `Pages` if the rows arrive in the order of their keys and go directly onto pages; `Sorted` if they go to a sorter.
    pub(crate) write_path: WritePath,
    /// `true` if a single worker encodes all rows in sequence, so that the largest rowid before each row is known.
    pub(crate) in_sequence: bool,
    /// The sorters of the rows and the index entries; `None` if neither are sorted.
    pub(crate) sorters: Option<&'a TableSorters>,
    pub(crate) seen: AnyOrder,
    /// The root page of the table, if it exists already.
    pub(crate) root_page: Option<u32>,
    /// The right edge of the existing B-tree: its last page on each level, after which rows are appended. `None` if the table is new.
    pub(crate) edge: Option<Edge>,
}

impl<'a> RowsTree<'a> {
    pub(crate) fn new(
        table: &'a Table,
        plan: &'a TablePlan,
        coercion: Coercion,
        sorted: Option<(WritePath, &'a TableSorters)>,
        existing_trees: Option<ExistingTrees>,
    ) -> RowsTree<'a> {
        RowsTree {
            table,
            expressions: plan.expressions.as_deref().filter(|expressions| expressions.evaluates()),
            coercion,
            write_path: sorted.map_or(WritePath::Pages, |(write_path, _)| write_path),
            in_sequence: false,
            sorters: sorted.map(|(_, sorters)| sorters),
            seen: AnyOrder::default(),
            root_page: existing_trees.as_ref().map(|existing_trees| existing_trees.root_page),
            edge: existing_trees.map(|existing_trees| existing_trees.edge),
        }
    }
}

/// The encoder of one worker, which encodes parts of the rows of a table.
pub(crate) struct RowsEncoder<'a> {
    tree: &'a RowsTree<'a>,
    encoder: Encoder,
    entries: Vec<Entries<'a>>,
    /// The fields of the current record, if rows arrive as records.
    fields: RecordFields,
    largest: Option<i64>,
}

impl<'a> RowsEncoder<'a> {
    pub(crate) fn new(tree: &'a RowsTree<'a>, settings: &Settings) -> RowsEncoder<'a> {
        RowsEncoder {
            tree,
            encoder: Encoder::new(tree.table, settings.geometry, tree.coercion),
            entries: (tree.sorters)
                .map_or_else(Vec::new, |sorters| sorters.entries(tree.table, tree.expressions)),
            fields: RecordFields::default(),
            largest: None,
        }
    }

    /// Encodes the rows of one part.
    pub(crate) fn encode(&mut self, filling: &mut Filling<'_, '_>, task: Task) -> (Result<Done>, PartEnds) {
        let Task::Decode(mut part) = task else { unreachable!("rows are decoded") };
        let place = part.place();
        let settings = filling.worker.settings;
        if let Some(expressions) = self.tree.expressions {
            let indexes = self.tree.sorters.map_or_else(Vec::new, TableSorters::index_numbers);
            let ignores_checks = settings.ignores_checks;
            if let Err(error) = self.encoder.compute(self.tree.table, expressions, &indexes, ignores_checks) {
                return (Err(error), PartEnds::None);
            }
        }
        let counted_from = self.tree.edge.as_ref().map_or(settings.counted_from, |edge| edge.counted_from);
        let next_rowid = counted_from.wrapping_add(part.first_row() as i64).wrapping_add(1);
        let mut encoding = Encoding { filling, rows: self, next_rowid, rowids: None, sorted: 0, records: 0 };
        let decoded = part.decode(&mut encoding);
        let (rowids, sorted) = (encoding.rowids, encoding.sorted);
        filling.finish_leaves();
        let ends = rowids.map_or(PartEnds::None, |rowids| PartEnds::Rowids { rowids, place });
        (decoded.map(|()| Done { input_bytes: part.input_bytes(), rows: sorted }), ends)
    }

    /// Passes the rows and index entries that are still in this worker's sort buffers to the sorters.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.entries.iter_mut().try_for_each(Entries::flush)
    }
}

/// A sink that takes the batches of rows of a part and encodes them.
struct Encoding<'f, 'e, 'a, 'w, 's> {
    filling: &'f mut Filling<'w, 's>,
    rows: &'e mut RowsEncoder<'a>,
    next_rowid: i64,
    /// The first and the last rowid of the part so far, if its rows go onto pages.
    rowids: Option<RowidRange>,
    /// The number of rows of the part that went to a sorter.
    sorted: u64,
    /// The number of rows of the part that were taken as records.
    records: usize,
}

impl Encoding<'_, '_, '_, '_, '_> {
    /// Encodes a batch of rows. `numbers` has the numbers of their records in the input, counted from 1.
    fn encode(&mut self, batch: &Batch<'_>, numbers: Rowids<'_>) -> Result<(), Refused> {
        let Encoding { filling, rows, .. } = self;
        let RowsEncoder { tree, encoder, entries, largest, .. } = &mut **rows;
        if tree.write_path == WritePath::Pages {
            filling.open()?;
            let last = self.rowids.map(|rowids| rowids.last);
            let rowids = encoder.encode_in_order(batch, numbers, last, *filling, entries)?;
            self.rowids = Some(match self.rowids {
                Some(before) => RowidRange { last: rowids.last, ..before },
                None => rowids,
            });
            filling.hash_finished();
        } else {
            let largest = tree.in_sequence.then_some(largest);
            encoder.encode_in_any_order(batch, numbers, &tree.seen, largest, entries)?;
            self.sorted += batch.rows as u64;
        }
        Ok(())
    }

    /// Counts rows that arrive as records, and checks that their rowids are in order.
    #[inline]
    fn count_records(&mut self, rows: usize, (first, last): (i64, i64)) -> Result<()> {
        let before = self.records;
        self.records += rows;
        if before / ROWS_MAX != self.records / ROWS_MAX {
            self.filling.cancelled()?;
            self.filling.hash_finished();
        }
        let rowid = LastRowid { rowid: last, counted: false };
        self.rowids = Some(match self.rowids {
            Some(before) if before.last.rowid >= first => {
                return Err(out_of_order("rowid", before.last.rowid, first));
            }
            Some(before) => RowidRange { last: rowid, ..before },
            None => RowidRange { first, last: rowid, first_assumed: false },
        });
        Ok(())
    }

    /// Checks that all rows of a batch can get rowids.
    fn check_rowids(&self, batch: &Batch<'_>) -> Result<()> {
        self.filling.cancelled()?;
        let tree = self.rows.tree;
        let is_numbered = tree.write_path == WritePath::Pages && tree.table.rowid_alias.is_none();
        match self.next_rowid.checked_add(batch.rows as i64 - 1) {
            None if is_numbered => Err(no_rowids_left(&tree.table.name)),
            _ => Ok(()),
        }
    }
}

impl Sink for Encoding<'_, '_, '_, '_, '_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self.check_rowids(batch)?;
        self.encode(batch, Rowids::From(self.next_rowid))?;
        self.next_rowid = self.next_rowid.wrapping_add(batch.rows as i64);
        Ok(())
    }

    fn kept_rows(&mut self, batch: &Batch<'_>, kept: &Kept<'_>) -> Result<(), Refused> {
        self.check_rowids(batch)?;
        if !kept.rows.is_empty() {
            let number = |row: &u32| self.next_rowid.wrapping_add(i64::from(*row));
            let numbers: Vec<i64> = kept.rows.iter().map(number).collect();
            let picked = Picked::new(batch, kept);
            let encoded = self.encode(&picked.batch(), Rowids::Each(&numbers));
            encoded.map_err(|refused| kept.of_all(refused))?;
        }
        self.next_rowid = self.next_rowid.wrapping_add(batch.rows as i64);
        Ok(())
    }

    fn record_fields(&self) -> Option<usize> {
        let RowsEncoder { tree, entries, .. } = &self.rows;
        let is_in_order = tree.write_path == WritePath::Pages && !tree.in_sequence;
        let is_plain = tree.expressions.is_none() && tree.table.clustered.is_none();
        // Fields have the numbers of their columns if no column is left out of records.
        let has_all =
            entries.is_empty() || tree.table.columns.iter().all(|column| column.generated.is_none());
        let fields = || entries.iter().map(Entries::record_fields).max().unwrap_or(0);
        (is_in_order && is_plain && has_all).then(fields)
    }

    #[inline]
    fn record(&mut self, rowid: i64, record: &[u8]) -> Result<()> {
        if !self.rows.entries.is_empty() {
            let RowsEncoder { entries, fields, .. } = &mut *self.rows;
            fields.read(record);
            entries.iter_mut().try_for_each(|entries| entries.push_record(rowid, record, fields))?;
        }
        self.count_records(1, (rowid, rowid))?;
        self.filling.push_row(rowid, record)
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool> {
        let geometry = self.filling.worker.settings.geometry;
        let is_alike =
            (leaf.page().len(), leaf.usable_bytes()) == (geometry.page_bytes(), geometry.usable_bytes());
        if !is_alike || leaf.is_index() || self.record_fields() != Some(0) {
            return Ok(false);
        }
        self.count_records(leaf.entries(), (leaf.entry(0).0, leaf.last_rowid()))?;
        // The bytes of a page between its cells may be remains of deleted rows, so that no page is copied whole.
        self.filling.push_cells(leaf)?;
        Ok(true)
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.next_rowid = self.next_rowid.wrapping_add(1);
        self.filling.bad_row(bad)
    }
}
