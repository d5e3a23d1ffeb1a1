//! Format-preserving masks: each letter becomes a letter, each digit a digit, other characters are kept.
//!
//! ```text
//!  'Ann Lee-7'  ── symbols ──> a n n l e e 7  ── permuted ──> q b w m z o 2  ── in the same format ──> 'Qbw Mzo-2'
//!  4711         ── its number among the integers of four digits ── permuted
//!  -19.99       ── the digits of -1.999e1, permuted: the first and the last digit are not 0
//! ```
//!
//! Invariant: different values stay different, also in a collation (apart from reals of more than 15 digits), and values that are equal
//! in a collation stay equal in it. So a key stays a key.

use std::io::Write as _;
use std::sync::Arc;

use sqluice_core::batch::Value;

use super::alphabet::{character_of, symbol_of};
use super::equality::Equality;
use super::key::MaskKey;
use super::permutation::{LANES, Permutation, Rectangle, Symbol};

/// The limit up to which every whole real is an exact integer.
const WHOLE_MAX: u64 = 1 << 53;

/// The mask `shape()`, which keeps the format of values.
#[derive(Clone)]
pub(super) struct Shape {
    letters: Permutation,
    numbers: Permutation,
    blobs: Permutation,
    /// The smallest absolute value and the number of integers for each number of digits and each sign.
    classes: Arc<[(u64, Rectangle)]>,
}

/// The number of classes of each sign: one for each number of digits, and two for 16 digits, below and from [`WHOLE_MAX`].
const CLASSES: usize = 20;

/// Buffers that are reused for every value.
#[derive(Debug, Default)]
pub(super) struct ShapeSpace {
    symbols: Vec<Symbol>,
    numbers: Vec<u8>,
    alphabets: Vec<u16>,
    known: Option<Rectangle>,
}

/// Returns the smallest absolute value and the number of the integers with `digits + 1` digits: of those below [`WHOLE_MAX`] if `is_whole`
/// is `true`, else of those from [`WHOLE_MAX`] on.
fn class(digits: u32, is_negative: bool, is_whole: bool) -> (u64, Rectangle) {
    let least = match digits {
        0 => u64::from(is_negative),
        digits => 10_u64.pow(digits),
    };
    let end = i64::MAX.unsigned_abs() + u64::from(is_negative);
    let most = 10_u64.checked_pow(digits + 1).map_or(end, |next| end.min(next - 1));
    let (least, most) = match is_whole {
        true => (least, most.min(WHOLE_MAX - 1)),
        false => (least.max(WHOLE_MAX), most),
    };
    (least, Rectangle::new(most - least + 1))
}

impl Shape {
    pub(super) fn new(key: &MaskKey) -> Shape {
        let of = |class: &str| Permutation::new(key.derived(&format!("shape: {class}")));
        // Class 15 has the integers of 16 digits below `WHOLE_MAX`, class 16 the others.
        let of_sign = |is_negative| {
            (0..CLASSES as u32).map(move |class_of| match class_of {
                0..=15 => class(class_of, is_negative, true),
                _ => class(class_of - 1, is_negative, false),
            })
        };
        let classes = of_sign(false).chain(of_sign(true)).collect();
        Shape { letters: of("letters"), numbers: of("numbers"), blobs: of("blobs"), classes }
    }

    #[inline(always)]
    fn class_of(&self, int: i64) -> &(u64, Rectangle) {
        let size = int.unsigned_abs();
        let digits = size.checked_ilog10().unwrap_or(0) as usize;
        let of_sign = if int < 0 { CLASSES } else { 0 };
        &self.classes[of_sign + digits + usize::from(size >= WHOLE_MAX)]
    }

    /// Calls `put` with the masked value. If the column compares a text as a number, the text is masked as a number.
    pub(super) fn value(
        &self,
        old: Value<'_>,
        equality: Equality,
        space: &mut ShapeSpace,
        text: &mut Vec<u8>,
        put: &mut impl FnMut(Value<'_>),
    ) {
        match (old, equality.number(old)) {
            (Value::Real(_), Value::Int(int)) if int.unsigned_abs() < WHOLE_MAX => {
                put(Value::Real(self.int(int) as f64));
            }
            (_, Value::Null) => put(Value::Null),
            (_, Value::Int(int)) => put(Value::Int(self.int(int))),
            (_, Value::Real(real)) => put(Value::Real(self.real(real, space))),
            (_, Value::Text(old)) => {
                text.clear();
                self.text(old, space, text);
                put(Value::Text(text));
            }
            (_, Value::Blob(old)) => {
                text.clear();
                self.blob(old, space, text);
                put(Value::Blob(text));
            }
        }
    }

    /// Returns the integer that replaces `int`. It has the same number of digits and the same sign, and may be `int` itself.
    #[inline]
    pub(super) fn int(&self, int: i64) -> i64 {
        let (least, of) = self.class_of(int);
        with_sign(int, least + self.numbers.number(int.unsigned_abs() - least, of))
    }

    /// Replaces integers in place.
    pub(super) fn ints(&self, ints: &mut [i64]) {
        let (fours, rest) = ints.as_chunks_mut::<LANES>();
        for four in fours {
            let classes = four.map(|int| self.class_of(int));
            let offsets = std::array::from_fn(|lane| four[lane].unsigned_abs() - classes[lane].0);
            let placed = self.numbers.numbers(offsets, classes.map(|(_, of)| of));
            *four = std::array::from_fn(|lane| with_sign(four[lane], classes[lane].0 + placed[lane]));
        }
        rest.iter_mut().for_each(|int| *int = self.int(*int));
    }

    /// Returns the real that replaces `real`. It has the same number of digits, and the decimal point in the same place. Infinity is not
    /// replaced.
    fn real(&self, real: f64, space: &mut ShapeSpace) -> f64 {
        let mut buffer = [0; 64];
        let mut rest = &mut buffer[..];
        if !real.is_finite() || write!(rest, "{real:e}").is_err() {
            return real;
        }
        let length = 64 - rest.len();
        let written = &mut buffer[..length];
        let mantissa = written.iter().position(|byte| *byte == b'e').unwrap_or(length);
        let places: Vec<usize> = (0..mantissa).filter(|&at| written[at].is_ascii_digit()).collect();
        let (Some(&first), Some(&last)) = (places.first(), places.last()) else { return real };
        let is_end = |at: usize| at == first || at == last;
        space.symbols.clear();
        space.symbols.extend(places.iter().map(|&at| {
            let digit = u32::from(written[at] - b'0');
            match is_end(at) {
                true => Symbol { number: digit.saturating_sub(1), of: 9 },
                false => Symbol { number: digit, of: 10 },
            }
        }));
        self.numbers.symbols(&mut space.symbols);
        for (&at, symbol) in places.iter().zip(&space.symbols) {
            written[at] = b'0' + symbol.number as u8 + u8::from(is_end(at));
        }
        std::str::from_utf8(written).ok().and_then(|text| text.parse().ok()).unwrap_or(real)
    }

    /// Appends a text of the same format to `out`.
    #[inline]
    pub(super) fn text(&self, old: &[u8], space: &mut ShapeSpace, out: &mut Vec<u8>) {
        // NOCASE compares only the bytes before a NUL, so the bytes after it have to be masked separately.
        let end = old.iter().position(|byte| *byte == 0).unwrap_or(old.len());
        for part in [&old[..end], &old[end..]] {
            match std::str::from_utf8(part) {
                Ok(text) if text.is_ascii() => self.ascii(part, space, out),
                Ok(text) => self.characters(text, space, out),
                Err(_) => self.blob(part, space, out),
            }
        }
    }

    fn ascii(&self, old: &[u8], space: &mut ShapeSpace, out: &mut Vec<u8>) {
        let ShapeSpace { numbers, alphabets, known, .. } = space;
        numbers.clear();
        alphabets.clear();
        for &byte in old {
            if let Some((first, of)) = letter(byte) {
                numbers.push(byte - first);
                alphabets.push(of);
            }
        }
        self.letters.letters(numbers, alphabets, known);
        let mut numbers = numbers.iter();
        out.extend(old.iter().map(|&byte| match letter(byte) {
            Some((first, _)) => first + numbers.next().copied().unwrap_or(0),
            None => byte,
        }));
    }

    fn characters(&self, old: &str, space: &mut ShapeSpace, out: &mut Vec<u8>) {
        space.symbols.clear();
        space.symbols.extend(old.chars().filter_map(symbol_of));
        self.letters.symbols(&mut space.symbols);
        let mut symbols = space.symbols.iter();
        for character in old.chars() {
            let made = match symbol_of(character).and_then(|_| symbols.next()) {
                Some(symbol) => character_of(character, symbol.number),
                None => character,
            };
            out.extend_from_slice(made.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    /// Appends a blob of the same length to `out`.
    pub(super) fn blob(&self, old: &[u8], space: &mut ShapeSpace, out: &mut Vec<u8>) {
        let ShapeSpace { numbers, alphabets, known, .. } = space;
        numbers.clear();
        numbers.extend_from_slice(old);
        alphabets.clear();
        alphabets.resize(old.len(), 256);
        self.blobs.letters(numbers, alphabets, known);
        out.extend_from_slice(numbers);
    }
}

/// Returns the first letter or digit of an ASCII character's alphabet, and the size of the alphabet; `None` for other characters.
#[inline(always)]
fn letter(byte: u8) -> Option<(u8, u16)> {
    match byte {
        b'0'..=b'9' => Some((b'0', 10)),
        b'a'..=b'z' => Some((b'a', 26)),
        b'A'..=b'Z' => Some((b'A', 26)),
        _ => None,
    }
}

#[inline(always)]
fn with_sign(like: i64, size: u64) -> i64 {
    if like < 0 { 0_i64.wrapping_sub_unsigned(size) } else { size.cast_signed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape() -> Shape {
        Shape::new(&MaskKey::new([9; 16]).unwrap())
    }

    fn text(old: &str) -> String {
        let mut out = Vec::new();
        shape().text(old.as_bytes(), &mut ShapeSpace::default(), &mut out);
        String::from_utf8(out).unwrap()
    }

    fn kind(character: char) -> (usize, char) {
        let class = match character {
            _ if character.is_numeric() => '0',
            _ if character.is_lowercase() => 'a',
            _ if character.is_uppercase() => 'A',
            _ if character.is_alphabetic() => 'x',
            other => other,
        };
        (character.len_utf8(), class)
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn a_text_keeps_its_format_and_differs_from_others(a in "\\PC{0,30}", b in "[a-cA-C0-2äÄ -]{0,4}", c in "[a-cA-C0-2äÄ -]{0,4}") {
            prop_assert!(text(&a).chars().map(kind).eq(a.chars().map(kind)), "{} {}", a, text(&a));
            prop_assert_eq!(text(&b) == text(&c), b == c);
            prop_assert_eq!(text(&b).eq_ignore_ascii_case(&text(&c)), b.eq_ignore_ascii_case(&c));
            prop_assert_eq!(text(&b).trim_end_matches(' ') == text(&c).trim_end_matches(' '), b.trim_end_matches(' ') == c.trim_end_matches(' '));
        }

        #[test]
        fn an_integer_keeps_its_sign_and_number_of_digits(a: i64, b in -300..300_i64, c in -300..300_i64) {
            prop_assert_eq!(shape().int(a).to_string().len(), a.to_string().len());
            prop_assert_eq!(shape().int(b) == shape().int(c), b == c);
            prop_assert_eq!(shape().int(b) < 0, b < 0);
            let mut many = [a, b, c, 0, a / 3, a / 1000];
            let alone = many.map(|int| shape().int(int));
            shape().ints(&mut many);
            prop_assert_eq!(many, alone);
        }

        #[test]
        fn a_real_keeps_its_number_of_decimal_places(a in -99999..99999_i64, b in -999..999_i64, c in -999..999_i64) {
            let real = |int: i64| {
                let mut made = 0.0;
                let old = Value::Real(int as f64 / 100.0);
                shape().value(old, Equality::default(), &mut ShapeSpace::default(), &mut Vec::new(), &mut |value| {
                    if let Value::Real(real) = value { made = real }
                });
                made
            };
            let old = a as f64 / 100.0;
            let decimals = |real: f64| format!("{real}").split_once('.').map_or(0, |(_, places)| places.len());
            prop_assert_eq!(decimals(real(a)), decimals(old), "{} {}", old, real(a));
            prop_assert_eq!(real(b) == real(c), b == c);
        }

        #[test]
        fn a_blob_keeps_its_length(a: Vec<u8>, b: [u8; 2], c: [u8; 2]) {
            let blob = |old: &[u8]| {
                let mut out = Vec::new();
                shape().blob(old, &mut ShapeSpace::default(), &mut out);
                out
            };
            prop_assert_eq!(blob(&a).len(), a.len());
            prop_assert_eq!(blob(&b) == blob(&c), b == c);
        }
    }

    #[test]
    fn characters_after_a_nul_are_masked() {
        for old in ["secret", "Ann Lee-7", "4711", "Größe"] {
            let made = text(&format!("a\0{old}"));
            let (_, end) = made.split_once('\0').expect("a NUL stays");
            assert!(end.chars().map(kind).eq(old.chars().map(kind)) && end != old, "{old} {end}");
        }
    }

    #[test]
    fn integers_at_the_ends_of_ranges_keep_their_number_of_digits() {
        for int in [i64::MAX, i64::MIN, 0, -1, 9, 10, -9, -10] {
            assert_eq!(shape().int(int).to_string().len(), int.to_string().len(), "{int}");
        }
        let mut digits: Vec<i64> = (0..10).map(|int| shape().int(int)).collect();
        digits.sort_unstable();
        assert_eq!(digits, Vec::from_iter(0..10));
    }
}
