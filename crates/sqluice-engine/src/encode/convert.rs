//! Converts batches to columns for rows that SQLite inserts.
//!
//! The code that converts and refuses values for pages does so here, too. It returns values as SQLite would store them, so SQLite's own
//! conversions change nothing.

use std::cell::Cell;

use sqluice_core::affinity::{Affinity, Rowid, StrictType};
use sqluice_core::batch::{Batch, Value, Values};
use sqluice_core::rows::Cells;
use sqluice_core::schema::Table;
use sqluice_core::source::{Refused, RefusedRow};
use sqluice_format::value::{Class, SerialType};

use super::rowid;
use super::stored::{Scratch, Serials, Stored};
use super::{Coercion, ColumnRules, Refusals, alias_of};

/// A converter for the batches of one table.
#[derive(Debug)]
pub(crate) struct Converter {
    columns: Vec<ColumnRules>,
    /// The columns to insert, as positions in the table.
    given: Vec<usize>,
    lossless: bool,
    rowid_alias: Option<usize>,
    autoincrement: bool,
    scratch: Vec<Scratch>,
    rowids: Vec<Value<'static>>,
}

impl Converter {
    /// Creates a converter for the columns `given` of a table, which SQLite inserts.
    pub(crate) fn new(table: &Table, given: &[usize], coercion: Coercion) -> Converter {
        Converter {
            columns: ColumnRules::of(table),
            given: given.to_vec(),
            lossless: coercion == Coercion::Lossless,
            rowid_alias: table.rowid_alias,
            autoincrement: table.autoincrement,
            scratch: given.iter().map(|_| Scratch::default()).collect(),
            rowids: Vec::new(),
        }
    }

    /// Appends a batch, which has all columns of the table, to the cells of the given columns.
    ///
    /// # Errors
    /// If rows can't be stored. Nothing of the batch is then appended.
    pub(crate) fn append(&mut self, batch: &Batch<'_>, cells: &mut [Cells]) -> Result<(), Refused> {
        let mut refused = Vec::new();
        let mut refused_rows = vec![0; batch.rows.div_ceil(64)];
        let mut columns = Vec::with_capacity(self.given.len());
        for (&index, scratch) in self.given.iter().zip(&mut self.scratch) {
            if Some(index) == self.rowid_alias {
                let alias = alias_of(&self.columns, Some(index), self.lossless, self.autoincrement);
                alias.inspect(|alias| rowids(batch, *alias, &mut self.rowids, &mut refused));
                columns.push(None);
                continue;
            }
            let rules = &self.columns[index];
            let lost = Cell::new(false);
            let stored = Stored::new(&batch.columns[index], batch.rows, rules.affinity, scratch, &lost);
            let mut refusals = Refusals { rows: &mut refused_rows, list: &mut refused };
            let column = &batch.columns[index];
            rules.check(&stored, self.lossless && lost.get(), index, column, batch.rows, &mut refusals);
            columns.push(Some(stored));
        }
        if !refused.is_empty() {
            refused.sort_by_key(|refused| (refused.row, refused.column));
            refused.dedup_by_key(|refused| refused.row);
            return Err(Refused::Rows(refused));
        }
        for ((column, &index), cells) in columns.iter().zip(&self.given).zip(cells) {
            match (column, plain_ints(batch, index)) {
                (Some(stored), _) => push(stored, batch.rows, cells),
                (None, Some(ints)) => cells.extend_ints(ints),
                (None, None) => self.rowids.iter().for_each(|rowid| cells.push(*rowid)),
            }
        }
        Ok(())
    }
}

/// Returns the values of a column that the batch has as integers without NULLs, or `None` for any other column.
fn plain_ints<'a>(batch: &Batch<'a>, column: usize) -> Option<&'a [i64]> {
    match (batch.columns[column].values, batch.columns[column].validity) {
        (Values::Int(ints), None) => Some(&ints[..batch.rows]),
        _ => None,
    }
}

/// Sets `rowids` to the rowids in the column that is another name for the rowid: an integer, or NULL for the next rowid. Values that are no
/// rowids go to `refused`. If the column has only integers, `rowids` stays empty.
fn rowids(
    batch: &Batch<'_>,
    alias: rowid::Alias<'_>,
    rowids: &mut Vec<Value<'static>>,
    refused: &mut Vec<RefusedRow>,
) {
    rowids.clear();
    if plain_ints(batch, alias.index).is_some() {
        return;
    }
    for row in 0..batch.rows {
        let value = batch.columns[alias.index].get(row);
        rowids.push(match rowid::wanted(value, alias) {
            Ok(Rowid::Given(rowid)) => Value::Int(rowid),
            Ok(Rowid::Next) => Value::Null,
            other => {
                refused.push(rowid::refusal(other, value, row, alias));
                Value::Null
            }
        });
    }
}

/// Appends the stored form of a column.
fn push(stored: &Stored<'_>, rows: usize, cells: &mut Cells) {
    match stored {
        Stored::Null => cells.extend_nulls(rows),
        Stored::Numbers { serials: Serials::Same(serial), bits } => match class(u64::from(*serial)) {
            Class::Null => cells.extend_nulls(rows),
            Class::Real => cells.extend_reals(&bits[..rows]),
            _ => cells.extend_ints(&bits[..rows]),
        },
        Stored::Numbers { serials: Serials::Each { serials, .. }, bits } => {
            for (serial, bits) in serials.iter().zip(*bits) {
                cells.push(match class(u64::from(*serial)) {
                    Class::Null => Value::Null,
                    Class::Real => Value::Real(f64::from_bits(bits.cast_unsigned())),
                    _ => Value::Int(*bits),
                });
            }
        }
        Stored::Bytes { bytes, .. } => (0..rows).for_each(|row| {
            cells.push(match class(stored.serial(row)) {
                Class::Text => Value::Text(bytes.get(row)),
                Class::Blob => Value::Blob(bytes.get(row)),
                _ => Value::Null,
            });
        }),
        Stored::Mixed { .. } => (0..rows).for_each(|row| push_value(stored, row, cells)),
    }
}

/// Appends the first `rows` values of a column as queries see them: a column of floats has floats, even if its records have integers.
pub(super) fn push_as_read(stored: &Stored<'_>, rows: usize, affinity: Affinity, cells: &mut Cells) {
    match (stored, affinity) {
        (Stored::Numbers { bits, .. }, Affinity::Real) => (0..rows).for_each(|row| {
            cells.push(match class(stored.serial(row)) {
                Class::Null => Value::Null,
                Class::Real => Value::Real(f64::from_bits(bits[row].cast_unsigned())),
                _ => Value::Real(bits[row] as f64),
            });
        }),
        (Stored::Mixed { .. }, Affinity::Real) => {
            (0..rows).for_each(|row| match value_of(stored, row, &mut [0; 8]) {
                Value::Int(int) => cells.push(Value::Real(int as f64)),
                value => cells.push(value),
            });
        }
        (Stored::Numbers { serials: Serials::Each { serials, width }, bits }, _) => {
            let some = Serials::Each { serials: &serials[..rows], width: *width };
            push(&Stored::Numbers { serials: some, bits }, rows, cells);
        }
        _ => push(stored, rows, cells),
    }
}

fn push_value(stored: &Stored<'_>, row: usize, cells: &mut Cells) {
    cells.push(value_of(stored, row, &mut [0; 8]));
}

/// Returns the value of a row. The bytes of a number are put into `number`.
pub(super) fn value_of<'b>(stored: &'b Stored<'_>, row: usize, number: &'b mut [u8; 8]) -> Value<'b> {
    let serial = stored.serial(row);
    let content = stored.content(row, number);
    match class(serial) {
        Class::Null => Value::Null,
        Class::Text => Value::Text(content),
        Class::Blob => Value::Blob(content),
        Class::Real => Value::Real(f64::from_bits(int(content).cast_unsigned())),
        Class::Int if serial >= 8 => Value::Int(serial.cast_signed() - 8),
        Class::Int => Value::Int(int(content)),
    }
}

fn class(serial: u64) -> Class {
    SerialType(serial).class().unwrap_or(Class::Null)
}

/// Returns a big-endian integer of up to eight bytes.
fn int(bytes: &[u8]) -> i64 {
    let sign = if bytes.first().is_some_and(|first| first & 0x80 != 0) { -1 } else { 0 };
    bytes.iter().fold(sign, |int, byte| int << 8 | i64::from(*byte))
}

impl ColumnRules {
    pub(super) fn of(table: &Table) -> Vec<ColumnRules> {
        let columns = table.columns.iter().map(|column| ColumnRules {
            name: column.name.clone(),
            affinity: column.affinity,
            not_null: column.not_null,
            strict: if table.strict { StrictType::of_declared_type(&column.declared_type) } else { None },
            generated: column.generated,
        });
        columns.collect()
    }
}
