//! The code that all sources of text share: the text as it arrives, the number of bytes that were read, and reused buffers.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::error::{Error, Message, Place, Setting, message};
use sqluice_core::progress::Amount;

use crate::input::likely_encoding;

/// A position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The byte, counted from 0.
    pub(super) byte: u64,
    /// The physical line, counted from 1. Lines of CSV end with LF, CRLF or CR, also within quotes, and lines of JSON with LF.
    pub(super) line: u64,
    /// The character in the line, counted from 1; a byte order mark is not a character.
    pub(super) column: u64,
}

impl Position {
    /// Returns the place for messages.
    pub(super) fn place(self, file: &Path) -> Place {
        Place {
            file: file.to_owned(),
            line: Some(self.line),
            column: Some(self.column),
            byte: Some(self.byte),
            ..Place::default()
        }
    }

    /// Advances past `text`, whose lines end with LF.
    pub(super) fn advance(&mut self, text: &[u8]) {
        self.byte += text.len() as u64;
        let mut line = text;
        if let Some(last) = memchr::memrchr(b'\n', text) {
            self.line += memchr::memchr_iter(b'\n', text).count() as u64;
            self.column = 1;
            line = &text[last + 1..];
        }
        // Only the first byte of a UTF-8 character counts.
        self.column += line.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64;
    }
    /// Returns the position behind some text, whose lines end with LF.
    pub(super) fn later(mut self, text: &[u8]) -> Position {
        self.advance(text);
        self
    }
}

/// The text as it arrives, read one part at a time.
pub(super) struct Text {
    input: Box<dyn Read + Send>,
    /// The name of the file in messages.
    pub(super) file: PathBuf,
    /// The bytes that are read, but not in a part yet.
    pub(super) rest: Vec<u8>,
    /// The position of the start of `rest`.
    pub(super) at: Position,
    /// `true` if no more text will be read.
    pub(super) ended: bool,
    /// The error, if the input failed. It is reported after the text that was read before it.
    pub(super) failed: Option<Error>,
}

impl Text {
    /// Creates the text of `input`, which messages call `file`. A byte order mark is skipped here, also one that was written twice.
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

    /// Appends the next `bytes` bytes of the input to `data`; fewer only at the end of the input or at an error.
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

/// Returns the number of bytes at the start that are valid UTF-8.
pub(super) fn valid_utf8(data: &[u8]) -> usize {
    simdutf8::compat::from_utf8(data).map_or_else(|error| error.valid_up_to(), |_| data.len())
}

/// Returns the hint for a record that is not UTF-8. It names an encoding only if the record makes sense in it.
pub(super) fn encoding_hint(text: &[u8]) -> Message {
    match likely_encoding(text) {
        Some(name) => {
            message!["if the file is in another encoding, name it, for example: ", Setting::Encoding.to(name)]
        }
        None => message!["if the file is in another encoding, name it: ", Setting::Encoding.to("NAME")],
    }
}

/// Counts how far the file was read when each part is handed to the thread that decodes it: in bytes of the file as it is stored if the
/// file's reader counts them, or else in bytes of the decompressed text.
#[derive(Default)]
pub(super) struct HandedOut {
    bytes: u64,
    read: Option<Arc<AtomicU64>>,
    total: Option<u64>,
}

impl HandedOut {
    /// Creates the progress. `read` counts the bytes that are read of the file; `total` is their number. Without `read`, progress is in
    /// bytes of text; without `total`, the total is unknown.
    pub(super) fn new(read: Option<Arc<AtomicU64>>, total: Option<u64>) -> HandedOut {
        HandedOut { bytes: 0, read, total }
    }

    /// Returns the number of bytes that were read since the last call: the progress of the next part, which ends at `text_byte` of the
    /// text.
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

/// Buffers that are reused: those of parts, and those that a thread needs to decode a part.
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

    /// Lends `use_it` the buffers of a thread, which are created if none are free.
    pub(super) fn with<R>(&self, make: impl FnOnce() -> S, use_it: impl FnOnce(&mut S) -> R) -> R {
        let pooled = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = pooled.unwrap_or_else(make);
        let done = use_it(&mut scratch);
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        done
    }
}
