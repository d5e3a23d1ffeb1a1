//! Finds the fields of a part's records: the fast parser.
//!
//! ```text
//!  data    7,"Oslo",,"say ""hi"""⏎8,...│say "hi"           unescaped text is appended for as long as a batch lives
//!          ^  ^^^^     ^^^^^^^^^^      │^^^^^^^^
//!  spans   column 0: (0,1) ...   column 1: (3,4) ...   column 2: (0,0) ...   column 3: (31,8) ...
//! ```
//!
//! A field without doubled quotes is never copied. The span (0,0) stands for an empty unquoted field, which no other field
//! can have: it is not empty, or a quote precedes it. So NULL costs nothing until a batch is done, and then one
//! comparison.
//!
//! What is malformed is only noticed here; [`naive`](super::naive) says what and where it is.

use sqluice_core::batch::{ROWS_MAX, Span};

use super::delimiter::{Delimiter, is_blank};
use super::dialect::{Marks, meaning};
use super::find::Finder;
use super::naive::Limits;
use super::repeats::Repeats;
use super::scan::{are_blanks, closes_in_line, is_empty_line, is_escaped, wide_needles};
use crate::text::valid_utf8;

/// The spans of a batch need no more than this, in bytes.
const SPANS_BYTES_MAX: usize = 2 << 20;

/// Where a batch is put together.
pub(super) struct Scratch {
    /// Rows that fit.
    pub(super) rows_max: usize,
    /// From one column's first span to the next one's. Not a power of two, or all columns would compete for the same few
    /// lines of the cache.
    pub(super) stride: usize,
    pub(super) spans: Vec<Span>,
    /// Where each record begins.
    pub(super) starts: Vec<u32>,
    /// Which of `spans` have doubled quotes or escapes.
    pub(super) escaped: Vec<usize>,
    /// Which of `spans` have line ends: in order, with those of one record next to each other.
    pub(super) of_lines: Vec<usize>,
    /// Where records begin that repeat the header, and whether they are no rows.
    pub(super) repeated: Vec<(usize, bool)>,
    /// Which rows had fewer fields than there are.
    pub(super) padded: Vec<usize>,
    /// A bitmap for every column of the table.
    pub(super) validity: Vec<u64>,
    /// Which columns have NULLs.
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

/// Reads records and notes where their fields are.
pub(super) struct Records<'a> {
    pub(super) data: &'a [u8],
    /// How many every record has.
    pub(super) fields: usize,
    pub(super) marks: Marks,
    pub(super) delimiter: Delimiter,
    pub(super) limits: Limits,
    /// What stands for fields that are missing at the end of a record; `None`: they make it malformed.
    pub(super) missing: Option<Span>,
    /// A quote within an unquoted field is malformed.
    pub(super) strict_quotes: bool,
    /// A delimiter behind the last field of a record separates nothing.
    pub(super) trailing_delimiter: bool,
    /// Which records repeat the header, and which of these are none.
    pub(super) repeats: &'a Repeats,
    /// `true` if an empty line is a record of one empty field.
    pub(super) blank_rows: bool,
    /// Where in the input the part begins.
    pub(super) byte: u64,
}

/// What came of it.
pub(super) struct Read {
    pub(super) rows: usize,
    /// One past the last record; where the malformed one begins.
    pub(super) end: usize,
    pub(super) next: Next,
}

pub(super) enum Next {
    /// The batch is full.
    More,
    /// The part is at its end.
    Done,
    /// What follows is malformed.
    Malformed,
}

/// How the delimiter is recognised: the compiler makes a loop for each kind.
trait Between: Copy {
    /// Another byte than a delimiter's may begin like one, and within a delimiter there may be hits.
    const WIDE: bool;
    /// Blanks separate nothing at the start and the end of a line.
    const BLANKS: bool;

    /// How many bytes of a delimiter there are at `at`, where `byte` is.
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

/// Any other; whether it is blanks.
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
    /// Fills `scratch` from byte `from` on, where a record, a comment or an empty line begins.
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
            // What the malformed record left behind.
            scratch.escaped.retain(|slot| slot % scratch.stride < read.rows);
            scratch.of_lines.retain(|slot| slot % scratch.stride < read.rows);
            scratch.padded.retain(|&row| row < read.rows);
        }
        read
    }

    /// A fifth needle means that there may be escapes and comments.
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
        // A delimiter that may separate nothing is followed by a field that must be empty.
        let extra = self.trailing_delimiter && !B::BLANKS;
        let complete_len = self.fields * stride;
        let spans_len = complete_len + if extra { stride } else { 0 };
        let spans = &mut scratch.spans[..spans_len];
        // Fields that another follows.
        let delimited_len = spans_len - stride;
        // Only a part that is longer than the limit can hold such a field.
        let field_bytes_max =
            if data.len() > self.limits.field_bytes_max { self.limits.field_bytes_max } else { usize::MAX };

        let mut finder = Finder::new(data, from, needles);
        let mut rows = 0;
        let mut record = from;
        let mut start = from;
        // The record's first character that is no blank; only blanks differ from `record`.
        let mut content = from;
        // The present field's place in `spans`.
        let mut slot = 0;
        // One past the last byte that is escaped outside of quotes, and the escapes of the present field.
        let (mut escaped, mut escapes) = (0, 0);
        let next = 'records: loop {
            if !B::WIDE && N < 5 && field_bytes_max == usize::MAX {
                // Most fields: what is below does the same.
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
            // The input may end without a line end.
            let mut at = finder.next().unwrap_or(data.len());
            let mut byte = data.get(at).copied().unwrap_or(b'\n');
            if B::WIDE && at < start {
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
                    // The last byte of the input escapes nothing.
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
                    // A quote within an unquoted field is a character like any other.
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
                if delimiter == 0 && !matches!(byte, b'\n' | b'\r') {
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
            if B::BLANKS && matches!(data.get(at + delimiter), None | Some(b'\n' | b'\r')) {
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
                    // Of the slots that it has filled, those with escapes or line ends are forgotten.
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

    /// Returns `true` if the quote at `at` begins the field from `start` on, as only blanks precede it, and it closes in its line.
    #[cold]
    fn opens_after_blanks(&self, start: usize, at: usize) -> bool {
        are_blanks(&self.data[start..at])
            && closes_in_line(self.data, at, &self.delimiter, self.marks, true) == Some(true)
    }

    /// Fills the fields from `slot` on, which the record does not have; whether that is asked for.
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
    /// Where the closing quote is.
    at: usize,
    /// How many bytes before it only say that the next one stands for itself.
    dropped: usize,
    /// Whether there are line ends before it.
    lines: bool,
}

/// The quote that ends the field whose opening quote the finder has just passed.
#[inline]
fn closing_quote<const N: usize>(data: &[u8], finder: &mut Finder<'_, N>, marks: Marks) -> Option<Closing> {
    let mut dropped = 0;
    let mut lines = false;
    // What is before this is escaped.
    let mut from = 0;
    loop {
        let at = finder.next()?;
        if N >= 5 && at < from {
            // A line end is one, escaped or not.
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

/// Appends to `data` what fields with doubled quotes or escapes stand for, and points their spans there. With `trim`, blanks around unquoted
/// fields are left out.
pub(super) fn unescape(data: &mut Vec<u8>, marks: Marks, trim: bool, scratch: &mut Scratch) {
    for &slot in &scratch.escaped {
        let Span { start, len } = scratch.spans[slot];
        let (mut from, end) = (start as usize, (start + len) as usize);
        let is_quoted = from > 0 && data[from - 1] == marks.quote;
        if !is_quoted && data[from..end] == [marks.escape, b'N'] {
            // It is NULL.
            continue;
        }
        let quote = if is_quoted { marks.quote } else { marks.escape };
        let mut search = from;
        let mut begin = data.len();
        // Without an escape, that is a byte that no UTF-8 has.
        while let Some(mark) = memchr::memchr2(quote, marks.escape, &data[search..end]) {
            let at = search + mark;
            if at + 1 == end {
                // The last byte of the input.
                break;
            }
            data.extend_from_within(from..at);
            let is_escape = marks.escapes_unquoted && data[at] == marks.escape;
            match meaning(data[at + 1]).filter(|_| is_escape) {
                Some(meant) => {
                    data.push(meant);
                    from = at + 2;
                }
                // The character stands for itself.
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
                // The end of the input would stand for a missing field.
                data.push(0);
                begin += 1;
            }
        }
        scratch.spans[slot] = span(begin, data.len());
    }
}

/// Which bytes are UTF-8 without NUL. Records and comments may hold others, so this is found out anew after each of these;
/// still, every byte is looked at once.
pub(super) struct Valid {
    /// From the start of the record where this was last asked for up to here.
    until: usize,
    /// The first NUL from there on.
    nul: usize,
}

impl Valid {
    pub(super) fn new(data: &[u8]) -> Valid {
        let nul = memchr::memchr(0, data).unwrap_or(data.len());
        Valid { until: utf8_until(&data[..nul], 0), nul }
    }

    /// Whether a record, of which `until` lies before the end or within, is all valid.
    #[cold]
    fn reaches(&mut self, data: &[u8], record: usize, end: usize) -> bool {
        // What is at `until` is at fault: this record, or something before it.
        if record > self.until {
            if record > self.nul {
                self.nul = memchr::memchr(0, &data[record..]).map_or(data.len(), |nul| record + nul);
            }
            self.until = utf8_until(&data[..self.nul], record);
        }
        end <= self.until
    }
}

/// Up to where `data` is UTF-8 from `from` on.
fn utf8_until(data: &[u8], from: usize) -> usize {
    from + valid_utf8(&data[from..])
}
