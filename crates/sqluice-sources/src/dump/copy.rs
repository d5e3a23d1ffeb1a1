//! Decodes the fields of COPY data, in the text format of Postgres.
//!
//! ```text
//!  1<tab>two words<tab>\N        a number, a text, NULL
//!  2<tab>a\tb\nc<tab>            a number, a text with escapes (a tab, a line end), an empty text
//! ```

use super::literal::Literal;

/// Decodes the field at `at`, in place, and moves `at` past the tab or line end after the field. `end` is the end of the data.
pub(super) fn field(text: &mut [u8], end: usize, at: &mut usize) -> Literal {
    let start = *at;
    let mut to = start;
    let mut escaped = false;
    while to < end && !matches!(text[to], b'\t' | b'\n') {
        escaped |= text[to] == b'\\';
        to += 1;
    }
    *at = (to + 1).min(end.max(1));
    let mut stop = to;
    // If a dump was written on Windows, its lines end with CRLF. A carriage return in a value would be written as an escape.
    if text.get(to) == Some(&b'\n') && stop > start && text[stop - 1] == b'\r' {
        stop -= 1;
    }
    if !escaped {
        return Literal::Text { start, end: stop };
    }
    if &text[start..stop] == b"\\N" {
        return Literal::Null;
    }
    Literal::Text { start, end: unescape(text, start, stop) }
}

/// Decodes the escapes of a field in place. Returns the end of the decoded field.
fn unescape(text: &mut [u8], start: usize, end: usize) -> usize {
    let (mut from, mut to) = (start, start);
    while from < end {
        let mut byte = text[from];
        from += 1;
        if byte == b'\\' && from < end {
            byte = text[from];
            from += 1;
            byte = match byte {
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 11,
                b'0'..=b'7' => number(text, &mut from, end, 8, 2, u32::from(byte - b'0')),
                b'x' if from < end && text[from].is_ascii_hexdigit() => {
                    number(text, &mut from, end, 16, 2, 0)
                }
                other => other,
            };
        }
        text[to] = byte;
        to += 1;
    }
    to
}

/// Decodes up to `most` further digits of a number from `from` on. `value` is the value of the digits before.
fn number(text: &[u8], from: &mut usize, end: usize, radix: u32, most: usize, value: u32) -> u8 {
    let mut value = value;
    for _ in 0..most {
        let digit = text[..end].get(*from).and_then(|&byte| char::from(byte).to_digit(radix));
        let Some(digit) = digit else { break };
        value = value * radix + digit;
        *from += 1;
    }
    value as u8
}
