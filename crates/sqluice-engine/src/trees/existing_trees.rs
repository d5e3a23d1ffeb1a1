//! The existing trees of a table to which rows are added.
//!
//! ```text
//!                    [ root     a | b | c | · ]           the root keeps its page
//!                                          \
//!           ... subtrees of a, b, c ...   [ d | e | · ]   interior pages on the right edge are rebuilt
//!                                                  \
//!                       ... leaves of d, e ...    [leaf]  the last leaf is unchanged, and new leaves follow
//! ```
//!
//! The rebuilt interior pages get the page numbers of the old ones. If there are more interior pages than before, the additional pages get
//! new numbers at the end of the file.

use sqluice_core::error::Result;
use sqluice_core::schema::Table;
use sqluice_format::tree::Child;

use crate::sort::Sorter;

/// The existing trees of a table, to which new rows are added.
#[derive(Clone, Debug)]
pub(crate) struct ExistingTrees {
    /// The root page of the table.
    pub(crate) root_page: u32,
    /// The root page of each index, in the order of [`Table::indexes`]; 0 if SQLite builds the index. The tree of each other index is
    /// written anew, and keeps its root page.
    pub(crate) indexes: Vec<u32>,
    /// The right edge of the table's B-tree, after which new leaves are appended.
    pub(crate) edge: Edge,
}

/// The right edge of the B-tree of a table with rowids: the last page on each level, after which rows are appended. Without rows, the edge
/// is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edge {
    /// The children of the interior pages on the right edge: one list for each level, from the level above the leaves to the root. In all
    /// lists but the first, the right-most child is left out, because this page is on the edge itself and is rebuilt.
    pub(crate) levels: Vec<Vec<Child>>,
    /// The page numbers of the interior pages on the right edge, without the root. The rebuilt interior pages get these numbers first.
    pub(crate) interior_pages: Vec<u32>,
    /// The bytes of the root if the root is a leaf; `None` otherwise. The leaf moves to a new page, and the root becomes its parent.
    pub(crate) leaf: Option<Vec<u8>>,
    /// The largest rowid; `None` if the table has no rows.
    pub(crate) largest_rowid: Option<i64>,
    /// The rowid that the first new row follows, if the input gives no rowids.
    pub(crate) counted_from: i64,
}

/// A reader of the entries that the indexes of a table have before rows are added.
pub(crate) trait OldEntries {
    /// Pushes the existing entries of index `index` of the table to `sorter`, which also gets the new entries. The root of the index is
    /// `root_page`.
    ///
    /// # Errors
    /// If the entries can't be read, or temporary space runs out.
    fn give(&self, table: &Table, index: usize, root_page: u32, sorter: &Sorter) -> Result<()>;
}
