//! Shows progress: a bar on a terminal, or lines at intervals.
//!
//! ```text
//!  sample   ████████░░░░░░░░░░░░ 40%  2 s left  1,440 files
//!  copy     12.3 MB  24.6 MB/s
//!  load     ████████░░░░░░░░░░░░ 40%  2 s left  1,200,000 rows  3.2 M rows/s  48.0 MB
//!  sync     waiting for the disk
//! ```
//!
//! Phases follow each other, and some repeat. Each phase shows the counts that the engine reports: bytes of input, compressed or not, or
//! written rows. A phase with an unknown total has no bar. A narrow terminal cuts off the end.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sqluice::progress::{Amount, Progress};
use sqluice::waits;

use crate::quantities::{counted, rate, size, wait};

/// The time between two lines without a terminal, scaled by [`waits`].
pub(crate) const LINE_EVERY: Duration = Duration::from_secs(5);

/// The time between two drawings of the bar.
const BAR_EVERY: Duration = Duration::from_millis(100);

/// The time before the bar of a run appears. The bar of a shorter run would only flash.
const BAR_AFTER: Duration = Duration::from_millis(250);

/// The name of the phase that syncs: it waits until the disk has stored all pages.
const SYNC: &str = "sync";

/// The number of steps of the bar from empty to full.
const STEPS: u64 = 1000;

/// The name of the phase whose progress is counted in files.
const SAMPLE: &str = "sample";

/// The progress of the current phase.
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

    /// Returns `true` if the progress must be shown again.
    fn is_due(&mut self, every: Duration) -> bool {
        let due = self.shown.elapsed() >= every;
        if due {
            self.shown = Instant::now();
        }
        due
    }

    /// Returns the completed fraction, 0 to 1, if the total is known.
    fn fraction(&self) -> Option<f64> {
        let total = self.total?;
        let (done, total) =
            if total.rows > 0 { (self.done.rows, total.rows) } else { (self.done.bytes, total.bytes) };
        (total > 0).then(|| (done as f64 / total as f64).min(1.0))
    }

    /// Describes the progress after `seconds` seconds: `12%  9 s left  120,000,000 rows  94.1 M rows/s  2.4 GB`.
    fn describe(&self, seconds: f64) -> String {
        let seconds = seconds.max(1e-3);
        let Amount { rows, bytes } = self.done;
        let mut parts = Vec::new();
        if let Some(fraction) = self.fraction() {
            // Rounded down: 100% must not be shown before the phase is complete.
            parts.push(format!("{:2.0}%", (fraction * 100.0).floor()));
            if fraction > 0.0 {
                parts.push(format!("{} left", wait(seconds / fraction - seconds)));
            }
        }
        if rows > 0 && self.phase == SAMPLE {
            parts.push(counted(rows, "file"));
        } else if rows > 0 {
            parts.extend([counted(rows, "row"), rate(rows, seconds)]);
        }
        if bytes > 0 {
            parts.push(size(bytes));
        }
        if bytes > 0 && rows == 0 {
            parts.push(format!("{}/s", size((bytes as f64 / seconds) as u64)));
        }
        parts.join("  ")
    }

    fn describe_now(&self) -> String {
        self.describe(self.started.elapsed().as_secs_f64())
    }
}

/// A progress bar on a terminal, on standard error.
pub(crate) struct Bar {
    bar: ProgressBar,
    state: Mutex<State>,
    started: Instant,
    appeared: AtomicBool,
}

impl Default for Bar {
    fn default() -> Bar {
        Bar {
            bar: ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden()),
            state: Mutex::new(State::new("", None)),
            started: Instant::now(),
            appeared: AtomicBool::new(false),
        }
    }
}

impl Bar {
    /// Shows the bar from now on, if the run has taken long enough.
    fn appear(&self) {
        if self.started.elapsed() >= BAR_AFTER && !self.appeared.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Progress for Bar {
    fn phase(&self, name: &str, total: Option<Amount>) {
        let Ok(mut state) = self.state.lock() else { return };
        *state = State::new(name, total);
        self.appear();
        self.bar.set_message(if name == SYNC { "waiting for the disk" } else { "" });
        self.bar.set_position(0);
        self.bar.set_prefix(name.to_owned());
        let template = if state.fraction().is_some() {
            "{prefix:8} {bar:20} {wide_msg}"
        } else {
            "{prefix:8} {wide_msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.tick();
    }

    fn advance(&self, done: Amount) {
        let Ok(mut state) = self.state.lock() else { return };
        state.add(done);
        if state.is_due(BAR_EVERY) {
            self.appear();
            self.bar.set_message(state.describe_now());
            self.bar.set_position((state.fraction().unwrap_or(0.0) * STEPS as f64) as u64);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Progress lines at intervals, on standard error.
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
        if state.is_due(waits::scaled(LINE_EVERY)) {
            // A closed standard error does not stop the run.
            let _ = writeln!(io::stderr(), "{}: {}", state.phase, state.describe_now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(total: Option<(u64, u64)>, done: (u64, u64), seconds: f64) -> String {
        let amount = |(rows, bytes)| Amount { rows, bytes };
        let mut state = State::new("load", total.map(amount));
        state.add(amount(done));
        state.describe(seconds)
    }

    #[test]
    fn progress_in_bytes_also_shows_rows() {
        assert_eq!(
            described(Some((0, 1_000_000)), (5_000, 250_000), 2.0),
            "25%  6 s left  5,000 rows  2.5 k rows/s  250.0 kB"
        );
    }

    #[test]
    fn with_a_known_row_count_progress_is_measured_in_rows() {
        assert_eq!(described(Some((100, 0)), (50, 0), 1.0), "50%  1 s left  50 rows  50 rows/s");
    }

    #[test]
    fn progress_of_the_sampling_phase_is_counted_in_files() {
        let mut state = State::new(SAMPLE, Some(Amount { rows: 3600, bytes: 0 }));
        state.add(Amount { rows: 1800, bytes: 0 });
        assert_eq!(state.describe(2.0), "50%  2 s left  1,800 files");
    }

    #[test]
    fn without_a_known_total_no_percentage_and_no_remaining_time_are_shown() {
        assert_eq!(described(None, (0, 3_000), 1.0), "3.0 kB  3.0 kB/s");
        assert_eq!(described(Some((0, 0)), (1, 0), 1.0), "1 row  1 rows/s");
        assert_eq!(described(None, (0, 0), 0.0), "");
    }

    #[test]
    fn progress_after_no_time_shows_no_infinity_and_no_nan() {
        assert_eq!(described(Some((0, 10)), (0, 0), 0.0), " 0%");
        for (total, done) in [((0, 0), (0, 0)), ((0, 0), (5, 5)), ((1, 1), (0, 0)), ((3, 0), (u64::MAX, 1))] {
            let text = described(Some(total), done, 0.0);
            assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
        }
    }

    #[test]
    fn progress_beyond_the_total_is_100_percent() {
        assert_eq!(described(Some((0, 10)), (0, 30), 1.0), "100%  0 s left  30 bytes  30 bytes/s");
    }

    #[test]
    fn progress_is_rounded_down_below_100_percent() {
        assert!(described(Some((0, 1000)), (0, 999), 1.0).starts_with("99%"));
    }

    #[test]
    fn a_progress_bar_moves_only_in_phases_with_a_known_total() {
        let bar = Bar::default();
        for total in [None, Some(Amount::default()), Some(Amount { rows: 0, bytes: 10 }), None] {
            bar.phase("load", total);
            if let Ok(mut state) = bar.state.lock() {
                state.shown = Instant::now().checked_sub(BAR_EVERY).unwrap_or(state.shown);
            }
            bar.advance(Amount { rows: 1, bytes: 5 });
            let half = total.is_some_and(|total| total.bytes > 0);
            assert_eq!(bar.bar.position(), if half { STEPS / 2 } else { 0 });
            assert!(bar.bar.message().contains("1 row"));
        }
    }
}
