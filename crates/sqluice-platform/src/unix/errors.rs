//! Creates system errors by their numbers on Unix.

use std::io;

use rustix::io::Errno;

pub(crate) fn exists() -> io::Error {
    Errno::EXIST.into()
}

pub(crate) fn is_folder() -> io::Error {
    Errno::ISDIR.into()
}

pub(crate) fn nothing_written() -> io::Error {
    Errno::IO.into()
}
