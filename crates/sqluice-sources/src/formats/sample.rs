//! Samples: the first bytes of files, and what they show about the whole files.

use std::io::{Cursor, Read};

use sqluice_core::error::{Error, Setting, message};

use crate::input::{Compression, Encoding, Sample};

/// The growth factor of samples: the next sample is longer by this factor if a sample does not contain the whole first record.
const SAMPLE_GROWTH: usize = 8;

/// Returns the length of the sample to take after a sample of `bytes` bytes, at most `bytes_max`.
pub(super) fn longer(bytes: usize, bytes_max: usize) -> usize {
    bytes.max(1).saturating_mul(SAMPLE_GROWTH).min(bytes_max)
}

/// The size of a sample, and the properties of its file that it shows, such as the compression.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SampleFacts {
    /// The number of bytes that were requested for the sample.
    pub sample_bytes: usize,
    /// The length of the sample's text in bytes, decompressed and in UTF-8. For a file that declares its columns, the number of rows in the
    /// sample.
    pub text_bytes: u64,
    /// `true` if the sample is all of the file.
    pub whole: bool,
    /// `true` if the sample has the file's own bytes, without decompression and transcoding.
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

    /// Returns the facts about a file that declares its columns. The sample has `rows` rows; `whole` is `true` if the file has no other rows.
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

/// Returns a reader of a sample. If the sample is shorter than its file, reading beyond its end is an error: the first record is too long.
/// `skips` decides the hint of this error: `true` if the user already skips lines, `None` if the format can't skip lines.
pub(super) fn sample_reader(sample: Sample, skips: Option<bool>) -> Box<dyn Read + Send> {
    let bytes = sample.text.len();
    let text = Cursor::new(sample.text);
    match sample.whole {
        true => Box::new(text),
        false => Box::new(text.chain(CutOff { bytes, skips })),
    }
}

/// A reader that returns an error, for the end of a sample that is shorter than its file.
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

/// Returns the error for a file that has changed since its sample was taken.
pub fn changed() -> Error {
    Error::input("the input has changed while it was read").hint("wait until no program writes to it")
}
