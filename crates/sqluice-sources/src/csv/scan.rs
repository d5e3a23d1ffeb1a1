//! Finds the ends of records, for the cutter.
//!
//! ```text
//!  bytes    1,"a⏎""b",x⏎2,y"z⏎
//!  quotes   ..#..##.#......#..
//!  quoted   ...###.##.......##      set behind an odd number of quotes; a doubled quote closes and opens again
//! ```
//!
//! The rule of the last line is wrong behind a quote in the middle of an unquoted field: such a quote, like the last one above, is text. So
//! the byte before each opening quote is tested: it must be a delimiter, a line end or the first quote of a doubled quote. A block in which
//! it is another byte is processed hit by hit (a hit is a byte with a special meaning). Blocks with few hits are also processed hit by hit,
//! because this is faster, and so are all blocks of dialects with escapes or comments.
//!
//! With a wide delimiter, the byte before a quote is not enough: in `|||"`, the first two bytes are the delimiter `||`, and the third byte
//! begins a field, so the quote is text. Therefore a separate loop follows the fields, hit by hit.
//!
//! If text follows a closing quote, quotes mean nothing in the rest of the line. A quote that never closes is noticed at the end of the
//! input. The search then goes on behind the line of that quote ([`Scan::leave_unclosed`]).
//!
//! Invariant: all loops find the same ends of records as [`naive`](super::naive).

use std::ops::ControlFlow::{self, Break, Continue};
use std::ops::Range;

use super::delimiter::{Delimiter, is_blank};
use super::dialect::Marks;
use super::find::{BLOCKS, Finder};
use super::repeats::Repeats;
use crate::needles::{Masks, mask, masks, odd, short};

/// The smallest number of hits in a block for which it is faster to process all hits at once.
const HITS_MIN: u32 = 8;

/// The state of the search through a part.
pub(super) struct Scan {
    part_bytes: usize,
    record_bytes_max: usize,
    repeats: Repeats,
    /// `true` if an empty line is a record of one empty field.
    blank_rows: bool,
    /// The start of the part in the input, in bytes.
    byte: u64,
    pub(super) records_max: u64,
    /// The number of bytes that are searched.
    seen: usize,
    /// The start of the current record.
    pub(super) record: usize,
    /// `true` if all of the input has been read.
    ended: bool,
    /// `true` within quotes.
    quoted: bool,
    /// The position one past the last closing quote. Another quote at this position makes the two a doubled quote.
    reopens: usize,
    /// The position one past the last escaped byte.
    escaped: usize,
    /// `true` behind text after a closing quote: quotes mean nothing up to the end of the line.
    broken: bool,
    /// The number of records that have ended.
    pub(super) records: u64,
    /// The number of lines that have ended.
    pub(super) lines: u64,
    /// The start of the current record behind leading blanks that separate nothing; used only for a wide delimiter.
    content: usize,
    /// The start of the current field; used only for a wide delimiter.
    field: usize,
}

impl Scan {
    pub(super) fn new(
        part_bytes: usize,
        record_bytes_max: usize,
        records_max: u64,
        repeats: Repeats,
        byte: u64,
    ) -> Scan {
        Scan {
            part_bytes,
            record_bytes_max,
            repeats,
            blank_rows: false,
            byte,
            records_max,
            seen: 0,
            record: 0,
            ended: false,
            quoted: false,
            reopens: usize::MAX,
            escaped: 0,
            broken: false,
            records: 0,
            lines: 0,
            content: 0,
            field: 0,
        }
    }

    /// Sets whether empty lines are records of one empty field.
    pub(super) fn with_blank_rows(mut self, blank_rows: bool) -> Scan {
        self.blank_rows = blank_rows;
        self
    }

    /// Searches the new bytes of `data`. Returns the position of the cut, if found. `ended` is `true` if nothing follows `data`.
    pub(super) fn run(
        &mut self,
        marks: Marks,
        delimiter: &Delimiter,
        data: &[u8],
        ended: bool,
    ) -> Option<usize> {
        self.ended = ended;
        let end = data.len().saturating_sub(unseen(marks, delimiter, ended));
        let quote = marks.quote_needle();
        let ran = if delimiter.is_wide() {
            self.wide(marks, delimiter, data, end)
        } else if marks.are_plain() {
            self.blocks([quote, b'\n', b'\r'], marks, data, end)
        } else {
            self.blocks([quote, b'\n', b'\r', marks.escape_needle()], marks, data, end)
        };
        match ran {
            Break(cut) => cut,
            Continue(()) => {
                self.seen = self.seen.max(end);
                None
            }
        }
    }

    /// Searches `data` hit by hit, for a wide delimiter.
    fn wide(
        &mut self,
        marks: Marks,
        delimiter: &Delimiter,
        data: &[u8],
        end: usize,
    ) -> ControlFlow<Option<usize>> {
        let from = self.seen.min(end);
        for at in Finder::new(&data[..end], from, wide_needles(marks, delimiter)) {
            let byte = data[at];
            let comment = marks.comment_at(data, self.content());
            if matches!(byte, b'\n' | b'\r') {
                let is_text = self.quoted
                    || marks.escapes_unquoted && is_escaped(data, at, self.escaped)
                    || !ends_record(data, at, marks);
                self.line_end(data, at, is_text, comment || at == self.content())?;
                if !is_text {
                    (self.content, self.field) = (self.record, self.record);
                }
            } else if comment || self.broken || at < self.escaped {
                // The byte is part of a comment, of text after a closing quote, or of an escape: it has no special meaning.
            } else if self.quoted {
                if byte == marks.quote {
                    self.quoted = false;
                    self.reopens = at + 1;
                    let next = may_follow_quote(data, at + 1, marks);
                    self.broken = !next && delimiter.bytes_at(&data[at + 1..]) == 0;
                } else if byte == marks.escape {
                    self.escaped = at + 2;
                }
            } else if byte == marks.escape && marks.escapes_unquoted {
                self.escaped = at + 2;
            } else if byte == marks.quote {
                self.quoted = at == self.reopens || at == self.field;
                if !self.quoted && at > self.field && are_blanks(&data[self.field..at]) {
                    self.open_after_blanks(data, at, delimiter, marks)?;
                }
            } else if at >= self.field {
                let bytes = delimiter.bytes_at(&data[at..]);
                if bytes > 0 {
                    if delimiter.is_whitespace() && at == self.content() {
                        self.content = at + bytes;
                    }
                    self.field = at + bytes;
                }
            }
        }
        Continue(())
    }

    /// Returns the start of the current record, behind leading blanks that separate nothing.
    pub(super) fn content(&self) -> usize {
        self.content.max(self.record)
    }

    /// Searches `data` block by block, for a delimiter of one byte. Escapes and comments can occur only if there are four needles.
    fn blocks<const N: usize>(
        &mut self,
        needles: [u8; N],
        marks: Marks,
        data: &[u8],
        end: usize,
    ) -> ControlFlow<Option<usize>> {
        let (blocks, rest) = data[self.seen..end].as_chunks();
        let mut at = self.seen;
        let mut found = [Masks::default(); BLOCKS];
        for some in blocks.chunks(BLOCKS) {
            masks(some, needles, &mut found);
            for (block, Masks { all: hits, .. }) in some.iter().zip(found) {
                if hits != 0 {
                    self.block::<N>(block, at, hits, marks, data)?;
                }
                at += block.len();
            }
        }
        if !rest.is_empty() {
            let (block, bits) = short(rest);
            self.block::<N>(&block, at, mask(&block, needles) & bits, marks, data)?;
        }
        Continue(())
    }

    #[inline]
    fn block<const N: usize>(
        &mut self,
        block: &[u8; 64],
        at: usize,
        mut hits: u64,
        marks: Marks,
        data: &[u8],
    ) -> ControlFlow<Option<usize>> {
        if N == 3 && hits.count_ones() >= HITS_MIN && self.many(block, at, hits, marks, data)? {
            return Continue(());
        }
        while hits != 0 {
            self.hit::<N>(data, at + hits.trailing_zeros() as usize, marks)?;
            hits &= hits - 1;
        }
        Continue(())
    }

    /// Processes all hits of a block at once. Returns `false`, and changes nothing, if the block must be processed hit by hit.
    fn many(
        &mut self,
        block: &[u8; 64],
        at: usize,
        hits: u64,
        marks: Marks,
        data: &[u8],
    ) -> ControlFlow<Option<usize>, bool> {
        if self.broken {
            return Continue(false);
        }
        // If the dialect has no quote, `marks.quote` is a byte that is never a hit.
        let quotes = mask(block, [marks.quote]) & hits;
        let quoted = odd(quotes) << 1 ^ if self.quoted { u64::MAX } else { 0 };
        let opening = quotes & !quoted;
        let first = at == self.record || at == self.reopens || data[at - 1] == marks.delimiter;
        let around = mask(block, [marks.delimiter]) | hits;
        let may_open = around << 1 | u64::from(first);
        if opening & !may_open != 0 || self.breaks(at, quotes & quoted, around, marks, data) {
            return Continue(false);
        }
        let mut line_ends = hits & !quotes;
        while line_ends != 0 {
            let bit = line_ends.trailing_zeros();
            line_ends &= line_ends - 1;
            self.line_end(data, at + bit as usize, quoted >> bit & 1 == 1, false)?;
        }
        if quotes != 0 {
            let last = 63 - quotes.leading_zeros();
            self.quoted = opening >> last & 1 == 1;
            self.reopens = if self.quoted { self.reopens } else { at + last as usize + 1 };
        }
        Continue(true)
    }

    /// Returns `true` if text follows one of the closing quotes in the block at `at`. `closing` has the bits of the closing quotes, and
    /// `around` the bits of the bytes that may follow them: delimiters, quotes and line ends.
    fn breaks(&self, at: usize, closing: u64, around: u64, marks: Marks, data: &[u8]) -> bool {
        if closing == 0 {
            return false;
        }
        // The byte behind the last closing quote may be in the next block.
        let last = 63 - closing.leading_zeros();
        let before_last = closing & !(1 << last);
        before_last & !(around >> 1) != 0 || !may_follow(data, at + last as usize + 1, marks)
    }

    /// Continues the search at `end`, a line end or the end of the input, as if the current record ended there. A quote of this record
    /// never closes.
    pub(super) fn leave_unclosed(&mut self, data: &[u8], end: usize) {
        let lines = Finder::new(&data[..end], 0, [b'\n', b'\r']).filter(|&at| ends_line(data, at));
        self.lines = lines.count() as u64;
        (self.seen, self.quoted, self.reopens, self.escaped) = (end, false, usize::MAX, 0);
    }

    /// Returns `true` if the searched bytes end within quotes.
    pub(super) fn is_quoted(&self) -> bool {
        self.quoted
    }

    /// Processes one hit, for a delimiter of one byte.
    #[inline]
    fn hit<const N: usize>(&mut self, data: &[u8], at: usize, marks: Marks) -> ControlFlow<Option<usize>> {
        let comment = N == 4 && marks.comment_at(data, self.record);
        if N == 4 && data[at] == marks.escape {
            let escapes = self.quoted || marks.escapes_unquoted && !comment && !self.broken;
            if escapes && at >= self.escaped {
                self.escaped = at + 2;
            }
        } else if data[at] != marks.quote {
            let is_text = self.quoted
                || N == 4
                    && (marks.escapes_unquoted && is_escaped(data, at, self.escaped)
                        || !ends_record(data, at, marks));
            return self.line_end(data, at, is_text, comment);
        } else if !comment && !self.broken && at >= self.escaped {
            // No field begins behind an escaped delimiter.
            let follows = || at > self.escaped && data[at.saturating_sub(1)] == marks.delimiter;
            let opens = at == self.reopens || at == self.record || follows();
            if self.quoted {
                self.reopens = at + 1;
                self.broken = !may_follow(data, at + 1, marks);
                self.quoted = false;
            } else if opens {
                self.quoted = true;
            } else if is_blank(data[at - 1]) && self.follows_blanks(data, at, marks) {
                self.open_after_blanks(data, at, &Delimiter::from(marks.delimiter), marks)?;
            }
        }
        Continue(())
    }

    /// Returns `true` if only blanks stand between the start of a field and `at`, for a delimiter of one byte.
    #[cold]
    fn follows_blanks(&self, data: &[u8], at: usize, marks: Marks) -> bool {
        let is_text = |&byte: &u8| byte == marks.delimiter || !is_blank(byte);
        let start =
            data[self.record..at].iter().rposition(is_text).map_or(self.record, |at| self.record + at + 1);
        start < at && (start == self.record || start > self.escaped && data[start - 1] == marks.delimiter)
    }

    /// Opens a field whose quote at `at` follows blanks, if the field closes in the same line. Breaks with `None` if `data` ends before
    /// that is known.
    #[cold]
    fn open_after_blanks(
        &mut self,
        data: &[u8],
        at: usize,
        delimiter: &Delimiter,
        marks: Marks,
    ) -> ControlFlow<Option<usize>> {
        match closes_in_line(data, at, delimiter, marks, self.ended) {
            Some(closes) => self.quoted = closes,
            None => {
                self.seen = at;
                return Break(None);
            }
        }
        Continue(())
    }

    /// Processes a line end. Breaks with the position of the cut, or with `None` if the record is too long. If `quoted` is `true`, the line
    /// end is text.
    #[inline]
    fn line_end(
        &mut self,
        data: &[u8],
        at: usize,
        quoted: bool,
        comment: bool,
    ) -> ControlFlow<Option<usize>> {
        let ends_line = ends_line(data, at);
        self.lines += u64::from(ends_line);
        if quoted {
            return Continue(());
        }
        self.broken = false;
        if at - self.record > self.record_bytes_max {
            self.seen = at;
            return Break(None);
        }
        let is_record = match at > self.record {
            true if self.repeats.may_be(at - self.record) => !comment && !self.skips(data, self.record..at),
            true => !comment,
            false => self.blank_rows && is_empty_line(data, at),
        };
        self.records += u64::from(is_record);
        self.record = at + 1;
        if ends_line && (at + 1 >= self.part_bytes || self.records >= self.records_max) {
            return Break(Some(at + 1));
        }
        Continue(())
    }

    /// Returns `true` if a record repeats the header and is no row.
    #[cold]
    pub(super) fn skips(&self, data: &[u8], record: Range<usize>) -> bool {
        let byte = self.byte + record.start as u64;
        self.repeats.skips(&data[record], byte) == Some(true)
    }

    /// Returns `true` if enough of the current record has been read to see that the record is too long.
    pub(super) fn record_too_long(
        &self,
        marks: Marks,
        delimiter: &Delimiter,
        data_bytes: usize,
        ended: bool,
    ) -> bool {
        // The line end may be among the bytes that are not searched yet.
        data_bytes - self.record > self.record_bytes_max + unseen(marks, delimiter, ended)
    }
}

/// Returns `true` if a field whose quote is at `at` closes in the same line, before a delimiter or the line end; `None` if `data` ends
/// before that is known. `ended` is `true` if nothing follows `data`. A quote after blanks opens a field only if this function returns
/// `true`.
#[cold]
pub(super) fn closes_in_line(
    data: &[u8],
    at: usize,
    delimiter: &Delimiter,
    marks: Marks,
    ended: bool,
) -> Option<bool> {
    let is_line_end = |byte: u8| matches!(byte, b'\n' | b'\r');
    let mut finder = Finder::new(data, at + 1, [marks.quote, b'\n', b'\r', marks.escape_needle()]);
    let mut from = 0;
    for at in &mut finder {
        let byte = data[at];
        if at < from && !is_line_end(byte) {
            continue;
        }
        if is_line_end(byte) {
            return Some(false);
        }
        if byte == marks.escape {
            from = at + 2;
            continue;
        }
        match data.get(at + 1) {
            Some(&next) if next == marks.quote => from = at + 2,
            Some(&next) if is_line_end(next) => return Some(true),
            None if ended => return Some(true),
            None => return None,
            Some(_) if data.len() - at <= delimiter.as_bytes().len() && !ended => return None,
            Some(_) => return Some(delimiter.bytes_at(&data[at + 1..]) > 0),
        }
    }
    if ended { Some(false) } else { None }
}

/// Returns `true` if all bytes of `text`, at least one, are blanks.
pub(super) fn are_blanks(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&byte| is_blank(byte))
}

/// Returns `true` if the byte at `at` may follow a closing quote, for a delimiter of one byte.
#[inline]
fn may_follow(data: &[u8], at: usize, marks: Marks) -> bool {
    data.get(at).is_some_and(|&next| next == marks.delimiter) || may_follow_quote(data, at, marks)
}

/// Returns `true` if a quote, the end of a record or the end of the input is at `at`.
#[inline]
fn may_follow_quote(data: &[u8], at: usize, marks: Marks) -> bool {
    match data.get(at) {
        Some(b'\n') => !marks.only_crlf,
        Some(b'\r') => ends_record(data, at, marks),
        byte => byte.is_none_or(|&byte| byte == marks.quote),
    }
}

/// Returns `true` if the line end at `at`, outside of quotes, ends a record: it is no text.
#[inline]
pub(super) fn ends_record(data: &[u8], at: usize, marks: Marks) -> bool {
    !marks.only_crlf
        || match data[at] {
            b'\r' => data.get(at + 1) == Some(&b'\n'),
            _ => at > 0 && data[at - 1] == b'\r',
        }
}

/// Returns `true` if the byte at `at`, outside of quotes, is text because an escape precedes the byte. `escaped` is the position one past
/// the last escaped byte. A CRLF is escaped as a whole.
#[inline]
pub(super) fn is_escaped(data: &[u8], at: usize, escaped: usize) -> bool {
    at < escaped || at == escaped && at >= 2 && data[at - 1..=at] == *b"\r\n"
}

/// Returns the number of bytes at the end of the data that are not searched before more is read. The meaning of a CR depends on the next
/// byte, and the meaning of a closing quote depends on the delimiter or the CRLF that may follow.
fn unseen(marks: Marks, delimiter: &Delimiter, ended: bool) -> usize {
    if ended { 0 } else { delimiter.as_bytes().len() + usize::from(marks.only_crlf) }
}

/// Returns the needles for a wide delimiter. The first byte of the delimiter, or a space and a tab for a run of blanks, come first.
pub(super) fn wide_needles(marks: Marks, delimiter: &Delimiter) -> [u8; 6] {
    let second = if delimiter.is_whitespace() { b'\t' } else { marks.delimiter };
    [marks.delimiter, second, marks.quote_needle(), b'\n', b'\r', marks.escape_needle()]
}

/// Returns `true` if the line end at `at` ends a line. The CR of a CRLF ends only the record, and the LF ends the line.
#[inline]
pub(super) fn ends_line(data: &[u8], at: usize) -> bool {
    data[at] == b'\n' || data.get(at + 1) != Some(&b'\n')
}

/// Returns `true` if the line end at `at`, where a record might begin, ends an empty line. The LF of a CRLF ends no empty line.
#[inline]
pub(super) fn is_empty_line(data: &[u8], at: usize) -> bool {
    !(at > 0 && data[at - 1..=at] == *b"\r\n")
}
