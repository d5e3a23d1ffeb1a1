//! Experiments on texts: their length, and the number of columns over which a text is spread.

use crate::case::Experiment;
use crate::insert::{Insert, Way};
use crate::scale::{Counts, Scale};
use crate::table::Table;

use super::inserts::UNROLLED;

/// The number of letters in a row that is spread over columns.
const ROW_BYTES: usize = 1024;

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    vec![sizes(scale), columns(scale)]
}

fn sizes(scale: Scale) -> Experiment {
    let rows = Counts::new(2_000, 150_000, 10_000_000).at(scale);
    let insert = |bytes, way| Insert::new(&Table::strings(rows, 1, bytes), way).case();
    let experiment = Experiment::new("string-size", "rows/s", rows);
    let all = [4, 16, 32, 64, 128, 256, 512].into_iter().fold(experiment, |experiment, bytes| {
        experiment.published(&bytes.to_string(), insert(bytes, Way::Bound(UNROLLED)))
    });
    [4, 64, 512].into_iter().fold(all, |experiment, bytes| {
        experiment.sqluice(&format!("{bytes}, sqluice pages"), insert(bytes, Way::Pages))
    })
}

fn columns(scale: Scale) -> Experiment {
    let rows = Counts::new(500, 50_000, 1_000_000).at(scale);
    let insert =
        |columns, way| Insert::new(&Table::strings(rows, columns, ROW_BYTES / columns as usize), way).case();
    let name = |columns| format!("{columns} x {}", ROW_BYTES as u64 / columns);
    let experiment = Experiment::new("column-count", "rows/s", rows);
    let all = [1, 2, 4, 8, 16].into_iter().fold(experiment, |experiment, columns| {
        experiment.published(&name(columns), insert(columns, Way::Bound(UNROLLED)))
    });
    [1, 16].into_iter().fold(all, |experiment, columns| {
        experiment
            .sqluice(&format!("{}, sqluice_rows", name(columns)), insert(columns, Way::Rows(1024)))
            .sqluice(&format!("{}, sqluice pages", name(columns)), insert(columns, Way::Pages))
    })
}
