//! Builds the entries of partial indexes, and of indexes on expressions and VIRTUAL columns, from the rows of an existing table.
//!
//! ```text
//!  records ──> batches of the columns that the index needs ──> SQLite evaluates (as for new rows) ──> entries ──> sorter
//! ```

use sqluice_core::batch::{Batch, Column, ROWS_MAX, Value, Values};
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::Cells;
use sqluice_core::schema::Table;
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::source::PART_BYTES;
use sqluice_format::record;
use sqluice_format::value::SerialType;

use super::fields::{Missing, stored_field};
use super::probe_table::ProbeTable;
use crate::encode::EntryEncoder;
use crate::expressions::Expressions;
use crate::sort::Sorter;

/// An index whose entries SQLite computes for batches of rows.
pub(crate) struct ComputedIndex {
    /// The table with this index alone.
    table: Table,
    expressions: Expressions,
    /// The stored columns that the entries need: for each its position in the table, the index of its field in the records, and its value
    /// in records that end before this field.
    needed: Vec<(usize, usize, Missing)>,
}

impl ComputedIndex {
    /// Prepares the computation of the entries of `index`. `probe` gives the value of a column in records that end before the column.
    ///
    /// # Errors
    /// Returns the reason why SQLite must make the entries, as a sentence.
    pub(crate) fn new(
        table: &Table,
        index: &Index,
        probe: &mut ProbeTable,
    ) -> std::result::Result<ComputedIndex, String> {
        let mut table = table.clone();
        table.indexes = vec![index.clone()];
        let expressions = Expressions::of(&table).ok_or("SQLite does not report what it computes")?;
        expressions.of_index(0)?;
        let mut columns = expressions.named().to_vec();
        columns.extend(index.columns.iter().filter_map(|column| match column.value {
            Indexed::Column(column) => Some(column),
            Indexed::Rowid | Indexed::Expression => None,
        }));
        columns.sort_unstable();
        columns.dedup();
        let mut needed = Vec::new();
        for column in columns.into_iter().filter(|column| *column < table.columns.len()) {
            let Some(field) = stored_field(&table, column) else { continue };
            if Some(column) == table.rowid_alias {
                continue;
            }
            let missing = probe.missing(&table, column).ok().and_then(|record| Missing::of(&record));
            let name = &table.columns[column].name;
            let missing = missing.ok_or_else(|| format!("only SQLite knows the default of column {name}"))?;
            needed.push((column, field, missing));
        }
        Ok(ComputedIndex { table, expressions, needed })
    }

    /// Returns the number of leading fields of a record that must be parsed.
    pub(super) fn wanted(&self) -> usize {
        self.needed.iter().map(|(_, field, _)| field + 1).max().unwrap_or(0)
    }

    /// Returns a builder of entries for one thread.
    ///
    /// # Errors
    /// If SQLite can't prepare the expressions.
    pub(super) fn entries<'a>(&'a self, sorter: &'a Sorter) -> Result<ComputedEntries<'a>> {
        Ok(ComputedEntries {
            index: self,
            encoder: EntryEncoder::new(&self.table, &self.expressions, sorter.buffer())?,
            cells: self.needed.iter().map(|_| Cells::default()).collect(),
            rowids: Vec::with_capacity(ROWS_MAX),
            bytes: 0,
        })
    }
}

/// The builder of the entries of a computed index, on one thread.
pub(super) struct ComputedEntries<'a> {
    index: &'a ComputedIndex,
    encoder: EntryEncoder<'a>,
    /// The values of the needed columns.
    cells: Vec<Cells>,
    rowids: Vec<i64>,
    /// The bytes of the records whose entries are not encoded yet.
    bytes: usize,
}

impl ComputedEntries<'_> {
    /// Takes a row. `found` has the serial types and offsets of the fields of its record.
    pub(super) fn push(&mut self, rowid: i64, record: &[u8], found: &[(u64, usize)]) -> Result<()> {
        for ((_, field, missing), cells) in self.index.needed.iter().zip(&mut self.cells) {
            let value = match found.get(*field) {
                Some(&(serial, start)) => record::value(SerialType(serial), &record[start..]),
                None => missing.value(),
            };
            cells.push(value.unwrap_or(Value::Null));
        }
        self.rowids.push(rowid);
        self.bytes += record.len();
        if self.rowids.len() == ROWS_MAX || self.bytes >= PART_BYTES { self.encode() } else { Ok(()) }
    }

    fn encode(&mut self) -> Result<()> {
        let ComputedEntries { index, encoder, cells, rowids, bytes } = self;
        let values: Vec<Vec<Value<'_>>> = cells
            .iter()
            .map(|cells| (0..rowids.len()).map(|row| cells.get(row).unwrap_or(Value::Null)).collect())
            .collect();
        let mut columns = vec![Column::NULL; index.table.columns.len()];
        for ((column, ..), values) in index.needed.iter().zip(&values) {
            columns[*column] = Column::new(Values::Any(values));
        }
        let encoded = encoder.push(&Batch { rows: rowids.len(), columns }, rowids);
        let done = encoded.map_err(|refused| {
            let (at, error) = refused.first();
            let rowid = at.filter(|_| !index.table.without_rowid).and_then(|(row, _)| rowids.get(row));
            let table = &index.table.name;
            match rowid {
                Some(rowid) => Error::input(format!("row {rowid} of {table}: {}", error.message())),
                None => error,
            }
        });
        drop(values);
        cells.iter_mut().for_each(Cells::clear);
        rowids.clear();
        *bytes = 0;
        done
    }

    /// Passes the remaining entries to the sorter.
    pub(super) fn finish(&mut self) -> Result<()> {
        if !self.rowids.is_empty() {
            self.encode()?;
        }
        self.encoder.flush()
    }
}
