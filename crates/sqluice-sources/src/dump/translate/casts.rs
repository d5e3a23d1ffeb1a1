//! Translates literals with a type, such as `'2024-01-31'::date`.

use sqluice_core::schema::quoted_text;

use super::pieces::{Piece, Why, blob, literal, piece};
use super::types::Kind;
use crate::dump::conversion::{Conversion, boolean, moment};

pub(super) fn is_text(to: &str) -> bool {
    ["text", "varchar", "character varying", "char", "character", "bpchar", "nchar", "citext"].contains(&to)
}

pub(super) fn is_decimal(to: &str) -> bool {
    to.starts_with("numeric") || to.starts_with("decimal")
}

/// Translates a literal that is cast to the type `to`.
pub(super) fn cast_literal(text: &str, to: &str) -> Result<Piece, Why> {
    let number = text.parse::<f64>().is_ok_and(f64::is_finite) && text.trim() == text;
    Ok(match to {
        "boolean" | "bool" => match boolean(text.as_bytes()) {
            Some(value) => piece(u8::from(value).to_string(), Kind::Boolean),
            None => return Err("it is not a boolean".to_owned()),
        },
        _ if number
            && text.parse::<i64>().is_ok()
            && to.contains("int")
            && to != "interval"
            && to != "point" =>
        {
            let whole = !text.starts_with('-');
            Piece { whole, ..piece(text, Kind::Integer) }
        }
        _ if number && (is_decimal(to) || ["double precision", "real", "float8", "float4"].contains(&to)) => {
            Piece { whole: !text.starts_with('-'), ..piece(text, Kind::Number) }
        }
        "timestamptz" | "timestamp with time zone" => match moment(text.as_bytes()) {
            Some(moment) => piece(quoted_text(&moment), Kind::Moment),
            None => return Err("it is not a date and time".to_owned()),
        },
        "bytea" => {
            let mut bytes = Vec::new();
            Conversion::Bytea.convert(text.as_bytes(), &mut bytes)?;
            piece(blob(&bytes), Kind::Blob)
        }
        "date" | "timestamp" | "timestamp without time zone" | "time" | "time without time zone" | "uuid" => {
            piece(literal(text), Kind::Text)
        }
        // An enumeration type, which has a schema before its name.
        _ if is_text(to) || to.contains('.') => piece(literal(text), Kind::Text),
        _ => return Err(format!("SQLite has no type {to}")),
    })
}
