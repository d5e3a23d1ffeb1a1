//! The precautions of the reader of a live database are necessary: each test reads pages without one of them, and sees a state that was
//! never committed. With the precaution, the commit is refused, or the reader sees one committed state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use sqluice::copy::Copy;
use sqluice::progress::Cancel;
use sqluice_format::check::ReadPage;
use sqluice_format::page::{Geometry, PageSize};
use sqluice_format::record;
use sqluice_format::scan::{Kind, Reader, Scan, Tree};
use sqluice_format::value::Value;
use sqluice_platform::positioned::Positioned;
use sqluice_reader::Snapshot;
use sqluice_reader::snapshot::ReadOptions;

use super::content::integrity;
use sqluice_testkit::own_process::test_of;

const PAGE_BYTES: usize = 4096;
/// The version of all rows after the first transaction.
const FIRST: i64 = 10;

/// The environment variable that names the database to the process that commits.
const COMMIT_TO: &str = "SQLUICE_COMMIT_TO";

/// Makes a database of some fifty leaves, all of whose rows have the version [`FIRST`].
fn made(mode: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let connection = Connection::open(&db).unwrap();
    connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
    connection
        .execute_batch(&format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, version INT, filler BLOB);
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO t SELECT i, {FIRST}, zeroblob(90) FROM n"
        ))
        .unwrap();
    (folder, db)
}

/// The database file, and the pages that are read from the log instead.
struct Raw {
    file: File,
    instead: BTreeMap<u32, Vec<u8>>,
}

impl Raw {
    fn of(db: &Path) -> Raw {
        Raw { file: File::open(db).unwrap(), instead: BTreeMap::new() }
    }

    /// Also takes the last frame of each page in the log, committed or not.
    fn with_frames(db: &Path) -> Raw {
        let log = std::fs::read(format!("{}-wal", db.display())).unwrap();
        let frames = log[32..].chunks_exact(24 + PAGE_BYTES);
        let page = |frame: &[u8]| u32::from_be_bytes(*frame.first_chunk().unwrap());
        Raw { instead: frames.map(|frame| (page(frame), frame[24..].to_vec())).collect(), ..Raw::of(db) }
    }

    /// Reads all rows and returns their versions. `meanwhile` is called after the first leaf was read.
    fn versions(mut self, meanwhile: impl FnOnce()) -> BTreeSet<i64> {
        let geometry = Geometry::new(PageSize::new(PAGE_BYTES as u32).unwrap(), 0).unwrap();
        let page_count = (self.file.metadata().unwrap().len() / PAGE_BYTES as u64) as u32;
        let tree = Tree { root_page: 2, kind: Kind::Table, geometry, page_count };
        let scan = Scan::new(&mut self, tree).unwrap();
        let (mut reader, mut versions, mut meanwhile) = (Reader::default(), BTreeSet::new(), Some(meanwhile));
        for part in 0..scan.parts() {
            let each = |_: i64, record: &[u8]| {
                if let Some(Value::Int(version)) = record::decode(record).unwrap().get(1) {
                    versions.insert(*version);
                }
                if let Some(meanwhile) = meanwhile.take() {
                    meanwhile();
                }
                Ok(())
            };
            scan.read(part, &mut self, &mut reader, each).unwrap();
        }
        versions
    }
}

impl ReadPage for Raw {
    type Error = io::Error;

    fn read_page(&mut self, number: u32, into: &mut [u8]) -> io::Result<()> {
        match self.instead.get(&number) {
            Some(page) => {
                into.copy_from_slice(page);
                Ok(())
            }
            None => self.file.read_exact_at(into, u64::from(number - 1) * PAGE_BYTES as u64),
        }
    }
}

/// Lets another process give all rows the next version. Returns true if it could commit.
fn commit_elsewhere(db: &Path) -> bool {
    let mut command = test_of(module_path!(), "a_commit_for_other_tests");
    command.env(COMMIT_TO, db).output().unwrap().status.success()
}

/// The process that commits for other tests: not a test of its own.
#[test]
fn a_commit_for_other_tests() {
    let Some(db) = std::env::var_os(COMMIT_TO) else { return };
    let connection = Connection::open(db).unwrap();
    connection.busy_timeout(Duration::ZERO).unwrap();
    connection.execute_batch("UPDATE t SET version = version + 1").unwrap();
}

/// Returns a connection in a read transaction.
fn begin(db: &Path) -> Connection {
    let connection = Connection::open(db).unwrap();
    connection.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
    connection
}

/// Copies the database, and returns the versions in the lower and the upper half of the rows.
fn copied(db: &Path) -> [Vec<i64>; 2] {
    let target = db.with_file_name("copy.db");
    Copy::new(db, &target).run().unwrap();
    assert_eq!(integrity(&target), "ok");
    let connection = Connection::open(&target).unwrap();
    ["id <= 1000", "id > 1000"].map(|rows| {
        let mut statement =
            connection.prepare(&format!("SELECT DISTINCT version FROM t WHERE {rows}")).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    })
}

#[test]
fn without_a_read_transaction_a_commit_can_happen_between_two_page_reads() {
    let (_folder, db) = made("delete");
    let versions = Raw::of(&db).versions(|| assert!(commit_elsewhere(&db)));
    assert_eq!(versions, [FIRST, FIRST + 1].into());
    let (_folder, db) = made("delete");
    let file = Raw::of(&db);
    let transaction = begin(&db);
    let versions = file.versions(|| assert!(!commit_elsewhere(&db), "the transaction allows no commit"));
    assert_eq!(versions, [FIRST].into());
    drop(transaction);
}

#[test]
#[cfg_attr(windows, ignore = "locks on Windows belong to one open file")]
fn closing_another_descriptor_of_the_file_silently_ends_the_read_transaction() {
    let (_folder, db) = made("delete");
    let file = Raw::of(&db);
    let transaction = begin(&db);
    let versions = file.versions(|| {
        drop(File::open(&db).unwrap());
        assert!(commit_elsewhere(&db), "the lock is gone");
    });
    assert_eq!(versions, [FIRST, FIRST + 1].into());
    drop(transaction);
}

#[test]
fn the_end_of_one_reader_does_not_release_the_lock_of_another_reader() {
    let (_folder, db) = made("delete");
    let begin = || Snapshot::begin(&db, &ReadOptions::new(), &Cancel::new()).unwrap();
    let first = begin();
    drop(begin());
    assert!(!commit_elsewhere(&db));
    assert_eq!(copied(&db), [[FIRST], [FIRST]]);
    assert!(!commit_elsewhere(&db));
    drop(first);
    assert!(commit_elsewhere(&db));
}

#[test]
fn after_a_partial_checkpoint_the_file_without_its_log_has_pages_of_two_states() {
    let (_folder, db) = made("wal");
    let writer = Connection::open(&db).unwrap();
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    writer.execute_batch("UPDATE t SET version = version + 1").unwrap();
    let reader = begin(&db);
    writer.execute_batch("UPDATE t SET version = version + 1 WHERE id <= 1000").unwrap();
    // The checkpoint copies the frames up to the reader's snapshot, without pages that were changed later.
    writer.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
    assert_eq!(copied(&db), [[FIRST + 2], [FIRST + 1]]);
    // The first leaves are older than the others: such a state was never committed.
    assert_eq!(Raw::of(&db).versions(|| ()), [FIRST, FIRST + 1].into());
    drop(reader);
}

#[test]
fn uncommitted_frames_of_the_write_ahead_log_are_not_read() {
    let (_folder, db) = made("wal");
    let writer = Connection::open(&db).unwrap();
    // With a small cache, SQLite writes pages of the open transaction to the log.
    writer.execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE t SET version = version + 1").unwrap();
    assert_eq!(copied(&db), [[FIRST], [FIRST]]);
    assert_eq!(Raw::with_frames(&db).versions(|| ()), [FIRST, FIRST + 1].into());
}
