//! The existing trees of a growing table.
//!
//! ```text
//!                    [ root     a | b | c | · ]           the root keeps its page
//!                                          \
//!           ... subtrees of a, b, c ...   [ d | e | · ]   the right edge: interior pages that are rebuilt, on their old
//!                                                  \      pages and past the end of the file
//!                       ... leaves of d, e ...    [leaf]  is unchanged, and new leaves follow
//! ```

use sqluice_core::error::Result;
use sqluice_core::schema::Table;
use sqluice_format::tree::Child;

use crate::sort::Sorter;

/// The existing trees of a table, to which new rows are added.
#[derive(Clone, Debug)]
pub(crate) struct ExistingTrees {
    /// The root page of the table.
    pub(crate) root_page: u32,
    /// The root pages of the indexes, in the order of [`Table::indexes`]; 0 if SQLite makes the index. Each other index gets a new tree.
    pub(crate) indexes: Vec<u32>,
    /// The right edge of the table tree.
    pub(crate) edge: Edge,
}

/// The right edge of the tree of a table with rowids. The edge of a table without rows is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edge {
    /// The children of the interior pages on the right edge: one list for each level, from the level above the leaves to the root. All
    /// lists but the first leave out the right-most child.
    pub(crate) levels: Vec<Vec<Child>>,
    /// The interior pages on the right edge below the root. These pages get new bytes.
    pub(crate) interior_pages: Vec<u32>,
    /// The bytes of a root that is a leaf. The leaf moves to a new page, and the root becomes its parent.
    pub(crate) leaf: Option<Vec<u8>>,
    /// The largest rowid; `None` if the table has no rows.
    pub(crate) largest_rowid: Option<i64>,
    /// The number before the rowid of the first new row, if the rows have no rowids of their own.
    pub(crate) counted_from: i64,
}

/// A reader of the existing entries of a table's indexes.
pub(crate) trait OldEntries {
    /// Pushes the existing entries of index `index` of the table to `sorter`, which also gets the new entries. The root of the index is
    /// `root_page`.
    ///
    /// # Errors
    /// If the entries can't be read, or temporary space runs out.
    fn give(&self, table: &Table, index: usize, root_page: u32, sorter: &Sorter) -> Result<()>;
}
