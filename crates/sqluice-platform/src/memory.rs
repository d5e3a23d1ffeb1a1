//! The memory of the machine and of the process: available and used bytes, large pages, and cached content of files.

use std::fs::File;
use std::io;

use crate::system;

/// Returns how much memory the process can get, in bytes: the memory that the machine can provide without swapping or, on Linux, the limit
/// of the control group if this is less. Memory that the group already uses is not subtracted from its limit. Returns 0 if the number is
/// unknown.
pub fn available_bytes() -> u64 {
    system::memory::available_bytes()
}

/// Asks the system for large memory pages for the capacity of a vector. Has no effect on systems without large pages.
pub fn advise_large<T>(vec: &mut Vec<T>) {
    system::memory::advise_large(vec);
}

/// Returns the number of bytes of memory that the process has now, or `None` if the system does not tell.
pub fn of_process() -> Option<u64> {
    system::memory::of_process()
}

/// Returns the peak number of bytes of memory that the process had, or `None` if the system does not tell.
pub fn peak_of_process() -> Option<u64> {
    system::memory::peak_of_process()
}

/// Resets the peak to the present memory of the process. Returns `false` if the system does not support this.
pub fn forget_peak() -> bool {
    system::memory::forget_peak()
}

/// Drops the cached content of a file from memory.
///
/// # Errors
/// When the system does not support this.
pub fn drop_cached(file: &File) -> io::Result<()> {
    system::memory::drop_cached(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_not_zero() {
        assert!(available_bytes() > 0);
    }

    #[test]
    fn advise_large_keeps_the_items_of_a_vector() {
        let mut vec: Vec<u64> = (0..2 << 20).collect();
        advise_large(&mut vec);
        assert!(vec.iter().copied().eq(0..2 << 20));
    }
}
