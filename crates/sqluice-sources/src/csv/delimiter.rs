//! The delimiter between fields: one character, several characters, or a run of blanks.

use std::fmt;
use std::str::FromStr;

use sqluice_core::error::{Error, Result};

/// The longest delimiter, in bytes.
pub const DELIMITER_BYTES_MAX: usize = 16;

/// The delimiter of a file with one column: a byte that UTF-8 never has.
const NEVER: u8 = 0xfe;

/// The delimiter between fields: any text of up to 16 bytes, a run of blanks (spaces and tabs), or nothing.
///
/// ```
/// use sqluice_sources::csv::Delimiter;
///
/// assert_eq!("||".parse::<Delimiter>().unwrap().words(), "delimiter ||");
/// assert_eq!("whitespace".parse::<Delimiter>().unwrap(), Delimiter::WHITESPACE);
/// assert_eq!(Delimiter::from(b','), Delimiter::COMMA);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delimiter {
    bytes: [u8; DELIMITER_BYTES_MAX],
    len: u8,
    blanks: bool,
}

impl Delimiter {
    /// `,`
    pub const COMMA: Delimiter = Delimiter::of(b',');
    /// A tab.
    pub const TAB: Delimiter = Delimiter::of(b'\t');
    /// `;`
    pub const SEMICOLON: Delimiter = Delimiter::of(b';');
    /// `|`
    pub const PIPE: Delimiter = Delimiter::of(b'|');
    /// `||`
    pub(super) const PIPES: Delimiter = Delimiter::pair(b'|', b'|');
    /// `::`
    pub(super) const COLONS: Delimiter = Delimiter::pair(b':', b':');
    /// `:`
    pub(super) const COLON: Delimiter = Delimiter::of(b':');
    /// One space.
    pub const SPACE: Delimiter = Delimiter::of(b' ');
    /// A run of spaces and tabs. Blanks at the start and the end of a line separate nothing.
    pub const WHITESPACE: Delimiter = Delimiter { blanks: true, ..Delimiter::of(b' ') };
    /// No delimiter: each line is one field.
    pub const NONE: Delimiter = Delimiter::of(NEVER);

    const fn of(byte: u8) -> Delimiter {
        let mut bytes = [0; DELIMITER_BYTES_MAX];
        bytes[0] = byte;
        Delimiter { bytes, len: 1, blanks: false }
    }

    const fn pair(first: u8, second: u8) -> Delimiter {
        let mut bytes = [0; DELIMITER_BYTES_MAX];
        (bytes[0], bytes[1]) = (first, second);
        Delimiter { bytes, len: 2, blanks: false }
    }

    /// Returns this delimiter with text before and after it, if the result is a valid delimiter of at most [`DELIMITER_BYTES_MAX`] bytes.
    pub(super) fn within(&self, before: &[u8], after: &[u8]) -> Option<Delimiter> {
        let text = [before, self.as_bytes(), after].concat();
        str::from_utf8(&text).ok()?.parse().ok()
    }

    /// Returns the delimiter as it stands in the file; a space for [`Delimiter::WHITESPACE`].
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Returns the first byte of the delimiter; a space for whitespace.
    pub(super) fn first(&self) -> u8 {
        self.bytes[0]
    }

    /// Returns `true` if the delimiter is a run of blanks.
    pub fn is_whitespace(&self) -> bool {
        self.blanks
    }

    /// Returns `true` if the delimiter may have more than one byte. Hot loops look for a single byte.
    pub(super) fn is_wide(&self) -> bool {
        self.blanks || self.len > 1
    }

    /// Returns the number of bytes of the delimiter at the start of `text`, or 0 if `text` does not begin with a delimiter.
    #[inline]
    pub(super) fn bytes_at(&self, text: &[u8]) -> usize {
        if self.blanks {
            return text.iter().take_while(|&&byte| is_blank(byte)).count();
        }
        if text.starts_with(self.as_bytes()) { usize::from(self.len) } else { 0 }
    }

    /// Returns the number of bytes before the first name in a header that is a comment: `#` and the blanks behind it. Returns 0 if nothing
    /// precedes the first delimiter but these, as in `#,name`: then `#` itself is a name.
    pub(super) fn comment_sign_bytes(&self, header: &[u8]) -> usize {
        let Some(names) = header.strip_prefix(b"#") else { return 0 };
        let is_delimiter = |at: usize| !self.is_whitespace() && self.bytes_at(&names[at..]) > 0;
        let first = (0..names.len()).find(|&at| is_delimiter(at) || !is_blank(names[at]));
        first.filter(|&at| !is_delimiter(at)).map_or(0, |at| 1 + at)
    }

    /// Returns the delimiter in words, for a plan: `comma`, `delimiter ||`.
    pub fn words(&self) -> String {
        match *self {
            Delimiter::COMMA => "comma".to_owned(),
            Delimiter::TAB => "tab".to_owned(),
            Delimiter::SEMICOLON => "semicolon".to_owned(),
            Delimiter::PIPE => "pipe".to_owned(),
            Delimiter::SPACE => "space".to_owned(),
            Delimiter::WHITESPACE => "whitespace".to_owned(),
            Delimiter::NONE => "one column".to_owned(),
            other => format!("delimiter {}", other.shown()),
        }
    }

    /// Returns the delimiter as the user would give it.
    pub fn setting(&self) -> String {
        match *self {
            Delimiter::WHITESPACE => "whitespace".to_owned(),
            Delimiter::NONE => "none".to_owned(),
            Delimiter::TAB => "tab".to_owned(),
            other => String::from_utf8_lossy(other.as_bytes()).replace('\t', "\\t"),
        }
    }

    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(self.as_bytes());
        let quoted = text.starts_with(' ') || text.ends_with(' ');
        let shown: String = text
            .chars()
            .map(|character| match character {
                '\t' => "\\t".to_owned(),
                control if control.is_control() => format!("\\x{:02x}", u32::from(control)),
                other => other.to_string(),
            })
            .collect();
        if quoted { format!("{shown:?}") } else { shown }
    }
}

/// Returns `true` if `byte` is a blank: a space or a tab.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

impl From<u8> for Delimiter {
    fn from(byte: u8) -> Delimiter {
        Delimiter::of(byte)
    }
}

impl FromStr for Delimiter {
    type Err = Error;

    /// Parses `tab`, `whitespace`, `none`, or any other text of 1 to 16 bytes without line ends and NUL, in which `\t` is a tab.
    fn from_str(text: &str) -> Result<Delimiter> {
        let text = match text {
            "whitespace" => return Ok(Delimiter::WHITESPACE),
            "none" => return Ok(Delimiter::NONE),
            "tab" => "\t",
            other => other,
        };
        let text = text.replace("\\t", "\t");
        if text.is_empty() || text.len() > DELIMITER_BYTES_MAX || text.contains(['\n', '\r', '\0']) {
            return Err(Error::usage(format!("{text:?} can't be a delimiter")).hint(format!(
                "give 1 to {DELIMITER_BYTES_MAX} bytes of text without line ends, or one of the words tab, whitespace, none"
            )));
        }
        let mut bytes = [0; DELIMITER_BYTES_MAX];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Delimiter { bytes, len: text.len() as u8, blanks: false })
    }
}

impl fmt::Debug for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::Delimiter;

    #[test]
    fn any_text_without_a_line_end_can_be_a_delimiter() {
        for (text, words) in [
            (",", "comma"),
            ("\\t", "tab"),
            ("tab", "tab"),
            ("||", "delimiter ||"),
            (", ", "delimiter \", \""),
            ("¦", "delimiter ¦"),
            ("\\t\\t", "delimiter \\t\\t"),
            ("whitespace", "whitespace"),
            ("none", "one column"),
            ("\x1f", "delimiter \\x1f"),
        ] {
            let delimiter = text.parse::<Delimiter>().unwrap();
            assert_eq!(delimiter.words(), words);
            assert_eq!(delimiter.setting().parse::<Delimiter>().unwrap(), delimiter, "{words}");
        }
        for text in ["", "a\nb", "\r", "\0", "12345678901234567"] {
            assert!(text.parse::<Delimiter>().unwrap_err().remedy().is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_run_of_blanks_is_one_delimiter() {
        assert_eq!(Delimiter::WHITESPACE.bytes_at(b" \t x"), 3);
        assert_eq!(Delimiter::SPACE.bytes_at(b"  x"), 1);
        assert_eq!("||".parse::<Delimiter>().unwrap().bytes_at(b"|x"), 0);
    }
}
