//! Compares the fast splitter with the slow one, for tests and fuzzing.

use std::io::Write;

use sqluice_core::progress::Context;

use super::naive::{self, Entry, Kind, Reader, Token};
use super::split::{Item, RowsOfItem, Script, Splitter};
use super::{Dialect, DumpFile};
use crate::input::{InputFile, InputOptions};

/// Splits a dump with the fast splitter, which reads blocks of `block_bytes` bytes.
pub(super) fn fast(text: &[u8], dialect: Dialect, block_bytes: usize) -> Result<Script, String> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("a temporary file");
    let input = InputFile::new(file.path(), InputOptions::new()).expect("a temporary file");
    let file = DumpFile::new(&[input]).expect("a temporary file");
    let context = Context::default();
    let splitter = Splitter::new(&file, dialect.rules(), 1 << 20, &context).blocks_of(block_bytes);
    splitter.split().map_err(|error| error.message())
}

/// Returns a description of the first difference between the results of both splitters; `None` if they agree.
pub(super) fn difference(text: &[u8], dialect: Dialect, block_bytes: usize) -> Option<String> {
    let (script, entries) = match (fast(text, dialect, block_bytes), naive::split(text, dialect)) {
        (Ok(script), Ok(entries)) => (script, entries),
        (Err(_), Err(_)) => return None,
        (fast, slow) => return Some(format!("fast: {:?}, slow: {:?}", fast.err(), slow.err())),
    };
    let mut entries = &entries[..];
    for item in &script.items {
        let taken = match item {
            Item::Statement(range) => statement(text, dialect, entries, (Kind::Statement, range)),
            Item::Command(range) => statement(text, dialect, entries, (Kind::Command, range)),
            Item::Rows(rows) if rows.copy => copy(&script, entries, rows),
            Item::Rows(of_item) => rows(text, dialect, &script, entries, of_item),
        };
        match taken {
            Ok(taken) => entries = &entries[taken..],
            Err(why) => return Some(format!("{why}: fast {item:?}, slow {:?}", entries.first())),
        }
    }
    entries.first().map(|entry| format!("the fast splitter has no more, the slow one {entry:?}"))
}

/// The number of [`Entry`] values of the slow splitter that equal one [`Item`] of the fast one, or the difference.
type Taken = Result<usize, &'static str>;

fn statement(
    text: &[u8],
    dialect: Dialect,
    entries: &[Entry],
    (kind, range): (Kind, &std::ops::Range<u64>),
) -> Taken {
    let entry = entries.first().ok_or("there is no other entry")?;
    if entry.kind != kind || (entry.start as u64..entry.end as u64) != *range {
        return Err("the statements differ");
    }
    if kind == Kind::Statement && is_plain(text, dialect, entry) {
        return Err("the statement has plain rows");
    }
    Ok(1)
}

fn copy(script: &Script, entries: &[Entry], rows: &RowsOfItem) -> Taken {
    let entry = entries.first().ok_or("there is no other entry")?;
    let lines: u64 = script.pieces[rows.pieces.clone()].iter().map(|piece| piece.rows).sum();
    if entry.kind != Kind::Copy(lines) || (entry.start as u64..entry.next as u64) != rows.range {
        return Err("the data of COPY differ");
    }
    Ok(1)
}

/// Compares consecutive statements with rows: they must be whole statements with the same beginning, and the pieces must cover their rows.
fn rows(text: &[u8], dialect: Dialect, script: &Script, entries: &[Entry], of_item: &RowsOfItem) -> Taken {
    let of_item_range = of_item.range.start as usize..of_item.range.end as usize;
    let taken = entries.iter().take_while(|entry| entry.next <= of_item_range.end).count();
    let (Some(first), Some(last)) = (entries[..taken].first(), entries[..taken].last()) else {
        return Err("the rows are not whole statements");
    };
    if (first.start..last.next) != of_item_range {
        return Err("the rows are not whole statements");
    }
    let pieces = &script.pieces[of_item.pieces.clone()];
    let ends_meet = pieces.windows(2).all(|pair| {
        text[pair[0].end as usize..pair[1].start as usize].iter().all(|byte| !byte.is_ascii_alphanumeric())
    });
    if !ends_meet
        || pieces.first().map(|piece| piece.start) != Some(of_item.range.start)
        || pieces.last().map(|piece| piece.end) != Some(of_item.range.end)
    {
        return Err("the pieces do not cover the rows");
    }
    let mut count = 0;
    for entry in &entries[..taken] {
        if entry.kind != Kind::Statement || entry.backslash_escapes != of_item.rules.backslash_escapes {
            return Err("the rules of the rows differ");
        }
        let (header, rows) = header_and_rows(text, dialect, entry).ok_or("a statement has no rows")?;
        let first_header = header_and_rows(text, dialect, first).map(|(header, _)| header);
        if first_header != Some(header) {
            return Err("the rows have several beginnings");
        }
        count += rows;
    }
    match count == pieces.iter().map(|piece| piece.rows).sum::<u64>() {
        true => Ok(taken),
        false => Err("the number of rows differs"),
    }
}

/// Returns the text of an INSERT statement up to VALUES, and the number of its rows.
fn header_and_rows<'t>(text: &'t [u8], dialect: Dialect, entry: &Entry) -> Option<(&'t [u8], u64)> {
    let tokens = Reader::of_entry(text, dialect, entry).tokens(entry.start);
    let is = |token: &(Token, usize, usize), word: &[u8]| text[token.1..token.2].eq_ignore_ascii_case(word);
    if !is(tokens.first()?, b"INSERT") {
        return None;
    }
    // VALUES is the unquoted word before a parenthesis, because a column or a table may be called VALUES, too.
    let values = tokens
        .windows(2)
        .position(|pair| is(&pair[0], b"VALUES") && is(&pair[1], b"(") && pair[0].0 == Token::Word)?;
    let (mut depth, mut rows) = (0_u64, 0);
    for token in &tokens[values + 1..] {
        match &text[token.1..token.2] {
            b"(" if token.0 == Token::Symbol => {
                rows += u64::from(depth == 0);
                depth += 1;
            }
            b")" if token.0 == Token::Symbol => depth = depth.checked_sub(1)?,
            b"," if depth == 0 => {}
            // In Postgres, ON CONFLICT DO NOTHING may follow the rows.
            _ if depth == 0 && dialect != Dialect::Postgres => return None,
            _ => {}
        }
    }
    (depth == 0).then_some((&text[entry.start..tokens[values].2], rows))
}

/// Returns `true` if a statement is an INSERT that every splitter must recognise: its values are numbers, NULL and strings without escapes.
fn is_plain(text: &[u8], dialect: Dialect, entry: &Entry) -> bool {
    let tokens = Reader::of_entry(text, dialect, entry).tokens(entry.start);
    let words: Vec<&[u8]> = tokens.iter().map(|token| &text[token.1..token.2]).collect();
    // A row with a form feed is left to SQLite. No program writes a form feed between values.
    if text[entry.start..entry.end].contains(&b'\x0c') {
        return false;
    }
    let [b"INSERT", b"INTO", table, b"VALUES", rest @ ..] = &words[..] else { return false };
    let is_name = table.iter().all(u8::is_ascii_lowercase);
    let is_value = |word: &[u8]| {
        let is_string = word.len() > 1 && word[0] == b'\'' && word.ends_with(b"'") && !word.contains(&b'\\');
        word == b"NULL" || word.iter().all(u8::is_ascii_digit) || is_string
    };
    // After each token only one other kind may follow: `(`, value, `,`, value, `)`, `,`, `(` ... Comments are permitted between tokens.
    let mut expects_value = false;
    let mut within = false;
    let mut after_row = false;
    for word in rest {
        match *word {
            b"(" if !within && !after_row => (within, expects_value) = (true, true),
            b")" if within && !expects_value => (within, after_row) = (false, true),
            b"," if within && !expects_value => expects_value = true,
            b"," if after_row => after_row = false,
            word if within && expects_value && is_value(word) => expects_value = false,
            _ => return false,
        }
    }
    is_name && after_row
}

/// Splits `bytes` from the third byte on with both splitters. The first two bytes choose the dialect and the size of blocks.
///
/// # Panics
/// If the splitters disagree.
pub fn fast_equals_slow(bytes: &[u8]) {
    let Some((&[how, block], text)) = bytes.split_first_chunk() else { return };
    let dialect = [Dialect::Sqlite, Dialect::MySql, Dialect::Postgres][usize::from(how % 3)];
    let difference = difference(text, dialect, usize::from(block) + 1);
    assert!(difference.is_none(), "{}", difference.unwrap_or_default());
}
