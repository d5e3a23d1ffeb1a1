//! Values that occur only once (`permutation`, `distinct`), and values that ascend with the row number (`ascending`).
//!
//! Row numbers are shuffled by [`permute`], without memory. If columns are distinct together, the shuffled number has
//! one digit for each column, in a base that is the number of the column's values:
//!
//! ```text
//!  order: 100 values, product: 20 values          2,000 pairs
//!  row 0 ── permute ──> 1234 = 34 + 100 * 12      order 34, product 12
//! ```

use std::sync::Arc;

use sqluice_core::batch::ROWS_MAX;
use sqluice_core::error::{Error, Result};

use super::{Arguments, Fault, Function, Generate, compile_in};
use crate::generator::{Class, Domain, Parent, Scope, Size, World};
use crate::names::Context;
use crate::parse::{Expr, ExprNode, Literal};
use crate::random::{Key, Shuffle, permute};
use crate::vector::{RowRange, Vector};

/// The limit up to which combinations are counted. No table has as many rows, so none needs more combinations.
const COMBINATIONS_MAX: u64 = 1 << 62;

pub(super) const PERMUTATION: Function = Function {
    name: "permutation",
    signature: "permutation(a, b)",
    about: "the integers from a to b, each once, shuffled",
    example: "permutation(1, 1M)",
    build: |arguments| {
        arguments.count(2)?;
        // The bounds must be literals here, while those of int() may be columns.
        arguments.int(0)?;
        arguments.int(1)?;
        let inner = (super::numbers::INT.build)(arguments)?;
        Ok(Arc::new(Distinct::alone(inner, arguments)))
    },
};

pub(super) const DISTINCT: Function = Function {
    name: "distinct",
    signature: "distinct(x, group)",
    about: "values of x, shuffled, none of them twice; if several columns have the same group (1 by default), no combination of their values occurs twice",
    example: "distinct(choice('a', 'b', 'c'))",
    build: distinct,
};

pub(super) const ASCENDING: Function = Function {
    name: "ascending",
    signature: "ascending(x)",
    about: "values of x that ascend with the row number, from the lowest to the highest",
    example: "ascending(timestamp('2024-01-01 00:00:00', '2024-12-31 23:59:59'))",
    build: |arguments| {
        arguments.count(1)?;
        let inner = numbered(arguments)?;
        let table = arguments.context.table;
        let name =
            arguments.context.names.tables.get(table).map_or(String::new(), |table| table.name.clone());
        Ok(Arc::new(Ascending { inner, table, name }))
    },
};

/// Builds the generator of argument 0, which must have a numbered domain ([`Generate::domain`]).
fn numbered(arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
    let inner = arguments.compile(0)?;
    if inner.domain().is_some() {
        return Ok(inner);
    }
    Err(arguments.wrong(
        0,
        "something with a known number of values (int, decimal, digits, hex, text(n, n), blob(n, n), date, timestamp, \
         choice of different values, names and places, ref of a key)",
    ))
}

/// Returns the group of columns that an expression is distinct with, if it is a call of `distinct`.
pub(crate) fn group_of(expr: &Expr) -> Option<i64> {
    match &expr.node {
        ExprNode::Call { name, arguments } if name.eq_ignore_ascii_case(DISTINCT.name) => {
            match arguments.get(1).map(|argument| &argument.value.node) {
                None => Some(1),
                Some(ExprNode::Literal(Literal::Int(group))) => Some(*group),
                Some(_) => None,
            }
        }
        _ => None,
    }
}

fn distinct(arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
    arguments.count_within(1, 2)?;
    let group = if arguments.arguments.len() == 2 { arguments.int(1)? } else { 1 };
    let inner = numbered(arguments)?;
    let Context { names, table, column } = arguments.context;
    if names.expr(table, column).is_none_or(|whole| whole.at != arguments.expr.at) {
        return Ok(Arc::new(Distinct::alone(inner, arguments)));
    }
    let declared = &names.tables[table];
    let mut distinct = Distinct {
        inner: Arc::clone(&inner),
        members: Vec::new(),
        place: 0,
        group: Some((declared.name.clone(), format!("distinct {group}"))),
        shown: String::new(),
    };
    let mut shown = Vec::new();
    for other in 0..declared.columns.len() {
        let Some(expr) = names.expr(table, other) else { continue };
        if group_of(expr) != Some(group) {
            continue;
        }
        shown.push(format!("{}.{}", declared.name, declared.columns[other].name));
        if other == column {
            distinct.place = distinct.members.len();
            distinct.members.push(Arc::clone(&inner));
        } else if let ExprNode::Call { arguments, .. } = &expr.node
            && let Some(argument) = arguments.first()
        {
            let member =
                compile_in(&argument.value, Context { column: other, ..Context { names, table, column } })?;
            // A column without a domain is reported when its own expression is built.
            if member.domain().is_some() {
                distinct.members.push(member);
            }
        }
    }
    distinct.shown = shown.join(", ");
    Ok(Arc::new(distinct))
}

/// A column in a `distinct` group: no two rows have the same values in all columns of the group.
#[derive(Debug)]
struct Distinct {
    inner: Arc<dyn Generate>,
    /// The columns of the group, including this one, in their order.
    members: Vec<Arc<dyn Generate>>,
    /// The index of this column in `members`.
    place: usize,
    /// The table and group names that the key of the group's shuffle is derived from; `None` if the call is part of a larger expression.
    group: Option<(String, String)>,
    /// The names of the columns, for messages.
    shown: String,
}

impl Distinct {
    fn alone(inner: Arc<dyn Generate>, arguments: &Arguments<'_>) -> Distinct {
        let Context { names, table, column } = arguments.context;
        let shown = names.tables.get(table).map_or_else(
            || arguments.expr.to_string(),
            |table| format!("{}.{}", table.name, table.columns[column].name),
        );
        Distinct { members: vec![Arc::clone(&inner)], inner, place: 0, group: None, shown }
    }

    fn counts(&self, world: &World) -> Result<Vec<u64>> {
        self.members
            .iter()
            .map(|member| member.domain().map_or(Ok(1), |domain| domain.count(world)))
            .collect()
    }

    fn is_endless(&self) -> bool {
        self.members.len() == 1 && self.inner.domain().is_some_and(Domain::is_endless)
    }

    /// Returns for each row the number of its value in this column's domain.
    fn numbers(&self, at: Scope<'_>, rows: impl Iterator<Item = u64>) -> Result<Vec<u64>> {
        let counts = self.counts(at.world)?;
        let key = match &self.group {
            Some((table, group)) => Key::of_column(at.world.seed, table, group),
            None => at.key.child(0),
        };
        if self.is_endless() {
            // Each block of `count` rows takes the next `count` values, shuffled with the block's own key.
            let count = counts[0];
            let number = |row: u64| row / count * count + permute(key.child(row / count), row % count, count);
            return Ok(rows.map(number).collect());
        }
        let combinations = combinations(&counts);
        let shuffle = Shuffle::new(key, combinations);
        let number = |row: u64| {
            if row >= combinations {
                return Err(self.used_up(combinations));
            }
            let mut rest = shuffle.place(row);
            counts[..self.place].iter().for_each(|count| rest /= count);
            Ok(rest % counts[self.place])
        };
        rows.map(number).collect()
    }

    fn used_up(&self, combinations: u64) -> Error {
        let what = if self.members.len() == 1 { "value" } else { "combination" };
        let s = if combinations == 1 { "" } else { "s" };
        let message = format!("{} has {combinations} {what}{s}, too few for the rows", self.shown);
        Error::usage(message).hint(format!(
            "each {what} is used once: ask for at most {combinations} rows, or allow more {what}s"
        ))
    }

    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        match self.inner.domain() {
            Some(domain) => domain.nth(at.child(1), numbers, out),
            None => {
                out.null(numbers.len());
                Ok(())
            }
        }
    }
}

fn combinations(counts: &[u64]) -> u64 {
    counts.iter().fold(1, |product: u64, &count| product.saturating_mul(count)).min(COMBINATIONS_MAX)
}

impl Generate for Distinct {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let numbers = self.numbers(at, (rows.first..).take(rows.count))?;
        self.nth(at, &numbers, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let numbers = self.numbers(at, rows.iter().copied())?;
        self.nth(at, &numbers, out)
    }

    fn size(&self) -> Size {
        self.inner.size()
    }

    fn class(&self) -> Class {
        self.inner.class()
    }

    fn nullable(&self) -> bool {
        self.inner.nullable()
    }

    fn parent(&self) -> Option<&dyn Parent> {
        self.inner.parent().map(|_| self as &dyn Parent)
    }

    fn rows_max(&self, world: &World) -> Result<Option<u64>> {
        if self.is_endless() { Ok(None) } else { Ok(Some(combinations(&self.counts(world)?))) }
    }
}

/// The parent rows of `distinct(ref(...))`: the number of a value is the number of the parent row.
impl Parent for Distinct {
    fn table(&self) -> usize {
        self.inner.parent().map_or(0, Parent::table)
    }

    fn column(&self) -> Option<usize> {
        self.inner.parent()?.column()
    }

    fn rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<u64>>) -> Result<()> {
        *out = self.numbers(at, rows.iter().copied())?.into_iter().map(Some).collect();
        Ok(())
    }
}

#[derive(Debug)]
struct Ascending {
    inner: Arc<dyn Generate>,
    /// The index in the schema of the table over whose rows the values are spread.
    table: usize,
    name: String,
}

impl Generate for Ascending {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let mut numbers = [0; ROWS_MAX];
        let numbers = &mut numbers[..rows.count];
        (rows.first..).zip(&mut *numbers).for_each(|(row, number)| *number = row);
        self.fill_at(at, numbers, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let Some(domain) = self.inner.domain() else {
            out.null(rows.len());
            return Ok(());
        };
        let total = u128::from(at.world.rows_of(self.table, &self.name)?.max(1));
        let count = u128::from(domain.count(at.world)?);
        let number = |&row: &u64| {
            // A random position within the row's share, with 16 bits, so that the product fits in 128 bits.
            let place = u128::from(row) << 16 | u128::from(at.key.word(row) >> 48);
            (place.saturating_mul(count) / (total << 16)).min(count - 1) as u64
        };
        let numbers: Vec<u64> = rows.iter().map(number).collect();
        domain.nth(at.child(1), &numbers, out)
    }

    fn size(&self) -> Size {
        self.inner.size()
    }

    fn class(&self) -> Class {
        self.inner.class()
    }

    fn nullable(&self) -> bool {
        self.inner.nullable()
    }
}
