//! Formats of files that can't be loaded, recognised by their content, whatever the name of the file.
//!
//! Most files that people call CSV without being so are web pages, spreadsheets and archives. Each of these formats has a name here and a
//! remedy.
//!
//! | kind | recognised by | refused |
//! |---|---|---|
//! | binary data (`signatures`, `binary`) | the first bytes | always |
//! | markup (`markup`) | the first tag | unless the user names the format |
//! | text that is no table (`documents`, `mail`, `settings`, `logs`) | several signs in the first lines | unless the user names the format, or gives a setting of CSV |
//!
//! Invariant: text that a delimiter parts consistently is a table, also if its lines look like settings or messages. Text with one sign of
//! such a format is a table, too: a column may have any text.

mod binary;
mod documents;
mod logs;
mod mail;
mod markup;
mod settings;
mod signatures;
#[cfg(test)]
mod tests;
mod zipped;

use std::path::Path;

use sqluice_core::error::{Error, Place, Setting, message};

use self::binary::is_binary;
pub(super) use self::binary::is_likely;
use self::signatures::{SNAPPY, ZLIB};

/// The number of bytes that show whether more are needed: a pipe may give no more for a long time.
pub(super) const MAGIC_BYTES_MAX: usize = 10;

/// The number of bytes that show the format, also the format within a ZIP file, by its first entries.
pub(super) const HEAD_BYTES: usize = 4096;

/// The name of a database that can't be read at any offset.
pub const DATABASE_IN_STREAM: &str = "a SQLite database in a stream or in compressed data";

/// A format that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The name with its article: `a PDF file`.
    pub(crate) name: &'static str,
    /// The remedy, for the hint of the error.
    remedy: &'static str,
    /// `true` if the user may load the lines of the file all the same.
    has_lines: bool,
}

impl Foreign {
    /// Creates a format that is no table whatever the user says.
    const fn certain(name: &'static str, remedy: &'static str) -> Foreign {
        Foreign { name, remedy, has_lines: false }
    }

    /// Creates a format of text, whose lines the user may load all the same.
    const fn text(name: &'static str, remedy: &'static str) -> Foreign {
        Foreign { name, remedy, has_lines: true }
    }

    /// Returns `true` for a workbook, which is read if its name or its first parts show what it is.
    #[cfg(feature = "archives")]
    pub(super) fn is_workbook(self) -> bool {
        self == zipped::SPREADSHEET || self == zipped::WORKBOOK
    }

    /// Returns the error for a file of this format.
    pub fn error(self, file: &Path) -> Error {
        let error = Error::unread_format(self.name).at(Place::file(file));
        match self.has_lines {
            true => error.hint(message![
                self.remedy,
                "; ",
                Setting::Delimiter.to("none"),
                " loads each line as a row of one column",
            ]),
            false => error.hint(self.remedy),
        }
    }
}

const OTHER_SETTING: &str = "leave out the setting that names another format";
const SHEET: &str = "save the sheet as CSV in a spreadsheet program, and load that";
const ARCHIVE: &str = "extract it, and load the files in it";

/// Returns the format of a file that begins with `head`, if the format has a signature. [`HEAD_BYTES`] bytes are enough.
pub(super) fn of_bytes(head: &[u8]) -> Option<Foreign> {
    binary::of_bytes(head)
}

/// Returns `true` if a file begins as a tar archive, and not as one with a format of its own. [`HEAD_BYTES`] bytes are enough.
#[cfg(feature = "archives")]
pub(super) fn is_tar_archive(head: &[u8]) -> bool {
    binary::of_tar(head) == Some(binary::TAR)
}

/// Returns `true` if a ZIP file that begins with `head` is a document of a program, by the names of its first entries.
#[cfg(feature = "archives")]
pub(super) fn is_zip_document(head: &[u8]) -> bool {
    zipped::of_head(head).is_some()
}

/// Returns the document that a ZIP file is, by the names of all its entries.
#[cfg(feature = "archives")]
pub(super) fn of_zip_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<Foreign> {
    zipped::of_names(names)
}

/// A kind of workbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workbook {
    /// Office Open XML.
    Xlsx,
    /// The binary format of Excel since 2007.
    Xlsb,
    /// OpenDocument.
    Ods,
    /// A compound file, as Excel wrote before 2007. Word and PowerPoint wrote such files, too.
    Compound,
}

/// The extensions of workbooks, in lower case.
const WORKBOOK_EXTENSIONS: [&str; 9] = ["xlsx", "xlsm", "xltx", "xltm", "xlsb", "ods", "ots", "xls", "xlt"];

/// Returns the kind of a workbook that begins with `head`, if its first parts show it.
pub fn workbook_of(head: &[u8]) -> Option<Workbook> {
    binary::workbook_of(head)
}

/// Returns `true` if a file is a workbook by its first bytes or, if it is a ZIP file of an unknown kind, by its name.
pub(super) fn is_workbook(head: &[u8], name: &Path) -> bool {
    workbook_of(head).is_some() || binary::is_unknown_zip(head) && is_named_as_workbook(name)
}

/// Returns `true` if a file has the extension of a workbook, perhaps before that of a compression.
pub(super) fn is_named_as_workbook(name: &Path) -> bool {
    let name = name.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    name.rsplit('.').take(2).any(|part| WORKBOOK_EXTENSIONS.contains(&part))
}

/// Returns the format of binary data without a signature, by the extension of its file.
pub fn of_extension(extension: &str, head: &[u8]) -> Option<Foreign> {
    let foreign = match extension {
        "zlib" | "zz" => ZLIB,
        "sz" | "snappy" => SNAPPY,
        _ => return None,
    };
    is_binary(head).then_some(foreign)
}

/// Returns the format of a text that begins with these bytes, if the text is markup or a tar archive. Text that may be rows has none.
pub fn of_text(head: &[u8]) -> Option<Foreign> {
    if let Some(archive) = binary::of_tar(head) {
        return Some(archive);
    }
    markup::of_start(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start())
}

/// Returns the format of a text whose first lines are no rows. `whole`: `head` is the whole file. `extension` is the file's, in lower case.
/// `is_table` returns `true` for a text that a delimiter parts consistently.
pub fn of_lines(
    head: &[u8],
    whole: bool,
    extension: &str,
    is_table: &dyn Fn(&[u8]) -> bool,
) -> Option<Foreign> {
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    // The last line of a sample may be cut off.
    let complete = if whole { &text[..] } else { &text[..text.rfind(['\n', '\r']).map_or(0, |end| end + 1)] };
    let lines: Vec<&str> = complete.lines().collect();
    let exact = documents::of_lines(&lines, extension)
        .or_else(|| mail::of_lines(&lines, extension))
        .or_else(|| logs::of_lines(&lines, extension, is_table))
        .or_else(|| markup::of_shape(&text, whole));
    exact.or_else(|| settings::of_lines(&lines, extension).filter(|_| !is_table(head)))
}

/// Returns the number of bytes of `text` that match a pattern: `d` is a digit, `M` a letter, and any other character itself.
fn pattern(text: &str, pattern: &str) -> Option<usize> {
    let start = text.as_bytes().get(..pattern.len())?;
    let fits = |(byte, expected): (&u8, u8)| match expected {
        b'd' => byte.is_ascii_digit(),
        b'M' => byte.is_ascii_alphabetic(),
        other => *byte == other,
    };
    start.iter().zip(pattern.bytes()).all(fits).then_some(pattern.len())
}
