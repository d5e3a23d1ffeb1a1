//! Settings of formats.

use sqluice_core::error::Setting;
use sqluice_core::setters;

use super::FileFormat;
use crate::csv::Delimiter;
use crate::input::Encoding;
use crate::json::RecordsPath;

/// How files are written. What is `None` is recognised. All settings but `format`, `encoding` and `records` are about CSV.
///
/// ```
/// use sqluice_sources::formats::FormatOptions;
///
/// let format = FormatOptions::new().delimiter(b';').header(true).null(["NA", "-"]);
/// assert_eq!(format.header, Some(true));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FormatOptions {
    /// The format; `None`: the one that names and first bytes of the files say.
    pub format: Option<&'static FileFormat>,
    /// Between fields.
    pub delimiter: Option<Delimiter>,
    /// Around fields; `Some(None)`: nothing is.
    pub quote: Option<Option<u8>>,
    /// Within quotes, makes the next character stand for itself; `Some(None)`: nothing does.
    pub escape: Option<Option<u8>>,
    /// Lines that begin with it are skipped; `Some(None)`: none is.
    pub comment: Option<Option<u8>>,
    /// The first record names the columns.
    pub header: Option<bool>,
    /// Lines to skip at the start; `Some(0)`: the first line belongs to the table.
    pub skip_lines: Option<u64>,
    /// Unquoted fields that are NULL, besides the empty one.
    pub null: Vec<String>,
    /// An unquoted empty field is empty text.
    pub empty_as_text: bool,
    /// Fields that are missing at the end of a record are NULL; otherwise such a row is bad, as one with too many fields always is.
    pub pad: bool,
    /// A quote inside an unquoted field makes a bad row; otherwise it is a character like any other.
    pub strict_quotes: bool,
    /// The array of records in a JSON document that is one object; `None`: the file is an array, or objects.
    pub records: Option<RecordsPath>,
    /// The encoding; `None`: UTF-8, or what the byte order mark says.
    pub encoding: Option<Encoding>,
}

setters! { FormatOptions:
    /// Sets what the files are, instead of recognising it by their names and first bytes.
    format(format: impl Into<Option<&'static FileFormat>>) = format.into();
    /// Sets the delimiter between fields.
    delimiter(delimiter: impl Into<Delimiter>) = Some(delimiter.into());
    /// Sets the quote around fields; `None`: fields are never quoted.
    quote(quote: impl Into<Option<u8>>) = Some(quote.into());
    /// Sets the character that escapes the next one within quotes; `None`: no character does.
    escape(escape: impl Into<Option<u8>>) = Some(escape.into());
    /// Sets the character that starts a comment line; `None`: no line is a comment.
    comment(comment: impl Into<Option<u8>>) = Some(comment.into());
    /// States whether the first record names the columns; `None`: this is recognised.
    header(header: impl Into<Option<bool>>) = header.into();
    /// Sets the number of lines to skip at the start; `None`: this is recognised.
    skip_lines(lines: impl Into<Option<u64>>) = lines.into();
    /// Sets the unquoted texts that are NULL, besides the empty one.
    null(texts: impl IntoIterator<Item = impl Into<String>>) = texts.into_iter().map(Into::into).collect();
    /// Reads an unquoted empty field as empty text, not as NULL.
    empty_as_text(empty_as_text: bool) = empty_as_text;
    /// Fills fields that are missing at the end of a record with NULL.
    pad(pad: bool) = pad;
    /// Treats a quote inside an unquoted field as an error of its row.
    strict_quotes(strict: bool) = strict;
    /// Sets where the array of records is in a JSON document that is one object.
    records(path: impl Into<Option<RecordsPath>>) = path.into();
    /// Sets the encoding, instead of UTF-8 or what the byte order mark says.
    encoding(encoding: impl Into<Option<Encoding>>) = encoding.into();
}

impl FormatOptions {
    /// Recognises everything.
    pub fn new() -> FormatOptions {
        FormatOptions::default()
    }

    /// Returns the settings that are given and that not every format understands.
    pub(super) fn given(&self) -> impl Iterator<Item = Setting> {
        let FormatOptions { delimiter, quote, escape, comment, header, skip_lines, null, .. } = self;
        let given = [
            (Setting::Records, self.records.is_some()),
            (Setting::Delimiter, delimiter.is_some()),
            (Setting::Quote, quote.is_some()),
            (Setting::Escape, escape.is_some()),
            (Setting::Comment, comment.is_some()),
            (Setting::Header, *header == Some(true)),
            (Setting::NoHeader, *header == Some(false)),
            (Setting::SkipLines, skip_lines.is_some()),
            (Setting::Null, !null.is_empty()),
            (Setting::EmptyAsText, self.empty_as_text),
            (Setting::Pad, self.pad),
            (Setting::StrictQuotes, self.strict_quotes),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(setting, _)| setting)
    }
}
