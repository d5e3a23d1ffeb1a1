//! Quoted fields of several lines that may be rows: a stray quote opens a field, and another one, many lines later, closes it.
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
//! Such a field is well formed, and is loaded as one value: a text must not bring rows. But it is reported.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use sqluice_core::error::{Message, Place, Setting, message};

use super::CsvOptions;
use super::dialect::Dialect;
use super::malformed::{Malformed, What};
use super::naive::Record;
use super::sniff::{Field, is_number_or_missing, split};

/// The fields of a file that may be rows.
#[derive(Debug, Default)]
pub struct Doubts(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    fields: u64,
    /// The first one in the file, and the number of its lines.
    first: Option<(Place, u64)>,
}

impl Doubts {
    /// Forgets all of them.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Found::default();
    }

    /// Adds a field with its place and its lines.
    pub(super) fn add(&self, place: Place, lines: u64) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.fields += 1;
        if found.first.as_ref().is_none_or(|(first, _)| place.byte < first.byte) {
            found.first = Some((place, lines));
        }
    }

    /// Returns the warning about them, if there are any.
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

/// What a record should be like: the number of its fields, and the bytes of the header.
#[derive(Clone, Copy)]
pub(super) struct Usual<'a> {
    pub(super) fields: usize,
    pub(super) header: &'a [u8],
}

/// Returns the fault of a sound record that has a field which may be rows; `text` is that of the record.
pub(super) fn doubt(
    record: &Record,
    text: &[u8],
    options: &CsvOptions,
    usual: Usual<'_>,
) -> Option<Malformed> {
    let has_lines = |value: &[u8]| memchr::memchr2(b'\n', b'\r', value).is_some();
    let fields = record.fields.as_ref().ok()?;
    let of_lines = || fields.iter().enumerate().filter(|(_, field)| field.quoted && has_lines(&field.value));
    let doubted = |at, lines| Malformed { at, what: What::CouldBeRows { lines } };
    let (_, first) = of_lines().next()?;
    if of_lines().nth(1).is_some()
        && let Some(lines) = all_rows_in(text, options, usual)
    {
        return Some(doubted(first.at, lines));
    }
    of_lines().find_map(|(column, field)| {
        // There may be blanks before the quote.
        let begin = (field.at.byte - record.at.byte) as usize;
        let open = begin + text[begin..].iter().position(|byte| Some(*byte) == options.dialect.quote)?;
        let lines = rows_in(text, column, open..closing(text, open, options.dialect)?, options, usual)?;
        Some(doubted(field.at, lines))
    })
}

/// Returns `false` if the first line of a record is surely no row. That is cheap to see where the delimiter is one byte.
pub(super) fn may_begin_with_row(text: &[u8], options: &CsvOptions, usual: Usual<'_>) -> bool {
    let line = &text[..memchr::memchr2(b'\n', b'\r', text).unwrap_or(text.len())];
    let delimiter = options.dialect.delimiter;
    delimiter.is_wide() || memchr::memchr_iter(delimiter.first(), line).count() + 1 == usual.fields
}

/// Where the quoted field closes that opens at `open`.
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

/// Returns the number of lines of a record, if each of them could be a row where all its quotes are text. A record whose quotes are stray has
/// several fields of lines: what closes one opens the next.
pub(super) fn all_rows_in(text: &[u8], options: &CsvOptions, usual: Usual<'_>) -> Option<u64> {
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

/// Returns `true` if the columns from `from` on may have these values: none of a column of numbers is text.
fn all_fit(options: &CsvOptions, from: usize, values: &[Field<'_>]) -> bool {
    values.iter().enumerate().all(|(at, field)| {
        !options.numbers.get(from + at).is_some_and(|&numbers| numbers) || is_number_or_missing(&field.value)
    })
}

/// Returns the number of lines of a quoted field, if each of them could be a row where its quotes are text. Blank lines, comments and lines
/// that repeat the header don't count.
///
/// * `text`: the record, perhaps with more behind it.
/// * `column`: the column of the field.
/// * `quotes`: where its quotes are in `text`.
pub(super) fn rows_in(
    text: &[u8],
    column: usize,
    quotes: Range<usize>,
    options: &CsvOptions,
    usual: Usual<'_>,
) -> Option<u64> {
    // Any line is a row of one column.
    if usual.fields < 2 {
        return None;
    }
    // Most fields with line ends are seen here to be text: their first and last lines lack delimiters, or have too many.
    let field = &text[quotes.clone()];
    let delimiter = options.dialect.delimiter;
    let delimiters = |text: &[u8]| memchr::memchr_iter(delimiter.first(), text).count();
    if !delimiter.is_wide() && delimiters(field) < usual.fields - 1 {
        return None;
    }
    let (first_end, last) =
        (memchr::memchr2(b'\n', b'\r', field)?, memchr::memrchr2(b'\n', b'\r', field)? + 1);
    let parts_otherwise = || {
        delimiters(&field[..first_end]) != usual.fields - 1 - column || delimiters(&field[last..]) != column
    };
    if !delimiter.is_wide() && parts_otherwise() {
        return None;
    }
    let last = quotes.start + last;
    let dialect = Dialect { quote: None, escape: None, ..options.dialect };
    let is_end = |&byte: &u8| matches!(byte, b'\n' | b'\r');
    let mut lines = 0;
    // The first line from the quote on; its fields before that are as they are.
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
    // The last line up to the closing quote; its fields after that are as they are.
    let values = split(&text[last..=quotes.end], dialect, usual.fields)?;
    (values.len() == column + 1 && all_fit(options, 0, &values)).then_some(lines + 1)
}
