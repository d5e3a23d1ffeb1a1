//! Finds values inside other values: strings in JSON, and readable text in blobs.

use std::borrow::Cow;

/// The minimum number of bytes of a readable text in a blob.
const READABLE_MIN: usize = 9;

/// A string or number in JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JsonValue<'j> {
    /// The key of the value. A value in an array has the key of the array. Empty if there is no key.
    pub(super) key: Cow<'j, str>,
    pub(super) text: Cow<'j, str>,
}

/// Returns `true` if a text begins and ends like a JSON object or array.
pub(super) fn is_json(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    matches!((text.first(), text.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
}

/// Calls `take` with each string and number in JSON. Mistakes in the JSON are skipped. Values of an array have the key of the array.
pub(super) fn json_values<'j>(json: &'j [u8], mut take: impl FnMut(JsonValue<'j>)) {
    let mut key: Cow<'j, str> = Cow::Borrowed("");
    // The keys of the objects and arrays around the value.
    let mut around: Vec<Cow<'j, str>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'{' | b'[' => {
                around.push(key.clone());
                at += 1;
            }
            b'}' | b']' => {
                key = around.pop().unwrap_or_default();
                at += 1;
            }
            b'"' => {
                let end = end_of_string(json, at + 1);
                let text = unescaped(&json[at + 1..end]);
                at = (end + 1).min(json.len());
                let after = json[at..].iter().find(|byte| !byte.is_ascii_whitespace());
                match after {
                    Some(b':') => key = text,
                    _ => take(JsonValue { key: key.clone(), text }),
                }
            }
            b'-' | b'0'..=b'9' => {
                let is_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = json[at..].iter().take_while(|byte| is_number(byte)).count();
                take(JsonValue { key: key.clone(), text: String::from_utf8_lossy(&json[at..at + length]) });
                at += length;
            }
            _ => at += 1,
        }
    }
}

/// Returns the position of the quote that ends a string, or the end of the text.
fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

/// Returns a string of JSON without its escapes. Escaped control characters, such as line ends, become spaces.
fn unescaped(text: &[u8]) -> Cow<'_, str> {
    if !text.contains(&b'\\') {
        return String::from_utf8_lossy(text);
    }
    let text = String::from_utf8_lossy(text);
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('n' | 'r' | 't' | 'b' | 'f') => plain.push(' '),
            Some('u') => {
                let rest = letters.as_str();
                let code = rest.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let (code, length) = match (code, rest.get(4..10)) {
                    (Some(high @ 0xd800..0xdc00), Some(low)) if low.starts_with("\\u") => {
                        let low = u32::from_str_radix(&low[2..], 16).unwrap_or(0);
                        (Some(0x10000 + ((high - 0xd800) << 10) + (low & 0x3ff)), 10)
                    }
                    (code, _) => (code, 4),
                };
                plain.push(code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
                letters = rest.get(length..).unwrap_or("").chars();
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    Cow::Owned(plain)
}

/// Calls `take` with each piece of readable text of at least [`READABLE_MIN`] bytes in a blob. If more than a quarter of the bytes are
/// zero, as in UTF-16, the pieces of the blob without the zeros are passed, too.
pub(super) fn readable(blob: &[u8], mut take: impl FnMut(&str)) {
    readable_as_stored(blob, &mut take);
    if blob.iter().filter(|byte| **byte == 0).count() * 4 > blob.len() {
        let without: Vec<u8> = blob.iter().copied().filter(|byte| *byte != 0).collect();
        readable_as_stored(&without, &mut take);
    }
}

fn readable_as_stored(blob: &[u8], take: &mut impl FnMut(&str)) {
    for chunk in blob.utf8_chunks() {
        let pieces = chunk.valid().split(|letter: char| letter.is_control());
        pieces.filter(|piece| piece.len() >= READABLE_MIN).for_each(&mut *take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_values_are_found_with_their_keys_and_without_escapes() {
        let json = br#" {"a": "x\u0040y", "list": ["one", 2, {"b": null}], "c\"d": "\ud83d\ude00 e", "n": -4.5e3, "f": "#;
        let mut found = Vec::new();
        json_values(json, |value| found.push(format!("{}={}", value.key, value.text)));
        assert_eq!(found, ["a=x@y", "list=one", "list=2", "c\"d=\u{1f600} e", "n=-4.5e3"]);
        assert!(is_json(b" [1] ") && !is_json(b"{1]") && !is_json(b""));
    }

    #[test]
    fn damaged_json_causes_no_panic() {
        for json in
            ["{\"a", "{\"a\\", "{\"a\": \"b\\u12", "]]}}\"", "[\"\\ud83d\\u\"]", "[\"\\ud83dé\\uéé\"]"]
        {
            json_values(json.as_bytes(), |_| {});
        }
    }

    #[test]
    fn readable_text_of_a_blob_is_found_between_other_bytes() {
        let mut found = Vec::new();
        let mut blob = b"\x00\x01ann@example.org\xff\xfeshort\n".to_vec();
        readable(&blob, |text| found.push(text.to_owned()));
        assert_eq!(found, ["ann@example.org"]);
        blob = "bob@example.org".encode_utf16().flat_map(u16::to_be_bytes).collect();
        found.clear();
        readable(&blob, |text| found.push(text.to_owned()));
        assert_eq!(found, ["bob@example.org"]);
    }
}
