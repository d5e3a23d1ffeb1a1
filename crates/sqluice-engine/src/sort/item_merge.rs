//! Merges runs of items.
//!
//! ```text
//!            winner                      a tree of losers: each inner node keeps its loser,
//!           /      \                     so that one path is gone up for each item
//!        loser      loser
//!        /   \      /   \
//!      part part  part part     <──  waiting: parts that begin further on
//! ```
//!
//! A part enters the tree only at its turn, and leaves it when it ends. So of runs that do not overlap one is
//! read after another.

use sqluice_core::error::Result;

use super::order::{Item, Layout};
use super::prefetch::Prefetch;
use super::reader::{Reader, RunSlice};

/// The items of runs, one after another.
pub(super) struct ItemMerge<'a> {
    layout: &'a Layout,
    prefetch: &'a Prefetch,
    block_bytes: usize,
    /// The first parts are last.
    waiting: Vec<(u128, RunSlice<'a>)>,
    readers: Vec<Reader<'a>>,
    /// The prefixes of what the readers are at.
    heads: Vec<u128>,
    /// The loser at each inner node; node 0 has the winner.
    tree: Vec<u32>,
    /// The winner's item was given.
    is_given: bool,
}

impl<'a> ItemMerge<'a> {
    /// Merges parts, each read in blocks of `block_bytes`.
    pub(super) fn new(
        layout: &'a Layout,
        parts: Vec<RunSlice<'a>>,
        block_bytes: usize,
        prefetch: &'a Prefetch,
    ) -> ItemMerge<'a> {
        let mut waiting: Vec<_> = parts.into_iter().map(|part| (part.prefix_min(), part)).collect();
        waiting.sort_by_key(|(from, _)| std::cmp::Reverse(*from));
        let (readers, heads, tree) = (Vec::new(), Vec::new(), Vec::new());
        ItemMerge { layout, prefetch, block_bytes, waiting, readers, heads, tree, is_given: false }
    }

    /// Goes on to the next item in order; returns whether one is left.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool> {
        if self.is_given {
            let winner = self.winner();
            if self.readers[winner].advance()? {
                self.heads[winner] = self.readers[winner].prefix();
                self.replay(winner);
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

    /// The reader that has the item at hand.
    #[inline]
    fn winner(&self) -> usize {
        self.tree[0] as usize
    }

    /// The item, after `advance` has returned true.
    #[inline]
    pub(super) fn item(&self) -> Item<'_> {
        self.readers[self.winner()].item()
    }

    /// The bytes of the item.
    pub(super) fn bytes(&self) -> &[u8] {
        self.readers[self.winner()].bytes()
    }

    /// The prefix of its key: items with unequal prefixes have unequal keys.
    #[inline]
    pub(super) fn prefix(&self) -> u128 {
        self.heads[self.winner()]
    }

    /// Lets the next part take its place, and those that begin where it does: all are read from the disk at once.
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
        const EMPTY: u32 = u32::MAX;
        let count = self.readers.len();
        self.tree.clear();
        self.tree.resize(count, EMPTY);
        for reader in 0..count {
            let (mut winner, mut node) = (reader, (reader + count) / 2);
            // The first to reach a node waits in it for the other.
            while node > 0 {
                if self.tree[node] == EMPTY {
                    break;
                }
                let other = self.tree[node] as usize;
                if self.is_less(other, winner) {
                    (self.tree[node], winner) = (winner as u32, other);
                }
                node /= 2;
            }
            self.tree[node] = winner as u32;
        }
    }

    /// Goes up the path of a reader whose item is new.
    #[inline]
    fn replay(&mut self, reader: usize) {
        let (mut winner, mut node) = (reader, (reader + self.tree.len()) / 2);
        while node > 0 {
            let other = self.tree[node] as usize;
            if self.is_less(other, winner) {
                (self.tree[node], winner) = (winner as u32, other);
            }
            node /= 2;
        }
        self.tree[0] = winner as u32;
    }

    #[inline]
    fn is_less(&self, a: usize, b: usize) -> bool {
        match self.heads[a] == self.heads[b] {
            false => self.heads[a] < self.heads[b],
            true => self.layout.order.compare(&self.readers[a].item(), &self.readers[b].item()).is_lt(),
        }
    }
}
