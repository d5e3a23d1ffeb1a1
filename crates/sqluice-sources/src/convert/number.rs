//! Numbers with a decimal comma, separators of thousands, signs of accounting or a percent sign, converted to text that SQLite reads as a
//! number.
//!
//! ```text
//!  number    [+-] whole [mark digits] [e [+-] digits]       mark: point or comma; the whole part may be left out before it
//!  whole     digits, or 1 to 3 digits and groups of a separator and 3 digits
//! ```
//!
//! In a column of amounts, the signs of an [`Amount`] may stand around the number. In a column of percentages, a percent sign follows the
//! number: `12.5%` is 0.125. Such a column refuses numbers without the sign, because `12.5` may mean 12.5 or 0.125.
//!
//! A plus, and zeros before another digit of the whole part, are left out; the other digits stay as they are written, except those of
//! percentages, which are divided by 100.
//!
//! Invariant: without `lossy`, an integer has at most 64 bits, and the float that is nearest to a decimal, or to an integer of a REAL
//! column, keeps all of its digits.

use std::fmt;

use sqluice_core::error::Message;

use super::Fault;
use super::accounting::Amount;

/// The largest number of bytes of a number.
const BYTES_MAX: usize = 1000;

/// The number of significant digits that every float keeps.
const DIGITS_HELD: usize = 15;

/// The notation of a column's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notation {
    /// `true` if a comma stands before the decimals, `false` if a point does.
    comma: bool,
    /// The separator between groups of three digits.
    thousands: Option<String>,
    /// `true` if a currency may stand beside the number, a minus behind it, and parentheses around it.
    accounting: bool,
    /// `true` if a percent sign stands behind each number.
    percent: bool,
    /// `true` if numbers may be rounded.
    lossy: bool,
    /// `true` if integers become floats.
    floats: bool,
}

impl Notation {
    pub(super) fn decimal_comma(lossy: bool) -> Notation {
        Notation { comma: true, ..Notation::plain(lossy) }
    }

    /// Returns the notation of numbers with a currency, or with the minus or the parentheses of accounting.
    pub(super) fn accounting(lossy: bool) -> Notation {
        Notation { accounting: true, ..Notation::plain(lossy) }
    }

    /// Returns the notation of percentages.
    pub(super) fn percent(lossy: bool) -> Notation {
        Notation { percent: true, ..Notation::plain(lossy) }
    }

    /// Returns the notation of numbers as SQLite writes them.
    pub(super) fn plain(lossy: bool) -> Notation {
        Notation { comma: false, thousands: None, accounting: false, percent: false, lossy, floats: false }
    }

    /// Creates a notation with a separator of thousands, or returns the reason why the separator can't be used, and a hint.
    pub(super) fn thousands(separator: &str, lossy: bool) -> Result<Notation, (String, Message)> {
        let mut characters = separator.chars();
        let fits = |character: char| !character.is_alphanumeric() && !"+-\"".contains(character);
        match (characters.next(), characters.next()) {
            (Some(character), None) if fits(character) => {
                Ok(Notation { thousands: Some(separator.to_owned()), ..Notation::plain(lossy) })
            }
            _ => Err((
                "that is not a thousands separator".to_owned(),
                "give one character, such as a comma, a point, ' or a blank".into(),
            )),
        }
    }

    /// Adds the notation that another setting asks for. Returns `false` if both have the same property, such as a separator.
    pub(super) fn merge(&mut self, more: &Notation) -> bool {
        let both = [
            self.comma && more.comma,
            self.thousands.is_some() && more.thousands.is_some(),
            self.accounting && more.accounting,
            self.percent && more.percent,
        ];
        if both.contains(&true) {
            return false;
        }
        self.comma |= more.comma;
        self.accounting |= more.accounting;
        self.percent |= more.percent;
        self.thousands = self.thousands.take().or_else(|| more.thousands.clone());
        true
    }

    /// Makes integers become floats, so that an integer that no float holds is refused.
    pub(super) fn be_floats(&mut self) {
        self.floats = true;
    }

    /// Returns the reason why no number can have this notation, if none can.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match (self.thousands.as_deref(), self.comma) {
            (Some(","), true) => Some("the comma stands before the decimals, so it can't separate thousands"),
            (Some("."), false) => Some(
                "the point stands before the decimals, so it can't separate thousands, unless the column has a decimal comma",
            ),
            _ => None,
        }
    }

    /// Appends the number that `text` means to `out`, as text that SQLite reads as a number.
    pub(super) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        if text.len() > BYTES_MAX {
            return Err(Fault::Mismatch);
        }
        let start = out.len();
        let (negative, rest) = match text {
            _ if self.accounting => {
                let amount = Amount::of(text).ok_or(Fault::Mismatch)?;
                (amount.negative, amount.number.as_bytes())
            }
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        if negative {
            out.push(b'-');
        }
        let rest = match self.percent {
            true => without_percent(rest).ok_or(Fault::Mismatch)?,
            false => rest,
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
        let has_exponent = !rest.is_empty();
        exponent(rest, out)?;
        if self.percent {
            divide_by_100(whole, out);
        }
        let is_decimal = match self.percent {
            true => has_exponent || out[whole..].contains(&b'.'),
            false => has_exponent || has_fraction,
        };
        let is_zero = match self.percent {
            true => out[whole..] == *b"0",
            false => is_zero,
        };
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

/// Appends the digits at the start of a text, and returns the text after them; `None` if the text does not begin with a digit.
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

/// Returns the text before a percent sign, and before the blank that may stand between.
pub(super) fn without_percent(text: &[u8]) -> Option<&[u8]> {
    let number = text.strip_suffix(b"%")?;
    let blanks: [&[u8]; 3] = [b" ", "\u{a0}".as_bytes(), "\u{202f}".as_bytes()];
    Some(blanks.into_iter().find_map(|blank| number.strip_suffix(blank)).unwrap_or(number))
}

/// Divides the number from byte `start` on, which has no sign, by 100. Zeros at the end of the decimals are left out.
fn divide_by_100(start: usize, out: &mut Vec<u8>) {
    let number = out.split_off(start);
    let end = number.iter().position(|byte| *byte == b'e').unwrap_or(number.len());
    let (mantissa, exponent) = number.split_at(end);
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(end);
    let digits = |bytes: &[u8]| bytes.iter().copied().filter(u8::is_ascii_digit).collect::<Vec<u8>>();
    let mut digits = [vec![b'0'; 2], digits(mantissa)].concat();
    let whole = digits.drain(..point).collect::<Vec<u8>>();
    let zeros = whole.iter().take_while(|digit| **digit == b'0').count();
    out.extend_from_slice(if zeros == whole.len() { b"0" } else { &whole[zeros..] });
    let decimals = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    if decimals > 0 {
        out.push(b'.');
        out.extend_from_slice(&digits[..decimals]);
    }
    out.extend_from_slice(exponent);
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

impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comma = self.comma.then(|| "a decimal comma".to_owned());
        let thousands = self.thousands.as_ref().map(|separator| format!("{separator:?} between thousands"));
        let accounting = self.accounting.then(|| "signs of accounting".to_owned());
        let percent = self.percent.then(|| "a percent sign".to_owned());
        let marks: Vec<String> = [comma, thousands, accounting, percent].into_iter().flatten().collect();
        f.write_str(&marks.join(" and "))
    }
}
