//! Writes numbers as text: integers by their digits, floats by the fewest digits that read as the same float.

use sqluice_core::append::{append_digits, append_padded};

/// Appends the digits of an integer.
#[inline]
pub fn push_int(out: &mut Vec<u8>, int: i64) {
    if int < 0 {
        out.push(b'-');
    }
    append_digits(out, int.unsigned_abs());
}

/// The bound below which a whole number has at most 15 digits. No two decimals of at most 15 digits are the same float, so no shorter
/// decimal reads as this float.
const EXACT_MAX: f64 = 1e15;

/// Appends a finite float, with a point or an exponent: `5.0`, `0.07`, `1e+300`.
#[inline]
pub fn push_real(out: &mut Vec<u8>, real: f64) {
    debug_assert!(real.is_finite());
    let has_few_decimals = push_scaled::<100, 2>(out, real)
        || push_scaled::<10_000, 4>(out, real)
        || push_scaled::<1_000_000, 6>(out, real);
    if !has_few_decimals {
        out.extend_from_slice(zmij::Buffer::new().format_finite(real).as_bytes());
    }
}

/// Appends a float that is the quotient of an integer and `SCALE`, such as a price, with at most `DECIMALS` decimals. Both the division
/// and a parser round to the nearest float, so the digits read as the same float. Returns `false`, with nothing appended, for all other
/// floats.
#[inline]
fn push_scaled<const SCALE: u64, const DECIMALS: usize>(out: &mut Vec<u8>, real: f64) -> bool {
    let magnitude = real.abs();
    let scaled = magnitude * SCALE as f64 + 0.5;
    if scaled >= EXACT_MAX || (scaled as u64) as f64 / SCALE as f64 != magnitude {
        return false;
    }
    if real.is_sign_negative() {
        out.push(b'-');
    }
    let scaled = scaled as u64;
    push_decimal(out, scaled / SCALE, scaled % SCALE, DECIMALS);
    true
}

/// Appends a number and its decimals, without trailing zeros but with at least one decimal: `5.0`, `0.07`.
#[inline]
fn push_decimal(out: &mut Vec<u8>, whole: u64, mut fraction: u64, mut decimals: usize) {
    append_digits(out, whole);
    out.push(b'.');
    while decimals > 1 && fraction.is_multiple_of(10) {
        (fraction, decimals) = (fraction / 10, decimals - 1);
    }
    append_padded(out, fraction, decimals);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(real: f64) -> String {
        let mut out = Vec::new();
        push_real(&mut out, real);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_are_written_as_to_string_writes_them() {
        for int in [0, 1, -1, 9, 10, -10, 99, 100, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            push_int(&mut out, int);
            assert_eq!(out, int.to_string().as_bytes());
        }
    }

    #[test]
    fn floats_have_a_point_or_an_exponent() {
        for (real, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (5.0, "5.0"),
            (-21168.23, "-21168.23"),
            (0.07, "0.07"),
            (0.1, "0.1"),
            (1.5e-6, "1.5e-6"),
            (123456.789012, "123456.789012"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(text(real), expected);
        }
    }

    /// Returns the number of significant digits of a number: without leading and trailing zeros, and without the digits of the exponent.
    fn digits(text: &str) -> usize {
        let mantissa = text.split('e').next().unwrap();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_matches('0').len()
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(20_000))]

        #[test]
        fn floats_are_read_back_exactly_from_the_shortest_text(bits in any::<u64>(), cents in any::<i32>(), power in 0..9) {
            let prices = f64::from(cents) / 10f64.powi(power);
            for real in [f64::from_bits(bits), prices, f64::from(cents)] {
                if real.is_finite() {
                    let text = text(real);
                    prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), real.to_bits());
                    prop_assert!(text.contains(['.', 'e']), "{}", text);
                    prop_assert_eq!(digits(&text), digits(&format!("{real:e}")), "{}", text);
                }
            }
        }
    }
}
