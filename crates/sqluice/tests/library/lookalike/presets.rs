//! Look-alikes of the databases of presets: a shop, TPC-H, a time series.

use sqluice::generate::{Generate, Preset};
use sqluice::options::WriteOptions;
use sqluice::tpch::Tpch;

use super::compare::{Pair, generate, number, profile};
use crate::support::files::{Home, open};

/// Makes the database of a preset in a folder of its own.
fn preset(name: &str, rows: u64) -> Home {
    let home = Home::new();
    let preset = Preset::find(name).unwrap();
    let write = WriteOptions::new().threads(2).memory_bytes(32 << 20);
    let mut made = Generate::new(home.path("original.db"), preset.schema().unwrap()).seed(3).write(write);
    made.rows = preset.rows(&[(None, rows)]);
    made.run().unwrap();
    home
}

#[test]
fn a_database_made_from_the_profile_of_a_shop_has_its_statistics() {
    Pair::of(preset("shop", 4000)).assert_alike();
}

#[test]
fn databases_made_from_profiles_of_presets_have_their_statistics() {
    for name in ["user", "integers", "kv", "events"] {
        Pair::of(preset(name, 3000)).assert_alike();
    }
}

#[test]
fn a_database_made_from_the_profile_of_tpch_has_its_statistics() {
    let home = Home::new();
    let write = WriteOptions::new().threads(2).memory_bytes(32 << 20);
    let tpch = Tpch::new(home.path("original.db"), 0.01).write(write);
    tpch.run().unwrap();
    Pair::of(home).assert_alike();
}

#[test]
fn a_database_made_from_a_profile_may_have_ten_times_the_rows() {
    let home = preset("shop", 500);
    let report = profile(&home.path("original.db"));
    let extent = sqluice::generate::Extent::new().scale(10.0);
    Generate::new(home.path("large.db"), report.schema().unwrap()).extent(extent).run().unwrap();
    let [small, large] = ["original.db", "large.db"].map(|name| open(&home.path(name)));
    for table in ["customers", "orders", "items"] {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(10.0 * number(&small, &sql), number(&large, &sql), "{table}");
    }
    assert_eq!(number(&large, "SELECT count(*) FROM pragma_foreign_key_check"), 0.0);
}

#[test]
fn a_profile_does_not_depend_on_threads_and_generates_the_same_database_twice() {
    let home = preset("shop", 2000);
    let original = home.path("original.db");
    let by = |threads: usize| {
        let made = sqluice::profile::Profile::new(&original).threads(threads);
        made.run().unwrap().text
    };
    assert_eq!(by(1), by(3));
    let [one, two] = ["one.db", "two.db"].map(|name| home.path(name));
    generate(&profile(&original), &one);
    generate(&profile(&original), &two);
    assert_eq!(std::fs::read(one).unwrap(), std::fs::read(two).unwrap());
}
