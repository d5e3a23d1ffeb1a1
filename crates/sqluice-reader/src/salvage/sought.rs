//! The trees to find, and the leaves that were found of them.

use std::collections::BTreeSet;

use sqluice_format::check::spec::Table;
use sqluice_format::salvage::Shape;

use super::shape::fits;
use super::survey::PageFacts;

/// A tree that the schema names, or whose place is not known.
#[derive(Clone, Debug)]
pub struct SoughtTree {
    /// The name of the table or index.
    pub name: String,
    /// The root page, if it is known.
    pub root: Option<u32>,
    /// `true` if the tree is an index or a WITHOUT ROWID table.
    pub is_index: bool,
    /// The table whose rows the tree has; `None` for other trees.
    pub table: Option<Table>,
    /// The entries of an index, as rows of a WITHOUT ROWID table. They tell pages of the index apart from pages of such tables.
    pub entries: Option<Table>,
    /// If the last fields of the table's records are computed from other fields: the number of fields before them. `None` if the last field
    /// is not computed.
    pub needed_fields: Option<usize>,
    /// The number of the tree of an index's table.
    pub table_tree: Option<usize>,
}

impl SoughtTree {
    /// Returns the rows or entries of the tree, if the schema describes them.
    pub(super) fn described(&self) -> Option<&Table> {
        self.table.as_ref().or(self.entries.as_ref())
    }
}

/// The trees to find, and what may count as a row.
#[derive(Debug)]
pub struct Sought<'a> {
    /// The trees.
    pub trees: &'a [SoughtTree],
    /// The pages of the first tree, that of the schema, which its root may no longer name.
    pub schema_pages: &'a BTreeSet<u32>,
    /// The facts of all pages.
    pub facts: &'a [PageFacts],
    /// The shapes of whole leaves.
    pub shapes: &'a [Shape],
    /// `true` if a leaf goes to no table when only the shape of its rows assigns it to a table ([`Origin::Shape`]).
    pub strict: bool,
    /// `true` to find pages of the freelist, too.
    pub deleted: bool,
    /// `true` if no row of the schema is lost: index pages that no tree names are then pages of indexes, whose rows are in tables.
    pub schema_is_whole: bool,
    /// The number of threads.
    pub threads: usize,
}

impl Sought<'_> {
    /// Returns the facts and the shape of a page, if the page is a whole leaf of a table without overflowing rows.
    pub(super) fn shaped(&self, page: u32) -> Option<(&PageFacts, &Shape)> {
        let about = &self.facts[page as usize - 1];
        let shape = self.shapes.get((about.shape as usize).checked_sub(1)?)?;
        (!about.overflows).then_some((about, shape))
    }

    /// Returns `true` if a record with these serial types can be an entry of an index.
    pub(super) fn is_entry(&self, types: &[u64]) -> bool {
        let mut indexes = self.trees.iter().filter_map(|tree| tree.entries.as_ref());
        indexes.any(|entries| fits(entries, types, false))
    }
}

/// The reason why a leaf counts as one of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The tree names the leaf.
    Tree,
    /// Its rowids fill a gap of the tree.
    Gap,
    /// Its rows can be rows of the table, but nothing proves that they are.
    Shape,
}

/// A leaf of a table, or a page of an index with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The page.
    pub page: u32,
    /// The reason why the leaf counts.
    pub origin: Origin,
    /// `true` if the tree names the leaf, also where this does not prove that the rows are its own.
    pub is_named: bool,
    /// The first and the last rowid, in a rowid table.
    pub rowids: Option<(i64, i64)>,
    /// `true` if all rows are in order, and each can be a row of the table.
    pub is_clean: bool,
    /// `true` if each row has all fields, and a table that takes the storage classes of their values takes every such value as it is.
    pub is_verbatim: bool,
    /// `true` if no row has a part on another page.
    pub is_local: bool,
    /// The number of sound rows.
    pub rows: u64,
}
