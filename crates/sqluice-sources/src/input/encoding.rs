//! The encoding of a text, named by the user or recognised by the first bytes.

use std::fmt;
use std::str::FromStr;

use encoding_rs::{Decoder, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use sqluice_core::error::{Error, Result};

/// The number of first bytes by which UTF-16 without a byte order mark is recognised.
pub(super) const HEAD_BYTES: usize = 10;

/// The length of a byte order mark that decides the encoding. The longer mark of UTF-8 does not count: parsers skip it.
const MARK_BYTES_MAX: usize = 2;

/// An encoding of the [WHATWG standard](https://encoding.spec.whatwg.org/#names-and-labels). It is parsed from a label of the standard:
/// `"latin1".parse()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    encoding: &'static encoding_rs::Encoding,
    /// `true` for the label `utf-16`: a byte order mark may decide the byte order.
    order_by_mark: bool,
}

impl Encoding {
    /// Returns the name of the encoding in the standard, such as `windows-1252` for the label `latin1`.
    pub fn name(&self) -> &'static str {
        self.encoding.name()
    }

    /// Returns the encoding of a text that begins with `head`, and the length of its byte order mark, which is not part of the text. `asked` is
    /// the encoding that the user names. An encoding of `None` means that the text needs no decoding, because it is UTF-8.
    pub(super) fn of_text(asked: Option<Encoding>, head: &[u8]) -> (Option<Encoding>, usize) {
        let marked = match head {
            [0xff, 0xfe, ..] => Some(UTF_16LE),
            [0xfe, 0xff, ..] => Some(UTF_16BE),
            _ => None,
        };
        if marked.is_none() && asked.is_none_or(|asked| asked.order_by_mark) {
            let encoding = utf_16_of(head).or(asked.map(|_| UTF_16LE));
            return (encoding.map(|encoding| Encoding { encoding, order_by_mark: false }), 0);
        }
        let encoding = match asked {
            Some(asked) if asked.order_by_mark => marked.or(Some(UTF_16LE)),
            Some(asked) => Some(asked.encoding),
            None => marked,
        };
        let Some(encoding) = encoding.filter(|encoding| *encoding != UTF_8) else { return (None, 0) };
        let mark_bytes = if marked == Some(encoding) { MARK_BYTES_MAX } else { 0 };
        (Some(Encoding { encoding, order_by_mark: false }), mark_bytes)
    }

    /// Returns `true` if each character is encoded in one byte.
    pub fn is_single_byte(&self) -> bool {
        self.encoding.is_single_byte()
    }

    /// Checks if `text`, which is read in this single-byte encoding, is valid UTF-8 with non-ASCII characters. If so, returns the first of these
    /// characters, and before it the characters that it was misread as. Returns `None` for any other text, and for encodings with several
    /// bytes a character. `whole` is `false` if more text follows.
    pub fn misread(&self, text: &[u8], whole: bool) -> Option<(String, char)> {
        let uncut = |bytes: &[u8]| match str::from_utf8(bytes) {
            Ok(_) => Some(bytes.len()),
            Err(error) if error.error_len().is_none() && !whole => Some(error.valid_up_to()),
            Err(_) => None,
        };
        let text = str::from_utf8(&text[..uncut(text)?]).ok().filter(|_| self.encoding.is_single_byte())?;
        let (raw, _, has_others) = self.encoding.encode(text);
        let as_utf_8 = str::from_utf8(&raw[..uncut(&raw)?]).ok().filter(|_| !has_others)?;
        let character = as_utf_8.chars().find(|character| !character.is_ascii())?;
        let mut bytes = [0; 4];
        let (read, _) =
            self.encoding.decode_without_bom_handling(character.encode_utf8(&mut bytes).as_bytes());
        Some((read.into_owned(), character))
    }

    /// Returns a decoder that does not handle byte order marks.
    pub(super) fn decoder(&self) -> Decoder {
        self.encoding.new_decoder_without_bom_handling()
    }
}

/// Returns the UTF-16 encoding of a text without a byte order mark, if its first characters are ASCII in UTF-16.
fn utf_16_of(head: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let is_ascii = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let units = head.as_chunks::<2>().0;
    let all = |is: fn(&[u8; 2]) -> (u8, u8)| {
        units.iter().map(is).all(|(character, zero)| zero == 0 && is_ascii(character))
    };
    if units.len() < 2 {
        None
    } else if all(|&[low, high]| (low, high)) {
        Some(UTF_16LE)
    } else if all(|&[high, low]| (low, high)) {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Returns the likely encoding of a text that is not UTF-8, for a hint.
pub fn likely(text: &[u8]) -> Option<&'static str> {
    const SIGNS: &str = "€–—‘’“”„…°§«»©®²³´·¿¡ºª\u{a0}";
    let (decoded, _) = WINDOWS_1252.decode_without_bom_handling(text);
    let is_likely = |character: char| character.is_alphabetic() || SIGNS.contains(character);
    // In Western European text, non-ASCII letters occur in runs of at most two. In other encodings, runs are longer.
    let runs = decoded.split(|character: char| character.is_ascii());
    let all = runs.clone().all(|run| run.chars().count() <= 2 && run.chars().all(is_likely));
    all.then_some("windows-1252")
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(label: &str) -> Result<Encoding> {
        let Some(encoding) = encoding_rs::Encoding::for_label_no_replacement(label.as_bytes()) else {
            return Err(Error::usage(format!("unknown encoding {label:?}")).hint(
                "known encodings include utf-8, utf-16, utf-16le, utf-16be, windows-1252, latin1, iso-8859-15, macintosh, \
                 koi8-r, shift_jis, euc-jp, gb18030, big5, euc-kr",
            ));
        };
        let order_by_mark = label.trim().eq_ignore_ascii_case("utf-16");
        Ok(Encoding { encoding, order_by_mark })
    }
}
