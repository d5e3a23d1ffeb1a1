//! The compression of an input, and its decompression.
//!
//! | first bytes | what | |
//! |---|---|---|
//! | `1f 8b` | gzip | members one after another are one stream; then zeros may follow, as tapes have them |
//! | `28 b5 2f fd`, or `5? 2a 4d 18` to be skipped | zstd | frames one after another are one stream |
//! | the signatures of bzip2, xz, ZIP and others | | an error that names the format (`foreign`) |
//!
//! Invariant: data that ends too early, is damaged, or is followed by other data is an error. The bytes decompressed before the error are
//! given first.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::bufread::GzDecoder;
use sqluice_core::error::{Error, Place};

use super::STANDARD_INPUT;
use super::peek::Peek;

/// The number of compressed bytes that are read at once.
const RAW_BYTES: usize = 128 << 10;

/// The offsets in the text at which members of a gzip file or frames of a zstd file begin, except the first. An offset is known once the
/// text before it is read.
#[derive(Clone, Debug, Default)]
pub struct MemberStarts(Arc<Mutex<Vec<u64>>>);

impl MemberStarts {
    /// Adds the offset of a member, which is larger than all others.
    pub(crate) fn add(&self, byte: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(byte);
    }

    /// Returns `true` if a member begins at the given offset.
    pub(crate) fn contains(&self, byte: u64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).binary_search(&byte).is_ok()
    }
}

/// The compression of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// [RFC 1952](https://www.rfc-editor.org/rfc/rfc1952).
    Gzip,
    /// [RFC 8878](https://www.rfc-editor.org/rfc/rfc8878).
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        })
    }
}

impl Compression {
    /// Returns the compression of an input that begins with `head`; `None`: the input is not compressed.
    pub(super) fn of_data(head: &[u8]) -> Option<Compression> {
        match head {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// Returns a reader of the member that `input` begins with.
    fn member<R: BufRead>(self, input: R) -> io::Result<Member<R>> {
        Ok(match self {
            Compression::Gzip => Member::Gzip(Box::new(GzDecoder::new(input))),
            Compression::Zstd => {
                Member::Zstd(zstd::stream::read::Decoder::with_buffer(input)?.single_frame())
            }
        })
    }

    /// Decompresses `input`, which messages call `name`. Adds the offsets of all members but the first to `starts`.
    pub(super) fn decompress<'a>(
        self,
        input: Peek<'a>,
        name: &Path,
        starts: MemberStarts,
    ) -> io::Result<Decompress<'a>> {
        let input = BufReader::with_capacity(RAW_BYTES, input);
        let member = Some(self.member(input)?);
        let inner = Box::new(Members { member, compression: self, name: name.to_owned(), given: 0, starts });
        Ok(Decompress { inner, compression: self, name: name.to_owned() })
    }
}

/// Returns a hint to decompress the file with another program.
fn by_pipe(command: &str, name: &Path) -> String {
    let file = if name == Path::new(STANDARD_INPUT) { "FILE".to_owned() } else { name.display().to_string() };
    format!("decompress it first: {command} {file}")
}

/// Decompressed data, with errors that name the fault of the compressed data.
pub(super) struct Decompress<'a> {
    inner: Box<dyn Read + Send + 'a>,
    compression: Compression,
    name: PathBuf,
}

impl Decompress<'_> {
    /// Turns an error of the decompressor into an error of the engine. An error of the engine stays as it is.
    fn explain(&self, error: io::Error) -> Error {
        let what = self.compression;
        let error = match error.downcast::<Error>() {
            Ok(own) => return own,
            Err(error) => error,
        };
        let failed = if error.kind() == ErrorKind::UnexpectedEof {
            Error::input(format!("the {what} data ends too early"))
                .hint("was the file copied or written to its end?")
        // The crate gives no error codes, only the words of the library.
        } else if error.to_string().contains("too much memory") {
            Error::input(format!("the {what} data needs more than 128 MiB of memory to decompress"))
                .hint(by_pipe("zstd -dc -M2048MB", &self.name))
        } else {
            Error::input(format!("the {what} data is damaged"))
        };
        failed.because(error).at(Place::file(&self.name))
    }
}

impl Read for Decompress<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| self.explain(error).into())
    }
}

/// A gzip member or a zstd frame.
enum Member<R: BufRead> {
    Gzip(Box<GzDecoder<R>>),
    Zstd(zstd::stream::read::Decoder<'static, R>),
}

impl<R: BufRead> Member<R> {
    fn into_inner(self) -> R {
        match self {
            Member::Gzip(decoder) => decoder.into_inner(),
            Member::Zstd(decoder) => decoder.finish(),
        }
    }
}

impl<R: BufRead> Read for Member<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Member::Gzip(decoder) => decoder.read(buffer),
            Member::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

/// A reader of all members of a file. The multi-member decoder of flate2 is not used: it does not recognise padding.
struct Members<R: BufRead> {
    /// The member that is being read; `None` after the last member.
    member: Option<Member<R>>,
    compression: Compression,
    name: PathBuf,
    /// The number of bytes that were decompressed.
    given: u64,
    starts: MemberStarts,
}

impl<R: BufRead> Members<R> {
    /// Begins the next member, if one follows.
    fn next(&mut self, mut input: R) -> io::Result<()> {
        let next = input.fill_buf()?.first().copied();
        match (self.compression, next) {
            (_, None) => Ok(()),
            (Compression::Gzip, Some(byte)) if byte != 0x1f => self.padding(input),
            (compression, Some(_)) => {
                self.starts.add(self.given);
                self.member = Some(compression.member(input)?);
                Ok(())
            }
        }
    }

    /// Reads padding of zeros to the end.
    fn padding(&self, mut input: R) -> io::Result<()> {
        loop {
            let bytes = input.fill_buf()?;
            if bytes.is_empty() {
                return Ok(());
            }
            if bytes.iter().any(|byte| *byte != 0) {
                let error = Error::input("something else follows the gzip data").at(Place::file(&self.name));
                let hint = by_pipe("gzip -dc", &self.name);
                return Err(error.hint(format!("gzip can leave it out; {hint}")).into());
            }
            let read = bytes.len();
            input.consume(read);
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(mut member) = self.member.take() {
            match member.read(buffer)? {
                0 => self.next(member.into_inner())?,
                bytes => {
                    self.given += bytes as u64;
                    self.member = Some(member);
                    return Ok(bytes);
                }
            }
        }
        Ok(0)
    }
}
