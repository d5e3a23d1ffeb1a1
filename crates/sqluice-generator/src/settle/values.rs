//! Generated values of single rows, and the columns that can take values of other rows.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::types::Value as Sql;
use sqluice_core::batch::ROWS_MAX;
use sqluice_core::error::Result;
use sqluice_core::schema::Table;
use sqluice_core::schema::token::{TokenKind, tokens};

use super::judge::{hash, joined};
use crate::functions::group_of;
use crate::generator::{Generate, Parent, Scope, World};
use crate::moves::Moved;
use crate::parse::{Condition, Expr, ExprNode, Literal, parse};
use crate::random::Key;
use crate::sqlite_rows::owned;
use crate::table_spec::TableSpec;
use crate::vector::{RowRange, Vector};

/// The index of a column, with its key and its generator. If no rule reads the column, its values are NULL, and the key and the generator
/// are `None`.
type Filled = (usize, Option<(Key, Arc<dyn Generate>)>);

/// The generated values of a table, before [`search`](super::search) moves rows.
pub(super) struct Values {
    /// The columns that SQLite does not compute.
    columns: Vec<Filled>,
    /// The index of the table in the schema, by which the moves of the table are found.
    table: usize,
    world: World,
    /// The values of all rows, if the table is small.
    kept: Option<Vec<Vec<Sql>>>,
}

/// The maximum number of rows whose values are kept in memory.
const KEPT_ROWS_MAX: u64 = 100_000;

impl Values {
    /// Creates the values of a table. `is_needed` returns `true` for a column that rules read.
    pub(super) fn new(
        (number, table): (usize, &Table),
        spec: &TableSpec,
        world: World,
        is_needed: impl Fn(usize) -> bool,
    ) -> Values {
        let given = (0..table.columns.len()).filter(|column| table.columns[*column].generated.is_none());
        let generator = |column: usize| {
            let of = spec.columns.get(column).filter(|_| is_needed(column))?;
            Some((Key::of_column(world.seed, &spec.name, &of.name), Arc::clone(of.generator.as_ref()?)))
        };
        Values {
            columns: given.map(|column| (column, generator(column))).collect(),
            table: number,
            world,
            kept: None,
        }
    }

    /// Generates all rows and keeps them in memory, if the table has at most [`KEPT_ROWS_MAX`] rows.
    pub(super) fn keep(&mut self, rows: u64) -> Result<()> {
        if rows <= KEPT_ROWS_MAX {
            let parts = (0..rows).step_by(ROWS_MAX);
            let part = |first: u64| self.rows(first, (rows - first).min(ROWS_MAX as u64) as usize);
            self.kept = Some(parts.map(part).collect::<Result<Vec<_>>>()?.concat());
        }
        Ok(())
    }

    /// Returns the values of consecutive rows, [`ROWS_MAX`] at most.
    pub(super) fn rows(&self, first: u64, count: usize) -> Result<Vec<Vec<Sql>>> {
        if let Some(kept) = &self.kept {
            return Ok(kept[first as usize..first as usize + count].to_vec());
        }
        let mut rows: Vec<Vec<Sql>> = vec![Vec::with_capacity(self.columns.len()); count];
        let mut vector = Vector::default();
        let numbers: Vec<u64> = (first..).take(count).collect();
        for (column, generator) in &self.columns {
            match generator {
                Some((key, generator)) => {
                    let at = Scope::new(*key, &self.world);
                    match self.world.moves.of(self.table, *column) {
                        Some(moved) => {
                            let sources = crate::moves::sources(&moved, numbers.iter().copied());
                            generator.fill_at(at, &sources, &mut vector)?;
                        }
                        None => generator.fill(at, RowRange { first, count }, &mut vector)?,
                    }
                    rows.iter_mut().enumerate().for_each(|(at, row)| row.push(owned(vector.get(at))));
                }
                None => rows.iter_mut().for_each(|row| row.push(Sql::Null)),
            }
        }
        Ok(rows)
    }

    /// Returns a row whose columns have the values of other rows: `source` maps a column to the row.
    pub(super) fn row(&self, source: impl Fn(usize) -> u64) -> Result<Vec<Sql>> {
        if let Some(kept) = &self.kept {
            let value = |(at, (column, _)): (usize, &(usize, _))| kept[source(*column) as usize][at].clone();
            return Ok(self.columns.iter().enumerate().map(value).collect());
        }
        let mut vector = Vector::default();
        let value = |(column, generator): &Filled| match generator {
            Some((key, generator)) => {
                generator.fill_at(Scope::new(*key, &self.world), &[source(*column)], &mut vector)?;
                Ok(owned(vector.get(0)))
            }
            None => Ok(Sql::Null),
        };
        self.columns.iter().map(value).collect()
    }

    /// Returns the hash of the values of some columns in a row.
    pub(super) fn hash_of(&self, row: &[Sql], columns: &[usize]) -> u64 {
        let values = self.columns.iter().zip(row).filter(|((column, _), _)| columns.contains(column));
        values.fold(0, |key, (_, value)| joined(key, hash(value.into()).unwrap_or(0)))
    }
}

/// Columns that depend on each other: a row takes the values of all of them from the same row.
#[derive(Clone, Debug, Default)]
pub(super) struct Component {
    pub(super) columns: Vec<usize>,
    /// `true` if rows may exchange these values.
    pub(super) moves: bool,
    /// `true` if several rows may have these values.
    pub(super) repeats: bool,
    pub(super) moved: Moved,
}

impl Component {
    /// Returns the row whose generated values `row` has: another row, or `row` if its values were not moved.
    pub(super) fn source(&self, row: u64) -> u64 {
        self.moved.get(&row).copied().unwrap_or(row)
    }

    /// Gives `row` the generated values of the row `source`, regardless of the values that `source` has now.
    pub(super) fn take(&mut self, row: u64, source: u64) {
        if row == source {
            self.moved.remove(&row);
        } else {
            self.moved.insert(row, source);
        }
    }
}

/// Divides the columns of a table into components.
pub(super) fn components(table: &Table, spec: &TableSpec, number: usize) -> Vec<Component> {
    let exprs: Vec<Option<Expr>> =
        spec.columns.iter().map(|column| parse(&column.expression, 0).ok()).collect();
    let mut of: Vec<usize> = (0..table.columns.len()).collect();
    let mut join = |one: usize, other: usize| {
        let (one, other) = (of[one], of[other]);
        of.iter_mut().filter(|it| **it == other).for_each(|it| *it = one);
    };
    let mut groups: HashMap<i64, usize> = HashMap::new();
    for (column, expr) in exprs.iter().enumerate() {
        let Some(expr) = expr else { continue };
        let mut names = Vec::new();
        collect(expr, &mut names);
        names.iter().filter_map(|name| table.column(name)).for_each(|other| join(column, other));
        if let Some(group) = group_of(expr) {
            join(*groups.entry(group).or_insert(column), column);
        }
    }
    let named_by_own = |column: usize| {
        let own = table.references.iter().filter(|it| it.parent.eq_ignore_ascii_case(&table.name));
        own.into_iter().any(|reference| {
            let key = table.primary_key().filter(|_| reference.parent_columns.is_empty());
            let names = reference.parent_columns.iter().filter_map(|name| table.column(name));
            key.unwrap_or_default().into_iter().chain(names).any(|it| it == column)
        })
    };
    let stays = |column: usize| {
        let parent = spec.columns[column].generator.as_deref().and_then(Generate::parent);
        let refers_to_own = parent.is_some_and(|parent| Parent::table(parent) == number);
        table.rowid_alias == Some(column)
            || table.columns[column].generated.is_some()
            || refers_to_own
            || named_by_own(column)
    };
    let is_key = |column: usize| table.unique_keys().iter().any(|key| key[..] == [column]);
    let mut components: HashMap<usize, Component> = HashMap::new();
    for column in 0..table.columns.len() {
        let component = components.entry(of[column]).or_insert_with(|| Component {
            moves: true,
            repeats: true,
            ..Component::default()
        });
        component.columns.push(column);
        component.moves &= !stays(column);
        component.repeats &= !is_key(column) && exprs[column].as_ref().and_then(group_of).is_none();
    }
    let mut components: Vec<Component> = components.into_values().collect();
    components.sort_by_key(|component| component.columns[0]);
    components
}

/// Collects the names of the columns of the same row that an expression uses.
fn collect(expr: &Expr, names: &mut Vec<String>) {
    match &expr.node {
        ExprNode::Column { of, name } => names.push(of.as_ref().unwrap_or(name).clone()),
        ExprNode::Call { name, arguments } => {
            // The first argument of ref() is a column of another row.
            let first = usize::from(name.eq_ignore_ascii_case("ref"));
            arguments.iter().skip(first).for_each(|argument| collect(&argument.value, names));
            for argument in arguments {
                if let ExprNode::Literal(Literal::Text(text)) = &argument.value.node
                    && (name.eq_ignore_ascii_case("sql") || name.eq_ignore_ascii_case("template"))
                {
                    let words = tokens(text).into_iter().filter_map(|token| match token.kind {
                        TokenKind::Word | TokenKind::QuotedName => token.name(text),
                        _ => None,
                    });
                    names.extend(words);
                }
            }
        }
        ExprNode::Binary { left, right, .. } => {
            collect(left, names);
            collect(right, names);
        }
        ExprNode::Case { branches, otherwise } => {
            for (condition, value) in branches {
                collect_in(condition, names);
                collect(value, names);
            }
            otherwise.iter().for_each(|value| collect(value, names));
        }
        ExprNode::Object(members) => members.iter().for_each(|(_, value)| collect(value, names)),
        ExprNode::Array(values) => values.iter().for_each(|value| collect(value, names)),
        ExprNode::Literal(_) => {}
    }
}

fn collect_in(condition: &Condition, names: &mut Vec<String>) {
    match condition {
        Condition::Compare { left, right, .. } => {
            collect(left, names);
            collect(right, names);
        }
        Condition::IsNull { value, .. } => collect(value, names),
        Condition::In { value, list, .. } => {
            collect(value, names);
            list.iter().for_each(|value| collect(value, names));
        }
        Condition::Not(inner) => collect_in(inner, names),
        Condition::And(one, other) | Condition::Or(one, other) => {
            collect_in(one, names);
            collect_in(other, names);
        }
    }
}
