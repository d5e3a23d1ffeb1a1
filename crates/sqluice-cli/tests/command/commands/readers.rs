//! Other connections that use a database while a run changes it: readers, writers, connections that checkpoint, and a second run.

#![allow(clippy::print_stdout, reason = "a test that fails shows what it saw and how to repeat it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use crate::support::existing::{Case, Content, Journal, Scenario, read};
use crate::support::strace::go_on;
use crate::support::{end, names, run, start, tell, wait_until};

fn open(folder: &Path, busy_timeout: Duration) -> Connection {
    let connection = Connection::open(folder.join("x.db")).unwrap();
    connection.busy_timeout(busy_timeout).unwrap();
    connection
}

/// Returns a description of the content that a reader sees in one snapshot.
fn look(connection: &Connection, journal: Journal) -> rusqlite::Result<String> {
    connection.execute_batch("BEGIN")?;
    let read = read(connection);
    connection.execute_batch("COMMIT")?;
    Ok(format!("journal mode {}\n{}", journal.name(), read?))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Starts the command under strace, which holds it after its first sync, that of the new pages if the command writes pages. The run then
/// has the write lock. [`go_on`] lets it continue.
fn start_and_stop(folder: &Path, args: &[&str]) -> Child {
    crate::support::strace::start_and_stop(folder, "fdatasync", &[], args)
}

/// A timeout for things that take a moment, or longer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// The number of reads that saw each state, from the start of a run to its end.
#[derive(Debug, Default)]
struct Seen {
    old: usize,
    new: usize,
    /// The number of times that a read saw the old state while new pages lay after the last page of the file.
    beside_pages: usize,
    busy: usize,
}

/// The state that a reader and the thread that watches it share.
#[derive(Default)]
struct Signs {
    /// `true` once the reader has seen the old state.
    begun: AtomicBool,
    /// `true` once the reader has seen the old state while new pages lay after the last page of the file.
    beside_pages: AtomicBool,
    /// `true` once the run has ended: the reader reads once more and stops.
    done: AtomicBool,
}

/// Reads again and again until `signs.done`. Panics if the content is neither the old nor the new one, or the old one after the new one.
/// With `anew`, each read opens a new connection.
fn read_until_done(signs: &Signs, case: &Case, folder: &Path, anew: bool) -> Seen {
    let mut seen = Seen::default();
    let mut connection = open(folder, Duration::ZERO);
    let path = folder.join("x.db");
    loop {
        let last = signs.done.load(Ordering::SeqCst);
        if anew {
            // Closing a database checkpoints it if no other connection has it open.
            connection = open(folder, Duration::ZERO);
        }
        let tail = fs::metadata(&path).unwrap().len() > case.old_bytes;
        match look(&connection, case.journal) {
            Ok(found) => match case.is(&found) {
                Content::Old => {
                    assert_eq!(seen.new, 0, "{}: the old after the new", case.name());
                    seen.old += 1;
                    seen.beside_pages += usize::from(tail);
                    signs.begun.store(true, Ordering::SeqCst);
                    signs.beside_pages.fetch_or(tail, Ordering::SeqCst);
                }
                Content::New => seen.new += 1,
                Content::Neither(found) => panic!("{}: {found}", case.name()),
            },
            Err(error) if is_busy(&error) => {
                seen.busy += 1;
                let _ = connection.execute_batch("ROLLBACK");
            }
            Err(error) => panic!("{}: {error}", case.name()),
        }
        if last {
            return seen;
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "strace, which holds or kills the command at a call, is a program of Linux")]
fn readers_see_the_old_or_the_new_state_and_nothing_else() {
    for case in Case::all() {
        for anew in [false, true] {
            let folder = case.folder();
            let folder = folder.path();
            let signs = Signs::default();
            let seen = thread::scope(|scope| {
                let reader = scope.spawn(|| read_until_done(&signs, &case, folder, anew));
                while !signs.begun.load(Ordering::SeqCst) && !reader.is_finished() {
                    thread::sleep(Duration::from_micros(200));
                }
                let mut child = start_and_stop(folder, case.args());
                if case.scenario.writes_pages() {
                    wait_until(&mut child, || {
                        signs.beside_pages.load(Ordering::SeqCst) || reader.is_finished()
                    });
                }
                let ran = go_on(child);
                signs.done.store(true, Ordering::SeqCst);
                ran.ok();
                reader.join().unwrap()
            });
            tell(&format!("{}, {}: {seen:?}", case.name(), if anew { "opened anew" } else { "held open" }));
            assert!(seen.old > 0 && seen.new > 0, "{}: {seen:?}", case.name());
            if case.journal == Journal::Wal && !anew {
                assert_eq!(seen.busy, 0, "{}: nobody waits in WAL mode", case.name());
            }
            if case.scenario.writes_pages() {
                assert!(
                    seen.beside_pages > 0,
                    "{}: reading goes on while pages are written: {seen:?}",
                    case.name()
                );
            }
            case.assert_clean(folder, &case.name());
        }
    }
}

#[test]
fn a_reader_keeps_its_snapshot_during_a_run_in_wal_mode() {
    for case in Case::all().filter(|case| case.journal == Journal::Wal) {
        let folder = case.folder();
        let folder = folder.path();
        let reader = open(folder, Duration::ZERO);
        reader.execute_batch("BEGIN").unwrap();
        let see = || case.is(&format!("journal mode wal\n{}", read(&reader).unwrap()));
        assert_eq!(see(), Content::Old);
        run(folder, case.args()).ok();
        assert_eq!(see(), Content::Old, "{}: the same snapshot", case.name());
        reader.execute_batch("COMMIT").unwrap();
        assert_eq!(see(), Content::New, "{}", case.name());
        drop(reader);
        case.assert_clean(folder, &case.name());
        assert_eq!(case.content(folder), Content::New);
    }
}

#[test]
fn a_run_keeps_rows_that_only_the_write_ahead_log_has() {
    for scenario in Scenario::ALL {
        let case = Case::new(scenario, Journal::Wal);
        let folder = case.folder();
        let folder = folder.path();
        // A reader with an old snapshot keeps SQLite from copying the log into the file.
        let reader = open(folder, Duration::ZERO);
        reader.execute_batch("BEGIN").unwrap();
        let before: i64 = reader.query_row("SELECT count(*) FROM gone", [], |row| row.get(0)).unwrap();
        let writer = open(folder, Duration::ZERO);
        writer
            .execute_batch("INSERT INTO gone SELECT printf('%04000d', i.n) FROM plain AS i LIMIT 50")
            .unwrap();
        run(folder, case.args()).ok();
        let count = |connection: &Connection| -> i64 {
            connection.query_row("SELECT count(*) FROM gone", [], |row| row.get(0)).unwrap()
        };
        assert_eq!((count(&reader), count(&writer)), (before, before + 50), "{scenario:?}");
        writer.execute_batch("DELETE FROM gone WHERE rowid > 40").unwrap();
        drop((reader, writer));
        assert_eq!(case.content_in_place(folder), Content::New, "{scenario:?}");
        case.assert_clean(folder, &case.name());
    }
}

#[test]
fn in_rollback_mode_a_run_waits_for_a_reader_and_changes_nothing_if_the_reader_stays() {
    for scenario in Scenario::ALL {
        let case = Case::new(scenario, Journal::Delete);
        let folder = case.folder();
        let folder = folder.path();
        let reader = open(folder, Duration::ZERO);
        reader.execute_batch("BEGIN").unwrap();
        let see = || case.is(&format!("journal mode delete\n{}", read(&reader).unwrap()));
        assert_eq!(see(), Content::Old);
        let started = Instant::now();
        let args = [case.args(), &["--busy-timeout", "0.1"]].concat();
        let ran = run(folder, args).failed(1, "x.db is in use");
        let waited = started.elapsed();
        assert!(ran.stderr.contains("\n\nhint: "), "{ran:?}");
        assert!(waited >= Duration::from_millis(100), "{waited:?}");
        assert_eq!(see(), Content::Old, "{scenario:?}");
        reader.execute_batch("COMMIT").unwrap();
        drop(reader);
        case.assert_clean(folder, &case.name());
        assert_eq!(case.content(folder), Content::Old, "{scenario:?}");
        case.assert_next_run_clears(folder, &Content::Old, &case.name());
    }
}

#[test]
fn in_rollback_mode_a_run_commits_when_the_reader_has_ended() {
    for scenario in Scenario::ALL {
        let case = Case::new(scenario, Journal::Delete);
        let folder = case.folder();
        let folder = folder.path();
        let reader = open(folder, Duration::ZERO);
        reader.execute_batch("BEGIN; SELECT count(*) FROM plain").unwrap();
        let mut child = start(folder, [case.args(), &["--busy-timeout", "300"]].concat());
        // The run has a journal once it is about to commit, and waits for the reader.
        let journal = folder.join("x.db-journal");
        wait_until(&mut child, || fs::metadata(&journal).is_ok_and(|journal| journal.len() > 0));
        thread::sleep(Duration::from_millis(30));
        reader.execute_batch("COMMIT").unwrap();
        end(child).ok();
        drop(reader);
        assert_eq!(case.content_in_place(folder), Content::New, "{scenario:?}");
        case.assert_clean(folder, &case.name());
    }
}

#[test]
fn a_run_waits_for_another_writer_until_the_busy_timeout() {
    for case in Case::all() {
        let folder = case.folder();
        let folder = folder.path();
        let writer = open(folder, Duration::ZERO);
        writer.execute_batch("BEGIN IMMEDIATE; DELETE FROM plain").unwrap();
        let started = Instant::now();
        let ran = run(folder, [case.args(), &["--busy-timeout", "0.1"]].concat()).failed(1, "x.db is in use");
        let waited = started.elapsed();
        assert!(ran.stderr.contains("\n\nhint: "), "{ran:?}");
        assert!(waited >= Duration::from_millis(100), "{waited:?}");
        // The writer still holds the lock when the second run begins.
        let child = start(folder, [case.args(), &["--busy-timeout", "300"]].concat());
        thread::sleep(Duration::from_millis(100));
        writer.execute_batch("ROLLBACK").unwrap();
        end(child).ok();
        drop(writer);
        assert_eq!(case.content_in_place(folder), Content::New, "{}", case.name());
        case.assert_clean(folder, &case.name());
    }
}

#[test]
#[cfg_attr(windows, ignore = "strace, which holds or kills the command at a call, is a program of Linux")]
fn no_other_connection_can_write_while_pages_are_written() {
    for case in Case::all().filter(|case| case.scenario.writes_pages()) {
        let folder = case.folder();
        let folder = folder.path();
        let mut child = start_and_stop(folder, case.args());
        let has_pages = || fs::metadata(folder.join("x.db")).unwrap().len() > case.old_bytes;
        wait_until(&mut child, has_pages);
        let wrote = has_pages();
        let writer = open(folder, Duration::ZERO);
        let begun = writer.execute_batch("BEGIN IMMEDIATE");
        // A writer that waits (busy_timeout) gets its turn when the command has committed.
        let run = thread::spawn(|| go_on(child));
        assert!(wrote, "{}: it writes nothing", case.name());
        assert!(begun.as_ref().is_err_and(is_busy), "{}: {begun:?}", case.name());
        writer.busy_timeout(PATIENCE).unwrap();
        writer.execute_batch("INSERT INTO gone VALUES ('mine'); DELETE FROM gone WHERE t = 'mine'").unwrap();
        run.join().unwrap().ok();
        drop(writer);
        assert_eq!(case.content_in_place(folder), Content::New, "{}", case.name());
        case.assert_clean(folder, &case.name());
    }
}

#[test]
fn new_pages_survive_constant_checkpoints_by_another_connection() {
    for case in Case::all().filter(|case| case.journal == Journal::Wal) {
        for mode in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"] {
            let folder = case.folder();
            let folder = folder.path();
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let connection = open(folder, Duration::ZERO);
                    while !done.load(Ordering::SeqCst) {
                        let sql = format!("PRAGMA wal_checkpoint({mode})");
                        let _ = connection.query_row(&sql, [], |_| Ok(()));
                    }
                });
                let ran = run(folder, [case.args(), &["--busy-timeout", "300"]].concat());
                done.store(true, Ordering::SeqCst);
                ran.ok();
            });
            let at = format!("{}, {mode}", case.name());
            assert_eq!(case.content_in_place(folder), Content::New, "{at}");
            case.assert_clean(folder, &at);
        }
    }
}

#[test]
fn loads_lose_no_transaction_of_a_simultaneous_writer() {
    for case in Case::all() {
        let folder = case.folder();
        let folder = folder.path();
        let done = &AtomicBool::new(false);
        let connection = open(folder, PATIENCE);
        connection.execute_batch("CREATE TABLE others (i INTEGER PRIMARY KEY, t TEXT)").unwrap();
        let written = thread::scope(|scope| {
            let writer = scope.spawn(move || {
                let mut written = 0;
                loop {
                    let last = done.load(Ordering::SeqCst);
                    let sql = "INSERT INTO others (t) VALUES (printf('%0500d', random()))";
                    let started = Instant::now();
                    connection.execute(sql, []).unwrap();
                    written += 1;
                    // The writer pauses, because SQLite's locks are not fair: without a pause, the run would never get the lock.
                    thread::sleep(started.elapsed().max(Duration::from_millis(3)));
                    if last {
                        drop(connection);
                        return written;
                    }
                }
            });
            thread::sleep(Duration::from_millis(20));
            let ran = run(folder, [case.args(), &["--busy-timeout", "300"]].concat());
            done.store(true, Ordering::SeqCst);
            ran.ok();
            writer.join().unwrap()
        });
        let connection = open(folder, Duration::ZERO);
        let count: i64 = connection.query_row("SELECT count(*) FROM others", [], |row| row.get(0)).unwrap();
        assert_eq!(count, written, "{}", case.name());
        connection.execute_batch("DROP TABLE others").unwrap();
        drop(connection);
        assert_eq!(case.content_in_place(folder), Content::New, "{}", case.name());
        case.assert_clean(folder, &case.name());
    }
}

#[test]
fn two_simultaneous_runs_have_the_result_of_one_after_the_other() {
    for journal in Journal::ALL {
        // Two runs add to different tables: one waits for the other, then finds a changed schema, and plans again.
        let case = Case::new(Scenario::NewTable, journal);
        let folder = case.folder();
        let both = [case.args(), Scenario::Append.args()];
        for ran in both.map(|args| start(folder.path(), args)).map(end) {
            ran.ok();
        }
        let append = Case::new(Scenario::Append, journal);
        let connection = open(folder.path(), Duration::ZERO);
        connection.execute_batch("DELETE FROM plain WHERE id > 400").unwrap();
        drop(connection);
        assert_eq!(case.content_in_place(folder.path()), Content::New, "{journal:?}");
        case.assert_clean(folder.path(), "two tables");

        // Two runs add the same rows: the later one fails.
        let folder = append.folder();
        let children = [append.args(), append.args()].map(|args| start(folder.path(), args));
        let ran = children.map(end);
        let won = ran.iter().filter(|ran| ran.status.success()).count();
        assert_eq!(won, 1, "{journal:?}: {ran:?}");
        assert_eq!(append.content_in_place(folder.path()), Content::New, "{journal:?}");
        append.assert_clean(folder.path(), "the same rows");

        // Two runs create the same table: the later one fails.
        let folder = case.folder();
        let children = [case.args(), case.args()].map(|args| start(folder.path(), args));
        let ran = children.map(end);
        let won = ran.iter().filter(|ran| ran.status.success()).count();
        assert_eq!(won, 1, "{journal:?}: {ran:?}");
        assert_eq!(case.content_in_place(folder.path()), Content::New, "{journal:?}");
        case.assert_clean(folder.path(), "the same table");
    }
}

#[test]
fn a_run_first_recovers_a_hot_journal_or_a_log_that_a_crash_left() {
    for case in Case::all() {
        let folder = case.folder();
        let folder = folder.path();
        let elsewhere = crashed(&case);
        for name in
            names(elsewhere.path()).iter().filter(|name| name.starts_with("x.db") && !name.ends_with("-shm"))
        {
            fs::copy(elsewhere.path().join(name), folder.join(name)).unwrap();
        }
        run(folder, case.args()).ok();
        case.assert_clean(folder, &case.name());
        match case.journal {
            Journal::Delete => {}
            // The killed program had committed the table `crashed`, but only to the log. The run keeps the table, so the table is dropped
            // before the comparison.
            Journal::Wal => open(folder, Duration::ZERO).execute_batch("DROP TABLE crashed").unwrap(),
        }
        assert_eq!(case.content_in_place(folder), Content::New, "{}", case.name());
    }
}

/// Returns a folder with the files that a killed program leaves: in rollback mode with an unfinished transaction, in WAL mode with a
/// committed one.
fn crashed(case: &Case) -> tempfile::TempDir {
    let folder = case.folder();
    let connection = open(folder.path(), Duration::ZERO);
    let sql = match case.journal {
        Journal::Delete => {
            "PRAGMA cache_size = 2; BEGIN; UPDATE plain SET name = 'lost', n = -n; DELETE FROM keyed"
        }
        Journal::Wal => "PRAGMA wal_autocheckpoint = 0; CREATE TABLE crashed AS SELECT * FROM plain",
    };
    connection.execute_batch(sql).unwrap();
    let copy = crate::support::folder();
    for name in names(folder.path()) {
        fs::copy(folder.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let left: Vec<PathBuf> = ["x.db-journal", "x.db-wal"].map(|name| copy.path().join(name)).into();
    assert!(left.iter().any(|path| fs::metadata(path).is_ok_and(|file| file.len() > 0)), "{}", case.name());
    copy
}
