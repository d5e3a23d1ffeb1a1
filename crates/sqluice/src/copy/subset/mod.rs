//! Copies without some rows: conditions and samples choose rows of tables, and rows that refer to left-out rows are refused, kept or left
//! out, too.
//!
//! ```text
//!  --where "orders=paid = 1" ──┐                                 ┌── refused, or kept (--orphans keep)
//!  --sample customers=1% ──────┴──> keys of left-out rows ──> rows that refer to them
//!                                   in a temporary database      └── left out, too (--sample-children)
//!                                        │
//!  source ── rows of these tables ───────┴──> kept rows ──> encoded again, like rows of masked tables
//! ```
//!
//! * A row is kept if its condition is true, so a NULL leaves the row out, as in SQL.
//! * A hash of the seed and of the PRIMARY KEY decides if a row is in a sample; in a table without a PRIMARY KEY, a hash of the seed and
//!   the rowid does.
//! * Rows are left out before masks: conditions see the values of the source.
//! * A row whose parent is missing already in the source is no orphan of the copy. Such rows are counted and kept.
//!
//! Invariant: the left-out rows depend only on the rows and the options, not on threads, memory or the order of pages.
//!
//! Modules, from the bottom up: `report`: the counts; `hash`: the hash of a key; `keys`: the keys of rows, and the temporary database
//! that stores them; `given`: the check of the conditions; `scan`: the rows that a condition leaves out; `links`: the references;
//! `orphans`: the rows that refer to left-out rows.

mod given;
mod hash;
mod keys;
mod links;
mod orphans;
mod report;
mod scan;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use sqluice_core::error::Result;
use sqluice_core::progress::Context;
use sqluice_engine::phases::PhaseReport;

pub(super) use given::Conditions;
use keys::KeyFile;
pub(super) use keys::Lookup;
use orphans::Orphaned;
pub use report::{BrokenReference, LeftOutRows, RowSelection, SelectedRows};

use super::Opened;

/// The rows that a copy leaves out.
pub(super) struct Subset {
    file: KeyFile,
    pub(super) rows: SelectedRows,
    pub(super) phase: PhaseReport,
    lookups: BTreeMap<usize, Arc<Lookup>>,
}

impl Subset {
    /// Finds the rows that the conditions of a copy leave out, and the rows that refer to them.
    ///
    /// # Errors
    /// If a condition fails for a row, or kept rows refer to left-out rows and the options do not keep or leave out such rows.
    pub(super) fn new(opened: &Opened, context: &Context<'_>) -> Result<Subset> {
        let started = Instant::now();
        let conditions = &opened.conditions;
        let mut file = KeyFile::create(opened, &context.cancel)?;
        let mut tables: BTreeMap<usize, LeftOutRows> = BTreeMap::new();
        for condition in &conditions.tables {
            file.add(condition.table, &opened.schema.tables[condition.table])?;
            let found = scan::leave_out(opened, condition, &file, context)?;
            tables.insert(condition.table, found);
        }
        let mut orphaned = Orphaned::new(opened, context)?;
        orphaned.find(&mut file, &mut tables)?;
        let Orphaned { references, .. } = orphaned;
        let lookups = file.finish(&opened.schema)?;
        let lookups = lookups.into_iter().filter(|(table, _)| tables[table].rows > 0).collect();
        let sees_old_values = opened.settled.copy.mask.is_some() && conditions.has_filters();
        let rows = SelectedRows { tables: tables.into_values().collect(), references, sees_old_values };
        let phase = PhaseReport::new("select", started.elapsed().as_secs_f64());
        Ok(Subset { file, rows, phase, lookups })
    }

    /// Returns the left-out rows of the table at this position in the schema; `None` if all its rows are kept.
    pub(super) fn of(&self, table: usize) -> Option<&Arc<Lookup>> {
        debug_assert!(self.file.path().exists());
        self.lookups.get(&table)
    }

    /// Returns the positions in the schema of the tables with left-out rows.
    pub(super) fn tables(&self) -> impl Iterator<Item = usize> {
        self.lookups.keys().copied()
    }
}
