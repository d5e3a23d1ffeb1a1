//! Helpers of all tests of the CSV reader: sources and samples of a text, and csv-core as another parser, for comparison.

mod cases;
mod files;
mod generated;
mod messy;
mod ourairports;
mod properties;
mod random;
mod sniff;

use std::io::Cursor;
use std::path::Path;

use sqluice_core::error::Result;

use super::twins::{Drip, Outcome, Row, Setup, Taken, Taking, Taste, fast, lenient, options, shown, slow};
use super::{ColumnFrom, Constant, CsvOptions, CsvReader, CsvSource, Dialect};
use crate::input::{InputFile, InputOptions};

fn reader(input: &[u8], options: CsvOptions) -> Result<CsvReader> {
    CsvReader::new(Box::new(Drip(Cursor::new(input.to_vec()), 0)), Path::new("in.csv"), options)
}

/// Returns a source of all rows of a file.
fn source(input: &[u8], options: CsvOptions, columns: Vec<ColumnFrom>) -> CsvSource {
    reader(input, options).unwrap().into_source(columns, 0..u64::MAX)
}

/// Returns the sample that a load takes from a file with this text and encoding (`bom`: UTF-8 with a byte order mark).
fn sampled(text: &str, encoding: &str) -> Vec<u8> {
    let wide = |bytes: fn(u16) -> [u8; 2]| {
        ['\u{feff}']
            .into_iter()
            .chain(text.chars())
            .flat_map(move |character| {
                character.encode_utf16(&mut [0; 2]).iter().flat_map(|&unit| bytes(unit)).collect::<Vec<u8>>()
            })
            .collect()
    };
    let bytes: Vec<u8> = match encoding {
        "bom" => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        "utf-16le" => wide(u16::to_le_bytes),
        "utf-16be" => wide(u16::to_be_bytes),
        "windows-1252" => text.chars().map(|character| character as u8).collect(),
        _ => text.as_bytes().to_vec(),
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, bytes).unwrap();
    let given = (encoding == "windows-1252").then(|| encoding.parse().unwrap());
    let mut input = InputFile::new(&path, InputOptions::new().encoding(given)).unwrap();
    input.sample(1 << 20).unwrap().text
}

/// Reads `input` with csv-core, the header included. csv-core has no errors and no NULL.
fn csv_core(input: &[u8], dialect: Dialect) -> Vec<Vec<Vec<u8>>> {
    let mut reader = csv_core::ReaderBuilder::new()
        .delimiter(dialect.delimiter.as_bytes()[0])
        .quoting(dialect.quote.is_some())
        .quote(dialect.quote.unwrap_or(b'"'))
        .escape(dialect.escape.filter(|_| dialect.escape != dialect.quote))
        .comment(dialect.comment)
        .build();
    // csv-core takes a comment without a line end for a record.
    let input = [input, if dialect.comment.is_some() { b"\n" } else { b"" }].concat();
    let mut text = vec![0; input.len() + 1];
    let mut ends = vec![0; input.len() + 1];
    let mut rest = &input[..];
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

/// Returns `true` if a row stands in an empty line, which csv-core skips.
fn is_blank(row: &Row) -> bool {
    *row == [None]
}

/// Returns an outcome without errors in the form that [`csv_core`] gives.
fn as_csv_core(outcome: &Outcome, header: bool) -> Vec<Vec<Vec<u8>>> {
    let names = outcome.header.iter().map(|name| name.clone().into_bytes()).collect();
    let row = |row: &Row| row.iter().map(|value| value.clone().unwrap_or_default()).collect();
    header
        .then_some(names)
        .into_iter()
        .chain(outcome.rows().into_iter().filter(|row| !is_blank(row)).map(row))
        .collect()
}
