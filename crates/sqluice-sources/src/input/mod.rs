//! Inputs: a path, a URL or standard input becomes a stream of UTF-8 bytes, whatever its compression or encoding.
//!
//! ```text
//!  URL ─────────────┐
//!  file ────────────┤
//!  spooled file ────┤   raw     ┌─────────┐  which   ┌────────────┐  which   ┌───────────┐
//!                   ├─────────> │ counted │ ───────> │ decompress │ ───────> │ transcode │ ──> [ahead] ──> reader
//!  pipe ──> ahead ──┘           └─────────┘  magic   └────────────┘  mark    └───────────┘
//!                                            bytes    if it must be           if it must be
//! ```
//!
//! A member of an archive (`archive`) is a range of a file, which is decompressed, and compared with its size and checksum, before `which`.
//!
//! The first bytes of a file decide how it is read, not its name: gzip, zstd, bzip2, xz, a byte order mark. A thread that reads ahead does the slow
//! work (decompression, transcoding, waiting for a pipe). A plain file is read by the thread that needs the bytes.
//!
//! Invariant: the reader gives all of the text, or the text up to a fault and then an error with its place. It never ends early without an
//! error, and never replaces bytes that it can't decode.
//!
//! Invariant: errors of the reader hold the engine's [`Error`](sqluice_core::error::Error), which
//! [`Error::from_read`](sqluice_core::error::Error::from_read) extracts.

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
    /// The encoding of the text, which wins over a byte order mark. `None`: the mark decides, and text without one is UTF-8.
    pub encoding: Option<Encoding>,
    /// `true` if the bytes of workbooks are given. Otherwise a workbook is an error that names it.
    pub workbooks: bool,
    /// The flag that ends the wait for a pipe that gives nothing.
    pub cancel: Cancel,
}

setters! { InputOptions:
    /// Sets the encoding; `None`: UTF-8, or the encoding that the byte order mark names.
    encoding(encoding: impl Into<Option<Encoding>>) = encoding.into();
    /// Gives the bytes of workbooks, instead of an error that names them.
    workbooks(workbooks: bool) = workbooks;
    /// Sets the flag that ends the wait for a pipe.
    cancel(cancel: Cancel) = cancel;
}

impl InputOptions {
    /// Creates options with which the encoding is recognised.
    pub fn new() -> InputOptions {
        InputOptions::default()
    }
}

/// An open input.
pub struct Input {
    /// The name for messages: as the user gives it, or `standard input`.
    pub name: PathBuf,
    /// The text in UTF-8. It is checked only if [`Input::encoding`] is some. A byte order mark of UTF-8 is still there, the mark of another
    /// encoding is removed.
    pub reader: Box<dyn Read + Send>,
    /// The number of raw bytes, compressed or not: known for regular files, also as standard input.
    pub bytes: Option<u64>,
    /// The number of raw bytes that were read so far, for progress. It grows while the reader is read, a few blocks ahead.
    pub bytes_read: Arc<AtomicU64>,
    /// The compression of the file.
    pub compression: Option<Compression>,
    /// The encoding of the file, if it is transcoded.
    pub encoding: Option<Encoding>,
    /// `true` for a member of an archive that the archive compresses: [`Input::bytes`] are compressed bytes.
    pub is_packed: bool,
    /// The offsets in the text at which members of the compressed data begin, as far as the text is read.
    pub member_starts: MemberStarts,
}

impl Input {
    /// Opens a file, or standard input if `path` is `-`. Waits for the first bytes of a pipe, because they decide how it is read.
    ///
    /// # Errors
    /// If the file can't be read, is a folder, or has a format that is not supported.
    pub fn open(path: &Path, options: &InputOptions) -> Result<Input> {
        InputFile::new(path, options.clone())?.open()
    }

    /// Returns `true` if each byte of the text has the same offset in the file.
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
