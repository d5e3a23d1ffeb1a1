//! Parts of translated expressions, and what the modules about expressions share.

use sqlparser::ast::{Expr, ObjectName, Value};
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;
use sqluice_core::schema::quoted_text;

use super::Dialect;
use super::types::Kind;

/// The most operators and words of an expression: an expression is a tree, which is freed by recursion.
const WORDS_MAX: usize = 4_000;

/// The deepest nesting that is translated.
pub(super) const DEPTH_MAX: usize = 40;

/// The reason why an expression is not translated.
pub(super) type Why = String;

/// A column as expressions see it.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The name in SQLite, quoted.
    pub(super) sql: String,
    pub(super) kind: Kind,
    pub(super) ignores_case: bool,
}

/// The columns of an expression's table.
pub(super) struct Scope<'s> {
    pub(super) dialect: Dialect,
    pub(super) column: &'s dyn Fn(&str) -> Option<Known>,
}

/// A part of an expression in SQLite's words.
pub(super) struct Piece {
    pub(super) sql: String,
    pub(super) kind: Kind,
    /// `true` if the part needs no parentheses beside an operator.
    pub(super) whole: bool,
    pub(super) ignores_case: bool,
    /// `true` for a result that the source computes in decimals, and SQLite in floating point.
    pub(super) inexact: bool,
}

pub(super) fn piece(sql: impl Into<String>, kind: Kind) -> Piece {
    Piece { sql: sql.into(), kind, whole: true, ignores_case: false, inexact: false }
}

impl Piece {
    pub(super) fn beside(&self) -> String {
        if self.whole { self.sql.clone() } else { format!("({})", self.sql) }
    }
}

/// Parses an expression.
pub(super) fn parse(tokens: &[Token], dialect: Dialect) -> Result<Expr, Why> {
    let (mut words, mut is_type) = (0, false);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::DoubleColon => {
                is_type = at > 0 && super::tokens::text_of(&tokens[at - 1]).is_some();
                words += usize::from(!is_type);
            }
            Token::Word(_) if is_type => {}
            Token::Comma | Token::Number(..) | Token::SingleQuotedString(_) => is_type = false,
            _ => {
                is_type = false;
                words += 1;
            }
        }
    }
    if words > WORDS_MAX {
        return Err("it is too long".to_owned());
    }
    let (mysql, postgres) = (MySqlDialect {}, PostgreSqlDialect {});
    let parser = match dialect {
        Dialect::MySql => Parser::new(&mysql),
        Dialect::Postgres => Parser::new(&postgres),
    };
    let mut parser = parser.with_recursion_limit(DEPTH_MAX).with_tokens(tokens.to_vec());
    let expression = parser.parse_expr().map_err(|_| "it is not understood".to_owned())?;
    match parser.peek_token().token {
        Token::EOF => Ok(expression),
        _ => Err("it is not understood".to_owned()),
    }
}

/// Returns an expression without its parentheses and casts.
pub(super) fn bare(mut expression: &Expr) -> &Expr {
    loop {
        expression = match expression {
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => inner,
            Expr::Prefixed { value, .. } => value,
            other => return other,
        };
    }
}

pub(super) fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text)
        | Value::DoubleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text) => Some(text),
        Value::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}

/// Quotes a text; SQLite reads a literal up to its first NUL.
pub(super) fn literal(text: &str) -> String {
    if text.contains('\0') { format!("(CAST({} AS TEXT))", blob(text.as_bytes())) } else { quoted_text(text) }
}

pub(super) fn blob(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X'{digits}'")
}

pub(super) fn name_of(name: &ObjectName) -> String {
    name.0
        .last()
        .and_then(|part| part.as_ident())
        .map_or_else(String::new, |ident| ident.value.to_lowercase())
}

/// Refuses a value that SQLite stores in a form with another order.
pub(super) fn usable(piece: Piece) -> Result<Piece, Why> {
    match piece.kind {
        Kind::Opaque => Err("SQLite compares values of this type otherwise".to_owned()),
        _ => Ok(piece),
    }
}

/// Refuses an operand of a comparison that SQLite computes in floating point: 0.1 + 0.2 is not 0.3 there.
pub(super) fn exact(piece: Piece) -> Result<Piece, Why> {
    match piece.inexact {
        true => Err("SQLite computes decimals in floating point".to_owned()),
        false => Ok(piece),
    }
}
