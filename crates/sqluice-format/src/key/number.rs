//! Numbers in normalized keys. Integers and floats share one order by their exact values.

use std::cmp::Ordering;

/// The first byte of the key of the number 0. For a positive number below 2^63, let n be twice its whole part, plus 1 if it has a fraction:
/// the first byte of its key is `KIND_ZERO` plus the number of bytes of n.
pub(super) const KIND_ZERO: u8 = 0x80;
/// The first byte of the keys of numbers from 2^63 on, which are larger than any `i64`. Inverted, it is the first byte of -2^63 and smaller
/// numbers.
pub(super) const KIND_HUGE: u8 = 0x89;

const TWO_63: f64 = 9_223_372_036_854_775_808.0;
/// The number of bits of a float's significand that are stored.
const STORED_BITS: u32 = 52;

/// The normalized form of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumberKey {
    /// The bytes of the key as a big-endian number, padded with zeros.
    pub(super) left: u128,
    /// The number of bytes of the key: 1 to 10.
    pub(super) bytes: u32,
}

impl NumberKey {
    /// The key of -2^63, which has the kind of huge numbers.
    const SMALLEST_INT: NumberKey =
        NumberKey { left: !((KIND_HUGE as u128) << 64 | TWO_63.to_bits() as u128) << 56, bytes: 9 };

    #[inline]
    pub(super) fn of_int(int: i64) -> NumberKey {
        if int == i64::MIN {
            return NumberKey::SMALLEST_INT;
        }
        // All bits are set if the integer is negative, to invert the key.
        let sign = (int >> 63) as u64;
        let twice = int.unsigned_abs() << 1;
        // The number of bits in the leading zero bytes.
        let unused = twice.leading_zeros() & !7;
        let bytes = 9 - unused / 8;
        let kind = (u64::from(KIND_ZERO) + u64::from(bytes - 1)) ^ (sign & 0xff);
        let value = (twice ^ sign).checked_shl(unused).unwrap_or(0);
        NumberKey { left: u128::from(kind) << 120 | u128::from(value) << 56, bytes }
    }

    /// Returns the integer at the start of a normalized key, and the number of its bytes. The number there must be neither a float nor the
    /// smallest integer.
    #[inline]
    pub(super) fn int_of(left: u128) -> (i64, u32) {
        // All bits are set if the integer is negative.
        let sign = ((left >> 127) as u64).wrapping_sub(1);
        let kind = (left >> 120) as u64 ^ (sign & 0xff);
        let n = (kind - u64::from(KIND_ZERO)) as u32;
        let twice = ((left >> 56) as u64 ^ sign).checked_shr(64_u32.wrapping_sub(8 * n)).unwrap_or(0);
        let magnitude = (twice >> 1) as i64;
        ((magnitude ^ sign as i64).wrapping_sub(sign as i64), 1 + n)
    }

    pub(super) fn of_real(real: f64) -> NumberKey {
        NumberKey::of_positive(real.abs()).with_sign(real < 0.0)
    }

    fn of_positive(real: f64) -> NumberKey {
        let bits = real.to_bits();
        if real >= TWO_63 {
            return NumberKey { left: u128::from(KIND_HUGE) << 120 | u128::from(bits) << 56, bytes: 9 };
        }
        if real < 1.0 {
            return if real == 0.0 { NumberKey::whole(0) } else { NumberKey::whole(1).followed_by(bits, 8) };
        }
        let significand = bits & ((1 << STORED_BITS) - 1) | 1 << STORED_BITS;
        let log2 = (bits >> STORED_BITS) as u32 - 1023;
        let Some(fraction_bits) = STORED_BITS.checked_sub(log2).filter(|&bits| bits > 0) else {
            return NumberKey::whole(significand << (log2 - STORED_BITS) << 1);
        };
        let (whole, fraction) = (significand >> fraction_bits, significand & ((1 << fraction_bits) - 1));
        if fraction == 0 {
            return NumberKey::whole(whole << 1);
        }
        let bytes = fraction_bits.div_ceil(8);
        NumberKey::whole(whole << 1 | 1).followed_by(fraction << (8 * bytes - fraction_bits), bytes)
    }

    /// Returns the key of a number without its fraction. `twice` is twice the whole part of the number, plus 1 if it has a fraction.
    #[inline]
    fn whole(twice: u64) -> NumberKey {
        let n = (u64::BITS - twice.leading_zeros()).div_ceil(8);
        let right = (u128::from(KIND_ZERO) + u128::from(n)) << (8 * n) | u128::from(twice);
        NumberKey { left: right << (120 - 8 * n), bytes: n + 1 }
    }

    /// Returns the key with `bytes` more bytes at its end, the lowest bytes of `right`.
    fn followed_by(self, right: u64, bytes: u32) -> NumberKey {
        let all = self.bytes + bytes;
        NumberKey { left: self.left | u128::from(right) << (128 - 8 * all), bytes: all }
    }

    #[inline]
    fn with_sign(self, negative: bool) -> NumberKey {
        let inverted = if negative { u128::MAX << (128 - 8 * self.bytes) } else { 0 };
        NumberKey { left: self.left ^ inverted, ..self }
    }

    pub(super) fn push_to(self, key: &mut Vec<u8>) {
        key.extend_from_slice(&self.left.to_be_bytes()[..self.bytes as usize]);
    }

    /// Returns the number of bytes of the normalized number that begins with the bytes in `left`. If the end of the number is not among the
    /// valid bytes of `left`, the result exceeds the number of valid bytes.
    pub(super) fn bytes_of(left: u128) -> u32 {
        // The keys of negative numbers are inverted.
        let left = if left >> 127 == 0 { !left } else { left };
        let kind = (left >> 120) as u8;
        if kind == KIND_HUGE {
            return 9;
        }
        let n = u32::from(kind - KIND_ZERO);
        let twice = (left << 8 >> 64) as u64;
        let twice = if n == 0 { 0 } else { twice >> (64 - 8 * n) };
        let fraction_bytes = match twice {
            _ if twice & 1 == 0 => 0,
            1 => 8,
            // If bytes are missing, the result is arbitrary, but the whole part alone is already too long.
            _ => STORED_BITS.saturating_sub((twice >> 1).ilog2()).div_ceil(8),
        };
        1 + n + fraction_bytes
    }
}

/// Compares an integer with a float by their exact values.
pub(super) fn compare_int_real(int: i64, real: f64) -> Ordering {
    if real >= TWO_63 {
        return Ordering::Less;
    }
    if real < -TWO_63 {
        return Ordering::Greater;
    }
    // The float is in the range of integers. The fraction that the cast cuts off matters only if the whole parts are equal.
    let whole = real as i64;
    int.cmp(&whole).then_with(|| (whole as f64).partial_cmp(&real).expect("no NaN"))
}
