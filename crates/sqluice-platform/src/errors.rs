//! Errors that the system did not return itself, in its words.

use std::io;

use crate::system;

/// The error for a name that is taken.
pub fn exists() -> io::Error {
    system::errors::exists()
}

/// The error for a folder in the place of a file.
pub fn is_folder() -> io::Error {
    system::errors::is_folder()
}

/// The error for a write that wrote nothing.
pub fn nothing_written() -> io::Error {
    system::errors::nothing_written()
}
