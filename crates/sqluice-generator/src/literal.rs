//! Literals of the generator language: parsing and printing of numbers, texts and blobs.

use std::fmt;

/// A literal of the generator language: NULL, a number, a text or a blob.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// Decodes pairs of hexadecimal digits; `None` if other characters occur, or an odd number of digits.
pub(super) fn hex(digits: &str) -> Option<Vec<u8>> {
    let nibbles: Vec<u8> =
        digits.chars().map(|digit| digit.to_digit(16).map(|nibble| nibble as u8)).collect::<Option<_>>()?;
    let (pairs, rest) = nibbles.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Parses a number. The error says what is wrong with it.
pub(super) fn number(negative: bool, text: &str) -> Result<Literal, &'static str> {
    const MALFORMED: &str = "is not a number";
    const LARGE: &str = "does not fit in 64 bits";
    let (digits, suffix) = match text.chars().next_back().map(|letter| letter.to_ascii_uppercase()) {
        Some('K') => (&text[..text.len() - 1], 3),
        Some('M') => (&text[..text.len() - 1], 6),
        Some('B') => (&text[..text.len() - 1], 9),
        _ => (text, 0),
    };
    let lonely = |at: usize| {
        let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        !(digit(digits.as_bytes()[..at].last()) && digit(digits.as_bytes().get(at + 1)))
    };
    if digits.match_indices('_').any(|(at, _)| lonely(at)) {
        return Err(MALFORMED);
    }
    let digits = digits.replace('_', "");
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (&digits[..], None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(MALFORMED);
    }
    let power: i32 = exponent.map_or(Ok(0), str::parse).map_err(|_| MALFORMED)?;
    let power = power.checked_add(suffix).ok_or(LARGE)?;
    let point = mantissa.contains('.');
    if (!point || suffix > 0)
        && let Some(int) = whole_number(negative, whole, fraction, power)
    {
        return Ok(Literal::Int(int));
    }
    if !point && exponent.is_none() {
        return Err(LARGE);
    }
    let real: f64 = format!("{mantissa}e{power}").parse().map_err(|_| MALFORMED)?;
    if real.is_infinite() {
        return Err("is too large for a real");
    }
    Ok(Literal::Real(if negative { -real } else { real }))
}

/// Returns `whole.fraction * 10^power` if it is a 64-bit integer.
fn whole_number(negative: bool, whole: &str, fraction: &str, power: i32) -> Option<i64> {
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let zeros = i64::from(power) - fraction.len() as i64 + (digits.len() - significant.len()) as i64;
    let scale = 10_i128.checked_pow(u32::try_from(zeros).ok()?)?;
    let magnitude = significant.parse::<i128>().ok()?.checked_mul(scale)?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Int(int) => int.fmt(f),
            // `{:?}` prints the decimal point of 1.0, so that it is read back as a real.
            Literal::Real(real) => write!(f, "{real:?}"),
            Literal::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Literal::Blob(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}
