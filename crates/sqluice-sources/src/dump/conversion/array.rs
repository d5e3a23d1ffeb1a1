//! Converts arrays of PostgreSQL to JSON: `{1,NULL,"a b"}` becomes `[1,null,"a b"]`.
//!
//! The text is read once, without recursion. In an element, a backslash precedes quotes and backslashes. An unquoted NULL is null.
//! An array whose indexes do not begin at 1 has a prefix, as in `[0:1]={a,b}`. The prefix is left out, because JSON can't express it.

use super::{Element, boolean, float_word, moment};

/// Appends an array as JSON.
pub(super) fn to_json(
    text: &[u8],
    element: Element,
    delimiter: u8,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    const WRONG: &str = "it is not an array of PostgreSQL";
    let start = text.iter().position(|byte| *byte == b'{').ok_or(WRONG)?;
    if start > 0 && !(text[0] == b'[' && text[start - 1] == b'=') {
        return Err(WRONG);
    }
    let (mut at, mut depth) = (start, 0_usize);
    // `true` if an element may begin here.
    let mut open = true;
    let mut value = Vec::new();
    while at < text.len() {
        match text[at] {
            b' ' | b'\n' | b'\t' => at += 1,
            b'{' if open => {
                out.push(b'[');
                (depth, at) = (depth + 1, at + 1);
            }
            b'}' if depth > 0 => {
                out.push(b']');
                (depth, open, at) = (depth - 1, false, at + 1);
                if depth == 0 {
                    let rest = text[at..].iter().all(u8::is_ascii_whitespace);
                    return if rest { Ok(()) } else { Err(WRONG) };
                }
            }
            byte if byte == delimiter && !open => {
                out.push(b',');
                (open, at) = (true, at + 1);
            }
            b'"' if open => {
                value.clear();
                at += 1;
                loop {
                    match text.get(at) {
                        None => return Err(WRONG),
                        Some(b'"') => break,
                        Some(b'\\') => at += 1,
                        Some(_) => {}
                    }
                    value.push(*text.get(at).ok_or(WRONG)?);
                    at += 1;
                }
                at += 1;
                open = false;
                append(&value, element, out)?;
            }
            _ if open && depth > 0 => {
                value.clear();
                while at < text.len() && text[at] != delimiter && text[at] != b'}' {
                    at += usize::from(text[at] == b'\\');
                    value.push(*text.get(at).ok_or(WRONG)?);
                    at += 1;
                }
                open = false;
                match value.trim_ascii() {
                    word if word.eq_ignore_ascii_case(b"null") => out.extend_from_slice(b"null"),
                    word => append(word, element, out)?,
                }
            }
            _ => return Err(WRONG),
        }
    }
    Err(WRONG)
}

/// Appends an element as JSON.
pub(crate) fn append(value: &[u8], element: Element, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let text = std::str::from_utf8(value).map_err(|_| "it is not UTF-8")?;
    match element {
        Element::Number if float_word(value).is_some() => out.extend_from_slice(b"null"),
        Element::Number | Element::Json
            if serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok() =>
        {
            out.extend_from_slice(value);
        }
        Element::Boolean if boolean(value).is_some() => {
            out.extend_from_slice(if boolean(value) == Some(true) { b"true" } else { b"false" });
        }
        Element::Moment => string(&moment(value).unwrap_or_else(|| text.to_owned()), out),
        _ => string(text, out),
    }
    Ok(())
}

fn string(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a string and a vector never fail");
}
