//! A reader whose next bytes can be looked at before they are read.

use std::io::{self, Read};
use std::mem;

/// A reader whose next bytes can be looked at before they are read.
pub(super) struct Peek<'a> {
    rest: Box<dyn Read + Send + 'a>,
    head: Vec<u8>,
    /// The number of bytes of `head` that were already read.
    at: usize,
    /// The end of the stream, once it was reached: `Ok`, or the error that ended the stream.
    end: Option<io::Result<()>>,
}

impl<'a> Peek<'a> {
    pub(super) fn new(rest: Box<dyn Read + Send + 'a>) -> Peek<'a> {
        Peek { rest, head: Vec::new(), at: 0, end: None }
    }

    /// Returns at least the next `bytes` bytes without reading them; fewer if the stream ends or fails before.
    pub(super) fn peek(&mut self, bytes: usize) -> &[u8] {
        while self.head.len() - self.at < bytes && self.end.is_none() {
            let before = self.head.len();
            self.head.resize(self.at + bytes, 0);
            let read = self.rest.read(&mut self.head[before..]);
            self.head.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.end = Some(Ok(())),
                Ok(_) => {}
                Err(error) => self.end = Some(Err(error)),
            }
        }
        &self.head[self.at..]
    }

    /// Skips bytes that were returned by [`Peek::peek`].
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        assert!(self.at <= self.head.len(), "only what was seen is left out");
    }

    /// Returns the error of the stream if it failed before its first byte.
    pub(super) fn failed_at_once(&mut self) -> io::Result<()> {
        if self.head.is_empty() { self.at_end() } else { Ok(()) }
    }

    /// Returns the error that ended the stream, if that error has already been met.
    pub(super) fn at_end(&mut self) -> io::Result<()> {
        match &mut self.end {
            Some(end @ Err(_)) => mem::replace(end, Err(again())),
            _ => Ok(()),
        }
    }
}

/// Returns the error for a read after an error, which must not look like the end of the stream.
fn again() -> io::Error {
    io::Error::other("read again after an error")
}

impl Read for Peek<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at < self.head.len() {
            let bytes = buffer.len().min(self.head.len() - self.at);
            buffer[..bytes].copy_from_slice(&self.head[self.at..self.at + bytes]);
            self.at += bytes;
            return Ok(bytes);
        }
        if self.end.is_some() {
            return self.at_end().map(|()| 0);
        }
        let read = self.rest.read(buffer);
        if read.is_err() {
            self.end = Some(Err(again()));
        }
        read
    }
}
