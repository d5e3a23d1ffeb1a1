//! Converts text that looks like a number ([§3](https://www.sqlite.org/datatype3.html#type_affinity)).
//!
//! ```text
//!  space* [+-] digits [. digits*] [e|E [+-] digits] space*  [NUL anything]
//!              . digits
//! ```
//!
//! White space is the bytes 9 to 13 and 32. Bytes after a NUL are ignored. Hexadecimal, separators, `inf` and `nan` are text. The rules:
//!
//! 1. Text that does not match stays as it is.
//! 2. Without a point and an exponent it is an integer, if it fits 64 bits (and no NUL follows).
//! 3. Otherwise it is a float: the digits, without leading zeros, are cut after 19 (after 20 if the first 19 are below [`MANTISSA_FULL`]),
//!    and the rest times a power of ten becomes the nearest float (nearly always: see [`super::float`]). A whole float becomes an integer,
//!    by [`real_to_int`].
//! 4. REAL affinity then converts an integer by [`stored_real_of_int`].
//!
//! [`text_to_number_slow`] follows these rules literally. [`text_to_number`] gives the same results faster:
//!
//! 1. Up to 16 bytes of digits and one point are converted in one step, eight bytes to a word, without a branch for each ([`short`]). Such
//!    a number is an integer, or at most 15 digits over at most 10^15, where one division of floats is exact (Clinger, 1990).
//! 2. All other text is read once, eight digits or one byte at a time, into a mantissa and an exponent, which SQLite's own arithmetic turns
//!    into a float ([`super::float`]).

use super::float::{MANTISSA_FULL, decimal_to_real};
use super::{Affinity, real_to_int, stored_real, stored_real_of_int};
use sqluice_format::value::Value;

/// A loss that SQLite does not report in a conversion from text to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A NUL and the bytes after it are ignored.
    Nul,
    /// A number beyond the largest float became infinity.
    Overflow,
    /// A number other than zero became zero.
    Underflow,
    /// An integer beyond 64 bits became a float (not reported for REAL affinity, which makes floats anyway).
    BeyondInt64,
    /// A number with a point or an exponent became another integer, because it was rounded to the nearest float (not reported for REAL
    /// affinity).
    Rounded,
}

/// Converts text as INTEGER, NUMERIC or REAL affinity do: to a number if it looks like one. Other text stays as it is, and so does all text
/// with another `affinity` ([§3](https://www.sqlite.org/datatype3.html#type_affinity)).
#[inline]
pub fn text_to_number(text: &[u8], affinity: Affinity) -> Value<'_> {
    text_to_number_checked(text, affinity).0
}

/// Converts text as [`text_to_number`] does, and also returns the loss, if any. Texts with a loss are `'12\0abc'`, `'1e400'`, `'1e-400'`,
/// `'12345678901234567890'` and `'9007199254740993.0'`.
#[inline]
pub fn text_to_number_checked(text: &[u8], affinity: Affinity) -> (Value<'_>, Option<Loss>) {
    if matches!(affinity, Affinity::Blob | Affinity::Text) {
        return (Value::Text(text), None);
    }
    number(text, Padded::alone(text), affinity)
}

/// Converts `data[start..end]` as [`text_to_number_checked`] does, but faster if lengths vary (`benches/affinity.rs`, "1 to 12 digits"):
/// the bytes before the text are read too, so that one load of 16 bytes suffices for each length. Meant for columns whose strings lie in
/// one buffer.
///
/// # Panics
/// If `start..end` is not within `data`.
#[inline(always)]
pub fn part_to_number(
    data: &[u8],
    start: usize,
    end: usize,
    affinity: Affinity,
) -> (Value<'_>, Option<Loss>) {
    let number = match Short::part(data, start, end) {
        Some(short) if affinity.is_numeric() => match points(short.word) {
            0 => short.whole().map(Value::Int),
            points => short.decimal(points, affinity),
        },
        _ => None,
    };
    match number {
        Some(number) => (number, None),
        None => other_part(data, start, end, affinity),
    }
}

/// Converts the texts that [`part_to_number`] does not convert itself. This code is not inlined, so that the caller's loop stays short.
#[inline(never)]
fn other_part(data: &[u8], start: usize, end: usize, affinity: Affinity) -> (Value<'_>, Option<Loss>) {
    let text = &data[start..end];
    if matches!(affinity, Affinity::Blob | Affinity::Text) {
        return (Value::Text(text), None);
    }
    number(text, Padded::part(data, start, end), affinity)
}

#[inline(always)]
fn number(text: &[u8], padded: Option<Padded>, affinity: Affinity) -> (Value<'_>, Option<Loss>) {
    match padded.and_then(|padded| short(padded, affinity)) {
        Some(number) => (number, None),
        None => any(text, affinity),
    }
}

/// A text of at most 16 bytes after its sign, at the upper end of a word. Digits are stored as 0 to 9, padded with 0 in front: `-17.5` is
/// `0000 0000 0000 17.5`.
#[derive(Clone, Copy, Debug)]
pub struct Padded {
    /// `true` if the sign is a minus.
    pub negative: bool,
    /// The number of bytes after the sign: 1 to 16.
    pub bytes: usize,
    /// The bytes in memory order, each XOR '0'.
    pub word: u128,
}

impl Padded {
    /// Pads a text at any address; `None` if the text is empty, only a minus, or longer than 16 bytes.
    #[inline(always)]
    pub fn alone(text: &[u8]) -> Option<Padded> {
        Padded::new(upper_end(text)?, text[0], text.len())
    }

    /// Pads `data[start..end]`. The 16 bytes before `end` are loaded at once, if `data` has so many.
    #[inline(always)]
    pub fn part(data: &[u8], start: usize, end: usize) -> Option<Padded> {
        let text = &data[start..end];
        match (data[..end].last_chunk(), text) {
            (Some(last), [first, ..]) => Padded::new(u128::from_le_bytes(*last), *first, text.len()),
            _ => Padded::alone(text),
        }
    }

    /// Pads the text at the upper end of `word`. `first` is the first byte of the text, and `bytes` its length. Returns `None` if the text
    /// is empty, only a minus, or longer than 16 bytes after its sign.
    #[inline(always)]
    fn new(word: u128, first: u8, bytes: usize) -> Option<Padded> {
        let negative = first == b'-';
        let bytes = bytes - usize::from(negative);
        if bytes == 0 || bytes > 16 {
            return None;
        }
        Some(Padded { negative, bytes, word: (word ^ repeat(b'0')) & !LOWER[16 - bytes] })
    }
}

/// Converts a text of at most 16 bytes after an optional minus: digits with at most one point. Returns `None` for all other text. The point
/// is taken out, and three multiplications turn each eight digits into a number.
#[inline(always)]
fn short(Padded { negative, bytes, word }: Padded, affinity: Affinity) -> Option<Value<'static>> {
    const POINTS: u128 = repeat(POINT);
    // The lowest flag is the flag of the first point. Flags above it may be wrong.
    let points = (word ^ POINTS).wrapping_sub(repeat(1)) & !(word ^ POINTS) & repeat(0x80);
    if points == 0 {
        let int = sixteen_digits(word)? as i64;
        let int = if negative { -int } else { int };
        return Some(if affinity == Affinity::Real { stored_real_of_int(int) } else { Value::Int(int) });
    }
    if bytes == 1 {
        return None;
    }
    let point = (points.trailing_zeros() / 8) as usize;
    let mantissa = sixteen_digits((word & !LOWER[point + 1]) | ((word & LOWER[point]) << 8))?;
    // The mantissa is below 2^53, and the power of ten is exact: only the division rounds.
    let real = mantissa as f64 / POWERS_OF_TEN[15 - point];
    // The sign is set without a branch: half of a column may be negative.
    let real = f64::from_bits(real.to_bits() | u64::from(negative) << 63);
    Some(if affinity == Affinity::Real { stored_real(real) } else { real_to_int(real) })
}

/// Returns the whole number in `data[start..end]`: digits, perhaps after a minus, in at most 8 bytes. Returns `None` for any other text, or
/// if `end` is less than 8. Meant for columns whose texts are known to be such numbers: other forms are not tried, which saves time.
///
/// # Panics
/// If `end` is beyond `data`.
#[inline(always)]
pub fn whole(data: &[u8], start: usize, end: usize) -> Option<i64> {
    Short::part(data, start, end)?.whole()
}

/// Returns the number in `data[start..end]`, converted by `affinity`: a number with a point, in at most 8 bytes. Returns `None` for any
/// other text, or if `end` is less than 8. Meant for columns whose texts are known to be such numbers, as [`whole`] is for whole numbers.
///
/// # Panics
/// If `end` is beyond `data`.
#[inline(always)]
pub fn decimal(data: &[u8], start: usize, end: usize, affinity: Affinity) -> Option<Value<'static>> {
    let short = Short::part(data, start, end)?;
    match points(short.word) {
        0 => None,
        points => short.decimal(points, affinity),
    }
}

/// A text of at most 8 bytes, sign included, stored as in [`Padded`] but in a word of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Short {
    /// `true` if the sign is a minus.
    pub negative: bool,
    /// The number of bytes after the sign: 1 to 8.
    pub bytes: usize,
    /// The bytes in memory order, each XOR '0'.
    pub word: u64,
}

impl Short {
    /// Pads `data[start..end]`, with one load of the 8 bytes before `end`. Returns `None` if `end` is less than 8, or if the
    /// text is empty, only a minus, or longer than 8 bytes.
    ///
    /// # Panics
    /// If `end` is beyond `data`.
    #[inline(always)]
    pub fn part(data: &[u8], start: usize, end: usize) -> Option<Short> {
        let bytes = end.wrapping_sub(start);
        let last = u64::from_le_bytes(*data[..end].last_chunk()?);
        if !(1..=8).contains(&bytes) {
            return None;
        }
        let negative = (last >> (64 - 8 * bytes)) as u8 == b'-';
        let bytes = bytes - usize::from(negative);
        if bytes == 0 {
            return None;
        }
        let word = (last ^ repeat(b'0') as u64) & u64::MAX << (64 - 8 * bytes);
        Some(Short { negative, bytes, word })
    }

    #[inline(always)]
    fn whole(self) -> Option<i64> {
        let number = are_digits(self.word).then(|| eight_digits(self.word) as i64)?;
        Some(if self.negative { -number } else { number })
    }

    /// Returns the value of a number with a point, or `None` for any other text. `points` is the result of the function [`points`] for the
    /// word.
    #[inline(always)]
    fn decimal(self, points: u64, affinity: Affinity) -> Option<Value<'static>> {
        let Short { word, negative, .. } = self;
        // The bits before the first point, and the bits up to its end.
        let before = (points & points.wrapping_neg()).wrapping_sub(1) >> 7;
        let through = before << 8 | 0xff;
        let digits = (word & !through) | (word & before) << 8;
        // A point alone is not a number.
        if word == u64::from(POINT) << 56 || !are_digits(digits) {
            return None;
        }
        // The mantissa is below 2^53, and the power of ten is exact: only the division rounds.
        let real = eight_digits(digits) as f64 / POWERS_OF_TEN[7 - points.trailing_zeros() as usize / 8];
        // The sign is set without a branch: half of a column may be negative.
        let real = f64::from_bits(real.to_bits() | u64::from(negative) << 63);
        Some(if affinity == Affinity::Real { stored_real(real) } else { real_to_int(real) })
    }
}

/// Returns a word with the top bit set in each byte that is a point in `word`. Bits above the first point may be wrong.
#[inline(always)]
fn points(word: u64) -> u64 {
    let differing = word ^ repeat(POINT) as u64;
    differing.wrapping_sub(repeat(1) as u64) & !differing & repeat(0x80) as u64
}

/// The byte of a point in [`Padded::word`].
pub const POINT: u8 = b'.' ^ b'0';

const POWERS_OF_TEN: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The masks of the lower 0 to 16 bytes of a word. A load is cheaper than a shift of 128 bits, which takes six steps.
const LOWER: [u128; 17] = {
    let mut masks = [u128::MAX; 17];
    let mut bytes = 0;
    while bytes < 16 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

/// Returns a word of 16 equal bytes.
pub const fn repeat(byte: u8) -> u128 {
    u128::from_ne_bytes([byte; 16])
}

/// Returns 1 to 16 bytes, in memory order, at the upper end of a little-endian word; `None` for another number of bytes.
#[inline(always)]
fn upper_end(bytes: &[u8]) -> Option<u128> {
    let len = bytes.len();
    if len > 16 {
        return None;
    }
    let gap_bits = 8 * (16 - len) as u32;
    // The last bytes fill the upper half of the word. The first bytes are shifted to their place and cut to the lower half: the bytes that
    // are cut off are among the last bytes, too.
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let first = (u128::from(u64::from_le_bytes(*first)) << gap_bits) as u64;
        Some(u128::from(u64::from_le_bytes(*last)) << 64 | u128::from(first))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let first = (u64::from(u32::from_le_bytes(*first)) << (gap_bits - 64)) as u32;
        Some((u128::from(u32::from_le_bytes(*last)) << 32 | u128::from(first)) << 64)
    } else if len > 0 {
        // 1 to 3 bytes: the first, the middle and the last, which may be the same byte.
        let three = u32::from(bytes[0]) << (24 - 8 * (len - 1))
            | u32::from(bytes[len / 2]) << (24 - 8 * (len - 1 - len / 2))
            | u32::from(bytes[len - 1]) << 24;
        Some(u128::from(three) << 96)
    } else {
        None
    }
}

/// Returns the number of 16 digits from 0 to 9, the first digit in the lowest byte; `None` if a byte is more than 9.
#[inline(always)]
fn sixteen_digits(word: u128) -> Option<u64> {
    // Only a byte above 0x7f can carry into the next byte, and such a byte sets its own flag.
    if (word.wrapping_add(repeat(0x76)) | word) & repeat(0x80) != 0 {
        return None;
    }
    Some(eight_digits(word as u64) * 100_000_000 + eight_digits((word >> 64) as u64))
}

/// Returns `true` if each of eight bytes is 0 to 9.
#[inline(always)]
fn are_digits(word: u64) -> bool {
    // Only a byte above 0x7f can carry into the next byte, and such a byte sets its own flag.
    (word.wrapping_add(repeat(0x76) as u64) | word) & repeat(0x80) as u64 == 0
}

/// Returns the number of eight digits from 0 to 9, the first digit in the lowest byte. Digits are joined to pairs, pairs to fours, and
/// fours to the number: each multiplication adds 10 (100, 10,000) times the neighbour in the lower bytes.
#[inline(always)]
pub fn eight_digits(word: u64) -> u64 {
    let pairs = (word.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// A number read from text: mantissa times ten to the exponent.
struct Decimal {
    negative: bool,
    mantissa: u64,
    exponent: i64,
    /// `true` if the text has neither a point nor an exponent.
    integer: bool,
    /// `true` if a NUL ends the number.
    nul: bool,
}

#[inline(never)]
fn any(text: &[u8], affinity: Affinity) -> (Value<'_>, Option<Loss>) {
    let Some(decimal) = read(text) else { return (Value::Text(text), None) };
    let mut loss = decimal.nul.then_some(Loss::Nul);
    if decimal.integer && !decimal.nul {
        if let Some(int) = decimal.int64() {
            return (
                if affinity == Affinity::Real { stored_real_of_int(int) } else { Value::Int(int) },
                None,
            );
        }
        loss = (affinity != Affinity::Real).then_some(Loss::BeyondInt64);
    }
    let real = decimal.real();
    if real.is_infinite() {
        loss = loss.or(Some(Loss::Overflow));
    } else if real == 0.0 && decimal.mantissa != 0 {
        loss = loss.or(Some(Loss::Underflow));
    }
    if affinity == Affinity::Real {
        return (stored_real(real), loss);
    }
    let value = real_to_int(real);
    if let Value::Int(int) = value
        && loss.is_none()
        && !equals_int(text, int)
    {
        loss = Some(Loss::Rounded);
    }
    (value, loss)
}

/// Returns `true` if the number in `text` is exactly `int`.
fn equals_int(text: &[u8], int: i64) -> bool {
    let end = text.iter().rposition(|&byte| !is_space(byte)).map_or(0, |last| last + 1);
    let text = &text[..end];
    let (digits, exponent) = match text.iter().position(|byte| byte | 0x20 == b'e') {
        // An exponent that does not fit an i64 makes infinity or 0: then there is a loss already, or all digits are 0.
        Some(at) => (&text[..at], str::from_utf8(&text[at + 1..]).map_or(0, |e| e.parse().unwrap_or(0))),
        None => (text, 0i64),
    };
    let decimals = digits.iter().position(|&byte| byte == b'.').map_or(0, |at| digits.len() - at - 1);
    let written = significant(digits.iter().copied(), exponent - decimals as i64);
    written == significant(int.unsigned_abs().to_string().bytes(), 0)
}

/// Returns the digits of a number without zeros at either end, and the power of ten of the last digit.
fn significant(digits: impl Iterator<Item = u8>, exponent: i64) -> (Vec<u8>, i64) {
    let mut digits: Vec<u8> = digits.filter(u8::is_ascii_digit).skip_while(|&digit| digit == b'0').collect();
    let len = digits.len();
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    let exponent = if digits.is_empty() { 0 } else { exponent + (len - digits.len()) as i64 };
    (digits, exponent)
}

/// Parses the whole text; `None` if it is not a number.
fn read(text: &[u8]) -> Option<Decimal> {
    let byte = |at: usize| text.get(at).copied().unwrap_or(0);
    let digit = |at: usize| byte(at).wrapping_sub(b'0');
    let mut at = text.iter().take_while(|byte| is_space(**byte)).count();
    let negative = byte(at) == b'-';
    at += usize::from(matches!(byte(at), b'-' | b'+'));

    let (mut mantissa, mut exponent, mut integer) = (0u64, 0i64, true);
    let first_digit = at;
    while let Some(longer) = with_eight_digits(mantissa, text, at) {
        (mantissa, at) = (longer, at + 8);
    }
    while digit(at) <= 9 {
        if mantissa < MANTISSA_FULL {
            mantissa = mantissa * 10 + u64::from(digit(at));
        } else {
            exponent += 1;
        }
        at += 1;
    }
    let mut digits = at - first_digit;
    if byte(at) == b'.' {
        integer = false;
        at += 1;
        let first_digit = at;
        while let Some(longer) = with_eight_digits(mantissa, text, at) {
            (mantissa, at, exponent) = (longer, at + 8, exponent - 8);
        }
        while digit(at) <= 9 {
            if mantissa < MANTISSA_FULL {
                mantissa = mantissa * 10 + u64::from(digit(at));
                exponent -= 1;
            }
            at += 1;
        }
        digits += at - first_digit;
    }
    if digits == 0 {
        return None;
    }
    if byte(at) | 0x20 == b'e' {
        integer = false;
        at += 1;
        let sign = if byte(at) == b'-' { -1 } else { 1 };
        at += usize::from(matches!(byte(at), b'-' | b'+'));
        if digit(at) > 9 {
            return None;
        }
        let mut tens = 0;
        while digit(at) <= 9 {
            tens = next_of_exponent(tens, digit(at));
            at += 1;
        }
        exponent += sign * tens;
    }
    while is_space(byte(at)) {
        at += 1;
    }
    let nul = at < text.len();
    (byte(at) == 0).then_some(Decimal { negative, mantissa, exponent, integer, nul })
}

/// Returns the mantissa with the eight digits at byte `at` of the text appended. Returns `None` if these bytes are not all digits, or if
/// the mantissa has no room for all of them.
#[inline(always)]
fn with_eight_digits(mantissa: u64, text: &[u8], at: usize) -> Option<u64> {
    // A mantissa below `MANTISSA_MAX` is below `MANTISSA_FULL` after seven more digits, so the eighth is read, too.
    const MANTISSA_MAX: u64 = 100_000_000_000;
    let digits = u64::from_le_bytes(*text.get(at..)?.first_chunk()?) ^ repeat(b'0') as u64;
    (mantissa < MANTISSA_MAX && are_digits(digits)).then(|| mantissa * 100_000_000 + eight_digits(digits))
}

impl Decimal {
    fn int64(&self) -> Option<i64> {
        if self.exponent != 0 {
            None
        } else if self.negative {
            0i64.checked_sub_unsigned(self.mantissa)
        } else {
            i64::try_from(self.mantissa).ok()
        }
    }

    fn real(&self) -> f64 {
        let real = decimal_to_real(self.mantissa, self.exponent);
        if self.negative { -real } else { real }
    }
}

/// Appends a digit to an exponent as SQLite does: an exponent of more than five digits counts as 10000, so that nothing overflows.
fn next_of_exponent(exponent: i64, digit: u8) -> i64 {
    if exponent < 10_000 { exponent * 10 + i64::from(digit) } else { 10_000 }
}

/// Returns `true` for the white space of C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, 9..=13 | b' ')
}

/// Converts text by the rules of the module's description, slowly and plainly. Tests compare it with [`text_to_number`], with which it
/// shares only the rounding.
pub fn text_to_number_slow(text: &[u8], affinity: Affinity) -> Value<'_> {
    let Some(number) = slow(text) else { return Value::Text(text) };
    match (affinity, number) {
        (Affinity::Blob | Affinity::Text, _) => Value::Text(text),
        (Affinity::Real, Value::Int(int)) => stored_real_of_int(int),
        _ => number,
    }
}

/// Converts text as NUMERIC affinity does; `None` if it is not a number.
fn slow(text: &[u8]) -> Option<Value<'static>> {
    let until_nul = text.split(|byte| *byte == 0).next()?;
    let nul = until_nul.len() < text.len();
    let number = str::from_utf8(until_nul).ok()?.trim_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number.strip_prefix('+').unwrap_or(number)),
    };
    let (number, exponent) = match number.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (number, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = format!("{whole}{}", fraction.unwrap_or(""));
    if digits.is_empty() || !all_digits(&digits) {
        return None;
    }
    let exponent_given = match exponent.map(|exponent| exponent.strip_prefix('-').ok_or(exponent)) {
        None => 0,
        Some(Ok(negative)) => -slow_exponent(negative)?,
        Some(Err(other)) => slow_exponent(other.strip_prefix('+').unwrap_or(other))?,
    };
    if fraction.is_none()
        && exponent.is_none()
        && !nul
        && let Ok(int) = format!("{sign}{digits}").parse()
    {
        return Some(Value::Int(int));
    }
    let significant = digits.trim_start_matches('0');
    let first_19 = &significant[..significant.len().min(19)];
    let kept = match first_19.parse::<u64>() {
        Ok(first) if first_19.len() == 19 && first < MANTISSA_FULL => {
            &significant[..significant.len().min(20)]
        }
        _ => first_19,
    };
    let kept = if kept.is_empty() { "0" } else { kept };
    let dropped = significant.len().saturating_sub(kept.len()) as i64;
    let exponent = exponent_given + dropped - fraction.map_or(0, str::len) as i64;
    let real = decimal_to_real(kept.parse().ok()?, exponent);
    Some(real_to_int(if sign == "-" { -real } else { real }))
}

fn slow_exponent(digits: &str) -> Option<i64> {
    let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    valid.then(|| digits.bytes().fold(0, |exponent, byte| next_of_exponent(exponent, byte - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Affinity, text_to_number, text_to_number_slow};

    proptest! {
        #![proptest_config(sqluice_testkit::cases(2000))]

        #[test]
        fn the_fast_and_the_slow_conversion_agree_on_long_numbers(text in "-?0{0,20}[0-9]{0,30}(\\.[0-9]{0,30})?(e-?[0-9]{1,3})?") {
            for affinity in [Affinity::Integer, Affinity::Numeric, Affinity::Real] {
                prop_assert_eq!(
                    text_to_number(text.as_bytes(), affinity),
                    text_to_number_slow(text.as_bytes(), affinity)
                );
            }
        }
    }
}
