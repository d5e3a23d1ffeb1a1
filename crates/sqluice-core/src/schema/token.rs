//! SQL text cut into tokens, as by SQLite's tokenizer.
//!
//! SQLite parses the SQL. The tokens are needed for details that SQLite's PRAGMAs do not show: the place of a column in a file, the comment
//! of a column, and CHECK constraints.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A keyword or a bare identifier.
    Word,
    /// `"x"`, `[x]` or `` `x` ``.
    QuotedName,
    /// `'x'`, or a blob `x'00'`.
    String,
    /// A number, which begins with a digit, or with a dot and a digit.
    Number,
    /// `-- ...`, without the newline.
    LineComment,
    /// `/* ... */`.
    BlockComment,
    /// Any other single character.
    Symbol,
}

/// A token and its byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The kind of the token.
    pub kind: TokenKind,
    /// The range of the token's bytes in the SQL text.
    pub at: Range<usize>,
}

impl Token {
    /// Returns the text of the token. `sql` is the text that was cut into tokens.
    pub fn text<'a>(&self, sql: &'a str) -> &'a str {
        &sql[self.at.clone()]
    }

    /// Returns `true` if the token is the word `word`, in any case.
    pub fn is_word(&self, sql: &str, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text(sql).eq_ignore_ascii_case(word)
    }

    /// Returns `true` if the token is the character `symbol`.
    pub fn is_symbol(&self, sql: &str, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text(sql) == symbol
    }

    /// Returns `true` if the token is a comment.
    pub fn is_comment(&self) -> bool {
        matches!(self.kind, TokenKind::LineComment | TokenKind::BlockComment)
    }

    /// Returns the name that the token spells, without quotes; `None` if the token can't be a name.
    pub fn name(&self, sql: &str) -> Option<String> {
        let text = self.text(sql);
        match self.kind {
            TokenKind::Word => Some(text.to_owned()),
            TokenKind::QuotedName | TokenKind::String if text.len() >= 2 => {
                let (quote, inner) = (&text[..1], &text[1..text.len() - 1]);
                let doubled = quote.repeat(2);
                Some(if quote == "[" { inner.to_owned() } else { inner.replace(&doubled, quote) })
            }
            _ => None,
        }
    }
}

/// Returns all tokens of `sql`, without white space. An unterminated string or comment runs to the end.
pub fn tokens(sql: &str) -> Vec<Token> {
    let bytes = sql.as_bytes();
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let rest = &bytes[start..];
        let (kind, len) = match rest {
            [b' ' | b'\t' | b'\n' | b'\r' | b'\x0c', ..] => {
                start += 1;
                continue;
            }
            [b'-', b'-', ..] => {
                (TokenKind::LineComment, rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()))
            }
            [b'/', b'*', ..] => {
                let end = sql[start + 2..].find("*/").map_or(rest.len(), |at| at + 4);
                (TokenKind::BlockComment, end)
            }
            [b'x' | b'X', b'\'', ..] => (TokenKind::String, 1 + quoted(&rest[1..], b'\'')),
            [b'\'', ..] => (TokenKind::String, quoted(rest, b'\'')),
            [quote @ (b'"' | b'`'), ..] => (TokenKind::QuotedName, quoted(rest, *quote)),
            [b'[', ..] => {
                (TokenKind::QuotedName, rest.iter().position(|&b| b == b']').map_or(rest.len(), |at| at + 1))
            }
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => (TokenKind::Number, number(rest)),
            [b, ..] if is_word(*b) => {
                (TokenKind::Word, rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len()))
            }
            _ => (TokenKind::Symbol, 1),
        };
        tokens.push(Token { kind, at: start..start + len });
        start += len;
    }
    tokens
}

/// Returns `true` if two statements differ only in spaces, comments and the case of words.
pub fn same(one: &str, other: &str) -> bool {
    let words = |sql: &str| {
        let tokens = tokens(sql).into_iter().filter(|token| !token.is_comment());
        let words = tokens.map(|token| match token.kind {
            TokenKind::Word => token.text(sql).to_ascii_lowercase(),
            _ => token.text(sql).to_owned(),
        });
        words.collect::<Vec<String>>()
    };
    words(one) == words(other)
}

/// Returns a statement with a semicolon at its end. If a comment ends the statement, the comment is closed before the semicolon, by a line
/// break or by `*/`.
pub fn terminated(sql: &str) -> String {
    let end = match tokens(sql).last() {
        Some(last) if last.kind == TokenKind::LineComment => "\n;",
        Some(last) if last.kind == TokenKind::BlockComment && !is_closed(last.text(sql)) => "*/;",
        _ => ";",
    };
    format!("{sql}{end}")
}

/// Returns `true` if the text of a block comment ends with `*/`. SQLite also ends such a comment at the end of the statement.
fn is_closed(comment: &str) -> bool {
    comment.len() >= "/**/".len() && comment.ends_with("*/")
}

/// Returns the expressions of the CHECK constraints in a CREATE TABLE statement. CHECK is a reserved word, so a constraint begins wherever
/// the bare word stands before a parenthesis.
pub fn checks(sql: &str) -> Vec<&str> {
    let tokens: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let checks = tokens
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[0].is_word(sql, "CHECK") && pair[1].is_symbol(sql, "("));
    checks.filter_map(|(at, _)| enclosed(sql, &tokens[at + 1..])).collect()
}

/// Returns the text between the parenthesis at the start of `tokens` and its closing parenthesis; `None` if `tokens` does not begin with a
/// parenthesis that is closed.
pub fn enclosed<'s>(sql: &'s str, tokens: &[Token]) -> Option<&'s str> {
    let mut depth = 0;
    for token in tokens {
        if token.is_symbol(sql, "(") {
            depth += 1;
        } else if token.is_symbol(sql, ")") {
            depth -= 1;
        }
        if depth == 0 {
            return sql.get(tokens.first()?.at.end..token.at.start);
        }
    }
    None
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Returns the number of bytes up to the closing quote, inclusive. A doubled quote does not close.
fn quoted(bytes: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at] == quote {
            if bytes.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    bytes.len()
}

/// Returns the number of bytes of a number: digits, letters, dots, and a sign after an exponent's `e`.
fn number(bytes: &[u8]) -> usize {
    let hex = bytes.len() > 1 && bytes[0] == b'0' && bytes[1].eq_ignore_ascii_case(&b'x');
    let mut at = 1;
    while at < bytes.len() {
        let sign = matches!(bytes[at], b'+' | b'-') && !hex && bytes[at - 1].eq_ignore_ascii_case(&b'e');
        if !is_word(bytes[at]) && bytes[at] != b'.' && !sign {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;
    use crate::sqlite_error::{is_of_values, said};

    fn texts(sql: &str) -> Vec<&str> {
        tokens(sql).iter().map(|token| token.text(sql)).collect()
    }

    #[test]
    fn comments_strings_and_names_are_one_token_each() {
        let sql = "CREATE TABLE \"a \"\"b\"(x'00', 'it''s', [c d], `e`) -- gen: x(';')\n/* ; */;";
        let expected = [
            "CREATE",
            "TABLE",
            "\"a \"\"b\"",
            "(",
            "x'00'",
            ",",
            "'it''s'",
            ",",
            "[c d]",
            ",",
            "`e`",
            ")",
            "-- gen: x(';')",
            "/* ; */",
            ";",
        ];
        assert_eq!(texts(sql), expected);
    }

    #[test]
    fn a_sign_belongs_to_a_number_only_after_the_e_of_an_exponent() {
        assert_eq!(texts("1e-5+2.5-.5"), ["1e-5", "+", "2.5", "-", ".5"]);
        assert_eq!(texts("0x1e-5"), ["0x1e", "-", "5"]);
    }

    #[test]
    fn an_unterminated_string_name_or_comment_is_one_token_up_to_the_end_of_the_text() {
        for sql in ["'abc", "\"abc", "[abc", "/* abc", "-- abc", "'a''"] {
            assert_eq!(texts(sql), [sql]);
        }
    }

    #[test]
    fn a_semicolon_is_added_outside_of_a_comment_at_the_end() {
        for (sql, expected) in [
            ("SELECT 1", "SELECT 1;"),
            ("SELECT 1 -- one", "SELECT 1 -- one\n;"),
            ("SELECT 1 -- one\n", "SELECT 1 -- one\n\n;"),
            ("SELECT '--'", "SELECT '--';"),
            ("SELECT 1 /* one */", "SELECT 1 /* one */;"),
            ("SELECT 1 /* one", "SELECT 1 /* one*/;"),
            ("SELECT 1 /*/", "SELECT 1 /*/*/;"),
        ] {
            assert_eq!(terminated(sql), expected);
            let connection = Connection::open_in_memory().unwrap();
            let next =
                format!("CREATE TABLE next (a); CREATE VIEW v AS {} CREATE TABLE last (a);", terminated(sql));
            connection.execute_batch(&next).unwrap();
            assert!(connection.prepare("SELECT * FROM last").is_ok(), "{sql}");
        }
    }

    #[test]
    fn name_returns_a_quoted_name_without_its_quotes() {
        let name = |sql: &str| tokens(sql)[0].name(sql);
        assert_eq!(name("\"a \"\"b\"").as_deref(), Some("a \"b"));
        assert_eq!(name("[a\"b]").as_deref(), Some("a\"b"));
        assert_eq!(name("plain").as_deref(), Some("plain"));
        assert_eq!(name("12"), None);
    }

    /// Expressions for a CHECK, with text that looks like the end of the CHECK.
    const EXPRESSIONS: [&str; 16] = [
        "a > 0",
        "b <> ')'",
        "(a IS NULL OR (a < 7)) AND typeof(b) <> 'blob'",
        "a BETWEEN -2 AND 8 -- CHECK (0)\n",
        "a /* ) CHECK (0) */ <> 5",
        "\"check\" IS NOT 'CHECK (0)'",
        "[c (d)] <> 'it''s ('",
        "`e)` IS NULL OR length(`e)`) > 1",
        "\"c\"\")\" NOT IN (1, 2, (3))",
        "CASE WHEN a THEN b = 'x' ELSE 1 END",
        "coalesce(a, 1)",
        "b NOT LIKE '%)%' ESCAPE '('",
        "x'29' <> b",
        "rowid <> 3",
        "t.a <> 4",
        "NULL OR a <> 6 /* unended ( */",
    ];

    #[derive(Clone, Debug)]
    struct Ddl {
        sql: String,
        rows: Vec<[usize; 6]>,
    }

    fn ddl() -> impl Strategy<Value = Ddl> {
        let constraint = (0..EXPRESSIONS.len(), 0..6usize).prop_map(|(expression, around)| {
            let expression = EXPRESSIONS[expression];
            match around {
                0 => format!("CHECK({expression})"),
                1 => format!("CONSTRAINT \"CHECK (0)\" check /* CHECK ( */ ({expression})"),
                2 => format!("Check -- (\n (({expression}))"),
                3 => format!("CONSTRAINT 'x)' CHECK ( {expression} ) ON CONFLICT IGNORE"),
                _ => format!("CHECK (\n{expression}\n)"),
            }
        });
        let columns = [
            "a INT",
            "b TEXT DEFAULT ('CHECK (0)')",
            "\"check\"",
            "[c (d)]",
            "`e)` -- CHECK (0)\n",
            "\"c\"\")\" NUM",
        ];
        let of_columns = prop::collection::vec((0..6usize, constraint.clone()), 0..4);
        let of_table = prop::collection::vec(constraint, 0..4);
        let rows =
            prop::collection::vec([0..8usize, 0..8usize, 0..8usize, 0..8usize, 0..8usize, 0..8usize], 0..12);
        (of_columns, of_table, rows).prop_map(move |(of_columns, of_table, rows)| {
            let mut parts: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
            for (column, constraint) in of_columns {
                // Only table constraints accept an ON CONFLICT clause here.
                parts[column] += &format!(" {}", constraint.trim_end_matches(" ON CONFLICT IGNORE"));
            }
            parts.extend(of_table);
            Ddl { sql: format!("CREATE TABLE t ({})", parts.join(",\n")), rows }
        })
    }

    const LITERALS: [&str; 8] = ["NULL", "5", "-3", "'x'", "')'", "x'29'", "6.5", "'CHECK (0)'"];

    proptest! {
        #![proptest_config(sqluice_testkit::cases(300))]

        #[test]
        fn the_extracted_checks_refuse_the_rows_that_sqlite_refuses(ddl in ddl()) {
            let (ours, twin) = (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
            ours.execute_batch(&format!("{}; PRAGMA ignore_check_constraints = ON", ddl.sql)).unwrap();
            twin.execute_batch(&ddl.sql).unwrap();
            let checks = checks(&ddl.sql);
            let mut refused = Vec::new();
            for (row, values) in (1i64..).zip(&ddl.rows) {
                let values: Vec<&str> = values.iter().map(|&value| LITERALS[value]).collect();
                let sql = format!(
                    "INSERT INTO t (rowid, a, b, \"check\", [c (d)], `e)`, \"c\"\")\") VALUES ({row}, {})",
                    values.join(", ")
                );
                ours.execute_batch(&sql).unwrap();
                if let Err(error) = twin.execute_batch(&sql) {
                    prop_assert!(is_of_values(&error), "{}", error);
                    refused.push((row, said(error)));
                }
            }
            let broken: Vec<String> = checks.iter().map(|check| format!("NOT ({check}\n)")).collect();
            let any = if broken.is_empty() { "0".to_owned() } else { broken.join(" OR ") };
            let mut found = ours.prepare(&format!("SELECT rowid FROM t NOT INDEXED WHERE {any}")).unwrap();
            let found: Vec<i64> = found.query_map([], |row| row.get(0)).unwrap().map(|row| row.unwrap()).collect();
            let rows: Vec<i64> = refused.iter().map(|(row, _)| *row).collect();
            prop_assert_eq!(found, rows);
            // The error has the name of the constraint: `CHECK (0)` or `x)`. SQLite names an unnamed constraint by its expression, or by
            // the quoted name at the start of the expression.
            for (_, said) in refused {
                let name = said.trim_start_matches("CHECK constraint failed: ").to_owned();
                let is_named = |sql: &&str| {
                    let first = tokens(sql).into_iter().find(|token| !token.is_comment());
                    sql.trim() == name || first.and_then(|token| token.name(sql)).as_ref() == Some(&name)
                };
                let found = ["CHECK (0)", "x)"].contains(&name.as_str()) || checks.iter().any(is_named);
                prop_assert!(found, "{}: {:?}", name, checks);
            }
        }
    }
}
