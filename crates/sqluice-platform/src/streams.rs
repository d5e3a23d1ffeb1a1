//! Opens standard input, tells files from pipes, and hides what is typed on the terminal.

use std::fs::File;
use std::io;
use std::path::PathBuf;

pub use crate::answers::Stream;
use crate::system;

/// Returns standard input as a separate file.
///
/// # Errors
/// When standard input is closed.
pub fn standard_input() -> io::Result<File> {
    system::streams::standard_input()
}

/// Returns the path of the file that is standard input, or `None` if it is a pipe or a terminal, or the system does not report the path.
pub fn standard_input_path() -> Option<PathBuf> {
    // Linux has the links of this folder.
    std::fs::read_link("/proc/self/fd/0").ok().filter(|path| path.is_file())
}

/// Returns the capabilities of an open file.
///
/// # Errors
/// When the file can't be inspected.
pub fn kind(file: &File) -> io::Result<Stream> {
    system::streams::kind(file)
}

/// A guard that keeps the terminal of standard input from showing typed characters until the guard is dropped.
#[derive(Debug)]
pub struct WithoutEcho {
    _terminal: system::streams::WithoutEcho,
}

/// Stops the terminal of standard input from showing what is typed.
///
/// # Errors
/// If standard input is no terminal.
pub fn without_echo() -> io::Result<WithoutEcho> {
    Ok(WithoutEcho { _terminal: system::streams::WithoutEcho::begin()? })
}
