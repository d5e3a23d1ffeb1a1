//! What all tests of this module use.

mod cases;
mod ourairports;
mod properties;
mod sniff;

use std::io::Read;
use std::path::Path;

use super::malformed::{Malformed, Position};
use super::naive::Parser;
use super::{ColumnFrom, CsvOptions, CsvReader};
use crate::batch::{Batch, ROWS_MAX, Value};
use crate::error::{Error, Place, Result};
use crate::source::Source;

/// Rows of values; `None` is NULL.
type Rows = Vec<Vec<Option<Vec<u8>>>>;

/// A header, the rows before the first fault, and that.
#[derive(Debug)]
struct Outcome {
    header: Vec<String>,
    rows: Rows,
    error: Option<Error>,
}

/// What can be compared of an outcome.
type Compared = (Vec<String>, Rows, Option<(String, Option<String>, Option<Place>)>);

impl Outcome {
    fn compared(&self) -> Compared {
        let told = |error: &Error| {
            (error.message().to_owned(), error.hint_text().map(str::to_owned), error.place().cloned())
        };
        (self.header.clone(), self.rows.clone(), self.error.as_ref().map(told))
    }
}

fn options(part_bytes: usize) -> CsvOptions {
    CsvOptions { part_bytes, ..CsvOptions::default() }
}

/// Gives few bytes at a time, a different number every time.
struct Drip<R>(R, usize);

impl<R: Read> Read for Drip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let len = buffer.len().min(self.1);
        self.0.read(&mut buffer[..len])
    }
}

fn reader(input: &[u8], options: CsvOptions) -> Result<CsvReader> {
    CsvReader::new(Box::new(Drip(std::io::Cursor::new(input.to_vec()), 0)), Path::new("in.csv"), options)
}

/// What the fast parser makes of it.
fn fast(input: &[u8], options: CsvOptions) -> Outcome {
    let mut outcome = Outcome { header: Vec::new(), rows: Vec::new(), error: None };
    outcome.error = fill(&mut outcome, input, options).err();
    outcome
}

fn fill(outcome: &mut Outcome, input: &[u8], options: CsvOptions) -> Result<()> {
    let reader = reader(input, options)?;
    outcome.header = reader.header().to_vec();
    let columns = (0..outcome.header.len()).map(ColumnFrom::Field).collect();
    let mut source = reader.into_source(columns);
    // The first part stands for the header, too.
    let mut input_bytes = None;
    let mut well_formed = Ok(());
    while let Some(mut part) = source.next_part()? {
        *input_bytes.get_or_insert(0) += part.input_bytes();
        if well_formed.is_err() {
            // Other threads may decode what comes later: it must not panic.
            let _ = part.decode(&mut |_: &Batch<'_>| Ok(()));
            continue;
        }
        assert_eq!(part.first_row(), outcome.rows.len() as u64);
        well_formed = part.decode(&mut |batch: &Batch<'_>| {
            assert!((1..=ROWS_MAX).contains(&batch.rows));
            assert_eq!(batch.columns.len(), outcome.header.len());
            for row in 0..batch.rows {
                let value = |value| match value {
                    Value::Null => None,
                    Value::Text(text) => Some(text.to_vec()),
                    other => panic!("{other:?}"),
                };
                outcome.rows.push(batch.columns.iter().map(|column| value(column.get(row))).collect());
            }
            Ok(())
        });
    }
    if well_formed.is_ok() {
        assert_eq!(input_bytes.unwrap_or(input.len() as u64), input.len() as u64);
    }
    well_formed
}

/// What the slow one makes of it.
fn slow(input: &[u8], options: &CsvOptions) -> Outcome {
    let mut outcome = Outcome { header: Vec::new(), rows: Vec::new(), error: None };
    let (text, byte) = match input.strip_prefix(b"\xef\xbb\xbf") {
        Some(text) => (text, 3),
        None => (input, 0),
    };
    let mut parser = Parser::new(text, Position { byte, line: 1, column: 1 }, options.limits());
    let values = |record: Vec<super::naive::Field>| -> Vec<Option<Vec<u8>>> {
        let value = |value: Option<Vec<u8>>| value.or_else(|| options.empty_as_text.then(Vec::new));
        record.into_iter().map(|field| value(field.value)).collect()
    };
    let malformed = |malformed: Malformed| malformed.error(Path::new("in.csv"));
    match parser.record(None) {
        Some(Ok(fields)) => {
            let name = |field: &super::naive::Field| {
                String::from_utf8(field.value.clone().unwrap_or_default()).expect("a field is UTF-8")
            };
            let names = fields.iter().map(name).collect();
            let header = super::Header { names, at: fields.iter().map(|field| field.at).collect() };
            outcome.error = header.check(Path::new("in.csv")).err();
            if outcome.error.is_some() {
                return outcome;
            }
            outcome.header = header.names;
        }
        Some(Err(fault)) => outcome.error = Some(malformed(fault)),
        None => {
            outcome.error =
                CsvReader::new(Box::new(std::io::empty()), Path::new("in.csv"), options.clone()).err()
        }
    }
    while outcome.error.is_none() {
        match parser.record(Some(outcome.header.len())) {
            Some(Ok(record)) => outcome.rows.push(values(record)),
            Some(Err(fault)) => outcome.error = Some(malformed(fault)),
            None => break,
        }
    }
    outcome
}

/// What csv-core makes of it, the header included: it knows no errors and no NULL.
fn csv_core(input: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut reader = csv_core::Reader::new();
    let mut text = vec![0; input.len() + 1];
    let mut ends = vec![0; input.len() + 1];
    let mut rest = input;
    let mut rows = Vec::new();
    loop {
        let (mut text_len, mut ends_len) = (0, 0);
        loop {
            let (result, read, wrote, ended) =
                reader.read_record(rest, &mut text[text_len..], &mut ends[ends_len..]);
            rest = &rest[read..];
            text_len += wrote;
            ends_len += ended;
            match result {
                csv_core::ReadRecordResult::InputEmpty => {}
                csv_core::ReadRecordResult::Record => break,
                csv_core::ReadRecordResult::End => return rows,
                full => panic!("{full:?}"),
            }
        }
        let starts = std::iter::once(0).chain(ends[..ends_len].iter().copied());
        rows.push(starts.zip(&ends[..ends_len]).map(|(start, &end)| text[start..end].to_vec()).collect());
    }
}

/// The same as [`csv_core`] gives, of an outcome without errors.
fn as_csv_core(outcome: &Outcome) -> Vec<Vec<Vec<u8>>> {
    let header = outcome.header.iter().map(|name| name.clone().into_bytes()).collect();
    let row =
        |row: &Vec<Option<Vec<u8>>>| row.iter().map(|value| value.clone().unwrap_or_default()).collect();
    std::iter::once(header).chain(outcome.rows.iter().map(row)).collect()
}
