//! Translates DEFAULT clauses of MySQL and PostgreSQL to SQL of SQLite.

use sqlparser::ast::{Expr, FunctionArguments, UnaryOperator as Unary, Value};
use sqlparser::tokenizer::Token;
use sqluice_core::schema::quoted_text;

use super::Dialect;
use super::expression::translate;
use super::pieces::{Scope, Why, bare, blob, literal, name_of, parse, text_of};
use super::types::{Kind, Mapped};
use crate::dump::conversion::{Conversion, Converted, Element, array};

/// A translated DEFAULT.
pub(super) enum DefaultValue {
    /// SQL after the word DEFAULT, with the same value for all rows that are inserted at one time.
    Sql(String),
    /// SQL after the word DEFAULT, with a different value for each row.
    EachRow(String),
    /// NULL, which needs no DEFAULT clause.
    Null,
    /// The next value of a sequence, with the arguments of `nextval`.
    Counter(FunctionArguments),
}

/// SQL of SQLite that returns a random UUID of version 4.
const RANDOM_UUID: &str = "(lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-' || \
                           substr('89AB', 1 + (abs(random()) % 4), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))";

/// Translates a DEFAULT for a column. `declared` is the column's type in the dump.
pub(super) fn default(
    tokens: &[Token],
    declared: &str,
    column: &Mapped,
    dialect: Dialect,
) -> Result<DefaultValue, Why> {
    let expression = parse(tokens, dialect)?;
    let mut inner = &expression;
    loop {
        inner = match inner {
            Expr::Nested(nested) | Expr::Cast { expr: nested, .. } => nested,
            Expr::Prefixed { value, .. } => value,
            // `now() AT TIME ZONE 'utc'` is CURRENT_TIMESTAMP, which is in UTC.
            Expr::AtTimeZone { timestamp, time_zone } if is_utc(time_zone) => timestamp,
            _ => break,
        };
    }
    match inner {
        Expr::Value(value) if is_now(&value.value, declared) => return Ok(DefaultValue::Sql(now(declared))),
        Expr::Value(value) => return literal_default(&value.value, column),
        Expr::TypedString(typed) => return literal_default(&typed.value.value, column),
        Expr::UnaryOp { op: Unary::Minus, expr } => {
            if let Expr::Value(value) = &**expr
                && let Value::Number(digits, _) = &value.value
            {
                return Ok(DefaultValue::Sql(number_default(&format!("-{digits}"), column)));
            }
        }
        Expr::Array(elements) => {
            if let Conversion::Array { element, .. } = &column.conversion {
                return array_default(&elements.elem, *element).map(DefaultValue::Sql);
            }
        }
        Expr::Function(function) => match name_of(&function.name).as_str() {
            "nextval" => return Ok(DefaultValue::Counter(function.args.clone())),
            "now"
            | "current_timestamp"
            | "localtimestamp"
            | "transaction_timestamp"
            | "statement_timestamp"
            | "clock_timestamp"
            | "utc_timestamp"
            | "sysdate" => return Ok(DefaultValue::Sql(now(declared))),
            "current_date" | "curdate" | "utc_date" => {
                return Ok(DefaultValue::Sql("CURRENT_DATE".to_owned()));
            }
            "current_time" | "localtime" | "curtime" | "utc_time"
                if dialect == Dialect::Postgres || declared == "time" =>
            {
                return Ok(DefaultValue::Sql("CURRENT_TIME".to_owned()));
            }
            // LOCALTIME of MySQL is a synonym of CURRENT_TIMESTAMP.
            "localtime" => return Ok(DefaultValue::Sql(now(declared))),
            "timezone" if tokens.iter().any(|token| super::tokens::is_word(token, "now")) => {
                return Ok(DefaultValue::Sql(now(declared)));
            }
            "gen_random_uuid" | "uuid_generate_v4" => {
                return Ok(DefaultValue::EachRow(RANDOM_UUID.to_owned()));
            }
            _ => {}
        },
        _ => {}
    }
    let sql = translate(tokens, &Scope { dialect, column: &|_| None })?;
    Ok(DefaultValue::Sql(format!("({sql})")))
}

/// Returns `true` if a time zone is UTC.
fn is_utc(zone: &Expr) -> bool {
    let Expr::Value(value) = bare(zone) else { return false };
    text_of(&value.value).is_some_and(|zone| ["utc", "gmt", "z"].contains(&&*zone.to_ascii_lowercase()))
}

/// Returns `true` for the texts that PostgreSQL reads as the current time, as in `'now'::text::date`.
fn is_now(value: &Value, declared: &str) -> bool {
    let is_moment = ["date", "time", "timetz", "timestamp", "timestamptz"].contains(&declared);
    is_moment && text_of(value).is_some_and(|text| matches!(text, "now" | "now()" | "today"))
}

/// Returns SQL for the current time, in the form of values of this type.
fn now(declared: &str) -> String {
    let sql = match declared {
        "date" => "CURRENT_DATE",
        "time" | "timetz" => "CURRENT_TIME",
        "timestamptz" => "(strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'))",
        _ => "CURRENT_TIMESTAMP",
    };
    sql.to_owned()
}

fn literal_default(value: &Value, column: &Mapped) -> Result<DefaultValue, Why> {
    let sql = match value {
        Value::Null => return Ok(DefaultValue::Null),
        Value::Number(digits, _) => number_default(digits, column),
        Value::Boolean(value) => u8::from(*value).to_string(),
        Value::HexStringLiteral(digits) if column.conversion == Conversion::Bit => {
            u64::from_str_radix(digits, 16).map_err(|_| "it is not a number".to_owned())?.to_string()
        }
        Value::HexStringLiteral(digits) if column.kind == Kind::Blob => format!("X'{digits}'"),
        Value::SingleQuotedByteStringLiteral(digits) if column.conversion == Conversion::Bit => {
            u64::from_str_radix(digits, 2).map_err(|_| "it is not a number".to_owned())?.to_string()
        }
        Value::SingleQuotedByteStringLiteral(digits) => quoted_text(digits),
        other => match text_of(other) {
            Some(text) => text_default(text, column)?,
            None => return Err("it can't be parsed".to_owned()),
        },
    };
    Ok(DefaultValue::Sql(sql))
}

/// Writes a number. If the column stores decimals as text, or the number is an integer beyond 64 bits, it becomes text with all its digits.
fn number_default(digits: &str, column: &Mapped) -> String {
    let fits = digits.contains(['.', 'e', 'E']) || digits.parse::<i64>().is_ok();
    let as_number = fits && matches!(column.declared, "INTEGER" | "REAL" | "NUMERIC" | "");
    if as_number { digits.to_owned() } else { quoted_text(digits) }
}

fn text_default(text: &str, column: &Mapped) -> Result<String, Why> {
    let mut out = Vec::new();
    Ok(match column.conversion.convert(text.as_bytes(), &mut out)? {
        Converted::Unchanged => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let number = !digits.is_empty()
                && digits.split('.').count() <= 2
                && digits
                    .split('.')
                    .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
            if number { number_default(text, column) } else { literal(text) }
        }
        Converted::Text => literal(std::str::from_utf8(&out).unwrap_or_default()),
        Converted::Blob => blob(&out),
        Converted::Integer(number) => number.to_string(),
        Converted::Real(number) if number > 0.0 => "1e999".to_owned(),
        Converted::Real(_) => "-1e999".to_owned(),
        Converted::Null => "NULL".to_owned(),
    })
}

fn array_default(elements: &[Expr], kind: Element) -> Result<String, Why> {
    let mut json = b"[".to_vec();
    for (at, element) in elements.iter().enumerate() {
        json.extend_from_slice(if at > 0 { b"," } else { b"" });
        match bare(element) {
            Expr::Value(value) => match &value.value {
                Value::Null => json.extend_from_slice(b"null"),
                Value::Number(digits, _) => array::append(digits.as_bytes(), kind, &mut json)?,
                Value::Boolean(value) => json.extend_from_slice(if *value { b"true" } else { b"false" }),
                other => {
                    array::append(text_of(other).ok_or("it can't be parsed")?.as_bytes(), kind, &mut json)?
                }
            },
            _ => return Err("its elements are expressions".to_owned()),
        }
    }
    json.push(b']');
    Ok(literal(std::str::from_utf8(&json).unwrap_or_default()))
}
