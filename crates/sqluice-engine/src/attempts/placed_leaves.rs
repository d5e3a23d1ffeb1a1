//! A table whose leaves other processes have written into the file that becomes the database.
//!
//! ```text
//!  page 1 | range of one process    | range of another        | interior pages, other trees, schema
//!         | leaves, overflow pages  | leaves, overflow pages  |
//! ```
//!
//! Invariant: the ranges follow each other from page 2 on, and the rowids ascend from range to range. Lists that violate the invariant are
//! refused.

use std::path::{Path, PathBuf};

use sqluice_core::checksum::Checksum;
use sqluice_core::error::{Error, Result};
use sqluice_format::page::Geometry;
use sqluice_format::tree::TableTree;

use crate::trees::{Appender, LeafRange, LeafReader, WrittenTree};

/// The leaves and overflow pages of a table that other processes have written into a file beside the target, from page 2 on.
#[derive(Clone, Copy, Debug)]
pub struct PlacedLeaves<'a> {
    /// The file, which becomes the target.
    pub file: &'a Path,
    /// The lists of leaves by the other processes, in the order of the rowids.
    pub lists: &'a [PathBuf],
}

/// The ranges of placed pages, whose leaves are not read yet.
pub(crate) struct PlacedRanges {
    readers: Vec<LeafReader>,
    /// The last page of the last range.
    pub(crate) last_page: u32,
    /// The checksum of all ranges.
    pub(crate) checksum: Checksum,
}

impl PlacedRanges {
    /// Reads the heads of the lists.
    ///
    /// # Errors
    /// If a list is incomplete, or the ranges do not follow each other.
    pub(crate) fn open(placed: &PlacedLeaves<'_>, geometry: Geometry) -> Result<PlacedRanges> {
        let (mut last_page, mut checksum) = (1, Checksum::default());
        let mut readers = Vec::new();
        for list in placed.lists {
            let reader = LeafReader::open(list)?;
            let LeafRange { first_page, pages, checksum: of_range, .. } = reader.range;
            if first_page != geometry.skip_lock_page(last_page + 1) || pages == 0 {
                return Err(Error::input(format!("the pages of {} follow no others", list.display())));
            }
            last_page = geometry.nth_page(first_page, pages - 1);
            checksum.add_all(of_range);
            readers.push(reader);
        }
        Ok(PlacedRanges { readers, last_page, checksum })
    }

    /// Writes the interior pages of the table. Returns the tree, and the number of leaves that were copied unchanged.
    ///
    /// # Errors
    /// If the leaves are out of order or in no range.
    pub(crate) fn write_levels(
        self,
        table: &str,
        geometry: Geometry,
        pages: &mut Appender,
    ) -> Result<(WrittenTree, u64)> {
        let mut tree = TableTree::new(geometry);
        let mut written = WrittenTree::default();
        let (mut relocated, mut last) = (0, None);
        pages.take_appended();
        for reader in self.readers {
            let range = reader.range;
            let in_range = range.first_page..=geometry.nth_page(range.first_page, range.pages - 1);
            let mut last_page = 0;
            reader.read(|leaf| {
                let follows = last.is_none_or(|last| last < leaf.last_rowid) && last_page < leaf.page;
                if !follows || !in_range.contains(&leaf.page) {
                    return Err(Error::input(format!("a leaf of table {table} follows none of the others")));
                }
                (last, last_page) = (Some(leaf.last_rowid), leaf.page);
                tree.add_leaf(leaf, pages);
                Ok(())
            })?;
            written.entries += range.rows;
            written.leaf_pages += range.leaves;
            written.overflow_pages += u64::from(range.pages) - range.leaves;
            relocated += range.relocated;
        }
        written.root_page = tree.finish(pages);
        written.interior_pages = pages.take_appended();
        Ok((written, relocated))
    }
}
