//! The B-trees of a pass, by what they are made from: rows, sorted runs, or trees of other databases.
//!
//! Each module has one kind of tree, and the work of a worker on a part of this tree.

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

/// The trees that a pass builds. All trees of a pass are made from the same kind of source.
pub(crate) enum Trees<'a> {
    /// Tables made from rows of sources, in the order in which the rows arrive.
    Rows(Vec<RowsTree<'a>>),
    /// Tables and indexes made from sorted items.
    Runs(Vec<RunsTree<'a>>),
    /// Tables and indexes made from trees of other databases.
    Copy(&'a [TreeCopy<'a>]),
}

/// A tree made from trees of other databases.
pub(crate) enum TreeCopy<'a> {
    /// A copy of one tree, or of several trees, one after another.
    Copied(CopyTree<'a>),
    /// A union of several trees whose keys interleave, so that their entries are merged.
    United(UnionTree<'a>),
}

impl TreeCopy<'_> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            TreeCopy::Copied(tree) => tree.kind,
            TreeCopy::United(tree) => tree.kind(),
        }
    }

    /// Returns the leaf list to write, if another process builds the interior pages.
    pub(crate) fn leaf_list(&self) -> Option<&Mutex<LeafList>> {
        match self {
            TreeCopy::Copied(tree) => tree.leaves.as_ref(),
            TreeCopy::United(_) => None,
        }
    }

    /// Returns the leaf list, which the caller then finishes, or `None` if no list is written. Must be called after all leaves are written
    /// to the database.
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

    /// Returns `true` if the entries of a source were found out of order, so that the tree must be sorted instead.
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

/// A B-tree that a pass has built, the number of its rejected rows, and the largest rowid if the tree is a table with rowids.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BuiltTree {
    pub(crate) tree: WrittenTree,
    pub(crate) rejected: Rejected,
    pub(crate) largest_rowid: Option<i64>,
}
