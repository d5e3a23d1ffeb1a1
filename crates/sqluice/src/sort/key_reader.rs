//! Reads the keys of a run, or of a part of it, one after another.

use sqluice_format::aligned::AlignedBuffer;

use super::keys::{Form, WORD_BYTES};
use super::order::{Cut, Layout};
use super::reader::{Cuts, Feed};
use crate::error::Result;

/// Reads a part of a run of keys that tell their items.
pub(super) struct KeyReader<'a> {
    layout: &'a Layout,
    feed: Feed<'a>,
    form: Form,
    start: Option<&'a Cut>,
    end: Option<&'a Cut>,
    block: AlignedBuffer,
    /// Where the next key is, and where those end that do not come too late.
    at: usize,
    until: usize,
    is_last_block: bool,
}

impl<'a> KeyReader<'a> {
    /// Reads what a run of keys has from one cut to another: the first block has its first key at `at`.
    pub(super) fn new(
        layout: &'a Layout,
        feed: Feed<'a>,
        form: Form,
        at: usize,
        (start, end): Cuts<'a>,
    ) -> KeyReader<'a> {
        let block = AlignedBuffer::default();
        KeyReader { layout, feed, form, start, end, block, at, until: 0, is_last_block: false }
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// The next key; zeros follow where it has fewer words than are asked for.
    #[inline]
    pub(super) fn next_key<const WORDS: usize>(&mut self) -> Result<Option<[u128; WORDS]>> {
        if self.at >= self.until && !self.refill()? {
            return Ok(None);
        }
        let (words, _) = self.block.bytes()[self.at..].as_chunks::<WORD_BYTES>();
        let stored = self.form.words();
        let word = |word: usize| if word < stored { u128::from_le_bytes(words[word]) } else { 0 };
        self.at += WORD_BYTES * stored;
        Ok(Some(std::array::from_fn(word)))
    }

    /// Appends the next keys until there are `count`, or no more; zeros follow where they have fewer words than are asked for.
    pub(super) fn read<const WORDS: usize>(
        &mut self,
        count: usize,
        keys: &mut Vec<[u128; WORDS]>,
    ) -> Result<()> {
        while keys.len() < count && (self.at < self.until || self.refill()?) {
            let (words, _) = self.block.bytes()[self.at..self.until].as_chunks::<WORD_BYTES>();
            let stored = self.form.words();
            let now = (count - keys.len()).min(words.len() / stored);
            match self.form {
                Form::Pair | Form::Word => {
                    keys.extend(words.as_chunks().0[..now].iter().map(wide::<1, WORDS>))
                }
                Form::Words => keys.extend(words.as_chunks().0[..now].iter().map(wide::<2, WORDS>)),
            }
            self.at += now * stored * WORD_BYTES;
        }
        Ok(())
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
        let stored = self.form.words();
        let (words, _) = keys.as_chunks::<WORD_BYTES>();
        let (mut low, mut high) = (0, words.len() / stored);
        while low < high {
            let middle = (low + high) / 2;
            let key = &words[stored * middle..][..stored];
            let key = [key[0], key[stored - 1]].map(u128::from_le_bytes);
            match self.form.is_before(&self.layout.order, &key[..stored], cut) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low * WORD_BYTES * stored
    }
}

/// A key of `STORED` words as one of more.
#[inline]
fn wide<const STORED: usize, const WORDS: usize>(key: &[[u8; WORD_BYTES]; STORED]) -> [u128; WORDS] {
    std::array::from_fn(|word| key.get(word).map_or(0, |bytes| u128::from_le_bytes(*bytes)))
}
