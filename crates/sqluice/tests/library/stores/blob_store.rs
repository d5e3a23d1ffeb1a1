//! The blob store: it behaves like a map, reads archives of `sqlite3 -A`, and readers see whole batches beside writers.
#![cfg(feature = "blob-store")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Random, cases};
use proptest::prelude::*;
use rusqlite::{Connection, TransactionBehavior, params};
use sqluice::blob_store::{BlobStore, Durability, Journal, Options};
use sqluice::error::Result;
use sqluice_format::page::PageSize;
use sqluice_testkit::effort::tries;
use sqluice_testkit::own_process::test_of;
use sqluice_testkit::sqlite::integrity_of;
use sqluice_testkit::wait::wait_for;

/// An operation on the store and on the map.
#[derive(Clone, Debug)]
enum Step {
    Put(Vec<(usize, usize)>),
    Remove(Vec<usize>),
    Get(usize),
    Range(usize, u64, u64),
    All,
    Reopen,
}

/// Returns keys of all kinds by number: empty, with NULs, not UTF-8, long keys that differ only at the end.
fn key(number: usize) -> Vec<u8> {
    match number % 8 {
        0 => vec![],
        1 => vec![0],
        2 => vec![0xff, 0xfe, number as u8],
        3 => [&[b'x'; 700][..], number.to_string().as_bytes()].concat(),
        4 => [&[b'y'; 5000][..], number.to_string().as_bytes()].concat(),
        5 => format!("a\0b{number}").into_bytes(),
        _ => format!("name/{number}.txt").into_bytes(),
    }
}

fn blob(bytes: usize) -> Vec<u8> {
    let mut random = Random(bytes as u64);
    (0..bytes).map(|_| random.next() as u8).collect()
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![Just(0usize), 1usize..600, 3000usize..13000, 60_000usize..200_000];
    let number = 0usize..120;
    prop_oneof![
        4 => prop::collection::vec((number.clone(), bytes), 1..12).prop_map(Step::Put),
        1 => prop::collection::vec(number.clone(), 1..6).prop_map(Step::Remove),
        4 => number.clone().prop_map(Step::Get),
        4 => (number, 0u64..210_000, 0u64..210_000).prop_map(|(number, a, b)| Step::Range(number, a, b)),
        1 => Just(Step::All),
        1 => Just(Step::Reopen),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let sizes = prop_oneof![Just(512u32), Just(1024), Just(4096), Just(65536)];
    (sizes, any::<bool>(), any::<bool>(), any::<bool>(), prop_oneof![Just(0usize), Just(1 << 20)]).prop_map(
        |(size, shared, wal, mapped, cache)| {
            BlobStore::options()
                .page_size(PageSize::new(size).unwrap())
                .shared(shared)
                .journal(if wal { Journal::Wal } else { Journal::Delete })
                .mmap_bytes(if mapped { 1 << 30 } else { 0 })
                .cache_bytes(cache)
                .durability(Durability::Off)
        },
    )
}

fn part(blob: &[u8], from: u64, to: u64) -> &[u8] {
    let end = (to as usize).min(blob.len());
    &blob[(from as usize).min(end)..end]
}

fn all(store: &BlobStore) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let found: Vec<_> = store.iter().map(Result::unwrap).collect();
    assert!(found.is_sorted_by(|a, b| a.0 < b.0), "keys come in order, once");
    found.into_iter().collect()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    (folder, path)
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn random_operations_on_a_blob_store_equal_those_on_a_map(options in options(), archive in any::<bool>(), steps in prop::collection::vec(step(), 1..40)) {
        let (_folder, path) = folder();
        if archive {
            drop(options.clone().open(&path).unwrap());
            let connection = Connection::open(&path).unwrap();
            connection.execute_batch("DROP TABLE kv; CREATE TABLE sqlar(name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB)").unwrap();
        }
        let mut store = options.clone().open(&path).unwrap();
        let mut map = BTreeMap::new();
        for step in steps {
            match step {
                Step::Put(blobs) => {
                    let blobs: Vec<_> = blobs.into_iter().map(|(number, bytes)| (key(number), blob(bytes))).collect();
                    let put = store.put_many(blobs.iter().map(|(key, blob)| (key, blob))).unwrap();
                    prop_assert_eq!(put, blobs.len() as u64);
                    map.extend(blobs);
                }
                Step::Remove(numbers) => {
                    let removed = numbers.iter().filter(|number| map.remove(&key(**number)).is_some()).count();
                    prop_assert_eq!(store.remove_many(numbers.iter().map(|number| key(*number))).unwrap(), removed as u64);
                }
                Step::Get(number) => {
                    let (key, found) = (key(number), map.get(&key(number)));
                    let got = store.get(&key).unwrap();
                    prop_assert_eq!(got.as_ref(), found);
                    prop_assert_eq!(store.len(&key).unwrap(), found.map(|blob| blob.len() as u64));
                    prop_assert_eq!(store.contains(&key).unwrap(), found.is_some());
                }
                Step::Range(number, from, to) => {
                    let (key, found) = (key(number), map.get(&key(number)));
                    let wanted = found.map(|blob| part(blob, from, to).to_vec());
                    prop_assert_eq!(store.range(&key, from..to).unwrap(), wanted);
                }
                Step::All => {
                    prop_assert_eq!(&all(&store), &map);
                    prop_assert_eq!(store.count().unwrap(), map.len() as u64);
                }
                Step::Reopen => {
                    drop(store);
                    store = options.clone().open(&path).unwrap();
                }
            }
        }
        prop_assert_eq!(&all(&store), &map);
        drop(store);
        prop_assert_eq!(integrity_of(&path), "ok");
    }
}

/// Runs SQL on a database of its own connection.
fn sql(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn readers_of_a_blob_store_see_only_whole_batches_of_a_writer() {
    for options in [
        BlobStore::options(),
        BlobStore::options().mmap_bytes(1 << 30),
        BlobStore::options().journal(Journal::Wal),
    ] {
        let (_folder, path) = folder();
        let store = options.durability(Durability::Off).open(&path).unwrap();
        let keys: Vec<String> = (0..50).map(|number| format!("key {number}")).collect();
        let put = |round: u8| {
            let bytes = 100 + usize::from(round) * 300;
            store.put_many(keys.iter().map(|key| (key, vec![round; bytes]))).unwrap();
        };
        put(0);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for reader in 0..4 {
                let (store, keys, done) = (&store, &keys, &done);
                scope.spawn(move || {
                    let (mut random, mut blob, mut last) = (Random(reader), Vec::new(), vec![0; keys.len()]);
                    while !done.load(Ordering::Relaxed) {
                        let number = random.below(keys.len());
                        assert!(store.get_into(&keys[number], &mut blob).unwrap());
                        let round = blob[0];
                        assert_eq!(blob, vec![round; 100 + usize::from(round) * 300]);
                        assert!(round >= last[number], "what was committed is seen from then on");
                        last[number] = round;
                    }
                });
            }
            (1..40).for_each(put);
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(store.get("key 7").unwrap().unwrap()[0], 39);
    }
}

#[test]
fn a_failed_batch_does_not_change_a_blob_store() {
    let (_folder, path) = folder();
    let store = BlobStore::open(&path).unwrap();
    store.put("a", "old").unwrap();
    let huge = vec![0; 1_000_000_001];
    let error = store.put_many([("a", &b"new"[..]), ("b", &huge)]).unwrap_err();
    assert!(error.hint_text().unwrap().contains("1,000,000,000"), "{error:?}");
    assert_eq!(store.get("a").unwrap().unwrap(), b"old");
    assert_eq!(store.count().unwrap(), 1);
    store.put("b", "new").unwrap();
    assert_eq!(store.count().unwrap(), 2);
}

#[test]
fn a_batch_of_50_mb_is_stored_and_read_back() {
    let (_folder, path) = folder();
    let store = BlobStore::options().durability(Durability::Off).open(&path).unwrap();
    store.put("first", "old").unwrap();
    assert_eq!(store.get("first").unwrap().unwrap(), b"old");
    let blobs = (0..50u8).map(|number| (vec![number], vec![number; 1_000_000]));
    assert_eq!(store.put_many(blobs).unwrap(), 50);
    for number in 0..50u8 {
        assert_eq!(store.get([number]).unwrap().unwrap(), vec![number; 1_000_000]);
        let part = store.range([number], 999_990..2_000_000).unwrap().unwrap();
        assert_eq!(part, [number; 10]);
    }
    // Freed pages are used again in any order: chains that lie anywhere are followed.
    store.remove_many((0..50u8).step_by(2).map(|number| [number])).unwrap();
    store.put_many((100..140u8).map(|number| ([number], blob(700_000 + usize::from(number))))).unwrap();
    for number in 100..140u8 {
        assert_eq!(store.get([number]).unwrap().unwrap(), blob(700_000 + usize::from(number)));
    }
}

/// Packs a folder with `sqlite3 -A`, which deflates a file if that makes it shorter.
fn archive(folder: &Path) -> PathBuf {
    let files = folder.join("files");
    std::fs::create_dir_all(files.join("sub")).unwrap();
    std::fs::write(files.join("empty"), "").unwrap();
    std::fs::write(files.join("sub/long"), "hello, ".repeat(5000)).unwrap();
    std::fs::write(files.join("random"), blob(9000)).unwrap();
    sqluice_testkit::system::symlink("random", files.join("link"));
    let made =
        Command::new("sqlite3").current_dir(&files).args(["../store.db", "-A", "-c", "."]).status().unwrap();
    assert!(made.success());
    folder.join("store.db")
}

#[test]
#[cfg_attr(windows, ignore = "wine has no sqlite3 to compare with")]
fn a_blob_store_reads_the_files_of_an_archive_of_sqlite3() {
    let folder = tempfile::tempdir().unwrap();
    let path = archive(folder.path());
    let names = Connection::open(&path).unwrap();
    let prefix: String = names
        .query_row("SELECT replace(name, 'sub/long', '') FROM sqlar WHERE name LIKE '%sub/long'", [], |row| {
            row.get(0)
        })
        .unwrap();
    let name = |name: &str| format!("{prefix}{name}");
    for shared in [false, true] {
        let store = BlobStore::options().read_only(true).shared(shared).open(&path).unwrap();
        let long = "hello, ".repeat(5000).into_bytes();
        assert_eq!(store.get(name("sub/long")).unwrap().unwrap(), long);
        assert_eq!(store.range(name("sub/long"), 7..14).unwrap().unwrap(), b"hello, ");
        assert_eq!(store.len(name("sub/long")).unwrap(), Some(35_000));
        assert_eq!(store.get(name("random")).unwrap().unwrap(), blob(9000));
        assert_eq!(store.get(name("empty")).unwrap().unwrap(), b"");
        for none in ["link", "sub", "nothing"] {
            assert_eq!(store.get(name(none)).unwrap(), None, "{none}");
        }
        assert_eq!(store.count().unwrap(), 3);
        assert_eq!(all(&store).len(), 3);
    }
    let store = BlobStore::open(&path).unwrap();
    store.put(name("link"), "now a file").unwrap();
    store.put("new", blob(5000)).unwrap();
    assert!(!store.remove(name("sub")).unwrap(), "a folder is no blob");
    drop(store);
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let extracted =
        Command::new("sqlite3").current_dir(&out).args(["../store.db", "-A", "-x"]).status().unwrap();
    assert!(extracted.success());
    assert_eq!(std::fs::read(out.join(name("link"))).unwrap(), b"now a file");
    assert_eq!(std::fs::read(out.join("new")).unwrap(), blob(5000));
}

#[test]
#[cfg_attr(windows, ignore = "wine has no sqlite3 to compare with")]
fn a_blob_that_does_not_inflate_to_its_size_is_an_error_that_names_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = archive(folder.path());
    for (size, shared) in
        [(34_999, false), (35_001, true), (1_000_000_000_000_000i64, false), (1_000_000_000, true)]
    {
        sql(&path, &format!("UPDATE sqlar SET sz = {size} WHERE name LIKE '%sub/long'"));
        let store = BlobStore::options().shared(shared).open(&path).unwrap();
        let name = {
            let connection = Connection::open(&path).unwrap();
            let sql = "SELECT name FROM sqlar WHERE name LIKE '%sub/long'";
            connection.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
        };
        let error = store.get(&name).unwrap_err();
        assert!(
            error.message().contains("does not inflate") && error.message().contains("sub/long"),
            "{error}"
        );
    }
}

#[test]
fn a_file_that_is_no_blob_store_is_refused_and_not_changed() {
    let (folder, path) = folder();
    let refused = |path: &Path, message: &str| {
        let before = std::fs::read(path).ok();
        let error = BlobStore::open(path).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert!(error.hint_text().is_some(), "{error:?}");
        assert_eq!(std::fs::read(path).ok(), before);
    };
    std::fs::write(&path, "no database at all, whatever its name says").unwrap();
    refused(&path, "is not a SQLite database");
    for (number, (sql_text, message)) in [
        (
            "CREATE TABLE kv(k TEXT PRIMARY KEY, v BLOB, w)",
            "does not have the columns and the key of a store",
        ),
        ("CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB)", "does not have the columns and the key of a store"),
        ("CREATE TABLE kv(k TEXT, v BLOB)", "does not have the columns and the key of a store"),
        (
            "CREATE TABLE kv(k TEXT COLLATE NOCASE PRIMARY KEY, v BLOB)",
            "does not have the columns and the key of a store",
        ),
        (
            "CREATE TABLE kv(k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID",
            "does not have the columns and the key of a store",
        ),
        (
            "CREATE TABLE kv(k TEXT, v BLOB, PRIMARY KEY(k DESC))",
            "does not have the columns and the key of a store",
        ),
        ("CREATE TABLE other(x)", "neither a table kv nor a table sqlar"),
        ("PRAGMA encoding = 'UTF-16le'; CREATE TABLE kv(k TEXT PRIMARY KEY, v BLOB)", "UTF-16le"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{number}.db"));
        sql(&path, sql_text);
        refused(&path, message);
    }
    refused(&folder.path().join("no/folder.db"), "cannot open");
    let error = BlobStore::options().read_only(true).open(folder.path().join("absent.db")).unwrap_err();
    assert!(error.message().contains("cannot open"), "{error}");
    assert!(!folder.path().join("absent.db").exists());
}

#[test]
fn a_blob_store_opened_for_reading_refuses_writes() {
    let (_folder, path) = folder();
    BlobStore::open(&path).unwrap().put("a", "b").unwrap();
    let store = BlobStore::options().read_only(true).open(&path).unwrap();
    assert_eq!(store.get("a").unwrap().unwrap(), b"b");
    for error in [store.put("c", "d").unwrap_err(), store.remove("a").unwrap_err()] {
        assert!(error.message().contains("reading only"), "{error}");
    }
}

#[test]
fn other_connections_read_an_exclusive_store_and_write_to_a_shared_store_without_waiting() {
    let (_folder, path) = folder();
    BlobStore::open(&path).unwrap().put("a", "b").unwrap();
    for shared in [false, true] {
        let store = BlobStore::options().shared(shared).open(&path).unwrap();
        assert_eq!(store.get("a").unwrap().unwrap(), b"b");
        let other = Connection::open(&path).unwrap();
        other.busy_timeout(Duration::from_secs(if shared { 0 } else { 20 })).unwrap();
        let read: Vec<u8> = other.query_row("SELECT v FROM kv", [], |row| row.get(0)).unwrap();
        assert_eq!(read, b"b");
        if shared {
            other.execute("UPDATE kv SET v = CAST('c' AS BLOB)", []).unwrap();
        }
        assert_eq!(store.get("a").unwrap().unwrap(), if shared { b"c" } else { b"b" });
    }
}

#[test]
fn another_connection_can_write_to_an_idle_blob_store() {
    let (_folder, path) = folder();
    let store = BlobStore::open(&path).unwrap();
    store.put("a", "0").unwrap();
    let other = Connection::open(&path).unwrap();
    other.busy_timeout(Duration::ZERO).unwrap();
    for round in 1..4 {
        assert!(store.get("a").unwrap().is_some());
        let wrote = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            other.execute("UPDATE kv SET v = CAST(?1 AS BLOB)", [round.to_string()]).is_ok()
        });
        assert!(wrote);
        assert_eq!(store.get("a").unwrap().unwrap(), round.to_string().into_bytes());
    }
}

/// The environment variable that names the store which the process overwrites, completely in each of [`ROUNDS`] transactions.
const OTHERS: &str = "SQLUICE_TEST_STORE_OF_OTHERS";

const ROUNDS: u8 = 10;

/// Returns the value of each of [`KEYS`] keys after a round. Sizes differ from round to round, so that values move to other pages.
fn of_round(round: u8) -> Vec<u8> {
    vec![round; 100 + usize::from(round % 4) * 9000]
}

/// The other process of the next test: not a test of its own.
#[test]
fn another_process_writes() {
    let Some(path) = std::env::var_os(OTHERS) else { return };
    let mut other = Connection::open(path).unwrap();
    other.busy_timeout(Duration::from_secs(60)).unwrap();
    for round in 1..=ROUNDS {
        let change = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        for number in 0..KEYS {
            // REPLACE deletes the row and inserts it with a new rowid, so the row moves and its index entry changes.
            let key = String::from_utf8(number.to_be_bytes().to_vec()).unwrap();
            let sql = "INSERT OR REPLACE INTO kv SELECT ?1, ?2 FROM kv WHERE k = ?1";
            assert_eq!(change.execute(sql, params![key, of_round(round)]).unwrap(), 1);
        }
        change.commit().unwrap();
    }
}

#[test]
fn readers_of_a_blob_store_see_only_whole_transactions_of_another_process() {
    let options = BlobStore::options;
    for options in [
        options(),
        options().mmap_bytes(1 << 30),
        options().read_only(true),
        options().shared(true),
        options().journal(Journal::Wal),
    ] {
        let (_folder, path) = folder();
        let wal = format!("{options:?}").contains("journal: Wal");
        let new = BlobStore::options().journal(if wal { Journal::Wal } else { Journal::Delete });
        let first = (0..KEYS).map(|number| (number.to_be_bytes(), of_round(0)));
        new.open(&path).unwrap().put_many(first).unwrap();
        let store = options.clone().busy_timeout(Duration::from_secs(60)).open(&path).unwrap();
        let mut writer = test_of(module_path!(), "another_process_writes");
        let mut writer = writer.env(OTHERS, &path).stdout(Stdio::null()).spawn().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for reader in 0..3 {
                let (store, done, options) = (&store, &done, &options);
                scope.spawn(move || {
                    let (mut random, mut blob, mut last) = (Random(reader), Vec::new(), 0);
                    while !done.load(Ordering::Relaxed) {
                        let key = (random.below(KEYS as usize) as u32).to_be_bytes();
                        let found = store.get_into(key, &mut blob);
                        assert!(found.unwrap_or_else(|error| panic!("{options:?}: {error:?}")));
                        assert_eq!(blob, of_round(blob[0]));
                        assert!(blob[0] >= last, "what was committed is seen from then on");
                        last = blob[0];
                    }
                });
            }
            let ended = writer.wait();
            done.store(true, Ordering::Relaxed);
            assert!(ended.unwrap().success());
        });
        let found = all(&store);
        assert_eq!(found.len(), KEYS as usize);
        assert!(found.values().all(|blob| *blob == of_round(ROUNDS)));
    }
}

#[test]
fn a_blob_store_reads_text_and_null_as_bytes_and_refuses_numbers() {
    let (_folder, path) = folder();
    drop(BlobStore::open(&path).unwrap());
    sql(
        &path,
        "INSERT INTO kv VALUES ('text', 'x'), ('null', NULL), ('number', 5), (CAST('blob' AS BLOB), 'y'), (NULL, 'z')",
    );
    for shared in [false, true] {
        let store = BlobStore::options().shared(shared).open(&path).unwrap();
        assert_eq!(store.get("text").unwrap().unwrap(), b"x");
        assert_eq!(store.get("null").unwrap().unwrap(), b"");
        assert_eq!(store.get("blob").unwrap(), None);
        assert!(store.get("number").unwrap_err().message().contains("a number is stored"));
    }
}

#[test]
fn a_table_kv_with_another_spelling_of_the_declaration_is_a_blob_store_too() {
    for declared in [
        "CREATE TABLE KV(K text, V blob, UNIQUE (V), PRIMARY KEY (K))",
        "CREATE TABLE kv(k TEXT NOT NULL PRIMARY KEY, v BLOB) STRICT",
        "CREATE TABLE kv(k TEXT PRIMARY KEY, v BLOB); CREATE INDEX other ON kv(v)",
        "PRAGMA auto_vacuum = FULL; CREATE TABLE kv(k TEXT PRIMARY KEY, v BLOB)",
    ] {
        let (_folder, path) = folder();
        sql(&path, declared);
        let store = BlobStore::options().durability(Durability::Off).open(&path).unwrap();
        store.put_many((0..40usize).map(|number| (number.to_string(), blob(number * 997)))).unwrap();
        for number in 0..40usize {
            assert_eq!(store.get(number.to_string()).unwrap().unwrap(), blob(number * 997), "{declared}");
        }
    }
}

/// The environment variable that names the store to which the process writes until it is killed.
const STORE: &str = "SQLUICE_TEST_STORE";

/// The number of keys. Each batch writes all of them.
const KEYS: u32 = 40;

/// The process that another test kills: not a test of its own.
#[test]
fn a_writer_that_is_killed_writes() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let store = BlobStore::options().durability(Durability::Off).open(&path).unwrap();
    for round in 1u32.. {
        let blobs = (0..KEYS).map(|number| (number.to_be_bytes(), round.to_be_bytes().repeat(5000)));
        store.put_many(blobs).unwrap();
        if round == 1 {
            std::fs::write(started(Path::new(&path)), "").unwrap();
        }
    }
}

/// Returns the path of the file that a writer creates once it has written its first batch.
fn started(store: &Path) -> PathBuf {
    store.with_extension("started")
}

#[test]
fn a_batch_of_a_killed_writer_is_stored_whole_or_not_at_all() {
    let mut random = Random(7);
    let (_folder, path) = folder();
    let mut last = 0;
    for number in 0..tries(4, 8, 600) {
        let _ = std::fs::remove_file(started(&path));
        let mut writer = test_of(module_path!(), "a_writer_that_is_killed_writes");
        let mut writer = writer.env(STORE, &path).stdout(Stdio::null()).spawn().unwrap();
        // Every fourth process may be killed before or in its first batch.
        if number % 4 != 0 {
            wait_for("the first batch", || started(&path).exists());
        }
        std::thread::sleep(Duration::from_micros(random.below(60_000) as u64));
        writer.kill().unwrap();
        writer.wait().unwrap();
        if !path.exists() {
            continue;
        }
        let store = BlobStore::open(&path).unwrap();
        let found = all(&store);
        let Some(first) = found.values().next() else { continue };
        assert_eq!(found.len(), KEYS as usize);
        assert!(found.values().all(|blob| blob == first && blob.len() == 20_000), "half a batch");
        last += 1;
        drop(store);
        assert_eq!(integrity_of(&path), "ok");
    }
    assert!(last > 0);
}
