//! Loads into databases that other connections use, that a killed process left, or that take no pages: the result is right, or the load is
//! refused with the reason.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::support::existing::{Old, add, assert_whole, content, one, schema};
use crate::support::files::{Home, integrity};
use crate::support::keys::{Row, source};
use crate::support::rows::Owned;
use rusqlite::{Connection, ffi};
use sqluice::error::{Error, ErrorKind, Result};
use sqluice::existing::write_into;
use sqluice::options::WriteOptions;
use sqluice::progress::{Cancel, Context};
use sqluice::source::{Part, Source};
use sqluice_testkit::sqlite::sqlite3;

const TABLE: &str = "CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE INDEX t_b ON t (b);";

fn rows(count: usize) -> Vec<Row> {
    (0..count)
        .map(|row| vec![Owned::Int(row as i64), Owned::Text(format!("{row:0100}").into_bytes())])
        .collect()
}

/// A source that calls a function before each part.
struct Between<F> {
    source: Box<dyn Source>,
    part: usize,
    before: F,
}

impl<F: FnMut(usize) -> Result<()> + Send> Source for Between<F> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        (self.before)(self.part)?;
        self.part += 1;
        self.source.next_part()
    }
}

fn between<'a>(
    count: usize,
    before: impl FnMut(usize) -> Result<()> + Send + 'a,
) -> Vec<Box<dyn Source + 'a>> {
    vec![Box::new(Between { source: source(&rows(count), 100), part: 0, before })]
}

/// Returns options with small chunks, so that pages are written early.
fn options() -> WriteOptions {
    WriteOptions::new().threads(2).tune(|tuning| tuning.chunk_bytes = 16384)
}

fn assert_unchanged(path: &Path, mode: &str, before: &[String]) {
    assert_whole(path, mode);
    assert_eq!(content(&Connection::open(path).unwrap()), before);
}

#[test]
fn a_reader_keeps_its_snapshot_in_wal_mode_and_sees_all_new_rows_afterwards() {
    let home = Home::new();
    let path = home.path("x.db");
    Old { wal: true, ..Old::default() }.create(&path);
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let before = content(&reader);
    let looping = Mutex::new(Connection::open(&path).unwrap());
    let watch = |_| {
        assert_eq!(content(&looping.lock().unwrap()), before);
        Ok(())
    };
    add(&path, &schema(TABLE), between(5000, watch), &options()).unwrap();
    assert_eq!(content(&reader), before);
    assert_eq!(integrity(&reader), "ok");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(one::<i64>(&reader, "SELECT count(*) FROM t"), 5000);
    assert_eq!(integrity(&reader), "ok");
    drop((reader, looping));
    assert_whole(&path, "wal");
}

#[test]
fn a_load_is_refused_if_an_old_reader_keeps_the_log_from_being_checkpointed() {
    let home = Home::new();
    let path = home.path("x.db");
    Old { wal: true, ..Old::default() }.create(&path);
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema").unwrap();
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("CREATE TABLE later (x); INSERT INTO later VALUES (zeroblob(9999))").unwrap();
    let before = content(&writer);
    let error = add(&path, &schema(TABLE), between(10, |_| Ok(())), &options()).unwrap_err();
    assert!(error.message().contains("the WAL can't be copied"), "{error}");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(content(&writer), before);
    add(&path, &schema(TABLE), between(10, |_| Ok(())), &options()).unwrap();
    drop((reader, writer));
    assert_whole(&path, "wal");
}

#[test]
fn in_rollback_mode_a_load_waits_for_a_reader_only_at_the_commit() {
    let home = Home::new();
    let path = home.path("x.db");
    Old::default().create(&path);
    let reader = Connection::open(&path).unwrap();
    let before = content(&reader);
    let busy_timeout = Duration::from_millis(300);
    reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema").unwrap();
    let mut watched = 0;
    let started = Instant::now();
    let sources = between(5000, |_| {
        watched += 1;
        Ok(())
    });
    let context = Context::default();
    let error = write_into(&path, &schema(TABLE), sources, &options(), busy_timeout, &context).unwrap_err();
    assert!(started.elapsed() >= busy_timeout);
    assert_eq!(error.kind(), ErrorKind::Target);
    assert!(error.message().contains("is in use"), "{error}");
    assert!(watched > 10);
    assert_eq!(content(&reader), before);
    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    assert_unchanged(&path, "delete", &before);

    // This reader ends within the busy timeout, so the load waits for it and succeeds.
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema").unwrap();
    let waiting = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        reader.execute_batch("COMMIT").unwrap();
    });
    let long = Duration::from_secs(60);
    write_into(&path, &schema(TABLE), between(50, |_| Ok(())), &options(), long, &context).unwrap();
    waiting.join().unwrap();
    assert_whole(&path, "delete");
}

#[test]
fn a_load_waits_for_another_writer_until_the_busy_timeout_ends() {
    for wal in [false, true] {
        let home = Home::new();
        let path = home.path("x.db");
        let old = Old { wal, ..Old::default() };
        old.create(&path);
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE; DELETE FROM \"old 1\" WHERE a < 100").unwrap();
        let error =
            add(&path, &schema(TABLE), between(10, |_| panic!("nothing is read")), &options()).unwrap_err();
        assert!(error.message().contains("is in use"), "{error}");
        assert!(error.hint_text().unwrap().contains("`busy_timeout = SECONDS`"));
        let waiting = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            writer.execute_batch("COMMIT").unwrap();
        });
        let (long, context) = (Duration::from_secs(60), Context::default());
        write_into(&path, &schema(TABLE), between(50, |_| Ok(())), &options(), long, &context).unwrap();
        waiting.join().unwrap();
        assert_whole(&path, old.mode());
        let database = Connection::open(&path).unwrap();
        assert_eq!(one::<i64>(&database, "SELECT count(*) FROM \"old 1\" WHERE a < 100"), 0);
    }
}

#[test]
fn no_other_process_writes_while_pages_are_written() {
    for wal in [false, true] {
        let home = Home::new();
        let path = home.path("x.db");
        let old = Old { wal, ..Old::default() };
        old.create(&path);
        let other = Mutex::new(Connection::open(&path).unwrap());
        let write = |_| {
            let other = other.lock().unwrap();
            other.busy_timeout(Duration::ZERO).unwrap();
            let error = other.execute_batch("CREATE TABLE foreign_ (x)").unwrap_err();
            assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy));
            // While the load writes, the checkpoints copy nothing and truncate nothing. So their results are ignored.
            other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).ok();
            other.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).ok();
            drop(Connection::open(&path).unwrap());
            // Another process tries to write, because locks of the system do not apply within one process.
            if let Some(said) = sqlite3(&path, "CREATE TABLE other_process (x)") {
                assert!(said.contains("database is locked"), "{said}");
            }
            Ok(())
        };
        add(&path, &schema(TABLE), between(1000, write), &options()).unwrap();
        let other = other.into_inner().unwrap();
        other.execute_batch("CREATE TABLE foreign_ (x); INSERT INTO foreign_ SELECT b FROM t").unwrap();
        drop(other);
        assert_whole(&path, old.mode());
    }
}

#[test]
fn a_run_that_fails_or_is_cancelled_leaves_the_old_database() {
    for wal in [false, true] {
        for fault in 0..3 {
            let home = Home::new();
            let path = home.path("x.db");
            let old = Old { wal, ..Old::default() };
            old.create(&path);
            let before = content(&Connection::open(&path).unwrap());
            let cancel = Cancel::new();
            let fail = |part| match (part, fault) {
                (20, 0) => Err(Error::input("no more")),
                (20, 1) => {
                    cancel.cancel();
                    Ok(())
                }
                _ => Ok(()),
            };
            // The last row repeats a key of the unique index. If no other fault comes first, the run fails there, after all rows have been
            // written.
            let unique = "CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE UNIQUE INDEX t_b ON t (b);";
            let mut rows = rows(5000);
            rows[4999][1] = rows[7][1].clone();
            let sources: Vec<Box<dyn Source>> =
                vec![Box::new(Between { source: source(&rows, 100), part: 0, before: fail })];
            let written = write_into(
                &path,
                &schema(unique),
                sources,
                &options(),
                Duration::ZERO,
                &Context::default().cancel(&cancel),
            );
            let error = written.unwrap_err();
            let interrupted = error.kind() == ErrorKind::Interrupted;
            assert_eq!(interrupted, fault == 1, "{error}");
            assert_unchanged(&path, old.mode(), &before);
        }
    }
}

#[test]
fn a_connection_that_read_during_a_failed_run_writes_no_malformed_pages() {
    for wal in [false, true] {
        let home = Home::new();
        let path = home.path("x.db");
        let old = Old { wal, ..Old::default() };
        old.create(&path);
        // In WAL mode the log is empty, so SQLite takes the size of the database from the file, to which the run adds pages.
        let other = Mutex::new(Connection::open(&path).unwrap());
        let fail = |part| {
            let other = other.lock().unwrap();
            if part == 20 {
                other.execute_batch("BEGIN; SELECT count(*) FROM \"old 1\"").unwrap();
                return Err(Error::input("no more"));
            }
            Ok(())
        };
        add(&path, &schema(TABLE), between(5000, fail), &options()).unwrap_err();
        let other = other.into_inner().unwrap();
        let insert = "INSERT INTO \"old 1\" (b) VALUES (zeroblob(9999)); COMMIT";
        let inserted = other.execute_batch(insert);
        if wal {
            // SQLite gives this error to each write in a snapshot that is not the newest, so the connection begins a new transaction.
            let error = inserted.unwrap_err();
            assert_eq!(error.sqlite_error().unwrap().extended_code, ffi::SQLITE_BUSY_SNAPSHOT);
            other.execute_batch(&format!("ROLLBACK; BEGIN; {insert}")).unwrap();
        }
        assert_eq!(integrity(&other), "ok");
        let copied = "PRAGMA wal_checkpoint(TRUNCATE)";
        other.query_row(copied, [], |_| Ok(())).unwrap();
        drop(other);
        // In rollback mode SQLite may leave a tail, which the next run truncates.
        add(&path, &schema(TABLE), between(10, |_| Ok(())), &options()).unwrap();
        assert_whole(&path, old.mode());
    }
}

#[test]
fn a_connection_that_read_before_surplus_pages_were_truncated_writes_no_malformed_pages() {
    let home = Home::new();
    let path = home.path("x.db");
    Old { wal: true, ..Old::default() }.create(&path);
    let bytes = std::fs::metadata(&path).unwrap().len();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(bytes + 4096 * 900).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN; SELECT count(*) FROM \"old 1\"").unwrap();
    add(&path, &schema(TABLE), between(100, |_| Err(Error::input("no more"))), &options()).unwrap_err();
    let error = other.execute_batch("INSERT INTO \"old 1\" (b) VALUES (1)").unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy));
    other.execute_batch("COMMIT; INSERT INTO \"old 1\" (b) VALUES (1)").unwrap();
    drop(other);
    assert_whole(&path, "wal");
}

/// Copies `x.db` and its journals into a folder. On Unix another process copies them, because this process would lose its locks
/// when it closes the files.
fn copy_elsewhere(home: &Home, folder: usize) {
    let to = home.path(&folder.to_string());
    std::fs::create_dir_all(&to).unwrap();
    for name in ["x.db", "x.db-journal", "x.db-wal"] {
        let (from, to) = (home.path(name), to.join(name));
        if !from.exists() {
            continue;
        }
        if cfg!(unix) {
            assert!(std::process::Command::new("cp").args([from, to]).status().unwrap().success());
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}

#[test]
fn a_crash_during_a_load_leaves_the_old_database_and_the_next_run_removes_the_leftovers() {
    for wal in [false, true] {
        let home = Home::new();
        let path = home.path("x.db");
        let old = Old { wal, ..Old::default() };
        old.create(&path);
        let before = content(&Connection::open(&path).unwrap());
        let crash = |part: usize| {
            if part.is_multiple_of(9) {
                copy_elsewhere(&home, part);
            }
            Ok(())
        };
        add(&path, &schema(TABLE), between(5000, crash), &options()).unwrap();
        assert_whole(&path, old.mode());
        let mut tails = 0;
        for part in (0..30).step_by(9) {
            let copy = home.path(&format!("{part}/x.db"));
            let database = Connection::open(&copy).unwrap();
            assert_eq!(content(&database), before);
            assert_eq!(integrity(&database), "ok");
            tails += usize::from(std::fs::metadata(&copy).unwrap().len() > 160 * 4096);
            database.close().unwrap();
            add(&copy, &schema(TABLE), between(200, |_| Ok(())), &options()).unwrap();
            assert_whole(&copy, old.mode());
        }
        assert!(tails > 1, "{tails}");
    }
}

#[test]
fn the_next_run_removes_bytes_that_a_killed_run_left_behind_the_last_page() {
    for wal in [false, true] {
        let home = Home::new();
        let path = home.path("x.db");
        let old = Old { wal, ..Old::default() };
        old.create(&path);
        let before = content(&Connection::open(&path).unwrap());
        for (tail, works) in [(4096 * 100, true), (777, false)] {
            let bytes = std::fs::metadata(&path).unwrap().len();
            std::fs::File::options().write(true).open(&path).unwrap().set_len(bytes + tail).unwrap();
            let fail = |_| if works { Ok(()) } else { Err(Error::input("no more")) };
            let name = if works { TABLE } else { "CREATE TABLE u (a, b)" };
            let written = add(&path, &schema(name), between(1000, fail), &options());
            assert_eq!(written.is_ok(), works);
            assert_whole(&path, old.mode());
        }
        let database = Connection::open(&path).unwrap();
        database.execute_batch("DROP TABLE t").unwrap();
        assert_eq!(content(&database), before);
    }
}

/// Returns the error of a load that needs pages, and asserts that the database is unchanged.
fn refusal(path: &Path) -> String {
    let before = std::fs::read(path).unwrap();
    let error = add(path, &schema(TABLE), between(10, |_| Ok(())), &options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Target);
    assert!(std::fs::read(path).unwrap() == before);
    error.message().to_owned()
}

#[test]
fn databases_with_auto_vacuum_or_utf_16_text_cannot_be_written_by_pages() {
    let make = |sql: &str| {
        let home = Home::new();
        let path = home.path("x.db");
        let database = Connection::open(&path).unwrap();
        database
            .execute_batch(&format!("{sql}; CREATE TABLE old (x); INSERT INTO old VALUES ('x')"))
            .unwrap();
        database.close().unwrap();
        let why = refusal(&path);
        why.split_once("x.db: ").unwrap_or_else(|| panic!("{why}")).1.to_owned()
    };
    assert_eq!(
        make("PRAGMA auto_vacuum = FULL"),
        "it is an auto_vacuum database, whose pointer map only SQLite keeps"
    );
    assert!(make("PRAGMA auto_vacuum = INCREMENTAL").contains("auto_vacuum"));
    assert_eq!(make("PRAGMA encoding = 'UTF-16le'"), "its text is UTF-16le");
    assert_eq!(make("PRAGMA encoding = 'UTF-16be'"), "its text is UTF-16be");
}

#[test]
fn databases_with_reserved_bytes_in_their_pages_cannot_be_written_by_pages() {
    let home = Home::new();
    let path = home.path("x.db");
    let database = Connection::open(&path).unwrap();
    let mut bytes: i32 = 32;
    // SAFETY: the connection is open, and the number outlives the call.
    let done = unsafe {
        ffi::sqlite3_file_control(
            database.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_RESERVE_BYTES,
            (&raw mut bytes).cast(),
        )
    };
    assert_eq!(done, ffi::SQLITE_OK);
    database.execute_batch("CREATE TABLE old (x)").unwrap();
    database.close().unwrap();
    assert!(refusal(&path).contains("each page ends with 32 bytes of an extension"));
}

#[test]
fn databases_of_old_sqlite_versions_cannot_be_written_by_pages() {
    let home = Home::new();
    let path = home.path("x.db");
    let patched = |at: usize, word: u32| {
        Old::default().create(&path);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let why = refusal(&path);
        std::fs::remove_file(&path).unwrap();
        why
    };
    assert!(patched(92, 7).contains("does not store the page count"));
    assert!(patched(44, 1).contains("its schema format is 1"));
}

#[test]
fn a_file_that_is_not_a_database_is_reported() {
    let home = Home::new();
    let told = |path: &Path| {
        add(path, &schema(TABLE), between(10, |_| Ok(())), &options()).unwrap_err().message().to_owned()
    };
    let path = home.path("x.db");
    assert!(told(&path).starts_with("cannot open "));
    assert!(!path.exists());
    std::fs::write(
        &path,
        "this is no database, and it is not short either, but as long as a header is. ".repeat(9),
    )
    .unwrap();
    assert!(told(&path).ends_with("is not a SQLite database"), "{}", told(&path));
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(told(&path).ends_with("is a folder, not a database file"));
}

#[test]
#[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
fn a_load_into_a_symbolic_link_changes_the_linked_file_and_keeps_the_link() {
    let home = Home::new();
    let (path, link) = (home.path("x.db"), home.path("link.db"));
    Old { wal: true, ..Old::default() }.create(&path);
    sqluice_testkit::system::symlink("x.db", &link);
    add(&link, &schema(TABLE), between(1000, |_| Ok(())), &options()).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_whole(&path, "wal");
    let mut names = home.names();
    names.sort();
    assert_eq!(names, ["link.db", "x.db"]);
}

#[test]
fn a_file_of_zero_bytes_is_used_as_an_empty_database() {
    let home = Home::new();
    let path = home.path("x.db");
    std::fs::write(&path, "").unwrap();
    let broken = between(10, |_| Err(Error::input("no more")));
    add(&path, &schema(TABLE), broken, &options()).unwrap_err();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    add(&path, &schema(TABLE), between(1000, |_| Ok(())), &options()).unwrap();
    assert_whole(&path, "delete");
    assert_eq!(one::<i64>(&Connection::open(&path).unwrap(), "SELECT count(*) FROM t"), 1000);
}

#[test]
fn a_hot_journal_is_rolled_back_before_a_load() {
    let home = Home::new();
    let (path, crashed) = (home.path("x.db"), home.path("crashed.db"));
    Old { rows: 3000, ..Old::default() }.create(&path);
    let before = content(&Connection::open(&path).unwrap());
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA cache_size = 5; BEGIN; UPDATE \"old 1\" SET b = 'changed'").unwrap();
    std::fs::copy(&path, &crashed).unwrap();
    std::fs::copy(home.path("x.db-journal"), home.path("crashed.db-journal")).unwrap();
    drop(writer);
    assert!(std::fs::read(&path).unwrap() != std::fs::read(&crashed).unwrap());
    add(&crashed, &schema(TABLE), between(1000, |_| Ok(())), &options()).unwrap();
    assert_whole(&crashed, "delete");
    let database = Connection::open(&crashed).unwrap();
    assert_eq!(one::<i64>(&database, "SELECT count(*) FROM t"), 1000);
    database.execute_batch("DROP TABLE t").unwrap();
    assert_eq!(content(&database), before);
}

#[test]
#[cfg_attr(windows, ignore = "SQLite on Windows removes no journal that another connection keeps open")]
fn a_load_works_beside_a_connection_in_journal_mode_truncate_or_persist() {
    for mode in ["truncate", "persist"] {
        let home = Home::new();
        let path = home.path("x.db");
        Old::default().create(&path);
        let keeper = Connection::open(&path).unwrap();
        let set: String = one(&keeper, &format!("PRAGMA journal_mode = {mode}"));
        assert_eq!(set, mode);
        keeper.execute_batch("CREATE TABLE later (x)").unwrap();
        add(&path, &schema(TABLE), between(1000, |_| Ok(())), &options()).unwrap();
        keeper.execute_batch("INSERT INTO later SELECT b FROM t").unwrap();
        assert_eq!(one::<i64>(&keeper, "SELECT count(*) FROM later"), 1000);
        assert_eq!(integrity(&keeper), "ok");
    }
}
