//! Hands out the parts of a pass to the workers, in the order of the trees and of the parts within a tree.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use sqluice_core::error::Result;
use sqluice_core::source::Source;

use crate::trees::workers::message::{PartId, Task};

/// The work of a pass, divided into parts: sources that are read part by part, or trees whose parts are counted before.
pub(crate) enum Parts<'a> {
    Sources(Vec<Box<dyn Source + 'a>>),
    /// The number of parts of each tree. The workers read these parts by their numbers.
    Numbered(Vec<usize>),
}

/// A dispenser, which hands out the parts of a pass to the workers in order. All workers share it.
pub(crate) struct Dispenser<'a> {
    parts: Mutex<Dispensed<'a>>,
    stop: AtomicBool,
}

struct Dispensed<'a> {
    parts: Parts<'a>,
    tree: usize,
    /// The number of parts of the current tree that the workers have got so far.
    of_tree: usize,
    part: u64,
}

impl<'a> Dispenser<'a> {
    pub(crate) fn new(parts: Parts<'a>) -> Dispenser<'a> {
        let dispensed = Dispensed { parts, tree: 0, of_tree: 0, part: 0 };
        Dispenser { parts: Mutex::new(dispensed), stop: AtomicBool::new(false) }
    }

    /// Stops the dispenser: [`Dispenser::next`] returns no further part.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Dispenser<'_> {
    /// Returns `true` if [`Dispenser::stop`] was called.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn next(&self) -> Option<(PartId, Result<Task>)> {
        let mut dispensed = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let Dispensed { parts, tree, of_tree, part } = &mut *dispensed;
        while !self.is_stopped() {
            let next = match parts {
                Parts::Sources(sources) => {
                    sources.get_mut(*tree)?.next_part().map(|part| part.map(Task::Decode))
                }
                Parts::Numbered(parts) => Ok((*of_tree < *parts.get(*tree)?).then_some(Task::Part(*of_tree))),
            };
            let id = PartId { part: *part, tree: *tree };
            match next {
                Ok(None) => (*tree, *of_tree) = (*tree + 1, 0),
                Ok(Some(task)) => {
                    *part += 1;
                    *of_tree += 1;
                    return Some((id, Ok(task)));
                }
                Err(error) => {
                    *tree = usize::MAX;
                    return Some((id, Err(error)));
                }
            }
        }
        None
    }
}
