//! The dialect of a file: its special characters.

use sqluice_core::error::{Error, Result};
use sqluice_core::setters;

use super::delimiter::{Delimiter, is_blank};

/// The special characters of a file. The quote, the escape and the comment character are one ASCII byte each. They differ (but the
/// escape may equal the quote), are no part of the delimiter, and end no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// The delimiter between fields.
    pub delimiter: Delimiter,
    /// The quote around fields; `None`: quotes are text.
    pub quote: Option<u8>,
    /// The escape: within quotes, the character behind the escape stands for itself. An escape that equals the quote adds nothing, as
    /// doubled quotes always work.
    pub escape: Option<u8>,
    /// `true` if the escape works outside of quotes, too, as in files of MySQL and PostgreSQL: see `meaning`. Without a quote, the escape
    /// always works so.
    pub escapes_unquoted: bool,
    /// The comment character: a line that begins with this character, where a record might begin, is a comment.
    pub comment: Option<u8>,
    /// The end of a record.
    pub line_end: LineEnd,
}

/// The end of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// LF, CRLF and CR.
    #[default]
    Any,
    /// CRLF alone: LF and CR by themselves are text.
    Crlf,
}

impl LineEnd {
    /// The words of the setting `line_end`, with their meanings.
    pub const WORDS: [(&str, LineEnd); 2] = [("any", LineEnd::Any), ("crlf", LineEnd::Crlf)];
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect {
            delimiter: Delimiter::COMMA,
            quote: Some(b'"'),
            escape: None,
            escapes_unquoted: false,
            comment: None,
            line_end: LineEnd::Any,
        }
    }
}

setters! { Dialect:
    /// Sets the delimiter between fields.
    delimiter(delimiter: impl Into<Delimiter>) = delimiter.into();
    /// Sets the quote around fields; `None`: fields are never quoted.
    quote(quote: impl Into<Option<u8>>) = quote.into();
    /// Sets the escape, which works within quotes, or anywhere if there is no quote.
    escape(escape: impl Into<Option<u8>>) = escape.into();
    /// Sets whether the escape works outside of quotes, too.
    escapes_unquoted(escapes_unquoted: bool) = escapes_unquoted;
    /// Sets the character that starts a comment line.
    comment(comment: impl Into<Option<u8>>) = comment.into();
    /// Sets the end of a record.
    line_end(line_end: LineEnd) = line_end;
}

impl Dialect {
    /// Returns the default dialect: commas and double quotes.
    pub fn new() -> Dialect {
        Dialect::default()
    }

    /// Checks that the special characters are valid and can be distinguished.
    ///
    /// # Errors
    /// When a character can't have its role, or would have two roles.
    pub fn check(&self) -> Result<()> {
        if let Some(end) = self.delimiter.as_bytes().iter().find(|byte| matches!(byte, b'\0' | b'\r' | b'\n'))
        {
            let found = char::from(*end);
            return Err(Error::usage(format!("{found:?} can't be the delimiter character"))
                .hint("choose another character: CR and LF end lines, and NUL is not text"));
        }
        let roles = [("quote", self.quote), ("escape", self.own_escape()), ("comment", self.comment)];
        for (index, &(role, byte)) in roles.iter().enumerate() {
            let Some(byte) = byte else { continue };
            let found = char::from(byte);
            if !byte.is_ascii() {
                return Err(Error::usage(format!("the {role} character is not ASCII: byte 0x{byte:02x}"))
                    .hint("choose an ASCII character, such as one that a keyboard for English has"));
            }
            if matches!(byte, b'\0' | b'\r' | b'\n') {
                return Err(Error::usage(format!("{found:?} can't be the {role} character"))
                    .hint("choose another character: CR and LF end lines, and NUL is not text"));
            }
            if self.is_in_delimiter(byte) {
                let message = format!("{found:?} can't be the delimiter and the {role} character at once");
                return Err(Error::usage(message).hint(format!("name another {role} character")));
            }
            if let Some((other, _)) = roles[..index].iter().find(|(_, other)| *other == Some(byte)) {
                let message = format!("{found:?} can't be the {other} and the {role} character at once");
                return Err(Error::usage(message).hint(format!("name another {role} character")));
            }
        }
        Ok(())
    }

    fn is_in_delimiter(&self, byte: u8) -> bool {
        self.delimiter.as_bytes().contains(&byte) || self.delimiter.is_whitespace() && is_blank(byte)
    }

    /// Returns the escape character, if it is not the quote.
    pub(super) fn own_escape(&self) -> Option<u8> {
        self.escape.filter(|_| self.escape != self.quote)
    }

    /// Returns the escape character, if it works outside of quotes.
    pub(super) fn unquoted_escape(&self) -> Option<u8> {
        self.own_escape().filter(|_| self.escapes_unquoted || self.quote.is_none())
    }

    /// Returns the unquoted field that is NULL, the escape and `N` (mostly `\N`), if the escape works outside of quotes.
    pub(super) fn null_mark(&self) -> Option<[u8; 2]> {
        self.unquoted_escape().map(|escape| [escape, b'N'])
    }

    /// Returns the special bytes of the dialect in the form that the parsers use.
    pub(super) fn marks(&self) -> Marks {
        Marks {
            delimiter: self.delimiter.first(),
            quote: self.quote.unwrap_or(NO_BYTE),
            escape: self.own_escape().unwrap_or(NO_BYTE),
            escapes_unquoted: self.unquoted_escape().is_some(),
            comment: self.comment,
            only_crlf: self.line_end == LineEnd::Crlf,
        }
    }
}

/// The byte that stands for a quote or escape that the dialect does not have. No finder looks for this byte.
const NO_BYTE: u8 = 0xff;

/// The special bytes of a dialect, in a form for hot loops: with only one `Option`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// The delimiter, or the first byte of a wide delimiter, which only [`Delimiter::bytes_at`] recognises.
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    pub(super) escape: u8,
    pub(super) escapes_unquoted: bool,
    pub(super) comment: Option<u8>,
    /// `true` if LF and CR by themselves are text.
    pub(super) only_crlf: bool,
}

/// Returns the control character that an escape and the character `escaped` mean, if the escape works outside of quotes; `None` if the
/// character stands for itself. MySQL writes `\0` and `\Z`, PostgreSQL writes the other ones.
pub(super) fn meaning(escaped: u8) -> Option<u8> {
    match escaped {
        b't' => Some(b'\t'),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b'b' => Some(0x08),
        b'f' => Some(0x0c),
        b'v' => Some(0x0b),
        b'0' => Some(0),
        b'Z' => Some(0x1a),
        _ => None,
    }
}

impl Marks {
    /// Returns `true` if the dialect has neither escape nor comment, and any line end ends a record. Most files are plain, and faster loops
    /// read them.
    pub(super) fn are_plain(&self) -> bool {
        self.escape == NO_BYTE && self.comment.is_none() && !self.only_crlf
    }

    /// Returns the byte to search for to find quotes: the quote, or LF, for which parsers search anyway, if there is no quote.
    pub(super) fn quote_needle(&self) -> u8 {
        if self.quote == NO_BYTE { b'\n' } else { self.quote }
    }

    /// Returns the byte to search for to find escapes: the escape, or LF, for which parsers search anyway, if there is no escape.
    pub(super) fn escape_needle(&self) -> u8 {
        if self.escape == NO_BYTE { b'\n' } else { self.escape }
    }

    /// Returns `true` if a line that begins at `at`, where a record might begin, is a comment.
    #[inline]
    pub(super) fn comment_at(&self, data: &[u8], at: usize) -> bool {
        self.comment.is_some() && data.get(at).copied() == self.comment
    }
}

#[cfg(test)]
mod tests {
    use super::{Delimiter, Dialect};
    use sqluice_core::error::ErrorKind;

    #[track_caller]
    fn refused(dialect: Dialect, message: &str) {
        let error = dialect.check().unwrap_err();
        assert_eq!((error.kind(), error.message().as_str()), (ErrorKind::Usage, message));
        assert!(error.remedy().is_some());
    }

    #[test]
    fn a_line_end_or_non_ascii_character_cannot_be_delimiter_quote_comment_or_escape() {
        let plain = Dialect::default();
        plain.check().unwrap();
        refused(Dialect { delimiter: b'\n'.into(), ..plain }, r"'\n' can't be the delimiter character");
        refused(Dialect { quote: Some(b'\r'), ..plain }, r"'\r' can't be the quote character");
        refused(Dialect { comment: Some(0), ..plain }, r"'\0' can't be the comment character");
        refused(Dialect { escape: Some(0xe9), ..plain }, "the escape character is not ASCII: byte 0xe9");
    }

    #[test]
    fn no_character_has_two_roles_except_a_quote_that_is_its_own_escape() {
        let plain = Dialect::default();
        let at_once = "can't be the delimiter and the comment character at once";
        refused(Dialect { comment: Some(b','), ..plain }, &format!("',' {at_once}"));
        let at_once = "can't be the quote and the comment character at once";
        refused(Dialect { comment: Some(b'"'), ..plain }, &format!("'\"' {at_once}"));
        Dialect { escape: Some(b'"'), ..plain }.check().unwrap();
    }

    #[test]
    fn no_part_of_a_long_delimiter_has_another_role() {
        let long = Dialect { delimiter: "|~".parse().unwrap(), ..Dialect::default() };
        long.check().unwrap();
        let message = "'~' can't be the delimiter and the quote character at once";
        refused(Dialect { quote: Some(b'~'), ..long }, message);
        let message = "'\\t' can't be the delimiter and the comment character at once";
        refused(Dialect { delimiter: Delimiter::WHITESPACE, comment: Some(b'\t'), ..long }, message);
    }

    #[test]
    fn an_escape_works_outside_of_quotes_if_no_quote_character_is_set_or_on_request() {
        let both = Dialect { escape: Some(b'\\'), ..Dialect::default() };
        assert_eq!(both.unquoted_escape(), None);
        assert_eq!(Dialect { escapes_unquoted: true, ..both }.unquoted_escape(), Some(b'\\'));
        let alone = Dialect { quote: None, ..both };
        alone.check().unwrap();
        assert_eq!(alone.unquoted_escape(), Some(b'\\'));
    }
}
