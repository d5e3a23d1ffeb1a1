//! Recognises the format of a file by the user's setting, the first bytes and the file name.
//!
//! The first line that applies to a file decides:
//!
//! ```text
//!  the user names it        the named format; its name may leave the layout open: json is an array or objects
//!  SQLite format 3          a database, whatever its name is
//!  PAR1, ARROW1, Obj 1      Parquet, Arrow IPC, Avro, whatever the name is
//!  PK, and xl/workbook.xml  a workbook, whatever the name is
//!  <html>, <?xml            an error, whatever the name is (`input::foreign`)
//!  settings, mail, logs     an error, unless a delimiter splits the lines into fields, or the user gives a setting of CSV
//!  x.csv  x.tsv  x.txt      CSV, unless it begins with a JSON object, with a JSON array of objects, or as programs begin SQL dumps
//!  x.json  x.ndjson         JSON: an array if it begins with [, or else objects, one a line or one after another
//!  x.sql and others         the format with this extension
//!  anything else            JSON if it begins with {" or {} or [{; SQL if it begins with a statement of a dump; or else CSV
//! ```

use std::ffi::OsStr;
use std::path::Path;

use sqluice_core::error::Result;
use sqluice_platform::positioned::Positioned;
use sqluice_reader::descriptor::Descriptor;

use super::csv::given;
use super::json::{JSON_ARRAY, begins_with_objects};
use super::sample::longer;
use super::{ALL, CSV, FileFormat, FormatOptions, JSON, ODS, SQL, SQLITE, Start, XLS, XLSB, XLSX};
use crate::csv::{Delimiter, Given, sniff};
use crate::dump::recognise::is_signed;
use crate::input::foreign::{self, Foreign, Workbook};
use crate::input::{Compression, InputFile, Sample};

/// The number of bytes of a file that are read first.
const HEAD_BYTES: usize = 4096;

/// The number of bytes that are read to confirm that the lines of a file are not rows of a table: a long preamble may precede a table.
const LINES_BYTES: usize = 64 << 10;

/// Returns the format of the file at `path`. If the first bytes of the file do not decide, up to `bytes_max` bytes are read.
///
/// # Errors
/// If the file can't be read, its format is not supported, or a setting does not apply to its format.
pub fn recognise(
    input: &mut InputFile,
    path: &Path,
    options: &FormatOptions,
    bytes_max: usize,
) -> Result<&'static FileFormat> {
    let format = of_input(input, path, options, bytes_max)?;
    format.refuse_settings(input.name(), options)?;
    Ok(format)
}

fn of_input(
    input: &mut InputFile,
    path: &Path,
    options: &FormatOptions,
    bytes_max: usize,
) -> Result<&'static FileFormat> {
    let nothing = Start { head: &[], whole: false, asked: true, options };
    // A format that the user names is returned before anything is read: the first bytes of a pipe may take long to arrive.
    if let Some(format) = options.format.and_then(|asked| layout(asked, &nothing)) {
        return Ok(format);
    }
    if options.format.is_none() && is_database(input, path)? {
        return Ok(&SQLITE);
    }
    let mut bytes = HEAD_BYTES;
    loop {
        let sample = input.sample(bytes)?;
        if bytes == HEAD_BYTES
            && options.format.is_none()
            && let Some(foreign) = foreign_of(input, &sample, path, options, bytes_max)?
        {
            return Err(foreign.error(input.name()));
        }
        // A sample that is shorter than requested, although the file goes on, shows that the file is damaged. A longer sample would be the
        // same, so this sample decides the format. The error appears when the rows are read.
        let whole = sample.whole || bytes >= bytes_max || sample.text.len() < bytes;
        let start = Start { head: &sample.text, whole, asked: options.format.is_some(), options };
        if let Some(format) = of_start(&start, path) {
            return Ok(format);
        }
        bytes = longer(bytes, bytes_max.max(HEAD_BYTES));
    }
}

/// Returns the format of a file if it is known but not supported. If the format follows from the lines, a longer sample must confirm it.
fn foreign_of(
    input: &mut InputFile,
    sample: &Sample,
    path: &Path,
    options: &FormatOptions,
    bytes_max: usize,
) -> Result<Option<Foreign>> {
    let extension = extension(path).unwrap_or_default();
    let certain = foreign::of_text(&sample.text).or_else(|| foreign::of_extension(&extension, &sample.text));
    // If the user gives a setting about rows, the file has rows.
    if certain.is_some() || options.given().next().is_some() || is_of_format(&sample.text, &extension) {
        return Ok(certain);
    }
    let of_lines = |sample: &Sample| {
        let is_table = |text: &[u8]| is_table(text, sample.whole, &Given::new());
        foreign::of_lines(&sample.text, sample.whole, &extension, &is_table)
    };
    let found = of_lines(sample);
    if found.is_none() || sample.whole || bytes_max <= HEAD_BYTES {
        return Ok(found);
    }
    Ok(of_lines(&input.sample(bytes_max.min(LINES_BYTES))?))
}

/// Returns `true` if the first bytes or the name of a file show a format other than CSV and SQLite.
fn is_of_format(head: &[u8], extension: &str) -> bool {
    ALL.iter().filter(|format| ***format != CSV && ***format != SQLITE).any(|format| {
        format.extensions.contains(&extension)
            || format.signatures.iter().any(|signature| head.starts_with(signature))
    })
}

/// Returns `true` if a delimiter splits nearly all lines into the same number of fields. A colon does not count, as times have colons.
fn is_table(text: &[u8], whole: bool, given: &Given<'_>) -> bool {
    let sniffed = sniff(text, whole, given);
    // A file may have more comment lines than records.
    let has_comments = sniffed.comments > 0 && sniffed.commented_header.is_some();
    sniffed.candidates.is_empty()
        && sniffed.fields >= 2
        && sniffed.records >= 2
        && sniffed.odd_records * 10 <= sniffed.records
        && (sniffed.skip_lines <= sniffed.records || has_comments)
        && sniffed.dialect.delimiter.as_bytes() != b":"
}

/// Returns `true` if a text, which may be a table or prose, splits into at least two columns with the user's settings.
///
/// # Errors
/// If the file can't be read.
pub fn has_columns(input: &mut InputFile, options: &FormatOptions) -> Result<bool> {
    if options.delimiter == Some(Delimiter::NONE) {
        return Ok(true);
    }
    let sample = input.sample(LINES_BYTES)?;
    Ok(splits(&sample.text, sample.whole, &given(options)))
}

/// Returns `true` if a text splits into at least two columns. Prose has commas and blanks, too, but their number differs from line to line.
/// A single line is a header if no field contains a blank.
fn splits(text: &[u8], whole: bool, given: &Given<'_>) -> bool {
    if given.delimiter.is_some() {
        return sniff(text, whole, given).fields >= 2;
    }
    if is_table(text, whole, given) {
        return true;
    }
    let text = String::from_utf8_lossy(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
    let line = text.trim_end_matches(['\r', '\n']);
    let is_name = |field: &str| {
        let field = field.trim_matches('"');
        !field.is_empty() && field.chars().all(|c| c.is_alphanumeric() || "_-.:/()#".contains(c))
    };
    let is_header = |delimiter: char| line.contains(delimiter) && line.split(delimiter).all(is_name);
    whole && !line.contains(['\r', '\n']) && [',', '\t', ';', '|'].into_iter().any(is_header)
}

/// Returns the format of a file by its first bytes and its name. Returns `None` if more bytes are needed to decide.
fn of_start(start: &Start<'_>, path: &Path) -> Option<&'static FileFormat> {
    if let Some(asked) = start.options.format {
        return layout(asked, start);
    }
    let begins = |format: &&&'static FileFormat| {
        format.signatures.iter().any(|signature| start.head.starts_with(signature))
    };
    if let Some(format) = ALL.iter().find(begins) {
        return Some(format);
    }
    if let Some(workbook) = foreign::workbook_of(start.head) {
        return Some(match workbook {
            Workbook::Xlsx => &XLSX,
            Workbook::Compound => &XLS,
            Workbook::Xlsb => &XLSB,
            Workbook::Ods => &ODS,
        });
    }
    let extension = extension(path);
    let named = extension
        .and_then(|extension| ALL.iter().copied().find(|format| format.extensions.contains(&&*extension)))
        // A file with the extension of a database, but without the signature, is not a database.
        .filter(|format| **format != SQLITE);
    let format = match named {
        // A file with the extension of CSV may be JSON or a dump. But if the user gives a setting such as a delimiter, it is CSV.
        Some(format) if *format == CSV && start.options.given().next().is_none() => {
            // The file is a dump if it begins with the comment of a program that writes dumps.
            if is_signed(start.head) {
                return Some(&SQL);
            }
            layout(if begins_with_objects(start)? { &JSON } else { format }, start)
        }
        Some(format) => layout(format, start),
        None => of_content(start),
    }?;
    // The setting `records` names an array in a JSON document, so a file that was recognised as CSV is JSON.
    Some(if start.options.records.is_some() && *format == CSV { &JSON_ARRAY } else { format })
}

/// Returns the format of a file whose name does not decide: CSV, unless the first bytes look like another format.
fn of_content(start: &Start<'_>) -> Option<&'static FileFormat> {
    for format in ALL {
        let Some(reader) = format.reader() else { continue };
        if reader.looks_like(start)? {
            return layout(format, start);
        }
    }
    Some(&CSV)
}

fn layout(format: &'static FileFormat, start: &Start<'_>) -> Option<&'static FileFormat> {
    format.reader().map_or(Some(format), |reader| reader.layout(format, start))
}

/// Returns `true` if the first bytes of a file are those of an SQLite database. Returns `false` for a pipe or a member of an archive, whose
/// first bytes are not read here.
fn is_database(input: &InputFile, path: &Path) -> Result<bool> {
    let magic = SQLITE.signatures[0];
    if let Some(file) = input.remote() {
        let bytes = magic.len() as u64;
        return Ok(file.bytes() >= Some(bytes) && file.read(0..bytes)? == magic);
    }
    if !path.metadata().is_ok_and(|about| about.is_file()) {
        return Ok(false);
    }
    let mut start = vec![0; magic.len()];
    // `Descriptor` keeps the file open: if the database is open already, closing another descriptor would drop its locks.
    Ok(Descriptor::open(path).is_ok_and(|file| file.file().read_exact_at(&mut start, 0).is_ok())
        && start == magic)
}

/// Returns `true` if a file has the extension of a database, including extensions of programs that use SQLite.
pub fn is_named_as_database(path: &Path) -> bool {
    const OF_PROGRAMS: [&str; 4] = ["db3", "s3db", "gpkg", "mbtiles"];
    let extension = path.extension().unwrap_or_default();
    let mut extensions = SQLITE.extensions.iter().chain(&OF_PROGRAMS);
    extensions.any(|database| extension.eq_ignore_ascii_case(database))
}

/// Returns `true` if a file has the extension of a format other than SQLite, or of a compressed file.
pub fn is_named_as_data(path: &Path) -> bool {
    let is_compressed = |extension: &OsStr| extension.to_str().is_some_and(Compression::has_extension);
    let has_format = |extension: String| {
        ALL.iter().any(|format| **format != SQLITE && format.extensions.contains(&&*extension))
    };
    path.extension().is_some_and(is_compressed) || extension(path).is_some_and(has_format)
}

/// Returns the format by the extension of a file, if any. The content may have another format.
pub fn of_name(path: &Path) -> Option<&'static FileFormat> {
    let extension = extension(path)?;
    ALL.iter().copied().find(|format| format.extensions.contains(&&*extension))
}

/// Returns `true` if a file has the extension `.txt`: its text may be a table or prose.
pub fn is_named_as_text(path: &Path) -> bool {
    extension(path).is_some_and(|extension| extension == "txt")
}

/// Returns the extension of a file name in lower case: `csv` for `x.csv` and `x.csv.gz`.
fn extension(path: &Path) -> Option<String> {
    let of = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    match of(path)?.as_str() {
        last if Compression::has_extension(last) => of(Path::new(path.file_stem()?)),
        last => Some(last.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::NDJSON;
    use super::super::json::JSON_OBJECTS;
    use super::*;

    fn of(head: &str, whole: bool, name: &str, options: &FormatOptions) -> Option<&'static FileFormat> {
        let start = Start { head: head.as_bytes(), whole, asked: options.format.is_some(), options };
        of_start(&start, Path::new(name))
    }

    #[test]
    fn the_name_and_the_first_bytes_of_a_file_decide_its_format() {
        let [lines, array, objects] = [&NDJSON, &JSON_ARRAY, &JSON_OBJECTS];
        for (name, head, expected) in [
            ("x.csv", "{\"a\":1}", lines),
            ("x.csv", "{\"a\":1}\n{\"a\":2}\n", lines),
            ("x.txt", "\u{feff}[\n{\"a\":1},\n{\"a\":2}]", array),
            ("x.tsv.gz", "[{\"a\": {}}]", array),
            ("x.csv", "{\n\"a\": 1}\n{", objects),
            ("x.csv", "{\"a\":1},b\n", &CSV),
            ("x.csv", "{\"a\":1}\nb\n", &CSV),
            ("x.csv", "[1,2]\n[{\"a\":1}]", &CSV),
            ("x.csv", "{a},b", &CSV),
            ("x.txt", "--\n-- PostgreSQL database dump\n--\n\nSET x = 0;", &SQL),
            ("x.csv", "-- MySQL dump 10.13\n--\n", &SQL),
            ("x.csv", "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n", &SQL),
            ("x.csv", "-- a comment\na,b\n", &CSV),
            ("x.csv", "CREATE TABLE t (a);\n", &CSV),
            ("x.sql", "SELECT 1", &SQL),
            ("-", "CREATE TABLE t (a);\n", &SQL),
            ("-", "create,table\n", &CSV),
            ("x.csv.gz", "[{", &CSV),
            ("x.json", "{}", lines),
            ("x.JSON.zst", " [1", array),
            ("x.json.xz", "{}", lines),
            ("x.json.BZ2", "{}", lines),
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
            ("-", "[a],b", &CSV),
            ("-", "{a},b", &CSV),
            ("-", "", &CSV),
            ("x.db", "a,b", &CSV),
        ] {
            assert_eq!(of(head, true, name, &FormatOptions::new()), Some(expected), "{name} {head:?}");
        }
        let json = FormatOptions::new().format(&JSON);
        assert_eq!(of(" [", true, "x.csv", &json), Some(array));
        assert_eq!(of("", true, "x.csv", &json), Some(lines));
    }

    #[test]
    fn text_splits_into_columns_if_it_is_a_table_or_a_header() {
        let splits = |text: &str| splits(text.as_bytes(), true, &Given::new());
        for text in [
            "stop_id,stop_name\n1,Oslo\n2,Rome\n",
            "stop_id,stop_name\n1,Oslo\n",
            "trip_id,start_time,headway_secs\n",
            "\u{feff}trip_id,start_time\r\n",
            "\"a\"\t\"b\"\n",
            "a;b\n1;2\n",
            "a\tb\nx y\tz\nu v\tw\n",
        ] {
            assert!(splits(text), "{text:?}");
        }
        for text in [
            "",
            "a\n1\n2\n",
            "Hello, world.\n",
            "one word\n",
            "This text has lines,\nand a comma, or two, in some of them.\nIt is no table.\n",
            "Copyright 2026\n\nPermission is granted, free of charge, to anyone, to use it.\nNo warranty, of any kind.\n",
            "# Read me\n\n* one\n* two, and three\n",
            "http://example.org/a,b\n\nsee also: x, y, z\n",
        ] {
            assert!(!splits(text), "{text:?}");
        }
        let given = Given { delimiter: Some(Delimiter::SEMICOLON), ..Given::new() };
        assert!(super::splits(b"a;b\nx\n", true, &given));
        assert!(!super::splits(b"a,b\n1,2\n", true, &given));
    }

    #[test]
    fn a_longer_beginning_of_a_file_never_changes_its_format() {
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
            "{\"a\": 1},2\n",
            "{\"a\": 1}\n b\n",
            "[{\"a\": 1}, 2]\n",
        ] {
            let json = FormatOptions::new().format(&JSON);
            let unsaid = FormatOptions::new();
            for (name, options) in [("x.json", &unsaid), ("-", &unsaid), ("x.csv", &unsaid), ("x.csv", &json)]
            {
                let whole = of(text, true, name, options);
                assert!(whole.is_some());
                for end in 0..text.len() {
                    let head = of(&text[..end], false, name, options);
                    assert!(head.is_none() || head == whole, "{name}: {:?} of {text:?}", &text[..end]);
                }
            }
        }
    }
}
