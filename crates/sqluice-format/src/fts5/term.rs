//! Terms: a byte for the index, and a token or the first characters of a token.

/// The largest number of bytes of a token: FTS5 cuts longer ones.
pub const TOKEN_BYTES_MAX: usize = 32_768;

/// The largest number of prefix indexes of a table.
pub const PREFIX_INDEXES_MAX: usize = 31;

/// Returns the first byte of the terms of an index: 0 is the index of whole tokens, 1 the first prefix index.
pub const fn index_byte(index: usize) -> u8 {
    b'0' + index as u8
}

/// Returns the number of bytes of the first `characters` characters of a token; `None` if the token has fewer.
///
/// Characters are counted as FTS5 does, which differs from UTF-8 if the token is not valid UTF-8: a byte from C0 on takes all continuation
/// bytes after it, and any other byte is a character.
pub fn prefix_bytes(token: &[u8], characters: usize) -> Option<usize> {
    let mut at = 0;
    for number in 1..=characters {
        let is_last = number == characters;
        let first = *token.get(at)?;
        at += 1;
        if first < 0xc0 {
            continue;
        }
        // A first byte at the end of the token is no character.
        token.get(at)?;
        while token.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
            at += 1;
        }
        if at == token.len() && !is_last {
            return None;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_counted_in_characters() {
        for (token, characters, bytes) in [
            (&b"abc"[..], 1, Some(1)),
            (b"abc", 3, Some(3)),
            (b"abc", 4, None),
            (b"", 1, None),
            ("éa".as_bytes(), 1, Some(2)),
            ("éa".as_bytes(), 2, Some(3)),
            ("é".as_bytes(), 1, Some(2)),
            ("é".as_bytes(), 2, None),
            ("日本".as_bytes(), 2, Some(6)),
        ] {
            assert_eq!(prefix_bytes(token, characters), bytes, "{token:?} {characters}");
        }
    }

    #[test]
    fn malformed_characters_are_counted_as_fts5_does() {
        for (token, characters, bytes) in [
            (&b"\x80\x80"[..], 1, Some(1)),
            (b"\xc3", 1, None),
            (b"\xc3a", 1, Some(1)),
            (b"\xc3\x80\x80\x80", 1, Some(4)),
            (b"\xc3\x80\x80\x80", 2, None),
        ] {
            assert_eq!(prefix_bytes(token, characters), bytes, "{token:?} {characters}");
        }
    }
}
