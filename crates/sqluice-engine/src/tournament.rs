//! Which of several streams has the first item.
//!
//! ```text
//!            winner                      each inner node keeps its loser,
//!           /      \                     so that one path is gone up for each item
//!        loser      loser
//!        /   \      /   \
//!        0   1      2   3                streams
//! ```

/// Streams by what they are at. `is_less` says of two whether the first has the smaller item.
#[derive(Debug, Default)]
pub(crate) struct Tournament {
    /// The loser at each inner node; node 0 has the winner.
    tree: Vec<u32>,
}

impl Tournament {
    /// The stream with the first item.
    #[inline]
    pub(crate) fn winner(&self) -> usize {
        self.tree[0] as usize
    }

    /// Begins with that number of streams.
    pub(crate) fn rebuild(&mut self, count: usize, is_less: impl Fn(usize, usize) -> bool) {
        const EMPTY: u32 = u32::MAX;
        self.tree.clear();
        self.tree.resize(count, EMPTY);
        for stream in 0..count {
            let (mut winner, mut node) = (stream, (stream + count) / 2);
            // The first to reach a node waits in it for the other.
            while node > 0 {
                if self.tree[node] == EMPTY {
                    break;
                }
                let other = self.tree[node] as usize;
                if is_less(other, winner) {
                    (self.tree[node], winner) = (winner as u32, other);
                }
                node /= 2;
            }
            self.tree[node] = winner as u32;
        }
    }

    /// Goes up the path of the winner, whose item is new.
    #[inline]
    pub(crate) fn replay(&mut self, is_less: impl Fn(usize, usize) -> bool) {
        let stream = self.winner();
        let (mut winner, mut node) = (stream, (stream + self.tree.len()) / 2);
        while node > 0 {
            let other = self.tree[node] as usize;
            if is_less(other, winner) {
                (self.tree[node], winner) = (winner as u32, other);
            }
            node /= 2;
        }
        self.tree[0] = winner as u32;
    }
}
