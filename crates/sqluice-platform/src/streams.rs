//! Standard input and the like.

use std::fs::File;
use std::io;

pub use crate::answers::Stream;
use crate::system;

/// Standard input as a file of its own.
///
/// # Errors
/// When it is closed.
pub fn standard_input() -> io::Result<File> {
    system::streams::standard_input()
}

/// What an open file can do.
///
/// # Errors
/// When it can't be asked.
pub fn kind(file: &File) -> io::Result<Stream> {
    system::streams::kind(file)
}
