//! The value that fills a column which a file lacks: the DEFAULT of the column, or NULL.

use std::cell::OnceCell;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use sqluice_core::affinity::Affinity;
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::{Evaluator, NamedColumn};
use sqluice_core::schema::{Column, Table, token};
use sqluice_core::source::columns::Constant;
use sqluice_core::sqlite_error::said;

use crate::expressions::functions::Functions;

/// The value of a column for rows that do not have the column.
pub(crate) enum DefaultValue {
    /// A value that all rows have. The present time is the start of the load.
    Constant(Constant),
    /// An expression whose value differs from row to row, such as `random()`.
    Varying(String),
}

/// The DEFAULTs of a table. Each is computed at most once, for all files.
pub(crate) struct Defaults<'t> {
    table: &'t Table,
    functions: &'t Functions,
    known: Vec<OnceCell<DefaultValue>>,
}

impl<'t> Defaults<'t> {
    /// Creates the DEFAULTs of a table. None is computed yet.
    pub(crate) fn new(table: &'t Table, functions: &'t Functions) -> Defaults<'t> {
        Defaults { table, functions, known: table.columns.iter().map(|_| OnceCell::new()).collect() }
    }

    /// Returns the value of a column that a file does not have.
    ///
    /// # Errors
    /// If the DEFAULT fails, or only SQLite itself can compute it as it inserts the row.
    pub(crate) fn of(&self, column: usize) -> Result<&DefaultValue> {
        let known = &self.known[column];
        if let Some(value) = known.get() {
            return Ok(value);
        }
        let value = of(&self.table.columns[column], self.functions)?;
        Ok(known.get_or_init(|| value))
    }
}

/// The functions whose value differs from row to row.
const VARYING: [&str; 2] = ["random", "randomblob"];

/// The functions whose value depends on the connection that inserts the row.
const OF_CONNECTION: [&str; 3] = ["changes", "last_insert_rowid", "total_changes"];

/// The name of the only column that a DEFAULT would see. No DEFAULT names it.
const NO_COLUMN: &str = "sqluice no column";

/// Returns the value of a column that the file does not have.
///
/// # Errors
/// If the DEFAULT fails, or only SQLite itself can compute it as it inserts the row.
pub(crate) fn of(column: &Column, functions: &Functions) -> Result<DefaultValue> {
    let Some(sql) = &column.default else { return Ok(DefaultValue::Constant(Constant::Null)) };
    if let Some(constant) = plain(sql) {
        return Ok(DefaultValue::Constant(constant));
    }
    let cannot = |error| refused(column, sql).because(said(error));
    let connection = functions.of_schema().connect().map_err(cannot)?;
    let mut evaluator =
        Evaluator::new(connection, &[NamedColumn::new(NO_COLUMN, Affinity::Blob)]).map_err(cannot)?;
    let named = evaluator.query(&[sql], None).map_err(cannot)?.named().functions.clone();
    let names =
        |those: &[&str]| named.iter().find(|name| those.iter().any(|one| name.eq_ignore_ascii_case(one)));
    if let Some(name) = names(&OF_CONNECTION) {
        return Err(
            refused(column, sql).because(format!("{name}() is about the connection that inserts the row"))
        );
    }
    if names(&VARYING).is_some() {
        return Ok(DefaultValue::Varying(sql.clone()));
    }
    let connection = functions.of_schema().connect().map_err(cannot)?;
    value_of(&connection, sql).map(DefaultValue::Constant).map_err(cannot)
}

/// Returns the value of a column that the file does not have, if it is the same in every row.
///
/// # Errors
/// If the value may differ from row to row, or can't be computed.
pub(crate) fn constant(column: &Column, functions: &Functions) -> Result<Constant> {
    match of(column, functions)? {
        DefaultValue::Constant(constant) => Ok(constant),
        DefaultValue::Varying(sql) => {
            Err(refused(column, &sql).because("it has another value in each row".to_owned()))
        }
    }
}

fn refused(column: &Column, sql: &str) -> Error {
    Error::input(format!(
        "there are no values for column {}, and its DEFAULT {sql} can't be computed",
        column.name
    ))
    .hint("give the column values, or declare another DEFAULT")
}

/// Returns the value of a DEFAULT that is a literal or a bare name, which SQLite takes for a text. `None` for other expressions.
fn plain(sql: &str) -> Option<Constant> {
    use token::TokenKind::{QuotedName, Word};
    if is_literal(sql) {
        return evaluated(sql).ok();
    }
    let tokens = token::tokens(sql);
    let tokens: Vec<_> = tokens.iter().filter(|token| !token.is_comment()).collect();
    let [name] = tokens[..] else { return None };
    let is_time =
        ["CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP"].iter().any(|word| name.is_word(sql, word));
    match name.kind {
        Word | QuotedName if !is_time => name.name(sql).map(Constant::Text),
        _ => None,
    }
}

/// Returns the present value of an expression. CURRENT_TIMESTAMP is the time of the call.
pub(crate) fn evaluated(sql: &str) -> rusqlite::Result<Constant> {
    value_of(&Connection::open_in_memory()?, sql)
}

fn value_of(connection: &Connection, sql: &str) -> rusqlite::Result<Constant> {
    connection.query_row(&format!("SELECT ({sql}\n)"), [], |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Null => Constant::Null,
            ValueRef::Integer(int) => Constant::Int(int),
            ValueRef::Real(real) => Constant::Real(real),
            ValueRef::Text(text) => Constant::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(blob) => Constant::Blob(blob.to_vec()),
        })
    })
}

/// Returns `true` if SQL text is a literal: a number with or without a sign, a string, a blob, NULL, TRUE or FALSE. CURRENT_TIME,
/// CURRENT_DATE and CURRENT_TIMESTAMP are no literals, nor are bare words, which SQLite takes for strings.
fn is_literal(sql: &str) -> bool {
    use token::TokenKind::{Number, String};
    let tokens = token::tokens(sql);
    let tokens: Vec<_> = tokens.iter().filter(|token| !token.is_comment()).collect();
    match tokens[..] {
        [one] if matches!(one.kind, Number | String) => true,
        [one] => ["NULL", "TRUE", "FALSE"].iter().any(|word| one.is_word(sql, word)),
        [sign, number] => number.kind == Number && (sign.is_symbol(sql, "-") || sign.is_symbol(sql, "+")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_literals_are_distinguished_from_default_expressions() {
        for literal in ["1", "-1.5e3", "+2", "'a''b'", "x'00'", "NULL", "true", "0x10"] {
            assert!(is_literal(literal), "{literal}");
        }
        for expression in ["CURRENT_TIMESTAMP", "random()", "1+1", "(1)", "\"name\"", "- - 1", ""] {
            assert!(!is_literal(expression), "{expression}");
        }
    }
}
