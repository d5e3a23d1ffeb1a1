//! Reads the items of a run, or of a part of it, one after another.
//!
//! ```text
//!  run in memory ──── gathered in order, some at a time ────┐
//!                                                           ├──> block ──> items
//!  run in the file ── read, the next block meanwhile ───────┘      └─ carry: an item that crosses into the next block
//! ```

use sqluice_format::aligned::AlignedBuffer;

use super::ahead::{Ahead, Underway};
use super::item::{self, Found, Told};
use super::order::{Cut, Item, Layout};
use super::run::{FileRun, MemoryRun, Run, Stretch};
use super::spill::BLOCK_BYTES;
use crate::error::Result;

/// Of a run in memory so much is gathered at a time: it should stay in the nearest cache.
pub(super) const GATHER_BYTES: usize = 4 << 10;

/// What is to be read.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) layout: &'a Layout,
    pub(super) run: &'a Run,
    pub(super) start: Option<&'a Cut>,
    pub(super) end: Option<&'a Cut>,
}

/// Reads a part of a run.
pub(super) struct Reader<'a> {
    layout: &'a Layout,
    start: Option<&'a Cut>,
    end: Option<&'a Cut>,
    /// Items that come too late may be in this block.
    is_last_block: bool,
    feed: Feed<'a>,
    block: AlignedBuffer,
    /// Where the next item begins.
    at: usize,
    carry: Vec<u8>,
    item: Found,
    /// Where it begins.
    began: usize,
    /// It lies in the carry.
    is_carried: bool,
    /// Blocks are of prefixes that tell the items; the item that one tells.
    told: Option<Told>,
    /// Of the item.
    pub(super) prefix: u128,
}

/// Where blocks come from.
enum Feed<'a> {
    Memory { run: &'a MemoryRun, places: &'a [u32] },
    Told(&'a [u128]),
    File(FileFeed<'a>),
}

struct FileFeed<'a> {
    run: &'a FileRun,
    ahead: &'a Ahead,
    block_bytes: usize,
    /// What was read comes up to here in the stream.
    at: u64,
    /// What was asked for, up to here.
    asked: u64,
    stretch: Stretch<'a>,
    next: Option<Underway>,
}

impl<'a> Part<'a> {
    /// No item of the part has a smaller prefix.
    pub(super) fn prefix_min(&self) -> u128 {
        let first = match self.run {
            Run::Memory(_) | Run::Told(_) => self.run.prefixes().0,
            Run::File(run) => run.between(self.start, self.end).first.prefix,
        };
        first.max(self.start.map_or(0, Cut::prefix))
    }

    /// Begins to read it: what is in the file is asked for.
    pub(super) fn reader(&self, block_bytes: usize, ahead: &'a Ahead) -> Reader<'a> {
        let Part { layout, run, mut start, mut end } = *self;
        let mut at = 0;
        let feed = match run {
            Run::Memory(run) => {
                let places = run.between(layout, start.take(), end.take());
                Feed::Memory { run, places }
            }
            Run::Told(prefixes) => {
                let before = |cut: &Cut| prefixes.partition_point(|prefix| *prefix < cut.prefix());
                let from = start.take().map_or(0, before);
                Feed::Told(&prefixes[from..end.take().map_or(prefixes.len(), before)])
            }
            Run::File(run) => {
                let stretch = run.between(start, end);
                at = (stretch.first.at % BLOCK_BYTES as u64) as usize;
                let from = stretch.first.at - at as u64;
                let (at, asked) = (from, from);
                let mut feed = FileFeed { run, ahead, block_bytes, stretch, at, asked, next: None };
                feed.ask(AlignedBuffer::default());
                Feed::File(feed)
            }
        };
        let is_told = match run {
            Run::Memory(_) => false,
            Run::Told(_) => true,
            Run::File(run) => run.is_told,
        };
        Reader {
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
            told: is_told.then_some(Told::NONE),
            prefix: 0,
        }
    }
}

impl Reader<'_> {
    /// The item, after `advance` said that there is one.
    #[inline]
    pub(super) fn item(&self) -> Item<'_> {
        match &self.told {
            Some(told) => told.item(),
            None if self.is_carried => self.item.item(&self.carry),
            None => self.item.item(self.block.bytes()),
        }
    }

    /// The bytes of the item.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.told {
            Some(told) => told.bytes(),
            None if self.is_carried => &self.carry,
            None => &self.block.bytes()[self.began..self.at],
        }
    }

    /// Goes on to the next item; says whether there is one.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool> {
        if self.told.is_some() {
            return self.advance_told();
        }
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

    #[inline]
    fn advance_told(&mut self) -> Result<bool> {
        loop {
            let Some(prefix) = self.block.bytes().get(self.at..).and_then(|rest| rest.first_chunk()) else {
                match self.refill()? {
                    true => continue,
                    false => return Ok(false),
                }
            };
            let prefix = u128::from_be_bytes(*prefix);
            self.at += size_of::<u128>();
            // Prefixes are whole keys: no other key begins as they do.
            if self.start.is_some_and(|cut| prefix < cut.prefix()) {
                continue;
            }
            self.start = None;
            if self.end.is_some_and(|cut| prefix >= cut.prefix()) {
                return Ok(false);
            }
            if let Some(told) = &mut self.told {
                told.set(&self.layout.order, prefix);
            }
            self.prefix = prefix;
            return Ok(true);
        }
    }

    fn is_before(&self, prefix: u128, cut: &Cut) -> bool {
        self.layout.order.is_before(&self.item(), prefix, cut)
    }

    /// Goes on to the next block; says whether there is one.
    #[cold]
    fn refill(&mut self) -> Result<bool> {
        // Where the first item begins in the first block was known before the block was there.
        self.at -= self.block.bytes().len();
        let is_filled = self.feed.fill(&mut self.block, self.layout)?;
        self.is_last_block |= matches!(&self.feed, Feed::File(feed) if feed.at > feed.stretch.all_until);
        Ok(is_filled)
    }

    /// Puts the item together that does not end in this block.
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
                    (false, Feed::Memory { .. } | Feed::Told(_)) => {
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

impl Feed<'_> {
    /// The next block; says whether there is one.
    fn fill(&mut self, block: &mut AlignedBuffer, layout: &Layout) -> Result<bool> {
        match self {
            Feed::Memory { run, places } => {
                block.set_len(0);
                let mut taken = 0;
                let item_bytes = run.arena.len() / run.places.len();
                while block.bytes().len() < GATHER_BYTES && taken < places.len() {
                    if taken % item::FETCHED == 0 {
                        let next = &places[taken..];
                        item::fetch(&run.arena, &next[..next.len().min(item::FETCHED)], item_bytes);
                    }
                    block.extend_from_slice(run.bytes(layout, places[taken]));
                    taken += 1;
                }
                *places = &places[taken..];
                Ok(taken > 0)
            }
            Feed::Told(prefixes) => {
                let (now, later) = prefixes.split_at(prefixes.len().min(GATHER_BYTES / size_of::<u128>()));
                block.set_len(size_of_val(now));
                for (bytes, prefix) in block.bytes_mut().chunks_exact_mut(size_of::<u128>()).zip(now) {
                    bytes.copy_from_slice(&prefix.to_be_bytes());
                }
                *prefixes = later;
                Ok(!now.is_empty())
            }
            Feed::File(feed) => feed.fill(block),
        }
    }
}

impl FileFeed<'_> {
    fn fill(&mut self, block: &mut AlignedBuffer) -> Result<bool> {
        let Some(next) = self.next.take() else { return Ok(false) };
        let used = std::mem::take(block);
        *block = next.recv().unwrap_or_else(|_| Err(self.run.spill.damaged()))?;
        // The stream may end within the block.
        block.set_len((self.asked.min(self.stretch.end) - self.at) as usize);
        self.at = self.asked;
        self.ask(used);
        Ok(true)
    }

    /// Asks for the next block.
    fn ask(&mut self, mut buffer: AlignedBuffer) {
        if self.asked < self.stretch.end {
            let (offset, follow) = self.run.place(self.asked);
            let left = (self.stretch.end - self.asked).next_multiple_of(BLOCK_BYTES as u64);
            let bytes = left.min(follow).min(self.block_bytes as u64);
            buffer.set_len(bytes as usize);
            self.asked += bytes;
            self.next = Some(self.ahead.read(&self.run.spill, offset, buffer));
        }
    }
}
