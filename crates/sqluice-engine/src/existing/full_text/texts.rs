//! The texts of a record, as FTS5 gets them from a query of the table: numbers as text, blobs as their bytes.

use sqluice_core::affinity::{Affinity, int_to_text, real_to_text};
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::Table;
use sqluice_format::record;
use sqluice_format::value::{SerialType, Value};

use crate::existing::indexes::entries::{Take, find_fields};
use crate::existing::indexes::fields::{Missing, stored_field};
use crate::existing::indexes::probe_table::ProbeTable;
use crate::full_text::RowIndexer;

/// The places of the indexed texts in the records of a table.
pub(super) struct Texts {
    columns: Vec<Column>,
    /// The number of leading fields of a record that must be parsed.
    wanted: usize,
}

/// An indexed column.
struct Column {
    /// The number among the columns of the full-text table.
    number: usize,
    source: Source,
}

/// The source of a column's value.
enum Source {
    Rowid,
    Field {
        field: usize,
        missing: Missing,
        /// `true` if integers stand for floats, as in columns with REAL affinity.
        is_real: bool,
    },
}

impl Texts {
    /// Returns the places of columns, each given by its number in the full-text table and its number in `table`.
    ///
    /// # Errors
    /// Returns the reason why SQLite must read the texts, as a sentence.
    pub(super) fn of(table: &Table, columns: &[(usize, usize)]) -> std::result::Result<Texts, String> {
        let mut probe = ProbeTable::of(table)
            .map_err(|_| "only SQLite understands how its table is declared".to_owned())?;
        let columns = columns.iter().map(|&(number, column)| {
            if Some(column) == table.rowid_alias {
                return Ok(Column { number, source: Source::Rowid });
            }
            let name = &table.columns[column].name;
            let field =
                stored_field(table, column).ok_or_else(|| format!("SQLite computes column {name}"))?;
            let missing = probe.missing(table, column).ok().and_then(|record| Missing::of(&record));
            let missing = missing.ok_or_else(|| format!("only SQLite knows the default of column {name}"))?;
            let is_real = table.columns[column].affinity == Affinity::Real;
            Ok(Column { number, source: Source::Field { field, missing, is_real } })
        });
        let columns = columns.collect::<std::result::Result<Vec<_>, String>>()?;
        let wanted = columns.iter().map(|column| match &column.source {
            Source::Rowid => 0,
            Source::Field { field, .. } => field + 1,
        });
        Ok(Texts { wanted: wanted.max().unwrap_or(0), columns })
    }

    /// Returns the number of leading fields of a record that must be parsed.
    pub(super) fn wanted(&self) -> usize {
        self.wanted
    }
}

/// A consumer of records that indexes their texts, on one thread.
pub(super) struct TextTaker<'a> {
    texts: &'a Texts,
    rows: RowIndexer<'a>,
    found: Vec<(u64, usize)>,
    /// The text of a number.
    number: Vec<u8>,
}

impl<'a> TextTaker<'a> {
    pub(super) fn new(texts: &'a Texts, rows: RowIndexer<'a>) -> TextTaker<'a> {
        TextTaker { texts, rows, found: Vec::new(), number: Vec::new() }
    }
}

impl Take for TextTaker<'_> {
    fn take(&mut self, rowid: i64, record: &[u8]) -> std::result::Result<(), Option<Error>> {
        find_fields(record, self.texts.wanted, &mut self.found).ok_or(None)?;
        self.rows.begin_row(rowid);
        for Column { number, source } in &self.texts.columns {
            let (value, is_real) = match source {
                Source::Rowid => (Value::Int(rowid), false),
                Source::Field { field, missing, is_real } => {
                    let value = match self.found.get(*field) {
                        Some(&(serial, start)) => record::value(SerialType(serial), &record[start..]),
                        None => missing.value(),
                    };
                    (value.ok_or(None)?, *is_real)
                }
            };
            self.number.clear();
            let text = match value {
                Value::Null => continue,
                Value::Text(bytes) | Value::Blob(bytes) => bytes,
                Value::Int(int) if is_real => {
                    real_to_text(int as f64, &mut self.number);
                    &self.number
                }
                Value::Int(int) => {
                    int_to_text(int, &mut self.number);
                    &self.number
                }
                Value::Real(real) if real.is_nan() => continue,
                Value::Real(real) => {
                    real_to_text(real, &mut self.number);
                    &self.number
                }
            };
            self.rows.text(*number, text).map_err(Some)?;
        }
        self.rows.end_row().map_err(Some)
    }

    fn end_part(&mut self) -> Result<()> {
        self.rows.end_part()
    }

    fn finish(self) -> Result<()> {
        self.rows.finish()
    }
}
