//! Runs the fast parser and the slow parser on one file and records everything that each reads, so that tests and fuzzing can compare
//! the two.

use std::io::{Cursor, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::batch::{Batch, ROWS_MAX, Value};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::{BadRow, Refused, RefusedRow, Sink, Source};
use sqluice_core::splitmix;

use super::doubt::{Usual, doubt};
use super::header::Header;
use super::naive::{Field, Parser, Record, Width};
use super::padding::padding;
use super::{ColumnFrom, Constant, CsvOptions, CsvReader, Renamed};
use crate::text::Position;

/// The values of a row; `None` is NULL.
pub(super) type Row = Vec<Option<Vec<u8>>>;

/// The message, the hint and the place of an error.
pub(super) type Reported = (String, Option<String>, Option<Place>);

/// A row or a bad row that a sink got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Row(Row),
    Bad { error: Reported, raw: Vec<u8> },
}

/// The result of reading a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) header: Vec<String>,
    pub(super) renamed: Vec<Renamed>,
    pub(super) taken: Vec<Taken>,
    /// The error that ended reading.
    pub(super) error: Option<Reported>,
    /// The number of rows that were taken although fields are missing.
    pub(super) padded: u64,
}

impl Outcome {
    pub(super) fn rows(&self) -> Vec<&Row> {
        let rows = self.taken.iter().filter_map(|taken| match taken {
            Taken::Row(row) => Some(row),
            Taken::Bad { .. } => None,
        });
        rows.collect()
    }

    /// Returns the error as a user sees it.
    pub(super) fn error(&self) -> Option<String> {
        self.error.as_ref().map(shown)
    }
}

pub(super) fn reported(error: &Error) -> Reported {
    (error.message(), error.hint_text(), error.place().cloned())
}

pub(super) fn shown((message, _, place): &Reported) -> String {
    match place {
        Some(place) => format!("{place}: {message}"),
        None => message.clone(),
    }
}

/// The setup of a read: the options, the rows, the fault of the input and the sink.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) options: CsvOptions,
    pub(super) rows: Range<u64>,
    /// The byte from which on the input can't be read.
    pub(super) fails_at: Option<usize>,
    pub(super) sink: Taste,
}

/// The rules by which a sink of a test takes or refuses rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taste {
    /// `true` if the sink takes bad rows.
    pub(super) bad_rows: bool,
    /// The sink refuses one row in `refuses`, at random; 0: no row.
    pub(super) refuses: u64,
    /// The maximum number of rows of a batch that the sink refuses at a time; 0 counts as 1.
    pub(super) names: usize,
    pub(super) seed: u64,
}

impl Taste {
    /// Returns the column that is to blame for row `row`, if the row is refused.
    pub(super) fn blames(self, row: u64, columns: usize) -> Option<usize> {
        let random = splitmix::nth(row ^ self.seed);
        let refused = self.refuses > 0 && random.is_multiple_of(self.refuses);
        refused.then_some((random >> 20) as usize % columns)
    }
}

impl From<CsvOptions> for Setup {
    fn from(options: CsvOptions) -> Setup {
        Setup { options, rows: 0..u64::MAX, fails_at: None, sink: Taste::default() }
    }
}

/// Returns a setup that reads all rows, and whose sink takes bad rows.
pub(super) fn lenient(options: CsvOptions) -> Setup {
    Setup { sink: Taste { bad_rows: true, ..Taste::default() }, ..Setup::from(options) }
}

pub(super) fn options(part_bytes: usize) -> CsvOptions {
    CsvOptions { part_bytes, ..CsvOptions::default() }
}

/// A reader that gives 1 to 7 bytes at a time, in turn.
pub(super) struct Drip<R>(pub(super) R, pub(super) usize);

impl<R: Read> Read for Drip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let len = buffer.len().min(self.1);
        self.0.read(&mut buffer[..len])
    }
}

/// A reader that always fails.
pub(super) struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("broken"))
    }
}

/// Reads `input` with the fast parser.
pub(super) fn fast(input: &[u8], setup: impl Into<Setup>) -> Outcome {
    let mut outcome = Outcome::default();
    outcome.error = fill(&mut outcome, input, &setup.into()).err().map(|error| reported(&error));
    outcome
}

pub(super) fn fill(outcome: &mut Outcome, input: &[u8], setup: &Setup) -> Result<()> {
    let (whole, whole_bytes) = (Cursor::new(input.to_vec()), padding(input).unwrap_or(input.len()) as u64);
    let input: Box<dyn Read + Send> = match setup.fails_at {
        Some(at) => Box::new(Drip(whole.take(at as u64).chain(Broken), 0)),
        None => Box::new(Drip(whole, 0)),
    };
    let reader = CsvReader::new(input, Path::new("in.csv"), setup.options.clone())?;
    outcome.header = reader.header().to_vec();
    outcome.renamed = reader.renamed().to_vec();
    let fields = (0..outcome.header.len()).map(ColumnFrom::Field);
    let columns = fields.chain([ColumnFrom::Constant(Constant::Int(7))]).collect();
    let padded = Arc::new(AtomicU64::new(0));
    let mut source = reader.into_source(columns, setup.rows.clone()).with_padded(Arc::clone(&padded));
    let mut result = Ok(());
    let mut input_bytes = 0;
    loop {
        let mut part = match source.next_part() {
            Ok(Some(part)) => part,
            Ok(None) => break,
            // The error of an earlier part takes precedence.
            Err(error) => return result.and(Err(error)),
        };
        input_bytes += part.input_bytes();
        if result.is_err() {
            // Other threads may decode later parts, which must not panic.
            let _ = part.decode(&mut |_: &Batch<'_>| Ok(()));
            continue;
        }
        assert_eq!(part.first_row(), setup.rows.start + outcome.taken.len() as u64);
        let next_row = part.first_row();
        result = part.decode(&mut Taking { taste: setup.sink, next_row, taken: &mut outcome.taken });
        outcome.padded = padded.load(Ordering::Relaxed);
        if result.is_ok() {
            assert_eq!(source.rows_done(), outcome.taken.len() as u64);
        }
    }
    // Records that are left out at the end are in no part.
    let all = setup.rows.end == u64::MAX && !setup.options.leave_out_empty;
    if result.is_ok() && all && input_bytes > 0 {
        assert_eq!(input_bytes, whole_bytes);
    }
    result
}

/// A sink that takes or refuses rows by the rules in `taste`, and counts the rows that it gets.
pub(super) struct Taking<'t> {
    pub(super) taste: Taste,
    pub(super) next_row: u64,
    pub(super) taken: &'t mut Vec<Taken>,
}

impl Sink for Taking<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        assert!((1..=ROWS_MAX).contains(&batch.rows));
        let columns = batch.columns.len();
        let refused = (0..batch.rows).filter_map(|row| {
            let column = self.taste.blames(self.next_row + row as u64, columns)?;
            Some(RefusedRow { row, column, error: Error::input("refused") })
        });
        let refused: Vec<RefusedRow> = refused.take(self.taste.names.max(1)).collect();
        if !refused.is_empty() {
            return Err(Refused::Rows(refused));
        }
        for row in 0..batch.rows {
            let value = |value| match value {
                Value::Null => None,
                Value::Text(text) => Some(text.to_vec()),
                other => panic!("{other:?}"),
            };
            let (constant, fields) = batch.columns.split_last().unwrap();
            assert_eq!(constant.get(row), Value::Int(7));
            self.taken.push(Taken::Row(fields.iter().map(|column| value(column.get(row))).collect()));
        }
        self.next_row += batch.rows as u64;
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        if !self.taste.bad_rows {
            return Err(bad.error);
        }
        self.next_row += 1;
        self.taken.push(Taken::Bad { error: reported(&bad.error), raw: bad.raw });
        Ok(())
    }
}

/// Reads `input` with the slow parser.
pub(super) fn slow(input: &[u8], setup: impl Into<Setup>) -> Outcome {
    let mut setup = setup.into();
    let mut outcome = Outcome::default();
    let end = setup.fails_at.unwrap_or_else(|| padding(input).unwrap_or(input.len()));
    let input = &input[..end.min(input.len())];
    let options = setup.options.clone();
    let (text, at) = start(input, options.skip_lines);
    let mut parser = Parser::new(text, at, options.first_dialect(), options.limits())
        .with_strict_quotes(options.strict_quotes)
        .with_trailing_delimiter(options.trailing_delimiter.is_some());
    let (header_text, skips_header) = header_text(input, &options);
    let next = |parser: &mut Parser<'_>, width| {
        let record = parser.record(width)?;
        // If reading failed, an incomplete record is dropped.
        let fatal = matches!(record.fields, Err(malformed) if malformed.is_fatal());
        let ends = record.bytes.end < text.len() && !record.unclosed;
        (fatal || setup.fails_at.is_none() || ends).then_some(record)
    };
    let in_file = Path::new("in.csv");
    let known = options.fields.filter(|_| !options.header);
    let first_width = known.map_or(Width::First, |fields| options.width(fields));
    let Some(mut first) = next(&mut parser, first_width) else {
        outcome.error = Some(match setup.fails_at {
            Some(_) => reported(&Error::read(in_file, std::io::Error::other("broken"))),
            None => reported(&super::no_record(in_file, &options)),
        });
        return outcome;
    };
    if options.header && options.commented_header {
        first = options.first_record(text, at, first_width).expect("the same text has a record");
    }
    parser = parser.with_dialect(options.dialect);
    let record = &text[first.bytes.clone()];
    let names = first.fields.as_ref().map_or(0, Vec::len);
    let doubted = doubt(&first, record, &options, Usual { fields: names, header: &[] });
    if let Some(doubted) = doubted.filter(|_| options.header && options.strict_quotes) {
        outcome.error = Some(reported(&doubted.error(in_file, &options, record, names)));
        return outcome;
    }
    let header = match (&first.fields, known) {
        // The first record is a row, even if malformed.
        (_, Some(fields)) if !first.is_fatal() => Header::of_fields(fields, first.at),
        (Ok(fields), _) if options.header => Header::of_names(options.without_trailing(fields.clone())),
        (Ok(fields), _) => Header::of_row(fields),
        (Err(malformed), _) => {
            outcome.error = Some(reported(&malformed.error(in_file, &options, record, 0)));
            return outcome;
        }
    };
    (outcome.header, outcome.renamed) = (header.names, header.renamed);
    parser = parser.with_blank_rows(options.has_blank_rows(outcome.header.len()));
    let width = options.width(outcome.header.len());
    let mut first = Some(first).filter(|_| !options.header);
    while !setup.rows.is_empty() {
        let mut next_row = || loop {
            let record = next(&mut parser, width)?;
            let (record_text, mark) = (&text[record.bytes.clone()], &b"\xef\xbb\xbf"[..]);
            let header = &header_text[..];
            let quoted = header.first().copied() == options.dialect.quote;
            let fits = header.len() + 3 <= options.field_bytes_max.min(options.record_bytes_max);
            let marked = !quoted && fits && *record_text == [mark, header].concat();
            if record.is_fatal() || header.is_empty() || !(skips_header && record_text == header || marked) {
                return Some(record);
            }
        };
        let Some(record) = first.take().or_else(&mut next_row) else {
            let broken = || reported(&Error::read(in_file, std::io::Error::other("broken")));
            outcome.error = setup.fails_at.map(|_| broken());
            break;
        };
        let row = setup.rows.next().unwrap();
        let fields = outcome.header.len();
        let short = record.fields.as_ref().is_ok_and(|found| found.len() < fields);
        match slow_row(text, record, row, &options, setup.sink, (fields, &header_text)) {
            Ok(taken) => {
                outcome.padded += u64::from(short && matches!(taken, Taken::Row(_)));
                outcome.taken.push(taken);
            }
            Err(error) => {
                outcome.error = Some(reported(&error));
                break;
            }
        }
    }
    outcome
}

/// Returns the bytes of the header, empty if there is no header, and `true` if a record that repeats the header is no row.
fn header_text(input: &[u8], options: &CsvOptions) -> (Vec<u8>, bool) {
    let (text, at) = start(input, options.skip_lines);
    match options.first_record(text, at, Width::First) {
        Some(Record { fields: Ok(fields), bytes, .. }) if options.header => {
            let header = Header::of_names(options.without_trailing(fields));
            (text[bytes].to_vec(), header.is_no_row(&options.numbers))
        }
        _ => (Vec::new(), false),
    }
}

/// Returns the text behind byte order marks and `skip_lines` lines, and its position.
pub(super) fn start(input: &[u8], skip_lines: u64) -> (&[u8], Position) {
    let mut at = 0;
    while input[at..].starts_with(b"\xef\xbb\xbf") {
        at += 3;
    }
    let mut line = 1;
    while line <= skip_lines && at < input.len() {
        let ends = input[at] == b'\n' || input[at] == b'\r' && input.get(at + 1) != Some(&b'\n');
        line += u64::from(ends);
        at += 1;
    }
    (&input[at..], Position { byte: at as u64, line, column: 1 })
}

pub(super) fn slow_row(
    text: &[u8],
    record: Record,
    row: u64,
    options: &CsvOptions,
    taste: Taste,
    (fields, header): (usize, &[u8]),
) -> Result<Taken> {
    let file = Path::new("in.csv");
    let value = |field: &Field| {
        let blank = |byte: &u8| b" \t".contains(byte);
        let text = match (options.trim && !field.quoted, &field.value[..]) {
            (true, text) => text
                .iter()
                .position(|byte| !blank(byte))
                .map_or(&b""[..], |first| &text[first..=text.iter().rposition(|byte| !blank(byte)).unwrap()]),
            (false, text) => text,
        };
        let token = options.null_tokens.iter().any(|token| token == text);
        let mark = options.dialect.null_mark().is_some_and(|mark| text == mark);
        let is_plain = !field.quoted && !field.escaped;
        let null = is_plain && (token || mark || text.is_empty() && !options.empty_as_text);
        (!null).then(|| text.to_vec())
    };
    let raw = &text[record.bytes.clone()];
    let doubted = doubt(&record, raw, options, Usual { fields, header }).filter(|_| options.strict_quotes);
    let error = match (doubted, &record.fields, taste.blames(row, fields + 1)) {
        (Some(doubted), ..) => doubted.error(file, options, raw, fields),
        (None, Ok(found), None) => {
            let missing = std::iter::repeat_n(None, fields - found.len());
            return Ok(Taken::Row(found.iter().map(value).chain(missing).collect()));
        }
        (None, Ok(fields), Some(column)) => {
            let at = fields.get(column).map_or(record.at, |field| field.at);
            Error::input("refused").at(at.place(file))
        }
        (None, Err(malformed), _) => malformed.error(file, options, raw, fields),
    };
    let fatal = matches!(record.fields, Err(malformed) if malformed.is_fatal());
    if fatal || !taste.bad_rows {
        return Err(error);
    }
    Ok(Taken::Bad { error: reported(&error), raw: text[record.bytes].to_vec() })
}
