//! Cells of B-trees, and the split of a payload between its cell and overflow pages
//! ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages), [§1.7](https://www.sqlite.org/fileformat2.html#ovflpgs)).
//!
//! ```text
//!  table leaf      +--------------+-------+---------------+- - - - - - - - -+
//!                  | payload size | rowid | local payload | overflow page   |
//!                  +--------------+-------+---------------+- - - - - - - - -+
//!                   varint         varint  Split::local    4 bytes, only if the payload overflows
//!
//!  table interior  +------------+-------+      child: the page with the rows up to and including `rowid`
//!                  | child page | rowid |
//!                  +------------+-------+
//!                   4 bytes      varint
//!
//!  index leaf      +--------------+---------------+- - - - - - - - -+- - - - -+
//!                  | payload size | local payload | overflow page   | padding |   padding: to 4 bytes in all
//!                  +--------------+---------------+- - - - - - - - -+- - - - -+
//!                   varint         Split::local    4 bytes, only if the payload overflows
//!
//!  index interior  +------------+--------------+---------------+- - - - - - - - -+
//!                  | child page | payload size | local payload | overflow page   |   child: has the entries before the divider
//!                  +------------+--------------+---------------+- - - - - - - - -+
//!                   4 bytes      the rest is the divider: an entry that is on no leaf
//!
//!  overflow page   +-----------+------------------------+
//!                  | next page | payload                |   next page: 0 on the last page
//!                  +-----------+------------------------+
//!                   4 bytes     up to usable - 4 bytes
//! ```

use crate::page::Geometry;
use crate::varint;

/// The size in bytes of a page number within a cell or an overflow page.
pub const PAGE_NUMBER_BYTES: usize = 4;

/// The smallest number of bytes that a cell takes on a page: a freed cell must leave room for a freeblock.
pub const CELL_BYTES_MIN: usize = 4;

/// The division of a payload between its cell and overflow pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The payload bytes in the cell.
    pub local: usize,
    /// The number of overflow pages for the payload bytes that are not in the cell.
    pub overflow_pages: usize,
}

/// Returns the size of the largest payload that a table leaf stores without overflow pages: `usable - 35`.
#[inline]
pub const fn table_leaf_local_max(geometry: Geometry) -> usize {
    geometry.usable_bytes() - 35
}

/// Returns the number of payload bytes on one overflow page.
#[inline]
pub const fn overflow_page_payload(geometry: Geometry) -> usize {
    geometry.usable_bytes() - PAGE_NUMBER_BYTES
}

/// Returns the size of the largest payload that an index page stores without overflow pages: `(usable - 12) * 64 / 255 - 23`, about a
/// quarter of the usable bytes. Three cells always fit on a page; four fit except at the largest page sizes.
#[inline]
pub const fn index_local_max(geometry: Geometry) -> usize {
    (geometry.usable_bytes() - 12) * 64 / 255 - 23
}

/// Divides a payload of `payload` bytes on a table leaf.
///
/// With `P` payload bytes and `U` usable bytes, `X = U-35`, `M = (U-12)*32/255-23`, `K = M+(P-M) mod (U-4)`. A payload of `P <= X` bytes is
/// entirely local. For a larger payload, `K` bytes are local if `K <= X`, else `M`. `K` local bytes leave the last overflow page exactly
/// full.
pub const fn table_leaf_split(payload: usize, geometry: Geometry) -> Split {
    split(payload, table_leaf_local_max(geometry), geometry)
}

/// Divides a payload of `payload` bytes on an index page, leaf or interior. The rule is the same as on a table leaf, but with `X` =
/// [`index_local_max`].
pub const fn index_split(payload: usize, geometry: Geometry) -> Split {
    split(payload, index_local_max(geometry), geometry)
}

const fn split(payload: usize, max: usize, geometry: Geometry) -> Split {
    if payload <= max {
        return Split { local: payload, overflow_pages: 0 };
    }
    let min = (geometry.usable_bytes() - 12) * 32 / 255 - 23;
    let page = overflow_page_payload(geometry);
    let fill = min + (payload - min) % page;
    let local = if fill <= max { fill } else { min };
    Split { local, overflow_pages: (payload - local).div_ceil(page) }
}

/// Returns the size of a table leaf cell whose payload is entirely local.
#[inline]
pub const fn table_leaf_bytes(payload: usize, rowid: i64) -> usize {
    varint::len(payload as u64) + varint::len(rowid as u64) + payload
}

/// Returns the size of a table interior cell.
#[inline]
pub const fn table_interior_bytes(rowid: i64) -> usize {
    PAGE_NUMBER_BYTES + varint::len(rowid as u64)
}

/// Returns the size of a divider, an index entry between two pages, without its child page number and padding. Its payload is divided by
/// `split`.
#[inline]
pub const fn divider_bytes(payload: usize, split: Split) -> usize {
    let overflow = if split.overflow_pages > 0 { PAGE_NUMBER_BYTES } else { 0 };
    varint::len(payload as u64) + split.local + overflow
}

/// Returns the size of an index leaf cell whose payload is divided by `split`.
#[inline]
pub const fn index_leaf_bytes(payload: usize, split: Split) -> usize {
    let bytes = divider_bytes(payload, split);
    if bytes < CELL_BYTES_MIN { CELL_BYTES_MIN } else { bytes }
}

/// Returns the size of an index interior cell from the size of its divider.
#[inline]
pub const fn index_interior_bytes(divider_bytes: usize) -> usize {
    PAGE_NUMBER_BYTES + divider_bytes
}
