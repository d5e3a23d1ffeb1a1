//! SIGKILL while a database is replaced in place, beside a program that opens and closes the database: afterwards the database has the old
//! content or the new one, in the old journal mode. The next run removes leftovers and names them. Only the new database of `generate
//! --overwrite` may still be in rollback mode.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use sqluice_testkit::effort::tries;

use crate::support::old::{Content, Left, ROWS, content, journal_mode, make_more, rows_and_mode};
use crate::support::unseen::{open_folder, sqluice as contained};
use crate::support::{Ran, Random, end, folder, generate, spawn, sqluice, tell, temporaries};

const LEFT: [Left; 4] = [Left::Rollback, Left::HotJournal, Left::Wal, Left::StaleWal];

/// The method by which a run replaces the database.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Rename,
    Transaction,
}

/// The work of a run: a copy, a merge, or `generate --overwrite`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Copy,
    Merge,
    Overwrite,
}

impl What {
    fn args(self, more: &Path) -> Vec<String> {
        let more = more.to_str().unwrap();
        let args = match self {
            What::Copy => vec!["copy", "x.db", "x.db", "--compact"],
            What::Merge => vec!["merge", "x.db", more],
            What::Overwrite => [&generate("x.db", "3000")[..], &["--overwrite"]].concat(),
        };
        args.into_iter().chain(["--busy-timeout", "60"]).map(str::to_owned).collect()
    }
}

/// Returns the command for a method; `None` if the test can't hide other processes from the run, which the method
/// `Transaction` needs.
fn command(by: By, folder: &Path, args: &[String]) -> Option<Command> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = match by {
        By::Rename => {
            let mut command = sqluice(folder);
            command.args(args).arg("--assume-unused");
            command
        }
        By::Transaction => contained(folder, &args)?,
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command)
}

fn start(by: By, folder: &Path, args: &[String]) -> Option<Child> {
    let mut command = command(by, folder, args)?;
    Some(spawn(&mut command))
}

fn run(by: By, folder: &Path, args: &[String]) -> Option<Ran> {
    start(by, folder, args).map(end)
}

/// Opens the database, reads, and closes it, until told to stop.
fn open_and_close(database: &Path, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        if let Ok(connection) = Connection::open(database) {
            let _ = connection.busy_timeout(Duration::from_secs(60));
            let _ = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        }
        std::thread::sleep(Duration::from_millis(7));
    }
}

/// Asserts that a killed run has left the old content or the new one, in the right journal mode. Returns `true` for
/// new rows, which a copy does not have.
#[track_caller]
fn assert_whole(what: What, left: Left, database: &Path, at: &str) -> bool {
    let mode = if left.is_wal() { "wal" } else { "delete" };
    if what != What::Overwrite {
        let (rows, found) = rows_and_mode(database).unwrap_or_else(|error| panic!("{at}: {error}"));
        let new = if what == What::Merge { 2 * ROWS } else { ROWS };
        assert!([ROWS, new].contains(&rows) && found == mode, "{at}: {rows} rows in mode {found}");
        return rows == new && what == What::Merge;
    }
    let found = (content(database), journal_mode(database));
    // --overwrite makes a new database, whose journal mode is set last. So it may still be in rollback mode.
    let new = Content::New(3000);
    let is_new = found.0 == new && (found.1 == mode || found.1 == "delete");
    assert!(is_new || found == (Content::Old, mode.to_owned()), "{at}: {found:?}");
    is_new
}

#[test]
fn a_killed_replacement_in_place_leaves_the_old_or_the_new_content_in_the_old_journal_mode() {
    let mut random = Random::new();
    let elsewhere = folder();
    let more = elsewhere.path().join("more.db");
    make_more(&more);
    let rounds = tries(1, 4, 30);
    let (mut kills, mut left_behind, mut new) = (0, 0, 0);
    for by in [By::Rename, By::Transaction] {
        for what in [What::Copy, What::Merge, What::Overwrite] {
            let args = what.args(&more);
            let measured = open_folder();
            Left::Wal.make(measured.path());
            let began = Instant::now();
            let Some(ran) = run(by, measured.path(), &args) else { continue };
            ran.ok();
            let seconds = began.elapsed().as_secs_f64();
            for (left, round) in LEFT.into_iter().flat_map(|left| (0..rounds).map(move |round| (left, round)))
            {
                let at = format!("{what:?} by {by:?}, {left:?}, round {round}");
                let folder = open_folder();
                let folder = folder.path();
                let database = folder.join("x.db");
                left.make(folder);
                let stop = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    // In some rounds no other program opens the database.
                    if round % 2 == 1 {
                        scope.spawn(|| open_and_close(&database, &stop));
                    }
                    let mut child = start(by, folder, &args).unwrap();
                    std::thread::sleep(Duration::from_secs_f64(seconds * (0.1 + random.fraction() * 0.9)));
                    child.kill().unwrap();
                    end(child);
                    stop.store(true, Ordering::Relaxed);
                });
                kills += 1;
                let leftovers = temporaries(folder, "x.db");
                left_behind += usize::from(!leftovers.is_empty());
                for leftover in &leftovers {
                    let mode = std::fs::metadata(leftover).unwrap().permissions();
                    let mode = std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777;
                    assert!([0o600, 0o644].contains(&mode), "{at}: {mode:o}");
                }
                let is_new = assert_whole(what, left, &database, &at);
                new += usize::from(is_new);
                // If the killed run had finished, a second merge would add the rows twice. So the next run overwrites the new content.
                let again = if is_new { What::Overwrite } else { what };
                let ran = run(by, folder, &again.args(&more)).unwrap().ok();
                for leftover in &leftovers {
                    let name = leftover.file_name().unwrap().to_str().unwrap();
                    assert!(ran.stderr.contains(&format!("removed ./{name}")), "{at}: {ran:?}");
                }
                assert_eq!(crate::support::names(folder), ["x.db"], "{at}");
            }
        }
    }
    tell(&format!(
        "{kills} kills of runs in place: {left_behind} left a temporary file, {new} the new content"
    ));
}
