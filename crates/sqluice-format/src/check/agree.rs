//! A comparison of each index with its table: the index must have exactly the entries that the rows demand. Partial indexes are compared
//! only if the caller computes their entries.
//!
//! ```text
//!  first pass     the entries that the rows demand ──> sum ──┐
//!                                                            ├── equal?        in any order of rows and entries
//!                 the entries of the index ──────────> sum ──┘
//!  if not equal
//!    second pass  65,536 buckets, by the hash of the entry ──> the first 16 buckets whose sums differ
//!    third pass   the entries in these buckets ──> missing entries, and entries without a row
//! ```

use std::collections::HashMap;

use super::checker::Checker;
use super::content::{Content, Found, Walk};
use super::done::PageInTree;
use super::spec::Index as TableIndex;
use super::{Problem, ReadPage, Report, TreeKind};

/// The number of buckets in the second pass: each has the sum of the demanded entries minus that of the found entries.
const BUCKETS: usize = 1 << 16;

/// The number of differing buckets whose entries the third pass collects: a limit on the memory. The report does not name differences in
/// other buckets.
const BUCKETS_READ: usize = 16;

/// The number of differences of an index that the report names. Further differences are not reported.
const NAMED_MAX: usize = 10;

/// The place of a row or an index entry that has no counterpart in the index or the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lonely {
    /// The rowid; `None` in a WITHOUT ROWID table, where only the page is known.
    rowid: Option<i64>,
    page: u32,
}

impl<P: ReadPage> Checker<'_, '_, P> {
    /// Compares the indexes with their tables, except partial indexes whose entries the caller does not compute.
    pub(super) fn compare_indexes(&mut self) -> Result<(), P::Error> {
        let mut of_tables = HashMap::new();
        for (i, tree) in self.report.trees.iter().enumerate().filter(|(_, tree)| tree.kind != TreeKind::Index)
        {
            of_tables.entry(tree.name.to_ascii_lowercase()).or_insert(i);
        }
        for i in 0..self.report.trees.len() {
            let tree = &self.report.trees[i];
            if tree.kind != TreeKind::Index {
                continue;
            }
            let Some(table) = self.common.table(&tree.table) else { continue };
            let is_it = |name: &str| name.eq_ignore_ascii_case(&tree.name);
            let Some(k) = table.indexes.iter().position(|index| is_it(&index.name)) else { continue };
            let Some(&rows) = of_tables.get(&table.name.to_ascii_lowercase()) else { continue };
            let sums = (self.details[rows].sums.get(k), self.details[i].sums.first());
            let (Some(demanded), Some(found)) = sums else { continue };
            if demanded.is_unknown {
                let named = (tree.table.clone(), tree.name.clone());
                self.report.uncompared.push(named);
                continue;
            }
            let TableIndex { partial, computed, .. } = table.indexes[k];
            if (partial && !computed) || demanded == found {
                continue;
            }
            // A tree with problems can't be read again to find the differing entries; its problems have been reported.
            if self.details[rows].problem_count == 0 && self.details[i].problem_count == 0 {
                self.name_differences(rows, i, k)?;
            } else {
                let table = &self.report.trees[rows].name;
                let what = format!("index {} does not agree with {table}", self.report.trees[i].name);
                self.problem(None, what);
            }
        }
        Ok(())
    }

    /// Reports the differences between a table and one of its indexes as problems. `rows` and `index` are the positions of the two trees in
    /// [`Report::trees`]; `k` is the position of the index in the table's `indexes`.
    fn name_differences(&mut self, rows: usize, index: usize, k: usize) -> Result<(), P::Error> {
        let mut sums = vec![0u128; BUCKETS];
        let mut add = |found: Found, sign: i64| {
            let bits = found.entry.bits();
            let sum = &mut sums[bucket(bits)];
            *sum = if sign > 0 { sum.wrapping_add(bits) } else { sum.wrapping_sub(bits) };
        };
        self.both(rows, index, k, &mut add)?;
        let differ = sums.iter().enumerate().filter(|(_, sum)| **sum != 0).map(|(i, _)| i);
        let differ: Vec<usize> = differ.take(BUCKETS_READ).collect();
        let mut left: HashMap<u128, (i64, Lonely)> = HashMap::new();
        let mut collect = |found: Found, sign: i64| {
            let bits = found.entry.bits();
            if differ.contains(&bucket(bits)) {
                let lonely = Lonely { rowid: found.rowid, page: found.page };
                let (count, _) = left.entry(bits).or_insert((0, lonely));
                *count += sign;
                if *count == 0 {
                    left.remove(&bits);
                }
            }
        };
        self.both(rows, index, k, &mut collect)?;
        self.name(rows, index, left.into_values().collect());
        Ok(())
    }

    /// Reports `left`, the rows without an entry and the entries without a row, as problems: at most [`NAMED_MAX`] of them.
    fn name(&mut self, rows: usize, index: usize, left: Vec<(i64, Lonely)>) {
        let of = |sign: i64| {
            let mut of: Vec<Lonely> =
                left.iter().filter(|(count, _)| count.signum() == sign).map(|(_, lonely)| *lonely).collect();
            of.sort_unstable();
            of
        };
        let (missing, superfluous) = (of(1), of(-1));
        let (table, index) = (self.report.trees[rows].name.clone(), self.report.trees[index].name.clone());
        let differs = |lonely: &Lonely, others: &[Lonely]| {
            lonely.rowid.is_some() && others.iter().any(|other| other.rowid == lonely.rowid)
        };
        let mut named = Vec::new();
        for lonely in &missing {
            let what = match lonely.rowid {
                _ if differs(lonely, &superfluous) => continue,
                Some(rowid) => format!("row {rowid} is missing from index {index}"),
                None => format!("a row is missing from index {index}"),
            };
            named.push(Problem { page: Some(lonely.page), tree: Some(table.clone()), what });
        }
        for lonely in &superfluous {
            let what = match lonely.rowid {
                Some(rowid) if differs(lonely, &missing) => {
                    format!("the entry of row {rowid} differs from the row in {table}")
                }
                Some(rowid) => format!("the entry of row {rowid} has no row in {table}"),
                None => format!("an entry has no row in {table}"),
            };
            named.push(Problem { page: Some(lonely.page), tree: Some(index.clone()), what });
        }
        named.truncate(NAMED_MAX);
        named.into_iter().for_each(|problem| self.problem_of(problem));
    }

    /// Reads a table and one of its indexes again. Calls `each` with 1 for each entry that a row demands, and with -1 for each entry that
    /// the index has.
    fn both(
        &mut self,
        rows: usize,
        index: usize,
        k: usize,
        each: &mut dyn FnMut(Found, i64),
    ) -> Result<(), P::Error> {
        self.again(rows, &mut |found| {
            if found.index == k {
                each(found, 1);
            }
        })?;
        self.again(index, &mut |found| each(found, -1))
    }

    /// Reads again a tree in which no problem was found.
    fn again(&mut self, tree: usize, listener: &mut dyn FnMut(Found)) -> Result<(), P::Error> {
        let tree = self.report.trees[tree].clone();
        let mut walk = Walk::new(tree.kind == TreeKind::Table, Content::of(&tree, self.common));
        walk.listener = Some(listener);
        let place = PageInTree::root(tree.root_page);
        let mut checker = Checker::new(self.pages, self.common, Report::default());
        checker.again = true;
        checker.begin_tree(tree);
        checker.subtree(&mut walk, place)?;
        walk.compute();
        Ok(())
    }
}

fn bucket(bits: u128) -> usize {
    (bits >> 64) as usize % BUCKETS
}
