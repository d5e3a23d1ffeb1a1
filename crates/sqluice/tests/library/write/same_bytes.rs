//! The bytes of a file depend only on rows, schema and seed, not on threads, memory or timing. The reported error does, too.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::files::{Home, checksum};
use crate::support::rows::{Owned, OwnedBatch, OwnedColumn, Takes};
use crate::support::source::InMemory;
use crate::support::{Random, cases};
use proptest::prelude::*;
use sqluice::check::Check;
use sqluice::error::{ErrorKind, Result};
use sqluice::generate::Generate;
use sqluice::options::WriteOptions;
use sqluice::progress::{Amount, Cancel, Context, Progress};
use sqluice::report::Report;
use sqluice::schema::Schema;
use sqluice::source::{Part, Sink, Source};
use sqluice::write::write_tables;
use sqluice_format::page::PageSize;

const THREADS: [usize; 3] = [1, 2, 7];

fn schema(sql: &str) -> Schema {
    Schema::parse(sql.to_owned(), Path::new("test.sql")).unwrap()
}

fn options(threads: usize, chunk_bytes: usize) -> WriteOptions {
    WriteOptions::new().threads(threads).tune(|tuning| tuning.chunk_bytes = chunk_bytes)
}

/// Returns the checksum of the file by these tests, and that of `check`.
fn checksums(path: &Path) -> [String; 2] {
    let check = Check::new(path.to_owned()).full(true).checksum(true);
    let checked = check.run().unwrap();
    assert!(checked.is_sound(), "{:?} {:?}", checked.report.problems, checked.sqlite_problems);
    [checked.checksum.unwrap(), checksum(&std::fs::read(path).unwrap())]
}

#[test]
fn generated_files_are_the_same_with_any_number_of_threads() {
    let sql = "
        CREATE TABLE narrow (
            id INTEGER PRIMARY KEY,
            a  TEXT,      -- gen: text(0, 200)
            b  INTEGER,   -- gen: int(-1000000, 1000000)
            c  REAL       -- gen: null(0.2, real(0, 1))
        );
        CREATE TABLE wide (
            a  BLOB,      -- gen: blob(0, 20000)
            b  TEXT       -- gen: choice('x', 'yy', null(0.5, text(1, 9000)))
        );";
    // Parts of 7 MiB: three of each table.
    let rows = [("narrow", 150_000), ("wide", 1_500)];
    for seed in [1, 2] {
        let home = Home::new();
        let generate = |name: Option<&str>, threads, memory_bytes| -> Report {
            let generate = Generate::without_target(schema(sql)).target(name.map(|name| home.path(name)));
            let generate =
                rows.into_iter().fold(generate, |generate, (table, rows)| generate.rows_of(table, rows));
            let write = options(threads, 200_000).memory_bytes(memory_bytes);
            generate.seed(seed).write(write).run().unwrap()
        };
        let first = generate(Some("first.db"), 1, 256 << 20);
        for (table, (_, rows)) in first.tables.iter().zip(rows) {
            assert_eq!(table.rows, rows);
            assert!(table.leaf_pages + table.overflow_pages >= 50 * (200_000 / 4096), "{table:?}");
        }
        assert!(first.tables[1].overflow_pages > 1000);
        assert_eq!(checksums(&home.path("first.db")), [first.checksum.clone(), first.checksum.clone()]);
        let bytes = std::fs::read(home.path("first.db")).unwrap();
        for (threads, memory_bytes) in [(2, 256 << 20), (7, 256 << 20), (7, 2_000_000)] {
            let name = format!("{threads} {memory_bytes}.db");
            let report = generate(Some(&name), threads, memory_bytes);
            assert_eq!(report.threads, if memory_bytes < 4_000_000 { 3 } else { threads });
            assert!(std::fs::read(home.path(&name)).unwrap() == bytes, "seed {seed}, {name}");
            std::fs::remove_file(home.path(&name)).unwrap();
            assert_eq!(report.checksum, first.checksum);
            let discarded = generate(None, threads, memory_bytes);
            assert_eq!((discarded.checksum, discarded.bytes), (report.checksum, report.bytes));
        }
    }
}

/// Returns the rows of two tables, with many parts of many sizes, some without rows. The batches of `bad`, which count from 1000 in the
/// second table, have a NULL in a NOT NULL column.
fn sources(seed: u64, bad: &[usize]) -> Vec<Box<dyn Source>> {
    let mut random = Random(seed);
    let make = |random: &mut Random, table: usize| -> Box<dyn Source> {
        let mut batches = Vec::new();
        for batch in 0..120 {
            let rows = 1 + random.below(60);
            let mut budget = 60_000;
            let mut column =
                |random: &mut Random, takes| OwnedColumn::random(random, takes, rows, 1024, &mut budget);
            let mut columns = vec![column(random, Takes::Blobs), column(random, Takes::Anything)];
            columns.push(OwnedColumn::ints(vec![5; rows]));
            if bad.contains(&(table * 1000 + batch)) {
                let mut values = vec![Owned::Int(5); rows];
                values[rows / 2] = Owned::Null;
                columns[2] = OwnedColumn::of(values);
            }
            batches.push(OwnedBatch { rows, columns });
        }
        let parts: Vec<usize> = (0..7).map(|_| random.below(4)).chain([1]).collect();
        Box::new(InMemory::new(batches, &parts))
    };
    vec![make(&mut random, 0), make(&mut random, 1)]
}

const TWO_TABLES: &str =
    "CREATE TABLE a (x BLOB, y, z INTEGER NOT NULL); CREATE TABLE b (x BLOB, y REAL, z INTEGER NOT NULL);";

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn parts_of_any_size_give_the_same_file_with_any_number_of_threads(
        seed in any::<u64>(), chunk_bytes in prop_oneof![Just(1000), Just(4000), Just(9000)],
    ) {
        let home = Home::new();
        let mut first: Option<Vec<u8>> = None;
        for threads in THREADS {
            let path = home.path(&format!("{threads}.db"));
            let options =
                options(threads, chunk_bytes).page_size(PageSize::new(1024).unwrap());
            let write = |target| {
                let sources = sources(seed, &[]);
                write_tables(target, &schema(TWO_TABLES), sources, &options, &Context::default()).unwrap()
            };
            let report = write(Some(&path));
            prop_assert_eq!(&write(None).checksum, &report.checksum);
            prop_assert_eq!(checksums(&path), [report.checksum.clone(), report.checksum.clone()]);
            for table in &report.tables {
                prop_assert!(table.overflow_pages > 50 && table.leaf_pages > 50, "{:?}", table);
            }
            let bytes = std::fs::read(&path).unwrap();
            match &first {
                Some(first) => prop_assert!(&bytes == first),
                None => first = Some(bytes),
            }
        }
    }

    #[test]
    fn the_first_error_of_the_input_is_reported_with_any_number_of_threads(
        seed in any::<u64>(), bad in prop::collection::vec((0..2usize, 0..120usize), 1..20),
    ) {
        let bad: Vec<usize> = bad.into_iter().map(|(table, batch)| table * 1000 + batch).collect();
        let mut first: Option<String> = None;
        for threads in THREADS.into_iter().cycle().take(6) {
            let home = Home::new();
            let path = home.path("x.db");
            let (sources, options) = (sources(seed, &bad), options(threads, 5000));
            let error =
                write_tables(Some(&path), &schema(TWO_TABLES), sources, &options, &Context::default())
                    .unwrap_err();
            prop_assert_eq!(error.kind(), ErrorKind::Input);
            let message = error.without_hint();
            prop_assert!(message.ends_with("NULL in column z, which is NOT NULL"), "{}", message);
            match &first {
                Some(first) => prop_assert_eq!(&message, first),
                None => first = Some(message),
            }
            prop_assert_eq!(home.names(), Vec::<String>::new(), "nothing is left behind");
        }
    }
}

/// A source with an unlimited number of parts.
struct Endless(u64);

struct Row(u64);

impl Source for Endless {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        self.0 += 1;
        Ok(Some(Box::new(Row(self.0 - 1))))
    }
}

impl Part for Row {
    fn first_row(&self) -> u64 {
        self.0
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        assert!(self.0 != 1_000_000, "a bug in a source");
        let batch = OwnedBatch { rows: 1, columns: vec![OwnedColumn::ints(vec![self.0 as i64])] };
        batch.with(|batch| sink.rows(batch)).map_err(|refused| refused.first().1)
    }
}

/// Sets the cancel flag once a given number of rows have been written.
struct StopAt(u64, AtomicU64, Cancel);

impl Progress for StopAt {
    fn advance(&self, done: Amount) {
        if self.1.fetch_add(done.rows, Ordering::Relaxed) + done.rows >= self.0 {
            self.2.cancel();
        }
    }
}

#[test]
fn a_cancelled_run_ends_soon_and_leaves_no_file() {
    for threads in THREADS {
        let home = Home::new();
        let cancel = Cancel::new();
        let stop = StopAt(1000, AtomicU64::new(0), cancel.clone());
        let sources: Vec<Box<dyn Source>> = vec![Box::new(Endless(0))];
        let options = options(threads, 4096);
        let schema = schema("CREATE TABLE t (a)");
        let context = Context::default().progress(&stop).cancel(&cancel);
        let error = write_tables(Some(&home.path("x.db")), &schema, sources, &options, &context).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        assert!(stop.1.into_inner() < 2000);
        assert_eq!(home.names(), Vec::<String>::new());
    }
}

#[test]
fn a_panic_in_a_source_of_rows_ends_the_run_and_leaves_no_file() {
    for threads in THREADS {
        let home = Home::new();
        let path = home.path("x.db");
        // An early part panics.
        let sources: Vec<Box<dyn Source>> = vec![Box::new(Endless(999_000))];
        let (schema, options) = (schema("CREATE TABLE t (a)"), options(threads, 4096));
        let run = std::panic::AssertUnwindSafe(|| {
            write_tables(Some(&path), &schema, sources, &options, &Context::default())
        });
        assert!(std::panic::catch_unwind(run).is_err());
        assert_eq!(home.names(), Vec::<String>::new());
    }
}

/// A source that fails at its third part.
struct Breaks(u64);

impl Source for Breaks {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        self.0 += 1;
        if self.0 > 2 {
            return Err(sqluice::error::Error::input("cannot cut"));
        }
        Ok(Some(Box::new(Row(self.0 - 1))))
    }
}

#[test]
fn an_input_that_cannot_be_divided_into_parts_ends_the_run() {
    for threads in THREADS {
        let sources: Vec<Box<dyn Source>> = vec![Box::new(Breaks(0)), Box::new(Endless(0))];
        let schema = schema("CREATE TABLE t (a); CREATE TABLE u (a)");
        let error =
            write_tables(None, &schema, sources, &options(threads, 4096), &Context::default()).unwrap_err();
        assert_eq!(error.without_hint(), "cannot cut");
    }
}
