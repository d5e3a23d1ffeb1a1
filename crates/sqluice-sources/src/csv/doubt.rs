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

use std::sync::{Mutex, PoisonError};

use sqluice_core::error::{Message, Place, Setting, message};

use super::CsvOptions;
use super::dialect::Dialect;
use super::malformed::{Malformed, What};
use super::naive::Record;
use super::sniff::{is_number_or_missing, split};

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

/// Returns the fault of a sound record that has a field which may be rows; `text` is that of the record.
pub(super) fn doubt(record: &Record, text: &[u8], options: &CsvOptions, fields: usize) -> Option<Malformed> {
    let has_lines = |value: &[u8]| memchr::memchr2(b'\n', b'\r', value).is_some();
    let found = record.fields.as_ref().ok()?;
    let of_lines = found.iter().find(|field| field.quoted && has_lines(&field.value))?;
    let lines = rows_in(text, options, fields)?;
    Some(Malformed { at: of_lines.at, what: What::CouldBeRows { lines } })
}

/// Returns the number of lines of a record, if each of them could be a row; blank lines and comments don't count.
pub(super) fn rows_in(text: &[u8], options: &CsvOptions, fields: usize) -> Option<u64> {
    // Any line is a row of one column.
    if fields < 2 {
        return None;
    }
    let dialect = Dialect { quote: None, escape: None, ..options.dialect };
    let mut lines = 0;
    for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let values = split(line, dialect, fields)?;
        if values.is_empty() {
            continue;
        }
        let fits = |(column, value): (usize, &[u8])| {
            !options.numbers.get(column).is_some_and(|&numbers| numbers) || is_number_or_missing(value)
        };
        if values.len() != fields || !values.iter().map(|field| &*field.value).enumerate().all(fits) {
            return None;
        }
        lines += 1;
    }
    (lines >= 2).then_some(lines)
}
