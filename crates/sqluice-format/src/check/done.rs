//! The findings about a part of a tree that has been read, and the place of this part in the tree.

use super::Report;
use super::digest::Sum;
use super::sequence::{Keys, Rowids};

/// The place of a page in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageInTree {
    pub(super) page: u32,
    /// The page that points to this page, or 0 for a root.
    pub(super) parent: u32,
    /// The number of levels below the root.
    pub(super) level: u32,
    /// The largest rowid that the page may contain; `None` for no bound.
    pub(super) upper: Option<i64>,
}

impl PageInTree {
    /// Returns the place of a root.
    pub(super) fn root(page: u32) -> PageInTree {
        PageInTree { page, parent: 0, level: 0, upper: None }
    }
}

/// The findings of a part that has been read.
#[derive(Debug)]
pub struct Done {
    pub(super) place: PageInTree,
    pub(super) depth: Option<u32>,
    pub(super) report: Report,
    pub(super) rowids: Rowids,
    pub(super) keys: Keys,
    pub(super) sums: Vec<Sum>,
}
