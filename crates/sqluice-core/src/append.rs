//! Appends short byte strings and digits to a buffer: most values of a table are so short that a call of `memcpy` costs more than the copy.
//! [`has_any`] finds out if such a string has bytes that need care.

/// Appends the first `len` bytes of `from`. If `from` is long enough, 16 or 32 bytes are copied at once, and the vector is then truncated,
/// which is faster than to copy `len` bytes.
///
/// # Panics
/// If `from` is shorter than `len`.
#[inline]
pub fn append_start(out: &mut Vec<u8>, from: &[u8], len: usize) {
    let end = out.len() + len;
    if len <= 16
        && let Some(block) = from.first_chunk::<16>()
    {
        out.extend_from_slice(block);
        out.truncate(end);
    } else if len <= 32
        && let Some(block) = from.first_chunk::<32>()
    {
        out.extend_from_slice(block);
        out.truncate(end);
    } else {
        out.extend_from_slice(&from[..len]);
    }
}

/// The two digits of each number below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// The number of digits of `u64::MAX`.
const DIGITS_MAX: usize = 20;

/// Appends the digits of a number.
#[inline]
pub fn append_digits(out: &mut Vec<u8>, number: u64) {
    let digits = number.checked_ilog10().map_or(1, |log| log as usize + 1);
    append_padded(out, number, digits);
}

/// Appends the last `digits` digits of a number, at most 20, with zeros before a shorter number.
#[inline]
pub fn append_padded(out: &mut Vec<u8>, mut number: u64, digits: usize) {
    let start = out.len();
    out.extend_from_slice(&[b'0'; DIGITS_MAX]);
    let slot = &mut out[start..start + DIGITS_MAX][..digits];
    let mut at = digits;
    while at >= 2 {
        slot[at - 2..at].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
        at -= 2;
    }
    if at == 1 {
        slot[0] = b'0' + (number % 10) as u8;
    }
    out.truncate(start + digits);
}

/// Returns `true` if any byte passes a test. Tests whole blocks of 64 bytes, for which compilers generate vector code.
#[inline]
pub fn has_any(bytes: &[u8], test: impl Fn(u8) -> bool) -> bool {
    let in_block = |block: &[u8]| block.iter().fold(0, |any, byte| any | u8::from(test(*byte))) != 0;
    let (blocks, rest) = bytes.as_chunks::<64>();
    blocks.iter().any(|block| in_block(block)) || in_block(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn append_start_appends_the_first_bytes_and_nothing_else(before in ".{0,5}", from in prop::collection::vec(any::<u8>(), 0..60), len in 0..60_usize) {
            let len = len.min(from.len());
            let mut out = before.clone().into_bytes();
            append_start(&mut out, &from, len);
            prop_assert_eq!(out, [before.as_bytes(), &from[..len]].concat());
        }

        #[test]
        fn appended_digits_are_those_that_format_writes(number in any::<u64>(), shift in 0..64_u32, digits in 1..=20_usize) {
            let number = number >> shift;
            let mut out = b"x".to_vec();
            append_digits(&mut out, number);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("x{number}"));
            let mut out = Vec::new();
            append_padded(&mut out, number, digits);
            let padded = format!("{number:020}");
            prop_assert_eq!(String::from_utf8(out).unwrap(), &padded[20 - digits..]);
        }

        #[test]
        fn has_any_finds_a_byte_wherever_contains_finds_it(bytes in prop::collection::vec(any::<u8>(), 0..60), wanted in any::<u8>()) {
            prop_assert_eq!(has_any(&bytes, |byte| byte == wanted), bytes.contains(&wanted));
        }
    }
}
