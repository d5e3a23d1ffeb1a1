//! The clock by which readers let go of their locks, so that other processes come to write.
//!
//! ```text
//!  reader    ├─ hold ──┤─ hold ──┤─ hold ──┤           all let go at the same moment, ten times a second
//!  clock               │         │         │           then stands still if nobody reads
//!  writer of another process   waits ──────┴─ writes
//! ```
//!
//! A writer that waits lets nobody in who does not hold a lock yet, so that it comes to write however many readers there are.
//! It must be all of them at the same moment, also of a shared store: to SQLite the connections of a process are one.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sqluice_core::error::{Error, Result};

use super::pool::Pool;

/// How long readers hold their locks.
const TURN: Duration = Duration::from_millis(100);

/// A clock that goes while somebody reads; it ends with this.
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
            // It closes no connection: those are closed by whoever drops the store.
            let _ = thread.join();
        }
    }
}

fn go(pool: &Pool) {
    pool.woken_by(thread::current());
    while pool.is_open() {
        if pool.in_use() {
            thread::park_timeout(TURN);
            // What could not be ended is tried again, and told to whoever reads.
            drop(pool.stop());
        } else if pool.may_sleep() {
            thread::park();
        }
    }
}
