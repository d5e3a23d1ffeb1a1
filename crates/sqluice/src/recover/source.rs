//! The rows of clean leaves as a source, which workers read and encode.

use std::sync::Arc;

use sqluice_core::batch::{Batch, Column, ROWS_MAX, Value};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Amount;
use sqluice_core::source::cells::Cells;
use sqluice_core::source::{Part, Sink, Source};
use sqluice_reader::salvage::{DamagedFile, Finding, PageRows};

use super::layout::Layout;

/// The number of bytes of pages in a part.
const PART_BYTES: usize = 1 << 20;

/// The number of bytes of records after which a batch is given.
const BATCH_BYTES: usize = 1 << 20;

/// The rows of a table.
#[derive(Debug)]
pub(super) struct TableRows {
    pub(super) file: Arc<DamagedFile>,
    pub(super) finding: Arc<Finding>,
    pub(super) layout: Layout,
    /// The description of the table, which says what its rows can be.
    pub(super) spec: sqluice_format::check::spec::Table,
    /// The number of columns of a batch.
    pub(super) columns: usize,
    /// The column of the rowid, if it is not one of the table.
    pub(super) rowid_column: Option<usize>,
    /// The leaves, in the order of their rows.
    pub(super) leaves: Vec<u32>,
    /// The number of rows.
    pub(super) rows: u64,
}

/// A source of the rows of a table.
pub(super) struct SavedRows {
    table: Arc<TableRows>,
    next: usize,
}

impl SavedRows {
    pub(super) fn new(table: TableRows) -> SavedRows {
        SavedRows { table: Arc::new(table), next: 0 }
    }
}

impl Source for SavedRows {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let leaves = &self.table.leaves;
        if self.next >= leaves.len() {
            return Ok(None);
        }
        let page_bytes = self.table.file.geometry().page_bytes();
        let first = self.next;
        self.next = (first + (PART_BYTES / page_bytes).max(1)).min(leaves.len());
        Ok(Some(Box::new(LeavesPart { table: Arc::clone(&self.table), leaves: first..self.next })))
    }

    fn total(&self) -> Option<Amount> {
        Some(Amount { rows: self.table.rows, bytes: 0 })
    }
}

struct LeavesPart {
    table: Arc<TableRows>,
    leaves: std::ops::Range<usize>,
}

impl Part for LeavesPart {
    fn first_row(&self) -> u64 {
        // Rows bring their rowids, so that no row is numbered.
        0
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let table = &*self.table;
        let page_bytes = table.file.geometry().page_bytes();
        let mut reader = PageRows::default();
        let mut cells: Vec<Cells> = (0..table.columns).map(|_| Cells::default()).collect();
        let (mut rows, mut data, mut bytes) = (0, 0, Vec::new());
        let mut leaves = table.leaves[self.leaves.clone()].iter().copied().peekable();
        while let Some(first) = leaves.next() {
            // Consecutive pages are one read.
            let mut count = 1;
            while leaves.next_if_eq(&(first + count)).is_some() {
                count += 1;
            }
            bytes.resize(count as usize * page_bytes, 0);
            table.file.read_pages(first, &mut bytes)?;
            for (number, page) in (first..).zip(bytes.chunks_exact(page_bytes)) {
                reader.read_from(&table.file, &table.finding.chains, (number, page), |row| {
                    if !row.in_order || !is_ordinary(&table.spec, row.types) {
                        return Ok(());
                    }
                    table.layout.values(&row, |place, value| {
                        cells[table.layout.given[place]].push_value(value);
                    });
                    if let Some(column) = table.rowid_column {
                        cells[column].push_value(Value::Int(row.rowid));
                    }
                    rows += 1;
                    data += row.record.len();
                    if rows == ROWS_MAX || data >= BATCH_BYTES {
                        data = 0;
                        give(&mut cells, &mut rows, sink)?;
                    }
                    Ok(())
                })?;
            }
        }
        give(&mut cells, &mut rows, sink)
    }
}

/// Returns `true` if the engine takes a row: each value is one that its column can have. SQLite decides about other rows.
pub(super) fn is_ordinary(spec: &sqluice_format::check::spec::Table, types: &[u64]) -> bool {
    sqluice_reader::salvage::shape::fits(spec, types, true)
}

fn give(cells: &mut [Cells], rows: &mut usize, sink: &mut dyn Sink) -> Result<()> {
    if *rows == 0 {
        return Ok(());
    }
    let mixed: Vec<Vec<Value<'_>>> = cells.iter().map(|cells| cells.mixed(0, cells.rows())).collect();
    let columns = cells.iter().zip(&mixed).map(|(cells, mixed)| match cells.rows() {
        0 => Column::NULL,
        rows => cells.column(0, rows, mixed),
    });
    let batch = Batch { rows: *rows, columns: columns.collect() };
    let given = sink.rows(&batch).map_err(|refused| -> Error { refused.first().1 });
    drop(batch);
    drop(mixed);
    cells.iter_mut().for_each(Cells::clear);
    *rows = 0;
    given
}
