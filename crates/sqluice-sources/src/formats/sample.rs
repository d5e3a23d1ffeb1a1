//! Samples: the beginnings of files, and the facts that they show about the whole files.

use std::io::{Cursor, Read};

use sqluice_core::error::{Error, Setting, message};

use crate::input::{Compression, Encoding, Sample};

/// The factor by which the next sample is longer if a sample does not hold the first record.
const SAMPLE_GROWTH: usize = 8;

/// Returns the number of bytes of the sample after one of `bytes` bytes, at most `bytes_max`.
pub(super) fn longer(bytes: usize, bytes_max: usize) -> usize {
    bytes.max(1).saturating_mul(SAMPLE_GROWTH).min(bytes_max)
}

/// The facts that a sample shows about the whole file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SampleFacts {
    /// The number of bytes that were requested for the sample.
    pub sample_bytes: usize,
    /// The bytes of the sample's text.
    pub text_bytes: u64,
    /// `true` if the sample is all of the file.
    pub whole: bool,
    /// `true` if the sample has the bytes of the file, neither decompressed nor transcoded.
    pub plain: bool,
    /// The compression of the file.
    pub compression: Option<Compression>,
    /// The encoding of the file's text, if the text is not UTF-8.
    pub encoding: Option<Encoding>,
}

impl SampleFacts {
    /// Returns the facts about a sample. `sample_bytes` is the number of bytes that were requested.
    pub(super) fn of(sample: &Sample, sample_bytes: usize) -> SampleFacts {
        let Sample { ref text, whole, plain, compression, encoding } = *sample;
        SampleFacts { sample_bytes, text_bytes: text.len() as u64, whole, plain, compression, encoding }
    }

    /// Returns the facts about a file that declares its columns. The sample has `rows` rows; `whole`: the file has no more rows.
    pub(super) fn of_rows(rows: u64, whole: bool) -> SampleFacts {
        SampleFacts {
            sample_bytes: 0,
            text_bytes: rows,
            whole,
            plain: false,
            compression: None,
            encoding: None,
        }
    }
}

/// Opens a sample for reading. The end of a sample that is shorter than its file gives an error: the first record is too long. `skips`
/// decides the hint of this error: `true` if the user skips lines already, and `None` if the format has no lines to skip.
pub(super) fn sample_reader(sample: Sample, skips: Option<bool>) -> Box<dyn Read + Send> {
    let bytes = sample.text.len();
    let text = Cursor::new(sample.text);
    match sample.whole {
        true => Box::new(text),
        false => Box::new(text.chain(CutOff { bytes, skips })),
    }
}

/// The end of a sample that is shorter than its file.
struct CutOff {
    bytes: usize,
    skips: Option<bool>,
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

/// Returns the error for a file that differs from its sample.
pub fn changed() -> Error {
    Error::input("the input has changed while it was read").hint("wait until no program writes to it")
}
