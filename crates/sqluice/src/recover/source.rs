//! A source of the rows of the leaves in [`FoundTable::ordered`](super::found::FoundTable::ordered), for the engine.
//!
//! ```text
//!  leaf without damage, and the table stores all its values unchanged ──> the whole leaf is copied
//!  other leaf without damage ──> records that are valid in the table ───> the record is copied
//!                            └─> other records ─────────────────────────> values, encoded again
//!  other leaf ──> rows in order, with values that the columns can have ─> values, encoded again
//!             └─> other rows ───────────────────────────────────────────> left to SQLite (`insert`)
//! ```
//!
//! A leaf with a row on overflow pages is always treated as one of the last kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::batch::{Batch, Column, ROWS_MAX, Value};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Amount;
use sqluice_core::source::cells::Cells;
use sqluice_core::source::{Part, Sink, Source};
use sqluice_format::check::Records;
use sqluice_format::record;
use sqluice_format::salvage::{Types, read_types};
use sqluice_format::scan;
use sqluice_format::value::SerialType;
use sqluice_format::varint;
use sqluice_format::view::PageView;
use sqluice_reader::salvage::{DamagedFile, Finding, Leaf, PageRows, SavedRow};

use super::layout::Layout;

/// The number of bytes of pages in a part.
const PART_BYTES: usize = 1 << 20;

/// The serial type of a float.
const REAL: u64 = 7;

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
    /// `true` if a column may hold a float, and may not hold NULL.
    pub(super) has_needed_reals: bool,
    /// The number of columns of a batch.
    pub(super) columns: usize,
    /// The column of a batch that has the rowid, if the table has rowids and none of its columns is the rowid.
    pub(super) rowid_column: Option<usize>,
    /// The leaves, in the order of their rows.
    pub(super) leaves: Vec<Leaf>,
    /// The number of rows.
    pub(super) rows: u64,
    /// The number of rows that were given to the engine.
    pub(super) given: Arc<AtomicU64>,
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
        // The number of a row is not used, because each row has its rowid from the damaged file.
        0
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let table = &*self.table;
        let page_bytes = table.file.geometry().page_bytes();
        let mut reader = table.layout.reader();
        let mut rows = Rows {
            table,
            record_fields: sink.record_fields(),
            sink,
            records: Records::of_table(&table.spec, table.file.encoding),
            cells: (0..table.columns).map(|_| Cells::default()).collect(),
            types: Types::new(),
            rows: 0,
            bytes: 0,
            given: 0,
        };
        let mut bytes = Vec::new();
        let mut leaves = table.leaves[self.leaves.clone()].iter().peekable();
        while let Some(first) = leaves.next() {
            // Consecutive pages are one read.
            let mut run = vec![first];
            while let Some(next) = leaves.next_if(|next| next.page == first.page + run.len() as u32) {
                run.push(next);
            }
            bytes.resize(run.len() * page_bytes, 0);
            table.file.read_pages(first.page, &mut bytes)?;
            for (leaf, page) in run.into_iter().zip(bytes.chunks_exact(page_bytes)) {
                if leaf.is_verbatim && leaf.is_local && rows.leaf((leaf.page, page))? {
                    continue;
                }
                if rows.record_fields.is_some() && leaf.is_clean && leaf.is_local {
                    PageRows::read_whole(&table.file, (leaf.page, page), |rowid, record| {
                        rows.record(rowid, record)
                    })?;
                    continue;
                }
                reader.read_from(&table.file, &table.finding.chains, (leaf.page, page), |row| {
                    match row.in_order && is_ordinary(&table.spec, row.types) {
                        true => rows.row(&row),
                        false => Ok(()),
                    }
                })?;
            }
        }
        rows.give()?;
        table.given.fetch_add(rows.given, Ordering::Relaxed);
        Ok(())
    }
}

/// The rows of a part that are given to the engine.
struct Rows<'t, 's> {
    table: &'t TableRows,
    sink: &'s mut dyn Sink,
    /// The least number of fields of a record that the sink takes; `None` if it takes no records.
    record_fields: Option<usize>,
    /// The rules for the records of the table.
    records: Records<'t>,
    /// The values of rows that wait for the next batch.
    cells: Vec<Cells>,
    types: Types,
    /// The number of rows that wait, and the bytes of their records.
    rows: usize,
    bytes: usize,
    given: u64,
}

impl Rows<'_, '_> {
    /// Gives a whole leaf. Returns `false` if its rows must be given one by one.
    fn leaf(&mut self, (number, page): (u32, &[u8])) -> Result<bool> {
        let geometry = self.table.file.geometry();
        let view = PageView::new(page, number, geometry);
        let Some(leaf) = view.as_ref().and_then(|view| scan::Leaf::of(view, geometry, None)) else {
            return Ok(false);
        };
        if self.rows > 0 {
            self.give()?;
        }
        let is_taken = self.sink.leaf(&leaf)?;
        self.given += if is_taken { leaf.entries() as u64 } else { 0 };
        Ok(is_taken)
    }

    /// Gives a row of a leaf whose rows all can be rows of the table.
    #[inline]
    fn record(&mut self, rowid: i64, record: &[u8]) -> Result<()> {
        let is_sound = self.records.add(rowid, record).is_ok();
        let has_fields = self.record_fields.is_some_and(|fields| self.records.last_fields() >= fields);
        if !is_sound || !has_fields || self.table.has_nan(record) {
            return self.unusual(rowid, record);
        }
        if self.rows > 0 {
            self.give()?;
        }
        self.given += 1;
        self.sink.record(rowid, record)
    }

    /// Gives the values of a row whose record is not stored as it is.
    #[cold]
    fn unusual(&mut self, rowid: i64, record: &[u8]) -> Result<()> {
        let mut types = std::mem::take(&mut self.types);
        let is_read = read_types(record, record.len(), &mut types) == Some(true);
        let row =
            SavedRow { rowid, record, types: &types, in_order: true, overflows: false, is_doubtful: false };
        let given = if is_read { self.row(&row) } else { Ok(()) };
        self.types = types;
        given
    }

    /// Gives the values of a row.
    fn row(&mut self, row: &SavedRow<'_>) -> Result<()> {
        let Rows { table, cells, .. } = self;
        table.layout.values(row, |place, value| {
            cells[table.layout.given[place]].push_value(value);
        });
        if let Some(column) = table.rowid_column {
            cells[column].push_value(Value::Int(row.rowid));
        }
        self.rows += 1;
        self.bytes += row.record.len();
        if self.rows == ROWS_MAX || self.bytes >= BATCH_BYTES { self.give() } else { Ok(()) }
    }

    /// Gives the rows that wait.
    fn give(&mut self) -> Result<()> {
        self.given += self.rows as u64;
        self.bytes = 0;
        give(&mut self.cells, &mut self.rows, self.sink)
    }
}

impl TableRows {
    /// Returns `true` if a record has a NaN that may be in a NOT NULL column: SQLite reads NaN as NULL.
    #[inline]
    fn has_nan(&self, record: &[u8]) -> bool {
        self.has_needed_reals && has_nan(record)
    }
}

/// Returns `true` if a record has a float that is no number.
fn has_nan(record: &[u8]) -> bool {
    let find = || {
        let (header, mut at) = varint::read(record)?;
        let mut body = header as usize;
        while at < header as usize {
            let (serial, n) = varint::read(record.get(at..)?)?;
            let bytes = SerialType(serial).content_bytes()? as usize;
            if serial == REAL && f64::from_bits(record::int(record.get(body..body + bytes)?) as u64).is_nan()
            {
                return Some(());
            }
            (at, body) = (at + n, body + bytes);
        }
        None
    };
    find().is_some()
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
