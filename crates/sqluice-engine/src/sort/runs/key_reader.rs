//! Reads the keys of a run of key-only items one after another: all keys, or those between two cuts, which are positions in the order of
//! items.

use sqluice_core::error::Result;
use sqluice_format::aligned::AlignedBuffer;

use super::feed::{Cuts, Feed};
use crate::sort::items::halves::{HALF_BYTES, HALVES_MAX, halves};
use crate::sort::items::keys::{Form, Packing, partition_point};
use crate::sort::items::order::{Cut, Layout};

/// A reader of the keys of a run between two cuts.
pub(in crate::sort) struct KeyReader<'a> {
    layout: &'a Layout,
    feed: Feed<'a>,
    form: Form,
    /// The packing of the stored keys, which restores the keys; `None` if the keys are stored as they are.
    packing: Option<&'a Packing>,
    start: Option<&'a Cut>,
    end: Option<&'a Cut>,
    block: AlignedBuffer,
    /// The offset of the next key in the block. The keys before the cut `end` reach to the offset `until` of the block.
    at: usize,
    until: usize,
    is_last_block: bool,
}

impl<'a> KeyReader<'a> {
    /// Creates a reader of the keys between two cuts, which have the form `form`. The first key in the first block is at the offset `at`;
    /// it may be before `start`.
    pub(in crate::sort) fn new(
        layout: &'a Layout,
        feed: Feed<'a>,
        form: Form,
        at: usize,
        (start, end): Cuts<'a>,
    ) -> KeyReader<'a> {
        let block = AlignedBuffer::default();
        let packing = match &feed {
            Feed::File(feed) => feed.run.packing.as_deref(),
            Feed::Keys(_) | Feed::Memory { .. } => None,
        };
        KeyReader { layout, feed, form, packing, start, end, block, at, until: 0, is_last_block: false }
    }

    /// Returns the number of u64 numbers that are stored for each key: one if the keys are packed.
    #[inline]
    fn stored_halves(&self) -> usize {
        if self.packing.is_some() { 1 } else { self.form.halves() }
    }

    /// Decodes a key from its stored bytes: unpacks it if keys are packed. Halves of the returned array that the key does not have are 0.
    #[inline]
    fn key<const HALVES: usize>(&self, stored: &[[u8; HALF_BYTES]]) -> [u64; HALVES] {
        match (self.packing, stored) {
            (Some(packing), [packed]) => packing.unpacked(u64::from_le_bytes(*packed)),
            _ => std::array::from_fn(|at| stored.get(at).map_or(0, |half| u64::from_le_bytes(*half))),
        }
    }

    pub(in crate::sort) fn form(&self) -> Form {
        self.form
    }

    /// Returns the next key, or `None` if no key is left. The array has room for the longest form; halves that the key does not have are 0.
    #[inline]
    pub(in crate::sort) fn next_key(&mut self) -> Result<Option<[u64; HALVES_MAX]>> {
        if self.at >= self.until && !self.refill()? {
            return Ok(None);
        }
        let (stored, _) = self.block.bytes()[self.at..].as_chunks();
        let stored = &stored[..self.stored_halves()];
        self.at += size_of_val(stored);
        Ok(Some(self.key(stored)))
    }

    /// Appends the next keys to `keys` until `keys` has `count` keys, or no keys are left. The merge needs keys of `HALVES` halves. If the
    /// stored keys have fewer, short pairs are converted to pairs, and normalized keys are padded with zeros.
    pub(in crate::sort) fn read<const HALVES: usize>(
        &mut self,
        count: usize,
        keys: &mut Vec<[u64; HALVES]>,
    ) -> Result<()> {
        while keys.len() < count && (self.at < self.until || self.refill()?) {
            let (stored, _) = self.block.bytes()[self.at..self.until].as_chunks();
            let each = self.stored_halves();
            let now = (count - keys.len()).min(stored.len() / each);
            let stored = &stored[..each * now];
            match each {
                _ if self.packing.is_some() => keys.extend(stored.iter().map(|half| self.key(&[*half]))),
                _ if each == HALVES => keys.extend(stored.as_chunks().0.iter().map(as_stored)),
                1 => keys.extend(stored.iter().map(|half| {
                    let pair = self.layout.order.pair_of_short(u64::from_le_bytes(*half));
                    std::array::from_fn(|at| halves(pair).get(at).copied().unwrap_or(0))
                })),
                _ => keys.extend(stored.chunks(each).map(|stored| self.key(stored))),
            }
            self.at += HALF_BYTES * each * now;
        }
        Ok(())
    }

    /// Advances to the next block that has keys between the cuts. Returns `false` if no such block is left.
    #[cold]
    fn refill(&mut self) -> Result<bool> {
        while !self.is_last_block {
            // In the first block, the first key is at `at`; all other blocks begin with a key.
            let first = if self.until == 0 { self.at } else { 0 };
            if !self.feed.fill(&mut self.block, self.layout)? {
                self.is_last_block = true;
                break;
            }
            let keys = &self.block.bytes()[first..];
            let before = |cut: &Cut| self.bytes_before(keys, cut);
            let (skipped, len) = (self.start.map_or(0, before), self.end.map_or(keys.len(), before));
            self.is_last_block = len < keys.len();
            (self.at, self.until) = (first + skipped, first + len);
            if self.at < self.until {
                self.start = None;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the number of bytes that the keys before `cut` take in `keys`, the sorted keys of a block.
    fn bytes_before(&self, keys: &[u8], cut: &Cut) -> usize {
        let (stored, _) = keys.as_chunks();
        let each = self.stored_halves();
        let before = partition_point(stored.len() / each, |key| {
            let key: [u64; HALVES_MAX] = self.key(&stored[each * key..][..each]);
            self.form.is_before(&self.layout.order, &key, cut)
        });
        HALF_BYTES * each * before
    }
}

#[inline]
fn as_stored<const HALVES: usize>(key: &[[u8; HALF_BYTES]; HALVES]) -> [u64; HALVES] {
    key.map(u64::from_le_bytes)
}
