//! Opens JSON files, and finds the keys of their records, which become columns. Any record may have new keys.
//!
//! ```text
//!  the sample ──> keys ──> columns ──> load ──> done
//!                   ^                   │ a record has an unknown key
//!                   └── all keys <──────┘ the whole file is read for its keys, once
//! ```

use std::ops::Range;

use sqluice_core::error::{Error, Message, Place, Result, Setting, message};
use sqluice_core::progress::{Context, Silent};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::recognised::Recognised;

use super::opened::{Columns, Content, OpenRequest, Opened, SampledRows, WantedRows};
use super::sample::{SampleFacts, longer, sample_reader};
use super::{FileFormat, Format, NDJSON, Reader, Start};
use crate::convert::Conversion;
use crate::csv::Renamed;
use crate::infer;
use crate::input::{InputFile, Sample};
use crate::json::{
    JsonColumn, JsonOptions, JsonSource, Key, Layout, NewKeysMet, Wanted, arrays_of_objects, unique_names,
};

/// An array of objects.
pub(super) static JSON_ARRAY: FileFormat = FileFormat {
    words: "a JSON array",
    settings: &[Setting::Records, Setting::LenientJson],
    ..of(&Json(Some(Layout::Array)))
};

/// Objects one after another.
pub(super) static JSON_OBJECTS: FileFormat =
    FileFormat { words: "JSON objects", ..of(&Json(Some(Layout::Objects))) };

/// Returns the format for one layout of JSON. It is not in the list of all formats, where [`JSON`](super::JSON) has its name already.
const fn of(reader: &'static Json) -> FileFormat {
    FileFormat {
        name: "json",
        words: "JSON",
        about: "",
        extensions: &[],
        signatures: &[],
        settings: &[Setting::LenientJson],
        has_tables: false,
        reader: Reader::Built(reader),
    }
}

/// The reader of JSON files; `None`: the first bytes of a file decide the layout.
pub(super) struct Json(pub(super) Option<Layout>);

impl Format for Json {
    fn layout(&self, this: &'static FileFormat, start: &Start<'_>) -> Option<&'static FileFormat> {
        // A user who names the format `ndjson` means lines. A file with the extension `.ndjson` may have any layout.
        if start.asked && self.0.is_some() {
            return Some(this);
        }
        if start.options.records.is_some() {
            return Some(&JSON_ARRAY);
        }
        Some(match Layout::of_text(start.head, start.whole)? {
            Layout::Lines => &NDJSON,
            Layout::Array => &JSON_ARRAY,
            Layout::Objects => &JSON_OBJECTS,
        })
    }

    fn looks_like(&self, start: &Start<'_>) -> Option<bool> {
        let head = start.head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start.head).trim_ascii_start();
        let after = head.get(1..).unwrap_or_default().trim_ascii_start().first();
        match (head.first(), after) {
            (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{')) => Some(true),
            (None | Some(b'{' | b'['), None) if !start.whole => None,
            _ => Some(false),
        }
    }

    fn open(
        &self,
        this: &'static FileFormat,
        input: InputFile,
        request: &OpenRequest<'_>,
    ) -> Result<Vec<Opened>> {
        open(self.0.unwrap_or(Layout::Lines), this, input, request).map(|opened| vec![opened])
    }
}

/// Returns `true` if a file with the extension of CSV is JSON: it begins with an object that is followed by nothing or by another object, or
/// with an array whose first element is an object. Returns `None` if more bytes are needed to decide.
pub(super) fn begins_with_objects(start: &Start<'_>) -> Option<bool> {
    let head = start.head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start.head).trim_ascii_start();
    let unless_more = start.whole.then_some(false);
    let text = match head {
        [b'[', rest @ ..] => rest.trim_ascii_start(),
        _ => head,
    };
    match text.first() {
        Some(b'{') => {}
        Some(_) => return Some(false),
        None => return unless_more,
    }
    let mut objects = serde_json::Deserializer::from_slice(text).into_iter::<serde_json::Map<_, _>>();
    match objects.next() {
        Some(Ok::<serde_json::Map<String, serde_json::Value>, _>(_)) => {}
        Some(Err(error)) if error.is_eof() => return unless_more,
        _ => return Some(false),
    }
    let rest = &text[objects.byte_offset()..];
    match (rest.trim_ascii_start().first(), head.first()) {
        (None, _) => start.whole.then_some(true),
        (Some(next), Some(b'[')) => Some(matches!(next, b',' | b']')),
        (Some(next), _) => Some(*next == b'{'),
    }
}

/// Samples a JSON file, and reads the whole file if the request names columns that the sample lacks.
fn open(
    layout: Layout,
    format: &'static FileFormat,
    mut input: InputFile,
    request: &OpenRequest<'_>,
) -> Result<Opened> {
    let records = request.options.records.clone();
    let wanted = request.columns.map_or(Wanted::All, |names| Wanted::Named(names.to_vec()));
    let options = JsonOptions::new(layout)
        .part_bytes(request.part_bytes)
        .record_bytes_max(request.record_bytes_max)
        .records(records)
        .lenient(request.options.lenient_json)
        .wanted(wanted);
    let words = match &options.records {
        Some(path) => format!("JSON, records in {path}"),
        None => format.words.to_owned(),
    };
    let remark = options.records.as_ref().map(|path| {
        format!("records are the elements of {path}; the rest of the document is left out").into()
    });
    let mut json = JsonFile { options, keys: Vec::new(), complete: false, met: None, remark };
    let mut sample_bytes = request.sample_bytes;
    // A sample that is longer than the longest record needs no further growth.
    let sample_bytes_max = json.options.record_bytes_max.saturating_add(1);
    let facts = loop {
        let sample = input.sample(sample_bytes)?;
        let facts = SampleFacts::of(&sample, sample_bytes);
        let more = sample_bytes <= json.options.record_bytes_max
            && facts.text_bytes >= sample_bytes as u64
            && !facts.whole;
        let head = Sample { text: sample.text.clone(), ..sample };
        let mut source = match json.of_sample(sample, &input, request.rows_max) {
            // The sample ends before the array of records begins, so a longer sample is taken.
            Err(_) if more => {
                sample_bytes = longer(sample_bytes, sample_bytes_max);
                continue;
            }
            source => source?,
        };
        // The error about the cut-off end of a sample is ignored.
        let _ = json.read_keys(&mut source, 1);
        let rows = source.rows_done();
        if !more || rows > 0 {
            json.complete = facts.whole || rows >= request.rows_max;
            suggest_records(&mut json, &input, rows, &head)?;
            break facts;
        }
        sample_bytes = longer(sample_bytes, sample_bytes_max);
    };
    if json.lacks(request.named) {
        if !input.can_reopen() {
            input.spool(&(request.temp_folder)()?, &Silent)?;
        }
        let mut source = json.keys_source(&mut input, 0..request.rows_max)?;
        json.read_keys(&mut source, request.threads)?;
        json.complete = true;
    }
    let map = (0..json.keys.len()).map(ColumnFrom::Field).collect();
    let wanted = WantedRows { map, as_text: &[], as_blob: &[], rows: 0..request.rows_max };
    let rows = json.sample_source(&mut input, facts.sample_bytes, wanted)?;
    Ok(Opened {
        table: None,
        columns: json.columns(),
        types: Vec::new(),
        guesses: Vec::new(),
        moments: Vec::new(),
        recognised: Recognised::new(format.name),
        words,
        sample: facts,
        rows: SampledRows::Read(rows),
        all_malformed: None,
        content: Box::new(json),
        input,
    })
}

/// If the file is one object that contains an array of objects, notes in `json.remark` how to load the elements of this array as rows.
/// `rows` is the number of records in the sample.
///
/// # Errors
/// If the object is longer than the sample: it would not fit the memory of the load.
fn suggest_records(json: &mut JsonFile, input: &InputFile, rows: u64, sample: &Sample) -> Result<()> {
    if json.options.layout == Layout::Array || rows > 1 || rows == 1 && !sample.whole {
        return Ok(());
    }
    let Some(path) = arrays_of_objects(&sample.text).into_iter().next() else { return Ok(()) };
    let suggestion = message![Setting::Records.to(path.to_string()), " loads a row for each of its elements"];
    if rows == 0 && !sample.whole {
        let message = format!("the file is one long object, with an array of objects in {path}");
        return Err(Error::input(message).at(Place::file(input.name())).hint(suggestion));
    }
    let words = format!("the file is one object, with an array of objects in {path}; ");
    json.remark = Some(message![words, suggestion]);
    Ok(())
}

/// An opened JSON file. Its [`Content`] reads the rows.
struct JsonFile {
    options: JsonOptions,
    /// The keys of the records that were read so far.
    keys: Vec<Key>,
    /// `true` if all keys of the file are known.
    complete: bool,
    /// The unknown keys that the last source has found.
    met: Option<NewKeysMet>,
    /// A note about the array that contains the records, or may contain them.
    remark: Option<Message>,
}

impl JsonFile {
    /// Returns a source that reads the keys of a sample.
    fn of_sample(&self, sample: Sample, input: &InputFile, rows_max: u64) -> Result<JsonSource> {
        let reader = sample_reader(sample, None);
        JsonSource::of_keys(reader, input.name(), &self.options, &self.names(), 0..rows_max)
    }

    /// Returns a source that reads only the keys of the file.
    fn keys_source(&mut self, input: &mut InputFile, rows: Range<u64>) -> Result<JsonSource> {
        let opened = input.open()?;
        let progress = (!opened.has_offsets_of_file()).then(|| opened.bytes_read.clone());
        let source = JsonSource::of_keys(opened.reader, input.name(), &self.options, &self.names(), rows)?;
        self.met = Some(source.new_keys());
        Ok(source.with_progress(progress, opened.bytes))
    }

    /// Reads all records of `source` on `threads` threads, and adds their keys to the known keys.
    fn read_keys(&mut self, source: &mut JsonSource, threads: usize) -> Result<()> {
        let met = source.new_keys();
        let (_, read) = infer::scan(source, &[], &[], threads, &Context::default());
        self.keys.extend(met.all());
        read
    }

    /// Returns `true` if a column in `named` is not known yet, and the rest of the file may have it.
    fn lacks(&self, named: &[String]) -> bool {
        let (names, _) = unique_names(self.names());
        let exists = |name: &String| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        !self.complete && !named.iter().all(exists)
    }

    /// Returns the columns for the keys that are known so far. Their names are unique.
    fn columns(&self) -> Columns {
        let (names, renamed) = unique_names(self.names());
        let notes = renamed.into_iter().map(|Renamed { from, to, .. }| match from.is_empty() {
            true => format!("the key \"\" is empty, and its column is called {to:?}"),
            false => {
                format!(
                    "the key {from:?} differs from another key only in case, so its column is called {to:?}"
                )
            }
        });
        let notes = notes.map(Into::into).chain(self.remark.clone()).collect();
        let places = self.keys.iter().map(|key| key.place.clone()).collect();
        Columns { names, places: Some(places), notes }
    }

    fn names(&self) -> Vec<String> {
        self.keys.iter().map(|key| key.name.clone()).collect()
    }
}

impl Content for JsonFile {
    fn source(&mut self, input: &mut InputFile, wanted: WantedRows<'_>) -> Result<Box<dyn Counted>> {
        let opened = input.open()?;
        let progress = (!opened.has_offsets_of_file()).then(|| opened.bytes_read.clone());
        let (columns, rows) = columns(wanted);
        let source =
            JsonSource::new(opened.reader, input.name(), &self.options, &self.names(), columns, rows)?;
        self.met = Some(source.new_keys());
        Ok(Box::new(source.with_progress(progress, opened.bytes)))
    }

    fn sample_source(
        &mut self,
        input: &mut InputFile,
        sample_bytes: usize,
        wanted: WantedRows<'_>,
    ) -> Result<Box<dyn Counted>> {
        let sample = sample_reader(input.sample(sample_bytes)?, None);
        let (columns, rows) = columns(wanted);
        let source = JsonSource::new(sample, input.name(), &self.options, &self.names(), columns, rows)?;
        Ok(Box::new(source))
    }

    fn has_untyped_values(&self) -> bool {
        true
    }

    fn can_convert(&self, conversion: &Conversion) -> bool {
        !conversion.is_number()
    }

    fn knows_all_columns(&self) -> bool {
        self.complete
            || matches!(&self.options.wanted, Wanted::Named(names) if names.len() == self.keys.len())
    }

    fn forget_columns(&mut self) {
        self.complete = false;
    }

    fn met_new_column(&self) -> bool {
        self.met.as_ref().is_some_and(NewKeysMet::any)
    }

    fn columns_source(&mut self, input: &mut InputFile, rows: Range<u64>) -> Result<Box<dyn Counted>> {
        Ok(Box::new(self.keys_source(input, rows)?))
    }

    fn take_new_columns(&mut self) -> Option<Columns> {
        if let Some(met) = self.met.take() {
            self.keys.extend(met.all());
        }
        self.complete = true;
        Some(self.columns())
    }
}

/// Returns the field or the constant for each column of the table, and the range of rows to read.
fn columns(wanted: WantedRows<'_>) -> (Vec<JsonColumn>, Range<u64>) {
    let WantedRows { map, as_text, rows, .. } = wanted;
    let columns = map.into_iter().enumerate();
    let columns =
        columns.map(|(index, from)| JsonColumn { from, as_text: as_text.get(index) == Some(&true) });
    (columns.collect(), rows)
}
