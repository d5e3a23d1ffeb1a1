//! Indexes as witnesses of lost rows: entries whose rowids no saved row of the table has.
//!
//! ```text
//!  leaves of the table       [1 … 40]  lost  [81 … 120]
//!  entries of an index       3  17  41 … 80  95            rows 41 to 80 are lost, and the index has some of their columns
//! ```
//!
//! Only tables that have lost pages or rows have witnesses. If a leaf has lost nothing, all rowids from its first to its last count as
//! saved. The rowids of other leaves are read again, one by one.

use std::collections::{BTreeMap, BTreeSet};

use sqluice_core::error::Result;
use sqluice_core::progress::Context;
use sqluice_format::check::spec::Table;
use sqluice_format::record;

use super::chains::Chains;
use super::file::DamagedFile;
use super::owners::Owners;
use super::rows::{PageRows, SavedRow};
use super::shape::fits;
use super::sought::{Leaf, Origin, Sought};
use super::survey::{PageFacts, on_all_cores};

/// The number of rowids in a word of a bitmap, as a power of two.
const WORD_BITS: u32 = 6;

/// A set of rowids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rowids(BTreeMap<i64, u64>);

impl Rowids {
    /// Adds a rowid.
    pub fn insert(&mut self, rowid: i64) {
        *self.0.entry(rowid >> WORD_BITS).or_default() |= Rowids::bit(rowid);
    }

    /// Returns `true` if the set has a rowid.
    pub fn has(&self, rowid: i64) -> bool {
        self.0.get(&(rowid >> WORD_BITS)).is_some_and(|word| word & Rowids::bit(rowid) != 0)
    }

    /// Returns the number of rowids.
    pub fn count(&self) -> u64 {
        self.0.values().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Adds the rowids of another set.
    pub fn add_all(&mut self, other: &Rowids) {
        for (at, word) in &other.0 {
            *self.0.entry(*at).or_default() |= word;
        }
    }

    /// Returns the rowids in order, as the first and the last of each run without gaps.
    pub fn ranges(&self) -> impl Iterator<Item = (i64, i64)> {
        let of_word = |(at, word): (&i64, &u64)| {
            let (first, word) = (at << WORD_BITS, *word);
            (0..1 << WORD_BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first | bit)
        };
        let mut rowids = self.0.iter().flat_map(of_word).peekable();
        std::iter::from_fn(move || {
            let first = rowids.next()?;
            let mut last = first;
            while let Some(next) = rowids.next_if(|next| last.checked_add(1) == Some(*next)) {
                last = next;
            }
            Some((first, last))
        })
    }

    fn bit(rowid: i64) -> u64 {
        1 << (rowid & ((1 << WORD_BITS) - 1))
    }
}

/// The entries of an index whose rows are lost.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The position of the table in [`Sought::trees`](super::Sought::trees).
    pub table: usize,
    /// The position of the index in [`Sought::trees`](super::Sought::trees).
    pub index: usize,
    /// The rowids of the lost rows.
    pub rowids: Rowids,
    /// The pages of the index that have such entries, in order.
    pub pages: Vec<u32>,
}

impl Witness {
    /// Returns the rowid of an entry on a page of the index, if the row is lost. `entries` describes the entries of the index.
    pub fn rowid_of(&self, entries: &Table, entry: &SavedRow<'_>) -> Option<i64> {
        rowid_of(entries, entry).filter(|rowid| self.rowids.has(*rowid))
    }
}

/// Returns the rowid of an entry: its last field.
fn rowid_of(entries: &Table, entry: &SavedRow<'_>) -> Option<i64> {
    record::last_int(entry.record).filter(|_| fits(entries, entry.types, false))
}

/// The rowids of a table that are not lost.
struct Known {
    /// The leaves that have lost nothing: the last rowid by the first.
    ranges: BTreeMap<i64, i64>,
    /// The rowids on other leaves.
    others: Rowids,
}

impl Known {
    fn of(
        file: &DamagedFile,
        chains: &Chains,
        (facts, leaves): (&[PageFacts], &[Leaf]),
        context: &Context<'_>,
    ) -> Result<Known> {
        let mut known = Known { ranges: BTreeMap::new(), others: Rowids::default() };
        let mut reader = PageRows::default();
        for leaf in leaves {
            let has_all = leaf.is_clean && leaf.rows == u64::from(facts[leaf.page as usize - 1].entries);
            match leaf.rowids {
                Some((first, last)) if has_all && (leaf.origin == Origin::Tree || leaf.is_local) => {
                    let end = known.ranges.entry(first).or_insert(last);
                    *end = last.max(*end);
                }
                _ => {
                    context.cancel.check()?;
                    reader.read(file, chains, leaf.page, |row| {
                        known.others.insert(row.rowid);
                        Ok(())
                    })?;
                }
            }
        }
        Ok(known)
    }

    fn has(&self, rowid: i64) -> bool {
        let before = self.ranges.range(..=rowid).next_back();
        before.is_some_and(|(_, last)| rowid <= *last) || self.others.has(rowid)
    }
}

/// Finds the entries of indexes whose rows are lost. `has_lost` is `true` for each tree that has lost pages or rows.
///
/// # Errors
/// When the file can't be read.
pub(super) fn witnesses(
    file: &DamagedFile,
    (sought, owners, chains): (&Sought<'_>, &Owners, &Chains),
    (leaves, has_lost): (&[Vec<Leaf>], &[bool]),
    context: &Context<'_>,
) -> Result<Vec<Witness>> {
    // `tables` has, for each tree that is an index, its rowid table if this has lost rows; `None` for other trees.
    let tables: Vec<Option<usize>> = sought
        .trees
        .iter()
        .map(|index| index.entries.as_ref().and(index.table_tree).filter(|table| has_lost[*table]))
        .map(|table| table.filter(|table| !sought.trees[*table].is_index))
        .collect();
    let needed: BTreeSet<usize> = tables.iter().flatten().copied().collect();
    let mut known: BTreeMap<usize, Known> = BTreeMap::new();
    for table in needed {
        known.insert(table, Known::of(file, chains, (sought.facts, &leaves[table]), context)?);
    }
    let table_of = |page: u32| tables[owners.of(page)?];
    let is_wanted = |page: u32| sought.facts[page as usize - 1].entries > 0 && table_of(page).is_some();
    let runs = match known.is_empty() {
        true => Vec::new(),
        false => on_all_cores(file, sought.threads, context, is_wanted, |first, bytes| {
            let mut found: BTreeMap<usize, (Rowids, Vec<u32>)> = BTreeMap::new();
            let mut reader = PageRows::default();
            for (number, page) in (first..).zip(bytes.chunks_exact(file.geometry().page_bytes())) {
                let (Some(index), Some(table)) = (owners.of(number), table_of(number)) else { continue };
                let Some(entries) = &sought.trees[index].entries else { continue };
                let known = &known[&table];
                reader.read_from(file, chains, (number, page), |row| {
                    if let Some(rowid) = rowid_of(entries, &row).filter(|rowid| !known.has(*rowid)) {
                        let (rowids, pages) = found.entry(index).or_default();
                        rowids.insert(rowid);
                        if pages.last() != Some(&number) {
                            pages.push(number);
                        }
                    }
                    Ok(())
                })?;
            }
            Ok(found)
        })?,
    };
    let mut all: BTreeMap<usize, Witness> = BTreeMap::new();
    for (index, (rowids, pages)) in runs.into_iter().flatten() {
        let Some(table) = tables[index] else { continue };
        let witness = all.entry(index).or_insert_with(|| Witness {
            table,
            index,
            rowids: Rowids::default(),
            pages: Vec::new(),
        });
        witness.rowids.add_all(&rowids);
        witness.pages.extend(pages);
    }
    Ok(all.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rowids_are_counted_once_and_come_in_runs() {
        let mut rowids = Rowids::default();
        let mut other = Rowids::default();
        for rowid in [5, 4, 3, 3, 64, 63, -1, 0, i64::MIN, i64::MAX] {
            rowids.insert(rowid);
        }
        [65, 64, 100].into_iter().for_each(|rowid| other.insert(rowid));
        rowids.add_all(&other);
        let ranges: Vec<(i64, i64)> = rowids.ranges().collect();
        let runs = [(i64::MIN, i64::MIN), (-1, 0), (3, 5), (63, 65), (100, 100), (i64::MAX, i64::MAX)];
        assert_eq!((ranges, rowids.count()), (runs.to_vec(), 11));
        assert!(rowids.has(-1) && rowids.has(i64::MIN) && !rowids.has(1) && !rowids.has(66));
    }
}
