//! Has SQLite compute the entries that an index should have, from the rows of its table: for partial indexes, and for indexes on
//! expressions and VIRTUAL columns. The check compares these with the entries in the file.
//!
//! ```text
//!  fields of a row ──UTF-8──> batch ──> SQLite, in the text encoding of the database ──> values of entries, in this encoding
//! ```
//!
//! Text in UTF-16 is converted to UTF-8 and back. If this may change a text, as it does with malformed text, the index is not compared.

use std::sync::Arc;

use sqluice_core::batch::ROWS_MAX;
use sqluice_core::rows::Cells;
use sqluice_core::schema::Schema;
use sqluice_core::source::PART_BYTES;
use sqluice_engine::encode::compared::{ComputedIndexes, EntriesOfRows};
use sqluice_format::check::spec::{ComputeEntries, Computed, ComputedEntries, Table, Utf16};
use sqluice_format::database::encoding_name;
use sqluice_format::value::Value;

use super::spec::columns_of_fields;

/// Indexes on one table. SQLite computes the entries of these indexes.
#[derive(Debug)]
struct OfTable {
    indexes: Arc<ComputedIndexes>,
    encoding: Option<Utf16>,
}

/// Sets `computed` in the tables and indexes whose entries SQLite can compute. `encoding` is the text encoding in the file header (1, 2
/// or 3). Returns the names of the indexes whose entries SQLite can't compute, each with the reason.
pub(super) fn add(schema: &Schema, tables: &mut [Table], encoding: u32) -> Vec<(String, String)> {
    let mut refused = Vec::new();
    for (table, spec) in schema.tables.iter().zip(tables) {
        let Some((indexes, not)) = ComputedIndexes::of(table, encoding_name(encoding)) else { continue };
        refused.extend(not.into_iter().map(|(at, why)| (table.indexes[at].name.clone(), why)));
        if indexes.indexes().is_empty() {
            continue;
        }
        let columns = columns_of_fields(table);
        let field = |column: &usize| columns.iter().position(|of_field| of_field == column);
        let Some(fields) = indexes.columns().iter().map(field).collect() else { continue };
        indexes.indexes().iter().for_each(|at| spec.indexes[*at].computed = true);
        let by = OfTable { indexes: Arc::new(indexes), encoding: Utf16::of_header(encoding) };
        spec.computed = Some(Computed { fields, by: Arc::new(by) });
    }
    refused
}

impl ComputeEntries for OfTable {
    fn begin(&self) -> Box<dyn ComputedEntries> {
        Box::new(Rows {
            cells: self.indexes.columns().iter().map(|_| Cells::default()).collect(),
            entries: self.indexes.begin().ok(),
            encoding: self.encoding,
            rowids: Vec::new(),
            is_malformed: false,
            bytes: 0,
        })
    }
}

/// A batch of rows whose entries are not computed yet.
struct Rows {
    /// The computation in SQLite; `None` if it could not begin, and then nothing is compared.
    entries: Option<EntriesOfRows>,
    encoding: Option<Utf16>,
    /// The values of the columns that entries depend on.
    cells: Vec<Cells>,
    rowids: Vec<i64>,
    /// `true` if a text is not valid in the encoding of the database.
    is_malformed: bool,
    bytes: usize,
}

impl ComputedEntries for Rows {
    fn push(&mut self, rowid: i64, values: &mut dyn Iterator<Item = Value<'_>>) -> bool {
        for (cells, value) in self.cells.iter_mut().zip(values) {
            let utf8;
            let value = match (value, self.encoding) {
                (Value::Text(text), Some(encoding)) => match encoding.decode(text) {
                    Some(text) => {
                        utf8 = text;
                        Value::Text(utf8.as_bytes())
                    }
                    None => {
                        self.is_malformed = true;
                        Value::Null
                    }
                },
                (value, _) => value,
            };
            if let Value::Text(bytes) | Value::Blob(bytes) = value {
                self.bytes += bytes.len();
            }
            cells.push(value);
        }
        self.rowids.push(rowid);
        self.rowids.len() == ROWS_MAX || self.bytes >= PART_BYTES
    }

    fn compute(&mut self, each: &mut dyn FnMut(usize, usize, &[Value<'_>])) -> bool {
        let Rows { entries, encoding, cells, rowids, is_malformed, bytes } = self;
        let is_computed = entries.as_mut().is_some_and(|entries| {
            let computed = entries.compute(cells, rowids, |index, row, values| {
                let texts: Vec<Vec<u8>> = values
                    .iter()
                    .map(|value| match (value, *encoding) {
                        (Value::Text(text), Some(encoding)) => {
                            let text = String::from_utf8_lossy(text);
                            // SQLite writes this character for text that it can't convert, so the text may have been malformed.
                            *is_malformed |= text.contains(char::REPLACEMENT_CHARACTER);
                            encoding.encode(&text)
                        }
                        _ => Vec::new(),
                    })
                    .collect();
                let values = values.iter().zip(&texts).map(|(value, text)| match (*value, *encoding) {
                    (Value::Text(_), Some(_)) => Value::Text(text),
                    (value, _) => value,
                });
                each(index, row, &values.collect::<Vec<_>>());
            });
            computed.is_ok()
        });
        let is_computed = is_computed && !*is_malformed;
        cells.iter_mut().for_each(Cells::clear);
        rowids.clear();
        (*is_malformed, *bytes) = (false, 0);
        is_computed
    }
}
