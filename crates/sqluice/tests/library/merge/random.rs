//! Merges of random databases with the same tables, compared with INSERTs of all their rows by SQLite.

use std::path::{Path, PathBuf};

use fastrand::Rng;
use proptest::prelude::*;
use sqluice::merge::{Merge, MergeReport};
use sqluice::options::{OnConflict, WriteOptions};
use sqluice::progress::Context;

use super::twin::{content, insert_all, integrity, open, tables};
use sqluice_testkit::config;
use sqluice_testkit::effort::tries;

/// Returns the statements with which each database of a merge begins.
fn statements(rng: &mut Rng) -> Vec<String> {
    let unique = |rng: &mut Rng| if rng.u8(0..3) == 0 { " UNIQUE" } else { "" };
    let key = if rng.bool() { "id INTEGER PRIMARY KEY" } else { "id INTEGER PRIMARY KEY AUTOINCREMENT" };
    let mut statements = vec![
        format!("CREATE TABLE own ({key}, a{}, b TEXT{}, c REAL)", unique(rng), unique(rng)),
        format!("CREATE TABLE plain (a, b TEXT{}, c BLOB)", unique(rng)),
        "CREATE TABLE named (a TEXT PRIMARY KEY, b, c INT)".to_owned(),
        format!(
            "CREATE TABLE packed (a{}, b TEXT COLLATE NOCASE, c, PRIMARY KEY (b, c DESC)) WITHOUT ROWID",
            unique(rng)
        ),
    ];
    statements.retain(|_| rng.u8(0..4) > 0);
    let tables: Vec<String> =
        statements.iter().map(|sql| sql.split_whitespace().nth(2).unwrap().to_owned()).collect();
    for number in 0..rng.usize(0..6).min(tables.len() * 3) {
        let table = rng.choice(&tables).unwrap();
        let unique = if rng.u8(0..5) == 0 { "UNIQUE " } else { "" };
        let (one, other) = (rng.choice(["a", "b", "c"]).unwrap(), rng.choice(["a", "b", "c"]).unwrap());
        let order = rng.choice(["", " DESC", " COLLATE NOCASE", " COLLATE RTRIM DESC"]).unwrap();
        let columns = match rng.u8(0..4) {
            0 => format!("length({one})"),
            1 => format!("{one}{order}, {other}"),
            _ => format!("{one}{order}"),
        };
        let only = if rng.u8(0..5) == 0 { format!(" WHERE {other} IS NOT NULL") } else { String::new() };
        statements.push(format!("CREATE {unique}INDEX i{number} ON {table} ({columns}){only}"));
    }
    statements.push("CREATE VIEW seen AS SELECT 1 AS one".to_owned());
    statements
}

/// Returns a value out of few or out of many.
fn value(rng: &mut Rng, few: bool) -> String {
    let number = if few { rng.i64(0..40) } else { rng.i64(..) };
    match rng.u8(0..12) {
        0 => "NULL".to_owned(),
        1 => format!("{}.5", number / 3),
        2 => format!("x'{number:016x}'"),
        3 => number.to_string(),
        4 if !few => format!("zeroblob({})", rng.usize(0..3000)),
        5 => format!("'{}  '", number % 1000),
        6 => format!("'A{number}'"),
        7 => format!("'a{number}'"),
        _ => format!("'text {number}'"),
    }
}

/// Makes one database of a merge.
fn make(rng: &mut Rng, db: &Path, statements: &[String], place: i64, kind: u8, encoding: &str) {
    let connection = open(db);
    let page_size = if rng.u8(0..4) == 0 { 1024 } else { 512 };
    connection
        .execute_batch(&format!("PRAGMA page_size = {page_size}; PRAGMA encoding = '{encoding}'"))
        .unwrap();
    if rng.u8(0..4) == 0 {
        connection.execute_batch("PRAGMA journal_mode = wal").unwrap();
    }
    connection.execute_batch("BEGIN").unwrap();
    for statement in statements {
        connection.execute_batch(statement).unwrap();
    }
    for table in tables(&connection) {
        let rows = if rng.u8(0..6) == 0 { 0 } else { rng.i64(0..500) };
        for row in 0..rows {
            // The rowids of the databases are disjoint, interleave, or are shared.
            let rowid = match kind {
                0 => place * 1000 + row,
                1 => row * 7 + place,
                _ => rng.i64(-50..700),
            };
            let few = kind == 3;
            let (a, b, c) = (value(rng, few), value(rng, few), value(rng, few));
            let (columns, values) = match &*table {
                "own" => ("id, a, b, c", format!("{rowid}, {a}, {b}, {c}")),
                "packed" => ("a, b, c", format!("{a}, coalesce({b}, 'none'), coalesce({c}, {row})")),
                _ => ("rowid, a, b, c", format!("{rowid}, {a}, {b}, {c}")),
            };
            connection
                .execute_batch(&format!("INSERT OR REPLACE INTO {table} ({columns}) VALUES ({values})"))
                .unwrap();
        }
    }
    let part = rng.i64(2..9);
    for table in tables(&connection) {
        if rng.u8(0..3) == 0 && table != "packed" {
            connection.execute_batch(&format!("DELETE FROM {table} WHERE rowid % {part} = 0")).unwrap();
        }
    }
    connection.execute_batch("COMMIT").unwrap();
}

fn options(threads: usize) -> WriteOptions {
    // Small chunks, so that small trees have several parts.
    WriteOptions::new().threads(threads).tune(|tuning| tuning.chunk_bytes = 16 << 10)
}

fn run(merge: &Merge) -> sqluice::error::Result<MergeReport> {
    merge.run()
}

proptest! {
    #![proptest_config(config(tries(15, 60, 3000)))]

    #[test]
    fn a_merge_of_random_databases_has_the_rows_that_inserts_of_all_sources_store(
        seed: u64,
        kind in 0u8..4,
        on_conflict in prop::sample::select(&[OnConflict::Abort, OnConflict::Ignore, OnConflict::Replace][..]),
        into_first: bool,
        mixed in 0u8..8,
    ) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let statements = statements(&mut rng);
        let count = rng.usize(2..6);
        let sources: Vec<PathBuf> = (0..count).map(|number| folder.path().join(format!("source {number}.db"))).collect();
        for (source, place) in sources.iter().zip(0..) {
            let encoding = if mixed == 0 { *rng.choice(&["UTF-8", "UTF-16le", "UTF-16be"]).unwrap() } else { "UTF-8" };
            make(&mut rng, source, &statements, place, kind, encoding);
        }
        let paths: Vec<&Path> = sources.iter().map(PathBuf::as_path).collect();
        let twin = open(&folder.path().join("twin.db"));
        for statement in &statements {
            twin.execute_batch(statement).unwrap();
        }
        let inserted = insert_all(&twin, &paths, on_conflict);
        let (target, rest) = match into_first {
            true => (sources[0].clone(), &sources[1..]),
            false => (folder.path().join("target.db"), &sources[..]),
        };
        let before = target.exists().then(|| content(&open(&target)));
        let merge = Merge::new(&target, rest).write(options(3).on_conflict(on_conflict));
        let again = Merge::new(folder.path().join("again.db"), &sources).write(options(1).on_conflict(on_conflict).memory_bytes(24 << 20));
        let twice = (!into_first).then(|| run(&again));
        let plan = merge.prepare(&Context::default());
        match (run(&merge), inserted) {
            (Ok(report), Ok(())) => {
                let plan = plan.unwrap();
                prop_assert_eq!(integrity(&target), "ok");
                let (merged, expected) = (content(&open(&target)), content(&twin));
                for (table, rows) in &expected {
                    prop_assert_eq!(merged.get(table), Some(rows), "{}: {}", table, plan.plan());
                }
                let rows = expected.values().map(|rows| rows.len() as u64).sum::<u64>();
                let of_tables = report.tables.iter().map(|table| table.rows).sum::<u64>();
                prop_assert_eq!(of_tables, rows);
                if twice.is_some() {
                    prop_assert!(std::fs::read(&target).unwrap() == std::fs::read(&again.target).unwrap());
                }
            }
            (Err(error), Err(_)) => {
                prop_assert_eq!(on_conflict, OnConflict::Abort);
                prop_assert!(error.to_string().contains("source ") , "{}", error);
                let after = target.exists().then(|| content(&open(&target)));
                prop_assert!(after == before);
            }
            (Ok(_), Err(error)) => prop_assert!(false, "SQLite refuses: {}", error),
            (Err(error), Ok(())) => prop_assert!(false, "refused: {:?}", error),
        }
    }
}
