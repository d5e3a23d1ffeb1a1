//! Reads the right edge of an existing table's B-tree: its last page on each level. New rows go after the last row, so no other page of the
//! tree changes (drawn in `trees/existing_trees.rs`).
//!
//! The file may be damaged: every number in a page is checked before it is used.

use sqluice_core::error::{Error, Result};
use sqluice_format::cell;
use sqluice_format::page::{CELL_POINTER_BYTES, Geometry, PageKind};
use sqluice_format::tree::Child;
use sqluice_format::view::PageView;
use sqluice_reader::pages::DAMAGED_HINT;

use crate::trees::Edge;

/// The largest number of levels of a tree. With two children a page, a tree of more levels would have more pages than there are page
/// numbers.
const LEVELS_MAX: usize = 32;

/// Reads the right edge of the table with root page `root` in a database of `page_count` pages. New rows without a rowid are numbered after
/// the largest rowid.
///
/// # Errors
/// If a page can't be read, or is damaged.
pub(super) fn read(
    root: u32,
    page_count: u32,
    geometry: Geometry,
    mut read_page: impl FnMut(u32) -> Result<Vec<u8>>,
) -> Result<Edge> {
    let mut edge = Edge::default();
    let mut number = root;
    for _ in 0..LEVELS_MAX {
        if number < 2 || number > page_count {
            return Err(damaged(root, format!("there is no page {number}")));
        }
        let bytes = read_page(number)?;
        let Some(page) = PageView::new(&bytes[..], number, geometry) else {
            return Err(damaged(number, format!("page {number} is no page of a table")));
        };
        match page.kind() {
            PageKind::LeafTable if page.cells() == 0 && number == root => return Ok(edge),
            PageKind::LeafTable => {
                let last_rowid = last_rowid(&page)?;
                (edge.largest_rowid, edge.counted_from) = (Some(last_rowid), last_rowid);
                edge.levels.reverse();
                match edge.levels.first_mut() {
                    Some(children) => children.push(Child { page: number, last_rowid }),
                    None => edge.leaf = Some(bytes),
                }
                return Ok(edge);
            }
            PageKind::InteriorTable => {
                let children = children(&page, geometry)?;
                // The new pages get the page numbers after `page_count`. So a child with such a number would become a page of another tree.
                if children.iter().any(|child| !(2..=page_count).contains(&child.page)) {
                    return Err(damaged_page(&page, "has a child that is no page of the file"));
                }
                edge.levels.push(children);
                if number != root {
                    edge.interior_pages.push(number);
                }
                let right = page.child(page.cells());
                number = right.ok_or_else(|| damaged_page(&page, "has no right-most child"))?;
            }
            _ => return Err(damaged_page(&page, "is no page of a table")),
        }
    }
    Err(damaged(root, format!("the tree has more than {LEVELS_MAX} levels")))
}

/// Returns the last rowid of a leaf.
fn last_rowid(page: &PageView<&[u8]>) -> Result<i64> {
    let Some(last) = page.cells().checked_sub(1) else {
        return Err(damaged_page(page, "has no cells"));
    };
    let entry = page.entry(last).ok_or_else(|| damaged_page(page, "has a cell outside of it"))?;
    Ok(entry.rowid)
}

/// Returns the children of an interior page, without the right-most child.
fn children(page: &PageView<&[u8]>, geometry: Geometry) -> Result<Vec<Child>> {
    let mut children: Vec<Child> = Vec::with_capacity(page.cells());
    let mut bytes = 0;
    for index in 0..page.cells() {
        let child = page.child(index).zip(page.interior_rowid(index));
        let Some((number, last_rowid)) = child else {
            return Err(damaged_page(page, "has a cell outside of it"));
        };
        bytes += cell::table_interior_bytes(last_rowid) + CELL_POINTER_BYTES;
        if children.last().is_some_and(|before| before.last_rowid >= last_rowid) {
            return Err(damaged_page(page, "has rowids in a wrong order"));
        }
        children.push(Child { page: number, last_rowid });
    }
    let room = geometry.usable_bytes() - PageKind::InteriorTable.header_bytes();
    if children.is_empty() || bytes > room {
        return Err(damaged_page(page, "has no cells, or more bytes of cells than it can hold"));
    }
    Ok(children)
}

fn damaged_page(page: &PageView<&[u8]>, what: &str) -> Error {
    damaged(page.number(), format!("page {} {what}", page.number()))
}

fn damaged(page: u32, what: String) -> Error {
    Error::target(format!("the database is damaged near page {page}")).because(what).hint(DAMAGED_HINT)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use sqluice_format::page::PageSize;
    use sqluice_format::tree::TableTree;

    use super::*;

    /// Returns the geometry, root page and bytes of a database with a table of three levels on small pages.
    fn table() -> (Geometry, u32, Vec<u8>) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.db");
        let database = Connection::open(&path).unwrap();
        database
            .execute_batch(
                "PRAGMA page_size = 512; CREATE TABLE t (a INTEGER PRIMARY KEY, b);
                 WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)
                 INSERT INTO t SELECT i * 1000, zeroblob(100) FROM n",
            )
            .unwrap();
        let root: u32 = database
            .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 't'", [], |row| row.get(0))
            .unwrap();
        database.close().unwrap();
        let geometry = Geometry::new(PageSize::new(512).unwrap(), 0).unwrap();
        (geometry, root, std::fs::read(&path).unwrap())
    }

    fn read_of(geometry: Geometry, root: u32, bytes: &[u8]) -> Result<Edge> {
        read(root, (bytes.len() / 512) as u32, geometry, |number| {
            Ok(bytes[geometry.offset(number) as usize..][..512].to_vec())
        })
    }

    #[test]
    fn the_edge_of_a_table_is_the_last_page_of_each_level() {
        let (geometry, root, bytes) = table();
        let edge = read_of(geometry, root, &bytes).unwrap();
        assert_eq!((edge.largest_rowid, edge.counted_from), (Some(3_000_000), 3_000_000));
        assert_eq!((edge.levels.len(), edge.interior_pages.len()), (2, 1));
        assert!(edge.leaf.is_none());
        assert_eq!(edge.levels[0].last().unwrap().last_rowid, 3_000_000);
    }

    #[test]
    fn a_damaged_right_edge_gives_an_error_or_an_edge_from_which_a_tree_can_grow() {
        let (geometry, root, bytes) = table();
        let edge = read_of(geometry, root, &bytes).unwrap();
        let last_leaf = edge.levels[0].last().unwrap().page;
        let mut errors = 0;
        for page in edge.interior_pages.iter().copied().chain([root, last_leaf]) {
            for at in 0..512 {
                for flip in [1, 0x40, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[geometry.offset(page) as usize + at] ^= flip;
                    match read_of(geometry, root, &damaged) {
                        Ok(edge) => {
                            let pages = edge.levels.iter().flatten().map(|child| child.page);
                            assert!(pages.into_iter().all(|page| page as usize <= bytes.len() / 512));
                            drop(TableTree::growing(geometry, edge.levels));
                        }
                        Err(_) => errors += 1,
                    }
                }
            }
        }
        assert!(errors > 100, "{errors}");
    }
}
