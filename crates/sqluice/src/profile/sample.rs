//! A sample of whole rows: the rows whose positions in the table have the smallest hashes.
//!
//! Invariant: the kept rows depend only on the table, not on threads. They are all rows whose hash is below 2^64 / 2^k, where k is the
//! smallest number with which the kept rows are within [`ROWS_MAX`] and [`VALUES_MAX`].

use sqluice_core::batch::{Batch, Value};
use sqluice_core::splitmix::{STEP, mix};

use super::sketch::{hash_bytes, hash_int, hash_real};

/// The maximum number of kept values of all columns, except that up to 256 rows are always kept.
const VALUES_MAX: usize = 3 << 17;

/// The maximum number of kept rows.
const ROWS_MAX: usize = 1 << 15;

/// The maximum number of kept bytes of a text or a blob.
const BYTES_MAX: usize = 256;

/// A value of a sampled row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    /// The first bytes of a text, its number of characters, and its hash.
    Text(Box<[u8]>, u32, u64),
    /// The first bytes of a blob, its number of bytes, and its hash.
    Blob(Box<[u8]>, u32, u64),
}

impl Cell {
    fn of(value: Value<'_>) -> Cell {
        let start = |bytes: &[u8]| bytes[..bytes.len().min(BYTES_MAX)].into();
        match value {
            Value::Null => Cell::Null,
            Value::Int(int) => Cell::Int(int),
            Value::Real(real) => Cell::Real(real),
            Value::Text(text) => {
                let characters = text.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
                Cell::Text(start(text), characters as u32, hash_bytes(text, 0))
            }
            Value::Blob(blob) => Cell::Blob(start(blob), blob.len() as u32, hash_bytes(blob, 1)),
        }
    }

    /// Returns the cell of a text inside another text.
    pub(super) fn of_text(text: &str) -> Cell {
        Cell::of(Value::Text(text.as_bytes()))
    }

    /// Returns the hash by which [`Counts`](super::sketch::Counts) count the value, or `None` for NULL.
    pub(super) fn hash(&self) -> Option<u64> {
        match self {
            Cell::Null => None,
            Cell::Int(int) => Some(hash_int(*int)),
            Cell::Real(real) => Some(hash_real(*real)),
            Cell::Text(_, _, hash) | Cell::Blob(_, _, hash) => Some(*hash),
        }
    }

    /// Returns the text, if the value is a text that was kept whole.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(bytes, characters, _) => {
                let text = std::str::from_utf8(bytes).ok()?;
                (text.chars().count() == *characters as usize).then_some(text)
            }
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Cell::Int(int) => Some(*int as f64),
            Cell::Real(real) => Some(*real),
            _ => None,
        }
    }
}

/// A sampled row.
#[derive(Clone, Debug)]
pub(super) struct SampledRow {
    /// The number of the row's part, and the number of the row within the part.
    place: (u32, u32),
    hash: u64,
    pub(super) cells: Box<[Cell]>,
}

/// A sample of whole rows.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) rows: Vec<SampledRow>,
    rows_max: usize,
    last: u64,
}

impl Sample {
    pub(super) fn new(columns: usize) -> Sample {
        let rows_max = (VALUES_MAX / columns.max(1)).clamp(256, ROWS_MAX);
        Sample { rows: Vec::new(), rows_max, last: u64::MAX }
    }

    /// Adds rows of a batch. `first` is the number of the batch's first row within the part.
    pub(super) fn add(&mut self, batch: &Batch<'_>, part: u32, first: u32) {
        for row in 0..batch.rows {
            let place = (part, first + row as u32);
            let hash = mix((u64::from(place.0) << 32 | u64::from(place.1)).wrapping_mul(STEP));
            if hash <= self.last {
                let cells = batch.columns.iter().map(|column| Cell::of(column.get(row))).collect();
                self.push(SampledRow { place, hash, cells });
            }
        }
    }

    fn push(&mut self, row: SampledRow) {
        self.rows.push(row);
        while self.rows.len() > self.rows_max {
            self.last /= 2;
            let last = self.last;
            self.rows.retain(|row| row.hash <= last);
        }
    }

    pub(super) fn merge(&mut self, other: Sample) {
        self.last = self.last.min(other.last);
        let last = self.last;
        self.rows.retain(|row| row.hash <= last);
        other.rows.into_iter().filter(|row| row.hash <= last).for_each(|row| self.push(row));
    }

    /// Sorts the rows in the order of the table.
    pub(super) fn sort(&mut self) {
        let last = self.last;
        self.rows.retain(|row| row.hash <= last);
        self.rows.sort_unstable_by_key(|row| row.place);
    }

    /// Returns the values of a column.
    pub(super) fn column(&self, column: usize) -> impl Iterator<Item = &Cell> + Clone {
        self.rows.iter().map(move |row| &row.cells[column])
    }
}
