//! Reads Parquet files.
//!
//! ```text
//!  file   | row group 0: 200,000 rows             | row group 1: 90,000 rows   | ... | footer: schema, row groups; read first |
//!  parts  | rows 0..100000  | rows 100000..200000 | rows 200000..290000        | ...
//! ```
//!
//! A part is some of the rows of a row group, because whole groups are too large for the queue between the threads that decode parts and
//! the thread that writes. A part reads only the headers of the pages before its rows.

mod columns;
mod header;
mod pages;
mod prefixes;
mod refused;
mod thrift;
mod unpack;
mod views;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::input::RemoteRanges;
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::Amount;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::{Part, Sink, Source};
use sqluice_platform::positioned::Positioned;

use self::columns::Footer;
pub use self::columns::TableColumns;
use self::pages::{Group, PageMemory};
use self::views::Texts;
use super::arrow::{ArrowOptions, ArrowRows, BoxedError, MemoryBound, read_damaged};

/// The maximum number of rows of a part.
const PART_ROWS: u64 = 128 << 10;

/// The approximate maximum size of a part before compression.
const PART_BYTES: u64 = 32 << 20;

/// The maximum number of rows that are decoded at once.
const BATCH_ROWS: u64 = 4096;
/// The approximate maximum number of bytes of the rows that are decoded at once, by the sizes that the file declares.
const BATCH_BYTES: u64 = 8 << 20;

/// The maximum number of rows that are decoded at once if texts are read as blobs. It is small, because reading texts as blobs multiplies
/// the memory for the other blobs.
const BATCH_ROWS_AS_BLOBS: u64 = 32;

/// The number of bytes at the end of a remote file that are fetched first. Most footers are smaller.
const FOOTER_BYTES: u64 = 64 << 10;

/// A section of a local file, or a whole remote file. Each clone has its own position.
#[derive(Clone, Debug)]
pub struct FilePart {
    file: FileOf,
    /// The start of the section, in bytes.
    pub start: u64,
    /// The length of the section, in bytes.
    pub bytes: u64,
    at: u64,
}

#[derive(Clone, Debug)]
enum FileOf {
    Local(Arc<File>),
    Remote(Arc<RemoteRanges>),
}

impl FilePart {
    /// Creates a section of `file` with `bytes` bytes, starting at byte `start`.
    pub fn new(file: Arc<File>, start: u64, bytes: u64) -> FilePart {
        FilePart { file: FileOf::Local(file), start, bytes, at: 0 }
    }

    /// Creates a section that is a whole remote file, and announces that its end is needed first.
    pub fn of_remote(ranges: RemoteRanges, bytes: u64) -> FilePart {
        ranges.want(std::iter::once(bytes.saturating_sub(FOOTER_BYTES)..bytes));
        FilePart { file: FileOf::Remote(Arc::new(ranges)), start: 0, bytes, at: 0 }
    }
}

impl FilePart {
    fn has_failed(&self) -> bool {
        matches!(&self.file, FileOf::Remote(ranges) if ranges.has_failed())
    }

    /// Returns the error of a failed request, which is not the fault of the file's content.
    fn take_failure(&self) -> Option<Error> {
        match &self.file {
            FileOf::Local(_) => None,
            FileOf::Remote(ranges) => ranges.take_failure(),
        }
    }
}

impl Read for FilePart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let (buffer, at) = (&mut buffer[..wanted], self.start + self.at);
        let read = match &self.file {
            FileOf::Local(file) => file.read_at(buffer, at)?,
            FileOf::Remote(ranges) => ranges.read_at(buffer, at)?,
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for FilePart {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Length for FilePart {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for FilePart {
    type T = BufReader<FilePart>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(FilePart { at: start, ..self.clone() }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // A damaged file may ask for any range.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(ParquetError::EOF("it refers to bytes beyond its end".to_owned()));
        }
        let mut buffer = vec![0; length];
        FilePart { at: start, ..self.clone() }.read_exact(&mut buffer)?;
        Ok(buffer.into())
    }
}

/// A Parquet file whose footer has been read.
#[derive(Clone)]
pub struct ParquetFile {
    name: PathBuf,
    input: FilePart,
    footer: Arc<Footer>,
}

impl ParquetFile {
    /// Reads the footer of `input`. `name` is its name in messages.
    ///
    /// # Errors
    /// If the file is not a Parquet file, is damaged, has a feature that is not supported, such as encryption, or can't be read.
    pub fn open(input: FilePart, name: &Path) -> Result<ParquetFile> {
        let footer = Footer::read(&input).map_err(|error| {
            if let Some(failure) = input.take_failure() {
                return failure;
            }
            if let Some(refused) = refused::why(&input) {
                return refused.at(Place::file(name));
            }
            Error::input("this is not a Parquet file, or it is damaged")
                .at(Place::file(name))
                .because(error)
                .hint("is it cut short, or still being written? the list of its contents is at its end")
        })?;
        Ok(ParquetFile { name: name.to_owned(), input, footer: Arc::new(footer) })
    }

    /// Returns the columns of the file, with the types by which their values are interpreted: a UUID is text.
    pub fn schema(&self) -> &SchemaRef {
        &self.footer.schema
    }

    /// Returns `true` if the file contains an Arrow schema that can't be read. Then the types come from the Parquet schema.
    pub fn has_unreadable_hint(&self) -> bool {
        self.footer.unreadable_hint
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        u64::try_from(self.footer.parquet().file_metadata().num_rows()).unwrap_or_default()
    }

    /// Creates a source of rows for the columns of a table. The first row has the number `rows.start`; reading stops at `rows.end`. Only the
    /// fields that `table` uses are read.
    ///
    /// # Panics
    /// If `table` names a field that does not exist.
    pub fn source(&self, table: TableColumns<'_>, options: ArrowOptions, rows: Range<u64>) -> ParquetSource {
        let columns = self.footer.stored(table.from);
        let field = |column: &ColumnFrom| match column {
            ColumnFrom::Field(field) => Some(*field),
            ColumnFrom::Constant(_) => None,
        };
        let mut read: Vec<usize> = columns.iter().filter_map(field).collect();
        read.sort_unstable();
        read.dedup();
        self.want(&read);
        let declared = columns.iter().enumerate().map(|(column, from)| {
            let is = |of: &[bool]| of.get(column) == Some(&true);
            self.footer.declared_kind(field(from)?, is(table.as_text), is(table.as_blob))
        });
        let declared = declared.collect();
        // The reader returns columns in the order of the file.
        let columns = columns.into_iter().map(|column| match column {
            ColumnFrom::Field(field) => ColumnFrom::Field(read.partition_point(|other| *other < field)),
            constant @ ColumnFrom::Constant(_) => constant,
        });
        let rows_of =
            ArrowRows::new(Some(self.name.clone()), read.len(), columns.collect(), table.as_text, options)
                .declared_kinds(declared);
        let kinds = self.footer.kinds(&read);
        let texts = views::first_reading(&self.footer.metadata, &read, &kinds);
        let shared = Shared { file: self.clone(), read, kinds, texts, memory: options.memory, rows: rows_of };
        ParquetSource { shared: Arc::new(shared), group: 0, row: 0, rows_done: 0, numbers: rows }
    }
}

impl ParquetFile {
    /// Announces the columns that will be read from a remote file, so that no other bytes are fetched.
    fn want(&self, read: &[usize]) {
        let FileOf::Remote(ranges) = &self.input.file else { return };
        let metadata = self.footer.parquet();
        let roots = metadata.file_metadata().schema_descr();
        let groups = metadata.row_groups().iter();
        ranges.want(groups.flat_map(|group| {
            let columns = group.columns().iter().enumerate();
            let read = columns.filter(|(leaf, _)| read.contains(&roots.get_column_root_idx(*leaf)));
            read.filter_map(|(_, chunk)| pages::range(chunk, self.input.bytes).ok())
        }));
    }
}

/// The data that all parts share.
struct Shared {
    file: ParquetFile,
    /// The indexes of the columns that are read, in ascending order.
    read: Vec<usize>,
    /// The types by which the values of these columns are interpreted.
    kinds: Vec<DataType>,
    /// The form in which texts are read at the first attempt.
    texts: Texts,
    memory: MemoryBound,
    rows: ArrowRows,
}

/// A source of the rows of a Parquet file.
pub struct ParquetSource {
    shared: Arc<Shared>,
    /// The index of the current row group.
    group: usize,
    /// The number of rows of the current row group that are already in parts.
    row: u64,
    rows_done: u64,
    numbers: Range<u64>,
}

impl Source for ParquetSource {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let metadata = self.shared.file.footer.parquet();
        loop {
            let left = (self.numbers.end - self.numbers.start).saturating_sub(self.rows_done);
            if self.group == metadata.num_row_groups() || left == 0 {
                return Ok(None);
            }
            let group = metadata.row_group(self.group);
            let [rows, bytes, packed] = [group.num_rows(), group.total_byte_size(), group.compressed_size()]
                .map(|number| u64::try_from(number).unwrap_or_default());
            if self.row == rows {
                (self.group, self.row) = (self.group + 1, 0);
                continue;
            }
            // The row group is divided into parts of about the same size.
            let parts = rows.div_ceil(PART_ROWS).max(bytes / PART_BYTES).max(1);
            let count = rows.div_ceil(parts).min(rows - self.row).min(left);
            let part = ParquetPart {
                shared: Arc::clone(&self.shared),
                group: self.group,
                rows: self.row..self.row + count,
                first_row: self.numbers.start + self.rows_done,
                input_bytes: (u128::from(packed) * u128::from(count) / u128::from(rows)) as u64,
            };
            self.row += count;
            self.rows_done += count;
            return Ok(Some(Box::new(part)));
        }
    }

    fn total(&self) -> Option<Amount> {
        None
    }
}

impl Counted for ParquetSource {
    fn rows_done(&self) -> u64 {
        self.rows_done
    }
}

/// Some rows of a row group.
struct ParquetPart {
    shared: Arc<Shared>,
    group: usize,
    rows: Range<u64>,
    first_row: u64,
    input_bytes: u64,
}

impl Part for ParquetPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    fn place(&self) -> Option<Place> {
        self.shared.rows.place()
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let group = self.shared.file.footer.parquet().row_group(self.group);
        let [rows, bytes] = [group.num_rows(), group.total_byte_size()]
            .map(|number| u64::try_from(number).unwrap_or_default());
        let row_bytes = (bytes / rows.max(1)).max(1);
        let mut batch_rows = (BATCH_BYTES / row_bytes).clamp(1, BATCH_ROWS);
        let mut texts = self.shared.texts;
        let mut done = 0;
        loop {
            match self.decode_from(&mut done, batch_rows, texts, sink) {
                Ok(()) => return Ok(()),
                Err(Stopped::Failed(error)) => return Err(error),
                // These rows are larger than the average of the row group.
                Err(Stopped::TooLarge(_)) if batch_rows > 1 => batch_rows = batch_rows.div_ceil(16),
                Err(Stopped::TooLarge(error)) => return Err(self.shared.rows.placed(error)),
                // A text may not be UTF-8. Texts are read again as blobs, so that only the row with that text is a bad row.
                Err(Stopped::Damaged(_))
                    if texts == Texts::Checked && !self.shared.file.input.has_failed() =>
                {
                    (texts, batch_rows) = (Texts::AsBlobs, batch_rows.min(BATCH_ROWS_AS_BLOBS));
                }
                Err(Stopped::Damaged(error)) => return Err(self.damaged(error)),
            }
        }
    }
}

/// The reason why decoding stopped before the end of a part.
enum Stopped {
    /// The sink returned an error.
    Failed(Error),
    /// The rows that were decoded at once need too much memory.
    TooLarge(Error),
    Damaged(BoxedError),
}

impl ParquetPart {
    /// Decodes the rows after the first `done` and passes them to the sink. `done` counts them.
    fn decode_from(
        &self,
        done: &mut u64,
        batch_rows: u64,
        texts: Texts,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        let Shared { file, read, kinds, memory, rows, .. } = &*self.shared;
        let held = Arc::new(PageMemory::new(*memory, batch_rows));
        let stopped = |error| held.refused().map_or(Stopped::Damaged(error), Stopped::TooLarge);
        let count = self.rows.end - self.rows.start - *done;
        let wanted =
            [RowSelector::skip((self.rows.start + *done) as usize), RowSelector::select(count as usize)];
        let group = Group {
            file: file.input.clone(),
            metadata: Arc::clone(file.footer.parquet()),
            index: self.group,
            held: Arc::clone(&held),
        };
        let reader = read_damaged(|| {
            let levels = views::levels(&file.footer.metadata, read, texts)?;
            let selection = RowSelection::from(wanted.to_vec());
            ParquetRecordBatchReader::try_new_with_row_groups(
                &levels,
                &group,
                batch_rows as usize,
                Some(selection),
            )
        });
        let mut reader = reader.map_err(stopped)?;
        let first_row = self.first_row + *done;
        let mut next = first_row;
        while let Some(batch) = read_damaged(|| reader.next().transpose()).map_err(stopped)? {
            rows.give_as(Some(kinds), &batch, next, sink).map_err(Stopped::Failed)?;
            next += batch.num_rows() as u64;
            *done += batch.num_rows() as u64;
            held.next_batch();
        }
        if next - first_row < count {
            return Err(Stopped::Damaged("it has fewer rows than the footer of the file says".into()));
        }
        Ok(())
    }

    fn damaged(&self, error: BoxedError) -> Error {
        if let Some(failure) = self.shared.file.input.take_failure() {
            return failure;
        }
        if let Some(refused) = refused::why(&self.shared.file.input) {
            return self.shared.rows.placed(refused);
        }
        let message = format!("row group {} can't be read", self.group + 1);
        self.shared.rows.placed(Error::input(message).because(error).hint("the file is damaged"))
    }
}
