//! The freelist ([§1.5](https://www.sqlite.org/fileformat2.html#the_freelist)).
//!
//! ```text
//!  trunk page    +------------+-------+------+------+-----
//!                | next trunk | count | leaf | leaf | ...     leaf pages hold nothing
//!                +------------+-------+------+------+-----
//!                 4 bytes      4       4 each, at most usable / 4 - 2
//! ```

use super::checker::Checker;
use super::claims::Use;
use super::{ReadPage, word};

impl<P: ReadPage> Checker<'_, '_, P> {
    /// Checks the freelist.
    pub(super) fn freelist(&mut self) -> Result<(), P::Error> {
        let mut parent = 1;
        let mut trunk = self.common.header.freelist_trunk;
        let mut whole = true;
        while trunk != 0 {
            if !self.claim(trunk, Use::Free, parent)? {
                whole = false;
                break;
            }
            self.report.freelist_trunk_pages += 1;
            self.report.freelist_pages += 1;
            let page = self.read(trunk)?;
            let leaves = word(&page, 4);
            if leaves as usize > self.common.geometry.usable_bytes() / 4 - 2 {
                self.problem(Some(trunk), format!("a freelist page can't have {leaves} leaves"));
                whole = false;
            } else {
                for i in 0..leaves as usize {
                    let claimed = self.claim(word(&page, 8 + i * 4), Use::Free, trunk)?;
                    self.report.freelist_pages += u32::from(claimed);
                    whole &= claimed;
                }
            }
            parent = trunk;
            trunk = word(&page, 0);
        }
        let (found, said) = (self.report.freelist_pages, self.common.header.freelist_pages);
        // A list that ended early has already been reported.
        if whole && found != said {
            self.problem(Some(1), format!("the freelist has {found} pages, the header says {said}"));
        }
        Ok(())
    }
}
