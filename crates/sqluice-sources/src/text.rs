//! What all sources of text share: the text as it arrives, how much of it was read, and buffers that are reused.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::error::{Error, Message, Place, Setting, message};
use sqluice_core::progress::Amount;

use crate::input::likely_encoding;

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Counted from 0.
    pub(super) byte: u64,
    /// The physical line, counted from 1. Lines end with LF, CRLF or CR, also within quotes.
    pub(super) line: u64,
    /// The character in the line, counted from 1; a byte order mark is not a character.
    pub(super) column: u64,
}

impl Position {
    /// As messages name it.
    pub(super) fn place(self, file: &Path) -> Place {
        Place {
            file: file.to_owned(),
            line: Some(self.line),
            column: Some(self.column),
            byte: Some(self.byte),
        }
    }

    /// Goes past `text`, of which lines end with LF.
    pub(super) fn advance(&mut self, text: &[u8]) {
        self.byte += text.len() as u64;
        let mut line = text;
        if let Some(last) = memchr::memrchr(b'\n', text) {
            self.line += memchr::memchr_iter(b'\n', text).count() as u64;
            self.column = 1;
            line = &text[last + 1..];
        }
        // The bytes that are not the first of a character of UTF-8 don't count.
        self.column += line.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64;
    }
    /// The place behind some text, of which lines end with LF.
    pub(super) fn later(mut self, text: &[u8]) -> Position {
        self.advance(text);
        self
    }
}

/// The text as it arrives, read a part at a time.
pub(super) struct Text {
    input: Box<dyn Read + Send>,
    /// For messages.
    pub(super) file: PathBuf,
    /// Read, but in no part yet.
    pub(super) rest: Vec<u8>,
    /// Where `rest` begins.
    pub(super) at: Position,
    /// All is read that will be.
    pub(super) ended: bool,
    /// The error, if the input did not end. Reported after what was read before.
    pub(super) failed: Option<Error>,
}

impl Text {
    /// `file` is named in messages. A byte order mark is skipped here, also one that was written twice.
    pub(super) fn new(input: Box<dyn Read + Send>, file: PathBuf) -> Text {
        let at = Position { byte: 0, line: 1, column: 1 };
        let mut text = Text { input, file, rest: Vec::new(), at, ended: false, failed: None };
        let mark = b"\xef\xbb\xbf";
        let mut start = Vec::new();
        text.read(&mut start, mark.len());
        while start == mark {
            start.clear();
            text.at.byte += mark.len() as u64;
            text.read(&mut start, mark.len());
        }
        text.rest = start;
        text
    }

    /// Reads `bytes` more, fewer only at the end.
    pub(super) fn read(&mut self, data: &mut Vec<u8>, bytes: usize) {
        data.reserve(bytes);
        match self.input.by_ref().take(bytes as u64).read_to_end(data) {
            Ok(read) => self.ended = read < bytes,
            Err(error) => {
                self.failed = Some(Error::from_read(&self.file, error));
                self.ended = true;
            }
        }
    }
}

/// How many bytes are UTF-8, from the first on.
pub(super) fn valid_utf8(data: &[u8]) -> usize {
    simdutf8::compat::from_utf8(data).map_or_else(|error| error.valid_up_to(), |_| data.len())
}

/// The hint for a record that is no UTF-8: an encoding is named only if the record makes sense in it.
pub(super) fn encoding_hint(text: &[u8]) -> Message {
    match likely_encoding(text) {
        Some(name) => {
            message!["if the file is in another encoding, name it, for example: ", Setting::Encoding.to(name)]
        }
        None => message!["if the file is in another encoding, name it: ", Setting::Encoding.to("NAME")],
    }
}

/// How much of the input is in parts that were handed out, in bytes of the file as it lies there, which may be compressed.
#[derive(Default)]
pub(super) struct HandedOut {
    bytes: u64,
    read: Option<Arc<AtomicU64>>,
    total: Option<u64>,
}

impl HandedOut {
    /// `read` counts what is read of the file, `total` is all of it. What is not given: bytes of text, and an unknown total.
    pub(super) fn new(read: Option<Arc<AtomicU64>>, total: Option<u64>) -> HandedOut {
        HandedOut { bytes: 0, read, total }
    }

    /// What the next part stands for, which ends at this byte of the text.
    pub(super) fn next(&mut self, text_byte: u64) -> u64 {
        let done = self.read.as_ref().map_or(text_byte, |read| read.load(Ordering::Relaxed));
        let bytes = done.saturating_sub(self.bytes);
        self.bytes = done;
        bytes
    }

    pub(super) fn total(&self) -> Option<Amount> {
        self.total.map(|bytes| Amount { rows: 0, bytes })
    }
}

/// Buffers to be used again: those of parts, and what a worker needs to decode one.
pub(super) struct Pool<S> {
    data: Mutex<Vec<Vec<u8>>>,
    scratch: Mutex<Vec<S>>,
}

impl<S> Default for Pool<S> {
    fn default() -> Pool<S> {
        Pool { data: Mutex::default(), scratch: Mutex::default() }
    }
}

impl<S> Pool<S> {
    pub(super) fn data(&self) -> Vec<u8> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Takes a buffer back, unless a giant record has made it larger than `bytes_max` bytes.
    pub(super) fn give_back(&self, mut data: Vec<u8>, bytes_max: usize) {
        data.clear();
        if data.capacity() <= bytes_max {
            self.data.lock().unwrap_or_else(PoisonError::into_inner).push(data);
        }
    }

    /// Lends what a worker needs; it is made if none is free.
    pub(super) fn with<R>(&self, make: impl FnOnce() -> S, use_it: impl FnOnce(&mut S) -> R) -> R {
        let pooled = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = pooled.unwrap_or_else(make);
        let done = use_it(&mut scratch);
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        done
    }
}
