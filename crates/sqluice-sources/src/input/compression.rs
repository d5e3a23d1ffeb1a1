//! The compression of an input, and its decompression.
//!
//! | first bytes | what | |
//! |---|---|---|
//! | `1f 8b` | gzip | members one after another are one stream; then zeros may follow, as tapes have them |
//! | `28 b5 2f fd`, or `5? 2a 4d 18` to be skipped | zstd | frames one after another are one stream |
//! | `BZh1` to `BZh9`, and `1AY&SY` or the signature of an empty stream | bzip2 | streams one after another are one stream, as pbzip2 writes them; then zeros may follow |
//! | `fd 37 7a 58 5a 00` | xz | streams one after another are one stream; zeros may follow each, in fours |
//! | the signatures of ZIP, LZ4 and others | | an error that names the format (`foreign`) |
//!
//! bzip2 and xz need the cargo feature `bzip2-xz`. A build without it refuses such data by name.
//!
//! Invariant: a stream needs at most 128 MiB to decompress, and a little for the state of the decoder. A stream that needs more is refused.
//!
//! Invariant: data that ends too early, is damaged, or is followed by other data is an error. The bytes decompressed before the error are
//! given first.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(feature = "bzip2-xz")]
use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
#[cfg(feature = "bzip2-xz")]
use liblzma::bufread::XzDecoder;
#[cfg(feature = "bzip2-xz")]
use liblzma::stream as xz;
use sqluice_core::error::{Error, Place, Result};
use sqluice_platform::shell::quoted;

use super::STANDARD_INPUT;
use super::peek::Peek;

/// The number of compressed bytes that are read at once.
const RAW_BYTES: usize = 128 << 10;

/// The largest number of bytes that xz data may need to decompress: a dictionary as large as the largest window of zstd, and the state of
/// the decoder.
#[cfg(feature = "bzip2-xz")]
const XZ_MEMORY_BYTES_MAX: u64 = 129 << 20;

/// The number of bytes to which the padding between xz streams is aligned.
const XZ_PADDING_BYTES: u64 = 4;

/// The offsets in the text at which members of a gzip file, frames of a zstd file, or streams of a bzip2 or xz file begin, except the first. An offset is known once the
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
    /// The format of the program [bzip2](https://sourceware.org/bzip2/).
    Bzip2,
    /// [The .xz file format](https://tukaani.org/xz/xz-file-format.txt).
    Xz,
}

/// The extensions of compressed files, in lower case.
const EXTENSIONS: [&str; 7] = ["gz", "gzip", "zst", "zstd", "bz2", "bzip2", "xz"];

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        })
    }
}

impl Compression {
    /// Returns the compression of an input that begins with `head`; `None`: the input is not compressed.
    pub(super) fn of_data(head: &[u8]) -> Option<Compression> {
        match head {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => {
                Some(Compression::Bzip2)
            }
            // A bzip2 stream without a block has the first digits of the square root of pi instead.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                Some(Compression::Bzip2)
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            _ => None,
        }
    }

    /// Returns `true` if an extension, without its dot, is one of a compressed file.
    pub(crate) fn has_extension(extension: &str) -> bool {
        EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))
    }

    /// Returns the cargo feature that this build lacks to read the compression.
    pub(super) fn missing_feature(self) -> Option<&'static str> {
        let needs_feature = matches!(self, Compression::Bzip2 | Compression::Xz);
        (needs_feature && !cfg!(feature = "bzip2-xz")).then_some("bzip2-xz")
    }

    /// Refuses a compression that this build does not read, for the file `name`.
    pub(super) fn refuse_unbuilt(self, name: &Path) -> Result<()> {
        let Some(feature) = self.missing_feature() else { return Ok(()) };
        let what = format!("{} is compressed with {self}, which this build does not read", name.display());
        Err(Error::without_feature(what, feature))
    }

    /// Returns a reader of the member that `input` begins with.
    fn member<R: BufRead>(self, input: R) -> io::Result<Member<R>> {
        Ok(match self {
            Compression::Gzip => Member::Gzip(Box::new(GzDecoder::new(input))),
            Compression::Zstd => {
                Member::Zstd(zstd::stream::read::Decoder::with_buffer(input)?.single_frame())
            }
            #[cfg(feature = "bzip2-xz")]
            Compression::Bzip2 => Member::Bzip2(BzDecoder::new(input)),
            #[cfg(feature = "bzip2-xz")]
            Compression::Xz => {
                let stream = xz::Stream::new_stream_decoder(XZ_MEMORY_BYTES_MAX, 0)?;
                Member::Xz(XzDecoder::new_stream(input, stream))
            }
            #[cfg(not(feature = "bzip2-xz"))]
            Compression::Bzip2 | Compression::Xz => return Err(ErrorKind::Unsupported.into()),
        })
    }

    /// Returns the command that decompresses a file, also if this module refuses it.
    fn command(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip -dc",
            Compression::Zstd => "zstd -dc -M2048MB",
            Compression::Bzip2 => "bzip2 -dc",
            Compression::Xz => "xz -dc",
        }
    }

    /// Decompresses `input`, which messages call `name`. Adds the offsets of all members but the first to `starts`. `in_archive`: the input
    /// is a member of an archive, which other programs can't open by its name.
    pub(super) fn decompress<'a>(
        self,
        input: Peek<'a>,
        name: &Path,
        in_archive: bool,
        starts: MemberStarts,
    ) -> io::Result<Decompress<'a>> {
        let input = BufReader::with_capacity(RAW_BYTES, input);
        let member = Some(self.member(input)?);
        let named = Named { name: name.to_owned(), in_archive };
        let inner = Box::new(Members { member, compression: self, named: named.clone(), given: 0, starts });
        Ok(Decompress { inner, compression: self, named })
    }
}

/// The name of compressed data in messages.
#[derive(Clone)]
struct Named {
    name: PathBuf,
    in_archive: bool,
}

impl Named {
    /// Returns a hint to decompress the file with another program.
    fn by_pipe(&self, command: &str) -> String {
        if self.in_archive {
            return format!("extract it from the archive, and decompress it: {command} FILE");
        }
        let is_stdin = self.name == Path::new(STANDARD_INPUT);
        let file = if is_stdin { "FILE".to_owned() } else { quoted(&self.name.to_string_lossy()) };
        format!("decompress it first: {command} {file}")
    }
}

/// Decompressed data, with errors that name the fault of the compressed data.
pub(super) struct Decompress<'a> {
    inner: Box<dyn Read + Send + 'a>,
    compression: Compression,
    named: Named,
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
        } else if needs_more_memory(&error) {
            Error::input(format!("the {what} data needs more than 128 MiB of memory to decompress"))
                .hint(self.named.by_pipe(what.command()))
        } else {
            Error::input(format!("the {what} data is damaged"))
        };
        failed.because(error).at(Place::file(&self.named.name))
    }
}

/// Returns `true` if a decompressor stopped because the data needs more memory than it may have.
fn needs_more_memory(error: &io::Error) -> bool {
    #[cfg(feature = "bzip2-xz")]
    if let Some(error) = error.get_ref().and_then(|error| error.downcast_ref::<xz::Error>()) {
        return matches!(error, xz::Error::MemLimit | xz::Error::Mem);
    }
    // The crate zstd gives no error codes, only the words of the library.
    error.to_string().contains("too much memory")
}

impl Read for Decompress<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| self.explain(error).into())
    }
}

/// A gzip member, a zstd frame, or a bzip2 or xz stream.
enum Member<R: BufRead> {
    Gzip(Box<GzDecoder<R>>),
    Zstd(zstd::stream::read::Decoder<'static, R>),
    #[cfg(feature = "bzip2-xz")]
    Bzip2(BzDecoder<R>),
    #[cfg(feature = "bzip2-xz")]
    Xz(XzDecoder<R>),
}

impl<R: BufRead> Member<R> {
    fn into_inner(self) -> R {
        match self {
            Member::Gzip(decoder) => decoder.into_inner(),
            Member::Zstd(decoder) => decoder.finish(),
            #[cfg(feature = "bzip2-xz")]
            Member::Bzip2(decoder) => decoder.into_inner(),
            #[cfg(feature = "bzip2-xz")]
            Member::Xz(decoder) => decoder.into_inner(),
        }
    }
}

impl<R: BufRead> Read for Member<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Member::Gzip(decoder) => decoder.read(buffer),
            Member::Zstd(decoder) => decoder.read(buffer),
            #[cfg(feature = "bzip2-xz")]
            Member::Bzip2(decoder) => decoder.read(buffer),
            #[cfg(feature = "bzip2-xz")]
            Member::Xz(decoder) => decoder.read(buffer),
        }
    }
}

/// A reader of all members of a file. The multi-member decoder of flate2 is not used: it does not recognise padding.
struct Members<R: BufRead> {
    /// The member that is being read; `None` after the last member.
    member: Option<Member<R>>,
    compression: Compression,
    named: Named,
    /// The number of bytes that were decompressed.
    given: u64,
    starts: MemberStarts,
}

impl<R: BufRead> Members<R> {
    /// Begins the next member, if one follows.
    fn next(&mut self, mut input: R) -> io::Result<()> {
        if self.compression == Compression::Xz {
            self.skip_xz_padding(&mut input)?;
        }
        let Some(next) = input.fill_buf()?.first().copied() else { return Ok(()) };
        let first = match self.compression {
            Compression::Gzip => Some(0x1f),
            Compression::Bzip2 => Some(b'B'),
            Compression::Xz => Some(0xfd),
            // Frames have several signatures, and no other data may follow. So other data is a damaged frame.
            Compression::Zstd => None,
        };
        if first.is_some_and(|first| first != next) {
            return self.padding(input);
        }
        self.starts.add(self.given);
        self.member = Some(self.compression.member(input)?);
        Ok(())
    }

    /// Skips zeros between xz streams. Their number is a multiple of four.
    fn skip_xz_padding(&self, input: &mut R) -> io::Result<()> {
        let mut zeros = 0_u64;
        loop {
            let bytes = input.fill_buf()?;
            let read = bytes.iter().take_while(|byte| **byte == 0).count();
            if read == 0 {
                break;
            }
            input.consume(read);
            zeros += read as u64;
        }
        if zeros.is_multiple_of(XZ_PADDING_BYTES) { Ok(()) } else { Err(self.surplus()) }
    }

    /// Reads padding of zeros to the end.
    fn padding(&self, mut input: R) -> io::Result<()> {
        loop {
            let bytes = input.fill_buf()?;
            if bytes.is_empty() {
                return Ok(());
            }
            if bytes.iter().any(|byte| *byte != 0) {
                return Err(self.surplus());
            }
            let read = bytes.len();
            input.consume(read);
        }
    }

    /// Returns the error for data after the last member.
    fn surplus(&self) -> io::Error {
        let what = self.compression;
        let error =
            Error::input(format!("something else follows the {what} data")).at(Place::file(&self.named.name));
        let hint = match what {
            // xz itself refuses such a file.
            Compression::Xz => "was something added to the file after it was compressed?".to_owned(),
            _ => format!("{what} can leave it out; {}", self.named.by_pipe(what.command())),
        };
        error.hint(hint).into()
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
