//! Finds strings, quoted names and comments in the text of a dump: a semicolon within them does not end a statement.
//!
//! | | SQLite | MySQL | Postgres |
//! |---|---|---|---|
//! | string | `'it''s'` | `'it\'s'`, `"it\"s"`, a quote may also be doubled | `'it''s'`, `E'it\'s'`, `$tag$it's$tag$` |
//! | name | `"a"`, `[a]`, `` `a` `` | `` `a` `` | `"a"` |
//! | comment to the end of the line | `--` | `#`, and `--` before white space | `--` |
//! | comment | `/* */` | `/* */`; the server executes the text of `/*!40101 */` | `/* /* */ */` |
//!
//! All functions work on a window of the dump: the bytes that are in memory. They return [`Look::More`] if bytes after the window decide.

use std::borrow::Cow;

/// The rules for reading the text of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The SQL dialect of the dump.
    pub dialect: Dialect,
    /// `true` if a backslash begins an escape in every string.
    pub backslash_escapes: bool,
    /// The encoding of the dump's text; `None` for UTF-8.
    pub encoding: Option<&'static encoding_rs::Encoding>,
}

/// The SQL dialect of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The shell of SQLite.
    Sqlite,
    /// MySQL and MariaDB.
    MySql,
    /// PostgreSQL.
    Postgres,
}

/// The kind of text at a position of a dump: code, a quoted string or name, or a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A byte of a statement.
    Code,
    /// A string or a quoted name that ends at this position.
    Quoted(usize),
    /// A comment that ends at this position.
    Comment(usize),
    /// The window ends before the string or the comment does, or before its bytes show what begins here.
    More,
}

impl Rules {
    /// Returns bytes of the dump as text. Bytes that are invalid in its encoding become U+FFFD.
    pub fn decoded(self, bytes: &[u8]) -> Cow<'_, str> {
        decoded(bytes, self.encoding)
    }
}

/// Decodes bytes as UTF-8 if they are valid UTF-8, which programs write whatever encoding they declare, or else in `encoding`. Invalid bytes
/// become U+FFFD.
pub fn decoded<'t>(bytes: &'t [u8], encoding: Option<&'static encoding_rs::Encoding>) -> Cow<'t, str> {
    match (std::str::from_utf8(bytes), encoding) {
        (Err(_), Some(encoding)) => encoding.decode_without_bom_handling(bytes).0,
        _ => String::from_utf8_lossy(bytes),
    }
}

impl Dialect {
    /// Returns the name of the database system.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Sqlite => "SQLite",
            Dialect::MySql => "MySQL",
            Dialect::Postgres => "PostgreSQL",
        }
    }

    /// Returns the rules at the start of a dump; settings in the dump may change them.
    pub fn rules(self) -> Rules {
        Rules { dialect: self, backslash_escapes: self == Dialect::MySql, encoding: None }
    }
}

/// Returns the kind of text that begins at `at`, which must not be within a word. `whole` is `true` if the window ends with the dump.
pub fn look(text: &[u8], at: usize, rules: Rules, whole: bool) -> Look {
    let next = text.get(at + 1).copied();
    // `true` if the next byte decides, but is not in the window.
    let unknown = next.is_none() && !whole;
    match (text[at], rules.dialect) {
        (b'\'', _) => quoted(text, at, rules.backslash_escapes, whole),
        (b'"', Dialect::MySql) => quoted(text, at, rules.backslash_escapes, whole),
        (b'"', _) | (b'`', Dialect::Sqlite | Dialect::MySql) => quoted(text, at, false, whole),
        (b'[', Dialect::Sqlite) => ended(text, at + 1, b"]", whole, Look::Quoted),
        (b'-' | b'/', _) if unknown => Look::More,
        (b'-', Dialect::MySql) if next == Some(b'-') => match text.get(at + 2) {
            None if !whole => Look::More,
            None | Some(0..=b' ') => line(text, at, whole),
            Some(_) => Look::Code,
        },
        (b'-', _) if next == Some(b'-') => line(text, at, whole),
        (b'#', Dialect::MySql) => line(text, at, whole),
        (b'/', Dialect::MySql) if next == Some(b'*') => mysql_comment(text, at, whole),
        (b'*', Dialect::MySql) if unknown => Look::More,
        // This `*/` ends a comment whose text the server executes.
        (b'*', Dialect::MySql) if next == Some(b'/') => Look::Comment(at + 2),
        (b'/', Dialect::Sqlite) if next == Some(b'*') => ended(text, at + 2, b"*/", whole, Look::Comment),
        (b'/', Dialect::Postgres) if next == Some(b'*') => nested_comment(text, at, whole),
        (b'E' | b'e', Dialect::Postgres) if unknown => Look::More,
        (b'E' | b'e', Dialect::Postgres) if next == Some(b'\'') => quoted(text, at + 1, true, whole),
        (b'$', Dialect::Postgres) => dollar_quoted(text, at, whole),
        _ => Look::Code,
    }
}

/// Returns `true` if a byte may be part of a word: a keyword, an unquoted name or a number.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Returns the end of the string or name whose opening quote is at `at`.
fn quoted(text: &[u8], at: usize, escapes: bool, whole: bool) -> Look {
    let quote = text[at];
    let mut to = at + 1;
    while to < text.len() {
        match text[to] {
            b'\\' if escapes => to += 2,
            byte if byte == quote => match text.get(to + 1) {
                Some(&next) if next == quote => to += 2,
                None if !whole => return Look::More,
                _ => return Look::Quoted(to + 1),
            },
            _ => to += 1,
        }
    }
    unended(text, whole, Look::Quoted)
}

/// Finds the first `end` from the position `from` on. Returns `found` with the position after it, or the result of [`unended`] if there is
/// none.
fn ended(text: &[u8], from: usize, end: &[u8], whole: bool, found: fn(usize) -> Look) -> Look {
    match text.get(from..).and_then(|rest| memchr::memmem::find(rest, end)) {
        Some(at) => found(from + at + end.len()),
        None => unended(text, whole, found),
    }
}

/// Returns the result for a string or comment without an end in `text`: `found` with the end of the dump if the window is the `whole` rest
/// of the dump, or else [`Look::More`].
fn unended(text: &[u8], whole: bool, found: fn(usize) -> Look) -> Look {
    if whole { found(text.len()) } else { Look::More }
}

/// Returns the end of a comment that ends with its line. The line end is not part of the comment.
fn line(text: &[u8], at: usize, whole: bool) -> Look {
    match memchr::memchr(b'\n', &text[at..]) {
        Some(end) => Look::Comment(at + end),
        None => unended(text, whole, Look::Comment),
    }
}

/// Returns the end of a comment of MySQL. If the server executes the text of the comment, only its first characters, `/*!40101`, are the
/// comment. MariaDB's `/*M!999999` names a version that no server has, so all of it is a comment.
fn mysql_comment(text: &[u8], at: usize, whole: bool) -> Look {
    const MARK_BYTES_MAX: usize = "/*M!999999".len();
    let rest = &text[at..];
    if rest.len() < MARK_BYTES_MAX && !whole {
        return Look::More;
    }
    let version = match rest {
        [b'/', b'*', b'!', ..] => 3,
        [b'/', b'*', b'M', b'!', ..] => 4,
        _ => return ended(text, at + 2, b"*/", whole, Look::Comment),
    };
    let digits = rest[version..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    if &rest[version..version + digits] == b"999999" {
        return ended(text, at + 2, b"*/", whole, Look::Comment);
    }
    Look::Comment(at + version + digits)
}

/// Returns the end of a comment of Postgres, which may contain other comments.
fn nested_comment(text: &[u8], at: usize, whole: bool) -> Look {
    let (mut depth, mut to) = (0_usize, at);
    while to + 1 < text.len() {
        match &text[to..to + 2] {
            b"/*" => (depth, to) = (depth + 1, to + 2),
            b"*/" => {
                (depth, to) = (depth - 1, to + 2);
                if depth == 0 {
                    return Look::Comment(to);
                }
            }
            _ => to += 1,
        }
    }
    unended(text, whole, Look::Comment)
}

/// Returns the end of a string between `$tag$` and `$tag$`. `$1` is not a string, but a parameter.
fn dollar_quoted(text: &[u8], at: usize, whole: bool) -> Look {
    let rest = &text[at + 1..];
    let tag = rest.iter().take_while(|&&byte| is_word(byte) && byte != b'$').count();
    match rest.get(tag) {
        None if !whole => Look::More,
        Some(b'$') if !rest[0].is_ascii_digit() => {
            let (mark, from) = (&text[at..at + tag + 2], at + tag + 2);
            ended(text, from, mark, whole, Look::Quoted)
        }
        _ => Look::Code,
    }
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn bytes_that_are_not_utf_8_are_decoded_in_the_encoding_of_the_dump() {
        let latin = Some(encoding_rs::WINDOWS_1252);
        assert_eq!(decoded(b"\xfc0", latin), "\u{fc}0");
        // mariadb-dump writes declarations in UTF-8, whatever the encoding of the rows is. So valid UTF-8 is decoded as UTF-8.
        assert_eq!(decoded("\u{fc}0".as_bytes(), latin), "\u{fc}0");
        assert_eq!(decoded(b"\xfc0", None), "\u{fffd}0");
    }
}
