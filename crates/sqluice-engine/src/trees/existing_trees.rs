//! The existing trees of a table, which grow.
//!
//! ```text
//!                    [ root     a | b | c | · ]           the root keeps its page
//!                                          \
//!           ... subtrees of a, b, c ...   [ d | e | · ]   the right edge: interior pages that are rebuilt, in the places of
//!                                                  \      the old ones and behind the end of the file
//!                       ... leaves of d, e ...    [leaf]  stays as it is, and new leaves follow it
//! ```

use sqluice_core::error::Result;
use sqluice_core::schema::Table;
use sqluice_format::tree::Child;

use crate::sort::Sorter;

/// What the trees of a table grow from.
#[derive(Clone, Debug)]
pub(crate) struct ExistingTrees {
    /// The root of its rows.
    pub(crate) root_page: u32,
    /// The roots of its indexes, in the order of [`Table::indexes`]; 0 for those that are SQLite's to make. They will get new trees.
    pub(crate) indexes: Vec<u32>,
    /// The right edge of its rows.
    pub(crate) edge: Edge,
}

/// The right edge of a table with rowids. Of one without rows all is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edge {
    /// The children of its interior pages, from the level above the leaves up to the root; above the leaves' level the right-most
    /// of each page is left out.
    pub(crate) levels: Vec<Vec<Child>>,
    /// Its interior pages below the root, which get new bytes.
    pub(crate) interior_pages: Vec<u32>,
    /// The bytes of a root that is a leaf, and must become the parent of one.
    pub(crate) leaf: Option<Vec<u8>>,
    /// The largest rowid.
    pub(crate) largest_rowid: Option<i64>,
    /// The number that rowids are counted from: the first row that gives none gets the next.
    pub(crate) counted_from: i64,
}

/// Where the entries are that the indexes of a table have.
pub(crate) trait OldEntries {
    /// Gives them to the sorter of the new ones: of index `index` of the table, whose root is that page.
    ///
    /// # Errors
    /// When they can't be read, or temporary space runs out.
    fn give(&self, table: &Table, index: usize, root_page: u32, sorter: &Sorter) -> Result<()>;
}
