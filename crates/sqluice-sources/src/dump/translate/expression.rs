//! Translates expressions of MySQL and PostgreSQL to SQL of SQLite.
//!
//! An expression is only translated if it means the same in SQLite, but for the last digits of decimals, which SQLite computes as floats.
//! Any other expression is refused with a reason, and its constraint is left out: SQLite would accept many expressions and compute
//! something else, such as an integer for the quotient of two integers.

use sqlparser::ast::{
    BinaryOperator as Binary, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, InTarget,
};
use sqlparser::ast::{UnaryOperator as Unary, Value};
use sqlparser::tokenizer::Token;
use sqluice_core::schema::{quoted, quoted_text};

use super::Dialect;
use super::casts::{cast_literal, is_decimal, is_text};
use super::pieces::{
    DEPTH_MAX, Piece, Scope, Why, bare, exact, literal, name_of, parse, piece, text_of, usable,
};
use super::types::Kind;

/// Returns an expression as SQL of SQLite, or the reason why it is not translated.
pub(super) fn translate(tokens: &[Token], scope: &Scope<'_>) -> Result<String, Why> {
    translate_computed(tokens, scope).map(|(sql, _)| sql)
}

/// Translates the expression of a generated column. Also returns `true` if the source computes with decimals, but SQLite with floats.
pub(super) fn translate_computed(tokens: &[Token], scope: &Scope<'_>) -> Result<(String, bool), Why> {
    let translated = Translation { scope, depth: 0 }.piece(&parse(tokens, scope.dialect)?)?;
    let Piece { sql, inexact, .. } = usable(translated)?;
    Ok((sql, inexact))
}

/// Translates one expression.
pub(super) struct Translation<'s> {
    pub(super) scope: &'s Scope<'s>,
    depth: usize,
}

impl Translation<'_> {
    pub(super) fn piece(&mut self, expression: &Expr) -> Result<Piece, Why> {
        self.depth += 1;
        if self.depth > 3 * DEPTH_MAX {
            return Err("it is nested too deeply".to_owned());
        }
        let piece = self.translated(expression);
        self.depth -= 1;
        piece
    }

    pub(super) fn usable(&mut self, expression: &Expr) -> Result<Piece, Why> {
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
                None => Err("it can't be parsed".to_owned()),
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
                        _ => return Err("it can't be parsed".to_owned()),
                    }
                }
                if function.over.is_some() || function.filter.is_some() || list.duplicate_treatment.is_some()
                {
                    return Err("it can't be parsed".to_owned());
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
            return Err(format!("column {name} was left out or does not exist"));
        };
        let sql = match known.kind {
            // The decimals are stored as text. Without a cast, SQLite would compare them as texts.
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
                None => return Err("it can't be parsed".to_owned()),
            },
        })
    }

    /// Translates an operand of `<`, `<=`, `>` or `>=`.
    fn ordered(&mut self, expression: &Expr) -> Result<Piece, Why> {
        let piece = exact(self.usable(expression)?)?;
        match piece.kind {
            Kind::Enum => Err("an enumeration is ordered by position, not by text".to_owned()),
            _ => Ok(piece),
        }
    }

    /// Translates an operand that must be text, or a value that SQLite converts to the same text as the source does.
    pub(super) fn text(&mut self, expression: &Expr) -> Result<Piece, Why> {
        let piece = self.usable(expression)?;
        match piece.kind {
            Kind::Text | Kind::Enum | Kind::Integer => Ok(piece),
            _ => Err("SQLite converts values of this type to another text".to_owned()),
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

    /// Translates `= ANY (ARRAY[...])` to IN, and `<> ALL (ARRAY[...])` to NOT IN: PostgreSQL stores IN in this form.
    fn any(&mut self, left: &Expr, right: &Expr, negated: bool) -> Result<Piece, Why> {
        match bare(right) {
            Expr::Array(array) => self.list(left, array.elem.iter().collect(), negated),
            _ => Err("SQLite has no ANY".to_owned()),
        }
    }

    /// Translates a chain of operators from left to right, so that a long sum needs no deep recursion.
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
        // MySQL divides integers with a decimal result.
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
                    return Err("an enumeration is ordered by position, not by text".to_owned());
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
            other => return Err(format!("SQLite gives another result for {other}")),
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
            return Err("SQLite's LIKE ignores case".to_owned());
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
            _ => Err(format!("SQLite gives another result for a cast to {to}")),
        }
    }
}

/// Translates a pattern to LIKE or, if case matters, to GLOB. `with` is the pattern as SQL of SQLite.
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

/// Returns SQL of the condition that a column has one of these texts.
pub(super) fn one_of(column: &str, texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| literal(text)).collect();
    format!("{} IN ({})", quoted(column), texts.join(", "))
}
