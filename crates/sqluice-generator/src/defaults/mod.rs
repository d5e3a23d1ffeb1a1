//! The expressions of columns without a comment, derived from the schema.
//!
//! ```text
//!  first   CHECK ── checks ──┐
//!          type ─── types ───┼──> propose: proposals ──> trial: the first whose values satisfy the column's CHECKs in SQLite
//!          name ─── names ───┘
//!  then    REFERENCES ── keys ──> ref(customer.id), order.line
//!  then    names of dates and times ── order ──> after(created_at, 0, 30, ...)
//!  last    PRIMARY KEY, UNIQUE ── keys ──> distinct(...), row(), ...
//! ```
//!
//! A later step replaces expressions of earlier steps. No value is NULL, except in a column that refers to its own table. If sample rows
//! break a constraint, a note names the constraint and gives advice.

mod checks;
mod keys;
mod names;
mod order;
mod propose;
mod trial;
mod types;

use sqluice_core::error::Result;
use sqluice_core::schema::{Schema, Table};

use super::comments::Comments;
use super::parse::{Expr, ExprNode, Literal, parse};
use checks::Bounds;
pub use names::{expression as expression_of_name, words as words_of_name};
use trial::Trial;
pub(super) use trial::broken_checks;

/// The expressions that a schema suggests.
#[derive(Debug)]
pub(super) struct Defaults {
    /// The expression of each table's columns; `None` if SQLite computes the value or the column has a comment.
    pub(super) expressions: Vec<Vec<Option<String>>>,
    /// Messages about constraints that the values may break.
    pub(super) notes: Vec<String>,
}

impl Defaults {
    /// Chooses the expressions. `ordered` is `true` for each table whose dates and times get the order that their names imply.
    pub(super) fn of(schema: &Schema, comments: &Comments<'_>, ordered: &[bool]) -> Result<Defaults> {
        let mut defaults = Defaults { expressions: Vec::new(), notes: Vec::new() };
        let mut choosers = Vec::new();
        for table in &schema.tables {
            let mut chooser = Chooser::new(schema, table, comments)?;
            chooser.choose_values()?;
            chooser.choose_references();
            choosers.push(chooser);
        }
        order::order(&mut choosers, ordered)?;
        for mut chooser in choosers {
            chooser.choose_keys()?;
            defaults.expressions.push(chooser.chosen);
            defaults.notes.append(&mut chooser.notes);
        }
        Ok(defaults)
    }
}

/// The columns of a table whose expressions are being chosen.
struct Chooser<'a> {
    schema: &'a Schema,
    table: &'a Table,
    /// The expression of each column's comment; `Some(None)` if the comment is malformed: `Spec::new` reports it.
    commented: Vec<Option<Option<Expr>>>,
    bounds: Vec<Bounds>,
    trial: Option<Trial>,
    chosen: Vec<Option<String>>,
    /// `true` for each column that refers to other rows.
    refers: Vec<bool>,
    notes: Vec<String>,
}

impl<'a> Chooser<'a> {
    fn new(schema: &'a Schema, table: &'a Table, comments: &Comments<'_>) -> Result<Chooser<'a>> {
        let commented = table.columns.iter().map(|column| {
            let comment = comments.of(&table.name, &column.name)?;
            Some(parse(comment.text, comment.start).ok())
        });
        Ok(Chooser {
            schema,
            table,
            commented: commented.collect(),
            bounds: checks::bounds(table),
            trial: if table.checks { Some(Trial::new(table)?) } else { None },
            chosen: vec![None; table.columns.len()],
            refers: vec![false; table.columns.len()],
            notes: Vec::new(),
        })
    }

    /// Returns `true` if a column needs an expression: SQLite does not compute it, and it has no comment.
    fn is_open(&self, column: usize) -> bool {
        self.table.columns[column].generated.is_none() && self.commented[column].is_none()
    }

    /// Returns `true` if the values of an expression satisfy the CHECKs of its column.
    fn keeps(&self, column: usize, expression: &str) -> Result<bool> {
        match &self.trial {
            Some(trial) => trial.keeps(column, expression),
            None => Ok(true),
        }
    }

    fn choose_values(&mut self) -> Result<()> {
        for column in 0..self.table.columns.len() {
            if !self.is_open(column) {
                continue;
            }
            let proposals = propose::proposals(self.table, column, &self.bounds[column]);
            let mut kept = None;
            for proposal in &proposals {
                if self.keeps(column, proposal)? {
                    kept = Some(proposal);
                    break;
                }
            }
            self.chosen[column] = kept.or(proposals.last()).cloned();
        }
        Ok(())
    }

    /// Returns `true` if the expression of a column shows that no two rows have the same value.
    fn is_distinct(&self, column: usize) -> bool {
        let expr = match (&self.commented[column], &self.chosen[column]) {
            (Some(commented), _) => commented.clone(),
            (None, Some(chosen)) => parse(chosen, 0).ok(),
            (None, None) => None,
        };
        expr.is_some_and(|expr| self.never_repeats(&expr))
    }

    fn never_repeats(&self, expr: &Expr) -> bool {
        if let Some(group) = super::functions::group_of(expr) {
            return self.members(group).len() <= 1;
        }
        if let ExprNode::Binary { operator: '+' | '-' | '*', left, right } = &expr.node {
            let is_zero = matches!(right.node, ExprNode::Literal(Literal::Int(0)));
            return matches!(right.node, ExprNode::Literal(_)) && !is_zero && self.never_repeats(left);
        }
        let ExprNode::Call { name, arguments } = &expr.node else { return false };
        match &name.to_ascii_lowercase()[..] {
            "row" | "permutation" | "uuid4" | "uuid7" | "keys" | "numbered" => true,
            "nulls" | "null" => arguments.get(1).is_some_and(|inner| self.never_repeats(&inner.value)),
            "ref" => arguments.get(1).is_some_and(|which| which.value.to_string() == "each(1)"),
            // Two texts of 16 or more random characters are never equal in practice.
            "text" | "blob" | "hex" => {
                let length = arguments.first().map(|length| &length.value.node);
                matches!(length, Some(ExprNode::Literal(Literal::Int(16..))))
            }
            "template" => arguments.first().is_some_and(|text| text.value.to_string().contains("{row()}")),
            _ => false,
        }
    }

    /// Returns `true` if the expression of a column is `ordinal(x)` or `within(x, ...)`, or begins with one as in `ordinal(x) + 5`, where
    /// x is another column of the key: rows with equal values of x have different values in this column.
    fn differs_within(&self, column: usize, key: &[usize]) -> bool {
        let Some(Some(expr)) = &self.commented[column] else { return false };
        let call = if let ExprNode::Binary { left, .. } = &expr.node { &left.node } else { &expr.node };
        let ExprNode::Call { name, arguments } = call else { return false };
        let leader = arguments.first().map(|leader| &leader.value.node);
        let Some(ExprNode::Column { of: None, name: leader }) = leader else { return false };
        let is_leader =
            |other: &usize| *other != column && self.table.columns[*other].name.eq_ignore_ascii_case(leader);
        ["ordinal", "within"].iter().any(|known| name.eq_ignore_ascii_case(known))
            && key.iter().any(is_leader)
    }

    /// Returns the columns whose expression is `distinct(x, group)`: the combination of their values is unique.
    fn members(&self, group: i64) -> Vec<usize> {
        let in_group = |&column: &usize| {
            let expr = match (&self.commented[column], &self.chosen[column]) {
                (Some(commented), _) => commented.clone(),
                (None, Some(chosen)) => parse(chosen, 0).ok(),
                (None, None) => None,
            };
            expr.is_some_and(|expr| super::functions::group_of(&expr) == Some(group))
        };
        (0..self.table.columns.len()).filter(in_group).collect()
    }
}

#[cfg(test)]
mod tests;
