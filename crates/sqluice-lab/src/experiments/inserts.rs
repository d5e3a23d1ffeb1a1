//! Experiments that insert integers: methods, transactions, several rows per statement ("unrolled"), PRAGMAs, the length of arrays.

use crate::case::Experiment;
use crate::insert::{Insert, Way};
use crate::scale::{Counts, Scale};
use crate::sql::UNSAFE;
use crate::table::{Table, int32};

/// The number of rows in a statement that the publication "Fast SQLite inserts" calls "unrolled". The publication's own experiment shows no
/// gain with more rows.
pub(crate) const UNROLLED: usize = 20;

/// The number of rows in a statement with `sqluice_rows`.
pub(crate) const ROWS: u64 = 4096;

/// The number of integers in an array for experiments of which the publication does not state it.
pub(crate) const ARRAY: u64 = 1_000_000;

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    vec![methods(scale), transactions(scale), unrolling(scale), unsafe_pragmas(scale), array_length(scale)]
}

fn methods(scale: Scale) -> Experiment {
    let rows = Counts::new(20_000, 2_000_000, 1_000_000_000).at(scale);
    let table = Table::integers(rows, int32);
    let insert = |way| Insert::new(&table, way);
    Experiment::new("insert-method", "rows/s", rows)
        .published("ATTACH copy (INSERT INTO dest SELECT FROM source)", insert(Way::Attach).case())
        .published("carray, unsafe PRAGMAs", insert(Way::Carray(ARRAY)).pragmas(UNSAFE).case())
        .published("carray", insert(Way::Carray(ARRAY)).case())
        .published("bound parameters, unrolled insert", insert(Way::Bound(UNROLLED)).case())
        .published("bound parameters, one row per insert", insert(Way::Bound(1)).case())
        .sqluice("sqluice_rows", insert(Way::Rows(ROWS)).case())
        .sqluice("sqluice_rows, unsafe PRAGMAs", insert(Way::Rows(ROWS)).pragmas(UNSAFE).case())
        .sqluice("sqluice pages", insert(Way::Pages).case())
}

fn transactions(scale: Scale) -> Experiment {
    let rows = Counts::new(5_000, 300_000, 10_000_000).at(scale);
    let few = Counts::new(20, 200, 2_000).at(scale);
    let (many, each) = (Table::integers(rows, int32), Table::integers(few, int32));
    let insert = |way| Insert::new(&many, way);
    Experiment::new("transaction", "rows/s", rows)
        .published(
            "separate transaction per row",
            Insert::new(&each, Way::Bound(1)).transaction_rows(1).case(),
        )
        .published("one transaction, separate statement per row", insert(Way::Text(1)).case())
        .published("one transaction, reused statement", insert(Way::Bound(1)).case())
        .sqluice("sqluice_rows", insert(Way::Rows(ROWS)).case())
        .sqluice("sqluice pages", insert(Way::Pages).case())
        .note(format!("With a transaction for each row there are {few} rows; the rate is per row."))
}

fn unrolling(scale: Scale) -> Experiment {
    let rows = Counts::new(20_000, 1_000_000, 100_000_000).at(scale);
    let table = Table::integers(rows, int32);
    let bound = |degree| Insert::new(&table, Way::Bound(degree)).case();
    let mut experiment = Experiment::new("unroll-degree", "times", rows)
        .published("1", bound(1))
        .published("5", bound(5))
        .published("10", bound(10))
        .published("20", bound(20))
        .added("50", bound(50))
        .added("100", bound(100))
        .added("500", bound(500))
        .sqluice("sqluice_rows", Insert::new(&table, Way::Rows(ROWS)).case())
        .sqluice("sqluice pages", Insert::new(&table, Way::Pages).case());
    experiment.relative = true;
    experiment
}

fn unsafe_pragmas(scale: Scale) -> Experiment {
    let rows = Counts::new(20_000, 1_500_000, 100_000_000).at(scale);
    let strings = Counts::new(500, 60_000, 1_000_000).at(scale);
    let (integers, text) = (Table::integers(rows, int32), Table::strings(strings, 1, 1000));
    let insert = |table: &Table| Insert::new(table, Way::Bound(UNROLLED));
    Experiment::new("unsafe-pragmas", "rows/s", rows)
        .published("100M 32-bit integers, safe", insert(&integers).case())
        .published("100M 32-bit integers, unsafe", insert(&integers).pragmas(UNSAFE).case())
        .published("1M strings of 1 kB, safe", insert(&text).case())
        .published("1M strings of 1 kB, unsafe", insert(&text).pragmas(UNSAFE).case())
        .sqluice("32-bit integers, sqluice pages (synced)", Insert::new(&integers, Way::Pages).case())
        .sqluice("strings of 1 kB, sqluice pages (synced)", Insert::new(&text, Way::Pages).case())
        .note(format!("Here {rows} integers and {strings} strings."))
}

fn array_length(scale: Scale) -> Experiment {
    let rows = Counts::new(50_000, 2_000_000, 1_000_000_000).at(scale);
    let table = Table::integers(rows, int32);
    // The published lengths refer to a billion rows; here an array has the same fraction of the current row count.
    let part = |of: u64| Insert::new(&table, Way::Carray((rows / of).max(1))).case();
    Experiment::new("carray-length", "rows/s", rows)
        .published("1,000,000", part(1000))
        .published("10,000,000", part(100))
        .published("100,000,000", part(10))
        .published("1,000,000,000", part(1))
        .sqluice("sqluice_rows, 4,096", Insert::new(&table, Way::Rows(ROWS)).case())
        .sqluice("sqluice_rows, 100,000", Insert::new(&table, Way::Rows(100_000)).case())
        .sqluice("sqluice pages", Insert::new(&table, Way::Pages).case())
        .note("The lengths are those of a billion rows: with fewer rows the array is shorter by as much, from a thousandth of all rows to all.")
}
