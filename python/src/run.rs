//! Runs the engine on a separate thread, while the calling thread feeds it rows, watches for Ctrl-C, and reports progress.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, SendTimeoutError, Sender, bounded};
use pyo3::prelude::*;
use sqluice::error::Result;
use sqluice::progress::{Amount, Cancel, Context, Progress};

use crate::errors::raised_by;
use crate::source::Piece;
use crate::terms::Function;

/// The interval at which the calling thread checks for Ctrl-C and calls the progress function.
const TICK: Duration = Duration::from_millis(50);

/// An iterator of the rows of a run, on the calling thread.
pub(crate) trait Feed {
    /// Returns the next rows; `None` after the last.
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Piece>>;
}

/// The progress so far, which the engine's threads write and the calling thread reads.
#[derive(Default)]
struct Watch(Mutex<State>);

#[derive(Clone, Default)]
struct State {
    phase: String,
    done: Amount,
    total: Option<Amount>,
}

impl Watch {
    fn state(&self) -> State {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Progress for Watch {
    fn phase(&self, name: &str, total: Option<Amount>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { phase: name.to_owned(), done: Amount::default(), total };
    }

    fn advance(&self, more: Amount) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.done.rows += more.rows;
        state.done.bytes += more.bytes;
    }
}

/// Reports progress and checks for signals, at most once in each [`TICK`].
struct Ticker<'t, 'py> {
    watch: &'t Watch,
    callback: Option<&'t Bound<'py, PyAny>>,
    last: Instant,
}

impl Ticker<'_, '_> {
    fn tick(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.last.elapsed() < TICK {
            return Ok(());
        }
        self.last = Instant::now();
        py.check_signals()?;
        self.report()
    }

    fn report(&self) -> PyResult<()> {
        let Some(callback) = self.callback else { return Ok(()) };
        let State { phase, done, total } = self.watch.state();
        let part = |part: u64| (part > 0).then_some(part);
        let (rows, bytes) = total.map_or((None, None), |total| (part(total.rows), part(total.bytes)));
        callback.call1((phase, done.rows, done.bytes, rows, bytes)).map(drop)
    }
}

/// Runs `work` on a thread of the engine. Errors name settings as parameters of `function`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    function: Function,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Context<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    run_fed(py, callback, None, work)?.map_err(|error| raised_by(py, &error, function))
}

/// Runs `work` on a thread of the engine, while the calling thread sends it the rows of `feed`. An exception in `feed` or in `callback`, or
/// Ctrl-C, cancels the run; it is raised once the engine has rolled back. If the engine itself fails, its error is returned.
pub(crate) fn run_fed<T: Send>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    feed: Option<(&mut dyn Feed, Sender<Piece>)>,
    work: impl FnOnce(&Context<'_>) -> Result<T> + Send,
) -> PyResult<Result<T>> {
    let (watch, cancel) = (Watch::default(), Cancel::new());
    let (working, done) = bounded::<()>(0);
    thread::scope(|scope| {
        let (watch, cancel) = (&watch, &cancel);
        let engine = scope.spawn(move || {
            let _working = working;
            work(&Context::default().progress(watch).cancel(cancel))
        });
        let mut ticker = Ticker { watch, callback, last: Instant::now() };
        let attend = || -> PyResult<()> {
            if let Some((feed, to)) = feed {
                feed_all(py, feed, to, &mut ticker)?;
            }
            while py.detach(|| done.recv_timeout(TICK)) == Err(RecvTimeoutError::Timeout) {
                ticker.tick(py)?;
            }
            ticker.report()
        };
        let attended = attend();
        if attended.is_err() {
            cancel.cancel();
        }
        let worked = py.detach(|| engine.join());
        attended?;
        Ok(worked.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Sends all rows, and then [`Piece::End`]. If the engine no longer receives, it has failed, and reports the error itself.
fn feed_all(
    py: Python<'_>,
    feed: &mut dyn Feed,
    to: Sender<Piece>,
    ticker: &mut Ticker<'_, '_>,
) -> PyResult<()> {
    loop {
        let piece = feed.next(py)?;
        let is_last = piece.is_none();
        let mut waiting = piece.unwrap_or(Piece::End);
        ticker.tick(py)?;
        loop {
            waiting = match py.detach(|| to.send_timeout(waiting, TICK)) {
                Ok(()) if is_last => return Ok(()),
                Ok(()) => break,
                Err(SendTimeoutError::Timeout(piece)) => piece,
                Err(SendTimeoutError::Disconnected(_)) => return Ok(()),
            };
            ticker.tick(py)?;
        }
    }
}
