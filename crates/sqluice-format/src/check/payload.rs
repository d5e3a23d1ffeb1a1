//! Reads payloads: the local part from the cell, and the rest from overflow pages
//! ([§1.7](https://www.sqlite.org/fileformat2.html#ovflpgs)).

use super::checker::Checker;
use super::claims::Use;
use super::content::{Content, Walk};
use super::fields::wanted_bytes;
use super::layout::Cell;
use super::{ReadPage, word};
use crate::cell::{self, PAGE_NUMBER_BYTES};

impl Content<'_> {
    /// Returns the number of payload bytes that are needed, as far as `start` shows.
    fn wanted_bytes(&self, start: &[u8], payload: u64) -> u64 {
        let (fields, bytes_max) = match self {
            Content::Unknown => (0, u64::MAX),
            Content::Schema(keep) => (usize::MAX, keep.bytes_max as u64),
            Content::Rows { fields_read, .. } => (*fields_read, u64::MAX),
            Content::Entries(_) => return payload,
        };
        wanted_bytes(start, payload, fields).min(bytes_max.max(wanted_bytes(start, payload, 0)))
    }
}

impl<P: ReadPage> Checker<'_, '_, P> {
    /// Reads a payload from its cell and overflow pages.
    #[inline]
    pub(super) fn payload(
        &mut self,
        walk: &mut Walk<'_>,
        number: u32,
        page: &[u8],
        cell: &Cell,
    ) -> Result<(), P::Error> {
        let local = cell.local(page);
        if cell.overflow_pages == 0 {
            self.record(walk, number, cell, local);
            return Ok(());
        }
        if walk.edges {
            return Ok(());
        }
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        kept.extend_from_slice(local);
        let payload = u64::from(cell.payload);
        let content = &walk.content;
        let mut feed = |bytes: &[u8]| {
            let wanted = content.wanted_bytes(&kept, payload).saturating_sub(kept.len() as u64);
            // Only the bytes read so far show how many are needed, so whole pages are kept until there are enough.
            if wanted > 0 {
                kept.extend_from_slice(bytes);
            }
        };
        let whole = self.overflow(number, cell, payload - local.len() as u64, &mut feed)?;
        if whole {
            self.record(walk, number, cell, &kept);
        }
        self.kept = kept;
        Ok(())
    }

    /// Reads a chain of overflow pages with `left` bytes. Returns `false` if the chain ends early, or leads to a page that can't be
    /// claimed.
    fn overflow(
        &mut self,
        leaf: u32,
        cell: &Cell,
        mut left: u64,
        feed: &mut impl FnMut(&[u8]),
    ) -> Result<bool, P::Error> {
        let geometry = self.common.geometry;
        let (mut parent, mut next, mut usage) = (leaf, cell.overflow, Use::FirstOverflow);
        let mut page = self.spare.pop().unwrap_or_default();
        page.bytes.resize(geometry.page_bytes(), 0);
        for _ in 0..cell.overflow_pages {
            if next == 0 {
                self.problem(Some(parent), "an overflow chain ends too early".to_owned());
                return Ok(false);
            }
            if !self.claim(next, usage, parent)? {
                return Ok(false);
            }
            self.pages.read_page(next, &mut page.bytes)?;
            let bytes = left.min(cell::overflow_page_payload(geometry) as u64);
            feed(&page.bytes[PAGE_NUMBER_BYTES..][..bytes as usize]);
            left -= bytes;
            let used = PAGE_NUMBER_BYTES as u64 + bytes;
            let unused = geometry.usable_bytes() as u64 - used;
            let tree = self.tree();
            tree.overflow_pages += 1;
            tree.used_bytes += used;
            tree.unused_bytes += unused;
            (parent, next, usage) = (next, word(&page.bytes, 0), Use::LaterOverflow);
        }
        self.spare.push(page);
        if next != 0 {
            self.problem(Some(parent), format!("an overflow chain goes on to page {next} after its end"));
        }
        Ok(true)
    }
}
