//! `case`: values that depend on other values of the row.
//!
//! Conditions have SQL's three values: a comparison with NULL is neither true nor false, and a branch is taken
//! if its condition is true. Numbers sort before texts, texts before blobs.

use std::cmp::Ordering;
use std::sync::Arc;

use sqluice_core::batch::Value;
use sqluice_core::error::Result;

use super::{Fault, Function, Generate, fill_all};
use crate::generator::{Class, Parent, Scope, Size};
use crate::names::Context;
use crate::parse::{Comparison, Condition, Expr};
use crate::vector::{RowRange, Vector};

pub(super) const CASE: Function = Function {
    name: "case",
    signature: "case(when a = b then x ... else y)",
    about: "the value of the first branch whose condition is true, NULL if none is and there is no else",
    example: "case(when status = 'new' then NULL when price > 50 then int(1, 9) else 0)",
    build: |arguments| Err(arguments.fault(arguments.at(), "begins with when")),
};

/// A condition of a branch; its operands are indexes into [`Case::operands`].
#[derive(Debug)]
enum Test {
    Compare(usize, Comparison, usize),
    IsNull(usize),
    In(usize, Vec<usize>),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
}

#[derive(Debug)]
struct Case {
    tests: Vec<Test>,
    /// The operands of the tests.
    operands: Vec<Arc<dyn Generate>>,
    /// The value of each test's branch, and last the value of `else`.
    values: Vec<Arc<dyn Generate>>,
}

/// Builds the generator of a `case(...)` expression.
pub(super) fn build(
    branches: &[(Condition, Expr)],
    otherwise: Option<&Expr>,
    context: Context<'_>,
) -> Result<Arc<dyn Generate>, Fault> {
    let mut case = Case { tests: Vec::new(), operands: Vec::new(), values: Vec::new() };
    for (condition, value) in branches {
        let test = case.test(condition, context)?;
        case.tests.push(test);
        case.values.push(super::compile_in(value, context)?);
    }
    case.values.push(match otherwise {
        Some(value) => super::compile_in(value, context)?,
        None => super::choice::constant(&crate::parse::Literal::Null),
    });
    Ok(Arc::new(case))
}

impl Case {
    fn test(&mut self, condition: &Condition, context: Context<'_>) -> Result<Test, Fault> {
        let mut operand = |expr: &Expr| {
            self.operands.push(super::compile_in(expr, context)?);
            Ok(self.operands.len() - 1)
        };
        let negate = |test, negated| if negated { Test::Not(Box::new(test)) } else { test };
        Ok(match condition {
            Condition::Compare { left, comparison, right } => {
                Test::Compare(operand(left)?, *comparison, operand(right)?)
            }
            Condition::IsNull { value, negated } => negate(Test::IsNull(operand(value)?), *negated),
            Condition::In { value, list, negated } => {
                let value = operand(value)?;
                let list = list.iter().map(operand).collect::<Result<_, Fault>>()?;
                negate(Test::In(value, list), *negated)
            }
            Condition::Not(inner) => Test::Not(Box::new(self.test(inner, context)?)),
            Condition::And(left, right) => {
                Test::And(Box::new(self.test(left, context)?), Box::new(self.test(right, context)?))
            }
            Condition::Or(left, right) => {
                Test::Or(Box::new(self.test(left, context)?), Box::new(self.test(right, context)?))
            }
        })
    }

    /// Returns the index of each row's branch.
    fn picked(&self, at: Scope<'_>, rows: RowRange) -> Result<Vec<usize>> {
        let operands = fill_all(&self.operands, at.child(0), rows)?;
        let branch = |row| {
            let holds = |test: &Test| test.holds(&operands, row) == Some(true);
            self.tests.iter().position(holds).unwrap_or(self.tests.len())
        };
        Ok((0..rows.count).map(branch).collect())
    }
}

impl Test {
    fn holds(&self, operands: &[Vector], row: usize) -> Option<bool> {
        let value = |operand: usize| operands[operand].get(row);
        match self {
            Test::Compare(left, comparison, right) => {
                let order = compare(value(*left), value(*right))?;
                Some(match comparison {
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                })
            }
            Test::IsNull(operand) => Some(value(*operand) == Value::Null),
            Test::In(operand, list) => {
                let mut unknown = false;
                for item in list {
                    match compare(value(*operand), value(*item)) {
                        Some(Ordering::Equal) => return Some(true),
                        Some(_) => {}
                        None => unknown = true,
                    }
                }
                if unknown { None } else { Some(false) }
            }
            Test::Not(inner) => inner.holds(operands, row).map(|holds| !holds),
            Test::And(left, right) => match (left.holds(operands, row), right.holds(operands, row)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Test::Or(left, right) => match (left.holds(operands, row), right.holds(operands, row)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

/// Returns the order of two values; `None` if one is NULL.
fn compare(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    let rank = |value: &Value<'_>| match value {
        Value::Null => None,
        Value::Int(_) | Value::Real(_) => Some(0),
        Value::Text(_) => Some(1),
        Value::Blob(_) => Some(2),
    };
    let (left_rank, right_rank) = (rank(&left)?, rank(&right)?);
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(&right)),
        (Value::Real(left), Value::Real(right)) => left.partial_cmp(&right),
        (Value::Int(left), Value::Real(right)) => compare_int(left, right),
        (Value::Real(left), Value::Int(right)) => compare_int(right, left).map(Ordering::reverse),
        (Value::Text(left), Value::Text(right)) | (Value::Blob(left), Value::Blob(right)) => {
            Some(left.cmp(right))
        }
        _ => Some(left_rank.cmp(&right_rank)),
    }
}

/// Returns the exact order of an integer and a real; `None` if the real is NaN.
fn compare_int(int: i64, real: f64) -> Option<Ordering> {
    if real.is_nan() {
        return None;
    }
    let floor = real.floor();
    // The cast to i128 saturates, far beyond all i64.
    let order = i128::from(int).cmp(&(floor as i128));
    Some(if order.is_eq() && real > floor { Ordering::Less } else { order })
}

impl Generate for Case {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let picked = self.picked(at, rows)?;
        let values = fill_all(&self.values, at.child(1), rows)?;
        out.choose(&values, &picked);
        Ok(())
    }

    fn size(&self) -> Size {
        let sizes = self.values.iter().map(|value| value.size());
        let mean = sizes.clone().map(|size| size.mean).sum::<u64>().div_ceil(self.values.len() as u64);
        // In memory are the vectors of all branches, and the result.
        Size { mean, max: 2 * sizes.map(|size| size.max).sum::<u64>() }
    }

    fn class(&self) -> Class {
        self.values.iter().fold(Class::Null, |class, value| class.or(value.class()))
    }

    fn nullable(&self) -> bool {
        self.values.iter().any(|value| value.nullable())
    }

    fn parent(&self) -> Option<&dyn Parent> {
        self.referring().map(|_| self as &dyn Parent)
    }
}

impl Case {
    /// Returns the index in the schema of the table that all branches refer to, except branches that are NULL. Returns `None` if the
    /// branches refer to several tables, or if a branch refers to none.
    fn referring(&self) -> Option<usize> {
        let mut tables = self.values.iter().filter(|value| value.class() != Class::Null);
        let first = tables.next()?.parent()?.table();
        tables.all(|value| value.parent().is_some_and(|parent| parent.table() == first)).then_some(first)
    }
}

impl Parent for Case {
    fn table(&self) -> usize {
        self.referring().unwrap_or(0)
    }

    fn column(&self) -> Option<usize> {
        let mut columns = self.values.iter().filter_map(|value| value.parent()).map(Parent::column);
        let first = columns.next()??;
        columns.all(|column| column == Some(first)).then_some(first)
    }

    fn rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<u64>>) -> Result<()> {
        out.clear();
        let mut parent = Vec::new();
        for &first in rows {
            let branch = self.picked(at, RowRange { first, count: 1 })?[0];
            parent.clear();
            if let Some(referring) = self.values[branch].parent() {
                referring.rows(at.child(1).child(branch as u64), &[first], &mut parent)?;
            }
            out.push(parent.first().copied().flatten());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_values_have_the_result_of_sqlite() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let sql = |value: &Value<'_>| match value {
            Value::Null => "NULL".to_owned(),
            Value::Int(int) => int.to_string(),
            Value::Real(real) => format!("{real:?}"),
            Value::Text(text) => format!("'{}'", str::from_utf8(text).unwrap()),
            Value::Blob(blob) => format!("x'{:02x}'", blob[0]),
        };
        let values = [
            Value::Null,
            Value::Int(-3),
            Value::Int(2),
            Value::Int((1 << 53) + 1),
            Value::Int(i64::MAX),
            Value::Real(2.0),
            Value::Real(2.5),
            Value::Real(9_007_199_254_740_992.0),
            Value::Real(9.3e18),
            Value::Real(-1e300),
            Value::Text(b""),
            Value::Text(b"2"),
            Value::Blob(b"1"),
        ];
        for left in &values {
            for right in &values {
                let (a, b) = (sql(left), sql(right));
                let asked = format!(
                    "SELECT CASE WHEN {a} < {b} THEN -1 WHEN {a} = {b} THEN 0 WHEN {a} > {b} THEN 1 END"
                );
                let expected: Option<i8> = connection.query_row(&asked, [], |row| row.get(0)).unwrap();
                assert_eq!(compare(*left, *right).map(|order| order as i8), expected, "{a} and {b}");
            }
        }
    }
}
