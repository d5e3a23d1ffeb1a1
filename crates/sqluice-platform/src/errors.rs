//! System errors for failures that this program detects itself.

use std::io;

use crate::system;

/// Returns the error for a name that already exists.
pub fn exists() -> io::Error {
    system::errors::exists()
}

/// Returns the error for a folder in the place of a file.
pub fn is_folder() -> io::Error {
    system::errors::is_folder()
}

/// Returns the error for a write that wrote nothing.
pub fn nothing_written() -> io::Error {
    system::errors::nothing_written()
}
