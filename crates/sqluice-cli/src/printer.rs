//! The one place that decides what is said, where, and in which colour.
//!
//! Standard output is for data: a report as JSON, a plan, what `check` and `info` found. Everything else goes to standard
//! error. Nothing is told by colour alone.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::ColorChoice;
use serde::Serialize;
use sqluice::error::{Error, ErrorKind};
use sqluice::progress::Progress;

use crate::args::Global;
use crate::progress::{Bar, Lines};

/// How much is said, and where.
pub(crate) struct Printer {
    quiet: bool,
    verbose: bool,
    json: bool,
    no_progress: bool,
    color: bool,
}

impl Printer {
    pub(crate) fn new(global: &Global) -> Printer {
        let color = match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        };
        let Global { quiet, verbose, json, no_progress, .. } = *global;
        Printer { quiet, verbose, json, no_progress, color }
    }

    /// Whether the report goes to standard output as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// What watches the engine.
    pub(crate) fn progress(&self) -> Box<dyn Progress> {
        if self.quiet || self.no_progress {
            Box::new(sqluice::progress::Silent)
        } else if io::stderr().is_terminal() {
            Box::new(Bar::default())
        } else {
            Box::new(Lines::default())
        }
    }

    /// Whether only errors are told.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Data, on standard output. When nobody reads it any more, they have seen enough: that is no error, and what the
    /// command found still decides its exit code.
    pub(crate) fn data(&self, text: &str) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("cannot write to standard output")
            }
            _ => Ok(()),
        }
    }

    /// A report as JSON, on standard output.
    pub(crate) fn json(&self, report: &impl Serialize) -> anyhow::Result<()> {
        self.data(&format!("{}\n", serde_json::to_string_pretty(report)?))
    }

    /// Something worth knowing.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    /// Something that few want to know.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            self.say(text);
        }
    }

    /// An error with its causes and hint; returns the exit code that it means.
    pub(crate) fn error(&self, error: &anyhow::Error) -> ExitCode {
        let engine = error.downcast_ref::<Error>();
        let kind = engine.map_or(ErrorKind::Target, Error::kind);
        let mut text = format!("{} {error}", self.paint("1;31", "error:"));
        for cause in error.chain().skip(1) {
            text += &format!("\n  caused by: {cause}");
        }
        if let Some(hint) = engine.and_then(Error::hint_text) {
            text += &format!("\n\n{} {hint}", self.paint("1;36", "hint:"));
        }
        self.say(&text);
        ExitCode::from(match kind {
            ErrorKind::Input | ErrorKind::Target => 1,
            ErrorKind::Usage => 2,
            ErrorKind::Interrupted => 130,
        })
    }

    fn say(&self, text: &str) {
        // Nobody is left to tell when this fails.
        let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.color { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
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
}
