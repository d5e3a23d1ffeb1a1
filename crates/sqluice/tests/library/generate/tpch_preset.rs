//! The preset `tpch`: each table equals what SQLite stores from the CSV of tpchgen's own formatter, and all foreign keys hold.
#![cfg(all(feature = "load", feature = "tpch"))]

use std::fmt::Display;
use std::path::Path;

use crate::support::files::{Home, assert_sound, integrity, open};
use crate::support::twin::{assert_same_values, insert};
use rusqlite::Connection;
use sqluice::options::{IfExists, WriteOptions};
use sqluice::progress::Context;
use sqluice::report::Report;
use sqluice::tpch::{Tpch, schema};
use sqluice_format::page::PENDING_BYTE;
use sqluice_testkit::effort::tries;
use tpchgen::csv::*;
use tpchgen::generators::*;

fn scale() -> f64 {
    // At smaller scales some foreign keys have no parent, and the preset is refused.
    tries(0.01, 0.01, 0.2)
}

fn make(target: &Path, scale: f64, threads: usize) -> Report {
    let write = WriteOptions::new().threads(threads);
    let tpch = Tpch::new(target.to_owned(), scale).write(write);
    tpch.run().unwrap()
}

/// Returns the text of a CSV file, and its row count.
fn csv(header: &str, lines: impl Iterator<Item = impl Display>) -> (String, usize) {
    let (mut text, mut rows) = (format!("{header}\n"), 0);
    for line in lines {
        text += &format!("{line}\n");
        rows += 1;
    }
    (text, rows)
}

/// Returns the tables as tpchgen's own formatter has them.
fn tables(scale: f64) -> [(&'static str, (String, usize)); 8] {
    let region = RegionGenerator::new(scale, 1, 1);
    let nation = NationGenerator::new(scale, 1, 1);
    let supplier = SupplierGenerator::new(scale, 1, 1);
    let part = PartGenerator::new(scale, 1, 1);
    let customer = CustomerGenerator::new(scale, 1, 1);
    let partsupp = PartSuppGenerator::new(scale, 1, 1);
    let orders = OrderGenerator::new(scale, 1, 1);
    let lineitem = LineItemGenerator::new(scale, 1, 1);
    [
        ("region", csv(RegionCsv::header(), region.iter().map(RegionCsv::new))),
        ("nation", csv(NationCsv::header(), nation.iter().map(NationCsv::new))),
        ("supplier", csv(SupplierCsv::header(), supplier.iter().map(SupplierCsv::new))),
        ("part", csv(PartCsv::header(), part.iter().map(PartCsv::new))),
        ("customer", csv(CustomerCsv::header(), customer.iter().map(CustomerCsv::new))),
        ("partsupp", csv(PartSuppCsv::header(), partsupp.iter().map(PartSuppCsv::new))),
        ("orders", csv(OrderCsv::header(), orders.iter().map(OrderCsv::new))),
        ("lineitem", csv(LineItemCsv::header(), lineitem.iter().map(LineItemCsv::new))),
    ]
}

fn orphans(db: &Connection) -> i64 {
    db.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap()
}

fn count(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn every_tpch_table_equals_what_sqlite_stores_from_the_csv() {
    let home = Home::new();
    let ours = home.path("tpch.db");
    let report = make(&ours, scale(), 2);
    let (ours, schema, mut all) = (open(&ours), schema().unwrap(), 0);
    for (table, (text, rows)) in tables(scale()) {
        let twin = home.path(&format!("{table}.db"));
        let columns = insert(text.as_bytes(), &twin, table, rows, Some(&schema));
        assert_same_values(&ours, &open(&twin), table, &columns, rows);
        all += rows;
    }
    assert_eq!(report.rows, all as u64);
}

#[test]
fn a_database_of_the_preset_tpch_is_sound_and_the_same_for_any_number_of_threads() {
    let home = Home::new();
    // lineitem has several parts here, so that a wrong order would be found.
    let scale = scale().max(0.03);
    let first = home.path("1.db");
    make(&first, scale, 1);
    let bytes = std::fs::read(&first).unwrap();
    assert_sound(&bytes, PENDING_BYTE);
    for threads in [2, 5] {
        let other = home.path(&format!("{threads}.db"));
        make(&other, scale, threads);
        assert!(std::fs::read(&other).unwrap() == bytes, "{threads} threads");
    }
    let db = open(&first);
    assert_eq!(integrity(&db), "ok");
    assert_eq!(orphans(&db), 0);
    // All 10 references of TPC-H are declared as foreign keys, so `orphans` above has checked each.
    let keys = "SELECT count(*) FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) WHERE t.type = 'table' AND seq = 0";
    assert_eq!(count(&db, keys), 10);
    let keyless = "SELECT count(*) FROM sqlite_schema AS t WHERE t.type = 'table'
                   AND NOT EXISTS (SELECT 1 FROM pragma_table_info(t.name) WHERE pk > 0)";
    assert_eq!(count(&db, keyless), 0);
}

#[test]
fn quantities_and_prices_of_line_items_are_floats_and_ship_dates_precede_receipt_dates() {
    let home = Home::new();
    let path = home.path("tpch.db");
    make(&path, 0.01, 2);
    let whole = "SELECT count(*) FROM lineitem WHERE typeof(l_quantity) <> 'real' OR typeof(l_extendedprice) <> 'real'";
    assert_eq!(count(&open(&path), whole), 0);
    let dates = "SELECT count(*) FROM lineitem WHERE date(l_shipdate) IS NOT l_shipdate OR l_shipdate >= l_receiptdate";
    assert_eq!(count(&open(&path), dates), 0);
}

#[test]
fn the_preset_tpch_adds_its_tables_to_an_existing_database_only_once() {
    let home = Home::new();
    let path = home.path("mine.db");
    open(&path).execute_batch("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)").unwrap();
    make(&path, 0.01, 2);
    let db = open(&path);
    assert_eq!((integrity(&db).as_str(), orphans(&db)), ("ok", 0));
    assert_eq!(count(&db, "SELECT count(*) FROM mine"), 1);
    assert_eq!(count(&db, "SELECT count(*) FROM lineitem"), 60_175);
    let again = Tpch::new(path.clone(), 0.01);
    assert!(
        again.prepare(&Context::default()).unwrap_err().message().contains("region"),
        "{:?}",
        again.prepare(&Context::default())
    );
    let write = WriteOptions::new().if_exists(IfExists::Append);
    assert!(again.write(write).prepare(&Context::default()).is_err());
}

#[test]
fn the_estimated_size_of_the_preset_tpch_is_near_the_real_size() {
    let home = Home::new();
    let path = home.path("tpch.db");
    let scale = scale().max(0.03);
    let tpch = Tpch::new(path.clone(), scale);
    let prepared = tpch.prepare(&Context::default()).unwrap();
    let estimated = prepared.plan().estimated_bytes.unwrap() as f64;
    let bytes = prepared.run(&Context::default()).unwrap().bytes as f64;
    assert!((estimated / bytes - 1.0).abs() < 0.05, "{estimated} for {bytes}");
}
