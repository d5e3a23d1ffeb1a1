//! Progress, drawn: a bar on a terminal, a line now and then elsewhere.

use std::io::{self, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use sqluice::progress::{Amount, Progress};
use sqluice::size::Bytes;

use crate::printer::grouped;

/// How often a line is printed where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What has been done in a phase.
#[derive(Clone, Debug)]
struct State {
    phase: String,
    total: Option<Amount>,
    done: Amount,
    started: Instant,
    shown: Instant,
}

impl State {
    fn new(phase: &str, total: Option<Amount>) -> State {
        let now = Instant::now();
        State { phase: phase.to_owned(), total, done: Amount::default(), started: now, shown: now }
    }

    fn add(&mut self, more: Amount) {
        self.done.rows += more.rows;
        self.done.bytes += more.bytes;
    }

    /// The part that is done, 0 to 1, where the whole is known.
    fn fraction(&self) -> Option<f64> {
        let total = self.total?;
        let (done, total) =
            if total.rows > 0 { (self.done.rows, total.rows) } else { (self.done.bytes, total.bytes) };
        (total > 0).then(|| (done as f64 / total as f64).min(1.0))
    }

    /// `12% 120,000,000 rows 2.381 GB 94.1 M rows/s 9 s left`.
    fn describe(&self) -> String {
        let seconds = self.started.elapsed().as_secs_f64().max(1e-3);
        let mut parts = Vec::new();
        if let Some(fraction) = self.fraction() {
            parts.push(format!("{:3.0}%", fraction * 100.0));
        }
        if self.done.rows > 0 {
            parts.push(format!("{} rows", grouped(self.done.rows)));
        }
        if self.done.bytes > 0 {
            parts.push(Bytes(self.done.bytes).to_string());
        }
        if self.done.rows > 0 {
            parts.push(format!("{:.1} M rows/s", self.done.rows as f64 / seconds / 1e6));
        } else if self.done.bytes > 0 {
            parts.push(format!("{}/s", Bytes((self.done.bytes as f64 / seconds) as u64)));
        }
        if let Some(fraction) = self.fraction().filter(|&fraction| fraction > 0.0) {
            parts.push(format!("{:.0} s left", seconds / fraction - seconds));
        }
        parts.join("  ")
    }
}

/// A bar on a terminal, on standard error.
pub(crate) struct Bar {
    bar: ProgressBar,
    state: Mutex<State>,
}

impl Default for Bar {
    fn default() -> Bar {
        let bar = ProgressBar::new(1000);
        if let Ok(style) = ProgressStyle::with_template("{prefix:8} {bar:30} {msg}") {
            bar.set_style(style);
        }
        Bar { bar, state: Mutex::new(State::new("", None)) }
    }
}

impl Progress for Bar {
    fn phase(&self, name: &str, total: Option<Amount>) {
        if let Ok(mut state) = self.state.lock() {
            *state = State::new(name, total);
            self.bar.set_prefix(name.to_owned());
            self.bar.set_message(String::new());
            self.bar.set_position(0);
        }
    }

    fn advance(&self, done: Amount) {
        let Ok(mut state) = self.state.lock() else { return };
        state.add(done);
        if state.shown.elapsed() >= Duration::from_millis(100) {
            state.shown = Instant::now();
            self.bar.set_position((state.fraction().unwrap_or(0.0) * 1000.0) as u64);
            self.bar.set_message(state.describe());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A line now and then, on standard error.
pub(crate) struct Lines(Mutex<State>);

impl Default for Lines {
    fn default() -> Lines {
        Lines(Mutex::new(State::new("", None)))
    }
}

impl Progress for Lines {
    fn phase(&self, name: &str, total: Option<Amount>) {
        if let Ok(mut state) = self.0.lock() {
            *state = State::new(name, total);
        }
    }

    fn advance(&self, done: Amount) {
        let Ok(mut state) = self.0.lock() else { return };
        state.add(done);
        if state.shown.elapsed() >= LINE_EVERY {
            state.shown = Instant::now();
            // When nobody listens, that is no reason to stop.
            let _ = writeln!(io::stderr(), "{}: {}", state.phase, state.describe());
        }
    }
}
