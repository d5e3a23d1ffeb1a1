//! The function that the fuzz target of the Avro reader calls.

use super::taken::read;

/// The memory of the simulated load.
const MEMORY_BYTES: u64 = 64 << 20;

/// Reads `bytes` as an Avro file, and again with the end cut off. The last byte decides how much is cut off.
///
/// # Panics
/// If the rows, or the bad rows, of the short file are not the first ones of the whole file.
pub fn reads_what_there_is(bytes: &[u8]) {
    let whole = read(bytes, MEMORY_BYTES);
    let Some((&cut, _)) = bytes.split_last() else { return };
    let short = read(&bytes[..bytes.len() * usize::from(cut) / 256], MEMORY_BYTES);
    assert!(whole.rows.starts_with(&short.rows));
    assert!(whole.bad.starts_with(&short.bad));
}
