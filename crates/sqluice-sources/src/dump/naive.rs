//! A slow and simple splitter for tests: it has the whole dump in memory and looks at one byte at a time.
//!
//! | | ends a statement | but not within |
//! |---|---|---|
//! | SQLite | `;` | quotes, comments; CREATE TRIGGER, which ends with `; END ;` |
//! | MySQL | the delimiter | quotes, comments |
//! | Postgres | `;` | quotes, comments, parentheses; CREATE FUNCTION and PROCEDURE between BEGIN and END |
//!
//! These are the rules of `sqlite3_complete` and of the programs `mysql` and `psql`. For any bytes, the fast splitter must return the same
//! statements.

use super::lex::Dialect;
use super::sql_mode::SqlMode;

/// A statement, a command of a shell, or a COPY statement with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) start: usize,
    /// The position after the last byte, before the delimiter.
    pub(super) end: usize,
    /// The position after the delimiter, or after the line that ends the data of COPY.
    pub(super) next: usize,
    /// `true` if a backslash begins an escape in the strings of the statement.
    pub(super) backslash_escapes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Statement,
    Command,
    /// A COPY statement, with the number of lines of its data.
    Copy(u64),
}

/// The error if the data of COPY have no end. Contains the start of the COPY statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unended(pub(super) usize);

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// White space, or a comment.
    Blank,
    /// A string or a quoted name.
    Quoted,
    /// A word or a number.
    Word,
    /// Any other byte.
    Symbol,
}

/// A reader of the text of a dump.
pub(super) struct Reader<'t> {
    pub(super) text: &'t [u8],
    dialect: Dialect,
    backslash_escapes: bool,
    delimiter: Vec<u8>,
    sql_mode: SqlMode,
}

/// Splits a dump into statements.
pub(super) fn split(text: &[u8], dialect: Dialect) -> Result<Vec<Entry>, Unended> {
    let mut reader = Reader::new(text, dialect);
    let mut entries = Vec::new();
    let mut at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    loop {
        at = reader.behind_blanks(at);
        if at == text.len() {
            return Ok(entries);
        }
        if let Some((end, next)) = reader.command(at) {
            if dialect != Dialect::MySql {
                entries.push(reader.entry(Kind::Command, at, end, next));
            }
            at = next;
            continue;
        }
        let (end, next) = reader.statement(at);
        let entry = match reader.copy(at, end, next) {
            Some(data) => {
                let (lines, next) = reader.lines(data).ok_or(Unended(at))?;
                reader.entry(Kind::Copy(lines), at, next, next)
            }
            None => {
                let entry = reader.entry(Kind::Statement, at, end, next);
                reader.take_setting(&text[at..end]);
                entry
            }
        };
        at = entry.next;
        entries.push(entry);
    }
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t [u8], dialect: Dialect) -> Reader<'t> {
        Reader {
            text,
            dialect,
            backslash_escapes: dialect == Dialect::MySql,
            delimiter: b";".to_vec(),
            sql_mode: SqlMode::default(),
        }
    }

    /// Creates a reader of the text up to the end of `entry`, with the escapes that hold for the entry.
    pub(super) fn of_entry(text: &'t [u8], dialect: Dialect, entry: &Entry) -> Reader<'t> {
        Reader { backslash_escapes: entry.backslash_escapes, ..Reader::new(&text[..entry.end], dialect) }
    }

    fn entry(&self, kind: Kind, start: usize, end: usize, next: usize) -> Entry {
        Entry { kind, start, end, next, backslash_escapes: self.backslash_escapes }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    fn has(&self, at: usize, bytes: &[u8]) -> bool {
        self.text[at..].starts_with(bytes)
    }

    fn is_word(&self, at: usize) -> bool {
        match self.byte(at) {
            Some(byte) => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80,
            None => false,
        }
    }

    /// Returns the first position from `at` on at which `bytes` occur, or the end of the dump.
    fn find(&self, mut at: usize, bytes: &[u8]) -> usize {
        while at < self.text.len() && !self.has(at, bytes) {
            at += 1;
        }
        at
    }

    /// Returns the position after the next occurrence of `bytes`, or the end of the dump.
    fn behind(&self, at: usize, bytes: &[u8]) -> usize {
        (self.find(at, bytes) + bytes.len()).min(self.text.len())
    }

    /// Returns the kind of the token at `at`, and the position after the token.
    pub(super) fn token(&self, at: usize) -> (Token, usize) {
        if self.text[at].is_ascii_whitespace() {
            return (Token::Blank, at + 1);
        }
        if let Some(end) = self.comment(at) {
            return (Token::Blank, end);
        }
        if let Some(end) = self.quoted(at) {
            return (Token::Quoted, end);
        }
        if !self.is_word(at) {
            return (Token::Symbol, at + 1);
        }
        let mut end = at;
        // The program `mysql` looks for its delimiter at every byte, even within words.
        while self.is_word(end)
            && (end == at || self.dialect != Dialect::MySql || !self.has(end, &self.delimiter))
        {
            end += 1;
        }
        (Token::Word, end)
    }

    /// Returns the end of the comment that begins at `at`; `None` if no comment begins there.
    fn comment(&self, at: usize) -> Option<usize> {
        let mysql = self.dialect == Dialect::MySql;
        let is_dashes = self.has(at, b"--") && (!mysql || self.byte(at + 2).is_none_or(|byte| byte <= b' '));
        if is_dashes || mysql && self.has(at, b"#") {
            return Some(self.find(at, b"\n"));
        }
        if mysql && self.has(at, b"*/") {
            return Some(at + 2);
        }
        if !self.has(at, b"/*") {
            return None;
        }
        match self.dialect {
            Dialect::Sqlite => Some(self.behind(at + 2, b"*/")),
            Dialect::MySql => {
                for mark in [&b"/*!"[..], b"/*M!"] {
                    if !self.has(at, mark) {
                        continue;
                    }
                    let mut end = at + mark.len();
                    while end < at + mark.len() + 6
                        && self.byte(end).is_some_and(|byte| byte.is_ascii_digit())
                    {
                        end += 1;
                    }
                    if &self.text[at + mark.len()..end] != b"999999" {
                        return Some(end);
                    }
                }
                Some(self.behind(at + 2, b"*/"))
            }
            Dialect::Postgres => {
                let (mut depth, mut end) = (0, at);
                while end < self.text.len() {
                    if self.has(end, b"/*") {
                        (depth, end) = (depth + 1, end + 2);
                    } else if self.has(end, b"*/") {
                        (depth, end) = (depth - 1, end + 2);
                    } else {
                        end += 1;
                    }
                    if depth == 0 {
                        break;
                    }
                }
                Some(end)
            }
        }
    }

    /// Returns the end of the string or quoted name that begins at `at`; `None` if none begins there.
    fn quoted(&self, at: usize) -> Option<usize> {
        let sqlite = self.dialect == Dialect::Sqlite;
        let mysql = self.dialect == Dialect::MySql;
        match self.text[at] {
            b'\'' => Some(self.until_quote(at, self.backslash_escapes)),
            b'"' => Some(self.until_quote(at, mysql && self.backslash_escapes)),
            b'`' if self.dialect != Dialect::Postgres => Some(self.until_quote(at, false)),
            b'[' if sqlite => Some(self.behind(at + 1, b"]")),
            _ if self.dialect != Dialect::Postgres => None,
            b'E' | b'e' if self.has(at + 1, b"'") => Some(self.until_quote(at + 1, true)),
            b'$' => {
                let mut tag = at + 1;
                while self.is_word(tag) && self.byte(tag) != Some(b'$') {
                    tag += 1;
                }
                let is_tag = self.byte(tag) == Some(b'$') && !self.text[at + 1].is_ascii_digit();
                is_tag.then(|| self.behind(tag + 1, &self.text[at..=tag]))
            }
            _ => None,
        }
    }

    /// Returns the position after the closing quote of the string that begins at `at`. A doubled quote is not a closing quote.
    fn until_quote(&self, at: usize, escapes: bool) -> usize {
        let quote = self.text[at];
        let mut end = at + 1;
        while end < self.text.len() {
            if escapes && self.text[end] == b'\\' {
                end += 2;
            } else if self.text[end] != quote {
                end += 1;
            } else if self.byte(end + 1) == Some(quote) {
                end += 2;
            } else {
                return end + 1;
            }
        }
        self.text.len()
    }

    /// Returns the position of the next statement: skips white space and comments.
    fn behind_blanks(&self, mut at: usize) -> usize {
        while at < self.text.len() {
            if self.text[at].is_ascii_whitespace() {
                at += 1;
            } else if self.has(at, &self.delimiter) {
                at += self.delimiter.len();
            } else if self.dialect == Dialect::Sqlite && self.text[at] == b'#' {
                at = self.behind(at, b"\n");
            } else if let Some(end) = self.comment(at) {
                at = end;
            } else {
                break;
            }
        }
        at
    }

    /// If a command begins at `at`, returns the end of its line and the position of the next line.
    fn command(&mut self, at: usize) -> Option<(usize, usize)> {
        let end = self.find(at, b"\n");
        let line = &self.text[at..end];
        match self.dialect {
            Dialect::Sqlite if line[0] == b'.' => {}
            Dialect::Postgres if line[0] == b'\\' => {}
            Dialect::MySql
                if line.len() > 9
                    && line[..9].eq_ignore_ascii_case(b"DELIMITER")
                    && matches!(line[9], b' ' | b'\t') =>
            {
                let delimiter = line[10..].trim_ascii();
                if !delimiter.is_empty() {
                    self.delimiter = delimiter.to_vec();
                }
            }
            _ => return None,
        }
        Some((end, (end + 1).min(self.text.len())))
    }

    /// Returns the end of the statement that begins at `start`, without its delimiter and with its delimiter.
    fn statement(&self, start: usize) -> (usize, usize) {
        let mut words: Vec<String> = Vec::new();
        // SQLite: 1 after `;`, 2 after `; END`.
        let mut ending = 0;
        // Postgres: the number of open parentheses, and of BEGIN and CASE words without END.
        let (mut parentheses, mut blocks) = (0_u64, 0_u64);
        let mut at = start;
        while at < self.text.len() {
            let (token, end) = self.token(at);
            if token != Token::Blank && token != Token::Quoted && self.has(at, &self.delimiter) {
                let goes_on = match self.dialect {
                    Dialect::Sqlite => is_trigger(&words) && ending < 2,
                    Dialect::Postgres => parentheses > 0 || blocks > 0,
                    Dialect::MySql => false,
                };
                if !goes_on {
                    return (at, at + self.delimiter.len());
                }
            }
            match token {
                Token::Blank => {}
                Token::Quoted => {
                    ending = 0;
                    words.resize(words.len().max(4), String::new());
                }
                Token::Symbol => {
                    match self.text[at] {
                        b'(' => parentheses += 1,
                        b')' => parentheses = parentheses.saturating_sub(1),
                        _ => {}
                    }
                    ending = u8::from(self.text[at] == b';');
                }
                Token::Word => {
                    let word = String::from_utf8_lossy(&self.text[at..end]).to_ascii_uppercase();
                    ending = if ending == 1 && word == "END" { 2 } else { 0 };
                    if is_function(&words) && parentheses == 0 {
                        match &*word {
                            "BEGIN" => blocks += 1,
                            "CASE" if blocks > 0 => blocks += 1,
                            "END" => blocks = blocks.saturating_sub(1),
                            _ => {}
                        }
                    }
                    if words.len() < 4 {
                        words.push(word);
                    }
                }
            }
            at = end;
        }
        (self.text.len(), self.text.len())
    }

    /// Returns the tokens of a statement without white space and comments: their kind, start and end.
    pub(super) fn tokens(&self, start: usize) -> Vec<(Token, usize, usize)> {
        let mut tokens = Vec::new();
        let mut at = start;
        while at < self.text.len() {
            let (token, end) = self.token(at);
            if token != Token::Blank {
                tokens.push((token, at, end));
            }
            at = end;
        }
        tokens
    }

    /// Returns the start of the data if the statement from `start` to `end` is `COPY table (columns) FROM STDIN;`.
    fn copy(&self, start: usize, end: usize, next: usize) -> Option<usize> {
        if self.dialect != Dialect::Postgres || next == end {
            return None;
        }
        let statement =
            Reader { text: &self.text[..end], delimiter: Vec::new(), sql_mode: SqlMode::default(), ..*self };
        let tokens = statement.tokens(start);
        let is = |at: usize, word: &str| {
            let token = tokens.get(at);
            token.is_some_and(|&(_, from, to)| self.text[from..to].eq_ignore_ascii_case(word.as_bytes()))
        };
        let is_name = |at: usize| tokens.get(at).is_some_and(|(token, ..)| *token != Token::Symbol);
        if !is(0, "COPY") || !is_name(1) {
            return None;
        }
        let mut at = 2;
        if is(at, ".") {
            if !is_name(at + 1) {
                return None;
            }
            at += 2;
        }
        if is(at, "(") {
            loop {
                if !is_name(at + 1) {
                    return None;
                }
                at += 2;
                if is(at, ")") {
                    break;
                }
                if !is(at, ",") {
                    return None;
                }
            }
            at += 1;
        }
        let is_from_stdin = is(at, "FROM") && is(at + 1, "STDIN") && tokens.len() == at + 2;
        is_from_stdin.then(|| self.behind(next, b"\n"))
    }

    /// Returns the number of lines of data from `at` on, and the position after the line `\.` that ends them.
    fn lines(&self, mut at: usize) -> Option<(u64, usize)> {
        let mut lines = 0;
        while at < self.text.len() {
            let end = self.find(at, b"\n");
            let next = (end + 1).min(self.text.len());
            if matches!(&self.text[at..end], b"\\." | b"\\.\r") {
                return Some((lines, next));
            }
            (lines, at) = (lines + 1, next);
        }
        None
    }

    /// Applies a SET statement that changes how strings are read.
    fn take_setting(&mut self, statement: &[u8]) {
        let text = String::from_utf8_lossy(&statement[..statement.len().min(1000)]).to_ascii_lowercase();
        match self.dialect {
            Dialect::MySql => {
                self.sql_mode.take(&text);
                self.backslash_escapes = self.sql_mode.backslash_escapes();
            }
            Dialect::Postgres if text.starts_with("set") && text.contains("standard_conforming_strings") => {
                self.backslash_escapes = text.contains("off");
            }
            _ => {}
        }
    }
}

/// Returns `true` if a statement with these first words contains statements up to `; END ;`.
fn is_trigger(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = words.strip_prefix(&["EXPLAIN"]).unwrap_or(&words);
    matches!(words, ["CREATE", "TRIGGER", ..] | ["CREATE", "TEMP" | "TEMPORARY", "TRIGGER", ..])
}

/// Returns `true` if a statement with these first words may contain statements between BEGIN and END.
fn is_function(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = words.strip_prefix(&["CREATE", "OR", "REPLACE"]).or(words.strip_prefix(&["CREATE"]));
    words.is_some_and(|words| matches!(words, ["FUNCTION" | "PROCEDURE", ..]))
}
