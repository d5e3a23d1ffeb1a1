//! Tests of `bench/existing`: it runs with few rows, and fails if sqluice or SQLite, which it compares, leaves wrong rows, wrong index
//! entries or another journal mode.

use crate::comparison::Comparison;
use crate::support::sqluice;

/// Returns the comparison with flags for few rows.
fn existing() -> Comparison {
    Comparison::new("existing", &["--rows-scale", "0.0001"])
}

#[test]
fn the_benchmark_prints_tables_and_keeps_a_record() {
    let parts = &[
        "append: round 2 of 2",
        "| `sqluice generate`, WAL | 2,000 |",
        "| prepared `INSERT`, 1 row | 500 |",
        "| `IN (SELECT value FROM carray(?1))` | 200 |",
        "| time of `CREATE INDEX`, the faster, to `sqluice index` |",
        "| at least 5, aim 8 |",
        "`.import` into a temporary table, `INSERT ... SELECT` | 100 |",
    ];
    let record = existing().assert_says(sqluice(), &["--rounds", "2"], parts);
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round.as_object().unwrap().len(), 29);
        assert_eq!(round["append"]["rows"], 500);
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 16);
}

#[test]
fn the_parts_that_need_only_sqlite_can_be_run_alone() {
    let (_, record) = existing().succeed(sqluice(), &["--rounds", "1", "--only", "insert", "--only", "in"]);
    assert_eq!(record["rounds"][0].as_object().unwrap().len(), 14);
    assert_eq!(record["ratios"].as_array().unwrap().len(), 6);
}

#[test]
fn a_change_in_a_table_that_existed_before_fails_the_benchmark() {
    let changed = r#""$SQLUICE" "$@" || exit
case "$1 $2" in *lap.db) sqlite3 "$2" "UPDATE user SET age = age + 5 WHERE id = 7" ;; esac"#;
    existing().assert_part_fails("table", changed, "where another way has");
}

#[test]
fn a_changed_journal_mode_fails_the_benchmark() {
    let switched = r#""$SQLUICE" "$@" || exit
case "$1 $2" in *lap.db) sqlite3 "$2" "PRAGMA journal_mode = DELETE" > /dev/null ;; esac"#;
    existing().assert_part_fails("table", switched, "the journal mode is delete instead of wal");
}

#[test]
fn a_missing_row_fails_the_benchmark() {
    let short = r#""$SQLUICE" "$@" || exit
case "$1 $2" in *lap.db) sqlite3 "$2" "DELETE FROM item WHERE id = 7" ;; esac"#;
    existing().assert_part_fails(
        "append",
        short,
        r#"rows and entries [("item", 2499, {"by_key": 2499})] instead of"#,
    );
}

#[test]
fn a_wrong_entry_of_an_index_fails_the_benchmark() {
    let short = r#""$SQLUICE" "$@" || exit
case "$1 $2" in *lap.db) sqlite3 "$2" "UPDATE product SET stock = stock + 50 WHERE id = (SELECT max(id) FROM product WHERE stock < 50)" ;; esac"#;
    existing().assert_part_fails("computed", short, "rows and entries");
}

#[test]
fn a_missing_index_fails_the_benchmark() {
    let without = r#"case "$1" in
    index) echo '{}' ;;
    *) exec "$SQLUICE" "$@" ;;
esac"#;
    existing().assert_part_fails("index", without, r#"rows and entries [("user", 2000, {})] instead of"#);
}
