//! CSV files of a load: how they are written, and what their columns are called.

use std::io::{Cursor, Read};
use std::ops::Range;
use std::path::Path;

use super::files::{CutOff, LoadFile, Opened, declared_columns, record_bytes_max};
use super::request::Request;
use crate::error::{Error, Result};
use crate::input::{InputFile, Sample};
use crate::source::chain::Counted;
use crate::source::csv::{ColumnFrom, CsvOptions, CsvReader, Given, Sniffed, sniff};

/// So many times longer is the next sample, if one does not hold the first record.
pub(super) const SAMPLE_GROWTH: usize = 8;

/// Lines of the sample that decide on the dialect and the header. More would say little more, and the slow parser reads them with
/// each delimiter.
const SNIFFED_LINES: usize = 1000;

/// How a CSV file is read.
pub(super) struct CsvFile {
    options: CsvOptions,
}

impl CsvFile {
    /// Looks at a file.
    pub(super) fn open(path: &Path, mut file: LoadFile, load: &Request, rows_max: u64) -> Result<LoadFile> {
        let known = declared_columns(&file.table, load);
        let given = Given { columns: &known, preferred: preferred(path), ..load.format.given() };
        let Sampled { sample_bytes, text_bytes, whole, plain, sniffed, options, reader } =
            Sampled::new(&mut file.input, load, &given)?;
        file.sampled(Opened { sample_bytes, text_bytes, whole, plain });
        file.words = sniffed.words();
        take_names(&mut file, &reader, &options, load, given.header.is_none())?;
        let fields = file.names.len();
        let source = reader.into_source((0..fields).map(ColumnFrom::Field).collect(), 0..rows_max);
        file.observe(Box::new(source), rows_max);
        file.content = super::files::Content::Csv(CsvFile { options });
        Ok(file)
    }

    /// Opens a file for its rows.
    pub(super) fn source(
        &self,
        input: &mut InputFile,
        names: &[String],
        map: Vec<ColumnFrom>,
        rows: Range<u64>,
    ) -> Result<Box<dyn Counted>> {
        let opened = input.open()?;
        let progress = (!opened.has_offsets_of_file()).then(|| opened.bytes_read.clone());
        let reader = CsvReader::new(opened.reader, input.name(), self.options.clone())?;
        let same = match self.options.header {
            true => reader.header() == names,
            false => reader.header().len() == names.len(),
        };
        if !same {
            return Err(super::changed());
        }
        Ok(Box::new(reader.into_source(map, rows).with_progress(progress, opened.bytes)))
    }

    /// Opens a sample, up to where it is cut off.
    pub(super) fn sample_source(
        &self,
        input: &mut InputFile,
        sample_bytes: usize,
        map: Vec<ColumnFrom>,
        rows: Range<u64>,
    ) -> Result<Box<dyn Counted>> {
        let sample = input.sample(sample_bytes)?;
        let reader = sample_reader(sample, input.name(), &self.options)?;
        Ok(Box::new(reader.into_source(map, rows)))
    }
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
    let name = file.name();
    for renamed in reader.renamed() {
        let was = if renamed.from.is_empty() {
            "has no name".to_owned()
        } else {
            format!("is another {:?}", renamed.from)
        };
        let note = format!("{name}: column {} {was}, and is called {:?}", renamed.index + 1, renamed.to);
        file.notes.push(note);
    }
    if options.header {
        return Ok(());
    }
    if guessed {
        file.notes
            .push(format!("{name}: the first record is taken for a row; if it names the columns: --header"));
    }
    match &load.columns {
        Some(names) if names.len() == file.names.len() => file.names.clone_from(names),
        Some(names) => {
            let message =
                format!("{name} has {} columns, and --columns names {}", file.names.len(), names.len());
            return Err(Error::usage(message).hint("of a file without a header, it names all columns"));
        }
        None => {}
    }
    Ok(())
}

/// A sample that has the first record.
struct Sampled {
    /// How many bytes were asked for.
    sample_bytes: usize,
    /// Bytes of its text.
    text_bytes: u64,
    /// It is all of the file.
    whole: bool,
    /// It is as it lies in the file.
    plain: bool,
    sniffed: Sniffed,
    options: CsvOptions,
    reader: CsvReader,
}

impl Sampled {
    /// A sample of the usual size, or, where the first record is longer, of a larger one.
    fn new(input: &mut InputFile, load: &Request, given: &Given<'_>) -> Result<Sampled> {
        let mut sample_bytes = load.sample_bytes;
        loop {
            let sample = input.sample(sample_bytes)?;
            let sniffed = sniff_lines(&sample, given);
            let options = csv_options(load, &sniffed);
            // With room for a byte order mark, and one more to see that the record goes on.
            let sample_bytes_max = options.record_bytes_max.saturating_add(4);
            let Sample { whole, plain, .. } = sample;
            let text_bytes = sample.text.len() as u64;
            match sample_reader(sample, input.name(), &options) {
                // It ends early where the file is damaged: whoever reads that learns how.
                Err(_) if !whole && text_bytes < sample_bytes as u64 => {
                    let reader = CsvReader::new(input.open()?.reader, input.name(), options.clone())?;
                    return Ok(Sampled { sample_bytes, text_bytes, whole, plain, sniffed, options, reader });
                }
                // What is wrong with the first record may be that the sample ends.
                Err(_) if !whole && sample_bytes < sample_bytes_max => {
                    sample_bytes = sample_bytes.max(1).saturating_mul(SAMPLE_GROWTH).min(sample_bytes_max);
                }
                reader => {
                    let reader = reader?;
                    return Ok(Sampled { sample_bytes, text_bytes, whole, plain, sniffed, options, reader });
                }
            }
        }
    }
}

fn sniff_lines(sample: &Sample, given: &Given<'_>) -> Sniffed {
    let text = &sample.text;
    let end = memchr::memchr_iter(b'\n', text)
        .nth(SNIFFED_LINES.saturating_add(given.skip_lines))
        .map_or(text.len(), |at| at + 1);
    sniff(&text[..end], sample.whole && end == text.len(), given)
}

/// How the file is read.
fn csv_options(load: &Request, sniffed: &Sniffed) -> CsvOptions {
    CsvOptions {
        dialect: sniffed.dialect,
        header: sniffed.header,
        skip_lines: load.format.skip_lines,
        null_tokens: load.format.null.iter().map(|token| token.clone().into_bytes()).collect(),
        empty_as_text: load.format.empty_as_text,
        record_bytes_max: record_bytes_max(load),
        part_bytes: load.part_bytes,
        ..CsvOptions::default()
    }
}

/// Opens a sample; behind its last byte, one that is not all of its file can't be read.
fn sample_reader(sample: Sample, name: &Path, options: &CsvOptions) -> Result<CsvReader> {
    let bytes = sample.text.len();
    let text = Cursor::new(sample.text);
    let input: Box<dyn Read + Send> = if sample.whole {
        Box::new(text)
    } else {
        Box::new(text.chain(CutOff { bytes, skips: Some(options.skip_lines > 0) }))
    };
    CsvReader::new(input, name, options.clone())
}

/// The delimiter that a file's name speaks of.
fn preferred(path: &Path) -> Option<u8> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    (name.ends_with(".tsv") || name.ends_with(".tab")).then_some(b'\t')
}
