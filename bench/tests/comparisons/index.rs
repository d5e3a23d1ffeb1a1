//! Tests of `bench/index`: it runs with few rows, and fails if sqluice or SQLite, which it compares, leaves wrong rows or index entries.

use crate::comparison::Comparison;
use crate::support::sqluice;

/// Returns the comparison with flags for few rows.
fn index() -> Comparison {
    Comparison::new("index", &["--rows-scale", "0.0001"])
}

#[test]
fn the_benchmark_prints_tables_and_keeps_a_record() {
    let parts = &[
        "| `sqluice generate`, index on `area` | 2,000 |",
        "| ... what the index adds |",
        "| the same, ten times the rows | 10,000 |",
        "| time of `INSERT` with SQLite's defaults to `load`, UUIDs |",
        "| at most 1.50 |",
    ];
    let record = index().assert_says(sqluice(), &["--rounds", "2"], parts);
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round.as_object().unwrap().len(), 21);
        assert_eq!(round["shuffled"]["rows"], 1000);
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 11);
}

#[test]
fn a_part_of_the_comparison_can_be_run_alone() {
    let (_, record) = index().succeed(sqluice(), &["--rounds", "1", "--only", "memory"]);
    assert_eq!(record["rounds"][0].as_object().unwrap().len(), 2);
    assert_eq!(record["ratios"].as_array().unwrap().len(), 2);
}

#[test]
fn a_missing_index_fails_the_benchmark() {
    let without = r#""$SQLUICE" "$@" || exit
case "$1 $3" in *area.sql) sqlite3 "$2" "DROP INDEX by_area" ;; esac"#;
    index().assert_part_fails("area", without, "entries {} instead of");
}

#[test]
fn a_value_that_differs_fails_the_benchmark() {
    let other = r#""$SQLUICE" "$@" || exit
case "$1 $3" in *area.sql) sqlite3 "$2" "UPDATE user SET age = age + 5 WHERE id = 7" ;; esac"#;
    index().assert_part_fails("area", other, "where another way has");
    let keyed = r#""$SQLUICE" "$@" || exit
case "$1" in load) sqlite3 "$2" "UPDATE item SET value = value + 1 WHERE value = (SELECT max(value) FROM item)" ;; esac"#;
    index().assert_part_fails("keys", keyed, "where another way has");
}

#[test]
fn an_index_that_fails_sqlites_check_fails_the_benchmark() {
    let unsound = r#""$SQLUICE" "$@" || exit
case "$1 $3" in *area.sql) sqlite3 "$2" "PRAGMA writable_schema = 1;
    UPDATE sqlite_schema SET sql = replace(sql, '(area)', '(area DESC)') WHERE name = 'by_area'" ;; esac"#;
    index().assert_part_fails("area", unsound, "integrity_check says");
}
