//! SIGKILL while an existing database is changed: at chosen system calls, a number of them in each phase of each scenario in each journal
//! mode, and at random times. SQLite must find all of the old database or all of the new one, in its journal mode, and the next run must
//! remove all leftovers.
//!
//! ```text
//!  calls   open, read, plan  | BEGIN IMMEDIATE, schema | pages past the end | fdatasync, roots, COMMIT | checkpoint, close
//!  phase       Opening       |        Working          |       Pages        |       Publishing         |    Committed
//! ```

#![allow(clippy::print_stdout, reason = "a test that fails shows what it saw and how to repeat it")]

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Instant;

use sqluice_testkit::effort::tries;

use crate::support::existing::{Case, Content, Journal, Scenario, spread};
use crate::support::strace::{Call, calls, inject, strace};
use crate::support::{Random, kill_when, run, start, tell};

/// Returns the number of kills in each phase.
fn kills() -> usize {
    tries(1, 12, 120)
}

/// The phase of a run, in the order of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// The run does not have the write lock yet.
    Opening,
    /// The run has the write lock, and has written nothing to the file.
    Working,
    /// New pages are written after the last page.
    Pages,
    /// The pages are synced, and become part of the database; in the SQL scenario, SQLite writes.
    Publishing,
    /// The transaction is committed; a checkpoint and closing follow.
    Committed,
}

/// Determines the phase of a run from its system calls.
struct Follower<'c> {
    case: &'c Case,
    phase: Phase,
}

impl Follower<'_> {
    /// Advances the phase by a system call that has ended.
    fn see(&mut self, call: &Call<'_>) {
        let Call { name, args, result, .. } = call;
        if *result < 0 {
            return;
        }
        let path =
            args.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or("", |(path, _)| path);
        let is = |suffix: &str| path.ends_with(&format!("/x.db{suffix}"));
        let writes = matches!(&**name, "pwrite64" | "pwritev");
        let next = match self.phase {
            Phase::Opening if name == "fcntl" && is_write_lock(args, self.case.journal) => Phase::Working,
            Phase::Working if self.case.scenario.writes_pages() => {
                let offset = || args.rsplit(", ").next().and_then(|offset| offset.parse::<u64>().ok());
                let is_page =
                    writes && is("") && offset().is_some_and(|offset| offset >= self.case.old_bytes);
                if is_page { Phase::Pages } else { return }
            }
            Phase::Working if writes && is(self.target()) => Phase::Publishing,
            Phase::Pages if matches!(&**name, "fsync" | "fdatasync") && is("") => Phase::Publishing,
            _ => return,
        };
        self.phase = next;
    }

    /// Returns the name of the file that SQLite writes last.
    fn target(&self) -> &'static str {
        if self.case.journal == Journal::Wal { "-wal" } else { "" }
    }

    /// Returns `true` if a call may be the commit. The last such call of a run is the commit.
    fn may_commit(&self, call: &Call<'_>) -> bool {
        match self.case.journal {
            Journal::Delete => call.name == "unlink" && call.args.contains("/x.db-journal\""),
            Journal::Wal => call.name == "pwrite64" && call.args.contains("/x.db-wal>"),
        }
    }
}

/// Returns `true` if the arguments of a call take the write lock: RESERVED in rollback mode, WAL_WRITE_LOCK in WAL mode.
fn is_write_lock(args: &str, journal: Journal) -> bool {
    let (file, byte) = match journal {
        Journal::Delete => ("/x.db>", "l_start=1073741825, l_len=1}"),
        Journal::Wal => ("/x.db-shm>", "l_start=120, l_len=1}"),
    };
    args.contains("F_SETLK, {l_type=F_WRLCK") && args.contains(file) && args.contains(byte)
}

/// A system call to kill at: its name, and its number among the calls of this name in its thread. No other thread reaches this number
/// earlier.
#[derive(Clone, Debug)]
struct Moment {
    call: String,
    nth: usize,
}

/// The system calls that strace records.
const TRACED: &str = "trace=%desc,%file";

/// Returns the system calls of a complete run on files of its folder, by the phase in which they begin.
fn moments(case: &Case) -> BTreeMap<Phase, Vec<Moment>> {
    let folder = case.folder();
    let log = folder.path().join("log");
    let flags = ["--seccomp-bpf", "-y", "-s", "100", "-e", TRACED, "-o", log.to_str().unwrap()];
    strace(folder.path(), &flags, case.args()).ok();
    let log = fs::read_to_string(log).unwrap();
    let of_folder = fs::canonicalize(folder.path()).unwrap();
    let of_folder = of_folder.to_str().unwrap();
    let mut follower = Follower { case, phase: Phase::Opening };
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut found = Vec::new();
    let mut named = HashSet::new();
    let mut committed = 0;
    for call in &calls(&log) {
        let nth = counts.entry((call.thread, call.name.clone())).or_default();
        *nth += 1;
        // strace counts the calls of each thread, and kills the run when the first thread reaches the number.
        let is_first = named.insert((call.name.clone(), *nth));
        if !call.args.contains(of_folder) && !call.args.contains("x.db") {
            continue;
        }
        if is_first {
            found.push((follower.phase, Moment { call: call.name.clone(), nth: *nth }));
        }
        follower.see(call);
        if follower.may_commit(call) {
            committed = found.len();
        }
    }
    assert!(follower.phase == Phase::Publishing && committed > 0, "{}: {:?}", case.name(), follower.phase);
    let mut moments: BTreeMap<Phase, Vec<Moment>> = BTreeMap::new();
    for (at, (phase, moment)) in found.into_iter().enumerate() {
        let phase = if at >= committed { Phase::Committed } else { phase };
        moments.entry(phase).or_default().push(moment);
    }
    moments
}

/// Describes what a kill left in the folder, for the histogram.
fn left(case: &Case, folder: &Path) -> String {
    let bytes = |name: &str| fs::metadata(folder.join(name)).map_or(0, |file| file.len());
    let parts = [
        (bytes("x.db") > case.old_bytes, "tail"),
        (bytes("x.db-journal") > 0, "journal"),
        (bytes("x.db-wal") > 0, "log"),
    ];
    let parts: Vec<&str> = parts.iter().filter(|(there, _)| *there).map(|(_, name)| *name).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(" and ") }
}

/// Checks the database that a killed run left, runs the command again, and checks the result. Returns the state after the kill.
fn assert_old_or_new(case: &Case, folder: &Path, at: &str) -> (Content, String) {
    let found = case.content(folder);
    let left = left(case, folder);
    let at = format!("{}, {at}, which left {left}", case.name());
    assert!(matches!(found, Content::Old | Content::New), "{at}: {found:?}");
    case.assert_next_run_clears(folder, &found, &at);
    (found, left)
}

/// Kills a run at a system call. Returns the phase, the content of the database and the files that were left; `None` if the run made no
/// such call.
fn kill_at(case: &Case, moment: &Moment) -> Option<(Phase, Content, String)> {
    let folder = case.folder();
    let folder = folder.path();
    let log = tempfile::NamedTempFile::new().unwrap();
    let inject = format!("inject={}:signal=KILL:when={}", moment.call, moment.nth);
    let log_name = log.path().to_str().unwrap();
    let flags = ["-y", "-s", "100", "-e", TRACED, "-o", log_name, "-e", &inject];
    let ran = strace(folder, &flags, case.args());
    if ran.status.success() {
        // With another order of threads, no thread made so many calls.
        return None;
    }
    assert_eq!(ran.status.signal(), Some(9), "{}, {inject}: {ran:?}", case.name());
    let log = fs::read_to_string(log.path()).unwrap();
    // A call that was killed as it began has no result in the log.
    let ended: Vec<&str> = log.lines().filter(|line| !line.ends_with("= ?")).collect();
    let log = ended.join("\n");
    let mut follower = Follower { case, phase: Phase::Opening };
    calls(&log).iter().for_each(|call| follower.see(call));
    let (found, left) = assert_old_or_new(case, folder, &inject);
    let phase = if found == Content::New { Phase::Committed } else { follower.phase };
    Some((phase, found, left))
}

/// Kills runs in each phase, and prints a histogram of the states that they left.
fn assert_kills_are_harmless(scenario: Scenario, journal: Journal) {
    let case = Case::new(scenario, journal);
    let mut random = Random::new();
    let moments = moments(&case);
    let wanted = kills();
    let mut seen: BTreeMap<Phase, BTreeMap<String, usize>> = BTreeMap::new();
    let count = |seen: &BTreeMap<Phase, BTreeMap<String, usize>>, phase| -> usize {
        seen.get(&phase).map_or(0, |kinds| kinds.values().sum())
    };
    for (&phase, moments) in &moments {
        // A kill may be missed, because the order of threads varies.
        for _ in 0..10 {
            let missing = wanted.saturating_sub(count(&seen, phase));
            for at in spread(&mut random, moments.len(), missing) {
                let Some((phase, found, left)) = kill_at(&case, &moments[at]) else { continue };
                *seen.entry(phase).or_default().entry(format!("{found:?}, left {left}")).or_default() += 1;
            }
        }
    }
    let kills: usize = moments.keys().map(|&phase| count(&seen, phase)).sum();
    let mut histogram = format!("{}: {kills} kills", case.name());
    for (phase, kinds) in &seen {
        for (kind, count) in kinds {
            histogram += &format!("\n{count:>5}  {:12} {kind}", format!("{phase:?}"));
        }
    }
    tell(&histogram);
    for &phase in moments.keys() {
        assert!(count(&seen, phase) >= wanted, "{}: {phase:?}", case.name());
    }
    let phases = if scenario.writes_pages() { 5 } else { 4 };
    assert_eq!(moments.len(), phases, "{}: {:?}", case.name(), moments.keys());
}

macro_rules! killed_at_calls {
    ($($name:ident: $scenario:ident, $journal:ident;)*) => {$(
        #[test]
        fn $name() {
            assert_kills_are_harmless(Scenario::$scenario, Journal::$journal);
        }
    )*};
}

killed_at_calls! {
    killed_while_a_table_is_added_in_rollback_mode: NewTable, Delete;
    killed_while_a_table_is_added_in_wal_mode: NewTable, Wal;
    killed_while_rows_are_appended_in_rollback_mode: Append, Delete;
    killed_while_rows_are_appended_in_wal_mode: Append, Wal;
    killed_while_rows_and_indexes_are_merged_in_rollback_mode: IndexedAppend, Delete;
    killed_while_rows_and_indexes_are_merged_in_wal_mode: IndexedAppend, Wal;
    killed_while_indexes_are_made_in_rollback_mode: Index, Delete;
    killed_while_indexes_are_made_in_wal_mode: Index, Wal;
    killed_while_rows_go_through_sqlite_in_rollback_mode: Sql, Delete;
    killed_while_rows_go_through_sqlite_in_wal_mode: Sql, Wal;
}

/// An event of a run that the test can observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    /// This time since the start, at most that of a complete run, has passed.
    Time,
    /// The database file has grown.
    Pages,
    /// SQLite has created a journal, or written to the log.
    Journal,
}

#[test]
fn a_load_that_is_killed_at_any_time_leaves_the_old_or_the_new_database() {
    let mut random = Random::new();
    for case in Case::all() {
        let measured = case.folder();
        let started = Instant::now();
        run(measured.path(), case.args()).ok();
        let whole = started.elapsed();
        let new_bytes = fs::metadata(measured.path().join("x.db")).unwrap().len();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for round in 0..tries(1, 12, 120) {
            let folder = case.folder();
            let bytes = |name: &str| fs::metadata(folder.path().join(name)).map_or(0, |file| file.len());
            let sign = [Sign::Time, Sign::Pages, Sign::Journal][random.next() as usize % 3];
            let (started, part) = (Instant::now(), random.fraction());
            let grown = (new_bytes.saturating_sub(case.old_bytes) as f64 * part) as u64;
            kill_when(start(folder.path(), case.args()), || match sign {
                Sign::Time => started.elapsed() >= whole.mul_f64(part),
                Sign::Pages => bytes("x.db") > case.old_bytes + grown,
                Sign::Journal => bytes("x.db-journal") + bytes("x.db-wal") > 0,
            });
            let (found, left) = assert_old_or_new(&case, folder.path(), &format!("round {round}, {sign:?}"));
            *seen.entry(format!("{sign:?}: {found:?}, left {left}")).or_default() += 1;
        }
        let mut histogram = format!("{}: killed at any moment", case.name());
        for (kind, count) in &seen {
            histogram += &format!("\n{count:>5}  {kind}");
        }
        tell(&histogram);
    }
}

#[test]
fn a_database_whose_runs_are_killed_repeatedly_has_the_old_or_the_new_content() {
    for case in Case::all() {
        let moments = moments(&case);
        let folder = case.folder();
        let late = [Phase::Pages, Phase::Publishing, Phase::Working, Phase::Publishing];
        for (round, phase) in late.into_iter().enumerate() {
            let Some(moment) = moments.get(&phase).map(|moments| &moments[moments.len() * (round + 1) / 5])
            else {
                continue;
            };
            let ran = inject(folder.path(), &moment.call, "signal=KILL", moment.nth, case.args());
            let found = case.content(folder.path());
            let at = format!("{}, kill {round} at {phase:?}, {moment:?}", case.name());
            assert!(ran.status.signal() == Some(9) || ran.status.success(), "{at}: {ran:?}");
            assert!(matches!(found, Content::Old | Content::New), "{at}: {found:?}");
            if found == Content::New {
                break;
            }
        }
        let found = case.content(folder.path());
        case.assert_next_run_clears(folder.path(), &found, &case.name());
    }
}
