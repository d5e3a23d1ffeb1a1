//! Values of other columns: `ref`, and columns named in expressions.
//!
//! ```text
//!  a column of this row         its generator, its key, the same row
//!  ref(customer.id)             row of orders ── random draw ──> row of customer ──> its customer.id
//!  customer_id.city             the same draw, another column of the customer
//! ```
//!
//! No table is read: the parent's value is generated from the number of its row.

use std::sync::Arc;

use sqluice_core::batch::{ROWS_MAX, Value};
use sqluice_core::error::{Error, Result, Setting};
use sqluice_core::similar;

use super::distributions::Zipf;
use super::grouped::RowCounts;
use super::spread::Counted;
use super::tree::Tree;
use super::{Arguments, Fault, Function, Generate};
use crate::generator::{Class, Domain, Groups, Parent, Placed, Scope, Size, World};
use crate::names::Context;
use crate::parse::{ExprNode, Literal};
use crate::random::{Key, Shuffle, below64};
use crate::vector::{RowRange, Vector};

pub(super) const REF: Function = Function {
    name: "ref",
    signature: "ref(table.column, which, p)",
    about: "the column's value in a random row of that table, or in a row chosen by zipf(s), each(n), each(a, b) or rows(n: weight, ...); a share p of the rows gets none. In the same table, the value of an earlier row, or, level by level, of the row above in tree(rows(n: weight, ...): weight, ...)",
    example: "ref(customer.id, zipf(1.1))",
    build: reference,
};

/// A column of a table.
#[derive(Clone, Debug)]
struct Column {
    table: usize,
    index: usize,
    table_name: String,
    name: String,
    generator: Arc<dyn Generate>,
}

impl Column {
    fn scope<'a>(&self, at: Scope<'a>) -> Scope<'a> {
        at.with_key(Key::of_column(at.world.seed, &self.table_name, &self.name))
    }

    /// Generates the column's values in the rows `rows` of its table.
    fn fill_rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let rows = at.world.moves.sources(self.table, self.index, rows);
        self.generator.fill_at(self.scope(at), &rows, out)
    }

    fn new(context: Context<'_>, table: usize, column: usize, at: usize) -> Result<Column, Fault> {
        let declared = &context.names.tables[table];
        Ok(Column {
            table,
            index: column,
            table_name: declared.name.clone(),
            name: declared.columns[column].name.clone(),
            generator: context.names.make(table, column, at)?,
        })
    }
}

/// Returns the generator of a column that an expression names: `name`, or `of.name`.
pub(super) fn column(
    of: Option<&str>,
    name: &str,
    at: usize,
    context: Context<'_>,
) -> Result<Arc<dyn Generate>, Fault> {
    let Context { names, table, .. } = context;
    let Some(of) = of else {
        let index = names.column(table, name, at)?;
        return Ok(Arc::new(Same(Column::new(context, table, index, at)?)));
    };
    if names.tables.get(table).is_none_or(|table| table.column(of).is_none())
        && names.tables.iter().any(|table| table.name.eq_ignore_ascii_case(of))
    {
        return Err(Fault::new(at, format!("{of}.{name} is a column of another table")).hint(format!(
            "a value of any row of it is ref({of}.{name}); of the row that a column refers to, column.{name}"
        )));
    }
    let leader = Column::new(context, table, names.column(table, of, at)?, at)?;
    let Some(parent) = leader.generator.parent().map(Parent::table) else {
        return Err(Fault::new(at, format!("{of} refers to no row of another table, so it has no {name}"))
            .hint(format!("only a column that is filled by ref() has columns: {of} would need a comment like gen: ref(...)")));
    };
    let column = Column::new(context, parent, names.column(parent, name, at)?, at)?;
    Ok(Arc::new(OfParent { leader, column }))
}

/// Another column's value in the same row.
#[derive(Debug)]
struct Same(Column);

impl Generate for Same {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        self.0.generator.fill(self.0.scope(at), rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        self.0.generator.fill_at(self.0.scope(at), rows, out)
    }

    fn size(&self) -> Size {
        self.0.generator.size()
    }

    fn class(&self) -> Class {
        self.0.generator.class()
    }

    fn nullable(&self) -> bool {
        self.0.generator.nullable()
    }

    fn parent(&self) -> Option<&dyn Parent> {
        self.0.generator.parent().map(|_| self as &dyn Parent)
    }

    fn groups(&self) -> Option<&dyn Groups> {
        self.0.generator.groups().map(|_| self as &dyn Groups)
    }
}

impl Groups for Same {
    fn places(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<Placed>>) -> Result<()> {
        self.0.generator.groups().map_or(Ok(()), |groups| groups.places(self.0.scope(at), rows, out))
    }
}

impl Parent for Same {
    fn table(&self) -> usize {
        self.0.generator.parent().map_or(0, Parent::table)
    }

    fn column(&self) -> Option<usize> {
        self.0.generator.parent()?.column()
    }

    fn rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<u64>>) -> Result<()> {
        self.0.generator.parent().map_or(Ok(()), |parent| parent.rows(self.0.scope(at), rows, out))
    }
}

/// A column of the parent row that the column `leader` refers to.
#[derive(Debug)]
struct OfParent {
    leader: Column,
    column: Column,
}

impl Generate for OfParent {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let rows: Vec<u64> = (rows.first..).take(rows.count).collect();
        self.fill_at(at, &rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let mut parents = Vec::with_capacity(rows.len());
        if let Some(parent) = self.leader.generator.parent() {
            parent.rows(self.leader.scope(at), rows, &mut parents)?;
        }
        let there: Vec<u64> = parents.iter().copied().flatten().collect();
        if there.len() == rows.len() {
            return self.column.fill_rows(at, &there, out);
        }
        let mut values = Vector::default();
        self.column.fill_rows(at, &there, &mut values)?;
        let mut next = 0..there.len();
        out.values();
        for parent in &parents {
            out.push(parent.and_then(|_| next.next()).map_or(Value::Null, |index| values.get(index)));
        }
        out.settle();
        Ok(())
    }

    fn size(&self) -> Size {
        let Size { mean, max } = self.column.generator.size();
        Size { mean, max: 2 * max }
    }

    fn class(&self) -> Class {
        self.column.generator.class()
    }

    fn nullable(&self) -> bool {
        self.leader.generator.nullable() || self.column.generator.nullable()
    }

    fn parent(&self) -> Option<&dyn Parent> {
        self.column.generator.parent().map(|_| self as &dyn Parent)
    }
}

/// The grandparent: the row that the parent row refers to by this column.
impl Parent for OfParent {
    fn table(&self) -> usize {
        self.column.generator.parent().map_or(0, Parent::table)
    }

    fn column(&self) -> Option<usize> {
        self.column.generator.parent()?.column()
    }

    fn rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<u64>>) -> Result<()> {
        let mut parents = Vec::with_capacity(rows.len());
        if let Some(parent) = self.leader.generator.parent() {
            parent.rows(self.leader.scope(at), rows, &mut parents)?;
        }
        let there: Vec<u64> = parents.iter().copied().flatten().collect();
        let mut theirs = Vec::with_capacity(there.len());
        if let Some(parent) = self.column.generator.parent() {
            let there = at.world.moves.sources(self.column.table, self.column.index, &there);
            parent.rows(self.column.scope(at), &there, &mut theirs)?;
        }
        let mut theirs = theirs.into_iter();
        *out = parents.iter().map(|parent| parent.and_then(|_| theirs.next().flatten())).collect();
        Ok(())
    }
}

/// The rule that assigns parent rows to rows.
#[derive(Debug)]
enum Which {
    /// All parents are equally likely.
    Any,
    /// Zipf's distribution with this exponent.
    Zipf(f64),
    /// Parents in order: each gets as many consecutive rows as a random number between these two. After the last parent, the first is next.
    Each(u64, u64),
    /// The parents get the exact numbers of rows that the counts state.
    Rows(RowCounts),
    /// The rows of the table form trees.
    Tree(Tree),
}

/// Stands for "no parent" among the numbers of parent rows.
const NO_PARENT: u64 = u64::MAX;

fn reference(arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
    arguments.count_within(1, 3)?;
    let Context { names, table: own, .. } = arguments.context;
    let place = arguments.place(0);
    let (table, column) = match &arguments.expr(0).node {
        ExprNode::Column { of: Some(table), name } => {
            let table = names.table(table, place)?;
            (table, names.column(table, name, place)?)
        }
        ExprNode::Column { of: None, name } => {
            let table = names.table(name, place)?;
            match names.tables[table].primary_key().as_deref() {
                Some(&[column]) => (table, column),
                _ => return Err(arguments.wrong(0, "a column, as table.column")),
            }
        }
        _ => return Err(arguments.wrong(0, "a column, as table.column")),
    };
    let which = if arguments.arguments.len() > 1 { which(arguments)? } else { Which::Any };
    if let (3, false) = (arguments.arguments.len(), matches!(which, Which::Rows(_) | Which::Tree(_))) {
        return Err(arguments
            .fault(arguments.place(2), "a share of rows without a parent needs rows(...) or tree(...)"));
    }
    if table != own && matches!(which, Which::Tree(_)) {
        return Err(arguments.fault(arguments.place(1), "tree(...) is for a table that refers to itself"));
    }
    let declared = &names.tables[table];
    let is_key = declared.unique_keys().iter().any(|key| key[..] == [column]);
    Ok(Arc::new(Reference {
        column: Column::new(arguments.context, table, column, place)?,
        which,
        own: table == own,
        is_key,
        children: Counted::of(arguments),
    }))
}

fn which(arguments: &Arguments<'_>) -> Result<Which, Fault> {
    let wrong =
        || arguments.wrong(1, "any(), zipf(s), each(n), each(a, b), rows(n: weight, ...) or tree(...)");
    let ExprNode::Call { name, arguments: given } = &arguments.expr(1).node else { return Err(wrong()) };
    let number = |index: usize| match given[index].value.node {
        ExprNode::Literal(Literal::Int(int)) => Ok(int as f64),
        ExprNode::Literal(Literal::Real(real)) => Ok(real),
        _ => Err(wrong()),
    };
    let count = |index: usize| match given[index].value.node {
        ExprNode::Literal(Literal::Int(int)) if (0..=1 << 32).contains(&int) => Ok(int as u64),
        _ => Err(arguments.fault(given[index].value.at.start, "each() takes row counts, 0 or more")),
    };
    let at = arguments.place(1);
    match (&name.to_ascii_lowercase()[..], given.len()) {
        ("any", 0) => Ok(Which::Any),
        ("zipf", 1) if number(0)? > 0.0 => Ok(Which::Zipf(number(0)?)),
        ("zipf", 1) => Err(arguments.fault(at, "the exponent of zipf must be above 0")),
        ("each", 1 | 2) => match (count(0)?, count(given.len() - 1)?) {
            (low, high) if low <= high && high > 0 => Ok(Which::Each(low, high)),
            _ => Err(arguments.fault(at, "in each(a, b), a must not be above b, and b must be above 0")),
        },
        ("rows", 1..) => {
            let outside = if arguments.arguments.len() == 3 { arguments.real(2)? } else { 0.0 };
            RowCounts::of(given, outside).map(Which::Rows).ok_or_else(|| {
                arguments.fault(
                    at,
                    "rows() takes row counts with weights, of which one must be above 0; p must be from 0 to 1",
                )
            })
        }
        ("tree", 1..) => {
            let outside = if arguments.arguments.len() == 3 { arguments.real(2)? } else { 0.0 };
            Tree::of(arguments, given, outside).map(Which::Tree)
        }
        _ => {
            let near = similar::hint(name, ["any", "zipf", "each", "rows", "tree"].into_iter());
            Err(arguments.fault(at, format!("unknown rule `{name}` with {} arguments: {near}", given.len())))
        }
    }
}

/// References to rows of a table, whose values are those of a column of the referenced row.
#[derive(Debug)]
struct Reference {
    column: Column,
    which: Which,
    /// `true` if the table refers to itself.
    own: bool,
    /// `true` if the referenced column is unique by itself.
    is_key: bool,
    /// The table that has the reference, with its row count.
    children: Counted,
}

impl Reference {
    /// Returns the number of rows that can be referred to.
    fn parents(&self, world: &World) -> Result<u64> {
        match world.rows_of(self.column.table, &self.column.table_name)? {
            0 => Err(Error::usage(format!(
                "{} has no rows that others could refer to",
                self.column.table_name
            ))
            .hint(Setting::Rows.to(format!("{}=1000", self.column.table_name)))),
            rows => Ok(rows),
        }
    }

    /// Writes the numbers of the parents of consecutive rows to `out`.
    fn pick_rows(&self, at: Scope<'_>, rows: RowRange, out: &mut [u64]) -> Result<()> {
        at.draw_once(rows, out, |out| self.pick(at, (rows.first..).take(rows.count), out))
    }

    /// Writes the numbers of the parents of `rows` to `out`.
    fn pick(&self, at: Scope<'_>, rows: impl Iterator<Item = u64>, out: &mut [u64]) -> Result<()> {
        let picked = rows.zip(out);
        if let Which::Rows(counts) = &self.which {
            let places = counts.places(at.key, self.parents(at.world)?, self.children.rows(at.world));
            picked.for_each(|(row, slot)| *slot = places.of(row).map_or(NO_PARENT, |place| place.group));
            return Ok(());
        }
        if let Which::Tree(tree) = &self.which {
            let mut places = tree.places(at.key, self.parents(at.world)?);
            picked.for_each(|(row, slot)| *slot = places(row).map_or(NO_PARENT, |place| place.group));
            return Ok(());
        }
        if self.own {
            // A row refers to an earlier row, whatever the row count; the first row refers to itself.
            for (row, slot) in picked {
                *slot = match self.which {
                    Which::Any => below64(at.key.word(row), row.max(1)),
                    Which::Zipf(s) => Zipf::new(row.max(1), s).rank(at.key.row(row)) - 1,
                    Which::Each(low, high) => each(at.key, row.saturating_sub(1), low, high),
                    Which::Rows(_) | Which::Tree(_) => 0,
                };
                *slot = (*slot).min(row.saturating_sub(1));
            }
            return Ok(());
        }
        let parents = self.parents(at.world)?;
        match self.which {
            Which::Any => picked.for_each(|(row, slot)| *slot = below64(at.key.word(row), parents)),
            Which::Zipf(exponent) => {
                // The shuffle makes parents other than the first rows popular.
                let (zipf, shuffle) = (Zipf::new(parents, exponent), Shuffle::new(at.key.child(0), parents));
                picked.for_each(|(row, slot)| *slot = shuffle.place(zipf.rank(at.key.row(row)) - 1));
            }
            Which::Each(low, high) => {
                picked.for_each(|(row, slot)| *slot = each(at.key, row, low, high) % parents);
            }
            Which::Rows(_) | Which::Tree(_) => {}
        }
        Ok(())
    }
}

impl Reference {
    /// Generates the referenced column's values in the parent rows `picked`; NULL for [`NO_PARENT`].
    fn values(&self, at: Scope<'_>, picked: &[u64], out: &mut Vector) -> Result<()> {
        if !picked.contains(&NO_PARENT) {
            return self.column.fill_rows(at, picked, out);
        }
        let present: Vec<bool> = picked.iter().map(|parent| *parent != NO_PARENT).collect();
        let some: Vec<u64> =
            picked.iter().map(|parent| if *parent == NO_PARENT { 0 } else { *parent }).collect();
        self.column.fill_rows(at, &some, out)?;
        out.keep(&present);
        Ok(())
    }
}

/// Returns the number of the parent that `row` belongs to if each parent has from `low` to `high` rows. Two neighbours have
/// `low + high` rows together, so the position of a pair needs no sum over the parents before it.
fn each(key: Key, row: u64, low: u64, high: u64) -> u64 {
    let pair = row / (low + high);
    let first = low + below64(key.word(pair), high - low + 1);
    2 * pair + u64::from(row % (low + high) >= first)
}

impl Generate for Reference {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let mut picked = [0; ROWS_MAX];
        let picked = &mut picked[..rows.count];
        self.pick_rows(at, rows, picked)?;
        self.values(at, picked, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let mut picked = vec![0; rows.len()];
        self.pick(at, rows.iter().copied(), &mut picked)?;
        self.values(at, &picked, out)
    }

    fn size(&self) -> Size {
        self.column.generator.size()
    }

    fn class(&self) -> Class {
        self.column.generator.class()
    }

    fn nullable(&self) -> bool {
        let some_refer_to_none = match &self.which {
            Which::Rows(counts) => counts.outside > 0.0,
            Which::Tree(tree) => tree.outside > 0.0,
            Which::Any | Which::Zipf(_) | Which::Each(..) => false,
        };
        some_refer_to_none || self.column.generator.nullable()
    }

    fn domain(&self) -> Option<&dyn Domain> {
        if self.is_key && !self.own { Some(self) } else { None }
    }

    fn groups(&self) -> Option<&dyn Groups> {
        if let Which::Rows(_) | Which::Tree(_) = self.which { Some(self) } else { None }
    }

    fn parent(&self) -> Option<&dyn Parent> {
        Some(self)
    }
}

impl Domain for Reference {
    fn count(&self, world: &World) -> Result<u64> {
        self.parents(world)
    }

    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        self.column.fill_rows(at, numbers, out)
    }
}

impl Parent for Reference {
    fn table(&self) -> usize {
        self.column.table
    }

    fn column(&self) -> Option<usize> {
        Some(self.column.index)
    }

    fn rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<u64>>) -> Result<()> {
        let mut picked = vec![0; rows.len()];
        let all = RowRange { first: rows.first().copied().unwrap_or(0), count: rows.len() };
        if (all.first..).zip(rows).all(|(next, &row)| next == row) {
            self.pick_rows(at, all, &mut picked)?;
        } else {
            self.pick(at, rows.iter().copied(), &mut picked)?;
        }
        *out = picked.into_iter().map(|parent| Some(parent).filter(|parent| *parent != NO_PARENT)).collect();
        Ok(())
    }
}

impl Groups for Reference {
    fn places(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<Placed>>) -> Result<()> {
        if let Which::Tree(tree) = &self.which {
            let mut places = tree.places(at.key, self.parents(at.world)?);
            out.extend(rows.iter().map(|row| places(*row)));
            return Ok(());
        }
        let Which::Rows(counts) = &self.which else { return Ok(()) };
        let places = counts.places(at.key, self.parents(at.world)?, self.children.rows(at.world));
        out.extend(rows.iter().map(|row| places.of(*row)));
        Ok(())
    }
}
