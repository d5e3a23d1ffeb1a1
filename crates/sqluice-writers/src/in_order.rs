//! Encodes the parts of a source on several threads, and returns the encoded pieces in the order of the parts.
//!
//! ```text
//!  source ── parts 0, 1, 2, 3, ... ──> threads ── pieces in any order: 1, 0, 3, 2, ... ──> next(): 0, 1, 2, 3, ...
//! ```
//!
//! Invariant: the pieces that wait or are being made are at most twice as many as the threads. So memory is bounded, and the threads pause
//! while no one takes pieces.
//!
//! Invariant: if several parts fail, the error of the first of them in the source is returned.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::{Part, Source};

/// An encoder of parts. All threads share it.
pub trait Encode: Send + Sync + 'static {
    /// The encoded form of a part.
    type Piece: Send;

    /// Encodes a part.
    ///
    /// # Errors
    /// If the part can't be read, or has a value that the format can't store.
    fn encode(&self, part: &mut dyn Part) -> Result<Self::Piece>;
}

/// The encoded pieces of a source, in the order of its parts; see the module's description.
pub struct InOrder<E: Encode> {
    shared: Arc<Shared<E>>,
    threads: Vec<JoinHandle<()>>,
    cancel: Cancel,
}

struct Shared<E: Encode> {
    encoder: E,
    source: Mutex<Option<Box<dyn Source>>>,
    pieces: Mutex<Pieces<E::Piece>>,
    /// Signals a change of `pieces` to the waiting threads.
    changed: Condvar,
    waiting_max: u64,
}

struct Pieces<P> {
    made: BTreeMap<u64, Result<P>>,
    /// The number of the piece that the caller takes next.
    next: u64,
    /// The number of parts that threads have taken from the source.
    parts: u64,
    /// `true` if the source has no more parts, or the caller wants no more pieces.
    ended: bool,
}

impl<E: Encode> InOrder<E> {
    /// Starts the threads. `cancel` is the flag with which `source` was opened. If the value is dropped before its last piece was taken,
    /// the flag is set, which ends the threads.
    pub fn start(source: Box<dyn Source>, encoder: E, threads: usize, cancel: &Cancel) -> InOrder<E> {
        let threads = threads.max(1);
        let pieces = Pieces { made: BTreeMap::new(), next: 0, parts: 0, ended: false };
        let shared = Arc::new(Shared {
            encoder,
            source: Mutex::new(Some(source)),
            pieces: Mutex::new(pieces),
            changed: Condvar::new(),
            waiting_max: 2 * threads as u64,
        });
        let start = |_| {
            let (shared, cancel) = (Arc::clone(&shared), cancel.clone());
            std::thread::spawn(move || shared.work(&cancel))
        };
        InOrder {
            threads: (0..threads).map(start).collect(),
            shared: Arc::clone(&shared),
            cancel: cancel.clone(),
        }
    }

    /// Returns the encoder of the parts.
    pub fn encoder(&self) -> &E {
        &self.shared.encoder
    }
}

impl<E: Encode> Shared<E> {
    fn pieces(&self) -> MutexGuard<'_, Pieces<E::Piece>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes parts until none are left.
    fn work(&self, cancel: &Cancel) {
        while let Some((number, part)) = self.next_part(cancel) {
            let encoded = part.and_then(|mut part| {
                let encoded = catch_unwind(AssertUnwindSafe(|| self.encoder.encode(&mut *part)));
                encoded.unwrap_or_else(|_| Err(Error::target("a thread panicked")))
            });
            let mut pieces = self.pieces();
            pieces.ended |= encoded.is_err();
            pieces.made.insert(number, encoded);
            self.changed.notify_all();
        }
    }

    fn next_part(&self, cancel: &Cancel) -> Option<(u64, Result<Box<dyn Part>>)> {
        // The wait holds the lock of the source, so one thread at a time waits for room, and all other threads wait for the lock.
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full =
            |pieces: &mut Pieces<_>| !pieces.ended && pieces.parts >= pieces.next + self.waiting_max;
        let mut pieces =
            self.changed.wait_while(self.pieces(), is_full).unwrap_or_else(PoisonError::into_inner);
        if pieces.ended {
            return None;
        }
        let number = pieces.parts;
        drop(pieces);
        let part =
            cancel.check().and_then(|()| source.as_mut().map_or(Ok(None), |source| source.next_part()));
        pieces = self.pieces();
        match part.transpose() {
            Some(part) => {
                pieces.parts += 1;
                Some((number, part))
            }
            None => {
                pieces.ended = true;
                self.changed.notify_all();
                // Close the files of the source now, before the last pieces are taken.
                *source = None;
                None
            }
        }
    }
}

impl<E: Encode> Iterator for InOrder<E> {
    type Item = Result<E::Piece>;

    fn next(&mut self) -> Option<Result<E::Piece>> {
        let waits = |pieces: &mut Pieces<E::Piece>| {
            let is_over = pieces.ended && pieces.next >= pieces.parts;
            !pieces.made.contains_key(&pieces.next) && !is_over
        };
        let pieces = self.shared.changed.wait_while(self.shared.pieces(), waits);
        let mut pieces = pieces.unwrap_or_else(PoisonError::into_inner);
        let next = pieces.next;
        let piece = pieces.made.remove(&next)?;
        pieces.next += 1;
        if piece.is_err() {
            // The caller gets no pieces after an error.
            pieces.parts = pieces.next;
            pieces.made.clear();
        }
        self.shared.changed.notify_all();
        Some(piece)
    }
}

impl<E: Encode> Drop for InOrder<E> {
    fn drop(&mut self) {
        let is_over = {
            let mut pieces = self.shared.pieces();
            let is_over = pieces.ended && pieces.next >= pieces.parts;
            pieces.ended = true;
            is_over
        };
        if !is_over {
            self.cancel.cancel();
        }
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqluice_core::source::Sink;
    use std::time::Duration;

    /// A source whose parts are numbers.
    struct Numbers {
        next: u64,
        end: u64,
        handed_out: Arc<Mutex<u64>>,
    }

    struct Number(u64);

    impl Source for Numbers {
        fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
            if self.next == self.end {
                return Ok(None);
            }
            self.next += 1;
            *self.handed_out.lock().unwrap() = self.next;
            Ok(Some(Box::new(Number(self.next - 1))))
        }
    }

    impl Part for Number {
        fn first_row(&self) -> u64 {
            self.0
        }

        fn decode(&mut self, _: &mut dyn Sink) -> Result<()> {
            Ok(())
        }
    }

    /// An encoder that takes longer for some numbers, and fails from a number on.
    struct Encoder {
        bad_from: u64,
    }

    impl Encode for Encoder {
        type Piece = u64;

        fn encode(&self, part: &mut dyn Part) -> Result<u64> {
            let number = part.first_row();
            std::thread::sleep(Duration::from_micros(number * 7919 % 13 * 50));
            assert!(number != 77 || self.bad_from != 77, "as wanted");
            match number < self.bad_from {
                true => Ok(number),
                false => Err(Error::input(format!("number {number}"))),
            }
        }
    }

    fn start(end: u64, bad_from: u64, threads: usize) -> (InOrder<Encoder>, Arc<Mutex<u64>>) {
        let handed_out = Arc::new(Mutex::new(0));
        let source = Numbers { next: 0, end, handed_out: Arc::clone(&handed_out) };
        (InOrder::start(Box::new(source), Encoder { bad_from }, threads, &Cancel::new()), handed_out)
    }

    #[test]
    fn pieces_arrive_in_the_order_of_their_parts() {
        for threads in [1, 2, 7] {
            for end in [0, 1, 5, 300] {
                let pieces: Result<Vec<u64>> = start(end, u64::MAX, threads).0.collect();
                assert_eq!(pieces.unwrap(), (0..end).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_first_error_in_order_is_the_last_piece() {
        for threads in [1, 2, 7] {
            for bad_from in [0, 1, 50, 77] {
                let mut pieces = start(300, bad_from, threads).0;
                for expected in 0..bad_from {
                    assert_eq!(pieces.next().unwrap().unwrap(), expected);
                }
                let message = pieces.next().unwrap().unwrap_err().message();
                let panicked = if bad_from == 77 {
                    "a thread panicked".to_owned()
                } else {
                    format!("number {bad_from}")
                };
                assert_eq!(message, panicked);
                assert!(pieces.next().is_none());
            }
        }
    }

    #[test]
    fn the_number_of_parts_read_ahead_is_bounded() {
        let (mut pieces, handed_out) = start(1_000_000, u64::MAX, 3);
        assert_eq!(pieces.next().unwrap().unwrap(), 0);
        std::thread::sleep(Duration::from_millis(200));
        assert!(*handed_out.lock().unwrap() <= 1 + 2 * 3);
        drop(pieces);
    }
}
