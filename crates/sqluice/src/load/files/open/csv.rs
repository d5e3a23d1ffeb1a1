//! Opens CSV files: how they are written, and what their columns are called.

use std::path::Path;

use sqluice_core::error::{Error, Place, Result, Setting, message};
use sqluice_engine::report::{RecognisedCsv, RecognisedPreamble};
use sqluice_sources::csv::{
    COLUMNS_MAX, ColumnFrom, CsvOptions, CsvReader, Delimiter, Dialect, Given, Sniffed, sniff,
};
use sqluice_sources::input::InputFile;

use crate::load::files::csv::{CsvFile, sample_reader};
use crate::load::files::file::{Content, LoadFile};
use crate::load::files::sample::{Opened, SAMPLE_GROWTH, record_bytes_max};
use crate::load::request::Request;

/// Samples a CSV file and recognises how it is written.
pub(crate) fn open(path: &Path, mut file: LoadFile, load: &Request, rows_max: u64) -> Result<LoadFile> {
    let known = declared_columns(&file.table, load);
    let mut given = load.format.given();
    (given.columns, given.preferred) = (&known, preferred(path));
    let Sampled { opened, sniffed, options, reader } = Sampled::new(&mut file.input, load, &given)?;
    file.sampled(opened);
    if let Some((message, hint)) = sniffed.refusal() {
        return Err(Error::input(message).at(Place::file(file.input.name())).hint(hint));
    }
    file.words = sniffed.words();
    file.recognised.csv = Some(recognised(&sniffed));
    file.notes.extend(sniffed.notes());
    take_names(&mut file, &reader, &options, load, given.header.is_none())?;
    let fields = file.names.len();
    let source = reader.into_source((0..fields).map(ColumnFrom::Field).collect(), 0..rows_max);
    file.observe(Box::new(source), load, rows_max)?;
    refuse_odd_header(&file, &options, &sniffed, load)?;
    file.content = Content::Csv(CsvFile::new(options));
    Ok(file)
}

/// The names of the columns, and what is to be said about them.
fn take_names(
    file: &mut LoadFile,
    reader: &CsvReader,
    options: &CsvOptions,
    load: &Request,
    guessed: bool,
) -> Result<()> {
    file.names = reader.header().to_vec();
    if options.header {
        file.places = Some((0..file.names.len()).map(|field| reader.place_of(field)).collect());
    }
    for renamed in reader.renamed() {
        let was = if renamed.from.is_empty() {
            "has no name".to_owned()
        } else {
            format!("is another {:?}", renamed.from)
        };
        let note = format!("column {} {was}, and is called {:?}", renamed.index + 1, renamed.to);
        file.notes.push(note.into());
    }
    if options.header {
        return Ok(());
    }
    if guessed {
        file.notes.push(message![
            "the first record is taken for a row; if it names the columns: ",
            Setting::Header
        ]);
    }
    match &load.columns {
        Some(names) if names.len() == file.names.len() => file.names.clone_from(names),
        Some(names) => {
            let message = message![
                format!("{} has {} columns, and ", file.name(), file.names.len()),
                Setting::Columns,
                format!(" names {}", names.len())
            ];
            return Err(Error::usage(message).hint("of a file without a header, it names all columns"));
        }
        None => {}
    }
    Ok(())
}

/// What was recognised, for the report.
fn recognised(sniffed: &Sniffed) -> RecognisedCsv {
    let Dialect { delimiter, quote, escape, comment, .. } = sniffed.dialect;
    let preamble = sniffed.preamble.as_ref();
    let mut csv = RecognisedCsv::new(delimiter.words());
    csv.quote = quote.map(char::from);
    csv.escape = escape.map(char::from);
    csv.comment = comment.map(char::from);
    csv.header = sniffed.header;
    csv.header_is_close = sniffed.header_is_close;
    csv.skipped_lines = sniffed.skip_lines;
    csv.preamble = preamble.map(|preamble| RecognisedPreamble::new(preamble.lines, &preamble.first));
    csv.comments = sniffed.comments;
    csv.footer = sniffed.footer;
    csv
}

/// A sample that has the first record.
struct Sampled {
    opened: Opened,
    sniffed: Sniffed,
    options: CsvOptions,
    reader: CsvReader,
}

impl Sampled {
    /// A sample of the usual size, or, where the first record is longer, of a larger one.
    fn new(input: &mut InputFile, load: &Request, given: &Given<'_>) -> Result<Sampled> {
        let mut sample_bytes = load.write.tuning.sample_bytes;
        loop {
            let sample = input.sample(sample_bytes)?;
            let sniffed = sniff(&sample.text, sample.whole, given);
            let options = csv_options(load, &sniffed, given.columns.len());
            // With room for a byte order mark, and one more to see that the record goes on.
            let sample_bytes_max = options.record_bytes_max.saturating_add(4);
            let opened = Opened::of(&sample, sample_bytes);
            let (whole, text_bytes) = (opened.whole, opened.text_bytes);
            match sample_reader(sample, input.name(), &options) {
                // It ends early where the file is damaged: reading that gives the error.
                Err(_) if !whole && text_bytes < sample_bytes as u64 => {
                    let reader = CsvReader::new(input.open()?.reader, input.name(), options.clone())?;
                    return Ok(Sampled { opened, sniffed, options, reader });
                }
                // What is wrong with the first record may be that the sample ends.
                Err(_) if !whole && sample_bytes < sample_bytes_max => {
                    sample_bytes = sample_bytes.max(1).saturating_mul(SAMPLE_GROWTH).min(sample_bytes_max);
                }
                reader => {
                    let reader = reader?;
                    return Ok(Sampled { opened, sniffed, options, reader });
                }
            }
        }
    }
}

/// How the file is read.
fn csv_options(load: &Request, sniffed: &Sniffed, declared: usize) -> CsvOptions {
    CsvOptions::new()
        .dialect(sniffed.dialect)
        .header(sniffed.header)
        .fields(fields(load, sniffed, declared))
        .skip_lines(sniffed.skip_lines)
        .null_tokens(load.format.null.iter().map(String::as_str))
        .empty_as_text(load.format.empty_as_text)
        .pad(load.format.pad)
        .strict_quotes(load.format.strict_quotes)
        .record_bytes_max(record_bytes_max(load))
        .part_bytes(load.write.tuning.part_bytes)
        .footer(sniffed.footer)
}

/// How many fields the records of a file without a header have: as many as most, and where these differ, as the user says by naming the
/// columns or declaring the table. So the other records need not be like the first.
fn fields(load: &Request, sniffed: &Sniffed, declared: usize) -> Option<usize> {
    let named = load.columns.as_ref().map_or(declared, Vec::len);
    match sniffed.fields {
        0 => None,
        // What most records lack.
        fields if load.format.pad && (fields..=COLUMNS_MAX).contains(&named) => Some(named),
        _ if sniffed.odd_records > 0 && (1..=COLUMNS_MAX).contains(&named) => Some(named),
        fields => Some(fields),
    }
    .filter(|_| !sniffed.header)
}

/// Refuses a header that no row is like, if the rows are like each other: every row would be bad. Where they differ, each says what is
/// wrong with it. A user who says how many bad rows may be gets what was asked for.
fn refuse_odd_header(file: &LoadFile, options: &CsvOptions, sniffed: &Sniffed, load: &Request) -> Result<()> {
    let (names, fields) = (file.names.len(), sniffed.fields);
    let accepted = load.reject.is_some() && load.rejects_max != u64::MAX;
    // The header is one of the records, and odd.
    let (rows, odd_rows) = (sniffed.records.saturating_sub(1), sniffed.odd_records.saturating_sub(1));
    let alike = rows >= 2 && odd_rows * 10 <= rows;
    if !options.header || !file.all_bad || !alike || fields == names || accepted {
        return Ok(());
    }
    let message = format!("the header has {names} fields, and the rows have {fields}");
    let place = file.place_of(0).unwrap_or_else(|| Place::file(file.input.name()));
    let skipped = place.line.map_or("N".to_owned(), |line| line.to_string());
    Err(Error::input(message).at(place).hint(message![
        "to name the columns yourself: ",
        Setting::SkipLines.to(skipped),
        " and ",
        Setting::NoHeader,
        " with ",
        Setting::Columns.to("A,B,...")
    ]))
}

/// The delimiter that a file's name speaks of.
fn preferred(path: &Path) -> Option<Delimiter> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    (name.ends_with(".tsv") || name.ends_with(".tab")).then_some(Delimiter::TAB)
}

/// The columns of the declared table that the file is for.
fn declared_columns<'a>(table: &str, load: &'a Request) -> Vec<&'a str> {
    let table = load.declared(table);
    table.iter().flat_map(|table| &table.columns).map(|column| column.name.as_str()).collect()
}
