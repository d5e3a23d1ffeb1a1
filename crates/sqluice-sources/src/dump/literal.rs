//! Decodes rows of literals, such as `(1,'x',NULL,X'00')`.
//!
//! [`scan_row`] finds the end of a row, and refuses a row with words or signs that no literal has. [`Values`] decodes the values, and
//! refuses all others that are not literals. In dumps of SQLite, some expressions count as literals, because programs write text with line
//! ends or NUL bytes in this form: `replace('a\nb','\n',char(10))`, `unistr('a\u000ab')` and `CAST(X'00' AS TEXT)`.

use super::lex::{Dialect, Look, Rules, is_word, look};
use crate::needles::first;

/// The result of a search for the end of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    /// The position after the closing parenthesis.
    End(usize),
    /// A value is not a literal, or the dump ends before the row does.
    Other,
    /// The window ends before the row does.
    More,
}

/// Finds the end of the row whose opening parenthesis is at `at`.
pub(super) fn scan_row(text: &[u8], at: usize, rules: Rules, whole: bool) -> Scanned {
    let (mut depth, mut to) = (0_usize, at);
    let unended = if whole { Scanned::Other } else { Scanned::More };
    while let Some(&byte) = text.get(to) {
        match byte {
            b'0'..=b'9' | b'.' => {
                to += 1;
                while text.get(to).is_some_and(|&byte| is_word(byte) || byte == b'.') {
                    to += 1;
                }
            }
            b'+' if !begins_number(text, to) => return Scanned::Other,
            b',' | b'+' | b' ' | b'\n' | b'\r' | b'\t' => to += 1,
            b'(' => (depth, to) = (depth + 1, to + 1),
            b')' => {
                (depth, to) = (depth - 1, to + 1);
                if depth == 0 {
                    return Scanned::End(to);
                }
            }
            b'\'' | b'"' | b'-' | b'/' | b'#' | b'E' | b'e' | b'*' => {
                match look(text, to, rules, whole) {
                    Look::More => return Scanned::More,
                    // A name in double quotes is not a literal.
                    Look::Quoted(_) if byte == b'"' && rules.dialect != Dialect::MySql => {
                        return Scanned::Other;
                    }
                    Look::Quoted(end) | Look::Comment(end) => to = end,
                    Look::Code
                        if byte == b'-' && begins_number(text, to)
                            || is_division_of_floats(text, to, rules.dialect) =>
                    {
                        to += 1
                    }
                    Look::Code => return Scanned::Other,
                }
            }
            _ if is_word(byte) => {
                let bytes = text[to..].iter().take_while(|byte| is_word(**byte)).count();
                if to + bytes == text.len() {
                    return unended;
                }
                if !may_be_literal(&text[to..to + bytes], text[to + bytes], rules.dialect) {
                    return Scanned::Other;
                }
                to += bytes;
            }
            _ => return Scanned::Other,
        }
    }
    unended
}

/// Returns `true` for the `/` in a quotient such as `1.0/2.0`, in which form SQLite exports floats.
fn is_division_of_floats(text: &[u8], at: usize, dialect: Dialect) -> bool {
    dialect == Dialect::Sqlite
        && text[at] == b'/'
        && text[..at].ends_with(b".0")
        && text.get(at + 1).is_some_and(u8::is_ascii_digit)
}

/// Returns `true` if the sign at `at` belongs to a number or an exponent, and is not an operator.
fn begins_number(text: &[u8], at: usize) -> bool {
    let before = text[..at].trim_ascii_end();
    matches!(before.last(), Some(b'(' | b',' | b'/' | b'e' | b'E' | b'-' | b'+'))
}

/// Returns `true` if a word may begin a literal or be part of one. `next` is the byte after the word.
pub(super) fn may_be_literal(word: &[u8], next: u8, dialect: Dialect) -> bool {
    let is = |other: &str| word.eq_ignore_ascii_case(other.as_bytes());
    if is("NULL") || is("TRUE") || is("FALSE") || is("X") && next == b'\'' {
        return true;
    }
    match dialect {
        Dialect::Sqlite => ["replace", "unistr", "char", "cast", "as", "text"].into_iter().any(is),
        Dialect::MySql => word[0] == b'_' || is("DEFAULT") || (is("B") || is("N")) && next == b'\'',
        Dialect::Postgres => is("DEFAULT") || (is("B") || is("N")) && next == b'\'',
    }
}

/// A decoded value. Positions are positions in [`Values::text`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Int(i64),
    /// The text of a decimal number: an optional minus, digits, a point, an exponent.
    Number {
        start: usize,
        end: usize,
    },
    Text {
        start: usize,
        end: usize,
    },
    Blob {
        start: usize,
        end: usize,
    },
    /// A float that was computed from the literal.
    Real(f64),
    /// DEFAULT.
    Default,
}

/// A decoder of literals. Texts and blobs are decoded in place: no decoded value is longer than its literal.
pub(super) struct Values<'t> {
    pub(super) text: &'t mut Vec<u8>,
    pub(super) at: usize,
    pub(super) rules: Rules,
}

/// The error if a row can't be decoded, because a value is not one of the literals that are decoded here.
#[derive(Debug)]
pub(super) struct Undecoded;

impl Values<'_> {
    /// Skips white space and comments.
    #[inline]
    pub(super) fn skip(&mut self) {
        // A shortcut: between values, programs write one of these bytes, which begin neither white space nor a comment.
        let is_next = |&byte: &u8| byte > b'/' || matches!(byte, b'\'' | b'(' | b')' | b',');
        if !self.text.get(self.at).is_some_and(is_next) {
            self.skip_blanks();
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            if byte.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            if !matches!(byte, b'-' | b'/' | b'#' | b'*') {
                return;
            }
            let Look::Comment(to) = look(self.text, self.at, self.rules, true) else { return };
            self.at = to;
        }
    }

    /// Moves past the next byte if it is `byte`. Returns `true` if so.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    /// Decodes a value.
    #[inline]
    pub(super) fn value(&mut self) -> Result<Literal, Undecoded> {
        let text = &**self.text;
        let at = self.at;
        let byte = *text.get(at).ok_or(Undecoded)?;
        match byte {
            b'\'' => self.string(),
            b'"' if self.rules.dialect == Dialect::MySql => self.string(),
            b'0' if matches!(text.get(at + 1), Some(b'x' | b'X')) => self.hexadecimal(),
            b'0'..=b'9' | b'.' | b'-' | b'+' => self.number(),
            b'E' | b'e' if text.get(at + 1) == Some(&b'\'') => {
                self.at += 1;
                self.escaped_string()
            }
            _ => self.word(),
        }
    }

    fn number(&mut self) -> Result<Literal, Undecoded> {
        let mut start = self.at;
        let mut negative = false;
        while let Some(sign @ (b'-' | b'+')) = self.text.get(start) {
            negative ^= *sign == b'-';
            start += 1;
            // `- 1` is an expression, and `--` begins a comment.
            if matches!(self.text.get(start), Some(b' ' | b'-' | b'+')) {
                return Err(Undecoded);
            }
        }
        if self.text.get(start) == Some(&b'0') && matches!(self.text.get(start + 1), Some(b'x' | b'X')) {
            return Err(Undecoded);
        }
        let digits = |from: usize| digits(self.text, from);
        let mut end = start + digits(start);
        let mut any = end > start;
        if self.text.get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            any |= fraction > 0;
            end += 1 + fraction;
        }
        if any && matches!(self.text.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.text.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent == 0 {
                return Err(Undecoded);
            }
            end += 1 + sign + exponent;
        }
        if !any || self.text.get(end).is_some_and(|&byte| is_word(byte) || byte == b'.') {
            return Err(Undecoded);
        }
        self.at = end;
        // The number's text includes its minus sign.
        let from = if negative { start - 1 } else { start };
        if self.rules.dialect == Dialect::Sqlite && self.text.get(end) == Some(&b'/') {
            return self.quotient(from);
        }
        Ok(Literal::Number { start: from, end })
    }

    /// Decodes a quotient such as `4503599627370496.0/2.0`: SQLite divides exactly if each divisor is a power of two.
    fn quotient(&mut self, from: usize) -> Result<Literal, Undecoded> {
        let is_number = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'/' | b'-');
        let end = from + self.text[from..].iter().take_while(is_number).count();
        let text = str::from_utf8(&self.text[from..end]).map_err(|_| Undecoded)?;
        let mut quotient = None;
        for number in text.split('/') {
            // Without a point, SQLite would divide integers, with another result.
            let real = number.parse::<f64>().ok().filter(|_| number.contains('.')).ok_or(Undecoded)?;
            quotient = match quotient {
                None => Some(real),
                Some(quotient) if is_power_of_two(real) => Some(quotient / real),
                Some(_) => return Err(Undecoded),
            };
        }
        if self.text.get(end).is_some_and(|&byte| is_word(byte)) {
            return Err(Undecoded);
        }
        self.at = end;
        quotient.map(Literal::Real).ok_or(Undecoded)
    }

    /// Decodes `0x1f`: an integer of SQLite or PostgreSQL, a blob of MySQL.
    fn hexadecimal(&mut self) -> Result<Literal, Undecoded> {
        let from = self.at + 2;
        let digits = self.text[from..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let end = from + digits;
        if digits == 0 || self.text.get(end).is_some_and(|&byte| is_word(byte)) {
            return Err(Undecoded);
        }
        self.at = end;
        match self.rules.dialect {
            Dialect::MySql => self.bytes_of_hex(from, end),
            _ => {
                let digits = str::from_utf8(&self.text[from..end]).map_err(|_| Undecoded)?;
                u64::from_str_radix(digits, 16)
                    .map(|bits| Literal::Int(bits.cast_signed()))
                    .map_err(|_| Undecoded)
            }
        }
    }

    /// Decodes pairs of hexadecimal digits in place, as a blob.
    fn bytes_of_hex(&mut self, from: usize, end: usize) -> Result<Literal, Undecoded> {
        if !(end - from).is_multiple_of(2) {
            return Err(Undecoded);
        }
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            b'A'..=b'F' => Ok(byte - b'A' + 10),
            _ => Err(Undecoded),
        };
        let bytes = (end - from) / 2;
        for index in 0..bytes {
            let (high, low) = (self.text[from + 2 * index], self.text[from + 2 * index + 1]);
            self.text[from + index] = digit(high)? << 4 | digit(low)?;
        }
        Ok(Literal::Blob { start: from, end: from + bytes })
    }

    /// Decodes a quoted string by the rules of the dump.
    fn string(&mut self) -> Result<Literal, Undecoded> {
        if self.rules.backslash_escapes {
            return self.escaped_string();
        }
        let quote = self.text[self.at];
        let start = self.at + 1;
        let mut to = start;
        // The end of the decoded text so far. A doubled quote becomes one quote, and the text after it moves forward.
        let mut kept = start;
        loop {
            let rest = &self.text[to..];
            let found = match rest.first_chunk().and_then(|near| first(near, [quote])) {
                Some(found) => found,
                None => memchr::memchr(quote, rest).ok_or(Undecoded)?,
            };
            if kept != to {
                self.text.copy_within(to..to + found, kept);
            }
            (kept, to) = (kept + found, to + found);
            if self.text.get(to + 1) != Some(&quote) {
                break;
            }
            self.text[kept] = quote;
            (kept, to) = (kept + 1, to + 2);
        }
        self.at = to + 1;
        Ok(Literal::Text { start, end: kept })
    }

    /// Decodes a string with escapes.
    fn escaped_string(&mut self) -> Result<Literal, Undecoded> {
        let quote = self.text[self.at];
        let start = self.at + 1;
        let (mut to, mut kept) = (start, start);
        loop {
            let rest = &self.text[to..];
            let plain = match rest.first_chunk().and_then(|near| first(near, [quote, b'\\'])) {
                Some(plain) => plain,
                None => memchr::memchr2(quote, b'\\', rest).ok_or(Undecoded)?,
            };
            if kept != to {
                self.text.copy_within(to..to + plain, kept);
            }
            (kept, to) = (kept + plain, to + plain);
            let byte = self.text[to];
            to += 1;
            let decoded = match byte {
                b'\\' => {
                    let escape = *self.text.get(to).ok_or(Undecoded)?;
                    to += 1;
                    match self.rules.dialect {
                        Dialect::Postgres => match self.postgres_escape(escape, &mut to)? {
                            Escaped::Byte(byte) => byte,
                            Escaped::Char(char) => {
                                let mut bytes = [0; 4];
                                for &byte in char.encode_utf8(&mut bytes).as_bytes() {
                                    self.text[kept] = byte;
                                    kept += 1;
                                }
                                continue;
                            }
                        },
                        _ => {
                            // MySQL keeps the backslash in `\%` and `\_`, which are escapes of LIKE patterns.
                            if matches!(escape, b'%' | b'_') {
                                self.text[kept] = b'\\';
                                kept += 1;
                            }
                            mysql_escape(escape)
                        }
                    }
                }
                _ => {
                    if self.text.get(to) != Some(&quote) {
                        break;
                    }
                    to += 1;
                    quote
                }
            };
            self.text[kept] = decoded;
            kept += 1;
        }
        self.at = to;
        Ok(Literal::Text { start, end: kept })
    }

    /// Decodes an escape of Postgres. `escape` is the byte after the backslash, and `to` the position after this byte.
    fn postgres_escape(&self, escape: u8, to: &mut usize) -> Result<Escaped, Undecoded> {
        let at = *to;
        let mut digits = |most: usize, radix: u32, from: usize| {
            let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
            let count = self.text[from..].iter().take(most).take_while(is_digit).count();
            let text = str::from_utf8(&self.text[from..from + count]).map_err(|_| Undecoded)?;
            let code = u32::from_str_radix(text, radix).map_err(|_| Undecoded)?;
            *to = from + count;
            Ok(code)
        };
        Ok(match escape {
            b'b' => Escaped::Byte(8),
            b'f' => Escaped::Byte(12),
            b'n' => Escaped::Byte(b'\n'),
            b'r' => Escaped::Byte(b'\r'),
            b't' => Escaped::Byte(b'\t'),
            b'0'..=b'7' => Escaped::Byte(digits(3, 8, at - 1)? as u8),
            b'x' if self.text.get(at).is_some_and(u8::is_ascii_hexdigit) => {
                Escaped::Byte(digits(2, 16, at)? as u8)
            }
            b'u' => Escaped::Char(char::from_u32(digits(4, 16, at)?).ok_or(Undecoded)?),
            b'U' => Escaped::Char(char::from_u32(digits(8, 16, at)?).ok_or(Undecoded)?),
            other => Escaped::Byte(other),
        })
    }

    /// Decodes a value that begins with a word.
    fn word(&mut self) -> Result<Literal, Undecoded> {
        let start = self.at;
        let bytes = self.text[start..].iter().take_while(|byte| is_word(**byte)).count();
        let word = self.text[start..start + bytes].to_ascii_uppercase();
        self.at += bytes;
        match &*word {
            b"NULL" => Ok(Literal::Null),
            b"TRUE" => Ok(Literal::Int(1)),
            b"FALSE" => Ok(Literal::Int(0)),
            b"DEFAULT" if self.rules.dialect != Dialect::Sqlite => Ok(Literal::Default),
            b"X" if self.text.get(self.at) == Some(&b'\'') => {
                let from = self.at + 1;
                let digits = memchr::memchr(b'\'', &self.text[from..]).ok_or(Undecoded)?;
                self.at = from + digits + 1;
                match self.rules.dialect {
                    // `X'1f'` of Postgres is a bit string, which is not decoded here.
                    Dialect::Postgres => Err(Undecoded),
                    _ => self.bytes_of_hex(from, from + digits),
                }
            }
            b"B" if self.text.get(self.at) == Some(&b'\'') => {
                let Literal::Text { start, end } = self.string()? else { return Err(Undecoded) };
                match self.rules.dialect {
                    Dialect::MySql => {
                        let digits = str::from_utf8(&self.text[start..end]).map_err(|_| Undecoded)?;
                        let bits = u64::from_str_radix(digits, 2).map_err(|_| Undecoded)?;
                        Ok(Literal::Int(bits.cast_signed()))
                    }
                    _ => Ok(Literal::Text { start, end }),
                }
            }
            b"N" if self.rules.dialect != Dialect::Sqlite && self.text.get(self.at) == Some(&b'\'') => {
                match (self.string()?, self.rules.dialect) {
                    // `N'...'` of Postgres is a CHAR, so blanks at the end are not part of the value.
                    (Literal::Text { start, end }, Dialect::Postgres) => {
                        let blanks = self.text[start..end].iter().rev().take_while(|byte| **byte == b' ');
                        Ok(Literal::Text { start, end: end - blanks.count() })
                    }
                    (literal, _) => Ok(literal),
                }
            }
            [b'_', ..] if self.rules.dialect == Dialect::MySql => {
                self.skip();
                match (self.value()?, &*word) {
                    (Literal::Text { start, end }, b"_BINARY") => Ok(Literal::Blob { start, end }),
                    (value, _) => Ok(value),
                }
            }
            b"UNISTR" => self.unistr(),
            b"REPLACE" => self.replace(),
            b"CAST" => self.cast(),
            _ => Err(Undecoded),
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Undecoded> {
        self.skip();
        if !self.eat(byte) {
            return Err(Undecoded);
        }
        self.skip();
        Ok(())
    }

    fn expect_word(&mut self, word: &str) -> Result<(), Undecoded> {
        self.skip();
        let found = self.text.get(self.at..self.at + word.len());
        if !found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes())) {
            return Err(Undecoded);
        }
        self.at += word.len();
        Ok(())
    }

    fn expect_text(&mut self) -> Result<(usize, usize), Undecoded> {
        match self.value()? {
            Literal::Text { start, end } => Ok((start, end)),
            _ => Err(Undecoded),
        }
    }

    /// Decodes `unistr('a\u000ab')`. Its escapes are `\XXXX`, `\uXXXX`, `\+XXXXXX`, `\UXXXXXXXX` and `\\`.
    fn unistr(&mut self) -> Result<Literal, Undecoded> {
        self.expect(b'(')?;
        let (start, end) = self.expect_text()?;
        self.expect(b')')?;
        let (mut to, mut kept) = (start, start);
        while to < end {
            let byte = self.text[to];
            to += 1;
            if byte != b'\\' {
                self.text[kept] = byte;
                kept += 1;
                continue;
            }
            let (skipped, digits) = match self.text[to..end] {
                [b'\\', ..] => {
                    self.text[kept] = b'\\';
                    (kept, to) = (kept + 1, to + 1);
                    continue;
                }
                [b'u', ..] => (1, 4),
                [b'+', ..] => (1, 6),
                [b'U', ..] => (1, 8),
                _ => (0, 4),
            };
            let from = to + skipped;
            let digits = self.text[..end].get(from..from + digits).ok_or(Undecoded)?;
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return Err(Undecoded);
            }
            to = from + digits.len();
            let digits = str::from_utf8(digits).map_err(|_| Undecoded)?;
            let code = u32::from_str_radix(digits, 16).map_err(|_| Undecoded)?;
            let char = char::from_u32(code).filter(|&char| char != '\0').ok_or(Undecoded)?;
            let mut bytes = [0; 4];
            for &byte in char.encode_utf8(&mut bytes).as_bytes() {
                self.text[kept] = byte;
                kept += 1;
            }
        }
        Ok(Literal::Text { start, end: kept })
    }

    /// Decodes `replace(TEXT,'\n',char(10))`: the second argument, of at least two bytes, is replaced by the character in the text.
    fn replace(&mut self) -> Result<Literal, Undecoded> {
        self.expect(b'(')?;
        let (start, end) = self.expect_text()?;
        self.expect(b',')?;
        let (from, to) = self.expect_text()?;
        self.expect(b',')?;
        self.expect_word("char")?;
        self.expect(b'(')?;
        let Literal::Number { start: digits, end: digits_end } = self.number()? else {
            return Err(Undecoded);
        };
        let code = str::from_utf8(&self.text[digits..digits_end]).ok().and_then(|code| code.parse().ok());
        let Some(code @ 1..=127_u8) = code else { return Err(Undecoded) };
        self.expect(b')')?;
        self.expect(b')')?;
        let old = self.text[from..to].to_vec();
        if old.is_empty() {
            return Err(Undecoded);
        }
        let (mut read, mut kept) = (start, start);
        while read < end {
            if self.text[read..end].starts_with(&old) {
                self.text[kept] = code;
                read += old.len();
            } else {
                self.text[kept] = self.text[read];
                read += 1;
            }
            kept += 1;
        }
        Ok(Literal::Text { start, end: kept })
    }

    /// Decodes `CAST(X'00' AS TEXT)`, which is how text with NUL bytes is written.
    fn cast(&mut self) -> Result<Literal, Undecoded> {
        self.expect(b'(')?;
        let Literal::Blob { start, end } = self.value()? else { return Err(Undecoded) };
        self.expect_word("as")?;
        self.expect_word("text")?;
        self.expect(b')')?;
        Ok(Literal::Text { start, end })
    }
}

fn is_power_of_two(real: f64) -> bool {
    const FRACTION_BITS: u64 = (1 << 52) - 1;
    real.is_normal() && real > 0.0 && real.to_bits() & FRACTION_BITS == 0
}

/// Returns the number of consecutive digits from `from` on.
#[inline]
fn digits(text: &[u8], from: usize) -> usize {
    const OF_ALL: u64 = u64::MAX / 0xff;
    let rest = &text[from..];
    let mut count = 0;
    while let Some(eight) = rest[count..].first_chunk() {
        let eight = u64::from_le_bytes(*eight) ^ (OF_ALL * 0x30);
        // Sets the top bit of the first byte that is not a digit. Top bits of later bytes may be wrong.
        let others = (eight.wrapping_add(OF_ALL * 0x76) | eight) & (OF_ALL * 0x80);
        if others != 0 {
            return count + others.trailing_zeros() as usize / 8;
        }
        count += 8;
    }
    count + rest[count..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The result of decoding an escape.
enum Escaped {
    Byte(u8),
    Char(char),
}

/// Decodes an escape of MySQL: `escape` is the byte after the backslash. A byte without a special meaning stands for itself.
fn mysql_escape(escape: u8) -> u8 {
    match escape {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{Dialect, Literal, Rules, Values, digits, mysql_escape};

    /// Decodes a string byte by byte, as a reference. Returns the text and the position after the closing quote.
    fn decoded(text: &[u8], backslash_escapes: bool) -> Option<(Vec<u8>, usize)> {
        let (mut decoded, mut at) = (Vec::new(), 1);
        loop {
            match (*text.get(at)?, text.get(at + 1)) {
                (b'\\', next) if backslash_escapes => {
                    let &escape = next?;
                    if matches!(escape, b'%' | b'_') {
                        decoded.push(b'\\');
                    }
                    decoded.push(mysql_escape(escape));
                    at += 2;
                }
                (quote, Some(&next)) if quote == text[0] && next == quote => {
                    decoded.push(quote);
                    at += 2;
                }
                (quote, _) if quote == text[0] => return Some((decoded, at + 1)),
                (byte, _) => {
                    decoded.push(byte);
                    at += 1;
                }
            }
        }
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(1000))]

        #[test]
        fn fast_string_decoding_equals_the_loop_over_bytes(
            quote in prop::sample::select(&b"'\""[..]),
            bytes in vec(prop_oneof![4 => b'a'..=b'z', 1 => prop::sample::select(&b"'\"\\%_0Z"[..]), 1 => any::<u8>()], 0..80),
            backslash_escapes: bool,
        ) {
            let mut text = [&[quote], &*bytes, b"',\")"].concat();
            let expected = decoded(&text, backslash_escapes);
            let rules = Rules { backslash_escapes, ..Dialect::MySql.rules() };
            let mut values = Values { text: &mut text, at: 0, rules };
            let found = match values.string() {
                Ok(Literal::Text { start, end }) => Some((values.text[start..end].to_vec(), values.at)),
                _ => None,
            };
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn fast_counting_of_digits_equals_the_loop_over_bytes(
            before in 0..10usize,
            number in "[0-9]{0,30}",
            after in vec(any::<u8>(), 0..20),
        ) {
            let text = [&vec![b'1'; before], number.as_bytes(), &after].concat();
            let counted = text[before..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            prop_assert_eq!(digits(&text, before), counted);
        }
    }
}
