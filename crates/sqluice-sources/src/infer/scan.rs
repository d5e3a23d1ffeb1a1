//! Looks at all rows of a source, on some threads, before anything is loaded.
//!
//! Each thread takes the next part, decodes it, and keeps evidence of its own, which is merged at the end.
//!
//! Invariant: neither the evidence nor the error depends on the number of threads: of several errors, the one of the
//! first part is returned. (No part is begun after an error was seen, but all that come before it were, and are finished.)

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use sqluice_core::batch::Batch;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_core::source::{BadRow, Part, Refused, Sink, Source};

use super::{Evidence, see_all};

/// The evidence of each of `columns`, over all rows of the source except malformed ones, which the load reports. `progress` is given the
/// bytes of each part; the caller names the phase.
///
/// What is known when the source can't be read any further is returned with the error.
pub fn scan(
    source: &mut dyn Source,
    columns: &[usize],
    threads: usize,
    cancel: &Cancel,
    progress: &dyn Progress,
) -> (Vec<Evidence>, Result<()>) {
    let parts = Mutex::new(Parts { source, next: 0, failed: None });
    let mut all = vec![Evidence::new(); columns.len()];
    std::thread::scope(|scope| {
        let mut scanning = Vec::new();
        for _ in 0..threads.max(1) {
            let started = std::thread::Builder::new()
                .name("sqluice-scan".to_owned())
                .spawn_scoped(scope, || scan_parts(&parts, columns, cancel, progress));
            match started {
                Ok(thread) => scanning.push(thread),
                Err(error) => fail(&parts, 0, Error::target("cannot start a thread").because(error)),
            }
        }
        for thread in scanning {
            let evidence = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            all.iter_mut().zip(evidence).for_each(|(all, evidence)| all.merge(evidence));
        }
    });
    let failed = parts.into_inner().unwrap_or_else(PoisonError::into_inner).failed;
    (all, failed.map_or(Ok(()), |(_, error)| Err(error)))
}

/// What the threads share.
struct Parts<'a> {
    source: &'a mut dyn Source,
    /// Parts that were handed out.
    next: u64,
    /// The first part, of those that failed, and why.
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

/// One thread.
fn scan_parts(
    parts: &Mutex<Parts<'_>>,
    columns: &[usize],
    cancel: &Cancel,
    progress: &dyn Progress,
) -> Vec<Evidence> {
    let evidence = vec![Evidence::new(); columns.len()];
    let mut scanning = Scanning { columns, cancel, evidence, typed: false };
    loop {
        let next = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((index, mut part)) = next else { return scanning.evidence };
        scanning.typed = part.is_typed();
        match cancel.check().and_then(|()| part.decode(&mut scanning)) {
            Ok(()) => progress.advance(Amount { rows: 0, bytes: part.input_bytes() }),
            Err(error) => fail(parts, index, error),
        }
    }
}

/// A sink that only looks.
struct Scanning<'a> {
    columns: &'a [usize],
    cancel: &'a Cancel,
    evidence: Vec<Evidence>,
    typed: bool,
}

impl Sink for Scanning<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self.cancel.check()?;
        see_all(&mut self.evidence, self.columns, batch, self.typed);
        Ok(())
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        self.cancel.check()
    }
}

/// Notes the error of a part, unless an earlier one has failed.
fn fail(parts: &Mutex<Parts<'_>>, index: u64, error: Error) {
    let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
    if parts.failed.as_ref().is_none_or(|(first, _)| index < *first) {
        parts.failed = Some((index, error));
    }
}
