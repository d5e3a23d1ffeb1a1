//! Connections to Unix domain sockets, which have a path, as database servers offer them. They are not supported on Windows: connecting
//! fails.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use crate::system;

/// Returns `true` if Unix domain sockets are supported on this system.
pub fn are_supported() -> bool {
    system::local_sockets::ARE_SUPPORTED
}

/// A connection to a program of this machine.
#[derive(Debug)]
pub struct LocalSocket(system::local_sockets::LocalSocket);

impl LocalSocket {
    /// Connects to the socket at `path`. Reads and writes that wait longer than `patience` fail.
    ///
    /// # Errors
    /// If no program listens there, or Unix domain sockets are not supported.
    pub fn connect(path: &Path, patience: Duration) -> io::Result<LocalSocket> {
        system::local_sockets::LocalSocket::connect(path, patience).map(LocalSocket)
    }

    /// Ends the connection in both directions.
    ///
    /// # Errors
    /// If the connection has ended before.
    pub fn end(&self) -> io::Result<()> {
        self.0.end()
    }
}

impl Read for LocalSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for LocalSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
