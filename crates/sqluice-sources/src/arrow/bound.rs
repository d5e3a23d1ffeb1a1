//! The bound on the memory that the bytes of a file may grow to.
//!
//! A few bytes of a compressed file can stand for any number, and one string of a dictionary for every row. So a size is compared with the
//! memory of the load before that much is allocated.

use sqluice_core::error::{Error, Setting, message};
use sqluice_core::size::Bytes;

/// The memory that one part of an input may take; `None`: any amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryBound(pub Option<u64>);

/// The divisor of the memory for the values of a row: a row is held several times, as read, as converted and as encoded.
const ROW_SHARE: u64 = 8;

impl MemoryBound {
    /// Refuses `what` if it needs more memory.
    pub(crate) fn check(self, what: &str, bytes: u64) -> Result<(), Error> {
        match self.0 {
            Some(memory) if bytes > memory => Err(too_much(what, bytes, memory, bytes)),
            _ => Ok(()),
        }
    }

    /// Returns the largest number of bytes that the values of a row may have.
    pub(crate) fn row_bytes(self) -> usize {
        self.0.map_or(usize::MAX, |memory| usize::try_from(memory / ROW_SHARE).unwrap_or(usize::MAX))
    }

    /// Returns the error for a row with more than [`MemoryBound::row_bytes`]: some of its values have `bytes`.
    pub(crate) fn refuse_row(self, bytes: u64) -> Error {
        let memory = self.0.unwrap_or(u64::MAX);
        too_much("the values of a row", bytes, memory / ROW_SHARE, bytes.saturating_mul(ROW_SHARE))
    }
}

fn too_much(what: &str, bytes: u64, bound: u64, memory_bytes: u64) -> Error {
    let message = format!(
        "{what} would take at least {:.1} of memory, more than the {:.1} they may",
        Bytes(bytes),
        Bytes(bound)
    );
    let needed = format!("{}MiB", memory_bytes.div_ceil(1 << 20));
    Error::input(message)
        .hint(message!["give it more, if that is as it should be: ", Setting::Memory.to(needed)])
}
