//! Tests of `bench/check`: it runs with few rows, and fails if the database is damaged.

use crate::comparison::Comparison;
use crate::support::sqluice;

/// Returns the comparison with flags for few rows.
fn check() -> Comparison {
    Comparison::new("check", &["--rows", "5000", "--rounds", "2"])
}

#[test]
fn the_benchmark_prints_a_table_and_keeps_a_record() {
    let parts = &["| 5,000 rows with 4 indexes, ", "| `sqluice check` |", "ratio of the medians: "];
    let record = check().assert_says(sqluice(), &[], parts);
    let laps = record["rounds"].as_array().unwrap().iter().map(|round| round.as_object().unwrap().len());
    assert_eq!(laps.collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn a_damaged_database_fails_the_benchmark() {
    let unsound = r#""$SQLUICE" "$@" | sed 's/"sound": true/"sound": false/'"#;
    let comparison = check();
    comparison.assert_fails(&comparison.script(unsound), &[], "sqluice says");
}
