//! How a run is watched and stopped. The library draws nothing; the caller may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Watches a run.
///
/// Contract: methods are called from any thread, some thousand times a second at most; they return at once, never
/// panic, and nothing that they do changes what is written.
pub trait Progress: Send + Sync {
    /// A new phase begins ("write", "check", ...) that will handle `total` of whatever [`Progress::advance`] counts, if
    /// that is known.
    fn phase(&self, name: &str, total: Option<Amount>) {
        let _ = (name, total);
    }

    /// Reports that `done` more is done.
    fn advance(&self, done: Amount) {
        let _ = done;
    }
}

/// Rows, and bytes of input or output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// A flag that asks a run to stop; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    /// Stops this, too.
    parent: Option<Arc<AtomicBool>>,
}

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Asks the run to stop. It removes what it has written and returns
    /// [`ErrorKind::Interrupted`](crate::error::ErrorKind::Interrupted).
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// A flag of its own that is also set when this one is: of this one itself, not of what that is a child of.
    pub fn child(&self) -> Cancel {
        Cancel { flag: Arc::default(), parent: Some(self.flag()) }
    }

    /// Takes back what [`Cancel::cancel`] asked for.
    pub fn reset(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }

    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// An error once the flag is set.
    ///
    /// # Errors
    /// When the run should stop.
    pub fn check(&self) -> Result<()> {
        let set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        if set(&self.flag) || self.parent.as_deref().is_some_and(set) {
            Err(Error::interrupted())
        } else {
            Ok(())
        }
    }
}
