//! The function that the fuzz target calls.

use super::taken::read;

/// The memory of a load.
const MEMORY_BYTES: u64 = 64 << 20;

/// Reads `bytes` as an Avro file, and again with a part of the end cut off. The last byte decides how much.
///
/// # Panics
/// If a file that is cut short has other rows than the whole file, or more rows.
pub fn reads_what_there_is(bytes: &[u8]) {
    let whole = read(bytes, MEMORY_BYTES);
    let Some((&cut, _)) = bytes.split_last() else { return };
    let short = read(&bytes[..bytes.len() * usize::from(cut) / 256], MEMORY_BYTES);
    assert!(whole.rows.starts_with(&short.rows));
    assert!(whole.bad.starts_with(&short.bad));
}
