//! Tests of `recover` with sound files that look damaged, and with files that are made to cost much time or memory.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sqluice::recover::{Recover, RecoverReport};
use sqluice::schema::Schema;
use sqluice_format::page::{Geometry, PageSize};
use sqluice_format::salvage::{Salvage, Types};

use super::support::{SCHEMAS, assert_sound, make, recovered, rows};

/// Makes a database from statements in a new folder, and calls `test` with its path.
fn with(statements: &str, test: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    Connection::open(&path).unwrap().execute_batch(statements).unwrap();
    test(&path);
}

/// Recovers a database, and leaves rows that only their shape joins to a table out of it.
fn strictly(path: &Path, schema: Option<Schema>) -> (std::path::PathBuf, RecoverReport) {
    let target = path.with_extension("strict");
    let report = Recover::new(path, &target).schema(schema).strict(true).run().unwrap();
    assert_sound(&target);
    (target, report)
}

fn root(path: &Path, name: &str) -> usize {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    Connection::open(path).unwrap().query_row(sql, [name], |row| row.get::<_, u32>(0)).unwrap() as usize
}

#[test]
fn tables_that_were_made_from_others_show_no_damage() {
    let rows_of = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000)";
    for more in [
        "",
        "INSERT INTO a SELECT i + 20000, 'later' FROM (SELECT rowid AS i FROM b)",
        "DELETE FROM a WHERE rowid > 9000",
        "DELETE FROM a WHERE rowid % 500 = 0; DELETE FROM b WHERE rowid % 500 = 0",
        "CREATE TABLE c AS SELECT * FROM a WHERE rowid <= 4000",
        "CREATE TABLE d (k INTEGER PRIMARY KEY, v TEXT) WITHOUT ROWID; CREATE TABLE e (k INTEGER PRIMARY KEY, v TEXT) WITHOUT ROWID;
         INSERT INTO d SELECT * FROM a; INSERT INTO e SELECT * FROM a",
    ] {
        let statements = format!(
            "CREATE TABLE a (i INT, v TEXT); {rows_of} INSERT INTO a SELECT i, 'value ' || i FROM n;
             CREATE TABLE b AS SELECT * FROM a; {more}"
        );
        with(&statements, |path| {
            let (target, report) = recovered(path);
            assert!(!report.saved.damaged, "{more}: {:?}", report.saved);
            assert!(rows(&target) == rows(path), "{more}");
            let (target, report) = strictly(path, None);
            assert!(!report.saved.damaged, "{more}: {:?}", report.saved);
            assert!(rows(&target) == rows(path), "{more}");
        });
    }
}

#[test]
fn rows_of_without_rowid_tables_are_found_without_a_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    make(&path, SCHEMAS[1], 1024, "UTF-8");
    let all = rows(&path)["words"].clone();
    let mut bytes = fs::read(&path).unwrap();
    bytes[..1024].fill(0);
    fs::write(&path, bytes).unwrap();
    let declared = SCHEMAS[1].split("CREATE INDEX").next().unwrap();
    let declared = Schema::parse(declared, "schema.sql".as_ref()).unwrap();
    for (target, report) in [recovered(&path), strictly(&path, Some(declared))] {
        assert!(report.saved.damaged);
        let found = rows(&target);
        let found: Vec<&String> = found.values().flatten().collect();
        for row in &all {
            // The key is the start of the row: the word and its place.
            let key = &row[..=row.rfind('|').unwrap()];
            assert!(found.iter().any(|found| found.contains(key)), "{row}: {:?}", report.saved);
        }
    }
}

#[test]
fn the_tables_of_a_full_text_table_that_cannot_be_made_again_stay() {
    let statements = "PRAGMA page_size = 1024; CREATE VIRTUAL TABLE c USING fts5(x, content = '');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)
          INSERT INTO c (rowid, x) SELECT i, 'word' || i || ' other' || i * 7 FROM n";
    with(statements, |path| {
        let mut bytes = fs::read(path).unwrap();
        let at = (root(path, "c_data") - 1) * 1024;
        bytes[at..at + 1024].fill(0);
        fs::write(path, bytes).unwrap();
        let (target, report) = recovered(path);
        assert!(report.saved.damaged);
        let connection = Connection::open(&target).unwrap();
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM sqlite_schema WHERE name = 'c'"), 0, "{:?}", report.saved);
        assert!(count("SELECT count(*) FROM c_data") > 0, "{:?}", report.saved);
        assert_eq!(count("SELECT count(*) FROM c_docsize"), 3000, "{:?}", report.saved);
    });
}

#[test]
fn a_view_of_the_damaged_schema_makes_no_table() {
    let statements = "CREATE TABLE t (a); CREATE VIEW v AS SELECT a FROM t; CREATE TEMP VIEW w AS SELECT 1;
        PRAGMA writable_schema = ON;
        INSERT INTO sqlite_schema VALUES ('view', 'z', 'z', 0, 'CREATE TABLE z AS WITH n(i) AS (SELECT 1) SELECT i FROM n')";
    with(statements, |path| {
        let (target, report) = recovered(path);
        assert!(report.saved.damaged);
        let names = "SELECT group_concat(name) FROM sqlite_schema";
        let connection = Connection::open(target).unwrap();
        let names: String = connection.query_row(names, [], |row| row.get(0)).unwrap();
        assert_eq!(names, "t,v");
    });
}

#[test]
fn many_rows_that_name_the_same_overflow_pages_do_not_multiply_them() {
    let statements = "PRAGMA page_size = 4096; CREATE TABLE t (a BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 6) INSERT INTO t SELECT zeroblob(98693) FROM n";
    with(statements, |path| {
        let mut bytes = fs::read(path).unwrap();
        let root = root(path, "t");
        let page = &mut bytes[(root - 1) * 4096..root * 4096];
        let geometry = Geometry::new(PageSize::new(4096).unwrap(), 0).unwrap();
        let mut salvage = Salvage::default();
        salvage.read(page, root as u32, geometry, &mut Types::new()).unwrap();
        let first = salvage.entries[0].cell.overflow.unwrap();
        for entry in &salvage.entries {
            page[entry.cell.local.end..entry.cell.local.end + 4].copy_from_slice(&first.to_be_bytes());
        }
        assert!(salvage.entries.len() > 3);
        fs::write(path, bytes).unwrap();
        let (target, report) = recovered(path);
        assert!(report.saved.damaged);
        assert_eq!(rows(&target)["t"].len(), 1, "{:?}", report.saved);
    });
}

/// Returns the checksum of a log whose words are little-endian, after more bytes.
fn checksum((mut a, mut b): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    for pair in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
        let [one, other] = pair.map(u32::from_le_bytes);
        a = a.wrapping_add(one).wrapping_add(b);
        b = b.wrapping_add(other).wrapping_add(a);
    }
    (a, b)
}

#[test]
fn a_page_of_the_log_far_beyond_the_end_takes_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("x.db"), folder.path().join("copy.db"));
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE t (a INTEGER PRIMARY KEY, b); PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (1, 'one')",
        )
        .unwrap();
    let mut log = fs::read(path.with_extension("db-wal")).unwrap();
    let last = log[log.len() - 1048..].to_vec();
    let word = |at: usize| u32::from_be_bytes([last[at], last[at + 1], last[at + 2], last[at + 3]]);
    let mut frame = last.clone();
    frame[..4].copy_from_slice(&4_000_000_000u32.to_be_bytes());
    frame[4..8].copy_from_slice(&4_000_000_000u32.to_be_bytes());
    let sum = checksum(checksum((word(16), word(20)), &frame[..8]), &frame[24..]);
    frame[16..20].copy_from_slice(&sum.0.to_be_bytes());
    frame[20..24].copy_from_slice(&sum.1.to_be_bytes());
    log.extend(frame);
    fs::copy(&path, &copy).unwrap();
    fs::write(copy.with_extension("db-wal"), log).unwrap();
    let (target, report) = recovered(&copy);
    assert!(report.saved.remarks.iter().any(|remark| remark.contains("far beyond")), "{:?}", report.saved);
    assert_eq!(rows(&target)["t"], ["1|1|\"one\""]);
}

#[test]
fn rows_of_the_widest_table_are_put_aside() {
    let columns: Vec<String> = (1..1999).map(|at| format!("c{at} INT")).collect();
    let table = format!("CREATE TABLE t (id INTEGER PRIMARY KEY, {})", columns.join(", "));
    let statements = format!(
        "{table}; INSERT INTO t (id) VALUES (1); INSERT INTO t (id, c1) VALUES (2, -1); PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = '{}'",
        table.replace("c1 INT,", "c1 INT CHECK (c1 > 0),")
    );
    with(&statements, |path| {
        let (target, report) = recovered(path);
        let count = |sql: &str| -> i64 {
            Connection::open(&target).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(count("SELECT count(*) FROM t"), 1, "{:?}", report.saved.tables);
        let rejected = "SELECT count(*) FROM rejected_t WHERE id = 2 AND c1 = -1 AND reason LIKE '%1997%'";
        assert_eq!(count(rejected), 1, "{:?}", report.saved.tables);
    });
}

#[test]
fn rows_whose_lost_overflow_pages_had_generated_columns_only_are_saved() {
    let statements = "PRAGMA page_size = 1024;
        CREATE TABLE t (a TEXT, b TEXT AS (a || 'x') STORED);
        INSERT INTO t SELECT 'short'; INSERT INTO t SELECT 'abc' || hex(zeroblob(1500))";
    with(statements, |path| {
        let all = rows(path);
        let root = root(path, "t");
        let bytes = fs::read(path).unwrap();
        let geometry = Geometry::new(PageSize::new(1024).unwrap(), 0).unwrap();
        let mut salvage = Salvage::default();
        let page = &bytes[(root - 1) * 1024..root * 1024];
        salvage.read(page, root as u32, geometry, &mut Types::new()).unwrap();
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let mut chain = vec![salvage.entries[1].cell.overflow.unwrap()];
        while let next @ 1.. = word((*chain.last().unwrap() as usize - 1) * 1024) {
            chain.push(next);
        }
        assert_eq!(chain.len(), 5);
        // The third page has the end of the column, and any page after it may be lost.
        for lost in 3..5 {
            let mut damaged = bytes.clone();
            damaged[(chain[lost] as usize - 1) * 1024..][..1024].fill(0xfe);
            fs::write(path, damaged).unwrap();
            let (target, report) = recovered(path);
            assert!(report.saved.damaged && report.saved.tables[0].rows == 2, "{lost}: {:?}", report.saved);
            assert!(rows(&target) == all, "{lost}");
        }
        for lost in 0..3 {
            let mut damaged = bytes.clone();
            damaged[(chain[lost] as usize - 1) * 1024..][..1024].fill(0xfe);
            fs::write(path, damaged).unwrap();
            let (target, report) = recovered(path);
            assert_eq!(report.saved.tables[0].lost_rows, 1, "{lost}: {:?}", report.saved);
            assert_eq!(rows(&target)["t"].len(), 1, "{lost}");
        }
    });
}

#[test]
fn on_conflict_clauses_of_the_schema_lose_no_row() {
    for clause in ["REPLACE", "IGNORE", "FAIL", "ROLLBACK"] {
        let declared = format!(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b INT NOT NULL ON CONFLICT {clause} UNIQUE ON CONFLICT {clause})"
        );
        let statements = format!(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b INT); INSERT INTO t VALUES (1, 10), (2, 20), (3, 10), (4, NULL);
             PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = '{declared}' WHERE name = 't'"
        );
        with(&statements, |path| {
            let (target, report) = recovered(path);
            let found = rows(&target);
            assert_eq!(found["t"], ["1|1|10", "2|2|20"], "{clause}: {:?}", report.saved);
            assert_eq!(found["rejected_t"].len(), 2, "{clause}: {:?}", report.saved);
            assert_eq!((report.saved.tables[0].rows, report.saved.tables[0].rejected), (2, 2), "{clause}");
        });
    }
}

#[test]
fn values_that_their_columns_would_convert_are_converted() {
    let declared = "CREATE TABLE t (a INTEGER PRIMARY KEY, b NUMERIC, c REAL, d TEXT)";
    let statements = format!(
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b, c, d); INSERT INTO t VALUES (1, 5, 1.5, 'x'), (2, '12', 3, 'y'), (3, ' 1e2 ', 2, 7), (4, 'z', 1e400, NULL);
         PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = '{declared}' WHERE name = 't'"
    );
    with(&statements, |path| {
        let (target, report) = recovered(path);
        let found = rows(&target);
        let wanted = ["1|1|5|1.5|\"x\"", "2|2|12|3.0|\"y\"", "3|3|100|2.0|\"7\"", "4|4|\"z\"|inf|NULL"];
        assert_eq!(found["t"], wanted, "{:?}", report.saved);
    });
}

#[test]
fn a_float_that_is_no_number_becomes_null_and_is_refused_where_null_is() {
    let statements = "CREATE TABLE t (a REAL); CREATE TABLE u (a REAL NOT NULL); INSERT INTO t VALUES (1.25), (1.75), (2.25); INSERT INTO u SELECT * FROM t";
    with(statements, |path| {
        let mut bytes = fs::read(path).unwrap();
        let (old, new) = (1.75f64.to_be_bytes(), f64::NAN.to_be_bytes());
        let places: Vec<usize> = (0..bytes.len() - 8).filter(|at| bytes[*at..at + 8] == old).collect();
        assert_eq!(places.len(), 2);
        places.into_iter().for_each(|at| bytes[at..at + 8].copy_from_slice(&new));
        fs::write(path, bytes).unwrap();
        let (target, report) = recovered(path);
        let found = rows(&target);
        assert_eq!(found["t"], ["1|1.25", "2|NULL", "3|2.25"], "{:?}", report.saved);
        assert_eq!(found["u"], ["1|1.25", "3|2.25"], "{:?}", report.saved);
        assert_eq!(found["rejected_u"].len(), 1);
    });
}

#[test]
fn a_plan_has_the_rows_that_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    make(&path, SCHEMAS[2], 1024, "UTF-8");
    let recover = Recover::new(&path, folder.path().join("new.db"));
    let prepared = recover.prepare(&Default::default()).unwrap();
    let planned = prepared.plan().rows;
    let names = |tables: &[sqluice::recover::SavedTable]| -> Vec<String> {
        tables.iter().map(|table| table.name.clone()).collect()
    };
    let tables = names(&prepared.plan().tables);
    let report = prepared.run(&Default::default()).unwrap();
    assert_eq!((planned, tables), (report.saved.rows, names(&report.saved.tables)));
}
