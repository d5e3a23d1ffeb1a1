//! Reads all tables of a workbook as a load does, for tests and fuzz targets.

use std::io::Write;
use std::path::{Path, PathBuf};

use sqluice_core::batch::{Batch, describe};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::{BadRow, Refused, Sink};

use super::Sheets;
use crate::formats::opened::{OpenRequest, Opened, SampledRows, WantedRows};
use crate::formats::{Format, FormatOptions, XLSX};
use crate::input::{InputFile, InputOptions};

/// A table that was read from a workbook.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// The name of the table; `None` if it is named after the file.
    pub(super) table: Option<String>,
    pub(super) names: Vec<String>,
    /// The values of each row, in the form of messages.
    pub(super) rows: Vec<Vec<String>>,
    /// The errors of bad rows.
    pub(super) bad: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) warning: Option<String>,
    /// The error that ended the reading, if any.
    pub(super) error: Option<String>,
}

/// Reads all tables of a workbook.
pub(super) fn read(bytes: &[u8], memory_bytes: u64, options: &FormatOptions) -> Result<Vec<Taken>, String> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let name = PathBuf::from("book.xlsx");
    let input =
        InputFile::of_open(file, name, InputOptions::new().workbooks(true)).map_err(|error| words(&error))?;
    let request = OpenRequest {
        path: Path::new("book.xlsx"),
        options,
        tables: &[],
        columns: None,
        declared: &[],
        named: &[],
        strict: false,
        lossy: false,
        #[cfg(feature = "parquet")]
        arrow: crate::arrow::ArrowOptions::default(),
        rows_max: u64::MAX,
        sample_bytes: 1 << 20,
        part_bytes: 1 << 16,
        record_bytes_max: (memory_bytes / 8) as usize,
        memory_bytes,
        threads: 1,
        temp_folder: &|| Ok(std::env::temp_dir()),
        open_database: &|| Err(Error::usage("no database")),
        open_again: &|| Err(Error::usage("not again")),
        cancel: &Cancel::default(),
    };
    let opened = Sheets.open(&XLSX, input, &request).map_err(|error| words(&error))?;
    Ok(opened.into_iter().map(take).collect())
}

fn words(error: &Error) -> String {
    let place = error.place().map(|place| format!("{place}: ")).unwrap_or_default();
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{place}{}{cause}", error.what())
}

/// Reads all rows of a table. Panics unless the rows of its sample are its first rows.
fn take(mut opened: Opened) -> Taken {
    let mut taken = Taken { table: opened.table, ..Taken::default() };
    taken.notes = opened.columns.notes.iter().map(ToString::to_string).collect();
    let mut of_sample = Taken::default();
    if let SampledRows::Read(mut sample) = opened.rows {
        while let Ok(Some(mut part)) = sample.next_part() {
            part.decode(&mut of_sample).expect("a sample is taken");
        }
    }
    let fields = opened.columns.names.len();
    taken.names = opened.columns.names;
    let map = (0..fields).map(ColumnFrom::Field).collect();
    let wanted = WantedRows { map, as_text: &[], as_blob: &[], rows: 0..u64::MAX };
    match opened.content.source(&mut opened.input, wanted) {
        Ok(mut source) => loop {
            match source.next_part() {
                Ok(Some(mut part)) => part.decode(&mut taken).expect("all rows are taken"),
                Ok(None) => break,
                Err(error) => {
                    taken.error = Some(words(&error));
                    break;
                }
            }
        },
        Err(error) => taken.error = Some(words(&error)),
    }
    assert!(taken.rows.starts_with(&of_sample.rows), "a sample is the beginning of the rows");
    taken.notes.extend(opened.content.late_notes().iter().map(ToString::to_string));
    taken.warning = opened.content.warning().map(|warning| warning.to_string());
    taken
}

impl Sink for Taken {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        for row in 0..batch.rows {
            self.rows.push(batch.columns.iter().map(|column| describe(&column.get(row))).collect());
        }
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.bad.push(words(&bad.error));
        Ok(())
    }
}
