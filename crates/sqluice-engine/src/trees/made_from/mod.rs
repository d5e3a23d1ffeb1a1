//! What a B-tree is made from: rows, sorted runs, or trees of other databases.
//!
//! Each file or folder has one kind of tree, and what a worker does with a part of it.

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
use crate::trees::WrittenTree;
use crate::trees::leaf_list::LeafList;

/// The trees of a pass, by what they are built from.
pub(crate) enum Trees<'a> {
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
    pub(crate) fn kind(&self) -> Kind {
        match self {
            TreeCopy::Copied(tree) => tree.kind,
            TreeCopy::United(tree) => tree.kind(),
        }
    }

    /// Where its leaves are listed, if another process makes its interior pages.
    pub(crate) fn leaf_list(&self) -> Option<&Mutex<LeafList>> {
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

    pub(crate) fn parts(&self) -> usize {
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
pub(crate) struct BuiltTree {
    pub(crate) tree: WrittenTree,
    pub(crate) rejected: u64,
    pub(crate) largest_rowid: Option<i64>,
}
