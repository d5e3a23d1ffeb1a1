//! Counts the memory of a batch and of a record before it is allocated, and limits it.

use sqluice_core::error::Error;

use super::fault::Fault;
use crate::arrow::MemoryBound;

/// The approximate memory of a batch's values: a batch ends with the record that reaches it.
const BATCH_BYTES: u64 = 8 << 20;

/// The share of the load's memory at which a batch ends, if the share is less than `BATCH_BYTES`: 1/8.
const BATCH_SHARE: u64 = 8;

/// The number of bytes that the values of the current batch, and of its last record, take.
pub(super) struct Room {
    memory: MemoryBound,
    used_bytes: u64,
    record_bytes: u64,
}

/// The maximum size of a record's values, in bytes. The offsets in a batch, which have 31 bits, then reach the end of its last record.
const RECORD_BYTES_MAX: u64 = i32::MAX as u64 - 2 * BATCH_BYTES;

impl Room {
    pub(super) fn new(memory: MemoryBound) -> Room {
        Room { memory, used_bytes: 0, record_bytes: 0 }
    }

    /// Begins a batch: its bytes are counted from 0.
    pub(super) fn clear(&mut self) {
        self.used_bytes = 0;
    }

    /// Begins a record: its bytes are counted from 0.
    pub(super) fn next_record(&mut self) {
        self.record_bytes = 0;
    }

    /// Returns `true` if the batch has reached its size, and should end.
    pub(super) fn is_full(&self) -> bool {
        self.used_bytes >= BATCH_BYTES.min(self.memory.0.unwrap_or(u64::MAX) / BATCH_SHARE)
    }

    /// Counts the bytes of a value before they are allocated. Returns an error if the record takes too much memory.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), Fault> {
        self.used_bytes += bytes;
        self.record_bytes = self.record_bytes.saturating_add(bytes);
        if self.record_bytes > RECORD_BYTES_MAX {
            return Err(Error::input("the values of a record take more than 2 GiB").into());
        }
        self.memory.check("the values of a record", self.record_bytes)?;
        Ok(())
    }
}
