//! The inputs of a merge that is running, and the rows that it leaves out.

use std::collections::HashMap;
use std::path::PathBuf;

use sqluice_engine::verification::Verification;

use super::Merge;
use super::design::Design;
use super::inserted::InsertedTables;
use super::sources::{Shared, Source};

/// The rowids of left-out rows in ascending order, by the position of their source and the position of their table among the merged tables.
pub(super) type LeftOut = HashMap<(usize, usize), Vec<i64>>;

/// The inputs of a merge that is running, once all sources have been examined.
pub(super) struct Run<'r> {
    pub(super) merge: &'r Merge,
    pub(super) sources: &'r [Source],
    pub(super) shared: &'r [Shared],
    pub(super) design: &'r Design<'r>,
    pub(super) inserted: Option<&'r InsertedTables>,
    /// The files with the lists of leaves, if other processes have copied the leaves of this merge; otherwise empty.
    pub(super) lists: &'r [PathBuf],
    /// The verification of each source.
    pub(super) verifications: &'r [Verification<'r>],
}
