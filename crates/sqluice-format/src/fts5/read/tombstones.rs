//! The tombstones of a segment: the rowids of its rows that were deleted from a table with `contentless_delete=1`.
//!
//! ```text
//!  page   key size (4 or 8) | 1 with rowid 0 | 0 | 0 | 32 bits: number of keys | keys of 4 or 8 bytes; 0 for an empty slot
//! ```
//!
//! The pages are a hash table: rowid r lies on page r % pages, from slot (r / pages) % slots on, with r as an unsigned number.

use std::collections::HashSet;

use super::super::page_id;
use super::{Damage, Fault, Pages, ReadError, SegmentSpan};

/// The size of the head of a page.
const HEAD_BYTES: usize = 8;

/// The deleted rows of a segment.
#[derive(Clone, Debug, Default)]
pub struct Tombstones {
    rowids: HashSet<i64>,
}

impl Tombstones {
    /// Returns the `id` of a page in `t_data`. Pages are numbered from 0.
    pub fn id(segment: u16, page: u32) -> i64 {
        page_id(segment, None, page) + (1 << (16 + 37))
    }

    /// Reads the tombstones of a segment.
    ///
    /// # Errors
    /// If a page can't be read, is missing or is damaged.
    pub fn read<P: Pages>(segment: &SegmentSpan, pages: &mut P) -> Result<Tombstones, ReadError<P::Error>> {
        let mut all = Tombstones::default();
        let mut block = Vec::new();
        for page in 0..segment.tombstone_pages {
            let id = Tombstones::id(segment.id, page);
            if !pages.page(id, &mut block).map_err(ReadError::Stopped)? {
                return Err(Damage { row: id, offset: 0, fault: Fault::Missing }.into());
            }
            all.add(id, &block, (page, segment.tombstone_pages))?;
        }
        Ok(all)
    }

    /// Adds the rowids of page `page` of `pages` pages.
    fn add(&mut self, id: i64, block: &[u8], (page, pages): (u32, u32)) -> Result<(), Damage> {
        let damage = |offset, fault| Damage { row: id, offset, fault };
        let Some(&[key_bytes, has_zero, _, _, a, b, c, d]) = block.first_chunk::<HEAD_BYTES>() else {
            return Err(damage(block.len(), Fault::Short));
        };
        let key_bytes = match key_bytes {
            4 => 4,
            8 => 8,
            _ => return Err(damage(0, Fault::Range)),
        };
        if has_zero > 1 {
            return Err(damage(1, Fault::Range));
        }
        let slots = block[HEAD_BYTES..].chunks_exact(key_bytes);
        if !slots.remainder().is_empty() {
            return Err(damage(block.len(), Fault::Trailing));
        }
        let mut count = 0;
        for (slot, bytes) in slots.enumerate() {
            let key = bytes.iter().fold(0, |key: u64, byte| key << 8 | u64::from(*byte));
            if key == 0 {
                continue;
            }
            if key % u64::from(pages) != u64::from(page) {
                return Err(damage(HEAD_BYTES + slot * key_bytes, Fault::Range));
            }
            count += 1;
            self.rowids.insert(key as i64);
        }
        if count != u32::from_be_bytes([a, b, c, d]) {
            return Err(damage(4, Fault::Total));
        }
        if has_zero == 1 {
            self.rowids.insert(0);
        }
        Ok(())
    }

    /// Returns `true` if the row was deleted.
    pub fn contains(&self, rowid: i64) -> bool {
        self.rowids.contains(&rowid)
    }

    /// Returns the number of deleted rows.
    pub fn len(&self) -> usize {
        self.rowids.len()
    }

    /// Returns `true` if no row was deleted.
    pub fn is_empty(&self) -> bool {
        self.rowids.is_empty()
    }
}
