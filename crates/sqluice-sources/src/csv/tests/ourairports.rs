//! Tests with real files: excerpts of the files of ourairports.com.

use std::path::PathBuf;

use super::super::{Dialect, PART_BYTES};
use super::{as_csv_core, csv_core, fast, options, slow};

fn check(name: &str, rows: usize) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sqluice/tests/data/ourairports").join(name);
    let input = std::fs::read(file).unwrap();
    let expected = csv_core(&input, Dialect::default());
    assert_eq!(expected.len(), rows + 1, "the file is the known one");
    for part_bytes in [1000, PART_BYTES] {
        let fast = fast(&input, options(part_bytes));
        assert!(fast.error.is_none(), "{:?}", fast.error);
        assert!(as_csv_core(&fast, true) == expected);
        assert!(fast == slow(&input, options(part_bytes)));
    }
}

#[test]
fn the_parsers_and_csv_core_agree_on_airport_frequencies() {
    check("airport-frequencies.csv", 2228);
}

#[test]
fn the_parsers_and_csv_core_agree_on_countries() {
    check("countries.csv", 249);
}

#[test]
fn the_parsers_and_csv_core_agree_on_navaids() {
    check("navaids.csv", 562);
}

#[test]
fn the_parsers_and_csv_core_agree_on_regions() {
    check("regions.csv", 503);
}

#[test]
fn the_parsers_and_csv_core_agree_on_runways() {
    check("runways.csv", 1064);
}
