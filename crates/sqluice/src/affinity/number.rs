//! Text that looks like a number.
//!
//! ```text
//!  text      white* sign? (digits | digits . digits? | . digits) ((e|E) sign? digits)? white*
//!  white     20, 09 to 0d
//! ```
//!
//! The whole text must be that, and it ends with the text or at its first NUL: `12\0abc` is 12. The number is `s * 10^d`,
//! rounded correctly, of as many digits as fit `s`: the first 19, or 20 of the smallest. Later digits are cut off. What is
//! written without a dot and an exponent and fits 64 bits is exact, whatever its length.
//!
//! These are the rules of `sqlite3AtoF`, `sqlite3Atoi64` and `applyNumericAffinity` of SQLite 3.54.1.

use super::{Affinity, real_to_int, stored_real_of_int};
use crate::batch::Value;

/// What INTEGER, NUMERIC or REAL affinity makes of text: a number, or the text itself when it does not look like one.
#[inline]
pub fn text_to_number(text: &[u8], affinity: Affinity) -> Value<'_> {
    match Scanned::new(text).map(|scanned| scanned.number(text)) {
        None => Value::Text(text),
        Some(Value::Int(int)) if affinity == Affinity::Real => stored_real_of_int(int),
        Some(number) => number,
    }
}

/// `s` takes a further digit as long as it is smaller.
const MANTISSA_LIMIT: u64 = (u64::MAX - 9) / 10;

/// Below this, in either direction, SQLite is sure that float and integer are the same number.
const SURE_INT: u64 = 1 << 51;

/// A text that looks like a number, taken apart.
struct Scanned {
    negative: bool,
    /// `s` of the module's description.
    mantissa: u64,
    /// `d` of the module's description.
    exponent: i32,
    /// Without a dot and an exponent.
    is_integer: bool,
    /// Digits were cut off, or might have been.
    is_long: bool,
    /// Where the number stands in the text, without white space.
    start: usize,
    end: usize,
    /// A NUL follows.
    nul: bool,
}

/// The byte at `at`, or the NUL that SQLite finds behind the text.
#[inline]
fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

#[inline]
fn digit(byte: u8) -> Option<u64> {
    let digit = byte.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

#[inline]
fn skip_white(text: &[u8], mut at: usize) -> usize {
    while matches!(byte(text, at), b' ' | b'\t'..=b'\r') {
        at += 1;
    }
    at
}

impl Scanned {
    /// `None` when it does not look like a number.
    #[inline]
    fn new(text: &[u8]) -> Option<Scanned> {
        let start = skip_white(text, 0);
        let mut at = start;
        let negative = byte(text, at) == b'-';
        if matches!(byte(text, at), b'-' | b'+') {
            at += 1;
        }
        let (mut mantissa, mut exponent, mut is_integer, mut is_long) = (0, 0_i32, true, false);
        let first_digit = at;
        while let Some(digit) = digit(byte(text, at)) {
            if mantissa < MANTISSA_LIMIT {
                mantissa = mantissa * 10 + digit;
                is_long = mantissa >= MANTISSA_LIMIT;
            } else {
                exponent = exponent.saturating_add(1);
            }
            at += 1;
        }
        let mut digits = at - first_digit;
        if byte(text, at) == b'.' {
            is_integer = false;
            at += 1;
            while let Some(digit) = digit(byte(text, at)) {
                if mantissa < MANTISSA_LIMIT {
                    mantissa = mantissa * 10 + digit;
                    exponent = exponent.saturating_sub(1);
                } else {
                    is_long = true;
                }
                digits += 1;
                at += 1;
            }
        }
        if digits == 0 {
            return None;
        }
        if matches!(byte(text, at), b'e' | b'E') {
            is_integer = false;
            at += 1;
            let down = byte(text, at) == b'-';
            if matches!(byte(text, at), b'-' | b'+') {
                at += 1;
            }
            let mut power = i32::try_from(digit(byte(text, at))?).ok()?;
            at += 1;
            while let Some(digit) = digit(byte(text, at)) {
                power = if power < 10000 { power * 10 + digit as i32 } else { 10000 };
                at += 1;
            }
            exponent = exponent.saturating_add(if down { -power } else { power });
        }
        let end = at;
        let nul = match skip_white(text, at) {
            at if at >= text.len() => false,
            at if text[at] == 0 => true,
            _ => return None,
        };
        Some(Scanned { negative, mantissa, exponent, is_integer, is_long, start, end, nul })
    }

    #[inline]
    fn number(&self, text: &[u8]) -> Value<'static> {
        if self.is_integer {
            let whole = if self.is_long { self.long_int(text) } else { self.int() };
            // Behind a NUL SQLite reads on when it is not sure, finds more text there, and takes the float.
            if let Some(int) = whole.filter(|int| !self.nul || int.unsigned_abs() < SURE_INT) {
                return Value::Int(int);
            }
        }
        real_to_int(self.real(text))
    }

    /// The integer that the mantissa is.
    fn int(&self) -> Option<i64> {
        if self.negative {
            0_i64.checked_sub_unsigned(self.mantissa)
        } else {
            i64::try_from(self.mantissa).ok()
        }
    }

    /// The integer of many digits.
    #[cold]
    fn long_int(&self, text: &[u8]) -> Option<i64> {
        std::str::from_utf8(&text[self.start..self.end]).ok()?.parse().ok()
    }

    fn real(&self, text: &[u8]) -> f64 {
        let magnitude = match (self.mantissa, self.exponent) {
            (0, _) => 0.0,
            (mantissa @ ..=EXACT_MANTISSA_MAX, exponent @ -22..=-1) => {
                mantissa as f64 / POWERS_OF_TEN[exponent.unsigned_abs() as usize]
            }
            (mantissa @ ..=EXACT_MANTISSA_MAX, exponent @ 0..=22) => {
                mantissa as f64 * POWERS_OF_TEN[exponent as usize]
            }
            _ => self.rare_real(text),
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// Numbers of so many digits, or so large or small, that one multiplication does not round them correctly.
    fn rare_real(&self, text: &[u8]) -> f64 {
        let number = if self.is_long {
            format!("{}e{}", self.mantissa, self.exponent).parse()
        } else {
            str::from_utf8(&text[self.start..self.end]).unwrap_or_default().parse()
        };
        f64::abs(number.expect("the scanner's numbers are numbers to Rust, too"))
    }
}

/// The largest number such that it and all smaller ones are floats.
const EXACT_MANTISSA_MAX: u64 = 1 << 53;

/// Those that are floats: a number of at most 53 bits times or divided by one of them is rounded once, so correctly.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];
