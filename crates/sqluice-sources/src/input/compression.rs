//! Recognises and decompresses compressed inputs.
//!
//! | first bytes | compression | what may follow the first member |
//! |---|---|---|
//! | `1f 8b` | gzip | further members, as one stream; then zeros, as on tapes |
//! | `28 b5 2f fd`, or `5? 2a 4d 18` of a skippable frame | zstd | further frames, as one stream |
//! | `BZh1` to `BZh9`, and `1AY&SY` or the signature of an empty stream | bzip2 | further streams, as one stream, as pbzip2 writes them; then zeros |
//! | `fd 37 7a 58 5a 00` | xz | further streams, as one stream; zeros after each, in multiples of four |
//! | the signatures of ZIP, LZ4 and others | | an error that names the format (`foreign`) |
//!
//! bzip2 and xz need the cargo feature `bzip2-xz`. Without it, the error for such data names the feature.
//!
//! Invariant: decompression takes at most 128 MiB, and a little for the state of the decoder. A stream that needs more is an error.
//!
//! Invariant: data that ends too early, is damaged, or is followed by other data is an error. The bytes that could be decompressed are returned
//! before the error.

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

/// The number of compressed bytes that are read at a time.
const RAW_BYTES: usize = 128 << 10;

/// The maximum memory for decompressing xz data: a dictionary as large as the largest window of zstd, and the state of the decoder.
#[cfg(feature = "bzip2-xz")]
const XZ_MEMORY_BYTES_MAX: u64 = 129 << 20;

/// The number of zeros between xz streams must be a multiple of this.
const XZ_PADDING_BYTES: u64 = 4;

/// The offsets in the decompressed text at which members (of gzip), frames (of zstd) or streams (of bzip2 and xz) begin, except the first. An
/// offset is known once the text before it has been read.
#[derive(Clone, Debug, Default)]
pub struct MemberStarts(Arc<Mutex<Vec<u64>>>);

impl MemberStarts {
    /// Adds the offset of a member. Offsets must be added in ascending order.
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
    /// Returns the compression of an input that begins with `head`; `None` if the input is not compressed.
    pub(super) fn of_data(head: &[u8]) -> Option<Compression> {
        match head {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => {
                Some(Compression::Bzip2)
            }
            // An empty bzip2 stream has digits of the square root of pi in the place of a block's signature (digits of pi).
            [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                Some(Compression::Bzip2)
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            _ => None,
        }
    }

    /// Returns `true` if `extension` (without its dot) is the extension of a compressed file.
    pub(crate) fn has_extension(extension: &str) -> bool {
        EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))
    }

    /// Returns the cargo feature that this build would need for the compression, if it lacks it.
    pub(super) fn missing_feature(self) -> Option<&'static str> {
        let needs_feature = matches!(self, Compression::Bzip2 | Compression::Xz);
        (needs_feature && !cfg!(feature = "bzip2-xz")).then_some("bzip2-xz")
    }

    /// Returns an error about the file `name` if this build does not support the compression.
    pub(super) fn refuse_unbuilt(self, name: &Path) -> Result<()> {
        let Some(feature) = self.missing_feature() else { return Ok(()) };
        let what = format!("{} is compressed with {self}, which this build does not read", name.display());
        Err(Error::without_feature(what, feature))
    }

    /// Returns a decoder of the first member of `input`.
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

    /// Returns a command that decompresses a file of this compression, even one that needs more memory than is permitted here.
    fn command(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip -dc",
            Compression::Zstd => "zstd -dc -M2048MB",
            Compression::Bzip2 => "bzip2 -dc",
            Compression::Xz => "xz -dc",
        }
    }

    /// Decompresses `input`, whose name in messages is `name`. Adds the offsets of all members except the first to `starts`. `in_archive` is `true`
    /// if the input is a member of an archive, so that the hints tell the user to extract it first.
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

/// The name of compressed data, for messages and hints.
#[derive(Clone)]
struct Named {
    name: PathBuf,
    in_archive: bool,
}

impl Named {
    /// Returns the hint to decompress the file with another program.
    fn by_pipe(&self, command: &str) -> String {
        if self.in_archive {
            return format!("extract it from the archive, and decompress it: {command} FILE");
        }
        let is_stdin = self.name == Path::new(STANDARD_INPUT);
        let file = if is_stdin { "FILE".to_owned() } else { quoted(&self.name.to_string_lossy()) };
        format!("decompress it first: {command} {file}")
    }
}

/// A reader of decompressed data. Its errors name the fault of the compressed data.
pub(super) struct Decompress<'a> {
    inner: Box<dyn Read + Send + 'a>,
    compression: Compression,
    named: Named,
}

impl Decompress<'_> {
    /// Converts an error of the decompressor. An error of this crate, for example of reading the file, is returned unchanged.
    fn explain(&self, error: io::Error) -> Error {
        let what = self.compression;
        let error = match error.downcast::<Error>() {
            Ok(own) => return own,
            Err(error) => error,
        };
        let failed = if error.kind() == ErrorKind::UnexpectedEof {
            Error::input(format!("the {what} data ends too early"))
                .hint("the file seems to be incomplete: copy or write it again")
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
    // The crate zstd returns no error codes, only the message of the library.
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

/// A reader of all members of a file. The multi-member decoder of flate2 is not used, because it does not support padding.
struct Members<R: BufRead> {
    /// The member that is being read; `None` after the last member.
    member: Option<Member<R>>,
    compression: Compression,
    named: Named,
    /// The number of decompressed bytes so far.
    given: u64,
    starts: MemberStarts,
}

impl<R: BufRead> Members<R> {
    /// Begins to read the next member, if there is one.
    fn next(&mut self, mut input: R) -> io::Result<()> {
        if self.compression == Compression::Xz {
            self.skip_xz_padding(&mut input)?;
        }
        let Some(next) = input.fill_buf()?.first().copied() else { return Ok(()) };
        let first = match self.compression {
            Compression::Gzip => Some(0x1f),
            Compression::Bzip2 => Some(b'B'),
            Compression::Xz => Some(0xfd),
            // zstd permits no other data after a frame, and frames have several signatures. So other data is reported as a damaged frame.
            Compression::Zstd => None,
        };
        if first.is_some_and(|first| first != next) {
            return self.padding(input);
        }
        self.starts.add(self.given);
        self.member = Some(self.compression.member(input)?);
        Ok(())
    }

    /// Skips zeros between xz streams. Their number must be a multiple of four.
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

    /// Checks that only zeros follow up to the end.
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

    /// Returns the error for other data after the last member.
    fn surplus(&self) -> io::Error {
        let what = self.compression;
        let error =
            Error::input(format!("something else follows the {what} data")).at(Place::file(&self.named.name));
        let hint = match what {
            // The program xz refuses such a file, too, so it is no help.
            Compression::Xz => "was something added to the file after it was compressed?".to_owned(),
            _ => format!("the program {what} ignores such data; {}", self.named.by_pipe(what.command())),
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
