//! Parts of translated expressions, and helpers that the modules for expressions share.

use sqlparser::ast::{Expr, ObjectName, Value};
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;
use sqluice_core::schema::quoted_text;

use super::Dialect;
use super::types::Kind;

/// The maximum number of operators and words of an expression. Its tree is freed by recursion, which must not overflow the stack.
const WORDS_MAX: usize = 4_000;

/// The maximum depth of nesting for which an expression is translated.
pub(super) const DEPTH_MAX: usize = 40;

/// The reason why an expression is not translated.
pub(super) type Why = String;

/// A column to which an expression can refer.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The name in SQLite, quoted for SQL.
    pub(super) sql: String,
    pub(super) kind: Kind,
    pub(super) ignores_case: bool,
}

/// The dialect of an expression, and the columns of its table.
pub(super) struct Scope<'s> {
    pub(super) dialect: Dialect,
    pub(super) column: &'s dyn Fn(&str) -> Option<Known>,
}

/// A part of a translated expression.
pub(super) struct Piece {
    pub(super) sql: String,
    pub(super) kind: Kind,
    /// `true` if the part needs no parentheses as an operand.
    pub(super) whole: bool,
    pub(super) ignores_case: bool,
    /// `true` if the source computes the result with decimals, but SQLite with floats.
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
    let expression = parser.parse_expr().map_err(|_| "it can't be parsed".to_owned())?;
    match parser.peek_token().token {
        Token::EOF => Ok(expression),
        _ => Err("it can't be parsed".to_owned()),
    }
}

/// Returns an expression without surrounding parentheses and casts.
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

/// Returns a text as an SQL literal. A text with NUL is written as a cast blob, because SQLite reads a literal only up to a NUL.
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

/// Returns the piece, or an error if SQLite compares the stored values differently from the source.
pub(super) fn usable(piece: Piece) -> Result<Piece, Why> {
    match piece.kind {
        Kind::Opaque => Err("SQLite compares values of this type differently".to_owned()),
        _ => Ok(piece),
    }
}

/// Returns the piece, an operand of a comparison, or an error if SQLite computes it with floats: 0.1 + 0.2 = 0.3 would be false.
pub(super) fn exact(piece: Piece) -> Result<Piece, Why> {
    match piece.inexact {
        true => Err("SQLite computes decimals in floating point".to_owned()),
        false => Ok(piece),
    }
}
