//! Translates function calls of MySQL and PostgreSQL to SQL of SQLite.

use sqlparser::ast::Expr;

use super::Dialect;
use super::expression::Translation;
use super::pieces::{Piece, Why, bare, name_of, piece};
use super::types::Kind;

impl Translation<'_> {
    /// Translates a function call, if SQLite can compute the same result.
    pub(super) fn function(&mut self, name: &str, arguments: &[&Expr]) -> Result<Piece, Why> {
        let mysql = self.scope.dialect == Dialect::MySql;
        let all = |this: &mut Self| -> Result<Vec<Piece>, Why> {
            arguments.iter().map(|argument| this.usable(argument)).collect()
        };
        let joined =
            |pieces: &[Piece]| pieces.iter().map(|piece| piece.sql.clone()).collect::<Vec<_>>().join(", ");
        let texts = |this: &mut Self, to: &str| -> Result<Piece, Why> {
            let texts: Result<Vec<String>, Why> =
                arguments.iter().map(|argument| Ok(this.text(argument)?.sql)).collect();
            Ok(piece(format!("{to}({})", texts?.join(", ")), Kind::Text))
        };
        let integer = |of: Piece| Piece { kind: Kind::Integer, ..of };
        match (name, arguments.len()) {
            ("char_length" | "character_length", 1) => texts(self, "length").map(integer),
            ("length", 1) if !mysql => texts(self, "length").map(integer),
            ("length" | "octet_length", 1) => {
                let inner = self.usable(arguments[0])?;
                match inner.kind {
                    Kind::Text | Kind::Enum | Kind::Blob => {
                        Ok(piece(format!("length(CAST({} AS BLOB))", inner.sql), Kind::Integer))
                    }
                    _ => Err("SQLite converts values of this type to another text".to_owned()),
                }
            }
            ("lower" | "lcase", 1) => texts(self, "lower"),
            ("upper" | "ucase", 1) => texts(self, "upper"),
            ("trim" | "ltrim" | "rtrim", 1) | ("replace", 3) => texts(self, name),
            ("btrim", 1) => texts(self, "trim"),
            ("substr" | "substring" | "mid", 2 | 3) => texts(self, "substr"),
            ("left", 2) => {
                let (text, length) = (self.text(arguments[0])?, self.usable(arguments[1])?);
                Ok(piece(format!("substr({}, 1, {})", text.sql, length.sql), Kind::Text))
            }
            ("concat", 2..) if mysql => {
                let parts: Result<Vec<String>, Why> =
                    arguments.iter().map(|argument| Ok(self.text(argument)?.beside())).collect();
                Ok(Piece {
                    sql: parts?.join(" || "),
                    kind: Kind::Text,
                    whole: false,
                    ignores_case: false,
                    inexact: false,
                })
            }
            ("coalesce" | "ifnull", 2..) => {
                let pieces = all(self)?;
                let kind = pieces[0].kind;
                Ok(piece(format!("coalesce({})", joined(&pieces)), kind))
            }
            ("nullif", 2) | ("abs", 1) => {
                let pieces = all(self)?;
                let kind = pieces[0].kind;
                Ok(piece(format!("{name}({})", joined(&pieces)), kind))
            }
            ("if", 3) if mysql => {
                let pieces = all(self)?;
                let kind = pieces[1].kind;
                Ok(piece(format!("iif({})", joined(&pieces)), kind))
            }
            // In MySQL, as in SQLite, the result is NULL if an argument is NULL.
            ("greatest" | "least", 2..) if mysql => {
                let pieces = all(self)?;
                let kind = pieces[0].kind;
                Ok(piece(
                    format!("{}({})", if name == "least" { "min" } else { "max" }, joined(&pieces)),
                    kind,
                ))
            }
            // json_valid(NULL) is NULL in MySQL, but 0 in old versions of SQLite.
            ("json_valid", 1) if mysql => {
                let text = self.text(arguments[0])?.sql;
                Ok(piece(format!("({text} IS NULL OR json_valid({text}))"), Kind::Boolean))
            }
            ("json_unquote", 1) if mysql => match bare(arguments[0]) {
                Expr::Function(inner) if name_of(&inner.name) == "json_extract" => self.piece(arguments[0]),
                _ => Err("SQLite has no function json_unquote".to_owned()),
            },
            ("json_extract", 2) if mysql => {
                let pieces = all(self)?;
                Ok(piece(format!("json_extract({})", joined(&pieces)), Kind::Text))
            }
            ("year" | "month" | "day" | "dayofmonth", 1) if mysql => {
                let format = match name {
                    "year" => "%Y",
                    "month" => "%m",
                    _ => "%d",
                };
                let moment = self.text(arguments[0])?.sql;
                Ok(piece(format!("CAST(strftime('{format}', {moment}) AS INTEGER)"), Kind::Integer))
            }
            _ => Err(format!("SQLite has no function with the same result as {name}")),
        }
    }
}
