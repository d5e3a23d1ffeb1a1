//! Parses the start of CREATE INDEX statements ([lang](https://www.sqlite.org/lang_createindex.html)).
//!
//! ```text
//!  CREATE [UNIQUE] INDEX [IF NOT EXISTS] [main.]name ON table (...) [WHERE ...] [;]
//! ```
//!
//! This module parses only the text before the parenthesis. SQLite parses the rest.

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::token::{self, Token};

/// A parsed CREATE INDEX statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text of the statement, without the semicolon.
    pub sql: String,
    /// The name of the index.
    pub name: String,
    /// The name of the table that the index is on.
    pub(crate) table: String,
    /// `true` if the statement has IF NOT EXISTS.
    pub(crate) if_not_exists: bool,
}

/// Splits a text into CREATE INDEX statements.
///
/// # Errors
/// If the text has no statement, or if a statement is no CREATE INDEX or names another database than `main`.
pub fn statements(sql: &str) -> Result<Vec<Statement>> {
    let tokens: Vec<Token> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let statements = tokens.split_inclusive(|token| token.is_symbol(sql, ";"));
    let statements = statements.filter_map(|tokens| {
        // SQLite keeps the text up to the semicolon, or up to the end.
        let (tokens, end) = match tokens.split_last() {
            Some((last, before)) if last.is_symbol(sql, ";") => (before, last.at.start),
            _ => (tokens, sql.len()),
        };
        let first = tokens.first()?;
        Some(statement(sql, &sql[first.at.start..end], tokens))
    });
    let statements = statements.collect::<Result<Vec<_>>>()?;
    if statements.is_empty() {
        return Err(no_statement(sql));
    }
    Ok(statements)
}

/// Parses a statement from its tokens. `text` is the whole statement.
fn statement(sql: &str, text: &str, tokens: &[Token]) -> Result<Statement> {
    let mut rest = tokens;
    let mut is_next = |words: &[&str]| {
        let found =
            words.len() <= rest.len() && words.iter().zip(rest).all(|(word, token)| token.is_word(sql, word));
        if found {
            rest = &rest[words.len()..];
        }
        found
    };
    let create = is_next(&["CREATE"]);
    is_next(&["UNIQUE"]);
    if !create || !is_next(&["INDEX"]) {
        return Err(no_statement(text));
    }
    let if_not_exists = is_next(&["IF", "NOT", "EXISTS"]);
    let name = |token: &Token| token.name(sql);
    let (schema, name, table) = match rest {
        [schema, dot, index, on, table, ..] if dot.is_symbol(sql, ".") && on.is_word(sql, "ON") => {
            (name(schema), name(index), name(table))
        }
        [index, on, table, ..] if on.is_word(sql, "ON") => (None, name(index), name(table)),
        _ => return Err(no_statement(text)),
    };
    if let Some(schema) = schema.filter(|schema| !schema.eq_ignore_ascii_case("main")) {
        let message = format!(
            "{schema} is not a schema of the database: an index is made in the database that is named"
        );
        return Err(Error::usage(message).hint("leave the schema out, or write main"));
    }
    let (Some(name), Some(table)) = (name, table) else { return Err(no_statement(text)) };
    Ok(Statement { sql: text.to_owned(), name, table, if_not_exists })
}

fn no_statement(sql: &str) -> Error {
    let said: String = sql.trim().chars().take(60).collect();
    Error::usage(format!("this is not a CREATE INDEX statement: {said:?}"))
        .hint("write it as for sqlite3: 'CREATE INDEX name ON table (column)'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> Statement {
        statements(sql).unwrap().remove(0)
    }

    #[test]
    fn the_names_in_a_create_index_statement_are_found_among_comments_quotes_and_clauses() {
        let plain = read("CREATE INDEX i ON t (a)");
        assert_eq!((&*plain.name, &*plain.table, plain.if_not_exists), ("i", "t", false));
        let quoted =
            read(" /* x */ create unique index if not exists Main.\"i \"\"x\" on [t t](a) where a > ';' ; ");
        assert_eq!((&*quoted.name, &*quoted.table, quoted.if_not_exists), ("i \"x", "t t", true));
        assert!(quoted.sql.starts_with("create") && quoted.sql.ends_with("';' "));
    }

    #[test]
    fn several_create_index_statements_are_split_and_keep_their_order() {
        let both = statements("CREATE INDEX a ON t (x); -- one\nCREATE INDEX b ON t (y);").unwrap();
        assert_eq!(both.iter().map(|one| &*one.name).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn statements_other_than_create_index_are_refused() {
        for sql in [
            "",
            ";",
            "CREATE TABLE t (a)",
            "DROP INDEX i",
            "CREATE INDEX",
            "CREATE INDEX i",
            "INDEX i ON t (a)",
        ] {
            assert!(statements(sql).unwrap_err().message().contains("not a CREATE INDEX statement"), "{sql}");
        }
        for sql in ["CREATE INDEX temp.i ON t (a)", "CREATE INDEX other.i ON t (a)"] {
            assert!(statements(sql).unwrap_err().message().contains("not a schema of the database"), "{sql}");
        }
    }
}
