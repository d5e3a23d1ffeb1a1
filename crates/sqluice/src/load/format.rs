//! What a file is: as the user says, or by its first bytes and its name.
//!
//! ```text
//!  --format                 says it; json leaves open whether it is an array
//!  PAR1, ARROW1             Parquet, Arrow IPC, whatever it is called
//!  x.csv  x.tsv  x.txt      CSV, whatever it begins with
//!  x.json  x.ndjson         JSON: an array if it begins with [, else objects one a line
//!  anything else            JSON if it begins as a record of it does: {" or {} or [{, else CSV
//! ```

use std::path::Path;

use super::request::Request;
use super::{FileKind, Format};
use crate::error::{Error, Result};
use crate::input::InputFile;
use crate::source::json::Layout;

/// So many bytes of a file are looked at.
const HEAD_BYTES: usize = 4096;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileFormat {
    Csv,
    Json(Layout),
    Parquet,
    /// An IPC file or stream.
    Arrow,
}

impl FileFormat {
    /// Of a file at `path`.
    pub(super) fn of(input: &mut InputFile, path: &Path, load: &Request) -> Result<FileFormat> {
        let asked = load.format.kind;
        let format = match asked {
            Some(FileKind::Csv) => FileFormat::Csv,
            Some(FileKind::Ndjson) => FileFormat::Json(Layout::Lines),
            Some(FileKind::Parquet) => FileFormat::Parquet,
            Some(FileKind::Arrow) => FileFormat::Arrow,
            Some(FileKind::Json) | None => of_content(&input.sample(HEAD_BYTES)?.text, path, asked),
        };
        if let (Some(flag), true) = (csv_flag(&load.format), format != FileFormat::Csv) {
            let message =
                format!("{flag} is about CSV, and {} is {}", input.name().display(), format.words());
            return Err(Error::usage(message).hint("leave it out, or say what the file is: --format"));
        }
        Ok(format)
    }

    /// For people.
    pub(super) fn words(self) -> &'static str {
        match self {
            FileFormat::Csv => "CSV",
            FileFormat::Json(Layout::Lines) => "NDJSON",
            FileFormat::Json(Layout::Array) => "a JSON array",
            FileFormat::Parquet => "Parquet",
            FileFormat::Arrow => "Arrow IPC",
        }
    }
}

fn of_content(head: &[u8], path: &Path, asked: Option<FileKind>) -> FileFormat {
    #[cfg(feature = "parquet")]
    if let (None, Some(format)) = (asked, super::columnar::of_magic(head, path)) {
        return format;
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let layout = if head.first() == Some(&b'[') { Layout::Array } else { Layout::Lines };
    if asked == Some(FileKind::Json) {
        return FileFormat::Json(layout);
    }
    match extension(path).as_deref() {
        Some("csv" | "tsv" | "tab" | "txt" | "psv") => FileFormat::Csv,
        Some("json" | "ndjson" | "jsonl" | "ldjson" | "geojsonl") => FileFormat::Json(layout),
        _ => {
            let after = head.get(1..).unwrap_or_default().trim_ascii_start().first();
            match (head.first(), after) {
                (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{')) => FileFormat::Json(layout),
                _ => FileFormat::Csv,
            }
        }
    }
}

/// What a name ends with, in small letters, but for what it is compressed with.
pub(super) fn extension(path: &Path) -> Option<String> {
    let of = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    match of(path)?.as_str() {
        "gz" | "gzip" | "zst" | "zstd" => of(Path::new(path.file_stem()?)),
        other => Some(other.to_owned()),
    }
}

/// A flag that only CSV has, if one is given.
fn csv_flag(format: &Format) -> Option<&'static str> {
    let Format { delimiter, quote, escape, comment, header, skip_lines, null, empty_as_text, .. } = format;
    let given = [
        ("--delimiter", delimiter.is_some()),
        ("--quote", quote.is_some()),
        ("--escape", escape.is_some()),
        ("--comment", comment.is_some()),
        ("--header", *header == Some(true)),
        ("--no-header", *header == Some(false)),
        ("--skip-lines", *skip_lines > 0),
        ("--null", !null.is_empty()),
        ("--empty-as-text", *empty_as_text),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_name_and_its_first_bytes_say() {
        let of = |name: &str, head: &str| of_content(head.as_bytes(), Path::new(name), None);
        let (lines, array) = (FileFormat::Json(Layout::Lines), FileFormat::Json(Layout::Array));
        for (name, head, expected) in [
            ("x.csv", "{\"a\":1}", FileFormat::Csv),
            ("x.csv.gz", "[{", FileFormat::Csv),
            ("x.json", "{}", lines),
            ("x.JSON.zst", " [1", array),
            ("x.ndjson", "", lines),
            ("-", "{\"a\":1}", lines),
            ("-", "\u{feff} { \"a\"", lines),
            ("-", "[\n{}", array),
            ("-", "[a],b", FileFormat::Csv),
            ("-", "{a},b", FileFormat::Csv),
            ("-", "", FileFormat::Csv),
        ] {
            assert_eq!(of(name, head), expected, "{name} {head:?}");
        }
        let asked = |head: &str| of_content(head.as_bytes(), Path::new("x.csv"), Some(FileKind::Json));
        assert_eq!((asked(" ["), asked("")), (array, lines));
    }
}
