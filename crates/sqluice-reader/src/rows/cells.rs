//! The values of a column while rows are read, and their conversion to a column of a batch.
//!
//! ```text
//!  values   NULL   7   'ab'   2.5
//!
//!  kinds    1      2   8      4              1 NULL, 2 integer, 4 real, 8 text, 16 blob
//!  bits     0      7   2      bits of 2.5    the integer, the bits of the real, or the end of the bytes in data
//!  data     ab                               text and blobs, one after another
//! ```
//!
//! A column whose values have a single kind becomes a slice of this kind. A mixed column becomes a slice of values.

use std::ops::Range;

use sqluice_core::append::append_start;
use sqluice_core::batch::{Batch, Bitmap, Bytes, Column, ROWS_MAX, Spans, Value, Values};
use sqluice_core::error::Error;
use sqluice_core::source::{BadRow, BadText, Refused, RefusedRow, Sink};

// The kinds of values, as bits of a mask.
pub(super) const NULL: u8 = 1;
pub(super) const INT: u8 = 2;
pub(super) const REAL: u8 = 4;
pub(super) const TEXT: u8 = 8;
pub(super) const BLOB: u8 = 16;

/// A byte that never occurs in UTF-8. It replaces invalid UTF-16, so that the text is then invalid UTF-8.
const NO_UTF_8: u8 = 0xff;

/// The values of a column.
#[derive(Debug, Default)]
pub(super) struct Cells {
    kinds: Vec<u8>,
    bits: Vec<i64>,
    data: Vec<u8>,
    /// The kinds of all values together: a bit for each kind that occurs.
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

    /// Appends a float, or NULL for a NaN as in SQLite.
    #[inline]
    pub(super) fn real(&mut self, real: f64) {
        let kind = if real.is_nan() { NULL } else { REAL };
        self.push(kind, real.to_bits() as i64);
    }

    #[inline]
    pub(super) fn text(&mut self, text: &[u8]) {
        self.text_at_start(text, text.len());
    }

    /// Appends the text in the first `bytes` bytes of `from`.
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

    /// Appends UTF-16 text in the byte order of `unit`, converted to UTF-8. Invalid units become a byte that never occurs in UTF-8.
    pub(super) fn utf16(&mut self, text: &[u8], unit: fn([u8; 2]) -> u16) {
        let (units, rest) = text.as_chunks::<2>();
        let mut utf8 = [0; 4];
        for character in char::decode_utf16(units.iter().map(|bytes| unit(*bytes))) {
            match character {
                Ok(character) => self.data.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes()),
                Err(_) => self.data.push(NO_UTF_8),
            }
        }
        self.data.extend(rest.first().map(|_| NO_UTF_8));
        self.push(TEXT, self.data.len() as i64);
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

    /// Returns the range in `data` that has the bytes of the text or blob in this row.
    fn bytes_of(&self, row: usize) -> Range<usize> {
        let is_bytes = |row: &usize| self.kinds[*row] & (TEXT | BLOB) != 0;
        let start = (0..row).rev().find(is_bytes).map_or(0, |before| self.bits[before] as usize);
        start..self.bits[row] as usize
    }

    /// Returns the rows whose text is not valid UTF-8.
    fn bad_texts(&self) -> Vec<usize> {
        if self.any & TEXT == 0 || self.data.is_ascii() {
            return Vec::new();
        }
        let is_bad = |row: &usize| {
            self.kinds[*row] == TEXT && std::str::from_utf8(&self.data[self.bytes_of(*row)]).is_err()
        };
        // The fast path validates all text at once, and checks that no character crosses from one value to the next.
        if self.any & BLOB == 0
            && let Ok(text) = std::str::from_utf8(&self.data)
            && (0..self.kinds.len())
                .all(|row| self.kinds[row] != TEXT || text.is_char_boundary(self.bits[row] as usize))
        {
            return Vec::new();
        }
        (0..self.kinds.len()).filter(is_bad).collect()
    }

    fn get(&self, row: usize) -> Value<'_> {
        match self.kinds[row] {
            INT => Value::Int(self.bits[row]),
            REAL => Value::Real(f64::from_bits(self.bits[row] as u64)),
            TEXT => Value::Text(&self.data[self.bytes_of(row)]),
            BLOB => Value::Blob(&self.data[self.bytes_of(row)]),
            _ => Value::Null,
        }
    }

    /// Returns a copy of the values of some rows.
    fn rows(&self, rows: Range<usize>) -> Cells {
        let mut some = Cells::default();
        rows.for_each(|row| some.value(&self.get(row)));
        some
    }

    /// Replaces each invalid text by NULL or by valid text, as `bad` says for its row.
    fn repair(&mut self, bad: &[(usize, BadText)]) {
        let mut repaired = Cells::default();
        let mut bad = bad.iter().peekable();
        for row in 0..self.kinds.len() {
            let value = self.get(row);
            match (bad.next_if(|(of, _)| *of == row), &value) {
                (Some((_, BadText::Null)), _) => repaired.null(),
                (Some((_, BadText::Replace)), Value::Text(text)) => {
                    repaired.text(String::from_utf8_lossy(text).as_bytes());
                }
                _ => repaired.value(&value),
            }
        }
        *self = repaired;
    }

    /// Fills the buffers from which a column of a batch is borrowed.
    fn prepare(&mut self) {
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
            // Each offset is the end of the row's bytes. A row without bytes repeats the previous end.
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

/// The rows of a batch while they are read.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) columns: Vec<Cells>,
    pub(super) rows: usize,
    /// The number of bytes of the records, or of the values if SQLite reads the rows.
    pub(super) bytes: usize,
    /// The rowids of the rows; empty if they are unknown.
    pub(super) rowids: Vec<i64>,
}

/// The reason why the sink gets no more rows.
pub(super) enum Stop {
    /// An error in a row of the block, with the column if it is known.
    Row(usize, Option<usize>, Error),
    /// An error of the sink that concerns no row.
    Error(Error),
}

/// A function that adds to an error the place at which it occurred. It gets the block, the index of the row, and the index of the column.
pub(super) type Locate<'l> = dyn FnMut(&Block, usize, usize, Error) -> Error + 'l;

/// The number of bytes at which a block is full, even if it has few rows. A block can't be much larger, because offsets of its text have 32
/// bits.
const BLOCK_BYTES_MAX: usize = 16 << 20;

impl Block {
    pub(super) fn new(columns: usize) -> Block {
        Block {
            columns: std::iter::repeat_with(Cells::default).take(columns).collect(),
            rows: 0,
            bytes: 0,
            rowids: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX || self.bytes >= BLOCK_BYTES_MAX
    }

    pub(super) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Cells::clear);
        (self.rows, self.bytes) = (0, 0);
        self.rowids.clear();
    }

    /// Gives all rows to the sink, as one batch. If the sink refuses rows, or their texts, the refused rows are bad rows, and each run of
    /// rows between refused rows is a batch. `keeps_bytes` is `true` if texts are the bytes in the file, and not converted from UTF-16.
    pub(super) fn give(
        &mut self,
        sink: &mut dyn Sink,
        keeps_bytes: bool,
        locate: &mut Locate<'_>,
    ) -> Result<(), Stop> {
        // The refused rows that have not been reported yet, in reverse order.
        let mut refused = self.refuse_texts(sink, keeps_bytes);
        let mut from = 0;
        while from < self.rows {
            let to = refused.last().map_or(self.rows, |next| next.row);
            if from < to {
                let given = match to - from == self.rows {
                    true => self.with_batch(|batch| sink.rows(batch)),
                    false => self.some(from..to).with_batch(|batch| sink.rows(batch)),
                };
                match given {
                    Ok(()) => from = to,
                    Err(Refused::Rows(more)) => {
                        let more = more.into_iter().rev();
                        refused.extend(more.map(|more| RefusedRow { row: from + more.row, ..more }));
                    }
                    Err(Refused::Stop { at: Some((row, column)), error }) => {
                        return Err(Stop::Row(from + row, Some(column), error));
                    }
                    Err(Refused::Stop { at: None, error }) => return Err(Stop::Error(error)),
                }
            } else if let Some(RefusedRow { row, column, error }) = refused.pop() {
                let error = locate(self, row, column, error);
                sink.bad_row(BadRow { error, raw: self.raw(row) }).map_err(Stop::Error)?;
                from = row + 1;
            }
        }
        Ok(())
    }

    /// Asks the sink about each text that is not valid UTF-8. Returns the refused rows, in reverse order.
    fn refuse_texts(&mut self, sink: &mut dyn Sink, keeps_bytes: bool) -> Vec<RefusedRow> {
        let mut refused = Vec::new();
        for (column, cells) in self.columns.iter_mut().enumerate() {
            let bad = cells.bad_texts();
            let decided = bad.into_iter().map(|row| match sink.bad_text(column) {
                BadText::Keep if !keeps_bytes => (row, BadText::Refuse),
                decided => (row, decided),
            });
            let decided: Vec<(usize, BadText)> = decided.collect();
            let is_refused = |(_, decided): &&(usize, BadText)| *decided == BadText::Refuse;
            let of_column = decided.iter().filter(is_refused);
            refused.extend(of_column.map(|(row, _)| RefusedRow { row: *row, column, error: bad_text() }));
            if decided.iter().any(|(_, decided)| matches!(decided, BadText::Null | BadText::Replace)) {
                cells.repair(&decided);
            }
        }
        // If several columns of a row are refused, the first column is reported.
        refused.sort_by_key(|refused| refused.row);
        refused.dedup_by_key(|refused| refused.row);
        refused.reverse();
        refused
    }

    fn some(&self, rows: Range<usize>) -> Block {
        let columns = self.columns.iter().map(|cells| cells.rows(rows.clone())).collect();
        Block { columns, rows: rows.len(), bytes: 0, rowids: Vec::new() }
    }

    /// Returns a row as text for the reject file: CSV fields, with the bytes of texts as they were read.
    fn raw(&self, row: usize) -> Vec<u8> {
        let mut raw = Vec::new();
        for (index, cells) in self.columns.iter().enumerate() {
            if index > 0 {
                raw.push(b',');
            }
            match cells.get(row) {
                Value::Null => {}
                Value::Int(int) => raw.extend_from_slice(int.to_string().as_bytes()),
                Value::Real(real) => raw.extend_from_slice(real.to_string().as_bytes()),
                Value::Text(text) => {
                    raw.push(b'"');
                    for byte in text {
                        raw.extend_from_slice(if *byte == b'"' {
                            b"\"\""
                        } else {
                            std::slice::from_ref(byte)
                        });
                    }
                    raw.push(b'"');
                }
                Value::Blob(blob) => {
                    raw.extend_from_slice(b"X'");
                    blob.iter().for_each(|byte| raw.extend_from_slice(format!("{byte:02X}").as_bytes()));
                    raw.push(b'\'');
                }
            }
        }
        raw
    }

    /// Makes a batch of the rows, and calls `each` with the batch.
    fn with_batch<T>(&mut self, each: impl FnOnce(&Batch<'_>) -> T) -> T {
        self.columns.iter_mut().for_each(Cells::prepare);
        let mixed: Vec<Vec<Value<'_>>> = self
            .columns
            .iter()
            .map(|cells| if cells.is_mixed() { cells.values() } else { Vec::new() })
            .collect();
        let columns = self.columns.iter().zip(&mixed).map(|(cells, mixed)| cells.column(mixed)).collect();
        each(&Batch { rows: self.rows, columns })
    }
}

/// Returns the error for text that is not valid Unicode.
fn bad_text() -> Error {
    Error::input("text that is not valid Unicode").hint(
        "SQLite keeps any bytes as text: UPDATE the row, or read the column as a blob by a query with CAST(... AS BLOB)",
    )
}
