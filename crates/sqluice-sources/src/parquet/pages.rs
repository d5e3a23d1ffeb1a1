//! Reads the pages of a column chunk in sequence.
//!
//! ```text
//!  header: type, size, compressed size, number of values | compressed bytes | header | compressed bytes ...
//! ```
//!
//! The Parquet crate's own page reader trusts the headers: it allocates 2 GB for a page of a few bytes that declares that size, and room
//! for 2^31 values for a dictionary of one value that declares so many. This reader compares such numbers with the bytes that exist and with
//! the memory.
//!
//! Invariant: before anything is allocated for a page, its size is counted against the memory of its part ([`PageMemory`]).

use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use sqluice_core::error::Error;

use super::FilePart;
use super::header::{DATA, DATA_V2, DICTIONARY, Header, encoding};
use super::prefixes;
use super::unpack::Unpack;
use crate::arrow::MemoryBound;

type Result<T> = std::result::Result<T, ParquetError>;

/// The number of bytes that are read first for a page's header: most headers are smaller.
const HEADER_BYTES: u64 = 1 << 10;
/// The maximum size of a page's header in bytes.
const HEADER_BYTES_MAX: u64 = 16 << 20;

/// The number of bytes by which a chunk may exceed its declared size: old writers did not count the header of the dictionary.
const SLACK_BYTES: u64 = 100;

/// Counts the memory that the pages of a part take.
pub(super) struct PageMemory {
    memory: MemoryBound,
    /// The number of rows that are decoded at once.
    batch_rows: u64,
    /// The bytes of dictionaries, which are kept.
    dictionaries: AtomicU64,
    /// The bytes of the last page of each column, summed up.
    last: AtomicU64,
    /// The bytes of all pages since the batch began.
    batch: AtomicU64,
    /// The error of a page that was refused for its size. The Parquet crate passes on only the text of an error.
    refused: Mutex<Option<Error>>,
}

impl PageMemory {
    pub(super) fn new(memory: MemoryBound, batch_rows: u64) -> PageMemory {
        let zero = || AtomicU64::new(0);
        PageMemory {
            memory,
            batch_rows,
            dictionaries: zero(),
            last: zero(),
            batch: zero(),
            refused: Mutex::default(),
        }
    }

    /// Begins a batch. Only the last page of each column stays counted.
    pub(super) fn next_batch(&self) {
        self.batch.store(self.last.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Takes the error of the page that was refused for its size, if any.
    pub(super) fn refused(&self) -> Option<Error> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn take(&self, of: &AtomicU64, bytes: u64) -> Result<()> {
        of.fetch_add(bytes, Ordering::Relaxed);
        let all =
            self.dictionaries.load(Ordering::Relaxed).saturating_add(self.batch.load(Ordering::Relaxed));
        self.check(self.memory, "the pages of some rows, decompressed,", all)
    }

    fn check(&self, memory: MemoryBound, what: &str, bytes: u64) -> Result<()> {
        memory.check(what, bytes).map_err(|error| {
            let words = error.to_string();
            *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            ParquetError::General(words)
        })
    }
}

/// Returns the byte range of a column chunk, in a file of `file_bytes` bytes.
pub(super) fn range(chunk: &ColumnChunkMetaData, file_bytes: u64) -> Result<Range<u64>> {
    // Old writers store 0 as the offset of a missing dictionary.
    let data = chunk.data_page_offset();
    let start = chunk.dictionary_page_offset().filter(|at| (1..data).contains(at)).unwrap_or(data);
    let [start, bytes] = [start, chunk.compressed_size()]
        .map(|number| u64::try_from(number).map_err(|_| damaged("a column has no valid offset or size")));
    let (start, bytes) = (start?, bytes?);
    Ok(start..start.saturating_add(bytes).saturating_add(SLACK_BYTES).min(file_bytes))
}

/// A row group whose pages are read with limited memory.
pub(super) struct Group {
    pub(super) file: FilePart,
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) index: usize,
    pub(super) held: Arc<PageMemory>,
}

impl RowGroups for Group {
    fn num_rows(&self) -> usize {
        usize::try_from(self.metadata.row_group(self.index).num_rows()).unwrap_or_default()
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let group = self.metadata.row_group(self.index);
        let chunk = group.columns().get(column);
        let chunk = chunk.ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
        let pages = Pages::new(self.file.clone(), chunk, Arc::clone(&self.held))?;
        Ok(Box::new(Chunks(Some(Box::new(pages)))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(iter::once(self.metadata.row_group(self.index)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// An iterator over the chunks of a column: the one chunk in its row group.
struct Chunks(Option<Box<Pages>>);

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(pages as Box<dyn PageReader>))
    }
}

impl PageIterator for Chunks {}

struct Pages {
    file: FilePart,
    /// The offset of the next read in the file.
    at: u64,
    /// The offset in the file at which the column chunk ends.
    end: u64,
    /// The number of values in pages that are not read yet.
    values_left: i64,
    /// The header that has been read in advance, and the offset of its page.
    next: Option<(Header, u64)>,
    unpack: Unpack,
    /// The minimum number of bytes of a value in the plain encoding.
    value_bytes: u64,
    /// The maximum repetition level and definition level. If there are repetition levels, a row can have any number of values.
    levels: [i16; 2],
    last_bytes: u64,
    held: Arc<PageMemory>,
}

impl Pages {
    fn new(file: FilePart, chunk: &ColumnChunkMetaData, held: Arc<PageMemory>) -> Result<Pages> {
        let Range { start, end } = range(chunk, file.bytes)?;
        let column = chunk.column_descr();
        Ok(Pages {
            at: start,
            end,
            file,
            values_left: chunk.num_values(),
            next: None,
            unpack: Unpack::new(chunk.compression_codec()),
            value_bytes: match column.physical_type() {
                Type::BOOLEAN => 0,
                Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
                Type::INT64 | Type::DOUBLE => 8,
                Type::INT96 => 12,
                Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or_default(),
            },
            levels: [column.max_rep_level(), column.max_def_level()],
            last_bytes: 0,
            held,
        })
    }

    /// Returns the header of the next page, and the offset of the page's content.
    fn peek(&mut self) -> Result<Option<&(Header, u64)>> {
        while self.next.is_none() {
            if self.values_left <= 0 || self.at >= self.end {
                return Ok(None);
            }
            let (header, bytes) = self.read_header()?;
            let page = self.at + bytes as u64;
            let packed =
                u64::try_from(header.packed_bytes).map_err(|_| damaged("a page has an impossible length"))?;
            if header.bytes < 0 || header.values < 0 || packed > self.end.saturating_sub(page) {
                return Err(damaged("a page is longer than its column"));
            }
            self.at = page + packed;
            // Pages of other types, such as indexes, are skipped.
            if matches!(header.kind, DATA | DICTIONARY | DATA_V2) {
                if header.kind != DICTIONARY {
                    self.values_left = self.values_left.saturating_sub(header.values);
                }
                self.next = Some((header, page));
            }
        }
        Ok(self.next.as_ref())
    }

    fn read_header(&self) -> Result<(Header, usize)> {
        let mut window = HEADER_BYTES;
        loop {
            let bytes = window.min(self.end - self.at);
            let buffer = self.file.get_bytes(self.at, bytes as usize)?;
            if let Some(header) = Header::read(&buffer) {
                return Ok(header);
            }
            if bytes < window || window >= HEADER_BYTES_MAX {
                return Err(damaged("a page has no header"));
            }
            window *= 16;
        }
    }

    /// Adds bytes to the memory of the column's last page.
    fn hold(&mut self, bytes: u64) -> Result<()> {
        self.held.last.fetch_add(bytes, Ordering::Relaxed);
        self.last_bytes = self.last_bytes.saturating_add(bytes);
        self.held.take(&self.held.batch, bytes)
    }

    /// Adds the memory that the reader allocates for the values of a page in addition to the page itself.
    fn hold_extra(&mut self, header: &Header, page: &[u8]) -> Result<()> {
        let encoding = encoding(header.encoding)?;
        if !prefixes::have_lengths(encoding) {
            return Ok(());
        }
        let values = u64::try_from(header.values).unwrap_or_default();
        let window = if self.levels[0] > 0 { values } else { self.held.batch_rows };
        let lengths = self.after_levels(header, page);
        let extra = lengths.and_then(|lengths| prefixes::extra(lengths, encoding, values, window));
        let extra = extra.ok_or_else(|| damaged("a page has wrong lengths"))?;
        // The reader uses 32-bit positions, and some of their range is needed for the bytes of the page itself.
        let memory = MemoryBound(Some(self.held.memory.0.unwrap_or(u64::MAX).min(1 << 31)));
        self.held.check(memory, "some values with common prefixes", extra.prefixes)?;
        self.hold(extra.lengths.saturating_add(extra.prefixes))
    }

    /// Returns the part of a page with its values, after the levels.
    fn after_levels<'a>(&self, header: &Header, page: &'a [u8]) -> Option<&'a [u8]> {
        if header.kind == DATA_V2 {
            let levels = header.definition_bytes.checked_add(header.repetition_bytes)?;
            return page.get(usize::try_from(levels).ok()?..);
        }
        let mut rest = page;
        let encodings = [header.repetition_encoding, header.definition_encoding];
        for (highest, of) in self.levels.into_iter().zip(encodings).filter(|(highest, _)| *highest > 0) {
            let bytes = if encoding(of).ok()? == Encoding::RLE {
                let (length, after) = rest.split_first_chunk()?;
                rest = after;
                u64::from(u32::from_le_bytes(*length))
            } else {
                let bits = u64::from(highest.unsigned_abs().ilog2()) + 1;
                u64::try_from(header.values).ok()?.checked_mul(bits)?.div_ceil(8)
            };
            rest = rest.get(usize::try_from(bytes).ok()?..)?;
        }
        Some(rest)
    }

    fn page(&mut self, header: &Header, at: u64) -> Result<Page> {
        let [bytes, packed_bytes, levels] =
            [header.bytes, header.packed_bytes, header.definition_bytes + header.repetition_bytes]
                .map(|number| usize::try_from(number).unwrap_or_default());
        let is_dictionary = header.kind == DICTIONARY;
        let values = u64::try_from(header.values).unwrap_or_default();
        if is_dictionary && values.saturating_mul(self.value_bytes.max(1)) > bytes as u64 {
            return Err(damaged("a dictionary has fewer values than its header says"));
        }
        // One row may contain all values of a page, each of them in a few bits.
        let in_rows = if self.levels[0] > 0 && !is_dictionary { values.saturating_mul(8) } else { 0 };
        let held = (bytes as u64).saturating_add(in_rows);
        if is_dictionary {
            self.held.take(&self.held.dictionaries, held)?;
        } else {
            self.held.last.fetch_sub(self.last_bytes, Ordering::Relaxed);
            self.last_bytes = 0;
            self.hold(held)?;
        }
        let packed = self.file.get_bytes(at, packed_bytes)?;
        let is_v2 = header.kind == DATA_V2;
        let buf = if self.unpack.is_plain() || is_v2 && header.uncompressed {
            packed
        } else {
            // The levels at the start of the page are not compressed.
            let levels = if is_v2 { levels } else { 0 };
            let halves = packed.split_at_checked(levels).zip(bytes.checked_sub(levels));
            let ((before, packed), rest) = halves.ok_or_else(|| damaged("a page is too short"))?;
            let mut out = Vec::with_capacity(bytes);
            out.extend_from_slice(before);
            self.unpack.unpack(packed, rest, &mut out)?;
            Bytes::from(out)
        };
        if !is_dictionary {
            self.hold_extra(header, &buf)?;
        }
        let count = |number: i64| {
            u32::try_from(number).map_err(|_| damaged("a page has an impossible number of values or rows"))
        };
        let num_values = count(header.values)?;
        let encoding_of = encoding;
        let encoding = encoding(header.encoding)?;
        Ok(match header.kind {
            DICTIONARY => Page::DictionaryPage { buf, num_values, encoding, is_sorted: header.sorted },
            DATA => Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding: encoding_of(header.definition_encoding)?,
                rep_level_encoding: encoding_of(header.repetition_encoding)?,
                statistics: None,
            },
            _ => Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls: count(header.nulls)?,
                num_rows: count(header.rows)?,
                def_levels_byte_len: count(header.definition_bytes)?,
                rep_levels_byte_len: count(header.repetition_bytes)?,
                is_compressed: !header.uncompressed,
                statistics: None,
            },
        })
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.peek()?;
        match self.next.take() {
            Some((header, at)) => self.page(&header, at).map(Some),
            None => Ok(None),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let number = |number: i64| usize::try_from(number).ok();
        Ok(self.peek()?.map(|(header, _)| PageMetadata {
            num_rows: (header.kind == DATA_V2).then(|| number(header.rows)).flatten(),
            num_levels: (header.kind != DICTIONARY).then(|| number(header.values)).flatten(),
            is_dict: header.kind == DICTIONARY,
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.peek()?;
        self.next = None;
        Ok(())
    }
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}
