//! Walks a B-tree from its root, and checks the kinds and the depth of its pages and the order of its rowids
//! ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)).

use super::checker::{Checker, Page};
use super::claims::Use;
use super::content::Walk;
use super::done::PageInTree;
use super::layout::Cell;
use super::{ReadPage, is_table};
use crate::page::{DATABASE_HEADER_BYTES, PageKind};

/// The maximum number of levels: SQLite allows no more, and a tree of this depth could not be filled.
pub(super) const DEPTH_MAX: u32 = 20;

impl<P: ReadPage> Checker<'_, '_, P> {
    /// Reads the tree below a page that is already claimed. Returns the depth of this tree, or `None` if it is unknown.
    pub(super) fn subtree(
        &mut self,
        walk: &mut Walk<'_>,
        place: PageInTree,
    ) -> Result<Option<u32>, P::Error> {
        if place.level == DEPTH_MAX {
            self.problem(Some(place.page), format!("the tree has more than {DEPTH_MAX} levels"));
            return Ok(None);
        }
        let mut page = self.spare.pop().unwrap_or_default();
        let depth = self.take_apart(&mut page, place.page).and_then(|fault| {
            match fault {
                None if is_table(page.layout.kind) == walk.table => return self.page(walk, place, &mut page),
                None => {
                    let kind = page.layout.kind as u8;
                    self.problem(
                        Some(place.page),
                        format!("a page of kind {kind} belongs to a tree of another kind"),
                    );
                }
                Some(what) => self.problem(Some(place.page), what),
            }
            Ok(None)
        });
        self.spare.push(page);
        depth
    }

    /// Reads a page and parses its layout. Returns the reason if the page can't be parsed.
    pub(super) fn take_apart(&mut self, page: &mut Page, number: u32) -> Result<Option<String>, P::Error> {
        let geometry = self.common.geometry;
        page.bytes.resize(geometry.page_bytes(), 0);
        self.pages.read_page(number, &mut page.bytes)?;
        let header_at = if number == 1 { DATABASE_HEADER_BYTES } else { 0 };
        Ok(page.layout.read(&page.bytes, header_at, geometry).err())
    }

    fn page(
        &mut self,
        walk: &mut Walk<'_>,
        place: PageInTree,
        page: &mut Page,
    ) -> Result<Option<u32>, P::Error> {
        let number = place.page;
        let Page { bytes, layout } = page;
        for what in layout.faults.drain(..) {
            self.problem(Some(number), what);
        }
        let leaf = layout.kind.is_leaf();
        // An empty table is a single empty leaf. Page 1 may be an interior root with a single child and no cells: the database header takes
        // 100 bytes of page 1, so the cells of a full leaf may not fit there.
        if layout.cells.is_empty() && !(place.level == 0 && (leaf || number == 1)) {
            self.problem(Some(number), "a page other than an empty root has no cells".to_owned());
        }
        let unused_bytes = self.common.geometry.usable_bytes().saturating_sub(layout.used_bytes);
        let tree = self.tree();
        *(if leaf { &mut tree.leaf_pages } else { &mut tree.interior_pages }) += 1;
        tree.used_bytes += layout.used_bytes as u64;
        tree.unused_bytes += unused_bytes as u64;
        let mut depths = Depths::default();
        let below = |page: u32, upper: Option<i64>| PageInTree {
            page,
            parent: number,
            level: place.level + 1,
            upper,
        };
        for (i, cell) in layout.cells.iter().enumerate() {
            if !leaf && (i == 0 || !walk.edges) {
                let upper = if walk.table { Some(cell.rowid) } else { None };
                depths.add(self.child(walk, below(cell.child, upper))?);
            }
            if walk.table {
                self.rowid(walk, cell, !leaf, place);
            }
            if layout.kind != PageKind::InteriorTable {
                let tree = self.tree();
                tree.rows += 1;
                tree.payload_bytes += u64::from(cell.payload);
                self.payload(walk, number, bytes, cell)?;
            }
        }
        if let Some(child) = layout.right_child {
            depths.add(self.child(walk, below(child, place.upper))?);
        }
        if depths.differ {
            self.problem(Some(number), "its children are not equally deep".to_owned());
        }
        Ok(if leaf { Some(1) } else { depths.first.map(|depth| depth + 1) })
    }

    fn child(&mut self, walk: &mut Walk<'_>, place: PageInTree) -> Result<Option<u32>, P::Error> {
        if let Some(done) = walk.parts.and_then(|parts| parts.get(&place.page)) {
            return Ok(self.join(walk, place, done));
        }
        if !self.claim(place.page, Use::Child, place.parent)? {
            return Ok(None);
        }
        self.subtree(walk, place)
    }

    /// Checks that rowids ascend, including those on interior pages, and that none exceeds the bound from the page above.
    #[inline]
    fn rowid(&mut self, walk: &mut Walk<'_>, cell: &Cell, interior: bool, place: PageInTree) {
        let rowid = cell.rowid;
        if !walk.rowids.add(rowid, interior) {
            self.problem(Some(place.page), format!("rowid {rowid} does not ascend"));
        } else if place.upper.is_some_and(|upper| rowid > upper) {
            self.problem(Some(place.page), format!("rowid {rowid} is larger than the page above allows"));
        }
    }
}

/// A comparison of the depths of a page's children.
#[derive(Default)]
struct Depths {
    first: Option<u32>,
    differ: bool,
}

impl Depths {
    fn add(&mut self, depth: Option<u32>) {
        if let Some(depth) = depth {
            self.differ |= *self.first.get_or_insert(depth) != depth;
        }
    }
}
