//! `--overwrite`: an old database in any state, such as with a hot journal, is replaced as a whole or not changed at all.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::old::{Content, LEFT, Left, ROWS, content, journal_mode};
use crate::support::strace::{go_on, start_and_stop};
use crate::support::{
    Ran, SQLUICE, WAITS, end, finish, folder, generate, names, program, run, spawn, sqluice, wait_for_writes,
};
use rusqlite::{Connection, ErrorCode};
use sqluice_testkit::effort::tries;
use sqluice_testkit::skip::skipped;
use sqluice_testkit::system::symlink;

/// Returns the arguments that generate x.db from a preset with --overwrite.
fn overwrite(rows: &str) -> Vec<&str> {
    [&generate("x.db", rows)[..], &["--overwrite"]].concat()
}

/// Returns the arguments of [`overwrite`] with a short busy timeout.
fn overwrite_now(rows: &str) -> Vec<&str> {
    [&overwrite(rows)[..], &["--busy-timeout", "50ms"]].concat()
}

/// Asserts that a run was refused because the database is in use, and that the error names the user `by`.
#[track_caller]
fn assert_in_use(ran: &Ran, by: &str) {
    let stderr = format!(
        "error: x.db is in use\n  caused by: {by}\n\nhint: close what has it open, and run again; the database is unchanged\n"
    );
    assert_eq!((ran.code(), &*ran.stderr), (Some(1), &*stderr), "{ran:?}");
}

/// Returns the name by which an error calls this process.
fn this_process() -> String {
    let id = std::process::id();
    match fs::read_to_string(format!("/proc/{id}/comm")) {
        // wine shows /proc of Linux, but numbers processes in its own way, so the error names no process there.
        Ok(name) if cfg!(unix) => format!("process {id} ({}) has it open", name.trim_end()),
        _ => LOCKED.to_owned(),
    }
}

const LOCKED: &str = "database is locked";

/// The factor for waiting times of a run that waits in vain, because another program keeps using the database.
const IMPATIENT: &str = "0.02";

/// The factor for waiting times of a run that waits until another program ends its use of the database.
const PATIENT: &str = "20";

/// Runs the command, with short waiting times, while another program keeps using the database.
fn run_impatient(folder: &Path, args: Vec<&str>) -> Ran {
    finish(sqluice(folder).args(args).env(WAITS, IMPATIENT))
}

/// Runs the command with /proc hidden, so that it sees no other process, as if all others belonged to another user or container. Returns
/// `None` without the rights of root.
fn run_blind(folder: &Path, args: &[&str]) -> Option<Ran> {
    if cfg!(windows) {
        return None;
    }
    let hidden = "mount -t tmpfs none /proc && exec \"$0\" \"$@\"";
    let mut command = program("unshare");
    command
        .args(["--mount", "sh", "-c", hidden, SQLUICE])
        .args(args)
        .current_dir(folder)
        .env(WAITS, IMPATIENT);
    let ran = finish(&mut command);
    if ran.stderr.starts_with("error: ") || ran.status.success() {
        return Some(ran);
    }
    skipped(&format!("cannot hide /proc (are you root?): {}", ran.stderr));
    None
}

#[test]
fn an_old_database_is_replaced_whatever_state_it_was_left_in() {
    for left in LEFT {
        let folder = folder();
        left.make(folder.path());
        let ran = run(folder.path(), overwrite("3k")).ok();
        let lost =
            if left == Left::Empty { "0 tables, 0 rows".to_owned() } else { format!("1 table, {ROWS} rows") };
        assert!(ran.stderr.contains(&format!("\n  replaced x.db, which held {lost}\n")), "{left:?}: {ran:?}");
        assert_eq!(names(folder.path()), ["x.db"], "{left:?}");
        assert_eq!(content(&folder.path().join("x.db")), Content::New(3000), "{left:?}");
        assert_eq!(journal_mode(&folder.path().join("x.db")), "delete", "{left:?}");
    }
}

#[test]
fn only_databases_with_a_hot_journal_or_a_stale_wal_lose_their_content_without_that_file() {
    for left in LEFT {
        let folder = folder();
        left.make(folder.path());
        let path = folder.path().join("x.db");
        // Without its journal or log, the file has the old content only in the states that need neither.
        fs::copy(&path, folder.path().join("alone.db")).unwrap();
        let alone = content(&folder.path().join("alone.db"));
        let depends = matches!(left, Left::HotJournal | Left::StaleWal);
        assert_eq!(alone == left.content(), !depends, "{left:?}: {alone:?}");
        assert_eq!(content(&path), left.content(), "{left:?}");
        // A new file that is only renamed over the database would be damaged by the journal or log beside it.
        if depends {
            left.make(folder.path());
            run(folder.path(), generate("new.db", "3k")).ok();
            fs::rename(folder.path().join("new.db"), &path).unwrap();
            assert_ne!(content(&path), Content::New(3000), "{left:?}");
        }
    }
}

#[test]
fn overwrite_creates_a_target_that_does_not_exist() {
    let folder = folder();
    run(folder.path(), overwrite("3")).ok();
    assert_eq!(content(&folder.path().join("x.db")), Content::New(3));
    fs::remove_file(folder.path().join("x.db")).unwrap();
    fs::write(folder.path().join("x.db-wal"), "hot").unwrap();
    run(folder.path(), overwrite("3")).failed(1, "./x.db-wal is left from another database");
    assert_eq!(names(folder.path()), ["x.db-wal"]);
}

#[test]
fn a_load_that_fails_leaves_the_old_database_with_its_content_and_journal_mode() {
    for left in LEFT {
        let folder = folder();
        left.make(folder.path());
        fs::write(folder.path().join("bad.csv"), "a,b\n1,2\n3\n").unwrap();
        run(folder.path(), ["load", "x.db", "bad.csv", "--overwrite"]).failed(1, "bad.csv:3:2: ");
        let expected: &[&str] =
            if left == Left::Persist { &["bad.csv", "x.db", "x.db-journal"] } else { &["bad.csv", "x.db"] };
        assert_eq!(names(folder.path()), expected, "{left:?}");
        let path = folder.path().join("x.db");
        assert_eq!(journal_mode(&path), if left.is_wal() { "wal" } else { "delete" }, "{left:?}");
        assert_eq!(content(&path), left.content(), "{left:?}");
    }
}

#[test]
fn a_dry_run_of_overwrite_changes_nothing_and_says_what_would_be_replaced() {
    for left in LEFT {
        let folder = folder();
        left.make(folder.path());
        let files =
            || names(folder.path()).into_iter().map(|name| fs::read(folder.path().join(name)).unwrap());
        let (before_names, before) = (names(folder.path()), files().collect::<Vec<_>>());
        let ran = run(folder.path(), [&overwrite("3")[..], &["--dry-run"]].concat()).ok();
        let lost = match left {
            Left::Empty => "",
            Left::HotJournal => {
                "-- loses    unknown content: SQLite must apply ./x.db-journal to the database before its tables can be read, and only the run does that\n"
            }
            Left::StaleWal => {
                "-- loses    unknown content: SQLite must apply ./x.db-wal to the database before its tables can be read, and only the run does that\n"
            }
            _ => "-- loses    table old: 300 rows\n",
        };
        let start = format!("-- target   x.db (replaces the old one)\n{lost}-- size ");
        assert!(ran.stdout.starts_with(&start), "{left:?}: {ran:?}");
        assert_eq!((names(folder.path()), files().collect::<Vec<_>>()), (before_names, before), "{left:?}");
    }
    let folder = folder();
    let ran = run(folder.path(), [&overwrite("3")[..], &["--dry-run"]].concat()).ok();
    assert!(ran.stdout.starts_with("-- target   x.db (new)\n"), "{ran:?}");
}

#[test]
fn the_report_counts_the_tables_and_rows_that_were_replaced() {
    let folder = folder();
    Left::Wal.make(folder.path());
    fs::write(folder.path().join("t.csv"), "a\n1\n").unwrap();
    let replaced = |args: &[&str]| run(folder.path(), args).ok().json()["replaced"].clone();
    let expected = serde_json::json!({
        "tables": [{"name": "old", "rows": ROWS, "estimated": false}], "rows": ROWS, "estimated": false, "unread": null,
    });
    let mut found = replaced(&[&overwrite("3")[..], &["--json"]].concat());
    assert!(found.as_object_mut().unwrap().remove("bytes").unwrap().as_u64() > Some(4096));
    assert_eq!(found, expected);
    assert_eq!(replaced(&["load", "x.db", "t.csv", "--overwrite", "--json"])["rows"], 3);
    assert_eq!(replaced(&["load", "new.db", "t.csv", "--overwrite", "--json"]), serde_json::Value::Null);
    fs::create_dir(folder.path().join("d")).unwrap();
    assert_eq!(replaced(&["pack", "x.db", "d", "--overwrite", "--json"])["tables"][0]["name"], "t");
}

/// Runs the command on a terminal where `answer` is typed. Returns the output of the terminal and the exit code.
fn on_a_terminal(folder: &Path, args: &[&str], answer: &str) -> (String, Option<i32>) {
    let words: Vec<String> = [SQLUICE].iter().chain(args).map(|word| format!("'{word}'")).collect();
    let mut script = program("script");
    script.args(["-qec", &words.join(" "), "/dev/null"]).current_dir(folder).stdin(Stdio::piped());
    let mut script = spawn(&mut script);
    std::io::Write::write_all(&mut script.stdin.take().unwrap(), answer.as_bytes()).unwrap();
    let ran = end(script);
    (ran.stdout.replace('\r', ""), ran.code())
}

#[test]
#[cfg_attr(windows, ignore = "the terminal of this test is made by script, a program of Unix")]
fn on_a_terminal_a_database_is_replaced_only_after_a_yes() {
    let question = "x.db will be replaced. It holds 1 table, 300 rows:\n  old: 300 rows\nReplace it? [y/N] ";
    let quiet = ["--no-progress", "--color", "never"];
    let args = [&overwrite("3")[..], &quiet].concat();
    for (answer, replaces) in
        [("n\n", false), ("\n", false), ("nonsense\n", false), ("y\n", true), ("Yes\n", true)]
    {
        for left in [Left::Rollback, Left::StaleWal] {
            let folder = folder();
            left.make(folder.path());
            let (shown, code) = on_a_terminal(folder.path(), &args, answer);
            assert!(shown.contains(question), "{answer:?} {left:?}: {shown}");
            let (content_is, expected) = match replaces {
                true => (Content::New(3), Some(0)),
                false => (Content::Old, Some(1)),
            };
            assert_eq!(code, expected, "{answer:?} {left:?}: {shown}");
            assert_eq!(shown.contains("error: x.db was not replaced, as you answered"), !replaces, "{shown}");
            assert_eq!(content(&folder.path().join("x.db")), content_is, "{answer:?} {left:?}");
        }
    }
    // No question is asked with --yes, for a new file, and for a database without tables.
    let folder = folder();
    for more in [&["--yes"][..], &["-y"]] {
        Left::Rollback.make(folder.path());
        let (shown, code) = on_a_terminal(folder.path(), &[&args[..], more].concat(), "n\n");
        assert!(code == Some(0) && !shown.contains("[y/N]"), "{shown}");
        fs::remove_file(folder.path().join("x.db")).unwrap();
    }
    for empty in [false, true] {
        if empty {
            fs::write(folder.path().join("x.db"), "").unwrap();
        }
        let (shown, code) = on_a_terminal(folder.path(), &args, "n\n");
        assert!(code == Some(0) && !shown.contains("[y/N]"), "{shown}");
        fs::remove_file(folder.path().join("x.db")).unwrap();
    }
}

#[test]
fn a_database_that_another_connection_uses_is_not_replaced() {
    for (left, use_it) in [
        (Left::Rollback, "BEGIN; SELECT * FROM old"),
        (Left::Rollback, "BEGIN IMMEDIATE"),
        (Left::Rollback, "BEGIN EXCLUSIVE"),
        (Left::Wal, "BEGIN; SELECT * FROM old"),
        (Left::Wal, "BEGIN IMMEDIATE; UPDATE old SET i = i"),
        // In WAL mode, a connection that has read from the database counts as a user until the connection is closed.
        (Left::Wal, "SELECT * FROM old"),
        (Left::StaleWal, "SELECT * FROM old"),
    ] {
        let folder = folder();
        left.make(folder.path());
        let path = folder.path().join("x.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(use_it).unwrap();
        let before = names(folder.path());
        assert_in_use(&run_impatient(folder.path(), overwrite_now("3")), &this_process());
        // A run that sees no other processes notices the user by a lock of SQLite.
        if let Some(ran) = run_blind(folder.path(), &overwrite_now("3")) {
            assert_in_use(&ran, LOCKED);
        }
        assert_eq!(names(folder.path()), before, "{left:?} {use_it}");
        let _ = connection.execute_batch("ROLLBACK");
        connection.execute_batch("BEGIN; INSERT INTO old (t) VALUES (1); ROLLBACK").unwrap();
        drop(connection);
        assert_eq!(journal_mode(&path), if left.is_wal() { "wal" } else { "delete" });
        assert_eq!(content(&path), Content::Old, "{left:?} {use_it}");
        run(folder.path(), overwrite("3")).ok();
        assert_eq!(names(folder.path()), ["x.db"]);
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine 8 has no Restart Manager to ask")]
fn an_idle_connection_without_a_lock_is_noticed_in_rollback_mode() {
    let folder = folder();
    Left::Rollback.make(folder.path());
    let path = folder.path().join("x.db");
    let idle = Connection::open(&path).unwrap();
    assert_in_use(&run_impatient(folder.path(), overwrite_now("3")), &this_process());
    drop(idle);
    // A connection to a file of the same name in another folder does not count.
    let elsewhere = crate::support::folder();
    Left::Rollback.make(elsewhere.path());
    let _other = Connection::open(elsewhere.path().join("x.db")).unwrap();
    run(folder.path(), overwrite("3")).ok();
}

#[test]
#[cfg(unix)] // An open database is not replaced on Windows.
fn a_program_that_has_the_replaced_file_open_reads_the_old_content_and_cannot_write() {
    let folder = folder();
    Left::Rollback.make(folder.path());
    let path = folder.path().join("x.db");
    // Only this user and root can open the file, so the run expects no programs that it can't see, and renames the new file.
    let only_owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&path, only_owner).unwrap();
    let idle = Connection::open(&path).unwrap();
    let count =
        |connection: &Connection, sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    assert_eq!(count(&idle, "SELECT count(*) FROM old"), Ok(ROWS));
    let Some(ran) = run_blind(folder.path(), &overwrite("3")) else { return };
    ran.ok();
    assert_eq!(count(&idle, "SELECT count(*) FROM old"), Ok(ROWS));
    let refused = idle.execute_batch("DELETE FROM old").unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::ReadOnly), "{refused}");
    drop(idle);
    assert_eq!(names(folder.path()), ["x.db"]);
    assert_eq!(content(&path), Content::New(3));
}

/// Starts an overwriting run that strace holds when the new file is written and the old one is not replaced yet. Returns when the run
/// writes. `waits` is the factor for its waiting times.
fn held_before_the_end(folder: &Path, waits: &str) -> Child {
    let waits = format!("{WAITS}={waits}");
    let mut held = start_and_stop(folder, "fsync", &["-E", &waits], &overwrite("3k"));
    wait_for_writes(folder, "x.db", &mut held);
    held
}

#[test]
#[cfg_attr(windows, ignore = "strace, which holds or kills the command at a call, is a program of Linux")]
fn a_database_in_use_when_the_new_one_is_complete_is_not_replaced() {
    for left in [Left::Rollback, Left::Wal] {
        let folder = folder();
        left.make(folder.path());
        let path = folder.path().join("x.db");
        let held = held_before_the_end(folder.path(), IMPATIENT);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("BEGIN; SELECT * FROM old").unwrap();
        assert_in_use(&go_on(held), &this_process());
        drop(connection);
        assert_eq!(journal_mode(&path), if left.is_wal() { "wal" } else { "delete" });
        assert_eq!(content(&path), Content::Old, "{left:?}");
        assert_eq!(crate::support::temporaries(folder.path(), "x.db"), [] as [&Path; 0]);
    }
}

#[test]
#[cfg_attr(windows, ignore = "strace, which holds or kills the command at a call, is a program of Linux")]
fn overwrite_waits_for_a_writer_and_replaces_the_rows_of_that_writer_too() {
    for left in [Left::Empty, Left::Rollback, Left::Wal] {
        let folder = folder();
        left.make(folder.path());
        let path = folder.path().join("x.db");
        let held = held_before_the_end(folder.path(), PATIENT);
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("CREATE TABLE more (a); BEGIN IMMEDIATE; INSERT INTO more VALUES (1)")
            .unwrap();
        let run = std::thread::spawn(|| go_on(held));
        // The lock is held long enough that the run tries several times to get it.
        std::thread::sleep(Duration::from_millis(200));
        connection.execute_batch("COMMIT").unwrap();
        drop(connection);
        run.join().unwrap().ok();
        assert_eq!(names(folder.path()), ["x.db"], "{left:?}");
        assert_eq!(content(&path), Content::New(3000), "{left:?}");
    }
}

#[test]
#[cfg_attr(windows, ignore = "strace, which holds or kills the command at a call, is a program of Linux")]
fn a_target_that_was_deleted_during_the_run_is_written_and_a_file_that_took_its_place_is_kept() {
    let folder = folder();
    Left::Rollback.make(folder.path());
    let held = held_before_the_end(folder.path(), IMPATIENT);
    fs::remove_file(folder.path().join("x.db")).unwrap();
    go_on(held).ok();
    assert_eq!(content(&folder.path().join("x.db")), Content::New(3000));

    // A file that took the place of the database meanwhile, and is no database, is not replaced.
    let held = held_before_the_end(folder.path(), IMPATIENT);
    fs::remove_file(folder.path().join("x.db")).unwrap();
    fs::write(folder.path().join("x.db"), "a,b\n1,2\n").unwrap();
    go_on(held).failed(1, "x.db is not a SQLite database, and is not replaced");
    assert_eq!(fs::read(folder.path().join("x.db")).unwrap(), b"a,b\n1,2\n");
    assert_eq!(names(folder.path()), ["x.db"]);

    Left::Rollback.make(folder.path());
    let held = held_before_the_end(folder.path(), IMPATIENT);
    fs::remove_file(folder.path().join("x.db")).unwrap();
    symlink("elsewhere.db", folder.path().join("x.db"));
    go_on(held).failed(1, "x.db is no longer a regular file");
    assert_eq!(names(folder.path()), ["x.db"]);
}

#[test]
#[cfg(unix)] // Owners and modes are those of Unix.
fn the_new_file_has_the_permissions_and_the_owner_of_the_old_file() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let folder = folder();
    let path = folder.path().join("x.db");
    for mode in [0o600, 0o640, 0o666] {
        Left::Rollback.make(folder.path());
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let chowned = std::os::unix::fs::chown(&path, Some(65534), Some(65533)).is_ok();
        let owner = fs::metadata(&path).map(|old| (old.uid(), old.gid())).unwrap();
        if chowned {
            assert_eq!(owner, (65534, 65533));
        } else {
            crate::support::tell("only root can give files away: owners are not tested");
        }
        run(folder.path(), overwrite("3")).ok();
        assert_eq!(content(&path), Content::New(3));
        let new = fs::metadata(&path).unwrap();
        assert_eq!((new.mode() & 0o7777, (new.uid(), new.gid())), (mode, owner));
    }
}

#[test]
#[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
fn overwriting_a_symbolic_link_replaces_its_target() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir(folder.join("data")).unwrap();
    Left::StaleWal.make(&folder.join("data"));
    symlink("data/x.db", folder.join("x.db"));
    run(folder, overwrite("3")).ok();
    assert!(folder.join("x.db").is_symlink());
    assert_eq!(names(&folder.join("data")), ["x.db"]);
    assert_eq!(content(&folder.join("data/x.db")), Content::New(3));
}

#[test]
fn file_names_that_sqlite_could_read_as_uris_are_taken_literally() {
    let folder = folder();
    // On Windows, a colon in a name means a drive or a stream, and no name has a question mark.
    let names_of_unix: &[&str] = if cfg!(unix) { &["file:x.db?mode=memory", "./:memory:"] } else { &[] };
    for name in [names_of_unix, &["a b%20c.db", "#.db"]].concat() {
        run(folder.path(), generate(name, "3")).ok();
        run(folder.path(), [&generate(name, "4")[..], &["--overwrite"]].concat()).ok();
        assert_eq!(content(&folder.path().join(name)), Content::New(4), "{name}");
    }
    assert_eq!(names(folder.path()).len(), names_of_unix.len() + 2);
}

#[test]
#[cfg_attr(windows, ignore = "Windows denies a replacement while another run replaces the file")]
fn two_simultaneous_overwrites_both_succeed_and_leave_one_complete_result() {
    for _ in 0..tries(2, 5, 50) {
        let folder = folder();
        Left::StaleWal.make(folder.path());
        let children = ["300k", "400k"]
            .map(|rows| spawn(sqluice(folder.path()).args(overwrite(rows)).env(WAITS, PATIENT)));
        for child in children {
            end(child).ok();
        }
        assert_eq!(names(folder.path()), ["x.db"]);
        let content = content(&folder.path().join("x.db"));
        assert!([Content::New(300_000), Content::New(400_000)].contains(&content), "{content:?}");
    }
}

#[test]
fn overwrite_refuses_a_damaged_database() {
    let folder = folder();
    Left::Rollback.make(folder.path());
    let path = folder.path().join("x.db");
    let mut damaged = fs::read(&path).unwrap();
    damaged[100..4096].fill(0xff);
    fs::write(&path, &damaged).unwrap();
    let ran = run(folder.path(), overwrite("3"))
        .failed(1, "SQLite cannot open x.db, so it is unknown whether it is in use");
    assert!(ran.stderr.contains("\n\nhint: if it is no longer needed, remove it yourself"), "{ran:?}");
    assert_eq!(names(folder.path()), ["x.db"]);
    assert_eq!(fs::read(&path).unwrap(), damaged);
}
