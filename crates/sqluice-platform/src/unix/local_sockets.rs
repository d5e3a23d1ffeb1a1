//! Connections to Unix domain sockets, by the standard library.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub(crate) const ARE_SUPPORTED: bool = true;

#[derive(Debug)]
pub(crate) struct LocalSocket(UnixStream);

impl LocalSocket {
    pub(crate) fn connect(path: &Path, patience: Duration) -> io::Result<LocalSocket> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(LocalSocket(stream))
    }

    pub(crate) fn end(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Both)
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
