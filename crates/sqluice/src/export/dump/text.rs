//! Rewrites the statements of a schema so that programs which read line by line, such as `sqlite3`, run them unchanged.
//!
//! | in the statement | problem and solution |
//! |---|---|
//! | CR LF | `sqlite3` drops CR: a string becomes an expression with CR, and other text is corrected in `sqlite_schema` |
//! | `/` or `go` alone on a line | `sqlite3` ends the statement there: a comment is put before it |
//! | a comment at the end | SQLite would store the end of the comment, too: the text is corrected in `sqlite_schema` |

use sqluice_core::schema::token::{Token, TokenKind, terminated, tokens};
use sqluice_writers::sql::push_text;

/// A statement that programs which read lines run unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Readable {
    /// The statement, with a semicolon.
    pub(super) sql: String,
    /// `true` if running the statement stores the original text in `sqlite_schema`.
    pub(super) is_kept: bool,
}

/// Rewrites a statement of `sqlite_schema` for programs that read lines.
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

/// Returns an expression for a string of a statement. A blob literal stays as it is, since it has no line ends.
fn string(token: &Token, sql: &str) -> String {
    token.name(sql).map_or_else(|| token.text(sql).to_owned(), |text| format!("({})", literal(&text)))
}

/// Returns `true` if a token is the first of its line.
fn is_first(sql: &str, token: &Token) -> bool {
    sql[..token.at.start].rsplit('\n').next().is_none_or(|before| before.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    /// Returns the text as the program `sqlite3` reads it, and `true` if the program ends the statement before its last line.
    fn by_lines(statement: &str) -> (String, bool) {
        let lines: Vec<&str> =
            statement.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        let ends = |line: &&str| ["/", "go"].contains(&line.trim().to_ascii_lowercase().as_str());
        (lines.join("\n"), lines.iter().any(ends))
    }

    #[test]
    fn a_dumped_statement_without_peculiarities_only_gets_a_semicolon() {
        for sql in ["CREATE TABLE t (a)", "CREATE VIEW v AS SELECT 1 -- one\n, 2 / 3"] {
            let Readable { sql: statement, is_kept } = readable(sql);
            assert_eq!((statement.as_str(), is_kept), (&*format!("{sql};"), true));
        }
    }

    #[test]
    fn a_dumped_statement_makes_sqlite_store_the_original_text_or_is_marked_as_changed() {
        let statements = [
            "CREATE TABLE t (a, b)",
            "CREATE TABLE t (a, b) -- end",
            "CREATE TABLE t (a,\r\n b DEFAULT 'x\r\ny')",
            "CREATE VIEW t AS SELECT 1 -- end",
            "CREATE VIEW t AS SELECT 1 /* end",
            "CREATE VIEW t AS SELECT 4\n/\n2 AS a\n, 5 AS\n  GO\n",
            "CREATE VIEW t AS SELECT '\n/\n' AS a",
        ];
        for sql in statements {
            let Readable { sql: statement, is_kept } = readable(sql);
            let (read, _) = by_lines(&statement);
            for statement in [&statement, &read] {
                let connection = Connection::open_in_memory().unwrap();
                connection.execute_batch(statement).unwrap();
                let stored: String =
                    connection.query_row("SELECT sql FROM sqlite_schema", [], |row| row.get(0)).unwrap();
                let original = Connection::open_in_memory().unwrap();
                original.execute_batch(sql).unwrap();
                let expected: String =
                    original.query_row("SELECT sql FROM sqlite_schema", [], |row| row.get(0)).unwrap();
                assert!(stored == expected || !is_kept, "{statement}: {stored}");
                let values = |connection: &Connection| {
                    if sql.contains("TABLE") {
                        connection.execute_batch("INSERT INTO t (a) VALUES (1)").unwrap();
                    }
                    connection
                        .query_row("SELECT * FROM t", [], |row| {
                            row.get::<_, rusqlite::types::Value>(row.as_ref().column_count() - 1)
                        })
                        .unwrap()
                };
                assert_eq!(values(&connection), values(&original), "{statement}");
            }
        }
    }

    #[test]
    fn no_line_of_a_dumped_statement_ends_the_statement_early() {
        for sql in ["SELECT 4\n/\n2", "SELECT 4 AS\n go \n", "SELECT 4\n / -- half\n2", "SELECT\n1 AS Go"] {
            assert!(!by_lines(&readable(sql).sql).1, "{sql}");
        }
    }
}
