//! Compresses and decompresses zlib streams. A `sqlar` table stores a file in this form if it is then smaller.
//!
//! Invariant: inflating never returns more bytes than the row states, and takes no memory except a block and the destination.

use std::io::{self, Write};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The number of bytes that are inflated at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// The maximum number of bytes that a single deflated byte can represent.
const RATIO_MAX: u64 = 1032;

/// A compressor that deflates files one after another, like zlib's `compress()`.
#[derive(Debug)]
pub struct Deflater(Compress);

impl Default for Deflater {
    fn default() -> Deflater {
        Deflater(Compress::new(Compression::default(), true))
    }
}

impl Deflater {
    /// Replaces the bytes of `buffer` from `start` on by their deflated form if that is shorter. `scratch` is a reused buffer for the
    /// deflated bytes.
    pub fn deflate(&mut self, buffer: &mut Vec<u8>, start: usize, scratch: &mut Vec<u8>) {
        let bytes = buffer.len() - start;
        scratch.clear();
        // A useful result has at least one byte less than the input.
        scratch.reserve(bytes.saturating_sub(1));
        self.0.reset();
        let done = self.0.compress_vec(&buffer[start..], scratch, FlushCompress::Finish);
        if matches!(done, Ok(Status::StreamEnd)) && scratch.len() < bytes {
            buffer.truncate(start);
            buffer.extend_from_slice(scratch);
        }
    }
}

/// A decompressor that inflates rows one after another.
#[derive(Debug)]
pub struct Inflater {
    stream: Decompress,
    block: Vec<u8>,
}

/// The reason why a row can't be inflated.
#[derive(Debug)]
pub enum InflateError {
    /// The data is no valid zlib stream, or does not have the size that its row states. The text is the reason.
    Wrong(String),
    /// The inflated bytes can't be written to the destination.
    Write(io::Error),
}

impl Default for Inflater {
    fn default() -> Inflater {
        Inflater { stream: Decompress::new(true), block: vec![0; BLOCK_BYTES] }
    }
}

impl Inflater {
    /// Inflates `data` and writes the result to `to`. A result of more or fewer bytes than `bytes` is an error. After an error, the
    /// caller must discard the bytes that were written.
    pub fn inflate(&mut self, data: &[u8], bytes: u64, to: &mut dyn Write) -> Result<(), InflateError> {
        let wrong = |why: String| Err(InflateError::Wrong(why));
        if bytes > (data.len() as u64).saturating_mul(RATIO_MAX) {
            return wrong(format!("{} bytes of data can't inflate to {bytes} bytes, its sz", data.len()));
        }
        self.stream.reset(true);
        loop {
            let (read, made) = (self.stream.total_in(), self.stream.total_out());
            let rest = &data[read as usize..];
            let status = match self.stream.decompress(rest, &mut self.block, FlushDecompress::None) {
                Ok(status) => status,
                Err(_) => return wrong("its data is not a zlib stream".to_owned()),
            };
            let new = (self.stream.total_out() - made) as usize;
            if self.stream.total_out() > bytes {
                return wrong(format!("its data inflates to more than the {bytes} bytes of its sz"));
            }
            to.write_all(&self.block[..new]).map_err(InflateError::Write)?;
            if status == Status::StreamEnd {
                break;
            }
            if new == 0 && self.stream.total_in() == read {
                return wrong("its data is cut off".to_owned());
            }
        }
        let (read, made) = (self.stream.total_in(), self.stream.total_out());
        if made < bytes {
            return wrong(format!("its data inflates to {made} bytes, but its sz is {bytes}"));
        }
        if (read as usize) < data.len() {
            return wrong("it has more bytes after the end of the zlib stream".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deflated(content: &[u8]) -> Vec<u8> {
        let mut buffer = [b"before", content].concat();
        Deflater::default().deflate(&mut buffer, 6, &mut Vec::new());
        assert_eq!(&buffer[..6], b"before");
        buffer.split_off(6)
    }

    fn inflated(data: &[u8], bytes: u64) -> Result<Vec<u8>, String> {
        let mut made = Vec::new();
        match Inflater::default().inflate(data, bytes, &mut made) {
            Ok(()) => Ok(made),
            Err(InflateError::Wrong(why)) => Err(why),
            Err(InflateError::Write(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn data_is_deflated_only_if_this_makes_it_smaller() {
        let text = b"so much of the same ".repeat(50_000);
        let data = deflated(&text);
        assert!(data.len() < text.len() / 50);
        assert_eq!(inflated(&data, text.len() as u64).unwrap(), text);
        for small in [&b""[..], b"x", b"abc"] {
            assert_eq!(deflated(small), small);
        }
    }

    #[test]
    fn inflating_a_file_fails_unless_the_output_has_the_stated_size() {
        let data = deflated(&vec![0; 50_000_000]);
        assert!(inflated(&data, 49_999_999).unwrap_err().contains("more than the 49999999 bytes"));
        assert!(inflated(&data, 50_000_001).unwrap_err().contains("inflates to 50000000 bytes"));
        assert!(inflated(&data, 1 << 60).unwrap_err().contains("can't inflate"));
    }

    #[test]
    fn a_truncated_extended_or_invalid_zlib_stream_is_refused() {
        let data = deflated(&[7; 1000]);
        assert!(inflated(&data[..data.len() - 1], 1000).unwrap_err().contains("cut off"));
        assert!(inflated(&[&data[..], b"x"].concat(), 1000).unwrap_err().contains("more bytes"));
        assert!(inflated(b"plain text", 1000).unwrap_err().contains("not a zlib stream"));
        assert!(inflated(b"", 0).unwrap_err().contains("cut off"));
    }
}
