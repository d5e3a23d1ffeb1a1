//! The user's settings about the format of files.

use sqluice_core::error::{Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::setters;

use super::FileFormat;
use super::address::CellRange;
use crate::csv::{Delimiter, LineEnd};
use crate::input::Encoding;
use crate::json::RecordsPath;

/// Settings about the format of files. A setting that is `None` is recognised from the files, unless its description says otherwise. All
/// settings but `format`, `encoding`, `records`, `lenient_json`, and those of spreadsheets are about CSV. `header` and `skip_lines` apply
/// to spreadsheets, too.
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
    /// The format; `None`: it is recognised from the name and the first bytes of each file.
    pub format: Option<&'static FileFormat>,
    /// The delimiter between fields.
    pub delimiter: Option<Delimiter>,
    /// The quote around fields; `Some(None)`: fields are never quoted.
    pub quote: Option<Option<u8>>,
    /// The character that escapes the next character: within quotes or, in files without quotes, anywhere; `Some(None)`: there is none.
    pub escape: Option<Option<u8>>,
    /// The character that begins a comment line, which is skipped; `Some(None)`: no line is a comment.
    pub comment: Option<Option<u8>>,
    /// The end of a record; `None`: it is detected.
    pub line_end: Option<LineEnd>,
    /// `true` if the first record names the columns; `None`: it is detected.
    pub header: Option<bool>,
    /// The number of lines to skip at the start; `None`: lines before the table, such as a title, are recognised and skipped. So `Some(0)`
    /// skips nothing.
    pub skip_lines: Option<u64>,
    /// Unquoted fields that are NULL, in addition to the empty field.
    pub null: Vec<String>,
    /// `true` if blanks around unquoted fields are removed.
    pub trim: bool,
    /// `true` if rows of empty fields at the end of a file are kept. By default they are left out, unless the table exists or is declared
    /// with several columns.
    pub keep_empty_rows: bool,
    /// `true` if an unquoted empty field is empty text, not NULL.
    pub empty_as_text: bool,
    /// `true` if fields that are missing at the end of a record are NULL. By default, a record with missing fields is a bad row. A record with
    /// too many fields always is.
    pub pad: bool,
    /// `true` if a quote inside an unquoted field makes a bad row, and so does a quoted field whose lines could be rows. By default, the quote is
    /// an ordinary character and the field is a value, with a warning.
    pub strict_quotes: bool,
    /// The path of the array of records in a JSON document that is one object; `None`: the document is an array or a sequence of objects.
    pub records: Option<RecordsPath>,
    /// `true` if `NaN` in JSON is NULL, `Infinity` is a float, and half of a surrogate pair is U+FFFD. By default, a record with
    /// one of these values is bad.
    pub lenient_json: bool,
    /// The sheets of a workbook to load, by their names or, if no sheet has the name, by their numbers, counted from 1; if empty, all sheets
    /// that are not hidden.
    pub sheets: Vec<String>,
    /// The cells of a sheet to load; `None`: all cells.
    pub range: Option<CellRange>,
    /// `true` if a formula without a stored value is NULL. By default, its row is bad.
    pub formulas_are_null: bool,
    /// The encoding; `None`: the encoding that the byte order mark names, UTF-16 if the first characters look like it, or else UTF-8.
    pub encoding: Option<Encoding>,
}

setters! { FormatOptions:
    /// Sets the format of the files, instead of recognising it by their names and first bytes.
    format(format: impl Into<Option<&'static FileFormat>>) = format.into();
    /// Sets the delimiter between fields.
    delimiter(delimiter: impl Into<Delimiter>) = Some(delimiter.into());
    /// Sets the quote around fields; `None`: fields are never quoted.
    quote(quote: impl Into<Option<u8>>) = Some(quote.into());
    /// Sets the character that escapes the next character within quotes, and anywhere in files without quotes; `None`: no escapes.
    escape(escape: impl Into<Option<u8>>) = Some(escape.into());
    /// Sets the character that starts a comment line; `None`: no line is a comment.
    comment(comment: impl Into<Option<u8>>) = Some(comment.into());
    /// Sets the end of a record.
    line_end(line_end: impl Into<Option<LineEnd>>) = line_end.into();
    /// States whether the first record names the columns; `None` if the first records of each file decide.
    header(header: impl Into<Option<bool>>) = header.into();
    /// Sets the number of lines to skip at the start; `None` if the first lines of each file decide.
    skip_lines(lines: impl Into<Option<u64>>) = lines.into();
    /// Sets the unquoted texts that are NULL, in addition to the empty text.
    null(texts: impl IntoIterator<Item = impl Into<String>>) = texts.into_iter().map(Into::into).collect();
    /// Removes blanks around unquoted fields.
    trim(trim: bool) = trim;
    /// Keeps rows of empty fields at the end of a file.
    keep_empty_rows(keep: bool) = keep;
    /// Reads an unquoted empty field as empty text, not as NULL.
    empty_as_text(empty_as_text: bool) = empty_as_text;
    /// Fills fields that are missing at the end of a record with NULL.
    pad(pad: bool) = pad;
    /// Treats a quote inside an unquoted field, and a quoted field whose lines could be rows, as an error of the row.
    strict_quotes(strict: bool) = strict;
    /// Sets the path of the array of records in a JSON document that is one object.
    records(path: impl Into<Option<RecordsPath>>) = path.into();
    /// Reads `NaN` in JSON as NULL, `Infinity` as a float, and half of a surrogate pair as U+FFFD.
    lenient_json(lenient: bool) = lenient;
    /// Sets the sheets of a workbook that are loaded, by their names or numbers.
    sheets(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Sets the cells of a sheet that are loaded.
    range(range: impl Into<Option<CellRange>>) = range.into();
    /// Reads a formula as NULL if the file does not store its value.
    formulas_are_null(are_null: bool) = are_null;
    /// Sets the encoding, instead of the encoding that is recognised, or UTF-8.
    encoding(encoding: impl Into<Option<Encoding>>) = encoding.into();
}

impl TakesSettings for FormatOptions {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        let text = || value.to::<String>();
        match setting {
            Setting::Format => self.format = Some(text()?.parse()?),
            Setting::Delimiter => self.delimiter = Some(text()?.parse()?),
            Setting::Quote => self.quote = Some(value.to()?),
            Setting::Escape => self.escape = Some(value.to()?),
            Setting::Comment => self.comment = Some(value.to()?),
            Setting::LineEnd => self.line_end = Some(value.word(setting, &LineEnd::WORDS)?),
            Setting::Header => self.header = Some(value.to()?),
            Setting::NoHeader => self.header = Some(!value.to::<bool>()?),
            Setting::SkipLines => self.skip_lines = Some(value.to()?),
            Setting::Null => self.null = value.to()?,
            Setting::Trim => self.trim = value.to()?,
            Setting::KeepEmptyRows => self.keep_empty_rows = value.to()?,
            Setting::EmptyAsText => self.empty_as_text = value.to()?,
            Setting::Pad => self.pad = value.to()?,
            Setting::StrictQuotes => self.strict_quotes = value.to()?,
            Setting::Encoding => self.encoding = Some(text()?.parse()?),
            Setting::LenientJson => self.lenient_json = value.to()?,
            Setting::Sheet => self.sheets = value.to()?,
            Setting::Range => self.range = Some(text()?.parse()?),
            Setting::Formulas => {
                self.formulas_are_null = value.word(setting, &[("value", false), ("null", true)])?;
            }
            Setting::Records => self.records = Some(RecordsPath::parse(&text()?)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl FormatOptions {
    /// Creates options with which every property of a file is recognised.
    pub fn new() -> FormatOptions {
        FormatOptions::default()
    }

    /// Returns the settings that the user gives and that not every format has.
    pub(super) fn given(&self) -> impl Iterator<Item = Setting> {
        let FormatOptions { delimiter, quote, escape, comment, header, skip_lines, null, .. } = self;
        let given = [
            (Setting::Records, self.records.is_some()),
            (Setting::LenientJson, self.lenient_json),
            (Setting::Sheet, !self.sheets.is_empty()),
            (Setting::Range, self.range.is_some()),
            (Setting::Formulas, self.formulas_are_null),
            (Setting::Delimiter, delimiter.is_some()),
            (Setting::Quote, quote.is_some()),
            (Setting::Escape, escape.is_some()),
            (Setting::Comment, comment.is_some()),
            (Setting::LineEnd, self.line_end.is_some()),
            (Setting::Header, *header == Some(true)),
            (Setting::NoHeader, *header == Some(false)),
            (Setting::SkipLines, skip_lines.is_some()),
            (Setting::Null, !null.is_empty()),
            (Setting::Trim, self.trim),
            (Setting::KeepEmptyRows, self.keep_empty_rows),
            (Setting::EmptyAsText, self.empty_as_text),
            (Setting::Pad, self.pad),
            (Setting::StrictQuotes, self.strict_quotes),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(setting, _)| setting)
    }
}
