//! Transcodes text of another encoding to UTF-8.
//!
//! ```text
//!  raw    | last decoded bytes | decoded | to decode |            a block of the input, refilled when all is decoded
//!           KEPT_BYTES                          at          end
//!  text   | returned | to return |                                the decoded text
//!                       text_at   text_end
//! ```
//!
//! The decoder may report bad bytes some bytes later, even in the next block. So the last decoded bytes are kept for the error.

use std::io::{self, Read};
use std::path::PathBuf;

use encoding_rs::{Decoder, DecoderResult};
use sqluice_core::error::{Error, Place, Setting, message};

use super::encoding::Encoding;
use super::position::Position;

/// The number of decoded bytes that are kept: a bad character has up to 4 bytes, and the decoder looks at up to 3 more.
const KEPT_BYTES: usize = 8;

/// The number of bytes of the input that are read at a time.
const RAW_BYTES: usize = 128 << 10;

/// The size of the buffer for decoded text in bytes.
const TEXT_BYTES: usize = 128 << 10;

/// A reader of text in UTF-8. Bad bytes are an error, which is reported after all text before them.
pub(super) struct Transcode<R> {
    input: R,
    name: PathBuf,
    encoding: Encoding,
    decoder: Decoder,
    raw: Box<[u8]>,
    at: usize,
    end: usize,
    text: Box<[u8]>,
    text_at: usize,
    text_end: usize,
    /// The offset of `raw[at]` in the file, if it is known.
    byte: Option<u64>,
    position: Position,
    /// `true` if all of the input has been read.
    ended: bool,
    /// `true` if all of the input has been decoded.
    done: bool,
    /// If bad bytes were found: their number, and the number of bytes after them that the decoder has already consumed.
    malformed: Option<(usize, usize)>,
}

impl<R: Read> Transcode<R> {
    /// Creates a decoder of `input`. `byte` is the offset of its first byte in the file, if known.
    pub(super) fn new(input: R, name: PathBuf, encoding: Encoding, byte: Option<u64>) -> Transcode<R> {
        Transcode {
            input,
            name,
            encoding,
            decoder: encoding.decoder(),
            raw: vec![0; KEPT_BYTES + RAW_BYTES].into(),
            at: KEPT_BYTES,
            end: KEPT_BYTES,
            text: vec![0; TEXT_BYTES].into(),
            text_at: 0,
            text_end: 0,
            byte,
            position: Position::start(),
            ended: false,
            done: false,
            malformed: None,
        }
    }

    /// Decodes more text. Call this once all decoded text has been returned.
    fn decode(&mut self) -> io::Result<()> {
        if self.at == self.end && !self.ended {
            self.refill()?;
        }
        let raw = &self.raw[self.at..self.end];
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(raw, &mut self.text, self.ended);
        self.at += read;
        self.byte = self.byte.map(|byte| byte + read as u64);
        (self.text_at, self.text_end) = (0, written);
        self.position.advance(&self.text[..written]);
        match result {
            DecoderResult::Malformed(bad, after) => self.malformed = Some((bad.into(), after.into())),
            DecoderResult::InputEmpty => self.done = self.ended,
            DecoderResult::OutputFull => {}
        }
        Ok(())
    }

    fn refill(&mut self) -> io::Result<()> {
        self.raw.copy_within(self.end - KEPT_BYTES..self.end, 0);
        (self.at, self.end) = (KEPT_BYTES, KEPT_BYTES);
        let bytes = self.input.read(&mut self.raw[KEPT_BYTES..])?;
        self.end += bytes;
        self.ended = bytes == 0;
        Ok(())
    }

    /// Returns the error for bad bytes: `bad` bytes, which end `after` bytes before the next byte to decode.
    fn error(&self, bad: usize, after: usize) -> Error {
        let bytes = &self.raw[self.at - after - bad..self.at - after];
        let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let plural = if bad == 1 { "" } else { "s" };
        let what = format!("byte{plural} {}", shown.join(" "));
        // The input has ended while the decoder was waiting for the rest of a character.
        let error = if self.ended {
            Error::input(format!("the text ends in the middle of a character of {}: {what}", self.encoding))
                .hint("the file seems to be incomplete: copy or write it again")
        } else {
            Error::input(format!("no character of {}: {what}", self.encoding))
                .hint(message!["if the text has another encoding: ", Setting::Encoding.to("NAME")])
        };
        error.at(Place {
            file: self.name.clone(),
            line: Some(self.position.line),
            column: Some(self.position.column),
            byte: self.byte.map(|byte| byte - (after + bad) as u64),
            ..Place::default()
        })
    }
}

impl<R: Read> Read for Transcode<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.text_at == self.text_end {
            if let Some((bad, after)) = self.malformed {
                return Err(self.error(bad, after).into());
            }
            if self.done {
                return Ok(0);
            }
            self.decode()?;
        }
        let bytes = buffer.len().min(self.text_end - self.text_at);
        buffer[..bytes].copy_from_slice(&self.text[self.text_at..self.text_at + bytes]);
        self.text_at += bytes;
        Ok(bytes)
    }
}
