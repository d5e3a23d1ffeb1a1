//! Values chosen among options: `choice`, `null`, and literals, which are a choice with one option.
//!
//! The options decide the kind of the column: only integers make an integer column, only texts a text column,
//! and so on; NULLs among them add a validity bitmap. Any other mixture makes a mixed column.

use std::collections::HashSet;
use std::sync::Arc;

use sqluice_core::batch::{ROWS_MAX, Span};
use sqluice_core::error::Result;

use super::numbers::int_bytes;
use super::{Arguments, Fault, Function, Generate, SMALL, compile_in};
use crate::generator::{Class as ValueClass, Domain, Parent, Scope, Size, World};
use crate::parse::{ExprNode, Literal};
use crate::random::{Key, below32, below64};
use crate::vector::{Cell, Class, RowRange, Vector, VectorKind};

pub(super) const CHOICE: Function = Function {
    name: "choice",
    signature: "choice(a, b: weight, ...)",
    about: "one of the values, each as likely as the others or by its weight, which is 1 where none is given",
    example: "choice('new', 'paid': 3, 'sent': 2.5)",
    build: build_choice,
};

pub(super) const NULL: Function = Function {
    name: "null",
    signature: "null(p, inner)",
    about: "NULL with probability p, and the inner value otherwise",
    example: "null(0.1, int(1, 9))",
    build: |arguments| {
        arguments.count(2)?;
        let share = arguments.real(0)?;
        if !(0.0..=1.0).contains(&share) {
            let at = arguments.place(0);
            return Err(arguments.fault(at, format!("argument 1 must be from 0 to 1, not {share}")));
        }
        // A share of 1 gives exactly 2^32, so all 32-bit numbers are below.
        let below = (share * 2f64.powi(32)).round() as u64;
        Ok(Arc::new(Null { below, inner: arguments.compile(1)? }))
    },
};

fn build_choice(arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
    let given = arguments.arguments;
    if given.is_empty() {
        return Err(arguments.fault(arguments.at(), "takes at least one argument"));
    }
    let weight = |index: usize| given[index].weight.as_ref().map_or(1.0, |weight| weight.value);
    let total: f64 = (0..given.len()).map(weight).sum();
    if total == 0.0 {
        return Err(arguments.fault(arguments.at(), "at least one weight must be above 0"));
    }
    if total.is_infinite() {
        return Err(arguments.fault(arguments.at(), "the weights are too large"));
    }
    let mut literals = Vec::new();
    let mut options = Vec::new();
    let mut weights = Vec::new();
    for (index, argument) in given.iter().enumerate() {
        let option = compile_in(&argument.value, arguments.context)?;
        if weight(index) > 0.0 {
            weights.push(weight(index));
            options.push(option);
            if let ExprNode::Literal(literal) = &argument.value.node {
                literals.push(literal);
            }
        }
    }
    let picker = Picker::new(&weights);
    if literals.len() < options.len() {
        return Ok(Arc::new(Nested { picker, options }));
    }
    if let (Picker::Small(count), Some(ints)) = (&picker, ints(&literals))
        && let Some((first, step)) = progression(ints)
    {
        return Ok(Arc::new(Progression { first, step, count: *count }));
    }
    Ok(Arc::new(Literals::new(picker, &literals)))
}

/// Builds the generator of a literal.
pub(super) fn constant(literal: &Literal) -> Arc<dyn Generate> {
    match literal {
        Literal::Int(int) => Arc::new(Progression { first: *int, step: 0, count: 1 }),
        _ => Arc::new(Literals::new(Picker::Small(1), &[literal])),
    }
}

fn ints(literals: &[&Literal]) -> Option<Vec<i64>> {
    let int = |literal: &&Literal| match literal {
        Literal::Int(int) => Some(*int),
        _ => None,
    };
    literals.iter().map(int).collect()
}

/// Returns the lowest integer and the step if the sorted integers have equal distances.
fn progression(mut ints: Vec<i64>) -> Option<(i64, u32)> {
    ints.sort_unstable();
    let first = ints[0];
    let steps = || ints.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]) as u64);
    let step = steps().next().unwrap_or(0);
    steps().all(|other| other == step).then_some((first, u32::try_from(step).ok()?))
}

/// A method to draw the index of an option.
#[derive(Debug)]
pub(super) enum Picker {
    /// Up to [`SMALL`] options, equally likely.
    Small(u32),
    /// More options, equally likely.
    Large(u64),
    /// Options with weights (Vose's alias method). The high half of 64 random bits times the count is the index of a column; the low
    /// half decides between the column's own option and its other option.
    Weighted(Vec<AliasColumn>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct AliasColumn {
    /// The column's own option is drawn if the low half of the bits is at most this; if not, `other`.
    own_last: u64,
    other: u32,
}

impl Picker {
    pub(super) fn new(weights: &[f64]) -> Picker {
        let count = weights.len() as u64;
        if weights.iter().any(|weight| *weight != weights[0]) {
            return Picker::Weighted(alias_columns(weights));
        }
        if count <= SMALL { Picker::Small(count as u32) } else { Picker::Large(count) }
    }

    /// Draws an option for each row and writes the option's value to `out`.
    #[inline(always)]
    fn pick<T>(&self, key: Key, first: u64, out: &mut [T], value: impl Fn(usize) -> T) {
        match self {
            Picker::Small(count) => {
                let count = *count;
                key.map32(first, out, |bits| value(below32(bits, count) as usize));
            }
            Picker::Large(count) => key.map64(first, out, |bits| value(below64(bits, *count) as usize)),
            Picker::Weighted(columns) => {
                let columns = &columns[..];
                key.map64(first, out, |bits| {
                    let product = u128::from(bits) * columns.len() as u128;
                    let index = (product >> 64) as usize;
                    let column = columns[index];
                    // A mask of all ones or zeros, not a branch, which would be mispredicted every other time: 3 times as fast.
                    let own = usize::from(product as u64 <= column.own_last).wrapping_neg();
                    value((index & own) | (column.other as usize & !own))
                });
            }
        }
    }
}

/// Builds columns of equal width, each with one or two options.
fn alias_columns(weights: &[f64]) -> Vec<AliasColumn> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    // Dividing twice avoids overflow with weights near the limits of f64.
    let relative: Vec<f64> = weights.iter().map(|weight| weight / largest).collect();
    let mean = relative.iter().sum::<f64>() / relative.len() as f64;
    let mut share: Vec<f64> = relative.iter().map(|weight| weight / mean).collect();
    let full = |index: usize| AliasColumn { own_last: u64::MAX, other: index as u32 };
    let mut columns: Vec<AliasColumn> = (0..share.len()).map(full).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..share.len()).partition(|&index| share[index] < 1.0);
    while let (Some(&less), Some(&more)) = (small.last(), large.last()) {
        small.pop();
        columns[less] = AliasColumn { own_last: (share[less] * 2f64.powi(64)) as u64, other: more as u32 };
        share[more] -= 1.0 - share[less];
        if share[more] < 1.0 {
            large.pop();
            small.push(more);
        }
    }
    columns
}

/// Integers that are equally likely and equally far apart, without a table.
#[derive(Debug)]
struct Progression {
    first: i64,
    step: u32,
    count: u32,
}

impl Generate for Progression {
    fn fill(&self, Scope { key, .. }: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let Progression { first, step, count } = *self;
        let out = out.ints(rows.count);
        if step == 0 {
            out.fill(first);
            return Ok(());
        }
        key.map32(rows.first, out, |bits| {
            let index = below32(bits, count);
            first.wrapping_add((u64::from(index) * u64::from(step)) as i64)
        });
        Ok(())
    }

    fn class(&self) -> ValueClass {
        ValueClass::Int
    }

    fn domain(&self) -> Option<&dyn Domain> {
        if self.step > 0 || self.count == 1 { Some(self) } else { None }
    }

    fn size(&self) -> Size {
        let last = self.first.wrapping_add((u64::from(self.step) * u64::from(self.count - 1)) as i64);
        Size { mean: int_bytes(self.first).midpoint(int_bytes(last)), max: 8 }
    }
}

impl Domain for Progression {
    fn count(&self, _: &World) -> Result<u64> {
        Ok(u64::from(self.count))
    }

    fn nth(&self, _: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        for (slot, &number) in out.ints(numbers.len()).iter_mut().zip(numbers) {
            *slot = self.first.wrapping_add((number * u64::from(self.step)) as i64);
        }
        Ok(())
    }
}

/// Literals of any kind.
#[derive(Debug)]
pub(super) struct Literals {
    picker: Picker,
    table: Table,
    /// `true` for each option that is not NULL; `None` if no option is NULL.
    present: Option<Vec<bool>>,
    size: Size,
    class: ValueClass,
    /// The number of options, if all are different.
    different: Option<u64>,
}

/// The value of each option by its index. An option that is NULL has an arbitrary value here.
#[derive(Debug)]
enum Table {
    Null,
    Ints(Vec<i64>),
    Reals(Vec<f64>),
    /// Strings of one length, up to eight bytes.
    Short {
        kind: Class,
        width: usize,
        values: Vec<u64>,
    },
    Strings {
        kind: Class,
        data: Vec<u8>,
        spans: Vec<Span>,
    },
    Mixed {
        data: Vec<u8>,
        cells: Vec<Cell>,
    },
}

impl Literals {
    pub(super) fn new(picker: Picker, literals: &[&Literal]) -> Literals {
        let mut data = Vec::new();
        let mut span = |bytes: &[u8]| {
            let start = data.len() as u32;
            data.extend_from_slice(bytes);
            Span { start, len: bytes.len() as u32 }
        };
        let cells: Vec<Cell> = literals
            .iter()
            .map(|literal| match literal {
                Literal::Null => Cell::Null,
                Literal::Int(int) => Cell::Int(*int),
                Literal::Real(real) => Cell::Real(*real),
                Literal::Text(text) => Cell::Text(span(text.as_bytes())),
                Literal::Blob(blob) => Cell::Blob(span(blob)),
            })
            .collect();
        let bytes = cells.iter().map(|cell| match cell {
            Cell::Null => 0,
            Cell::Int(int) => int_bytes(*int),
            Cell::Real(_) => 8,
            Cell::Text(span) | Cell::Blob(span) => u64::from(span.len),
        });
        let size = Size {
            mean: bytes.clone().sum::<u64>().div_ceil(literals.len() as u64),
            max: bytes.max().unwrap_or(0).max(8),
        };
        let present =
            cells.contains(&Cell::Null).then(|| cells.iter().map(|cell| *cell != Cell::Null).collect());
        let class = literals.iter().fold(ValueClass::Null, |class, literal| class.or(class_of(literal)));
        let mut seen = HashSet::new();
        let different = literals.iter().all(|literal| seen.insert(literal.to_string()));
        let different = different.then_some(literals.len() as u64).filter(|_| present.is_none());
        Literals { picker, table: Table::new(data, cells), present, size, class, different }
    }
}

fn class_of(literal: &Literal) -> ValueClass {
    match literal {
        Literal::Null => ValueClass::Null,
        Literal::Int(_) => ValueClass::Int,
        Literal::Real(_) => ValueClass::Real,
        Literal::Text(_) => ValueClass::Text,
        Literal::Blob(_) => ValueClass::Blob,
    }
}

impl Table {
    fn new(data: Vec<u8>, cells: Vec<Cell>) -> Table {
        /// Returns the content of all cells if they are of one class or NULL.
        fn all<T: Default>(cells: &[Cell], content: impl Fn(Cell) -> Option<T>) -> Option<Vec<T>> {
            let content = |cell: &Cell| if *cell == Cell::Null { Some(T::default()) } else { content(*cell) };
            cells.iter().map(content).collect()
        }
        if cells.iter().all(|cell| *cell == Cell::Null) {
            return Table::Null;
        }
        let int = |cell| if let Cell::Int(int) = cell { Some(int) } else { None };
        let real = |cell| if let Cell::Real(real) = cell { Some(real) } else { None };
        let text = |cell| if let Cell::Text(span) = cell { Some(span) } else { None };
        let blob = |cell| if let Cell::Blob(span) = cell { Some(span) } else { None };
        if let Some(ints) = all(&cells, int) {
            Table::Ints(ints)
        } else if let Some(reals) = all(&cells, real) {
            Table::Reals(reals)
        } else if let Some(spans) = all(&cells, text) {
            Table::strings(VectorKind::Text, data, spans)
        } else if let Some(spans) = all(&cells, blob) {
            Table::strings(VectorKind::Blob, data, spans)
        } else {
            Table::Mixed { data, cells }
        }
    }

    fn strings(kind: Class, data: Vec<u8>, spans: Vec<Span>) -> Table {
        let width = spans[0].len as usize;
        if width > 8 || spans.iter().any(|span| span.len as usize != width) {
            return Table::Strings { kind, data, spans };
        }
        let value = |span: &Span| {
            let mut bytes = [0; 8];
            bytes[..width].copy_from_slice(&data[span.start as usize..][..width]);
            u64::from_le_bytes(bytes)
        };
        Table::Short { kind, width, values: spans.iter().map(value).collect() }
    }
}

impl Generate for Literals {
    fn fill(&self, Scope { key, .. }: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let RowRange { first, count } = rows;
        match &self.table {
            Table::Null => out.null(count),
            Table::Ints(ints) => self.picker.pick(key, first, out.ints(count), |index| ints[index]),
            Table::Reals(reals) => self.picker.pick(key, first, out.reals(count), |index| reals[index]),
            Table::Short { kind, width, values } => {
                let mut picked = [0; ROWS_MAX];
                let picked = &mut picked[..count];
                self.picker.pick(key, first, picked, |index| values[index]);
                let bytes = out.fixed(*kind, *width, count);
                for (index, value) in picked.iter().enumerate() {
                    bytes[index * width..][..8].copy_from_slice(&value.to_le_bytes());
                }
            }
            Table::Strings { kind, data, spans } => {
                self.picker.pick(key, first, out.anywhere(*kind, data, count), |index| spans[index]);
            }
            Table::Mixed { data, cells } => {
                self.picker.pick(key, first, out.mixed(data, count), |index| cells[index]);
            }
        }
        let marked = !matches!(self.table, Table::Null | Table::Mixed { .. });
        if let (Some(present), true) = (&self.present, marked) {
            let mut kept = [true; ROWS_MAX];
            self.picker.pick(key, first, &mut kept[..count], |index| present[index]);
            out.keep(&kept[..count]);
        }
        Ok(())
    }

    fn size(&self) -> Size {
        self.size
    }

    fn class(&self) -> ValueClass {
        self.class
    }

    fn domain(&self) -> Option<&dyn Domain> {
        self.different.map(|_| self as &dyn Domain)
    }

    fn nullable(&self) -> bool {
        self.present.is_some()
    }
}

impl Domain for Literals {
    fn count(&self, _: &World) -> Result<u64> {
        Ok(self.different.unwrap_or(1))
    }

    fn nth(&self, _: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        let picked = |slot: usize| numbers[slot] as usize;
        match &self.table {
            Table::Null => out.null(numbers.len()),
            Table::Ints(ints) => {
                let slots = out.ints(numbers.len()).iter_mut().enumerate();
                slots.for_each(|(index, slot)| *slot = ints[picked(index)]);
            }
            Table::Reals(reals) => {
                let slots = out.reals(numbers.len()).iter_mut().enumerate();
                slots.for_each(|(index, slot)| *slot = reals[picked(index)]);
            }
            Table::Short { kind, width, values } => {
                let bytes = out.fixed(*kind, *width, numbers.len());
                for index in 0..numbers.len() {
                    bytes[index * width..][..8].copy_from_slice(&values[picked(index)].to_le_bytes());
                }
            }
            Table::Strings { kind, data, spans } => {
                let slots = out.anywhere(*kind, data, numbers.len()).iter_mut().enumerate();
                slots.for_each(|(index, slot)| *slot = spans[picked(index)]);
            }
            Table::Mixed { data, cells } => {
                let slots = out.mixed(data, numbers.len()).iter_mut().enumerate();
                slots.for_each(|(index, slot)| *slot = cells[picked(index)]);
            }
        }
        Ok(())
    }
}

/// A choice among functions: all options are generated for every row, and each row takes one.
#[derive(Debug)]
struct Nested {
    picker: Picker,
    options: Vec<Arc<dyn Generate>>,
}

impl Nested {
    /// Generates all options by `fill`, and takes for each row the option that `pick` draws.
    fn choose(
        &self,
        at: Scope<'_>,
        fill: impl Fn(&dyn Generate, Scope<'_>, &mut Vector) -> Result<()>,
        (pick, count): (impl Fn(Key, &mut [usize]), usize),
        out: &mut Vector,
    ) -> Result<()> {
        let mut children = std::mem::take(&mut out.children);
        children.resize_with(self.options.len().max(children.len()), Vector::default);
        for (index, (option, child)) in self.options.iter().zip(&mut children).enumerate() {
            fill(&**option, at.child(index as u64 + 1), child)?;
        }
        let mut picked = [0; ROWS_MAX];
        let picked = &mut picked[..count];
        pick(at.key.child(0), picked);
        out.choose(&children[..self.options.len()], picked);
        out.children = children;
        Ok(())
    }
}

impl Generate for Nested {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let pick = |key, picked: &mut [usize]| self.picker.pick(key, rows.first, picked, |index| index);
        self.choose(at, |option, at, child| option.fill(at, rows, child), (pick, rows.count), out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let pick = |key, picked: &mut [usize]| {
            for (&row, slot) in rows.iter().zip(picked) {
                self.picker.pick(key, row, std::slice::from_mut(slot), |index| index);
            }
        };
        self.choose(at, |option, at, child| option.fill_at(at, rows, child), (pick, rows.len()), out)
    }

    fn class(&self) -> ValueClass {
        self.options.iter().fold(ValueClass::Null, |class, option| class.or(option.class()))
    }

    fn size(&self) -> Size {
        let sizes = self.options.iter().map(|option| option.size());
        let mean = sizes.clone().map(|size| size.mean).sum::<u64>().div_ceil(self.options.len() as u64);
        // In memory are the vectors of all options, and the result.
        let max =
            sizes.clone().map(|size| size.max).sum::<u64>() + sizes.map(|size| size.max).max().unwrap_or(0);
        Size { mean, max }
    }

    fn nullable(&self) -> bool {
        self.options.iter().any(|option| option.nullable())
    }
}

/// Another generator's values, some of them replaced by NULL.
#[derive(Debug)]
struct Null {
    /// A value is NULL if its 32 random bits, read as a number, are below this limit.
    below: u64,
    inner: Arc<dyn Generate>,
}

impl Generate for Null {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        self.inner.fill(at.child(1), rows, out)?;
        let mut present = [true; ROWS_MAX];
        let present = &mut present[..rows.count];
        at.key.child(0).map32(rows.first, present, |bits| u64::from(bits) >= self.below);
        out.keep(present);
        Ok(())
    }

    fn class(&self) -> ValueClass {
        self.inner.class()
    }

    fn parent(&self) -> Option<&dyn Parent> {
        self.inner.parent().map(|_| self as &dyn Parent)
    }

    fn rows_max(&self, world: &World) -> Result<Option<u64>> {
        self.inner.rows_max(world)
    }

    fn size(&self) -> Size {
        self.inner.size()
    }

    fn nullable(&self) -> bool {
        self.below > 0 || self.inner.nullable()
    }
}

/// Returns the parent rows of the inner reference, and `None` for rows whose value is NULL.
impl Parent for Null {
    fn table(&self) -> usize {
        self.inner.parent().map_or(0, Parent::table)
    }

    fn column(&self) -> Option<usize> {
        self.inner.parent()?.column()
    }

    fn rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<u64>>) -> Result<()> {
        if let Some(parent) = self.inner.parent() {
            parent.rows(at.child(1), rows, out)?;
        }
        let mut present = [true];
        for (&row, parent) in rows.iter().zip(out) {
            at.key.child(0).map32(row, &mut present, |bits| u64::from(bits) >= self.below);
            *parent = parent.filter(|_| present[0]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the probability of each option in the columns.
    fn shares(columns: &[AliasColumn]) -> Vec<f64> {
        let mut shares = vec![0.0; columns.len()];
        for (index, column) in columns.iter().enumerate() {
            let own = (column.own_last as f64 / 2f64.powi(64)).min(1.0);
            shares[index] += own / columns.len() as f64;
            shares[column.other as usize] += (1.0 - own) / columns.len() as f64;
        }
        shares
    }

    #[test]
    fn the_columns_of_the_alias_method_add_up_to_the_weights() {
        let long: Vec<f64> = (1..5000).map(|rank| 1.0 / f64::from(rank)).collect();
        for weights in [&[1.0, 2.0, 3.0][..], &[1e-300, 1.0], &[1e307, 1e307, 5e306], &[1.0, 1000.0], &long] {
            let total: f64 = weights.iter().map(|weight| weight / weights[0]).sum();
            for (share, weight) in shares(&alias_columns(weights)).iter().zip(weights) {
                assert!((share - weight / weights[0] / total).abs() < 1e-12, "{weight} of {weights:?}");
            }
        }
    }

    #[test]
    fn integers_at_equal_distances_are_a_progression_in_any_order() {
        assert_eq!(progression(vec![15, 5, 10]), Some((5, 5)));
        assert_eq!(progression(vec![1, 0]), Some((0, 1)));
        assert_eq!(progression(vec![7]), Some((7, 0)));
        assert_eq!(progression(vec![7, 7]), Some((7, 0)));
        assert_eq!(progression(vec![1, 2, 4]), None);
        assert_eq!(progression(vec![i64::MIN, i64::MAX]), None);
        assert_eq!(progression(vec![i64::MAX - 1, i64::MAX]), Some((i64::MAX - 1, 1)));
    }
}
