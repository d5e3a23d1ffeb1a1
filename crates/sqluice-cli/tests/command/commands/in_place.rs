//! Runs that replace a database which other programs may have open: copies in place, merges into the database, and `--overwrite`.
#![cfg(target_os = "linux")] // The tests need unshare and setpriv, programs of Linux.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use sqluice_testkit::effort::tries;
use sqluice_testkit::skip::skipped;

use crate::support::old::{Content, LEFT, Left, ROWS, content, journal_mode, make_more, rows_and_mode};
use crate::support::unseen::{open_folder, sqluice as contained};
use crate::support::{Ran, SQLUICE, end, folder, generate, names, run, spawn};

const COPY: [&str; 3] = ["copy", "x.db", "x.db"];

/// The number of the user and group nobody.
const NOBODY: u32 = 65534;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Runs the command as nobody. Returns `None` if the test has no right to change the user.
fn as_nobody(folder: &Path, args: &[&str]) -> Option<Ran> {
    let id = NOBODY.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", SQLUICE]).current_dir(folder);
    let can = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups", SQLUICE, "--version"])
        .current_dir(folder)
        .output();
    if !can.is_ok_and(|tried| tried.status.success()) {
        skipped(
            "cannot run the command as another user (are you root, and may others enter the folder of the build?)",
        );
        return None;
    }
    Some(Ran::from(command.args(args).output().unwrap()))
}

#[test]
fn a_database_that_may_be_open_in_programs_the_run_cannot_see_is_replaced_by_one_transaction() {
    let elsewhere = folder();
    let more = elsewhere.path().join("more.db");
    make_more(&more);
    for left in LEFT {
        for args in [
            COPY.to_vec(),
            vec!["copy", "x.db", "x.db", "--compact", "--page-size", "4096"],
            vec!["merge", "x.db", more.to_str().unwrap()],
            [&generate("x.db", "3000")[..], &["--overwrite"]].concat(),
            vec!["copy", more.to_str().unwrap(), "x.db", "--overwrite"],
        ] {
            if left == Left::Empty && args.contains(&"x.db") && args[0] == "copy" && args[1] == "x.db" {
                continue;
            }
            let folder = open_folder();
            left.make(folder.path());
            let path = folder.path().join("x.db");
            let inode = fs::metadata(&path).unwrap().ino();
            let Some(mut command) = contained(folder.path(), &args) else { return };
            let ran = Ran::from(command.output().unwrap()).ok();
            let at = format!("{left:?} {args:?}");
            assert!(
                ran.stderr.contains(
                    "  x.db was replaced by one transaction, not by a rename: others may have it open, and"
                ),
                "{at}: {ran:?}"
            );
            assert_eq!(fs::metadata(&path).unwrap().ino(), inode, "{at}");
            assert_eq!(names(folder.path()), ["x.db"], "{at}");
            if args[0] == "generate" {
                assert_eq!(content(&path), Content::New(3000), "{at}");
            } else {
                let connection = Connection::open(&path).unwrap();
                let rows: i64 =
                    connection.query_row("SELECT count(*) FROM old", [], |row| row.get(0)).unwrap();
                let expected = match args[0] {
                    "merge" if left != Left::Empty => 2 * ROWS,
                    _ => ROWS,
                };
                assert_eq!(rows, expected, "{at}");
            }
            // A database in WAL mode keeps its mode, unless --overwrite makes a new database.
            let is_kept = left.is_wal() && !args.contains(&"--overwrite");
            assert_eq!(journal_mode(&path), if is_kept { "wal" } else { "delete" }, "{at}");
            let json = [&args[..], &["--json"]].concat();
            if args[0] == "generate" {
                let report =
                    Ran::from(contained(folder.path(), &json).unwrap().output().unwrap()).ok().json();
                assert_eq!(report["replacement"]["method"], "transaction", "{at}: {report}");
                assert_eq!(report["checksum"], serde_json::Value::Null, "{at}: {report}");
            }
        }
    }
}

#[test]
fn the_plan_names_the_method_by_which_a_database_will_be_replaced() {
    let more = folder();
    let more = more.path().join("more.db");
    make_more(&more);
    for (args, line) in [
        (
            COPY.to_vec(),
            "x.db is replaced by one transaction, not by a rename: others may have it open, and ",
        ),
        (
            vec!["merge", "x.db", more.to_str().unwrap()],
            "x.db is replaced by one transaction, not by a rename: ",
        ),
        (
            [&generate("x.db", "3")[..], &["--overwrite"]].concat(),
            "-- replaced by one transaction, not by a rename: ",
        ),
    ] {
        let plan = |folder: &Path, flags: &[&str]| {
            let args = [&args[..], flags, &["--dry-run"]].concat();
            Some(Ran::from(contained(folder, &args)?.output().unwrap()).ok())
        };
        let folder = open_folder();
        Left::Wal.make(folder.path());
        let Some(ran) = plan(folder.path(), &[]) else { return };
        assert!(ran.stdout.contains(line), "{ran:?}");
        let json = plan(folder.path(), &["--json"]).unwrap().json();
        assert_eq!(json["replacement"]["method"], "transaction", "{json}");
        // In three cases no other process can have the file open: --assume-unused promises so, the file has mode 600, or the folder has
        // mode 700.
        let assumed = plan(folder.path(), &["--assume-unused"]).unwrap();
        set_mode(&folder.path().join("x.db"), 0o600);
        let private = plan(folder.path(), &[]).unwrap();
        set_mode(&folder.path().join("x.db"), 0o666);
        set_mode(folder.path(), 0o700);
        let hidden = plan(folder.path(), &[]).unwrap();
        for ran in [assumed, private, hidden] {
            assert!(!ran.stdout.contains("by one transaction"), "{ran:?}");
        }
        assert_eq!(crate::support::temporaries(folder.path(), "x.db"), [] as [&Path; 0]);
    }
}

#[test]
fn a_program_that_the_run_cannot_see_reads_the_new_content_through_its_open_connection() {
    let elsewhere = folder();
    let more = elsewhere.path().join("more.db");
    make_more(&more);
    let count = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM old", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    for args in [["merge", "x.db", more.to_str().unwrap()], COPY] {
        let folder = open_folder();
        Left::Rollback.make(folder.path());
        let path = folder.path().join("x.db");
        let idle = Connection::open(&path).unwrap();
        assert_eq!(count(&idle), ROWS);
        let Some(mut command) = contained(folder.path(), &args) else { return };
        Ran::from(command.output().unwrap()).ok();
        let expected = if args[0] == "merge" { 2 * ROWS } else { ROWS };
        assert_eq!(count(&idle), expected);
        idle.execute_batch("INSERT INTO old (t) VALUES ('written after')").unwrap();
        drop(idle);
        assert_eq!(count(&Connection::open(&path).unwrap()), expected + 1);
    }
}

#[test]
fn a_replaced_database_keeps_a_row_that_an_idle_connection_of_another_user_inserts_later() {
    for mode in ["delete", "wal"] {
        let folder = open_folder();
        if chown(folder.path(), Some(NOBODY), None).is_err() {
            return skipped("only root can give files away");
        }
        let path = folder.path().join("x.db");
        let left = if mode == "wal" { Left::Wal } else { Left::Rollback };
        left.make(folder.path());
        for name in names(folder.path()) {
            set_mode(&folder.path().join(&name), 0o666);
        }
        let idle = Connection::open(&path).unwrap();
        if mode == "delete" {
            idle.query_row("SELECT count(*) FROM old", [], |_| Ok(())).unwrap();
        }
        let inode = fs::metadata(&path).unwrap().ino();
        let Some(ran) = as_nobody(folder.path(), &[&COPY[..], &["--compact"]].concat()) else { return };
        ran.ok();
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        idle.execute_batch("INSERT INTO old (t) VALUES ('written after')").unwrap();
        drop(idle);
        assert_eq!(names(folder.path()), ["x.db"]);
        let rows: i64 = Connection::open(&path)
            .unwrap()
            .query_row("SELECT count(*) FROM old", [], |row| row.get(0))
            .unwrap();
        assert_eq!((rows, &*journal_mode(&path)), (ROWS + 1, mode));
        // nobody's own file of mode 600, which only nobody and root can open, is replaced by a rename.
        chown(&path, Some(NOBODY), None).unwrap();
        set_mode(&path, 0o600);
        as_nobody(folder.path(), &COPY).unwrap().ok();
        assert_ne!(fs::metadata(&path).unwrap().ino(), inode);
    }
}

#[test]
fn a_replacement_refused_because_of_a_reader_changes_neither_content_nor_journal_mode() {
    for left in [Left::Rollback, Left::Wal, Left::StaleWal] {
        let folder = folder();
        left.make(folder.path());
        let path = folder.path().join("x.db");
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM old").unwrap();
        for args in [COPY.to_vec(), [&generate("x.db", "3")[..], &["--overwrite"]].concat()] {
            let args = [&args[..], &["--busy-timeout", "50ms"]].concat();
            run(folder.path(), args).failed(1, "x.db is in use");
        }
        drop(reader);
        let mode = if left.is_wal() { "wal" } else { "delete" };
        assert_eq!(rows_and_mode(&path), Ok((ROWS, mode.to_owned())), "{left:?}");
        assert_eq!(names(folder.path()), ["x.db"]);
    }
}

#[test]
fn a_file_with_hard_links_is_not_replaced() {
    let elsewhere = folder();
    let more = elsewhere.path().join("more.db");
    make_more(&more);
    for left in [Left::Rollback, Left::Wal] {
        let folder = folder();
        left.make(folder.path());
        for name in ["y.db", "z.db"] {
            fs::hard_link(folder.path().join("x.db"), folder.path().join(name)).unwrap();
        }
        for args in [
            COPY.to_vec(),
            vec!["merge", "x.db", more.to_str().unwrap()],
            [&generate("x.db", "3")[..], &["--overwrite"]].concat(),
            [&generate("x.db", "3")[..], &["--overwrite", "--dry-run"]].concat(),
        ] {
            for flags in [&[][..], &["--assume-unused"]] {
                let args = [&args[..], flags].concat();
                run(folder.path(), args).failed(1, "x.db has 3 names (hard links), and is not replaced");
            }
        }
        // The hint says to remove the other names.
        for name in ["y.db", "z.db"] {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        run(folder.path(), COPY).ok();
    }
}

#[test]
fn a_replacement_by_transaction_refuses_another_page_size_only_in_wal_mode() {
    let folder = open_folder();
    Left::Wal.make(folder.path());
    let args = [&COPY[..], &["--page-size", "8192"]].concat();
    let Some(mut command) = contained(folder.path(), &args) else { return };
    let ran = Ran::from(command.output().unwrap())
        .failed(1, "x.db is in journal mode wal, in which its pages of 4096 bytes cannot get another size");
    assert!(
        ran.stderr.contains(
            "keep the page size: --page-size 4096; or, if no other process has the database open: --assume-unused"
        ),
        "{ran:?}"
    );
    for hint in [&["--page-size", "4096"][..], &["--page-size", "8192", "--assume-unused"]] {
        let args = [&COPY[..], hint].concat();
        Ran::from(contained(folder.path(), &args).unwrap().output().unwrap()).ok();
        let path = folder.path().join("x.db");
        assert_eq!(rows_and_mode(&path), Ok((ROWS, "wal".to_owned())));
    }
    // In a rollback mode, a transaction can change the page size.
    for bytes in ["512", "16384"] {
        let folder = open_folder();
        Left::Rollback.make(folder.path());
        let args = [&COPY[..], &["--page-size", bytes]].concat();
        Ran::from(contained(folder.path(), &args).unwrap().output().unwrap()).ok();
        let path = folder.path().join("x.db");
        assert_eq!(rows_and_mode(&path), Ok((ROWS, "delete".to_owned())));
        let size: i64 =
            Connection::open(&path).unwrap().query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
        assert_eq!(size.to_string(), bytes);
    }
}

#[test]
fn a_replacement_by_transaction_sets_the_requested_journal_mode() {
    for (left, mode) in [(Left::Rollback, "wal"), (Left::StaleWal, "delete")] {
        let folder = open_folder();
        left.make(folder.path());
        let args = [&COPY[..], &["--journal-mode", mode]].concat();
        let Some(mut command) = contained(folder.path(), &args) else { return };
        Ran::from(command.output().unwrap()).ok();
        assert_eq!(rows_and_mode(&folder.path().join("x.db")), Ok((ROWS, mode.to_owned())), "{left:?}");
        assert_eq!(names(folder.path()), ["x.db"]);
    }
}

/// Opens the database, adds a row and closes it, until `stop`. Counts the added rows in `added`. A writer that opened the old file just
/// before it was replaced is refused, and tries again.
fn write_rows(path: &Path, stop: &AtomicBool, added: &AtomicI64) {
    while !stop.load(Ordering::Relaxed) {
        let write = || -> rusqlite::Result<()> {
            let connection = Connection::open(path)?;
            connection.busy_timeout(Duration::from_secs(60))?;
            connection.execute_batch("INSERT INTO old (t) VALUES ('added')")?;
            added.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        match write() {
            Ok(()) => {}
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {}
            Err(error) => panic!("{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_run_waits_for_programs_that_open_the_database_briefly_and_loses_none_of_their_rows() {
    for left in [Left::Rollback, Left::Wal] {
        let folder = folder();
        left.make(folder.path());
        let path = folder.path().join("x.db");
        let (stop, added) = (AtomicBool::new(false), AtomicI64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| write_rows(&path, &stop, &added));
            }
            let ran: Vec<Ran> = (0..tries(3, 10, 100))
                .map(|_| run(folder.path(), [&COPY[..], &["--busy-timeout", "60"]].concat()))
                .collect();
            stop.store(true, Ordering::Relaxed);
            for ran in ran {
                ran.ok();
            }
        });
        let connection = Connection::open(&path).unwrap();
        let rows: i64 = connection.query_row("SELECT count(*) FROM old", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, ROWS + added.load(Ordering::Relaxed), "{left:?}");
        assert_eq!(sqluice_testkit::sqlite::integrity(&connection), "ok");
        drop(connection);
        assert_eq!(journal_mode(&path), if left.is_wal() { "wal" } else { "delete" });
    }
}

#[test]
fn no_wal_or_shm_file_remains_if_a_reader_closes_the_database_while_a_run_waits() {
    for args in [COPY.to_vec(), [&generate("x.db", "100")[..], &["--overwrite"]].concat()] {
        let folder = open_folder();
        Left::Wal.make(folder.path());
        let reader = Connection::open(folder.path().join("x.db")).unwrap();
        reader.query_row("SELECT count(*) FROM old", [], |_| Ok(())).unwrap();
        let args = [&args[..], &["--busy-timeout", "60"]].concat();
        let Some(mut command) = contained(folder.path(), &args) else { return };
        let run = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        // The run holds the lock that keeps new readers out, so SQLite can't get the lock that it needs to remove the -shm file.
        std::thread::sleep(Duration::from_millis(200));
        drop(reader);
        end(run).ok();
        assert_eq!(names(folder.path()), ["x.db"], "{args:?}");
    }
}

#[test]
fn the_temporary_file_of_a_new_database_is_readable_by_its_owner_alone() {
    let folder = folder();
    let mode_of = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode() & 0o777;
    // SQLite creates a database, whose permissions are compared.
    Connection::open(folder.path().join("of_sqlite.db"))
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    let mut child = crate::support::start(folder.path(), generate("x.db", "2M"));
    let temporary = crate::support::wait_for_writes(folder.path(), "x.db", &mut child);
    let mode = fs::metadata(&temporary).map(|about| about.mode() & 0o777);
    end(child).ok();
    assert_eq!(mode.unwrap(), 0o600);
    assert_eq!(mode_of("x.db"), mode_of("of_sqlite.db"));
    for mode in [0o640, 0o666] {
        set_mode(&folder.path().join("x.db"), mode);
        run(folder.path(), COPY).ok();
        assert_eq!(mode_of("x.db"), mode);
    }
}

#[test]
fn a_closed_wal_database_in_a_read_only_folder_can_be_read_unless_its_log_has_rows() {
    for left in [Left::Wal, Left::StaleWal] {
        let (folder, elsewhere) = (open_folder(), open_folder());
        left.make(folder.path());
        let path = folder.path().join("x.db");
        if left == Left::Wal {
            fs::remove_file(folder.path().join("x.db-wal")).unwrap();
        }
        set_mode(elsewhere.path(), 0o777);
        let target = elsewhere.path().join("copy.db");
        let before = fs::read(&path).unwrap();
        let [source, target] = [&path, &target].map(|path| path.to_str().unwrap());
        for args in [
            vec!["copy", source, target],
            vec!["merge", target, source, "--overwrite"],
            vec!["export", source, "old", "--to", "-", "--format", "csv"],
            vec!["export", source, "--query", "SELECT count(*) FROM old", "--to", "-", "--format", "csv"],
            vec!["profile", source],
        ] {
            let Some(ran) = as_nobody(elsewhere.path(), &args) else { return };
            if left == Left::StaleWal {
                // The newest rows are in the log. To read them, SQLite would have to create a file in the read-only folder.
                assert_ne!(ran.code(), Some(0), "{args:?}: {ran:?}");
                continue;
            }
            ran.ok();
            if args[0] != "export" && args[0] != "profile" {
                assert_eq!(content(Path::new(target)), Content::Old, "{args:?}");
            }
        }
        assert!(fs::read(&path).unwrap() == before, "{left:?}");
        assert_eq!(names(folder.path()).len(), 1 + usize::from(left == Left::StaleWal), "{left:?}");
    }
}
