//! A thread that makes readers release their locks ten times a second, so that other processes can write.
//!
//! ```text
//!  reader    ├─ hold ──┤─ hold ──┤─ hold ──┤           all readers release their locks at the same moment
//!  clock               │         │         │           stops the readers every 0.1 s; sleeps while no reader is in use
//!  writer of another process   waits ──────┴─ writes
//! ```
//!
//! A waiting writer blocks new readers, so it gets its turn whatever the number of readers.
//!
//! All readers must release their locks at the same moment, even if the store is shared by threads: on Unix, SQLite treats all connections
//! of a process as one. On Windows, each connection has its own lock, and a new reader waits for the writer, too; so the clock does not
//! wait for such a reader before the other readers have released their locks.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sqluice_core::error::{Error, Result};

use super::pool::Pool;

/// The time for which readers hold their locks.
const TURN: Duration = Duration::from_millis(100);

/// A thread that makes the readers of a pool release their locks every [`TURN`], as long as a reader is in use. Dropping the clock ends
/// the thread.
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
            // The thread only releases locks. The thread that drops the store closes the connections.
            let _ = thread.join();
        }
    }
}

fn go(pool: &Pool) {
    pool.woken_by(thread::current());
    while pool.is_open() {
        if pool.in_use() {
            thread::park_timeout(TURN);
            // If a lock can't be released now, the clock tries again after [`TURN`]. The error is dropped here: the next read reports it.
            drop(pool.stop());
        } else if pool.may_sleep() {
            thread::park();
        }
    }
}
