//! Tests of full-text tables whose index this crate makes, merges and extends. A second table with the same changes, the twin, is written
//! only by SQLite. The two tables give equal answers after any changes, and an index that this crate optimizes has the bytes of SQLite's
//! `optimize`.

use std::path::Path;

use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value;
use sqluice_core::progress::{Cancel, Silent};
use sqluice_testkit::cases;

use crate::full_text::declaration::Declaration;
use crate::full_text::table::{Means, TextTable};

/// The options of a table.
#[derive(Clone, Debug)]
struct Options {
    detail: &'static str,
    prefix: &'static str,
    tokenize: &'static str,
    content: &'static str,
    columnsize: bool,
    page_bytes: usize,
    automerge: u32,
}

fn options() -> impl Strategy<Value = Options> {
    (
        prop::sample::select(vec!["full", "full", "column", "none"]),
        prop::sample::select(vec!["", "1 3"]),
        prop::sample::select(vec!["unicode61", "porter ascii", "trigram"]),
        prop::sample::select(vec![
            "",
            ", content='texts', content_rowid=id",
            ", content='', contentless_delete=1",
            ", content=''",
        ]),
        any::<bool>(),
        prop_oneof![32_usize..80, 80usize..4100],
        prop::sample::select(vec![0_u32, 2, 4]),
    )
        .prop_map(|(detail, prefix, tokenize, content, columnsize, page_bytes, automerge)| Options {
            detail,
            prefix,
            tokenize,
            content,
            columnsize: columnsize || !content.starts_with(", content='texts'"),
            page_bytes,
            automerge,
        })
}

/// Opens a database whose content need not survive a crash.
fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    let set = "PRAGMA synchronous = off; PRAGMA journal_mode = memory; PRAGMA temp_store = memory";
    connection.execute_batch(set).unwrap();
    connection
}

fn create(path: &Path, options: &Options) {
    let Options { detail, prefix, tokenize, content, columnsize, page_bytes, automerge } = options;
    let connection = open(path);
    connection
        .execute_batch(&format!(
            "CREATE TABLE texts (id INTEGER PRIMARY KEY, a, b);
             CREATE VIRTUAL TABLE t USING fts5(a, b, detail={detail}, prefix='{prefix}', tokenize='{tokenize}',
                 columnsize={}{content});
             INSERT INTO t(t, rank) VALUES ('pgsz', {page_bytes}), ('automerge', {automerge})",
            u8::from(*columnsize)
        ))
        .unwrap();
}

/// A row: its rowid, and its texts.
type Row = (i64, Value, Value);

/// A change of the table.
#[derive(Clone, Debug)]
enum Change {
    /// SQLite inserts rows, in a transaction.
    Insert(Vec<Row>),
    /// SQLite deletes rows.
    Delete(Vec<Row>),
    /// This crate appends rows. SQLite inserts them into the twin.
    Append(Vec<Row>),
    /// SQLite merges some pages.
    Merge(i32),
    /// SQLite optimizes the table, in both databases.
    SqliteOptimize,
    /// This crate optimizes the table, and SQLite the twin.
    Optimize,
    /// This crate makes the index again, and SQLite that of the twin.
    Rebuild,
}

/// Returns random changes, in which rowids are used again.
fn changes(random: &mut fastrand::Rng, options: &Options) -> Vec<Change> {
    let mut live: Vec<Row> = Vec::new();
    let value = |random: &mut fastrand::Rng| match random.u8(..12) {
        0 => Value::Null,
        1 => Value::Integer(random.i64(-3..3)),
        2 => Value::Real(random.f64()),
        3 => Value::Blob(b"every blob".to_vec()),
        _ => {
            let words = [6, 6, 6, 80][random.usize(..4)];
            let words = (0..random.usize(..words)).map(|_| match random.u8(..16) {
                0 => "lóng".repeat(random.usize(1..30)),
                1..6 => "every".to_owned(),
                _ => format!("w{}", random.u8(..40)),
            });
            Value::Text(words.collect::<Vec<String>>().join(" "))
        }
    };
    let count = random.usize(2..14);
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(match random.u8(..14) {
            kind @ 0..8 => {
                let mut rows: Vec<Row> = Vec::new();
                for _ in 0..random.usize(0..30) {
                    let rowid = if random.u8(..10) == 0 { random.i64(..) } else { random.i64(-30..90) };
                    if live.iter().chain(&rows).all(|row| row.0 != rowid) {
                        rows.push((rowid, value(random), value(random)));
                    }
                }
                rows.sort_by_key(|row| row.0);
                live.extend(rows.iter().cloned());
                if kind < 3 { Change::Insert(rows) } else { Change::Append(rows) }
            }
            8 | 9 if !live.is_empty() => {
                let count = random.usize(1..=live.len().min(12));
                let rows = (0..count).map(|_| live.swap_remove(random.usize(..live.len())));
                Change::Delete(rows.collect())
            }
            10 => Change::Merge(random.i32(-9..9)),
            11 => Change::SqliteOptimize,
            12 if !options.content.contains("content=''") => Change::Rebuild,
            _ => Change::Optimize,
        });
    }
    all
}

fn make(connection: &Connection, workers: usize, memory_bytes: usize, what: &Change, is_own: bool) {
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    let means = Means {
        workers,
        memory_bytes,
        temp_dir: folder.path().to_owned(),
        cancel: &cancel,
        progress: &Silent,
    };
    let declaration = Declaration::of(connection, "t").unwrap().unwrap();
    let table = TextTable::new(connection, &declaration, means);
    match what {
        Change::Append(rows) => {
            connection.execute_batch("CREATE TEMP TABLE new (id INTEGER PRIMARY KEY, a, b)").unwrap();
            insert(connection, "temp.new (id, a, b)", rows);
            insert(connection, "texts (id, a, b)", rows);
            if is_own {
                insert(connection, "t_content (id, c0, c1)", rows);
            }
            let sql = "SELECT id, a, b FROM temp.new WHERE id BETWEEN ?1 AND ?2 ORDER BY id";
            let written = table.append(sql, (i64::MIN, i64::MAX)).unwrap().unwrap();
            assert_eq!(written.rows, rows.len() as u64);
            connection.execute_batch("DROP TABLE temp.new").unwrap();
        }
        Change::Optimize => drop(table.optimize().unwrap()),
        Change::Rebuild => assert!(table.rebuild().unwrap().is_some()),
        _ => unreachable!("SQLite makes this change"),
    }
}

fn insert(connection: &Connection, table: &str, rows: &[Row]) {
    let mut insert = connection.prepare(&format!("INSERT INTO {table} VALUES (?1, ?2, ?3)")).unwrap();
    for row in rows {
        insert.execute(row.clone()).unwrap();
    }
}

/// Has SQLite make a change.
fn by_sqlite(connection: &Connection, change: &Change, options: &Options) {
    let run = |sql: &str| connection.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    match change {
        Change::Insert(rows) | Change::Append(rows) => {
            insert(connection, "t (rowid, a, b)", rows);
            insert(connection, "texts (id, a, b)", rows);
        }
        Change::Delete(rows) => {
            let is_by_values = options.content.contains("texts") || options.content == ", content=''";
            for (rowid, a, b) in rows {
                if is_by_values {
                    let sql = "INSERT INTO t(t, rowid, a, b) VALUES ('delete', ?1, ?2, ?3)";
                    connection.execute(sql, (rowid, a, b)).unwrap();
                } else {
                    connection.execute("DELETE FROM t WHERE rowid = ?1", [rowid]).unwrap();
                }
                connection.execute("DELETE FROM texts WHERE id = ?1", [rowid]).unwrap();
            }
        }
        Change::Merge(pages) => {
            connection.execute("INSERT INTO t(t, rank) VALUES ('merge', ?1)", [pages]).unwrap();
        }
        Change::SqliteOptimize | Change::Optimize => run("INSERT INTO t(t) VALUES ('optimize')"),
        Change::Rebuild => run("INSERT INTO t(t) VALUES ('rebuild')"),
    }
}

/// Returns the answers of a table to many queries, after SQLite's integrity check.
fn answers(path: &Path, options: &Options) -> Vec<(String, Vec<Vec<Value>>)> {
    let connection = open(path);
    connection
        .execute_batch(
            "INSERT INTO t(t, rank) VALUES ('integrity-check', 1);
             CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, t, instance);
             CREATE VIRTUAL TABLE temp.rows USING fts5vocab(main, t, row)",
        )
        .unwrap();
    let mut queries = vec!["SELECT * FROM temp.instances".to_owned(), "SELECT * FROM temp.rows".to_owned()];
    if options.columnsize {
        queries.push("SELECT id, sz FROM t_docsize ORDER BY id".to_owned());
    }
    queries.push("SELECT block FROM t_data WHERE id = 1 AND rtrim(hex(block), '0') <> ''".to_owned());
    for matched in [
        "every",
        "w1 OR w2 NOT w3",
        "\"every w1\"",
        "NEAR(every w2, 3)",
        "ev*",
        "lón*",
        "b : every",
        "^every",
    ] {
        for sql in [
            "SELECT rowid FROM t WHERE t MATCH '{}' ORDER BY rowid",
            "SELECT rowid FROM t WHERE t MATCH '{}' ORDER BY rowid DESC",
            "SELECT rowid, rank FROM t WHERE t MATCH '{}' ORDER BY rank, rowid",
        ] {
            queries.push(sql.replace("{}", matched));
        }
    }
    let ask = |sql: &String| {
        let mut query = connection.prepare(sql).unwrap();
        let columns = query.column_count();
        let rows = query.query_map([], |row| (0..columns).map(|column| row.get(column)).collect());
        rows.unwrap().collect::<rusqlite::Result<Vec<Vec<Value>>>>().unwrap_or_default()
    };
    queries.iter().map(|sql| (sql.clone(), ask(sql))).collect()
}

/// Returns the rows of the only segment, without its number.
fn segment(path: &Path) -> Vec<(i64, Vec<u8>, i64)> {
    let connection = open(path);
    let sql = "SELECT id % (1 << 37), block, 0 FROM t_data WHERE id > 10 UNION ALL SELECT -1, term, pgno FROM t_idx";
    let mut query = connection.prepare(sql).unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

proptest! {
    #![proptest_config(cases(50))]
    #[test]
    fn a_table_gives_the_answers_of_its_twin_after_any_history(
        options in options(),
        seed: u64,
        workers in 1..4_usize,
        memory in prop::sample::select(vec![64_usize << 10, 8 << 20]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (ours, twin) = (folder.path().join("ours.db"), folder.path().join("twin.db"));
        create(&ours, &options);
        create(&twin, &options);
        let changes = changes(&mut fastrand::Rng::with_seed(seed), &options);
        for (number, change) in changes.iter().enumerate() {
            let of_twin = open(&twin);
            of_twin.execute_batch("BEGIN").unwrap();
            by_sqlite(&of_twin, change, &options);
            of_twin.execute_batch("COMMIT").unwrap();
            let of_ours = open(&ours);
            of_ours.execute_batch("BEGIN").unwrap();
            match change {
                Change::Append(_) | Change::Optimize | Change::Rebuild => {
                    make(&of_ours, workers, memory, change, options.content.is_empty());
                }
                _ => by_sqlite(&of_ours, change, &options),
            }
            of_ours.execute_batch("COMMIT").unwrap();
            drop((of_twin, of_ours));
            let (found, expected) = (answers(&ours, &options), answers(&twin, &options));
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!(found == expected, "after change {number}: {}\n{:?}\n{:?}", found.0, found.1, expected.1);
            }
        }
    }

    #[test]
    fn optimized_segments_have_the_bytes_of_sqlite(
        options in options(),
        seed: u64,
        workers in 1..4_usize,
        memory in prop::sample::select(vec![16_usize << 10, 64 << 10, 1 << 20]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (ours, twin) = (folder.path().join("ours.db"), folder.path().join("twin.db"));
        let options = Options { automerge: 0, ..options };
        create(&twin, &options);
        let random = &mut fastrand::Rng::with_seed(seed);
        let connection = open(&twin);
        for change in changes(random, &options) {
            if matches!(change, Change::Insert(_) | Change::Append(_) | Change::Delete(_)) {
                connection.execute_batch("BEGIN").unwrap();
                by_sqlite(&connection, &change, &options);
                connection.execute_batch("COMMIT").unwrap();
            }
        }
        drop(connection);
        std::fs::copy(&twin, &ours).unwrap();
        by_sqlite(&open(&twin), &Change::SqliteOptimize, &options);
        make(&open(&ours), workers, memory, &Change::Optimize, false);
        prop_assert_eq!(segment(&ours), segment(&twin));
    }
}
