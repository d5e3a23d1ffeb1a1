//! Splits a dump into rows that are written as literals, and all other statements.
//!
//! ```text
//!  CREATE TABLE t(a, b);                  Statement
//!  INSERT INTO t VALUES(1,'x');           Rows: consecutive statements with the same beginning, cut into pieces
//!  INSERT INTO t VALUES(2,'y'),(3,'z');
//!  UPDATE t SET a = 4 WHERE a = 3;        Statement
//!  .dbconfig defensive off                Command
//! ```
//!
//! The dump is read from start to end, through a window in memory. Only a long statement with rows is read twice, if a row beyond the
//! window turns out to have a value that is not a literal: the whole is then a statement.
//!
//! Invariant: the result does not depend on the size of the window.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::size::Mebibytes;

use super::compound::Compound;
use super::file::DumpFile;
use super::insert::{Begins, Header, begins};
use super::lex::{Dialect, Look, Rules, decoded, look};
use super::literal::{Scanned, scan_row};
use super::plain::end_of_row;
use super::sql_mode::SqlMode;

/// The approximate size of a piece of rows in bytes. A piece is decoded by one thread.
const PIECE_BYTES: u64 = sqluice_core::source::PART_BYTES as u64;

/// The statements of a dump, in order.
#[derive(Debug, Default)]
pub struct Script {
    /// The statements and commands, and the rows.
    pub items: Vec<Item>,
    /// The distinct beginnings of INSERT and COPY statements.
    pub headers: Vec<Header>,
    /// The pieces of all rows.
    pub pieces: Vec<Piece>,
    /// Changes of the encoding: the offset from which each encoding holds, in order. `None` is UTF-8.
    pub encodings: Vec<(u64, Option<&'static encoding_rs::Encoding>)>,
}

impl Script {
    /// Returns bytes as text, in the encoding that holds at their offset in the dump.
    pub fn decoded<'t>(&self, offset: u64, bytes: &'t [u8]) -> Cow<'t, str> {
        let before = self.encodings.partition_point(|(from, _)| *from <= offset);
        decoded(bytes, self.encodings[..before].last().and_then(|(_, encoding)| *encoding))
    }
}

/// A statement, a command, or consecutive statements with rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The range of a statement, without its delimiter.
    Statement(Range<u64>),
    /// The range of a command of the program that reads the dump: `.open x`, `\connect x`.
    Command(Range<u64>),
    /// Statements with rows.
    Rows(RowsOfItem),
}

/// Consecutive INSERT statements with rows for the same columns of the same table, or a COPY statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsOfItem {
    /// The index of their beginning in [`Script::headers`].
    pub header: usize,
    /// The range of their pieces in [`Script::pieces`].
    pub pieces: Range<usize>,
    /// The range of the statements in the dump.
    pub range: Range<u64>,
    /// `true` for a COPY statement.
    pub copy: bool,
    /// The rules for reading the rows.
    pub rules: Rules,
    /// For rows that a server sends, which have no pieces: the position of their table in the argument of [`Splitter::split_before`].
    pub sent: Option<usize>,
}

/// Consecutive rows, which one thread decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The offset of the first byte, which begins a statement, a row within a long statement, or a line of COPY data.
    pub start: u64,
    /// The offset after the last byte.
    pub end: u64,
    /// The number of rows.
    pub rows: u64,
}

/// Splits a dump into statements.
pub struct Splitter<'f> {
    file: &'f DumpFile,
    context: &'f Context<'f>,
    rules: Rules,
    /// The delimiter that ends statements; `;` unless a DELIMITER command changes it.
    delimiter: Vec<u8>,
    window: Vec<u8>,
    /// The offset in the dump of the window's first byte.
    base: u64,
    /// The current position in the window.
    at: usize,
    /// The number of bytes to read from the file at a time.
    block_bytes: usize,
    /// The maximum size of a statement without rows, or of a row.
    statement_bytes_max: usize,
    script: Script,
    sql_mode: SqlMode,
    headers: HashMap<Vec<u8>, usize>,
    /// The text of the last beginning of an INSERT statement, and its index in [`Script::headers`]. The next statement often has the same
    /// beginning.
    last: Option<(Vec<u8>, usize)>,
}

impl<'f> Splitter<'f> {
    /// Creates a splitter of `file`. It reports progress to `context`, and stops if `context` is cancelled.
    pub fn new(
        file: &'f DumpFile,
        rules: Rules,
        statement_bytes_max: usize,
        context: &'f Context<'f>,
    ) -> Splitter<'f> {
        Splitter {
            file,
            context,
            rules,
            delimiter: b";".to_vec(),
            window: Vec::new(),
            base: 0,
            at: 0,
            block_bytes: 1 << 20,
            statement_bytes_max,
            script: Script::default(),
            sql_mode: SqlMode::default(),
            headers: HashMap::new(),
            last: None,
        }
    }

    /// Sets the number of bytes to read at a time, so that tests can cut the dump anywhere.
    #[cfg(any(test, fuzzing))]
    pub(super) fn blocks_of(mut self, bytes: usize) -> Splitter<'f> {
        self.block_bytes = bytes;
        self
    }

    /// Splits the dump.
    ///
    /// # Errors
    /// If the file can't be read, if a statement or a row does not fit the memory, if the data of a COPY statement have no end, or if the
    /// context is cancelled.
    pub fn split(self) -> Result<Script> {
        self.split_before([])
    }

    /// Splits the dump, and adds rows that a server sends. `sent` has the beginning of each table's statement: `INSERT INTO ...` or `COPY ...`.
    ///
    /// # Errors
    /// Like [`Splitter::split`], or if `sent` has another statement.
    pub fn split_before<'b>(mut self, sent: impl IntoIterator<Item = &'b str>) -> Result<Script> {
        self.context.progress.phase("split", Some(Amount { rows: 0, bytes: self.file.bytes() }));
        if self.file.bytes() >= 3 {
            self.fill(3)?;
            self.at = if self.window.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        }
        while self.skip_blanks()? {
            let offset = self.offset();
            if self.command()? || self.rows()? {
                continue;
            }
            let end = self.statement_end(offset)?;
            self.script.items.push(Item::Statement(offset..end));
        }
        for (number, beginning) in sent.into_iter().enumerate() {
            self.sent(number, beginning)?;
        }
        Ok(self.script)
    }

    /// Adds the rows of a table that a server sends. `number` is the position of the table in the argument of [`Splitter::split_before`].
    fn sent(&mut self, number: usize, beginning: &str) -> Result<()> {
        let Begins::Rows(header, _) = begins(beginning.as_bytes(), 0, self.rules, true) else {
            return Err(Error::input(format!(
                "this is not the beginning of an INSERT or COPY statement: {}",
                beginning.trim()
            )));
        };
        self.script.headers.push(header);
        let (end, pieces) = (self.offset(), self.script.pieces.len());
        self.script.items.push(Item::Rows(RowsOfItem {
            header: self.script.headers.len() - 1,
            pieces: pieces..pieces,
            range: end..end,
            copy: beginning.starts_with("COPY"),
            rules: self.rules,
            sent: Some(number),
        }));
        Ok(())
    }

    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Returns `true` if the window extends to the end of the dump.
    fn is_whole(&self) -> bool {
        self.base + self.window.len() as u64 >= self.file.bytes()
    }

    /// Reads more of the dump at the end of the window, and drops the bytes before `keep`. The size of the window doubles, so that the time for
    /// a long statement is proportional to its length.
    fn more(&mut self, keep: usize) -> Result<()> {
        if self.window.len() - keep > self.statement_bytes_max {
            return Err(self.too_long(self.base + keep as u64));
        }
        self.window.drain(..keep);
        self.base += keep as u64;
        self.at -= keep;
        self.context.cancel.check()?;
        let before = self.window.len();
        let bytes = self.block_bytes.max(before);
        self.file.read(self.base + before as u64, bytes, &mut self.window)?;
        let bytes = (self.window.len() - before) as u64;
        self.context.progress.advance(Amount { rows: 0, bytes });
        Ok(())
    }

    fn too_long(&self, offset: u64) -> Error {
        let most = Mebibytes(self.statement_bytes_max as u64);
        let message = format!("a statement or a row is longer than {most}, or nothing ends it");
        Error::input(message).at(self.file.place(offset)).hint(message![
            "look for a quote that is not closed; if there is none, give more memory: ",
            Setting::Memory
        ])
    }

    /// Reads until the window has `bytes` bytes from the position on, or the dump ends.
    fn fill(&mut self, bytes: usize) -> Result<()> {
        while self.window.len() < self.at + bytes && !self.is_whole() {
            self.more(self.at)?;
        }
        Ok(())
    }

    /// Moves to the next statement. Returns `false` at the end of the dump.
    fn skip_blanks(&mut self) -> Result<bool> {
        loop {
            self.fill(self.delimiter.len())?;
            let Some(&byte) = self.window.get(self.at) else { return Ok(false) };
            if byte.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            if self.window[self.at..].starts_with(&self.delimiter) {
                self.at += self.delimiter.len();
                continue;
            }
            // The shell of SQLite skips lines that begin with # between statements.
            if byte == b'#' && self.rules.dialect == Dialect::Sqlite {
                self.line()?;
                continue;
            }
            match look(&self.window, self.at, self.rules, self.is_whole()) {
                Look::Comment(to) => self.at = to,
                Look::More => self.more(self.at)?,
                Look::Code | Look::Quoted(_) => return Ok(true),
            }
        }
    }

    /// Moves to the next line. Returns the range of this line in the window, without the line end.
    fn line(&mut self) -> Result<Range<usize>> {
        loop {
            let from = self.at;
            if let Some(bytes) = memchr::memchr(b'\n', &self.window[from..]) {
                self.at += bytes + 1;
                return Ok(from..from + bytes);
            }
            if self.is_whole() {
                self.at = self.window.len();
                return Ok(from..self.at);
            }
            self.more(from)?;
        }
    }

    /// Reads a command of the shell. Returns `false` if no command begins here.
    fn command(&mut self) -> Result<bool> {
        const WORD: &[u8] = b"DELIMITER";
        let is_command = match self.rules.dialect {
            Dialect::Sqlite => self.window[self.at] == b'.',
            Dialect::Postgres => self.window[self.at] == b'\\',
            Dialect::MySql => {
                self.fill(WORD.len() + 1)?;
                let word = self.window.get(self.at..self.at + WORD.len());
                word.is_some_and(|word| word.eq_ignore_ascii_case(WORD))
                    && matches!(self.window.get(self.at + WORD.len()), Some(b' ' | b'\t'))
            }
        };
        if !is_command {
            return Ok(false);
        }
        let line = self.line()?;
        if self.rules.dialect == Dialect::MySql {
            let delimiter = self.window[line.start + WORD.len()..line.end].trim_ascii();
            if !delimiter.is_empty() {
                self.delimiter = delimiter.to_vec();
            }
            return Ok(true);
        }
        self.script.items.push(Item::Command(self.base + line.start as u64..self.base + line.end as u64));
        Ok(true)
    }

    /// Moves past the statement that begins at `offset` and its delimiter. Returns the offset of the delimiter.
    fn statement_end(&mut self, offset: u64) -> Result<u64> {
        self.go_to(offset)?;
        'again: loop {
            let whole = self.is_whole();
            let mut compound = Compound::new(self.rules);
            let mut to = self.at;
            while to < self.window.len() {
                match look(&self.window, to, self.rules, whole) {
                    Look::More => break,
                    Look::Comment(end) => to = end,
                    Look::Quoted(end) => {
                        compound.quoted();
                        to = end;
                    }
                    Look::Code => {
                        let rest = &self.window[to..];
                        if rest.len() < self.delimiter.len() && !whole {
                            break;
                        }
                        if rest.starts_with(&self.delimiter) && !compound.goes_on(&self.delimiter) {
                            let end = self.base + to as u64;
                            self.at = to + self.delimiter.len();
                            self.note_settings(offset..end);
                            return Ok(end);
                        }
                        match compound.take(rest, whole) {
                            Some(bytes) => match self.before_delimiter(to, bytes) {
                                Some(bytes) => to += bytes,
                                None => break,
                            },
                            None => break,
                        }
                    }
                }
            }
            if !whole {
                self.more(self.at)?;
                continue 'again;
            }
            self.at = self.window.len();
            return Ok(self.offset());
        }
    }

    /// Returns the number of bytes of a word before a delimiter of MySQL that touches it, such as 3 for `END$$`; `bytes` if no delimiter
    /// does. The word has `bytes` bytes and begins at `at`. Returns `None` if the window ends within a possible delimiter.
    fn before_delimiter(&self, at: usize, bytes: usize) -> Option<usize> {
        if self.rules.dialect != Dialect::MySql || self.delimiter == b";" {
            return Some(bytes);
        }
        for before in 1..bytes {
            let rest = &self.window[at + before..];
            if rest.starts_with(&self.delimiter) {
                return Some(before);
            }
            if rest.len() < self.delimiter.len() && self.delimiter.starts_with(rest) && !self.is_whole() {
                return None;
            }
        }
        Some(bytes)
    }

    /// Applies a SET statement that changes how strings are read.
    fn note_settings(&mut self, statement: Range<u64>) {
        const BYTES_MAX: usize = 1000;
        let from = (statement.start.saturating_sub(self.base)) as usize;
        let to = (statement.end - self.base) as usize;
        let text = &self.window[from..to.min(from + BYTES_MAX)];
        if !text.iter().take(30).any(|byte| byte.eq_ignore_ascii_case(&b's')) {
            return;
        }
        let text = String::from_utf8_lossy(text).to_ascii_lowercase();
        if let Some(encoding) = encoding_of(&text, self.rules.dialect) {
            self.rules.encoding = encoding;
            self.script.encodings.push((statement.end, encoding));
        }
        match self.rules.dialect {
            Dialect::Postgres if text.contains("standard_conforming_strings") && text.starts_with("set") => {
                self.rules.backslash_escapes = text.contains("off");
            }
            Dialect::MySql if text.contains("sql_mode") => {
                self.sql_mode.take(&text);
                self.rules.backslash_escapes = self.sql_mode.backslash_escapes();
            }
            _ => {}
        }
    }

    /// Moves to an offset at or before the position. If the window no longer contains it, the dump is read again from there.
    fn go_to(&mut self, offset: u64) -> Result<()> {
        if offset < self.base {
            self.window.clear();
            (self.base, self.at) = (offset, 0);
            return self.fill(1);
        }
        self.at = (offset - self.base) as usize;
        Ok(())
    }

    /// Reads consecutive statements with rows for the same table. Returns `false` if no such statement begins here, or if the first one has
    /// something else than rows of literals.
    fn rows(&mut self) -> Result<bool> {
        let start = self.offset();
        let Some((header, copy)) = self.header()? else { return Ok(false) };
        if copy {
            return self.copy(start, header).map(|()| true);
        }
        let first_piece = self.script.pieces.len();
        let mut open = Piece { start, end: start, rows: 0 };
        let mut statement = start;
        loop {
            // If this statement has a value that is not a literal, only the pieces before it are kept.
            let before = (self.script.pieces.len(), open);
            let Some(end) = self.rows_of_statement(&mut open)? else {
                self.script.pieces.truncate(before.0);
                open = before.1;
                self.go_to(statement)?;
                break;
            };
            open.end = end;
            if open.end - open.start >= PIECE_BYTES {
                self.script.pieces.push(open);
                open = Piece { start: end, end, rows: 0 };
            }
            if !self.skip_blanks()? {
                break;
            }
            statement = self.offset();
            if open.rows == 0 {
                open.start = statement;
            }
            if !self.begins_the_same(header)? {
                break;
            }
        }
        if open.rows > 0 {
            self.script.pieces.push(open);
        }
        let pieces = first_piece..self.script.pieces.len();
        if pieces.is_empty() {
            return Ok(false);
        }
        let last = self.script.pieces[pieces.end - 1].end;
        self.script.items.push(Item::Rows(RowsOfItem {
            header,
            pieces,
            range: start..last,
            copy: false,
            rules: self.rules,
            sent: None,
        }));
        Ok(true)
    }

    /// Reads the beginning of a statement with rows. Returns the index of the beginning in [`Script::headers`], and `true` for COPY.
    /// Returns `None` for any other statement.
    fn header(&mut self) -> Result<Option<(usize, bool)>> {
        let (header, to) = loop {
            match begins(&self.window, self.at, self.rules, self.is_whole()) {
                Begins::Other => return Ok(None),
                Begins::More => self.more(self.at)?,
                Begins::Rows(header, to) => break (header, to),
            }
        };
        let bytes = self.window[self.at..to].to_vec();
        let copy = bytes[0].eq_ignore_ascii_case(&b'C');
        let number = match self.headers.get(&bytes) {
            Some(&number) => number,
            None => {
                self.script.headers.push(header);
                self.headers.insert(bytes.clone(), self.script.headers.len() - 1);
                self.script.headers.len() - 1
            }
        };
        self.at = to;
        self.last = Some((bytes, number));
        Ok(Some((number, copy)))
    }

    /// Moves past the beginning of a statement if its bytes equal the previous beginning, whose index in [`Script::headers`] is `header`.
    /// Returns `true` if so.
    fn begins_the_same(&mut self, header: usize) -> Result<bool> {
        let Some((bytes, number)) = self.last.take() else { return Ok(false) };
        self.fill(bytes.len())?;
        let same = number == header && self.window[self.at..].starts_with(&bytes);
        if same {
            self.at += bytes.len();
        }
        self.last = Some((bytes, number));
        Ok(same)
    }

    /// Moves past the rows of a statement and its delimiter, and cuts a long statement into pieces. Returns the offset after the delimiter;
    /// `None` if a value is not a literal, or if a clause follows the rows that is not skipped.
    fn rows_of_statement(&mut self, open: &mut Piece) -> Result<Option<u64>> {
        loop {
            match self.skip_to(b'(')? {
                true => {}
                false => return Ok(None),
            }
            let offset = self.offset();
            if offset - open.start >= 2 * PIECE_BYTES && open.rows > 0 {
                open.end = offset;
                self.script.pieces.push(*open);
                *open = Piece { start: offset, end: offset, rows: 0 };
            }
            loop {
                if let Some(to) = end_of_row(&self.window, self.at, self.rules) {
                    self.at = to;
                    break;
                }
                match scan_row(&self.window, self.at, self.rules, self.is_whole()) {
                    Scanned::End(to) => {
                        self.at = to;
                        break;
                    }
                    Scanned::Other => return Ok(None),
                    Scanned::More => self.more(self.at)?,
                }
            }
            open.rows += 1;
            if !self.skip_in_statement()? {
                // The dump ends without a delimiter.
                return Ok(Some(self.offset()));
            }
            if self.window[self.at] == b',' {
                self.at += 1;
                continue;
            }
            if self.rules.dialect == Dialect::Postgres {
                self.skip_words(b"ON CONFLICT DO NOTHING")?;
            }
            self.fill(self.delimiter.len())?;
            if !self.window[self.at..].starts_with(&self.delimiter) {
                return Ok(None);
            }
            self.at += self.delimiter.len();
            return Ok(Some(self.offset()));
        }
    }

    /// Moves past these bytes if they come next.
    fn skip_words(&mut self, words: &[u8]) -> Result<()> {
        self.fill(words.len())?;
        if self.window[self.at..].starts_with(words) {
            self.at += words.len();
        }
        self.skip_in_statement().map(drop)
    }

    /// Moves to the next byte of the statement that is neither white space nor in a comment. Returns `true` if it is `wanted`.
    fn skip_to(&mut self, wanted: u8) -> Result<bool> {
        Ok(self.skip_in_statement()? && self.window[self.at] == wanted)
    }

    /// Skips white space and comments within a statement. Returns `false` at the end of the dump.
    fn skip_in_statement(&mut self) -> Result<bool> {
        loop {
            let Some(&byte) = self.window.get(self.at) else {
                if self.is_whole() {
                    return Ok(false);
                }
                self.more(self.at)?;
                continue;
            };
            if byte.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            if !matches!(byte, b'-' | b'/' | b'#' | b'*') {
                return Ok(true);
            }
            match look(&self.window, self.at, self.rules, self.is_whole()) {
                Look::Comment(to) => self.at = to,
                Look::More => self.more(self.at)?,
                Look::Code | Look::Quoted(_) => return Ok(true),
            }
        }
    }

    /// Reads the data of a COPY statement, up to the line `\.`. The beginning of the statement has been read.
    fn copy(&mut self, start: u64, header: usize) -> Result<()> {
        let first_piece = self.script.pieces.len();
        let mut open = Piece { start: self.offset(), end: self.offset(), rows: 0 };
        loop {
            let line = self.line()?;
            if self.at == line.start {
                return Err(Error::input("the data of this COPY statement have no end")
                    .at(self.file.place(start))
                    .hint("the dump was cut off: make it again"));
            }
            let text = &self.window[line];
            if text == b"\\." || text == b"\\.\r" {
                break;
            }
            open.end = self.offset();
            open.rows += 1;
            if open.end - open.start >= PIECE_BYTES {
                self.script.pieces.push(open);
                open = Piece { start: open.end, end: open.end, rows: 0 };
            }
        }
        if open.rows > 0 {
            self.script.pieces.push(open);
        }
        let (pieces, range) = (first_piece..self.script.pieces.len(), start..self.offset());
        self.script.items.push(Item::Rows(RowsOfItem {
            header,
            pieces,
            range,
            copy: true,
            rules: self.rules,
            sent: None,
        }));
        Ok(())
    }
}

/// Returns the encoding that a SET statement sets, if it sets a known one: `Some(None)` for UTF-8, and for ASCII and `binary`, which are
/// read as UTF-8. `statement` is in lower case.
fn encoding_of(statement: &str, dialect: Dialect) -> Option<Option<&'static encoding_rs::Encoding>> {
    let named = match dialect {
        Dialect::Sqlite => return None,
        Dialect::MySql => statement.split_once("set names")?.1,
        Dialect::Postgres => statement.strip_prefix("set")?.split_once("client_encoding")?.1,
    };
    let name: String = named
        .trim_start_matches(|char: char| !char.is_alphanumeric())
        .trim_start_matches("to ")
        .trim_start_matches('\'')
        .chars()
        .take_while(|char| char.is_alphanumeric() || matches!(char, '_' | '-'))
        .collect();
    let label = match &*name {
        "utf8" | "utf8mb3" | "utf8mb4" | "binary" | "sql_ascii" | "ascii" => return Some(None),
        "win1250" => "windows-1250",
        "win1251" | "cp1251" => "windows-1251",
        "win1252" => "windows-1252",
        "latin1" => "latin1",
        "latin2" => "iso-8859-2",
        "latin9" => "iso-8859-15",
        "greek" => "iso-8859-7",
        "hebrew" => "iso-8859-8",
        "ujis" | "euc_jp" => "euc-jp",
        "sjis" | "cp932" => "shift_jis",
        "euckr" | "euc_kr" => "euc-kr",
        other => other,
    };
    encoding_rs::Encoding::for_label(label.as_bytes())
        .map(|encoding| (encoding != encoding_rs::UTF_8).then_some(encoding))
}
