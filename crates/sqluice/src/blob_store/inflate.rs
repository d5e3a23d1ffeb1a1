//! Data of an archive that was deflated: `sz` says how long it was.

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::error::{Error, Result};

/// The most that deflate makes of a byte: who promises more is lying, and nothing is set aside for it.
const RATIO_MAX: u64 = 1032;

/// Inflates data into `out`, which must become `size` bytes.
pub(super) fn inflate(data: &[u8], size: u64, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    if size / RATIO_MAX > data.len() as u64 {
        return Err(damaged(size).because("so few bytes can't become as many"));
    }
    // One more, to see whether there is more.
    let read = ZlibDecoder::new(data).take(size.saturating_add(1)).read_to_end(out);
    match read {
        Ok(bytes) if bytes as u64 == size => Ok(()),
        Ok(bytes) if bytes as u64 > size => Err(damaged(size).because("there is more")),
        Ok(bytes) => Err(damaged(size).because(format!("there are {bytes}"))),
        Err(error) => Err(damaged(size).because(error)),
    }
}

fn damaged(size: u64) -> Error {
    Error::input(format!("what is stored does not inflate to {size} bytes"))
}
