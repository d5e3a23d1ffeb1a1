//! The tables that leaves of no tree may be of: by the gaps of trees, by rowids and keys, and by the kinds of values.

use std::collections::{BTreeMap, BTreeSet};

use sqluice_core::error::Result;
use sqluice_format::salvage::{Salvage, Types};

use super::attests::Verdict;
use super::file::DamagedFile;
use super::keys::{KeyRange, PageKey};
use super::orphans::OrphanGroup;
use super::owners::{Gap, Owners, fills};
use super::shape::{Classes, Kinds};
use super::sought::{Leaf, Origin, SoughtTree};
use super::survey::PageFacts;

/// The shapes of the rows of a group.
#[derive(Default)]
pub(super) struct Shapes {
    /// The number of rows that each tree's table can have.
    pub(super) fitting: Vec<u64>,
    /// The number of rows that each tree's table can have, including rows without the last fields, which are older than these columns.
    pub(super) fitting_short: Vec<u64>,
    /// The first and the last key of these rows, in WITHOUT ROWID tables.
    pub(super) ends: Vec<Option<(PageKey, PageKey)>>,
    /// The kinds of values in the fields.
    pub(super) kinds: Kinds,
    /// The number of rows.
    pub(super) rows: u64,
    /// The number of rows that a WITHOUT ROWID table with lost pages can have, including rows without the last fields.
    pub(super) lacking: u64,
    /// The classes of values in the fields.
    pub(super) classes: Classes,
    /// The number of rows that look like entries of an index.
    pub(super) entries: u64,
}

/// The places that tables have for leaves of no tree.
pub(super) struct Places<'k> {
    /// The classes of values of each WITHOUT ROWID table's rows; empty for trees without such rows.
    classes: &'k [Classes],
    /// `true` for the tree of an index.
    is_index_tree: Vec<bool>,
    /// `true` for a tree of which nothing is certain: its root is unknown or lost, or leaves were found, and all of them may be of another
    /// table.
    pub(super) is_gone: Vec<bool>,
    /// `true` for a tree that has lost a page, or has leaves that may be of another table.
    pub(super) is_damaged: Vec<bool>,
    /// `true` for a tree that may have lost leaves of which no page says where they were.
    is_open: Vec<bool>,
    /// For each tree, its lost pages that still exist and belong to no other tree, and the pages below them.
    named: Vec<BTreeSet<u32>>,
    /// For each tree, the range of rowids of each of its leaves: the key is the first rowid, and the value is the last.
    owned: Vec<BTreeMap<i64, i64>>,
    /// The pages of these leaves, by the first rowid.
    owned_pages: Vec<BTreeMap<i64, u32>>,
    /// The gaps of each tree, in order.
    gaps: Vec<Vec<Gap>>,
    /// The gaps of lost pages whose keys are damaged: those of the whole parent, in which other pages of the tree lie, too.
    wide_gaps: Vec<Vec<Gap>>,
    /// The keys of the lost pages of each tree.
    key_gaps: Vec<Vec<KeyRange>>,
    /// The rowids that leaves of no tree have already, for each tree: the last by the first.
    pub(super) taken: Vec<BTreeMap<i64, i64>>,
}

/// The largest number of leaves around a leaf of no tree whose rowids are compared with those of the leaf.
pub(super) const AROUND_MAX: usize = 8;

/// The number of gaps before a rowid that are looked at. Gaps of a tree overlap only where interior pages are damaged.
const GAPS_MAX: usize = 4;

impl Places<'_> {
    pub(super) fn new<'k>(
        classes: &'k [Classes],
        owners: &Owners,
        leaves: &[Vec<Leaf>],
        trees: &[SoughtTree],
    ) -> Places<'k> {
        let count = trees.len();
        let mut places = Places {
            classes,
            is_index_tree: trees.iter().map(|tree| tree.entries.is_some()).collect(),
            is_gone: trees.iter().map(|tree| tree.root.is_none()).collect(),
            is_damaged: vec![false; count],
            is_open: (0..count).map(|tree| owners.faulty.contains(&tree)).collect(),
            named: vec![BTreeSet::new(); count],
            owned: vec![BTreeMap::new(); count],
            owned_pages: vec![BTreeMap::new(); count],
            gaps: vec![Vec::new(); count],
            wide_gaps: vec![Vec::new(); count],
            key_gaps: vec![Vec::new(); count],
            taken: vec![BTreeMap::new(); count],
        };
        for lost in &owners.lost {
            let gaps = if lost.is_wide { &mut places.wide_gaps } else { &mut places.gaps };
            gaps[lost.tree].push(lost.gap);
            if trees[lost.tree].is_index {
                places.key_gaps[lost.tree].push(lost.keys.clone());
            }
            places.is_damaged[lost.tree] = true;
            places.is_gone[lost.tree] |= trees[lost.tree].root == Some(lost.page);
        }
        places.gaps.iter_mut().for_each(|gaps| gaps.sort_unstable());
        // A damaged page has as many of these gaps as it has children.
        places.wide_gaps.iter_mut().for_each(|gaps| {
            gaps.sort_unstable();
            gaps.dedup();
        });
        for (tree, leaves) in leaves.iter().enumerate() {
            let has_doubtful = leaves.iter().any(|leaf| leaf.origin == Origin::Shape);
            places.is_damaged[tree] |= has_doubtful;
            places.is_open[tree] |= has_doubtful;
            places.is_gone[tree] |= !leaves.is_empty();
            places.is_gone[tree] &= leaves.iter().all(|leaf| leaf.origin == Origin::Shape);
            places.owned[tree] = leaves.iter().filter_map(|leaf| leaf.rowids).collect();
            places.owned_pages[tree] =
                leaves.iter().filter_map(|leaf| Some((leaf.rowids?.0, leaf.page))).collect();
        }
        places
    }

    /// Finds the lost pages of trees that still exist and belong to no other tree, and the pages below them. `is_stray` returns `true` for
    /// a page of no tree. Such a page may belong to the tree after all: the key of the parent that contradicts it may be damaged, or the
    /// parent may be from another state of the file.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(super) fn find_named(
        &mut self,
        file: &DamagedFile,
        (facts, owners): (&[PageFacts], &Owners),
        is_stray: impl Fn(u32) -> bool,
    ) -> Result<()> {
        let (mut bytes, mut salvage, mut types) =
            (vec![0; file.geometry().page_bytes()], Salvage::default(), Types::new());
        let mut left: Vec<(usize, u32)> = owners.lost.iter().map(|lost| (lost.tree, lost.page)).collect();
        while let Some((tree, page)) = left.pop() {
            let about = (page as usize).checked_sub(1).and_then(|at| facts.get(at));
            let Some(kind) = about.and_then(|about| about.kind).filter(|_| is_stray(page)) else { continue };
            if !self.named[tree].insert(page) || kind.is_leaf() {
                continue;
            }
            file.read(page, &mut bytes)?;
            salvage.read(&bytes, page, file.geometry(), &mut types);
            left.extend(salvage.children.iter().map(|(child, _)| (tree, *child)));
        }
        Ok(())
    }

    /// Returns the leaves of a tree whose ranges of rowids overlap the given range. Stops after [`AROUND_MAX`] + 1 leaves, which shows the
    /// caller that there are too many.
    pub(super) fn around(&self, tree: usize, (first, last): (i64, i64)) -> Vec<u32> {
        let before = self.owned[tree].range(..=last).rev().take(AROUND_MAX + 1);
        let around = before.take_while(|(_, end)| **end >= first);
        around.filter_map(|(start, _)| self.owned_pages[tree].get(start).copied()).collect()
    }

    /// Returns the gap of a tree that rowids fill, if any; of several, one with both ends.
    fn gap(&self, tree: usize, rowids: (i64, i64)) -> Option<Gap> {
        let gaps = &self.gaps[tree];
        let end = gaps.partition_point(|(low, _)| low.is_none_or(|low| low < rowids.0));
        let filled = gaps[end.saturating_sub(GAPS_MAX)..end].iter().filter(|gap| fills(rowids, **gap));
        filled.copied().max_by_key(|(low, high)| low.is_some() && high.is_some())
    }

    /// Returns the table of a group of leaves, if one table is the best: tables whose indexes have the rows come first, then tables with a
    /// gap for the rows, then tables that have lost other pages, and among these the tables all of whose columns the rows have. Returns
    /// `None` if several tables are equally good. A copy of a page of a tree goes only to a table with a gap for it, or whose tree is gone.
    /// `verdict` asks the indexes of a table.
    ///
    /// # Errors
    /// The errors of `verdict`.
    pub(super) fn table_for(
        &self,
        (freelist_is_whole, schema_is_whole): (bool, bool),
        (orphan, shapes, apart): (&OrphanGroup, &Shapes, &BTreeSet<usize>),
        (is_index, is_copy, is_whole): (bool, bool, bool),
        verdict: impl Fn(usize) -> Result<Verdict>,
    ) -> Result<Option<(usize, Origin)>> {
        // Candidates by rank, the surest first: tables with a gap that ends with the last row; tables with a gap for the rows, or whose
        // tree is gone; tables whose tree is gone and whose rows have fewer columns than the table; damaged tables; damaged tables whose
        // rows have fewer columns.
        let mut candidates: [Vec<(usize, Origin)>; 5] = Default::default();
        // The largest number of indexes of a table that have the rows.
        let mut most = 0;
        // Rows that may be of a table do not count as entries of an index, but as rows of no table.
        let mut may_be_table = false;
        for (tree, fitting) in shapes.fitting_short.iter().enumerate() {
            if !is_most(*fitting, shapes.rows) || !is_index && has_some(&self.taken[tree], &orphan.spans) {
                continue;
            }
            // Pages of indexes look like rows of tables: the values tell, or nothing does if no row of the table is known.
            let is_known = !self.classes[tree].is_empty();
            let is_of_table = shapes.entries < shapes.rows || self.is_index_tree[tree];
            if is_index && !(is_known || is_of_table) || self.classes[tree].lack_some_of(&shapes.classes) {
                may_be_table = true;
                continue;
            }
            let is_full = is_most(shapes.fitting[tree], shapes.rows);
            let gap = if is_index { None } else { self.gap(tree, orphan.rowids) };
            // A gap that is open on one side would fit the rows of many tables, so it proves nothing.
            let is_proved = gap.is_some_and(|(low, high)| low.is_some() && high.is_some()) && !is_copy;
            let has_gap = match (&shapes.ends[tree], is_index) {
                (_, false) => gap.is_some(),
                (Some((first, last)), true) => {
                    self.key_gaps[tree].iter().any(|gap| gap.has(first) && gap.has(last))
                }
                (None, true) => !self.gaps[tree].is_empty(),
            };
            let mut wide_gaps = self.wide_gaps[tree].iter();
            let has_wide_gap = wide_gaps.any(|gap| fills(orphan.rowids, *gap))
                && !has_some(&self.owned[tree], &orphan.spans);
            // The last rowid of a leaf is the key of its parent, unless the row was deleted.
            let is_exact = gap.is_some_and(|(_, high)| high == Some(orphan.rowids.1)) && !is_copy;
            let of_gap = if is_proved && freelist_is_whole { Origin::Gap } else { Origin::Shape };
            let (rank, origin) = match () {
                () if is_exact => (0, of_gap),
                () if self.is_gone[tree] => (if is_full { 1 } else { 2 }, Origin::Shape),
                () if is_proved => (1, of_gap),
                () if has_gap => (1, Origin::Shape),
                () if has_wide_gap && !is_copy => (1, Origin::Shape),
                () if is_copy => continue,
                // The gaps of the tree are all leaves that it has lost, except those that it names in other places.
                () if !self.is_open[tree]
                    && is_whole
                    && (!is_index || shapes.ends[tree].is_some())
                    && !orphan.leaves.iter().all(|leaf| self.named[tree].contains(leaf)) =>
                {
                    continue;
                }
                () if self.is_damaged[tree]
                    && (apart.contains(&tree) || !has_some(&self.owned[tree], &orphan.spans)) =>
                {
                    (if is_full { 3 } else { 4 }, Origin::Shape)
                }
                () => continue,
            };
            let attesting = match verdict(tree)? {
                Verdict::Attested(indexes) => indexes,
                Verdict::Denied => continue,
                Verdict::Unknown => 0,
            };
            if attesting > most {
                candidates = Default::default();
                most = attesting;
            }
            if attesting == most {
                // A table that the schema has lost may have had the rows, too.
                let is_sure = schema_is_whole || attesting > 0;
                candidates[rank].push((tree, if is_sure { origin } else { Origin::Shape }));
            }
        }
        let Some(best) = candidates.iter().find(|of_rank| !of_rank.is_empty()) else { return Ok(None) };
        let is_sure = |tree: usize| best.len() == 1 && !(may_be_table && self.is_index_tree[tree]);
        Ok(best.first().copied().filter(|(tree, _)| is_sure(*tree)))
    }
}

/// Returns `true` if all rows but damaged ones fit.
fn is_most(fitting: u64, rows: u64) -> bool {
    rows > 0 && fitting * 10 >= rows * 9
}

/// Returns `true` if ranges, the last rowid by the first, have a rowid of one of the other ranges.
fn has_some(ranges: &BTreeMap<i64, i64>, spans: &[(i64, i64)]) -> bool {
    spans.iter().any(|span| overlaps(ranges, *span))
}

fn overlaps(ranges: &BTreeMap<i64, i64>, (first, last): (i64, i64)) -> bool {
    ranges.range(..=last).next_back().is_some_and(|(_, end)| *end >= first)
}
