//! Being asked to stop, and losing those who listen.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{
    Ran, SQLUICE, end, folder, generate, integrity, names, run, send, sqluice, start, wait_for_writes,
};

/// Starts the command with signals as a terminal would have them (the test runner may ignore some, and that is inherited), and waits until
/// it listens to them.
fn start_listening(folder: &Path, args: &[&str]) -> Child {
    let child = Command::new("env")
        .args(["--default-signal=INT,TERM,HUP", SQLUICE])
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !listens(&child) {
        assert!(started.elapsed() < Duration::from_secs(60), "it does not listen to signals");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Whether it catches SIGXFSZ, which it begins to last.
fn listens(child: &Child) -> bool {
    const SIGXFSZ: u32 = 25;
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap();
    mask >> (SIGXFSZ - 1) & 1 == 1
}

#[track_caller]
fn assert_interrupted(ran: &Ran) {
    if ran.stderr.is_empty() {
        // With `--json`.
        let error = &ran.json()["error"];
        assert_eq!((ran.code(), &error["kind"]), (Some(130), &"interrupted".into()), "{ran:?}");
        return;
    }
    assert_eq!((ran.code(), &*ran.stdout, &*ran.stderr), (Some(130), "", "error: interrupted\n"), "{ran:?}");
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn asked_to_stop_generate_leaves_nothing() {
    let folder = folder();
    let folder = folder.path();
    for signal in ["INT", "TERM", "HUP"] {
        for flags in [&[][..], &["-j1"], &["--page-size", "1024"], &["--json"], &["-q"]] {
            let args = [&generate("x.db", "100M")[..], flags].concat();
            let mut child = start_listening(folder, &args);
            wait_for_writes(folder, "x.db", &mut child);
            let asked = Instant::now();
            send(&child, signal);
            assert_interrupted(&end(child));
            assert!(asked.elapsed() < Duration::from_secs(10), "{signal} {flags:?}: {:?}", asked.elapsed());
            assert_eq!(names(folder), [""; 0], "{signal} {flags:?}");
        }
    }
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn asked_to_stop_load_leaves_nothing() {
    let folder = folder();
    let folder = folder.path();
    let line = format!("{0},{0}\n", "abcdefgh".repeat(10));
    fs::write(folder.join("in.csv"), format!("a,b\n{}", line.repeat(1_500_000))).unwrap();
    let mut child = start_listening(folder, &["load", "x.db", "in.csv"]);
    wait_for_writes(folder, "x.db", &mut child);
    send(&child, "TERM");
    assert_interrupted(&end(child));
    assert_eq!(names(folder), ["in.csv"]);
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn asked_to_stop_discard_stops() {
    let child =
        start_listening(Path::new("/"), &["generate", "--discard", "--preset", "user", "--rows", "100B"]);
    std::thread::sleep(Duration::from_millis(300));
    send(&child, "INT");
    assert_interrupted(&end(child));
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn asked_to_stop_check_stops() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "15M")).ok();
    let read = fs::read(folder.join("x.db")).unwrap();
    for (signal, flags, millis) in [
        ("INT", &[][..], 50),
        ("TERM", &["--full"], 100),
        ("HUP", &["--json"], 200),
        ("INT", &["--full"], 300),
    ] {
        let child = start_listening(folder, &[&["check", "x.db"], flags].concat());
        std::thread::sleep(Duration::from_millis(millis));
        send(&child, signal);
        assert_interrupted(&end(child));
        assert_eq!(names(folder), ["x.db"]);
    }
    assert!(fs::read(folder.join("x.db")).unwrap() == read, "a check changes nothing");
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn asked_to_stop_check_stops_while_sqlite_still_checks() {
    // An index makes SQLite's full check take many times as long as ours.
    let folder = folder();
    let folder = folder.path();
    let connection = rusqlite::Connection::open(folder.join("x.db")).unwrap();
    connection
        .execute_batch(
            "PRAGMA synchronous = OFF; CREATE TABLE t (a, b); CREATE INDEX i ON t (a); CREATE INDEX j ON t (b, a);
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400000)
             INSERT INTO t SELECT i * 7919 % 400009, i FROM n;",
        )
        .unwrap();
    drop(connection);
    let started = Instant::now();
    let whole = run(folder, ["check", "x.db", "--full"]).ok();
    let seconds = started.elapsed().as_secs_f64();
    assert!(whole.stdout.contains(" is sound: 400,000 rows"), "{whole:?}");
    // Late enough that our reader is done, and early enough even when all goes faster than it did just now.
    let stopped = [0.6, 0.5, 0.4, 0.3, 0.3].into_iter().any(|part| {
        let child = start_listening(folder, &["check", "x.db", "--full"]);
        std::thread::sleep(Duration::from_secs_f64(seconds * part));
        send(&child, "INT");
        let ran = end(child);
        if !ran.status.success() {
            assert_interrupted(&ran);
        }
        !ran.status.success()
    });
    assert!(stopped, "it went on to its end");
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn what_nohup_started_outlives_its_terminal() {
    let folder = folder();
    let folder = folder.path();
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", SQLUICE])
        .args(generate("x.db", "5M"))
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_writes(folder, "x.db", &mut child);
    send(&child, "HUP");
    end(child).ok();
    assert_eq!(names(folder), ["x.db"]);
}

/// Runs with standard output, or both outputs, going to a closed pipe.
fn run_with_closed_output(folder: &Path, args: &[&str], stderr_too: bool) -> Ran {
    let closed_pipe = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    let mut command = sqluice(folder);
    command.args(args).stdout(closed_pipe());
    command.stderr(if stderr_too { Stdio::from(closed_pipe()) } else { Stdio::piped() });
    end(command.spawn().unwrap())
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
    // The verdict is not read; the exit code still gives it.
    fs::write(folder.join("z.db"), "no database").unwrap();
    assert_eq!(run_with_closed_output(folder, &["check", "z.db"], false).code(), Some(1));
    assert_eq!(run_with_closed_output(folder, &["check", "nothing.db"], true).code(), Some(1));
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no /dev/full")]
fn a_standard_output_that_is_full_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = sqluice(Path::new("/"))
        .args(["generate", "--discard", "--preset", "user", "--rows", "3", "--json"])
        .stdout(full)
        .output()
        .unwrap();
    let stderr =
        "error: cannot write to standard output\n  caused by: No space left on device (os error 28)\n";
    let ran = Ran::from(ran);
    assert_eq!((ran.code(), &*ran.stderr), (Some(1), stderr));
}

#[test]
fn without_a_terminal_progress_is_a_line_now_and_then_if_verbose_and_need_not_be_read() {
    let folder = folder();
    let folder = folder.path();
    // Long enough for a line.
    let discard = ["generate", "--discard", "--preset", "user", "--rows", "100B"];
    let started = |args: &[&str]| start(folder, [&discard[..], args].concat());
    let mut talking = started(&["-v"]);
    let mut silent = started(&[]);
    let mut unheard = started(&["-v"]);
    drop(unheard.stderr.take());
    // The first line appears after five seconds.
    let mut line = [0; 10];
    talking.stderr.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"generate: ");
    std::thread::sleep(Duration::from_secs(1));
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
        !ran.stderr.contains(['\r', '\x1b']) && ran.stderr.ends_with("\nerror: interrupted\n"),
        "{ran:?}"
    );
    let ran = end(silent);
    assert_eq!((ran.code(), &*ran.stderr), (Some(130), "error: interrupted\n"));
    let mut unheard = unheard;
    assert_eq!(unheard.wait().unwrap().code(), Some(130));
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn asked_to_stop_export_leaves_nothing() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "2M")).ok();
    for flags in [
        &["--to", "x.csv"][..],
        &["--to", "x.parquet"],
        &["--to", "x.csv", "--query", "SELECT * FROM user ORDER BY random()"],
    ] {
        let args = [&["export", "x.db", "-j1"], flags].concat();
        let child = start_listening(folder, &args);
        std::thread::sleep(Duration::from_millis(50));
        send(&child, "INT");
        assert_interrupted(&end(child));
        assert_eq!(names(folder), ["x.db"]);
    }
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn asked_to_stop_copy_leaves_what_was_there() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "15M")).ok();
    let read = fs::read(folder.join("x.db")).unwrap();
    for (signal, flags) in [
        ("INT", &["y.db"][..]),
        ("TERM", &["y.db", "--compact", "--json"]),
        ("HUP", &["y.db", "--page-size", "16384"]),
        ("INT", &["x.db", "--compact"]),
    ] {
        let args = [&["copy", "x.db"], flags, &["-j1"]].concat();
        let mut child = start_listening(folder, &args);
        wait_for_writes(folder, flags[0], &mut child);
        send(&child, signal);
        assert_interrupted(&end(child));
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
fn asked_to_stop_merge_leaves_what_was_there() {
    let folder = folder();
    let folder = folder.path();
    for (name, part) in [("x.db", "1/2"), ("y.db", "2/2")] {
        run(folder, [&generate(name, "15M")[..], &["--part", part]].concat()).ok();
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
        let mut child = start_listening(folder, &all);
        wait_for_writes(folder, args[0], &mut child);
        send(&child, signal);
        assert_interrupted(&end(child));
        assert_eq!(names(folder), ["x.db", "y.db"], "{args:?}");
        assert!(both() == read, "{args:?}: a source changed");
    }
    assert_eq!(integrity(&folder.join("x.db")), "ok");
}
