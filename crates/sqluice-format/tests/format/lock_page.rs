//! Tests that the page with the lock byte, usually at 1 GiB, is never used. `SQLITE_TESTCTRL_PENDING_BYTE` moves the lock byte into small
//! files, for the whole process: so each test runs in its own process.

use crate::support::*;
use rusqlite::ffi;
use sqluice_format::page::Geometry;
use sqluice_format::record;
use sqluice_format::value::Value;
use sqluice_testkit::own_process::in_own_process;

fn move_pending_byte(to: u32) {
    // SAFETY: no connection is open, and no other thread uses SQLite.
    unsafe { ffi::sqlite3_test_control(ffi::SQLITE_TESTCTRL_PENDING_BYTE, to) };
}

/// Writes a WITHOUT ROWID table of keys that overflow, most also as dividers, and lets SQLite read it.
fn assert_index(geometry: Geometry, pending_byte: u32) {
    let keys: Vec<Vec<u8>> =
        (0..150u8).map(|i| vec![i; [3, 90, 450, 40, 2000, 700][usize::from(i % 6)]]).collect();
    let encoded = |key: &Vec<u8>| {
        let mut record = Vec::new();
        record::encode(&[Value::Blob(key)], &mut record);
        record
    };
    let mut pages = Pages::new(geometry);
    let root = pages.index(&keys.iter().map(encoded).collect::<Vec<_>>(), 7, |_| false);
    let bytes = pages.finish(&[entry("t", root, "CREATE TABLE t (k PRIMARY KEY) WITHOUT ROWID")]);
    let report = check_with(&bytes, pending_byte);
    assert!(report.is_sound(), "{}", problems(&report));
    let home = Home::new();
    let db = home.open_with(&bytes);
    assert_eq!(integrity(&db), "ok");
    let mut select = db.prepare("SELECT k FROM t").unwrap();
    let found = select.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<Vec<u8>>, _>>();
    assert_eq!(found.unwrap(), keys);
}

#[test]
fn the_page_of_the_lock_byte_is_left_out_wherever_it_is() {
    in_own_process(|| {
        let long = [3, 5000, 3000, 40, 450, 451, 700].into_iter().cycle();
        let rows: Vec<Row> =
            (1..).zip(long.take(120)).map(|(rowid, bytes)| (rowid, record_of(bytes, rowid as u8))).collect();
        for (page_bytes, auto_vacuum) in [(512, 0), (1024, 0), (512, 1), (1024, 1)] {
            let plain = Geometry::new(sqluice_format::page::PageSize::new(page_bytes).unwrap(), 0).unwrap();
            // SQLite reads page 1 as 4096 bytes first, and the lock byte can't be in these.
            for lock_page in (4096 / page_bytes + 1..40).chain([104, 105, 106, 206, 207, 208, 209]) {
                let pending_byte = (lock_page - 1) * page_bytes + 17;
                move_pending_byte(pending_byte);
                let home = Home::new();
                if auto_vacuum == 0 {
                    assert_index(plain.with_pending_byte(pending_byte), pending_byte);
                }
                let db = if auto_vacuum == 0 {
                    let bytes = database(plain.with_pending_byte(pending_byte), &rows, 7);
                    let report = check_with(&bytes, pending_byte);
                    assert!(report.is_sound(), "{}", problems(&report));
                    assert_eq!(report.trees[1].rows, 120);
                    let start = (lock_page - 1) as usize * page_bytes as usize;
                    assert!(
                        bytes.len() < start
                            || bytes[start..start + page_bytes as usize].iter().all(|&b| b == 0)
                    );
                    // With the lock byte elsewhere, that page is unused, or in use where it must not be.
                    assert!(bytes.len() < start || !check_with(&bytes, 1 << 30).is_sound());
                    home.open_with(&bytes)
                } else {
                    let db = open(&home.path);
                    db.execute_batch(&format!(
                        "PRAGMA page_size = {page_bytes}; PRAGMA auto_vacuum = 1; CREATE TABLE t (a)"
                    ))
                    .unwrap();
                    for bytes in (0..60).map(|i| i * 37 % 3000) {
                        db.execute("INSERT INTO t VALUES (zeroblob(?1))", [bytes]).unwrap();
                    }
                    db
                };
                assert_eq!(integrity(&db), "ok", "{page_bytes} {auto_vacuum} {lock_page}");
                db.execute_batch(
                    "INSERT INTO t SELECT randomblob(900) FROM t; DELETE FROM t WHERE rowid % 3 = 0",
                )
                .unwrap();
                assert_eq!(integrity(&db), "ok", "{page_bytes} {auto_vacuum} {lock_page}");
                let report = check_with(&home.bytes(), pending_byte);
                assert!(report.is_sound(), "lock page {lock_page}: {}", problems(&report));
            }
        }
    });
}
