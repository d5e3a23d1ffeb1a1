//! What a run knows before it writes a page.

use std::collections::HashMap;
use std::path::PathBuf;

use sqluice_engine::verification::Verification;

use super::Merge;
use super::design::Design;
use super::inserted::InsertedTables;
use super::sources::{Shared, Source};

/// Rows that are left out, by source and by the place of the table: their rowids, in ascending order.
pub(super) type LeftOut = HashMap<(usize, usize), Vec<i64>>;

/// What the run has when all sources are looked at.
pub(super) struct Run<'r> {
    pub(super) merge: &'r Merge,
    pub(super) sources: &'r [Source],
    pub(super) shared: &'r [Shared],
    pub(super) design: &'r Design<'r>,
    pub(super) inserted: Option<&'r InsertedTables>,
    /// The lists of the leaves of a table that have been written.
    pub(super) lists: &'r [PathBuf],
    /// The verification of each source.
    pub(super) verifications: &'r [Verification<'r>],
}
