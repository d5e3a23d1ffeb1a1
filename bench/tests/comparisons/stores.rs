//! Tests of `bench/stores` and `bench/entities`: they run with few files. `bench/stores` fails if sqluice writes wrong
//! files.

use std::path::PathBuf;

use crate::comparison::Comparison;
use crate::support::sqluice;

/// Returns the comparison with flags for few files.
fn stores() -> Comparison {
    Comparison::new("stores", &["--files", "50", "--rounds", "2"])
}

/// A script that replaces sqluice: packs and unpacks with `sqlite3`, then runs `$AFTER_PACK` or `$AFTER_UNPACK`, which may damage the
/// result.
const STAND_IN: &str = r#"case "$1" in
    pack) cd "$3" && sqlite3 "$2" -Ac . && eval "$AFTER_PACK" ;;
    unpack) mkdir "$3" && cd "$3" && sqlite3 "$2" -Ax && eval "$AFTER_UNPACK" ;;
    *) exec "$SQLUICE" "$@" ;;
esac > /dev/null"#;

fn stand_in(comparison: &Comparison, after_pack: &str, after_unpack: &str) -> PathBuf {
    let version = r#"[ "$1" = --version ] && exec echo stand-in"#;
    comparison
        .script(&format!("AFTER_PACK='{after_pack}'\nAFTER_UNPACK='{after_unpack}'\n{version}\n{STAND_IN}"))
}

#[test]
fn the_benchmark_prints_tables_and_keeps_a_record() {
    let comparison = stores();
    let parts = &[
        "folder: round 2 of 2",
        "| `cp -r` | 50 |",
        "| `BlobStore::get` | 50 |",
        "| time of files as kvtest reads them to `get_into`, mmap |",
        "| at most 0.90, aim 0.85 |",
    ];
    let record = comparison.assert_says(&stand_in(&comparison, ":", ":"), &["--fill"], parts);
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round.as_object().unwrap().len(), 19);
        assert_eq!(round["pack"]["rows"], 50);
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 16);
}

#[test]
fn a_file_missing_in_the_archive_fails_the_benchmark() {
    let comparison = stores();
    let sqluice = stand_in(&comparison, r#"sqlite3 "$2" "DELETE FROM sqlar WHERE rowid = 7""#, ":");
    comparison.assert_fails(&sqluice, &["--only", "folder"], "49 files of");
}

#[test]
fn a_file_unpacked_with_other_bytes_fails_the_benchmark() {
    let comparison = stores();
    let sqluice = stand_in(&comparison, ":", "echo more >> file-0000007.txt");
    comparison.assert_fails(&sqluice, &["--only", "folder"], "file-0000007.txt has other bytes");
}

#[test]
fn every_way_writes_the_same_entities() {
    let comparison = Comparison::new("entities", &["--rows-scale", "0.005", "--rounds", "2"]);
    let (said, record) = comparison.succeed(sqluice(), &[]);
    assert_eq!(record["rounds"].as_array().unwrap().len(), 2);
    assert_eq!(record["ratios"].as_array().unwrap().len(), 18);
    assert!(said.contains("| 50 entities |"), "{said}");
    // The table has a line for each method of writing (`write_many`, `rows`, `published`) in each part (`small`, `into`, `large`).
    assert_eq!(
        said.lines().filter(|line| line.starts_with("| ") && line.ends_with("MiB |")).count(),
        9,
        "{said}"
    );
}
