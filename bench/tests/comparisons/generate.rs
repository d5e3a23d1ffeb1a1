//! Tests of `bench/generate`: it runs with few rows, and fails if a compared program writes wrong values.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use crate::comparison::Comparison;
use crate::support::sqluice;
use tpchgen::csv::*;
use tpchgen::generators::*;

const SCALE: f64 = 0.01;

/// A script that replaces `tpchgen-cli`: it copies CSV files that the test has written with the generator's library.
const TPCHGEN: &str = r#"case "$*" in
    --version) echo stand-in 1.0 ;;
    "parquet --scale-factor 0.01 --output-dir "*) mkdir "$5" && echo PAR1 >"$5/region.parquet" ;;
    "csv --scale-factor 0.01 --output-dir "*) cp -r "$(dirname "$0")/made" "$5" ;;
    *) exit 1 ;;
esac"#;

/// Writes the CSV files of all TPC-H tables to a new folder.
fn make_csv(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let csv = |table: &str, header: &str, lines: &mut dyn Iterator<Item = Box<dyn Display>>| {
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(folder.join(format!("{table}.csv")), format!("{header}\n{lines}")).unwrap();
    };
    macro_rules! table {
        ($name:literal, $generator:ident, $csv:ident) => {
            let rows = $generator::new(SCALE, 1, 1);
            let lines = rows.iter().map(|row| Box::new($csv::new(row)) as Box<dyn Display>);
            csv($name, $csv::header(), &mut { lines });
        };
    }
    table!("region", RegionGenerator, RegionCsv);
    table!("nation", NationGenerator, NationCsv);
    table!("supplier", SupplierGenerator, SupplierCsv);
    table!("part", PartGenerator, PartCsv);
    table!("customer", CustomerGenerator, CustomerCsv);
    table!("partsupp", PartSuppGenerator, PartSuppCsv);
    table!("orders", OrderGenerator, OrderCsv);
    table!("lineitem", LineItemGenerator, LineItemCsv);
}

/// Returns the comparison with flags for few rows.
fn generate() -> Comparison {
    let comparison = Comparison::new("generate", &["--orders", "2000", "--scale", &SCALE.to_string()]);
    make_csv(&comparison.folder().join("made"));
    comparison.with_stand_in("tpchgen", TPCHGEN)
}

#[test]
fn the_benchmark_prints_tables_and_keeps_a_record() {
    let parts = &[
        "| `sqluice generate --preset shop`, durable | 6,220 |",
        "| `sqluice generate --preset tpch`, durable, and `sqluice check` | 86,805 |",
        "| at least 10 |",
        "| at most 3 |",
        "beside: stand-in 1.0",
    ];
    let record = generate().assert_says(sqluice(), &["--rounds", "2"], parts);
    let rounds = record["rounds"].as_array().unwrap();
    assert!(rounds.len() == 2 && rounds.iter().all(|round| round.as_object().unwrap().len() == 5));
    assert_eq!(record["ratios"].as_array().unwrap().len(), 3);
}

#[test]
fn a_wrong_value_fails_the_benchmark() {
    let price = r#""$SQLUICE" "$@" || exit
case "$1" in generate) sqlite3 "$2" "UPDATE items SET price = price + 1 WHERE id = 77" ;; esac"#;
    generate().assert_part_fails("shop", price, "where another way has");
    let comment = r#""$SQLUICE" "$@" || exit
case "$1" in generate) sqlite3 "$2" "UPDATE part SET p_comment = p_comment || ' ' WHERE p_partkey = 77" ;; esac"#;
    generate().assert_part_fails("tpch", comment, "where another way has");
}

#[test]
fn a_damaged_database_fails_the_benchmark() {
    let unsound = r#""$SQLUICE" "$@" || exit
case "$1" in generate) sqlite3 "$2" "PRAGMA writable_schema = 1;
    UPDATE sqlite_schema SET sql = replace(sql, 'o_comment       VARCHAR(79) NOT NULL', 'o_comment INT CHECK (o_comment > 7), o_more NOT NULL')
    WHERE name = 'orders'" ;; esac"#;
    generate().assert_part_fails("tpch", unsound, "failed");
}
