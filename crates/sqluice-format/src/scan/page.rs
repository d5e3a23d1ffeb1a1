//! A page of the tree that is read: a [`PageView`] in a reusable buffer, whose faults are [`Damage`].

use std::ops::Range;

use super::{Damage, Kind, ScanError, Tree};
use crate::check::ReadPage;
use crate::page::PageKind;
use crate::view::{CellView, PageView};

/// A page of a tree.
#[derive(Debug, Default)]
pub(super) struct Page {
    view: Option<PageView<Vec<u8>>>,
    page_count: u32,
}

impl Page {
    /// Reads page `number`. Fails if the tree can't have a page with this number, if the page is not of the tree's kind, or if an interior
    /// page is damaged.
    pub(super) fn read<P: ReadPage>(
        &mut self,
        pages: &mut P,
        tree: &Tree,
        number: u32,
    ) -> Result<(), ScanError<P::Error>> {
        let damage = |what| Damage { page: number, what };
        if !tree.may_have(number) {
            return Err(damage("it is beyond the file, or the lock-byte page").into());
        }
        let mut bytes = self.view.take().map(PageView::into_bytes).unwrap_or_default();
        bytes.resize(tree.geometry.page_bytes(), 0);
        pages.read_page(number, &mut bytes).map_err(ScanError::Stopped)?;
        let fits = |view: &PageView<Vec<u8>>| match tree.kind {
            Kind::Table => matches!(view.kind(), PageKind::InteriorTable | PageKind::LeafTable),
            Kind::Index => matches!(view.kind(), PageKind::InteriorIndex | PageKind::LeafIndex),
        };
        let view = PageView::new(bytes, number, tree.geometry).filter(fits);
        self.view = Some(view.ok_or_else(|| damage("it is no page of a tree of this kind"))?);
        self.page_count = tree.page_count;
        if self.is_leaf() {
            return Ok(());
        }
        let cell_bytes = self.view().interior_cell_bytes();
        self.verify_filled(cell_bytes.ok_or_else(|| damage("a cell ends beyond the page"))?)?;
        Ok(())
    }

    /// Checks that cells of `cell_bytes` bytes in total leave no bytes of the page unaccounted for.
    pub(super) fn verify_filled(&self, cell_bytes: usize) -> Result<(), Damage> {
        match self.view().is_filled_by(cell_bytes) {
            true => Ok(()),
            false => Err(self.damage("cells, free blocks and lost bytes do not fill the page")),
        }
    }

    /// Returns the view of the page, which must have been read before.
    #[inline]
    pub(super) fn view(&self) -> &PageView<Vec<u8>> {
        self.view.as_ref().expect("a page is read before it is used")
    }

    pub(super) fn number(&self) -> u32 {
        self.view().number()
    }

    #[inline]
    pub(super) fn is_leaf(&self) -> bool {
        self.view().kind().is_leaf()
    }

    #[inline]
    pub(super) fn cells(&self) -> usize {
        self.view().cells()
    }

    #[cold]
    pub(super) fn damage(&self, what: &'static str) -> Damage {
        Damage { page: self.number(), what }
    }

    /// Returns the page number of the child before the cell with the index `cell`. If `cell` is the number of cells, returns the right-most
    /// child.
    pub(super) fn child(&self, cell: usize) -> Result<u32, Damage> {
        let child = self.view().child(cell).filter(|child| (2..=self.page_count).contains(child));
        child.ok_or_else(|| self.damage("it has a child that is no page of the file"))
    }

    /// Returns the largest rowid below the child before the cell.
    pub(super) fn interior_rowid(&self, cell: usize) -> Result<i64, Damage> {
        self.view().interior_rowid(cell).ok_or_else(|| self.damage("a cell ends beyond the page"))
    }

    /// Returns an entry of a leaf, or a divider.
    #[inline]
    pub(super) fn entry(&self, cell: usize) -> Result<CellView, Damage> {
        self.view().entry(cell).ok_or_else(|| self.damage("a cell ends beyond the page"))
    }

    /// Returns a range of the page's bytes.
    #[inline]
    pub(super) fn bytes(&self, at: Range<usize>) -> &[u8] {
        self.view().bytes(at)
    }
}
