//! The page of the lock byte at every place among the pages that are written past the end of a small file.
//! `SQLITE_TESTCTRL_PENDING_BYTE` moves the lock byte for the whole process, so each test runs in its own process.

use std::fs::OpenOptions;
use std::path::Path;

use crate::support::existing::{Old, add, assert_same_content, assert_whole, copied, one, schema};
use crate::support::files::{Home, integrity};
use crate::support::keys::{Row, insert, source};
use crate::support::rows::Owned;
use rusqlite::{Connection, ffi};
use sqluice::options::WriteOptions;
use sqluice_format::page::PENDING_BYTE;
use sqluice_platform::positioned::Positioned;
use sqluice_testkit::own_process::in_own_process;

fn move_pending_byte(to: u32) {
    // SAFETY: no connection is open, and no other thread uses SQLite.
    unsafe { ffi::sqlite3_test_control(ffi::SQLITE_TESTCTRL_PENDING_BYTE, to) };
}

const SCHEMA: &str = "CREATE TABLE one (x); CREATE TABLE t (x); CREATE INDEX i ON t (x);";

fn rows(count: usize) -> Vec<Row> {
    let bytes = |row: usize| if row.is_multiple_of(9) { 2500 } else { 150 + row % 50 };
    (0..count).map(|row| vec![Owned::Blob(vec![row as u8; bytes(row)])]).collect()
}

#[test]
fn the_page_of_the_lock_byte_is_skipped_wherever_new_pages_are_appended() {
    in_own_process(|| {
        for (page_bytes, wal) in [(512, false), (1024, true)] {
            let old = Old { page_bytes, wal, rows: 9, ..Old::default() };
            let home = Home::new();
            let path = home.path("undisturbed.db");
            old.create(&path);
            let first = std::fs::metadata(&path).unwrap().len() as u32 / page_bytes;
            let (one_row, many) = (rows(1), rows(24));
            let write = |path: &Path, pending_byte| {
                let options = WriteOptions::new()
                    .threads(2)
                    .tune(|tuning| (tuning.chunk_bytes, tuning.pending_byte) = (5000, pending_byte));
                add(path, &schema(SCHEMA), vec![source(&one_row, 1), source(&many, 7)], &options)
                    .unwrap()
                    .pages
            };
            let last = write(&path, PENDING_BYTE);
            assert!(last > first + 20);
            for lock_page in (first.max(4096 / page_bytes + 1) - 1..last + 3).step_by(if wal { 7 } else { 2 })
            {
                move_pending_byte((lock_page - 1) * page_bytes);
                let about = format!("{page_bytes} {wal}, lock page {lock_page} of {first} to {last}");
                let (path, twin_path) = (home.path("ours.db"), home.path("twin.db"));
                old.create(&path);
                copied(&home, &path, "twin.db");
                write(&path, (lock_page - 1) * page_bytes);
                assert_whole(&path, old.mode());
                let twin = Connection::open(&twin_path).unwrap();
                twin.execute_batch(SCHEMA).unwrap();
                twin.execute_batch("BEGIN").unwrap();
                insert(&twin, "one", sqluice::options::OnConflict::Abort, &one_row).unwrap();
                insert(&twin, "t", sqluice::options::OnConflict::Abort, &many).unwrap();
                twin.execute_batch("COMMIT").unwrap();
                let ours = Connection::open(&path).unwrap();
                assert_same_content(&ours, &twin);
                for database in [&ours, &twin] {
                    database.execute_batch("INSERT INTO t SELECT x FROM t; DELETE FROM one").unwrap();
                }
                assert_eq!(integrity(&ours), "ok", "{about}");
                assert_same_content(&ours, &twin);
                assert_eq!(one::<i64>(&ours, "SELECT count(*) FROM t"), 48);
                drop((ours, twin));
                for path in [path, twin_path] {
                    std::fs::remove_file(path).unwrap();
                }
            }
            move_pending_byte(PENDING_BYTE);
        }
    });
}

/// Makes a database of `pages` pages of 64 KiB. All but three are free pages and holes in the file, so the file takes little disk space.
fn sparse(path: &Path, pages: u32) {
    let database = Connection::open(path).unwrap();
    let sql = "PRAGMA page_size = 65536; CREATE TABLE old (a); INSERT INTO old VALUES (1)";
    database.execute_batch(sql).unwrap();
    database.close().unwrap();
    let trunk = 3;
    let leaves = trunk + 1..=pages;
    let count = pages - trunk;
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(u64::from(pages) * 65536).unwrap();
    // The header has the number of pages, the first trunk page of the freelist, and the number of pages of the freelist.
    file.write_all_at(&bytes(&[pages, trunk, count + 1]), 28).unwrap();
    // The trunk page has no next trunk page, and lists all free pages after it.
    file.write_all_at(&bytes(&[&[0, count][..], &leaves.collect::<Vec<_>>()].concat()), 2 * 65536).unwrap();
}

#[test]
fn appended_pages_skip_the_page_of_the_lock_byte_at_its_real_place() {
    let home = Home::new();
    let path = home.path("x.db");
    let lock_page = PENDING_BYTE / 65536 + 1;
    sparse(&path, lock_page - 11);
    let blob = |row: usize| vec![row as u8 + 1; 150_000 + row];
    let rows: Vec<Row> = (0..40).map(|row| vec![Owned::Blob(blob(row))]).collect();
    let options = WriteOptions::new().threads(2).tune(|tuning| tuning.chunk_bytes = 500_000);
    add(&path, &schema("CREATE TABLE t (x)"), vec![source(&rows, 7)], &options).unwrap();
    assert_whole(&path, "delete");
    let database = Connection::open(&path).unwrap();
    assert!(one::<u32>(&database, "PRAGMA page_count") > lock_page + 50);
    let mut select = database.prepare("SELECT x FROM t ORDER BY rowid").unwrap();
    let found = select.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<Vec<u8>>, _>>();
    assert!(found.unwrap().into_iter().eq((0..40).map(blob)));
    let mut page = vec![1; 65536];
    std::fs::File::open(&path).unwrap().read_exact_at(&mut page, u64::from(PENDING_BYTE)).unwrap();
    assert!(page.iter().all(|&byte| byte == 0));
}
