//! Merges in which several processes copy the leaves, each to the place of its source in the file. The merge itself adds the other pages.
//!
//! ```text
//!  processes   Place::count ──┐                 ┌──> Place::write      each writes its own pages, in parallel
//!  merge                      └─> Merge::places ┘         └──> Merge::placed, run: interior pages, indexes, schema, page 1
//! ```
//!
//! The rowid ranges of the sources must be disjoint, so that the leaves of one source follow the leaves of another.

use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Context;
use sqluice_engine::options::OnConflict;
use sqluice_engine::output::create_shared;

use super::Merge;
use super::design::Design;
use super::place::{Place, Placed};
use super::sources::{self, Source};
use super::tables::{MergedTable, Method};
use crate::copy::AutoVacuum;

impl Merge {
    /// Returns the places of a table's rows in `file`, given the number of pages of each source ([`Place::count`]). Creates `file`, a new
    /// file in the file system of the target, which becomes the target. Returns `None` without a file if this kind of merge is impossible,
    /// for example because rowids of sources overlap, only one source has rows, rows may be left out, page sizes differ, or the file system
    /// has no locks.
    ///
    /// # Errors
    /// As [`Merge::prepare`], or if the file can't be created.
    pub fn places(
        &self,
        table: &str,
        file: &Path,
        pages: &[u32],
        context: &Context<'_>,
    ) -> Result<Option<Vec<Place>>> {
        let wanted = self.wanted();
        self.refuse(&wanted)?;
        let sources = sources::open(self, &wanted.target, None, context)?;
        let shared = sources::shared(&sources)?;
        let design = Design::new(self, &sources, &shared, &context.cancel)?;
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
            // Only the pages of the places are counted here. If later pages make the database too large, the merge refuses them.
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

    /// Returns `true` if several processes can copy the leaves of a table.
    fn takes_places(&self, merged: &MergedTable<'_>, sources: &[Source], design: &Design<'_>) -> bool {
        let first = &sources[0].snapshot;
        merged.method == Method::Concatenated
            && self.write.on_conflict == OnConflict::Abort
            && self.write.destination.is_none()
            && !self.compact
            && !self.adds_to_target()
            && !design.references.change_values()
            && sources.iter().all(|source| {
                let snapshot = &source.snapshot;
                snapshot.geometry() == first.geometry()
                    && !snapshot.is_fetched()
                    && AutoVacuum::of(snapshot.header()).number() == 0
            })
    }

    /// Returns the lists of written leaves.
    ///
    /// # Errors
    /// If the places do not match the sources.
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
