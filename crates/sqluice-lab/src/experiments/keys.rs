//! Experiments on keys: their order, the page cache, and an index that is created before or after the rows.

use crate::case::{Case, Experiment};
use crate::insert::{Insert, Way, When};
use crate::scale::{Counts, Scale};
use crate::sql::Pragma;
use crate::table::{Table, shuffled};

use super::inserts::{ARRAY, UNROLLED};

/// The declaration of the column `value` as an alias of the rowid.
pub(super) const KEYED: &str = "value INTEGER PRIMARY KEY";

/// The distance between successive keys of a sawtooth.
const TOOTH: u64 = 10;

const INDEX: &str = "CREATE INDEX by_value ON integers (value)";

pub(super) const CACHE_2000: &[Pragma] = &[("cache_size", "2000")];
const CACHE_4000: &[Pragma] = &[("cache_size", "4000")];
pub(super) const CACHE_2000000: &[Pragma] = &[("cache_size", "2000000")];

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    vec![sequences(scale), page_cache(scale), index_order(scale)]
}

/// Returns key number `row` if the odd numbers (1, 3, 5, counted from 1) precede the even ones; the result is counted from 0.
fn odds_then_evens(row: u64, rows: u64) -> u64 {
    let odds = rows.div_ceil(2);
    if row < odds { 2 * row } else { 2 * (row - odds) + 1 }
}

/// Returns key number `row` if keys come from both ends alternately.
fn outside_in(row: u64, rows: u64) -> u64 {
    if row.is_multiple_of(2) { row / 2 } else { rows - 1 - row / 2 }
}

/// Returns key number `row` of a sawtooth: the keys 0, 10, 20 and so on, then 1, 11, 21 and so on, up to those that end with 9.
fn sawtooth(row: u64, rows: u64) -> u64 {
    // The first `longer` teeth have one row more.
    let (whole, longer) = (rows / TOOTH, rows % TOOTH);
    let in_longer = longer * (whole + 1);
    if row < in_longer {
        row / (whole + 1) + row % (whole + 1) * TOOTH
    } else {
        let row = row - in_longer;
        longer + row / whole.max(1) + row % whole.max(1) * TOOTH
    }
}

/// A function that returns key number `row`, given the row count.
type Order = fn(u64, u64) -> u64;

const ORDERS: [(&str, Order); 8] = [
    ("sequential (1,2,3,4,5)", |row, _| row),
    ("reversed (5,4,3,2,1)", |row, rows| rows - 1 - row),
    ("shuffled", |row, rows| shuffled(rows)(row) as u64 - 1),
    ("outside-in (1,10; 2,9; 3,8)", outside_in),
    ("inside-out (8,3; 9,2; 10,1)", |row, rows| outside_in(rows - 1 - row, rows)),
    ("odds then evens (1,3,5; 2,4,6)", odds_then_evens),
    ("odds then evens, reversed (6,4,2; 5,3,1)", |row, rows| odds_then_evens(rows - 1 - row, rows)),
    ("sawtooth (0,10,20; 1,11,21)", sawtooth),
];

fn sequences(scale: Scale) -> Experiment {
    let rows = Counts::new(10_000, 500_000, 100_000_000).at(scale);
    let keys = |order: Order| Table::of_ints(KEYED, rows, move |row| order(row, rows) as i64 + 1);
    let experiment = Experiment::new("key-sequence", "rows/s", rows);
    let all = ORDERS.iter().fold(experiment, |experiment, (name, order)| {
        experiment.published(name, Insert::new(&keys(*order), Way::Bound(UNROLLED)).case())
    });
    let shuffled = keys(ORDERS[2].1);
    let unordered = Table::of_ints("value INT PRIMARY KEY) WITHOUT ROWID", rows, self::shuffled(rows));
    all.added(
        "shuffled, the application puts them in order",
        Insert::new(&shuffled, Way::Bound(UNROLLED)).sorted().case(),
    )
    .sqluice("sequential, sqluice pages", Insert::new(&keys(ORDERS[0].1), Way::Pages).case())
    .sqluice("shuffled, put in order, sqluice pages", Insert::new(&shuffled, Way::Pages).sorted().case())
    .sqluice("shuffled, WITHOUT ROWID, sqluice pages", Insert::new(&unordered, Way::Pages).case())
}

fn page_cache(scale: Scale) -> Experiment {
    let rows = Counts::new(10_000, 1_000_000, 100_000_000).at(scale);
    let sequential = Table::of_ints(KEYED, rows, |row| row as i64 + 1);
    let random = Table::of_ints(KEYED, rows, shuffled(rows));
    let carray =
        |table: &Table, pragmas| -> Case { Insert::new(table, Way::Carray(ARRAY)).pragmas(pragmas).case() };
    Experiment::new("page-cache", "rows/s", rows)
        .published("sequential, 2000", carray(&sequential, CACHE_2000))
        .published("sequential, 4000", carray(&sequential, CACHE_4000))
        .published("sequential, 2000000", carray(&sequential, CACHE_2000000))
        .published("random, 2000", carray(&random, CACHE_2000))
        .published("random, 4000", carray(&random, CACHE_4000))
        .published("random, 2000000", carray(&random, CACHE_2000000))
        .added("random, put in order, 2000", {
            Insert::new(&random, Way::Carray(ARRAY)).pragmas(CACHE_2000).sorted().case()
        })
        .sqluice("sequential, sqluice pages", Insert::new(&sequential, Way::Pages).case())
        .sqluice("random, put in order, sqluice pages", Insert::new(&random, Way::Pages).sorted().case())
}

fn index_order(scale: Scale) -> Experiment {
    let rows = Counts::new(10_000, 500_000, 100_000_000).at(scale);
    let table = Table::integers(rows, shuffled(rows));
    let carray = |when| Insert::new(&table, Way::Carray(ARRAY)).index(when, INDEX);
    Experiment::new("index-order", "rows/s", rows)
        .published("index before", carray(When::Before).case())
        .published("index after", carray(When::After).case())
        .published("index before, rows sorted by the application", carray(When::Before).sorted().case())
        .added("index after, rows sorted by the application", carray(When::After).sorted().case())
        .sqluice("sqluice index after", carray(When::AfterBySqluice).case())
        .sqluice(
            "sqluice pages with their index",
            Insert::new(&table, Way::Pages).index(When::Before, INDEX).case(),
        )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_order_of_keys_has_each_number_once() {
        for (rows, (name, order)) in (1..60).flat_map(|rows| ORDERS.map(|order| (rows, order))) {
            if rows == 1 && name == "shuffled" {
                continue;
            }
            let numbers: BTreeSet<u64> = (0..rows).map(|row| order(row, rows)).collect();
            assert_eq!(numbers, (0..rows).collect(), "{name} of {rows}");
        }
    }

    #[test]
    fn orders_of_keys_match_their_names() {
        let of = |at: usize, rows| (0..rows).map(|row| ORDERS[at].1(row, rows) + 1).collect::<Vec<_>>();
        assert_eq!(of(1, 5), [5, 4, 3, 2, 1]);
        assert_eq!(of(3, 6), [1, 6, 2, 5, 3, 4]);
        assert_eq!(of(4, 6), [4, 3, 5, 2, 6, 1]);
        assert_eq!(of(5, 6), [1, 3, 5, 2, 4, 6]);
        assert_eq!(of(6, 6), [6, 4, 2, 5, 3, 1]);
        assert_eq!(of(7, 30)[..6], [1, 11, 21, 2, 12, 22]);
    }
}
