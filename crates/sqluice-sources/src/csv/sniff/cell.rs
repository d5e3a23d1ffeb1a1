//! Recognises the kind of a field: a number, a date, an address, or text.

/// The kind that a field seems to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CellKind {
    Empty,
    /// A word or sign for a missing value, such as `NA`.
    Missing,
    Number,
    /// A number with a currency or a percent sign.
    Amount,
    Date,
    Time,
    /// An IP address, an e-mail address, a URL or a UUID.
    Address,
    /// A truth value: `true`, `no`, ...
    Truth,
    Text,
}

impl CellKind {
    /// Returns `true` for kinds that names of columns rarely have, such as numbers and dates.
    pub(super) fn is_typed(self) -> bool {
        matches!(
            self,
            CellKind::Number | CellKind::Amount | CellKind::Date | CellKind::Time | CellKind::Address
        )
    }
}

/// Words and signs for a missing value.
const MISSING: [&[u8]; 11] =
    [b"na", b"n/a", b"nan", b"null", b"none", b"nil", b"-", b"--", b"?", b".", b"\\n"];

/// Truth values.
const TRUTHS: [&[u8]; 8] = [b"true", b"false", b"yes", b"no", b"y", b"n", b"t", b"f"];

/// The largest number of bytes of a word of `MISSING` or `TRUTHS`.
const WORD_BYTES_MAX: usize = 5;

/// The largest number of bytes of a field that is tested for dates, amounts and the like. A longer field is a plain number, or text.
const TYPED_BYTES_MAX: usize = 200;

/// Returns the kind of a field.
pub(super) fn kind(value: &[u8]) -> CellKind {
    let text = value.trim_ascii();
    if text.is_empty() {
        return CellKind::Empty;
    }
    if is_plain_number(text) {
        return CellKind::Number;
    }
    if text.len() > TYPED_BYTES_MAX {
        return CellKind::Text;
    }
    let is = |words: &[&[u8]]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if text.len() <= WORD_BYTES_MAX && is(&MISSING) {
        return CellKind::Missing;
    }
    if text.len() <= WORD_BYTES_MAX && is(&TRUTHS) {
        return CellKind::Truth;
    }
    match text.iter().any(u8::is_ascii_uppercase) {
        true => of_form(&text.to_ascii_lowercase()),
        false => of_form(text),
    }
}

/// Returns `true` for digits, with at most one point, and perhaps a minus before them. Most numbers have this form.
fn is_plain_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (mut digits, mut points) = (0, 0);
    for byte in text {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'.' => points += 1,
            _ => return false,
        }
    }
    digits > 0 && points <= 1
}

/// Returns `true` if a column of numbers may have this field.
pub(in super::super) fn is_number_or_missing(value: &[u8]) -> bool {
    matches!(kind(value), CellKind::Number | CellKind::Empty | CellKind::Missing)
}

/// Recognises numbers, dates and the like by their form. Cheap checks come first, because most fields are words.
fn of_form(text: &[u8]) -> CellKind {
    let (mut digits, mut colon, mut mark) = (false, false, false);
    for byte in text {
        digits |= byte.is_ascii_digit();
        colon |= *byte == b':';
        mark |= matches!(byte, b'-' | b'.');
    }
    // Numbers, times and dates do not begin with a letter.
    let begins_as_number = !text[0].is_ascii_alphabetic();
    if digits && begins_as_number && !colon && is_number(text) {
        CellKind::Number
    } else if digits && is_amount(text) {
        CellKind::Amount
    } else if digits && begins_as_number && colon && is_time(text) {
        CellKind::Time
    } else if digits && begins_as_number && is_date(text) {
        CellKind::Date
    } else if (colon || mark) && is_address(text) {
        CellKind::Address
    } else {
        CellKind::Text
    }
}

/// Returns `true` for integers and decimals, perhaps with an exponent, separators of thousands, and a point or a comma before the
/// decimals.
fn is_number(text: &[u8]) -> bool {
    let of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.,eE '".contains(byte);
    if !text.iter().all(of_number) {
        return false;
    }
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let (mantissa, exponent) = match digits.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e')) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let is_exponent = |text: &[u8]| {
        let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
        !digits.is_empty() && digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit)
    };
    if !exponent.is_none_or(is_exponent) || !mantissa.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let parts: Vec<&[u8]> = mantissa.split(|byte| matches!(byte, b'.' | b',' | b' ' | b'\'')).collect();
    if !parts.iter().all(|part| part.iter().all(u8::is_ascii_digit)) {
        return false;
    }
    match parts[..] {
        [_] => true,
        [_, _] => mantissa.iter().any(|byte| matches!(byte, b'.' | b',')) || parts[1].len() == 3,
        // Thousands: all groups but the first have three digits, and decimals may follow the last separator.
        [first, ref middle @ .., _] => {
            (1..=3).contains(&first.len())
                && middle.iter().all(|part| part.len() == 3)
                && is_grouped(mantissa)
        }
        [] => false,
    }
}

/// Returns `true` if all separators but the last are the same.
fn is_grouped(mantissa: &[u8]) -> bool {
    let mut separators = mantissa.iter().filter(|byte| !byte.is_ascii_digit()).rev().skip(1);
    let first = separators.next();
    separators.all(|separator| Some(separator) == first)
}

fn is_amount(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else { return false };
    let signs = ["$", "€", "£", "¥", "%", "usd", "eur", "gbp", "chf"];
    let bare = text.trim_start_matches('-');
    let may_be_of_sign = |byte: &u8| !byte.is_ascii() || b"$%uegcdrpf".contains(byte);
    if !bare.as_bytes().first().is_some_and(may_be_of_sign)
        && !bare.as_bytes().last().is_some_and(may_be_of_sign)
    {
        return false;
    }
    signs.iter().any(|sign| {
        let rest = bare.strip_prefix(sign).or_else(|| bare.strip_suffix(sign));
        rest.is_some_and(|rest| is_number(rest.trim().as_bytes()))
    })
}

/// Returns `true` for times such as `12:30` and `12:30:15.5`.
fn is_time(text: &[u8]) -> bool {
    let text = text.strip_suffix(b"z").unwrap_or(text);
    let text = text.strip_suffix(b" am").or_else(|| text.strip_suffix(b" pm")).unwrap_or(text);
    let (clock, zone) = match text.iter().position(|byte| matches!(byte, b'+' | b'-')) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b""[..]),
    };
    let parts: Vec<&[u8]> = clock.split(|&byte| byte == b':').collect();
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    let last =
        parts.last().map_or(&b""[..], |last| last.split(|&byte| byte == b'.').next().unwrap_or_default());
    (2..=3).contains(&parts.len())
        && parts[..parts.len() - 1].iter().all(|part| (1..=2).contains(&part.len()) && digits(part))
        && last.len() == 2
        && digits(last)
        && parts[parts.len() - 1].iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        && zone.len() <= 5
        && zone.iter().all(|byte| byte.is_ascii_digit() || *byte == b':')
}

/// Returns `true` for dates such as `2024-01-31`, `31.1.2024`, `1/31/24` and `31-Jan-2024`, perhaps with a time.
fn is_date(text: &[u8]) -> bool {
    const MONTHS: [&[u8]; 12] =
        [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
    let (date, time) = match text.iter().position(|byte| matches!(byte, b'T' | b't' | b' ')) {
        Some(at) if at >= 6 => (&text[..at], Some(&text[at + 1..])),
        _ => (text, None),
    };
    if time.is_some_and(|time| !is_time(time)) {
        return false;
    }
    let Some(&separator) = date.iter().find(|byte| matches!(byte, b'-' | b'/' | b'.')) else { return false };
    let parts: Vec<&[u8]> = date.split(|&byte| byte == separator).collect();
    let [first, month, last] = parts[..] else { return false };
    let number = |part: &[u8]| part.iter().all(u8::is_ascii_digit).then_some(part.len());
    let named = MONTHS.iter().any(|name| month.starts_with(name) && month.len() <= 9);
    let month = named || matches!(number(month), Some(1 | 2));
    let lengths = (number(first), number(last));
    month && matches!(lengths, (Some(4), Some(1 | 2)) | (Some(1 | 2), Some(2 | 4)))
}

fn is_address(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else { return false };
    let is_ip = || {
        let parts: Vec<&str> = text.split('.').collect();
        parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok())
    };
    let is_uuid = || {
        let parts: Vec<usize> = text.split('-').map(str::len).collect();
        parts == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    };
    let is_mail = || {
        let host = text.split_once('@').filter(|(name, _)| !name.is_empty()).map_or("", |(_, host)| host);
        host.contains('.') && !host.contains('@') && !text.contains([' ', ';', ',', '|', '\t'].as_slice())
    };
    let is_url = || {
        let scheme =
            ["http://", "https://", "ftp://", "s3://", "www."].iter().any(|scheme| text.starts_with(scheme));
        scheme && !text.contains([' ', '\t'].as_slice())
    };
    let is_ip6 = || {
        text.matches(':').count() >= 2
            && text.contains("::")
            && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':')
    };
    is_ip() || is_uuid() || is_mail() || is_url() || is_ip6()
}

/// Returns the shape that codes of one kind have in common: lowercase letters and all bytes that are not ASCII become `a`, uppercase
/// letters `A`, digits `9`, and runs of each become one character. Only the first 64 bytes count.
pub(super) fn shape(value: &[u8]) -> Vec<u8> {
    let mut shape: Vec<u8> = Vec::new();
    for &byte in value.iter().take(64) {
        let class = match byte {
            b'0'..=b'9' => b'9',
            b'a'..=b'z' => b'a',
            b'A'..=b'Z' => b'A',
            0x80.. => b'a',
            other => other,
        };
        if shape.last() != Some(&class) || !matches!(class, b'9' | b'a' | b'A') {
            shape.push(class);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CellKind, is_number, is_plain_number, kind};

    #[test]
    fn fields_of_each_kind_are_recognised() {
        for (expected, texts) in [
            (CellKind::Number, "0|-1|+1.5|1,5|.5|1e5|1.5E-07|1,234,567.89|1.234,5|12 345|1'234"),
            (CellKind::Amount, "$5.00|-€1|5 %|17.5%|USD 3"),
            (
                CellKind::Date,
                "2024-01-31|31.1.2024|1/31/24|31-Jan-2024|2024-01-31T12:30:00Z|2024-01-31 12:30:00.5+02:00",
            ),
            (CellKind::Time, "12:30|1:02:03|12:30:15.25|5:00 pm"),
            (
                CellKind::Address,
                "10.0.0.1|ann@example.org|https://example.org/x?a=1|3f2504e0-4f89-11d3-9a0c-0305e82c3301|fe80::1",
            ),
            (CellKind::Missing, "NA|n/a|NULL|-"),
            (CellKind::Truth, "true|No|f"),
            (CellKind::Text, "x|1a|e5|1.2.3.x|name|2024-Q1|a@b|1-2|1 2|12:3|-.|1,2,3"),
        ] {
            for text in texts.split('|') {
                assert_eq!(kind(text.as_bytes()), expected, "{text}");
            }
        }
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(2000))]

        #[test]
        fn each_text_that_is_plain_number_accepts_is_also_accepted_by_is_number(text in "[-+]?[0-9.,e ]{0,8}") {
            prop_assert!(!is_plain_number(text.as_bytes()) || is_number(text.as_bytes()));
        }
    }
}
