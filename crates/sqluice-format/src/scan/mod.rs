//! A reader of an existing tree. It returns the entries in order, in parts that several threads can read in parallel.
//!
//! ```text
//!                  root                        read once, when the tree is divided
//!       ┌───────────┼───────────┐
//!     part d      part d      part             d: the divider after the part, which belongs to it; tables have none
//!     ┌─┼─┐       ┌─┼─┐       ┌─┼─┐
//!     leaves      leaves      leaves           table: (rowid, record) of each row
//!                                              index: each entry, including those on interior pages, in order
//! ```
//!
//! A [`Visit`] may take a leaf as a whole ([`Visit::leaf`]), to copy it. A [`Cursor`] reads one entry at a time, to read several trees side
//! by side.
//!
//! Any thread can read any part; the entries of a part follow those of the previous part. A record without overflow pages is borrowed from
//! its page. Others are assembled first, as far as their fields are wanted.
//!
//! The file may be damaged or malicious. Every number is checked before use: the walk ends after as many pages as the file has, all leaves
//! are as deep as the first, rowids ascend, and the cells, free blocks and lost bytes of a page fill it, so that no cell is missing.
//! Violations are reported as [`Damage`] with a page number. Several scans may share [`Claims`]: a page that two of them reach then counts
//! as damaged. The scan does not check that payloads are records: [`Records`](crate::check::Records) does.
//!
//! Memory: one page per level, and the longest record as far as its fields are wanted.

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

/// The maximum number of levels: SQLite allows no more, and a tree of this depth could not be filled.
const DEPTH_MAX: u32 = 20;

/// The number of parts at which a tree is not divided further.
const PARTS_WANTED: usize = 64;

/// The page size from which single leaves are parts: a root may have thousands of smaller leaves.
const LARGE_LEAF_BYTES: usize = 16 << 10;

/// The kind of a tree's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The rows of a table, by rowid.
    Table,
    /// The entries of an index, or the rows of a WITHOUT ROWID table.
    Index,
}

/// A tree and the file that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The root page of the tree.
    pub root_page: u32,
    /// The kind of the entries.
    pub kind: Kind,
    /// The page size and reserved bytes of the file.
    pub geometry: Geometry,
    /// The number of pages of the file: no tree has a page beyond.
    pub page_count: u32,
}

/// A fault that does not occur in an intact file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The page on which the fault was found.
    pub page: u32,
    /// A description of the fault.
    pub what: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}: {}", self.page, self.what)
    }
}

/// The reason why a tree was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanError<E> {
    /// The error of the pages, or of the receiver of the entries.
    Stopped(E),
    /// The damage of the file.
    Damaged(Damage),
}

impl<E> From<Damage> for ScanError<E> {
    fn from(damage: Damage) -> ScanError<E> {
        ScanError::Damaged(damage)
    }
}

/// A receiver of the entries of a tree, in order.
pub trait Visit<E> {
    /// `true` if [`Visit::leaf`] is to be called for leaves that [`Leaf`] describes.
    const TAKES_LEAVES: bool;

    /// Takes a leaf as a whole and returns `true`, or returns `false` to get its entries one by one instead.
    ///
    /// # Errors
    /// When the reading should end.
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool, E>;

    /// Takes an entry: its rowid, which is 0 in an index, and its record. `is_divider` is `true` for an entry between two leaves of an
    /// index.
    ///
    /// # Errors
    /// When the reading should end.
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

/// A tree that is divided into parts, each of which is to be read once.
#[derive(Debug)]
pub struct Scan {
    tree: Tree,
    /// The number of interior levels.
    leaf_level: u32,
    subtrees: Vec<Subtree>,
    /// The number of subtrees in a part.
    of_part: usize,
    /// The number of pages that the tree may still have.
    pages_left: AtomicU32,
    /// The interior pages that were read to divide the tree.
    divided: Vec<u32>,
    /// The pages that this scan and others have read, or `None` if pages are not claimed.
    claims: Option<Arc<Claims>>,
    fields: usize,
}

/// The fault of a page that two trees, chains or cells use.
pub const USED_TWICE: &str = "it is used twice";

/// A subtree and the divider after it.
#[derive(Clone, Copy, Debug)]
struct Subtree {
    place: PagePosition,
    /// The page of the divider after the subtree, and the index of its cell; `None` if no divider follows.
    divider: Option<(u32, usize)>,
}

/// The position of a page in its tree.
#[derive(Clone, Copy, Debug)]
struct PagePosition {
    page: u32,
    /// The number of levels below the root.
    level: u32,
    /// The bounds of the rowids below the page: greater than `above`, at most `up_to`; `None` for no bound.
    above: Option<i64>,
    up_to: Option<i64>,
}

/// The buffers of a thread that reads parts. Reusing them avoids allocations for pages and entries.
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
    /// When upper pages of the tree can't be read or are damaged.
    pub fn new<P: ReadPage>(pages: &mut P, tree: Tree) -> Result<Scan, ScanError<P::Error>> {
        let mut scan = Scan::begin(pages, tree)?;
        scan.divide(pages, PARTS_WANTED)?;
        Ok(scan)
    }

    /// Divides a tree into parts of about `bytes` bytes of leaves, as far as its interior pages permit. The cuts depend only on the tree.
    ///
    /// # Errors
    /// Like [`Scan::new`].
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
            // A subtree that is already a leaf is one page.
            let leaves = if page.is_leaf() { 1 } else { page.cells() + 1 };
            scan.of_part = (bytes / tree.geometry.page_bytes() / leaves).max(1);
        }
        Ok(scan)
    }

    /// Returns the scan of a tree as a single part.
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

    /// Limits overflowing records to their header and the given number of leading fields.
    #[must_use]
    pub fn with_fields(self, fields: usize) -> Scan {
        Scan { fields, ..self }
    }

    /// Claims all pages that are read from now on, and those that were read to divide the tree. A page that is already claimed counts as
    /// damaged. Each part must then be read only once, and no samples may be taken.
    ///
    /// # Errors
    /// When an interior page is already claimed.
    pub fn claiming(mut self, claims: Arc<Claims>) -> Result<Scan, Damage> {
        let twice = self.divided.iter().find(|page| !claims.claim(**page));
        if let Some(&page) = twice {
            return Err(Damage { page, what: USED_TWICE });
        }
        self.claims = Some(claims);
        Ok(self)
    }

    /// Makes the parts smaller if there are fewer than `parts`, and divides the tree at one more level if this is necessary and possible.
    ///
    /// # Errors
    /// Like [`Scan::new`].
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

    /// Returns the number of parts: at least one.
    pub fn parts(&self) -> usize {
        self.subtrees.len().div_ceil(self.of_part)
    }

    /// Returns the tree that is read.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Reads a part. Calls `each` with the rowid, which is 0 in an index, and the record of each entry, in order.
    ///
    /// # Errors
    /// When `pages` or `each` returns an error, or the tree is damaged.
    ///
    /// # Panics
    /// If the part does not exist.
    pub fn read<P: ReadPage>(
        &self,
        part: usize,
        pages: &mut P,
        reader: &mut Reader,
        each: impl FnMut(i64, &[u8]) -> Result<(), P::Error>,
    ) -> Result<(), ScanError<P::Error>> {
        self.visit(part, pages, reader, Entries(each))
    }

    /// Reads a part. Calls `visit` with its leaves and entries, in order.
    ///
    /// # Errors
    /// When `pages` or `visit` returns an error, or the tree is damaged.
    ///
    /// # Panics
    /// If the part does not exist.
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

    /// Calls `each` with one sample for each run of `parts` parts, taken from the interior pages of the run, if it has any: in an index,
    /// the record of a divider; in a table, the largest rowid that a leaf may have. `place` is the relative position of each sample in its
    /// run, as the numerator and denominator of a fraction below 1. Samples of similar trees interleave evenly if their fractions do.
    ///
    /// # Errors
    /// When `pages` or `each` returns an error, or the tree is damaged.
    ///
    /// # Panics
    /// If `parts` is 0 or the fraction is not below 1.
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

    /// Divides the tree level by level until it has the wanted number of subtrees.
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

    /// Divides each subtree into the subtrees below its page.
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

    /// Counts and claims a page: a tree with more pages than the file has a cycle.
    fn take_page(&self, page: u32) -> Result<(), Damage> {
        let left =
            self.pages_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| Damage { page, what: "the tree has more pages than the file" })?;
        match &self.claims {
            // Reading a page with a number beyond the file fails.
            Some(claims) if self.tree.may_have(page) && !claims.claim(page) => {
                Err(Damage { page, what: USED_TWICE })
            }
            _ => Ok(()),
        }
    }
}

/// Appends the subtrees below an interior page to `below`. The last of them gets the divider after the whole page.
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
    /// Returns `true` if a page with this number may belong to the tree.
    fn may_have(&self, page: u32) -> bool {
        (1..=self.page_count.min(PAGE_NUMBER_MAX)).contains(&page) && page != self.geometry.lock_page()
    }
}
