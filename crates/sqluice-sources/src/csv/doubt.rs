//! Quoted fields of several lines that may be rows: a stray quote opens a field, and another stray quote, many lines later, closes the
//! field.
//!
//! ```text
//!  id,name,city
//!  1,Ann,Oslo
//!  2,"Bob,Rome      a doubt: with the quotes as text, each of these three lines is a row,
//!  3,Cid,Bern       and each value fits its column
//!  4,Dan",Wien
//!  5,"Eve           no doubt: this line has two fields
//!  the second",Prag
//! ```
//!
//! A field that may be rows is well formed, and is loaded as one value: the text of a field must never become rows. A warning names the
//! first of these fields. With [`CsvOptions::strict_quotes`], a record with one of these fields is malformed.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use sqluice_core::error::{Message, Place, Setting, message};

use super::CsvOptions;
use super::dialect::Dialect;
use super::malformed::{Malformed, What};
use super::naive::Record;
use super::sniff::{Field, is_number_or_missing, split};

/// The collector of the quoted fields whose lines may be rows.
#[derive(Debug, Default)]
pub struct Doubts(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    fields: u64,
    /// The place of the first of these fields in the file, and the number of lines of this field.
    first: Option<(Place, u64)>,
}

impl Doubts {
    /// Forgets all fields.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Found::default();
    }

    /// Adds a field that begins at `place` and has `lines` lines.
    pub(super) fn add(&self, place: Place, lines: u64) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.fields += 1;
        if found.first.as_ref().is_none_or(|(first, _)| place.byte < first.byte) {
            found.first = Some((place, lines));
        }
    }

    /// Returns the warning about the fields, if any field was added.
    pub fn warning(&self) -> Option<Message> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, lines) = found.first.as_ref()?;
        let more = match found.fields - 1 {
            0 => String::new(),
            1 => " (1 more field is like it)".to_owned(),
            more => format!(" ({more} more fields are like it)"),
        };
        Some(message![
            format!(
                "{place}: the quoted field that begins here has {lines} lines, and each of them could be a row{more}. It is loaded as one \
                 value; if the quote is text: "
            ),
            Setting::Quote.to("none"),
        ])
    }
}

/// The properties of a usual record: the number of its fields, and the bytes of the header.
#[derive(Clone, Copy)]
pub(super) struct Usual<'a> {
    pub(super) fields: usize,
    pub(super) header: &'a [u8],
}

/// Returns the fault of a well-formed record if one of its fields may be rows. `text` is the text of the record.
pub(super) fn doubt(
    record: &Record,
    text: &[u8],
    options: &CsvOptions,
    usual: Usual<'_>,
) -> Option<Malformed> {
    let fields = record.fields.as_ref().ok()?;
    let doubted = |at, lines| Malformed { at, what: What::CouldBeRows { lines } };
    let has_lines = |text: &[u8]| memchr::memchr2(b'\n', b'\r', text).is_some();
    // The quoted text is searched as it stands in the file, not the value: an escape that means a line end makes no line.
    let of_lines = || {
        fields.iter().enumerate().filter(|(_, field)| field.quoted).filter_map(|(column, field)| {
            // Blanks may precede the quote.
            let begin = (field.at.byte - record.at.byte) as usize;
            let open = begin + text[begin..].iter().position(|byte| Some(*byte) == options.dialect.quote)?;
            let quotes = open..closing(text, open, options.dialect)?;
            has_lines(&text[quotes.clone()]).then_some((column, field.at, quotes))
        })
    };
    let (_, first, _) = of_lines().next()?;
    if let Some(lines) = all_rows_in(text, options, usual) {
        return Some(doubted(first, lines));
    }
    of_lines()
        .find_map(|(column, at, quotes)| Some(doubted(at, rows_in(text, column, quotes, options, usual)?)))
}

/// Returns `false` if no field of a record can be rows: the file has one column, or the record has too few delimiters for two rows.
/// Delimiters are only counted if the delimiter is one byte, because this is cheap. `text` is the text of the record, perhaps with more
/// text behind the record.
#[inline]
pub(super) fn may_be_rows(text: &[u8], options: &CsvOptions, usual: Usual<'_>) -> bool {
    let delimiter = options.dialect.delimiter;
    // With `pad`, the last row may lack fields.
    let rows = if options.pad { 1 } else { 2 };
    // Records are short: a plain loop counts faster than repeated searches do.
    let delimiters = || text.iter().filter(|byte| **byte == delimiter.first()).count();
    let has_delimiters = || delimiters() >= rows * (usual.fields - 1);
    // In a file of one column, any line could be a row, so nothing is doubted.
    usual.fields >= 2 && (delimiter.is_wide() || has_delimiters())
}

/// Returns the position of the closing quote of a field whose opening quote is at `open`.
fn closing(text: &[u8], open: usize, dialect: Dialect) -> Option<usize> {
    let mut at = open + 1;
    loop {
        match *text.get(at)? {
            byte if Some(byte) == dialect.quote && text.get(at + 1).copied() == dialect.quote => at += 2,
            byte if Some(byte) == dialect.quote => return Some(at),
            byte if Some(byte) == dialect.escape => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the number of lines of a record, if each line could be a row with all quotes as text. Blank lines, comments and lines that
/// repeat the header don't count. This test finds records with several stray quotes, in which several fields seem to be quoted.
fn all_rows_in(text: &[u8], options: &CsvOptions, usual: Usual<'_>) -> Option<u64> {
    let dialect = Dialect { quote: None, escape: None, ..options.dialect };
    let mut lines = 0;
    for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let values = split(line, dialect, usual.fields)?;
        if values.is_empty() || line == usual.header {
            continue;
        }
        if values.len() != usual.fields || !all_fit(options, 0, &values) {
            return None;
        }
        lines += 1;
    }
    (lines >= 2 && usual.fields >= 2).then_some(lines)
}

/// Returns `true` if the columns from `from` on may have these values: no value in a column of numbers is text. A stray quote around a
/// number does not make the number text.
fn all_fit(options: &CsvOptions, from: usize, values: &[Field<'_>]) -> bool {
    let is_quote = |byte: &u8| options.dialect.quote == Some(*byte);
    let is_number = |value: &[u8]| {
        let value = if value.first().is_some_and(is_quote) { &value[1..] } else { value };
        let value = if value.last().is_some_and(is_quote) { &value[..value.len() - 1] } else { value };
        is_number_or_missing(value)
    };
    values.iter().enumerate().all(|(at, field)| {
        !options.numbers.get(from + at).is_some_and(|&numbers| numbers) || is_number(&field.value)
    })
}

/// Returns the number of lines of a quoted field, if each line could be a row with the quotes of the field as text. Blank lines, comments
/// and lines that repeat the header don't count.
///
/// * `text`: the text of the record, perhaps with more text behind the record.
/// * `column`: the column of the field.
/// * `quotes`: the positions of the opening and the closing quote in `text`.
fn rows_in(
    text: &[u8],
    column: usize,
    quotes: Range<usize>,
    options: &CsvOptions,
    usual: Usual<'_>,
) -> Option<u64> {
    // In a file of one column, any line could be a row, so nothing is doubted.
    if usual.fields < 2 {
        return None;
    }
    let dialect = Dialect { quote: None, escape: None, ..options.dialect };
    let is_end = |&byte: &u8| matches!(byte, b'\n' | b'\r');
    let last = quotes.start + text[quotes.clone()].iter().rposition(is_end)? + 1;
    let mut lines = 0;
    // The first line is tested from the opening quote on: the quotes do not change the fields before this quote.
    let mut from = column;
    for line in text[quotes.start..last - 1].split(is_end) {
        let values = split(line, dialect, usual.fields)?;
        if from == 0 && (values.is_empty() || line == usual.header) {
            continue;
        }
        if from + values.len() != usual.fields || !all_fit(options, from, &values) {
            return None;
        }
        lines += 1;
        from = 0;
    }
    // The last line is tested up to the closing quote: the quotes do not change the fields behind this quote.
    let values = split(&text[last..=quotes.end], dialect, usual.fields)?;
    (values.len() == column + 1 && all_fit(options, 0, &values)).then_some(lines + 1)
}
