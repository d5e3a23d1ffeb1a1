//! The overflow chains of a damaged file. An entry *claims* the overflow pages of its chain, and the claims decide which entries get a
//! page.
//!
//! If two entries on leaves of trees claim the same page, one of their chains is damaged, and nothing shows which one. So both entries get
//! the page. If more than four entries claim the page, only the entry with the smallest claim gets it: otherwise the saved rows could take
//! many times the size of the file. For a chain that ends where its entry ends, only other such chains count among the four. An entry on a
//! leaf that no tree names shares no page with another entry.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use sqluice_core::error::Result;
use sqluice_format::cell::{PAGE_NUMBER_BYTES, overflow_page_payload};
use sqluice_format::view::CellView;

use super::file::DamagedFile;

/// The bit that marks a claim as doubtful: the chain goes on after the last byte of its entry.
const DOUBTFUL: u64 = 1 << 63;

/// The number of low bits of a claim that hold the number of the entry. The bits above them hold the number of the leaf.
const LEAF_SHIFT: u32 = 16;

/// The largest number of entries that may share an overflow page.
const READERS_MAX: u16 = 4;

/// The largest number of entries that may claim an overflow page. The chain of any further entry counts as broken.
const CLAIMS_MAX: u16 = 16;

/// The claims of entries to overflow pages. The smallest of several claims counts, so that the outcome does not depend on threads.
#[derive(Debug)]
pub struct Chains {
    claims: Vec<AtomicU64>,
    /// For each page, the number of entries that claim it.
    counts: Vec<AtomicU16>,
    /// For each page, the number of these entries whose chains end where the entries end.
    ended: Vec<AtomicU16>,
    /// For each page, `true` if it is a leaf that a tree names.
    of_trees: Vec<AtomicBool>,
    meeting: AtomicU64,
    /// The number of entries whose chains go on where the entries end.
    unended: AtomicU64,
    /// A bit for each page that a tree has; empty until all trees are known.
    taken: Vec<u64>,
}

impl Chains {
    /// Creates the claims to the pages of a file with `pages` pages.
    pub fn new(pages: u32) -> Chains {
        Chains {
            claims: (0..pages).map(|_| AtomicU64::new(u64::MAX)).collect(),
            counts: (0..pages).map(|_| AtomicU16::new(0)).collect(),
            ended: (0..pages).map(|_| AtomicU16::new(0)).collect(),
            of_trees: (0..pages).map(|_| AtomicBool::new(false)).collect(),
            meeting: AtomicU64::new(0),
            unended: AtomicU64::new(0),
            taken: Vec::new(),
        }
    }

    /// Marks a leaf that a tree names.
    pub fn set_of_tree(&self, leaf: u32) {
        self.of_trees[leaf as usize - 1].store(true, Ordering::Relaxed);
    }

    /// Returns the number of times that an entry has claimed a page that another entry had claimed already.
    pub fn meeting(&self) -> u64 {
        self.meeting.load(Ordering::Relaxed)
    }

    /// Returns the number of entries whose overflow chain names a further page after their last byte, so that its last page is damaged.
    /// Only entries on leaves that trees name count.
    pub fn unended(&self) -> u64 {
        self.unended.load(Ordering::Relaxed)
    }

    /// Returns `true` if an entry claims the page.
    pub fn has(&self, page: u32) -> bool {
        self.claims.get(page as usize - 1).is_some_and(|claim| claim.load(Ordering::Relaxed) != u64::MAX)
    }

    /// Follows the chain of an entry on a leaf, and claims its pages. `may_have` returns `false` for pages that can't be overflow pages,
    /// such as pages of trees. Returns `false`, and claims nothing, if the chain is broken, has such a page, or has a page that too many
    /// entries claim already.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn claim(
        &self,
        file: &DamagedFile,
        (leaf, number, cell): (u32, usize, &CellView),
        may_have: impl Fn(u32) -> bool,
    ) -> Result<bool> {
        self.claim_if(file, (leaf, number, cell), may_have, |_| true)
    }

    /// Claims the pages of an entry's chain, as [`Chains::claim`], if the chain ends where the entry ends. Returns `false` if it does not.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn claim_ended(
        &self,
        file: &DamagedFile,
        entry: (u32, usize, &CellView),
        may_have: impl Fn(u32) -> bool,
    ) -> Result<bool> {
        self.claim_if(file, entry, may_have, |is_ended| is_ended)
    }

    fn claim_if(
        &self,
        file: &DamagedFile,
        (leaf, number, cell): (u32, usize, &CellView),
        may_have: impl Fn(u32) -> bool,
        is_taken: impl Fn(bool) -> bool,
    ) -> Result<bool> {
        let (mut pages, mut known) = (Vec::new(), HashSet::new());
        let Some(is_ended) = self.follow(file, cell, |page, _, _| {
            // The pages are looked up in a set, as the chain of a large value has many.
            let is_free = may_have(page) && self.count(page) < CLAIMS_MAX && known.insert(page);
            pages.push(page);
            is_free
        })?
        else {
            return Ok(false);
        };
        if !is_taken(is_ended) {
            return Ok(false);
        }
        self.unended.fetch_add(u64::from(!is_ended && self.is_of_tree(leaf)), Ordering::Relaxed);
        let claim = key(leaf, number) | if is_ended { 0 } else { DOUBTFUL };
        for page in pages {
            self.counts[page as usize - 1].fetch_add(1, Ordering::Relaxed);
            self.ended[page as usize - 1].fetch_add(u16::from(is_ended), Ordering::Relaxed);
            let other = self.claims[page as usize - 1].fetch_min(claim, Ordering::Relaxed);
            self.meeting.fetch_add(u64::from(other != u64::MAX && other != claim), Ordering::Relaxed);
        }
        Ok(true)
    }

    /// Reads the whole payload of an entry. Returns `None` if the chain is broken, or if a page of the chain goes to another entry. Returns
    /// `Some(false)` if parts of the payload may be lost or belong to another row: because the chain does not end where the entry ends,
    /// another entry claims one of its pages, or a page is cut off or has only zeros.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read(
        &self,
        file: &DamagedFile,
        (leaf, number, cell): (u32, usize, &CellView),
        local: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        payload.clear();
        payload.extend_from_slice(local);
        let own = key(leaf, number);
        // `are_own_ended` counts if the chain proves to end where the entry ends, and `are_own` if it does not.
        let (mut are_own_ended, mut are_own, mut are_sole) = (true, true, true);
        let whole = self.follow(file, cell, |page, next, bytes| {
            let left = cell.payload_bytes - payload.len();
            payload.extend_from_slice(&bytes[..left.min(bytes.len())]);
            let claim = self.claims.get(page as usize - 1).map(|claim| claim.load(Ordering::Relaxed));
            // The file may be cut off within the page, or the page be lost: zeros are then no values of the row.
            let is_blank = next == 0 && bytes.iter().all(|byte| *byte == 0);
            are_sole &= self.count(page) == 1 && !is_blank && !file.is_cut(page);
            claim.is_some_and(|claim| {
                let is_first = claim & !DOUBTFUL == own;
                let are_of_trees = self.are_of_trees(leaf, claim);
                let is_one_of = |counts: &[AtomicU16]| are_of_trees && count(counts, page) <= READERS_MAX;
                are_own_ended &= is_first || is_one_of(&self.ended);
                are_own &= is_first || is_one_of(&self.counts);
                are_own_ended || are_own
            })
        })?;
        let is_whole = match whole {
            Some(true) => are_own_ended,
            Some(false) => are_own,
            None => false,
        };
        let is_sure = whole == Some(true) && are_sole;
        Ok((is_whole && payload.len() == cell.payload_bytes).then_some(is_sure))
    }

    /// Reads the start of the payload of an entry whose chain is broken. Follows the chain as long as its pages may belong to the entry: no
    /// tree has the page, the page is unclaimed or may be shared, and it names a next page that the database may have had. Returns `true`
    /// if the first `needed` bytes were read.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read_start(
        &self,
        file: &DamagedFile,
        (leaf, cell): (u32, &CellView),
        (local, needed): (&[u8], usize),
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        payload.clear();
        payload.extend_from_slice(local);
        let pages = file.header().map_or(0, |header| header.page_count).max(file.page_count());
        self.follow(file, cell, |page, next, bytes| {
            let is_free = !self.is_taken(page) && (!self.has(page) || self.may_share(leaf, page));
            if payload.len() >= needed || !is_free || !(2..=pages).contains(&next) {
                return false;
            }
            payload.extend_from_slice(&bytes[..bytes.len().min(cell.payload_bytes - payload.len())]);
            true
        })?;
        Ok(payload.len() >= needed)
    }

    /// Sets the pages that trees have.
    pub fn set_taken(&mut self, is_taken: impl Fn(u32) -> bool) {
        self.taken = vec![0; self.claims.len() / 64 + 1];
        for page in (1..=self.claims.len() as u32).filter(|page| is_taken(*page)) {
            self.taken[page as usize / 64] |= 1 << (page % 64);
        }
    }

    fn is_taken(&self, page: u32) -> bool {
        self.taken.get(page as usize / 64).is_none_or(|word| word >> (page % 64) & 1 == 1)
    }

    /// Returns the number of entries that claim a page.
    fn count(&self, page: u32) -> u16 {
        count(&self.counts, page)
    }

    /// Returns `true` if an entry on the leaf `leaf` may share a page with the entry that has claimed the page.
    fn may_share(&self, leaf: u32, page: u32) -> bool {
        let claim =
            self.claims.get(page as usize - 1).map_or(u64::MAX, |claim| claim.load(Ordering::Relaxed));
        self.are_of_trees(leaf, claim) && self.count(page) < READERS_MAX
    }

    /// Returns `true` if a leaf, and that of a claim, are leaves that trees name.
    fn are_of_trees(&self, leaf: u32, claim: u64) -> bool {
        let other = (claim & !DOUBTFUL) >> LEAF_SHIFT;
        claim != u64::MAX && self.is_of_tree(leaf) && self.is_of_tree(other as u32)
    }

    fn is_of_tree(&self, leaf: u32) -> bool {
        self.of_trees.get((leaf as usize).wrapping_sub(1)).is_some_and(|is| is.load(Ordering::Relaxed))
    }

    /// Calls `take` with the number of each page of a chain, the number of the next page, and the content of the page, until `take` returns
    /// `false`. Returns `None` if the chain is broken or `take` has returned `false`, `Some(true)` if the chain ends where the entry ends,
    /// and `Some(false)` if its last page names a further page.
    fn follow(
        &self,
        file: &DamagedFile,
        cell: &CellView,
        mut take: impl FnMut(u32, u32, &[u8]) -> bool,
    ) -> Result<Option<bool>> {
        let geometry = file.geometry();
        let Some(mut next) = cell.overflow else { return Ok(Some(true)) };
        let per_page = overflow_page_payload(geometry);
        let count = (cell.payload_bytes - cell.local.len()).div_ceil(per_page);
        if count > self.claims.len() {
            return Ok(None);
        }
        let mut page = vec![0; geometry.page_bytes()];
        for _ in 0..count {
            if next < 2 || next as usize > self.claims.len() || next == geometry.lock_page() {
                return Ok(None);
            }
            file.read(next, &mut page)?;
            let content = &page[PAGE_NUMBER_BYTES..PAGE_NUMBER_BYTES + per_page];
            let after = u32::from_be_bytes([page[0], page[1], page[2], page[3]]);
            if !take(next, after, content) {
                return Ok(None);
            }
            next = after;
        }
        Ok(Some(next == 0))
    }
}

fn count(counts: &[AtomicU16], page: u32) -> u16 {
    counts.get((page as usize).wrapping_sub(1)).map_or(0, |count| count.load(Ordering::Relaxed))
}

fn key(leaf: u32, number: usize) -> u64 {
    u64::from(leaf) << LEAF_SHIFT | number as u64
}
