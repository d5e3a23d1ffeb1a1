//! Decodes a part of the input to batches, on any core.
//!
//! Invariant: every record goes to the sink once, in order: in a batch that the sink takes, or as a bad row. If only the keys are read, the
//! sink gets the bad rows alone.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::batch::{Batch, Bitmap, Bytes, Column, Span, Spans, Value, Values};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::source::columns::Filled;
use sqluice_core::source::{BadRow, Part, Refused, Sink};

use super::cut::Cut;
use super::fault::{Fault, What};
use super::fields::{Fields, NewKey, NewKeys};
use super::nested::{is_sound_if_lenient, space_end};
use super::record::{ESCAPED, INT, REAL, Scratch, TEXT, bits_of_span, object, place_of, span_of_bits};
use super::text::unescape;
use super::{Layout, PART_BYTES};
use crate::give::{GivenRows, give};
use crate::text::{Pool, Position, valid_utf8};

/// The data that all parts of a file share.
pub(super) struct Shared {
    pub(super) file: PathBuf,
    pub(super) layout: Layout,
    pub(super) record_bytes_max: usize,
    pub(super) fields: Fields,
    /// For each column, its constant, or the slot (the buffer with the values of one field) that fills it.
    pub(super) columns: Vec<Filled>,
    /// The index of the field of each slot. Only fields that fill a column have a slot.
    pub(super) slots: Vec<usize>,
    /// `true` if only the keys are read: no row goes to the sink.
    pub(super) keys_only: bool,
    /// The new keys of each part that has some, with the number of the part's first record.
    pub(super) found: Mutex<Vec<(u64, Vec<NewKey>)>>,
    pub(super) met_new: AtomicBool,
    pub(super) pool: Pool<Scratch>,
}

impl Shared {
    fn too_long(&self, at: usize) -> Fault {
        Fault { what: What::RecordTooLong { bytes_max: self.record_bytes_max }, at }
    }
}

/// A part of a file.
pub(super) struct JsonPart {
    pub(super) shared: Arc<Shared>,
    pub(super) cut: Cut,
    pub(super) input_bytes: u64,
    /// The number of bytes of `cut.data` that are input. Unescaped text follows.
    pub(super) raw_bytes: usize,
}

impl Part for JsonPart {
    fn first_row(&self) -> u64 {
        self.cut.first_record
    }

    fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    fn place(&self) -> Option<Place> {
        Some(self.cut.at.place(&self.shared.file))
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        shared.pool.with(|| Scratch::new(shared.slots.len()), |scratch| self.read(scratch, sink))
    }
}

impl Drop for JsonPart {
    fn drop(&mut self) {
        self.shared.pool.give_back(std::mem::take(&mut self.cut.data), PART_BYTES * 4);
    }
}

impl JsonPart {
    fn read(&mut self, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<()> {
        let mut reader = Reader { from: 0, valid: valid_utf8(self.input()), new: NewKeys::default() };
        let read = self.batches(&mut reader, scratch, sink);
        if self.shared.keys_only && !reader.new.keys.is_empty() {
            self.note_keys(reader.new);
        }
        read
    }

    fn batches(&mut self, reader: &mut Reader, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let mut cursor = Cursor { byte: 0, at: self.cut.at };
        let mut numbered = Cursor { byte: 0, at: self.cut.at };
        let mut records = 0;
        while records < self.cut.records {
            scratch.clear();
            let mut rows = 0;
            let mut bad = None;
            while records < self.cut.records && rows < scratch.rows_max {
                records += 1;
                let known = reader.new.keys.len();
                let (record, read) = reader.next(self.input(), &shared, rows, scratch);
                scratch.records[rows] = record;
                let is_cut_off = self.cut.too_long && records == self.cut.records;
                match if is_cut_off { Err(shared.too_long(record.start as usize)) } else { read } {
                    Ok(()) if reader.new.keys.is_empty() || shared.keys_only => rows += 1,
                    Ok(()) => {
                        bad = Some(None);
                        break;
                    }
                    Err(fault) => {
                        reader.new.truncate(known);
                        scratch.clear_row(rows);
                        bad = Some(Some((record, fault)));
                        break;
                    }
                }
            }
            if !shared.keys_only {
                self.unescape(rows, scratch);
                let lines = match sink.wants_lines() {
                    true => self.lines(rows, scratch, &mut numbered),
                    false => Vec::new(),
                };
                let mut found = JsonRecords { part: self, scratch, cursor: &mut cursor, lines };
                give(rows, Vec::new(), &mut found, sink)?;
                self.cut.data.truncate(self.raw_bytes);
            }
            match bad {
                Some(Some((record, fault))) => self.malformed(record, fault, &mut cursor, sink)?,
                // The error follows the rows before it, one of which may be refused.
                Some(None) => return Err(self.new_key(&reader.new, &mut cursor)),
                None => {}
            }
        }
        Ok(())
    }

    /// Returns the line at which each of the rows begins.
    fn lines(&self, rows: usize, scratch: &Scratch, cursor: &mut Cursor) -> Vec<i64> {
        let records = scratch.records[..rows].iter();
        records.map(|record| cursor.advance(self.input(), record.start as usize).line as i64).collect()
    }

    fn input(&self) -> &[u8] {
        &self.cut.data[..self.raw_bytes]
    }

    /// Returns the error for a new key. It ends the load, which can begin again with a column for the key.
    #[cold]
    fn new_key(&self, new: &NewKeys, cursor: &mut Cursor) -> Error {
        self.shared.met_new.store(true, Ordering::Relaxed);
        let (name, at) = &new.keys[0];
        let place = cursor.advance(self.input(), *at).place(&self.shared.file);
        Error::input(format!("the key {name:?} first appears here, after the columns were chosen")).at(place)
    }

    /// Stores the new keys of this part, with their positions.
    fn note_keys(&self, new: NewKeys) {
        let mut cursor = Cursor { byte: 0, at: self.cut.at };
        let keys =
            new.keys.into_iter().map(|(name, at)| NewKey { name, at: cursor.advance(self.input(), at) });
        let keys = (self.cut.first_record, keys.collect());
        self.shared.found.lock().unwrap_or_else(PoisonError::into_inner).push(keys);
    }

    /// Appends the unescaped text of strings with escapes, and points their spans to it.
    fn unescape(&mut self, rows: usize, scratch: &mut Scratch) {
        for slot in 0..self.shared.slots.len() {
            let range = slot * scratch.stride..slot * scratch.stride + rows;
            let tags = &mut scratch.tags[range.clone()];
            if fold(tags) & ESCAPED == 0 {
                continue;
            }
            let mut unescaped = Vec::new();
            for (tag, bits) in
                tags.iter_mut().zip(&mut scratch.bits[range]).filter(|(tag, _)| **tag == ESCAPED)
            {
                let Span { start, len } = span_of_bits(*bits);
                unescaped.clear();
                unescape(&self.cut.data[start as usize..][..len as usize], &mut unescaped);
                let begin = self.cut.data.len();
                self.cut.data.extend_from_slice(&unescaped);
                (*tag, *bits) = (TEXT, bits_of_span(begin, self.cut.data.len()));
            }
        }
    }

    /// Gives the rows `rows` of `scratch` to the sink, as one batch. Returns the refusal of the sink if it does not take all of them.
    fn batch(&self, rows: Range<usize>, scratch: &Scratch, sink: &mut dyn Sink) -> Result<(), Refused> {
        let values: Vec<SlotValues<'_>> = (0..self.shared.slots.len())
            .map(|slot| {
                let range = slot * scratch.stride + rows.start..slot * scratch.stride + rows.end;
                SlotValues::new(&scratch.tags[range.clone()], &scratch.bits[range], &self.cut.data)
            })
            .collect();
        let columns = self.shared.columns.iter().map(|filled| match filled {
            Filled::Constant(repeated) => repeated.column(rows.len()),
            Filled::Field(slot) => values[*slot].column(&self.cut.data),
        });
        sink.rows(&Batch { rows: rows.len(), columns: columns.collect() })
    }

    /// Returns the [`BadRow`] for row `row` of the batch, which can't be stored because of column `column`: `error` with the place of the
    /// value (or of the record, if the record lacks the value), and the bytes of the record.
    #[cold]
    fn refused(
        &self,
        row: usize,
        column: usize,
        error: Error,
        scratch: &Scratch,
        cursor: &mut Cursor,
    ) -> BadRow {
        let record = range(scratch.records[row]);
        let data = &self.input()[..record.end];
        // If the record lacks the column, the error has the place of the record.
        let value = match self.shared.columns.get(column) {
            Some(Filled::Field(slot)) => {
                place_of(data, record.start, &self.shared.fields, self.shared.slots[*slot])
            }
            _ => None,
        };
        let at = cursor.advance(self.input(), record.start);
        let place = at.later(&data[record.start..value.unwrap_or(record.start)]).place(&self.shared.file);
        BadRow { error: error.at(place), raw: data[record].to_vec() }
    }

    /// Gives a malformed record to the sink.
    #[cold]
    fn malformed(&self, record: Span, fault: Fault, cursor: &mut Cursor, sink: &mut dyn Sink) -> Result<()> {
        let record = range(record);
        let data = &self.input()[record.clone()];
        let at = cursor.advance(self.input(), record.start);
        let fault = Fault { at: fault.at - record.start, ..fault };
        let place = at.later(&data[..fault.at.min(data.len())]).place(&self.shared.file);
        let error = fault.error(data, is_sound_if_lenient(data)).at(place);
        if fault.is_fatal() {
            return Err(error);
        }
        sink.bad_row(BadRow { error, raw: data.to_vec() })
    }
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..(span.start + span.len) as usize
}

/// The rows of a batch.
struct JsonRecords<'f> {
    part: &'f JsonPart,
    scratch: &'f Scratch,
    cursor: &'f mut Cursor,
    /// The line at which each row begins, if the sink wants lines.
    lines: Vec<i64>,
}

impl GivenRows for JsonRecords<'_> {
    fn batch(&mut self, rows: Range<usize>, sink: &mut dyn Sink) -> Result<(), Refused> {
        if let Some(lines) = self.lines.get(rows.clone()) {
            sink.lines(lines);
        }
        self.part.batch(rows, self.scratch, sink)
    }

    fn refused(&mut self, row: usize, column: usize, error: Error) -> BadRow {
        self.part.refused(row, column, error, self.scratch, self.cursor)
    }
}

/// A reader of one record after another.
struct Reader {
    /// The start of the next record, or of the white space before it.
    from: usize,
    /// The number of bytes that are valid UTF-8.
    valid: usize,
    new: NewKeys,
}

impl Reader {
    /// Reads the next record into a row. Returns the record's span, without the white space around it.
    #[inline]
    fn next(
        &mut self,
        data: &[u8],
        shared: &Shared,
        row: usize,
        scratch: &mut Scratch,
    ) -> (Span, Result<(), Fault>) {
        let start = space_end(data, self.from);
        let (end, read) = match shared.layout {
            Layout::Lines => {
                let end = memchr::memchr(b'\n', &data[start..]).map_or(data.len(), |at| start + at);
                self.from = (end + 1).min(data.len());
                let read = object(&data[..end], start, &shared.fields, row, scratch, &mut self.new);
                let read = read.and_then(|at| match space_end(&data[..end], at) {
                    at if at < end => Err(Fault::expected(at, "the end of the line")),
                    _ => Ok(()),
                });
                (end, read)
            }
            Layout::Array => self.element(data, start, shared, row, scratch),
            Layout::Objects => {
                let read = object(data, start, &shared.fields, row, scratch, &mut self.new);
                let end = read.unwrap_or_else(|_| super::cut::object_end(data, start));
                self.from = end;
                // A fault beyond the record is reported at the end of the record.
                (end, read.map(drop).map_err(|fault| Fault { at: fault.at.min(end), ..fault }))
            }
        };
        let too_long = end - start > shared.record_bytes_max;
        let end = start + data[start..end].trim_ascii_end().len();
        let read = match read {
            _ if too_long => Err(shared.too_long(start)),
            read if end > self.valid => not_utf8(data, start..end).map_or(read, |fault| match read {
                Err(other) if other.at < fault.at => Err(other),
                _ => Err(fault),
            }),
            read => read,
        };
        (Span { start: start as u32, len: (end - start) as u32 }, read)
    }

    /// Reads an element of an array, and returns its end.
    fn element(
        &mut self,
        data: &[u8],
        start: usize,
        shared: &Shared,
        row: usize,
        scratch: &mut Scratch,
    ) -> (usize, Result<(), Fault>) {
        let read = object(data, start, &shared.fields, row, scratch, &mut self.new).and_then(|at| {
            match space_end(data, at) {
                end if end == data.len() || data[end] == b',' => Ok(end),
                end => Err(Fault::expected(end, "a comma or ]")),
            }
        });
        let end = read.unwrap_or_else(|_| super::cut::element_end(data, start));
        self.from = (end + 1).min(data.len());
        // A fault beyond the element is reported at the end of the element.
        let read = read.map(drop).map_err(|fault| Fault { at: fault.at.min(end), ..fault });
        (end, read)
    }
}

#[cold]
fn not_utf8(data: &[u8], record: Range<usize>) -> Option<Fault> {
    let until = valid_utf8(&data[record.clone()]);
    (until < record.len()).then_some(Fault { at: record.start + until, what: What::InvalidUtf8 })
}

/// Returns all tags of a column, joined by or.
fn fold(tags: &[u8]) -> u8 {
    tags.iter().fold(0, |all, tag| all | tag)
}

/// The values of a slot, in the form of a batch.
enum SlotValues<'s> {
    Null,
    Ints(&'s [i64], Vec<u64>),
    Reals(Vec<f64>, Vec<u64>),
    Text(Vec<Span>, Vec<u64>),
    Mixed(Vec<Value<'s>>),
}

impl<'s> SlotValues<'s> {
    fn new(tags: &[u8], bits: &'s [i64], data: &'s [u8]) -> SlotValues<'s> {
        match fold(tags) {
            0 => SlotValues::Null,
            INT => SlotValues::Ints(bits, validity(tags)),
            REAL => {
                let reals = bits.iter().map(|bits| f64::from_bits(bits.cast_unsigned()));
                SlotValues::Reals(reals.collect(), validity(tags))
            }
            TEXT => {
                // The bits of NULL are not a span, so any span will do.
                let span = |(tag, bits): (&u8, &i64)| match *tag {
                    TEXT => span_of_bits(*bits),
                    _ => Span::default(),
                };
                SlotValues::Text(tags.iter().zip(bits).map(span).collect(), validity(tags))
            }
            _ => {
                let value = |(tag, bits): (&u8, &i64)| match *tag {
                    INT => Value::Int(*bits),
                    REAL => Value::Real(f64::from_bits(bits.cast_unsigned())),
                    TEXT => Value::Text(&data[range(span_of_bits(*bits))]),
                    _ => Value::Null,
                };
                SlotValues::Mixed(tags.iter().zip(bits).map(value).collect())
            }
        }
    }

    fn column<'c>(&'c self, data: &'c [u8]) -> Column<'c> {
        let (values, validity) = match self {
            SlotValues::Null => return Column::NULL,
            SlotValues::Ints(ints, validity) => (Values::Int(ints), validity),
            SlotValues::Reals(reals, validity) => (Values::Real(reals), validity),
            SlotValues::Text(spans, validity) => {
                (Values::Text(Bytes { data, spans: Spans::Anywhere(spans) }), validity)
            }
            SlotValues::Mixed(values) => return Column::new(Values::Any(values)),
        };
        Column { values, validity: (!validity.is_empty()).then_some(Bitmap(validity)) }
    }
}

/// Returns the validity bitmap of the values; empty if no value is NULL.
fn validity(tags: &[u8]) -> Vec<u64> {
    if tags.iter().all(|tag| *tag != 0) {
        return Vec::new();
    }
    let word = |tags: &[u8]| {
        let bits = tags.iter().enumerate();
        bits.fold(0, |word, (bit, tag)| word | u64::from(*tag != 0) << bit)
    };
    tags.chunks(64).map(word).collect()
}

/// A position in a part that only moves forward. Counting the lines anew for each of many bad rows would take quadratic time.
struct Cursor {
    byte: usize,
    at: Position,
}

impl Cursor {
    /// Moves on to byte `to`.
    fn advance(&mut self, data: &[u8], to: usize) -> Position {
        self.at.advance(&data[self.byte..to]);
        self.byte = to;
        self.at
    }
}
