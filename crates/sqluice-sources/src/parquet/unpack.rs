//! Decompresses pages of Parquet files, each up to the size that its header declares.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use parquet::basic::CompressionCodec;
use parquet::errors::ParquetError;

/// A function that decompresses bytes to at most the given size and appends them, or returns the reason why it can't.
type Decompress = fn(&[u8], usize, &mut Vec<u8>) -> Result<(), String>;

/// A decompressor for the pages of a column chunk.
pub(super) struct Unpack {
    codec: CompressionCodec,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Unpack {
    /// Creates a decompressor for `codec`.
    pub(super) fn new(codec: CompressionCodec) -> Unpack {
        Unpack { codec, zstd: None }
    }

    /// Returns `true` if the pages are not compressed.
    pub(super) fn is_plain(&self) -> bool {
        self.codec == CompressionCodec::UNCOMPRESSED
    }

    /// Decompresses `packed` and appends the result to `out`. The result must have exactly `bytes` bytes.
    pub(super) fn unpack(
        &mut self,
        packed: &[u8],
        bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ParquetError> {
        // A page without values may be empty even in compressed form.
        if bytes == 0 {
            return Ok(());
        }
        let start = out.len();
        let failed = |error: &dyn std::fmt::Display| ParquetError::General(format!("a page: {error}"));
        match self.codec {
            CompressionCodec::UNCOMPRESSED => out.extend_from_slice(packed),
            CompressionCodec::SNAPPY => {
                out.resize(start + bytes, 0);
                let unpacked = snap::raw::Decoder::new().decompress(packed, &mut out[start..]);
                let unpacked = unpacked.map_err(|error| failed(&error))?;
                out.truncate(start + unpacked);
            }
            CompressionCodec::GZIP => read_at_most(MultiGzDecoder::new(packed), bytes, out)?,
            CompressionCodec::BROTLI => read_at_most(brotli::Decompressor::new(packed, 4096), bytes, out)?,
            CompressionCodec::ZSTD => {
                out.resize(start + bytes, 0);
                if self.zstd.is_none() {
                    self.zstd = Some(zstd::bulk::Decompressor::new()?);
                }
                let zstd = self.zstd.as_mut().expect("it was created above");
                let unpacked = zstd.decompress_to_buffer(packed, &mut out[start..])?;
                out.truncate(start + unpacked);
            }
            CompressionCodec::LZ4_RAW => lz4_block(packed, bytes, out).map_err(|error| failed(&error))?,
            // Writers interpreted this codec differently: as Hadoop's frames, as LZ4 frames, or as a single LZ4 block.
            CompressionCodec::LZ4 => {
                let attempts: [Decompress; 3] = [lz4_hadoop, lz4_frame, lz4_block];
                for attempt in attempts {
                    if attempt(packed, bytes, out).is_ok() && out.len() == start + bytes {
                        return Ok(());
                    }
                    out.truncate(start);
                }
            }
            CompressionCodec::LZO => {
                return Err(ParquetError::NYI("compression with LZO is not supported".to_owned()));
            }
        }
        match out.len() - start == bytes {
            true => Ok(()),
            false => Err(failed(&"its decompressed size differs from the size in its header")),
        }
    }
}

/// Reads `bytes` bytes. If the input has more, one more byte is read, so that the caller notices.
fn read_at_most(from: impl Read, bytes: usize, out: &mut Vec<u8>) -> Result<(), ParquetError> {
    out.reserve_exact(bytes + 1);
    from.take(bytes as u64 + 1).read_to_end(out)?;
    Ok(())
}

fn lz4_block(packed: &[u8], bytes: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let start = out.len();
    out.resize(start + bytes, 0);
    let unpacked =
        lz4_flex::block::decompress_into(packed, &mut out[start..]).map_err(|error| error.to_string())?;
    out.truncate(start + unpacked);
    Ok(())
}

fn lz4_frame(packed: &[u8], bytes: usize, out: &mut Vec<u8>) -> Result<(), String> {
    read_at_most(lz4_flex::frame::FrameDecoder::new(packed), bytes, out).map_err(|error| error.to_string())
}

/// Decompresses Hadoop's frames: each block is preceded by its length and its compressed length, both big-endian.
fn lz4_hadoop(mut packed: &[u8], bytes: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let end = out.len() + bytes;
    while !packed.is_empty() {
        let (lengths, rest) = packed.split_first_chunk::<8>().ok_or("a block is cut short")?;
        let [length, packed_length] = [0, 4].map(|at| {
            let length = [lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]];
            u32::from_be_bytes(length) as usize
        });
        if length > end - out.len() {
            return Err("a block is too long".to_owned());
        }
        lz4_block(rest.get(..packed_length).ok_or("a block is cut short")?, length, out)?;
        packed = &rest[packed_length..];
    }
    Ok(())
}
