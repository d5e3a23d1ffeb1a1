//! Readers, each of which serves one thread at a time.
//!
//! A thread tries its own slot first, which is that of its number among all threads that ever read: as long as threads are not more
//! than slots, no thread waits for another. A connection is opened when its slot is first used. What readers hold they let go
//! of by the clock ([`super::clock`]).

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

/// How often several readers at work are looked at without a pause, and the pause.
const YIELDS: usize = 100;
const PAUSE: Duration = Duration::from_micros(200);

/// A place for a reader.
pub(super) type Slot = Option<Reader>;

/// A slot, and whether it was used since readers were last stopped.
#[derive(Default)]
struct ReaderPlace {
    slot: Mutex<Slot>,
    used: AtomicBool,
}

/// See the module's description.
pub(super) struct Pool {
    places: Vec<ReaderPlace>,
    path: PathBuf,
    layout: Layout,
    options: Options,
    /// Held by the thread that stops the readers. Readers that find it shut wait for it.
    gate: Mutex<()>,
    shut: AtomicBool,
    closed: AtomicBool,
    /// Whether the clock stands still, and its thread.
    asleep: AtomicBool,
    clock: OnceLock<Thread>,
}

/// Readers that hold nothing and do nothing as long as this value lives.
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

    /// Lends a reader.
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

    /// Ends what readers hold, and keeps them from beginning again. They have to be stopped all together: on Unix, SQLite lets a
    /// connection in where another of the same process holds a lock, even if another process waits.
    ///
    /// On Windows it does not: a reader that begins waits for the writer of another process, and that waits for the readers that hold a
    /// lock. So those at work are waited for in no order, and the others let go meanwhile.
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
            // Most reads take microseconds.
            match at_work.len() {
                0 | 1 => {}
                _ if rounds < YIELDS => thread::yield_now(),
                _ => thread::sleep(PAUSE),
            }
        }
        Ok(stopped)
    }

    /// The slot of this thread, or any that is free; if none is, its own when it is free.
    fn slot(&self) -> (&ReaderPlace, MutexGuard<'_, Slot>) {
        if self.shut.load(Ordering::Acquire) {
            drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let own = number() % self.places.len();
        let (before, from) = self.places.split_at(own);
        for place in from.iter().chain(before) {
            match place.slot.try_lock() {
                Ok(slot) => return (place, slot),
                // A thread that panicked left the connection as it was.
                Err(TryLockError::Poisoned(slot)) => return (place, slot.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        let place = &self.places[own];
        (place, place.slot.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the clock asks and does.
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

    /// Whether any reader may hold anything.
    pub(super) fn in_use(&self) -> bool {
        self.places.iter().any(|place| place.used.load(Ordering::SeqCst))
    }

    /// Says that the clock stands still, unless a reader is at work: the next reader wakes it.
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
