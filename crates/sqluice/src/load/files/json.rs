//! JSON files of a load: their keys, of which any record may bring new ones.
//!
//! ```text
//!  the sample ──> keys ──> columns ──> load ──> done
//!                   ^                   │ a record has a key that is none of these
//!                   └── all is read <───┘ once, for its keys alone
//! ```

use std::io::{Cursor, Read};
use std::ops::Range;

use sqluice_core::error::{Message, Place, Result};
use sqluice_core::progress::{Cancel, Silent};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_sources::csv::Renamed;
use sqluice_sources::infer;
use sqluice_sources::input::{InputFile, Sample};
use sqluice_sources::json::{JsonColumn, JsonOptions, JsonSource, Key, NewKeysMet, Wanted, unique_names};

use super::sample::CutOff;

/// How a JSON file is read.
pub(crate) struct JsonFile {
    pub(crate) options: JsonOptions,
    /// Its keys, as far as they are known.
    keys: Vec<Key>,
    /// All keys of the file are known.
    pub(crate) complete: bool,
    /// What the last source met of others.
    met: Option<NewKeysMet>,
    /// Where the records may be, or what stands around them.
    pub(crate) remark: Option<Message>,
}

/// The columns of a file, as its keys name them.
pub(crate) struct KeyColumns {
    pub(crate) names: Vec<String>,
    pub(crate) places: Vec<Place>,
    /// Which columns are called otherwise than their keys, and where the records are.
    pub(crate) notes: Vec<Message>,
}

impl JsonFile {
    /// A file of which no key is known yet.
    pub(crate) fn new(options: JsonOptions, remark: Option<Message>) -> JsonFile {
        JsonFile { options, keys: Vec::new(), complete: false, met: None, remark }
    }

    /// The keys of a sample.
    pub(crate) fn of_sample(&self, sample: Sample, input: &InputFile, rows_max: u64) -> Result<JsonSource> {
        JsonSource::of_keys(reader(sample), input.name(), &self.options, &self.names(), 0..rows_max)
    }

    pub(crate) fn all_of_sample(
        &self,
        input: &mut InputFile,
        sample_bytes: usize,
        rows_max: u64,
    ) -> Result<Box<dyn Counted>> {
        let map = (0..self.keys.len()).map(ColumnFrom::Field).collect();
        self.sample_source(input, sample_bytes, map, &vec![false; self.keys.len()], 0..rows_max)
    }

    /// Reads a source for its keys, on some threads.
    pub(crate) fn read_keys(&mut self, source: &mut JsonSource, threads: usize) -> Result<()> {
        let met = source.new_keys();
        let (_, read) = infer::scan(source, &[], threads, &Cancel::new(), &Silent);
        self.keys.extend(met.all());
        read
    }

    /// The columns of the keys that are known.
    pub(crate) fn columns(&self) -> KeyColumns {
        let (names, renamed) = unique_names(self.names());
        let notes = renamed.into_iter().map(|Renamed { from, to, .. }| match from.is_empty() {
            true => format!("the key \"\" is empty, and its column is called {to:?}"),
            false => {
                format!("the key {from:?} is another by its case alone, and its column is called {to:?}")
            }
        });
        let notes = notes.map(Into::into).chain(self.remark.clone()).collect();
        KeyColumns { names, places: self.keys.iter().map(|key| key.place.clone()).collect(), notes }
    }

    fn names(&self) -> Vec<String> {
        self.keys.iter().map(|key| key.name.clone()).collect()
    }

    /// Notes that the file may have more keys.
    pub(crate) fn unsee(&mut self) {
        self.complete = false;
    }

    /// Whether all keys that matter are known.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
            || matches!(&self.options.wanted, Wanted::Named(names) if names.len() == self.keys.len())
    }

    /// Whether the last source has met a key that is not known.
    pub(crate) fn met_new(&self) -> bool {
        self.met.as_ref().is_some_and(NewKeysMet::any)
    }

    /// Opens the file for its keys alone.
    pub(crate) fn keys_source(&mut self, input: &mut InputFile, rows: Range<u64>) -> Result<JsonSource> {
        let opened = input.open()?;
        let progress = (!opened.has_offsets_of_file()).then(|| opened.bytes_read.clone());
        let source = JsonSource::of_keys(opened.reader, input.name(), &self.options, &self.names(), rows)?;
        self.met = Some(source.new_keys());
        Ok(source.with_progress(progress, opened.bytes))
    }

    /// Takes the keys that the last source has met, which was read to its end for them.
    pub(crate) fn take_met(&mut self) {
        if let Some(met) = self.met.take() {
            self.keys.extend(met.all());
        }
        self.complete = true;
    }

    /// Opens the file for its rows.
    pub(crate) fn source(
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
    pub(crate) fn sample_source(
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

/// Opens a sample. One that is not all of its file ends with the error of a [`CutOff`].
fn reader(sample: Sample) -> Box<dyn Read + Send> {
    let bytes = sample.text.len();
    let text = Cursor::new(sample.text);
    match sample.whole {
        true => Box::new(text),
        false => Box::new(text.chain(CutOff { bytes, skips: None })),
    }
}
