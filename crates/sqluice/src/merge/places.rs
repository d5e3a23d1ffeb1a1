//! A merge whose leaves are written by those who have the sources: each copies the leaves of its source to their place in the file, and the
//! merge adds the rest.
//!
//! ```text
//!  workers   Place::count(source) ──┐                ┌──> Place::write      each its own pages, side by side
//!  merge                            └─> Merge::places ┘        └──> Merge::placed, run: interior pages, indexes, schema, page 1
//! ```
//!
//! That takes sources whose rowids are disjoint, so that the leaves of one follow those of another. Places depend on the sources alone, and
//! so do the bytes that go there: it does no harm to write to a place twice.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Cancel, Progress, Silent};
use sqluice_engine::copied_leaves::{LeavesJob, PageRun};
use sqluice_engine::options::{OnConflict, WriteOptions};
use sqluice_engine::output::create_shared;
use sqluice_reader::snapshot::ReadOptions;
use sqluice_reader::{Snapshot, StoredObject};

use super::Merge;
use super::design::Design;
use super::sources::{self, Source};
use super::tables::{MergedTable, Method};
use crate::copy::AutoVacuum;

/// Where the leaves of a source go, and what overflows from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Place {
    /// The database that has the rows.
    pub source: PathBuf,
    /// Their table.
    pub table: String,
    /// The file of the merge until it has its name.
    pub file: PathBuf,
    /// The first page of the place.
    pub first_page: u32,
    /// Pages of the place. If it includes the lock-byte page, that is not counted.
    pub pages: u32,
}

/// A place to which the leaves have been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The place.
    pub place: Place,
    /// The list of the leaves, which [`Place::write`] has made.
    pub list: PathBuf,
}

impl Place {
    /// Counts the pages that the rows of a table take in the result.
    ///
    /// # Errors
    /// When the source can't be read or is damaged, or has no such table with rows.
    pub fn count(
        source: &Path,
        table: &str,
        options: &WriteOptions,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<u32> {
        with_table(source, table, options, cancel, |job| job.count(progress, cancel))
    }

    /// Copies the leaves to their place, and makes the list of them, a new file. Any process that sees the source and the file can do
    /// it, more than once, each time with another list.
    ///
    /// # Errors
    /// When the source can't be read, is damaged or has changed, or the file can't be written: also because the merge has been completed or
    /// given up meanwhile.
    pub fn write(
        &self,
        list: &Path,
        options: &WriteOptions,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<()> {
        let Place { file, first_page, pages, .. } = self;
        let run = PageRun { file, first_page: *first_page, pages: *pages, list };
        with_table(&self.source, &self.table, options, cancel, |job| job.write(&run, progress, cancel))
    }
}

fn with_table<T>(
    source: &Path,
    table: &str,
    options: &WriteOptions,
    cancel: &Cancel,
    work: impl FnOnce(&LeavesJob<'_>) -> Result<T>,
) -> Result<T> {
    let mut read = ReadOptions::new();
    read.busy_timeout = options.busy_timeout;
    read.pending_byte = Some(options.tuning.pending_byte);
    let snapshot = Snapshot::begin(source, &read, cancel)?;
    let objects = snapshot.objects(cancel)?;
    let is_meant = |object: &&StoredObject| {
        object.kind == "table" && object.tree.is_some() && object.name.eq_ignore_ascii_case(table)
    };
    let found = objects.iter().find(is_meant);
    let found = found.ok_or_else(|| Error::input(format!("{} has no table {table}", source.display())))?;
    work(&LeavesJob { snapshot: &snapshot, table: found, options })
}

impl Merge {
    /// The places of the rows of a table in `file`, of which each source has that many pages ([`Place::count`]), and makes the file: a new
    /// one in the file system of the target, which becomes the target. `None`: the merge can't be made so, and the file is not made. That
    /// is the case if rowids of sources overlap, only one has rows, rows may be left out, or the file system has no locks.
    ///
    /// # Errors
    /// As [`Merge::plan`], and when the file can't be made.
    pub fn places(
        &self,
        table: &str,
        file: &Path,
        pages: &[u32],
        cancel: &Cancel,
    ) -> Result<Option<Vec<Place>>> {
        self.refuse()?;
        let sources = sources::open(self, None, (&Silent, cancel))?;
        let shared = sources::shared(&sources)?;
        let design = Design::new(self, &sources, &shared, cancel)?;
        let merged = design.tables.iter().find(|merged| merged.table.name.eq_ignore_ascii_case(table));
        let Some(merged) = merged.filter(|merged| self.takes_places(merged, &sources, &design)) else {
            return Ok(None);
        };
        let geometry = sources[0].snapshot.geometry();
        let mut next = geometry.skip_lock_page(2);
        let mut places = Vec::new();
        for member in merged.in_order() {
            let &count = pages.get(member.source).ok_or_else(|| {
                Error::usage("each source needs the number of its pages").hint("count them by Place::count")
            })?;
            places.push(Place {
                source: self.sources[member.source].clone(),
                table: merged.table.name.clone(),
                file: file.to_owned(),
                first_page: next,
                pages: count,
            });
            // A database that is too large is refused when its pages are appended.
            let Some(after) = next.checked_add(count).filter(|&after| after < u32::MAX - 1) else {
                return Err(Error::target("the database would have more than 4,294,967,294 pages"));
            };
            next = if after > next { geometry.nth_page(next, count) } else { next };
            next = geometry.skip_lock_page(next);
        }
        match create_shared(file)? {
            true => Ok(Some(places)),
            false => {
                let _ = std::fs::remove_file(file);
                Ok(None)
            }
        }
    }

    /// Whether the leaves of a table can be written by those who have the sources.
    fn takes_places(&self, merged: &MergedTable<'_>, sources: &[Source], design: &Design<'_>) -> bool {
        let first = &sources[0].snapshot;
        merged.method == Method::Concatenated
            && self.write.on_conflict == OnConflict::Abort
            && self.write.destination.is_none()
            && !self.compact
            && !self.adds_to_target()
            && design.shifts.is_empty()
            && sources.iter().all(|source| {
                let snapshot = &source.snapshot;
                snapshot.geometry() == first.geometry()
                    && !snapshot.is_fetched()
                    && AutoVacuum::of(snapshot.header()).number() == 0
            })
    }

    /// The lists of the leaves that have been written.
    ///
    /// # Errors
    /// When their places are not those of the sources.
    pub(super) fn lists(&self, sources: &[Source], design: &Design<'_>) -> Result<Vec<PathBuf>> {
        let mut in_order: Vec<&Placed> = self.placed.iter().collect();
        in_order.sort_by_key(|placed| placed.place.first_page);
        let Some(Placed { place: first, .. }) = in_order.first() else { return Ok(Vec::new()) };
        let merged = design.tables.iter().find(|merged| merged.table.name == first.table);
        let are_sources = |merged: &&MergedTable<'_>| {
            let members = merged.in_order();
            let places = in_order.iter().map(|placed| &placed.place);
            members.len() == in_order.len()
                && (members.iter().zip(places)).all(|(member, place)| {
                    self.sources[member.source] == place.source
                        && (&place.table, &place.file) == (&first.table, &first.file)
                })
                && self.takes_places(merged, sources, design)
        };
        match merged.filter(are_sources) {
            Some(_) => Ok(in_order.iter().map(|placed| placed.list.clone()).collect()),
            None => Err(Error::usage(format!("the places are not those of table {}", first.table))
                .hint("give the sources, and all places as Merge::places has returned them")),
        }
    }
}
