//! The freelist of a damaged file ([§1.5](https://www.sqlite.org/fileformat2.html#the_freelist)).

use sqluice_core::error::Result;

use super::file::DamagedFile;

/// The listed pages.
#[derive(Debug, Default)]
pub struct Freelist {
    /// A bit for each page.
    listed: Vec<u64>,
    /// `true` if the list was read whole, and has as many pages as the header says.
    pub is_whole: bool,
}

impl Freelist {
    /// Reads the freelist up to its end or its first fault.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read(file: &DamagedFile) -> Result<Freelist> {
        let geometry = file.geometry();
        let pages = file.page_count();
        let mut list = Freelist { listed: vec![0; pages as usize / 64 + 1], is_whole: false };
        let Some(header) = file.header() else { return Ok(list) };
        let mut page = vec![0; geometry.page_bytes()];
        let word =
            |page: &[u8], at: usize| u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
        let (mut trunk, mut count) = (header.freelist_trunk, 0u32);
        while trunk != 0 {
            if !list.add(trunk, pages) {
                return Ok(list);
            }
            count += 1;
            file.read(trunk, &mut page)?;
            let leaves = word(&page, 4) as usize;
            if leaves > geometry.usable_bytes() / 4 - 2 {
                return Ok(list);
            }
            for leaf in 0..leaves {
                if !list.add(word(&page, 8 + leaf * 4), pages) {
                    return Ok(list);
                }
            }
            count += leaves as u32;
            trunk = word(&page, 0);
        }
        list.is_whole = count == header.freelist_pages;
        Ok(list)
    }

    /// Returns `true` if the page is listed.
    pub fn has(&self, page: u32) -> bool {
        self.listed.get(page as usize / 64).is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    /// Adds a page. Returns `false` if there is no such page, or it is listed already.
    fn add(&mut self, page: u32, pages: u32) -> bool {
        if !(2..=pages).contains(&page) || self.has(page) {
            return false;
        }
        self.listed[page as usize / 64] |= 1 << (page % 64);
        true
    }
}
