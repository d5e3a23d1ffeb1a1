//! CSV files of a load, once it is known how they are written.

use std::io::{Cursor, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::error::Result;
use sqluice_core::source::chain::Counted;
use sqluice_sources::csv::{ColumnFrom, CsvOptions, CsvReader};
use sqluice_sources::input::{InputFile, Sample};

use super::sample::{CutOff, changed};

/// How a CSV file is read.
pub(crate) struct CsvFile {
    options: CsvOptions,
    /// Rows that were loaded although fields are missing.
    padded: Arc<AtomicU64>,
}

impl CsvFile {
    /// A file that is read with `options`.
    pub(crate) fn new(options: CsvOptions) -> CsvFile {
        CsvFile { options, padded: Arc::default() }
    }

    /// Opens a file for its rows.
    pub(crate) fn source(
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
            return Err(changed());
        }
        // An attempt before this one loaded nothing.
        self.padded.store(0, Ordering::Relaxed);
        let source = reader.into_source(map, rows).with_padded(Arc::clone(&self.padded));
        Ok(Box::new(source.with_progress(progress, opened.bytes)))
    }

    /// Rows that were loaded although fields are missing.
    pub(crate) fn padded(&self) -> u64 {
        self.padded.load(Ordering::Relaxed)
    }

    /// Opens a sample, up to where it is cut off.
    pub(crate) fn sample_source(
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

/// Opens a sample. One that is not all of its file ends with the error of a [`CutOff`].
pub(crate) fn sample_reader(sample: Sample, name: &Path, options: &CsvOptions) -> Result<CsvReader> {
    let bytes = sample.text.len();
    let text = Cursor::new(sample.text);
    let input: Box<dyn Read + Send> = if sample.whole {
        Box::new(text)
    } else {
        Box::new(text.chain(CutOff { bytes, skips: Some(options.skip_lines > 0) }))
    };
    CsvReader::new(input, name, options.clone())
}
