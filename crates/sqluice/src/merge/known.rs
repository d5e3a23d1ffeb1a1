//! The facts that a run knows before it writes pages.

use std::collections::HashMap;
use std::path::PathBuf;

use sqluice_engine::verification::Verification;

use super::Merge;
use super::design::Design;
use super::inserted::InsertedTables;
use super::sources::{Shared, Source};

/// The rowids of left-out rows, by source and by the index of the table, in ascending order.
pub(super) type LeftOut = HashMap<(usize, usize), Vec<i64>>;

/// The inputs of a run, after all sources are examined.
pub(super) struct Run<'r> {
    pub(super) merge: &'r Merge,
    pub(super) sources: &'r [Source],
    pub(super) shared: &'r [Shared],
    pub(super) design: &'r Design<'r>,
    pub(super) inserted: Option<&'r InsertedTables>,
    /// The lists of written leaves of a table.
    pub(super) lists: &'r [PathBuf],
    /// The verification of each source.
    pub(super) verifications: &'r [Verification<'r>],
}
