//! The B-trees of a pass.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use sqluice_format::scan::Kind;

use super::WrittenTree;
use super::copy_tree::CopyTree;
use super::leaf_list::LeafList;
use super::merge_tree::RunsTree;
use super::rows::RowsTree;
use super::union_tree::UnionTree;

/// The trees of a pass, by what they are built from.
pub(super) enum Trees<'a> {
    /// Rows of tables, as they arrive from their sources.
    Rows(Vec<RowsTree<'a>>),
    /// Sorted runs.
    Runs(Vec<RunsTree<'a>>),
    /// Trees of other databases.
    Copy(&'a [TreeCopy<'a>]),
}

/// A tree that is made of those of other databases.
pub(crate) enum TreeCopy<'a> {
    /// Of one, or of several one after another.
    Copied(CopyTree<'a>),
    /// Of several whose entries interleave.
    United(UnionTree<'a>),
}

impl TreeCopy<'_> {
    pub(super) fn kind(&self) -> Kind {
        match self {
            TreeCopy::Copied(tree) => tree.kind,
            TreeCopy::United(tree) => tree.kind(),
        }
    }

    /// Where its leaves are listed, if another process makes its interior pages.
    pub(super) fn leaf_list(&self) -> Option<&Mutex<LeafList>> {
        match self {
            TreeCopy::Copied(tree) => tree.leaves.as_ref(),
            TreeCopy::United(_) => None,
        }
    }

    /// That list, when all is written.
    pub(crate) fn into_leaf_list(self) -> Option<LeafList> {
        match self {
            TreeCopy::Copied(tree) => {
                tree.leaves.map(|list| list.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            TreeCopy::United(_) => None,
        }
    }

    pub(super) fn parts(&self) -> usize {
        match self {
            TreeCopy::Copied(tree) => tree.parts(),
            TreeCopy::United(tree) => tree.parts(),
        }
    }

    /// Whether an entry was found that does not follow the one before.
    pub(crate) fn is_out_of_order(&self) -> bool {
        match self {
            TreeCopy::Copied(tree) => tree.out_of_order.load(Ordering::Relaxed),
            TreeCopy::United(tree) => tree.is_out_of_order(),
        }
    }

    /// Leaves that were taken as they are.
    pub(crate) fn relocated(&self) -> u64 {
        match self {
            TreeCopy::Copied(tree) => tree.relocated.load(Ordering::Relaxed),
            TreeCopy::United(_) => 0,
        }
    }
}

/// A B-tree that a pass has built.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BuiltTree {
    pub(super) tree: WrittenTree,
    pub(super) rejected: u64,
    pub(super) largest_rowid: Option<i64>,
}
