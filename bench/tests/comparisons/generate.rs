//! The comparison of databases from nothing runs, and refuses to time what is wrong.

use std::fmt::Display;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{assert_fails, scratch, script, sqluice, the_record};
use tpchgen::csv::*;
use tpchgen::generators::*;

const SCALE: f64 = 0.01;

/// A script that stands in for the generator, whose library made its CSV files.
fn tpchgen(folder: &Path) {
    let made = folder.join("made");
    fs::create_dir(&made).unwrap();
    let csv = |table: &str, header: &str, lines: &mut dyn Iterator<Item = Box<dyn Display>>| {
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(made.join(format!("{table}.csv")), format!("{header}\n{lines}")).unwrap();
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
    let body = r#"#!/bin/sh
case "$*" in
    --version) echo stand-in 1.0 ;;
    "parquet --scale-factor 0.01 --output-dir "*) mkdir "$5" && echo PAR1 >"$5/region.parquet" ;;
    "csv --scale-factor 0.01 --output-dir "*) cp -r "$(dirname "$0")/made" "$5" ;;
    *) exit 1 ;;
esac
"#;
    let file = folder.join("tpchgen");
    fs::write(&file, body).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The comparison of few rows, in a folder.
fn generate(folder: &Path, sqluice: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_generate"));
    command.args(["--orders", "2000", "--scale", &SCALE.to_string()]).args(flags);
    command.arg("--dir").arg(folder.join("files")).arg("--results").arg(folder.join("results"));
    command.arg("--tpchgen").arg(folder.join("tpchgen"));
    command.arg("--sqluice").arg(sqluice).output().unwrap()
}

/// A part of the comparison with a script in the place of sqluice, which must fail for a reason.
fn assert_refused(part: &str, body: &str, reason: &str) {
    let folder = tempfile::tempdir().unwrap();
    tpchgen(folder.path());
    let output = generate(folder.path(), &script(folder.path(), body), &["--rounds", "1", "--only", part]);
    assert_fails(&output, reason, folder.path());
}

#[test]
fn a_run_prints_tables_and_keeps_a_record() {
    let folder = tempfile::tempdir().unwrap();
    tpchgen(folder.path());
    let output = generate(folder.path(), sqluice(), &["--rounds", "2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    for part in [
        "| `sqluice generate --preset shop`, durable | 6,220 |",
        "| `sqluice generate --preset tpch`, durable, and `sqluice check` | 86,805 |",
        "| at least 10 |",
        "| at most 3 |",
        "beside: stand-in 1.0",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(scratch(folder.path()), [""; 0]);
    let record = the_record(folder.path());
    let rounds = record["rounds"].as_array().unwrap();
    assert!(rounds.len() == 2 && rounds.iter().all(|round| round.as_object().unwrap().len() == 5));
    assert_eq!(record["ratios"].as_array().unwrap().len(), 3);
}

#[test]
fn a_value_that_is_another_fails_the_run() {
    let price = r#""$SQLUICE" "$@" || exit
case "$1" in generate) sqlite3 "$2" "UPDATE items SET price = price + 1 WHERE id = 77" ;; esac"#;
    assert_refused("shop", price, "instead of");
    let comment = r#""$SQLUICE" "$@" || exit
case "$1" in generate) sqlite3 "$2" "UPDATE part SET p_comment = p_comment || ' ' WHERE p_partkey = 77" ;; esac"#;
    assert_refused("tpch", comment, "instead of");
}

#[test]
fn a_database_that_is_unsound_fails_the_run() {
    let unsound = r#""$SQLUICE" "$@" || exit
case "$1" in generate) sqlite3 "$2" "PRAGMA writable_schema = 1;
    UPDATE sqlite_schema SET sql = replace(sql, 'o_comment       VARCHAR(79) NOT NULL', 'o_comment INT CHECK (o_comment > 7), o_more NOT NULL')
    WHERE name = 'orders'" ;; esac"#;
    assert_refused("tpch", unsound, "failed");
}
