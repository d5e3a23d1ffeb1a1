//! Who uses which page, and what the pointer maps of an auto_vacuum database say of it
//! ([§1.8](https://www.sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages)).
//!
//! ```text
//!  pointer map   +------+--------+------+--------+-----    one entry for each page that follows, up to the next map
//!                | kind | parent | kind | parent | ...     kind 1 root, 2 free, 3 first overflow page (parent: the
//!                +------+--------+------+--------+-----    page of the cell), 4 later ones (the one before),
//!                 1 byte 4 bytes                           5 any other B-tree page (its parent)
//! ```

use super::{Options, POINTER_BYTES, Problem, ReadPage, Report, Tree, pointer_map_page, word};
use crate::database::Header;
use crate::page::Geometry;

/// What a page is used for, as the pointer map numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Root = 1,
    Free = 2,
    FirstOverflow = 3,
    LaterOverflow = 4,
    Child = 5,
}

/// The state of a check.
pub(super) struct Checker<'p, P> {
    pages: &'p mut P,
    pub(super) header: Header,
    pub(super) geometry: Geometry,
    pub(super) report: Report,
    /// Which of the report's trees is being read.
    pub(super) current: Option<usize>,
    problems_max: usize,
    claimed: Vec<u64>,
    /// A pointer-map page and its number, 0 for none.
    map: (u32, Vec<u8>),
}

impl<'p, P: ReadPage> Checker<'p, P> {
    pub(super) fn new(pages: &'p mut P, header: Header, report: Report, options: &Options) -> Checker<'p, P> {
        Checker {
            pages,
            header,
            geometry: header.geometry,
            claimed: vec![0; report.page_count as usize / 64 + 1],
            report,
            current: None,
            problems_max: options.problems_max,
            map: (0, Vec::new()),
        }
    }

    /// Notes that a rule is broken.
    pub(super) fn problem(&mut self, page: Option<u32>, what: String) {
        self.report.problem_count += 1;
        if self.report.problems.len() < self.problems_max {
            let tree = self.current.map(|i| self.report.trees[i].name.clone());
            self.report.problems.push(Problem { page, tree, what });
        }
    }

    /// From now on, what is found belongs to this tree.
    pub(super) fn begin_tree(&mut self, tree: Tree) {
        self.current = Some(self.report.trees.len());
        self.report.trees.push(tree);
    }

    /// The tree being read.
    pub(super) fn tree(&mut self) -> &mut Tree {
        let current = self.current.expect("a tree is being read");
        &mut self.report.trees[current]
    }

    pub(super) fn read(&mut self, number: u32) -> Result<Vec<u8>, P::Error> {
        let mut page = vec![0; self.geometry.page_bytes()];
        self.pages.read_page(number, &mut page)?;
        Ok(page)
    }

    fn is_claimed(&self, number: u32) -> bool {
        self.claimed[number as usize / 64] >> (number % 64) & 1 == 1
    }

    fn is_pointer_map(&self, number: u32) -> bool {
        self.header.largest_root != 0 && number > 1 && pointer_map_page(number, self.geometry) == number
    }

    /// Notes that a page is used, as `parent` says. False when it can't be, or is already.
    pub(super) fn claim(&mut self, number: u32, usage: Use, parent: u32) -> Result<bool, P::Error> {
        let place = Some(parent).filter(|&page| page != 0);
        if number == 0 || number > self.report.page_count {
            let count = self.report.page_count;
            self.problem(place, format!("refers to page {number}, but pages run from 1 to {count}"));
            return Ok(false);
        }
        if number == self.geometry.lock_page() {
            self.problem(place, format!("refers to page {number}, which has the lock byte"));
            return Ok(false);
        }
        if self.is_pointer_map(number) {
            self.problem(place, format!("refers to page {number}, which is a pointer map"));
            return Ok(false);
        }
        if self.is_claimed(number) {
            self.problem(place, format!("refers to page {number}, which is already used elsewhere"));
            return Ok(false);
        }
        self.claimed[number as usize / 64] |= 1 << (number % 64);
        if self.header.largest_root != 0 && number > 1 {
            self.pointer_map_says(number, usage, parent)?;
        }
        Ok(true)
    }

    /// Compares a page's entry of the pointer map with what it is.
    fn pointer_map_says(&mut self, number: u32, usage: Use, parent: u32) -> Result<(), P::Error> {
        let map = pointer_map_page(number, self.geometry);
        if self.map.0 != map {
            self.map = (map, self.read(map)?);
        }
        let at = (number - map - 1) as usize * POINTER_BYTES;
        let parent = if matches!(usage, Use::Root | Use::Free) { 0 } else { parent };
        let (kind, of) = (self.map.1[at], word(&self.map.1, at + 1));
        if kind != usage as u8 || of != parent {
            let what = format!(
                "the pointer map says kind {kind} and parent {of} of page {number}, but it is {} and {parent}",
                usage as u8
            );
            self.problem(Some(map), what);
        }
        Ok(())
    }

    /// The pages that nobody claimed.
    pub(super) fn unused_pages(&mut self) {
        let count = self.report.page_count;
        let mut number = 1;
        while number <= count {
            let first = number;
            while number <= count && !self.is_claimed(number) && !self.is_special(number) {
                number += 1;
            }
            match number - first {
                0 => {
                    self.report.pointer_map_pages += u32::from(self.is_pointer_map(number));
                    number += 1;
                }
                1 => self.problem(Some(first), "is never used".to_owned()),
                n => self.problem(Some(first), format!("is never used, nor are the {} after it", n - 1)),
            }
        }
    }

    fn is_special(&self, number: u32) -> bool {
        number == self.geometry.lock_page() || self.is_pointer_map(number)
    }
}
