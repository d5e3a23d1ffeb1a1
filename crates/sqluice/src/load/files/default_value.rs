//! The value of a column that a file lacks: the DEFAULT of the column, or NULL.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::{Column, token};
use sqluice_core::source::columns::Constant;

/// Returns the value of a column that the file does not have.
pub(crate) fn constant(column: &Column) -> Result<Constant> {
    let Some(sql) = &column.default else { return Ok(Constant::Null) };
    let refuse = || {
        Error::input(format!(
            "the file has no column {}, and its DEFAULT {sql} is not a constant",
            column.name
        ))
        .hint("add the column to the file, or declare another DEFAULT")
    };
    if !is_literal(sql) {
        return Err(refuse());
    }
    evaluated(sql).map_err(|error| refuse().because(error))
}

/// Returns the present value of an expression. CURRENT_TIMESTAMP is the time of the call.
pub(crate) fn evaluated(sql: &str) -> rusqlite::Result<Constant> {
    Connection::open_in_memory()?.query_row(&format!("SELECT {sql}"), [], |row| {
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
    fn literals_are_told_from_expressions() {
        for literal in ["1", "-1.5e3", "+2", "'a''b'", "x'00'", "NULL", "true", "0x10"] {
            assert!(is_literal(literal), "{literal}");
        }
        for expression in ["CURRENT_TIMESTAMP", "random()", "1+1", "(1)", "\"name\"", "- - 1", ""] {
            assert!(!is_literal(expression), "{expression}");
        }
    }
}
