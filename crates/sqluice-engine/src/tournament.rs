//! Which of several streams has the first item.
//!
//! ```text
//!            winner                      each inner node keeps its loser,
//!           /      \                     so that one path is gone up for each item
//!        loser      loser
//!        /   \      /   \
//!        0   1      2   3                streams
//! ```
//!
//! A stream that wins again and again is likely to go on: then it is compared with the first of all others alone, which stays the same as long
//! as it wins. Of streams whose items come in long runs each item costs one comparison, and not one for each level.

/// Wins in a row after which a stream is taken to go on.
const RUN_MIN: u32 = 4;

/// Streams by what they are at. `is_less` says of two whether the first has the smaller item.
#[derive(Debug, Default)]
pub(crate) struct Tournament {
    /// The loser at each inner node; node 0 has the winner.
    tree: Vec<u32>,
    /// How often in a row the winner has won.
    wins: u32,
    /// The first of all others, while the winner is taken to go on.
    second: Option<u32>,
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
        (self.wins, self.second) = (0, None);
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

    /// Whether the winner, whose item is new, is taken to go on and wins again. `is_less` may be one that is quick and does not see all.
    #[inline]
    pub(crate) fn goes_on(&self, is_less: impl Fn(usize, usize) -> bool) -> bool {
        self.second.is_some_and(|second| is_less(self.winner(), second as usize))
    }

    /// Goes up the path of the winner, whose item is new.
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
            if is_less(other, winner) {
                (self.tree[node], winner) = (winner as u32, other);
            }
            node /= 2;
        }
        self.tree[0] = winner as u32;
        self.wins = if winner == stream { self.wins + 1 } else { 0 };
        if self.wins >= RUN_MIN {
            (self.wins, self.second) = (0, self.first_of_others(is_less));
        }
    }

    /// The stream with the first item of all but the winner's: one of those that lost to it.
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

    /// The inner node above a stream.
    #[inline]
    fn leaf_parent(&self, stream: usize) -> usize {
        (stream + self.tree.len()) / 2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Merges streams of sorted numbers; also says how many comparisons that took.
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
            // What does not see all: equal items of an earlier and a later stream.
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
        fn streams_are_merged_in_order_the_earlier_stream_first(
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
    fn an_item_of_a_long_run_costs_one_comparison() {
        let streams: Vec<Vec<u32>> =
            (0..64).map(|stream| (0..1000).map(|item| stream * 1000 + item).collect()).collect();
        let (all, compared) = merged(&streams);
        assert!(compared < all.len() + all.len() / 10, "{compared} comparisons of {} items", all.len());
    }
}
