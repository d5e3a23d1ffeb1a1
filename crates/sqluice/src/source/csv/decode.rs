//! Makes batches of a part of the input, on any core.
//!
//! ```text
//!  data    7,"Oslo",,"say ""hi"""⏎8,...│say "hi"           unescaped text is appended for as long as a batch lives
//!          ^  ^^^^     ^^^^^^^^^^      │^^^^^^^^
//!  spans   column 0: (0,1) ...   column 1: (3,4) ...   column 2: (0,0) ...   column 3: (31,8) ...
//! ```
//!
//! A field without doubled quotes is never copied. The span (0,0) stands for an empty unquoted field, which no other field
//! can have: it is not empty, or a quote comes before it. So NULL costs nothing until a batch is done, and then one
//! comparison.
//!
//! What is malformed is only noticed here. The rows before it go to the sink, and then [`naive`](super::naive) reads the part
//! again and says what and where it is: there is one first fault, and both find the same.

use std::sync::{Arc, Mutex, PoisonError};

use super::columns::{Header, Repeated};
use super::cut::Cut;
use super::find::Finder;
use super::naive::{Limits, Parser};
use crate::batch::{Batch, Bitmap, Bytes, Column, ROWS_MAX, Span, Spans, Values};
use crate::error::{Error, Place, Result};
use crate::source::{Part, Refused, Sink};

/// The spans of a batch need no more than this, in bytes.
const SPANS_BYTES_MAX: usize = 2 << 20;

/// What all parts of a file know.
pub(super) struct Shared {
    pub(super) file: std::path::PathBuf,
    pub(super) header: Header,
    pub(super) columns: Vec<Filled>,
    pub(super) empty_as_text: bool,
    pub(super) limits: Limits,
    pub(super) pool: Pool,
}

/// What fills a column of the table.
pub(super) enum Filled {
    Field(usize),
    Constant(Repeated),
}

/// Buffers to be used again.
#[derive(Default)]
pub(super) struct Pool {
    data: Mutex<Vec<Vec<u8>>>,
    scratch: Mutex<Vec<Scratch>>,
}

impl Pool {
    pub(super) fn data(&self) -> Vec<u8> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }
}

/// Where a batch is put together.
struct Scratch {
    /// Rows that fit.
    rows_max: usize,
    /// From one column's first span to the next one's. Not a power of two, or all columns would compete for the same few
    /// lines of the cache.
    stride: usize,
    spans: Vec<Span>,
    /// Which of `spans` have doubled quotes.
    escaped: Vec<usize>,
    /// A bitmap for every column of the table.
    validity: Vec<u64>,
    /// Which columns have NULLs.
    nulls: Vec<bool>,
}

impl Scratch {
    fn new(fields: usize, columns: usize) -> Scratch {
        let fitting = SPANS_BYTES_MAX / size_of::<Span>() / fields;
        let rows_max = (fitting / 64 * 64).clamp(64, ROWS_MAX);
        let stride = rows_max + 8;
        Scratch {
            rows_max,
            stride,
            spans: vec![Span::default(); stride * fields],
            escaped: Vec::new(),
            validity: vec![0; rows_max / 64 * columns],
            nulls: vec![false; columns],
        }
    }
}

/// A part of a CSV file.
pub(super) struct CsvPart {
    pub(super) shared: Arc<Shared>,
    pub(super) cut: Cut,
    /// The number of its first row.
    pub(super) first_row: u64,
    pub(super) input_bytes: u64,
    /// Bytes of `cut.data` that are input; what follows is unescaped text.
    pub(super) raw_bytes: usize,
}

impl Part for CsvPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    fn place(&self) -> Option<Place> {
        Some(self.cut.at.place(&self.shared.file))
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let pooled = shared.pool.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch =
            pooled.unwrap_or_else(|| Scratch::new(shared.header.names.len(), shared.columns.len()));
        let decoded = self.batches(&mut scratch, sink);
        shared.pool.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        decoded
    }
}

impl Drop for CsvPart {
    fn drop(&mut self) {
        let mut data = std::mem::take(&mut self.cut.data);
        data.clear();
        // One giant field must not make all buffers giant.
        if data.capacity() <= super::PART_BYTES * 4 {
            self.shared.pool.data.lock().unwrap_or_else(PoisonError::into_inner).push(data);
        }
    }
}

impl CsvPart {
    fn batches(&mut self, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<()> {
        let valid_bytes = valid_bytes(&self.cut.data[..self.raw_bytes]);
        let mut from = 0;
        let mut rows_done = 0;
        loop {
            scratch.escaped.clear();
            let records = Records {
                data: &self.cut.data[..self.raw_bytes],
                fields: self.shared.header.names.len(),
                valid_bytes,
                limits: self.shared.limits,
            };
            let Read { rows, end, next } = records.read(from, scratch);
            unescape(&mut self.cut.data, scratch);
            if rows > 0 {
                self.batch(rows, scratch, sink).map_err(|refused| self.explain(rows_done, refused))?;
            }
            self.cut.data.truncate(self.raw_bytes);
            rows_done += rows;
            match next {
                Next::More => from = end,
                Next::Malformed => return Err(self.malformed()),
                Next::Done => break,
            }
        }
        debug_assert_eq!(rows_done as u64, self.cut.records, "cutting and decoding count alike");
        Ok(())
    }

    /// Gives `rows` rows to the sink.
    fn batch(&self, rows: usize, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<(), Refused> {
        let words = scratch.rows_max / 64;
        let stride = scratch.stride;
        if !self.shared.empty_as_text {
            for (column, filled) in self.shared.columns.iter().enumerate() {
                if let Some(field) = filled.field() {
                    let spans = &scratch.spans[field * stride..][..rows];
                    scratch.nulls[column] =
                        mark_present(spans, &mut scratch.validity[column * words..][..words]);
                }
            }
        }
        let mut columns = Vec::with_capacity(self.shared.columns.len());
        for (column, filled) in self.shared.columns.iter().enumerate() {
            columns.push(match filled {
                Filled::Constant(repeated) => repeated.column(rows),
                Filled::Field(field) => {
                    let spans = Spans::Anywhere(&scratch.spans[field * stride..][..rows]);
                    let validity = &scratch.validity[column * words..][..words];
                    Column {
                        values: Values::Text(Bytes { data: &self.cut.data, spans }),
                        validity: scratch.nulls[column].then_some(Bitmap(validity)),
                    }
                }
            });
        }
        sink.rows(&Batch { rows, columns })
    }

    /// What the sink said, with the place.
    #[cold]
    fn explain(&self, rows_done: usize, refused: Refused) -> Error {
        let (at, error) = refused.first();
        let Some((row, column)) = at else { return error };
        let shared = &self.shared;
        let Some(Ok(record)) = self.naive().nth(rows_done + row) else { return error };
        // A column that the file does not have is blamed on the record.
        let field = shared.columns.get(column).and_then(Filled::field).unwrap_or(0);
        error.at(record[field].at.place(&shared.file))
    }

    /// The first fault.
    #[cold]
    fn malformed(&self) -> Error {
        match self.naive().find_map(Result::err) {
            Some(malformed) => malformed.error(&self.shared.file),
            None => Error::input("this part of the file is malformed")
                .at(self.cut.at.place(&self.shared.file))
                .hint("this is a bug in sqluice: its two parsers disagree. Please report it with the file"),
        }
    }

    /// The records as the slow parser reads them.
    fn naive(&self) -> impl Iterator<Item = Result<Vec<super::naive::Field>, super::malformed::Malformed>> {
        let mut parser = Parser::new(&self.cut.data[..self.raw_bytes], self.cut.at, self.shared.limits);
        let fields = self.shared.header.names.len();
        std::iter::from_fn(move || parser.record(Some(fields)))
    }
}

impl Filled {
    fn field(&self) -> Option<usize> {
        match self {
            Filled::Field(field) => Some(*field),
            Filled::Constant(_) => None,
        }
    }
}

/// Reads records and notes where their fields are.
struct Records<'a> {
    data: &'a [u8],
    /// How many every record has.
    fields: usize,
    /// Up to here, it is UTF-8 without NUL.
    valid_bytes: usize,
    limits: Limits,
}

/// What came of it.
struct Read {
    rows: usize,
    /// One past the last record.
    end: usize,
    next: Next,
}

enum Next {
    /// The batch is full.
    More,
    /// The part is at its end.
    Done,
    /// What follows is malformed.
    Malformed,
}

impl Records<'_> {
    /// Fills `scratch` from byte `from` on, where a record or an empty line begins.
    fn read(&self, from: usize, scratch: &mut Scratch) -> Read {
        let data = self.data;
        let stride = scratch.stride;
        let spans_len = self.fields * stride;
        let spans = &mut scratch.spans[..spans_len];
        // Only a part that is longer than the limit can hold such a field.
        let field_bytes_max =
            if data.len() > self.limits.field_bytes_max { self.limits.field_bytes_max } else { usize::MAX };

        let mut finder = Finder::new(data, from, [b',', b'"', b'\n', b'\r']);
        let mut rows = 0;
        let mut record = from;
        let mut start = from;
        // The present field's place in `spans`.
        let mut slot = 0;
        let next = loop {
            // The input may end without a line end.
            let mut at = finder.next().unwrap_or(data.len());
            let mut byte = data.get(at).copied().unwrap_or(b'\n');
            let span = if byte == b'"' {
                if at != start {
                    // A quote within an unquoted field is a character like any other.
                    continue;
                }
                let Some((quote, doubled)) = closing_quote(data, &mut finder) else { break Next::Malformed };
                if quote - at - 1 - doubled > field_bytes_max {
                    break Next::Malformed;
                }
                let span = span(at + 1, quote);
                if doubled > 0 {
                    scratch.escaped.push(slot);
                }
                at = quote + 1;
                byte = data.get(at).copied().unwrap_or(b'\n');
                if !matches!(byte, b',' | b'\n' | b'\r') {
                    break Next::Malformed;
                }
                finder.next();
                span
            } else if at == start {
                if at == record && byte != b',' {
                    if at == data.len() {
                        break Next::Done;
                    }
                    // An empty line.
                    record = at + 1;
                    start = record;
                    continue;
                }
                Span::default()
            } else {
                if at - start > field_bytes_max {
                    break Next::Malformed;
                }
                span(start, at)
            };

            spans[slot] = span;
            start = at + 1;
            slot += stride;
            if byte == b',' {
                if slot >= spans_len {
                    break Next::Malformed;
                }
                continue;
            }
            if slot < spans_len || at > self.valid_bytes || at - record > self.limits.record_bytes_max {
                break Next::Malformed;
            }
            rows += 1;
            record = start.min(data.len());
            start = record;
            slot = rows;
            if rows == scratch.rows_max {
                break Next::More;
            }
        };
        if let Next::Malformed = next {
            // What the malformed record left behind.
            scratch.escaped.retain(|slot| slot % stride < rows);
        }
        Read { rows, end: record, next }
    }
}

/// The quote that ends the field whose opening quote the finder has just passed, and how many quotes are doubled before it.
#[inline]
fn closing_quote(data: &[u8], finder: &mut Finder<'_, 4>) -> Option<(usize, usize)> {
    let mut doubled = 0;
    loop {
        let at = finder.next()?;
        if data[at] == b'"' {
            if data.get(at + 1) != Some(&b'"') {
                return Some((at, doubled));
            }
            doubled += 1;
            finder.next();
        }
    }
}

#[inline]
fn span(start: usize, end: usize) -> Span {
    // A part is shorter than 4 GiB: see `CsvOptions::record_bytes_max`.
    Span { start: start as u32, len: (end - start) as u32 }
}

/// How many bytes of `data` are UTF-8 without NUL.
fn valid_bytes(data: &[u8]) -> usize {
    let valid = str::from_utf8(data).map_or_else(|e| e.valid_up_to(), str::len);
    memchr::memchr(0, &data[..valid]).unwrap_or(valid)
}

/// Appends to `data` what fields with doubled quotes stand for, and points their spans there.
fn unescape(data: &mut Vec<u8>, scratch: &mut Scratch) {
    for &slot in &scratch.escaped {
        let Span { start, len } = scratch.spans[slot];
        let mut from = start as usize;
        let end = from + len as usize;
        let begin = data.len();
        while let Some(quote) = memchr::memchr(b'"', &data[from..end]) {
            data.extend_from_within(from..=from + quote);
            from += quote + 2;
        }
        data.extend_from_within(from..end);
        scratch.spans[slot] = span(begin, data.len());
    }
}

/// Sets the bits of the rows whose field is not NULL; whether there are others.
fn mark_present(spans: &[Span], validity: &mut [u64]) -> bool {
    let mut nulls = false;
    for (spans, word) in spans.chunks(64).zip(validity) {
        let present = spans
            .iter()
            .enumerate()
            .fold(0, |word, (bit, &span)| word | u64::from(span != Span::default()) << bit);
        *word = present;
        nulls |= present.count_ones() as usize != spans.len();
    }
    nulls
}
