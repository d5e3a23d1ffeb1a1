//! The command's system calls, as strace sees them.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use super::{Ran, SQLUICE};

/// Runs `sqluice ARGS` under `strace FLAGS`, in `folder`.
pub(crate) fn strace(folder: &Path, flags: &[&str], args: &[&str]) -> Ran {
    let strace = Command::new("strace")
        .arg("-f")
        .args(flags)
        .arg("--")
        .arg(SQLUICE)
        .args(args)
        .current_dir(folder)
        .output();
    Ran::from(strace.expect("this test needs strace: apt-get install strace"))
}

/// A system call, put together again where another thread's stands in between.
pub(crate) struct Call<'a> {
    pub(crate) thread: &'a str,
    pub(crate) name: String,
    pub(crate) args: String,
    pub(crate) result: i64,
}

/// The calls of a log, in the order in which they began to end.
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
        // Signals and exits.
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

/// The bytes of all strings among the arguments of a call, one after the other.
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

/// Appends what stands behind a backslash, and returns what is left.
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
