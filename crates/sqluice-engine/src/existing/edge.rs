//! The right edge of a table that is there: the pages that must change when rows come after its last
//! ([`pipeline`](crate::pipeline) draws it).
//!
//! The pages are SQLite's own, and may be damaged: every number is checked before it is believed.

use sqluice_core::error::{Error, Result};
use sqluice_format::cell;
use sqluice_format::page::{CELL_POINTER_BYTES, Geometry, PageKind};
use sqluice_format::tree::Child;
use sqluice_format::varint;

use crate::pipeline::Edge;

/// Levels that a tree has at most: with two children a page there would be more pages than numbers.
const LEVELS_MAX: usize = 32;

/// Reads the right edge of the table whose root is page `root`, of a database of `page_count` pages. Rowids are counted from the
/// largest.
///
/// # Errors
/// When a page can't be read, or is damaged.
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
        let page = Page { number, geometry, bytes: &bytes };
        match PageKind::from_byte(bytes[0]) {
            Some(PageKind::LeafTable) if page.cells() == 0 && number == root => return Ok(edge),
            Some(PageKind::LeafTable) => {
                let last_rowid = page.last_rowid()?;
                (edge.largest_rowid, edge.counted_from) = (Some(last_rowid), last_rowid);
                edge.levels.reverse();
                match edge.levels.first_mut() {
                    Some(children) => children.push(Child { page: number, last_rowid }),
                    None => edge.leaf = Some(bytes),
                }
                return Ok(edge);
            }
            Some(PageKind::InteriorTable) => {
                let children = page.children()?;
                // Pages that are not there yet will be of another tree.
                if children.iter().any(|child| !(2..=page_count).contains(&child.page)) {
                    return Err(page.damaged("has a child that is no page of the file"));
                }
                edge.levels.push(children);
                if number != root {
                    edge.interior_pages.push(number);
                }
                number = page.right_child()?;
            }
            _ => return Err(page.damaged("is no page of a table")),
        }
    }
    Err(damaged(root, "it has too many levels".to_owned()))
}

/// A page of the edge.
struct Page<'p> {
    number: u32,
    geometry: Geometry,
    bytes: &'p [u8],
}

impl Page<'_> {
    fn cells(&self) -> usize {
        usize::from(u16::from_be_bytes([self.bytes[3], self.bytes[4]]))
    }

    /// What cell `index` begins with, up to the end of what the format may use.
    fn cell(&self, kind: PageKind, index: usize) -> Result<&[u8]> {
        let pointer = kind.header_bytes() + index * CELL_POINTER_BYTES;
        let usable = &self.bytes[..self.geometry.usable_bytes()];
        let at = usable.get(pointer..pointer + CELL_POINTER_BYTES);
        let at = at.map(|at| usize::from(u16::from_be_bytes([at[0], at[1]])));
        let cell = at.and_then(|at| usable.get(at..)).filter(|cell| cell.len() >= cell::CELL_BYTES_MIN);
        cell.ok_or_else(|| self.damaged("has a cell outside of it"))
    }

    fn last_rowid(&self) -> Result<i64> {
        let Some(last) = self.cells().checked_sub(1) else {
            return Err(self.damaged("has no cells"));
        };
        let cell = self.cell(PageKind::LeafTable, last)?;
        let rowid = varint::read(cell).and_then(|(_, bytes)| varint::read(&cell[bytes..]));
        rowid.map(|(rowid, _)| rowid as i64).ok_or_else(|| self.damaged("has a cell that does not end"))
    }

    /// Its children without the right-most.
    fn children(&self) -> Result<Vec<Child>> {
        let mut children: Vec<Child> = Vec::with_capacity(self.cells());
        let mut bytes = 0;
        for index in 0..self.cells() {
            let cell = self.cell(PageKind::InteriorTable, index)?;
            let page = u32::from_be_bytes([cell[0], cell[1], cell[2], cell[3]]);
            let Some((rowid, _)) = varint::read(&cell[cell::PAGE_NUMBER_BYTES..]) else {
                return Err(self.damaged("has a cell that does not end"));
            };
            let last_rowid = rowid as i64;
            bytes += cell::table_interior_bytes(last_rowid) + CELL_POINTER_BYTES;
            if children.last().is_some_and(|before| before.last_rowid >= last_rowid) {
                return Err(self.damaged("has rowids in a wrong order"));
            }
            children.push(Child { page, last_rowid });
        }
        let room = self.geometry.usable_bytes() - PageKind::InteriorTable.header_bytes();
        if children.is_empty() || bytes > room {
            return Err(self.damaged("has cells that can't be"));
        }
        Ok(children)
    }

    fn right_child(&self) -> Result<u32> {
        let at = self.bytes.get(8..12).ok_or_else(|| self.damaged("is no page"))?;
        Ok(u32::from_be_bytes([at[0], at[1], at[2], at[3]]))
    }

    fn damaged(&self, what: &str) -> Error {
        damaged(self.number, format!("page {} {what}", self.number))
    }
}

fn damaged(page: u32, what: String) -> Error {
    Error::target(format!("the database is damaged near page {page}"))
        .because(what)
        .hint("PRAGMA integrity_check reports the details; a copy that .recover makes may be whole")
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use sqluice_format::page::PageSize;
    use sqluice_format::tree::TableTree;

    use super::*;

    /// A table of three levels, on small pages.
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
    fn a_damaged_edge_is_an_error_or_a_tree_that_can_grow() {
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
