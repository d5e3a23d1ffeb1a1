//! Checks the rows of a full-text index against each other.
//!
//! ```text
//!  structure ──> each segment:
//!                  leaves           terms and rows ──> Entry, for a comparison with the text
//!                  split keys       each page with a term has one, between the term before and its own first term
//!                  doclist indexes  each page of a long doclist is listed with its first rowid
//!  ids of all rows of t_data ──> rows that belong to no segment
//! ```
//!
//! SQLite's own check misses some of these faults, such as a missing split key, which hides all terms of its page from searches.
//!
//! * `finding`: the faults; `segment`: a segment beside its split keys; `doclist_index`: the doclist index of a term
//! * `digest`: sums of entries, by which an index is compared with the text of its rows
//!
//! Invariant: beside the structure, the tombstones and some pages, the check allocates two numbers for each page of the longest doclist,
//! and one for each page of a doclist index.

mod digest;
mod doclist_index;
mod finding;
mod segment;

use std::collections::HashSet;

pub use digest::{Digest, EntryHash, TermHash};
pub use finding::Finding;
pub use segment::Entry;

use super::doclist::Detail;
use super::read::{Damage, Fault, Pages, ReadError, SegmentSpan, Structure, Tombstones};
use super::{AVERAGES_ID, STRUCTURE_ID};

/// The declaration of the index that is checked.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// The detail of the doclists.
    pub detail: Detail,
    /// The number of columns, including those that are not indexed.
    pub columns: usize,
    /// The number of prefix indexes.
    pub prefixes: usize,
    /// `true` if rows may have been removed from pages in place, as the option `secure-delete` does. Doclist indexes and
    /// split keys may then name rowids and pages that are gone.
    pub is_edited: bool,
}

/// A source of the rows of `t_data` and `t_idx`.
pub trait Rows: Pages {
    /// Moves `after`, a key of `t_idx`, to the next split key of the segment, or to its first one if `after` is `None`. Returns the column
    /// `pgno`, or `None` if there is no other key.
    ///
    /// # Errors
    /// If the row can't be read.
    fn next_split_key(
        &mut self,
        segment: u16,
        after: &mut Option<Vec<u8>>,
    ) -> Result<Option<i64>, Self::Error>;

    /// Calls `each` with the `id` of each row of `t_data`.
    ///
    /// # Errors
    /// If a row can't be read.
    fn ids(&mut self, each: &mut dyn FnMut(i64)) -> Result<(), Self::Error>;
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The faults, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// `true` if all entries of all segments were read.
    pub is_whole: bool,
    /// `true` if entries of newer segments may hide those of older ones.
    pub has_deleted: bool,
    /// The structure, if it could be read.
    pub structure: Option<Structure>,
}

/// Checks an index. Calls `each` with each entry of each segment, also with those that a newer segment hides.
///
/// # Errors
/// The error of the source, or of `each`. Faults are findings.
pub fn check<R: Rows, E: From<R::Error>>(
    rows: &mut R,
    declared: &Declared,
    each: &mut dyn FnMut(&Entry<'_>) -> Result<(), E>,
) -> Result<Checked, E> {
    let mut checked = Checked { is_whole: true, ..Checked::default() };
    let mut block = Vec::new();
    let structure = match rows.page(STRUCTURE_ID, &mut block)? {
        true => Structure::parse(&block),
        false => Err(Damage { row: STRUCTURE_ID, offset: 0, fault: Fault::Missing }),
    };
    let structure = match structure {
        Ok(structure) => structure,
        Err(damage) => {
            checked.findings.push(Finding::Damaged(damage));
            checked.is_whole = false;
            return Ok(checked);
        }
    };
    let mut indexes = HashSet::new();
    for (_, span) in structure.segments() {
        let mut segment = segment::Check::new(declared, span, &mut checked, &mut indexes);
        match segment.run(rows, each) {
            Ok(()) => {}
            Err(segment::Stop::Error(error)) => return Err(error),
            Err(segment::Stop::Damaged(damage)) => {
                checked.findings.push(Finding::Damaged(damage));
                checked.is_whole = false;
            }
        }
        match Tombstones::read(span, rows) {
            Ok(tombstones) => checked.has_deleted |= !tombstones.is_empty(),
            Err(ReadError::Stopped(error)) => return Err(error.into()),
            Err(ReadError::Damaged(damage)) => {
                checked.findings.push(Finding::Damaged(damage));
                checked.is_whole = false;
            }
        }
    }
    let spans: Vec<SegmentSpan> = structure.segments().map(|(_, span)| *span).collect();
    if checked.is_whole {
        rows.ids(&mut |id| {
            if !belongs(id, &spans, &indexes) {
                checked.findings.push(Finding::Foreign { row: id });
            }
        })?;
    }
    checked.structure = Some(structure);
    Ok(checked)
}

/// Returns `true` if a row of `t_data` belongs to one of the segments, or to the table. `indexes` are the rows of doclist indexes that were
/// read.
fn belongs(id: i64, spans: &[SegmentSpan], indexes: &HashSet<i64>) -> bool {
    if id == AVERAGES_ID || id == STRUCTURE_ID {
        return true;
    }
    if id < 0 {
        return false;
    }
    let (segment, page) = (id >> 37, id & 0x7fff_ffff);
    let is_tombstone = segment > i64::from(u16::MAX);
    let segment = segment & i64::from(u16::MAX);
    let Some(span) = spans.iter().find(|span| i64::from(span.id) == segment) else { return false };
    let is_index = id >> 36 & 1 == 1;
    match (is_tombstone, is_index) {
        (true, _) => !is_index && id >> 31 & 31 == 0 && page < i64::from(span.tombstone_pages),
        // An unfinished merge leaves the doclist indexes of pages that it has moved.
        (_, true) => indexes.contains(&id) || page < i64::from(span.first.max(1)),
        (_, false) => {
            let pages = i64::from(span.first)..=i64::from(span.last);
            id >> 31 & 31 == 0 && span.leaves() > 0 && pages.contains(&page)
        }
    }
}
