//! A member of an archive as an input. Its bytes are decompressed while they are read, by any number of readers.
//!
//! ```text
//!            ┌───────┐     ┌─────────┐     ┌────────────┐     ┌─────────┐
//!  a range ──│ whole │ ──> │ counted │ ──> │ decompress │ ──> │ checked │ ──> the bytes of the member
//!            └───────┘     └─────────┘     └────────────┘     └─────────┘
//!                          for progress    by the method      size and CRC-32
//! ```

#![cfg_attr(not(feature = "archives"), allow(dead_code))]

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use flate2::bufread::DeflateDecoder;
use sqluice_core::error::Error;

use super::checked::{Checked, Stated, damaged};
use super::compression::{Compression, MemberStarts};
use super::peek::Peek;
use super::raw::Raw;
use super::whole::Whole;

/// The number of compressed bytes that are read at a time.
const RAW_BYTES: usize = 128 << 10;

/// The compression method of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Not compressed.
    Stored,
    /// [RFC 1951](https://www.rfc-editor.org/rfc/rfc1951).
    Deflate,
    /// A compression that whole files can have, too.
    File(Compression),
}

/// A member's location in an archive, and its stated size and checksum.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) whole: Whole,
    /// The range of the compressed bytes.
    pub(super) range: Range<u64>,
    pub(super) method: Method,
    pub(super) stated: Stated,
}

impl Member {
    /// Returns the number of compressed bytes.
    pub(super) fn raw_bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Returns the file, the offset of the member and its size in bytes, if the member is stored in a local file.
    pub(super) fn file(&self) -> Option<(Arc<File>, u64, u64)> {
        match (&self.whole, self.method) {
            (Whole::File { file, start, .. }, Method::Stored) => {
                Some((Arc::clone(file), start + self.range.start, self.raw_bytes()))
            }
            _ => None,
        }
    }

    /// Opens the decompressed bytes of the member. `name` is its name in messages. Adds the number of compressed bytes that are read to `bytes_read`.
    pub(super) fn open(&self, name: &Path, bytes_read: &Arc<AtomicU64>) -> io::Result<Box<dyn Read + Send>> {
        let raw = Raw::new(self.whole.reader(self.range.clone()), name.to_owned(), Arc::clone(bytes_read));
        let bytes: Box<dyn Read + Send> = match self.method {
            Method::Stored => Box::new(raw),
            Method::Deflate => {
                let inflate = DeflateDecoder::new(BufReader::with_capacity(RAW_BYTES, raw));
                Box::new(Inflate { inflate, name: name.to_owned() })
            }
            Method::File(compression) => {
                let raw = Peek::new(Box::new(raw));
                Box::new(compression.decompress(raw, name, true, MemberStarts::default())?)
            }
        };
        Ok(Box::new(Checked::new(bytes, name, self.stated)))
    }
}

/// A reader of inflated data. Its errors name the member.
struct Inflate<R> {
    inflate: DeflateDecoder<BufReader<R>>,
    name: PathBuf,
}

impl<R: Read> Read for Inflate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inflate.read(buffer).map_err(|error| match error.downcast::<Error>() {
            Ok(own) => own.into(),
            Err(error) => damaged("the deflate data of this file is damaged".to_owned(), &self.name)
                .because(error)
                .into(),
        })
    }
}
