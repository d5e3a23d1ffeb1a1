//! Formats of files that can be loaded: the recognition of a file's format, and the readers of its rows.
//!
//! ```text
//!  path, first bytes ──> recognise ──> FileFormat ──> Format::open ──> Opened: columns, a sample of rows
//!                                                                        └──> Content: all rows, as often as they are needed
//! ```
//!
//! To add a format, add a module here with a [`Format`] and a [`Content`], and a [`FileFormat`] to the list below. Front ends, help texts
//! and messages read the list. CONTRIBUTING.md has the steps. Formats without a reader, such as PDF, are listed in
//! [`foreign`](super::input::foreign).
//!
//! Modules, from the bottom up:
//!
//! * `address`: addresses of cells; `options`: settings of formats; `opened`: what a format gets and returns when it opens a file;
//!   `sample`: the first bytes of a file
//! * `columnar`: the code that Parquet, Arrow and Avro share
//! * `csv`, `json`, `arrow`, `avro`, `parquet`, `sheet`, `sqlite`, `sql`: one module for each format
//! * `recognise`: the recognition of a file's format

#[cfg_attr(not(feature = "spreadsheets"), allow(dead_code))]
mod address;
#[cfg(feature = "parquet")]
mod arrow;
#[cfg(feature = "avro")]
pub mod avro;
#[cfg(feature = "parquet")]
mod columnar;
mod csv;
mod json;
mod opened;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod recognise;
mod sample;
#[cfg(feature = "spreadsheets")]
pub mod sheet;
mod sql;
mod sqlite;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::similar;

pub use self::address::CellRange;
pub use self::opened::{Columns, Content, OpenRequest, Opened, SampledRows, WantedRows};
pub use self::options::FormatOptions;
pub use self::recognise::{
    has_columns, is_named_as_data, is_named_as_database, is_named_as_text, of_name, recognise,
};
pub use self::sample::{SampleFacts, changed};
use crate::csv::Delimiter;
use crate::input::{Encoding, InputFile};
use crate::json::Layout;

/// A format of files that can be loaded.
#[non_exhaustive]
pub struct FileFormat {
    /// The name in settings and reports: `csv`.
    pub name: &'static str,
    /// The name in messages: `CSV`.
    pub words: &'static str,
    /// A description for help texts.
    pub about: &'static str,
    /// The extensions of file names, in lower case.
    pub extensions: &'static [&'static str],
    /// The possible first bytes of a file, which no other format has. They win over the extension.
    pub signatures: &'static [&'static [u8]],
    /// The settings that this format understands, and that other formats may not.
    pub settings: &'static [Setting],
    /// `true` if a file has several named tables.
    pub has_tables: bool,
    reader: Reader,
}

/// The code that reads a format.
enum Reader {
    Built(&'static dyn Format),
    /// The name of the cargo feature without which this build can't read the format.
    #[cfg_attr(all(feature = "avro", feature = "parquet", feature = "spreadsheets"), allow(dead_code))]
    Missing(&'static str),
}

/// Returns the reader of a format, or the name of the cargo feature that the build lacks.
macro_rules! reader {
    ($feature:literal, $format:expr) => {{
        #[cfg(feature = $feature)]
        {
            Reader::Built(&$format)
        }
        #[cfg(not(feature = $feature))]
        {
            Reader::Missing($feature)
        }
    }};
}

/// All formats, in the order in which help texts list them.
pub static ALL: &[&FileFormat] =
    &[&CSV, &TSV, &NDJSON, &JSON, &PARQUET, &ARROW, &AVRO, &XLSX, &XLSB, &ODS, &XLS, &SQLITE, &SQL];

/// Text with fields between delimiters.
pub static CSV: FileFormat = FileFormat {
    name: "csv",
    words: "CSV",
    about: "Fields separated by commas, or by the delimiter that is given or recognised",
    extensions: &["csv", "tsv", "tab", "txt", "psv"],
    signatures: &[],
    settings: csv::SETTINGS,
    has_tables: false,
    reader: Reader::Built(&csv::Csv { delimiter: None }),
};

/// Text with fields between tabs.
pub static TSV: FileFormat = FileFormat {
    name: "tsv",
    words: "TSV",
    about: "Fields separated by tabs",
    // A file with the extension `.tsv` is opened as CSV, and its delimiter is recognised.
    extensions: &[],
    signatures: &[],
    settings: csv::SETTINGS_WITHOUT_DELIMITER,
    has_tables: false,
    reader: Reader::Built(&csv::Csv { delimiter: Some(Delimiter::TAB) }),
};

/// JSON objects, one a line.
pub static NDJSON: FileFormat = FileFormat {
    name: "ndjson",
    words: "NDJSON",
    about: "JSON objects, one per line",
    extensions: &["ndjson", "jsonl", "ldjson", "geojsonl"],
    signatures: &[],
    settings: &[Setting::LenientJson],
    has_tables: false,
    reader: Reader::Built(&json::Json(Some(Layout::Lines))),
};

/// JSON: an array of objects, or objects one after another.
pub static JSON: FileFormat = FileFormat {
    name: "json",
    words: "a JSON document",
    about: "JSON: an array of objects, or objects one after another",
    extensions: &["json", "geojson"],
    signatures: &[],
    settings: &[Setting::Records, Setting::LenientJson],
    has_tables: false,
    reader: Reader::Built(&json::Json(None)),
};

/// Parquet files.
pub static PARQUET: FileFormat = FileFormat {
    name: "parquet",
    words: "Parquet",
    about: "Parquet",
    extensions: &["parquet", "pq"],
    signatures: &[b"PAR1", b"PARE"],
    settings: &[],
    has_tables: false,
    reader: reader!("parquet", parquet::Parquet),
};

/// Arrow IPC files and streams. Streams of old versions have no signature, as they begin with a length: only their extension shows the
/// format.
pub static ARROW: FileFormat = FileFormat {
    name: "arrow",
    words: "Arrow IPC",
    about: "An Arrow IPC file or stream",
    extensions: &["arrow", "arrows", "feather", "ipc"],
    signatures: &[b"ARROW1", b"\xff\xff\xff\xff"],
    settings: &[],
    has_tables: false,
    reader: reader!("parquet", arrow::Arrow),
};

/// Avro object container files.
pub static AVRO: FileFormat = FileFormat {
    name: "avro",
    words: "Avro",
    about: "An Avro object container file",
    extensions: &["avro"],
    signatures: &[b"Obj\x01"],
    settings: &[],
    has_tables: false,
    reader: reader!("avro", avro::Avro),
};

/// The settings of spreadsheets.
const SHEET_SETTINGS: &[Setting] = &[
    Setting::Sheet,
    Setting::Range,
    Setting::Formulas,
    Setting::Header,
    Setting::NoHeader,
    Setting::SkipLines,
];

/// The fields that all formats of spreadsheets share.
const SPREADSHEET: FileFormat = FileFormat {
    name: "",
    words: "",
    about: "",
    extensions: &[],
    // A spreadsheet begins like any ZIP file or compound file; the names of its parts decide.
    signatures: &[],
    settings: SHEET_SETTINGS,
    has_tables: true,
    reader: reader!("spreadsheets", sheet::Sheets),
};

/// Workbooks of Office Open XML.
pub static XLSX: FileFormat = FileFormat {
    name: "xlsx",
    words: "an Excel workbook",
    about: "An Excel workbook: each of its sheets, or those that are asked for",
    extensions: &["xlsx", "xlsm", "xltx", "xltm"],
    ..SPREADSHEET
};

/// Workbooks of Excel in binary records.
pub static XLSB: FileFormat = FileFormat {
    name: "xlsb",
    words: "a binary Excel workbook",
    about: "A binary Excel workbook",
    extensions: &["xlsb"],
    ..SPREADSHEET
};

/// OpenDocument spreadsheets.
pub static ODS: FileFormat = FileFormat {
    name: "ods",
    words: "an OpenDocument spreadsheet",
    about: "An OpenDocument spreadsheet",
    extensions: &["ods", "ots"],
    ..SPREADSHEET
};

/// Workbooks of Excel 97 to 2003.
pub static XLS: FileFormat = FileFormat {
    name: "xls",
    words: "an old Excel workbook",
    about: "An Excel workbook of the versions 97 to 2003",
    extensions: &["xls", "xlt"],
    ..SPREADSHEET
};

/// Databases of SQLite.
pub static SQLITE: FileFormat = FileFormat {
    name: "sqlite",
    words: "a database",
    about: "A SQLite database: each of its tables, or the one that is asked for",
    extensions: &["db", "sqlite", "sqlite3"],
    signatures: &[sqluice_format::database::MAGIC],
    settings: &[],
    has_tables: true,
    reader: Reader::Built(&sqlite::Sqlite),
};

/// Dumps: SQL text that makes a database.
pub static SQL: FileFormat = FileFormat {
    name: "sql",
    words: "an SQL dump",
    about: "SQL text that makes a database, such as the output of sqlite3's .dump",
    extensions: &["sql"],
    signatures: &[],
    settings: &[],
    has_tables: true,
    reader: Reader::Built(&sql::Sql),
};

/// The reader of a format: it recognises files of the format, and opens them.
pub trait Format: Sync {
    /// Returns the exact layout of a file whose extension or whose user names this format: `this`, or a variant such as a JSON array.
    /// Returns `None` if more bytes are needed to decide.
    fn layout(&self, this: &'static FileFormat, start: &Start<'_>) -> Option<&'static FileFormat> {
        let _ = start;
        Some(this)
    }

    /// Returns `true` if a file whose extension is unknown looks like this format. Returns `None` if more bytes are needed to decide.
    fn looks_like(&self, start: &Start<'_>) -> Option<bool> {
        let _ = start;
        Some(false)
    }

    /// Opens a file: reads its columns, and takes a sample of its rows. Returns one [`Opened`] for each table of the file.
    ///
    /// # Errors
    /// If the file can't be read, is damaged, has a feature that is not supported, such as encryption, or contradicts the request.
    fn open(
        &self,
        this: &'static FileFormat,
        input: InputFile,
        request: &OpenRequest<'_>,
    ) -> Result<Vec<Opened>>;
}

/// Returns a note if the user names a single-byte encoding, but the text is valid UTF-8 with non-ASCII characters.
fn note_of_encoding(input: &mut InputFile, request: &OpenRequest<'_>) -> Result<Option<Message>> {
    let Some(encoding) = request.options.encoding.filter(Encoding::is_single_byte) else { return Ok(None) };
    let sample = input.sample(request.sample_bytes)?;
    let misread = sample.encoding.and_then(|encoding| encoding.misread(&sample.text, sample.whole));
    Ok(misread.map(|(read, character)| {
        let character = character.to_string();
        message![
            format!("the text is read as {encoding}, but it is also valid UTF-8, where {read:?} is {character:?}; "),
            Setting::Encoding.to("utf-8"),
            " reads it so",
        ]
    }))
}

/// The first bytes of a file, and the user's settings for the file.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The first bytes, decompressed.
    pub head: &'a [u8],
    /// `true` if `head` is the whole file, or if no more bytes may be read to recognise the format.
    pub whole: bool,
    /// `true` if a setting names the format.
    pub asked: bool,
    /// The settings of the user.
    pub options: &'a FormatOptions,
}

impl FileFormat {
    /// Opens a file of this format.
    ///
    /// # Errors
    /// As [`Format::open`], and if this build lacks the reader of the format.
    pub fn open(&'static self, mut input: InputFile, request: &OpenRequest<'_>) -> Result<Vec<Opened>> {
        match self.reader {
            Reader::Built(format) => {
                let note = note_of_encoding(&mut input, request)?;
                let mut opened = format.open(self, input, request)?;
                if let Some(first) = opened.first_mut() {
                    first.columns.notes.extend(note);
                }
                Ok(opened)
            }
            Reader::Missing(feature) => {
                let name = input.name().display();
                let what = format!("{name} is {}, which this build does not read", self.words);
                Err(Error::without_feature(what, feature))
            }
        }
    }

    /// Returns `true` if the format is a spreadsheet.
    pub fn is_spreadsheet(&self) -> bool {
        self.settings.contains(&Setting::Sheet)
    }

    /// Returns an error about the file `name` if the user gives a setting that this format does not have.
    fn refuse_settings(&self, name: &Path, options: &FormatOptions) -> Result<()> {
        let Some(setting) = options.given().find(|setting| !self.settings.contains(setting)) else {
            return Ok(());
        };
        if options.format.is_some() {
            let message = message![Setting::Format.to(self.name), " does not take ", setting];
            return Err(Error::usage(message).hint("leave one of the two out"));
        }
        let about =
            ALL.iter().find(|format| format.settings.contains(&setting)).map_or("", |format| format.words);
        let message = message![setting, format!(" is for {about}, but {} is {}", name.display(), self.words)];
        Err(Error::usage(message).hint(message!["leave it out, or say what the file is: ", Setting::Format]))
    }

    fn reader(&self) -> Option<&'static dyn Format> {
        match self.reader {
            Reader::Built(format) => Some(format),
            Reader::Missing(_) => None,
        }
    }
}

/// Returns the names of all formats, for help texts and messages.
pub fn names() -> String {
    ALL.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

impl fmt::Debug for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Formats are compared by `words`, because the layouts of JSON have the same name.
impl PartialEq for FileFormat {
    fn eq(&self, other: &FileFormat) -> bool {
        self.words == other.words
    }
}

impl Eq for FileFormat {}

/// Finds a format by its name.
impl FromStr for &'static FileFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<&'static FileFormat> {
        let found = ALL.iter().find(|format| format.name == name);
        found.copied().ok_or_else(|| {
            let hint = similar::hint(name, ALL.iter().map(|format| format.name));
            Error::usage(format!("no format is called {name:?}")).hint(hint)
        })
    }
}
