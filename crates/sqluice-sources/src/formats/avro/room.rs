//! The memory of a batch and of a record: bytes are counted before they are allocated, and bounded.

use sqluice_core::error::Error;

use super::fault::Fault;
use crate::arrow::MemoryBound;

/// The memory of the values of a batch, roughly: a batch that takes more ends.
const BATCH_BYTES: u64 = 8 << 20;

/// The divisor of the memory of a load: a batch that takes more than this share ends, if the share is less than `BATCH_BYTES`.
const BATCH_SHARE: u64 = 8;

/// The count of the bytes that the values of a batch, and of its last record, take.
pub(super) struct Room {
    memory: MemoryBound,
    used_bytes: u64,
    record_bytes: u64,
}

/// The largest number of bytes of a record's values: with a batch before them, still less than the range of an offset.
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

    /// Returns `true` if the values take as much memory as a batch should.
    pub(super) fn is_full(&self) -> bool {
        self.used_bytes >= BATCH_BYTES.min(self.memory.0.unwrap_or(u64::MAX) / BATCH_SHARE)
    }

    /// Counts the bytes of a value, before they are allocated.
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
