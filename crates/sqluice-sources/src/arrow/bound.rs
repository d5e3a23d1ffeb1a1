//! Limits the memory that data from a file may take.
//!
//! A few bytes of a compressed file can decompress to any size, and one dictionary entry can be the value of every row. So every size is
//! compared with the memory of the load before the memory is allocated.

use sqluice_core::error::{Error, Setting, message};
use sqluice_core::size::Bytes;

/// The maximum memory, in bytes, for what is in memory as a whole, such as a page or a record batch; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryBound(pub Option<u64>);

/// The values of one row may take one eighth of the memory, because a row exists several times: as read, converted and encoded.
const ROW_SHARE: u64 = 8;

impl MemoryBound {
    /// Returns an error if `what` needs more memory than the limit.
    pub(crate) fn check(self, what: &str, bytes: u64) -> Result<(), Error> {
        match self.0 {
            Some(memory) if bytes > memory => Err(too_much(what, bytes, memory, bytes)),
            _ => Ok(()),
        }
    }

    /// Returns the maximum number of bytes of the values of a row.
    pub(crate) fn row_bytes(self) -> usize {
        self.0.map_or(usize::MAX, |memory| usize::try_from(memory / ROW_SHARE).unwrap_or(usize::MAX))
    }

    /// Returns the error for a row whose values have more than [`MemoryBound::row_bytes`]. `bytes` is the size of the values up to the one
    /// that exceeds the limit, for the message.
    pub(crate) fn refuse_row(self, bytes: u64) -> Error {
        let memory = self.0.unwrap_or(u64::MAX);
        too_much("the values of a row", bytes, memory / ROW_SHARE, bytes.saturating_mul(ROW_SHARE))
    }
}

fn too_much(what: &str, bytes: u64, bound: u64, memory_bytes: u64) -> Error {
    let message = format!(
        "{what} would take at least {:.1} of memory, and the limit is {:.1}",
        Bytes(bytes),
        Bytes(bound)
    );
    let needed = format!("{}MiB", memory_bytes.div_ceil(1 << 20));
    Error::input(message)
        .hint(message!["if the data is not damaged, allow more memory: ", Setting::Memory.to(needed)])
}
