//! Tests of `recover`, each with one kind of damage.

use std::fs;

use rusqlite::Connection;
use sqluice::error::ErrorKind;
use sqluice::options::WriteOptions;
use sqluice::progress::{Cancel, Context};
use sqluice::recover::Recover;
use sqluice::schema::Schema;

use super::support::{SCHEMAS, make, recovered, rows};

/// Makes each database, and calls `test` with its path, for several page sizes and encodings.
fn each(mut test: impl FnMut(&std::path::Path, &str)) {
    for (number, schema) in SCHEMAS.iter().enumerate() {
        for (page_bytes, encoding) in
            [(512, "UTF-8"), (4096, "UTF-8"), (1024, "UTF-16le"), (2048, "UTF-16be")]
        {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.db");
            make(&path, schema, page_bytes, encoding);
            test(&path, &format!("schema {number}, pages of {page_bytes} bytes, {encoding}"));
        }
    }
}

#[test]
fn a_sound_database_becomes_the_same_rows_and_shows_no_damage() {
    each(|path, which| {
        let (target, report) = recovered(path);
        assert!(!report.saved.damaged, "{which}: {:?}", report.saved);
        assert!(rows(&target) == rows(path), "{which}");
        let (old, new) = (Connection::open(path).unwrap(), Connection::open(&target).unwrap());
        let objects = "SELECT group_concat(type || name || coalesce(sql, ''), ';') FROM (SELECT * FROM sqlite_schema ORDER BY type, name)";
        let text = |connection: &Connection, sql: &str| {
            connection.query_row(sql, [], |row| row.get::<_, Option<String>>(0)).unwrap()
        };
        assert_eq!(text(&new, objects), text(&old, objects), "{which}");
        for pragma in ["user_version", "page_size", "encoding"] {
            let value = |connection: &Connection| {
                connection
                    .query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, rusqlite::types::Value>(0))
                    .unwrap()
            };
            assert_eq!(value(&new), value(&old), "{which}: {pragma}");
        }
        if text(&old, objects).unwrap().contains("sqlite_sequence") {
            let sequence = "SELECT group_concat(name || seq) FROM sqlite_sequence";
            assert_eq!(text(&new, sequence), text(&old, sequence), "{which}");
        }
    });
}

#[test]
fn without_page_1_all_rows_of_other_pages_are_in_their_tables_if_the_schema_is_given() {
    for (page_bytes, encoding) in [(512, "UTF-8"), (4096, "UTF-8"), (1024, "UTF-16le")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        make(&path, SCHEMAS[0], page_bytes, encoding);
        let all = rows(&path);
        let mut bytes = fs::read(&path).unwrap();
        bytes[..page_bytes as usize].fill(0);
        fs::write(&path, bytes).unwrap();
        let target = path.with_extension("new");
        let schema = SCHEMAS[0].split("WITH RECURSIVE").next().unwrap();
        let declared = Schema::parse(schema, "schema.sql".as_ref()).unwrap();
        let report = Recover::new(&path, &target).schema(declared).run().unwrap();
        super::support::assert_sound(&target);
        assert!(report.saved.damaged);
        assert!(rows(&target) == all, "pages of {page_bytes} bytes: {:?}", report.saved);
        let by_shape: u64 = report.saved.tables.iter().map(|table| table.by_shape).sum();
        // Page 1 is lost. With pages of 512 bytes, the schema is also on other pages. They name the roots of the tables, so no row must be
        // assigned to a table by its shape, the number and kinds of its columns.
        assert_eq!(by_shape, if page_bytes == 512 { 0 } else { 1600 }, "pages of {page_bytes} bytes");
        let (target, report) = recovered(&path);
        let found: u64 = report.saved.lost_and_found.iter().map(|found| found.rows).sum();
        let saved: u64 = report.saved.tables.iter().map(|table| table.rows).sum();
        assert!(found + saved >= 1600, "{:?}", report.saved);
        drop(target);
    }
}

#[test]
fn deleted_rows_stay_deleted_unless_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    make(&path, SCHEMAS[3], 1024, "UTF-8");
    let (target, _) = recovered(&path);
    let secret = |bytes: &[u8]| bytes.windows(7).any(|bytes| bytes == b"secret ");
    assert!(secret(&fs::read(&path).unwrap()));
    assert!(!secret(&fs::read(&target).unwrap()));
    fs::remove_file(&target).unwrap();
    let report = Recover::new(&path, &target).deleted(true).run().unwrap();
    let found: u64 = report.saved.lost_and_found.iter().map(|found| found.rows).sum();
    assert!(found > 400, "{:?}", report.saved);
}

#[test]
fn lost_rows_of_the_schema_are_a_remark_which_names_the_schema_as_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let schema: String =
        (0..40).map(|n| format!("CREATE TABLE t{n} (a INTEGER PRIMARY KEY, b TEXT);\n")).collect();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(&format!("PRAGMA page_size = 512; {schema} INSERT INTO t0 VALUES (1, 'one')"))
        .unwrap();
    connection.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // Page 1 is an interior page. The last leaf of the schema is lost.
    let child = u32::from_be_bytes(bytes[108..112].try_into().unwrap()) as usize;
    bytes[(child - 1) * 512..child * 512].fill(0);
    fs::write(&path, bytes).unwrap();
    let remarks = |schema: Option<&str>, target: &str| {
        let schema = schema.map(|text| Schema::parse(text, "schema.sql".as_ref()).unwrap());
        let saved = Recover::new(&path, folder.path().join(target)).schema(schema).run().unwrap().saved;
        assert!(saved.damaged);
        saved.remarks.join("; ")
    };
    let without = remarks(None, "a.db");
    assert!(without.contains("rows of the schema are lost: tables"), "{without}");
    let with = remarks(Some(&schema), "b.db");
    assert!(with.contains("the given schema was used"), "{with}");
}

#[test]
fn other_files_and_taken_names_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let target = folder.path().join("new.db");
    for (content, why) in [
        (&b""[..], "it is empty"),
        (b"id,name\n1,x\n", "another kind of file"),
        (&[0x5a; 9000], "encrypted"),
        (&[0; 8192], "all of its bytes are zero"),
    ] {
        fs::write(&path, content).unwrap();
        let error = Recover::new(&path, &target).run().unwrap_err();
        assert!(error.message().contains("has no page of a SQLite database"), "{error}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains(why), "{cause}");
    }
    let error = Recover::new(&path, &path).run().unwrap_err();
    assert!(error.message().contains("in place"), "{error}");
    fs::write(&target, "x").unwrap();
    Recover::new(&path, &target).run().unwrap_err();
    assert_eq!(fs::read(&target).unwrap(), b"x");
}

#[test]
fn pages_of_the_log_are_used_as_sqlite_uses_them() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("x.db"), folder.path().join("copy.db"));
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE t (a INTEGER PRIMARY KEY, b);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) INSERT INTO t SELECT i, 'old ' || i FROM n;
             PRAGMA wal_checkpoint(TRUNCATE);
             UPDATE t SET b = 'new ' || a WHERE a < 100",
        )
        .unwrap();
    fs::copy(&path, &copy).unwrap();
    fs::copy(path.with_extension("db-wal"), copy.with_extension("db-wal")).unwrap();
    let (target, report) = recovered(&copy);
    assert!(report.saved.remarks.iter().any(|remark| remark.contains("-wal")), "{:?}", report.saved.remarks);
    assert_eq!(rows(&target), rows(&path));
    fs::remove_file(&target).unwrap();
    fs::copy(path.with_extension("db-wal"), copy.with_extension("db-wal")).unwrap();
    Recover::new(&copy, &target).ignore_wal(true).run().unwrap();
    assert!(rows(&target)["t"][0].contains("old 1"));
}

#[test]
fn an_unfinished_transaction_is_undone_from_its_journal() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("x.db"), folder.path().join("copy.db"));
    make(&path, SCHEMAS[0], 1024, "UTF-8");
    let all = rows(&path);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA cache_size = 5; BEGIN; UPDATE visits SET note = 'changed'; DELETE FROM people WHERE id % 2 = 0",
        )
        .unwrap();
    fs::copy(&path, &copy).unwrap();
    fs::copy(path.with_extension("db-journal"), copy.with_extension("db-journal")).unwrap();
    let (target, report) = recovered(&copy);
    assert!(
        report.saved.remarks.iter().any(|remark| remark.contains("-journal")),
        "{:?}",
        report.saved.remarks
    );
    assert!(rows(&target) == all);
    assert!(copy.with_extension("db-journal").exists());
}

#[test]
fn full_text_and_spatial_tables_are_saved_and_made_again_if_they_are_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size = 1024;
             CREATE VIRTUAL TABLE notes USING fts5(title, body);
             CREATE VIRTUAL TABLE places USING rtree(id, x0, x1, y0, y1, +name);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400)
               INSERT INTO notes (rowid, title, body) SELECT i, 'title ' || i, 'body of number ' || i FROM n;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400)
               INSERT INTO places SELECT i, i, i + 1, i * 2, i * 2 + 1, 'place ' || i FROM n;",
        )
        .unwrap();
    let root = |name: &str| -> usize {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        let root: u32 = connection.query_row(sql, [name], |row| row.get(0)).unwrap();
        root as usize
    };
    let count = |path: &std::path::Path, sql: &str| -> i64 {
        Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let queries = [
        "SELECT count(*) FROM notes WHERE notes MATCH 'number'",
        "SELECT count(*) FROM places WHERE x0 > 200 AND name LIKE 'place %'",
    ];
    let (target, report) = recovered(&path);
    assert!(!report.saved.damaged, "{:?}", report.saved);
    for sql in queries {
        assert_eq!(count(&target, sql), count(&path, sql));
    }
    let damaged = folder.path().join("damaged.db");
    for name in ["notes_idx", "notes_data", "places_parent"] {
        let mut bytes = fs::read(&path).unwrap();
        let at = (root(name) - 1) * 1024;
        bytes[at..at + 1024].fill(0);
        fs::write(&damaged, bytes).unwrap();
        let (target, report) = recovered(&damaged);
        assert!(report.saved.damaged);
        for sql in queries {
            assert_eq!(count(&target, sql), count(&path, sql), "{name}: {:?}", report.saved);
        }
    }
}

#[test]
fn rows_that_break_a_constraint_are_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b INT); CREATE TABLE u (a INTEGER PRIMARY KEY, b INT);
             INSERT INTO t VALUES (1, 10), (2, 20), (3, 10), (4, NULL), (5, -1);
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a INTEGER PRIMARY KEY, b INT NOT NULL CHECK (b > 0))' WHERE name = 't';",
        )
        .unwrap();
    drop(connection);
    let (target, report) = recovered(&path);
    assert_eq!(rows(&target)["t"], ["1|1|10", "2|2|20", "3|3|10"]);
    assert_eq!(rows(&target)["rejected_t"].len(), 2);
    assert!(report.saved.damaged);
}

#[test]
fn a_writer_is_waited_for_and_then_the_recovery_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    make(&path, SCHEMAS[2], 1024, "UTF-8");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE; DELETE FROM orders").unwrap();
    let target = path.with_extension("new");
    let write = WriteOptions::new().busy_timeout(std::time::Duration::from_millis(20));
    let recover = Recover::new(&path, &target).write(write);
    let error = recover.run().unwrap_err();
    assert!(error.message().contains("is being written"), "{error}");
    assert!(!target.exists());
    writer.execute_batch("ROLLBACK").unwrap();
    let prepared = recover.prepare(&Context::default()).unwrap();
    // The read lock of a prepared recovery lets no other connection commit.
    writer.busy_timeout(std::time::Duration::ZERO).unwrap();
    writer.execute_batch("DELETE FROM orders").unwrap_err();
    prepared.run(&Context::default()).unwrap();
    writer.execute_batch("DELETE FROM orders").unwrap();
    assert_eq!(rows(&target)["orders"].len(), 950);
}

#[test]
fn a_url_is_refused_as_a_source_and_as_a_target_with_a_hint_for_each() {
    let url = "s3://bucket/x.db";
    for (source, target, what, hint) in [
        (url, "new.db", "recovered", "copy the database to a local file first"),
        ("x.db", url, "made by a recovery", "recover into a local file, and copy that to the URL afterwards"),
    ] {
        let error = Recover::new(source, target).run().unwrap_err();
        assert_eq!(error.message(), format!("{url} is a URL: only a local file can be {what}"));
        assert_eq!(error.hint_text().as_deref(), Some(hint));
    }
}

#[test]
fn a_cancelled_recovery_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    make(&path, SCHEMAS[0], 1024, "UTF-16le");
    let target = path.with_extension("new");
    let prepared = Recover::new(&path, &target).prepare(&Context::default()).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    let error = prepared.run(&Context::default().cancel(&cancel)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["x.db"]);
}

/// A watcher that cancels a run when it has been told a number of times about its progress.
struct CancelsAfter {
    cancel: Cancel,
    left: std::sync::atomic::AtomicI64,
}

impl sqluice::progress::Progress for CancelsAfter {
    fn phase(&self, _: &str, _: Option<sqluice::progress::Amount>) {
        self.tell();
    }

    fn advance(&self, _: sqluice::progress::Amount) {
        self.tell();
    }
}

impl CancelsAfter {
    fn tell(&self) {
        if self.left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) <= 0 {
            self.cancel.cancel();
        }
    }
}

#[test]
fn a_recovery_that_is_cancelled_midway_leaves_no_file_or_a_whole_one() {
    for encoding in ["UTF-8", "UTF-16le"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        make(&path, SCHEMAS[0], 1024, encoding);
        let target = path.with_extension("new");
        let mut cancelled = 0;
        for tellings in 0..200 {
            let cancel = Cancel::new();
            let watcher = CancelsAfter { cancel: cancel.clone(), left: tellings.into() };
            let context = Context::default().cancel(&cancel).progress(&watcher);
            match Recover::new(&path, &target).run_with(&context) {
                Ok(_) => {
                    super::support::assert_sound(&target);
                    assert!(rows(&target) == rows(&path));
                    break;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
                    cancelled += 1;
                    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "after {tellings} tellings");
                }
            }
        }
        assert!(cancelled > 2 && target.exists(), "{encoding}: {cancelled}");
    }
}

#[test]
fn little_memory_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let statements = format!(
        "{} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000)
           INSERT INTO visits SELECT i * 7919 % 60000, 'at ' || i, 'more notes ' || i FROM n;
         CREATE INDEX by_note ON visits (note, at);",
        SCHEMAS[0]
    );
    make(&path, &statements, 1024, "UTF-8");
    let mut bytes = fs::read(&path).unwrap();
    for page in [200, 700, 1500] {
        bytes[page * 1024..][..1024].fill(0);
    }
    fs::write(&path, bytes).unwrap();
    let (target, report) = recovered(&path);
    let little = path.with_extension("little");
    let write = WriteOptions::new().memory_bytes(32 << 20);
    let with_little = Recover::new(&path, &little).write(write).run().unwrap();
    super::support::assert_sound(&little);
    assert!(rows(&little) == rows(&target));
    assert_eq!(with_little.saved.rows, report.saved.rows);
}
