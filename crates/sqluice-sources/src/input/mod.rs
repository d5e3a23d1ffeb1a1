//! Inputs: a path, a URL or standard input becomes a stream of UTF-8 bytes, whatever it is compressed with or encoded in.
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
//! The first bytes of a file decide what it is, not its name: gzip, zstd, a byte order mark. Whatever takes time or may keep one
//! waiting (decompression, transcoding, a pipe) is done by a thread that runs ahead; a plain file is read as it is, by the thread that
//! needs the bytes.
//!
//! Invariant: the reader gives all of the text, or the text up to a fault and then an error with its place. It never ends
//! early without a word, and never replaces what it does not understand.
//!
//! Invariant: errors of the reader hold the engine's [`Error`](sqluice_core::error::Error), which
//! [`Error::from_read`](sqluice_core::error::Error::from_read) gets out.

mod ahead;
mod compression;
mod decoded;
mod encoding;
mod file;
pub mod foreign;
mod names;
mod peek;
mod position;
#[cfg(feature = "parquet")]
mod ranges;
mod raw;
#[cfg(test)]
mod tests;
mod transcode;

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
pub use self::file::{InputFile, Sample};
pub use self::names::{expand, refuse_stdin_twice, stem, stem_with_folders};
#[cfg(feature = "parquet")]
pub use self::ranges::RemoteRanges;

/// What messages call standard input, whose path is `-`.
pub const STANDARD_INPUT: &str = "standard input";

/// How inputs are read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct InputOptions {
    /// What the text is encoded in. It wins over a byte order mark; `None`: the mark decides, and without one it is UTF-8.
    pub encoding: Option<Encoding>,
    /// Ends the wait for a pipe that gives nothing.
    pub cancel: Cancel,
}

setters! { InputOptions:
    /// Sets the encoding; `None`: UTF-8, or what the byte order mark says.
    encoding(encoding: impl Into<Option<Encoding>>) = encoding.into();
    /// Sets what ends the wait for a pipe.
    cancel(cancel: Cancel) = cancel;
}

impl InputOptions {
    /// The encoding is recognised.
    pub fn new() -> InputOptions {
        InputOptions::default()
    }
}

/// An open input.
pub struct Input {
    /// As the user named it, or `standard input`; for messages.
    pub name: PathBuf,
    /// The text. UTF-8 if it was compressed or not, but checked only if [`Input::encoding`] is some; a byte order mark of
    /// UTF-8 is still there, that of another encoding is gone.
    pub reader: Box<dyn Read + Send>,
    /// How many bytes it has where it lies, compressed or not: known for regular files, also when they are standard input.
    pub bytes: Option<u64>,
    /// How many of these bytes were taken so far, for progress. It grows while the reader is read, a few blocks ahead.
    pub bytes_read: Arc<AtomicU64>,
    /// What it was compressed with.
    pub compression: Option<Compression>,
    /// What it was transcoded from.
    pub encoding: Option<Encoding>,
    /// Where members of the compressed data begin in the text, as far as it is read.
    pub member_starts: MemberStarts,
}

impl Input {
    /// Opens a file, or standard input if `path` is `-`. What it is must be known, so of a pipe the first bytes are waited
    /// for.
    ///
    /// # Errors
    /// When it can't be read, is a folder, or is compressed in a way that is not read here.
    pub fn open(path: &Path, options: &InputOptions) -> Result<Input> {
        InputFile::new(path, options.clone())?.open()
    }

    /// Whether a byte of the text is at the same offset in the file.
    pub fn has_offsets_of_file(&self) -> bool {
        self.compression.is_none() && self.encoding.is_none()
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
