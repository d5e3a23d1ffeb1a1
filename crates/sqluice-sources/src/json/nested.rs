//! Arrays and objects within a record, which are checked and skipped.
//!
//! No recursion: one bit for each level tells an array from an object.

use super::fault::{DEPTH_MAX, Fault, What};
use super::number::number;
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
pub(super) fn value_end(data: &[u8], at: usize) -> Result<usize, Fault> {
    match data.get(at) {
        Some(b'{' | b'[') => nested_end(data, at),
        _ => scalar_end(data, at),
    }
}

fn scalar_end(data: &[u8], at: usize) -> Result<usize, Fault> {
    match data.get(at) {
        Some(b'"') => string_end(data, at).map(|(end, _)| end + 1),
        Some(b'-' | b'0'..=b'9') => number(data, at).map(|(_, end)| end),
        _ => literal(data, at).map(|word| at + word.len()),
    }
}

/// Returns the `true`, `false` or `null` at `at`.
pub(super) fn literal(data: &[u8], at: usize) -> Result<&'static str, Fault> {
    let rest = data.get(at..).unwrap_or_default();
    let found = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word.as_bytes()));
    found.ok_or(Fault::expected(at, "a value"))
}

/// Returns the end of the array or object that begins at `start`.
fn nested_end(data: &[u8], start: usize) -> Result<usize, Fault> {
    let mut at = start;
    // The lowest bit is set if the innermost level is an object.
    let mut objects = 0u128;
    let mut depth = 0;
    loop {
        // A value.
        if let Some(open @ (b'{' | b'[')) = data.get(at) {
            depth += 1;
            if depth >= DEPTH_MAX {
                return Err(Fault { at, what: What::TooDeep });
            }
            objects = objects << 1 | u128::from(*open == b'{');
            at = space_end(data, at + 1);
            if data.get(at) != Some(&closing(objects)) {
                at = key_end(data, at, objects)?;
                continue;
            }
        } else {
            at = scalar_end(data, at)?;
        }
        // A comma or a bracket follows a value. An empty array or object continues here, too.
        loop {
            if depth == 0 {
                return Ok(at);
            }
            at = space_end(data, at);
            match data.get(at) {
                Some(b',') => {
                    at = key_end(data, space_end(data, at + 1), objects)?;
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
fn key_end(data: &[u8], at: usize, objects: u128) -> Result<usize, Fault> {
    if objects & 1 == 0 {
        return Ok(at);
    }
    if data.get(at) != Some(&b'"') {
        return Err(Fault::expected(at, "a key in quotes"));
    }
    let (end, _) = string_end(data, at)?;
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
