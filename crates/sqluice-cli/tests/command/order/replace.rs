//! The order in which a new database replaces an old one, as strace sees it: the run is killed at system calls, calls fail, and all calls
//! are replayed with a power failure after each.
//!
//! ```text
//!  write T   fsync T   write x.db-journal   unlink x.db-wal   fsync folder   rename T to x.db   fsync folder
//!  |------------------------- prefix ---------------------|                  then a power failure
//! ```
//!
//! T is the temporary file with the new database. After a prefix, writes and names that were not synced may be lost or not.
//!
//! SQLite's own calls are included. After each call, SQLite must find all of the old database at the target or all of the new one. Wrong
//! orders of the calls must fail this test.

#![allow(clippy::print_stdout, reason = "a test that fails shows what it saw and how to repeat it")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::support::existing::spread;
use crate::support::old::{Content, LEFT, Left, content, journal_mode};
use sqluice_testkit::effort::tries;

use crate::support::strace::{Call, calls, inject, strace, strings};
use crate::support::{Ran, Random, folder, generate, names, run, temporaries};

const ROWS: &str = "3k";
const NEW: Content = Content::New(3000);

/// A function that checks a database after a power failure, and returns the fault, if there is one. The second argument is `true` if the
/// run had ended before.
pub(crate) type Judge<'j> = dyn Fn(&Path, bool) -> Option<String> + 'j;

/// The effect of a system call on the folder. Files have numbers, since their names change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Create { name: String, file: usize },
    Write { file: usize, offset: usize, bytes: Vec<u8> },
    Truncate { file: usize, length: usize },
    SyncFile { file: usize },
    Remove { name: String },
    Rename { from: String, to: String },
    SyncFolder,
}

/// A system call to kill at or to let fail: its name, and its number among the calls of this name in its thread.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) call: String,
    pub(crate) nth: usize,
    pub(crate) op: Op,
}

/// The files of a folder before a run, and the operations of the run.
pub(crate) struct Recorded {
    pub(crate) before: BTreeMap<String, Vec<u8>>,
    pub(crate) moments: Vec<Moment>,
}

/// Runs `generate --overwrite` in a folder with an old database.
fn record(left: Left) -> Recorded {
    let folder = folder();
    left.make(folder.path());
    record_in(folder.path(), |flags| strace(folder.path(), flags, &overwrite()))
}

/// Records the operations of a run on the files of a folder. `strace` starts the run under strace with the given flags.
pub(crate) fn record_in(folder: &Path, strace: impl FnOnce(&[&str]) -> Ran) -> Recorded {
    let files = names(folder);
    let read = |name: &String| (name.clone(), fs::read(folder.join(name)).unwrap());
    let before: BTreeMap<_, _> = files.iter().map(read).collect();
    let log = tempfile::NamedTempFile::new().unwrap();
    let flags = [
        "--seccomp-bpf",
        "-y",
        "-x",
        "-s",
        "10000000",
        "-e",
        "trace=%desc,%file",
        "-o",
        log.path().to_str().unwrap(),
    ];
    strace(&flags).ok();
    let moments = moments(&fs::read_to_string(log.path()).unwrap(), folder, files);
    Recorded { before, moments }
}

fn overwrite() -> Vec<&'static str> {
    [&generate("x.db", ROWS)[..], &["--overwrite"]].concat()
}

fn moments(log: &str, folder: &Path, files: Vec<String>) -> Vec<Moment> {
    let folder = fs::canonicalize(folder).unwrap();
    let folder = folder.to_str().unwrap();
    let mut names: BTreeMap<String, usize> =
        files.into_iter().enumerate().map(|(file, name)| (name, file)).collect();
    let mut file_count = names.len();
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut moments = Vec::new();
    let mut renamed = false;
    for call in &calls(log) {
        let nth = counts.entry((call.thread, call.name.clone())).or_default();
        *nth += 1;
        // After the rename, no call may use the journal or the log by name, not even a call that fails: by then the file may be another
        // program's. Closing the log of the old database, which has no name any more, and reading which files processes have open are
        // allowed.
        let is_of_process = call.name.starts_with("readlink") && call.args.contains("\"/proc/");
        let is_by_name = call.name != "close" && !is_of_process && call.args.contains("x.db-");
        assert!(!renamed || !is_by_name, "after the end: {}({})", call.name, call.args);
        let Some(op) = op(call, folder, &mut names, &mut file_count) else { continue };
        renamed |= matches!(op, Op::Rename { .. });
        moments.push(Moment { call: call.name.clone(), nth: *nth, op });
    }
    moments
}

/// Returns the operation of a system call on the folder, if it has one, and updates `names`, the numbers of the files by name.
fn op(call: &Call<'_>, folder: &str, names: &mut BTreeMap<String, usize>, files: &mut usize) -> Option<Op> {
    let Call { name, args, result, .. } = call;
    // The -shm file is ignored: SQLite rebuilds it after a crash.
    if *result < 0 || args.contains("-shm") {
        return None;
    }
    let descriptor = args.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    let file = |names: &BTreeMap<String, usize>| {
        let (path, rest) = descriptor?;
        let name = path.strip_prefix(folder)?.strip_prefix('/')?;
        assert!(!rest.starts_with("(deleted)"), "{name}({args}) of a file that has no name any more");
        Some(names[name])
    };
    // The old database, which has no name any more, is taken out of WAL mode for processes that opened it just before the rename.
    if name == "pwrite64" && args.ends_with(r#">(deleted), "\x01\x01", 2, 18"#) {
        return None;
    }
    let named = |args: &str| {
        let path = String::from_utf8(strings(args)).unwrap();
        Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let last_number = || args.rsplit(", ").next().unwrap().parse().unwrap();
    Some(match &**name {
        "openat" if args.contains("O_CREAT") && args.contains("x.db") => {
            let name = named(args);
            // SQLite checks if a log exists.
            if names.contains_key(&name) {
                return None;
            }
            names.insert(name.clone(), *files);
            *files += 1;
            Op::Create { name, file: *files - 1 }
        }
        "pwritev" | "pwrite64" => {
            let bytes = strings(args);
            assert_eq!(bytes.len() as i64, *result);
            Op::Write { file: file(names)?, offset: last_number(), bytes }
        }
        "write" => {
            assert_eq!(file(names), None, "writes where it can't be known: {args}");
            return None;
        }
        "ftruncate" => Op::Truncate { file: file(names)?, length: last_number() },
        "fsync" | "fdatasync" if descriptor.is_some_and(|(path, _)| path == folder) => Op::SyncFolder,
        "fsync" | "fdatasync" => Op::SyncFile { file: file(names)? },
        "unlink" | "unlinkat" => {
            let name = named(args);
            assert!(names.remove(&name).is_some(), "{name} was not there");
            Op::Remove { name }
        }
        "rename" | "renameat" | "renameat2" => {
            let (from, to) = args.split_once("\", ").unwrap();
            let (from, to) = (named(&format!("{from}\"")), named(to));
            let file = names.remove(&from).unwrap();
            names.insert(to.clone(), file);
            Op::Rename { from, to }
        }
        _ => return None,
    })
}

/// Returns the files of the folder after the operations that are not `lost`.
fn folder_after(before: &BTreeMap<String, Vec<u8>>, ops: &[Op], lost: &[usize]) -> BTreeMap<String, Vec<u8>> {
    let mut files: BTreeMap<usize, Vec<u8>> = before.values().cloned().enumerate().collect();
    let mut names: BTreeMap<&str, usize> = before.keys().map(String::as_str).zip(0..).collect();
    for (_, op) in ops.iter().enumerate().filter(|(at, _)| !lost.contains(at)) {
        match op {
            Op::Create { name, file } => {
                names.insert(name, *file);
            }
            Op::Write { file, offset, bytes } => {
                let file = files.entry(*file).or_default();
                file.resize(file.len().max(offset + bytes.len()), 0);
                file[*offset..][..bytes.len()].copy_from_slice(bytes);
            }
            Op::Truncate { file, length } => files.entry(*file).or_default().resize(*length, 0),
            Op::Remove { name } => {
                names.remove(&**name);
            }
            Op::Rename { from, to } => {
                // The new name may be on the disk although the name of the temporary file never was.
                names.remove(&**from);
                names.insert(to, created(ops, from));
            }
            Op::SyncFile { .. } | Op::SyncFolder => {}
        }
    }
    names.into_iter().map(|(name, file)| (name.to_owned(), files.remove(&file).unwrap_or_default())).collect()
}

/// Returns the number of the file that was created with a name.
fn created(ops: &[Op], wanted: &str) -> usize {
    let made = ops.iter().rev().find_map(|op| match op {
        Op::Create { name, file } if name == wanted => Some(*file),
        _ => None,
    });
    made.expect("what is renamed was made")
}

/// Returns the numbers of the operations that a power failure after all of `ops` may lose.
fn volatile(ops: &[Op]) -> Vec<usize> {
    let lasts = |at: usize| match &ops[at] {
        Op::Write { file, .. } | Op::Truncate { file, .. } => {
            ops[at..].contains(&Op::SyncFile { file: *file })
        }
        Op::Create { .. } | Op::Remove { .. } | Op::Rename { .. } => ops[at..].contains(&Op::SyncFolder),
        Op::SyncFile { .. } | Op::SyncFolder => true,
    };
    (0..ops.len()).filter(|&at| !lasts(at)).collect()
}

/// Replays every prefix of the operations with power failures. An error describes a wrong database at the target.
fn replay(before: &BTreeMap<String, Vec<u8>>, ops: &[Op], old: &Content) -> Result<(), String> {
    replay_for(before, ops, &|database, is_done| {
        let found = content(database);
        (found != NEW && (is_done || found != *old)).then(|| format!("{found:?}"))
    })
}

/// Replays every prefix of the operations with power failures. An error describes a fault that the judge finds.
pub(crate) fn replay_for(
    before: &BTreeMap<String, Vec<u8>>,
    ops: &[Op],
    judge: &Judge<'_>,
) -> Result<(), String> {
    let mut seen: Vec<BTreeMap<String, Vec<u8>>> = Vec::new();
    for end in 0..=ops.len() {
        let done = &ops[..end];
        let volatile = volatile(done);
        let mut losses = vec![Vec::new(), volatile.clone()];
        for one in &volatile {
            losses.push(vec![*one]);
            // With a rename, the creation of the renamed file is kept as well.
            let is_kept = |at: usize| match (&done[*one], &done[at]) {
                (Op::Rename { from, .. }, Op::Create { name, .. }) => from == name,
                _ => at == *one,
            };
            losses.push(volatile.iter().copied().filter(|&at| !is_kept(at) && at != *one).collect());
        }
        losses.sort();
        losses.dedup();
        for lost in losses {
            let after = folder_after(before, done, &lost);
            // Only after the end must the new database be found, so a state that was judged before is judged again then.
            if end < ops.len() && seen.contains(&after) {
                continue;
            }
            if let Some(found) = judged(&after, end == ops.len(), judge) {
                let lost: Vec<_> = lost.iter().map(|&at| short(&done[at])).collect();
                let done: Vec<_> = done.iter().map(short).collect();
                return Err(format!("after {done:#?}, with {lost:#?} lost: {found}"));
            }
            seen.push(after);
        }
    }
    Ok(())
}

/// Returns the fault that `judge` finds in a folder with these files.
fn judged(files: &BTreeMap<String, Vec<u8>>, is_done: bool, judge: &Judge<'_>) -> Option<String> {
    let scratch = tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| folder());
    for (name, bytes) in files {
        fs::write(scratch.path().join(name), bytes).unwrap();
    }
    judge(&scratch.path().join("x.db"), is_done)
}

/// Returns a description of an operation, without the written bytes.
pub(crate) fn short(op: &Op) -> String {
    match op {
        Op::Write { file, offset, bytes } => {
            format!("Write {} bytes of file {file} at {offset}", bytes.len())
        }
        other => format!("{other:?}"),
    }
}

pub(crate) fn ops(recorded: &Recorded) -> Vec<Op> {
    recorded.moments.iter().map(|moment| moment.op.clone()).collect()
}

#[test]
fn a_power_failure_while_a_database_is_replaced_leaves_the_old_or_the_new_one() {
    for left in LEFT {
        let recorded = record(left);
        let ops = ops(&recorded);
        println!("{left:?}: {:#?}", ops.iter().map(short).collect::<Vec<_>>());
        let [.., Op::SyncFolder, Op::Rename { to, .. }, Op::SyncFolder] = &ops[..] else {
            panic!("{left:?}: sync the folder, rename, sync the folder, and nothing after that");
        };
        assert_eq!(to, "x.db");
        replay(&recorded.before, &ops, &left.content()).unwrap_or_else(|error| panic!("{left:?}: {error}"));
        if left.is_wal() {
            let stays_in_wal_mode = |database: &Path, is_done: bool| {
                let is_lost =
                    !is_done && content(database) == Content::Old && journal_mode(database) != "wal";
                is_lost.then(|| "the old database is no longer in WAL mode".to_owned())
            };
            replay_for(&recorded.before, &ops, &stays_in_wal_mode)
                .unwrap_or_else(|error| panic!("{left:?}: {error}"));
        }
    }
}

#[test]
fn a_simulated_power_failure_reveals_wrong_orders_of_writes_and_syncs() {
    for left in [Left::HotJournal, Left::StaleWal] {
        let recorded = record(left);
        let ops = ops(&recorded);
        let replay = |ops: &[Op]| replay(&recorded.before, ops, &left.content());
        let Op::Rename { from, .. } = &ops[ops.len() - 2] else { unreachable!("as above") };
        let temporary = created(&ops, from);
        let all = |keep: &dyn Fn(&Op) -> bool| ops.iter().filter(|op| keep(op)).cloned().collect::<Vec<_>>();
        let is_of_new = |op: &Op| match op {
            Op::Create { file, .. } | Op::Write { file, .. } | Op::SyncFile { file } => *file == temporary,
            Op::Rename { .. } => true,
            _ => false,
        };
        let is_of_sibling = |op: &Op| match op {
            Op::Create { name, .. } | Op::Remove { name } => Some(&name[4..]) == left.sibling(),
            _ => false,
        };
        let mut unsynced = all(&|op| *op != Op::SyncFolder);
        unsynced.push(Op::SyncFolder);
        let mut wrong = vec![
            ("the journal or log stays", all(&|op| !is_of_sibling(op))),
            ("the new file is not synced", all(&|op| *op != Op::SyncFile { file: temporary })),
            ("the folder is not synced at the end", ops[..ops.len() - 1].to_vec()),
        ];
        // In these tests the log has every page, so until the log is removed, SQLite reads the complete old content beside the new file. So
        // the two orders are wrong only with a hot journal.
        if left == Left::HotJournal {
            wrong.push(("nobody syncs the folder before the rename", unsynced));
            let early = [all(&is_of_new), all(&|op| !is_of_new(op))].concat();
            wrong.push(("the new file comes first", early));
        }
        for (what, wrong) in wrong {
            let error = replay(&wrong).expect_err(what);
            println!("{left:?}, {what}: {error}");
        }
    }
}

#[test]
fn an_overwriting_run_killed_at_any_system_call_leaves_the_old_or_the_new_database() {
    let mut random = Random::new();
    for left in LEFT {
        let recorded = record(left);
        let named =
            recorded.moments.iter().position(|moment| matches!(moment.op, Op::Rename { .. })).unwrap();
        // Kill at the rename and the calls beside it, and at as many of the others as the effort allows.
        let others = tries(2, usize::MAX, usize::MAX);
        let spread: Vec<usize> = match others < recorded.moments.len() {
            true => spread(&mut random, recorded.moments.len(), others),
            false => (0..recorded.moments.len()).collect(),
        };
        for (index, moment) in recorded.moments.iter().enumerate() {
            if index.abs_diff(named) > 1 && !spread.contains(&index) {
                continue;
            }
            let folder = folder();
            let folder = folder.path();
            left.make(folder);
            let ran = inject(folder, &moment.call, "signal=KILL", moment.nth, &overwrite());
            let at = format!("{left:?}, {} {}, {}", moment.call, moment.nth, short(&moment.op));
            assert_eq!(ran.status.signal(), Some(9), "{at}: {ran:?}");
            let expected = if index <= named { left.content() } else { NEW };
            let left_behind = names(folder);
            assert_eq!(temporaries(folder, "x.db").len(), usize::from((1..=named).contains(&index)), "{at}");
            if index > named {
                assert_eq!(left_behind, ["x.db"], "{at}");
            }
            let path = folder.join("x.db");
            if index <= named && left.is_wal() {
                assert_eq!(journal_mode(&path), "wal", "{at}");
            }
            assert_eq!(content(&path), expected, "{at}");
            // The next run succeeds.
            run(folder, overwrite()).ok();
            assert_eq!(names(folder), ["x.db"], "{at}");
            assert_eq!(content(&folder.join("x.db")), NEW, "{at}");
        }
    }
}

#[test]
fn a_system_call_that_fails_during_overwrite_leaves_the_old_database_in_its_journal_mode() {
    for left in [Left::Rollback, Left::Wal] {
        for (fault, stderr) in [
            (
                "pwritev:error=ENOSPC:when=1",
                "error: cannot write x.db\n  caused by: No space left on device (os error 28)\n\nhint: free some space or \
                 choose another folder; nothing was left behind\n",
            ),
            (
                "rename:error=EIO",
                "error: cannot replace x.db\n  caused by: Input/output error (os error 5)\n",
            ),
            (
                "fchmod:error=EPERM:when=1",
                "error: cannot create x.db\n  caused by: Operation not permitted (os error 1)\n\nhint: choose a folder that \
                 you may write to\n",
            ),
        ] {
            let folder = folder();
            left.make(folder.path());
            let call = fault.split(':').next().unwrap();
            let (trace, inject) = (format!("trace={call}"), format!("inject={fault}"));
            let flags = ["--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
            let ran = strace(folder.path(), &flags, &overwrite());
            assert_eq!((ran.code(), &*ran.stderr), (Some(1), stderr), "{left:?} {fault}");
            let path = folder.path().join("x.db");
            assert_eq!(temporaries(folder.path(), "x.db"), [] as [&Path; 0]);
            assert_eq!(journal_mode(&path), if left.is_wal() { "wal" } else { "delete" }, "{fault}");
            assert_eq!(content(&path), Content::Old, "{fault}");
        }
    }
}
