//! Formats of files that can't be loaded. They are recognised by their content, whatever the name of the file is.
//!
//! Files that are called CSV, but are not, are mostly web pages, spreadsheets and archives. For each of these formats, the error names the
//! format and says what to do.
//!
//! | kind | recognised by | an error |
//! |---|---|---|
//! | binary data (`signatures`, `binary`) | the first bytes | always |
//! | markup (`markup`) | the first tag | unless the user names the format |
//! | text that is not a table (`documents`, `mail`, `settings`, `logs`) | several signs in the first lines | unless the user names the format, or gives a setting of CSV |
//!
//! Invariant: text that a delimiter splits consistently is a table, even if its lines look like settings or log messages. Text with a single
//! sign of another format is a table, too, because a column may contain any text.

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

/// The number of first bytes that show if more bytes are needed. A pipe may have no further bytes for a long time.
pub(super) const MAGIC_BYTES_MAX: usize = 10;

/// The number of first bytes that are enough to recognise a format. In a ZIP file they contain the names of the first entries.
pub(super) const HEAD_BYTES: usize = 4096;

/// The name for messages of a database that can't be read at any offset.
pub const DATABASE_IN_STREAM: &str = "a SQLite database in a stream or in compressed data";

/// A format that can be recognised, but not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The name with its article: `a PDF file`.
    pub(crate) name: &'static str,
    /// The hint of the error: what the user can do.
    remedy: &'static str,
    /// `true` if the user may load the lines of the file anyway.
    has_lines: bool,
}

impl Foreign {
    /// Creates a format that is never a table.
    const fn certain(name: &'static str, remedy: &'static str) -> Foreign {
        Foreign { name, remedy, has_lines: false }
    }

    /// Creates a format of text, whose lines the user may load anyway.
    const fn text(name: &'static str, remedy: &'static str) -> Foreign {
        Foreign { name, remedy, has_lines: true }
    }

    /// Returns `true` for a workbook, which can be read if its name or its first entries show its format.
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

/// Returns the format of a file by its first bytes, if the format has a signature. [`HEAD_BYTES`] bytes are enough.
pub(super) fn of_bytes(head: &[u8]) -> Option<Foreign> {
    binary::of_bytes(head)
}

/// Returns `true` if a file begins like a tar archive, but is not a tar archive of another format such as pg_dump's. [`HEAD_BYTES`] bytes are
/// enough.
#[cfg(feature = "archives")]
pub(super) fn is_tar_archive(head: &[u8]) -> bool {
    binary::of_tar(head) == Some(binary::TAR)
}

/// Returns `true` if the names of the first entries show that a ZIP file is a document, such as a workbook.
#[cfg(feature = "archives")]
pub(super) fn is_zip_document(head: &[u8]) -> bool {
    zipped::of_head(head).is_some()
}

/// Returns the kind of document that a ZIP file is, by the names of all its entries; `None` for an ordinary archive.
#[cfg(feature = "archives")]
pub(super) fn of_zip_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<Foreign> {
    zipped::of_names(names)
}

/// The format of a workbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workbook {
    /// Office Open XML.
    Xlsx,
    /// The binary format of Excel since 2007.
    Xlsb,
    /// OpenDocument.
    Ods,
    /// A compound file, as Excel wrote before 2007. Word and PowerPoint wrote compound files, too.
    Compound,
}

/// The extensions of workbooks in lower case.
const WORKBOOK_EXTENSIONS: [&str; 9] = ["xlsx", "xlsm", "xltx", "xltm", "xlsb", "ods", "ots", "xls", "xlt"];

/// Returns the format of a workbook by its first bytes, if its first entries show it.
pub fn workbook_of(head: &[u8]) -> Option<Workbook> {
    binary::workbook_of(head)
}

/// Returns `true` if a file is a workbook by its first bytes or, for a ZIP file whose first entries do not show it, by its name.
pub(super) fn is_workbook(head: &[u8], name: &Path) -> bool {
    workbook_of(head).is_some() || binary::is_unknown_zip(head) && is_named_as_workbook(name)
}

/// Returns `true` if a file has the extension of a workbook, perhaps before one more extension, such as that of a compressed file.
pub(super) fn is_named_as_workbook(name: &Path) -> bool {
    let name = name.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    name.rsplit('.').take(2).any(|part| WORKBOOK_EXTENSIONS.contains(&part))
}

/// Returns the format of binary data without a signature, by the extension of the file.
pub fn of_extension(extension: &str, head: &[u8]) -> Option<Foreign> {
    let foreign = match extension {
        "zlib" | "zz" => ZLIB,
        "sz" | "snappy" => SNAPPY,
        _ => return None,
    };
    is_binary(head).then_some(foreign)
}

/// Returns the format of a file by its first bytes, if it is markup or a tar archive. Returns `None` for text that may be rows.
pub fn of_text(head: &[u8]) -> Option<Foreign> {
    if let Some(archive) = binary::of_tar(head) {
        return Some(archive);
    }
    markup::of_start(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start())
}

/// Returns the format of a text whose first lines are not rows. `whole` is `true` if `head` is the whole file. `extension` is in lower case.
/// `is_table` returns `true` for a text that a delimiter splits consistently.
pub fn of_lines(
    head: &[u8],
    whole: bool,
    extension: &str,
    is_table: &dyn Fn(&[u8]) -> bool,
) -> Option<Foreign> {
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    // The last line of a sample may be cut off, so it is left out.
    let complete = if whole { &text[..] } else { &text[..text.rfind(['\n', '\r']).map_or(0, |end| end + 1)] };
    let lines: Vec<&str> = complete.lines().collect();
    let exact = documents::of_lines(&lines, extension)
        .or_else(|| mail::of_lines(&lines, extension))
        .or_else(|| logs::of_lines(&lines, extension, is_table))
        .or_else(|| markup::of_shape(&text, whole));
    exact.or_else(|| settings::of_lines(&lines, extension).filter(|_| !is_table(head)))
}

/// Returns the length of `pattern` if `text` begins with it. In the pattern, `d` stands for a digit and `M` for a letter.
fn pattern(text: &str, pattern: &str) -> Option<usize> {
    let start = text.as_bytes().get(..pattern.len())?;
    let fits = |(byte, expected): (&u8, u8)| match expected {
        b'd' => byte.is_ascii_digit(),
        b'M' => byte.is_ascii_alphabetic(),
        other => *byte == other,
    };
    start.iter().zip(pattern.bytes()).all(fits).then_some(pattern.len())
}
