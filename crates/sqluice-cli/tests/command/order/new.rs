//! The order in which a new file is written, synced and renamed, as strace sees it, and the states that a power failure may leave.
//!
//! SIGKILL can't show a missing fsync, because written data stay in the kernel. So the calls are recorded, and every prefix of
//! them is replayed with the losses that a disk may have:
//!
//! ```text
//!  write A   write B   fsync file   rename   fsync folder
//!  |---------------- prefix ------------|                    then a power failure
//! ```
//!
//! After a prefix, writes that were not synced may be lost, all of them or any part, and the rename may have happened or not. The target
//! must be absent, or a complete database. Wrong orders of the calls must fail this test.
//!
//! Other tests kill the run at a system call, or let a call fail.

#![allow(clippy::print_stdout, reason = "a test that fails shows what it saw and how to repeat it")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use crate::support::strace::{Call, calls, go_on, inject, start_and_stop, strace};
use crate::support::{
    Ran, Random, checksum, folder, generate, integrity, names, run, temporaries, wait_for_writes,
};
use sqluice_testkit::effort::tries;

/// An operation in the folder of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Op {
    Create,
    Write { offset: u64, bytes: u64 },
    SyncFile,
    Rename { replaces: bool },
    SyncFolder,
}

/// Returns the operations of a run that makes `folder`/x.db.
fn record(folder: &Path, args: &[&str]) -> Vec<Op> {
    let target = folder.join("x.db");
    let log = tempfile::NamedTempFile::new().unwrap();
    let log_name = log.path().to_str().unwrap();
    let mut all = vec!["generate", target.to_str().unwrap()];
    all.extend(args);
    strace(folder, &["--seccomp-bpf", "-y", "-s", "0", "-e", "trace=%desc,%file", "-o", log_name], &all).ok();
    parse(&fs::read_to_string(log.path()).unwrap(), folder, &target)
}

fn parse(log: &str, folder: &Path, target: &Path) -> Vec<Op> {
    let (folder, target) = (folder.to_str().unwrap(), target.to_str().unwrap());
    let temporary = format!("{folder}/.x.db.sqluice-tmp-");
    let mut ops = Vec::new();
    let mut threads = Vec::new();
    for call in calls(log) {
        let Call { thread, name, args, result } = &call;
        let is_of = |path: &str| args.contains(path);
        if !is_of(folder) || *result < 0 {
            continue;
        }
        let op = match &**name {
            "openat" if is_of("O_CREAT") => {
                assert!(is_of(&temporary) && is_of("O_EXCL"), "makes another file: {args}");
                Op::Create
            }
            "openat" => {
                assert!(is_of("O_RDONLY"), "opens something for writing: {args}");
                continue;
            }
            "pwritev" | "pwrite64" => {
                assert!(is_of(&temporary), "writes to another file: {args}");
                let offset = args.rsplit(", ").next().unwrap().parse().unwrap();
                Op::Write { offset, bytes: *result as u64 }
            }
            "fsync" | "fdatasync" if is_of(&format!("<{folder}>")) => Op::SyncFolder,
            "fsync" | "fdatasync" => Op::SyncFile,
            "rename" | "renameat" | "renameat2" => {
                assert!(is_of(&temporary) && is_of(target), "renames something else: {args}");
                Op::Rename { replaces: !is_of("RENAME_NOREPLACE") }
            }
            "execve" | "flock" | "fchmod" | "fcntl" | "fstat" | "newfstatat" | "stat" | "lstat" | "statx"
            | "readlink" | "statfs" | "getdents64" | "close" | "getcwd" => continue,
            _ => panic!("what does this do to the folder? {name}({args})"),
        };
        ops.push(op);
        threads.push(*thread);
    }
    threads.dedup();
    assert_eq!(threads.len(), 1, "one thread writes, so that this order is the order");
    ops
}

/// Asserts the order that `NewFile` promises.
fn assert_order(ops: &[Op], whole_bytes: u64) {
    let [Op::Create, writes @ .., Op::SyncFile, Op::Rename { replaces: false }, Op::SyncFolder] = ops else {
        panic!("create, write, sync, rename, sync the folder: {ops:?}");
    };
    let mut end = 4096.min(whole_bytes);
    for (index, write) in writes.iter().enumerate() {
        let Op::Write { offset, bytes } = *write else { panic!("all writes, then the rest: {ops:?}") };
        if index + 1 == writes.len() {
            assert_eq!(offset, 0, "page 1 comes last");
            end = end.max(bytes);
        } else {
            assert!(offset > 0, "page 1 comes last");
            end = offset + bytes;
        }
    }
    assert_eq!(end, whole_bytes);
    let written: u64 =
        writes.iter().map(|write| if let Op::Write { bytes, .. } = write { *bytes } else { 0 }).sum();
    assert_eq!(written, whole_bytes, "every byte once");
}

/// The complete file, and a folder in which files after a power failure are checked.
struct Disk {
    whole: Vec<u8>,
    checksum: String,
    scratch: PathBuf,
}

impl Disk {
    fn new(folder: &Path) -> Disk {
        let target = folder.join("x.db");
        assert_eq!(integrity(&target), "ok");
        let disk = Disk {
            whole: fs::read(&target).unwrap(),
            checksum: checksum(&target),
            scratch: folder.join("scratch.db"),
        };
        fs::remove_file(target).unwrap();
        disk
    }

    /// Returns the file after the writes that are not `lost`. If `size_kept`, lost bytes count in the size of the file, and are zeros.
    fn file(&self, writes: &[(u64, u64)], lost: &[usize], size_kept: bool) -> Vec<u8> {
        let mut file = Vec::new();
        for (index, &(offset, bytes)) in writes.iter().enumerate() {
            let (start, end) = (offset as usize, (offset + bytes) as usize);
            let is_lost = lost.contains(&index);
            if file.len() < end && (!is_lost || size_kept) {
                file.resize(end, 0);
            }
            if !is_lost {
                file[start..end].copy_from_slice(&self.whole[start..end]);
            }
        }
        file
    }

    fn is_whole(&self, content: &[u8]) -> bool {
        fs::write(&self.scratch, content).unwrap();
        let sound = integrity(&self.scratch) == "ok" && content.len() == self.whole.len();
        sound && {
            let checked = run(Path::new("/"), ["check", "--json", self.scratch.to_str().unwrap()]);
            checked.status.success() && checked.json()["checksum"] == *self.checksum
        }
    }

    /// Replays every prefix of the operations with power failures. An error describes a wrong file at the target.
    fn replay(&self, ops: &[Op]) -> Result<(), String> {
        for end in 0..=ops.len() {
            let done = &ops[..end];
            let is_synced = |at: usize, sync: Op| done[at..].contains(&sync);
            let Some(renamed) = done.iter().position(|op| matches!(op, Op::Rename { .. })) else {
                // Before the rename, the target does not exist, which is always right.
                continue;
            };
            let mut writes = Vec::new();
            let mut unsynced = Vec::new();
            for (at, op) in done.iter().enumerate() {
                if let Op::Write { offset, bytes } = *op {
                    if !is_synced(at, Op::SyncFile) {
                        unsynced.push(writes.len());
                    }
                    writes.push((offset, bytes));
                }
            }
            // Without a sync of the folder the rename may not have happened: then no file exists, which is correct as long as the run has
            // not reported success.
            if end == ops.len() && !is_synced(renamed, Op::SyncFolder) {
                return Err("the run has ended well, and the target may be absent".to_owned());
            }
            // If the rename has happened, all writes that were not synced are lost, or none, or one, or all but one.
            let mut losses = vec![unsynced.clone(), Vec::new()];
            for one in &unsynced {
                losses.push(vec![*one]);
                losses.push(unsynced.iter().copied().filter(|other| other != one).collect());
            }
            losses.sort();
            losses.dedup();
            for lost in losses {
                for size_kept in [false, true] {
                    if !self.is_whole(&self.file(&writes, &lost, size_kept)) {
                        let lost: Vec<_> = lost.iter().map(|&index| writes[index]).collect();
                        return Err(format!(
                            "after {done:?}, with {lost:?} lost, the target is there and not whole"
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

#[test]
fn a_power_failure_while_a_database_is_created_leaves_no_target_or_the_whole_database() {
    for args in [
        &["--preset", "user", "--rows", "1.5M", "-j2"][..],
        // Direct I/O does not accept pages of this size.
        &["--preset", "user", "--rows", "500k", "-j2", "--page-size", "512"],
        &["--preset", "user", "--rows", "0"],
    ] {
        let folder = folder();
        let ops = record(folder.path(), args);
        let disk = Disk::new(folder.path());
        println!("{args:?}: {ops:?}");
        assert_order(&ops, disk.whole.len() as u64);
        disk.replay(&ops).unwrap();
    }
}

#[test]
fn a_simulated_power_failure_reveals_wrong_orders_of_writes_and_syncs() {
    let folder = folder();
    let ops = record(folder.path(), &["--preset", "user", "--rows", "1.5M"]);
    let disk = Disk::new(folder.path());
    disk.replay(&ops).unwrap();

    let at = |wanted: fn(&Op) -> bool| ops.iter().position(wanted).unwrap();
    let sync = at(|op| *op == Op::SyncFile);
    let rename = at(|op| matches!(op, Op::Rename { .. }));
    let sync_folder = at(|op| *op == Op::SyncFolder);
    let moved = |from: usize, to: usize| {
        let mut ops = ops.clone();
        let op = ops.remove(from);
        ops.insert(to, op);
        ops
    };
    let without = |at: usize| {
        let mut ops = ops.clone();
        ops.remove(at);
        ops
    };
    let not_whole = "the target is there and not whole";
    let absent = "the target may be absent";
    let wrong = [
        ("fsync after the rename", moved(sync, rename), not_whole),
        ("no fsync", without(sync), not_whole),
        ("fsync before page 1", moved(sync, sync - 1), not_whole),
        ("fsync before the last chunk", moved(sync, sync - 2), not_whole),
        ("a chunk after the rename", moved(2, rename), not_whole),
        ("page 1 after the fsync", moved(sync - 1, sync), not_whole),
        ("the name first", moved(rename, 1), not_whole),
        ("a chunk left out", without(2), not_whole),
        ("no fsync of the folder", without(sync_folder), absent),
        ("fsync of the folder before the rename", moved(sync_folder, rename), absent),
    ];
    // With SQLUICE_EFFORT=quick only four of the ten wrong orders are tried, from a random one on.
    let first = Random::new().next() as usize % wrong.len();
    for (what, ops, expected) in wrong.into_iter().cycle().skip(first).take(tries(4, 10, 10)) {
        let error = disk.replay(&ops).expect_err(what);
        assert!(error.contains(expected), "{what}: {error}");
    }
}

#[test]
fn a_run_killed_at_any_system_call_leaves_no_target_or_the_whole_database() {
    let folder = folder();
    let folder = folder.path();
    let args = generate("x.db", "1500k");
    run(folder, args).ok();
    let whole = checksum(&folder.join("x.db"));
    fs::remove_file(folder.join("x.db")).unwrap();
    let calls = [
        ("flock", 1),
        ("pwritev", 1),
        ("pwritev", 2),
        ("pwritev", 4),
        ("fsync", 1),
        ("renameat2", 1),
        ("fsync", 2),
    ];
    for (call, nth) in calls {
        let ran = inject(folder, call, "signal=KILL", nth, &args);
        let inject = format!("{call} {nth}");
        assert_eq!(ran.status.signal(), Some(9), "{inject}: {ran:?}");
        let named = folder.join("x.db").exists();
        assert_eq!(named, (call, nth) == ("fsync", 2), "{inject}");
        if named {
            assert_eq!(checksum(&folder.join("x.db")), whole);
            fs::remove_file(folder.join("x.db")).unwrap();
        } else {
            assert_eq!(temporaries(folder, "x.db").len(), 1, "{inject}");
        }
        run(folder, generate("x.db", "3")).ok();
        assert_eq!(names(folder), ["x.db"], "{inject}");
        fs::remove_file(folder.join("x.db")).unwrap();
    }
}

/// Runs `generate` with a system call that fails.
fn with_fault(folder: &Path, fault: &str, flags: &[&str]) -> Ran {
    let call = fault.split(':').next().unwrap();
    let (trace, inject) = (format!("trace={call}"), format!("inject={fault}"));
    let args = [&generate("x.db", "1500k")[..], flags].concat();
    strace(folder, &["--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject], &args)
}

#[test]
fn a_failed_system_call_is_an_error_that_leaves_no_file() {
    for (fault, stderr) in [
        (
            "pwritev:error=ENOSPC:when=3",
            "error: cannot write x.db\n  caused by: No space left on device (os error 28)\n\nhint: free some space or choose \
             another folder; nothing was left behind\n",
        ),
        (
            "pwritev:error=EIO:when=2",
            "error: cannot write x.db\n  caused by: Input/output error (os error 5)\n",
        ),
        (
            "fsync:error=EIO:when=1",
            "error: cannot write x.db\n  caused by: Input/output error (os error 5)\n",
        ),
        (
            "renameat2:error=EEXIST",
            "error: x.db already exists\n\nhint: another program made it meanwhile: move it away, or name another file\n",
        ),
        (
            "renameat2:error=EIO",
            "error: cannot give its name to x.db\n  caused by: Input/output error (os error 5)\n",
        ),
    ] {
        let folder = folder();
        let ran = with_fault(folder.path(), fault, &[]);
        assert_eq!((ran.code(), &*ran.stdout, &*ran.stderr), (Some(1), "", stderr), "{fault}");
        assert_eq!(names(folder.path()), [""; 0], "{fault}");
    }
}

#[test]
fn a_failed_sync_of_the_folder_is_an_error_that_keeps_the_database() {
    let folder = folder();
    let ran =
        with_fault(folder.path(), "fsync:error=EIO:when=2", &[]).failed(1, "x.db is complete, but its name");
    assert!(ran.stderr.contains("\n\nhint: "), "{ran:?}");
    assert_eq!(names(folder.path()), ["x.db"]);
    assert_eq!(integrity(&folder.path().join("x.db")), "ok");
}

#[test]
fn a_run_succeeds_if_the_file_system_lacks_locks_direct_writes_renameat2_or_syncs_of_folders() {
    let mut checksums = Vec::new();
    let usual = with_fault(folder().path(), "pwritev:error=EINTR:when=1", &["--json"]).ok().json();
    let is_direct = usual["output"] == "direct";
    for (fault, output) in [
        ("flock:error=ENOLCK", "direct"),
        ("fcntl:error=EINVAL", "buffered"),
        ("pwritev:error=EINVAL:when=1", "buffered"),
        ("pwritev:error=EINVAL:when=3", "buffered"),
        ("pwritev:error=EINTR:when=2+2", "direct"),
        ("renameat2:error=EINVAL", "direct"),
        ("renameat2:error=ENOSYS", "direct"),
        ("fsync:error=EINVAL:when=2", "direct"),
    ] {
        if !is_direct && output == "buffered" {
            // Direct writes are not possible on this disk in the first place.
            continue;
        }
        let folder = folder();
        let ran = with_fault(folder.path(), fault, &["--json"]).ok();
        assert_eq!(names(folder.path()), ["x.db"], "{fault}");
        assert_eq!(ran.json()["output"], if is_direct { output } else { "buffered" }, "{fault}");
        checksums.push(checksum(&folder.path().join("x.db")));
    }
    checksums.dedup();
    assert_eq!(checksums.len(), 1);
}

#[test]
fn a_target_created_during_the_run_is_not_replaced_even_without_renameat2() {
    // Another program creates the target while strace holds the run before its rename.
    let folder = folder();
    let folder = folder.path();
    let mut held = start_and_stop(
        folder,
        "fsync",
        &["-e", "trace=fsync,renameat2", "-e", "inject=renameat2:error=ENOSYS"],
        &generate("x.db", "1k"),
    );
    wait_for_writes(folder, "x.db", &mut held);
    fs::write(folder.join("x.db"), "precious").unwrap();
    go_on(held).failed(1, "x.db already exists");
    assert_eq!(names(folder), ["x.db"]);
    assert_eq!(fs::read(folder.join("x.db")).unwrap(), b"precious");
}
