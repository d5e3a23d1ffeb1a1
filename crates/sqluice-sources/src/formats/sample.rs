//! Samples: the beginning of a file, and what it shows of the whole.

use std::io::{Cursor, Read};

use sqluice_core::error::{Error, Setting, message};

use crate::input::{Compression, Encoding, Sample};

/// The factor by which the next sample is longer, if one does not hold the first record.
pub(super) const SAMPLE_GROWTH: usize = 8;

/// What a sample shows of the whole file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SampleFacts {
    /// How many bytes were asked for.
    pub sample_bytes: usize,
    /// Bytes of the sample's text.
    pub text_bytes: u64,
    /// The sample is all of the file.
    pub whole: bool,
    /// The sample has the bytes of the file, neither decompressed nor transcoded.
    pub plain: bool,
    /// The compression of the file.
    pub compression: Option<Compression>,
    /// The encoding of the file's text, if the text is not UTF-8.
    pub encoding: Option<Encoding>,
}

impl SampleFacts {
    /// Returns the facts of a sample for which `sample_bytes` were asked for.
    pub(super) fn of(sample: &Sample, sample_bytes: usize) -> SampleFacts {
        let Sample { ref text, whole, plain, compression, encoding } = *sample;
        SampleFacts { sample_bytes, text_bytes: text.len() as u64, whole, plain, compression, encoding }
    }

    /// Returns the facts of a file that declares its columns, of which some rows are looked at.
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

/// Opens a sample. Reading beyond a sample that is not all of its file is an error; `skips` says whether the user skips lines already, or
/// `None` if no line can be skipped.
pub(super) fn sample_reader(sample: Sample, skips: Option<bool>) -> Box<dyn Read + Send> {
    let bytes = sample.text.len();
    let text = Cursor::new(sample.text);
    match sample.whole {
        true => Box::new(text),
        false => Box::new(text.chain(CutOff { bytes, skips })),
    }
}

/// The end of a sample that is not all of its file.
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
