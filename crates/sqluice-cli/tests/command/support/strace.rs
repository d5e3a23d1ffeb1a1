//! The command's system calls, as strace sees them.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use super::{Limit, Ran, SQLUICE, children, end, finish, program, signal, spawn};

/// Returns `strace FLAGS -- sqluice ARGS`, in `folder`.
fn command(folder: &Path, flags: &[&str], args: &[&str]) -> Command {
    let mut strace = program("strace");
    strace.arg("-f").args(flags).arg("--").arg(SQLUICE).args(args).current_dir(folder);
    strace
}

/// Runs `sqluice ARGS` under `strace FLAGS`, in `folder`.
pub(crate) fn strace(folder: &Path, flags: &[&str], args: &[&str]) -> Ran {
    finish(&mut command(folder, flags, args))
}

/// Runs the command, and injects `what` (`signal=INT`, `error=EIO`) at the `nth` call of this name in a thread.
pub(crate) fn inject(folder: &Path, call: &str, what: &str, nth: usize, args: &[&str]) -> Ran {
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{what}:when={nth}"));
    // `--seccomp-bpf` is left out: with this flag, strace would send no signals.
    strace(folder, &["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject], args)
}

/// Starts the command under strace, which stops it after the first `call`. `more` are further flags of strace. [`go_on`] lets the command
/// continue.
pub(crate) fn start_and_stop(folder: &Path, call: &str, more: &[&str], args: &[&str]) -> Child {
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=STOP:when=1"));
    let flags = ["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
    spawn(&mut command(folder, &[&flags, more].concat(), args))
}

/// Lets a run of [`start_and_stop`] continue, and waits for its end.
pub(crate) fn go_on(mut strace: Child) -> Ran {
    let (id, limit) = (strace.id(), Limit::new());
    while strace.try_wait().unwrap().is_none() {
        // The process may have ended meanwhile. Then no signal is sent.
        for sqluice in children(id) {
            signal(sqluice, if limit.is_over() { "KILL" } else { "CONT" });
        }
        thread::sleep(Duration::from_millis(5));
    }
    let ran = end(strace);
    // A signal that arrives while the run ends can confuse strace, which then fails although the report shows that the run has not failed.
    match ran.stderr.strip_suffix("strace: Unexpected wait status 0\n") {
        Some(report) if report.starts_with("Loaded ") && !report.contains("error:") => {
            Ran { status: ExitStatus::default(), stderr: report.to_owned(), ..ran }
        }
        _ => ran,
    }
}

/// A system call. Its parts are joined if strace printed a call of another thread between them.
pub(crate) struct Call<'a> {
    pub(crate) thread: &'a str,
    pub(crate) name: String,
    pub(crate) args: String,
    pub(crate) result: i64,
}

/// Returns the system calls in a log of strace, in the order in which they ended.
pub(crate) fn calls(log: &str) -> Vec<Call<'_>> {
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let (thread, line) = line.split_once(' ').unwrap();
        let line = line.trim_start();
        let text = if let Some(start) = line.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, start);
            continue;
        } else if let Some((_, rest)) =
            line.strip_prefix("<... ").and_then(|line| line.split_once(" resumed>"))
        {
            format!("{}{rest}", begun.remove(thread).unwrap())
        } else {
            line.to_owned()
        };
        // Skip lines about signals and exits.
        let Some((text, result)) = text.rsplit_once(" = ") else { continue };
        let Some((name, args)) = text.trim_end().strip_suffix(')').and_then(|text| text.split_once('('))
        else {
            continue;
        };
        let result = result.split_whitespace().next().and_then(|result| result.parse().ok()).unwrap_or(0);
        calls.push(Call { thread, name: name.to_owned(), args: args.to_owned(), result });
    }
    calls
}

/// Returns the bytes of all strings among the arguments of a call, concatenated.
pub(crate) fn strings(args: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = args.as_bytes();
    let mut inside = false;
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'"' => inside = !inside,
            b'\\' if inside => rest = unescape(after, &mut bytes),
            byte if inside => bytes.push(*byte),
            _ => {}
        }
    }
    assert!(!inside, "strace cut a string off: {args}");
    bytes
}

/// Appends the byte of an escape sequence, whose backslash has been read, and returns the remaining text.
fn unescape<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> &'a [u8] {
    let number = |digits: &[u8], radix| u8::from_str_radix(str::from_utf8(digits).unwrap(), radix).unwrap();
    let (byte, length) = match text[0] {
        b'x' => (number(&text[1..3], 16), 3),
        b'0'..=b'7' => {
            let length = text.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            (number(&text[..length], 8), length)
        }
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (0x0b, 1),
        b'f' => (0x0c, 1),
        other => (other, 1),
    };
    bytes.push(byte);
    &text[length..]
}
