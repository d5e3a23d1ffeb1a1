//! Finds the literals in a statement of a schema: texts, blobs and long numbers.
//!
//! | token | literal |
//! |---|---|
//! | `'x'`, `x'00'` | always, unless empty |
//! | `"x"` | where a value may stand, if it is no known name |
//! | `x`, `"x"`, `[x]`, `` `x` `` after DEFAULT | always, as SQLite takes it for a text, except words such as `NULL` and `CURRENT_TIME` |
//! | a number | with five characters or more |

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use rusqlite::Connection;
use sqluice_core::schema::token::{Token, TokenKind, tokens};
use sqluice_core::schema::{Schema, quoted_text};

/// Numbers with fewer characters are not literals here: they can't be personal.
const LONG_NUMBER: usize = 5;

/// Keywords after which a value follows directly.
const BEFORE_VALUES: &[&str] = &[
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS",
    "LIKE",
    "GLOB",
    "MATCH",
    "REGEXP",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "ESCAPE",
    "SELECT",
    "DISTINCT",
    "ALL",
    "WHERE",
    "HAVING",
    "BY",
    "ON",
    "SET",
    "RETURNING",
    "LIMIT",
    "OFFSET",
    "DEFAULT",
];

/// Words after DEFAULT that are not texts.
const NO_TEXTS: &[&str] =
    &["TRUE", "FALSE", "NULL", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP", "VALUES"];

/// Keywords that begin a clause of a statement. Messages name the clause of a literal.
const CLAUSES: &[&str] = &[
    "DEFAULT",
    "CHECK",
    "GENERATED",
    "USING",
    "WHERE",
    "WHEN",
    "SELECT",
    "VALUES",
    "SET",
    "RAISE",
    "HAVING",
    "LIMIT",
    "ORDER",
    "ON",
];

/// The names of all objects and columns of a schema, in lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(HashSet<String>);

/// The kind of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiteralKind {
    Text,
    Blob,
    Number,
}

/// A literal in a statement. Its `Display` describes its place, and leaves out its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    /// The range of the literal's bytes in the statement.
    pub(crate) at: Range<usize>,
    pub(crate) kind: LiteralKind,
    /// `true` if the literal stands where SQL allows a value; `false` for a text that is used as a name.
    pub(crate) is_value: bool,
    /// A text or blob as a literal in single quotes, or a number as written.
    pub(crate) spelled: String,
    clause: &'static str,
    line: usize,
    column: usize,
}

impl Names {
    /// Returns the names in a schema. The columns of views and virtual tables are read from the database.
    pub(crate) fn of(schema: &Schema, connection: &Connection) -> Names {
        let mut names: HashSet<String> = HashSet::new();
        let mut add = |name: &str| {
            names.insert(name.to_ascii_lowercase());
        };
        for table in &schema.tables {
            table.columns.iter().for_each(|column| add(&column.name));
        }
        schema.objects.iter().for_each(|(_, name)| add(name));
        for other in &schema.others {
            add(&other.name);
            let columns =
                connection.prepare("SELECT name FROM pragma_table_xinfo(?1)").and_then(|mut statement| {
                    statement
                        .query_map([&other.name], |row| row.get(0))?
                        .collect::<rusqlite::Result<Vec<String>>>()
                });
            // A view that does not work has no columns, and so adds no names.
            columns.unwrap_or_default().iter().for_each(|name| add(name));
        }
        ["rowid", "oid", "_rowid_", "new", "old", "excluded", "main", "temp"].into_iter().for_each(add);
        Names(names)
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains(&name.to_ascii_lowercase())
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}:{}", self.clause, self.line, self.column)
    }
}

/// Returns the literals of a statement, in its order.
pub(crate) fn literals(sql: &str, names: &Names) -> Vec<Literal> {
    let tokens: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let walk = Walk { sql, tokens: &tokens, in_names: lists_of_names(sql, &tokens) };
    let own: HashSet<String> = (0..tokens.len())
        .filter(|&at| !walk.is_value(at))
        .filter_map(|at| Some(tokens[at].name(sql)?.to_ascii_lowercase()))
        .collect();
    let mut found = Vec::new();
    let mut clause = "text";
    let is_index = walk.is(1, "INDEX") || walk.is(2, "INDEX");
    for (at, token) in tokens.iter().enumerate() {
        if let Some(begun) = CLAUSES.iter().find(|word| token.is_word(sql, word)) {
            clause = if is_index && *begun == "ON" { "expression" } else { begun };
        } else if token.is_word(sql, "AS") && walk.is(at + 1, "(") {
            clause = "AS";
        }
        let is_name = |name: &str| names.has(name) || own.contains(&name.to_ascii_lowercase());
        let Some((kind, spelled)) = walk.literal(at, is_name) else { continue };
        let before = &sql[..token.at.start];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        found.push(Literal {
            at: token.at.clone(),
            kind,
            is_value: walk.is_value(at),
            spelled,
            clause,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        });
    }
    found
}

/// A statement as tokens, without comments.
struct Walk<'s> {
    sql: &'s str,
    tokens: &'s [Token],
    /// `true` for each token in a list of names, such as the columns of a parent.
    in_names: Vec<bool>,
}

impl Walk<'_> {
    fn is(&self, at: usize, word: &str) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.is_word(self.sql, word) || token.is_symbol(self.sql, word))
    }

    /// Returns `true` if SQL allows a value at the place of a token, and not only a name.
    fn is_value(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        // A dot or a parenthesis after a name makes it a qualifier or a function.
        if self.in_names[at] || self.is(at + 1, ".") || (self.is(at + 1, "(") && !self.is_text(at)) {
            return false;
        }
        let previous = &self.tokens[before];
        match previous.kind {
            TokenKind::Symbol => !matches!(previous.text(self.sql), "." | ")" | ";"),
            TokenKind::Word if previous.is_word(self.sql, "FROM") => {
                before > 0 && self.is(before - 1, "DISTINCT")
            }
            TokenKind::Word => BEFORE_VALUES.iter().any(|word| previous.is_word(self.sql, word)),
            _ => false,
        }
    }

    fn is_text(&self, at: usize) -> bool {
        self.tokens[at].kind == TokenKind::String
    }

    /// Returns the kind of the literal at a token, and its value; `None` if the token is not a literal.
    fn literal(&self, at: usize, is_name: impl Fn(&str) -> bool) -> Option<(LiteralKind, String)> {
        let token = &self.tokens[at];
        let text = token.text(self.sql);
        let is_default = at > 0 && self.is(at - 1, "DEFAULT") && !(at > 1 && self.is(at - 2, "SET"));
        match token.kind {
            TokenKind::Number => (text.len() >= LONG_NUMBER).then(|| (LiteralKind::Number, text.to_owned())),
            TokenKind::String if text.starts_with(['x', 'X']) => {
                (text.len() > "x''".len()).then(|| (LiteralKind::Blob, text.to_owned()))
            }
            TokenKind::String | TokenKind::QuotedName | TokenKind::Word => {
                let name = token.name(self.sql)?;
                let is_literal = match token.kind {
                    TokenKind::String => true,
                    TokenKind::QuotedName if is_default => true,
                    TokenKind::QuotedName => text.starts_with('"') && self.is_value(at) && !is_name(&name),
                    _ => is_default && !NO_TEXTS.iter().any(|word| token.is_word(self.sql, word)),
                };
                (is_literal && !name.is_empty()).then(|| (LiteralKind::Text, quoted_text(&name)))
            }
            _ => None,
        }
    }
}

/// Returns `true` for each token in a list that can only hold names: the columns of a parent, of a view, or of a common table expression.
fn lists_of_names(sql: &str, tokens: &[Token]) -> Vec<bool> {
    let is = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|token| token.is_word(sql, word) || token.is_symbol(sql, word))
    };
    let mut marked = vec![false; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for at in 0..tokens.len() {
        if is(at, "(") {
            open.push(at);
        } else if is(at, ")") {
            let Some(begin) = open.pop() else { continue };
            let follows = begin >= 2 && (is(begin - 2, "REFERENCES") || is(begin - 2, "VIEW"));
            let is_common_table = begin >= 1
                && tokens[begin - 1].name(sql).is_some()
                && is(at + 1, "AS")
                && (is(at + 2, "(")
                    || is(at + 2, "MATERIALIZED")
                    || (is(at + 2, "NOT") && is(at + 3, "MATERIALIZED")));
            if follows || is_common_table {
                marked[begin..=at].fill(true);
            }
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sql: &str, setup: &str) -> Vec<String> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(setup).unwrap();
        connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        let schema = Schema::from_catalogue(&connection, String::new(), "s".as_ref()).unwrap();
        literals(sql, &Names::of(&schema, &connection)).into_iter().map(|literal| literal.spelled).collect()
    }

    const SETUP: &str =
        "CREATE TABLE p (\"Key One\" INT, b TEXT, \"say \"\"so\" TEXT); CREATE TABLE q (z, \"group\" TEXT);";

    #[test]
    fn double_quoted_text_is_a_literal_unless_a_table_or_column_has_the_name() {
        for (sql, expected) in [
            ("CREATE TABLE t (a TEXT DEFAULT \"a@b\", \"two words\" INT)", &["'a@b'"][..]),
            (
                "CREATE TABLE t (a TEXT DEFAULT [a@b], b DEFAULT `c@d`, c DEFAULT Ann, d DEFAULT NULL)",
                &["'a@b'", "'c@d'", "'Ann'"],
            ),
            (
                "CREATE TABLE t (a TEXT DEFAULT ('it''s' || 'z'), \"a b\" CHECK (\"a b\" <> \"x y\" AND \"a\" IN (\"r\", \"b\")))",
                &["'it''s'", "'z'", "'x y'", "'r'"],
            ),
            (
                "CREATE TABLE t (a TEXT, \"e f\" TEXT AS (a || \"g\"), CONSTRAINT \"my check\" CHECK (a > \"h\"), FOREIGN KEY (a) REFERENCES \"no table\" (\"no column\"))",
                &["'g'", "'h'"],
            ),
            ("CREATE TABLE t (a INT REFERENCES p (b) ON DELETE SET DEFAULT NOT NULL)", &[]),
            (
                "CREATE TABLE t (a DEFAULT '', b DEFAULT x'', c DEFAULT 1234, d DEFAULT -12345, e DEFAULT x'00')",
                &["12345", "x'00'"],
            ),
            (
                "CREATE INDEX i ON \"p\" (\"Key One\", upper(\"a@b\"), b COLLATE \"NOCASE\") WHERE \"say \"\"so\" = \"c@d\"",
                &["'a@b'", "'c@d'"],
            ),
            (
                "CREATE VIEW v (\"first one\", second) AS SELECT \"Key One\" AS \"an alias\", \"a@b\" \"other alias\" FROM \"p\" \"t 1\" JOIN q AS \"t 2\" ON \"t 1\".b = \"t 2\".\"group\" AND \"group\" IS NOT DISTINCT FROM \"x y\" ORDER BY \"an alias\"",
                &["'a@b'", "'x y'"],
            ),
            (
                "CREATE VIEW v AS WITH \"c t\" (\"c one\") AS (SELECT \"u v\") SELECT \"c one\", count(*) FILTER (WHERE \"c one\" LIKE \"w%\") FROM \"c t\"",
                &["'u v'", "'w%'"],
            ),
            (
                "CREATE TRIGGER g AFTER UPDATE OF \"Key One\" ON p WHEN new.\"b\" = \"Ann\" BEGIN UPDATE OR IGNORE \"q\" SET \"group\" = \"Bob\", z = 'C' WHERE \"group\" = old.b; INSERT INTO q (\"z\", \"group\") VALUES (\"Dee\", new.\"Key One\"); SELECT RAISE(ABORT, \"Eve\"); END",
                &["'Ann'", "'Bob'", "'C'", "'Dee'", "'Eve'"],
            ),
            (
                "CREATE VIRTUAL TABLE f USING fts5(\"my text\", tokenize = \"unicode61 remove_diacritics 1\")",
                &["'unicode61 remove_diacritics 1'"],
            ),
        ] {
            assert_eq!(found(sql, SETUP), expected, "{sql}");
        }
    }

    #[test]
    fn quoted_text_in_a_comment_is_no_literal() {
        let found = literals("CHECK (a IN ('x', 5, x'00')) -- 'y'", &Names::default());
        assert_eq!(found.into_iter().map(|one| one.spelled).collect::<Vec<_>>(), ["'x'", "x'00'"]);
    }

    #[test]
    fn the_description_of_a_literal_names_its_place_without_its_value() {
        let sql = "CREATE TABLE t (a,\n  b DEFAULT 'Bartholomew', c CHECK (c <> \"Quarternook\"))";
        let places: Vec<String> = literals(sql, &Names::default()).iter().map(ToString::to_string).collect();
        assert_eq!(places, ["DEFAULT at 2:13", "CHECK at 2:42"]);
    }
}
