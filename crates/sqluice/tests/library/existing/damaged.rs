//! Loads and new indexes in databases with damaged pages: the run is refused and leaves the file unchanged, or all rows that were readable
//! before are readable afterwards.

#![cfg(feature = "load")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::cases;
use crate::support::files::{Home, integrity};
use crate::support::lived_in::but_for_counters;
use crate::support::load::{plain, run};
use proptest::prelude::*;
use proptest::sample::Index as Place;
use rusqlite::Connection;
use sqluice::error::Error;
use sqluice::index::Index;
use sqluice::load::Load;
use sqluice::options::{IfExists, WriteOptions};

/// SQL of tables to which rows are appended, into whose trees rows are inserted, and whose indexes are rebuilt.
const TABLES: [&str; 4] = [
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)",
    "CREATE TABLE t (a INT PRIMARY KEY, b TEXT) WITHOUT ROWID",
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b); CREATE UNIQUE INDEX j ON t (a DESC, b)",
    "CREATE TABLE t (a TEXT COLLATE NOCASE PRIMARY KEY, b TEXT) WITHOUT ROWID; CREATE INDEX i ON t (b)",
];

/// A database and what is done to its bytes.
#[derive(Clone, Debug)]
struct Damaged {
    table: &'static str,
    mode: &'static str,
    page_bytes: usize,
    faults: Vec<(Place, Place, u8)>,
    /// `true` if the faults are in page headers and cell pointers; `false` if they may be anywhere on a page.
    in_headers: bool,
}

fn damaged() -> impl Strategy<Value = Damaged> {
    let faults = prop::collection::vec((any::<Place>(), any::<Place>(), any::<u8>()), 1..4);
    let of = (prop::sample::select(&TABLES[..]), prop::sample::select(vec!["delete", "wal"]));
    (of, prop::sample::select(vec![512, 1024, 4096]), faults, any::<bool>()).prop_map(
        |((table, mode), page_bytes, faults, in_headers)| Damaged {
            table,
            mode,
            page_bytes,
            faults,
            in_headers,
        },
    )
}

impl Damaged {
    /// Makes a sound database with free pages, and then plants the faults in its file.
    fn make(&self, path: &Path) {
        let Damaged { table, mode, page_bytes, .. } = self;
        let connection = Connection::open(path).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA page_size = {page_bytes}; PRAGMA journal_mode = {mode}; PRAGMA synchronous = OFF;
                 CREATE TABLE gone (x); {table};
                 WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300)
                 INSERT INTO t SELECT i, iif(i % 50 = 7, printf('%0*d', 900, i), 'text ' || i * 7919 % 1009) FROM n;
                 INSERT INTO gone SELECT b FROM t; DELETE FROM gone"
            ))
            .unwrap();
        assert_eq!(integrity(&connection), "ok");
        connection.close().unwrap();
        let mut bytes = fs::read(path).unwrap();
        let pages = bytes.len() / page_bytes;
        for (page, at, byte) in &self.faults {
            // Page 1 stays intact: SQLite itself reads it first and reports its damage.
            let page = 1 + page.index(pages - 1);
            let at = at.index(if self.in_headers { 40 } else { *page_bytes });
            bytes[page * page_bytes + at] = *byte;
        }
        fs::write(path, bytes).unwrap();
    }
}

/// Returns the number of rows and the bytes of `a` and `b` for each way to read the table, `None` if SQLite fails.
fn readable(path: &Path) -> Vec<Option<(i64, i64)>> {
    let connection = Connection::open(path).unwrap();
    let ways = ["t", "t NOT INDEXED", "t INDEXED BY i", "t INDEXED BY j"];
    let read = |way| {
        let sql =
            format!("SELECT count(*), sum(length(CAST(a AS BLOB)) + length(CAST(b AS BLOB))) FROM {way}");
        let row = connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?)));
        row.ok().map(|(rows, bytes)| (rows, bytes.unwrap_or(0)))
    };
    ways.map(read).to_vec()
}

fn append(home: &Home, rows: &str) -> Result<(), Error> {
    fs::write(home.path("t.csv"), rows).unwrap();
    let write =
        WriteOptions::new().if_exists(IfExists::Append).threads(2).tune(|tuning| tuning.many_rows = 100);
    run(Load::new(home.path("x.db"), [home.path("t.csv")])
        .format(plain().header(true))
        .write(write)
        .table("t"))
    .map(drop)
}

fn index(path: &Path) -> Result<(), Error> {
    let index = Index::new(path, ["CREATE INDEX k ON t (b DESC)"]).busy_timeout(Duration::ZERO);
    index.run().map(drop)
}

/// Asserts that a refused run has changed no byte, and that after a successful run all rows that were readable still are.
fn assert_harmless(
    case: &Damaged,
    done: impl Fn(&Home) -> Result<(), Error>,
    rows: i64,
) -> Result<(), TestCaseError> {
    let home = Home::new();
    let path = home.path("x.db");
    case.make(&path);
    let (bytes, length) = (but_for_counters(&path), fs::metadata(&path).unwrap().len());
    let copy = home.path("copy.db");
    fs::copy(&path, &copy).unwrap();
    let before = readable(&copy);
    let sound = integrity(&Connection::open(&copy).unwrap()) == "ok";
    let outcome = done(&home);
    for beside in ["-journal", "-wal"] {
        let beside = fs::metadata(home.path(&format!("x.db{beside}")));
        prop_assert!(beside.map_or(0, |beside| beside.len()) == 0);
    }
    if let Err(error) = outcome {
        prop_assert_eq!(fs::metadata(&path).unwrap().len(), length, "{}", error);
        prop_assert!(but_for_counters(&path) == bytes, "{}", error);
        return Ok(());
    }
    let after = readable(&path);
    for (before, after) in before.iter().zip(&after) {
        let Some((had, bytes)) = *before else { continue };
        let Some((has, all)) = *after else {
            return Err(TestCaseError::fail(format!("{had} rows could be read, and now none: {after:?}")));
        };
        prop_assert_eq!(has, had + rows);
        prop_assert!(all >= bytes);
    }
    prop_assert!(!sound || integrity(&Connection::open(&path).unwrap()) == "ok");
    Ok(())
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn rows_appended_to_a_damaged_table_are_refused_or_lose_nothing(
        case in damaged(),
        many in any::<bool>(),
        after in any::<bool>(),
    ) {
        let count = if many { 400 } else { 7 };
        // In WITHOUT ROWID tables, keys between existing ones go to leaves all over the tree.
        let key = |i: i64| match after || !case.table.contains("WITHOUT ROWID") {
            true => (1000 + i).to_string(),
            false if case.table.contains("NOCASE") => format!("{}x{i}", i * 37 % 300),
            false => (-i).to_string(),
        };
        let rows: String = (1..=count).map(|i| format!("{},new {}\n", key(i), i * 7919 % 1009)).collect();
        assert_harmless(&case, |home| append(home, &format!("a,b\n{rows}")), count)?;
    }

    #[test]
    fn an_index_on_a_damaged_table_is_refused_or_loses_nothing(case in damaged()) {
        assert_harmless(&case, |home| index(&home.path("x.db")), 0)?;
    }
}

#[test]
fn pages_beyond_the_page_count_of_a_damaged_header_are_not_truncated() {
    for mode in ["delete", "wal"] {
        let home = Home::new();
        let path = home.path("x.db");
        let case = Damaged { table: TABLES[0], mode, page_bytes: 512, faults: Vec::new(), in_headers: false };
        case.make(&path);
        let mut bytes = fs::read(&path).unwrap();
        let pages = u32::from_be_bytes(bytes[28..32].try_into().unwrap());
        bytes[28..32].copy_from_slice(&(pages - 9).to_be_bytes());
        fs::write(&path, &bytes).unwrap();
        append(&home, "a,b\n1000,new\n").unwrap_err();
        index(&path).unwrap_err();
        assert!(fs::read(&path).unwrap() == bytes, "{mode}");
    }
}

#[test]
fn a_table_without_rowids_that_is_damaged_is_refused_before_it_is_changed() {
    let home = Home::new();
    let path = home.path("x.db");
    let case =
        Damaged { table: TABLES[1], mode: "delete", page_bytes: 512, faults: Vec::new(), in_headers: false };
    case.make(&path);
    let mut bytes = fs::read(&path).unwrap();
    // A cell pointer of the last leaf leads into another cell.
    let root: u32 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 't'", [], |row| row.get(0))
        .unwrap();
    let at = (root as usize - 1) * 512;
    let last = u32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    bytes[(last - 1) * 512 + 9] ^= 4;
    fs::write(&path, &bytes).unwrap();
    let error = append(&home, "a,b\n1000,new\n").unwrap_err();
    assert!(error.message().contains(&format!("is damaged: t: page {last}")), "{error:?}");
    assert!(fs::read(&path).unwrap() == bytes);
}
