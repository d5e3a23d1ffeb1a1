//! Opens CSV files: recognises their dialect, and finds the names of their columns.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::error::{Error, Message, Place, Result, Setting, message};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::recognised::{Recognised, RecognisedCsv, RecognisedPreamble};

use super::opened::{Columns, Content, OpenRequest, Opened, SampledRows, WantedRows};
use super::sample::{SampleFacts, changed, longer, sample_reader};
use super::{FileFormat, Format, FormatOptions};
use crate::convert::Conversion;
use crate::csv::{
    COLUMNS_MAX, CsvOptions, CsvReader, Delimiter, Dialect, Doubts, Given, RepeatedHeaders, Sniffed, sniff,
    unique,
};
use crate::input::{Compression, InputFile, Sample};

/// The settings of CSV.
pub(super) const SETTINGS: &[Setting] = &[
    Setting::Quote,
    Setting::Escape,
    Setting::Comment,
    Setting::Header,
    Setting::NoHeader,
    Setting::SkipLines,
    Setting::Null,
    Setting::Trim,
    Setting::KeepEmptyRows,
    Setting::LineEnd,
    Setting::EmptyAsText,
    Setting::Pad,
    Setting::StrictQuotes,
    Setting::Delimiter,
];

/// The settings of a format that fixes the delimiter, such as TSV.
pub(super) const SETTINGS_WITHOUT_DELIMITER: &[Setting] = SETTINGS.split_last().unwrap().1;

/// The reader of CSV files.
pub(super) struct Csv {
    /// The delimiter that the format fixes, such as the tab of TSV; `None`: the delimiter is given or recognised.
    pub(super) delimiter: Option<Delimiter>,
}

impl Format for Csv {
    fn open(
        &self,
        _: &'static FileFormat,
        mut input: InputFile,
        request: &OpenRequest<'_>,
    ) -> Result<Vec<Opened>> {
        let given = Given {
            delimiter: self.delimiter.or(request.options.delimiter),
            preferred: preferred(request.path),
            columns: request.declared,
            ..given(request.options)
        };
        let Sampled { facts, sniffed, options, reader } = Sampled::new(&mut input, request, &given)?;
        refuse(&sniffed, &input)?;
        let header = reader.header().to_vec();
        let columns = columns(&input, &reader, &options, &sniffed, request)?;
        let mut recognised = Recognised::new("csv");
        recognised.csv = Some(recognised_csv(&sniffed));
        let all_malformed = odd_header(&columns, &options, &sniffed, &input);
        let content = CsvFile {
            header,
            options,
            padded: Arc::default(),
            doubts: Arc::default(),
            repeated: Arc::default(),
            left_out: Arc::default(),
            padding: Arc::default(),
        };
        let fields = (0..columns.names.len()).map(ColumnFrom::Field).collect();
        let rows = reader.into_source(fields, 0..request.rows_max);
        Ok(vec![Opened {
            table: None,
            columns,
            types: Vec::new(),
            guesses: Vec::new(),
            moments: Vec::new(),
            recognised,
            words: sniffed.words(),
            sample: facts,
            rows: SampledRows::Read(Box::new(rows)),
            all_malformed,
            content: Box::new(content),
            input,
        }])
    }
}

/// Returns the user's settings about the dialect.
pub(super) fn given(options: &FormatOptions) -> Given<'static> {
    let mut given = Given::new();
    given.delimiter = options.delimiter;
    given.quote = options.quote;
    given.escape = options.escape;
    given.comment = options.comment;
    given.header = options.header;
    given.skip_lines = options.skip_lines.map(|lines| usize::try_from(lines).unwrap_or(usize::MAX));
    given.line_end = options.line_end;
    given.pad = options.pad;
    given
}

/// Returns the names of the columns, and the notes about them.
fn columns(
    input: &InputFile,
    reader: &CsvReader,
    options: &CsvOptions,
    sniffed: &Sniffed,
    request: &OpenRequest<'_>,
) -> Result<Columns> {
    let mut names = reader.header().to_vec();
    let mut notes: Vec<Message> = sniffed.notes();
    for renamed in reader.renamed() {
        let was = if renamed.from.is_empty() {
            "has no name".to_owned()
        } else {
            format!("repeats the name {:?}", renamed.from)
        };
        let note = format!("column {} {was}, and is called {:?}", renamed.index + 1, renamed.to);
        notes.push(note.into());
    }
    if options.header {
        keep_sign(&mut names, sniffed, request);
        notes.extend(trim(&mut names, request.named));
        let places = Some((0..names.len()).map(|field| reader.place_of(field)).collect());
        return Ok(Columns { names, places, notes });
    }
    if request.options.header.is_none() {
        notes.push(message![
            "the first record is taken for a row; if it names the columns: ",
            Setting::Header
        ]);
    }
    match request.columns {
        Some(given) if given.len() == names.len() => names = given.to_vec(),
        Some(given) => {
            let message = message![
                format!("{} has {} columns, and ", input.name().display(), names.len()),
                Setting::Columns,
                format!(" names {}", given.len())
            ];
            return Err(
                Error::usage(message).hint("if the file has no header, give a name for each of its columns")
            );
        }
        None => {}
    }
    Ok(Columns { names, places: None, notes })
}

/// Restores the `#` before the first name of a header that is a comment line, if a setting or the table has a column with this name.
fn keep_sign(names: &mut [String], sniffed: &Sniffed, request: &OpenRequest<'_>) {
    let Some(first) = names.first_mut().filter(|_| sniffed.commented_header.is_some()) else { return };
    let signed = format!("#{first}");
    if request.named.contains(&signed) || request.declared.contains(&&*signed) {
        *first = signed;
    }
}

/// Removes the blanks around column names, except from a name that a setting has with its blanks. Returns a note about the changed names.
pub(super) fn trim(names: &mut Vec<String>, named: &[String]) -> Option<Message> {
    let trimmed = names.iter().map(|name| match name.trim() {
        "" => name.clone(),
        _ if named.contains(name) => name.clone(),
        trimmed => trimmed.to_owned(),
    });
    let (trimmed, _) = unique(trimmed.collect());
    let changed: Vec<usize> = (0..names.len()).filter(|&column| trimmed[column] != names[column]).collect();
    let first = *changed.first()?;
    let others = match changed.len() - 1 {
        0 => String::new(),
        1 => ", and 1 more column".to_owned(),
        more => format!(", and {more} more columns"),
    };
    let (from, to) = (&names[first], &trimmed[first]);
    let note = format!("blanks around names are left out: {from:?} is called {to:?}{others}");
    *names = trimmed;
    Some(note.into())
}

/// Returns the recognised dialect for the report.
fn recognised_csv(sniffed: &Sniffed) -> RecognisedCsv {
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

/// A sample that contains the whole first record, and the dialect that was recognised from it.
struct Sampled {
    facts: SampleFacts,
    sniffed: Sniffed,
    options: CsvOptions,
    reader: CsvReader,
}

impl Sampled {
    /// Takes a sample of the usual size, or a larger one if the first record is longer.
    fn new(input: &mut InputFile, request: &OpenRequest<'_>, given: &Given<'_>) -> Result<Sampled> {
        let mut sample_bytes = request.sample_bytes;
        loop {
            let sample = input.sample(sample_bytes)?;
            let sniffed = sniff(&sample.text, sample.whole, given);
            if sniffed.record_separators {
                refuse(&sniffed, input)?;
            }
            let options = csv_options(request, &sniffed);
            // The longest permitted record, 3 bytes of a byte order mark, and one more byte, which shows that the record is even longer.
            let sample_bytes_max = options.record_bytes_max.saturating_add(4);
            let facts = SampleFacts::of(&sample, sample_bytes);
            match csv_reader(sample, input.name(), &options) {
                // The file is damaged, so that its sample ends early. Reading the file from its start reports the damage.
                Err(_) if !facts.whole && facts.text_bytes < sample_bytes as u64 => {
                    let reader = CsvReader::new(input.open()?.reader, input.name(), options.clone())?;
                    return Ok(Sampled { facts, sniffed, options, reader });
                }
                // The first record may be malformed only because the sample ends.
                Err(_) if !facts.whole && sample_bytes < sample_bytes_max => {
                    sample_bytes = longer(sample_bytes, sample_bytes_max);
                }
                reader => return Ok(Sampled { facts, sniffed, options, reader: reader? }),
            }
        }
    }
}

/// Returns an error if the delimiter or the line ends of the file could not be recognised.
fn refuse(sniffed: &Sniffed, input: &InputFile) -> Result<()> {
    match sniffed.refusal() {
        Some((message, hint)) => Err(Error::input(message).at(Place::file(input.name())).hint(hint)),
        None => Ok(()),
    }
}

/// Returns a reader of the sample.
fn csv_reader(sample: Sample, name: &Path, options: &CsvOptions) -> Result<CsvReader> {
    let input = sample_reader(sample, Some(options.skip_lines > 0));
    CsvReader::new(input, name, options.clone())
}

/// Returns the options for reading the whole file.
fn csv_options(request: &OpenRequest<'_>, sniffed: &Sniffed) -> CsvOptions {
    let options = request.options;
    CsvOptions::new()
        .dialect(sniffed.dialect)
        .header(sniffed.header)
        .commented_header(sniffed.commented_header.is_some())
        .fields(fields(request, sniffed))
        .skip_lines(sniffed.skip_lines)
        .null_tokens(options.null.iter().map(String::as_str))
        .trim(options.trim)
        .leave_out_empty(!options.keep_empty_rows && request.declared.len() <= 1)
        .empty_as_text(options.empty_as_text)
        .pad(options.pad)
        .trailing_delimiter(sniffed.trailing_delimiter)
        .strict_quotes(options.strict_quotes)
        .record_bytes_max(request.record_bytes_max)
        .part_bytes(request.part_bytes)
        .footer(sniffed.footer)
        .table_below(sniffed.table_below)
        .numbers(sniffed.numbers.clone())
        .has_quoted_fields(sniffed.has_quoted_fields)
}

/// Returns the number of fields of each record in a file without a header: the number that most records have. If some records differ, or if
/// `pad` fills missing fields, it is the number of columns that the user names or declares. So the first record may be an odd one. Returns
/// `None` for a file with a header or without records.
fn fields(request: &OpenRequest<'_>, sniffed: &Sniffed) -> Option<usize> {
    let named = request.columns.map_or(request.declared.len(), <[String]>::len);
    match sniffed.fields {
        0 => None,
        // `pad` adds the fields that most records lack.
        fields if request.options.pad && (fields..=COLUMNS_MAX).contains(&named) => Some(named),
        _ if sniffed.odd_records > 0 && (1..=COLUMNS_MAX).contains(&named) => Some(named),
        fields => Some(fields),
    }
    .filter(|_| !sniffed.header)
}

/// Returns an error if nearly all rows have the same number of fields, but the header has another: every row would be malformed. If the
/// number of fields varies, only the rows that differ from the header are bad.
fn odd_header(
    columns: &Columns,
    options: &CsvOptions,
    sniffed: &Sniffed,
    input: &InputFile,
) -> Option<Error> {
    let (names, fields) = (columns.names.len(), sniffed.fields);
    // The sniffer counts the header as a record, and as an odd record if it has another number of fields than most records.
    let (rows, odd_rows) = (sniffed.records.saturating_sub(1), sniffed.odd_records.saturating_sub(1));
    let alike = rows >= 2 && odd_rows * 10 <= rows;
    if !options.header || !alike || fields == names {
        return None;
    }
    let message = format!("the header has {names} fields, and the rows have {fields}");
    let place = columns.places.as_ref().map(|places| places[0].clone());
    let place = place.unwrap_or_else(|| Place::file(input.name()));
    let skipped = place.line.map_or("N".to_owned(), |line| line.to_string());
    Some(Error::input(message).at(place).hint(message![
        "to name the columns yourself: ",
        Setting::SkipLines.to(skipped),
        " and ",
        Setting::NoHeader,
        " with ",
        Setting::Columns.to("A,B,...")
    ]))
}

/// Returns the delimiter that the file name suggests: a tab for `.tsv` and `.tab`.
fn preferred(path: &Path) -> Option<Delimiter> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let uncompressed =
        name.rsplit_once('.').filter(|(_, last)| Compression::has_extension(last)).map(|(name, _)| name);
    let name = uncompressed.unwrap_or(&name);
    (name.ends_with(".tsv") || name.ends_with(".tab")).then_some(Delimiter::TAB)
}

/// An opened CSV file, whose dialect is known. Its [`Content`] reads the rows.
struct CsvFile {
    /// The names in the header of the sample. If the header differs when the rows are read, the file has changed in between.
    header: Vec<String>,
    options: CsvOptions,
    /// The number of rows that were loaded although fields are missing.
    padded: Arc<AtomicU64>,
    /// The quoted fields that may have swallowed rows, because a stray quote begins them. They cause a warning.
    doubts: Arc<Doubts>,
    /// The records that repeat the header, skipped or loaded. Each of the two kinds causes a note.
    repeated: Arc<RepeatedHeaders>,
    /// The number of empty records at the end that were left out.
    left_out: Arc<AtomicU64>,
    /// The number of bytes of padding at the end of the file.
    padding: Arc<AtomicU64>,
}

impl Content for CsvFile {
    fn source(&mut self, input: &mut InputFile, wanted: WantedRows<'_>) -> Result<Box<dyn Counted>> {
        let opened = input.open()?;
        let progress = (!opened.has_offsets_of_file()).then(|| opened.bytes_read.clone());
        let reader = CsvReader::new(opened.reader, input.name(), self.options.clone())?;
        let same = match self.options.header {
            true => reader.header() == self.header,
            false => reader.header().len() == self.header.len(),
        };
        if !same {
            return Err(changed());
        }
        // The counters are reset, because an earlier attempt may have read rows, but loaded none.
        self.padded.store(0, Ordering::Relaxed);
        self.doubts.clear();
        self.repeated.clear();
        self.left_out.store(0, Ordering::Relaxed);
        self.padding = reader.padding();
        let reader = reader.with_member_starts(opened.member_starts);
        let source = reader.into_source(wanted.map, wanted.rows).with_padded(Arc::clone(&self.padded));
        let source = source.with_doubts(Arc::clone(&self.doubts)).with_repeated(Arc::clone(&self.repeated));
        let source = source.with_left_out(Arc::clone(&self.left_out));
        Ok(Box::new(source.with_progress(progress, opened.bytes)))
    }

    fn sample_source(
        &mut self,
        input: &mut InputFile,
        sample_bytes: usize,
        wanted: WantedRows<'_>,
    ) -> Result<Box<dyn Counted>> {
        let sample = input.sample(sample_bytes)?;
        let reader = csv_reader(sample, input.name(), &self.options)?;
        let WantedRows { map, rows, .. } = wanted;
        Ok(Box::new(reader.into_source(map, rows)))
    }

    fn has_untyped_values(&self) -> bool {
        true
    }

    fn can_convert(&self, _: &Conversion) -> bool {
        true
    }

    fn padded(&self) -> u64 {
        self.padded.load(Ordering::Relaxed)
    }

    fn late_notes(&self) -> Vec<Message> {
        let left_out = match self.left_out.load(Ordering::Relaxed) {
            0 => None,
            1 if self.header.len() == 1 => {
                Some("the file ends with an empty line, which is left out; ".to_owned())
            }
            lines if self.header.len() == 1 => {
                Some(format!("the file ends with {lines} empty lines, which are left out; "))
            }
            1 => Some("the last row is empty and is left out; ".to_owned()),
            rows => Some(format!("the last {rows} rows are empty and are left out; ")),
        };
        let left_out = left_out.map(|what| message![what, Setting::KeepEmptyRows, " loads such rows"]);
        let padding = match self.padding.load(Ordering::Relaxed) {
            0 => None,
            1 => Some("the last byte of the file is padding (NUL or Ctrl-Z), and is left out".to_owned()),
            bytes => Some(format!(
                "the last {bytes} bytes of the file are padding (NUL or Ctrl-Z), and are left out"
            )),
        };
        self.repeated.notes().into_iter().chain(left_out).chain(padding.map(Message::from)).collect()
    }

    fn warning(&self) -> Option<Message> {
        self.doubts.warning()
    }
}
