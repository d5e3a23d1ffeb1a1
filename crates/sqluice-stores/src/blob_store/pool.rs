//! The pool of a store's readers. Each reader serves one thread at a time.
//!
//! Threads are numbered in the order in which they first read. A thread first tries the slot of its number: as long as there are not more
//! threads than slots, no thread waits for another. A connection is opened when its slot is first used. The clock makes readers release
//! their locks ([`super::clock`]).

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, Thread};
use std::time::Duration;

use sqluice_core::error::{Error, Result};

use super::layout::Layout;
use super::options::Options;
use super::reader::Reader;

/// [`Pool::stop`] tries the locks of busy readers in rounds. After each of the first `YIELDS` rounds, it only yields the
/// processor.
const YIELDS: usize = 100;
/// The pause of [`Pool::stop`] after each later round.
const PAUSE: Duration = Duration::from_micros(200);

/// A place for a reader, empty until it is first used.
pub(super) type Slot = Option<Reader>;

/// A slot, and a flag that is `true` if the slot was used since the readers were last stopped.
#[derive(Default)]
struct ReaderPlace {
    slot: Mutex<Slot>,
    used: AtomicBool,
}

/// A pool of readers; see the module's description.
pub(super) struct Pool {
    places: Vec<ReaderPlace>,
    path: PathBuf,
    layout: Layout,
    options: Options,
    /// A lock held by the thread that stops the readers. Readers wait for it while `shut` is `true`.
    gate: Mutex<()>,
    shut: AtomicBool,
    closed: AtomicBool,
    /// `true` while the clock stands still. `clock` is the thread of the clock.
    asleep: AtomicBool,
    clock: OnceLock<Thread>,
}

/// Guards that keep all readers idle and without locks as long as this value lives.
pub(super) struct Stopped<'p> {
    shut: &'p AtomicBool,
    _gate: MutexGuard<'p, ()>,
    slots: Vec<MutexGuard<'p, Slot>>,
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.slots.clear();
        self.shut.store(false, Ordering::Release);
    }
}

impl Pool {
    pub(super) fn new(path: PathBuf, layout: Layout, options: Options) -> Pool {
        Pool {
            places: (0..options.readers_max).map(|_| ReaderPlace::default()).collect(),
            path,
            layout,
            options,
            gate: Mutex::default(),
            shut: AtomicBool::default(),
            closed: AtomicBool::default(),
            asleep: AtomicBool::default(),
            clock: OnceLock::new(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Calls a function with a reader that no other thread uses.
    pub(super) fn with<R>(&self, use_it: impl FnOnce(&mut Reader) -> Result<R>) -> Result<R> {
        let (place, mut slot) = self.slot();
        let reader = match &mut *slot {
            Some(reader) => reader,
            empty => empty.insert(Reader::open(&self.path, self.layout, &self.options)?),
        };
        let done = use_it(reader);
        if !place.used.load(Ordering::Relaxed) {
            place.used.store(true, Ordering::SeqCst);
            self.wake();
        }
        done
    }

    /// Makes all readers release their locks. No reader starts again before the result is dropped. All readers must be stopped together:
    /// on Unix, SQLite admits a new connection if another connection of the process holds a lock, even while another process waits.
    ///
    /// On Windows, a reader that starts waits for the writer of another process, which in turn waits for the readers that hold a lock. So
    /// this function first stops every reader that is idle, and waits for busy readers in any order.
    pub(super) fn stop(&self) -> Result<Stopped<'_>> {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.shut.store(true, Ordering::Release);
        let mut stopped =
            Stopped { shut: &self.shut, _gate: gate, slots: Vec::with_capacity(self.places.len()) };
        let mut at_work: Vec<&ReaderPlace> = self.places.iter().collect();
        let mut rounds = 0;
        while !at_work.is_empty() {
            let is_last = at_work.len() == 1;
            let mut left = Vec::with_capacity(at_work.len());
            for place in &at_work {
                let mut slot = match place.slot.try_lock() {
                    Ok(slot) => slot,
                    Err(TryLockError::Poisoned(slot)) => slot.into_inner(),
                    Err(TryLockError::WouldBlock) if is_last => {
                        place.slot.lock().unwrap_or_else(PoisonError::into_inner)
                    }
                    Err(TryLockError::WouldBlock) => {
                        left.push(*place);
                        continue;
                    }
                };
                slot.as_mut().map_or(Ok(()), Reader::release)?;
                place.used.store(false, Ordering::SeqCst);
                stopped.slots.push(slot);
            }
            at_work = left;
            rounds += 1;
            // Most reads take only microseconds, so the first rounds do not sleep.
            match at_work.len() {
                0 | 1 => {}
                _ if rounds < YIELDS => thread::yield_now(),
                _ => thread::sleep(PAUSE),
            }
        }
        Ok(stopped)
    }

    /// Returns the slot of this thread or, if it is in use, any free slot. If no slot is free, waits for the thread's own slot.
    fn slot(&self) -> (&ReaderPlace, MutexGuard<'_, Slot>) {
        if self.shut.load(Ordering::Acquire) {
            drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let own = number() % self.places.len();
        let (before, from) = self.places.split_at(own);
        for place in from.iter().chain(before) {
            match place.slot.try_lock() {
                Ok(slot) => return (place, slot),
                // A panic of another thread leaves the connection usable.
                Err(TryLockError::Poisoned(slot)) => return (place, slot.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        let place = &self.places[own];
        (place, place.slot.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The functions that the clock calls, and `wake`, by which a reader wakes the clock.
impl Pool {
    pub(super) fn woken_by(&self, clock: Thread) {
        let _ = self.clock.set(clock);
    }

    pub(super) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::SeqCst)
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Returns `true` if a reader may hold a lock.
    pub(super) fn in_use(&self) -> bool {
        self.places.iter().any(|place| place.used.load(Ordering::SeqCst))
    }

    /// Marks the clock as asleep. Returns `false` if a reader is in use. The next reader wakes a sleeping clock.
    pub(super) fn may_sleep(&self) -> bool {
        self.asleep.store(true, Ordering::SeqCst);
        !self.in_use()
    }

    fn wake(&self) {
        if self.asleep.swap(false, Ordering::SeqCst)
            && let Some(clock) = self.clock.get()
        {
            clock.unpark();
        }
    }
}

/// Returns the number of this thread, counted from 0. Threads are numbered by their first call of this function.
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

/// Returns the error for writing to a store that was opened for reading only.
pub(super) fn read_only(path: &Path) -> Error {
    Error::usage(format!("the store {} was opened for reading only", path.display()))
        .hint("open it without read_only")
}
