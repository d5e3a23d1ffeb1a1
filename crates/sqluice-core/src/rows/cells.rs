//! A column of values of any class. It owns its bytes, and values are appended.
//!
//! ```text
//!  values    7      'Oslo'   NULL   2.5
//!
//!  kinds     1      3        0      2
//!  numbers   7      0        0      bits of 2.5      for a string: its start in data
//!  lens      0      4                                has no elements after the last string
//!  data      Oslo
//! ```

use crate::batch::Value;

const NULL: u8 = 0;
const INT: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 3;
const BLOB: u8 = 4;

/// A column of values of any class, which grows at its end.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    kinds: Vec<u8>,
    numbers: Vec<i64>,
    lens: Vec<u32>,
    data: Vec<u8>,
}

impl Cells {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Returns `true` if the column has no values.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Returns the memory of the values, in bytes.
    pub fn bytes(&self) -> usize {
        self.kinds.len() * (size_of::<u8>() + size_of::<i64>()) + size_of_val(&*self.lens) + self.data.len()
    }

    /// Removes the values, and keeps the memory.
    pub fn clear(&mut self) {
        self.kinds.clear();
        self.numbers.clear();
        self.lens.clear();
        self.data.clear();
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Null => self.push_number(NULL, 0),
            Value::Int(int) => self.push_number(INT, int),
            Value::Real(real) => self.push_number(REAL, real.to_bits().cast_signed()),
            Value::Text(text) => self.push_bytes(TEXT, text),
            Value::Blob(blob) => self.push_bytes(BLOB, blob),
        }
    }

    #[inline]
    fn push_number(&mut self, kind: u8, bits: i64) {
        self.kinds.push(kind);
        self.numbers.push(bits);
    }

    #[inline]
    fn push_bytes(&mut self, kind: u8, bytes: &[u8]) {
        let start = self.data.len();
        self.data.extend_from_slice(bytes);
        self.push_data(kind, start);
    }

    /// Appends a text without a copy: `write` appends the text to the vector it is given. If `write` fails, nothing is appended.
    ///
    /// # Errors
    /// The error of `write`.
    pub fn push_text_by<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let start = self.data.len();
        let written = write(&mut self.data);
        match written {
            Ok(()) => self.push_data(TEXT, start),
            Err(_) => self.data.truncate(start),
        }
        written
    }

    /// Appends the string that `data` has from `start` on.
    #[inline]
    fn push_data(&mut self, kind: u8, start: usize) {
        self.lens.resize(self.kinds.len(), 0);
        // A length of 4 GiB or more is stored as 4 GiB - 1: SQLite refuses strings of either length.
        self.lens.push(u32::try_from(self.data.len().saturating_sub(start)).unwrap_or(u32::MAX));
        self.push_number(kind, start as i64);
    }

    /// Appends integers.
    pub fn extend_ints(&mut self, ints: &[i64]) {
        self.extend_same(INT, ints);
    }

    /// Appends floats, given as their bits.
    pub fn extend_reals(&mut self, bits: &[i64]) {
        self.extend_same(REAL, bits);
    }

    /// Appends `rows` NULLs.
    pub fn extend_nulls(&mut self, rows: usize) {
        self.kinds.resize(self.kinds.len() + rows, NULL);
        self.numbers.resize(self.numbers.len() + rows, 0);
    }

    fn extend_same(&mut self, kind: u8, bits: &[i64]) {
        self.kinds.resize(self.kinds.len() + bits.len(), kind);
        self.numbers.extend_from_slice(bits);
    }

    /// Returns the values, if all are integers.
    pub fn ints(&self) -> Option<&[i64]> {
        self.kinds.iter().all(|kind| *kind == INT).then_some(&*self.numbers)
    }

    /// Returns the value of `row`, if it is a number.
    #[inline]
    pub fn number(&self, row: usize) -> Option<Value<'static>> {
        let number = *self.numbers.get(row)?;
        match *self.kinds.get(row)? {
            INT => Some(Value::Int(number)),
            REAL => Some(Value::Real(f64::from_bits(number.cast_unsigned()))),
            _ => None,
        }
    }

    /// Returns the value of `row`; `None` if the column has no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<Value<'_>> {
        let kind = *self.kinds.get(row)?;
        let number = *self.numbers.get(row)?;
        Some(match kind {
            INT => Value::Int(number),
            REAL => Value::Real(f64::from_bits(number.cast_unsigned())),
            TEXT => Value::Text(self.bytes_at(row, number)?),
            BLOB => Value::Blob(self.bytes_at(row, number)?),
            _ => Value::Null,
        })
    }

    #[inline]
    fn bytes_at(&self, row: usize, start: i64) -> Option<&[u8]> {
        let start = start as usize;
        self.data.get(start..start + *self.lens.get(row)? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_return_the_values_that_were_appended() {
        let values = [
            Value::Int(i64::MIN),
            Value::Null,
            Value::Text(b""),
            Value::Real(-0.5),
            Value::Blob(b"\0\xff"),
            Value::Text("größe".as_bytes()),
            Value::Int(1),
            Value::Int(2),
            Value::Null,
            Value::Null,
            Value::Blob(b""),
        ];
        let mut cells = Cells::default();
        for _ in 0..2 {
            cells.clear();
            values[..6].iter().for_each(|value| cells.push(*value));
            cells.extend_ints(&[1, 2]);
            cells.extend_nulls(2);
            cells.push(values[10]);
            let back: Vec<_> = (0..cells.len()).map(|row| cells.get(row).unwrap()).collect();
            assert_eq!(back, values);
            for (row, value) in values.iter().enumerate() {
                let number = Some(*value).filter(|value| matches!(value, Value::Int(_) | Value::Real(_)));
                assert_eq!(cells.number(row), number);
            }
            assert_eq!(cells.get(values.len()), None);
            assert_eq!(cells.number(values.len()), None);
        }
    }

    #[test]
    fn ints_returns_a_slice_only_if_all_values_are_integers() {
        let mut cells = Cells::default();
        cells.extend_ints(&[7, -2]);
        assert_eq!(cells.ints(), Some([7, -2].as_slice()));
        cells.push(Value::Real(1.0));
        assert_eq!(cells.ints(), None);
    }

    #[test]
    fn a_failed_write_of_a_text_appends_no_value_and_no_bytes() {
        let mut cells = Cells::default();
        let write = |text: &'static [u8], result| {
            move |data: &mut Vec<u8>| {
                data.extend_from_slice(text);
                result
            }
        };
        assert_eq!(cells.push_text_by(write(b"Os", Err("full"))), Err("full"));
        assert_eq!(cells.push_text_by(write(b"Oslo", Ok::<_, &str>(()))), Ok(()));
        cells.push(Value::Text(b"Rome"));
        let back: Vec<_> = (0..cells.len()).map(|row| cells.get(row).unwrap()).collect();
        assert_eq!(back, [Value::Text(b"Oslo"), Value::Text(b"Rome")]);
    }
}
