//! Direct I/O: reads and writes that bypass the page cache.
//!
//! | system | method | requirement |
//! |---|---|---|
//! | Linux | `O_DIRECT`, if the file system supports it | whole blocks, aligned in memory and in the file |
//! | macOS | `F_NOCACHE` | none |
//! | Windows | none: an open file can't be switched | |

use std::fs::File;
use std::io;

use crate::system;

/// Turns direct I/O on for a file. Returns `false` if this is not possible.
pub fn switch_on(file: &File) -> bool {
    system::unbuffered::switch_on(file)
}

/// Turns direct I/O off for a file. Returns `true` if direct I/O was on, or may have been on: macOS does not report this.
pub fn switch_off(file: &File) -> bool {
    system::unbuffered::switch_off(file)
}

/// Returns `true` if an error may mean that the file system accepted direct I/O but refuses reads or writes, for example because a write
/// was not a whole block.
pub fn refuses(error: &io::Error) -> bool {
    system::unbuffered::refuses(error)
}
