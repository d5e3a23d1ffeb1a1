//! Conversion between floats and decimal digits with SQLite's arithmetic, exact to the last bit and the last digit.
//!
//! SQLite 3.54 scales by a power of ten of 96 bits (after Russ Cox's [fpfmt](https://github.com/rsc/fpfmt)). It prints 17 digits, or fewer
//! if the tail is a run of nines or zeros and the shorter number reads back as the same float: neither `%.17g` nor the shortest form. Any
//! other arithmetic, even with correct rounding, gives other bytes for some values. So this module is a translation of SQLite's
//! `sqlite3Fp10Convert2`, `sqlite3Fp2Convert10` and `sqlite3FpDecode` (public domain). The tests compare it with the bundled library,
//! number by number, and fail if the library changes.
//!
//! A power of ten is represented as `(u64, u32)`: its 64 most significant bits, and the 32 bits after them.

/// SQLite ignores further digits once the mantissa has reached this value, because another digit might not fit 64 bits.
pub(super) const MANTISSA_FULL: u64 = (u64::MAX - 9) / 10;

/// The largest number of digits that SQLite prints of a float: 17 digits identify every float.
const DIGITS_MAX: usize = 17;

/// The exponents that [`power_of_ten`] takes.
const EXPONENTS: std::ops::RangeInclusive<i64> = -348..=347;

/// The first 96 bits of 10^(27 (i - 13)), at index i. The exception is index 13, which has 10^-1: 10^0 is in [`SMALL_POWERS`].
const POWERS: [(u64, u32); 26] = [
    (0x8049_a4ac_0c58_11ae, 0x205b_896d),
    (0xcf42_894a_5dce_35ea, 0x5206_4cad),
    (0xa76c_5823_38ed_2621, 0xaf2a_f2b8),
    (0x873e_4f75_e222_4e68, 0x5a77_44a7),
    (0xda7f_5bf5_9096_6848, 0xaf39_a475),
    (0xb080_392c_c434_9dec, 0xbd8d_794e),
    (0x8e93_8662_882a_f53e, 0x547e_b47b),
    (0xe658_29b3_046b_0afa, 0x0cb4_a5a3),
    (0xba12_1a46_50e4_ddeb, 0x92f3_4d62),
    (0x964e_858c_91ba_2655, 0x3a6a_07f9),
    (0xf2d5_6790_ab41_c2a2, 0xfae2_7299),
    (0xc428_d05a_a475_1e4c, 0xaa97_e14c),
    (0x9e74_d1b7_91e0_7e48, 0x775e_a265),
    (0xcccc_cccc_cccc_cccc, 0xcccc_cccc),
    (0xcecb_8f27_f420_0f3a, 0x0000_0000),
    (0xa70c_3c40_a64e_6c51, 0x9990_90b6),
    (0x86f0_ac99_b4e8_dafd, 0x69a0_28bb),
    (0xda01_ee64_1a70_8de9, 0xe80e_6f48),
    (0xb01a_e745_b101_e9e4, 0x5ec0_5dd0),
    (0x8e41_ade9_fbeb_c27d, 0x1458_8f14),
    (0xe5d3_ef28_2a24_2e81, 0x8f16_68c9),
    (0xb9a7_4a06_37ce_2ee1, 0x6d95_3e2c),
    (0x95f8_3d0a_1fb6_9cd9, 0x4abd_af10),
    (0xf24a_01a7_3cf2_dccf, 0xbc63_3b39),
    (0xc3b8_3581_09e8_4f07, 0x0a86_2f81),
    (0x9e19_db92_b4e3_1ba9, 0x6c07_a2c2),
];

/// The first 64 bits of 10^0 to 10^26. They are exact, because 5^26 has 61 bits.
const SMALL_POWERS: [u64; 27] = {
    let mut powers = [1 << 63; 27];
    let mut power: u128 = 1;
    let mut i = 0;
    while i < powers.len() {
        powers[i] = (power << power.leading_zeros() >> 64) as u64;
        power *= 10;
        i += 1;
    }
    powers
};

/// Returns the 96 most significant bits of 10^exponent: 64 bits, then 32. The exponent must be in [`EXPONENTS`].
fn power_of_ten(exponent: i32) -> (u64, u32) {
    if exponent == -1 {
        return POWERS[13];
    }
    let (scale, small) = (exponent.div_euclid(27), exponent.rem_euclid(27) as usize);
    if scale == 0 {
        return (SMALL_POWERS[small], 0);
    }
    let (high, low) = POWERS[(scale + 13) as usize];
    if small == 0 {
        return (high, low);
    }
    let small = u128::from(SMALL_POWERS[small]);
    let product = u128::from(high) * small + ((u128::from(low) * small) >> 32);
    let (high, low) = ((product >> 64) as u64, (product >> 32) as u32);
    if high >> 63 == 0 { (high << 1 | u64::from(low >> 31), low << 1 | 1) } else { (high, low) }
}

/// Returns floor(log2(10^exponent)).
const fn log2_of_power_of_ten(exponent: i32) -> i32 {
    (exponent * 108_853) >> 15
}

/// Returns floor(log10(2^exponent)).
const fn log10_of_power_of_two(exponent: i32) -> i32 {
    (exponent * 78_913) >> 18
}

/// Returns mantissa times 10^exponent, rounded as SQLite does: infinity above the range of floats, zero below.
pub(super) fn decimal_to_real(mantissa: u64, exponent: i64) -> f64 {
    if mantissa == 0 || exponent < *EXPONENTS.start() {
        return 0.0;
    }
    if exponent > *EXPONENTS.end() {
        return f64::INFINITY;
    }
    let power = exponent as i32;
    let bits = 64 - mantissa.leading_zeros() as i32;
    let log2 = log2_of_power_of_ten(power);
    // The result is 2^-scale times a number of 53 bits, or fewer when it is subnormal.
    let mut scale = 53 - bits - log2;
    if scale > 1074 {
        if scale >= 1130 {
            return 0.0;
        }
        scale = 1074;
    }
    let shift = -(scale - (64 - bits) + log2 + 3);
    let (mut high, mut low) = power_of_ten(power);
    if low != 0 {
        // The power is rounded up, so that an error can only be on one side.
        high = high.wrapping_add(1);
        low = !low;
    }
    let mantissa = mantissa << (64 - bits);
    let product = u128::from(mantissa) * u128::from(high);
    let (mut upper, middle) = ((product >> 64) as u64, (product >> 32) as u32);
    let mut sticky = 1;
    if upper & ((1 << shift) - 1) == 0 {
        // The low bits are all 0, so the product may be exactly a float or the middle of two floats, and 32 more bits decide.
        let correction = ((u128::from(mantissa) * u128::from(low)) >> 64) as u32;
        sticky = u64::from(middle.wrapping_sub(correction) > 1);
        upper -= u64::from(middle < correction);
    }
    // `rounded` has the 53 bits of the result, one bit for the half, and a sticky bit.
    let mut rounded = upper >> shift | sticky;
    if rounded >= (1 << 55) - 2 {
        rounded = rounded >> 1 | rounded & 1;
        scale -= 1;
    }
    let fraction = (rounded + 1 + (rounded >> 2 & 1)) >> 2;
    if scale <= -972 {
        return f64::INFINITY;
    }
    const HIDDEN: u64 = 1 << 52;
    if fraction & HIDDEN == 0 {
        return f64::from_bits(fraction);
    }
    f64::from_bits(fraction & !HIDDEN | ((1075 - scale) as u64) << 52)
}

/// Returns a whole number of about 18 digits, and an exponent of ten: number times 10^exponent is the positive finite float `real`, nearly.
fn real_to_decimal(real: f64) -> (u64, i32) {
    let bits = real.to_bits();
    let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let (mantissa, scale) = if exponent == 0 {
        let zeros = fraction.leading_zeros();
        (fraction << zeros, -1074 - zeros as i32)
    } else {
        (fraction << 11 | 1 << 63, exponent - 1086)
    };
    let power = 18 - 1 - log10_of_power_of_two(scale + 63);
    let (high, _) = power_of_ten(power);
    let upper = ((u128::from(mantissa) * u128::from(high)) >> 64) as u64;
    let upper = upper >> -(scale + log2_of_power_of_ten(power) + 2);
    ((upper + (upper << 1 & 2)) >> 1, -power)
}

/// Appends the text that TEXT affinity makes of a float that is not NaN: SQLite's `%!.17g` ([printf](https://www.sqlite.org/printf.html)).
/// CAST and `||` make the same text.
pub fn real_to_text(real: f64, out: &mut Vec<u8>) {
    if real < 0.0 {
        out.push(b'-');
    }
    if real.is_infinite() {
        return out.extend_from_slice(b"Inf");
    }
    if real == 0.0 {
        return out.extend_from_slice(b"0.0");
    }
    let mut buffer = [0; 24];
    let (digits, point) = significant_digits(real.abs(), &mut buffer);
    let exponent = point - 1;
    if !(-4..DIGITS_MAX as i32).contains(&exponent) {
        push_fixed(digits, 1, out);
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        let exponent = exponent.unsigned_abs();
        if exponent < 10 {
            out.push(b'0');
        }
        super::int_to_text(i64::from(exponent), out);
    } else {
        push_fixed(digits, point, out);
    }
}

/// Appends digits with the point before digit `point`, and at least one digit on each side of the point.
fn push_fixed(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    let split = usize::try_from(point).unwrap_or(0);
    let (whole, fraction) = digits.split_at(split.min(digits.len()));
    out.extend_from_slice(if split == 0 { b"0" } else { whole });
    out.resize(out.len() + (split - whole.len()), b'0');
    out.push(b'.');
    out.resize(out.len() + usize::try_from(-point).unwrap_or(0), b'0');
    out.extend_from_slice(if fraction.is_empty() { b"0" } else { fraction });
}

/// Returns the digits that SQLite prints for a positive finite float, without trailing zeros, and the position of the point: the value is
/// 0.DIGITS times 10^point.
fn significant_digits(real: f64, buffer: &mut [u8; 24]) -> (&[u8], i32) {
    let (mut value, exponent) = real_to_decimal(real);
    let mut at = buffer.len();
    while value > 0 {
        at -= 1;
        buffer[at] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    let mut len = buffer.len() - at;
    let mut point = len as i32 + exponent;
    if len > DIGITS_MAX {
        len = shorter_that_reads_back(real, &buffer[at..], exponent).unwrap_or(DIGITS_MAX);
        if buffer[at + len] >= b'5' {
            let nines = buffer[at..at + len].iter().rev().take_while(|digit| **digit == b'9').count();
            buffer[at + len - nines..at + len].fill(b'0');
            if nines == len {
                at -= 1;
                buffer[at] = b'1';
                len += 1;
                point += 1;
            } else {
                buffer[at + len - nines - 1] += 1;
            }
        }
    }
    let digits = &buffer[at..at + len];
    let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
    (&digits[..len - zeros], point)
}

/// Returns the number of digits to round to, if the digits end in nines or zeros and the shorter number reads back as `real`: so 49.47
/// prints as 49.47, not as 49.469999999999999.
fn shorter_that_reads_back(real: f64, digits: &[u8], exponent: i32) -> Option<usize> {
    let number = |digits: &[u8]| digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    let reads_back = |mantissa: u64, kept: usize| {
        debug_assert!(mantissa < MANTISSA_FULL);
        real == decimal_to_real(mantissa, i64::from(exponent) + (digits.len() - kept) as i64)
    };
    let point = digits.len() as i32 + exponent;
    if digits[14..16] == *b"99" {
        let kept = digits[..14].iter().rposition(|digit| *digit != b'9').map_or(0, |last| last + 1);
        let mantissa = if kept == 0 { 1 } else { number(&digits[..kept]) + 1 };
        return reads_back(mantissa, kept).then_some(kept + 1);
    }
    if point >= digits.len() as i32 || digits[13..16] == *b"000" {
        let kept = digits[..13].iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        return reads_back(number(&digits[..kept]), kept).then_some(kept + 1);
    }
    None
}
