//! Runs that get a signal, and runs whose terminal or reader goes away.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::support::strace::{calls, inject, strace};
use crate::support::{
    Ran, Random, SQLUICE, WAITS, end, folder, generate, integrity, names, program, run, send, spawn,
    spawn_as_is, sqluice, start, wait_for_writes, wait_until, written_bytes,
};

/// Starts the command, and waits until its signal handlers are installed.
fn start_listening(folder: &Path, args: &[&str]) -> Child {
    let mut child = start(folder, args);
    let id = child.id();
    wait_until(&mut child, || listens(id));
    child
}

/// Starts a run and sends it a signal once `is_there` returns `true`. If the run has ended before, calls `clear` and tries again.
fn interrupted_when(
    signal: &str,
    start: impl Fn() -> Child,
    is_there: impl Fn() -> bool,
    clear: impl Fn(),
) -> Ran {
    for _ in 0..50 {
        let mut child = start();
        wait_until(&mut child, &is_there);
        send(&child, signal);
        let ran = end(child);
        if !ran.status.success() {
            return ran;
        }
        clear();
    }
    panic!("too late each time");
}

/// Returns how many system calls named `call` with `file` among their arguments each thread of a complete run makes, the largest number
/// first.
fn calls_of_threads(folder: &Path, call: &str, file: &str, args: &[&str]) -> Vec<usize> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let trace = format!("trace={call}");
    strace(
        folder,
        &["--seccomp-bpf", "-y", "-s", "0", "-e", &trace, "-o", log.path().to_str().unwrap()],
        args,
    )
    .ok();
    let log = fs::read_to_string(log.path()).unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for call in calls(&log).iter().filter(|call| call.args.contains(file)) {
        *counts.entry(call.thread).or_insert(0) += 1;
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_by_key(|count| std::cmp::Reverse(*count));
    counts
}

/// Returns `true` if a process has a handler for SIGXFSZ, the last handler that the command installs.
fn listens(id: u32) -> bool {
    const SIGXFSZ: u32 = 25;
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (SIGXFSZ - 1) & 1 == 1
}

#[track_caller]
fn assert_interrupted(ran: &Ran) {
    if ran.stderr.is_empty() {
        // With `--json`, the error is an object on standard output.
        let error = &ran.json()["error"];
        assert_eq!((ran.code(), &error["kind"]), (Some(130), &"interrupted".into()), "{ran:?}");
        return;
    }
    // The error of a command that writes all or nothing says that nothing was written. Other commands print the error alone.
    let said = ran.stderr.strip_suffix("; nothing was written\n").or_else(|| ran.stderr.strip_suffix('\n'));
    assert_eq!((ran.code(), &*ran.stdout, said), (Some(130), "", Some("error: interrupted")), "{ran:?}");
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn an_interrupted_generate_leaves_no_file() {
    let folder = folder();
    let folder = folder.path();
    for signal in ["INT", "TERM", "HUP"] {
        for flags in [&[][..], &["-j1"], &["--page-size", "1024"], &["--json"], &["-q"]] {
            let args = [&generate("x.db", "3M")[..], flags].concat();
            let ran = interrupted_when(
                signal,
                || start_listening(folder, &args),
                || written_bytes(folder, "x.db") > 0,
                || fs::remove_file(folder.join("x.db")).unwrap(),
            );
            assert_interrupted(&ran);
            assert_eq!(names(folder), [""; 0], "{signal} {flags:?}");
        }
    }
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn an_interrupted_load_leaves_no_file() {
    let folder = folder();
    let folder = folder.path();
    let line = format!("{0},{0}\n", "abcdefgh".repeat(10));
    fs::write(folder.join("in.csv"), format!("a,b\n{}", line.repeat(150_000))).unwrap();
    let ran = interrupted_when(
        "TERM",
        || start_listening(folder, &["load", "x.db", "in.csv", "--header"]),
        || written_bytes(folder, "x.db") > 0,
        || fs::remove_file(folder.join("x.db")).unwrap(),
    );
    assert_interrupted(&ran);
    assert_eq!(names(folder), ["in.csv"]);
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn an_interrupted_generate_that_discards_its_rows_stops() {
    let child =
        start_listening(Path::new("/"), &["generate", "--discard", "--preset", "user", "--rows", "100B"]);
    std::thread::sleep(std::time::Duration::from_millis(100));
    send(&child, "INT");
    assert_interrupted(&end(child));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "strace, which sends signals at a call, is a program of Linux")]
fn a_check_that_gets_a_signal_stops_and_changes_nothing() {
    let (folder, mut random) = (folder(), Random::new());
    let folder = folder.path();
    run(folder, generate("x.db", "1M")).ok();
    let read = fs::read(folder.join("x.db")).unwrap();
    let whole = calls_of_threads(folder, "pread64", "/x.db", &["check", "x.db", "-j1"]);
    for (signal, flags) in
        [("INT", &[][..]), ("TERM", &["--full"]), ("HUP", &["--json"]), ("INT", &["--full"])]
    {
        // Interrupt at any read except the last ones, after which the run has nothing left to do.
        let nth = 1 + (whole[0] as f64 * 0.8 * random.fraction()) as usize;
        let args = [&["check", "x.db", "-j1"], flags].concat();
        // The dynamic loader makes this system call, too, before the handlers are installed, so count only calls for the database.
        let (file, inject) = (folder.join("x.db"), format!("inject=pread64:signal={signal}:when={nth}"));
        let of_file = ["-P", file.to_str().unwrap(), "-e", "trace=pread64", "-e", &inject];
        let ran = strace(folder, &[&["-qq", "-o", "/dev/null"], &of_file[..]].concat(), &args);
        assert_interrupted(&ran);
        assert_eq!(names(folder), ["x.db"]);
    }
    assert!(fs::read(folder.join("x.db")).unwrap() == read, "a check changes nothing");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "strace, which sends signals at a call, is a program of Linux")]
fn a_check_that_gets_a_signal_stops_during_integrity_check() {
    // With these indexes, SQLite's check takes many times as long as that of sqluice. So a call in the middle of the run belongs to
    // `integrity_check`.
    let folder = folder();
    let folder = folder.path();
    let connection = rusqlite::Connection::open(folder.join("x.db")).unwrap();
    connection
        .execute_batch(
            "PRAGMA synchronous = OFF; CREATE TABLE t (a, b); CREATE INDEX i ON t (a); CREATE INDEX j ON t (b, a);
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 150000)
             INSERT INTO t SELECT i * 7919 % 150001, i FROM n;",
        )
        .unwrap();
    drop(connection);
    let args = ["check", "x.db", "--full"];
    let reads = calls_of_threads(folder, "pread64", "/x.db", &args);
    // The thread with the most reads is SQLite's: it reads single pages, and sqluice's threads many pages at a time.
    assert!(reads[0] / 2 > reads[1], "{reads:?}");
    let ran = inject(folder, "pread64", "signal=INT", reads[0] / 2, &args);
    assert_interrupted(&ran);
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn a_run_under_nohup_survives_the_end_of_its_terminal() {
    let folder = folder();
    let folder = folder.path();
    let mut command = program("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", SQLUICE])
        .args(generate("x.db", "1M"))
        .current_dir(folder);
    let mut child = spawn(&mut command);
    wait_for_writes(folder, "x.db", &mut child);
    send(&child, "HUP");
    end(child).ok();
    assert_eq!(names(folder), ["x.db"]);
}

/// Runs the command with standard output, or both outputs, going to a closed pipe.
fn run_with_closed_output(folder: &Path, args: &[&str], stderr_too: bool) -> Ran {
    let closed_pipe = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    let mut command = sqluice(folder);
    command.args(args).stdout(closed_pipe());
    command.stderr(if stderr_too { Stdio::from(closed_pipe()) } else { Stdio::piped() });
    end(spawn_as_is(&mut command))
}

#[test]
fn a_closed_standard_output_is_no_error() {
    let folder = folder();
    let folder = folder.path();
    let ran = run_with_closed_output(folder, &[&generate("x.db", "1k")[..], &["--json"]].concat(), false);
    assert_eq!((ran.code(), &*ran.stderr), (Some(0), ""), "{ran:?}");
    assert_eq!(integrity(&folder.join("x.db")), "ok");
    for args in [
        &["check", "x.db"][..],
        &["check", "x.db", "--json"],
        &["info", "x.db"],
        &["info", "x.db", "--json"],
        &["generate", "y.db", "--preset", "user", "--rows", "3", "--dry-run"],
        &["generate", "y.db", "--preset", "user", "--rows", "3", "--dry-run", "--json"],
        &["generate", "--discard", "--preset", "user", "--rows", "3", "--json"],
        &["--version"],
        &["--help"],
        &["generate", "--help"],
    ] {
        for stderr_too in [false, true] {
            let ran = run_with_closed_output(folder, args, stderr_too);
            assert_eq!((ran.code(), &*ran.stderr), (Some(0), ""), "{args:?}: {ran:?}");
        }
    }
    // The exit code gives the result of the check although nobody reads the output.
    fs::write(folder.join("z.db"), "no database").unwrap();
    assert_eq!(run_with_closed_output(folder, &["check", "z.db"], false).code(), Some(1));
    assert_eq!(run_with_closed_output(folder, &["check", "nothing.db"], true).code(), Some(1));
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no /dev/full")]
fn a_standard_output_that_is_full_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = sqluice(Path::new("/"));
    command.args(["generate", "--discard", "--preset", "user", "--rows", "3", "--json"]);
    let ran = end(spawn_as_is(command.stdout(full).stderr(Stdio::piped())));
    let stderr =
        "error: cannot write to standard output\n  caused by: No space left on device (os error 28)\n";
    assert_eq!((ran.code(), &*ran.stderr), (Some(1), stderr));
}

#[test]
fn without_a_terminal_only_a_verbose_run_prints_progress_and_a_closed_output_does_not_end_it() {
    let folder = folder();
    let folder = folder.path();
    // The run takes long enough for a line of progress.
    let discard = ["generate", "--discard", "--preset", "user", "--rows", "100B"];
    let started =
        |args: &[&str]| spawn(sqluice(folder).args([&discard[..], args].concat()).env(WAITS, "0.01"));
    let mut talking = started(&["-v"]);
    let mut silent = started(&[]);
    let mut unheard = started(&["-v"]);
    drop(unheard.stderr.take());
    // The first line appears after a hundredth of five seconds.
    let mut line = [0; 10];
    talking.stderr.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"generate: ");
    std::thread::sleep(std::time::Duration::from_millis(200));
    for child in [&mut talking, &mut silent, &mut unheard] {
        assert!(child.try_wait().unwrap().is_none(), "it goes on");
        send(child, if cfg!(windows) { "KILL" } else { "TERM" });
    }
    let ran = end(talking);
    if cfg!(windows) {
        assert!(!ran.stderr.contains(['\r', '\x1b']), "{ran:?}");
        assert_eq!(end(silent).stderr, "");
        unheard.wait().unwrap();
        return;
    }
    assert_eq!(ran.code(), Some(130));
    assert!(
        !ran.stderr.contains(['\r', '\x1b'])
            && ran.stderr.ends_with("\nerror: interrupted; nothing was written\n"),
        "{ran:?}"
    );
    let ran = end(silent);
    assert_eq!((ran.code(), &*ran.stderr), (Some(130), "error: interrupted; nothing was written\n"));
    let mut unheard = unheard;
    assert_eq!(unheard.wait().unwrap().code(), Some(130));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "strace, which sends signals at a call, is a program of Linux")]
fn an_interrupted_export_leaves_no_file() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "300k")).ok();
    for flags in [
        &["--to", "x.csv"][..],
        &["--to", "x.parquet"],
        &["--to", "x.csv", "--query", "SELECT * FROM user ORDER BY random()"],
    ] {
        let args = [&["export", "x.db", "-j1"], flags].concat();
        let reads = calls_of_threads(folder, "pread64", "/x.db", &args);
        fs::remove_file(folder.join(flags[1])).unwrap();
        let ran = inject(folder, "pread64", "signal=INT", reads[0].div_ceil(2), &args);
        assert_interrupted(&ran);
        assert_eq!(names(folder), ["x.db"]);
    }
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn an_interrupted_copy_leaves_an_existing_target_unchanged() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "1M")).ok();
    let read = fs::read(folder.join("x.db")).unwrap();
    for (signal, flags) in [
        ("INT", &["y.db"][..]),
        ("TERM", &["y.db", "--compact", "--json"]),
        ("HUP", &["y.db", "--page-size", "16384"]),
        ("INT", &["x.db", "--compact"]),
    ] {
        let args = [&["copy", "x.db"], flags, &["-j1"]].concat();
        let ran = interrupted_when(
            signal,
            || start_listening(folder, &args),
            || written_bytes(folder, flags[0]) > 0,
            || match flags[0] {
                "x.db" => fs::write(folder.join("x.db"), &read).unwrap(),
                other => fs::remove_file(folder.join(other)).unwrap(),
            },
        );
        assert_interrupted(&ran);
        assert_eq!(names(folder), ["x.db"], "{flags:?}");
        assert!(fs::read(folder.join("x.db")).unwrap() == read, "{flags:?}: the source changed");
    }
    assert_eq!(integrity(&folder.join("x.db")), "ok");
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn an_interrupted_merge_leaves_an_existing_target_unchanged() {
    let folder = folder();
    let folder = folder.path();
    for (name, part) in [("x.db", "1/2"), ("y.db", "2/2")] {
        run(folder, [&generate(name, "1M")[..], &["--part", part]].concat()).ok();
    }
    let both = || ["x.db", "y.db"].map(|name| fs::read(folder.join(name)).unwrap());
    let read = both();
    for (signal, args) in [
        ("INT", &["z.db", "x.db", "y.db", "--compact"][..]),
        ("TERM", &["z.db", "x.db", "y.db", "--compact", "--json"]),
        ("HUP", &["z.db", "x.db", "y.db", "--source-column", "origin"]),
        ("INT", &["x.db", "y.db", "--compact"]),
    ] {
        let all = [&["merge"], args, &["-j1"]].concat();
        let ran = interrupted_when(
            signal,
            || start_listening(folder, &all),
            || written_bytes(folder, args[0]) > 0,
            || match args[0] {
                "x.db" => fs::write(folder.join("x.db"), &read[0]).unwrap(),
                other => fs::remove_file(folder.join(other)).unwrap(),
            },
        );
        assert_interrupted(&ran);
        assert_eq!(names(folder), ["x.db", "y.db"], "{args:?}");
        assert!(both() == read, "{args:?}: a source changed");
    }
    assert_eq!(integrity(&folder.join("x.db")), "ok");
}
