//! The statements of a schema in a form that programs which read lines run unchanged.
//!
//! | in the statement | what happens |
//! |---|---|
//! | CR LF | `sqlite3` drops CR: a string gets it by an expression, all else by a correction |
//! | `/` or `go` alone on a line | `sqlite3` ends the statement there: a comment precedes them |
//! | a comment at the end | SQLite stores what ends the comment with the statement |

use sqluice_core::schema::token::{Token, TokenKind, terminated, tokens};
use sqluice_writers::sql::push_text;

/// A statement in a form for programs that read lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Readable {
    /// The statement, with a semicolon.
    pub(super) sql: String,
    /// `true` if `sqlite_schema` gets the original text from it.
    pub(super) is_kept: bool,
}

/// Returns a statement of `sqlite_schema` in a form for programs that read lines.
pub(super) fn readable(sql: &str) -> Readable {
    let mut text = String::new();
    let mut from = 0;
    for token in tokens(sql) {
        let (at, word) = (token.at.clone(), token.text(sql));
        let is_end = word == "/" || word.eq_ignore_ascii_case("go");
        if token.kind == TokenKind::String && word.contains("\r\n") {
            text.push_str(&sql[from..at.start]);
            text.push_str(&string(&token, sql));
            from = at.end;
        } else if is_end && is_first(sql, &token) {
            text.push_str(&sql[from..at.start]);
            text.push_str("/**/ ");
            from = at.start;
        }
    }
    text.push_str(&sql[from..]);
    let terminated = terminated(&text);
    let is_kept = terminated.strip_suffix(';') == Some(sql) && !sql.contains("\r\n");
    Readable { sql: terminated, is_kept }
}

/// Returns a text as an expression of SQL.
pub(super) fn literal(text: &str) -> String {
    let mut out = Vec::new();
    push_text(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the expression for a string of a statement. Blobs have no line ends.
fn string(token: &Token, sql: &str) -> String {
    token.name(sql).map_or_else(|| token.text(sql).to_owned(), |text| format!("({})", literal(&text)))
}

/// Returns `true` if a token is the first of its line.
fn is_first(sql: &str, token: &Token) -> bool {
    sql[..token.at.start].rsplit('\n').next().is_none_or(|before| before.trim().is_empty())
}
