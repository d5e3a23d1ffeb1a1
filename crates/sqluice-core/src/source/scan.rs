//! Passes all parts of a source to a function, on several threads.
//!
//! Each thread takes one part after the other, and keeps a state of its own. The caller merges the states.
//!
//! Invariant: the error does not depend on the number of threads: the error of the first part that fails is returned. (No part is begun
//! after an error, but all parts before the failed one were begun, and are finished.)

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use super::{Part, Source};
use crate::error::{Error, Result};
use crate::progress::Cancel;

/// Calls `look` with each part, its number, counted from 0, and the state of the thread, which `begin` creates. Returns all states, and the
/// first error.
pub fn scan<S: Send>(
    source: &mut dyn Source,
    threads: usize,
    cancel: &Cancel,
    begin: impl Fn() -> S + Sync,
    look: impl Fn(&mut S, u64, &mut dyn Part) -> Result<()> + Sync,
) -> (Vec<S>, Result<()>) {
    let parts = Mutex::new(Parts { source, next: 0, failed: None });
    let work = || {
        let mut state = begin();
        loop {
            let next = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, mut part)) = next else { return state };
            if let Err(error) = cancel.check().and_then(|()| look(&mut state, index, &mut *part)) {
                fail(&parts, index, error);
            }
        }
    };
    let mut states = Vec::new();
    std::thread::scope(|scope| {
        let mut scanning = Vec::new();
        for _ in 0..threads.max(1) {
            match std::thread::Builder::new().name("sqluice-scan".to_owned()).spawn_scoped(scope, work) {
                Ok(thread) => scanning.push(thread),
                Err(error) => fail(&parts, 0, Error::target("cannot start a thread").because(error)),
            }
        }
        let joined =
            scanning.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        states.extend(joined);
    });
    let failed = parts.into_inner().unwrap_or_else(PoisonError::into_inner).failed;
    (states, failed.map_or(Ok(()), |(_, error)| Err(error)))
}

/// The data that the threads share.
struct Parts<'a> {
    source: &'a mut dyn Source,
    /// The number of parts that were handed out.
    next: u64,
    /// The first part that has failed, with its error; `None` as long as none has.
    failed: Option<(u64, Error)>,
}

impl Parts<'_> {
    fn next(&mut self) -> Option<(u64, Box<dyn Part>)> {
        if self.failed.is_some() {
            return None;
        }
        let index = self.next;
        self.next += 1;
        match self.source.next_part() {
            Ok(part) => part.map(|part| (index, part)),
            Err(error) => {
                self.failed = Some((index, error));
                None
            }
        }
    }
}

/// Stores the error of a part, unless an earlier part has failed.
fn fail(parts: &Mutex<Parts<'_>>, index: u64, error: Error) {
    let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
    if parts.failed.as_ref().is_none_or(|(first, _)| index < *first) {
        parts.failed = Some((index, error));
    }
}
