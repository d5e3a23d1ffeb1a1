//! Reads a part of a tree page by page, and gives its leaves and entries to a visitor.

use super::overflow::Overflowing;
use super::page::Page;
use super::{Kind, Leaf, PagePosition, Reader, Scan, ScanError, Visit};
use crate::check::ReadPage;
use crate::view::CellView;

/// The state of a walk through a part.
pub(super) struct Walk<'w, P, V> {
    pub(super) scan: &'w Scan,
    pub(super) pages: &'w mut P,
    pub(super) reader: &'w mut Reader,
    pub(super) visit: V,
    pub(super) last_rowid: Option<i64>,
}

impl<P, V> Walk<'_, P, V>
where
    P: ReadPage,
    V: Visit<P::Error>,
{
    /// Reads the subtree below a page.
    pub(super) fn subtree(&mut self, place: PagePosition) -> Result<(), ScanError<P::Error>> {
        let mut page = self.reader.spare.pop().unwrap_or_default();
        self.scan.take_page(place.page)?;
        page.read(self.pages, &self.scan.tree, place.page)?;
        if page.is_leaf() != (place.level == self.scan.leaf_level) {
            return Err(page.damage("a leaf is not as deep as others").into());
        }
        // Only a root may have no cells: an empty tree has none, and page 1, which lacks 100 bytes, may have just a right-most child whose
        // cells do not fit on page 1 itself.
        if page.cells() == 0 && place.level > 0 {
            return Err(page.damage("a page other than the root has no cells").into());
        }
        match (page.is_leaf(), self.scan.tree.kind) {
            (true, Kind::Table) => self.rows(&page, place)?,
            (true, Kind::Index) => self.entries(&page)?,
            (false, kind) => self.interior(&page, place, kind)?,
        }
        self.reader.spare.push(page);
        Ok(())
    }

    /// Gives the divider in a cell of an interior page to the visitor.
    pub(super) fn divider(&mut self, number: u32, cell: usize) -> Result<(), ScanError<P::Error>> {
        let mut page = self.reader.spare.pop().unwrap_or_default();
        page.read(self.pages, &self.scan.tree, number)?;
        // The file should not change during the scan, but the page is checked again in case it did.
        if page.is_leaf() || cell >= page.cells() {
            return Err(page.damage("it has lost a cell").into());
        }
        self.held_out(&page, cell)?;
        self.reader.spare.push(page);
        Ok(())
    }

    fn interior(&mut self, page: &Page, place: PagePosition, kind: Kind) -> Result<(), ScanError<P::Error>> {
        let PagePosition { level, mut above, up_to, .. } = place;
        for cell in 0..page.cells() {
            let rowid = (kind == Kind::Table).then(|| page.interior_rowid(cell)).transpose()?;
            self.subtree(PagePosition { page: page.child(cell)?, level: level + 1, above, up_to: rowid })?;
            match rowid {
                Some(_) => above = rowid,
                None => self.held_out(page, cell)?,
            }
        }
        self.subtree(PagePosition { page: page.child(page.cells())?, level: level + 1, above, up_to })
    }

    /// Reads the rows of a leaf.
    fn rows(&mut self, page: &Page, place: PagePosition) -> Result<(), ScanError<P::Error>> {
        // The bounds from the interior pages hold for all rows: the first row is checked against the lower bound, the last against the
        // upper.
        if let Some(above) = place.above
            && self.last_rowid.is_none_or(|last| last < above)
        {
            self.last_rowid = Some(above);
        }
        if V::TAKES_LEAVES
            && let Some(leaf) = Leaf::of(page.view(), self.scan.tree.geometry, self.last_rowid)
            && place.up_to.is_none_or(|up_to| leaf.last_rowid() <= up_to)
            && self.visit.leaf(&leaf).map_err(ScanError::Stopped)?
        {
            self.last_rowid = Some(leaf.last_rowid());
            return Ok(());
        }
        let mut cell_bytes = 0;
        for number in 0..page.cells() {
            let cell = page.entry(number)?;
            cell_bytes += page.view().cell_bytes(number, &cell);
            if self.last_rowid.is_some_and(|last| last >= cell.rowid) {
                return Err(page.damage("its rowids do not ascend").into());
            }
            self.last_rowid = Some(cell.rowid);
            self.give(page, &cell, false)?;
        }
        page.verify_filled(cell_bytes)?;
        if let (Some(last), Some(up_to)) = (self.last_rowid, place.up_to)
            && last > up_to
        {
            return Err(page.damage("its rowids do not ascend").into());
        }
        Ok(())
    }

    /// Reads the entries of a leaf.
    fn entries(&mut self, page: &Page) -> Result<(), ScanError<P::Error>> {
        if V::TAKES_LEAVES
            && let Some(leaf) = Leaf::of(page.view(), self.scan.tree.geometry, None)
            && self.visit.leaf(&leaf).map_err(ScanError::Stopped)?
        {
            return Ok(());
        }
        let mut cell_bytes = 0;
        for number in 0..page.cells() {
            let cell = page.entry(number)?;
            cell_bytes += page.view().cell_bytes(number, &cell);
            self.give(page, &cell, false)?;
        }
        page.verify_filled(cell_bytes)?;
        Ok(())
    }

    /// Gives a divider to the visitor.
    #[inline]
    fn held_out(&mut self, page: &Page, number: usize) -> Result<(), ScanError<P::Error>> {
        let cell = page.entry(number)?;
        self.give(page, &cell, true)
    }

    #[inline]
    fn give(&mut self, page: &Page, cell: &CellView, is_divider: bool) -> Result<(), ScanError<P::Error>> {
        let local = page.bytes(cell.local.clone());
        match cell.overflow {
            None => self.visit.entry(cell.rowid, local, is_divider).map_err(ScanError::Stopped),
            Some(first) => self.overflowing(page, cell, (local, first), is_divider),
        }
    }

    /// Assembles a record, as far as its fields are wanted, and gives it to the visitor.
    #[cold]
    fn overflowing(
        &mut self,
        page: &Page,
        cell: &CellView,
        (local, first): (&[u8], u32),
        is_divider: bool,
    ) -> Result<(), ScanError<P::Error>> {
        let scan = self.scan;
        let Reader { overflow_page, record, .. } = &mut *self.reader;
        let payload = Overflowing { page: page.number(), local, payload_bytes: cell.payload_bytes, first };
        let room = (&mut *record, overflow_page);
        payload.assemble(self.pages, (&scan.tree, scan.fields), room, |page| scan.take_page(page))?;
        self.visit.entry(cell.rowid, record, is_divider).map_err(ScanError::Stopped)
    }
}
