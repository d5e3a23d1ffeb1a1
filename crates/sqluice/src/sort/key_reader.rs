//! Reads the keys of a run, or of a part of it, one after another.

use sqluice_format::aligned::AlignedBuffer;

use super::keys::WORD_BYTES;
use super::order::{Cut, Layout};
use super::reader::Feed;
use crate::error::Result;

/// Reads a part of a run of keys that tell their items.
pub(super) struct KeyReader<'a> {
    layout: &'a Layout,
    feed: Feed<'a>,
    /// Words of a key in the run.
    words: usize,
    start: Option<&'a Cut>,
    end: Option<&'a Cut>,
    block: AlignedBuffer,
    /// Where the next key is, and where those end that do not come too late.
    at: usize,
    until: usize,
    is_last_block: bool,
}

impl<'a> KeyReader<'a> {
    /// Reads what a run of keys of so many words has from one cut to another: the first block has its first key at `at`.
    pub(super) fn new(
        layout: &'a Layout,
        feed: Feed<'a>,
        words: usize,
        at: usize,
        (start, end): (Option<&'a Cut>, Option<&'a Cut>),
    ) -> KeyReader<'a> {
        let block = AlignedBuffer::default();
        KeyReader { layout, feed, words, start, end, block, at, until: 0, is_last_block: false }
    }

    /// The next key; zeros follow where it has fewer words than are asked for.
    #[inline]
    pub(super) fn next_key<const WORDS: usize>(&mut self) -> Result<Option<[u128; WORDS]>> {
        if self.at >= self.until && !self.refill()? {
            return Ok(None);
        }
        let (words, _) = self.block.bytes()[self.at..].as_chunks::<WORD_BYTES>();
        let word = |word: usize| if word < self.words { u128::from_be_bytes(words[word]) } else { 0 };
        self.at += WORD_BYTES * self.words;
        Ok(Some(std::array::from_fn(word)))
    }

    /// Goes on to the next block that has keys; says whether there is one.
    #[cold]
    fn refill(&mut self) -> Result<bool> {
        while !self.is_last_block {
            // Where the first key is in the first block was known before the block was there.
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

    /// Of keys in order, bytes of those that come before a cut.
    fn bytes_before(&self, keys: &[u8], cut: &Cut) -> usize {
        let (words, _) = keys.as_chunks::<WORD_BYTES>();
        let (mut low, mut high) = (0, words.len() / self.words);
        while low < high {
            let middle = (low + high) / 2;
            let key = &words[self.words * middle..][..self.words];
            let key = [key[0], key[key.len() - 1]].map(u128::from_be_bytes);
            match cut.is_after(&key[..self.words]) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low * WORD_BYTES * self.words
    }
}
