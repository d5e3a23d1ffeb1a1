//! Samples of files: how large they are, where they end, and what they show of the whole file.

use std::io::Read;

use sqluice_core::error::{Error, Setting, message};
use sqluice_sources::input::{Compression, Encoding, Sample};

use crate::load::request::Request;

/// The part of the memory that a record may take: it exists several times, as it is read, unescaped and encoded.
const RECORD_SHARE: u64 = 8;

/// The factor by which the next sample is longer, if one does not hold the first record.
pub(crate) const SAMPLE_GROWTH: usize = 8;

/// What a sample shows of the whole file.
pub(crate) struct Opened {
    /// How many bytes were asked for.
    pub(crate) sample_bytes: usize,
    /// Bytes of its text.
    pub(crate) text_bytes: u64,
    /// The sample is all of the file.
    pub(crate) whole: bool,
    /// The sample has the bytes of the file, neither decompressed nor transcoded.
    pub(crate) plain: bool,
    /// What it was compressed with.
    pub(crate) compression: Option<Compression>,
    /// What it was transcoded from.
    pub(crate) encoding: Option<Encoding>,
}

impl Opened {
    /// Of a sample for which `sample_bytes` were asked for.
    pub(crate) fn of(sample: &Sample, sample_bytes: usize) -> Opened {
        let Sample { ref text, whole, plain, compression, encoding } = *sample;
        Opened { sample_bytes, text_bytes: text.len() as u64, whole, plain, compression, encoding }
    }
}

/// How long a record may be, in bytes.
pub(crate) fn record_bytes_max(load: &Request) -> usize {
    usize::try_from(load.write.memory_bytes / RECORD_SHARE).unwrap_or(usize::MAX)
}

/// Ends a sample that is not all of its file: reading beyond its bytes is an error.
pub(crate) struct CutOff {
    pub(crate) bytes: usize,
    /// The user skips lines already; `None`: none can be skipped.
    pub(crate) skips: Option<bool>,
}

impl Read for CutOff {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        let message = format!("the first record does not end within {} bytes", self.bytes);
        let hint = match self.skips {
            Some(true) => message!["skip fewer lines, or give more memory: ", Setting::Memory],
            None => message!["if it is that long, give more memory: ", Setting::Memory],
            Some(false) => message![Setting::SkipLines.to("N"), " skips the lines before the first record"],
        };
        Err(Error::input(message).hint(hint).into())
    }
}

/// The error for a file that is not as its sample was.
pub(crate) fn changed() -> Error {
    Error::input("the input has changed while it was read").hint("wait until no program writes to it")
}
