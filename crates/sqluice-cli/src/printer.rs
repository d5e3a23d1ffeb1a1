//! Prints all output of the command, on the right stream and with colour.
//!
//! Standard output is for data, such as a report as JSON, a plan, or the results of `check` and `info`. All other output goes to standard
//! error. No information is given by colour alone.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use clap::ColorChoice;
use console::{Term, strip_ansi_codes};
use serde::Serialize;
use sqluice::error::{Error, ErrorKind};
use sqluice::progress::{Cancel, Context, Progress, Silent};

use crate::Exit;
use crate::args::Global;
use crate::failure::Failure;
use crate::meant;
use crate::progress::{Bar, Lines};
use crate::terms;

/// The options for printing.
pub(crate) struct Printer {
    quiet: bool,
    verbose: bool,
    json: bool,
    no_progress: bool,
    /// `true` if standard error is coloured.
    color: bool,
    /// `true` if standard output is coloured.
    data_color: bool,
    /// `true` if data was printed on standard output.
    printed: AtomicBool,
    /// The words of the command line, after the name of the program.
    words: Vec<OsString>,
    /// `true` if an interrupted run leaves nothing written, which the error message then says.
    all_or_nothing: bool,
    /// The width of standard error in characters, to which text is wrapped; `None` if standard error is no terminal.
    columns: Option<usize>,
}

/// The kind of progress display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressDisplay {
    /// A bar, on a terminal.
    Bar,
    /// A line every few seconds: with `--verbose`, if standard error is no terminal or a dumb one.
    Lines,
    /// No progress.
    Hidden,
}

impl Printer {
    pub(crate) fn new(global: &Global, given: &[OsString]) -> Printer {
        let color = |is_terminal: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !is_dumb() && !refuses_color(),
        };
        let Global { quiet, verbose, json, no_progress, .. } = *global;
        Printer {
            quiet,
            verbose,
            json,
            no_progress,
            color: color(io::stderr().is_terminal()),
            data_color: color(io::stdout().is_terminal()),
            printed: AtomicBool::new(false),
            words: given.iter().skip(1).cloned().collect(),
            all_or_nothing: false,
            columns: Term::stderr().size_checked().map(|(_, columns)| usize::from(columns)),
        }
    }

    /// Sets whether the error of an interrupted run says that nothing was written.
    pub(crate) fn all_or_nothing(self, all_or_nothing: bool) -> Printer {
        Printer { all_or_nothing, ..self }
    }

    /// Returns the words of the command line, after the name of the program.
    pub(crate) fn words(&self) -> &[OsString] {
        &self.words
    }

    /// Returns `true` if the report goes to standard output as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns the display of the engine's progress.
    pub(crate) fn progress(&self) -> Box<dyn Progress> {
        match self.progress_display() {
            ProgressDisplay::Bar => Box::new(Bar::default()),
            ProgressDisplay::Lines => Box::new(Lines::default()),
            ProgressDisplay::Hidden => Box::new(Silent),
        }
    }

    /// Calls `work` with a context that shows the progress and that `cancel` stops. The progress disappears when `work` returns.
    pub(crate) fn watched<T>(&self, cancel: &Cancel, work: impl FnOnce(&Context<'_>) -> T) -> T {
        let progress = self.progress();
        work(&Context::default().progress(&*progress).cancel(cancel))
    }

    /// Returns the display of the engine's progress while it writes data to standard output. On the same terminal, a bar would mix with the
    /// data, so it is hidden.
    pub(crate) fn progress_beside_data(&self) -> Box<dyn Progress> {
        if io::stdout().is_terminal() { Box::new(Silent) } else { self.progress() }
    }

    /// Returns the kind of progress display.
    pub(crate) fn progress_display(&self) -> ProgressDisplay {
        if self.quiet || self.no_progress {
            ProgressDisplay::Hidden
        } else if io::stderr().is_terminal() && !is_dumb() {
            ProgressDisplay::Bar
        } else if self.verbose {
            ProgressDisplay::Lines
        } else {
            ProgressDisplay::Hidden
        }
    }

    /// Returns `true` if only errors and warnings are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns `true` if a user can see and answer a question.
    pub(crate) fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Prints a question without a line end, so that the user types the answer after it.
    pub(crate) fn ask(&self, question: &str) {
        let _ = io::stderr().write_all(question.as_bytes());
    }

    /// Prints data on standard output. A closed pipe is no error, because the reader needs no more data; the exit code does not change.
    pub(crate) fn data(&self, text: &str) -> anyhow::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Prints any bytes on standard output.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        self.printed.store(true, Ordering::Relaxed);
        print(bytes)
    }

    /// Prints a report as JSON on standard output.
    pub(crate) fn json(&self, report: &impl Serialize) -> anyhow::Result<()> {
        self.printed.store(true, Ordering::Relaxed);
        print_json(report)
    }

    /// Prints the result: a verb and the rest of the sentence.
    pub(crate) fn done(&self, verb: &str, rest: &str) {
        self.note(&format!("{} {rest}", self.paint("1;32", verb)));
    }

    /// Prints a note.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    /// Returns text in bold for standard output, if standard output is coloured.
    pub(crate) fn bold_data(&self, text: &str) -> String {
        if self.data_color { painted("1", text) } else { text.to_owned() }
    }

    /// Returns `true` if details are printed.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Prints a warning, also with `--quiet`. The error at the end of the run may summarize warnings.
    pub(crate) fn warn(&self, text: &str) {
        self.say(text);
    }

    /// Prints a detail, with `--verbose`.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            self.say(text);
        }
    }

    /// Prints an error with its causes and hint. Returns the exit code of the error.
    pub(crate) fn error(&self, error: &anyhow::Error) -> Exit {
        let engine = error.downcast_ref::<Error>();
        let kind = engine.map_or(ErrorKind::Target, Error::kind);
        let exit = Exit::from(match kind {
            ErrorKind::Usage => 2,
            ErrorKind::Interrupted => 130,
            _ => 1,
        });
        // With --json, the error is printed as JSON in place of the report, unless a report was already printed.
        if self.json && !self.printed.load(Ordering::Relaxed) && print_json(&Failure::new(error)).is_ok() {
            return exit;
        }
        let mut chain = error.chain().map(terms::error);
        let mut text = format!("{} {}", self.paint("1;31", "error:"), chain.next().unwrap_or_default());
        if kind == ErrorKind::Interrupted && self.all_or_nothing {
            text += "; nothing was written";
        }
        for cause in chain {
            text += &format!("\n  caused by: {cause}");
        }
        if let Some(hint) = engine.and_then(terms::hint) {
            text += &format!("\n\n{} {hint}", self.paint("1;36", "hint:"));
        }
        let remedy = engine.and_then(Error::remedy);
        if let Some(line) = remedy.and_then(|remedy| meant::with_flag_of(remedy, &self.words)) {
            text += &format!("\n      {line}");
        }
        self.say(&text);
        exit
    }

    fn say(&self, text: &str) {
        let label = LABELS.iter().find_map(|(label, style)| Some((label, style, text.strip_prefix(label)?)));
        let text = match label {
            Some((label, style, rest)) => format!("{}{rest}\n", self.paint(style, label)),
            None => format!("{text}\n"),
        };
        let text = match self.columns {
            Some(columns) => wrapped(&text, columns),
            None => text,
        };
        // An error here can't be reported anywhere.
        let _ = io::stderr().write_all(text.as_bytes());
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.color { painted(style, text) } else { text.to_owned() }
    }
}

/// The words before a colon at the beginning of a line, such as `error:`, with their styles.
const LABELS: [(&str, &str); 4] =
    [("note:", "1;36"), ("warning:", "1;33"), ("refused:", "1;33"), ("skipped", "1;33")];

/// The minimum width of a terminal at which lines are wrapped. In a narrower one, most lines would be a single word.
const COLUMNS_MIN: usize = 20;

/// Wraps the lines of a text at words. Command lines stay as they are, so that they can be copied.
fn wrapped(text: &str, columns: usize) -> String {
    if columns < COLUMNS_MIN {
        return text.to_owned();
    }
    let wrap = |line: &str| {
        let words = line.trim_start();
        if strip_ansi_codes(words).trim_start_matches("hint: ").starts_with("sqluice ") {
            return line.to_owned();
        }
        let indent = " ".repeat(line.len() - words.len() + 2);
        let options = textwrap::Options::new(columns)
            .subsequent_indent(&indent)
            .break_words(false)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::fill(line, options)
    };
    text.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
}

fn painted(style: &str, text: &str) -> String {
    format!("\x1b[{style}m{text}\x1b[0m")
}

/// Returns `true` if the terminal can neither colour text nor move the cursor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").as_deref() == Some(OsStr::new("dumb"))
}

/// Returns `true` if the environment requests text without colour: <https://no-color.org>.
fn refuses_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Prints a value as JSON on standard output.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(format!("{}\n", serde_json::to_string_pretty(value)?).as_bytes())
}

/// Prints bytes on standard output.
pub(crate) fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_at_words() {
        let text = "error: the table orders of shop.db exists\n  with a longer detail\n";
        assert_eq!(
            wrapped(text, 20),
            "error: the table\n  orders of shop.db\n  exists\n  with a longer\n    detail\n"
        );
        assert_eq!(wrapped(text, 80), text);
        assert_eq!(wrapped("a-very-long-name-of-a-file.csv b", 20), "a-very-long-name-of-a-file.csv\n  b");
    }

    #[test]
    fn command_lines_are_not_wrapped_even_if_coloured() {
        for line in [
            "hint: sqluice load shop.db orders.csv --append",
            "      sqluice load shop.db orders.csv --append",
            "\u{1b}[1;36mhint:\u{1b}[0m sqluice load shop.db orders.csv",
        ] {
            assert_eq!(wrapped(line, 20), line);
        }
    }

    #[test]
    fn colour_codes_do_not_count_for_wrapping() {
        let text = format!("{} the table exists", painted("1;31", "error:"));
        assert_eq!(wrapped(&text, 24), text);
    }
}
