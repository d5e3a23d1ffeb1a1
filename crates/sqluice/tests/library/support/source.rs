//! A `Source` of batches in memory, with parts of any number of batches.

use std::collections::VecDeque;

use sqluice::error::{Error, Result};
use sqluice::source::{Part, Sink, Source};

use super::rows::OwnedBatch;

/// Parts of some batches each.
#[derive(Clone, Debug, Default)]
pub(crate) struct InMemory {
    parts: VecDeque<InMemoryPart>,
}

#[derive(Clone, Debug)]
struct InMemoryPart {
    first_row: u64,
    batches: Vec<OwnedBatch>,
}

impl InMemory {
    /// Creates a source. The number of batches in each part is the next of `part_batches`, in turn; 0 makes an empty part.
    pub(crate) fn new(batches: Vec<OwnedBatch>, part_batches: &[usize]) -> InMemory {
        assert!(part_batches.iter().any(|&n| n > 0));
        let mut batches = VecDeque::from(batches);
        let (mut parts, mut first_row) = (VecDeque::new(), 0);
        for &n in part_batches.iter().cycle() {
            if batches.is_empty() {
                break;
            }
            let part: Vec<OwnedBatch> = batches.drain(..n.min(batches.len())).collect();
            let rows: usize = part.iter().map(|batch| batch.rows).sum();
            parts.push_back(InMemoryPart { first_row, batches: part });
            first_row += rows as u64;
        }
        InMemory { parts }
    }
}

impl Source for InMemory {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        Ok(self.parts.pop_front().map(|part| Box::new(part) as Box<dyn Part>))
    }
}

impl Part for InMemoryPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut first_row = self.first_row;
        for batch in &self.batches {
            batch.with(|batch| sink.rows(batch)).map_err(|refused| match refused.first() {
                (Some((row, column)), error) => Error::input(format!(
                    "row {}, column {column}: {}",
                    first_row + row as u64,
                    error.message()
                )),
                (None, error) => error,
            })?;
            first_row += batch.rows as u64;
        }
        Ok(())
    }
}
