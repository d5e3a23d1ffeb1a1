//! Numbers in text that [`Seen`](super::short::Seen) does not take: long ones, and numbers with an exponent.
//!
//! ```text
//!  [-] whole [. fraction] [e|E [+|-] digits]        whole is 0 or begins with 1 to 9; before an exponent it is one digit
//! ```
//!
//! The [`Printer`]s that print a number in this way are found by printing the float that SQLite stores for the number.

use std::fmt::Write;

use sqluice_core::affinity::{Affinity, text_to_number};

use super::printers::{Notation, Printer, Printers, Style, Styles};
use sqluice_format::value::Value;

/// The number of significant digits that every float keeps.
const DIGITS_MAX: usize = 15;

/// The number of significant digits that distinguish every float from its neighbours.
const FLOAT_DIGITS_MAX: usize = 17;

/// The largest number of digits behind the point in the exact decimal of a float, with an exponent.
const EXACT_DIGITS_MAX: usize = 770;

/// The largest number of decimals for which SQLite's arithmetic, with 96 bits for a power of ten, is proven to round correctly.
const DECIMALS_PROVEN: usize = 17;

/// The largest number of decimals of a REAL.
const DECIMALS_MAX: usize = 300;

/// A number, cut into its parts.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    text: &'a str,
    pub(super) negative: bool,
    pub(super) whole: &'a str,
    pub(super) fraction: Option<&'a str>,
    pub(super) exponent: Option<Exponent<'a>>,
}

/// The exponent of a number.
#[derive(Clone, Copy)]
pub(super) struct Exponent<'a> {
    capital: bool,
    /// The sign, if one is written: `true` for a plus.
    sign: Option<bool>,
    digits: &'a str,
    pub(super) value: i32,
}

impl<'a> Written<'a> {
    /// Parses a number; `None` if no printer writes numbers in this form. A zero must have no sign, and no exponent but 0.
    pub(super) fn read(text: &'a [u8]) -> Option<Written<'a>> {
        let text = str::from_utf8(text).ok()?;
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], Some(Exponent::read(&unsigned[at..])?)),
            None => (unsigned, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let is_whole =
            is_digits(whole) && (whole.len() == 1 || (!whole.starts_with('0') && exponent.is_none()));
        let is_fraction = fraction.is_none_or(|digits| is_digits(digits) && digits.len() <= DECIMALS_MAX);
        let written = Written { text, negative: unsigned.len() < text.len(), whole, fraction, exponent };
        if !is_whole || !is_fraction {
            return None;
        }
        let fits = match exponent {
            Some(exponent) if written.is_zero() => exponent.value == 0 && !written.negative,
            Some(_) => whole != "0",
            None => !(written.is_zero() && written.negative),
        };
        fits.then_some(written)
    }

    fn is_zero(&self) -> bool {
        self.digits().all(|digit| digit == b'0')
    }

    fn digits(&self) -> impl DoubleEndedIterator<Item = u8> + Clone + use<'a> {
        self.whole.bytes().chain(self.fraction.unwrap_or("").bytes())
    }

    pub(super) fn decimals(&self) -> usize {
        self.fraction.map_or(0, str::len)
    }

    /// Returns `true` if the number is a 64-bit integer.
    pub(super) fn is_integer(&self) -> bool {
        self.fraction.is_none() && self.exponent.is_none() && self.text.parse::<i64>().is_ok()
    }

    /// Returns the number of zeros between the point and the first other digit of a number below 1.
    pub(super) fn zeros_after_point(&self) -> Option<usize> {
        let fraction = self.fraction.filter(|_| self.whole == "0" && self.exponent.is_none())?;
        fraction.bytes().position(|digit| digit != b'0')
    }

    /// Returns the notation of the number; `None` for zero, which has no exponent of its own.
    pub(super) fn notation(&self) -> Option<Notation> {
        let leading = self.digits().take_while(|&digit| digit == b'0').count();
        let significant = self.digits().skip(leading).count();
        let trailing = self.digits().rev().take(significant).take_while(|&digit| digit == b'0').count();
        let exponent = match self.exponent {
            Some(exponent) => exponent.value,
            None => self.whole.len() as i32 - 1 - leading as i32,
        };
        (significant > 0).then_some(Notation { digits: significant - trailing, exponent })
    }

    /// Returns the styles of exponents that the number's exponent fits; all styles if the number has no exponent.
    pub(super) fn styles(&self) -> Styles {
        self.exponent.map_or(Styles::ALL, |exponent| exponent.styles())
    }

    /// Returns the printers among `printers` that print the digits of the number from the float that SQLite stores. Returns `None` if
    /// SQLite stores no finite float near the number.
    pub(super) fn printers(&self, printers: Printers) -> Option<Printers> {
        let significant = self.digits().skip_while(|&digit| digit == b'0').count();
        if significant <= DIGITS_MAX && self.decimals() <= DECIMALS_PROVEN && self.exponent.is_none() {
            return Some(printers);
        }
        if printers.is_empty() && self.is_integer() {
            return Some(printers);
        }
        let stored = self.stored().filter(|real| real.is_finite() && (*real != 0.0 || self.is_zero()))?;
        Some(printers.retain(|printer| match printer {
            Printer::Shortest => self.is_shortest(stored),
            Printer::Fifteen => match self.fraction.or(self.exponent.map(|_| "")) {
                None => self.is_exact(stored) && !with_fifteen_digits(stored).is_shorter_with_exponent(),
                Some(_) => significant <= DIGITS_MAX && self.is_shortest(stored),
            },
            Printer::Decimals => self.exponent.is_none() && self.is_exact(stored),
            Printer::Scientific => self.is_scientific(stored),
        }))
    }

    fn stored(&self) -> Option<f64> {
        match text_to_number(self.text.as_bytes(), Affinity::Real) {
            Value::Real(real) => Some(real),
            Value::Int(int) => Some(int as f64),
            _ => None,
        }
    }

    /// Returns `true` if the digits are the fewest that read as `real`, or `real` rounded to at most 17 digits, without zeros at the end.
    fn is_shortest(&self, real: f64) -> bool {
        let Some(notation) = self.notation() else { return real == 0.0 };
        if notation.digits > FLOAT_DIGITS_MAX {
            return false;
        }
        let mut printed = Short::default();
        let is_fewest = write!(printed, "{real:e}").is_ok() && self.has_digits(notation, printed.text());
        is_fewest || (notation.digits > DIGITS_MAX && self.is_rounded(notation, real))
    }

    /// Returns `true` if `real`, rounded to as many digits as the number has, has the digits of the number. Halfway between two decimals,
    /// printers take either.
    #[cold]
    fn is_rounded(&self, notation: Notation, real: f64) -> bool {
        if self.has_digits(notation, &format!("{real:.*e}", notation.digits - 1)) {
            return true;
        }
        let exact = format!("{real:.*e}", EXACT_DIGITS_MAX);
        let Some((mantissa, power)) = exact.split_once('e') else { return false };
        // The digits, with a point behind the first and a sign before it.
        let end = usize::from(real < 0.0) + notation.digits + 1;
        let (kept, rest) = mantissa.split_at(end.min(mantissa.len()));
        let is_halfway = rest.trim_end_matches('0') == "5";
        let up = || {
            let digits: String = kept.chars().filter(char::is_ascii_digit).collect();
            digits.parse().map_or_else(|_| String::new(), |digits: u64| (digits + 1).to_string())
        };
        let written = self.digits().skip_while(|&digit| digit == b'0').take(notation.digits);
        let down = kept.bytes().filter(u8::is_ascii_digit);
        is_halfway
            && power.parse() == Ok(notation.exponent)
            && (written.clone().eq(down) || written.eq(up().bytes()))
    }

    /// Returns `true` if the float `printed` with an exponent has the digits of the number.
    fn has_digits(&self, Notation { digits, exponent }: Notation, printed: &str) -> bool {
        let Some((mantissa, power)) = printed.split_once('e') else { return false };
        let printed = mantissa.bytes().filter(u8::is_ascii_digit);
        power.parse() == Ok(exponent)
            && printed.eq(self.digits().skip_while(|&digit| digit == b'0').take(digits))
    }

    /// Returns `true` if `real`, printed with as many decimals as the number has, gives the text of the number.
    fn is_exact(&self, real: f64) -> bool {
        if self.fraction.is_none()
            && let Ok(int) = self.text.parse::<i64>()
        {
            return real as i128 == i128::from(int);
        }
        format!("{real:.*}", self.decimals()) == self.text
    }

    /// Returns `true` if `real`, printed with an exponent and as many decimals as the number has, gives the same digits and the same value
    /// of the exponent. The style of the exponent may differ.
    fn is_scientific(&self, real: f64) -> bool {
        let Some(exponent) = self.exponent else { return false };
        let printed = format!("{real:.*e}", self.decimals());
        let mantissa = self.text.find(['e', 'E']).map(|at| &self.text[..at]);
        printed
            .split_once('e')
            .is_some_and(|(digits, power)| Some(digits) == mantissa && power.parse() == Ok(exponent.value))
    }
}

impl<'a> Exponent<'a> {
    /// Parses an exponent that begins with its letter.
    fn read(text: &'a str) -> Option<Exponent<'a>> {
        let capital = text.starts_with('E');
        let (sign, digits) = match text.as_bytes()[1..].first()? {
            b'+' => (Some(true), &text[2..]),
            b'-' => (Some(false), &text[2..]),
            _ => (None, &text[1..]),
        };
        if !is_digits(digits) || digits.len() > 3 {
            return None;
        }
        let value: i32 = digits.parse().ok()?;
        let value = if sign == Some(false) { -value } else { value };
        // No printer writes the exponent -0.
        (value != 0 || sign != Some(false)).then_some(Exponent { capital, sign, digits, value })
    }

    fn styles(&self) -> Styles {
        Styles::all_with(|Style { capital, plus, width }| {
            let bare = self.value.unsigned_abs().to_string();
            let padded = self.digits.len() == bare.len().max(width);
            capital == self.capital && padded && (self.value < 0 || plus == self.sign.is_some())
        })
    }
}

fn with_fifteen_digits(real: f64) -> Notation {
    let printed = format!("{real:.*e}", DIGITS_MAX - 1);
    let (mantissa, power) = printed.split_once('e').unwrap_or((&printed, "0"));
    let zeros = mantissa.bytes().rev().take_while(|&digit| digit == b'0').count();
    Notation { digits: DIGITS_MAX - zeros.min(DIGITS_MAX - 1), exponent: power.parse().unwrap_or(0) }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text of a float, without an allocation.
#[derive(Default)]
struct Short {
    bytes: [u8; 32],
    len: usize,
}

impl Short {
    fn text(&self) -> &str {
        str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
