//! Text of another encoding becomes UTF-8.
//!
//! ```text
//!  raw    | last bytes decoded before | decoded | to decode |       a block of the input, refilled when all is decoded
//!           KEPT_BYTES                          at          end
//!  text   | given away | to give |                                  what it decodes to
//!                       text_at   text_end
//! ```
//!
//! The decoder may report bad bytes some bytes later, even in the next block. So the last decoded bytes are kept.

use std::io::{self, Read};
use std::path::PathBuf;

use encoding_rs::{Decoder, DecoderResult};
use sqluice_core::error::{Error, Place, Setting, message};

use super::encoding::Encoding;
use super::position::Position;

/// The number of bytes before a refill that can be bad: a character has up to 4, and the decoder looks at up to 3 after them.
const KEPT_BYTES: usize = 8;

/// The number of bytes that are read at once.
const RAW_BYTES: usize = 128 << 10;

/// The number of bytes of text that are decoded at once.
const TEXT_BYTES: usize = 128 << 10;

/// A decoder of its input. Bad bytes are an error, after all the text before them.
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
    /// `true` if the input has ended.
    ended: bool,
    /// `true` if everything is decoded.
    done: bool,
    /// The number of bad bytes, and the number of bytes after them that are decoded.
    malformed: Option<(usize, usize)>,
}

impl<R: Read> Transcode<R> {
    /// Creates a decoder of `input`, which begins at offset `byte` of the file.
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

    /// Decodes more text, once all decoded text is given away.
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

    /// Returns the error for `bad` bytes, which end `after` bytes before the next byte to decode.
    fn error(&self, bad: usize, after: usize) -> Error {
        let bytes = &self.raw[self.at - after - bad..self.at - after];
        let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let plural = if bad == 1 { "" } else { "s" };
        let what = format!("byte{plural} {}", shown.join(" "));
        // The decoder has all bytes, and was waiting for the rest of a character when the input ended.
        let error = if self.ended {
            Error::input(format!("the text ends in the middle of a character of {}: {what}", self.encoding))
                .hint("was the file copied or written to its end?")
        } else {
            Error::input(format!("no character in {}: {what}", self.encoding))
                .hint(message!["is the text encoded in another way? ", Setting::Encoding.to("NAME")])
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
