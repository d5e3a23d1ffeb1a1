//! Expressions of MySQL and PostgreSQL in SQLite's words.
//!
//! Only what means the same in SQLite is translated. All else is refused with a reason, and its constraint is left out: SQLite would take
//! many expressions and compute something else, such as the quotient of two integers.

use sqlparser::ast::{
    BinaryOperator as Binary, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, InTarget,
};
use sqlparser::ast::{ObjectName, UnaryOperator as Unary, Value};
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;
use sqluice_core::schema::{quoted, quoted_text};

use super::Dialect;
use super::types::{Kind, Mapped};
use crate::dump::conversion::array;
use crate::dump::conversion::{Conversion, Converted, Element, boolean, moment};

/// The most operators and words of an expression: an expression is a tree, which is freed by recursion.
const WORDS_MAX: usize = 4_000;

/// The deepest nesting that is translated.
const DEPTH_MAX: usize = 40;

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
struct Piece {
    sql: String,
    kind: Kind,
    /// `true` if the part needs no parentheses beside an operator.
    whole: bool,
    ignores_case: bool,
    /// `true` for a result that the source computes in decimals, and SQLite in floating point.
    inexact: bool,
}

fn piece(sql: impl Into<String>, kind: Kind) -> Piece {
    Piece { sql: sql.into(), kind, whole: true, ignores_case: false, inexact: false }
}

impl Piece {
    fn beside(&self) -> String {
        if self.whole { self.sql.clone() } else { format!("({})", self.sql) }
    }
}

/// Parses an expression.
fn parse(tokens: &[Token], dialect: Dialect) -> Result<Expr, Why> {
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

/// Translates an expression.
pub(super) fn translate(tokens: &[Token], scope: &Scope<'_>) -> Result<String, Why> {
    translate_computed(tokens, scope).map(|(sql, _)| sql)
}

/// Translates the expression of a computed column. Returns `true` with it if the source computes in decimals, and SQLite in floating point.
pub(super) fn translate_computed(tokens: &[Token], scope: &Scope<'_>) -> Result<(String, bool), Why> {
    let translated = Translation { scope, depth: 0 }.piece(&parse(tokens, scope.dialect)?)?;
    let Piece { sql, inexact, .. } = usable(translated)?;
    Ok((sql, inexact))
}

/// The value of a DEFAULT.
pub(super) enum DefaultValue {
    /// SQL behind the word DEFAULT.
    Sql(String),
    /// SQL behind the word DEFAULT that gives each row another value.
    EachRow(String),
    /// NULL, which every column has without a DEFAULT.
    Null,
    /// The next value of a sequence, which the arguments of `nextval` name.
    Counter(FunctionArguments),
}

/// A random UUID of version 4 in SQLite's words.
const RANDOM_UUID: &str = "(lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-' || \
                           substr('89AB', 1 + (abs(random()) % 4), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))";

/// Translates a DEFAULT for a column of this type, whose name in the source is `declared`.
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
            // `now() AT TIME ZONE 'utc'`: CURRENT_TIMESTAMP is in UTC.
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
            // MySQL's LOCALTIME is its CURRENT_TIMESTAMP.
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

/// Returns `true` for the zone UTC.
fn is_utc(zone: &Expr) -> bool {
    let Expr::Value(value) = bare(zone) else { return false };
    text_of(&value.value).is_some_and(|zone| ["utc", "gmt", "z"].contains(&&*zone.to_ascii_lowercase()))
}

/// Returns `true` for the texts that PostgreSQL reads as the present moment: `'now'::text::date`.
fn is_now(value: &Value, declared: &str) -> bool {
    let is_moment = ["date", "time", "timetz", "timestamp", "timestamptz"].contains(&declared);
    is_moment && text_of(value).is_some_and(|text| matches!(text, "now" | "now()" | "today"))
}

/// Returns the present moment in the form in which a column of this type has moments.
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
            u64::from_str_radix(digits, 16).map_err(|_| "it is no number".to_owned())?.to_string()
        }
        Value::HexStringLiteral(digits) if column.kind == Kind::Blob => format!("X'{digits}'"),
        Value::SingleQuotedByteStringLiteral(digits) if column.conversion == Conversion::Bit => {
            u64::from_str_radix(digits, 2).map_err(|_| "it is no number".to_owned())?.to_string()
        }
        Value::SingleQuotedByteStringLiteral(digits) => quoted_text(digits),
        other => match text_of(other) {
            Some(text) => text_default(text, column)?,
            None => return Err("it is not understood".to_owned()),
        },
    };
    Ok(DefaultValue::Sql(sql))
}

/// Writes a number; the digits of a decimal that is text stay text.
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
                    array::append(text_of(other).ok_or("it is not understood")?.as_bytes(), kind, &mut json)?
                }
            },
            _ => return Err("its elements are expressions".to_owned()),
        }
    }
    json.push(b']');
    Ok(literal(std::str::from_utf8(&json).unwrap_or_default()))
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

fn blob(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X'{digits}'")
}

fn name_of(name: &ObjectName) -> String {
    name.0
        .last()
        .and_then(|part| part.as_ident())
        .map_or_else(String::new, |ident| ident.value.to_lowercase())
}

/// Refuses a value that SQLite stores in a form with another order.
fn usable(piece: Piece) -> Result<Piece, Why> {
    match piece.kind {
        Kind::Opaque => Err("SQLite compares values of this type otherwise".to_owned()),
        _ => Ok(piece),
    }
}

/// Refuses an operand of a comparison that SQLite computes in floating point: 0.1 + 0.2 is not 0.3 there.
fn exact(piece: Piece) -> Result<Piece, Why> {
    match piece.inexact {
        true => Err("SQLite computes decimals in floating point".to_owned()),
        false => Ok(piece),
    }
}

struct Translation<'s> {
    scope: &'s Scope<'s>,
    depth: usize,
}

impl Translation<'_> {
    fn piece(&mut self, expression: &Expr) -> Result<Piece, Why> {
        self.depth += 1;
        if self.depth > 3 * DEPTH_MAX {
            return Err("it is nested too deeply".to_owned());
        }
        let piece = self.translated(expression);
        self.depth -= 1;
        piece
    }

    fn usable(&mut self, expression: &Expr) -> Result<Piece, Why> {
        usable(self.piece(expression)?)
    }

    fn translated(&mut self, expression: &Expr) -> Result<Piece, Why> {
        let unary = |piece: Piece, after: &str, kind| Piece {
            sql: format!("{} {after}", piece.beside()),
            kind,
            whole: false,
            ignores_case: false,
            inexact: false,
        };
        match expression {
            Expr::Identifier(name) => self.column(&name.value, name.quote_style.is_some()),
            Expr::CompoundIdentifier(names) => names.last().map_or_else(
                || Err(String::new()),
                |name| self.column(&name.value, name.quote_style.is_some()),
            ),
            Expr::Nested(inner) => {
                let inner = self.piece(inner)?;
                let sql = inner.beside();
                Ok(Piece { sql, whole: true, ..inner })
            }
            Expr::Prefixed { value, .. } => self.piece(value),
            Expr::Value(value) => self.value(&value.value),
            Expr::TypedString(typed) => match text_of(&typed.value.value) {
                Some(text) => cast_literal(text, &typed.data_type.to_string().to_lowercase()),
                None => Err("it is not understood".to_owned()),
            },
            Expr::UnaryOp { op, expr } => {
                let inner = self.usable(expr)?;
                let (sign, kind) = match op {
                    Unary::Plus => ("+", inner.kind),
                    Unary::Minus => ("-", inner.kind),
                    Unary::Not | Unary::BangNot => ("NOT ", Kind::Boolean),
                    Unary::BitwiseNot => ("~", inner.kind),
                    _ => return Err(format!("SQLite has no operator {op}")),
                };
                Ok(Piece {
                    sql: format!("{sign}{}", inner.beside()),
                    kind,
                    whole: false,
                    ignores_case: false,
                    inexact: inner.inexact,
                })
            }
            Expr::IsNull(inner) | Expr::IsUnknown(inner) => {
                Ok(unary(self.piece(inner)?, "IS NULL", Kind::Boolean))
            }
            Expr::IsNotNull(inner) | Expr::IsNotUnknown(inner) => {
                Ok(unary(self.piece(inner)?, "IS NOT NULL", Kind::Boolean))
            }
            Expr::IsTrue(inner) => Ok(unary(self.usable(inner)?, "IS TRUE", Kind::Boolean)),
            Expr::IsNotTrue(inner) => Ok(unary(self.usable(inner)?, "IS NOT TRUE", Kind::Boolean)),
            Expr::IsFalse(inner) => Ok(unary(self.usable(inner)?, "IS FALSE", Kind::Boolean)),
            Expr::IsNotFalse(inner) => Ok(unary(self.usable(inner)?, "IS NOT FALSE", Kind::Boolean)),
            Expr::IsDistinctFrom(left, right) => self.operator(left, "IS NOT", right),
            Expr::IsNotDistinctFrom(left, right) => self.operator(left, "IS", right),
            Expr::In { expr, target: InTarget::List(list), negated, .. } => {
                self.list(expr, list.iter().collect(), *negated)
            }
            Expr::AnyOp { left, compare_op: Binary::Eq, right, .. } => self.any(left, right, false),
            Expr::AllOp { left, compare_op: Binary::NotEq, right } => self.any(left, right, true),
            Expr::Between { expr, negated, low, high } => {
                let (value, low, high) = (self.ordered(expr)?, self.ordered(low)?, self.ordered(high)?);
                let not = if *negated { "NOT " } else { "" };
                let sql = format!("{} {not}BETWEEN {} AND {}", value.beside(), low.beside(), high.beside());
                Ok(Piece { sql, kind: Kind::Boolean, whole: false, ignores_case: false, inexact: false })
            }
            Expr::BinaryOp { .. } => self.binary(expression),
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                self.like(expr, pattern, *negated, self.scope.dialect == Dialect::Postgres)
            }
            Expr::ILike { negated: false, any: false, expr, pattern, escape_char: None } => {
                self.like(expr, pattern, false, false)
            }
            Expr::RLike { .. } | Expr::SimilarTo { .. } => {
                Err("SQLite has no regular expressions".to_owned())
            }
            Expr::Cast { expr, data_type, .. } => self.cast(expr, &data_type.to_string().to_lowercase()),
            Expr::Collate { expr, .. } => self.usable(expr),
            Expr::Case { operand, conditions, else_result, .. } => {
                let mut sql = "CASE".to_owned();
                if let Some(operand) = operand {
                    sql += &format!(" {}", self.usable(operand)?.beside());
                }
                let mut kind = Kind::Opaque;
                for when in conditions {
                    let result = self.usable(&when.result)?;
                    kind = result.kind;
                    sql +=
                        &format!(" WHEN {} THEN {}", self.usable(&when.condition)?.beside(), result.beside());
                }
                if let Some(otherwise) = else_result {
                    sql += &format!(" ELSE {}", self.usable(otherwise)?.beside());
                }
                Ok(piece(sql + " END", kind))
            }
            Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
                let mut sql = format!("substr({}, {}", self.text(expr)?.sql, self.usable(from)?.sql);
                if let Some(length) = substring_for {
                    sql += &format!(", {}", self.usable(length)?.sql);
                }
                Ok(piece(sql + ")", Kind::Text))
            }
            Expr::Trim { trim_where: None, trim_what: None, expr, trim_characters: None } => {
                Ok(piece(format!("trim({})", self.text(expr)?.sql), Kind::Text))
            }
            Expr::Position { expr, r#in } => {
                Ok(piece(format!("instr({}, {})", self.text(r#in)?.sql, self.text(expr)?.sql), Kind::Integer))
            }
            Expr::Function(function) => {
                let FunctionArguments::List(list) = &function.args else {
                    return Err(format!("it depends on the time or the user: {}", function.name));
                };
                let mut arguments = Vec::new();
                for argument in &list.args {
                    match argument {
                        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => arguments.push(argument),
                        _ => return Err("it is not understood".to_owned()),
                    }
                }
                if function.over.is_some() || function.filter.is_some() || list.duplicate_treatment.is_some()
                {
                    return Err("it is not understood".to_owned());
                }
                self.function(&name_of(&function.name), &arguments)
            }
            _ => Err("SQLite has no such expression".to_owned()),
        }
    }

    fn column(&self, name: &str, quoted: bool) -> Result<Piece, Why> {
        let name = match self.scope.dialect {
            Dialect::Postgres if !quoted => name.to_lowercase(),
            _ => name.to_owned(),
        };
        let Some(known) = (self.scope.column)(&name) else {
            return Err(format!("{name} is no column that was translated"));
        };
        let sql = match known.kind {
            // Without a cast, SQLite would compare the digits as text.
            Kind::DecimalText => format!("CAST({} AS NUMERIC)", known.sql),
            _ => known.sql,
        };
        let kind = if known.kind == Kind::DecimalText { Kind::Number } else { known.kind };
        Ok(Piece { sql, kind, whole: true, ignores_case: known.ignores_case, inexact: false })
    }

    fn value(&self, value: &Value) -> Result<Piece, Why> {
        Ok(match value {
            Value::Number(digits, _) if digits.parse::<i64>().is_ok() => piece(digits, Kind::Integer),
            Value::Number(digits, _) => piece(digits, Kind::Number),
            Value::Boolean(value) => piece(u8::from(*value).to_string(), Kind::Boolean),
            Value::Null => piece("NULL", Kind::Text),
            Value::HexStringLiteral(digits) => piece(format!("X'{digits}'"), Kind::Blob),
            other => match text_of(other) {
                Some(text) => piece(literal(text), Kind::Text),
                None => return Err("it is not understood".to_owned()),
            },
        })
    }

    /// Translates an operand of a comparison by order.
    fn ordered(&mut self, expression: &Expr) -> Result<Piece, Why> {
        let piece = exact(self.usable(expression)?)?;
        match piece.kind {
            Kind::Enum => Err("an enumeration has an order of its own".to_owned()),
            _ => Ok(piece),
        }
    }

    /// Translates a text, or what SQLite reads as the same text.
    fn text(&mut self, expression: &Expr) -> Result<Piece, Why> {
        let piece = self.usable(expression)?;
        match piece.kind {
            Kind::Text | Kind::Enum | Kind::Integer => Ok(piece),
            _ => Err("SQLite writes values of this type otherwise".to_owned()),
        }
    }

    fn operator(&mut self, left: &Expr, operator: &str, right: &Expr) -> Result<Piece, Why> {
        let (left, right) = (exact(self.usable(left)?)?, exact(self.usable(right)?)?);
        let sql = format!("{} {operator} {}", left.beside(), right.beside());
        Ok(Piece { sql, kind: Kind::Boolean, whole: false, ignores_case: false, inexact: false })
    }

    fn list(&mut self, value: &Expr, list: Vec<&Expr>, negated: bool) -> Result<Piece, Why> {
        let value = exact(self.usable(value)?)?;
        let list: Result<Vec<String>, Why> =
            list.into_iter().map(|item| Ok(exact(self.usable(item)?)?.sql)).collect();
        let sql =
            format!("{} {}IN ({})", value.beside(), if negated { "NOT " } else { "" }, list?.join(", "));
        Ok(Piece { sql, kind: Kind::Boolean, whole: false, ignores_case: false, inexact: false })
    }

    /// Translates `= ANY (ARRAY[...])`, in which PostgreSQL writes IN, and `<> ALL (ARRAY[...])`.
    fn any(&mut self, left: &Expr, right: &Expr, negated: bool) -> Result<Piece, Why> {
        match bare(right) {
            Expr::Array(array) => self.list(left, array.elem.iter().collect(), negated),
            _ => Err("SQLite has no ANY".to_owned()),
        }
    }

    /// Translates operators from the left, so that a long sum needs no deep recursion.
    fn binary(&mut self, expression: &Expr) -> Result<Piece, Why> {
        let (mut first, mut rest) = (expression, Vec::new());
        while let Expr::BinaryOp { left, op, right } = first {
            rest.push((op, right));
            first = left;
        }
        let mut left = self.piece(first)?;
        while let Some((operator, right)) = rest.pop() {
            let right = self.piece(right)?;
            left = self.joined(left, operator, right)?;
        }
        Ok(left)
    }

    fn joined(&mut self, left: Piece, operator: &Binary, right: Piece) -> Result<Piece, Why> {
        let (left, right) = (usable(left)?, usable(right)?);
        let compares = matches!(
            operator,
            Binary::Eq
                | Binary::NotEq
                | Binary::Spaceship
                | Binary::Lt
                | Binary::LtEq
                | Binary::Gt
                | Binary::GtEq
        );
        let (left, right) = if compares { (exact(left)?, exact(right)?) } else { (left, right) };
        let integers = left.kind == Kind::Integer && right.kind == Kind::Integer;
        let numeric = |piece: &Piece| {
            matches!(piece.kind, Kind::Integer | Kind::Number | Kind::Float | Kind::Boolean)
                && (piece.kind != Kind::Boolean || self.scope.dialect == Dialect::MySql)
        };
        let number = match (left.kind, right.kind) {
            _ if integers => Kind::Integer,
            (Kind::Float, _) | (_, Kind::Float) => Kind::Float,
            _ => Kind::Number,
        };
        // MySQL divides whole numbers in decimals, too.
        let in_decimals = number == Kind::Number || integers && *operator == Binary::Divide;
        let postgres = self.scope.dialect == Dialect::Postgres;
        let (word, kind) = match operator {
            Binary::And => ("AND", Kind::Boolean),
            Binary::Or => ("OR", Kind::Boolean),
            Binary::Eq => ("=", Kind::Boolean),
            Binary::NotEq => ("<>", Kind::Boolean),
            Binary::Spaceship => ("IS", Kind::Boolean),
            Binary::Lt | Binary::LtEq | Binary::Gt | Binary::GtEq => {
                if left.kind == Kind::Enum || right.kind == Kind::Enum {
                    return Err("an enumeration has an order of its own".to_owned());
                }
                let word = match operator {
                    Binary::Lt => "<",
                    Binary::LtEq => "<=",
                    Binary::Gt => ">",
                    _ => ">=",
                };
                (word, Kind::Boolean)
            }
            Binary::Plus | Binary::Minus | Binary::Multiply if numeric(&left) && numeric(&right) => {
                let word = match operator {
                    Binary::Plus => "+",
                    Binary::Minus => "-",
                    _ => "*",
                };
                (word, number)
            }
            Binary::Divide if postgres && integers => ("/", Kind::Integer),
            Binary::Divide if numeric(&left) && numeric(&right) => ("* 1.0 /", Kind::Float),
            Binary::MyIntegerDivide if integers => ("/", Kind::Integer),
            Binary::Modulo if integers => ("%", Kind::Integer),
            Binary::BitwiseAnd if integers => ("&", Kind::Integer),
            Binary::BitwiseOr if integers => ("|", Kind::Integer),
            Binary::PGBitwiseShiftLeft if integers => ("<<", Kind::Integer),
            Binary::PGBitwiseShiftRight if integers => (">>", Kind::Integer),
            Binary::StringConcat
                if postgres
                    && [&left, &right]
                        .iter()
                        .all(|part| matches!(part.kind, Kind::Text | Kind::Enum | Kind::Integer)) =>
            {
                ("||", Kind::Text)
            }
            Binary::LongArrow => ("->>", Kind::Text),
            Binary::PGLikeMatch | Binary::PGNotLikeMatch => {
                return pattern(&left, &right.sql, *operator == Binary::PGNotLikeMatch, true);
            }
            Binary::PGILikeMatch => return pattern(&left, &right.sql, false, false),
            Binary::PGRegexMatch
            | Binary::PGRegexIMatch
            | Binary::PGRegexNotMatch
            | Binary::PGRegexNotIMatch => {
                return Err("SQLite has no regular expressions".to_owned());
            }
            other => return Err(format!("SQLite computes {other} otherwise")),
        };
        Ok(Piece {
            sql: format!("{} {word} {}", left.beside(), right.beside()),
            inexact: left.inexact
                || right.inexact
                || in_decimals && matches!(kind, Kind::Number | Kind::Float),
            kind,
            whole: false,
            ignores_case: false,
        })
    }

    fn like(&mut self, value: &Expr, with: &Expr, negated: bool, cased: bool) -> Result<Piece, Why> {
        let value = self.text(value)?;
        if negated && !cased && !value.ignores_case {
            return Err("SQLite's LIKE has no case".to_owned());
        }
        let with = self.usable(with)?;
        pattern(&value, &with.sql, negated, cased)
    }

    fn cast(&mut self, expression: &Expr, to: &str) -> Result<Piece, Why> {
        if let Expr::Value(value) = bare(expression) {
            if let Some(text) = text_of(&value.value) {
                return cast_literal(text, to);
            }
            let value = self.value(&value.value)?;
            let kind = if is_decimal(to) && value.kind == Kind::Integer { Kind::Number } else { value.kind };
            return Ok(Piece { kind, ..value });
        }
        let inner = self.usable(expression)?;
        let same = |kind| {
            Ok(Piece {
                kind,
                sql: inner.sql.clone(),
                whole: inner.whole,
                ignores_case: inner.ignores_case,
                inexact: inner.inexact,
            })
        };
        let is_text = is_text(to);
        let is_integer = ["int", "integer", "bigint", "smallint", "int4", "int8", "signed"].contains(&to);
        match inner.kind {
            Kind::Text | Kind::Enum if is_text => same(Kind::Text),
            Kind::Integer if is_integer => same(Kind::Integer),
            Kind::Integer if is_text => Ok(piece(format!("CAST({} AS TEXT)", inner.sql), Kind::Text)),
            Kind::Integer | Kind::Number | Kind::Float if is_decimal(to) && !to.contains('(') => {
                same(Kind::Number)
            }
            Kind::Integer | Kind::Number | Kind::Float if to.starts_with("double") => same(Kind::Float),
            _ => Err(format!("SQLite casts to {to} otherwise")),
        }
    }

    fn function(&mut self, name: &str, arguments: &[&Expr]) -> Result<Piece, Why> {
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
                    _ => Err("SQLite writes values of this type otherwise".to_owned()),
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
            // MySQL's are NULL if one argument is, as SQLite's are.
            ("greatest" | "least", 2..) if mysql => {
                let pieces = all(self)?;
                let kind = pieces[0].kind;
                Ok(piece(
                    format!("{}({})", if name == "least" { "min" } else { "max" }, joined(&pieces)),
                    kind,
                ))
            }
            // Old versions of SQLite have 0 for NULL, where MySQL has NULL.
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
            _ => Err(format!("SQLite has no function {name} that computes the same")),
        }
    }
}

fn is_text(to: &str) -> bool {
    ["text", "varchar", "character varying", "char", "character", "bpchar", "nchar", "citext"].contains(&to)
}

fn is_decimal(to: &str) -> bool {
    to.starts_with("numeric") || to.starts_with("decimal")
}

/// Translates a literal with the name of its type.
fn cast_literal(text: &str, to: &str) -> Result<Piece, Why> {
    let number = text.parse::<f64>().is_ok_and(f64::is_finite) && text.trim() == text;
    Ok(match to {
        "boolean" | "bool" => match boolean(text.as_bytes()) {
            Some(value) => piece(u8::from(value).to_string(), Kind::Boolean),
            None => return Err("it is no boolean".to_owned()),
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
            None => return Err("it is no moment".to_owned()),
        },
        "bytea" => {
            let mut bytes = Vec::new();
            Conversion::Bytea.convert(text.as_bytes(), &mut bytes)?;
            piece(blob(&bytes), Kind::Blob)
        }
        "date" | "timestamp" | "timestamp without time zone" | "time" | "time without time zone" | "uuid" => {
            piece(literal(text), Kind::Text)
        }
        // Enumerations are types of the dump.
        _ if is_text(to) || to.contains('.') => piece(literal(text), Kind::Text),
        _ => return Err(format!("SQLite has no type {to}")),
    })
}

/// Writes LIKE, or GLOB where case counts. `with` is the pattern as SQLite's text.
fn pattern(value: &Piece, with: &str, negated: bool, cased: bool) -> Result<Piece, Why> {
    let text = with
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''))
        .map(|text| text.replace("''", "'"))
        .ok_or("its pattern is an expression")?;
    let not = if negated { "NOT " } else { "" };
    let sql = if cased {
        let mut glob = String::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            let (character, escaped) = match character {
                '\\' => (characters.next().ok_or("its pattern ends in an escape")?, true),
                other => (other, false),
            };
            match character {
                '%' if !escaped => glob.push('*'),
                '_' if !escaped => glob.push('?'),
                '*' | '?' | '[' => glob += &format!("[{character}]"),
                other => glob.push(other),
            }
        }
        format!("{} {not}GLOB {}", value.beside(), quoted_text(&glob))
    } else {
        let escape = if text.contains('\\') { " ESCAPE '\\'" } else { "" };
        format!("{} {not}LIKE {}{escape}", value.beside(), quoted_text(&text))
    };
    Ok(Piece { sql, kind: Kind::Boolean, whole: false, ignores_case: false, inexact: false })
}

/// Returns a condition that a column has one of these texts.
pub(super) fn one_of(column: &str, texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| literal(text)).collect();
    format!("{} IN ({})", quoted(column), texts.join(", "))
}
