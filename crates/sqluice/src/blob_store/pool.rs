//! Readers, each of which serves one thread at a time.
//!
//! A thread tries its own slot first, which is that of its number among all threads that ever read: as long as there are no more
//! threads than slots nobody waits for anybody. A connection is opened when its slot is first used.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::layout::Layout;
use super::options::Options;
use super::reader::Reader;
use crate::error::{Error, Result};

/// A place for a reader.
pub(super) type Slot = Option<Reader>;

/// See the module's description.
pub(super) struct Pool {
    slots: Vec<Mutex<Slot>>,
    path: PathBuf,
    layout: Layout,
    options: Options,
}

impl Pool {
    pub(super) fn new(path: PathBuf, layout: Layout, options: Options) -> Pool {
        let slots = (0..options.readers_max).map(|_| Mutex::default()).collect();
        Pool { slots, path, layout, options }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Lends a reader.
    pub(super) fn with<R>(&self, use_it: impl FnOnce(&mut Reader) -> Result<R>) -> Result<R> {
        let mut slot = self.slot();
        let reader = match &mut *slot {
            Some(reader) => reader,
            empty => empty.insert(Reader::open(&self.path, self.layout, &self.options)?),
        };
        use_it(reader)
    }

    /// Ends what readers hold, and keeps them from beginning anew until the guards are gone.
    pub(super) fn stop(&self) -> Result<Vec<MutexGuard<'_, Slot>>> {
        let mut slots = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.as_mut().map_or(Ok(()), Reader::release)?;
            slots.push(slot);
        }
        Ok(slots)
    }

    /// The slot of this thread, or any that is free; if none is, its own when it is free.
    fn slot(&self) -> MutexGuard<'_, Slot> {
        let own = number() % self.slots.len();
        let (before, from) = self.slots.split_at(own);
        for slot in from.iter().chain(before) {
            match slot.try_lock() {
                Ok(slot) => return slot,
                // Whoever panicked left a connection, which is as it was.
                Err(TryLockError::Poisoned(slot)) => return slot.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        self.slots[own].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of this thread among those that asked.
fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    NUMBER.with(|number| {
        let own = number.get().unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
        number.set(Some(own));
        own
    })
}

/// Writing to a store that was opened for reading.
pub(super) fn read_only(path: &Path) -> Error {
    Error::usage(format!("the store {} was opened for reading only", path.display()))
        .hint("open it without read_only")
}
