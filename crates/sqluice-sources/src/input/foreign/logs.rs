//! Recognises logs of programs: lines with a date and time, a level, and free text.
//!
//! | form | example |
//! |---|---|
//! | web servers | `127.0.0.1 - ann [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326` |
//! | syslog | `Oct 11 22:14:15 host sshd[123]: text`, `<34>1 2003-10-11T22:14:15.003Z host app - - - text` |
//! | programs | `2024-01-01 12:00:00,123 INFO [main] text`, `[2024/01/01 12:00:00] [error] text` |
//! | kernels, klog, Redis | `[    0.000000] text`, `I0102 12:00:00.123456  1 main.go:12] text` |
//! | logfmt | `time=2024-01-01T12:00:00Z level=info msg="text"` |
//!
//! The first line must begin a message. A table with such lines is told from a log by its header or its delimiter.

use super::{Foreign, pattern};

const LOG: Foreign = Foreign::text(
    "a log",
    "convert its messages to CSV or JSON with a program that knows their parts, and load that",
);

/// The minimum percentage of lines that begin or continue a message.
const LINES_PERCENT: usize = 80;

/// The maximum number of words after the date and time among which the level is searched.
const LEVEL_WORDS_MAX: usize = 6;

/// The form of a line that begins a log message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A form that does not occur in tables.
    Exact,
    /// A date and time and a level, which could also be columns of a table.
    MomentAndLevel,
}

/// Returns the format of a file whose lines are log messages. `is_table` returns `true` for a text with a consistent delimiter.
pub(super) fn of_lines(lines: &[&str], extension: &str, is_table: &dyn Fn(&[u8]) -> bool) -> Option<Foreign> {
    if lines.first()?.starts_with("__CURSOR=") {
        return Some(LOG);
    }
    let lines = || lines.iter().filter(|line| !line.trim().is_empty() && !line.starts_with("-- "));
    let first = form(lines().next()?)?;
    let (mut all, mut messages, mut more) = (0, 0, 0);
    for line in lines() {
        all += 1;
        let continues = || {
            let begins = ["Caused by", "Traceback", "at ", "...", "java.", "Exception"];
            line.starts_with([' ', '\t', '}', ']', ')']) || begins.iter().any(|word| line.starts_with(word))
        };
        match form(line) {
            Some(_) => messages += 1,
            None => more += usize::from(continues()),
        }
    }
    let enough = if extension == "log" { 1 } else { 2 };
    if messages < enough || (messages + more) * 100 < all * LINES_PERCENT {
        return None;
    }
    (first == Form::Exact || !is_table(&without_fractions(&lines().copied().collect::<Vec<_>>())))
        .then_some(LOG)
}

/// Returns the lines with a point instead of a comma before fractions of seconds, because this comma is not a delimiter.
fn without_fractions(lines: &[&str]) -> Vec<u8> {
    let mut text = lines.join("\n").into_bytes();
    for at in 8..text.len().saturating_sub(3) {
        let is_time = text[at - 3] == b':' && text[at - 6] == b':';
        if text[at] == b',' && is_time && text[at + 1..at + 4].iter().all(u8::is_ascii_digit) {
            text[at] = b'.';
        }
    }
    text
}

/// Returns the form of a line if it begins a log message.
fn form(line: &str) -> Option<Form> {
    let is_exact = is_request(line) || is_syslog(line) || is_of_kernel(line) || is_logfmt(line);
    if is_exact {
        return Some(Form::Exact);
    }
    has_moment_and_level(line).then_some(Form::MomentAndLevel)
}

/// Returns `true` if a line is a request to a web server, in the common log format or an extension of it.
fn is_request(line: &str) -> bool {
    let Some((before, after)) = line.split_once(" [") else { return false };
    let Some(moment) = pattern(after, "dd/MMM/dddd:dd:dd:dd ") else { return false };
    let words = before.split(' ').count();
    (3..=5).contains(&words)
        && !before.contains([',', '\t', ';', '"'])
        && after[moment..].starts_with(['+', '-'])
        && after.get(moment + 5..).is_some_and(|rest| rest.starts_with("] \""))
}

/// Returns `true` if a line is a message of syslog, in the old or the new form, or with the dates of rsyslog.
fn is_syslog(line: &str) -> bool {
    let (line, has_priority) = match line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((priority, rest))
            if !priority.is_empty() && priority.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (rest, true)
        }
        _ => (line, false),
    };
    if has_priority && pattern(line, "d dddd-dd-ddTdd:dd:dd").is_some() {
        return true;
    }
    let old = pattern(line, "MMM dd dd:dd:dd ").or_else(|| pattern(line, "MMM  d dd:dd:dd "));
    let rest = match old {
        Some(end) => &line[end..],
        None => match pattern(line, "dddd-dd-ddTdd:dd:dd").and_then(|_| line.split_once(' ')) {
            Some((_, rest)) => rest,
            None => return false,
        },
    };
    // The host, and the name of the program with a colon: `host sshd[123]: text`.
    let mut words = rest.split(' ');
    let (Some(host), Some(tag)) = (words.next(), words.next()) else { return false };
    let is_host = !host.is_empty() && !host.contains([',', '\t', ';', '|', '[', '=']);
    is_host && tag.len() >= 2 && tag.ends_with(':') && !tag.contains([',', '\t', ';', '|', '"'])
}

/// Returns `true` if a line is a message of a kernel, of klog (Kubernetes) or of Redis.
fn is_of_kernel(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix('[') {
        let rest = rest.trim_start_matches(' ');
        let seconds = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        return seconds > 0 && pattern(&rest[seconds..], ".dddddd] ").is_some();
    }
    if line.starts_with(['I', 'W', 'E', 'F']) && pattern(&line[1..], "dddd dd:dd:dd.dddddd ").is_some() {
        return line.contains("] ");
    }
    let process = line.find(':').filter(|&at| at > 0 && line[..at].bytes().all(|byte| byte.is_ascii_digit()));
    process.is_some_and(|at| pattern(&line[at + 1..], "M dd MMM dddd dd:dd:dd.ddd ").is_some())
}

/// Returns `true` if a line is a message in logfmt: it has a level and a message.
fn is_logfmt(line: &str) -> bool {
    let begins = ["time=", "ts=", "t=", "timestamp=", "level="].iter().any(|key| line.starts_with(key));
    let has = |key: &str| line.starts_with(&key[1..]) || line.contains(key);
    begins && (has(" level=") || has(" lvl=")) && (has(" msg=") || has(" message="))
}

/// Returns the rest of a line after a date and time; `None` if the line does not begin with one.
fn after_moment(line: &str) -> Option<&str> {
    const MOMENTS: [&str; 10] = [
        "dddd-dd-dd dd:dd:dd",
        "dddd-dd-ddTdd:dd:dd",
        "dddd/dd/dd dd:dd:dd",
        "dd/MMM/dddd:dd:dd:dd",
        "dd-MMM-dddd dd:dd:dd",
        "dd.dd.dddd dd:dd:dd",
        "dd/dd/dddd dd:dd:dd",
        "MMM MMM dd dd:dd:dd",
        "MMM MMM  d dd:dd:dd",
        "dd:dd:dd",
    ];
    let end = MOMENTS.iter().find_map(|moment| pattern(line, moment))?;
    let rest = &line[end..];
    // A fraction of a second and a time zone may follow.
    let fraction =
        rest.strip_prefix(['.', ',']).map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let rest = fraction.unwrap_or(rest);
    let rest = rest.strip_prefix('Z').unwrap_or(rest);
    let rest = rest
        .strip_prefix(' ')
        .filter(|rest| rest.starts_with(['+', '-']) && pattern(&rest[1..], "dddd").is_some())
        .unwrap_or(rest);
    let zone = pattern(rest.strip_prefix(['+', '-']).unwrap_or(""), "dd:dd")
        .or_else(|| pattern(rest.strip_prefix(['+', '-']).unwrap_or(""), "dddd"));
    Some(&rest[zone.map_or(0, |bytes| bytes + 1)..])
}

/// Returns `true` if a line begins with a date and time and a level, in either order.
fn has_moment_and_level(line: &str) -> bool {
    let line = line.strip_prefix('[').unwrap_or(line);
    if let Some(rest) = after_moment(line) {
        let start = rest.split('\t').next().unwrap_or(rest);
        return start.starts_with([' ', ']'])
            && start.split(' ').filter(|word| !word.is_empty()).take(LEVEL_WORDS_MAX).any(is_level);
    }
    let Some((word, rest)) = line.split_once(' ') else { return false };
    let rest = rest.trim_start().trim_start_matches(['-', '[', '(']).trim_start();
    is_level(word) && after_moment(rest).is_some_and(|rest| rest.starts_with([' ', ']', ')', ':']))
}

/// Returns `true` if a word is the name of a level: in capitals, or in brackets.
fn is_level(word: &str) -> bool {
    const LEVELS: [&str; 22] = [
        "TRACE",
        "DEBUG",
        "INFO",
        "NOTICE",
        "WARN",
        "WARNING",
        "ERROR",
        "ERR",
        "FATAL",
        "CRITICAL",
        "CRIT",
        "ALERT",
        "EMERG",
        "SEVERE",
        "FINE",
        "FINER",
        "FINEST",
        "CONFIG",
        "LOG",
        "PANIC",
        "VERBOSE",
        "STATEMENT",
    ];
    let name = word.trim_matches(['[', ']', '(', ')', ':', '<', '>', '-']);
    let in_brackets = name.len() < word.len();
    LEVELS.iter().any(|level| *level == name || in_brackets && level.eq_ignore_ascii_case(name))
}
