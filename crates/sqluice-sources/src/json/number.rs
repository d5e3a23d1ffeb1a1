//! Numbers: the integer or float of SQLite that has the same digits, if one has.
//!
//! ```text
//!  42              Int       digits alone, that fit 64 bits
//!  0.1  1e3        Real      a decimal that the nearest float prints back, with as many digits
//!  18446744073709551616      Neither: an integer beyond 64 bits
//!  0.12345678901234567890    Neither: a float does not hold these digits
//!  1e999                     Neither: beyond the range of floats
//!  -0  -0.0                  Neither: SQLite stores no negative zero
//! ```
//!
//! Every float keeps 15 digits. The product or quotient of two floats that are exact is the float nearest to the number (Clinger's fast
//! path). All other numbers are parsed, printed and compared.

use sqluice_core::affinity::{eight_digits, repeat};

use super::fault::Fault;

/// The number of SQLite for a number of JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Real(f64),
    /// No number of SQLite has the same digits.
    Neither,
}

/// The number of digits that every float keeps.
const DIGITS_HELD: usize = 15;

/// The largest number of digits that are compared: the exact decimal of a float has no more.
const DIGITS_MAX: usize = 800;

/// The powers of ten that floats hold exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Parses the number that begins at `start`, with a minus sign or a digit. Returns the number and its end.
#[inline(always)]
pub(super) fn number(data: &[u8], start: usize) -> Result<(Number, usize), Fault> {
    match short(data, start) {
        Some(number) => Ok(number),
        None => any(data, start),
    }
}

/// Parses a number of at most 7 bytes after the sign, without an exponent. Returns `None` for a negative zero, and for all other text,
/// whether it is a number or not.
#[inline(always)]
fn short(data: &[u8], start: usize) -> Option<(Number, usize)> {
    let negative = data[start] == b'-';
    let from = start + usize::from(negative);
    let word = u64::from_le_bytes(*data[from..].first_chunk()?) ^ repeat(b'0') as u64;
    // The top bit of each byte that is not a digit. Bits above the first byte that is not ASCII may be wrong.
    let others = (word.wrapping_add(repeat(0x76) as u64) | word) & repeat(0x80) as u64;
    let whole = others.trailing_zeros() as usize / 8;
    if whole == 0 || whole == 8 || whole > 1 && word as u8 == 0 {
        return None;
    }
    let at_end = (word >> (8 * whole)) as u8 ^ b'0';
    if at_end != b'.' {
        if matches!(at_end, b'e' | b'E') {
            return None;
        }
        let int = eight_digits(word << (64 - 8 * whole)) as i64;
        let number = if negative { Number::Int(-int) } else { Number::Int(int) };
        return (int != 0 || !negative).then_some((number, from + whole));
    }
    let others = others & (others - 1);
    let bytes = others.trailing_zeros() as usize / 8;
    if bytes == 8 || bytes == whole + 1 || matches!((word >> (8 * bytes)) as u8 ^ b'0', b'e' | b'E') {
        return None;
    }
    // The digits without the point, at the upper end of the word.
    let before = (1 << (8 * whole)) - 1;
    let digits = word >> 8 & !before | word & before;
    let mantissa = eight_digits(digits << (72 - 8 * bytes));
    let real = mantissa as f64 / POWERS[bytes - whole - 1];
    let number = Number::Real(if negative { -real } else { real });
    (mantissa != 0 || !negative).then_some((number, from + bytes))
}

fn any(data: &[u8], start: usize) -> Result<(Number, usize), Fault> {
    let negative = data[start] == b'-';
    let whole = start + usize::from(negative);
    let mut mantissa = 0;
    let mut at = digits(data, whole, &mut mantissa);
    if at == whole {
        return Err(Fault::expected(start, "a value"));
    }
    if data[whole] == b'0' && at > whole + 1 {
        return Err(Fault::expected(whole + 1, "no digit after a leading 0"));
    }
    if !matches!(data.get(at), Some(b'.' | b'e' | b'E')) {
        // 18 digits fit into an `i64`.
        if at - whole <= 18 {
            let int = mantissa as i64;
            let held = if negative { Number::Int(-int) } else { Number::Int(int) };
            return Ok((if negative && int == 0 { Number::Neither } else { held }, at));
        }
        let int = str::from_utf8(&data[start..at]).ok().and_then(|text| text.parse().ok());
        return Ok((int.map_or(Number::Neither, Number::Int), at));
    }
    let mut seen = at - whole;
    let mut decimals = 0;
    if data.get(at) == Some(&b'.') {
        let fraction = at + 1;
        at = digits(data, fraction, &mut mantissa);
        decimals = at - fraction;
        seen += decimals;
        if decimals == 0 {
            return Err(Fault::expected(at, "a digit after the point"));
        }
    }
    let mut power = -(decimals as i64);
    if let Some(b'e' | b'E') = data.get(at) {
        let (exponent, end) = exponent(data, at)?;
        (power, at) = (power.saturating_add(exponent), end);
    }
    // A float holds a mantissa of so few digits exactly, so one multiplication or division gives the nearest float.
    let factor = POWERS.get(power.unsigned_abs() as usize);
    if let (Some(factor), true) = (factor, seen <= DIGITS_HELD) {
        let real = mantissa as f64;
        let real = if power < 0 { real / factor } else { real * factor };
        let held = Number::Real(if negative { -real } else { real });
        return Ok((if negative && mantissa == 0 { Number::Neither } else { held }, at));
    }
    Ok((long(&data[start..at]), at))
}

/// Appends the digits from `from` on to a number, and returns their end.
#[inline]
fn digits(data: &[u8], from: usize, number: &mut u64) -> usize {
    let mut at = from;
    while let Some(digit @ b'0'..=b'9') = data.get(at) {
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    at
}

/// Parses the exponent whose `e` is at `at`. Returns the exponent and its end. An exponent of more than four digits becomes `i32::MAX`,
/// with its sign: both are out of range.
fn exponent(data: &[u8], at: usize) -> Result<(i64, usize), Fault> {
    let sign = data.get(at + 1);
    let from = at + 1 + usize::from(matches!(sign, Some(b'+' | b'-')));
    let mut exponent = 0;
    let end = digits(data, from, &mut exponent);
    if end == from {
        return Err(Fault::expected(end, "a digit of the exponent"));
    }
    let exponent = if end - from <= 4 { exponent as i64 } else { i64::from(i32::MAX) };
    Ok((if sign == Some(&b'-') { -exponent } else { exponent }, end))
}

/// Returns the float of a decimal that needs a search for the nearest float.
#[cold]
fn long(text: &[u8]) -> Number {
    let Some(text) = str::from_utf8(text).ok() else { return Number::Neither };
    let Ok(real) = text.parse::<f64>() else { return Number::Neither };
    let Some((digits, exponent)) = significant(text) else { return Number::Neither };
    if digits.is_empty() {
        return if text.starts_with('-') { Number::Neither } else { Number::Real(real) };
    }
    // Rounding takes the even digit halfway between two decimals, but the shortest decimal of the float may be the odd one.
    let rounded = format!("{real:.*e}", digits.len() - 1);
    let said = Some((digits, exponent));
    let is_said = |printed: &str| significant(printed) == said;
    let held = real.is_finite() && (is_said(&rounded) || is_said(&format!("{real:e}")));
    if held { Number::Real(real) } else { Number::Neither }
}

/// Returns the digits of a decimal without zeros around them, and the power of ten of the first digit. Returns `None` if the digits are too
/// many, or the power is out of range.
fn significant(text: &str) -> Option<(String, i64)> {
    let text = text.trim_start_matches('-');
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let zeros = all.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some((String::new(), 0));
    }
    let exponent = exponent.parse::<i32>().ok()?;
    let first = whole.len() as i64 - 1 - zeros as i64 + i64::from(exponent);
    (digits.len() <= DIGITS_MAX).then(|| (digits.to_owned(), first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Number {
        let (number, end) = number(text.as_bytes(), 0).unwrap();
        assert_eq!(end, text.len(), "{text}");
        number
    }

    #[test]
    fn an_integer_is_read_if_it_fits_64_bits() {
        assert_eq!(read("0"), Number::Int(0));
        assert_eq!(read("9223372036854775807"), Number::Int(i64::MAX));
        assert_eq!(read("-9223372036854775808"), Number::Int(i64::MIN));
        assert_eq!(read("9223372036854775808"), Number::Neither);
        assert_eq!(read("-9223372036854775809"), Number::Neither);
    }

    #[test]
    fn a_decimal_is_read_as_a_float_only_if_the_float_holds_its_digits() {
        for (text, real) in [
            ("0.1", 0.1),
            ("1e3", 1000.0),
            ("-1.50E-2", -0.015),
            ("0.30000000000000004", 0.300_000_000_000_000_04),
            ("0.10000000000000001", 0.1),
            ("0.1000000000000000055511151231257827", 0.1),
            ("1.7976931348623157e308", f64::MAX),
            // The float is halfway between these two decimals.
            ("613152317618061.2", 613_152_317_618_061.0 + 0.25),
            ("613152317618061.3", 613_152_317_618_061.0 + 0.25),
            ("5e-324", 5e-324),
            ("0e999999999999", 0.0),
            ("0.000", 0.0),
        ] {
            if text == "0e999999999999" {
                assert!(matches!(read(text), Number::Real(zero) if zero == 0.0), "{text}");
            } else {
                assert_eq!(read(text), Number::Real(real), "{text}");
            }
        }
        for text in [
            "-0",
            "-0.0",
            "-0e3",
            "-0.00000000000000000000",
            "0.12345678901234567890",
            "1e999",
            "-1e309",
            "1e-400",
            "2e-324",
            "1.0000000000000000000001",
        ] {
            assert_eq!(read(text), Number::Neither, "{text}");
        }
    }

    #[test]
    fn text_that_is_not_a_number_is_reported_with_its_place() {
        for (text, at) in
            [("-", 0), ("-x", 0), ("01", 1), ("-01", 2), ("1.", 2), ("1.e5", 2), ("1e", 2), ("1e+", 3)]
        {
            assert_eq!(number(text.as_bytes(), 0).unwrap_err().at, at, "{text}");
        }
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn a_number_is_read_as_the_nearest_float(text in "-?(0|[1-9][0-9]{0,18})\\.[0-9]{1,20}([eE][+-]?[0-9]{1,3})?") {
            match read(&text) {
                Number::Real(real) => prop_assert_eq!(real, text.parse::<f64>().unwrap()),
                other => prop_assert_eq!(other, Number::Neither),
            }
        }

        #[test]
        fn every_printed_float_is_read_as_the_same_float(bits: u64) {
            let real = f64::from_bits(bits);
            prop_assume!(real.is_finite());
            prop_assert_eq!(read(&format!("{real:e}")), Number::Real(real));
            prop_assert_eq!(read(&format!("{real:.16e}")), Number::Real(real));
        }
    }
}
