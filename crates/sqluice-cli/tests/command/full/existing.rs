//! Writes that fail while an existing database is changed: full disks, limits on file sizes, and each system call in turn. The run must end
//! with an error, the database must keep its content and journal mode, and the next run must remove all leftovers.

#![allow(clippy::print_stdout, reason = "a test that fails shows what it saw and how to repeat it")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;
use sqluice_testkit::disk::Disk;
use sqluice_testkit::effort::tries;

use crate::support::existing::{
    Case, Content, Journal, NEXT, Scenario, assert_no_tail, assert_refused, mode_in_header, spread, summary,
};
use crate::support::strace::{calls, strace};
use crate::support::{
    Ran, Random, end, finish, folder, names, run, spawn, sqluice, sqluice_with_file_limit, tell,
};

/// Returns the number of calls of each name to let fail, for each scenario and journal mode.
fn faults_of_a_kind() -> usize {
    tries(1, 5, 50)
}

/// Runs the command with a limit on file sizes of `blocks` times 512 bytes.
fn with_limit(case: &Case, folder: &Path, blocks: u64) -> Ran {
    finish(sqluice_with_file_limit(folder, blocks).args(case.args()))
}

#[test]
fn a_change_over_the_limit_on_file_sizes_leaves_the_old_database() {
    let mut random = Random::new();
    for case in Case::all() {
        let whole = case.folder();
        run(whole.path(), case.args()).ok();
        let new_bytes = fs::metadata(whole.path().join("x.db")).unwrap().len();
        let mut refused = 0;
        let spread = spread(&mut random, (new_bytes - 1024) as usize, tries(2, 8, 80));
        // With a limit of 512 bytes, no file can be written, not even the log.
        let edges = [512, case.old_bytes - 512, case.old_bytes, case.old_bytes + 4096, new_bytes - 512];
        for bytes in spread.into_iter().map(|bytes| bytes as u64 + 512).chain(edges) {
            let at = format!("{}, {bytes} bytes at most", case.name());
            let folder = case.folder();
            let ran = with_limit(&case, folder.path(), bytes / 512);
            let found = case.content(folder.path());
            if ran.status.success() {
                // The limit was no obstacle: the rows fitted into free pages or, in WAL mode, into the log.
                assert_eq!(found, Content::New, "{at}: {ran:?}");
            } else {
                refused += 1;
                assert_refused(ran, &["File too large", "disk I/O error", "disk is full"], &at);
                assert_eq!(found, Content::Old, "{at}");
            }
            case.assert_next_run_clears(folder.path(), &found, &at);
        }
        // If SQLite writes the rows in WAL mode, they go to the log. The log may fit while its checkpoint fails, and then the run succeeds.
        // So fewer runs of such a scenario are refused.
        let at_least = if case.scenario.writes_pages() { 3 } else { 1 };
        assert!(refused >= at_least, "{}: only {refused} refused", case.name());
    }
}

/// A system call to let fail: its name, and its number among the calls of this name in its thread.
type Fault = (String, usize);

/// Returns the numbers of the system calls of a complete run that open, read, write, sync, truncate or remove a file of the database, by
/// the name of the call.
fn faults(case: &Case) -> BTreeMap<String, Vec<usize>> {
    const FAILING: [&str; 8] =
        ["pwrite64", "pwritev", "fsync", "fdatasync", "ftruncate", "unlink", "openat", "pread64"];
    let folder = case.folder();
    let log = tempfile::NamedTempFile::new().unwrap();
    let trace = format!("trace={}", FAILING.join(","));
    let flags = ["--seccomp-bpf", "-y", "-s", "100", "-e", &trace, "-o", log.path().to_str().unwrap()];
    strace(folder.path(), &flags, case.args()).ok();
    let log = fs::read_to_string(log.path()).unwrap();
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut faults: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for call in &calls(&log) {
        let nth = counts.entry((call.thread, call.name.clone())).or_default();
        *nth += 1;
        if call.args.contains("/x.db") && call.result >= 0 {
            faults.entry(call.name.clone()).or_default().push(*nth);
        }
    }
    faults
}

/// Runs the command and lets a call fail; if `on`, also all later calls of the same name.
fn with_fault(case: &Case, folder: &Path, (call, nth): &Fault, error: &str, on: bool) -> Ran {
    let on = if on { "+" } else { "" };
    let inject = format!("inject={call}:error={error}:when={nth}{on}");
    let trace = format!("trace={call}");
    strace(folder, &["--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject], case.args())
}

fn assert_faults_are_harmless(scenario: Scenario) {
    for journal in Journal::ALL {
        let case = Case::new(scenario, journal);
        let mut random = Random::new();
        let mut told: BTreeMap<String, usize> = BTreeMap::new();
        for (call, nths) in faults(&case) {
            let all = nths.len().min(faults_of_a_kind());
            for index in spread(&mut random, nths.len(), all) {
                for on in [false, true] {
                    let full = call.starts_with("pwrite") && random.fraction() < 0.5;
                    let error = if full { "ENOSPC" } else { "EIO" };
                    let fault = (call.clone(), nths[index]);
                    let plus = if on { "+" } else { "" };
                    let at = format!("{}, {call}:error={error}:when={}{plus}", case.name(), nths[index]);
                    let folder = case.folder();
                    let ran = with_fault(&case, folder.path(), &fault, error, on);
                    let found = case.content(folder.path());
                    let outcome = if ran.status.success() { "went on" } else { "refused" };
                    *told.entry(format!("{call} {error}{plus} {outcome}, {found:?}")).or_default() += 1;
                    assert_harmless(ran, &found, &at);
                    case.assert_next_run_clears(folder.path(), &found, &at);
                }
            }
        }
        let mut histogram = case.name();
        for (kind, count) in told {
            histogram += &format!("\n{count:>5}  {kind}");
        }
        tell(&histogram);
    }
}

/// Asserts that a run that succeeded has made the new database, and that a run that failed has left the old one, or reports that the state
/// is unknown.
#[track_caller]
fn assert_harmless(ran: Ran, found: &Content, at: &str) {
    if ran.status.success() {
        assert_eq!(*found, Content::New, "{at}: {ran:?}");
        return;
    }
    let told_new = *found == Content::New && ran.stderr.contains("may or may not");
    assert!(*found == Content::Old || told_new, "{at}: {found:?} {ran:?}");
    assert_refused(ran, &["x.db", "SQLite cannot"], at);
}

#[test]
fn system_calls_that_fail_while_a_table_is_added_leave_the_old_database() {
    assert_faults_are_harmless(Scenario::NewTable);
}

#[test]
fn system_calls_that_fail_while_rows_are_appended_leave_the_old_database() {
    assert_faults_are_harmless(Scenario::Append);
}

#[test]
fn system_calls_that_fail_while_rows_are_appended_and_indexes_rebuilt_leave_the_old_database() {
    assert_faults_are_harmless(Scenario::IndexedAppend);
}

#[test]
fn system_calls_that_fail_while_indexes_are_made_leave_the_old_database() {
    assert_faults_are_harmless(Scenario::Index);
}

#[test]
fn system_calls_that_fail_while_sqlite_inserts_rows_leave_the_old_database() {
    assert_faults_are_harmless(Scenario::Sql);
}

/// Loads 24 MB from a pipe, whose size is unknown in advance.
fn load_too_much(root: &Path, flags: &[&str]) -> Ran {
    let mut command = sqluice(root);
    let mut child = spawn(command.args(["load", "x.db", "-"]).args(flags).stdin(Stdio::piped()));
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let padding = "x".repeat(980);
        let _ = pipe.write_all(b"id,name,n\n");
        for i in 1000..25_000 {
            // The command stops reading before the end, so that writing to the pipe fails.
            if pipe.write_all(format!("{i},{padding}{i},{i}\n").as_bytes()).is_err() {
                break;
            }
        }
    });
    let ran = end(child);
    writer.join().unwrap();
    ran
}

/// Copies the files of a case to a small disk.
fn put_on(case: &Case, root: &Path) {
    let folder = case.folder();
    for name in names(folder.path()) {
        fs::copy(folder.path().join(&name), root.join(&name)).unwrap();
    }
}

#[test]
fn a_full_disk_leaves_the_old_database_and_all_space_free() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    fs::remove_dir(root.join("lost+found")).unwrap();
    for journal in Journal::ALL {
        let case = Case::new(Scenario::Append, journal);
        put_on(&case, &root);
        let before = names(&root);
        let old = summary(&root.join("x.db")).unwrap();
        let free = image.free_bytes();
        for flags in [
            &["-t", "big"][..],
            &["-t", "big", "-j1"],
            &["-t", "big", "--index", "name"],
            &["-t", "plain", "--append"],
            &["-t", "audited", "--append", "--on-conflict", "replace"],
        ] {
            let at = format!("{journal:?} {flags:?}");
            let ran = load_too_much(&root, flags);
            assert_refused(ran, &["No space left on device", "disk is full", "disk I/O error"], &at);
            assert_eq!(names(&root), before, "{at}");
            assert_eq!(mode_in_header(&root.join("x.db")), journal, "{at}");
            assert_eq!(summary(&root.join("x.db")).unwrap(), old, "{at}");
            assert_no_tail(&root.join("x.db"), &at);
            assert!(
                image.free_bytes() >= free - 65_536,
                "{at}: {} of {free} bytes are free",
                image.free_bytes()
            );
        }
        // A load that fits succeeds afterwards.
        run(&root, case.args()).ok();
        assert_eq!(case.content_in_place(&root), Content::New, "{journal:?}");
        run(&root, NEXT).ok();
        assert_no_tail(&root.join("x.db"), &format!("{journal:?}"));
    }
}

/// Asserts that each scenario ends with an error about the full disk in each journal mode, and leaves the old database. `fill` fills the
/// disk.
fn assert_refused_when_full(fill: impl Fn(&Disk, &mut fs::File)) {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    fs::remove_dir(root.join("lost+found")).unwrap();
    for journal in Journal::ALL {
        for scenario in Scenario::ALL {
            let case = Case::new(scenario, journal);
            put_on(&case, &root);
            fill(&image, &mut fs::File::create(root.join("ballast")).unwrap());
            let at = case.name();
            let ran = run(&root, case.args());
            assert_refused(ran, &["No space left on device", "disk is full", "free in"], &at);
            fs::remove_file(root.join("ballast")).unwrap();
            let found = case.content(&root);
            assert_eq!(found, Content::Old, "{at}");
            case.assert_next_run_clears(&root, &found, &at);
        }
    }
}

#[test]
fn a_database_on_a_full_disk_can_be_read_and_changes_are_refused() {
    // The disk has no space left, even for a journal or a WAL.
    assert_refused_when_full(|_, ballast| while ballast.write_all(&[1; 512]).is_ok() {});
}

#[test]
fn with_20_kb_of_free_space_the_error_names_the_full_disk_in_every_journal_mode() {
    assert_refused_when_full(|image, ballast| {
        while image.free_bytes() > 20_000 {
            let bytes = vec![1; (image.free_bytes() as usize - 16_000) / 2 + 512];
            ballast.write_all(&bytes).unwrap();
            ballast.sync_all().unwrap();
        }
    });
}

#[test]
fn changes_of_a_database_on_a_read_only_disk_are_refused() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    fs::remove_dir(root.join("lost+found")).unwrap();
    put_on(&Case::new(Scenario::Append, Journal::Delete), &root);
    image.remount_read_only();
    for scenario in Scenario::ALL {
        run(&root, scenario.args()).failed(1, "x.db is read-only");
    }
    let connection =
        Connection::open_with_flags(root.join("x.db"), rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY);
    let rows: i64 =
        connection.unwrap().query_row("SELECT count(*) FROM plain", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 400);
}
