//! Reads the text of statements for SQLite from a dump, and builds the errors about them.

use std::ops::Range;

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::token::{Token, TokenKind, tokens};
use sqluice_core::sqlite_error::failed;
use sqluice_sources::dump::DumpFile;

use super::guard::Guard;

/// Reads the text of statements from the dump. Text that SQLite can't run, with NUL or not UTF-8, is an error.
pub(super) fn text_of(file: &DumpFile, range: Range<u64>) -> Result<String> {
    let mut bytes = Vec::new();
    file.read(range.start, (range.end - range.start) as usize, &mut bytes)?;
    if let Some(nul) = bytes.iter().position(|&byte| byte == 0) {
        return Err(Error::input(
            "this statement has a NUL character, at which SQLite would stop reading it",
        )
        .at(file.place(range.start + nul as u64))
        .hint("take the character out"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = range.start + error.utf8_error().valid_up_to() as u64;
        Error::input("this statement is not UTF-8, so SQLite can't run it").at(file.place(at))
    })
}

/// Returns the offset in `sql` of the statement that follows the first `done` statements. A text has several statements only if they are
/// INSERTs of literals, so each semicolon ends a statement.
pub(super) fn start_of(sql: &str, done: usize) -> usize {
    if done == 0 {
        return 0;
    }
    let found: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let statements = found.split(|token| token.is_symbol(sql, ";")).filter_map(|tokens| tokens.first());
    statements.skip(done).map(|first| first.at.start).next().unwrap_or(0)
}

/// Returns the error for a statement that SQLite does not run, with its place in the dump, and with a hint if `guard` has denied it.
pub(super) fn explained(
    file: &DumpFile,
    range: &Range<u64>,
    sql: &str,
    guard: &Guard,
    error: rusqlite::Error,
) -> Error {
    let offset = match &error {
        rusqlite::Error::SqlInputError { sql: rest, offset, .. } => {
            (sql.len() - rest.len().min(sql.len())) as u64 + u64::try_from(*offset).unwrap_or(0)
        }
        _ => 0,
    };
    if let Some(what) = guard.take().denied {
        return Error::input(format!("a dump only fills its database, and this statement {what}"))
            .at(file.place(range.start))
            .hint("look at what the dump does, and take the statement out");
    }
    let message = match &error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        _ => return failed(error, "run a statement of the dump").at(file.place(range.start)),
    };
    Error::input(message).at(file.place(range.start + offset))
}

/// Returns the first words of a statement, in upper case: at most four, and none after a token that is no bare word.
pub(super) fn first_words(sql: &str) -> Vec<String> {
    let mut end = sql.len().min(1000);
    while !sql.is_char_boundary(end) {
        end -= 1;
    }
    let start = &sql[..end];
    let found = tokens(start);
    let tokens = found.iter().filter(|token| !token.is_comment());
    let words = tokens.take(4).take_while(|token| token.kind == TokenKind::Word);
    words.map(|token| token.text(start).to_ascii_uppercase()).collect()
}
