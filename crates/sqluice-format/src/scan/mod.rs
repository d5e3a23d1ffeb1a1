//! Reads what a tree of an existing file holds, in order, in parts that may be read at the same time.
//!
//! ```text
//!                  root                        read once, when the tree is divided
//!       ┌───────────┼───────────┐
//!     part d      part d      part             d: the divider after it, which belongs to the part; tables have none
//!     ┌─┼─┐       ┌─┼─┐       ┌─┼─┐
//!     leaves      leaves      leaves           table: (rowid, record) of each row
//!                                              index: each entry, those on interior pages at their places
//! ```
//!
//! What takes them may take a leaf as a whole ([`Visit::leaf`]), to copy it. What reads several trees side by side goes through
//! each with a [`Cursor`].
//!
//! A part can be read by any thread; its entries follow those of the part before it. A record that lies on its
//! page is lent from the page, one that overflows is put together first, as far as it is wanted.
//!
//! The file may be damaged, or made to do harm. Every number is looked at before it is used: the walk ends after as
//! many pages as the file has, all leaves are as deep as the first, rowids ascend, and the cells, free blocks and lost bytes of a page
//! fill it, so that no cell is missing. What can't be is a [`Damage`] with its page. Several scans may share [`Claims`]: then no page
//! is read twice. Whether a payload is a record is not looked at: [`Records`](crate::check::Records) does that.
//!
//! Memory: a page a level, and the longest record as far as it is wanted.

mod cursor;
mod leaf;
mod overflow;
mod page;
mod walk;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::check::{Claims, ReadPage};
use crate::page::{Geometry, PAGE_NUMBER_MAX};
pub use cursor::{Cursor, Position};
pub use leaf::Leaf;
use page::Page;
use walk::Walk;

/// SQLite goes no deeper, and a tree with that number of levels could not be filled.
const DEPTH_MAX: u32 = 20;

/// The number of parts at which a tree is no longer divided.
const PARTS_WANTED: usize = 64;

/// Leaves are parts of their own when they are so large: a root may have thousands of them.
const LARGE_LEAF_BYTES: usize = 16 << 10;

/// What the entries of a tree are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows by rowid.
    Table,
    /// The entries of an index, or the rows of a WITHOUT ROWID table.
    Index,
}

/// A tree and the file that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its root.
    pub root_page: u32,
    /// What it holds.
    pub kind: Kind,
    /// Page size and reserved bytes of the file.
    pub geometry: Geometry,
    /// Pages of the file: none of its trees has a page beyond.
    pub page_count: u32,
}

/// What can't be in a file that is sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The page that it was found on.
    pub page: u32,
    /// What it is.
    pub what: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}: {}", self.page, self.what)
    }
}

/// Why a tree was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanError<E> {
    /// The pages could not be read, or the receiver of the entries wants no more.
    Stopped(E),
    /// The file is damaged.
    Damaged(Damage),
}

impl<E> From<Damage> for ScanError<E> {
    fn from(damage: Damage) -> ScanError<E> {
        ScanError::Damaged(damage)
    }
}

/// Takes what a tree holds, in order.
pub trait Visit<E> {
    /// Whether [`Visit::leaf`] is to be called, of leaves that look as [`Leaf`] says.
    const TAKES_LEAVES: bool;

    /// Takes a leaf as a whole, or says that it wants the entries one by one instead.
    ///
    /// # Errors
    /// What ends the reading.
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool, E>;

    /// Takes an entry: its rowid, 0 in an index, its record, and whether it is one between two leaves of an index.
    ///
    /// # Errors
    /// What ends the reading.
    fn entry(&mut self, rowid: i64, record: &[u8], is_divider: bool) -> Result<(), E>;
}

impl<E, V: Visit<E>> Visit<E> for &mut V {
    const TAKES_LEAVES: bool = V::TAKES_LEAVES;

    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool, E> {
        V::leaf(self, leaf)
    }

    #[inline]
    fn entry(&mut self, rowid: i64, record: &[u8], is_divider: bool) -> Result<(), E> {
        V::entry(self, rowid, record, is_divider)
    }
}

/// A closure that takes entries.
struct Entries<F>(F);

impl<E, F: FnMut(i64, &[u8]) -> Result<(), E>> Visit<E> for Entries<F> {
    const TAKES_LEAVES: bool = false;

    fn leaf(&mut self, _: &Leaf<'_>) -> Result<bool, E> {
        Ok(false)
    }

    #[inline]
    fn entry(&mut self, rowid: i64, record: &[u8], _: bool) -> Result<(), E> {
        self.0(rowid, record)
    }
}

/// A tree, divided into parts. Each is to be read once.
#[derive(Debug)]
pub struct Scan {
    tree: Tree,
    /// Levels of interior pages.
    leaf_level: u32,
    subtrees: Vec<Subtree>,
    /// Subtrees of a part.
    of_part: usize,
    /// Pages that the tree may still have.
    pages_left: AtomicU32,
    /// Interior pages that were read to divide the tree.
    divided: Vec<u32>,
    /// The pages that this scan and others have read; `None`: that is not looked at.
    claims: Option<Arc<Claims>>,
    fields: usize,
}

/// The fault of a page that two trees, chains or cells refer to.
pub const USED_TWICE: &str = "it is used twice";

/// A subtree, and the divider after it.
#[derive(Clone, Copy, Debug)]
struct Subtree {
    place: PagePosition,
    /// The page and the number of the cell.
    divider: Option<(u32, usize)>,
}

/// Where a page is in its tree.
#[derive(Clone, Copy, Debug)]
struct PagePosition {
    page: u32,
    /// Levels below the root.
    level: u32,
    /// Rowids below it are greater than this, and at most that.
    above: Option<i64>,
    up_to: Option<i64>,
}

/// What a reader of parts keeps from one to the next, so that nothing is allocated for a page or an entry.
#[derive(Debug, Default)]
pub struct Reader {
    spare: Vec<Page>,
    overflow_page: Vec<u8>,
    record: Vec<u8>,
}

impl Scan {
    /// Divides a tree.
    ///
    /// # Errors
    /// When its upper pages can't be read, or are damaged.
    pub fn new<P: ReadPage>(pages: &mut P, tree: Tree) -> Result<Scan, ScanError<P::Error>> {
        let mut scan = Scan::begin(pages, tree)?;
        scan.divide(pages, PARTS_WANTED)?;
        Ok(scan)
    }

    /// Divides a tree into parts of about `bytes` bytes of leaves, where its interior pages allow that. The cuts depend on the tree
    /// alone.
    ///
    /// # Errors
    /// As [`Scan::new`].
    pub fn in_parts_of<P: ReadPage>(
        pages: &mut P,
        tree: Tree,
        bytes: usize,
    ) -> Result<Scan, ScanError<P::Error>> {
        let mut scan = Scan::begin(pages, tree)?;
        scan.divide(pages, usize::MAX)?;
        if let (true, Some(first)) = (scan.leaf_level > 0, scan.subtrees.first()) {
            let mut page = Page::default();
            page.read(pages, &tree, first.place.page)?;
            // Those that are leaves already are one page each.
            let leaves = if page.is_leaf() { 1 } else { page.cells() + 1 };
            scan.of_part = (bytes / tree.geometry.page_bytes() / leaves).max(1);
        }
        Ok(scan)
    }

    /// The tree as a single part.
    fn begin<P: ReadPage>(pages: &mut P, tree: Tree) -> Result<Scan, ScanError<P::Error>> {
        let pages_left = AtomicU32::new(tree.page_count);
        let (fields, of_part) = (usize::MAX, 1);
        let (subtrees, divided, claims) = (Vec::new(), Vec::new(), None);
        let mut scan = Scan { tree, leaf_level: 0, subtrees, of_part, pages_left, divided, claims, fields };
        let mut page = Page::default();
        let mut place = PagePosition { page: tree.root_page, level: 0, above: None, up_to: None };
        scan.subtrees.push(Subtree { place, divider: None });
        loop {
            page.read(pages, &tree, place.page)?;
            if page.is_leaf() {
                break;
            }
            if scan.leaf_level == DEPTH_MAX {
                return Err(page.damage("the tree is too deep").into());
            }
            scan.leaf_level += 1;
            place.page = page.child(0)?;
        }
        Ok(scan)
    }

    /// Limits a record that overflows to its header and that number of leading fields.
    #[must_use]
    pub fn with_fields(self, fields: usize) -> Scan {
        Scan { fields, ..self }
    }

    /// Claims each page that is read from now on, and those that were read to divide the tree: a page that is claimed already is damage.
    /// Each part must be read once, and no samples.
    ///
    /// # Errors
    /// When an interior page is claimed already.
    pub fn claiming(mut self, claims: Arc<Claims>) -> Result<Scan, Damage> {
        let twice = self.divided.iter().find(|page| !claims.claim(**page));
        if let Some(&page) = twice {
            return Err(Damage { page, what: USED_TWICE });
        }
        self.claims = Some(claims);
        Ok(self)
    }

    /// Cuts finer where it takes that to have at least `parts` parts, down to single leaves.
    ///
    /// # Errors
    /// As [`Scan::new`].
    pub fn with_parts<P: ReadPage>(
        mut self,
        pages: &mut P,
        parts: usize,
    ) -> Result<Scan, ScanError<P::Error>> {
        let level = self.subtrees.first().map_or(0, |first| first.place.level);
        if self.subtrees.len() < parts && level < self.leaf_level {
            self.divide_once(pages)?;
        }
        self.of_part = self.of_part.min(self.subtrees.len() / parts.max(1)).max(1);
        Ok(self)
    }

    /// The number of parts: at least one.
    pub fn parts(&self) -> usize {
        self.subtrees.len().div_ceil(self.of_part)
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Reads a part: calls `each` with the rowid, 0 in an index, and the record of each entry, in order.
    ///
    /// # Errors
    /// The errors of `pages` and of `each`, and damage.
    ///
    /// # Panics
    /// When the part does not exist.
    pub fn read<P: ReadPage>(
        &self,
        part: usize,
        pages: &mut P,
        reader: &mut Reader,
        each: impl FnMut(i64, &[u8]) -> Result<(), P::Error>,
    ) -> Result<(), ScanError<P::Error>> {
        self.visit(part, pages, reader, Entries(each))
    }

    /// Reads a part: calls `visit` with what it holds, in order.
    ///
    /// # Errors
    /// The errors of `pages` and of `visit`, and damage.
    ///
    /// # Panics
    /// When the part does not exist.
    pub fn visit<P: ReadPage>(
        &self,
        part: usize,
        pages: &mut P,
        reader: &mut Reader,
        visit: impl Visit<P::Error>,
    ) -> Result<(), ScanError<P::Error>> {
        let first = part * self.of_part;
        let subtrees = &self.subtrees[first..self.subtrees.len().min(first + self.of_part)];
        let mut walk = Walk { scan: self, pages, reader, visit, last_rowid: subtrees[0].place.above };
        for Subtree { place, divider } in subtrees {
            walk.subtree(*place)?;
            if let Some((page, cell)) = *divider {
                walk.divider(page, cell)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with an entry of each run of `parts` parts that has one above its leaves: its record in an index; in a table, the largest
    /// rowid that a leaf may have. The entries lie at that place of the runs, the numerator and denominator of a fraction below 1: those of
    /// trees that are alike lie evenly between each other if their fractions do.
    ///
    /// # Errors
    /// The errors of `pages` and of `each`, and damage.
    ///
    /// # Panics
    /// When there are no parts in a run, or the fraction is not below 1.
    pub fn samples<P: ReadPage>(
        &self,
        parts: usize,
        place: (usize, usize),
        pages: &mut P,
        reader: &mut Reader,
        mut each: impl FnMut(i64, &[u8]) -> Result<(), P::Error>,
    ) -> Result<(), ScanError<P::Error>> {
        let mut page = Page::default();
        for run in self.subtrees.chunks(self.of_part.saturating_mul(parts)) {
            let (within, denominator) = (run.len() * place.0, place.1);
            let Subtree { place: position, divider } = run[within / denominator];
            let found = if position.level == self.leaf_level {
                divider
            } else {
                page.read(pages, &self.tree, position.page)?;
                let cell = page.cells() * (within % denominator) / denominator;
                (page.cells() > 0).then_some((position.page, cell))
            };
            match (self.tree.kind, found) {
                (Kind::Index, Some((number, cell))) => {
                    let visit = Entries(&mut each);
                    Walk { scan: self, pages, reader, visit, last_rowid: None }.divider(number, cell)?;
                }
                (Kind::Table, Some((_, cell))) => {
                    each(page.interior_rowid(cell)?, &[]).map_err(ScanError::Stopped)?;
                }
                (Kind::Table, None) if position.level == self.leaf_level => {
                    position.up_to.map_or(Ok(()), |up_to| each(up_to, &[])).map_err(ScanError::Stopped)?;
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// Goes down until the parts are enough.
    fn divide<P: ReadPage>(&mut self, pages: &mut P, wanted: usize) -> Result<(), ScanError<P::Error>> {
        let large_leaves = self.tree.geometry.page_bytes() >= LARGE_LEAF_BYTES;
        for level in 0..self.leaf_level {
            let are_leaves = level + 1 == self.leaf_level;
            if self.subtrees.len() >= wanted || (are_leaves && !large_leaves) {
                break;
            }
            self.divide_once(pages)?;
        }
        Ok(())
    }

    /// Goes down one level.
    fn divide_once<P: ReadPage>(&mut self, pages: &mut P) -> Result<(), ScanError<P::Error>> {
        let mut page = Page::default();
        let mut below = Vec::new();
        for part in &self.subtrees {
            self.take_page(part.place.page)?;
            self.divided.push(part.place.page);
            page.read(pages, &self.tree, part.place.page)?;
            children(&page, *part, self.tree.kind, &mut below)?;
        }
        self.subtrees = below;
        Ok(())
    }

    /// Counts a page: a tree with more pages than the file runs in circles.
    fn take_page(&self, page: u32) -> Result<(), Damage> {
        let left =
            self.pages_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| Damage { page, what: "the tree has more pages than the file" })?;
        match &self.claims {
            // Numbers beyond the file are refused when the page is read.
            Some(claims) if self.tree.may_have(page) && !claims.claim(page) => {
                Err(Damage { page, what: USED_TWICE })
            }
            _ => Ok(()),
        }
    }
}

/// The parts below an interior page, the divider after its own part handed down to the last.
fn children(page: &Page, part: Subtree, kind: Kind, below: &mut Vec<Subtree>) -> Result<(), Damage> {
    if page.is_leaf() {
        return Err(page.damage("a leaf is not as deep as others"));
    }
    let PagePosition { level, mut above, up_to, .. } = part.place;
    for cell in 0..page.cells() {
        let rowid = (kind == Kind::Table).then(|| page.interior_rowid(cell)).transpose()?;
        let place = PagePosition { page: page.child(cell)?, level: level + 1, above, up_to: rowid };
        below.push(Subtree { place, divider: (kind == Kind::Index).then_some((page.number(), cell)) });
        above = rowid;
    }
    let place = PagePosition { page: page.child(page.cells())?, level: level + 1, above, up_to };
    below.push(Subtree { place, divider: part.divider });
    Ok(())
}

impl Tree {
    /// Whether a page of that number may belong to it.
    fn may_have(&self, page: u32) -> bool {
        (1..=self.page_count.min(PAGE_NUMBER_MAX)).contains(&page) && page != self.geometry.lock_page()
    }
}
