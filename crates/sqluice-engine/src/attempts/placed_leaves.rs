//! Placed leaves: a table whose leaves other processes have already written into the file that becomes the database. This module builds the
//! interior pages of the table.
//!
//! ```text
//!  page 1 | range of one process    | range of another        | interior pages, other trees, schema
//!         | leaves, overflow pages  | leaves, overflow pages  |
//! ```
//!
//! Each of the other processes has left a leaf list, which lists its range of pages and its leaves. Invariant: the ranges follow each other
//! from page 2 on, and the rowids ascend from range to range. Leaf lists that violate the invariant are refused.

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
    /// The paths of the leaf lists that the other processes have written, in the order of the rowids.
    pub lists: &'a [PathBuf],
}

/// The ranges of placed pages. The headers of the leaf lists are read, the leaves in the lists are not read yet.
pub(crate) struct PlacedRanges {
    readers: Vec<LeafReader>,
    /// The last page of the last range.
    pub(crate) last_page: u32,
    /// The checksum of the pages of all ranges.
    pub(crate) checksum: Checksum,
}

impl PlacedRanges {
    /// Opens the leaf lists and reads from the header of each its range of pages and the checksum of these pages.
    ///
    /// # Errors
    /// If a leaf list can't be read or is incomplete, or the ranges do not follow each other without gaps.
    pub(crate) fn open(placed: &PlacedLeaves<'_>, geometry: Geometry) -> Result<PlacedRanges> {
        let (mut last_page, mut checksum) = (1, Checksum::default());
        let mut readers = Vec::new();
        for list in placed.lists {
            let reader = LeafReader::open(list)?;
            let LeafRange { first_page, pages, checksum: of_range, .. } = reader.range;
            if first_page != geometry.skip_lock_page(last_page + 1) || pages == 0 {
                return Err(Error::input(format!(
                    "the pages of {} do not continue those of the file before it: name the lists of all processes, in their order",
                    list.display()
                )));
            }
            last_page = geometry.nth_page(first_page, pages - 1);
            checksum.add_all(of_range);
            readers.push(reader);
        }
        Ok(PlacedRanges { readers, last_page, checksum })
    }

    /// Reads the leaves from the lists, and builds the interior pages of the table above them. Returns the tree, and the number of leaves
    /// that the other processes copied unchanged.
    ///
    /// # Errors
    /// If a leaf list can't be read, the leaves are out of order, or a leaf is not in the range of its list.
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
                    return Err(Error::input(format!(
                        "a leaf of table {table} is out of order or outside the pages of its leaf list"
                    )));
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
