//! Indexes as witnesses of leaves: an index has an entry for each row of its table, with the row's values.
//!
//! ```text
//!  row 41 on a leaf:  'Ada', 1815      entry 1815, 41 in the index on t1 (born)     the leaf is one of t1
//!                                      no such entry in that on t2 (born)           the leaf is none of t2
//! ```
//!
//! A few rows of a leaf are looked up, from the root of the index down. An entry that would be on a damaged page proves nothing. An index
//! may be damaged as well, so an index is believed only if it has entries for rows that are known to be in its table, or probably are.

use sqluice_core::error::Result;
use sqluice_format::check::spec::{Index, Source, Table};
use sqluice_format::key::KeyOrder;
use sqluice_format::page::PageKind;
use sqluice_format::record;
use sqluice_format::salvage::{Salvage, Types, read_types};
use sqluice_format::value::Value;

use super::file::DamagedFile;
use super::keys::{full_key_of, key_of_record, order_of};
use super::owners::Owners;
use super::shape::fits;
use super::sought::Sought;

/// The number of rows of a leaf that are looked up.
const ROWS: usize = 3;

/// The number of leaves of a group, or of a tree, that are looked up.
const LEAVES: usize = 3;

/// The largest number of leaves of other trees, or of none, in which an index looks for rows of its table.
const OTHERS_MAX: usize = 256;

/// The largest depth of an index.
const DEPTH_MAX: usize = 40;

/// The statement of a table's indexes about leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This number of indexes has the rows.
    Attested(usize),
    /// The indexes do not have the rows.
    Denied,
    /// Nothing is known.
    Unknown,
}

/// The indexes that are believed.
pub(super) struct Indexes<'a> {
    file: &'a DamagedFile,
    sought: &'a Sought<'a>,
    /// For each tree of a table, the trees of these indexes.
    indexes: Vec<Vec<usize>>,
}

/// The numbers of looked up rows that an index has, and that it lacks.
#[derive(Clone, Copy, Default)]
struct Answers {
    has: usize,
    lacks: usize,
}

impl Answers {
    fn is_yes(self) -> bool {
        self.has > self.lacks
    }

    /// A single row that the index lacks does not count as a no: the row may have a damaged value.
    fn is_no(self) -> bool {
        self.has == 0 && self.lacks > 1
    }
}

/// The leaves that a tree names.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    /// The leaves whose parents say both ends of their keys, and have only such keys.
    pub(super) sure: Vec<u32>,
    /// The other leaves.
    pub(super) others: Vec<u32>,
}

impl<'a> Indexes<'a> {
    /// Finds the indexes that are believed. `named` are the leaves of each tree.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(super) fn new(
        (file, sought): (&'a DamagedFile, &'a Sought<'a>),
        owners: &Owners,
        named: &[Named],
    ) -> Result<Indexes<'a>> {
        let mut all = Indexes { file, sought, indexes: vec![Vec::new(); sought.trees.len()] };
        for (index, tree) in sought.trees.iter().enumerate() {
            let Some(table) = tree.table_tree.filter(|table| all.index_of(*table, index).is_some()) else {
                continue;
            };
            if all.is_believed(owners, (table, index), &named[table])? {
                all.indexes[table].push(index);
            }
        }
        Ok(all)
    }

    /// Returns the statement of a table's indexes about leaves.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(super) fn verdict(&self, owners: &Owners, table: usize, leaves: &[u32]) -> Result<Verdict> {
        let (mut yes, mut no) = (0, 0);
        for &index in &self.indexes[table] {
            let mut all = Answers::default();
            for leaf in some_of(leaves) {
                let answers = self.ask(owners, (table, index), leaf)?;
                (all.has, all.lacks) = (all.has + answers.has, all.lacks + answers.lacks);
            }
            (yes, no) = (yes + usize::from(all.is_yes()), no + usize::from(all.is_no()));
        }
        Ok(match () {
            () if yes > no => Verdict::Attested(yes),
            () if no > yes => Verdict::Denied,
            () => Verdict::Unknown,
        })
    }

    /// Returns the one of `tables` whose indexes have the rows of a leaf. If the indexes of several tables have the rows, because the
    /// tables share values, returns the table for which the most indexes have them; `None` if two tables have equally many.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(super) fn best_of(&self, owners: &Owners, tables: &[usize], leaf: u32) -> Result<Option<usize>> {
        let mut best: Vec<(usize, usize)> = Vec::new();
        for &table in tables {
            if let Verdict::Attested(indexes) = self.verdict(owners, table, &[leaf])? {
                best.push((indexes, table));
            }
        }
        best.sort_unstable();
        Ok(match best[..] {
            [.., (before, _), (most, table)] => (before < most).then_some(table),
            [(_, table)] => Some(table),
            [] => None,
        })
    }

    /// Returns `true` if the indexes of another table than this have the rows of a leaf.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(super) fn is_of_another(&self, owners: &Owners, table: usize, leaf: u32) -> Result<bool> {
        for other in (0..self.indexes.len()).filter(|other| *other != table) {
            if matches!(self.verdict(owners, other, &[leaf])?, Verdict::Attested(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns `true` if an index has entries for rows on the sure leaves of its table. If the table has no sure leaf, its tree may be
    /// wrong: then entries for rows on its other leaves suffice, or for rows on leaves of no tree, or of another tree whose own indexes do
    /// not have the rows.
    fn is_believed(&self, owners: &Owners, of: (usize, usize), named: &Named) -> Result<bool> {
        // The file may be cut off before the root that the schema says.
        let about = |root: u32| self.sought.facts.get((root as usize).checked_sub(1)?);
        let root = self.sought.trees[of.1].root.and_then(about);
        // An index without entries knows no rows, and is not looked for on all pages.
        if root
            .is_some_and(|root| root.kind == Some(PageKind::LeafIndex) && root.is_whole && root.entries == 0)
        {
            return Ok(false);
        }
        let own = if named.sure.is_empty() { &named.others } else { &named.sure };
        for leaf in some_of(own) {
            if self.ask(owners, of, leaf)?.has > 0 {
                return Ok(true);
            }
        }
        if !named.sure.is_empty() {
            return Ok(false);
        }
        let is_index = self.sought.trees[of.0].is_index;
        let leaf = if is_index { PageKind::LeafIndex } else { PageKind::LeafTable };
        let is_other = |page: &u32| {
            let about = &self.sought.facts[*page as usize - 1];
            let owner = owners.of(*page);
            about.kind == Some(leaf) && about.entries > 0 && owner != Some(of.0) && owner != Some(of.1)
        };
        let others = || (1..=self.sought.facts.len() as u32).filter(is_other);
        let strays = others().filter(|page| owners.of(*page).is_none());
        let mut asked = 0;
        for page in strays.chain(others().filter(|page| owners.of(*page).is_some())) {
            let answers = self.ask(owners, of, page)?;
            asked += usize::from(answers.has + answers.lacks > 0);
            let owner = owners.of(page).filter(|owner| self.sought.trees[*owner].table.is_some());
            if answers.is_yes() && !self.is_known_to_its_own(owners, owner, page)? {
                return Ok(true);
            }
            if asked == OTHERS_MAX {
                break;
            }
        }
        Ok(false)
    }

    /// Returns `true` if an index of the table whose tree names a leaf has its rows.
    fn is_known_to_its_own(&self, owners: &Owners, owner: Option<usize>, page: u32) -> Result<bool> {
        let Some(owner) = owner else { return Ok(false) };
        for index in (0..self.sought.trees.len()).filter(|index| self.index_of(owner, *index).is_some()) {
            if self.ask(owners, (owner, index), page)?.is_yes() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the table, the description and the order of an index whose entries can be made from rows.
    fn index_of(&self, table: usize, index: usize) -> Option<(&Table, &Index, &KeyOrder)> {
        let tree = &self.sought.trees[index];
        let of_entries = tree.entries.as_ref().filter(|_| tree.table_tree == Some(table))?;
        let table = self.sought.trees[table].table.as_ref()?;
        let index = table.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&tree.name))?;
        let is_whole = !index.partial && !index.fields.contains(&Source::Computed);
        Some((table, index, order_of(of_entries)?)).filter(|_| is_whole)
    }

    /// Looks up rows of a leaf in an index of a table.
    fn ask(&self, owners: &Owners, (table, index): (usize, usize), leaf: u32) -> Result<Answers> {
        let mut answers = Answers::default();
        let Some((spec, of_index, order)) = self.index_of(table, index) else { return Ok(answers) };
        let (mut salvage, mut types) = (Salvage::default(), Types::new());
        let mut page = vec![0; self.file.geometry().page_bytes()];
        self.file.read(leaf, &mut page)?;
        salvage.read(&page, leaf, self.file.geometry(), &mut types);
        let rows: Vec<usize> = (0..salvage.entries.len())
            .filter(|at| {
                let entry = &salvage.entries[*at];
                let start = &page[entry.cell.local.clone()];
                let is_local = entry.cell.overflow.is_none() && entry.mended.is_none();
                is_local
                    && read_types(start, entry.cell.payload_bytes, &mut types) == Some(true)
                    && fits(spec, &types, true)
            })
            .collect();
        for at in places(rows.len(), ROWS).map(|at| rows[at]) {
            let cell = &salvage.entries[at].cell;
            let Ok(values) = record::decode(&page[cell.local.clone()]) else { continue };
            let fields = of_index.fields.iter().map(|source| match source {
                Source::Field(field) if spec.rowid_field != Some(*field) => {
                    let default = || spec.fields.get(*field).map(|field| field.default.value());
                    values.get(*field).copied().or_else(default).unwrap_or(Value::Null)
                }
                _ => Value::Int(cell.rowid),
            });
            let Some(wanted) = key_of_record(order, &fields.collect::<Vec<_>>()) else { continue };
            match self.has(owners, (index, order), &wanted)? {
                Some(true) => answers.has += 1,
                Some(false) => answers.lacks += 1,
                None => {}
            }
        }
        Ok(answers)
    }

    /// Returns `true` if an index has an entry with a key, and `None` if a damaged page may have it.
    fn has(
        &self,
        owners: &Owners,
        (index, order): (usize, &KeyOrder),
        wanted: &[u8],
    ) -> Result<Option<bool>> {
        let (mut salvage, mut types) = (Salvage::default(), Types::new());
        let mut page = vec![0; self.file.geometry().page_bytes()];
        let mut number = self.sought.trees[index].root.unwrap_or(0);
        for _ in 0..DEPTH_MAX {
            let is_page = number > 0 && number as usize <= self.sought.facts.len();
            if !is_page || owners.of(number) != Some(index) {
                return Ok(None);
            }
            self.file.read(number, &mut page)?;
            let kind = salvage.read(&page, number, self.file.geometry(), &mut types);
            // An entry with a part of its key on another page can't be compared.
            let mut is_compared = salvage.is_whole;
            let mut is_found = false;
            let at = salvage.entries.partition_point(|entry| {
                let start = &page[entry.cell.local.clone()];
                let key = full_key_of(order, start, entry.cell.payload_bytes, &mut types);
                is_compared &= key.is_some();
                is_found |= key.as_deref() == Some(wanted);
                key.is_some_and(|key| key.as_slice() < wanted)
            });
            match () {
                () if is_found => return Ok(Some(true)),
                () if !is_compared => return Ok(None),
                () if kind == Some(PageKind::LeafIndex) => return Ok(Some(false)),
                () => {}
            }
            let Some(&(child, _)) = salvage.children.get(at) else { return Ok(None) };
            number = child;
        }
        Ok(None)
    }
}

/// Returns up to `most` numbers below `count`: the first, the last, and others between them.
fn places(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |at| if taken < 2 { 0 } else { at * (count - 1) / (taken - 1) })
}

fn some_of(leaves: &[u32]) -> impl Iterator<Item = u32> {
    places(leaves.len(), LEAVES).map(|at| leaves[at])
}
