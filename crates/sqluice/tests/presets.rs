//! Presets: what SQLite says of the databases that they make.

mod support;

use std::path::Path;

use rusqlite::Connection;
use sqluice::generate::{Generate, PRESETS, Preset};
use sqluice::plan::WriteOptions;
use sqluice::progress::{Cancel, Silent};
use support::files::{Home, integrity, open};

type Rows = [(Option<&'static str>, u64)];

fn generate(name: &str, target: &Path, rows: &Rows, seed: u64) -> Generate {
    let rows: Vec<_> = rows.iter().map(|(name, rows)| (name.map(str::to_owned), *rows)).collect();
    let preset = Preset::find(name).unwrap();
    Generate {
        target: Some(target.to_owned()),
        schema: preset.schema(&rows).unwrap(),
        rows: preset.rows(&rows),
        seed,
        write: WriteOptions::default(),
    }
}

fn make(name: &str, target: &Path, rows: &Rows, seed: u64) -> Connection {
    generate(name, target, rows, seed).prepare().unwrap().run(&Silent, &Cancel::new()).unwrap();
    open(target)
}

fn count(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn every_preset_is_sound_and_its_foreign_keys_point_to_rows() {
    let home = Home::new();
    for preset in PRESETS {
        for (seed, rows) in [1_u64, 2, 49, 5_000].into_iter().enumerate() {
            let path = home.path(&format!("{}-{rows}.db", preset.name));
            let db = make(preset.name, &path, &[(None, rows)], seed as u64);
            assert_eq!(integrity(&db), "ok", "{} {rows}", preset.name);
            let orphans = count(&db, "SELECT count(*) FROM pragma_foreign_key_check");
            assert_eq!(orphans, 0, "{} {rows}", preset.name);
            for (table, rows) in preset.rows(&[(None, rows)]) {
                let table = table.unwrap();
                assert_eq!(count(&db, &format!("SELECT count(*) FROM {table}")), rows as i64, "{table}");
            }
        }
    }
}

#[test]
fn a_few_customers_have_most_of_the_orders() {
    let home = Home::new();
    let db = make("shop", &home.path("shop.db"), &[(None, 20_000)], 3);
    let of_fifth =
        count(&db, "SELECT count(*) FROM orders WHERE customer_id <= (SELECT count(*) / 5 FROM customers)");
    // 25 and 45 of 100 orders by how they are made, and a fifth of the other 30.
    assert!((14_800..15_600).contains(&of_fifth), "{of_fifth} of 20,000");
    assert_eq!(count(&db, "SELECT count(DISTINCT email) FROM customers"), 2000);
    let planned: Vec<String> = db
        .prepare("EXPLAIN QUERY PLAN SELECT count(*) FROM items JOIN orders ON orders.id = order_id WHERE customer_id = 7")
        .unwrap()
        .query_map([], |row| row.get(3))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(planned.iter().all(|step| step.contains("INDEX")), "{planned:?}");
}

#[test]
fn rows_of_one_table_may_be_said_alone() {
    let home = Home::new();
    let db = make("shop", &home.path("shop.db"), &[(None, 1000), (Some("customers"), 3)], 3);
    assert_eq!(count(&db, "SELECT count(*) FROM customers"), 3);
    assert_eq!(count(&db, "SELECT max(customer_id) FROM orders"), 3);
    assert_eq!(count(&db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

#[test]
fn orders_of_nobody_are_refused() {
    let home = Home::new();
    let nobody = generate("shop", &home.path("shop.db"), &[(None, 1000), (Some("customers"), 0)], 3);
    let error = nobody.prepare().unwrap().run(&Silent, &Cancel::new()).unwrap_err();
    assert!(error.to_string().contains("customers has no row for customer_id = 1"), "{error}");
}
