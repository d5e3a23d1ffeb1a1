//! Rows in groups: the rows that refer to the same parent row. `rows(n: weight, ...)` sets how many parents have n rows; `ordinal` and
//! `within` number the rows of a group.
//!
//! ```text
//!  rows(0: 2, 1: 5, 4: 3)      of ten parents, two have no rows, five have one row, three have four
//!
//!  row ── shuffled ──> position   0   1   2   3   4   5 ..  8   9 .. 12  13 .. 16      17 rows
//!                      group    | 2 | 3 | 4 | 5 | 6 |   7     |   8     |   9     |      groups 0 and 1 have no rows
//!                        └── shuffled ──> parent
//! ```
//!
//! Rows without a parent, if there are any, take the first positions.
//!
//! Rows and parents are shuffled by a permutation that needs no memory, so each parent has exactly the number of rows of its class. If the
//! table has more rows than the counts of its parents add up to, all counts grow by the same factor.

use std::sync::Arc;

use sqluice_core::error::Result;

use super::{Arguments, Fault, Function, Generate};
use crate::generator::{Class, Placed, Scope, Size};
use crate::parse::{Argument, ExprNode, Literal};
use crate::random::{Key, Shuffle};
use crate::vector::{RowRange, Vector};

pub(super) const ORDINAL: Function = Function {
    name: "ordinal",
    signature: "ordinal(column)",
    about: "the number of the row, counted from 1, among the rows with the same value in that column, which is filled by ref() with rows(), or by pool()",
    example: "ordinal(customer)",
    build: |arguments| {
        arguments.count(1)?;
        Ok(Arc::new(Ordinal { groups: grouped(arguments)? }))
    },
};

pub(super) const WITHIN: Function = Function {
    name: "within",
    signature: "within(column, x)",
    about: "values of x, all equally frequent, and none twice among the rows with the same value in that column, which is filled by ref() with rows(), or by pool()",
    example: "within(customer, int(1, 100000))",
    build: |arguments| {
        arguments.count(2)?;
        let groups = grouped(arguments)?;
        let inner = arguments.compile(1)?;
        if inner.domain().is_none() {
            return Err(arguments
                .wrong(1, "something with a known number of values, as int, pattern or ref of a key"));
        }
        Ok(Arc::new(Within { groups, inner }))
    },
};

/// Builds the generator of argument 0, a column whose rows are in groups.
fn grouped(arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
    let column = arguments.compile(0)?;
    match column.groups() {
        Some(_) => Ok(column),
        None => Err(arguments.wrong(0, "a column that is filled by ref(table.column, rows(...)) or pool()")),
    }
}

/// The distribution of the row counts of groups.
#[derive(Clone, Debug)]
pub(super) struct RowCounts {
    /// Row counts, each with the weight of the groups that have this count.
    classes: Vec<(f64, f64)>,
    /// The share of the rows that are in no group.
    pub(super) outside: f64,
}

impl RowCounts {
    /// Parses the counts of `rows(n: weight, ...)`. Returns `None` if an argument is no row count, no count is above 0, or `outside` is not
    /// a share from 0 to 1.
    pub(super) fn of(given: &[Argument], outside: f64) -> Option<RowCounts> {
        let class = |argument: &Argument| {
            let rows = match argument.value.node {
                ExprNode::Literal(Literal::Int(int)) => int as f64,
                ExprNode::Literal(Literal::Real(real)) => real,
                _ => return None,
            };
            let weight = argument.weight.as_ref().map_or(1.0, |weight| weight.value);
            (rows >= 0.0 && weight.is_finite()).then_some((rows, weight))
        };
        let classes: Vec<(f64, f64)> = given.iter().map(class).collect::<Option<_>>()?;
        let some = classes.iter().any(|(rows, weight)| *rows > 0.0 && *weight > 0.0);
        (some && (0.0..=1.0).contains(&outside)).then_some(RowCounts { classes, outside })
    }

    /// Returns `true` if no group has more than one row.
    pub(super) fn at_most_one(&self) -> bool {
        self.classes.iter().all(|(rows, _)| *rows <= 1.0)
    }

    /// Assigns `rows` rows to `groups` groups.
    pub(super) fn places(&self, key: Key, groups: u64, rows: u64) -> Places {
        let weights: f64 = self.classes.iter().map(|(_, weight)| weight).sum();
        let mut ends = Vec::new();
        let mut begun = 0.0;
        for (_, weight) in &self.classes {
            begun += weight;
            ends.push(((groups as f64 * (begun / weights)).round() as u64).min(groups));
        }
        if let Some(last) = ends.last_mut() {
            *last = groups;
        }
        let outside = ((rows as f64 * self.outside).round() as u64).min(rows);
        let inside = rows - outside;
        let sizes: Vec<u64> =
            (0..ends.len()).map(|class| ends[class] - if class == 0 { 0 } else { ends[class - 1] }).collect();
        let mut wanted: Vec<f64> =
            sizes.iter().zip(&self.classes).map(|(size, (rows, _))| *size as f64 * rows).collect();
        if wanted.iter().sum::<f64>() == 0.0 {
            // With few groups, all may fall into classes without rows. Then all groups get equally many rows.
            wanted = sizes.iter().map(|size| *size as f64).collect();
        }
        let total: f64 = wanted.iter().sum();
        let mut classes = Vec::new();
        let (mut first_group, mut first, mut sum) = (0, 0, 0.0);
        let last = wanted.iter().rposition(|wanted| *wanted > 0.0).unwrap_or(0);
        for (index, (size, wanted)) in sizes.into_iter().zip(wanted).enumerate() {
            sum += wanted;
            let end = if index >= last {
                inside
            } else {
                ((inside as f64 * (sum / total)).round() as u64).min(inside)
            };
            classes.push(ClassPlaces { first_group, groups: size, first, rows: end - first });
            (first_group, first) = (first_group + size, end);
        }
        classes.retain(|class| class.rows > 0 && class.groups > 0);
        Places {
            classes,
            outside,
            positions: Shuffle::new(key.child(0), rows.max(1)),
            shuffled: Shuffle::new(key.child(1), groups.max(1)),
        }
    }
}

/// The groups of a class, and the positions of their rows.
#[derive(Clone, Copy, Debug)]
struct ClassPlaces {
    first_group: u64,
    groups: u64,
    first: u64,
    rows: u64,
}

/// The assignment of rows to groups.
#[derive(Debug)]
pub(super) struct Places {
    classes: Vec<ClassPlaces>,
    outside: u64,
    positions: Shuffle,
    shuffled: Shuffle,
}

impl Places {
    /// Returns the group of a row, and the row's number in the group; `None` if the row is in no group.
    pub(super) fn of(&self, row: u64) -> Option<Placed> {
        let position = self.positions.place(row).checked_sub(self.outside)?;
        let class =
            self.classes[self.classes.partition_point(|class| class.first <= position).checked_sub(1)?];
        let at = position - class.first;
        let group = scaled(at, class.groups, class.rows);
        // The first position of this group.
        let begin = scaled_up(group, class.rows, class.groups);
        Some(Placed { group: self.shuffled.place(class.first_group + group), ordinal: at - begin, position })
    }
}

/// Returns `number * factor / divisor`, rounded down. The product may exceed 64 bits.
#[inline]
pub(super) fn scaled(number: u64, factor: u64, divisor: u64) -> u64 {
    match number.checked_mul(factor) {
        Some(product) => product / divisor,
        None => (u128::from(number) * u128::from(factor) / u128::from(divisor)) as u64,
    }
}

/// Returns `number * factor / divisor`, rounded up.
#[inline]
pub(super) fn scaled_up(number: u64, factor: u64, divisor: u64) -> u64 {
    match number.checked_mul(factor) {
        Some(product) => product.div_ceil(divisor),
        None => (u128::from(number) * u128::from(factor)).div_ceil(u128::from(divisor)) as u64,
    }
}

/// Returns the places of `rows` in the groups of a column; `None` for a row that is in no group.
fn places_of(column: &dyn Generate, at: Scope<'_>, rows: &[u64]) -> Result<Vec<Option<Placed>>> {
    let mut places = Vec::with_capacity(rows.len());
    if let Some(groups) = column.groups() {
        groups.places(at, rows, &mut places)?;
    }
    places.resize(rows.len(), None);
    Ok(places)
}

#[derive(Debug)]
struct Ordinal {
    groups: Arc<dyn Generate>,
}

impl Generate for Ordinal {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        self.fill_at(at, &(rows.first..).take(rows.count).collect::<Vec<_>>(), out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let places = places_of(&*self.groups, at, rows)?;
        // A row without a group gets its row number in the table.
        for ((slot, place), row) in out.ints(rows.len()).iter_mut().zip(places).zip(rows) {
            *slot = place.map_or(*row, |place| place.ordinal) as i64 + 1;
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size { mean: 1, max: 8 }
    }

    fn class(&self) -> Class {
        Class::Int
    }
}

#[derive(Debug)]
struct Within {
    groups: Arc<dyn Generate>,
    inner: Arc<dyn Generate>,
}

impl Generate for Within {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        self.fill_at(at, &(rows.first..).take(rows.count).collect::<Vec<_>>(), out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let Some(domain) = self.inner.domain() else {
            out.null(rows.len());
            return Ok(());
        };
        let count = domain.count(at.world)?;
        let places = places_of(&*self.groups, at, rows)?;
        let shuffle = Shuffle::new(at.key.child(0), count);
        let number = |(place, row): (Option<Placed>, &u64)| {
            let place = place.unwrap_or(Placed { group: *row, ordinal: 0, position: *row });
            // The rows of a group have consecutive positions: their values differ, and each value occurs equally often in the table.
            let number = shuffle.place(place.position % count);
            // A group with more rows than values repeats values, unless the domain is endless.
            if domain.is_endless() { number + place.ordinal / count * count } else { number }
        };
        let numbers: Vec<u64> = places.into_iter().zip(rows).map(number).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn groups_have_the_row_count_of_their_class_and_number_their_rows() {
        let counts = RowCounts { classes: vec![(0.0, 2.0), (1.0, 5.0), (4.0, 3.0)], outside: 0.1 };
        let key = Key::of_column(1, "t", "c");
        for (groups, rows) in [(1000, 1889), (10, 19), (1000, 18_890), (3, 100), (1, 5), (50, 3)] {
            let places = counts.places(key, groups, rows);
            let mut seen: HashMap<u64, Vec<u64>> = HashMap::new();
            let mut outside = 0;
            for row in 0..rows {
                match places.of(row) {
                    Some(place) => seen.entry(place.group).or_default().push(place.ordinal),
                    None => outside += 1,
                }
            }
            assert_eq!(outside, (rows as f64 * 0.1).round() as u64);
            for (group, ordinals) in &mut seen {
                assert!(*group < groups);
                ordinals.sort_unstable();
                assert!(ordinals.iter().copied().eq(0..ordinals.len() as u64));
            }
            if (groups, rows) == (1000, 1889) {
                let with = |rows: usize| seen.values().filter(|ordinals| ordinals.len() == rows).count();
                assert_eq!((with(1), with(4), seen.len()), (500, 300, 800));
            }
        }
    }
}
