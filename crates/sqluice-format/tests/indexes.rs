//! Index B-trees: whole databases of random entries, which SQLite must take for its own.

mod support;

use proptest::prelude::*;
use proptest::test_runner::Config;
use rusqlite::Connection;
use sqluice_format::page::Geometry;
use sqluice_format::record;
use sqluice_format::value::Value;
use support::index::*;
use support::*;

/// As many cases as a test needs by default; `PROPTEST_CASES` multiplies them, 256 being once.
fn cases(by_default: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u64>().ok());
    let cases = (u64::from(by_default) * asked.unwrap_or(256) / 256).max(1);
    Config { cases: cases as u32, failure_persistence: None, max_shrink_iters: 400, ..Config::default() }
}

fn encoded(values: &[Value<'_>]) -> Vec<u8> {
    let mut record = Vec::new();
    record::encode(values, &mut record);
    record
}

/// A database with `t (a)` and an index on it, given the blobs of its rows, the index written in chunks.
struct Indexed {
    bytes: Vec<u8>,
    entries: Vec<Vec<u8>>,
    root: u32,
}

/// Blobs of these sizes in ascending order: the first bytes count, the rest is filled up.
fn blobs(sizes: &[usize]) -> Vec<Vec<u8>> {
    let blob = |(number, &bytes): (u32, &usize)| {
        let mut blob = number.to_be_bytes()[1..].to_vec();
        blob.resize(bytes, number as u8 | 1);
        blob
    };
    let mut blobs: Vec<_> = (0..).zip(sizes).map(blob).collect();
    blobs.sort();
    blobs
}

fn indexed(geometry: Geometry, sizes: &[usize], capacity: u32, cut: impl Fn(usize) -> bool) -> Indexed {
    let blobs = blobs(sizes);
    let rows: Vec<Row> = (1..).zip(&blobs).map(|(id, blob)| (id, encoded(&[Value::Blob(blob)]))).collect();
    let entries: Vec<_> =
        (1..).zip(&blobs).map(|(id, blob)| encoded(&[Value::Blob(blob), Value::Int(id)])).collect();
    let mut pages = Pages::new(geometry);
    let table = pages.table(&rows, 64);
    let root = pages.index(&entries, capacity, cut);
    let schema =
        [entry("t", table, "CREATE TABLE t (a)"), index_entry("i", "t", root, "CREATE INDEX i ON t (a)")];
    Indexed { bytes: pages.finish(&schema), entries, root }
}

/// Compares what is in the file with what should be, by SQL and from the pages.
fn assert_sqlite_takes(indexed: &Indexed) -> (Home, Connection) {
    let report = assert_sound(&indexed.bytes);
    assert_eq!(report.trees[2].rows, indexed.entries.len() as u64);
    assert_eq!(entries(&indexed.bytes, indexed.root), indexed.entries);
    let home = Home::new();
    let db = home.open_with(&indexed.bytes);
    assert_eq!(integrity(&db), "ok");
    let mut select = db.prepare("SELECT a, rowid FROM t INDEXED BY i WHERE a >= x'' ORDER BY a").unwrap();
    let found = select.query_map([], |row| {
        let (blob, rowid): (Vec<u8>, i64) = (row.get(0)?, row.get(1)?);
        Ok(encoded(&[Value::Blob(&blob), Value::Int(rowid)]))
    });
    assert_eq!(found.unwrap().collect::<Result<Vec<_>, _>>().unwrap(), indexed.entries);
    drop(select);
    (home, db)
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let short = prop::collection::vec(0..12usize, 1..900);
    let mixed = prop_oneof![6 => 0..60usize, 3 => 60..300usize, 1 => 300..4000usize];
    let long = prop_oneof![3 => 80..120usize, 2 => 400..600usize, 1 => 0..4usize];
    prop_oneof![short, prop::collection::vec(mixed, 1..200), prop::collection::vec(long, 1..300)]
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn a_database_with_an_index_of_any_entries_holds_them(
        sizes in sizes(),
        page_bytes in prop::sample::select(vec![512u32, 512, 1024, 4096, 65536]),
        reserved in 0..33u8,
        capacity in 1..40u32,
        cuts in 2..200u64,
    ) {
        let cut = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 & 0xffff < 0x10000 / cuts;
        assert_sqlite_takes(&indexed(geometry(page_bytes, reserved), &sizes, capacity, cut));
    }
}
