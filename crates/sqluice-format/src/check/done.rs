//! A part of a tree that has been read, and where in the tree it is.

use super::Report;
use super::digest::Sum;
use super::sequence::{Keys, Rowids};

/// Where a page is in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageInTree {
    pub(super) page: u32,
    /// The page that points to it, 0 for a root.
    pub(super) parent: u32,
    /// Levels below the root.
    pub(super) level: u32,
    /// Rowids below it are at most this.
    pub(super) upper: Option<i64>,
}

impl PageInTree {
    /// The place of a root.
    pub(super) fn root(page: u32) -> PageInTree {
        PageInTree { page, parent: 0, level: 0, upper: None }
    }
}

/// A part that has been read.
#[derive(Debug)]
pub struct Done {
    pub(super) place: PageInTree,
    pub(super) depth: Option<u32>,
    pub(super) report: Report,
    pub(super) rowids: Rowids,
    pub(super) keys: Keys,
    pub(super) sums: Vec<Sum>,
}
