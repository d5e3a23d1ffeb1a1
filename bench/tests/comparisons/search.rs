//! Tests of `bench/search`: it runs with few rows, and fails if an index lacks terms.

use crate::comparison::Comparison;
use crate::support::sqluice;

fn search(case: &str) -> Comparison {
    Comparison::new("search", &["--bytes", "60k", "--rounds", "2", "--case", case])
}

#[test]
fn the_benchmark_prints_a_table_and_keeps_a_record() {
    for case in ["unicode61", "porter", "trigram", "short", "urls"] {
        let parts = &["| `sqluice index --fts`, durable |", "processor time of FTS5's best way to sqluice"];
        let record = search(case).assert_says(sqluice(), &[], parts);
        let laps = record["rounds"].as_array().unwrap().iter().map(|round| round.as_object().unwrap().len());
        assert_eq!(laps.collect::<Vec<_>>(), [4, 4], "{case}");
    }
}

#[test]
fn added_rows_and_merged_segments_are_measured() {
    let comparison =
        |case: &str| Comparison::new("search", &["--bytes", "400k", "--rounds", "1", "--case", case]);
    let parts = &["what the index adds to a load", "| `sqluice load --append` of 1% more rows"];
    let record = comparison("append").assert_says(sqluice(), &[], parts);
    assert_eq!(record["rounds"][0].as_object().unwrap().len(), 4);
    let parts = &[
        "time of FTS5's `optimize` to sqluice",
        "| `sqluice index --fts-optimize`, 200 segments, durable |",
    ];
    comparison("optimize").assert_says(sqluice(), &[], parts);
}

#[test]
fn an_index_with_wrong_terms_fails_the_benchmark() {
    let comparison = search("short");
    let other = r#""$SQLUICE" $(echo "$@" | sed 's/unicode61/trigram/')"#;
    comparison.assert_fails(&comparison.script(other), &[], "where another way has");
}
