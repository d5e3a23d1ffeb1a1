//! Reads the keys of a run, or of a part of it, one after another.

use sqluice_core::error::Result;
use sqluice_format::aligned::AlignedBuffer;

use super::feed::{Cuts, Feed};
use crate::sort::items::halves::{HALF_BYTES, HALVES_MAX, halves};
use crate::sort::items::keys::{Form, Packing, partition_point};
use crate::sort::items::order::{Cut, Layout};

/// A reader of a part of a run of key-only items.
pub(in crate::sort) struct KeyReader<'a> {
    layout: &'a Layout,
    feed: Feed<'a>,
    form: Form,
    /// The packing of the stored keys, if the keys are packed.
    packing: Option<&'a Packing>,
    start: Option<&'a Cut>,
    end: Option<&'a Cut>,
    block: AlignedBuffer,
    /// The offset of the next key in the block. The keys of the range end at the offset `until`.
    at: usize,
    until: usize,
    is_last_block: bool,
}

impl<'a> KeyReader<'a> {
    /// Creates a reader of the keys from one cut to another. The first key is at the offset `at` of the first block.
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

    /// Returns the number of halves of a stored key.
    #[inline]
    fn stored_halves(&self) -> usize {
        if self.packing.is_some() { 1 } else { self.form.halves() }
    }

    /// Returns a stored key, with zeros after it.
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

    /// Returns the next key, with zeros after it, or `None` if no key is left.
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

    /// Appends the next keys until `keys` has `count` keys, or no keys are left. If keys have fewer halves than `HALVES`, short pairs are
    /// appended as pairs, and normalized keys with zeros after them.
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

    /// Advances to the next block that has keys. Returns `false` if no block is left.
    #[cold]
    fn refill(&mut self) -> Result<bool> {
        while !self.is_last_block {
            // The offset of the first key in the first block is known before the block is read.
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

    /// Returns the number of bytes of the sorted keys before `cut`.
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
