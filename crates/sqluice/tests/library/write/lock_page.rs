//! The page of the lock byte, which is never used, at every place of small files. `SQLITE_TESTCTRL_PENDING_BYTE` moves the
//! lock byte for the whole process, so each test runs in its own process.

use std::path::{Path, PathBuf};

use crate::support::Random;
use crate::support::files::{Home, assert_sound, checksum_around, integrity, open, records};
use crate::support::rows::{Owned, OwnedBatch, OwnedColumn};
use crate::support::source::InMemory;
use rusqlite::ffi;
use sqluice::merge::{Merge, Place, Placed};
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice::report::Report;
use sqluice::schema::Schema;
use sqluice::source::Source;
use sqluice::write::write_tables;
use sqluice_format::page::{PENDING_BYTE, PageSize};
use sqluice_testkit::effort::tries;
use sqluice_testkit::own_process::in_own_process;

fn move_pending_byte(to: u32) {
    // SAFETY: no connection is open, and no other thread uses SQLite.
    unsafe { ffi::sqlite3_test_control(ffi::SQLITE_TESTCTRL_PENDING_BYTE, to) };
}

/// Returns three tables and two views, whose long statements make the schema take several pages and overflow chains. [`write`] gives the
/// first table overflow chains, and the second one several interior pages.
fn schema(page_bytes: u32) -> Schema {
    let long: String = (0..page_bytes / 4).map(|_| "long ").collect();
    let sql = format!(
        "CREATE TABLE a (x); CREATE TABLE b (x, y INTEGER PRIMARY KEY); CREATE TABLE c (x);
         CREATE VIEW v AS SELECT '{long}'; CREATE VIEW w AS SELECT '{long}';"
    );
    Schema::parse(sql, Path::new("test.sql")).unwrap()
}

/// Returns rows with blobs of these lengths, in batches and parts of several sizes.
fn rows(lengths: impl Iterator<Item = usize>, rowids: bool) -> Vec<OwnedBatch> {
    let values: Vec<Owned> = lengths.map(|len| Owned::Blob(vec![len as u8; len])).collect();
    let mut first = 1_i64 << 40;
    let batch = |values: &[Owned]| {
        let mut columns = vec![OwnedColumn::of(values.to_vec())];
        if rowids {
            // Large rowids make interior cells large.
            columns.push(OwnedColumn::ints((first..).take(values.len()).collect()));
            first += values.len() as i64;
        }
        OwnedBatch { rows: values.len(), columns }
    };
    values.chunks(17).map(batch).collect()
}

fn write(path: Option<&Path>, page_bytes: u32, chunk_pages: u32, pending_byte: u32) -> Report {
    let schema = schema(page_bytes);
    let page = page_bytes as usize;
    let mut random = Random(u64::from(page_bytes));
    let mixed: Vec<usize> = (0..70)
        .map(|_| match random.below(10) {
            0 => random.below(page * 5),
            1..3 => page - 30 - random.below(20),
            _ => random.below(page / 3),
        })
        .collect();
    let leaves = std::iter::repeat_n(page - 60, page / 8);
    let sources: Vec<Box<dyn Source>> = vec![
        Box::new(InMemory::new(rows(mixed.into_iter(), false), &[1, 2])),
        Box::new(InMemory::new(rows(leaves, true), &[3])),
        Box::new(InMemory::new(rows([10].into_iter(), false), &[1])),
    ];
    let options =
        WriteOptions::new().threads(2).page_size(PageSize::new(page_bytes).unwrap()).tune(|tuning| {
            (tuning.chunk_bytes, tuning.pending_byte) = ((page_bytes * chunk_pages) as usize, pending_byte)
        });
    write_tables(path, &schema, sources, &options, &Context::default()).unwrap()
}

#[test]
fn new_databases_skip_the_page_of_the_lock_byte_wherever_the_byte_is() {
    in_own_process(|| {
        for (page_bytes, chunk_pages) in [(512, 6), (1024, 1), (1024, 9), (4096, 9)] {
            let undisturbed = write(None, page_bytes, chunk_pages, PENDING_BYTE);
            assert!(undisturbed.tables[0].overflow_pages > 10 && undisturbed.tables[1].interior_pages > 1);
            let pages = undisturbed.pages;
            // SQLite reads page 1 as 4096 bytes first, and the lock byte can't be in there.
            let first = (4096 / page_bytes + 1).max(3);
            let step = if page_bytes == 4096 { 7 } else { 1 } * tries(7, 1, 1);
            let beyond = pages - 3..=pages + 3;
            for lock_page in (first..pages - 3).step_by(step).chain(beyond) {
                let pending_byte = (lock_page - 1) * page_bytes + lock_page % page_bytes;
                move_pending_byte(pending_byte);
                let home = Home::new();
                let path = home.path("ours.db");
                let report = write(Some(&path), page_bytes, chunk_pages, pending_byte);
                let bytes = std::fs::read(&path).unwrap();
                let about = format!("{page_bytes} {chunk_pages}, lock page {lock_page} of {pages}");
                // If the page of the lock byte comes right after the last page with content, it does not belong to the file.
                assert_eq!(report.pages, pages + u32::from(lock_page <= pages), "{about}");
                assert_eq!(report.bytes, bytes.len() as u64, "{about}");
                assert_eq!(report.checksum, checksum_around(&bytes, pending_byte), "{about}");
                let start = (lock_page - 1) as usize * page_bytes as usize;
                assert!(bytes.iter().skip(start).take(page_bytes as usize).all(|&byte| byte == 0), "{about}");
                assert_sound(&bytes, pending_byte);

                let database = open(&path);
                assert_eq!(integrity(&database), "ok", "{about}");
                for (table, report) in ["a", "b", "c"].into_iter().zip(&report.tables) {
                    assert_eq!(records(&database, &bytes, table).len() as u64, report.rows, "{about}");
                    let sum: i64 = database
                        .query_row(&format!("SELECT count(*) FROM {table} WHERE length(x) >= 0"), [], |row| {
                            row.get(0)
                        })
                        .unwrap();
                    assert_eq!(sum as u64, report.rows, "{about}");
                }
                database
                    .execute_batch(
                        "INSERT INTO a SELECT x FROM a; DELETE FROM b WHERE y % 3 = 0; CREATE INDEX i ON a (x)",
                    )
                    .unwrap();
                assert_eq!(integrity(&database), "ok", "{about}");
            }
        }
        the_places_of_a_merge_leave_it_out();
        move_pending_byte(PENDING_BYTE);
    });
}

/// Asserts that a merge whose leaf and overflow pages other processes copy skips the page of the lock byte, which is tried in, before and
/// after each place of these pages.
fn the_places_of_a_merge_leave_it_out() {
    let page_bytes = 512;
    for lock_page in (9..130).step_by(2) {
        let pending_byte = (lock_page - 1) * page_bytes;
        move_pending_byte(pending_byte);
        let home = Home::new();
        let sources = [1, 1000, 2000].map(|first| {
            let path = home.path(&format!("{first}.db"));
            let sql = format!(
                "PRAGMA page_size = {page_bytes}; CREATE TABLE t (id INTEGER PRIMARY KEY, x); CREATE INDEX i ON t (x);
                 WITH n (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM n WHERE n < {first} + 59)
                 INSERT INTO t SELECT n, zeroblob(iif(n % 7 = 0, 1500, 100)) FROM n"
            );
            open(&path).execute_batch(&sql).unwrap();
            path
        });
        let options = WriteOptions::new().threads(2).tune(|tuning| {
            (tuning.chunk_bytes, tuning.pending_byte) = (8 * page_bytes as usize, pending_byte);
        });
        let count = |source: &PathBuf| Place::count(source, "t", &options, &Context::default()).unwrap();
        let pages: Vec<u32> = sources.iter().map(count).collect();
        let target = home.path("all.db");
        let merge = Merge::new(&target, &sources).write(options.clone());
        let places =
            merge.places("t", &home.path("unfinished"), &pages, &Context::default()).unwrap().unwrap();
        let placed = places.into_iter().rev().zip(0..).map(|(place, number)| {
            let list = home.path(&format!("list {number}"));
            place.write(&list, &options, &Context::default()).unwrap();
            Placed { place, list }
        });
        let merge = merge.placed(placed);
        let report = merge.run().unwrap();
        let bytes = std::fs::read(&target).unwrap();
        assert_eq!(report.checksum, checksum_around(&bytes, pending_byte), "{lock_page}");
        assert_sound(&bytes, pending_byte);
        let database = open(&target);
        assert_eq!(integrity(&database), "ok", "{lock_page}");
        assert_eq!(records(&database, &bytes, "t").len(), 180, "{lock_page}");
    }
}
