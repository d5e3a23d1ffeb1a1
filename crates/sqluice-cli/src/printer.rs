//! The one place that decides what is said, where, and in which colour.
//!
//! Standard output is for data: a report as JSON, a plan, what `check` and `info` found. Everything else goes to standard
//! error. No information is given by colour alone.

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

    /// Whether only errors are printed.
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

    /// Prints data on standard output. A closed pipe is no error, since the reader has seen enough; what the command found still decides
    /// its exit code.
    pub(crate) fn data(&self, text: &str) -> anyhow::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Prints any bytes on standard output.
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

    /// Whether more than the minimum is printed.
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
            ErrorKind::Usage => 2,
            ErrorKind::Interrupted => 130,
            _ => 1,
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
        // An error here can't be reported anywhere.
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
