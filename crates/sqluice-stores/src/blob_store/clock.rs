//! The clock by which readers let go of their locks, so that other processes can write.
//!
//! ```text
//!  reader    ├─ hold ──┤─ hold ──┤─ hold ──┤           all let go at the same moment, ten times a second
//!  clock               │         │         │           then stands still without readers
//!  writer of another process   waits ──────┴─ writes
//! ```
//!
//! A waiting writer blocks new readers, so that it gets its turn whatever the number of readers.
//! All readers must let go at the same moment, also those of a shared store: to SQLite on Unix the connections of a process are one. On
//! Windows they are not, and a new reader waits for the writer, too: the clock does not wait for it before the others have let go.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sqluice_core::error::{Error, Result};

use super::pool::Pool;

/// How long readers hold their locks.
const TURN: Duration = Duration::from_millis(100);

/// A clock that runs while readers read; dropping it ends it.
pub(super) struct Clock {
    pool: Arc<Pool>,
    thread: Option<JoinHandle<()>>,
}

impl Clock {
    pub(super) fn start(pool: &Arc<Pool>) -> Result<Clock> {
        let own = Arc::clone(pool);
        let thread = thread::Builder::new().name("sqluice-clock".to_owned()).spawn(move || go(&own));
        let thread = thread.map_err(|error| Error::target("cannot start a thread").because(error))?;
        Ok(Clock { pool: Arc::clone(pool), thread: Some(thread) })
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.pool.close();
            thread.thread().unpark();
            // It closes no connection: those are closed where the store is dropped.
            let _ = thread.join();
        }
    }
}

fn go(pool: &Pool) {
    pool.woken_by(thread::current());
    while pool.is_open() {
        if pool.in_use() {
            thread::park_timeout(TURN);
            // What could not be ended is tried again, and reported to the next reader.
            drop(pool.stop());
        } else if pool.may_sleep() {
            thread::park();
        }
    }
}
