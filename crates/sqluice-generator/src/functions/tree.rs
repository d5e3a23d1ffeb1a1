//! References of a table to itself: `tree(...)`, which makes trees of given depth.
//!
//! ```text
//!  tree(rows(0: 2, 3: 1): 3, rows(2: 1): 3, rows(1: 1): 6)
//!
//!  rows 0 1 2 │ 3 4 5 │ 6 7 8 9 10 11         three roots, their children, and their grandchildren
//! ```
//!
//! An argument is a level: the numbers of children of its rows, with weights, and the weight of the level in the table. Here, of three
//! roots, two have no children, and one has three. Each of the three has two children. The `rows(1: 1)` of the last level is not used.
//!
//! Rows are numbered level by level, so that a row refers to an earlier row. `repeated(5, rows(...)): 100` stands for five levels of weight
//! 20 each.
//!
//! Invariant: a root refers to no row, or to itself. Any other row refers to an earlier row.

use std::sync::{Arc, Mutex, PoisonError};

use super::Arguments;
use super::grouped::{Places, RowCounts};
use crate::Fault;
use crate::generator::Placed;
use crate::parse::{Argument, ExprNode, Literal};
use crate::random::{Key, Shuffle};

/// The maximum number of levels.
const LEVELS_MAX: usize = 1 << 20;

/// The trees that the rows of a table form, as the levels of `tree(...)` describe them.
#[derive(Debug)]
pub(super) struct Tree {
    /// The share of the table's rows that are roots with a NULL reference. All other roots refer to themselves.
    pub(super) outside: f64,
    levels: Vec<Level>,
    /// A cache: the row count of the last call of [`Tree::ends`], and its result.
    ends: Mutex<Option<(u64, Arc<Vec<u64>>)>>,
}

/// An argument of `tree(...)`: a level of the trees, or several equal levels in a row.
#[derive(Clone, Debug)]
struct Level {
    /// The number of levels.
    levels: usize,
    /// The weight of the rows of all these levels.
    weight: f64,
    /// The distribution of the number of children of a row.
    below: RowCounts,
}

impl Tree {
    /// Parses the levels of `tree(rows(...): weight, ...)`.
    pub(super) fn of(arguments: &Arguments<'_>, given: &[Argument], outside: f64) -> Result<Tree, Fault> {
        let level = |argument: &Argument| {
            let weight = argument.weight.as_ref().map_or(1.0, |weight| weight.value);
            let (levels, counts) = match &argument.value.node {
                ExprNode::Call { name, arguments } if name.eq_ignore_ascii_case("rows") => (1, arguments),
                ExprNode::Call { name, arguments } if name.eq_ignore_ascii_case("repeated") => {
                    let [levels, counts] = &arguments[..] else { return None };
                    let ExprNode::Literal(Literal::Int(levels)) = levels.value.node else { return None };
                    match &counts.value.node {
                        ExprNode::Call { name, arguments } if name.eq_ignore_ascii_case("rows") => {
                            (usize::try_from(levels).ok()?, arguments)
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            };
            let is_right = (1..=LEVELS_MAX).contains(&levels) && weight > 0.0 && weight.is_finite();
            is_right.then_some(())?;
            Some(Level { levels, weight, below: RowCounts::of(counts, 0.0)? })
        };
        let levels: Option<Vec<Level>> = given.iter().map(level).collect();
        let levels = levels.filter(|levels| {
            levels.iter().map(|level| level.levels).sum::<usize>() <= LEVELS_MAX
                && (0.0..=1.0).contains(&outside)
        });
        let levels = levels.ok_or_else(|| {
            arguments.fault(
                arguments.place(1),
                "each argument of tree() must be a level, rows(n: weight, ...): weight or repeated(levels, rows(...)): weight; the third argument of ref() must be from 0 to 1",
            )
        })?;
        Ok(Tree { outside, levels, ends: Mutex::new(None) })
    }

    /// Returns for each level the number of the first row after the level, in a table of `rows` rows. Each level gets at least one row,
    /// unless the rows run out.
    fn ends(&self, rows: u64) -> Arc<Vec<u64>> {
        let mut known = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ends)) = known.as_ref().filter(|(of, _)| *of == rows) {
            return Arc::clone(ends);
        }
        let total: f64 = self.levels.iter().map(|level| level.weight).sum();
        let mut ends = Vec::new();
        let (mut begun, mut last) = (0.0, 0);
        for level in &self.levels {
            for number in 1..=level.levels {
                let weight = begun + level.weight * number as f64 / level.levels as f64;
                let end = (rows as f64 * (weight / total)).round() as u64;
                last = end.max(last + 1).min(rows);
                ends.push(last);
            }
            begun += level.weight;
        }
        if let Some(last) = ends.last_mut() {
            *last = rows;
        }
        let ends = Arc::new(ends);
        *known = Some((rows, Arc::clone(&ends)));
        ends
    }

    /// Returns the distribution of the number of children of the rows in a level.
    fn below(&self, level: usize) -> &RowCounts {
        let mut end = 0;
        let of = self.levels.iter().find(|entry| {
            end += entry.levels;
            level < end
        });
        &of.unwrap_or(&self.levels[self.levels.len() - 1]).below
    }

    /// Returns a function from a row number to the row's place, in a table of `rows` rows. The group of a row is the number of its parent.
    /// A root that refers to itself is the first row of its group; a root with a NULL reference has no group.
    pub(super) fn places(&self, key: Key, rows: u64) -> impl FnMut(u64) -> Option<Placed> {
        let (ends, without) = (self.ends(rows), self.without(rows));
        let mut of_level: Option<(usize, Placing)> = None;
        move |row| {
            let level = ends.partition_point(|end| *end <= row).min(ends.len() - 1);
            if level == 0 {
                return (row >= without).then_some(Placed { group: row, ordinal: 0, position: row });
            }
            let begin = ends[level - 1];
            let parents_begin = if level == 1 { 0 } else { ends[level - 2] };
            let (parents, size) = ((begin - parents_begin).max(1), (ends[level] - begin).max(1));
            if of_level.as_ref().is_none_or(|(of, _)| *of != level) {
                let key = key.child(level as u64);
                let counts = self.below(level - 1);
                let placing = match counts.at_most_one() && size <= parents {
                    true => Placing::OneEach(Shuffle::new(key, parents)),
                    false => Placing::Counted(counts.places(key, parents, size)),
                };
                of_level = Some((level, placing));
            }
            let at = (row - begin) % size;
            let place = match &of_level.as_ref()?.1 {
                Placing::OneEach(shuffle) => Placed { group: shuffle.place(at), ordinal: 0, position: at },
                Placing::Counted(places) => places.of(at)?,
            };
            let (group, position) = (parents_begin + place.group.min(parents - 1), begin + place.position);
            let group = group.min(row.saturating_sub(1));
            let is_below_first = level == 1 && group >= without;
            Some(Placed { group, ordinal: place.ordinal + u64::from(is_below_first), position })
        }
    }

    /// Returns how many of `rows` rows have a NULL reference. These are the first rows.
    fn without(&self, rows: u64) -> u64 {
        let roots = self.ends(rows).first().copied().unwrap_or(0);
        ((rows as f64 * self.outside).round() as u64).min(roots)
    }
}

/// The method that gives the rows of a level their parents in the level above.
#[derive(Debug)]
enum Placing {
    /// No parent has more than one child.
    OneEach(Shuffle),
    Counted(Places),
}
