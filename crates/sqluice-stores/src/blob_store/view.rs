//! The parts of a page of a B-tree: <https://sqlite.org/fileformat2.html#b_tree_pages>.

use sqluice_format::page::{Geometry, PageKind};
use sqluice_format::record;

/// A page of a B-tree.
#[derive(Clone, Copy)]
pub(super) struct View<'p> {
    page: &'p [u8],
    kind: PageKind,
    /// Where the header begins: after that of the database on page 1.
    header: usize,
    cells: usize,
}

impl<'p> View<'p> {
    pub(super) fn new(page: &'p [u8], number: u32, geometry: Geometry) -> Option<View<'p>> {
        let page = page.get(..geometry.usable_bytes())?;
        let header = if number == 1 { 100 } else { 0 };
        let kind = PageKind::from_byte(*page.get(header)?)?;
        let cells = usize::from(u16::from_be_bytes([*page.get(header + 3)?, *page.get(header + 4)?]));
        Some(View { page, kind, header, cells })
    }

    /// The bytes from a cell to the end of the page.
    pub(super) fn cell(&self, index: usize) -> Option<&'p [u8]> {
        let pointer = self.header + self.kind.header_bytes() + 2 * index;
        let at = u16::from_be_bytes([*self.page.get(pointer)?, *self.page.get(pointer + 1)?]);
        self.page.get(usize::from(at)..)
    }

    /// The child left of a cell; right of the last one.
    pub(super) fn child(&self, index: usize) -> Option<u32> {
        let bytes = match index < self.cells {
            true => self.cell(index)?.get(..4)?,
            false => self.page.get(self.header + 8..self.header + 12)?,
        };
        Some(record::int(bytes) as u32)
    }

    pub(super) fn kind(&self) -> PageKind {
        self.kind
    }

    /// The number of cells.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }
}
