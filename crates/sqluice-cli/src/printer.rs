//! The one place that decides what is said, where, and in which colour.
//!
//! Standard output is for data: a report as JSON, a plan, what `check` and `info` found. Everything else goes to standard
//! error. Nothing is told by colour alone.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::ColorChoice;
use serde::Serialize;
use sqluice::error::{Error, ErrorKind};
use sqluice::progress::Progress;

use crate::Exit;
use crate::args::Global;
use crate::failure::Failure;
use crate::progress::{Bar, Lines};
use crate::terms;

/// How much is said, and where.
pub(crate) struct Printer {
    quiet: bool,
    verbose: bool,
    json: bool,
    no_progress: bool,
    color: bool,
    /// Standard output has its JSON.
    printed: AtomicBool,
}

impl Printer {
    pub(crate) fn new(global: &Global) -> Printer {
        let color = match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        };
        let Global { quiet, verbose, json, no_progress, .. } = *global;
        Printer { quiet, verbose, json, no_progress, color, printed: AtomicBool::new(false) }
    }

    /// Whether the report goes to standard output as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// What watches the engine.
    pub(crate) fn progress(&self) -> Box<dyn Progress> {
        if !self.shows_progress() {
            Box::new(sqluice::progress::Silent)
        } else if io::stderr().is_terminal() {
            Box::new(Bar::default())
        } else {
            Box::new(Lines::default())
        }
    }

    /// Whether anybody wants to watch.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && !self.no_progress
    }

    /// Whether only errors are told.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether a person can see a question and answer it.
    pub(crate) fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// A question, whose answer is typed after it.
    pub(crate) fn ask(&self, question: &str) {
        let _ = io::stderr().write_all(question.as_bytes());
    }

    /// Data, on standard output. When nobody reads it any more, they have seen enough: that is no error, and what the
    /// command found still decides its exit code.
    pub(crate) fn data(&self, text: &str) -> anyhow::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// The same of any bytes.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        self.printed.store(true, Ordering::Relaxed);
        print(bytes)
    }

    /// A report as JSON, on standard output.
    pub(crate) fn json(&self, report: &impl Serialize) -> anyhow::Result<()> {
        self.printed.store(true, Ordering::Relaxed);
        print_json(report)
    }

    /// Something worth knowing.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    /// Whether more than the least is told.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// A part of an error that the end of the run sums up.
    pub(crate) fn warn(&self, text: &str) {
        self.say(text);
    }

    /// Something that few want to know.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            self.say(text);
        }
    }

    /// An error with its causes and hint; returns the exit code that it means.
    pub(crate) fn error(&self, error: &anyhow::Error) -> Exit {
        let engine = error.downcast_ref::<Error>();
        let kind = engine.map_or(ErrorKind::Target, Error::kind);
        let exit = Exit::from(match kind {
            ErrorKind::Input | ErrorKind::Target => 1,
            ErrorKind::Usage => 2,
            ErrorKind::Interrupted => 130,
        });
        // In place of the report. If a report was already printed, standard output keeps that alone.
        if self.json && !self.printed.load(Ordering::Relaxed) && print_json(&Failure::new(error)).is_ok() {
            return exit;
        }
        let mut chain = error.chain().map(terms::error);
        let mut text = format!("{} {}", self.paint("1;31", "error:"), chain.next().unwrap_or_default());
        for cause in chain {
            text += &format!("\n  caused by: {cause}");
        }
        if let Some(hint) = engine.and_then(Error::remedy) {
            text += &format!("\n\n{} {}", self.paint("1;36", "hint:"), terms::rendered(hint));
        }
        self.say(&text);
        exit
    }

    fn say(&self, text: &str) {
        // Nobody is left to tell when this fails.
        let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.color { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// JSON, on standard output.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(format!("{}\n", serde_json::to_string_pretty(value)?).as_bytes())
}

fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// A whole number with thousands set apart: `1,000,000`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of something: `1 row`, `2,000 rows`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Rows in a second, as people read it: `94.1 M rows/s`.
pub(crate) fn rate(rows: u64, seconds: f64) -> String {
    // A clock may say that no time has passed.
    let rate = rows as f64 / seconds.max(1e-6);
    match rate {
        999_950.0.. => format!("{:.1} M rows/s", rate / 1e6),
        999.5.. => format!("{:.1} k rows/s", rate / 1e3),
        _ => format!("{rate:.0} rows/s"),
    }
}

/// A time to wait, as people read it: `9 s`, `2 min 5 s`, `3 h 20 min`.
pub(crate) fn wait(seconds: f64) -> String {
    match seconds.max(0.0).round() as u64 {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!((counted(0, "row"), counted(1, "row")), ("0 rows".to_owned(), "1 row".to_owned()));
        assert_eq!(counted(2000, "row"), "2,000 rows");
    }

    #[test]
    fn rates_have_a_unit_and_need_no_time_to_pass() {
        assert_eq!(rate(0, 0.0), "0 rows/s");
        assert_eq!(rate(7, 0.0), "7.0 M rows/s");
        assert_eq!(rate(999, 1.0), "999 rows/s");
        assert_eq!(rate(1500, 1.0), "1.5 k rows/s");
        assert_eq!(rate(999_960, 1.0), "1.0 M rows/s");
        assert_eq!(rate(188_200_000, 2.0), "94.1 M rows/s");
    }

    #[test]
    fn waiting_is_told_in_the_unit_that_matters() {
        assert_eq!((wait(-1.0), wait(8.6), wait(99.4)), ("0 s".into(), "9 s".into(), "99 s".into()));
        assert_eq!((wait(125.0), wait(12_000.0)), ("2 min 5 s".into(), "3 h 20 min".into()));
        assert_eq!(wait(f64::NAN), "0 s");
    }
}
