//! Databases of presets: they are sound, keep their foreign keys, and have the described distributions.

use std::path::{Path, PathBuf};

use crate::support::files::{Home, integrity, open};
use rusqlite::Connection;
use sqluice::generate::{Extent, Generate, PRESETS, Preset};
use sqluice::progress::Context;
use sqluice::schema::Schema;

type Rows = [(Option<&'static str>, u64)];

fn generate(name: &str, target: &Path, rows: &Rows, seed: u64) -> Generate {
    let rows: Vec<_> = rows.iter().map(|(name, rows)| (name.map(str::to_owned), *rows)).collect();
    let preset = Preset::find(name).unwrap();
    let mut generate = Generate::new(target, preset.schema().unwrap()).seed(seed);
    generate.rows = preset.rows(&rows);
    generate
}

fn make(name: &str, target: &Path, rows: &Rows, seed: u64) -> Connection {
    generate(name, target, rows, seed).run().unwrap();
    open(target)
}

fn count(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn the_database_of_every_preset_is_sound_and_its_foreign_keys_refer_to_rows() {
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
fn a_few_customers_have_most_of_the_orders_and_a_few_products_most_of_the_items() {
    let home = Home::new();
    let db = make("shop", &home.path("shop.db"), &[(None, 50_000)], 3);
    for (table, column) in [("orders", "customer_id"), ("items", "product_id")] {
        let of_fifth = format!(
            "WITH counted AS (SELECT count(*) AS n FROM {table} GROUP BY {column} ORDER BY n DESC)
             SELECT 100 * (SELECT sum(n) FROM (SELECT n FROM counted LIMIT (SELECT count(*) / 5 FROM counted))) / sum(n)
             FROM counted"
        );
        let share = count(&db, &of_fifth);
        assert!((60..85).contains(&share), "{share}% of {table} are those of a fifth");
        // Popularity does not depend on the row number.
        let of_first = format!(
            "SELECT 100 * sum({column} <= (SELECT max({column}) / 5 FROM {table})) / count(*) FROM {table}"
        );
        let share = count(&db, &of_first);
        assert!((10..35).contains(&share), "{share}% of {table}");
    }
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
fn orders_and_items_of_the_preset_shop_are_consistent_with_customers_and_products() {
    let home = Home::new();
    for (seed, rows) in [(1, 20_000), (2, 7), (9, 3_000)] {
        let db = make("shop", &home.path(&format!("shop-{seed}.db")), &[(None, rows)], seed);
        for (wrong, sql) in [
            (
                "orders before the customer's first day",
                "orders JOIN customers ON customers.id = customer_id WHERE ordered_at < created_at",
            ),
            ("orders after today", "orders WHERE ordered_at > '2025-12-31 23:59:59'"),
            ("orders that are no moment", "orders WHERE datetime(ordered_at) IS NOT ordered_at"),
            (
                "old orders on their way",
                "orders WHERE ordered_at < '2025-12-25' AND status IN ('paid', 'shipped')",
            ),
            (
                "items at another price",
                "items JOIN products ON products.id = product_id WHERE items.price <> products.price",
            ),
            (
                "mail of somebody else",
                "customers WHERE email NOT LIKE first_name || '.' || last_name || id || '@%.example'",
            ),
            ("nameless products", "products WHERE name NOT LIKE '% %'"),
        ] {
            assert_eq!(count(&db, &format!("SELECT count(*) FROM {sql}")), 0, "{wrong}");
        }
        assert_eq!(count(&db, "SELECT count(DISTINCT email) - count(*) FROM customers"), 0);
    }
    let db = open(&home.path("shop-1.db"));
    for (many, sql) in [
        ("cities", "SELECT count(DISTINCT city) FROM customers"),
        ("names", "SELECT count(DISTINCT first_name) FROM customers"),
        ("prices", "SELECT count(DISTINCT price) FROM products"),
    ] {
        assert!(count(&db, sql) > 50, "{many}");
    }
    let londoners = count(&db, "SELECT 100 * sum(city = 'London') / count(*) FROM customers");
    assert!((15..22).contains(&londoners), "{londoners}% of the customers");
}

#[test]
fn events_of_the_preset_events_are_in_order_and_after_the_installation_of_their_device() {
    let home = Home::new();
    let db = make("events", &home.path("events.db"), &[(None, 60_000)], 5);
    for (wrong, sql) in [
        ("events before their device", "events JOIN devices ON devices.id = device_id WHERE at < installed"),
        ("events after today", "events WHERE at > '2025-12-31 23:59:59'"),
        ("events out of order", "events AS a JOIN events AS b ON b.id = a.id + 1 WHERE b.at < a.at"),
        (
            "values of another kind",
            "events JOIN devices ON devices.id = device_id WHERE CASE kind
                WHEN 'thermometer' THEN value NOT BETWEEN -10 AND 35 WHEN 'meter' THEN value NOT BETWEEN 0 AND 3500
                WHEN 'door' THEN value NOT IN (0, 1) ELSE value IS NOT NULL END",
        ),
    ] {
        assert_eq!(count(&db, &format!("SELECT count(*) FROM {sql}")), 0, "{wrong}");
    }
    let busiest =
        count(&db, "SELECT max(n) * 60 / 60000 FROM (SELECT count(*) AS n FROM events GROUP BY device_id)");
    assert!(busiest >= 3, "the busiest of 60 devices sends {busiest} times the mean");
}

#[test]
fn the_row_count_of_a_single_table_of_a_preset_can_be_set() {
    let home = Home::new();
    let db = make("shop", &home.path("shop.db"), &[(None, 1000), (Some("customers"), 3)], 3);
    assert_eq!(count(&db, "SELECT count(*) FROM customers"), 3);
    assert_eq!(count(&db, "SELECT max(customer_id) FROM orders"), 3);
    assert_eq!(count(&db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

#[test]
fn the_preset_shop_without_customers_is_refused() {
    let home = Home::new();
    let nobody = generate("shop", &home.path("shop.db"), &[(None, 1000), (Some("customers"), 0)], 3);
    let error = nobody.run().unwrap_err();
    assert_eq!(error.without_hint(), "customers has no rows, and rows of other tables must refer to one");
}

#[test]
fn a_preview_sends_no_request_to_the_store_of_its_target() {
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, a -- gen: int(1, 1000)\n)";
    let schema = Schema::parse(sql, Path::new("schema.sql")).unwrap();
    let generate = Generate::without_target(schema).rows(5).seed(3);
    let preview = |generate: &Generate| generate.preview(3, &Context::default()).unwrap();
    let without_target = preview(&generate);
    assert_eq!(without_target[0].rows.len(), 3);
    let of_url = generate.clone().target(PathBuf::from("s3://no-such-bucket/x.db"));
    assert_eq!(preview(&of_url), without_target);
    let of_url_in_shares = of_url.extent(Extent::new().share((1, 1)));
    assert_eq!(preview(&of_url_in_shares), without_target);
}
