//! Copies of random databases, which SQLite made and changed: they have the same content, are sound, and honour the settings.

use std::path::Path;

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::copy::{AutoVacuum, Copy, CopyReport, JournalMode};
use sqluice::options::WriteOptions;
use sqluice_format::page::PageSize;
use sqluice_testkit::tables::make_table;

use super::content::{content, integrity, open, pragma};
use sqluice_testkit::config;
use sqluice_testkit::effort::tries;

/// Makes a database with tables, indexes, views, triggers, virtual tables, statistics and free pages.
pub(crate) fn make(rng: &mut Rng, db: &Path) {
    let table = make_table(rng, db);
    let connection = open(db);
    let table = format!("\"{}\"", table.replace('"', "\"\""));
    let run = |sql: &str| {
        // Some of the statements fail for some tables, and are then without effect.
        let _ = connection.execute_batch(sql);
    };
    let _ = connection.query_row("PRAGMA secure_delete = OFF", [], |_| Ok(()));
    let columns: Vec<String> = {
        let statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        statement.column_names().map(|name| format!("\"{name}\"")).collect()
    };
    for number in 0..rng.usize(0..4) {
        let (one, other) = (rng.choice(&columns).unwrap().clone(), rng.choice(&columns).unwrap().clone());
        let collation = rng.choice(["", " COLLATE NOCASE", " COLLATE RTRIM", " DESC"]).unwrap();
        let partial = if rng.u8(0..4) == 0 { format!(" WHERE {one} IS NOT NULL") } else { String::new() };
        let unique = if rng.u8(0..4) == 0 { "UNIQUE" } else { "" };
        let second = if rng.bool() { format!(", {other}") } else { String::new() };
        run(&format!("CREATE {unique} INDEX i{number} ON {table} ({one}{collation}{second}){partial}"));
    }
    run(&format!("CREATE INDEX by_length ON {table} (length({}))", columns[0]));
    run("CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT UNIQUE, more BLOB)");
    let rows = rng.usize(0..400);
    run(&format!(
        "INSERT INTO counted (text, more) WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
         SELECT hex(randomblob(i % 40 + 8)), zeroblob(CASE i % 17 WHEN 0 THEN 5000 ELSE i % 9 END) FROM n"
    ));
    run(&format!("CREATE VIEW seen AS SELECT * FROM {table}"));
    run(&format!("CREATE TRIGGER fires AFTER INSERT ON {table} BEGIN DELETE FROM counted WHERE id = 1; END"));
    if rng.bool() {
        run("CREATE VIRTUAL TABLE words USING fts5(text)");
        run("INSERT INTO words (text) SELECT text FROM counted");
        run("CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1)");
        run("INSERT INTO boxes SELECT id, id, id + 1 FROM counted");
    }
    if rng.bool() {
        run("ANALYZE");
    }
    match rng.u8(0..4) {
        0 => run("DELETE FROM counted WHERE id % 2 = 0"),
        1 => run("DELETE FROM counted WHERE id > 20; DROP TABLE IF EXISTS words"),
        2 => run("UPDATE counted SET more = NULL WHERE id % 3 = 0"),
        _ => {}
    }
    run(&format!("PRAGMA user_version = {}; PRAGMA application_id = {}", rng.i32(..), rng.i32(..)));
}

fn run(copy: &Copy) -> CopyReport {
    copy.run().unwrap()
}

fn options(threads: usize) -> WriteOptions {
    // Small chunks, so that small trees have several parts.
    WriteOptions::new().threads(threads).tune(|tuning| tuning.chunk_bytes = 16 << 10)
}

/// Returns true if all interior pages of the file come before all other pages, page 1 excepted.
pub(crate) fn has_interior_pages_first(db: &Path, page_bytes: usize) -> bool {
    let file = std::fs::read(db).unwrap();
    let is_interior = |page: &[u8]| matches!(page[0], 2 | 5);
    let leaves = |page: &[u8]| matches!(page[0], 10 | 13);
    let pages: Vec<&[u8]> = file.chunks(page_bytes).skip(1).collect();
    // An overflow page may begin with any byte, so the other fields of the header must be plausible, too.
    let last_interior =
        pages.iter().rposition(|page| is_interior(page) && page[1..3] == [0, 0] && page[7] == 0);
    let first_leaf = pages.iter().position(|page| leaves(page) && page[3..5] != [0, 0]);
    last_interior.is_none_or(|last| first_leaf.is_none_or(|first| last < first))
}

proptest! {
    #![proptest_config(config(tries(15, 60, 1000)))]

    #[test]
    fn a_copy_has_the_same_content_and_is_sound(seed: u64, compact: bool, interior_first: bool, size in 0u32..8, wal: bool) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
        make(&mut rng, &source);
        let page_size = (size < 4).then(|| PageSize::new(512 << (2 * size)).unwrap());
        let copy = Copy::new(&source, &target)
            .compact(compact)
            .interior_first(interior_first)
            .page_size(page_size)
            .auto_vacuum(AutoVacuum::None)
            .journal_mode(wal.then_some(JournalMode::Wal))
            .write(options(3));
        let report = run(&copy);
        let (before, after) = (content(&source), content(&target));
        prop_assert_eq!(before, after);
        prop_assert_eq!(integrity(&target), "ok");
        let connection = open(&target);
        prop_assert_eq!(pragma(&connection, "freelist_count"), "Integer(0)");
        prop_assert_eq!(pragma(&connection, "page_count"), format!("Integer({})", report.pages));
        prop_assert_eq!(pragma(&connection, "auto_vacuum"), "Integer(0)");
        let mode = if wal { "Text(\"wal\")" } else { "Text(\"delete\")" };
        prop_assert_eq!(pragma(&connection, "journal_mode"), mode);
        drop(connection);
        if interior_first && report.tables.iter().all(|table| table.overflow_pages == 0) && !wal {
            prop_assert!(has_interior_pages_first(&target, report.page_bytes));
        }
        let again = folder.path().join("again.db");
        let mut other = copy;
        other.target.clone_from(&again);
        run(&other.write(options(1).memory_bytes(24 << 20)));
        if !wal {
            prop_assert!(std::fs::read(&target).unwrap() == std::fs::read(&again).unwrap());
        }
    }

    #[test]
    fn a_copy_keeps_the_auto_vacuum_mode_of_its_source(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
        make(&mut rng, &source);
        run(&Copy::new(&source, &target).write(options(2)));
        let (mut before, mut after) = (content(&source), content(&target));
        let mode = |db: &Path| pragma(&open(db), "auto_vacuum");
        prop_assert_eq!(mode(&source), mode(&target));
        if mode(&source) != "Integer(0)" {
            // SQLite writes a copy with auto_vacuum, and orders the schema in its own way, so the objects of both schemas are sorted.
            for content in [&mut before, &mut after] {
                content.sort();
            }
        }
        prop_assert_eq!(before, after);
        prop_assert_eq!(integrity(&target), "ok");
    }
}

#[test]
fn a_file_of_zero_bytes_is_copied_as_a_database_without_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
    std::fs::write(&source, "").unwrap();
    let report = run(&Copy::new(&source, &target));
    assert_eq!((report.pages, report.rows), (1, 0));
    assert_eq!(integrity(&target), "ok");
}

#[test]
fn full_leaves_are_copied_unchanged_and_half_full_leaves_are_packed() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
    let connection = Connection::open(&source).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) INSERT INTO t SELECT i, 'text ' || i FROM n",
        )
        .unwrap();
    let report = run(&Copy::new(&source, &target));
    let table = &report.tables[0];
    assert!(table.relocated_leaves + 2 >= table.leaf_pages, "{table:?}");
    let report = run(&Copy::new(&source, folder.path().join("compact.db")).compact(true));
    assert_eq!(report.relocated_leaves, 0);
    connection.execute_batch("DELETE FROM t WHERE a % 2 = 0").unwrap();
    let vacuumed = folder.path().join("vacuumed.db");
    connection.execute("VACUUM INTO ?1", [vacuumed.to_str().unwrap()]).unwrap();
    let report = run(&Copy::new(&source, folder.path().join("half.db")));
    let vacuumed = vacuumed.metadata().unwrap().len();
    assert!(report.bytes * 100 <= vacuumed * 105, "{} bytes, by SQLite {vacuumed}", report.bytes);
    assert_eq!(report.rows, 25_000);
}
