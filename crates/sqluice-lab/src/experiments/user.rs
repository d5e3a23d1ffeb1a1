//! The experiment `mixed-user`: the table `user` of the publication on a billion rows, with the same values in all rows and with different
//! values.

use crate::case::Experiment;
use crate::insert::{Insert, Way};
use crate::scale::{Counts, Scale};
use crate::sql::UNSAFE;
use crate::table::Table;

use super::inserts::{ROWS, UNROLLED};

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    let rows = Counts::new(10_000, 2_000_000, 100_000_000).at(scale);
    let (constant, random) = (Table::user(rows, true), Table::user(rows, false));
    let insert = Insert::new;
    let (text, bound) = (Way::Constant(UNROLLED), Way::Bound(UNROLLED));
    let experiment = Experiment::new("mixed-user", "rows/s", rows)
        .published("constant data, no binding", insert(&constant, text).case())
        .published("constant data, no binding, unsafe", insert(&constant, text).pragmas(UNSAFE).case())
        .published("constant data, bound", insert(&constant, bound).case())
        .published("constant data, bound, unsafe", insert(&constant, bound).pragmas(UNSAFE).case())
        .published("random data, bound", insert(&random, bound).case())
        .published("random data, bound, unsafe", insert(&random, bound).pragmas(UNSAFE).case())
        .sqluice("random data, sqluice_rows", insert(&random, Way::Rows(ROWS)).case())
        .sqluice("random data, sqluice_rows, unsafe", insert(&random, Way::Rows(ROWS)).pragmas(UNSAFE).case())
        .sqluice("random data, sqluice pages", insert(&random, Way::Pages).case());
    vec![experiment]
}
