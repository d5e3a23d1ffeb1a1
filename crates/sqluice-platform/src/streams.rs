//! Standard input and other streams.

use std::fs::File;
use std::io;

pub use crate::answers::Stream;
use crate::system;

/// Returns standard input as a separate file.
///
/// # Errors
/// When standard input is closed.
pub fn standard_input() -> io::Result<File> {
    system::streams::standard_input()
}

/// Returns the capabilities of an open file.
///
/// # Errors
/// When the file can't be inspected.
pub fn kind(file: &File) -> io::Result<Stream> {
    system::streams::kind(file)
}
