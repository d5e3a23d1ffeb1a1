//! The sources of B-trees: rows, sorted runs, or trees of other databases.
//!
//! Each module has one kind of tree, and the work on a part of the tree.

pub(crate) mod copied;
pub(crate) mod rows;
pub(crate) mod sorted_runs;
pub(crate) mod source_tree;
pub(crate) mod united;

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use sqluice_format::scan::Kind;

use self::copied::CopyTree;
use self::rows::RowsTree;
use self::sorted_runs::RunsTree;
use self::united::UnionTree;
use crate::reject::Rejected;
use crate::trees::WrittenTree;
use crate::trees::leaf_list::LeafList;

/// The trees of a pass, by the kind of their sources.
pub(crate) enum Trees<'a> {
    /// Rows of tables, as they arrive from their sources.
    Rows(Vec<RowsTree<'a>>),
    /// Sorted runs.
    Runs(Vec<RunsTree<'a>>),
    /// Trees of other databases.
    Copy(&'a [TreeCopy<'a>]),
}

/// A tree made from trees of other databases.
pub(crate) enum TreeCopy<'a> {
    /// A copy of one tree, or of several trees in sequence.
    Copied(CopyTree<'a>),
    /// A union of several trees whose entries interleave.
    United(UnionTree<'a>),
}

impl TreeCopy<'_> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            TreeCopy::Copied(tree) => tree.kind,
            TreeCopy::United(tree) => tree.kind(),
        }
    }

    /// Returns the list of leaves, if another process builds the interior pages.
    pub(crate) fn leaf_list(&self) -> Option<&Mutex<LeafList>> {
        match self {
            TreeCopy::Copied(tree) => tree.leaves.as_ref(),
            TreeCopy::United(_) => None,
        }
    }

    /// Returns the list of leaves after all leaves are written.
    pub(crate) fn into_leaf_list(self) -> Option<LeafList> {
        match self {
            TreeCopy::Copied(tree) => {
                tree.leaves.map(|list| list.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            TreeCopy::United(_) => None,
        }
    }

    pub(crate) fn parts(&self) -> usize {
        match self {
            TreeCopy::Copied(tree) => tree.parts(),
            TreeCopy::United(tree) => tree.parts(),
        }
    }

    /// Returns `true` if a source's entries are out of order.
    pub(crate) fn is_out_of_order(&self) -> bool {
        match self {
            TreeCopy::Copied(tree) => tree.out_of_order.load(Ordering::Relaxed),
            TreeCopy::United(tree) => tree.is_out_of_order(),
        }
    }

    /// Returns the number of leaves that were copied unchanged.
    pub(crate) fn relocated(&self) -> u64 {
        match self {
            TreeCopy::Copied(tree) => tree.relocated.load(Ordering::Relaxed),
            TreeCopy::United(_) => 0,
        }
    }
}

/// A B-tree that a pass has built.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BuiltTree {
    pub(crate) tree: WrittenTree,
    pub(crate) rejected: Rejected,
    pub(crate) largest_rowid: Option<i64>,
}
