//! Damaged databases through copy, merge, export and load. Each verb ends with an error, or its result has as many rows as SQLite reads; a
//! copy has the same rows. Written databases are sound. Results of export and load are not compared if SQLite itself reports damage,
//! because the rows that it reads are then no oracle.

use std::path::Path;
use std::sync::LazyLock;

use fastrand::Rng;
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};
use sqluice::check::Check;
use sqluice::copy::Copy;
use sqluice::error::Setting;
use sqluice::export::{Export, Mixed, formats};
use sqluice::load::Load;
use sqluice::merge::Merge;
use sqluice::progress::{Cancel, Context};
use sqluice_testkit::effort::tries;
use sqluice_testkit::sqlite::integrity;

/// A WITH clause for INSERT: the table `k` has 300 different numbers from `{from}` on, below `{from}` + 1009, in shuffled order.
const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300),
    k(i) AS (SELECT {from} + i * 7919 % 1009 FROM n)";

/// Databases to damage, with one table each.
const SCHEMAS: [&str; 6] = [
    "PRAGMA page_size = 512;
     CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, b INTEGER, c REAL, d);
     CREATE INDEX ta ON t (a); CREATE INDEX tb ON t (b DESC, c); CREATE UNIQUE INDEX td ON t (d);
     {N} INSERT INTO t SELECT i, char(65 + i % 50) || i % 7, i % 40, i / 4.0, CASE WHEN i % 9 THEN 'key ' || i END FROM k;",
    "PRAGMA page_size = 1024;
     CREATE TABLE t (a TEXT COLLATE NOCASE, b, v, PRIMARY KEY (a, b DESC)) WITHOUT ROWID; CREATE INDEX tv ON t (v DESC);
     {N} INSERT INTO t SELECT 'K' || i % 20, i, i % 30 || 'v' FROM k;",
    "PRAGMA page_size = 512;
     CREATE TABLE t (a TEXT, b TEXT); CREATE INDEX ta ON t (a); CREATE INDEX tb ON t (b, a);
     {N} INSERT INTO t SELECT replace(hex(zeroblob(i % 11 * 30)), '00', 'xy') || i, replace(hex(zeroblob(i % 5 * 90)), '0', 'z') FROM k LIMIT 120;",
    "PRAGMA page_size = 512;
     CREATE TABLE t (a, b INTEGER);
     {N} INSERT INTO t SELECT 'text ' || i, i % 30 FROM k; DELETE FROM t WHERE b = 11; UPDATE t SET a = a || a || a WHERE b = 12;",
    "PRAGMA page_size = 4096;
     CREATE TABLE t (id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER, active INTEGER);
     CREATE INDEX t1 ON t (area); CREATE INDEX t2 ON t (age, area);
     {N} INSERT INTO t SELECT i, printf('%06d', i * 37 % 1000), i % 90, i % 2 FROM k;",
    "PRAGMA page_size = 512; PRAGMA auto_vacuum = 1;
     CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE); INSERT INTO t VALUES (-5, 'older');
     ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'since then'; CREATE INDEX tc ON t (c, a);
     {N} INSERT INTO t SELECT i, 'text ' || i, 'c' || i % 17 FROM k;",
];

/// For each of [`SCHEMAS`], a sound database to damage, and one with other keys to merge it with.
static SOUND: LazyLock<Vec<[Vec<u8>; 2]>> = LazyLock::new(|| {
    let make = |schema: &&str| {
        [0, 5_000].map(|from| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sound.db");
            let connection = Connection::open(&path).unwrap();
            let sql = schema.replace("{N}", &ROWS.replace("{from}", &from.to_string()));
            let sql = if from > 0 { sql.replace("(-5, 'older')", "(-6, 'oldest')") } else { sql };
            connection.execute_batch(&sql).unwrap();
            assert_eq!(integrity(&connection), "ok");
            drop(connection);
            std::fs::read(path).unwrap()
        })
    };
    SCHEMAS.iter().map(make).collect()
});

/// Returns the rows that SQLite reads of the table, by its rowid or primary key: text as bytes. SQLite reads some pages only if it does not
/// check the sizes of their cells.
fn rows(path: &Path) -> rusqlite::Result<Vec<Vec<Value>>> {
    rows_by(path, "ON").or_else(|_| rows_by(path, "OFF"))
}

fn rows_by(path: &Path, cell_size_check: &str) -> rusqlite::Result<Vec<Vec<Value>>> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.execute_batch(&format!("PRAGMA cell_size_check = {cell_size_check}"))?;
    let mut statement = match connection.prepare("SELECT rowid, * FROM t NOT INDEXED") {
        Ok(statement) => statement,
        // Sorted by the primary key: without that, SQLite might read an index that has all columns.
        Err(_) => connection.prepare("SELECT * FROM t NOT INDEXED ORDER BY a, b DESC")?,
    };
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let value = |column| {
            row.get_ref(column).map(|value| match value {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Integer(number),
                ValueRef::Real(number) => Value::Real(number),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
            })
        };
        all.push((0..columns).map(value).collect::<rusqlite::Result<_>>()?);
    }
    Ok(all)
}

/// Damages a page in one of several ways.
fn damage(bytes: &mut [u8], rng: &mut Rng) {
    let page_bytes = match u16::from_be_bytes([bytes[16], bytes[17]]) {
        1 => 65536,
        bytes => usize::from(bytes),
    };
    let pages = bytes.len() / page_bytes;
    // Page 1 stays intact: the header of the database and the schema.
    let page = rng.usize(1..pages) * page_bytes;
    match rng.u8(0..8) {
        0 => bytes[page + rng.usize(..page_bytes)] ^= 1 << rng.u8(..8),
        1 => bytes[page + rng.usize(..page_bytes)] = rng.u8(..),
        // A byte of the page header or of the cell pointers changes.
        2 | 3 => bytes[page + rng.usize(..40)] = rng.u8(..),
        4 => {
            let cells = u16::from_be_bytes([bytes[page + 3], bytes[page + 4]]);
            let fewer = cells.saturating_sub(rng.u16(1..3));
            bytes[page + 3..page + 5].copy_from_slice(&fewer.to_be_bytes());
        }
        5 => {
            let from = rng.usize(1..pages) * page_bytes;
            bytes.copy_within(from..from + page_bytes, page);
        }
        6 => {
            let at = page + rng.usize(..page_bytes - 20);
            bytes[at..at + rng.usize(1..20)].fill(0);
        }
        // A page number changes: that of the next overflow page, or of the last child.
        _ => {
            let number = rng.u32(1..=pages as u32).to_be_bytes();
            let at = if rng.bool() { page } else { page + 8 };
            bytes[at..at + 4].copy_from_slice(&number);
        }
    }
}

fn assert_sound(path: &Path, what: &str) {
    assert_eq!(integrity(&Connection::open(path).unwrap()), "ok", "{what}");
    let checked = Check::new(path).run().unwrap();
    assert!(checked.is_sound(), "{what}: {:?}", checked.report.problems);
}

#[test]
fn a_damaged_database_is_refused_or_the_result_has_all_rows_that_sqlite_reads() {
    let seed: u64 = std::env::var("SQLUICE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let (mut rng, rounds) = (Rng::with_seed(seed), tries(150, 1_000, 5_000));
    let (mut done, mut refused) = (0, 0);
    for round in 0..rounds {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (damaged, other) = (path("damaged.db"), path("other.db"));
        let [first, second] = &SOUND[round % SOUND.len()];
        let mut bytes = first.clone();
        (0..rng.usize(1..3)).for_each(|_| damage(&mut bytes, &mut rng));
        std::fs::write(&damaged, &bytes).unwrap();
        std::fs::write(&other, second).unwrap();
        let what = format!("round {round}, seed {seed}, schema {}", round % SOUND.len());
        let read = rows(&damaged);
        let is_read = rows_by(&damaged, "ON").is_ok();
        let is_done = |verb: &str, result: Result<(), sqluice::error::Error>| match (result, &read) {
            // If SQLite finds a page damaged, the rows that it reads are no oracle, and the result is not compared.
            (Ok(()), _) if matches!(verb, "export" | "load") && !is_read => false,
            (Ok(()), Ok(_)) => true,
            (Ok(()), Err(error)) => panic!("{what}: {verb} reads what SQLite does not: {error}"),
            (Err(error), _) => {
                assert!(!error.message().contains("internal"), "{what}: {error}");
                false
            }
        };
        let expected = || read.as_ref().unwrap();

        let copied = Copy::new(&damaged, path("copy.db")).run();
        let is_copied = is_done("copy", copied.map(drop));
        if is_copied {
            assert_sound(&path("copy.db"), &what);
            assert_eq!(&rows(&path("copy.db")).unwrap(), expected(), "{what}: copy");
        } else {
            assert!(!path("copy.db").exists());
        }

        let merged = Merge::new(path("merged.db"), [&damaged, &other]).run();
        if is_done("merge", merged.map(drop)) {
            assert_sound(&path("merged.db"), &what);
            let count = rows(&path("merged.db")).unwrap().len();
            assert_eq!(count, expected().len() + rows(&other).unwrap().len(), "{what}: merge");
        }

        let export = Export::new(&damaged, path("t.ndjson")).format(&formats::NDJSON).mixed(Mixed::Null);
        if is_done("export", export.run().map(drop)) {
            let text = std::fs::read(path("t.ndjson")).unwrap();
            let lines = text.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(lines, expected().len(), "{what}: export");
        }

        let load = Load::new(path("loaded.db"), [&damaged]).prepare(&Context::default());
        let loaded = load.and_then(|load| load.run(&Context::default()).map(drop));
        if is_done("load", loaded) {
            assert_sound(&path("loaded.db"), &what);
            assert_eq!(rows(&path("loaded.db")).unwrap().len(), expected().len(), "{what}: load");
        }
        if is_copied { done += 1 } else { refused += 1 }
    }
    // Some damage does no harm, most of it does.
    assert!(done > 0 && refused > done, "{done} were copied, {refused} refused");
}

/// Makes a database with a table `t` of 500 rows and an index `ti`. Then calls `change` with the connection.
fn changed(path: &Path, change: impl FnOnce(&Connection)) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, b); CREATE INDEX ti ON t (a); CREATE TABLE u (x);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
             INSERT INTO t SELECT i, 'text ' || i, i FROM n; INSERT INTO u VALUES (1);",
        )
        .unwrap();
    change(&connection);
}

/// Makes the index lack three rows: the schema leaves the index out while they are inserted.
fn lose_entries(connection: &Connection) {
    connection
        .execute_batch(
            "CREATE TABLE spare AS SELECT * FROM sqlite_schema WHERE name = 'ti';
             PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'ti'; PRAGMA writable_schema = RESET;
             INSERT INTO t VALUES (1001, 'new', 1), (1002, 'newer', 2), (1003, 'newest', 3);
             PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM spare; DELETE FROM spare;
             PRAGMA writable_schema = RESET;",
        )
        .unwrap();
}

#[test]
fn the_error_about_an_index_that_lacks_rows_names_the_settings_that_save_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    changed(&path("a.db"), lose_entries);
    changed(&path("b.db"), |connection| {
        connection.execute_batch("UPDATE t SET id = id + 5000; CREATE TABLE spare (a, b, c, d, e)").unwrap();
    });
    let cancel = Cancel::new();
    let copy = Copy::new(path("a.db"), path("copy.db"));
    let error = copy.run_with(&Context::default().cancel(&cancel)).unwrap_err();
    assert!(error.message().contains("index ti has 500 entries for the 503 rows of table t"), "{error}");
    let settings: Vec<Setting> = error.remedy().unwrap().settings().collect();
    assert_eq!(settings, [Setting::NoIndexes, Setting::NoVerify]);
    assert!(!path("copy.db").exists());
    // The settings that the hint names save the rows.
    copy.clone().no_indexes(true).run_with(&Context::default().cancel(&cancel)).unwrap();
    assert_eq!(rows(&path("copy.db")).unwrap().len(), 503);
    Copy::new(path("a.db"), path("as_it_is.db"))
        .no_verify(true)
        .run_with(&Context::default().cancel(&cancel))
        .unwrap();
    assert_ne!(integrity(&Connection::open(path("as_it_is.db")).unwrap()), "ok");

    let merge = Merge::new(path("merged.db"), [path("a.db"), path("b.db")]).exclude_tables(["spare"]);
    let error = merge.run_with(&Context::default().cancel(&cancel)).unwrap_err();
    assert!(error.message().contains("a.db is damaged: index ti has 500 entries"), "{error}");
    let settings: Vec<Setting> = error.remedy().unwrap().settings().collect();
    assert_eq!(settings, [Setting::ExcludeTable, Setting::NoVerify]);
    merge.clone().exclude_tables(["spare", "t"]).run_with(&Context::default().cancel(&cancel)).unwrap();
    std::fs::remove_file(path("merged.db")).unwrap();
    Connection::open(path("a.db")).unwrap().execute_batch("REINDEX").unwrap();
    merge.run_with(&Context::default().cancel(&cancel)).unwrap();
    assert_sound(&path("merged.db"), "after REINDEX");
}

/// Replaces the bytes `from` in a file, which has them once.
fn patch(path: &Path, from: &[u8], to: &[u8]) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn the_error_about_a_damaged_record_names_the_row_and_the_setting_that_leaves_the_table_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    changed(&path("a.db"), |connection| {
        connection.execute_batch("UPDATE t SET a = 'a needle in here' WHERE id = 77; DROP INDEX ti").unwrap();
    });
    // The serial type of the text says two bytes less.
    patch(&path("a.db"), b"\x04\x00\x2d\x01a needle", b"\x04\x00\x29\x01a needle");
    let cancel = Cancel::new();
    let error =
        Copy::new(path("a.db"), path("copy.db")).run_with(&Context::default().cancel(&cancel)).unwrap_err();
    assert!(error.message().contains("table t, page"), "{error}");
    assert!(error.message().contains("row 77: it is not a record"), "{error}");
    assert_eq!(error.remedy().unwrap().settings().collect::<Vec<_>>(), [Setting::ExcludeTable]);
    Copy::new(path("a.db"), path("copy.db"))
        .exclude_tables(["t"])
        .run_with(&Context::default().cancel(&cancel))
        .unwrap();

    // An export to a folder without the damaged table writes the other one.
    let export = Export::new(path("a.db"), path("folder")).format(&formats::CSV);
    let error = export.run_with(&Context::default().cancel(&cancel)).unwrap_err();
    assert!(error.message().starts_with("1 of 2 tables could not be exported"), "{error}");
    assert!(error.message().contains("rowid 77"), "{error}");
    let names: Vec<_> =
        std::fs::read_dir(path("folder")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["u.csv"]);
}

#[test]
fn an_overflow_chain_that_runs_in_a_circle_or_into_another_chain_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let connection = Connection::open(path("a.db")).unwrap();
    connection
        .execute_batch("PRAGMA page_size = 512; CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(5000)), (zeroblob(5000))")
        .unwrap();
    drop(connection);
    let sound = std::fs::read(path("a.db")).unwrap();
    // Pages 3 to 11 are the chain of the first row, and the pages from 12 on are that of the second row. In the first case, a page leads
    // back to an earlier page of its chain. In the second case, a page leads into the other chain. In the third case, the last page leads
    // on.
    for (page, next) in [(7, 5), (7, 16), (11, 12)] {
        let mut bytes = sound.clone();
        bytes[(page - 1) * 512..][..4].copy_from_slice(&u32::to_be_bytes(next));
        std::fs::write(path("a.db"), bytes).unwrap();
        let errors = (0..2).map(|_| {
            let copied = Copy::new(path("a.db"), path("copy.db")).run();
            copied.map(drop).unwrap_err().message()
        });
        let errors: Vec<String> = errors.collect();
        assert!(errors[0].contains("table t, page"), "{errors:?}");
        assert_eq!(errors[0], errors[1]);
    }
}

#[test]
fn an_export_to_a_folder_renames_tables_whose_names_no_file_can_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let connection = Connection::open(path("mail.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE \"[Gmail]/Inbox\" (a); CREATE TABLE \"[Gmail]_Inbox\" (b); CREATE TABLE \".hidden\" (c);
             CREATE TABLE \"a/b\" (d); CREATE TABLE \"a\\b\" (e);",
        )
        .unwrap();
    let export = Export::new(path("mail.db"), path("folder")).format(&formats::NDJSON);
    let report = export.run().unwrap();
    let files: Vec<(String, String)> = report
        .files
        .iter()
        .map(|file| {
            let name = file.path.as_ref().unwrap().file_name().unwrap().to_string_lossy().into_owned();
            (file.table.clone().unwrap(), name)
        })
        .collect();
    let expected = [
        ("[Gmail]/Inbox", "[Gmail]_Inbox-2.ndjson"),
        ("[Gmail]_Inbox", "[Gmail]_Inbox.ndjson"),
        (".hidden", "_.hidden.ndjson"),
        ("a/b", "a_b.ndjson"),
        ("a\\b", "a_b-2.ndjson"),
    ];
    assert_eq!(files, expected.map(|(table, file)| (table.to_owned(), file.to_owned())));
}
