//! Numbers with a decimal comma or separators of thousands, converted to text that SQLite reads as a number.
//!
//! ```text
//!  number    [+-] whole [mark digits] [e [+-] digits]       the whole part may be left out before a mark
//!  whole     digits, or 1 to 3 digits and groups of a separator and 3 digits
//! ```
//!
//! A plus and zeros before the first digit are left out; the other digits stay as they are written.
//!
//! Invariant: without `lossy`, an integer has at most 64 bits, and the float that is nearest to a decimal, or to an integer of a REAL
//! column, keeps all of its digits.

use std::fmt;

use sqluice_core::error::Message;

use super::Fault;

/// The largest number of bytes of a number.
const BYTES_MAX: usize = 1000;

/// The number of significant digits that every float keeps.
const DIGITS_HELD: usize = 15;

/// The notation of a column's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    comma: bool,
    /// The separator between groups of three digits.
    thousands: Option<String>,
    /// `true` if numbers may be rounded.
    lossy: bool,
    /// `true` if integers become floats.
    floats: bool,
}

impl Marks {
    pub(super) fn decimal_comma(lossy: bool) -> Marks {
        Marks { comma: true, thousands: None, lossy, floats: false }
    }

    /// Creates a notation with a separator of thousands, or returns the reason why the separator can't be used, and a hint.
    pub(super) fn thousands(separator: &str, lossy: bool) -> Result<Marks, (String, Message)> {
        let mut characters = separator.chars();
        let fits = |character: char| !character.is_alphanumeric() && !"+-\"".contains(character);
        match (characters.next(), characters.next()) {
            (Some(character), None) if fits(character) => {
                Ok(Marks { comma: false, thousands: Some(separator.to_owned()), lossy, floats: false })
            }
            _ => Err((
                "that is not a thousands separator".to_owned(),
                "it is one character, such as a comma, a point, ' or a blank".into(),
            )),
        }
    }

    /// Adds the marks of another request. Returns `false` if the request repeats a mark.
    pub(super) fn merge(&mut self, more: &Marks) -> bool {
        if self.comma && more.comma || self.thousands.is_some() && more.thousands.is_some() {
            return false;
        }
        self.comma |= more.comma;
        self.thousands = self.thousands.take().or_else(|| more.thousands.clone());
        true
    }

    /// Makes integers become floats.
    pub(super) fn be_floats(&mut self) {
        self.floats = true;
    }

    /// Returns the reason why no number can have this notation, if none can.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match (self.thousands.as_deref(), self.comma) {
            (Some(","), true) => Some("the comma stands before the decimals, so it can't separate thousands"),
            (Some("."), false) => {
                Some("a point stands before the decimals, unless the column has a decimal comma")
            }
            _ => None,
        }
    }

    /// Appends the converted number of a text.
    pub(super) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        if text.len() > BYTES_MAX {
            return Err(Fault::Mismatch);
        }
        let start = out.len();
        let rest = match text {
            [b'-', rest @ ..] => {
                out.push(b'-');
                rest
            }
            [b'+', rest @ ..] => rest,
            rest => rest,
        };
        let whole = out.len();
        let rest = self.whole(rest, out)?;
        let has_whole = out.len() > whole;
        let zeros = out[whole..].iter().take_while(|&&digit| digit == b'0').count();
        out.drain(whole..whole + zeros);
        let is_zero = out.len() == whole;
        if is_zero {
            out.push(b'0');
        }
        let mark = if self.comma { b',' } else { b'.' };
        let (rest, has_fraction) = match rest.strip_prefix(&[mark]) {
            None => (rest, false),
            Some(rest) => {
                out.push(b'.');
                (digits(rest, out).ok_or(Fault::Mismatch)?, true)
            }
        };
        if !has_whole && !has_fraction {
            return Err(Fault::Mismatch);
        }
        let is_decimal = has_fraction || !rest.is_empty();
        exponent(rest, out)?;
        if !is_decimal && is_zero {
            // An integer has no negative zero.
            out.truncate(start);
            out.push(b'0');
        }
        if self.lossy {
            return Ok(());
        }
        // The appended text is ASCII.
        let number = str::from_utf8(&out[start..]).map_err(|_| Fault::Mismatch)?;
        match is_decimal {
            false if number.parse::<i64>().is_err() => Err(Fault::Beyond64Bits),
            is_decimal if (is_decimal || self.floats) && !is_held(number) => Err(Fault::Digits),
            _ => Ok(()),
        }
    }

    /// Appends the digits before the mark, if any, and returns the text after them.
    fn whole<'t>(&self, text: &'t [u8], out: &mut Vec<u8>) -> Result<&'t [u8], Fault> {
        let start = out.len();
        let Some(mut rest) = digits(text, out) else { return Ok(text) };
        let Some(separator) = &self.thousands else { return Ok(rest) };
        let mut group = out.len() - start;
        while let Some(next) = rest.strip_prefix(separator.as_bytes()) {
            let before = out.len();
            let after = digits(next, out);
            if group > 3 || after.is_none() || out.len() - before != 3 {
                return Err(Fault::Groups);
            }
            (rest, group) = (after.unwrap_or_default(), 3);
        }
        Ok(rest)
    }
}

/// Appends the digits at the start of a text, and returns the text after them; `None`: the text begins with no digit.
fn digits<'t>(text: &'t [u8], out: &mut Vec<u8>) -> Option<&'t [u8]> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    out.extend_from_slice(&text[..count]);
    (count > 0).then_some(&text[count..])
}

/// Appends an exponent. An empty text has none.
fn exponent(text: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let [b'e' | b'E', rest @ ..] = text else {
        return if text.is_empty() { Ok(()) } else { Err(Fault::Mismatch) };
    };
    out.push(b'e');
    let rest = match rest {
        [sign @ (b'+' | b'-'), rest @ ..] => {
            out.push(*sign);
            rest
        }
        rest => rest,
    };
    match digits(rest, out) {
        Some([]) => Ok(()),
        _ => Err(Fault::Mismatch),
    }
}

/// Returns `true` if the float that is nearest to a number keeps all of its digits.
fn is_held(number: &str) -> bool {
    let mantissa = number.split('e').next().unwrap_or_default();
    let written: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = written.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() || digits.len() <= DIGITS_HELD && mantissa.len() == number.len() {
        return true;
    }
    let Ok(float) = number.parse::<f64>() else { return false };
    let printed = format!("{:.*e}", digits.len() - 1, float.abs());
    let back: String = printed.split('e').next().unwrap_or_default().chars().filter(|c| *c != '.').collect();
    back == digits
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.thousands, self.comma) {
            (None, _) => write!(f, "a decimal comma"),
            (Some(separator), true) => write!(f, "a decimal comma and {separator:?} between thousands"),
            (Some(separator), false) => write!(f, "{separator:?} between thousands"),
        }
    }
}
