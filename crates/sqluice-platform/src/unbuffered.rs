//! Reads and writes past the page cache.
//!
//! | system | how | it asks for |
//! |---|---|---|
//! | Linux | `O_DIRECT`, where the file system can | whole blocks, in memory and in the file |
//! | macOS | `F_NOCACHE` | nothing |
//! | Windows | not at all: an open file can't be switched | |

use std::fs::File;
use std::io;

use crate::system;

/// Switches it on; returns whether it is.
pub fn switch_on(file: &File) -> bool {
    system::unbuffered::switch_on(file)
}

/// Switches it off; returns whether it was on.
pub fn switch_off(file: &File) -> bool {
    system::unbuffered::switch_off(file)
}

/// Whether an error may mean that the file system took the switch and refuses the reads or writes, or has written a part that is no
/// whole block.
pub fn refuses(error: &io::Error) -> bool {
    system::unbuffered::refuses(error)
}
