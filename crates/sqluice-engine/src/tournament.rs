//! Finds the first item of several sorted streams.
//!
//! ```text
//!            winner
//!           /      \
//!        loser      loser                each inner node stores the stream that lost there
//!        /   \      /   \
//!        0   1      2   3                streams
//! ```
//!
//! When the winning stream moves to its next item, this item is compared only with the losers on the path from the stream to the root.
//!
//! A stream that has won repeatedly is likely to win again. As long as it wins, no other stream moves, so the smallest item of all other
//! streams stays the same, and the winner's next item is compared only with that item. So if items come in long runs from one stream, each
//! item costs one comparison instead of one per level.

/// The number of consecutive wins after which a stream is expected to win again.
const RUN_MIN: u32 = 4;

/// A tournament of streams by their current items. `is_less` returns `true` if the first of two streams has the smaller item.
#[derive(Debug, Default)]
pub(crate) struct Tournament {
    /// The loser at each inner node. Node 0 has the winner.
    tree: Vec<u32>,
    /// The number of consecutive wins of the winner.
    wins: u32,
    /// The stream with the smallest item of all streams but the winner; `None` unless the winner is expected to win again.
    second: Option<u32>,
}

impl Tournament {
    /// Returns the stream with the first item.
    #[inline]
    pub(crate) fn winner(&self) -> usize {
        self.tree[0] as usize
    }

    /// Begins a tournament of `count` streams.
    pub(crate) fn rebuild(&mut self, count: usize, is_less: impl Fn(usize, usize) -> bool) {
        const EMPTY: u32 = u32::MAX;
        self.tree.clear();
        self.tree.resize(count, EMPTY);
        (self.wins, self.second) = (0, None);
        for stream in 0..count {
            let (mut winner, mut node) = (stream, (stream + count) / 2);
            // The first stream to reach a node waits there for the second.
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

    /// Returns `true` if the winner was expected to win again, and its new item does win. `is_less` may be a fast comparison that returns
    /// `false` if it can't tell.
    #[inline]
    pub(crate) fn goes_on(&self, is_less: impl Fn(usize, usize) -> bool) -> bool {
        self.second.is_some_and(|second| is_less(self.winner(), second as usize))
    }

    /// Plays the comparisons on the path from the winner's stream to the root again, after the stream has moved to a new item.
    #[inline]
    pub(crate) fn replay(&mut self, is_less: impl Fn(usize, usize) -> bool) {
        let stream = self.winner();
        if let Some(second) = self.second {
            if is_less(stream, second as usize) {
                return;
            }
            self.second = None;
        }
        let (mut winner, mut node) = (stream, self.leaf_parent(stream));
        while node > 0 {
            let other = self.tree[node] as usize;
            // With many streams, the processor can't predict which one wins, so the result is selected without a branch.
            let is_won = is_less(other, winner);
            self.tree[node] = std::hint::select_unpredictable(is_won, winner, other) as u32;
            winner = std::hint::select_unpredictable(is_won, other, winner);
            node /= 2;
        }
        self.tree[0] = winner as u32;
        self.wins = if winner == stream { self.wins + 1 } else { 0 };
        if self.wins >= RUN_MIN {
            (self.wins, self.second) = (0, self.first_of_others(is_less));
        }
    }

    /// Returns the stream with the smallest item of all streams but the winner, or `None` if there is no other stream. It is one of the
    /// losers on the path from the winner to the root.
    fn first_of_others(&self, is_less: impl Fn(usize, usize) -> bool) -> Option<u32> {
        let mut node = self.leaf_parent(self.winner());
        let mut first: Option<u32> = None;
        while node > 0 {
            let other = self.tree[node];
            if first.is_none_or(|first| is_less(other as usize, first as usize)) {
                first = Some(other);
            }
            node /= 2;
        }
        first
    }

    /// Returns the inner node above a stream.
    #[inline]
    fn leaf_parent(&self, stream: usize) -> usize {
        (stream + self.tree.len()) / 2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Merges streams of sorted numbers. Also returns the number of comparisons.
    fn merged(streams: &[Vec<u32>]) -> (Vec<(u32, usize)>, usize) {
        let mut at = vec![0; streams.len()];
        let compared = std::cell::Cell::new(0);
        let mut tournament = Tournament::default();
        let mut all = Vec::new();
        let head = |at: &[usize], stream: usize| {
            (streams[stream].get(at[stream]).copied().map_or(u64::MAX, u64::from), stream)
        };
        let is_less = |at: &[usize], a: usize, b: usize| {
            compared.set(compared.get() + 1);
            head(at, a) < head(at, b)
        };
        tournament.rebuild(streams.len(), |a, b| is_less(&at, a, b));
        while all.len() < streams.iter().map(Vec::len).sum() {
            let winner = tournament.winner();
            all.push((streams[winner][at[winner]], winner));
            at[winner] += 1;
            // This fast comparison is false for equal items of different streams, so `replay` decides about them.
            let is_smaller = |a, b| head(&at, a).0 < head(&at, b).0 && is_less(&at, a, b);
            if !tournament.goes_on(is_smaller) {
                tournament.replay(|a, b| is_less(&at, a, b));
            }
        }
        (all, compared.get())
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn streams_are_merged_in_order_and_equal_items_in_the_order_of_streams(
            mut streams in prop::collection::vec(prop::collection::vec(0u32..60, 0..40), 1..20),
        ) {
            streams.iter_mut().for_each(|stream| stream.sort_unstable());
            let numbered = streams.iter().enumerate();
            let mut sorted: Vec<(u32, usize)> =
                numbered.flat_map(|(number, stream)| stream.iter().map(move |&item| (item, number))).collect();
            sorted.sort();
            prop_assert_eq!(merged(&streams).0, sorted);
        }
    }

    #[test]
    fn merging_streams_that_follow_each_other_takes_about_one_comparison_per_item() {
        let streams: Vec<Vec<u32>> =
            (0..64).map(|stream| (0..1000).map(|item| stream * 1000 + item).collect()).collect();
        let (all, compared) = merged(&streams);
        assert!(compared < all.len() + all.len() / 10, "{compared} comparisons of {} items", all.len());
    }
}
