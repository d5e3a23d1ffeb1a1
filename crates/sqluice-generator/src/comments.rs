//! Assigns each `gen:` comment to its column.
//!
//! ```sql
//! CREATE TABLE t (
//!   a TEXT, -- gen: digits(6)          of a: the last column that began before the comment
//!   b INT /* gen: int(1, 9) */,        of b: the comma may come before or after
//!   c INT CHECK (c > 0), -- positive   ignored: does not begin with gen:
//!   -- gen: int(1, 100)                of c
//!   UNIQUE (a, b)                      from here on a gen: comment is an error
//! );
//! ```
//!
//! The arguments of CREATE VIRTUAL TABLE are columns, too, except options such as `tokenize = porter`.
//!
//! A comment that begins with `rows:` and a number, anywhere between the parentheses, states the row count of the table.
//!
//! The comment `constraints: may be dropped`, anywhere in the file, lets the generator drop a constraint that its rows can't satisfy.
//!
//! SQLite does not report comments, so this module scans the tokens of the file itself. It relies on SQLite having
//! accepted the file. Columns of `ALTER TABLE t ADD COLUMN` can have comments too.

use std::collections::{HashMap, HashSet};

use sqluice_core::schema::Schema;
use sqluice_core::schema::token::{Token, TokenKind, tokens};

use super::Fault;
use super::literal::{Literal, number};

const MARK: &str = "gen:";

const ROWS_MARK: &str = "rows:";

/// The comment that lets the generator drop constraints for which it finds no rows that satisfy them.
pub const MAY_BE_DROPPED: &str = "constraints: may be dropped";

/// Returns `true` if a comment of the schema says that constraints may be dropped.
pub fn may_be_dropped(schema: &Schema) -> bool {
    let sql = &schema.sql;
    let mut comments = tokens(sql).into_iter().filter(|token| token.is_comment());
    comments.any(|token| {
        let is_edge = |letter: char| "-/*".contains(letter) || letter.is_whitespace();
        token.text(sql).trim_matches(is_edge).eq_ignore_ascii_case(MAY_BE_DROPPED)
    })
}

/// A `gen:` comment and the column that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comment<'a> {
    /// The names of the table and the column, as written in the column's declaration.
    pub(crate) table: String,
    pub(crate) column: String,
    /// The text after `gen:`.
    pub(crate) text: &'a str,
    /// The position of `text` in the file, in bytes.
    pub(crate) start: usize,
}

/// The `gen:` comments of a file by column.
#[derive(Debug, Default)]
pub(crate) struct Comments<'a> {
    /// The comments in the order of the file.
    pub(crate) list: Vec<Comment<'a>>,
    /// The index in `list` of each comment, by the names of its table and column in lower case, since SQLite ignores ASCII case.
    places: HashMap<(String, String), usize>,
}

impl<'a> Comments<'a> {
    /// Returns the `gen:` comment of a column, if it has one.
    pub(crate) fn of(&self, table: &str, column: &str) -> Option<&Comment<'a>> {
        let place = self.places.get(&(table.to_ascii_lowercase(), column.to_ascii_lowercase()))?;
        Some(&self.list[*place])
    }
}

/// Returns all comments that begin with `mark` (`gen:` or `rows:`): the comment's position, the text after the mark and its position, and
/// the part of the schema that the comment belongs to.
fn owned<'a>(sql: &'a str, mark: &str) -> Vec<(usize, &'a str, usize, Owner)> {
    let tokens = tokens(sql);
    let mut walk = Walk { sql, tokens: tokens.iter().filter(|token| !token.is_comment()).collect(), next: 0 };
    let mut owners = Vec::new();
    while walk.next < walk.tokens.len() {
        walk.statement(&mut owners);
    }
    let mut owned = Vec::new();
    let mut current = &Owner::Nothing;
    let mut owners = owners.iter().peekable();
    for token in tokens.iter().filter(|token| token.is_comment()) {
        while let Some((_, owner)) = owners.next_if(|(from, _)| *from < token.at.start) {
            current = owner;
        }
        if let Some((text, start)) = marked(sql, token, mark) {
            owned.push((token.at.start, text, start, current.clone()));
        }
    }
    owned
}

/// Returns the tables whose row counts a file states, in the order of the file. A `rows:` comment without a number is an ordinary comment.
pub(crate) fn row_counts(sql: &str) -> Vec<(String, u64)> {
    let counted = |(_, text, _, owner): (usize, &str, usize, Owner)| {
        let table = owner.table()?;
        match number(false, text.trim()) {
            Ok(Literal::Int(rows)) => Some((table, u64::try_from(rows).ok()?)),
            _ => None,
        }
    };
    owned(sql, ROWS_MARK).into_iter().filter_map(counted).collect()
}

/// Returns the names of the tables with a `gen:` or `rows:` comment, in lower case.
pub fn described_tables(schema: &Schema) -> HashSet<String> {
    let commented = [MARK, ROWS_MARK].into_iter().flat_map(|mark| owned(&schema.sql, mark));
    commented.filter_map(|(_, _, _, owner)| Some(owner.table()?.to_ascii_lowercase())).collect()
}

/// Returns all `gen:` comments of a file, in the order of the file.
///
/// # Errors
/// When a comment belongs to no column, or two comments belong to the same column.
pub(crate) fn comments(sql: &str) -> Result<Comments<'_>, Fault> {
    let mut comments = Comments::default();
    for (at, text, start, owner) in owned(sql, MARK) {
        match owner {
            Owner::Column { table, column } => {
                if comments.of(&table, &column).is_some() {
                    return Err(Fault::new(
                        at,
                        format!("a second gen: comment for column {column} of {table}"),
                    )
                    .hint(
                        "a gen: comment belongs to the last column that began before it, and a column may have only one",
                    ));
                }
                let key = (table.to_ascii_lowercase(), column.to_ascii_lowercase());
                comments.places.insert(key, comments.list.len());
                comments.list.push(Comment { table, column, text, start });
            }
            Owner::Constraint { .. } => {
                return Err(Fault::new(at, "a gen: comment on a table constraint")
                    .hint("it belongs after the column whose values it describes, before the constraints"));
            }
            Owner::Option { .. } => {
                return Err(Fault::new(at, "a gen: comment on an option of a virtual table")
                    .hint("it belongs after the column whose values it describes"));
            }
            Owner::Nothing | Owner::Table { .. } => {
                return Err(Fault::new(at, "a gen: comment that belongs to no column")
                    .hint("it belongs after the column whose values it describes, within the column list of CREATE TABLE"));
            }
        }
    }
    Ok(comments)
}

/// The part of a schema that a comment belongs to.
#[derive(Clone, Debug)]
enum Owner {
    Column {
        table: String,
        column: String,
    },
    Constraint {
        table: String,
    },
    /// An option of a virtual table, such as `tokenize = porter`.
    Option {
        table: String,
    },
    /// A table, before its first column.
    Table {
        table: String,
    },
    Nothing,
}

impl Owner {
    /// Returns the name of the table, or `None` if the comment belongs to no table.
    fn table(self) -> Option<String> {
        match self {
            Owner::Column { table, .. }
            | Owner::Constraint { table }
            | Owner::Option { table }
            | Owner::Table { table } => Some(table),
            Owner::Nothing => None,
        }
    }
}

/// Returns the text after `mark` and its position if the comment begins with `mark`.
fn marked<'a>(sql: &'a str, token: &Token, mark: &str) -> Option<(&'a str, usize)> {
    let text = token.text(sql);
    let inner = match token.kind {
        TokenKind::LineComment => &text[2..],
        _ => text[2..].strip_suffix("*/").unwrap_or(&text[2..]),
    };
    let rest = inner.trim_start().strip_prefix(mark)?;
    let start = token.at.start + 2 + (inner.len() - rest.len());
    Some((rest, start))
}

/// A cursor over the tokens other than comments.
struct Walk<'a> {
    sql: &'a str,
    tokens: Vec<&'a Token>,
    next: usize,
}

impl Walk<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).copied()
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is_word(self.sql, word));
        self.next += usize::from(found);
        found
    }

    fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is_symbol(self.sql, symbol));
        self.next += usize::from(found);
        found
    }

    /// Scans one statement, or skips a token. Appends each column or constraint, with the byte from which comments belong to that column or
    /// constraint.
    /// CREATE and ALTER can't be names unless quoted, so an unquoted CREATE or ALTER begins a statement.
    fn statement(&mut self, owners: &mut Vec<(usize, Owner)>) {
        if self.eat_word("CREATE") {
            let _ = self.eat_word("TEMP") || self.eat_word("TEMPORARY");
            let is_virtual = self.eat_word("VIRTUAL");
            if self.eat_word("TABLE") {
                if self.eat_word("IF") {
                    let _ = self.eat_word("NOT") && self.eat_word("EXISTS");
                }
                let Some(table) = self.table_name() else { return };
                if is_virtual && self.eat_word("USING") {
                    // The name of the module.
                    self.next += 1;
                }
                if self.eat_symbol("(") {
                    self.columns(&table, if is_virtual { Walk::argument } else { Walk::item }, owners);
                }
            }
        } else if self.eat_word("ALTER") {
            if self.eat_word("TABLE")
                && let Some(table) = self.table_name()
                && self.eat_word("ADD")
            {
                let _ = self.eat_word("COLUMN");
                self.item(&table, owners);
                while self.peek().is_some() && !self.eat_symbol(";") {
                    self.next += 1;
                }
                owners.push((self.end(), Owner::Nothing));
            }
        } else {
            self.next += 1;
        }
    }

    /// Parses `table` or `schema.table`. Returns the name of the table.
    fn table_name(&mut self) -> Option<String> {
        let mut name = self.peek()?.name(self.sql)?;
        self.next += 1;
        if self.eat_symbol(".") {
            name = self.peek()?.name(self.sql)?;
            self.next += 1;
        }
        Some(name)
    }

    /// Scans a column list, after its opening parenthesis. `item` scans the first token of an item of the list.
    fn columns(
        &mut self,
        table: &str,
        item: fn(&mut Self, &str, &mut Vec<(usize, Owner)>),
        owners: &mut Vec<(usize, Owner)>,
    ) {
        owners.push((self.end(), Owner::Table { table: table.to_owned() }));
        item(self, table, owners);
        let mut depth = 1;
        while depth > 0 && self.peek().is_some() {
            if self.eat_symbol("(") {
                depth += 1;
            } else if self.eat_symbol(")") {
                depth -= 1;
            } else if self.eat_symbol(",") && depth == 1 {
                item(self, table, owners);
            } else {
                self.next += 1;
            }
        }
        owners.push((self.end(), Owner::Nothing));
    }

    /// Scans the first token of a column or of a table constraint.
    fn item(&mut self, table: &str, owners: &mut Vec<(usize, Owner)>) {
        const CONSTRAINTS: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
        let Some(token) = self.peek() else { return };
        let owner = if CONSTRAINTS.iter().any(|word| token.is_word(self.sql, word)) {
            Owner::Constraint { table: table.to_owned() }
        } else if let Some(column) = token.name(self.sql) {
            Owner::Column { table: table.to_owned(), column }
        } else {
            return;
        };
        owners.push((token.at.start, owner));
        self.next += 1;
    }

    /// Scans the first token of an argument of a virtual table.
    fn argument(&mut self, table: &str, owners: &mut Vec<(usize, Owner)>) {
        let Some(token) = self.peek() else { return };
        let Some(name) = token.name(self.sql) else { return };
        let follows = self.tokens.get(self.next + 1);
        let owner = match follows.is_some_and(|next| next.is_symbol(self.sql, "=")) {
            true => Owner::Option { table: table.to_owned() },
            false => Owner::Column { table: table.to_owned(), column: name },
        };
        owners.push((token.at.start, owner));
        self.next += 1;
    }

    /// Returns the position of the last byte of the last token. Later comments begin after this byte.
    fn end(&self) -> usize {
        self.tokens[self.next - 1].at.end - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `table.column=text` for each comment.
    fn found(sql: &str) -> Vec<String> {
        let comments = comments(sql).unwrap().list;
        for comment in &comments {
            assert!(sql[comment.start..].starts_with(comment.text));
        }
        comments.iter().map(|it| format!("{}.{}={}", it.table, it.column, it.text.trim())).collect()
    }

    fn fault(sql: &str) -> (usize, String) {
        let fault = comments(sql).unwrap_err();
        (fault.at, fault.message)
    }

    #[test]
    fn a_comment_belongs_to_the_last_column_that_began_before_it() {
        for sql in [
            "CREATE TABLE t (a INT, -- gen: x()\n b INT);",
            "CREATE TABLE t (a INT -- gen: x()\n, b INT);",
            "CREATE TABLE t (a INT\n -- gen: x()\n, b INT);",
            "CREATE TABLE t (a INT,\n -- gen: x()\n b INT);",
            "CREATE TABLE t (a INT,\n\n -- said more\n -- gen: x()\n b INT);",
            "CREATE TABLE t (a INT /* gen: x() */, b INT);",
            "CREATE TABLE t (a INT, /*gen:x()*/ b INT);",
            "CREATE TABLE t (a /* gen: x() */ INT, b INT);",
            "CREATE TABLE t (a --gen: x()\n INT, b INT)",
            "CREATE TABLE t (a INT CHECK (a IN (1, 2 /* gen: x() */)), b INT);",
            "CREATE TABLE t (a INT CHECK (a > 0 -- gen: x()\n AND (a, 1) > (2, 3)), b INT);",
            "CREATE TABLE IF NOT EXISTS t (a INT, -- gen: x()\n b INT);",
            "CREATE TABLE main.t (a DECIMAL(10, 2), -- gen: x()\n b INT);",
            "create table \"t\" (\"a\" INT, -- gen: x()\n b INT);",
            "create table [t] ('a' INT, -- gen: x()\n b INT);",
            "CREATE TABLE t (a, -- gen: x()\n UNIQUE (a));",
            "CREATE VIRTUAL TABLE t USING fts5(a, -- gen: x()\n b);",
            "CREATE VIRTUAL TABLE IF NOT EXISTS main.t USING fts5(\n  a UNINDEXED,-- gen: x()\n tokenize = 'porter ascii');",
            "CREATE VIRTUAL TABLE t USING fts4(b TEXT, tokenize=porter, \"a\"/* gen: x() */)",
            "CREATE TABLE t (a); ALTER TABLE t ADD COLUMN b; CREATE TABLE u (a); ALTER TABLE t ADD a /*gen: x()*/;",
        ] {
            assert_eq!(found(sql), ["t.a=x()"], "{sql}");
        }
    }

    #[test]
    fn comments_of_several_tables_belong_to_columns_of_their_table() {
        let sql = "CREATE TABLE t (a, -- gen: one()
            b -- gen: two()
            );
            CREATE INDEX i ON t(a, b); -- of no interest
            CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END;
            CREATE TABLE u (a, b, /* gen: three() */ \"c d\", -- gen: four()
            PRIMARY KEY (a)) WITHOUT ROWID;";
        assert_eq!(found(sql), ["t.a=one()", "t.b=two()", "u.b=three()", "u.c d=four()"]);
    }

    #[test]
    fn only_comments_that_begin_with_gen_are_used() {
        let sql = "-- how to gen: things\nCREATE TABLE t (a DEFAULT '-- gen: no()', \"-- gen: no()\" INT, /* * gen: no */
            b DEFAULT \"/* gen: no() */\" -- general: no()\n, \"check\" -- gen: yes()\n);";
        assert_eq!(found(sql), ["t.check=yes()"]);
    }

    #[test]
    fn a_block_comment_may_have_several_lines_and_lack_its_end() {
        assert_eq!(found("CREATE TABLE t (a /*\n gen:\n x(\n1) */)"), ["t.a=x(\n1)"]);
    }

    #[test]
    fn gen_comments_that_belong_to_no_column_are_refused() {
        let nothing = "a gen: comment that belongs to no column".to_owned();
        let constraint = "a gen: comment on a table constraint".to_owned();
        let option = "a gen: comment on an option of a virtual table".to_owned();
        for (sql, at, message) in [
            ("-- gen: x()\nCREATE TABLE t (a);", 0, &nothing),
            ("CREATE TABLE t (-- gen: x()\n a);", 16, &nothing),
            ("CREATE TABLE t (a); -- gen: x()", 20, &nothing),
            ("CREATE TABLE t (a)-- gen: x()\n;", 18, &nothing),
            ("CREATE TABLE t (a) STRICT /* gen: x() */;", 26, &nothing),
            ("CREATE INDEX i ON t(a -- gen: x()\n);", 22, &nothing),
            ("CREATE VIEW v AS SELECT (1 /* gen: x() */);", 27, &nothing),
            ("ALTER TABLE t ADD COLUMN a; /* gen: x() */", 28, &nothing),
            ("CREATE TABLE t (a, UNIQUE (a) /* gen: x() */);", 30, &constraint),
            ("CREATE VIRTUAL TABLE t USING fts5(a, prefix=2 /* gen: x() */);", 46, &option),
            ("CREATE VIRTUAL TABLE t USING fts5(/* gen: x() */ a);", 34, &nothing),
            ("CREATE TABLE t (a, CONSTRAINT c CHECK (a /* gen: x() */));", 41, &constraint),
            ("CREATE TABLE t (a, FOREIGN /* gen: x() */ KEY (a) REFERENCES t);", 27, &constraint),
        ] {
            assert_eq!(fault(sql), (at, message.clone()), "{sql}");
        }
    }

    #[test]
    fn a_row_count_comment_between_the_parentheses_of_a_table_is_its_row_count() {
        let sql = "-- rows: 1\nCREATE TABLE t ( -- rows: 10k\n a INT -- gen: x()\n); CREATE TABLE u (a, /* rows: 1_000 */ b);
            CREATE TABLE v (a -- rows: as many as t\n, UNIQUE (a) -- rows: 0\n) -- rows: 5";
        let rows = [("t", 10_000), ("u", 1000), ("v", 0)].map(|(table, rows)| (table.to_owned(), rows));
        assert_eq!(row_counts(sql), rows);
    }

    #[test]
    fn two_comments_for_one_column_are_refused() {
        let sql = "CREATE TABLE t (a, /* gen: x() */ -- gen: y()\n b)";
        assert_eq!(fault(sql), (34, "a second gen: comment for column a of t".to_owned()));
    }
}
