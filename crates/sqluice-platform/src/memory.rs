//! Memory of the machine and of the process.

use std::fs::File;
use std::io;

use crate::system;

/// Bytes of memory that the machine can give without writing anything out, or that the process may have, if that is less. 0 where it is
/// not known.
pub fn available_bytes() -> u64 {
    system::memory::available_bytes()
}

/// Asks for large memory pages for all that a vector has capacity for. Where the system has none, nothing changes.
pub fn advise_large<T>(vec: &mut Vec<T>) {
    system::memory::advise_large(vec);
}

/// Bytes of memory that the process has now.
pub fn of_process() -> Option<u64> {
    system::memory::of_process()
}

/// The most that the process had.
pub fn peak_of_process() -> Option<u64> {
    system::memory::peak_of_process()
}

/// From now on the most is what the process has now; whether the system permits that.
pub fn forget_peak() -> bool {
    system::memory::forget_peak()
}

/// Has what was read of a file out of memory.
///
/// # Errors
/// When the system can't.
pub fn drop_cached(file: &File) -> io::Result<()> {
    system::memory::drop_cached(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_memory() {
        assert!(available_bytes() > 0);
    }

    #[test]
    fn a_vector_keeps_its_items_in_large_pages() {
        let mut vec: Vec<u64> = (0..2 << 20).collect();
        advise_large(&mut vec);
        assert!(vec.iter().copied().eq(0..2 << 20));
    }
}
