//! JSON files of a load: their keys, which may come first anywhere.
//!
//! ```text
//!  the sample ──> keys ──> columns ──> load ──> done
//!                   ^                   │ a record has a key that is none of these
//!                   └── all is read <───┘ once, for its keys alone
//! ```

use std::io::{Cursor, Read};
use std::ops::Range;

use sqluice_core::error::{Error, Message, Place, Result, Setting, message};
use sqluice_core::progress::{Cancel, Silent};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_engine::options::IfExists;
use sqluice_sources::csv::Renamed;
use sqluice_sources::infer::{self, Evidence};
use sqluice_sources::input::{InputFile, Sample};
use sqluice_sources::json::{
    JsonColumn, JsonOptions, JsonSource, Key, Layout, NewKeysMet, Wanted, arrays_of_objects, unique_names,
};

use super::csv::SAMPLE_GROWTH;
use super::files::{Content, CutOff, LoadFile, Opened, record_bytes_max};
use super::format::FileFormat;
use super::keys;
use super::request::Request;

/// How a JSON file is read.
pub(super) struct JsonFile {
    options: JsonOptions,
    /// Its keys, as far as they are known.
    keys: Vec<Key>,
    /// There are no more.
    complete: bool,
    /// What the last source met of others.
    met: Option<NewKeysMet>,
    /// Where the records may be, or what stands around them.
    remark: Option<Message>,
}

impl JsonFile {
    /// Looks at a file.
    pub(super) fn open(
        mut file: LoadFile,
        layout: Layout,
        load: &Request,
        rows_max: u64,
    ) -> Result<LoadFile> {
        let wanted = load.columns.clone().map_or(Wanted::All, Wanted::Named);
        let options = JsonOptions {
            part_bytes: load.part_bytes,
            record_bytes_max: record_bytes_max(load),
            records: load.format.records.clone(),
            wanted,
            ..JsonOptions::new(layout)
        };
        file.words = match &options.records {
            Some(path) => format!("JSON, records in {path}"),
            None => FileFormat::Json(layout).words().to_owned(),
        };
        let remark = options.records.as_ref().map(|path| {
            format!("records are the elements of {path}; what stands around that array is left out").into()
        });
        let mut json = JsonFile { options, keys: Vec::new(), complete: false, met: None, remark };
        let mut sample_bytes = load.sample_bytes;
        loop {
            let sample = file.input.sample(sample_bytes)?;
            let opened = Opened::of(&sample, sample_bytes);
            let (whole, text_bytes) = (opened.whole, opened.text_bytes);
            file.sampled(opened);
            let more =
                sample_bytes <= json.options.record_bytes_max && text_bytes >= sample_bytes as u64 && !whole;
            let head = Sample { text: sample.text.clone(), ..sample };
            let mut source = match json.of_sample(sample, &file.input, rows_max) {
                // The array has not begun.
                Err(_) if more => {
                    sample_bytes = sample_bytes.max(1).saturating_mul(SAMPLE_GROWTH);
                    continue;
                }
                source => source?,
            };
            // Where the sample is cut off, it can't be read.
            let _ = json.read_keys(&mut source, 1);
            json.name_columns(&mut file);
            let source = json.all_of_sample(&mut file.input, sample_bytes, rows_max)?;
            file.observe(source, load, rows_max)?;
            if !more || file.sample_rows > 0 {
                json.suggest_records(&mut file, &head)?;
                break;
            }
            sample_bytes = sample_bytes.max(1).saturating_mul(SAMPLE_GROWTH);
        }
        json.complete = file.seen;
        if json.lacks_asked(&file, load) {
            if !file.can_reopen() {
                file.keep(&load.temp_folder()?, &Silent)?;
            }
            let mut source = json.keys_source(&mut file.input, 0..rows_max)?;
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            json.read_keys(&mut source, load.write.threads.unwrap_or(threads))?;
            json.complete = true;
            json.name_columns(&mut file);
        }
        file.content = Content::Json(json);
        Ok(file)
    }

    /// Suggests the array in which the records may be, where a file is one object that has such an array.
    ///
    /// # Errors
    /// When no memory holds that object.
    fn suggest_records(&mut self, file: &mut LoadFile, sample: &Sample) -> Result<()> {
        if self.options.layout == Layout::Array
            || file.sample_rows > 1
            || file.sample_rows == 1 && !sample.whole
        {
            return Ok(());
        }
        let Some(path) = arrays_of_objects(&sample.text).into_iter().next() else { return Ok(()) };
        let suggestion =
            message![Setting::Records.to(path.to_string()), " loads a row for each of its elements"];
        if file.sample_rows == 0 && !sample.whole {
            let message = format!("the file is one long object, with an array of objects in {path}");
            return Err(Error::input(message).at(Place::file(file.input.name())).hint(suggestion));
        }
        let words = format!("the file is one object, with an array of objects in {path}; ");
        self.remark = Some(message![words, suggestion]);
        self.name_columns(file);
        Ok(())
    }

    /// Whether the user names a column that the sample does not have.
    fn lacks_asked(&self, file: &LoadFile, load: &Request) -> bool {
        let mut asked: Vec<&str> = load.columns.iter().flatten().map(String::as_str).collect();
        asked.extend(load.types.iter().map(|(name, _)| name.as_str()));
        asked.extend(load.convert.iter().map(|(name, _)| name.as_str()));
        asked.extend(load.primary_key.iter().map(String::as_str));
        if let IfExists::Upsert(keys) = &load.write.if_exists {
            asked.extend(keys.iter().map(String::as_str));
        }
        let indexed = keys::indexed(load);
        asked.extend(indexed.iter().map(String::as_str));
        let is_there = |name: &&str| file.names.iter().any(|known| known.eq_ignore_ascii_case(name));
        !self.complete && !asked.iter().all(is_there)
    }

    /// The keys of a sample.
    fn of_sample(&self, sample: Sample, input: &InputFile, rows_max: u64) -> Result<JsonSource> {
        JsonSource::of_keys(reader(sample), input.name(), &self.options, &self.names(), 0..rows_max)
    }

    fn all_of_sample(
        &self,
        input: &mut InputFile,
        sample_bytes: usize,
        rows_max: u64,
    ) -> Result<Box<dyn Counted>> {
        let map = (0..self.keys.len()).map(ColumnFrom::Field).collect();
        self.sample_source(input, sample_bytes, map, &vec![false; self.keys.len()], 0..rows_max)
    }

    /// Reads a source for its keys, on some threads.
    fn read_keys(&mut self, source: &mut JsonSource, threads: usize) -> Result<()> {
        let met = source.new_keys();
        let (_, read) = infer::scan(source, &[], threads, &Cancel::new(), &Silent);
        self.keys.extend(met.all());
        read
    }

    /// What the columns are called after the keys.
    pub(super) fn name_columns(&self, file: &mut LoadFile) {
        let (names, renamed) = unique_names(self.names());
        file.names = names;
        file.places = Some(self.keys.iter().map(|key| key.place.clone()).collect());
        file.evidence.resize(file.names.len(), Evidence::new());
        let notes = renamed.into_iter().map(|Renamed { from, to, .. }| match from.is_empty() {
            true => format!("the key \"\" is no name, and its column is called {to:?}"),
            false => {
                format!("the key {from:?} is another by its case alone, and its column is called {to:?}")
            }
        });
        file.notes = notes.map(Into::into).chain(self.remark.clone()).collect();
    }

    fn names(&self) -> Vec<String> {
        self.keys.iter().map(|key| key.name.clone()).collect()
    }

    /// Notes that there may be more keys.
    pub(super) fn unsee(&mut self) {
        self.complete = false;
    }

    /// Whether all keys that matter are known.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
            || matches!(&self.options.wanted, Wanted::Named(names) if names.len() == self.keys.len())
    }

    /// Whether the last source has met a key that is not known.
    pub(super) fn met_new(&self) -> bool {
        self.met.as_ref().is_some_and(NewKeysMet::any)
    }

    /// Opens the file for its keys alone.
    pub(super) fn keys_source(&mut self, input: &mut InputFile, rows: Range<u64>) -> Result<JsonSource> {
        let opened = input.open()?;
        let progress = (!opened.has_offsets_of_file()).then(|| opened.bytes_read.clone());
        let source = JsonSource::of_keys(opened.reader, input.name(), &self.options, &self.names(), rows)?;
        self.met = Some(source.new_keys());
        Ok(source.with_progress(progress, opened.bytes))
    }

    /// Takes the keys that the last source has met, which was read to its end for them.
    pub(super) fn take_met(&mut self) {
        if let Some(met) = self.met.take() {
            self.keys.extend(met.all());
        }
        self.complete = true;
    }

    /// Opens the file for its rows.
    pub(super) fn source(
        &mut self,
        input: &mut InputFile,
        map: Vec<ColumnFrom>,
        as_text: &[bool],
        rows: Range<u64>,
    ) -> Result<Box<dyn Counted>> {
        let opened = input.open()?;
        let progress = (!opened.has_offsets_of_file()).then(|| opened.bytes_read.clone());
        let columns = columns(map, as_text);
        let source =
            JsonSource::new(opened.reader, input.name(), &self.options, &self.names(), columns, rows)?;
        self.met = Some(source.new_keys());
        Ok(Box::new(source.with_progress(progress, opened.bytes)))
    }

    /// Opens a sample, up to where it is cut off.
    pub(super) fn sample_source(
        &self,
        input: &mut InputFile,
        sample_bytes: usize,
        map: Vec<ColumnFrom>,
        as_text: &[bool],
        rows: Range<u64>,
    ) -> Result<Box<dyn Counted>> {
        let sample = input.sample(sample_bytes)?;
        let columns = columns(map, as_text);
        let source =
            JsonSource::new(reader(sample), input.name(), &self.options, &self.names(), columns, rows)?;
        Ok(Box::new(source))
    }
}

fn columns(map: Vec<ColumnFrom>, as_text: &[bool]) -> Vec<JsonColumn> {
    let columns = map.into_iter().enumerate();
    columns.map(|(index, from)| JsonColumn { from, as_text: as_text.get(index) == Some(&true) }).collect()
}

/// Opens a sample; behind its last byte, one that is not all of its file can't be read.
fn reader(sample: Sample) -> Box<dyn Read + Send> {
    let bytes = sample.text.len();
    let text = Cursor::new(sample.text);
    match sample.whole {
        true => Box::new(text),
        false => Box::new(text.chain(CutOff { bytes, skips: None })),
    }
}
