//! The memory and the time that a workbook may take.

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;

/// The divisor of the memory of a load that limits what is held of a workbook: texts that cells share, styles, names.
const HELD_SHARE: u64 = 2;

/// The limits of a load, for a workbook.
#[derive(Clone)]
pub(super) struct Limits {
    /// The largest number of bytes that are held as long as the workbook is open.
    pub(super) held_bytes_max: u64,
    /// The largest number of bytes of a row's values.
    pub(super) row_bytes_max: usize,
    pub(super) cancel: Cancel,
}

impl Limits {
    /// Returns the limits of a load with this memory.
    pub(super) fn new(memory_bytes: u64, row_bytes_max: usize, cancel: Cancel) -> Limits {
        Limits { held_bytes_max: memory_bytes / HELD_SHARE, row_bytes_max, cancel }
    }

    /// Returns an error if `bytes` are too many to be held. `what` names what they are.
    pub(super) fn check_held(&self, what: &str, bytes: u64) -> Result<()> {
        if bytes <= self.held_bytes_max {
            return Ok(());
        }
        let error =
            format!("{what} would take more than {} MiB, half of the memory", self.held_bytes_max >> 20);
        Err(Error::input(error).hint(message!["give more memory: ", Setting::Memory]))
    }

    /// Returns an error if `bytes` are too many for one row.
    pub(super) fn check_row(&self, bytes: usize) -> Result<()> {
        if bytes <= self.row_bytes_max {
            return Ok(());
        }
        let error = format!("a row has more than {} bytes", self.row_bytes_max);
        Err(Error::input(error).hint(message!["give more memory: ", Setting::Memory]))
    }

    /// Returns an error if the load was asked to stop.
    pub(super) fn check_cancel(&self) -> Result<()> {
        self.cancel.check()
    }
}
