//! The limits for reading a workbook: the memory, and the flag that cancels the load.

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;

/// The part of the load's memory that shared texts, styles and names of a workbook may take: 1/2.
const HELD_SHARE: u64 = 2;

/// The limits of a load that reads a workbook.
#[derive(Clone)]
pub(super) struct Limits {
    /// The maximum number of bytes that stay in memory as long as the workbook is open.
    pub(super) held_bytes_max: u64,
    /// The maximum number of bytes of a row's values.
    pub(super) row_bytes_max: usize,
    pub(super) cancel: Cancel,
}

impl Limits {
    /// Returns the limits of a load with `memory_bytes` of memory, whose rows may have `row_bytes_max` bytes.
    pub(super) fn new(memory_bytes: u64, row_bytes_max: usize, cancel: Cancel) -> Limits {
        Limits { held_bytes_max: memory_bytes / HELD_SHARE, row_bytes_max, cancel }
    }

    /// Returns an error if `bytes` is more than may stay in memory. `what` says in the error what takes the memory.
    pub(super) fn check_held(&self, what: &str, bytes: u64) -> Result<()> {
        if bytes <= self.held_bytes_max {
            return Ok(());
        }
        let error =
            format!("{what} would take more than {} MiB, half of the memory", self.held_bytes_max >> 20);
        Err(Error::input(error).hint(message!["give more memory: ", Setting::Memory]))
    }

    /// Returns an error if a row of `bytes` bytes is too large.
    pub(super) fn check_row(&self, bytes: usize) -> Result<()> {
        if bytes <= self.row_bytes_max {
            return Ok(());
        }
        let error = format!("a row has more than {} bytes", self.row_bytes_max);
        Err(Error::input(error).hint(message!["give more memory: ", Setting::Memory]))
    }

    /// Returns an error if the load is cancelled.
    pub(super) fn check_cancel(&self) -> Result<()> {
        self.cancel.check()
    }
}
