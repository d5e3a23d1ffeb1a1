//! Values computed from other values: `+ - * / %`, `lower`, `upper`, `left`, `round`.
//!
//! Arithmetic is SQL's: integers stay integers, also in divisions, unless they overflow; division by 0 gives NULL.

use std::sync::Arc;

use sqluice_core::batch::Value;
use sqluice_core::error::Result;

use super::spread::hand_down;
use super::{Arguments, Fault, Function, Generate, compile_in, fill_all, size_of_all};
use crate::generator::{ByShare, Class, Scope, Size};
use crate::names::Context;
use crate::parse::{Expr, ExprNode, Literal};
use crate::vector::{RowRange, Vector};

pub(super) const LOWER: Function = Function {
    name: "lower",
    signature: "lower(x)",
    about: "a text in lower case",
    example: "lower(customer.last)",
    build: |arguments| Mapped::build(arguments, 1, |_| Ok(Map::Lower)),
};

pub(super) const UPPER: Function = Function {
    name: "upper",
    signature: "upper(x)",
    about: "a text in upper case",
    example: "upper(status)",
    build: |arguments| Mapped::build(arguments, 1, |_| Ok(Map::Upper)),
};

pub(super) const LEFT: Function = Function {
    name: "left",
    signature: "left(x, n)",
    about: "the first n characters of a text",
    example: "left(sentence(), 20)",
    build: |arguments| {
        Mapped::build(arguments, 2, |arguments| {
            Ok(Map::Left(arguments.int_within(1, 0, super::LENGTH_MAX)? as usize))
        })
    },
};

pub(super) const ROUND: Function = Function {
    name: "round",
    signature: "round(x, places)",
    about: "a number rounded to an integer, halves away from 0; or to a real of that many decimal places",
    example: "round(normal(40, 10))",
    build: |arguments| match arguments.arguments.len() {
        2 => Mapped::build(arguments, 2, |arguments| {
            Ok(Map::Places(10_f64.powi(arguments.int_within(1, 0, PLACES_MAX)? as i32)))
        }),
        _ => Mapped::build(arguments, 1, |_| Ok(Map::Round)),
    },
};

/// The maximum number of decimal places that a real is rounded to.
const PLACES_MAX: i64 = 15;

#[derive(Clone, Copy, Debug)]
enum Map {
    Lower,
    Upper,
    Left(usize),
    Round,
    /// Rounds to a fraction with this denominator.
    Places(f64),
}

#[derive(Debug)]
struct Mapped {
    map: Map,
    inner: [Arc<dyn Generate>; 1],
}

impl Mapped {
    fn build(
        arguments: &Arguments<'_>,
        count: usize,
        map: impl Fn(&Arguments<'_>) -> Result<Map, Fault>,
    ) -> Result<Arc<dyn Generate>, Fault> {
        arguments.count(count)?;
        let (map, inner) = (map(arguments)?, arguments.compile(0)?);
        let (fits, expected) = match map {
            Map::Round | Map::Places(_) => (inner.class().is_number(), "a number"),
            Map::Lower | Map::Upper | Map::Left(_) => (inner.class().is_text(), "a text"),
        };
        if !fits {
            return Err(arguments.wrong(0, expected));
        }
        Ok(Arc::new(Mapped { map, inner: [inner] }))
    }
}

/// Returns the first `count` characters of a text.
fn first_characters(text: &[u8], count: usize) -> &[u8] {
    let begins = |byte: &u8| byte & 0xc0 != 0x80;
    let cut = text.iter().enumerate().filter(|(_, byte)| begins(byte)).nth(count);
    cut.map_or(text, |(at, _)| &text[..at])
}

impl Mapped {
    /// Computes `count` values from those of `inner`.
    fn map(&self, inner: &Vector, count: usize, out: &mut Vector) {
        out.values();
        for row in 0..count {
            match (self.map, inner.get(row)) {
                (Map::Lower, Value::Text(text)) => {
                    let text = String::from_utf8_lossy(text).to_lowercase();
                    out.push(Value::Text(text.as_bytes()));
                }
                (Map::Upper, Value::Text(text)) => {
                    let text = String::from_utf8_lossy(text).to_uppercase();
                    out.push(Value::Text(text.as_bytes()));
                }
                (Map::Left(count), Value::Text(text)) => out.push(Value::Text(first_characters(text, count))),
                // A real beyond the integers becomes the nearest integer.
                (Map::Round, Value::Real(real)) => out.push(Value::Int(real.round() as i64)),
                (Map::Places(scale), Value::Real(real)) => {
                    out.push(Value::Real((real * scale).round() / scale))
                }
                (Map::Places(_), Value::Int(int)) => out.push(Value::Real(int as f64)),
                (_, other) => out.push(other),
            }
        }
        out.settle();
    }
}

/// Passes the shares of the rows to the inner function, and maps its values.
impl ByShare for Mapped {
    fn make(&self, at: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()> {
        let mut inner = Vector::default();
        hand_down(&*self.inner[0], at.child(0), rows, shares, &mut inner)?;
        self.map(&inner, rows.len(), out);
        Ok(())
    }
}

impl Generate for Mapped {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let inner = &fill_all(&self.inner, at, rows)?[0];
        self.map(inner, rows.count, out);
        Ok(())
    }

    fn by_share(&self) -> Option<&dyn ByShare> {
        self.inner[0].by_share().map(|_| self as &dyn ByShare)
    }

    fn size(&self) -> Size {
        let Size { mean, max } = self.inner[0].size();
        match self.map {
            Map::Left(count) => {
                Size { mean: mean.min(count as u64), max: max.saturating_add(max.min(4 * count as u64)) }
            }
            // A letter may take three times as many bytes in the other case, and the inner value is in memory, too.
            Map::Lower | Map::Upper => Size { mean, max: 4 * max },
            Map::Round => Size { mean: mean.min(4), max: 2 * max },
            Map::Places(_) => Size { mean: 8, max: 2 * max },
        }
    }

    fn class(&self) -> Class {
        match self.map {
            Map::Round => Class::Int,
            Map::Places(_) => Class::Real,
            Map::Lower | Map::Upper | Map::Left(_) => self.inner[0].class(),
        }
    }

    fn nullable(&self) -> bool {
        self.inner[0].nullable()
    }
}

/// Builds the generator of an operator between two expressions.
pub(super) fn binary(
    operator: char,
    left: &Expr,
    right: &Expr,
    context: Context<'_>,
) -> Result<Arc<dyn Generate>, Fault> {
    let operands = [compile_in(left, context)?, compile_in(right, context)?];
    for (expr, operand) in [left, right].into_iter().zip(&operands) {
        if !operand.class().is_number() {
            let message = format!("`{operator}` takes numbers, and {expr} is {}", operand.class());
            return Err(Fault::new(expr.at.start, message).hint(
                "texts are put together by template('{a}{b}'); sql('...') takes any expression of SQLite's",
            ));
        }
    }
    let zero = match right.node {
        ExprNode::Literal(Literal::Int(int)) => int == 0,
        ExprNode::Literal(Literal::Real(real)) => real == 0.0,
        _ => true,
    };
    let divides = matches!(operator, '/' | '%');
    Ok(Arc::new(Binary { operator, operands, may_divide_by_zero: divides && zero }))
}

#[derive(Debug)]
struct Binary {
    operator: char,
    operands: [Arc<dyn Generate>; 2],
    may_divide_by_zero: bool,
}

fn compute(operator: char, left: Value<'_>, right: Value<'_>) -> Value<'static> {
    let ints = match (left, right) {
        (Value::Int(left), Value::Int(right)) => match operator {
            '+' => left.checked_add(right),
            '-' => left.checked_sub(right),
            '*' => left.checked_mul(right),
            _ if right == 0 => return Value::Null,
            '/' => left.checked_div(right),
            _ => Some(left.wrapping_rem(right)),
        },
        _ => None,
    };
    let real = |value| match value {
        Value::Int(int) => Some(int as f64),
        Value::Real(real) => Some(real),
        _ => None,
    };
    match (ints, real(left), real(right)) {
        (Some(int), ..) => Value::Int(int),
        (None, Some(left), Some(right)) => match operator {
            '+' => Value::Real(left + right),
            '-' => Value::Real(left - right),
            '*' => Value::Real(left * right),
            '/' if right != 0.0 => Value::Real(left / right),
            // As in SQLite, the operands of % are converted to integers.
            '%' if right as i64 != 0 => Value::Real((left as i64).wrapping_rem(right as i64) as f64),
            _ => Value::Null,
        },
        _ => Value::Null,
    }
}

impl Binary {
    fn compute(&self, operands: &[Vector], count: usize, out: &mut Vector) {
        out.values();
        for row in 0..count {
            out.push(compute(self.operator, operands[0].get(row), operands[1].get(row)));
        }
        out.settle();
    }
}

/// Passes the shares of the rows to the operand that takes shares, and only the row numbers to the other operand.
impl ByShare for Binary {
    fn make(&self, at: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()> {
        let mut operands = [Vector::default(), Vector::default()];
        for (index, (operand, values)) in self.operands.iter().zip(&mut operands).enumerate() {
            hand_down(&**operand, at.child(index as u64), rows, shares, values)?;
        }
        self.compute(&operands, rows.len(), out);
        Ok(())
    }
}

impl Generate for Binary {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let operands = fill_all(&self.operands, at, rows)?;
        self.compute(&operands, rows.count, out);
        Ok(())
    }

    fn by_share(&self) -> Option<&dyn ByShare> {
        let takers = self.operands.iter().filter(|operand| operand.by_share().is_some()).count();
        if takers == 1 { Some(self) } else { None }
    }

    fn size(&self) -> Size {
        Size { mean: 6, max: size_of_all(&self.operands).max + 8 }
    }

    fn class(&self) -> Class {
        match (self.operands[0].class(), self.operands[1].class()) {
            (Class::Real, _) | (_, Class::Real) => Class::Real,
            (Class::Int, Class::Int) => Class::Int,
            _ => Class::Any,
        }
    }

    fn nullable(&self) -> bool {
        self.may_divide_by_zero || self.operands.iter().any(|operand| operand.nullable())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::types::Value as Sql;

    #[test]
    fn arithmetic_has_the_results_of_sqlite() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let values = [
            Value::Null,
            Value::Int(0),
            Value::Int(7),
            Value::Int(-2),
            Value::Int(i64::MAX),
            Value::Int(i64::MIN),
            Value::Int(-1),
            Value::Real(0.0),
            Value::Real(2.5),
            Value::Real(-7.0),
        ];
        let sql = |value: Value<'_>| match value {
            Value::Int(int) => Sql::Integer(int),
            Value::Real(real) => Sql::Real(real),
            _ => Sql::Null,
        };
        for operator in ['+', '-', '*', '/', '%'] {
            let mut asked = connection.prepare(&format!("SELECT ?1 {operator} ?2")).unwrap();
            for left in values {
                for right in values {
                    let expected: Sql = asked.query_row([sql(left), sql(right)], |row| row.get(0)).unwrap();
                    let ours = sql(compute(operator, left, right));
                    assert_eq!(ours, expected, "{left:?} {operator} {right:?}");
                }
            }
        }
    }

    #[test]
    fn the_function_left_counts_characters_and_not_bytes() {
        assert_eq!(first_characters("aéü".as_bytes(), 2), "aé".as_bytes());
        assert_eq!(first_characters("aé".as_bytes(), 2), "aé".as_bytes());
        assert_eq!(first_characters(b"abc", 0), b"");
    }
}
