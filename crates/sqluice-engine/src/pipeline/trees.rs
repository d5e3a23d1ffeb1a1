//! The B-trees of a pass.

use super::WrittenTree;
use super::copy_tree::CopyTree;
use super::merge_tree::MergeTree;
use super::rows::RowsTree;

/// The trees of a pass, by what they are built from.
pub(super) enum Trees<'a> {
    /// Rows of tables, as they arrive from their sources.
    Rows(Vec<RowsTree<'a>>),
    /// What has been sorted.
    Merge(Vec<MergeTree<'a>>),
    /// Trees of another database.
    Copy(&'a [CopyTree<'a>]),
}

/// A B-tree that a pass has built.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BuiltTree {
    pub(super) tree: WrittenTree,
    pub(super) rejected: u64,
    pub(super) largest_rowid: Option<i64>,
}
