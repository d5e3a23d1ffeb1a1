//! Unix domain sockets are not supported, because the standard library lacks them on Windows.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

pub(crate) const ARE_SUPPORTED: bool = false;

/// A type without values, because no connection can be made.
#[derive(Debug)]
pub(crate) enum LocalSocket {}

impl LocalSocket {
    pub(crate) fn connect(_: &Path, _: Duration) -> io::Result<LocalSocket> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(crate) fn end(&self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match *self {}
    }
}
