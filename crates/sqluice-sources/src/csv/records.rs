//! The fast parser: finds the fields of the records of a part.
//!
//! ```text
//!  data    7,"Oslo",,"say ""hi"""⏎8,...│say "hi"           unescaped text, behind the input until the batch is given to the sink
//!          ^  ^^^^     ^^^^^^^^^^      │^^^^^^^^
//!  spans   column 0: (0,1) ...   column 1: (3,4) ...   column 2: (0,0) ...   column 3: (31,8) ...
//! ```
//!
//! A field without doubled quotes and escapes is never copied. The span (0,0) marks an empty unquoted field. No other field of the input
//! has this span, because any other field has text, or a quote before its start. So the parser does no work for NULL: one comparison of
//! spans recognises an empty field when the batch is complete.
//!
//! This parser only notices that a record is malformed; [`naive`](super::naive) finds the kind and the position of the fault.

use sqluice_core::batch::{ROWS_MAX, Span};

use super::delimiter::{Delimiter, is_blank};
use super::dialect::{Marks, meaning};
use super::find::Finder;
use super::naive::Limits;
use super::repeats::Repeats;
use super::scan::{are_blanks, closes_in_line, ends_record, is_empty_line, is_escaped, wide_needles};
use crate::text::valid_utf8;

/// The most bytes of spans in a batch, unless 64 rows need more.
const SPANS_BYTES_MAX: usize = 2 << 20;

/// The memory in which a batch is put together.
pub(super) struct Scratch {
    /// The most rows of a batch.
    pub(super) rows_max: usize,
    /// The number of spans from the start of one column to the start of the next. The stride is no power of two, because all columns would
    /// then compete for the same few cache lines.
    pub(super) stride: usize,
    pub(super) spans: Vec<Span>,
    /// The start of each record.
    pub(super) starts: Vec<u32>,
    /// The indexes in `spans` of the fields with doubled quotes or escapes.
    pub(super) escaped: Vec<usize>,
    /// The indexes in `spans` of the quoted fields with line ends, in the order of the input.
    pub(super) of_lines: Vec<usize>,
    /// The start of each record that repeats the header, and `true` if the record is no row.
    pub(super) repeated: Vec<(usize, bool)>,
    /// The rows in which fields are missing.
    pub(super) padded: Vec<usize>,
    /// A bitmap for each column of the table: a bit is set if the value is not NULL.
    pub(super) validity: Vec<u64>,
    /// A flag for each column of the table: `true` if the column has NULLs.
    pub(super) nulls: Vec<bool>,
}

impl Scratch {
    pub(super) fn new(fields: usize, columns: usize) -> Scratch {
        let fitting = SPANS_BYTES_MAX / size_of::<Span>() / fields;
        let rows_max = (fitting / 64 * 64).clamp(64, ROWS_MAX);
        let stride = rows_max + 8;
        Scratch {
            rows_max,
            stride,
            spans: vec![Span::default(); stride * fields],
            starts: vec![0; rows_max],
            escaped: Vec::new(),
            of_lines: Vec::new(),
            repeated: Vec::new(),
            padded: Vec::new(),
            validity: vec![0; rows_max / 64 * columns],
            nulls: vec![false; columns],
        }
    }
}

/// A reader of records, which stores the positions of the fields in a [`Scratch`].
pub(super) struct Records<'a> {
    pub(super) data: &'a [u8],
    /// The number of fields of every record.
    pub(super) fields: usize,
    pub(super) marks: Marks,
    pub(super) delimiter: Delimiter,
    pub(super) limits: Limits,
    /// The span of a field that is missing at the end of a record; `None`: a record with missing fields is malformed.
    pub(super) missing: Option<Span>,
    /// `true` if a quote within an unquoted field is malformed.
    pub(super) strict_quotes: bool,
    /// `true` if a delimiter behind the last field of a record separates nothing.
    pub(super) trailing_delimiter: bool,
    /// The rules for records that repeat the header.
    pub(super) repeats: &'a Repeats,
    /// `true` if an empty line is a record of one empty field.
    pub(super) blank_rows: bool,
    /// The start of the part in the input, in bytes.
    pub(super) byte: u64,
}

/// The result of `Records::read`.
pub(super) struct Read {
    pub(super) rows: usize,
    /// The position at which reading stopped: the start of the malformed record if a record is malformed.
    pub(super) end: usize,
    pub(super) next: Next,
}

/// The reason why reading stopped.
pub(super) enum Next {
    /// The batch is full.
    More,
    /// The part is read to its end.
    Done,
    /// The record at `Read::end` is malformed.
    Malformed,
}

/// A kind of delimiter. The compiler makes a separate loop for each kind.
trait Between: Copy {
    /// `true` if a delimiter may have several bytes: its first byte may also be text, and hits may lie within a delimiter.
    const WIDE: bool;
    /// `true` if the delimiter is a run of blanks: blanks at the start and the end of a line separate nothing.
    const BLANKS: bool;

    /// Returns the number of bytes of the delimiter at `at`, or 0 if no delimiter begins there. `byte` is the byte at `at`.
    fn bytes(self, data: &[u8], at: usize, byte: u8) -> usize;
}

/// A delimiter of one byte.
#[derive(Clone, Copy)]
struct Narrow(u8);

impl Between for Narrow {
    const WIDE: bool = false;
    const BLANKS: bool = false;

    #[inline(always)]
    fn bytes(self, _: &[u8], _: usize, byte: u8) -> usize {
        usize::from(byte == self.0)
    }
}

/// Any other delimiter. `BLANKS` is `true` if the delimiter is a run of blanks.
#[derive(Clone, Copy)]
struct Wide<'d, const BLANKS: bool>(&'d Delimiter);

impl<const BLANKS: bool> Between for Wide<'_, BLANKS> {
    const WIDE: bool = true;
    const BLANKS: bool = BLANKS;

    fn bytes(self, data: &[u8], at: usize, _: u8) -> usize {
        self.0.bytes_at(&data[at..])
    }
}

impl Records<'_> {
    /// Fills `scratch` with the records from byte `from` on, where a record, a comment or an empty line begins.
    pub(super) fn read(&self, from: usize, valid: &mut Valid, scratch: &mut Scratch) -> Read {
        scratch.escaped.clear();
        scratch.of_lines.clear();
        scratch.repeated.clear();
        scratch.padded.clear();
        let Marks { delimiter, .. } = self.marks;
        let quote = self.marks.quote_needle();
        let wide = wide_needles(self.marks, &self.delimiter);
        let read = if self.delimiter.is_whitespace() {
            self.run(wide, Wide::<true>(&self.delimiter), from, valid, scratch)
        } else if self.delimiter.is_wide() {
            self.run(wide, Wide::<false>(&self.delimiter), from, valid, scratch)
        } else if self.marks.are_plain() {
            self.run([delimiter, quote, b'\n', b'\r'], Narrow(delimiter), from, valid, scratch)
        } else {
            let needles = [delimiter, quote, b'\n', b'\r', self.marks.escape_needle()];
            self.run(needles, Narrow(delimiter), from, valid, scratch)
        };
        if let Next::Malformed = read.next {
            // Removes the positions of the malformed record's fields.
            scratch.escaped.retain(|slot| slot % scratch.stride < read.rows);
            scratch.of_lines.retain(|slot| slot % scratch.stride < read.rows);
            scratch.padded.retain(|&row| row < read.rows);
        }
        read
    }

    /// Reads records with one kind of delimiter. Escapes and comments can occur only if there are more than four needles.
    fn run<const N: usize, B: Between>(
        &self,
        needles: [u8; N],
        between: B,
        from: usize,
        valid: &mut Valid,
        scratch: &mut Scratch,
    ) -> Read {
        let data = self.data;
        let Marks { quote, escape, escapes_unquoted, .. } = self.marks;
        let stride = scratch.stride;
        // With `extra`, a record may have one more field, behind a trailing delimiter. This field must be empty.
        let extra = self.trailing_delimiter && !B::BLANKS;
        let complete_len = self.fields * stride;
        let spans_len = complete_len + if extra { stride } else { 0 };
        let spans = &mut scratch.spans[..spans_len];
        // The spans below this length belong to fields that a delimiter may follow: all fields but the last.
        let delimited_len = spans_len - stride;
        // Only a part that is longer than the limit can hold a field that is too long.
        let field_bytes_max =
            if data.len() > self.limits.field_bytes_max { self.limits.field_bytes_max } else { usize::MAX };

        let mut finder = Finder::new(data, from, needles);
        let mut rows = 0;
        let mut record = from;
        let mut start = from;
        // The start of the record behind leading blanks if the delimiter is a run of blanks, and otherwise `record`.
        let mut content = from;
        // The index of the current field in `spans`.
        let mut slot = 0;
        // The position one past the last byte escaped outside of quotes, and the number of escapes in the current field.
        let (mut escaped, mut escapes) = (0, 0);
        // Returns `true` if a record ends at `at`: at the end of the input, and at line ends (with five needles or more, only at some).
        let ends = |at: usize| match data.get(at) {
            Some(b'\n' | b'\r') => N < 5 || ends_record(data, at, self.marks),
            byte => byte.is_none(),
        };
        let next = 'records: loop {
            if !B::WIDE && N < 5 && field_bytes_max == usize::MAX {
                // Reads most fields in a short loop. The code below would do the same.
                while let Some((block, mut delimiters)) = finder.pass_first() {
                    while delimiters != 0 {
                        let at = block + delimiters.trailing_zeros() as usize;
                        delimiters &= delimiters - 1;
                        let Some(field) = spans[..delimited_len].get_mut(slot) else {
                            break 'records Next::Malformed;
                        };
                        *field = if at == start { Span::default() } else { span(start, at) };
                        slot += stride;
                        start = at + 1;
                    }
                }
            }
            // The end of the input counts as a line end.
            let mut at = finder.next().unwrap_or(data.len());
            let mut byte = data.get(at).copied().unwrap_or(b'\n');
            if B::WIDE && at < start {
                continue;
            }
            if N >= 5 && matches!(byte, b'\n' | b'\r') && !ends(at) {
                continue;
            }
            let begin = if B::BLANKS { content } else { record };
            let comment = N >= 5 && start == begin && self.marks.comment_at(data, begin);
            if N >= 5 && escapes_unquoted && !comment && at < data.len() {
                if is_escaped(data, at, escaped) {
                    continue;
                }
                if byte == escape {
                    escaped = at + 2;
                    // An escape that is the last byte of the input is text.
                    escapes += usize::from(at + 1 < data.len());
                    continue;
                }
            }
            let mut delimiter = between.bytes(data, at, byte);
            if B::WIDE && delimiter == 0 && byte != quote && !matches!(byte, b'\n' | b'\r') {
                continue;
            }
            if B::BLANKS && at == begin && delimiter > 0 {
                content = at + delimiter;
                start = content;
                continue;
            }
            if N >= 5 {
                if comment {
                    if !matches!(byte, b'\n' | b'\r') {
                        continue;
                    }
                    if at - record > self.limits.record_bytes_max {
                        break Next::Malformed;
                    }
                    record = (at + 1).min(data.len());
                    (start, content) = (record, record);
                    continue;
                }
                if byte == escape {
                    continue;
                }
            }
            let span = if byte == quote {
                if at != start && !self.opens_after_blanks(start, at) {
                    // A quote within an unquoted field is text, or a fault with `strict_quotes`.
                    if self.strict_quotes {
                        break Next::Malformed;
                    }
                    continue;
                }
                let Some(Closing { at: end, dropped, lines }) = closing_quote(data, &mut finder, self.marks)
                else {
                    break Next::Malformed;
                };
                if end - at - 1 - dropped > field_bytes_max {
                    break Next::Malformed;
                }
                let span = span(at + 1, end);
                if dropped > 0 {
                    scratch.escaped.push(slot);
                }
                if lines {
                    scratch.of_lines.push(slot);
                }
                at = end + 1;
                byte = data.get(at).copied().unwrap_or(b'\n');
                delimiter = between.bytes(data, at, byte);
                if delimiter == 0 && !ends(at) {
                    break Next::Malformed;
                }
                finder.next();
                span
            } else if at == start {
                if at == begin && delimiter == 0 {
                    if B::BLANKS && at - record > self.limits.record_bytes_max {
                        break Next::Malformed;
                    }
                    if at == data.len() {
                        break Next::Done;
                    }
                    if !self.blank_rows || !is_empty_line(data, at) {
                        record = at + 1;
                        (start, content) = (record, record);
                        continue;
                    }
                }
                Span::default()
            } else {
                if at - start - escapes > field_bytes_max {
                    break Next::Malformed;
                }
                if N >= 5 && escapes > 0 {
                    scratch.escaped.push(slot);
                    escapes = 0;
                }
                span(start, at)
            };

            spans[slot] = span;
            slot += stride;
            if B::BLANKS && ends(at + delimiter) {
                at += delimiter;
                delimiter = 0;
            }
            start = if B::WIDE { at + delimiter.max(1) } else { at + 1 };
            if delimiter > 0 {
                if slot >= spans_len {
                    break Next::Malformed;
                }
                continue;
            }
            if slot < complete_len && !self.pad(&mut spans[..complete_len], slot, stride, &mut scratch.padded)
            {
                break Next::Malformed;
            }
            if extra && slot >= spans_len && span != Span::default() {
                break Next::Malformed;
            }
            let too_long = at - record > self.limits.record_bytes_max;
            if too_long || at > valid.until && !valid.reaches(data, record, at) {
                break Next::Malformed;
            }
            if let Some(skips) = self.repeats.skips(&data[record..at], self.byte + record as u64) {
                scratch.repeated.push((record, skips));
                if skips {
                    // Removes the positions of the skipped record's fields.
                    scratch.escaped.retain(|slot| slot % stride != rows);
                    scratch.of_lines.retain(|slot| slot % stride != rows);
                    record = start.min(data.len());
                    (start, content) = (record, record);
                    slot = rows;
                    continue;
                }
            }
            scratch.starts[rows] = record as u32;
            rows += 1;
            record = start.min(data.len());
            (start, content) = (record, record);
            slot = rows;
            if rows == scratch.rows_max {
                break Next::More;
            }
        };
        Read { rows, end: record, next }
    }

    /// Returns `true` if the quote at `at` opens the field that starts at `start`: only blanks precede the quote, and the field closes in
    /// the same line.
    #[cold]
    fn opens_after_blanks(&self, start: usize, at: usize) -> bool {
        are_blanks(&self.data[start..at])
            && closes_in_line(self.data, at, &self.delimiter, self.marks, true) == Some(true)
    }

    /// Fills the spans from `slot` on, for fields that the record lacks. Returns `false` if a record with missing fields is malformed.
    #[cold]
    fn pad(&self, spans: &mut [Span], slot: usize, stride: usize, padded: &mut Vec<usize>) -> bool {
        let Some(missing) = self.missing else { return false };
        spans[slot..].iter_mut().step_by(stride).for_each(|span| *span = missing);
        padded.push(slot % stride);
        true
    }
}

/// The end of a quoted field.
struct Closing {
    /// The position of the closing quote.
    at: usize,
    /// The number of bytes that unescaping removes from the field: escapes, and one quote of each doubled quote.
    dropped: usize,
    /// `true` if the field has line ends.
    lines: bool,
}

/// Finds the end of the field whose opening quote the finder has just passed. Returns `None` if the quote never closes.
#[inline]
fn closing_quote<const N: usize>(data: &[u8], finder: &mut Finder<'_, N>, marks: Marks) -> Option<Closing> {
    let mut dropped = 0;
    let mut lines = false;
    // The position one past the last escaped byte.
    let mut from = 0;
    loop {
        let at = finder.next()?;
        if N >= 5 && at < from {
            // An escaped line end is a line end, too.
            lines |= matches!(data[at], b'\n' | b'\r');
            continue;
        }
        if data[at] == marks.quote {
            if data.get(at + 1) != Some(&marks.quote) {
                return Some(Closing { at, dropped, lines });
            }
            dropped += 1;
            finder.next();
        } else if N >= 5 && data[at] == marks.escape {
            dropped += 1;
            from = at + 2;
        } else {
            lines |= matches!(data[at], b'\n' | b'\r');
        }
    }
}

#[inline]
fn span(start: usize, end: usize) -> Span {
    // A part is shorter than 4 GiB: see `CsvOptions::record_bytes_max`.
    Span { start: start as u32, len: (end - start) as u32 }
}

/// Appends the unescaped text of the fields with doubled quotes or escapes to `data`, and points the spans of these fields to this text.
/// With `trim`, the blanks around unquoted fields are left out.
pub(super) fn unescape(data: &mut Vec<u8>, marks: Marks, trim: bool, scratch: &mut Scratch) {
    for &slot in &scratch.escaped {
        let Span { start, len } = scratch.spans[slot];
        let (mut from, end) = (start as usize, (start + len) as usize);
        let is_quoted = from > 0 && data[from - 1] == marks.quote;
        if !is_quoted && data[from..end] == [marks.escape, b'N'] {
            // The field is NULL, and keeps its text.
            continue;
        }
        let quote = if is_quoted { marks.quote } else { marks.escape };
        let mut search = from;
        let mut begin = data.len();
        // If the dialect has no escape, `marks.escape` is a byte that UTF-8 never has.
        while let Some(mark) = memchr::memchr2(quote, marks.escape, &data[search..end]) {
            let at = search + mark;
            if at + 1 == end {
                // An escape that is the last byte of the input is text.
                break;
            }
            data.extend_from_within(from..at);
            let is_escape = marks.escapes_unquoted && data[at] == marks.escape;
            match meaning(data[at + 1]).filter(|_| is_escape) {
                Some(meant) => {
                    data.push(meant);
                    from = at + 2;
                }
                // The next character stands for itself.
                None => from = at + 1,
            }
            search = at + 2;
        }
        data.extend_from_within(from..end);
        if trim && !is_quoted {
            while data.last().is_some_and(|&last| is_blank(last)) && data.len() > begin {
                data.pop();
            }
            begin += data[begin..].iter().take_while(|&&byte| is_blank(byte)).count();
            if begin == data.len() {
                // An empty span at the end of the input would mean a missing field: a filler byte moves the span.
                data.push(0);
                begin += 1;
            }
        }
        scratch.spans[slot] = span(begin, data.len());
    }
}

/// The test for UTF-8 without NUL bytes. Malformed records and comments may hold any bytes, so the test begins anew behind each of them.
/// Still, every byte is tested only once.
pub(super) struct Valid {
    /// The end of the valid UTF-8 that begins where the test was started last.
    until: usize,
    /// The position of the first NUL byte behind this start, or the length of the data.
    nul: usize,
}

impl Valid {
    pub(super) fn new(data: &[u8]) -> Valid {
        let nul = memchr::memchr(0, data).unwrap_or(data.len());
        Valid { until: utf8_until(&data[..nul], 0), nul }
    }

    /// Returns `true` if the record from `record` to `end` is valid. The caller asks only for a record that ends behind `until`.
    #[cold]
    fn reaches(&mut self, data: &[u8], record: usize, end: usize) -> bool {
        // The byte at `until` is invalid. If this byte precedes the record, the test begins anew.
        if record > self.until {
            if record > self.nul {
                self.nul = memchr::memchr(0, &data[record..]).map_or(data.len(), |nul| record + nul);
            }
            self.until = utf8_until(&data[..self.nul], record);
        }
        end <= self.until
    }
}

/// Returns the end of the valid UTF-8 that begins at `from`.
fn utf8_until(data: &[u8], from: usize) -> usize {
    from + valid_utf8(&data[from..])
}
