//! Reads inputs: turns a path, a URL or standard input into a stream of UTF-8 text, whatever its compression and encoding.
//!
//! ```text
//!  URL ─────────────┐
//!  file ────────────┤  raw bytes  ┌─────────┐     ┌────────────┐     ┌───────────┐
//!  spooled file ────┼───────────> │ counted │ ──> │ decompress │ ──> │ transcode │ ──> [ahead] ──> reader
//!  pipe ──> ahead ──┘             └─────────┘     └────────────┘     └───────────┘
//!                                  for progress    if compressed      if not UTF-8
//! ```
//!
//! A member of an archive (`archive`) is a range of a file. The archive's own compression is undone, and the member's size and checksum are
//! checked, before the first bytes of the member decide about the last two steps.
//!
//! The first bytes of a file decide how it is read, not its name: gzip, zstd, bzip2, xz, a byte order mark. The slow work (decompression,
//! transcoding, waiting for a pipe) is done on a thread that reads ahead. A plain file is read on the thread that needs the bytes.
//!
//! Invariant: the reader returns all of the text, or the text up to a fault and then an error with the place of the fault. It never ends
//! early without an error, and never replaces bytes that can't be decoded.
//!
//! Errors of the reader: a fault in the content is an `io::Error` that contains an [`Error`](sqluice_core::error::Error) with place and
//! hint; errors of the system are passed on. [`Error::from_read`](sqluice_core::error::Error::from_read) returns the contained error, or
//! `cannot read PATH` with the error of the system as its cause.

mod ahead;
#[cfg(feature = "archives")]
pub mod archive;
mod checked;
mod compression;
mod decoded;
mod encoding;
mod file;
pub mod foreign;
mod member;
mod names;
mod peek;
mod position;
#[cfg(feature = "parquet")]
mod ranges;
mod raw;
#[cfg(test)]
mod tests;
mod transcode;
mod whole;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::setters;

pub use self::compression::{Compression, MemberStarts};
pub use self::encoding::{Encoding, likely as likely_encoding};
pub use self::file::{InputFile, Sample, is_of_pg_dump};
pub use self::names::{
    MemberPattern, Named, expand, is_named_as_archive, named, refuse_stdin_twice, stem, stem_with_folders,
};
#[cfg(feature = "parquet")]
pub use self::ranges::RemoteRanges;

/// The name of standard input in messages. Its path is `-`.
pub const STANDARD_INPUT: &str = "standard input";

/// The options for reading inputs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct InputOptions {
    /// The encoding of the text, which wins over a byte order mark. `None`: the byte order mark decides; without one, the text is UTF-16 if
    /// its first characters look like it, or else UTF-8.
    pub encoding: Option<Encoding>,
    /// `true` if a workbook can be read as bytes. By default, a workbook is an error that names its format.
    pub workbooks: bool,
    /// The flag that ends the waiting for a silent pipe.
    pub cancel: Cancel,
}

setters! { InputOptions:
    /// Sets the encoding; `None` for the encoding that is recognised, or else UTF-8.
    encoding(encoding: impl Into<Option<Encoding>>) = encoding.into();
    /// Permits to read workbooks as bytes, instead of an error that names their format.
    workbooks(workbooks: bool) = workbooks;
    /// Sets the flag that ends the waiting for a silent pipe.
    cancel(cancel: Cancel) = cancel;
}

impl InputOptions {
    /// Creates options with which the encoding is recognised, and workbooks are an error.
    pub fn new() -> InputOptions {
        InputOptions::default()
    }
}

/// An open input.
pub struct Input {
    /// The name for messages: the path or URL that the user gives, or `standard input`.
    pub name: PathBuf,
    /// The text in UTF-8, which is only validated if [`Input::encoding`] is `Some`. A byte order mark of UTF-8 is not removed, but the mark
    /// of any other encoding is.
    pub reader: Box<dyn Read + Send>,
    /// The number of raw bytes, compressed or not, if known: for regular files, also as standard input, for members of archives, and for
    /// URLs whose server states it.
    pub bytes: Option<u64>,
    /// The number of raw bytes that were read so far, for progress. It may be a few blocks ahead of the reader.
    pub bytes_read: Arc<AtomicU64>,
    /// The compression of the file.
    pub compression: Option<Compression>,
    /// The encoding of the file, if it is transcoded to UTF-8.
    pub encoding: Option<Encoding>,
    /// `true` if the input is a member of an archive and compressed in it: [`Input::bytes`] then counts compressed bytes.
    pub is_packed: bool,
    /// The offsets in the text at which members of the compressed data begin, as far as the text has been read.
    pub member_starts: MemberStarts,
}

impl Input {
    /// Opens a file, or standard input if `path` is `-`. Waits for the first bytes of a pipe, which decide how it is read.
    ///
    /// # Errors
    /// If the file can't be read, is a folder, or has a format that is not supported.
    pub fn open(path: &Path, options: &InputOptions) -> Result<Input> {
        InputFile::new(path, options.clone())?.open()
    }

    /// Returns `true` if each byte of the text has the same offset in the text as in the file.
    pub fn has_offsets_of_file(&self) -> bool {
        self.compression.is_none() && self.encoding.is_none() && !self.is_packed
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("bytes", &self.bytes)
            .field("compression", &self.compression)
            .field("encoding", &self.encoding)
            .finish_non_exhaustive()
    }
}
