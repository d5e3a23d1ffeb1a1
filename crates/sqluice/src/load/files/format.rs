//! What a file is: as the user says, or by its first bytes and its name.
//!
//! ```text
//!  --format                 says it; json leaves open whether it is an array
//!  SQLite format 3          a database, whatever it is called (`database`)
//!  PAR1, ARROW1             Parquet, Arrow IPC, whatever it is called
//!  <html>, <?xml            an error, whatever it is called (`input::foreign`)
//!  x.csv  x.tsv  x.txt      CSV, whatever it begins with
//!  x.json  x.ndjson         JSON: an array if it begins with [, else objects, one a line or one after another
//!  anything else            JSON if it begins as a record of it does: {" or {} or [{, else CSV
//! ```

use std::path::Path;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_sources::input::{InputFile, foreign, magic};
use sqluice_sources::json::Layout;

use super::sample::{SAMPLE_GROWTH, record_bytes_max};
use crate::load::request::Request;
use crate::load::request::options::{FileKind, Format};

/// The bytes of a file that are looked at first.
const HEAD_BYTES: usize = 4096;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Csv,
    Json(Layout),
    Parquet,
    /// An IPC file or stream.
    Arrow,
}

impl FileFormat {
    /// Of a file at `path`.
    pub(crate) fn of(input: &mut InputFile, path: &Path, load: &Request) -> Result<FileFormat> {
        let asked = load.format.kind;
        let format = match asked {
            Some(FileKind::Csv) => FileFormat::Csv,
            Some(FileKind::Ndjson) => FileFormat::Json(Layout::Lines),
            Some(FileKind::Parquet) => FileFormat::Parquet,
            Some(FileKind::Arrow) => FileFormat::Arrow,
            Some(FileKind::Json) | None => {
                let head = input.sample(HEAD_BYTES)?.text;
                let markup = foreign::of_text(&head).filter(|_| asked.is_none());
                if let Some(foreign) = markup {
                    return Err(foreign.error(input.name()));
                }
                let json = load.format.records.is_some().then_some(FileFormat::Json(Layout::Array));
                match (of_content(&head, json.is_some(), path, asked), json) {
                    (Some(FileFormat::Csv | FileFormat::Json(_)), Some(array)) => array,
                    (Some(format), _) => format,
                    (None, _) => of_longer_head(input, path, load)?,
                }
            }
        };
        if load.format.records.is_some() && format != FileFormat::Json(Layout::Array) {
            let message = message![
                Setting::Records,
                format!(" is about a JSON document, and {} is {}", input.name().display(), format.words())
            ];
            return Err(Error::usage(message)
                .hint(message!["leave it out, or say what the file is: ", Setting::Format]));
        }
        if format != FileFormat::Csv {
            refuse_csv_flags(&load.format, input.name(), format.words())?;
        }
        Ok(format)
    }

    /// In reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            FileFormat::Csv => "csv",
            FileFormat::Json(Layout::Lines) => "ndjson",
            FileFormat::Json(Layout::Array | Layout::Objects) => "json",
            FileFormat::Parquet => "parquet",
            FileFormat::Arrow => "arrow",
        }
    }

    /// For people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            FileFormat::Csv => "CSV",
            FileFormat::Json(Layout::Lines) => "NDJSON",
            FileFormat::Json(Layout::Array) => "a JSON array",
            FileFormat::Json(Layout::Objects) => "JSON objects",
            FileFormat::Parquet => "Parquet",
            FileFormat::Arrow => "Arrow IPC",
        }
    }
}

/// Of a file whose first bytes leave it open: its first record is longer. It may be as long as the memory allows.
fn of_longer_head(input: &mut InputFile, path: &Path, load: &Request) -> Result<FileFormat> {
    let bytes_max = record_bytes_max(load);
    let mut bytes = HEAD_BYTES;
    loop {
        bytes = bytes.saturating_mul(SAMPLE_GROWTH).min(bytes_max);
        let sample = input.sample(bytes)?;
        // A sample that ends early is of a damaged file: reading it gives the error.
        let all = sample.whole || bytes == bytes_max || sample.text.len() < bytes;
        if let Some(format) = of_content(&sample.text, all, path, load.format.kind) {
            return Ok(format);
        }
    }
}

/// Of a file that begins with `head`; `None`: more of it decides, unless `no_more` exists.
fn of_content(head: &[u8], no_more: bool, path: &Path, asked: Option<FileKind>) -> Option<FileFormat> {
    if let (None, Some(format)) = (asked, of_magic(head, path)) {
        return Some(format);
    }
    let layout = || Layout::of_text(head, no_more).map(FileFormat::Json);
    if asked == Some(FileKind::Json) {
        return layout();
    }
    match extension(path).as_deref() {
        Some("csv" | "tsv" | "tab" | "txt" | "psv") => Some(FileFormat::Csv),
        Some("json" | "geojson" | "ndjson" | "jsonl" | "ldjson" | "geojsonl") => layout(),
        _ => {
            let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
            let after = head.get(1..).unwrap_or_default().trim_ascii_start().first();
            match (head.first(), after) {
                (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{')) => layout(),
                (None | Some(b'{' | b'['), None) if !no_more => None,
                _ => Some(FileFormat::Csv),
            }
        }
    }
}

/// The columnar format that a file's first bytes or its name say.
fn of_magic(head: &[u8], path: &Path) -> Option<FileFormat> {
    let is_stream = head.starts_with(magic::ARROW_STREAM);
    let is_parquet = head.starts_with(magic::PARQUET) || head.starts_with(magic::ENCRYPTED_PARQUET);
    match extension(path).as_deref() {
        _ if is_parquet => Some(FileFormat::Parquet),
        _ if head.starts_with(magic::ARROW_FILE) || is_stream => Some(FileFormat::Arrow),
        Some("parquet" | "pq") => Some(FileFormat::Parquet),
        Some("arrow" | "arrows" | "feather" | "ipc") => Some(FileFormat::Arrow),
        _ => None,
    }
}

/// What a name ends with, in small letters, but for what it is compressed with.
fn extension(path: &Path) -> Option<String> {
    let of = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    match of(path)?.as_str() {
        "gz" | "gzip" | "zst" | "zstd" => of(Path::new(path.file_stem()?)),
        other => Some(other.to_owned()),
    }
}

/// Refuses flags that only CSV has, for a file that is something else.
pub(crate) fn refuse_csv_flags(format: &Format, name: &Path, words: &str) -> Result<()> {
    let Some(flag) = csv_flag(format) else { return Ok(()) };
    let message = message![flag, format!(" is about CSV, and {} is {words}", name.display())];
    Err(Error::usage(message).hint(message!["leave it out, or say what the file is: ", Setting::Format]))
}

/// A flag that only CSV has, if one is given.
fn csv_flag(format: &Format) -> Option<Setting> {
    let Format { delimiter, quote, escape, comment, header, skip_lines, null, .. } = format;
    let given = [
        (Setting::Delimiter, delimiter.is_some()),
        (Setting::Quote, quote.is_some()),
        (Setting::Escape, escape.is_some()),
        (Setting::Comment, comment.is_some()),
        (Setting::Header, *header == Some(true)),
        (Setting::NoHeader, *header == Some(false)),
        (Setting::SkipLines, skip_lines.is_some()),
        (Setting::Null, !null.is_empty()),
        (Setting::EmptyAsText, format.empty_as_text),
        (Setting::Pad, format.pad),
        (Setting::StrictQuotes, format.strict_quotes),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_name_and_its_first_bytes_say() {
        let of = |name: &str, head: &str| of_content(head.as_bytes(), true, Path::new(name), None).unwrap();
        let [lines, array, objects] = [Layout::Lines, Layout::Array, Layout::Objects].map(FileFormat::Json);
        for (name, head, expected) in [
            ("x.csv", "{\"a\":1}", FileFormat::Csv),
            ("x.csv.gz", "[{", FileFormat::Csv),
            ("x.json", "{}", lines),
            ("x.JSON.zst", " [1", array),
            ("x.ndjson", "", lines),
            ("x.json", "{\n \"a\": 1\n}", objects),
            ("x.geojson", "{ \"a\": [1,\n2]}", objects),
            ("x.json", "{\"a\":1}{\"a\":2}\n", objects),
            ("x.json", "{\"a\":1} \r\n{\"a\":2}\n", lines),
            ("x.json", "{\"a\":1\n{\"a\":2}\n", lines),
            ("x.json", "{\"a\":\"1\n\"}", lines),
            ("x.json", "{\"a\":\"{\\\"\"}\n{", lines),
            ("x.jsonl", "{\n}", objects),
            ("-", "{\n \"a\": 1}", objects),
            ("-", "{\"a\":1}", lines),
            ("-", "\u{feff} { \"a\"", lines),
            ("-", "[\n{}", array),
            ("-", "[a],b", FileFormat::Csv),
            ("-", "{a},b", FileFormat::Csv),
            ("-", "", FileFormat::Csv),
        ] {
            assert_eq!(of(name, head), expected, "{name} {head:?}");
        }
        let asked = |head: &str| of_content(head.as_bytes(), true, Path::new("x.csv"), Some(FileKind::Json));
        assert_eq!((asked(" ["), asked("")), (Some(array), Some(lines)));
    }

    #[test]
    fn what_a_file_is_does_not_depend_on_how_much_of_it_is_looked_at() {
        for text in [
            "  {\"a\": \"x\\\"}{\", \"b\": [{}]}  {\"a\": 1}\n",
            "{\"a\": 1}   \n  {\"a\": 2}\n",
            "{\"a\": 1 \n  \n , \"b\": 2}\n",
            "{\"a\": 1 \n\n}{}",
            "{ \n \"a\": 1}",
            "{\"a\": \"x\n\"}\n{}",
            "  [ {\"a\": 1}]",
            " \n {  }  ",
            " \n a,b\n1,2\n",
            "[a],b\n",
        ] {
            for (name, asked) in
                [("x.json", None), ("-", None), ("x.csv", None), ("x.csv", Some(FileKind::Json))]
            {
                let of = |head: &str, all| of_content(head.as_bytes(), all, Path::new(name), asked);
                let whole = of(text, true);
                assert!(whole.is_some());
                for end in 0..text.len() {
                    let head = of(&text[..end], false);
                    assert!(head.is_none() || head == whole, "{name}: {:?} of {text:?}", &text[..end]);
                }
            }
        }
    }
}
