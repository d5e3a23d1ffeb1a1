//! Reads the records of a sample with a dialect.
//!
//! Thousands of samples are read, each with several dialects. So a plain line, which is valid and has no escapes and no quotes within its
//! values, is split at its delimiters, and nothing is copied. Any other line goes through the slow parser. Both give the same fields.

use std::borrow::Cow;
use std::cell::OnceCell;

use sqluice_format::limits::COLUMNS_MAX;

use super::super::delimiter::{Delimiter, is_blank};
use super::super::dialect::{Dialect, LineEnd};
use super::super::malformed::What;
use super::super::naive::{self, Limits, Parser, Width};
use super::cell::{CellKind, kind};
use crate::text::Position;

/// The most times that the later lines of a malformed record are read again.
const RESTARTS_MAX: usize = 16;

/// The number of lines from which on a quoted field that the sample cuts off is taken for a stray quote.
const QUOTED_LINES_MAX: usize = 50;

/// A field of a sample: its value, unescaped and without quotes, and the kind of the value, once it is asked for.
#[derive(Clone, Debug)]
pub(in super::super) struct Field<'s> {
    pub(in super::super) value: Cow<'s, [u8]>,
    pub(super) quoted: bool,
    kind: OnceCell<CellKind>,
}

impl<'s> Field<'s> {
    pub(super) fn new(value: impl Into<Cow<'s, [u8]>>, quoted: bool) -> Field<'s> {
        Field { value: value.into(), quoted, kind: OnceCell::new() }
    }

    /// Returns the kind of the value.
    pub(super) fn kind(&self) -> CellKind {
        *self.kind.get_or_init(|| kind(&self.value))
    }
}

/// A record of a sample, and the line on which the record begins.
#[derive(Clone, Debug)]
pub(super) struct Row<'s> {
    /// The fields; empty if the record is malformed.
    pub(super) fields: Vec<Field<'s>>,
    pub(super) line: u64,
}

impl Row<'_> {
    pub(super) fn begins_as_comment(&self) -> bool {
        self.fields.first().is_some_and(|field| !field.quoted && field.value.starts_with(b"#"))
    }

    /// Returns `true` if the first field is a phrase, such as `Sales of May`, or the record is malformed.
    pub(super) fn has_several_words(&self) -> bool {
        let words = self.fields.first().map(|field| field.value.split(|&byte| byte == b' '));
        words.is_none_or(|words| words.filter(|word| !word.is_empty()).count() >= 2)
    }

    /// Returns `true` if the record might be a title before a table: a record that has words, begins as a comment or is malformed.
    pub(super) fn is_title(&self) -> bool {
        let words = |field: &Field<'_>| {
            str::from_utf8(&field.value).is_ok_and(|text| text.contains(char::is_alphabetic))
        };
        self.fields.is_empty() || self.begins_as_comment() || self.fields.iter().any(words)
    }
}

/// Returns the records of a sample whose first byte is on `line`. A record that the end of the sample cuts off is left out.
pub(super) fn rows(sample: &[u8], line: u64, whole: bool, dialect: Dialect) -> Vec<Row<'_>> {
    let mut records = Records { sample, read: 0, line, whole, dialect, restarts: 0, rows: Vec::new() };
    while records.read < sample.len() {
        if !records.take_plain_line() && !records.take_record() {
            break;
        }
    }
    records.rows
}

struct Records<'s> {
    sample: &'s [u8],
    /// The number of bytes of `sample` that are read, up to a record or a line end.
    read: usize,
    /// The line of the next byte to read.
    line: u64,
    whole: bool,
    dialect: Dialect,
    restarts: usize,
    rows: Vec<Row<'s>>,
}

impl<'s> Records<'s> {
    /// Takes the next line if [`split`] can split it: its fields become a record. Returns `false` if the line is not plain, or is cut off.
    fn take_plain_line(&mut self) -> bool {
        let rest = &self.sample[self.read..];
        let end = match self.dialect.line_end {
            LineEnd::Any => memchr::memchr2(b'\n', b'\r', rest),
            LineEnd::Crlf => memchr::memmem::find(rest, b"\r\n"),
        };
        let Some(end) = end.or(self.whole.then_some(rest.len())) else {
            return false;
        };
        let text = &rest[..end];
        let is_text = || memchr::memchr(0, text).is_none() && str::from_utf8(text).is_ok();
        if !text.is_empty() {
            let usual = self.rows.last().map_or(0, |row| row.fields.len());
            match split(text, self.dialect, usual).filter(|_| is_text()) {
                Some(fields) if fields.is_empty() => {}
                Some(fields) => self.rows.push(Row { fields, line: self.line }),
                None => return false,
            }
        }
        self.read += end + if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        self.line += 1 + ends(text).count() as u64;
        true
    }

    /// Takes a record with the slow parser. Returns `false` if nothing more can be read.
    fn take_record(&mut self) -> bool {
        let limits = Limits { field_bytes_max: usize::MAX, record_bytes_max: usize::MAX };
        let at = Position { byte: 0, line: self.line, column: 1 };
        let Some(record) =
            Parser::new(&self.sample[self.read..], at, self.dialect, limits).record(Width::First)
        else {
            return false;
        };
        let bytes = self.read + record.bytes.start..self.read + record.bytes.end;
        let text = &self.sample[bytes.clone()];
        let unclosed = record.unclosed;
        let cut_off = !self.whole && (unclosed || bytes.end == self.sample.len());
        let swallowed = if unclosed { &self.sample[bytes.start..] } else { text };
        let line = record.at.line;
        match record.fields.map_err(|malformed| malformed.what) {
            Ok(_) if cut_off => return false,
            Ok(fields) => {
                let owned = |field: naive::Field| Field::new(field.value, field.quoted);
                self.rows.push(Row { fields: fields.into_iter().map(owned).collect(), line });
            }
            // These faults say nothing about the dialect, as they are faults in any dialect.
            Err(What::InvalidUtf8(_) | What::Nul) => {}
            Err(_) => {
                if cut_off && (!unclosed || ends(swallowed).count() < QUOTED_LINES_MAX) {
                    return false;
                }
                self.rows.push(Row { fields: Vec::new(), line });
                // A stray quote is the fault of one record: the lines after the first are read again.
                if let Some(end) = ends(text).next()
                    && self.restarts < RESTARTS_MAX
                {
                    self.restarts += 1;
                    self.read = bytes.start + end;
                    self.line = line + 1;
                    return true;
                }
            }
        }
        self.read = bytes.end;
        self.line = line + ends(text).count() as u64;
        true
    }
}

/// Splits a line into its fields; a blank line or a comment has no fields. Returns `None` if the line needs the slow parser. `usual` is
/// the likely number of fields.
pub(in super::super) fn split(text: &[u8], dialect: Dialect, usual: usize) -> Option<Vec<Field<'_>>> {
    let Dialect { delimiter, quote, escape, comment, .. } = dialect;
    let blanks = delimiter.is_whitespace();
    let mut rest = if blanks { &text[delimiter.bytes_at(text)..] } else { text };
    let mut fields = Vec::with_capacity(usual);
    if rest.is_empty() || rest.first().copied() == comment {
        return Some(fields);
    }
    if dialect.unquoted_escape().is_some_and(|escape| memchr::memchr(escape, rest).is_some()) {
        return None;
    }
    loop {
        let quoted = quote.is_some() && rest.first().copied() == quote;
        if quote.is_some() && rest.first().is_some_and(|&first| is_blank(first)) {
            let text = &rest[rest.iter().take_while(|&&byte| is_blank(byte)).count()..];
            // The slow parser decides if this quote opens the field.
            if text.first().copied() == quote {
                return None;
            }
        }
        let end = if quoted {
            let close = memchr::memchr(quote?, &rest[1..])? + 1;
            let value = &rest[1..close];
            if escape.is_some_and(|escape| memchr::memchr(escape, value).is_some()) {
                return None;
            }
            fields.push(Field::new(value, true));
            close + 1
        } else {
            let end = find(delimiter, rest).unwrap_or(rest.len());
            fields.push(Field::new(&rest[..end], false));
            end
        };
        rest = &rest[end..];
        if rest.is_empty() {
            break;
        }
        match delimiter.bytes_at(rest) {
            0 => return None,
            bytes => rest = &rest[bytes..],
        }
        // Blanks at the end of a line separate nothing.
        if blanks && rest.is_empty() {
            break;
        }
    }
    Some(fields).filter(|fields| fields.len() <= COLUMNS_MAX)
}

/// Returns the start of the next delimiter.
fn find(delimiter: Delimiter, text: &[u8]) -> Option<usize> {
    match delimiter.as_bytes() {
        _ if delimiter.is_whitespace() => text.iter().position(|&byte| is_blank(byte)),
        &[byte] => memchr::memchr(byte, text),
        bytes => memchr::memmem::find(text, bytes),
    }
}

/// Returns the position behind each line end of `text`.
fn ends(text: &[u8]) -> impl Iterator<Item = usize> {
    let ends = |&at: &usize| text[at] == b'\n' || text[at] == b'\r' && text.get(at + 1) != Some(&b'\n');
    (0..text.len()).filter(ends).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::super::delimiter::Delimiter;
    use super::super::super::dialect::Dialect;
    use super::super::super::naive::{Limits, Parser, Width};
    use super::rows;
    use crate::text::Position;

    /// A record: its line, and the values of its fields with `true` for quoted fields.
    type Plain = (u64, Vec<(Vec<u8>, bool)>);

    fn slow(text: &[u8], dialect: Dialect) -> Vec<Plain> {
        let limits = Limits { field_bytes_max: usize::MAX, record_bytes_max: usize::MAX };
        let mut parser = Parser::new(text, Position { byte: 0, line: 1, column: 1 }, dialect, limits);
        let mut rows = Vec::new();
        while let Some(record) = parser.record(Width::First) {
            let fields = record.fields.expect("lines of this test are sound");
            rows.push((
                record.at.line,
                fields.into_iter().map(|field| (field.value, field.quoted)).collect(),
            ));
        }
        rows
    }

    fn delimiter() -> impl Strategy<Value = Delimiter> {
        select(vec![",", ";", "tab", "||", ", ", "¦", "whitespace", "none", "\u{1f}"])
            .prop_map(|text| text.parse().unwrap())
    }

    /// Makes lines of fields that are unquoted, perhaps with a quote inside, or quoted as a whole.
    fn line(delimiter: Delimiter) -> impl Strategy<Value = Vec<u8>> {
        let field = select(vec![
            "",
            "a",
            "x y",
            " ",
            "12,5",
            "a;b",
            "é¦",
            "it's",
            "c\\d",
            "#",
            "q\"r",
            "\"p q\"",
            "\"\"",
            "\"a\"\"b\"",
            "\"two\nlines\"",
            "\"r\r\nn\"",
            "\"a,b\"",
        ]);
        let between = delimiter.as_bytes().to_vec();
        prop::collection::vec(field, 0..6).prop_map(move |fields| {
            fields.iter().map(|field| field.as_bytes()).collect::<Vec<_>>().join(&between[..])
        })
    }

    fn sample() -> impl Strategy<Value = (Vec<u8>, Dialect)> {
        let comment = prop::option::of(Just(b'#'));
        (delimiter(), comment).prop_flat_map(|(delimiter, comment)| {
            let ended = (line(delimiter), select(vec!["\n", "\r\n", "\r"]))
                .prop_map(|(line, end)| [&line[..], end.as_bytes()].concat());
            let dialect =
                Dialect { delimiter, quote: Some(b'"'), escape: None, comment, ..Dialect::default() };
            (prop::collection::vec(ended, 0..12).prop_map(|lines| lines.concat()), Just(dialect))
        })
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn split_lines_and_the_slow_parser_give_the_same_fields((text, dialect) in sample()) {
            let limits = Limits { field_bytes_max: usize::MAX, record_bytes_max: usize::MAX };
            let mut parser = Parser::new(&text, Position { byte: 0, line: 1, column: 1 }, dialect, limits);
            let sound = std::iter::from_fn(|| parser.record(Width::First)).all(|record| record.fields.is_ok());
            prop_assume!(sound);
            let fast: Vec<Plain> = rows(&text, 1, true, dialect)
                .into_iter()
                .map(|row| {
                    let plain = |field: super::Field<'_>| (field.value.into_owned(), field.quoted);
                    (row.line, row.fields.into_iter().map(plain).collect())
                })
                .collect();
            prop_assert_eq!(fast, slow(&text, dialect));
        }
    }

    #[test]
    fn a_record_that_the_end_of_the_sample_cuts_off_is_left_out() {
        let dialect = Dialect::default();
        for (text, whole, expected) in [
            ("a,b\n1,2", false, 1),
            ("a,b\n1,2", true, 2),
            ("a,b\n1,2\n", false, 2),
            ("a,b\n\"1,2", false, 1),
        ] {
            assert_eq!(rows(text.as_bytes(), 1, whole, dialect).len(), expected, "{text:?}");
        }
    }
}
