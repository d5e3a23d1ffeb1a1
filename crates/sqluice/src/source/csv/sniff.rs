//! Recognises how a file is written, from its first bytes: the delimiter, the quote, and whether the first record is a header.
//!
//! ```text
//!  sample ──> read with each delimiter ──> all records alike? ──> most fields ──> header? ──> Sniffed
//!             , tab ; |   and quote " '
//! ```
//!
//! * **Delimiter.** A candidate is consistent when all records have the same number of fields, at least two. Of those
//!   that are, the one with most fields wins, then the first of comma, tab, semicolon and pipe; but comma is none where
//!   semicolons part all records and commas stand within numbers only. If none is: the candidate that makes most fields, as many
//!   of the first record as of nine in ten; else comma.
//! * **Quote.** `"`, unless it is clear that `'` is: with it all records have the same number of fields; it stands around fields,
//!   and no other field begins with `"`; and without it the records would differ, or a column has it in every record but the
//!   first, twice at least. An apostrophe at the wrong place would otherwise cost text.
//! * **Header.** A first record of names that the table has is one. So is any other, unless the values speak against it: where
//!   a column has numbers, something else at its top says header; a number there says data. Header wins. The reason: a header
//!   that is taken for data is seen at once and nothing is lost; data that is taken for a header is a lost row. So
//!   `year,2019,2020` over numbers is a header, by its word, but `country,2019,2020` over `Norway,7,8` counts as data.
//!
//! Whatever the user gave is not guessed. Empty lines and comments are no records; what a sample cuts off is not counted.
//!
//! Invariant: a guess costs at most a look at it, as the plan tells [`Sniffed::words`]; the parser then takes the file by it or
//! says what is wrong.

use super::dialect::Dialect;
use super::malformed::What;
use super::naive::{Field, Limits, Parser, Width};
use crate::affinity::{Affinity, text_to_number};
use crate::batch::Value;
use crate::source::text::Position;

/// What may be between fields, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// What is known before the file is looked at.
#[derive(Clone, Debug, Default)]
pub struct Given<'a> {
    /// The delimiter.
    pub delimiter: Option<u8>,
    /// The quote; `Some(None)`: there is none.
    pub quote: Option<Option<u8>>,
    /// The escape, which is never guessed.
    pub escape: Option<u8>,
    /// What begins a comment, which is never guessed.
    pub comment: Option<u8>,
    /// Whether there is a header.
    pub header: Option<bool>,
    /// Lines before the first record, of whatever content.
    pub skip_lines: usize,
    /// The delimiter that the file's name speaks of, as `.tsv` does.
    pub preferred: Option<u8>,
    /// The columns of the table that the file is for; none: not known.
    pub columns: &'a [&'a str],
}

impl Given<'_> {
    /// Whether a byte means nothing yet.
    fn is_free(&self, byte: u8) -> bool {
        ![self.quote.flatten(), self.escape, self.comment].contains(&Some(byte))
    }
}

/// What was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// How records are written.
    pub dialect: Dialect,
    /// Whether the first one is a header.
    pub header: bool,
    /// Whether all records of the sample have the same number of fields, so read.
    pub certain: bool,
}

impl Sniffed {
    /// In a few words, for a plan.
    pub fn words(&self) -> String {
        let delimiter = match self.dialect.delimiter {
            b',' => "comma".to_owned(),
            b'\t' => "tab".to_owned(),
            b';' => "semicolon".to_owned(),
            b'|' => "pipe".to_owned(),
            b' ' => "space".to_owned(),
            other if other.is_ascii_graphic() => format!("delimiter {}", char::from(other)),
            other => format!("delimiter {}", other.escape_ascii()),
        };
        let quote = match self.dialect.quote {
            Some(quote) => format!("quote {}", char::from(quote)),
            None => "no quote".to_owned(),
        };
        let header = if self.header { "header" } else { "no header" };
        let doubt = if self.certain { "" } else { " (the first records differ in their number of fields)" };
        format!("{delimiter}, {quote}, {header}{doubt}")
    }
}

/// Looks at the beginning of a file, decoded and without byte order mark; `whole`: it is all of the file.
pub fn sniff(sample: &[u8], whole: bool, given: &Given<'_>) -> Sniffed {
    let sample = &sample[lines_bytes(sample, given.skip_lines)..];
    let reading = match given.delimiter.or(given.preferred) {
        Some(delimiter) => with_delimiter(sample, whole, given, delimiter),
        None => {
            let free = DELIMITERS.into_iter().filter(|&delimiter| given.is_free(delimiter));
            choose(free.map(|delimiter| with_delimiter(sample, whole, given, delimiter)).collect())
        }
    };
    Sniffed {
        dialect: reading.dialect,
        header: given.header.unwrap_or_else(|| is_header(&reading.records, given.columns)),
        certain: reading.consistent_fields().is_some() || reading.is_empty(),
    }
}

/// The end of the first `lines` lines.
fn lines_bytes(sample: &[u8], lines: usize) -> usize {
    let mut at = 0;
    for _ in 0..lines {
        let line = sample[at..].iter().position(|&byte| is_line_end(byte)).unwrap_or(sample.len() - at);
        let end_bytes = if sample[at + line..].starts_with(b"\r\n") { 2 } else { 1 };
        at = sample.len().min(at + line + end_bytes);
    }
    at
}

/// The sample with a delimiter, and the quote that goes best with it.
fn with_delimiter(sample: &[u8], whole: bool, given: &Given<'_>, delimiter: u8) -> Reading {
    let Given { escape, comment, .. } = *given;
    let read = |quote| Reading::of(sample, whole, Dialect { delimiter, quote, escape, comment });
    if let Some(quote) = given.quote {
        return read(quote);
    }
    let free = |quote: &u8| *quote != delimiter && given.is_free(*quote);
    let double = read(Some(b'"').filter(free));
    let Some(single) = Some(b'\'').filter(|quote| free(quote) && sample.contains(quote)) else {
        return double;
    };
    let single = read(Some(single));
    if single.is_clear(double.consistent_fields().is_some()) { single } else { double }
}

/// The reading that makes most sense, of one at least.
fn choose(mut readings: Vec<Reading>) -> Reading {
    let semicolon = readings.iter().find(|reading| reading.dialect.delimiter == b';');
    if semicolon.is_some_and(Reading::has_decimal_commas) {
        readings.retain(|reading| reading.dialect.delimiter != b',');
    }
    let most_fields = |fields: &dyn Fn(&Reading) -> Option<usize>| {
        let with_fields = readings.iter().enumerate().map(|(index, reading)| (index, fields(reading)));
        // Of several, `max_by_key` takes the last.
        let parted = with_fields.rev().filter(|(_, fields)| fields.is_some_and(|fields| fields >= 2));
        parted.max_by_key(|(_, fields)| *fields).map(|(index, _)| index)
    };
    let index = most_fields(&Reading::consistent_fields)
        .or_else(|| most_fields(&Reading::common_fields))
        .unwrap_or(0);
    readings.swap_remove(index)
}

/// Whether the first record names the columns.
fn is_header(records: &[Vec<Field>], columns: &[&str]) -> bool {
    let Some((first, rest)) = records.split_first() else { return true };
    let is_column =
        |field: &Field| columns.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(&field.value));
    if first.iter().all(is_column) {
        return true;
    }
    let mut number_on_top = false;
    for (column, top) in first.iter().enumerate() {
        let numbers = rest.iter().filter_map(|record| record.get(column)).any(is_number);
        if numbers && !top.value.is_empty() && !is_number(top) {
            return true;
        }
        number_on_top |= is_number(top) && (numbers || rest.is_empty());
    }
    !number_on_top
}

/// Whether SQLite takes the field for a number, or would with a point for its comma.
fn is_number(field: &Field) -> bool {
    let with_point: Vec<u8> =
        field.value.iter().map(|&byte| if byte == b',' { b'.' } else { byte }).collect();
    !matches!(text_to_number(&with_point, Affinity::Numeric), Value::Text(_))
}

/// The sample as a dialect has it.
#[derive(Debug)]
struct Reading {
    dialect: Dialect,
    /// The complete records, up to the first that is malformed.
    records: Vec<Vec<Field>>,
    malformed: bool,
}

impl Reading {
    fn of(sample: &[u8], whole: bool, dialect: Dialect) -> Reading {
        let mut reading = Reading { dialect, records: Vec::new(), malformed: false };
        let at = Position { byte: 0, line: 1, column: 1 };
        let limits = Limits { field_bytes_max: usize::MAX, record_bytes_max: usize::MAX };
        let mut parser = Parser::new(sample, at, dialect, limits);
        while let Some(record) = parser.record(Width::First) {
            if !whole && record.bytes.end == sample.len() {
                break;
            }
            match record.fields.map_err(|malformed| malformed.what) {
                Ok(fields) => reading.records.push(fields),
                // That is so in any dialect.
                Err(What::InvalidUtf8(_) | What::Nul) => {}
                Err(_) => {
                    reading.malformed = true;
                    break;
                }
            }
        }
        reading
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && !self.malformed
    }

    /// How many fields every record has, if that is the same number.
    fn consistent_fields(&self) -> Option<usize> {
        let fields = self.records.first()?.len();
        let consistent = !self.malformed && self.records.iter().all(|record| record.len() == fields);
        consistent.then_some(fields)
    }

    /// Whether records are alike, and commas stand in numbers only, such as `17,5`, wherever there is one.
    fn has_decimal_commas(&self) -> bool {
        let is_decimal = |text: &[u8]| {
            let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
            let mut parts = text.strip_prefix(b"-").unwrap_or(text).split(|&byte| byte == b',');
            matches!((parts.next(), parts.next(), parts.next()), (Some(whole), Some(part), None) if digits(whole) && digits(part))
        };
        let with_comma = || self.records.iter().flatten().filter(|field| field.value.contains(&b','));
        self.consistent_fields().is_some_and(|fields| fields >= 2)
            && with_comma().next().is_some()
            && with_comma().all(|field| is_decimal(&field.value))
    }

    /// How many fields the first record and nine in ten have.
    fn common_fields(&self) -> Option<usize> {
        let fields = self.records.first()?.len();
        let like_first = self.records.iter().filter(|record| record.len() == fields).count();
        (like_first * 10 >= self.records.len() * 9).then_some(fields)
    }

    /// Whether this, a reading with the quote `'`, is clearly right; `otherwise` says whether records are consistent
    /// without it.
    fn is_clear(&self, otherwise: bool) -> bool {
        let Some(fields) = self.consistent_fields() else { return false };
        let all = || self.records.iter().flatten();
        let doubled = all().any(|field| !field.quoted && field.value.starts_with(b"\""));
        let quoted_column = |column: usize| {
            let rest = || self.records.iter().skip(1).map(|record| &record[column]);
            let quoted = rest().filter(|field| field.quoted).count();
            quoted >= 2 && rest().all(|field| field.quoted || field.value.is_empty())
        };
        let quoted = all().any(|field| field.quoted);
        !doubled && quoted && (!otherwise || (0..fields).any(quoted_column))
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
