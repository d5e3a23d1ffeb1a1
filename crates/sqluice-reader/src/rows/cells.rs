//! Values of a column as they are read, and the column of a batch that they become.
//!
//! ```text
//!  kinds   1 2 2 4     NULL, integer, real, text, blob
//!  bits    0 7 9 ..    the integer, the bits of the real, or where the bytes lie in data
//!  data    ab...       text and blobs, one after another
//! ```
//!
//! A column whose values are of one kind becomes a slice of them; a mixed one a slice of values.

use std::ops::Range;

use sqluice_core::append::append_start;
use sqluice_core::batch::{Batch, Bitmap, Bytes, Column, ROWS_MAX, Spans, Value, Values};

/// The kinds of values, as bits.
pub(super) const NULL: u8 = 1;
pub(super) const INT: u8 = 2;
pub(super) const REAL: u8 = 4;
pub(super) const TEXT: u8 = 8;
pub(super) const BLOB: u8 = 16;

/// Values of a column.
#[derive(Debug, Default)]
pub(super) struct Cells {
    kinds: Vec<u8>,
    bits: Vec<i64>,
    data: Vec<u8>,
    /// All kinds.
    any: u8,
    validity: Vec<u64>,
    reals: Vec<f64>,
    offsets: Vec<u32>,
}

impl Cells {
    #[inline]
    fn push(&mut self, kind: u8, bits: i64) {
        self.kinds.push(kind);
        self.bits.push(bits);
        self.any |= kind;
    }

    #[inline]
    pub(super) fn null(&mut self) {
        self.push(NULL, 0);
    }

    #[inline]
    pub(super) fn int(&mut self, int: i64) {
        self.push(INT, int);
    }

    /// SQLite reads a NaN as NULL.
    #[inline]
    pub(super) fn real(&mut self, real: f64) {
        let kind = if real.is_nan() { NULL } else { REAL };
        self.push(kind, real.to_bits() as i64);
    }

    #[inline]
    pub(super) fn text(&mut self, text: &[u8]) {
        self.text_at_start(text, text.len());
    }

    /// Text that is the first bytes of `from`.
    #[inline]
    pub(super) fn text_at_start(&mut self, from: &[u8], bytes: usize) {
        append_start(&mut self.data, from, bytes);
        self.push(TEXT, self.data.len() as i64);
    }

    #[inline]
    pub(super) fn blob(&mut self, blob: &[u8]) {
        self.data.extend_from_slice(blob);
        self.push(BLOB, self.data.len() as i64);
    }

    /// UTF-16 of a byte order as text; `false`: it is not well-formed.
    pub(super) fn utf16(&mut self, text: &[u8], unit: fn([u8; 2]) -> u16) -> bool {
        let (units, rest) = text.as_chunks::<2>();
        let mut utf8 = [0; 4];
        for character in char::decode_utf16(units.iter().map(|bytes| unit(*bytes))) {
            let Ok(character) = character else { return false };
            self.data.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
        }
        self.push(TEXT, self.data.len() as i64);
        rest.is_empty()
    }

    pub(super) fn value(&mut self, value: &Value<'_>) {
        match *value {
            Value::Null => self.null(),
            Value::Int(int) => self.int(int),
            Value::Real(real) => self.real(real),
            Value::Text(text) => self.text(text),
            Value::Blob(blob) => self.blob(blob),
        }
    }

    pub(super) fn clear(&mut self) {
        let Cells { kinds, bits, data, any, .. } = self;
        kinds.clear();
        bits.clear();
        data.clear();
        *any = 0;
    }

    /// Where the bytes of a value lie.
    fn bytes_of(&self, row: usize) -> Range<usize> {
        let is_bytes = |row: &usize| self.kinds[*row] & (TEXT | BLOB) != 0;
        let start = (0..row).rev().find(is_bytes).map_or(0, |before| self.bits[before] as usize);
        start..self.bits[row] as usize
    }

    /// The first row whose text is not UTF-8.
    fn bad_text(&self) -> Option<usize> {
        if self.any & TEXT == 0 || self.data.is_ascii() {
            return None;
        }
        let is_bad = |row: &usize| {
            self.kinds[*row] == TEXT && std::str::from_utf8(&self.data[self.bytes_of(*row)]).is_err()
        };
        // All of the text at once, if no character crosses from one value to the next.
        if self.any & BLOB == 0
            && let Ok(text) = std::str::from_utf8(&self.data)
            && (0..self.kinds.len())
                .all(|row| self.kinds[row] != TEXT || text.is_char_boundary(self.bits[row] as usize))
        {
            return None;
        }
        (0..self.kinds.len()).find(is_bad)
    }

    /// Fills what a column of a batch borrows. Returns the first row whose text is not UTF-8.
    fn prepare(&mut self) -> Option<usize> {
        if let Some(row) = self.bad_text() {
            return Some(row);
        }
        let Cells { kinds, bits, any, validity, reals, offsets, .. } = self;
        validity.clear();
        if *any & NULL != 0 {
            let word = |kinds: &[u8]| {
                kinds.iter().enumerate().fold(0, |word, (bit, kind)| word | u64::from(*kind != NULL) << bit)
            };
            validity.extend(kinds.chunks(64).map(word));
        }
        match *any & !NULL {
            REAL => {
                reals.clear();
                reals.extend(bits.iter().map(|bits| f64::from_bits(*bits as u64)));
            }
            0 | INT => {}
            // Where the bytes end; of a number: where those before it do.
            _ => {
                offsets.clear();
                offsets.push(0);
                let mut end = 0;
                offsets.extend(kinds.iter().zip(&*bits).map(|(kind, bits)| {
                    if kind & (TEXT | BLOB) != 0 {
                        end = *bits as u32;
                    }
                    end
                }));
            }
        }
        None
    }

    fn values(&self) -> Vec<Value<'_>> {
        let value = |row: usize| {
            let bytes = || &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize];
            match self.kinds[row] {
                INT => Value::Int(self.bits[row]),
                REAL => Value::Real(f64::from_bits(self.bits[row] as u64)),
                TEXT => Value::Text(bytes()),
                BLOB => Value::Blob(bytes()),
                _ => Value::Null,
            }
        };
        (0..self.kinds.len()).map(value).collect()
    }

    fn is_mixed(&self) -> bool {
        (self.any & !NULL).count_ones() > 1
    }

    fn column<'c>(&'c self, mixed: &'c [Value<'c>]) -> Column<'c> {
        let bytes = || Bytes { data: &self.data, spans: Spans::Offsets(&self.offsets) };
        let values = match self.any & !NULL {
            0 => return Column::NULL,
            INT => Values::Int(&self.bits),
            REAL => Values::Real(&self.reals),
            TEXT => Values::Text(bytes()),
            BLOB => Values::Blob(bytes()),
            _ => return Column::new(Values::Any(mixed)),
        };
        Column { values, validity: (self.any & NULL != 0).then_some(Bitmap(&self.validity)) }
    }
}

/// Rows of a batch while they are read.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) columns: Vec<Cells>,
    pub(super) rows: usize,
    /// Bytes of their records, or of their text and blobs.
    pub(super) bytes: usize,
}

/// A block with that many bytes is a batch, whatever its rows: its text is addressed by 32 bits.
const BLOCK_BYTES_MAX: usize = 16 << 20;

impl Block {
    pub(super) fn new(columns: usize) -> Block {
        Block { columns: std::iter::repeat_with(Cells::default).take(columns).collect(), rows: 0, bytes: 0 }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX || self.bytes >= BLOCK_BYTES_MAX
    }

    pub(super) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Cells::clear);
        (self.rows, self.bytes) = (0, 0);
    }

    /// Calls `each` with the rows as a batch.
    ///
    /// # Errors
    /// Row and column of text that is not UTF-8.
    pub(super) fn with_batch<T>(&mut self, each: impl FnOnce(&Batch<'_>) -> T) -> Result<T, (usize, usize)> {
        let bad = self
            .columns
            .iter_mut()
            .enumerate()
            .filter_map(|(column, cells)| Some((cells.prepare()?, column)));
        if let Some(bad) = bad.min() {
            return Err(bad);
        }
        let mixed: Vec<Vec<Value<'_>>> = self
            .columns
            .iter()
            .map(|cells| if cells.is_mixed() { cells.values() } else { Vec::new() })
            .collect();
        let columns = self.columns.iter().zip(&mixed).map(|(cells, mixed)| cells.column(mixed)).collect();
        Ok(each(&Batch { rows: self.rows, columns }))
    }
}
