//! Progress and cancellation of runs. The library draws nothing; the caller may.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};

/// An observer of a run.
///
/// Contract: methods are called from any thread, at most some thousand times a second. They return at once, never panic, and do nothing
/// that changes the written data.
pub trait Progress: Send + Sync {
    /// Reports that a new phase begins ("write", "check", ...). `total` is the total of the amounts that [`Progress::advance`] will report,
    /// if it is known.
    fn phase(&self, name: &str, total: Option<Amount>) {
        let _ = (name, total);
    }

    /// Reports that `done` more rows or bytes are done.
    fn advance(&self, done: Amount) {
        let _ = done;
    }
}

/// An amount of work: rows, and bytes of input or output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes.
    pub bytes: u64,
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// The observer of a run, and the flag that stops it. The default context is silent and never cancelled.
///
/// ```
/// use sqluice_core::progress::{Cancel, Context};
///
/// let cancel = Cancel::new();
/// let context = Context::default().cancel(&cancel);
/// cancel.cancel();
/// assert!(context.cancel.check().is_err());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Context<'c> {
    /// The observer of the run.
    pub progress: &'c dyn Progress,
    /// The flag that stops the run.
    pub cancel: Cancel,
}

impl<'c> Context<'c> {
    /// Sets the observer of the run.
    #[must_use]
    pub fn progress(mut self, progress: &'c dyn Progress) -> Context<'c> {
        self.progress = progress;
        self
    }

    /// Sets the flag that stops the run.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Context<'c> {
        self.cancel = cancel.clone();
        self
    }

    /// Returns a context with the same observer and with a [child](Cancel::child) of the flag.
    #[must_use]
    pub fn child(&self) -> Context<'c> {
        Context { progress: self.progress, cancel: self.cancel.child() }
    }
}

impl Default for Context<'_> {
    fn default() -> Self {
        Context { progress: &Silent, cancel: Cancel::new() }
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

/// A flag that asks a run to stop. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    parent: Arc<OnceLock<Parent>>,
}

/// An entry in the list of the parents that a flag has had, oldest first: the flag also counts as set while its newest parent is set.
/// Entries are only ever appended, so that threads read the list without a lock.
#[derive(Debug)]
struct Parent {
    cancel: Cancel,
    later: Box<OnceLock<Parent>>,
}

impl Cancel {
    /// Creates a flag that is not set.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Asks the run to stop. The run removes its output and returns [`ErrorKind::Interrupted`](crate::error::ErrorKind::Interrupted).
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Returns a new flag that also counts as set while this flag is set.
    #[must_use]
    pub fn child(&self) -> Cancel {
        let child = Cancel::new();
        child.follow(self);
        child
    }

    /// Makes this flag, with all its clones, a child of `parent` instead of the flag that it followed before. `parent` must not follow this
    /// flag.
    pub fn follow(&self, parent: &Cancel) {
        let mut link = &*self.parent;
        let mut new = Parent { cancel: parent.clone(), later: Box::default() };
        while let Err(rejected) = link.set(new) {
            let Some(taken) = link.get() else { return };
            (new, link) = (rejected, &taken.later);
        }
    }

    /// Undoes [`Cancel::cancel`].
    pub fn reset(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }

    /// Returns the atomic flag, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Returns an error once the flag is set.
    ///
    /// # Errors
    /// If the run should stop.
    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(Error::interrupted()) } else { Ok(()) }
    }

    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.followed().is_some_and(Cancel::is_set)
    }

    /// Returns the flag that this flag follows now; `None` if it follows none.
    fn followed(&self) -> Option<&Cancel> {
        let mut last = None;
        let mut link = &*self.parent;
        while let Some(parent) = link.get() {
            (last, link) = (Some(&parent.cancel), &parent.later);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_cancel_flag_is_set_while_any_flag_above_it_is_set() {
        let parent = Cancel::new();
        let child = parent.child();
        let grandchild = child.child();
        assert!(grandchild.check().is_ok());
        parent.cancel();
        assert!(child.check().is_err() && grandchild.check().is_err());
        parent.reset();
        child.cancel();
        assert!(parent.check().is_ok() && grandchild.check().is_err());
    }

    #[test]
    fn a_cancel_flag_follows_the_last_parent_and_no_earlier_one() {
        let parents = [Cancel::new(), Cancel::new(), Cancel::new()];
        let child = parents[0].child();
        let clone = child.clone();
        for (index, parent) in parents.iter().enumerate() {
            child.follow(parent);
            for other in &parents {
                other.cancel();
                let is_followed = std::ptr::eq(other, &raw const parents[index]);
                assert_eq!([&child, &clone].map(|flag| flag.check().is_err()), [is_followed; 2]);
                other.reset();
            }
        }
    }

    #[test]
    fn the_default_context_is_never_cancelled() {
        let other = Context::default();
        other.cancel.cancel();
        assert!(Context::default().cancel.check().is_ok());
    }
}
