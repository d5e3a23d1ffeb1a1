//! Decompresses the blocks of Avro files. A block must fit the memory of the load.

use std::io::Read;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use sqluice_core::error::Error;

use super::fault::Fault;
use crate::arrow::MemoryBound;

/// The maximum number of bytes that one byte of Snappy can decompress to: three bytes copy up to 64 bytes.
const SNAPPY_GROWTH_MAX: usize = 22;

/// The compression of the blocks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
}

impl Codec {
    /// Returns the codec with the given name.
    pub(super) fn of_name(name: &[u8]) -> Result<Codec, Fault> {
        Ok(match name {
            b"null" | b"" => Codec::Null,
            b"deflate" => Codec::Deflate,
            b"snappy" => Codec::Snappy,
            b"zstandard" => Codec::Zstandard,
            other => {
                let name = String::from_utf8_lossy(&other[..other.len().min(40)]);
                let error = Error::input(format!(
                    "its blocks are compressed with {name}; null, deflate, snappy and zstandard are supported"
                ));
                return Err(error.hint("write it again with one of these codecs").into());
            }
        })
    }

    /// Decompresses `packed` into `out`, which is empty.
    pub(super) fn unpack(self, packed: &[u8], out: &mut Vec<u8>, memory: MemoryBound) -> Result<(), Fault> {
        match self {
            Codec::Null => out.extend_from_slice(packed),
            Codec::Deflate => read_at_most(DeflateDecoder::new(packed), out, memory)?,
            Codec::Zstandard => {
                read_at_most(zstd::stream::read::Decoder::new(packed).map_err(Fault::of)?, out, memory)?;
            }
            Codec::Snappy => {
                let (packed, checksum) =
                    packed.split_last_chunk().ok_or(Fault::Damaged("a block lacks its checksum"))?;
                let bytes = snap::raw::decompress_len(packed).map_err(Fault::of)?;
                if bytes / SNAPPY_GROWTH_MAX > packed.len() {
                    return Err(Fault::Damaged("a block claims to be longer than it can be"));
                }
                memory.check("a block, decompressed,", bytes as u64)?;
                out.resize(bytes, 0);
                let unpacked = snap::raw::Decoder::new().decompress(packed, out).map_err(Fault::of)?;
                out.truncate(unpacked);
                let mut sum = Crc::new();
                sum.update(out);
                if sum.sum() != u32::from_be_bytes(*checksum) {
                    return Err(Fault::Damaged("the checksum of a block is wrong"));
                }
            }
        }
        Ok(())
    }
}

/// Reads all of `from` into `out`. Returns an error if the bytes take more than the memory of the load.
fn read_at_most(from: impl Read, out: &mut Vec<u8>, memory: MemoryBound) -> Result<(), Fault> {
    let end = memory.0.unwrap_or(u64::MAX - 1);
    from.take(end + 1).read_to_end(out).map_err(Fault::of)?;
    memory.check("a block, decompressed,", out.len() as u64)?;
    Ok(())
}
