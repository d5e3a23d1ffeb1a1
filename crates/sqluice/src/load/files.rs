//! One file of a load: its sample, and what that tells.

use std::io::{Cursor, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::default;
use super::request::Request;
use crate::batch::Batch;
use crate::error::{Error, Place, Result};
use crate::infer::Evidence;
use crate::input::{self, InputFile, InputOptions, Sample};
use crate::progress::{Cancel, Progress};
use crate::schema::{Column, Table};
use crate::source::chain::Counted;
use crate::source::csv::{ColumnFrom, Constant, CsvOptions, CsvReader, Given, Sniffed, sniff};
use crate::source::{BadRow, Refused, Sink, Source};

/// A record takes this part of the memory at most: it is there a few times over, as it is read, unescaped and encoded.
const RECORD_SHARE: u64 = 8;

/// So many times longer is the next sample, if one does not hold the first record.
const SAMPLE_GROWTH: usize = 8;

/// Lines of the sample that decide on the dialect and the header. More would say little more, and the slow parser reads them with
/// each delimiter.
const SNIFFED_LINES: usize = 1000;

/// A file and what its sample tells.
pub(super) struct LoadFile {
    /// The name of its table.
    pub(super) table: String,
    input: InputFile,
    options: CsvOptions,
    /// The names of its columns.
    pub(super) names: Vec<String>,
    /// Where the header has them; `None`: it does not.
    places: Option<Vec<Place>>,
    /// What the sample says about the type of each column, if its rows are loaded.
    pub(super) evidence: Vec<Evidence>,
    /// How much of the text the sample is at least, in bytes.
    sample_bytes: usize,
    /// Bytes of its text.
    pub(super) sample_text_bytes: u64,
    /// Rows of the sample that are whole, and loaded.
    pub(super) sample_rows: u64,
    /// All rows that are loaded are in the sample.
    pub(super) seen: bool,
    /// Bytes of its text, where that is known.
    pub(super) text_bytes: Option<u64>,
    /// How it is written, in words.
    dialect: String,
    notes: Vec<String>,
}

/// Opens all files of a load, in order.
pub(super) fn open_all(load: &Request, paths: &[PathBuf], cancel: &Cancel) -> Result<Vec<LoadFile>> {
    let mut rows_left = load.limit.unwrap_or(u64::MAX);
    let mut files = Vec::new();
    for path in paths {
        cancel.check()?;
        let file = LoadFile::open(path, load, cancel, rows_left)?;
        if load.table.is_some() && load.limit.is_some() {
            // Behind a file that was not counted, it is not known which rows are loaded: none says anything yet.
            rows_left = if file.seen { rows_left - file.sample_rows } else { 0 };
        }
        files.push(file);
    }
    Ok(files)
}

impl LoadFile {
    /// Opens a file, of which `rows_max` rows are loaded.
    fn open(path: &Path, load: &Request, cancel: &Cancel, rows_max: u64) -> Result<LoadFile> {
        let encoding = load.format.encoding;
        let mut input = InputFile::new(path, InputOptions { encoding, cancel: cancel.clone() })?;
        // Before anything is waited for.
        let table = table_name(path, input.name(), load)?;
        load.refuse_table(&table)?;
        let known = declared_columns(&table, load);
        let given = Given { columns: &known, preferred: preferred(path), ..load.format.given() };
        let Sampled { sample_bytes, text_bytes, whole, plain, sniffed, options, reader } =
            Sampled::new(&mut input, load, &given)?;
        let plain_bytes = input.bytes().filter(|_| plain);
        let mut file = LoadFile {
            table,
            input,
            options,
            names: Vec::new(),
            places: None,
            evidence: Vec::new(),
            sample_bytes,
            sample_text_bytes: text_bytes,
            sample_rows: 0,
            seen: whole,
            text_bytes: if whole { Some(text_bytes) } else { plain_bytes },
            dialect: sniffed.words(),
            notes: Vec::new(),
        };
        file.take_names(&reader, load, given.header.is_none())?;
        file.observe(reader, rows_max);
        Ok(file)
    }

    /// The names of the columns, and what is to be said about them.
    fn take_names(&mut self, reader: &CsvReader, load: &Request, guessed: bool) -> Result<()> {
        self.names = reader.header().to_vec();
        if self.options.header {
            self.places = Some((0..self.names.len()).map(|field| reader.place_of(field)).collect());
        }
        let name = self.name();
        for renamed in reader.renamed() {
            let was = if renamed.from.is_empty() {
                "has no name".to_owned()
            } else {
                format!("is another {:?}", renamed.from)
            };
            let note = format!("{name}: column {} {was}, and is called {:?}", renamed.index + 1, renamed.to);
            self.notes.push(note);
        }
        if self.options.header {
            return Ok(());
        }
        if guessed {
            self.notes.push(format!(
                "{name}: the first record is taken for a row; if it names the columns: --header"
            ));
        }
        match &load.columns {
            Some(names) if names.len() == self.names.len() => self.names.clone_from(names),
            Some(names) => {
                let message =
                    format!("{name} has {} columns, and --columns names {}", self.names.len(), names.len());
                return Err(Error::usage(message).hint("of a file without a header, it names all columns"));
            }
            None => {}
        }
        Ok(())
    }

    /// As messages call it.
    pub(super) fn name(&self) -> String {
        self.input.name().display().to_string()
    }

    /// For the plan.
    pub(super) fn describe(&self) -> String {
        format!("{} ({})", self.name(), self.dialect)
    }

    /// What a user might expect otherwise.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.notes.iter().cloned()
    }

    /// Bytes of the file as it lies there, where that is known.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.input.bytes()
    }

    /// Where the header names the field.
    pub(super) fn place_of(&self, field: usize) -> Option<Place> {
        self.places.as_ref().map(|places| places[field].clone())
    }

    /// Whether a column of that name is to be loaded.
    pub(super) fn selects(&self, load: &Request, name: &str) -> bool {
        let named = |columns: &Vec<String>| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        load.columns.as_ref().is_none_or(named)
    }

    /// Whether its columns are those of a declared table in their order, as nothing names them.
    pub(super) fn is_by_position(&self, load: &Request) -> bool {
        self.places.is_none() && load.columns.is_none() && load.declared(&self.table).is_some()
    }

    /// Whether it has a value for a column of its table.
    pub(super) fn gives(&self, load: &Request, name: &str) -> bool {
        self.is_by_position(load)
            || (self.selects(load, name) && self.names.iter().any(|found| found.eq_ignore_ascii_case(name)))
    }

    /// Whether it can be read more than once.
    pub(super) fn can_reopen(&self) -> bool {
        self.input.can_reopen()
    }

    /// Copies what can be read only once to a temporary file.
    pub(super) fn keep(&mut self, folder: &Path, progress: &dyn Progress) -> Result<()> {
        self.input.spool(folder, progress)
    }

    /// Which of its fields go to which of the table's columns; `left_out` are those that no file of the table has, and for
    /// which SQLite finds a value.
    pub(super) fn map(&self, table: &Table, left_out: &[usize], load: &Request) -> Result<Vec<ColumnFrom>> {
        if self.is_by_position(load) {
            let taking = table.columns.iter().filter(|column| column.generated.is_none());
            let (fields, columns) = (self.names.len(), taking.count());
            if fields != columns {
                let message =
                    format!("{} has {fields} columns, and table {} has {columns}", self.name(), table.name);
                return Err(Error::input(message)
                    .hint("--columns names the columns of a file without a header, in their order"));
            }
            let mut fields = (0..fields).map(ColumnFrom::Field);
            let next = |column: &Column| match column.generated {
                None => fields.next(),
                Some(_) => None,
            };
            let from = table.columns.iter().map(next);
            return Ok(from.map(|from| from.unwrap_or(ColumnFrom::Constant(Constant::Null))).collect());
        }
        let from = |(index, column): (usize, &Column)| {
            let named = |name: &String| name.eq_ignore_ascii_case(&column.name);
            match self.names.iter().position(named).filter(|_| self.selects(load, &column.name)) {
                Some(_) if column.generated.is_some() => Err(self.computed(column)),
                None if column.generated.is_some() => Ok(ColumnFrom::Constant(Constant::Null)),
                Some(field) => Ok(ColumnFrom::Field(field)),
                // NULL is the next rowid.
                None if table.rowid_alias == Some(index) => Ok(ColumnFrom::Constant(Constant::Null)),
                None if left_out.contains(&index) => Ok(ColumnFrom::Constant(Constant::Null)),
                None => default::constant(column).map(ColumnFrom::Constant),
            }
        };
        table.columns.iter().enumerate().map(from).collect()
    }

    fn computed(&self, column: &Column) -> Error {
        let message = format!("{} has column {}, which SQLite computes", self.name(), column.name);
        Error::input(message).hint("--columns names those to load, without it")
    }

    /// Opens it for its rows, which are numbered from `rows.start` on.
    pub(super) fn source(&mut self, map: Vec<ColumnFrom>, rows: Range<u64>) -> Result<Box<dyn Counted>> {
        let input = self.input.open()?;
        let progress = (!input.has_offsets_of_file()).then(|| input.bytes_read.clone());
        let reader = CsvReader::new(input.reader, self.input.name(), self.options.clone())?;
        let same = match self.options.header {
            true => reader.header() == self.names,
            false => reader.header().len() == self.names.len(),
        };
        if !same {
            return Err(super::changed());
        }
        Ok(Box::new(reader.into_source(map, rows).with_progress(progress, input.bytes)))
    }

    /// Opens its sample, up to where it is cut off.
    pub(super) fn sample_source(&mut self, map: Vec<ColumnFrom>) -> Result<Box<dyn Counted>> {
        let sample = self.input.sample(self.sample_bytes)?;
        let reader = sample_reader(sample, self.input.name(), &self.options)?;
        Ok(Box::new(reader.into_source(map, 0..self.sample_rows)))
    }

    /// Gathers evidence from the first rows of a sample, up to where it is cut off; bad ones only count.
    fn observe(&mut self, reader: CsvReader, rows_max: u64) {
        let fields = self.names.len();
        let mut observer = Observer { evidence: vec![Evidence::new(); fields], rows: 0 };
        let mut source = reader.into_source((0..fields).map(ColumnFrom::Field).collect(), 0..rows_max);
        while let Ok(Some(mut part)) = source.next_part() {
            if part.decode(&mut observer).is_err() {
                break;
            }
        }
        (self.evidence, self.sample_rows) = (observer.evidence, observer.rows);
        self.seen |= self.sample_rows >= rows_max;
    }
}

/// The table of the file at `path`, which messages call `name`.
fn table_name(path: &Path, name: &Path, load: &Request) -> Result<String> {
    let named = load.table.clone().or_else(|| input::stem(path)).filter(|table| !table.contains('\0'));
    named.ok_or_else(|| {
        Error::usage(format!("no table can be named after {}", name.display())).hint("name it: --table NAME")
    })
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
        record_bytes_max: usize::try_from(load.write.memory_bytes / RECORD_SHARE).unwrap_or(usize::MAX),
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
        Box::new(text.chain(CutOff { bytes, skips: options.skip_lines > 0 }))
    };
    CsvReader::new(input, name, options.clone())
}

/// The columns of the declared table that the file is for.
fn declared_columns<'a>(table: &str, load: &'a Request) -> Vec<&'a str> {
    let table = load.declared(table);
    table.iter().flat_map(|table| &table.columns).map(|column| column.name.as_str()).collect()
}

/// The delimiter that a file's name speaks of.
fn preferred(path: &Path) -> Option<u8> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    (name.ends_with(".tsv") || name.ends_with(".tab")).then_some(b'\t')
}

/// What ends a sample of so many bytes that is not all of its file.
struct CutOff {
    bytes: usize,
    /// The user skips lines already.
    skips: bool,
}

impl Read for CutOff {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        let message = format!("the first record does not end within {} bytes", self.bytes);
        let hint = match self.skips {
            true => "so much may be skipped before it: cut it off first, or give more memory: --memory",
            false => "--skip-lines N goes past what stands before the first record",
        };
        Err(Error::input(message).hint(hint).into())
    }
}

/// Gathers evidence for the types of all fields.
struct Observer {
    evidence: Vec<Evidence>,
    rows: u64,
}

impl Sink for Observer {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let columns = self.evidence.iter_mut().zip(&batch.columns);
        columns.for_each(|(evidence, column)| evidence.see(column, batch.rows));
        self.rows += batch.rows as u64;
        Ok(())
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        self.rows += 1;
        Ok(())
    }
}
