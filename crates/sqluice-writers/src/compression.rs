//! Compresses files with gzip or zstd. Each piece, the encoded rows of one part of the source, becomes a separate member or frame, so that
//! all cores compress.
//!
//! A file of several members is read like one of a single member ([RFC 1952 §2.2](https://www.rfc-editor.org/rfc/rfc1952#section-2.2),
//! [RFC 8878 §3](https://www.rfc-editor.org/rfc/rfc8878#section-3)).

use std::io::{self, Write};

use sqluice_core::error::{Error, Result};

/// The compression of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// gzip: `.gz`.
    Gzip,
    /// Zstandard: `.zst`.
    Zstd,
}

/// The default level of the program gzip.
const GZIP_LEVEL: u32 = 6;
/// The default level of the program zstd.
const ZSTD_LEVEL: i32 = 3;

impl Compression {
    /// Compresses a piece. An empty piece stays empty.
    ///
    /// # Errors
    /// If the memory is too small.
    pub fn piece(self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let failed = |error: io::Error| Error::target("cannot compress").because(error);
        match self {
            _ if bytes.is_empty() => Ok(bytes),
            Compression::None => Ok(bytes),
            Compression::Gzip => {
                let out = Vec::with_capacity(bytes.len() / 3);
                let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::new(GZIP_LEVEL));
                encoder.write_all(&bytes).map_err(failed)?;
                encoder.finish().map_err(failed)
            }
            Compression::Zstd => zstd::bulk::compress(&bytes, ZSTD_LEVEL).map_err(failed),
        }
    }
}
