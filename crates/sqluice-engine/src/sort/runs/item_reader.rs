//! Reads the items of a run one after another: all items, or those between two cuts, which are positions in the order of items.
//!
//! ```text
//!  run in memory ──── copied in order, some at a time ──────┐
//!                                                           ├──> block ──> items
//!  run in the file ── read, the next block meanwhile ───────┘      └─ carry: an item that crosses into the next block
//! ```

use sqluice_core::error::Result;
use sqluice_format::aligned::AlignedBuffer;

use super::feed::{Cuts, Feed, FileFeed};
use super::key_reader::KeyReader;
use super::run::SortedRun;
use crate::sort::items::halves::first_word;
use crate::sort::items::item::{self, Decoded, Found};
use crate::sort::items::keys::Form;
use crate::sort::items::order::{Cut, Item, Layout, Order};
use crate::sort::spill::BLOCK_BYTES;
use crate::sort::spill::prefetch::Prefetch;

/// The slice of a run to read: the items from the cut `start` to the cut `end`, or without cuts the whole run.
#[derive(Clone, Copy)]
pub(in crate::sort) struct RunSlice<'a> {
    pub(in crate::sort) layout: &'a Layout,
    pub(in crate::sort) run: &'a SortedRun,
    pub(in crate::sort) start: Option<&'a Cut>,
    pub(in crate::sort) end: Option<&'a Cut>,
}

/// A reader of a slice of a run, item by item.
pub(in crate::sort) enum Reader<'a> {
    Items(ItemReader<'a>),
    /// A reader of key-only items, and the current item, decoded from its key.
    Keys {
        order: &'a Order,
        keys: KeyReader<'a>,
        decoded: Decoded,
        prefix: u128,
    },
}

/// A reader of a slice of a run of full items.
pub(in crate::sort) struct ItemReader<'a> {
    layout: &'a Layout,
    start: Option<&'a Cut>,
    end: Option<&'a Cut>,
    /// `true` if the block may hold items after the cut `end`, so that each item must be compared with the cut.
    is_last_block: bool,
    feed: Feed<'a>,
    block: AlignedBuffer,
    /// The offset of the next item in the block.
    at: usize,
    carry: Vec<u8>,
    item: Found,
    /// The offset of the current item in the block.
    began: usize,
    /// `true` if the current item is in `carry`, because it crosses the end of a block.
    is_carried: bool,
    /// The prefix of the current item.
    prefix: u128,
}

impl<'a> RunSlice<'a> {
    /// Returns a prefix that is not greater than the prefix of any item of the slice.
    pub(in crate::sort) fn prefix_min(&self) -> u128 {
        let first = match self.run {
            SortedRun::Memory(_) | SortedRun::Keys(_) => self.run.prefixes(&self.layout.order).0,
            SortedRun::File(run) => run.between(self.start, self.end).first.prefix,
        };
        first.max(self.start.map_or(0, Cut::prefix))
    }

    /// Returns the form of the keys of the run, or `None` if the run has full items.
    pub(in crate::sort) fn form(&self) -> Option<Form> {
        self.run.form()
    }

    /// Returns a word that is not greater than the first word of any key of the slice, if the keys are read in the form `wanted`. The items
    /// must be key-only.
    pub(in crate::sort) fn word_min(&self, wanted: Form) -> u128 {
        let order = &self.layout.order;
        let first = match self.run {
            SortedRun::Memory(_) => 0,
            SortedRun::Keys(keys) => {
                let between = keys.between(order, self.start, self.end);
                between.get(..keys.form.halves()).map_or(0, first_word)
            }
            SortedRun::File(run) => run.between(self.start, self.end).first.word,
        };
        match (self.form(), wanted) {
            (Some(Form::Short), Form::Pair) => order.pair_of_short(first as u64),
            _ => first,
        }
    }

    /// Returns a reader of the slice. If the run is in the temporary file, the first block is requested now.
    pub(in crate::sort) fn reader(&self, block_bytes: usize, prefetch: &'a Prefetch) -> Reader<'a> {
        let RunSlice { layout, run, .. } = *self;
        if let Some(form) = run.form() {
            let keys = self.key_reader(form, block_bytes, prefetch);
            return Reader::Keys { order: &layout.order, keys, decoded: Decoded::NONE, prefix: 0 };
        }
        let (feed, at, (start, end)) = self.feed(block_bytes, prefetch);
        Reader::Items(ItemReader {
            layout,
            start,
            end,
            is_last_block: false,
            feed,
            block: AlignedBuffer::default(),
            at,
            carry: Vec::new(),
            item: Found::default(),
            began: 0,
            is_carried: false,
            prefix: 0,
        })
    }

    /// Returns a reader of the keys of the slice. The items must be key-only.
    pub(in crate::sort) fn key_reader(
        &self,
        form: Form,
        block_bytes: usize,
        prefetch: &'a Prefetch,
    ) -> KeyReader<'a> {
        let (feed, at, cuts) = self.feed(block_bytes, prefetch);
        KeyReader::new(self.layout, feed, form, at, cuts)
    }

    /// Returns the source of the blocks, the offset of an item in the first block, and the cuts with which the reader must compare items.
    /// The blocks of a run in the temporary file also have items outside of the cuts. The source of a run in memory has only the items of
    /// the slice, so no cuts are returned.
    fn feed(&self, block_bytes: usize, prefetch: &'a Prefetch) -> (Feed<'a>, usize, Cuts<'a>) {
        let RunSlice { layout, run, start, end } = *self;
        match run {
            SortedRun::Memory(run) => {
                (Feed::Memory { run, places: run.between(layout, start, end) }, 0, (None, None))
            }
            SortedRun::Keys(keys) => (Feed::Keys(keys.between(&layout.order, start, end)), 0, (None, None)),
            SortedRun::File(run) => {
                let stretch = run.between(start, end);
                let first = stretch.first.at % BLOCK_BYTES as u64;
                let from = stretch.first.at - first;
                let (at, asked) = (from, from);
                let mut feed = FileFeed { run, prefetch, block_bytes, stretch, at, asked, next: None };
                feed.ask(AlignedBuffer::default());
                (Feed::File(feed), first as usize, (start, end))
            }
        }
    }
}

impl Reader<'_> {
    /// Returns the current item. The last call of [`Reader::advance`] must have returned `true`.
    #[inline]
    pub(in crate::sort) fn item(&self) -> Item<'_> {
        match self {
            Reader::Items(items) => items.item(),
            Reader::Keys { decoded, .. } => decoded.item(),
        }
    }

    /// Returns the current item as bytes, encoded as in `item`.
    pub(in crate::sort) fn bytes(&self) -> &[u8] {
        match self {
            Reader::Items(items) => items.bytes(),
            Reader::Keys { decoded, .. } => decoded.bytes(),
        }
    }

    /// Returns the prefix of the current item.
    #[inline]
    pub(in crate::sort) fn prefix(&self) -> u128 {
        match self {
            Reader::Items(items) => items.prefix,
            Reader::Keys { prefix, .. } => *prefix,
        }
    }

    /// Advances to the next item. Returns `false` if no item is left.
    #[inline]
    pub(in crate::sort) fn advance(&mut self) -> Result<bool> {
        match self {
            Reader::Items(items) => items.advance(),
            Reader::Keys { order, keys, decoded, prefix } => {
                let Some(key) = keys.next_key()? else { return Ok(false) };
                let form = keys.form();
                *prefix = form.decode_with_prefix(order, &key[..form.halves()], decoded);
                Ok(true)
            }
        }
    }
}

impl ItemReader<'_> {
    #[inline]
    fn item(&self) -> Item<'_> {
        match self.is_carried {
            true => self.item.item(&self.carry),
            false => self.item.item(self.block.bytes()),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self.is_carried {
            true => &self.carry,
            false => &self.block.bytes()[self.began..self.at],
        }
    }

    #[inline]
    fn advance(&mut self) -> Result<bool> {
        loop {
            let bytes = self.block.bytes();
            match item::find(self.layout, bytes, self.at) {
                Some(found) if found.end <= bytes.len() => {
                    (self.began, self.item, self.is_carried) = (self.at, found, false);
                    self.at = found.end;
                }
                _ if self.at >= bytes.len() => match self.refill()? {
                    true => continue,
                    false => return Ok(false),
                },
                _ => self.cross()?,
            }
            let prefix = self.layout.order.prefix(&self.item());
            if let Some(start) = self.start {
                if self.is_before(prefix, start) {
                    continue;
                }
                self.start = None;
            }
            if let Some(end) = self.end
                && prefix >= end.prefix()
                && self.is_last_block
                && !self.is_before(prefix, end)
            {
                return Ok(false);
            }
            self.prefix = prefix;
            return Ok(true);
        }
    }

    fn is_before(&self, prefix: u128, cut: &Cut) -> bool {
        self.layout.order.is_before(&self.item(), prefix, cut)
    }

    /// Replaces the block by the next block of the run. Returns `false` if no block is left.
    #[cold]
    fn refill(&mut self) -> Result<bool> {
        // Before the first block, the block is empty and `at` is the offset of the first item in the first block, so `at` stays.
        self.at -= self.block.bytes().len();
        let is_filled = self.feed.fill(&mut self.block, self.layout)?;
        self.is_last_block |= matches!(&self.feed, Feed::File(feed) if feed.at > feed.stretch.all_until);
        Ok(is_filled)
    }

    /// Gathers an item that crosses into the next block in `carry`.
    #[cold]
    fn cross(&mut self) -> Result<()> {
        self.carry.clear();
        loop {
            let found = item::find(self.layout, &self.carry, 0);
            let missing = found.map_or(1, |found| found.end - self.carry.len());
            if missing == 0 {
                (self.item, self.is_carried) = (found.unwrap_or_default(), true);
                return Ok(());
            }
            if self.at >= self.block.bytes().len() {
                match (self.refill()?, &self.feed) {
                    (false, Feed::File(feed)) => return Err(feed.run.spill.damaged()),
                    (false, Feed::Memory { .. } | Feed::Keys(_)) => {
                        unreachable!("items in memory are gathered whole")
                    }
                    (true, _) => {}
                }
            }
            let rest = &self.block.bytes()[self.at..];
            let taken = &rest[..missing.min(rest.len())];
            self.carry.extend_from_slice(taken);
            self.at += taken.len();
        }
    }
}
