//! Merges whose leaf pages other processes copy to their places in the new file (`Merge::places`): the result equals that of one process.

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::error::Result;
use sqluice::merge::{Merge, MergeReport, Place, Placed};
use sqluice::options::{OnConflict, WriteOptions};
use sqluice::progress::Context;
use sqluice_platform::locks::{Lock, try_lock_shared};
use sqluice_platform::positioned::Positioned;

use super::Made;
use super::twin::{content, integrity, open};
use crate::support::files::{assert_sound, checksum};

/// Returns options with small chunks, so that small trees have several parts.
fn options() -> WriteOptions {
    WriteOptions::new().threads(2).tune(|tuning| tuning.chunk_bytes = 64 << 10)
}

/// Returns the places to which other processes copy the leaf pages of table `t`; `None` if they can't copy them.
fn places(merge: &Merge, file: &Path) -> Result<Option<Vec<Place>>> {
    let count = |source: &PathBuf| Place::count(source, "t", &merge.write, &Context::default());
    let pages = merge.sources.iter().map(count).collect::<Result<Vec<u32>>>()?;
    merge.places("t", file, &pages, &Context::default())
}

fn write(place: &Place, list: &Path) -> Result<()> {
    place.write(list, &options(), &Context::default())
}

/// Copies all leaves to their places.
fn write_all(places: Vec<Place>, folder: &Path) -> Vec<Placed> {
    let write_one = |(place, number): (Place, usize)| {
        let list = folder.join(format!("{number}.leaves"));
        write(&place, &list).unwrap();
        Placed { place, list }
    };
    places.into_iter().zip(0..).map(write_one).collect()
}

fn run(merge: &Merge) -> Result<MergeReport> {
    merge.run()
}

/// Makes a database whose rowids begin at `first`.
fn make(rng: &mut Rng, db: &Path, page_bytes: usize, statements: &str, first: i64) {
    let connection = open(db);
    connection.execute_batch(&format!("PRAGMA page_size = {page_bytes}; {statements}; BEGIN")).unwrap();
    let sql = "INSERT INTO t (id, a, b) VALUES (?1, ?2, ?3)";
    let mut insert = connection.prepare(sql).unwrap();
    let mut id = first;
    for _ in 0..rng.usize(1..400) {
        id += rng.i64(1..20);
        let bytes = match rng.u8(0..20) {
            0 => rng.usize(0..page_bytes * 4),
            1..4 => rng.usize(0..page_bytes / 2),
            _ => rng.usize(0..30),
        };
        insert.execute((id, format!("text {}", rng.u16(..)), vec![rng.u8(..); bytes])).unwrap();
    }
    drop(insert);
    // Deleted rows leave leaves that are not full.
    if rng.bool() {
        connection.execute_batch("DELETE FROM t WHERE id % 5 = 0 AND id > (SELECT min(id) FROM t)").unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(60))]

    #[test]
    fn a_merge_whose_leaf_pages_other_processes_copy_equals_a_merge_by_one_process(seed: u64, page_shift in 9u32..17) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let page_bytes = 1_usize << page_shift;
        let key = if rng.bool() { "id INTEGER PRIMARY KEY" } else { "id INTEGER PRIMARY KEY AUTOINCREMENT" };
        let mut statements = format!("CREATE TABLE t ({key}, a TEXT, b BLOB); CREATE VIEW v AS SELECT 1 AS one");
        for index in ["i ON t (a)", "j ON t (b DESC, a)", "k ON t (length(b)) WHERE a < 'text 3'"] {
            if rng.bool() {
                statements += &format!("; CREATE INDEX {index}");
            }
        }
        let count = rng.i64(2..6);
        // The sources are not in the order of their rowids.
        let mut order: Vec<i64> = (0..count).collect();
        rng.shuffle(&mut order);
        let sources: Vec<PathBuf> = order.iter().map(|place| folder.path().join(format!("{place}.db"))).collect();
        for (source, place) in sources.iter().zip(&order) {
            make(&mut rng, source, page_bytes, &statements, (place - 1) * 100_000);
        }
        let (one, other) = (folder.path().join("one.db"), folder.path().join("other.db"));
        let alone = run(&Merge::new(&one, &sources).write(options())).unwrap();

        let file = folder.path().join("unfinished");
        let merge = Merge::new(&other, &sources).write(options());
        let mut places = places(&merge, &file).unwrap().unwrap();
        rng.shuffle(&mut places);
        if rng.bool() {
            // An earlier attempt has written this place, and was given up.
            let again = rng.choice(&places).unwrap().clone();
            write(&again, &folder.path().join("given up")).unwrap();
        }
        let placed = write_all(places, folder.path());
        prop_assert!(!other.exists());
        let report = run(&merge.placed(placed)).unwrap();
        prop_assert!(!file.exists());
        prop_assert_eq!(integrity(&other), "ok");
        prop_assert_eq!(content(&open(&other)), content(&open(&one)));
        let bytes = fs::read(&other).unwrap();
        assert_sound(&bytes, sqluice_format::page::PENDING_BYTE);
        prop_assert_eq!(report.checksum, checksum(&bytes));
        prop_assert_eq!(report.bytes, bytes.len() as u64);
        prop_assert_eq!((report.rows, &report.tables[0].method), (alone.rows, &alone.tables[0].method));
        open(&other).execute_batch("INSERT INTO t (a, b) SELECT a, b FROM t; DELETE FROM t WHERE id % 3 = 0").unwrap();
        prop_assert_eq!(integrity(&other), "ok");
    }
}

/// Makes two databases with disjoint keys and an index. Also returns the path of the file of their merge.
fn two() -> (Made, PathBuf) {
    let rows = |first: i64| {
        format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); CREATE INDEX i ON t (a);
             WITH n (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM n WHERE n < {first} + 4999)
             INSERT INTO t SELECT n, 'text ' || n FROM n"
        )
    };
    let made = Made::by(&[&rows(1), &rows(10_000)]);
    let file = made.target.with_file_name("unfinished");
    (made, file)
}

fn folder(made: &Made) -> &Path {
    made.target.parent().unwrap()
}

#[test]
fn a_worker_process_that_writes_after_the_merge_is_refused() {
    let (made, file) = two();
    let places = places(&made.merge(), &file).unwrap().unwrap();
    let late = places[0].clone();
    let merge = made.merge().placed(write_all(places, folder(&made)));
    made.run(&merge).unwrap();
    Connection::open(&made.target).unwrap().execute_batch("UPDATE t SET a = 'changed'").unwrap();
    let before = fs::read(&made.target).unwrap();
    let error = write(&late, &folder(&made).join("late")).unwrap_err();
    assert!(error.to_string().contains("no process may write to it any more"), "{error}");
    assert!(fs::read(&made.target).unwrap() == before);
}

#[test]
fn a_merge_waits_until_no_worker_process_can_write_any_more() {
    let (made, file) = two();
    let places = places(&made.merge(), &file).unwrap().unwrap();
    let merge = made.merge().placed(write_all(places, folder(&made)));
    let held = fs::File::open(&file).unwrap();
    assert_eq!(try_lock_shared(&held).unwrap(), Lock::Taken);
    std::thread::scope(|scope| {
        let merged = scope.spawn(|| made.run(&merge));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!made.target.exists());
        drop(held);
        merged.join().unwrap().unwrap();
    });
    assert_eq!(made.query("SELECT count(*) FROM t"), ["10000"]);
}

#[test]
fn pages_of_a_killed_worker_are_written_again() {
    let (made, file) = two();
    let places = places(&made.merge(), &file).unwrap().unwrap();
    // The killed process has written half of its pages, and no list.
    let garbage = fs::OpenOptions::new().write(true).open(&file).unwrap();
    garbage.write_all_at(&vec![7; 4096 * 9], 4096).unwrap();
    drop(garbage);
    fs::write(folder(&made).join("half"), [0; 100]).unwrap();
    let placed = write_all(places, folder(&made));
    made.run(&made.merge().placed(placed)).unwrap();
    let alone = folder(&made).join("alone.db");
    run(&Merge::new(&alone, &made.sources)).unwrap();
    assert_eq!(content(&open(&made.target)), content(&open(&alone)));
}

#[test]
fn a_merge_refuses_missing_or_incomplete_lists_of_copied_leaf_pages() {
    for damage in ["head", "end", "missing"] {
        let (made, file) = two();
        let places = places(&made.merge(), &file).unwrap().unwrap();
        let mut placed = write_all(places, folder(&made));
        let list = fs::OpenOptions::new().write(true).open(&placed[1].list).unwrap();
        match damage {
            "head" => list.write_all_at(&[0; 48], 0).unwrap(),
            "end" => list.set_len(list.metadata().unwrap().len() - 1).unwrap(),
            _ => placed.truncate(1),
        }
        made.refused(&made.merge().placed(placed));
        assert_eq!(file.exists(), damage == "missing");
    }
}

#[test]
fn a_merge_refuses_exchanged_lists_of_copied_leaf_pages() {
    let (made, file) = two();
    let places = places(&made.merge(), &file).unwrap().unwrap();
    let mut placed = write_all(places, folder(&made));
    let (one, other) = (placed[0].list.clone(), placed[1].list.clone());
    (placed[0].list, placed[1].list) = (other, one);
    let message = made.refused(&made.merge().placed(placed));
    assert!(message.contains("do not continue those of the file before it"), "{message}");
}

#[test]
fn a_key_repeated_in_two_sources_ends_a_merge_by_processes_and_leaves_no_file() {
    let made = Made::by(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE); INSERT INTO t VALUES (1, 'x')",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE); INSERT INTO t VALUES (2, 'x')",
    ]);
    let file = made.target.with_file_name("unfinished");
    let places = places(&made.merge(), &file).unwrap().unwrap();
    let message = made.refused(&made.merge().placed(write_all(places, folder(&made))));
    assert!(message.contains("t.a = 'x'"), "{message}");
    assert!(!file.exists());
}

#[test]
fn a_merge_that_cannot_copy_leaf_pages_unchanged_is_not_divided_among_processes() {
    let overlapping = Made::by(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (5)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (3)",
    ]);
    let without_rowids = Made::by(&[
        "CREATE TABLE t (id PRIMARY KEY) WITHOUT ROWID; INSERT INTO t VALUES (1), (5)",
        "CREATE TABLE t (id PRIMARY KEY) WITHOUT ROWID; INSERT INTO t VALUES (7)",
    ]);
    let vacuumed = Made::by(&[
        "PRAGMA auto_vacuum = 1; CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (3)",
    ]);
    let (disjoint, _) = two();
    let leaves_out = disjoint.merge().write(options().on_conflict(OnConflict::Ignore));
    let other_pages = Made::by(&[
        "PRAGMA page_size = 512; CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (3)",
    ]);
    let merges =
        [overlapping.merge(), without_rowids.merge(), vacuumed.merge(), leaves_out, other_pages.merge()];
    for merge in merges {
        let file = merge.target.with_file_name("unfinished");
        assert_eq!(merge.places("t", &file, &[1, 1], &Context::default()).unwrap(), None);
        assert!(!file.exists());
    }
}

#[test]
fn a_source_with_another_page_count_than_announced_is_refused() {
    let (made, file) = two();
    for wrong in [-1, 1] {
        let counted = made.sources.iter().map(|source| {
            let pages = Place::count(source, "t", &options(), &Context::default()).unwrap();
            pages.saturating_add_signed(wrong)
        });
        let counted: Vec<u32> = counted.collect();
        let places = made.merge().places("t", &file, &counted, &Context::default()).unwrap().unwrap();
        let error = write(&places[0], &folder(&made).join(format!("list {wrong}"))).unwrap_err();
        assert!(error.to_string().contains("changed since its pages were counted"), "{error}");
        fs::remove_file(&file).unwrap();
    }
}
