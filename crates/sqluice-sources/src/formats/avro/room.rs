//! The memory of a batch: what its values take, and what those of one record may take.

use sqluice_core::error::Error;

use super::fault::Fault;
use crate::arrow::MemoryBound;

/// The memory of the values of a batch, roughly, after which the batch ends.
const BATCH_BYTES: u64 = 8 << 20;

/// The share of the memory of a load after which a batch ends, where that is less.
const BATCH_SHARE: u64 = 8;

/// The memory that the values of a batch take.
pub(super) struct Room {
    memory: MemoryBound,
    used_bytes: u64,
    record_bytes: u64,
}

/// The values of a record take at most this number of bytes: with a batch before them, less than the range of an offset.
const RECORD_BYTES_MAX: u64 = i32::MAX as u64 - 2 * BATCH_BYTES;

impl Room {
    pub(super) fn new(memory: MemoryBound) -> Room {
        Room { memory, used_bytes: 0, record_bytes: 0 }
    }

    /// Begins a batch.
    pub(super) fn clear(&mut self) {
        self.used_bytes = 0;
    }

    /// Begins a record.
    pub(super) fn next_record(&mut self) {
        self.record_bytes = 0;
    }

    /// Returns `true` if the values take as much as those of a batch should.
    pub(super) fn is_full(&self) -> bool {
        self.used_bytes >= BATCH_BYTES.min(self.memory.0.unwrap_or(u64::MAX) / BATCH_SHARE)
    }

    /// Adds bytes of a value, before they are allocated.
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
