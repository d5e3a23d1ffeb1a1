//! Arrays and objects within a record, which are checked and skipped.
//!
//! They are read without recursion: one bit for each level distinguishes an array from an object.

use super::fault::{DEPTH_MAX, Fault, What};
use super::number::{Number, number};
use super::text::string_end;

/// Returns the end of the white space that begins at `at`.
#[inline(always)]
pub(super) fn space_end(data: &[u8], at: usize) -> usize {
    // Most writers put no white space.
    if data.get(at).is_none_or(|&byte| byte > b' ') { at } else { some_space_end(data, at) }
}

fn some_space_end(data: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = data.get(at) {
        at += 1;
    }
    at
}

/// Returns the end of the value that begins at `at`, within a record.
pub(super) fn value_end(data: &[u8], at: usize, lenient: bool) -> Result<usize, Fault> {
    match data.get(at) {
        Some(b'{' | b'[') => nested_end(data, at, lenient),
        _ => scalar_end(data, at, lenient),
    }
}

/// Returns `true` if a lenient reader takes the record.
pub(super) fn is_sound_if_lenient(record: &[u8]) -> bool {
    let end = value_end(record, space_end(record, 0), true);
    end.is_ok_and(|end| space_end(record, end) == record.len()) && str::from_utf8(record).is_ok()
}

fn scalar_end(data: &[u8], at: usize, lenient: bool) -> Result<usize, Fault> {
    match data.get(at) {
        Some(b'"') => string_end(data, at, lenient).map(|(end, _)| end + 1),
        Some(b'-' | b'0'..=b'9') => any_number(data, at, lenient).map(|(_, end)| end),
        _ => literal(data, at, lenient).map(|word| at + word.len()),
    }
}

/// Returns the number at `at`, and its end. If `lenient`, `-Infinity` is a number.
#[inline(always)]
pub(super) fn any_number(data: &[u8], at: usize, lenient: bool) -> Result<(Number, usize), Fault> {
    match number(data, at) {
        Err(fault) => negative_infinity(data, at, lenient).ok_or(fault),
        read => read,
    }
}

#[cold]
fn negative_infinity(data: &[u8], at: usize, lenient: bool) -> Option<(Number, usize)> {
    let word = b"-Infinity";
    (lenient && data[at..].starts_with(word)).then_some((Number::Real(f64::NEG_INFINITY), at + word.len()))
}

/// Returns the `true`, `false` or `null` at `at`. If `lenient`, also `NaN` or `Infinity`.
pub(super) fn literal(data: &[u8], at: usize, lenient: bool) -> Result<&'static str, Fault> {
    let rest = data.get(at..).unwrap_or_default();
    let found = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word.as_bytes()));
    found.or_else(|| not_finite(rest, lenient)).ok_or(Fault::expected(at, "a value"))
}

#[cold]
fn not_finite(rest: &[u8], lenient: bool) -> Option<&'static str> {
    ["NaN", "Infinity"].into_iter().find(|word| lenient && rest.starts_with(word.as_bytes()))
}

/// Returns the end of the array or object that begins at `start`.
fn nested_end(data: &[u8], start: usize, lenient: bool) -> Result<usize, Fault> {
    let mut at = start;
    // The lowest bit is set if the innermost level is an object.
    let mut objects = 0u128;
    let mut depth = 0;
    loop {
        // A value begins at `at`.
        if let Some(open @ (b'{' | b'[')) = data.get(at) {
            depth += 1;
            if depth >= DEPTH_MAX {
                return Err(Fault { at, what: What::TooDeep });
            }
            objects = objects << 1 | u128::from(*open == b'{');
            at = space_end(data, at + 1);
            if data.get(at) != Some(&closing(objects)) {
                at = key_end(data, at, objects, lenient)?;
                continue;
            }
        } else {
            at = scalar_end(data, at, lenient)?;
        }
        // A comma or a bracket follows a value. An empty array or object continues here, too.
        loop {
            if depth == 0 {
                return Ok(at);
            }
            at = space_end(data, at);
            match data.get(at) {
                Some(b',') => {
                    at = key_end(data, space_end(data, at + 1), objects, lenient)?;
                    break;
                }
                Some(&close) if close == closing(objects) => {
                    depth -= 1;
                    objects >>= 1;
                    at += 1;
                }
                _ => {
                    let expected = if objects & 1 == 1 { "a comma or }" } else { "a comma or ]" };
                    return Err(Fault::expected(at, expected));
                }
            }
        }
    }
}

fn closing(objects: u128) -> u8 {
    if objects & 1 == 1 { b'}' } else { b']' }
}

/// Returns the start of the value whose member begins at `at`; in an array, `at` itself.
fn key_end(data: &[u8], at: usize, objects: u128, lenient: bool) -> Result<usize, Fault> {
    if objects & 1 == 0 {
        return Ok(at);
    }
    if data.get(at) != Some(&b'"') {
        return Err(Fault::expected(at, "a key in quotes"));
    }
    let (end, _) = string_end(data, at, lenient)?;
    colon_end(data, end + 1)
}

/// Returns the start of the value behind the colon that follows a key.
pub(super) fn colon_end(data: &[u8], key_end: usize) -> Result<usize, Fault> {
    let colon = space_end(data, key_end);
    match data.get(colon) {
        Some(b':') => Ok(space_end(data, colon + 1)),
        _ => Err(Fault::expected(colon, "a colon")),
    }
}
