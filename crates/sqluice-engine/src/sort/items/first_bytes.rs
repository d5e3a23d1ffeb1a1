//! The first bytes of a key as a number, which is compared at once.

/// Returns the first 16 bytes of a key. A shorter key is followed by zeros.
#[inline]
pub(crate) fn first_bytes(bytes: &[u8]) -> u128 {
    if let Some(chunk) = bytes.first_chunk::<16>() {
        return u128::from_be_bytes(*chunk);
    }
    // A shorter key of 4 bytes or more is read as its first and its last 8 or 4 bytes, which may overlap.
    let bits = 8 * bytes.len() as u32;
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u64::from_be_bytes(*first), u64::from_be_bytes(*last));
            u128::from(first) << 64 | u128::from(last) << (128 - bits) & u128::from(u64::MAX)
        }
        _ => {
            let word = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
                (Some(first), Some(last)) => {
                    let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
                    u64::from(first) << 32 | u64::from(last) << (64 - bits) & u64::from(u32::MAX)
                }
                _ => {
                    let word = bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
                    // An empty key would be shifted by 64 bits, which is no valid shift.
                    word.checked_shl(64 - bits).unwrap_or(0)
                }
            };
            u128::from(word) << 64
        }
    }
}
