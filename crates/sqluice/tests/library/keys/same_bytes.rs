//! A database with keys and indexes has the same bytes with any number of threads and any memory, spilled or not.

use std::path::Path;

use crate::support::cases;
use crate::support::files::{Home, checksum};
use crate::support::keys::{KeyCase, key_case};
use proptest::prelude::*;
use sqluice::check::Check;
use sqluice::error::Result;
use sqluice::generate::Generate;
use sqluice::options::WriteOptions;
use sqluice::report::Report;
use sqluice::schema::Schema;

const THREADS: [usize; 4] = [1, 2, 3, 5];

/// The minimum memory of a run that sorts, counted in chunks of pages.
const CHUNKS_MIN: u64 = 4;

/// Asserts that runs with other numbers of threads and other memory make the same file, or fail with the same error.
/// Returns the bytes of the file; `None` if the runs fail.
fn assert_same(
    memory_bytes: &[u64],
    mut run: impl FnMut(&Path, usize, u64) -> Result<Report>,
) -> Option<Vec<u8>> {
    let home = Home::new();
    let mut first: Option<Result<Vec<u8>, String>> = None;
    for threads in THREADS {
        for &memory_bytes in memory_bytes {
            let path = home.path("x.db");
            let made = match run(&path, threads, memory_bytes) {
                Ok(report) => {
                    let bytes = std::fs::read(&path).unwrap();
                    assert_eq!(report.checksum, checksum(&bytes));
                    std::fs::remove_file(&path).unwrap();
                    Ok(bytes)
                }
                Err(error) => Err(error.without_hint()),
            };
            assert_eq!(home.names(), [""; 0], "nothing is left behind");
            match &first {
                None => first = Some(made),
                // `assert_eq` would print all bytes.
                Some(first) => assert!(
                    *first == made,
                    "{threads} threads, {memory_bytes} bytes of memory: {:?} instead of {:?}",
                    made.map(|bytes| bytes.len()),
                    first.as_ref().map(Vec::len)
                ),
            }
        }
    }
    first.and_then(Result::ok)
}

/// 12,600 rows. Their index entries have some megabytes together, many times the memory of `CHUNKS_MIN` chunks, which the last run gets.
const SQL: &str = "
    CREATE TABLE a (
        id INTEGER PRIMARY KEY,
        s  TEXT,     -- gen: text(0, 60)
        n  INTEGER,  -- gen: int(-100, 100)
        r  REAL      -- gen: null(0.2, real(0, 1))
    );
    CREATE INDEX a_s ON a (s COLLATE NOCASE);
    CREATE INDEX a_n ON a (n DESC, s);
    CREATE INDEX a_r ON a (r, n);
    CREATE TABLE b (
        k TEXT,      -- gen: text(30, 40)
        v BLOB,      -- gen: blob(0, 3000)
        PRIMARY KEY (k)
    ) WITHOUT ROWID;
    CREATE INDEX b_v ON b (v);";

#[test]
fn sorting_in_temporary_files_or_in_memory_gives_the_same_database() {
    const CHUNK_BYTES: u64 = 100_000;
    let schema = Schema::parse(SQL.to_owned(), Path::new("x.sql")).unwrap();
    let bytes =
        assert_same(&[256 << 20, 5_000_000, CHUNKS_MIN * CHUNK_BYTES], |path, threads, memory_bytes| {
            let write = WriteOptions::new()
                .threads(threads)
                .memory_bytes(memory_bytes)
                .tune(|tuning| tuning.chunk_bytes = CHUNK_BYTES as usize);
            let generate = Generate::new(path, schema.clone()).rows_of("a", 12_000).rows_of("b", 600);
            generate.seed(1).write(write).run()
        });
    let home = Home::new();
    let target = home.path("x.db");
    std::fs::write(&target, bytes.expect("no two rows have the same key")).unwrap();
    let check = Check::new(target).full(true);
    let checked = check.run().unwrap();
    assert!(checked.is_sound(), "{:?} {:?}", checked.report.problems, checked.sqlite_problems);
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn random_keys_and_rows_give_the_same_file_or_error_with_any_threads_and_memory(case in key_case(400)) {
        let rows = case.rows();
        let least = case.least_memory();
        assert_same(&[least + (32 << 20), least], |path, threads, memory_bytes| {
            let case = KeyCase { threads, ..case.clone() };
            let options = case.options().memory_bytes(memory_bytes);
            case.write(path, &rows, &options)
        });
    }
}
