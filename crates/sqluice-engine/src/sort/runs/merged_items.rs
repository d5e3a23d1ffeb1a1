//! Merges runs of which at least one has full items. Key-only items are decoded to full items before they are compared.
//!
//! A tournament finds the smallest of the current items of all runs. A run enters the tournament only when its first item may be the next,
//! and leaves it after its last item. So runs that do not overlap are read one after another.

use sqluice_core::error::Result;

use super::item_reader::{Reader, RunSlice};
use crate::sort::items::order::{Item, Layout};
use crate::sort::spill::prefetch::Prefetch;
use crate::tournament::Tournament;

/// The items of slices of several runs, merged in order.
pub(in crate::sort) struct ItemRuns<'a> {
    layout: &'a Layout,
    prefetch: &'a Prefetch,
    block_bytes: usize,
    /// The slices of runs that are not read yet, each with a prefix that is not greater than that of any of its items, in descending order
    /// of these prefixes.
    waiting: Vec<(u128, RunSlice<'a>)>,
    readers: Vec<Reader<'a>>,
    /// The prefix of each reader's current item.
    heads: Vec<u128>,
    tournament: Tournament,
    /// `true` if the winner's current item was returned already, so that the winner must advance first.
    is_given: bool,
}

impl<'a> ItemRuns<'a> {
    /// Begins to merge slices of runs. Spilled runs are read in blocks of `block_bytes` bytes.
    pub(in crate::sort) fn new(
        layout: &'a Layout,
        parts: Vec<RunSlice<'a>>,
        block_bytes: usize,
        prefetch: &'a Prefetch,
    ) -> ItemRuns<'a> {
        let mut waiting: Vec<_> = parts.into_iter().map(|part| (part.prefix_min(), part)).collect();
        waiting.sort_by_key(|(from, _)| std::cmp::Reverse(*from));
        let (readers, heads, tournament) = (Vec::new(), Vec::new(), Tournament::default());
        ItemRuns { layout, prefetch, block_bytes, waiting, readers, heads, tournament, is_given: false }
    }

    /// Advances to the next item in order. Returns `false` if no item is left.
    #[inline]
    pub(in crate::sort) fn advance(&mut self) -> Result<bool> {
        if self.is_given {
            let winner = self.winner();
            if self.readers[winner].advance()? {
                self.heads[winner] = self.readers[winner].prefix();
                self.replay();
            } else {
                self.leave(winner);
            }
        }
        while let Some((from, _)) = self.waiting.last() {
            if !self.readers.is_empty() && self.prefix() < *from {
                break;
            }
            self.enter()?;
        }
        self.is_given = !self.readers.is_empty();
        Ok(self.is_given)
    }

    /// Returns the index of the reader that has the current item.
    #[inline]
    fn winner(&self) -> usize {
        self.tournament.winner()
    }

    /// Returns the current item. The last call of [`ItemRuns::advance`] must have returned `true`.
    #[inline]
    pub(in crate::sort) fn item(&self) -> Item<'_> {
        self.readers[self.winner()].item()
    }

    /// Returns the current item as bytes, encoded as in `item`.
    pub(in crate::sort) fn bytes(&self) -> &[u8] {
        self.readers[self.winner()].bytes()
    }

    /// Returns the prefix of the current item. Items with different prefixes have different keys, except in the order by rowid, in which a
    /// prefix also has the number of the item.
    #[inline]
    pub(in crate::sort) fn prefix(&self) -> u128 {
        self.heads[self.winner()]
    }

    /// Adds the next slice that is not read yet to the tournament, with all slices that were given with the same prefix, so that their
    /// first blocks are read concurrently.
    #[cold]
    fn enter(&mut self) -> Result<()> {
        let Some(&(from, _)) = self.waiting.last() else { return Ok(()) };
        let next = self.waiting.partition_point(|(later, _)| *later > from);
        let parts = self.waiting.drain(next..);
        let entering: Vec<_> = parts.map(|(_, part)| part.reader(self.block_bytes, self.prefetch)).collect();
        for mut reader in entering {
            if reader.advance()? {
                self.heads.push(reader.prefix());
                self.readers.push(reader);
            }
        }
        self.rebuild();
        Ok(())
    }

    #[cold]
    fn leave(&mut self, reader: usize) {
        self.readers.swap_remove(reader);
        self.heads.swap_remove(reader);
        self.rebuild();
    }

    fn rebuild(&mut self) {
        let ItemRuns { layout, readers, heads, tournament, .. } = self;
        tournament.rebuild(readers.len(), |a, b| is_less(layout, heads, readers, a, b));
    }

    /// Finds the new winner after the winner's reader has advanced to its next item.
    #[inline]
    fn replay(&mut self) {
        let ItemRuns { layout, readers, heads, tournament, .. } = self;
        tournament.replay(|a, b| is_less(layout, heads, readers, a, b));
    }
}

#[inline]
fn is_less(layout: &Layout, heads: &[u128], readers: &[Reader<'_>], a: usize, b: usize) -> bool {
    match heads[a] == heads[b] {
        false => heads[a] < heads[b],
        true => layout.order.compare(&readers[a].item(), &readers[b].item()).is_lt(),
    }
}
