//! The encoding of a text: named by the user, or recognised by a byte order mark.

use std::fmt;
use std::str::FromStr;

use encoding_rs::{Decoder, UTF_8, UTF_16BE, UTF_16LE};

use sqluice_core::error::{Error, Result};

/// The longest mark, in bytes, that says how to decode. (That of UTF-8 says nothing new; the parsers skip it.)
pub(super) const MARK_BYTES_MAX: usize = 2;

/// An encoding of the [WHATWG standard](https://encoding.spec.whatwg.org/#names-and-labels), made from one of its labels:
/// `"latin1".parse()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    encoding: &'static encoding_rs::Encoding,
    /// `utf-16` alone does not give the byte order: a byte order mark may.
    order_by_mark: bool,
}

impl Encoding {
    /// Its name in the standard, where `latin1` is only another label of windows-1252.
    pub fn name(&self) -> &'static str {
        self.encoding.name()
    }

    /// How a text that begins with `head` must be decoded when `asked` for an encoding; and how many bytes the mark has,
    /// which is no part of the text. `None`: the text is taken as it is.
    pub(super) fn of_text(asked: Option<Encoding>, head: &[u8]) -> (Option<Encoding>, usize) {
        let marked = match head {
            [0xff, 0xfe, ..] => Some(UTF_16LE),
            [0xfe, 0xff, ..] => Some(UTF_16BE),
            _ => None,
        };
        let encoding = match asked {
            Some(asked) if asked.order_by_mark => marked.or(Some(UTF_16LE)),
            Some(asked) => Some(asked.encoding),
            None => marked,
        };
        let Some(encoding) = encoding.filter(|encoding| *encoding != UTF_8) else { return (None, 0) };
        let mark_bytes = if marked == Some(encoding) { MARK_BYTES_MAX } else { 0 };
        (Some(Encoding { encoding, order_by_mark: false }), mark_bytes)
    }

    /// A decoder of text without a mark.
    pub(super) fn decoder(&self) -> Decoder {
        self.encoding.new_decoder_without_bom_handling()
    }
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
