//! The output of an export: a file that gets its name at the end, or standard output.

use std::io::{self, Write};
use std::path::Path;

use sqluice_core::error::{Error, Result};
use sqluice_engine::output::{WholeFile, WholeFiles};

/// A file, or standard output.
pub(super) enum Out {
    File(WholeFile),
    Stdout {
        bytes: u64,
        /// `true` if the program that reads the pipe has closed it.
        closed: bool,
    },
}

impl Out {
    pub(super) fn create(path: Option<&Path>, files: &mut WholeFiles) -> Result<Out> {
        Ok(match path {
            Some(path) => Out::File(files.create(path)?),
            None => Out::Stdout { bytes: 0, closed: false },
        })
    }

    pub(super) fn write(&mut self, data: &[u8]) -> Result<()> {
        match self {
            Out::File(file) => file.write(data),
            Out::Stdout { closed: true, .. } => Ok(()),
            Out::Stdout { bytes, closed } => {
                let mut stdout = io::stdout().lock();
                match stdout.write_all(data).and_then(|()| stdout.flush()) {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        *closed = true;
                        Ok(())
                    }
                    Err(error) => Err(Error::target("cannot write to standard output").because(error)),
                    Ok(()) => {
                        *bytes += data.len() as u64;
                        Ok(())
                    }
                }
            }
        }
    }

    /// Returns `true` if the program that reads the pipe has closed it, so that no more rows are needed.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Out::Stdout { closed: true, .. })
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Out::File(file) => file.bytes(),
            Out::Stdout { bytes, .. } => *bytes,
        }
    }

    /// Ends the output. A file is added to `files`, and gets its final name together with the other files.
    pub(super) fn end(self, files: &mut WholeFiles) -> Result<()> {
        match self {
            Out::File(file) => files.add(file),
            Out::Stdout { .. } => Ok(()),
        }
    }
}

/// An adapter to [`Write`] that keeps the original error with its place and hint.
#[cfg(feature = "parquet")]
pub(super) struct OutWriter<'o> {
    pub(super) out: &'o mut Out,
    pub(super) failed: Option<Error>,
}

#[cfg(feature = "parquet")]
impl Write for OutWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.out.is_closed() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        match self.out.write(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                self.failed = Some(error);
                Err(io::Error::other("see the error that was kept"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "parquet")]
impl OutWriter<'_> {
    /// Returns `written`, the result of a writer. Its error is replaced by the output's own first error, which has place and hint. A closed
    /// pipe is no error.
    pub(super) fn explained(self, written: Result<()>) -> Result<()> {
        match written {
            Err(_) if self.out.is_closed() => Ok(()),
            written => written.map_err(|error| self.failed.unwrap_or(error)),
        }
    }
}
