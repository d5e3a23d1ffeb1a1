//! Strings: their ends, and their unescaped text.
//!
//! ```text
//!  "Oslo, N"        no escape: the bytes between the quotes are the value, and are never copied
//!  "say \"hi\""     unescaped when the batch is made
//! ```

use super::fault::{Fault, What};
use crate::needles::string_ends;

/// Returns the offset of the closing quote of the string that opens at `open`, and `true` if the string has escapes. The escapes are
/// checked; if `lenient`, half of a surrogate pair is allowed.
#[inline]
pub(super) fn string_end(data: &[u8], open: usize, lenient: bool) -> Result<(usize, bool), Fault> {
    let mut at = open + 1;
    let mut escapes = false;
    loop {
        at = special(data, at);
        match data.get(at) {
            Some(b'"') => return Ok((at, escapes)),
            Some(b'\\') => {
                escapes = true;
                at = escape_end(data, at, lenient)?;
            }
            Some(&byte) => return Err(Fault { at, what: What::Control(byte) }),
            None => return Err(Fault { at: open, what: What::Unterminated }),
        }
    }
}

/// Returns the offset of the first quote, backslash or control character from `at` on. Looks at 16 bytes at a time.
#[inline]
fn special(data: &[u8], mut at: usize) -> usize {
    while let Some(block) = data[at..].first_chunk() {
        let found = string_ends(block);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += block.len();
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
    data[at..].iter().position(is_special).map_or(data.len(), |offset| at + offset)
}

/// Returns the end of the escape whose backslash is at `at`.
#[cold]
fn escape_end(data: &[u8], at: usize, lenient: bool) -> Result<usize, Fault> {
    match data.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            let bad = |what| Fault { at, what };
            let unit = hex(data, at + 2).ok_or(bad(What::Escape))?;
            match unit {
                0xd800..=0xdbff if low_surrogate(data, at + 6).is_some() => Ok(at + 12),
                0xd800..=0xdfff if !lenient => Err(bad(What::Surrogate)),
                _ => Ok(at + 6),
            }
        }
        _ => Err(Fault { at, what: What::Escape }),
    }
}

/// Returns the number that four hexadecimal digits have.
fn hex(data: &[u8], at: usize) -> Option<u32> {
    let digits = data.get(at..at + 4)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

/// Returns the second half of a surrogate pair, if its escape begins at `at`.
fn low_surrogate(data: &[u8], at: usize) -> Option<u32> {
    let unit = (data.get(at..at + 2)? == b"\\u").then(|| hex(data, at + 2))??;
    (0xdc00..=0xdfff).contains(&unit).then_some(unit)
}

/// Appends the unescaped text of a string. `text` is the string without its quotes, with valid escapes.
pub(super) fn unescape(text: &[u8], into: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        into.extend_from_slice(&rest[..at]);
        let plain = match rest.get(at + 1) {
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let (character, bytes) = unicode(rest, at);
                into.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[at + bytes..];
                continue;
            }
            Some(&itself) => itself,
            None => break,
        };
        into.push(plain);
        rest = &rest[at + 2..];
    }
    into.extend_from_slice(rest);
}

/// Returns the character of the escape `\uXXXX`, or of a pair of these, and the number of its bytes. Half of a pair becomes U+FFFD.
fn unicode(text: &[u8], at: usize) -> (char, usize) {
    let unit = hex(text, at + 2).unwrap_or_default();
    let (code, bytes) = match (unit, low_surrogate(text, at + 6)) {
        (0xd800..=0xdbff, Some(low)) => (0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff)), 12),
        _ => (unit, 6),
    };
    (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), bytes)
}
