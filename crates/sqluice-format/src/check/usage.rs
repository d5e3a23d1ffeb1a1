//! The use of each page by a tree or list, compared with the pointer maps of an auto_vacuum database
//! ([§1.8](https://www.sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages)).
//!
//! ```text
//!  pointer map   +------+--------+------+--------+-----
//!                | kind | parent | kind | parent | ...     one entry for each page that follows, up to the next map
//!                +------+--------+------+--------+-----
//!                 1 byte 4 bytes
//!
//!  kind  page                       parent
//!  1     root of a B-tree           0
//!  2     page on the freelist       0
//!  3     first overflow page        page of the cell
//!  4     later overflow page        overflow page before
//!  5     any other B-tree page      interior page above
//! ```

use std::sync::atomic::Ordering;

use super::checker::{Checker, Common};
use super::claims::Use;
use super::{POINTER_BYTES, ReadPage, pointer_map_page, word};

impl Common<'_> {
    fn is_pointer_map(&self, number: u32) -> bool {
        self.header.largest_root != 0 && number > 1 && pointer_map_page(number, self.geometry) == number
    }

    fn is_special(&self, number: u32) -> bool {
        number == self.geometry.lock_page() || self.is_pointer_map(number)
    }
}

impl<P: ReadPage> Checker<'_, '_, P> {
    /// Claims a page for the given use, as found on page `parent`. Returns `false` if the page can't be used, or is already used. If the
    /// tree is read again, no page is claimed a second time.
    pub(super) fn claim(&mut self, number: u32, usage: Use, parent: u32) -> Result<bool, P::Error> {
        let common = self.common;
        let place = Some(parent).filter(|&page| page != 0);
        if number == 0 || number > common.page_count {
            let count = common.page_count;
            self.problem(place, format!("refers to page {number}, but pages run from 1 to {count}"));
            return Ok(false);
        }
        if number == common.geometry.lock_page() {
            self.problem(place, format!("refers to page {number}, which has the lock byte"));
            return Ok(false);
        }
        if common.is_pointer_map(number) {
            self.problem(place, format!("refers to page {number}, which is a pointer map"));
            return Ok(false);
        }
        if self.again {
            return Ok(true);
        }
        if !common.claims.claim(number) {
            // If two parts reach the page at the same time, either may be the second.
            common.disputed.store(true, Ordering::Relaxed);
            self.problem(place, format!("refers to page {number}, which is already used elsewhere"));
            return Ok(false);
        }
        if common.header.largest_root != 0 && number > 1 {
            self.pointer_map_says(number, usage, parent)?;
        }
        Ok(true)
    }

    /// Compares a page's pointer-map entry with the page's use.
    fn pointer_map_says(&mut self, number: u32, usage: Use, parent: u32) -> Result<(), P::Error> {
        let map = pointer_map_page(number, self.common.geometry);
        if self.map.0 != map {
            self.map.1.resize(self.common.geometry.page_bytes(), 0);
            self.pages.read_page(map, &mut self.map.1)?;
            self.map.0 = map;
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

    /// Reports the pages that are not used.
    pub(super) fn unused_pages(&mut self) {
        let common = self.common;
        let count = common.page_count;
        let mut number = 1;
        while number <= count {
            let first = number;
            while number <= count && !common.claims.is_claimed(number) && !common.is_special(number) {
                number += 1;
            }
            match number - first {
                0 => {
                    self.report.pointer_map_pages += u32::from(common.is_pointer_map(number));
                    number += 1;
                }
                1 => self.problem(Some(first), "is never used".to_owned()),
                n => self.problem(Some(first), format!("is never used, nor are the {} after it", n - 1)),
            }
        }
    }
}
