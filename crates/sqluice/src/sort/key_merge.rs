//! Merges runs of keys that tell their items.
//!
//! The same tree of losers as in `item_merge`, but for what is equal: such keys are of the same items, so it does not matter which comes
//! first. So no branch depends on the order of the keys, which nobody can foresee, and the nodes have the keys in them.

use super::ahead::Ahead;
use super::item::Told;
use super::key_reader::KeyReader;
use super::keys::Form;
use super::order::Order;
use super::reader::Part;
use super::run::{RunWriter, STRETCH};
use crate::error::Result;

/// So many keys are merged at a time: whole stretches of a run.
const KEYS: usize = 2 * STRETCH;

/// The items of runs of keys of one form, or of normalized keys of so many words, or fewer.
pub(super) struct KeyMerge<'a, const WORDS: usize> {
    pub(super) order: &'a Order,
    form: Form,
    ahead: &'a Ahead,
    block_bytes: usize,
    /// Those that come first are last.
    waiting: Vec<(u128, Part<'a>)>,
    readers: Vec<KeyReader<'a>>,
    /// Who lost at each inner node; node 0 has the winner.
    tree: Vec<Node<WORDS>>,
    /// The next keys in order.
    keys: Vec<[u128; WORDS]>,
}

/// The key that a reader is at.
#[derive(Clone, Copy)]
struct Node<const WORDS: usize> {
    key: [u128; WORDS],
    reader: u32,
}

impl<const WORDS: usize> Node<WORDS> {
    /// The smaller and the larger of two.
    #[inline]
    fn ordered(self, other: Node<WORDS>) -> (Node<WORDS>, Node<WORDS>) {
        // From the last word to the first, as subtraction borrows.
        let is_less = (0..WORDS).rev().fold(false, |less, word| {
            (other.key[word] < self.key[word]) | (other.key[word] == self.key[word]) & less
        });
        // All ones if they change places.
        let mask = u128::from(is_less).wrapping_neg();
        let (mut smaller, mut larger) = (self, other);
        for word in 0..WORDS {
            let change = (self.key[word] ^ other.key[word]) & mask;
            (smaller.key[word], larger.key[word]) = (self.key[word] ^ change, other.key[word] ^ change);
        }
        let change = (self.reader ^ other.reader) & mask as u32;
        (smaller.reader, larger.reader) = (self.reader ^ change, other.reader ^ change);
        (smaller, larger)
    }
}

impl<'a, const WORDS: usize> KeyMerge<'a, WORDS> {
    /// Merges parts, each read in blocks of `block_bytes`.
    pub(super) fn new(
        (order, form): (&'a Order, Form),
        parts: Vec<Part<'a>>,
        block_bytes: usize,
        ahead: &'a Ahead,
    ) -> KeyMerge<'a, WORDS> {
        let mut waiting: Vec<_> = parts.into_iter().map(|part| (part.word_min(), part)).collect();
        waiting.sort_by_key(|(from, _)| std::cmp::Reverse(*from));
        let (readers, tree, keys) = (Vec::new(), Vec::new(), Vec::with_capacity(KEYS));
        KeyMerge { order, form, ahead, block_bytes, waiting, readers, tree, keys }
    }

    /// Calls `each` with the keys in order, and with an item to make of them.
    #[inline]
    pub(super) fn try_for_each(
        &mut self,
        mut each: impl FnMut(&mut Told, [u128; WORDS]) -> Result<()>,
    ) -> Result<()> {
        let mut told = Told::NONE;
        loop {
            self.fill()?;
            if self.keys.is_empty() {
                return Ok(());
            }
            for key in &self.keys {
                each(&mut told, *key)?;
            }
        }
    }

    /// Appends all keys to a run; the prefix of the last.
    pub(super) fn write(&mut self, writer: &mut RunWriter) -> Result<u128> {
        let mut last_prefix = 0;
        loop {
            self.fill()?;
            let Some(last) = self.keys.last() else { return Ok(last_prefix) };
            last_prefix = self.form.normalized(self.order, last)[0];
            writer.push_keys(self.order, self.form, self.keys.as_flattened())?;
        }
    }

    /// The next keys.
    fn fill(&mut self) -> Result<()> {
        self.keys.clear();
        while self.keys.len() < KEYS {
            if let Some((from, _)) = self.waiting.last()
                && (self.readers.is_empty() || self.tree[0].key[0] >= *from)
            {
                self.enter()?;
                continue;
            }
            let Some(winner) = self.tree.first() else { break };
            self.keys.push(winner.key);
            let reader = winner.reader;
            match self.readers[reader as usize].next_key()? {
                Some(key) => self.replay(Node { key, reader }),
                None => self.leave(reader as usize),
            }
        }
        Ok(())
    }

    /// Lets the next part take its place, and those that begin where it does: all are read from the disk at once.
    #[cold]
    fn enter(&mut self) -> Result<()> {
        let Some(&(from, _)) = self.waiting.last() else { return Ok(()) };
        let next = self.waiting.partition_point(|(later, _)| *later > from);
        let parts = self.waiting.drain(next..);
        let entering: Vec<_> = parts
            .map(|(_, part)| part.key_reader(part.form().unwrap_or(self.form), self.block_bytes, self.ahead))
            .collect();
        let mut nodes = self.nodes();
        for mut reader in entering {
            if let Some(key) = reader.next_key()? {
                nodes.push(Node { key, reader: self.readers.len() as u32 });
                self.readers.push(reader);
            }
        }
        self.rebuild(&nodes);
        Ok(())
    }

    #[cold]
    fn leave(&mut self, reader: usize) {
        let mut nodes = self.nodes();
        nodes.swap_remove(reader);
        if let Some(moved) = nodes.get_mut(reader) {
            moved.reader = reader as u32;
        }
        self.readers.swap_remove(reader);
        self.rebuild(&nodes);
    }

    /// What the readers are at, in their order.
    fn nodes(&self) -> Vec<Node<WORDS>> {
        let mut nodes = self.tree.clone();
        nodes.sort_unstable_by_key(|node| node.reader);
        nodes
    }

    fn rebuild(&mut self, nodes: &[Node<WORDS>]) {
        let count = nodes.len();
        self.tree.clear();
        self.tree.extend_from_slice(nodes);
        let mut is_taken = vec![false; count];
        for (reader, node) in nodes.iter().enumerate() {
            let (mut winner, mut at) = (*node, (reader + count) / 2);
            // Whoever comes first to a node waits there for the other.
            while at > 0 && is_taken[at] {
                (winner, self.tree[at]) = winner.ordered(self.tree[at]);
                at /= 2;
            }
            self.tree[at] = winner;
            is_taken[at] = true;
        }
    }

    /// Goes up the path of a reader whose key is new.
    #[inline]
    fn replay(&mut self, mut winner: Node<WORDS>) {
        let tree = &mut self.tree[..];
        let mut at = (winner.reader as usize + tree.len()) / 2;
        while at > 0 {
            (winner, tree[at]) = winner.ordered(tree[at]);
            at /= 2;
        }
        tree[0] = winner;
    }
}
