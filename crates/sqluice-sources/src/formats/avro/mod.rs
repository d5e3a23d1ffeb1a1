//! Avro [object container files](https://avro.apache.org/docs/1.12.0/specification/#object-container-files) as record batches.
//!
//! ```text
//!  Obj 1 | names and values: avro.schema, avro.codec | 16 bytes | block | block ...
//!  block   number of records | length in bytes | records, one after another, compressed | the same 16 bytes
//! ```
//!
//! A schema in JSON (`schema`) gives the columns of the records (`column`). The values of a record follow one another in the order of the
//! schema, without field names. So nearly any bytes can be read as records, except for bytes that break one of Avro's few rules. All these
//! rules are checked.
//!
//! Values are stored like values of Parquet and Arrow files ([`arrow`](crate::arrow)), by these types:
//!
//! | Avro | Arrow |
//! |---|---|
//! | null, boolean, int, long, float, double | Null, Boolean, Int32, Int64, Float32, Float64 |
//! | bytes, fixed, also of UUIDs | Binary |
//! | string, also of UUIDs | Utf8; batches have binary data that may not be UTF-8 ([`read`]) |
//! | decimal | Decimal128, or Decimal256 of more than 38 digits; more than 76 are refused |
//! | date, time-millis, time-micros | Date32, Time32, Time64 |
//! | timestamp-millis, -micros, -nanos | Timestamp in UTC |
//! | local-timestamp-millis, -micros, -nanos | Timestamp without a time zone |
//! | duration | Interval |
//! | enum | Dictionary |
//! | array, map, record | List, Map, Struct |
//! | a union of null and a type | the type, nullable |
//! | other unions | Union |
//!
//! Invariant: the length of every value is compared with the rest of the file, and the memory of every block and record with the memory of
//! the load, before anything is allocated.
//!
//! # Why the format is read here
//!
//! Two crates read Avro. Neither keeps this invariant, and each takes some damage for the end of the file or for values:
//!
//! * `arrow-avro` 60.1 returns arrays, as needed here. It ends without an error if the last block is cut short. Before a nullable value, it
//!   accepts any number as the index of one of the two types; it reads any byte other than 0 as `true`, and months of more than 31 bits as
//!   negative. It decompresses a block to any length, and panics if a block of Snappy is shorter than its checksum. If one text is not
//!   UTF-8, it refuses all rows of the batch. It returns UUIDs that are strings as binary data.
//! * `apache-avro` 0.23 returns a tree of values for each record, which would have to be turned into arrays here. It bounds allocations, by
//!   one limit for the whole process, but allocates the declared size of a block before it reads the block. If a block is cut short in its
//!   first number, it takes this for the end of the file; it ignores bytes after the records of a block. It needs a dozen more crates.
//!
//! Both crates are maintained, and have the same license as this crate. They would save less code than the checks around them would need,
//! and the decoder here needs no crate that Parquet does not need anyway.

mod codec;
mod column;
mod cursor;
mod fault;
mod file;
#[cfg(fuzzing)]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fuzzing;
mod room;
mod schema;
#[cfg(any(test, fuzzing))]
#[cfg_attr(fuzzing, allow(dead_code))]
mod taken;
#[cfg(test)]
mod tests;

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::iter;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use sqluice_core::error::{Error, Place, Result};

use self::codec::Codec;
use self::column::{EMPTY_ITEMS_MAX, fields_of, finish_fields};
use self::cursor::Cursor;
use self::fault::Fault;
pub(super) use self::file::Avro;
use self::room::Room;
use crate::arrow::MemoryBound;
pub use crate::arrow::ipc::Batches;

/// The first bytes of an Avro file.
const AVRO: [u8; 4] = *b"Obj\x01";

/// The maximum number of records in a batch.
const BATCH_ROWS: usize = 16 << 10;

/// The maximum size of a header in bytes. The types of its schema take more memory than the header.
const HEADER_BYTES_MAX: u64 = 4 << 20;

/// The number of bytes of a file that are read at once.
const BUFFER_BYTES: usize = 128 << 10;

/// The 16 random bytes that end the header and each block.
type Marker = [u8; 16];

/// Reads the schema and the records of `input`, which is called `name` in messages. Records are returned in batches.
///
/// The batches have Binary where the schema has Utf8, because texts may not be UTF-8. Give the types of the schema to
/// [`ArrowRows::kinds`](crate::arrow::ArrowRows::kinds): then a row with a text that is not UTF-8 is a bad row.
///
/// # Errors
/// If the file is not an Avro file, is damaged, has an unsupported schema or codec, needs too much memory, or can't be read.
pub fn read(
    input: impl Read + Seek + Send + 'static,
    name: &Path,
    memory: MemoryBound,
) -> Result<(SchemaRef, Batches)> {
    let mut reader = Reader::open(input, memory).map_err(|fault| {
        let place = Place::file(name);
        match fault {
            Fault::Refused(error) => error.at(place),
            Fault::Unreadable(error) => Error::from_read(name, error),
            fault => damaged("this is not an Avro file, or it is damaged".to_owned(), fault).at(place),
        }
    })?;
    let schema = Arc::new(Schema::new(fields_of(&reader.columns, false)));
    let name = name.to_owned();
    let mut is_sound = true;
    let batches = iter::from_fn(move || {
        let batch = is_sound.then(|| reader.next_batch().map_err(|fault| reader.explain(fault, &name)));
        let batch = batch.and_then(Result::transpose);
        is_sound = matches!(batch, Some(Ok(_)));
        batch
    });
    Ok((schema, Box::new(batches)))
}

/// Returns the error for a damaged file.
fn damaged(message: String, fault: Fault) -> Error {
    let error = Error::input(message).hint("is it cut short, or still being written?");
    match fault {
        Fault::Damaged(what) => error.because(what),
        Fault::DamagedAs(what) => error.because(what),
        Fault::Refused(what) => error.because(what),
        Fault::Unreadable(what) => error.because(what),
    }
}

/// A file that is read from start to end.
struct Input<R> {
    reader: BufReader<R>,
    /// The number of bytes that are not read yet.
    left: u64,
}

impl<R: Read> Input<R> {
    /// Fills `out` with the next bytes. Returns an error if the file ends before `out` is full.
    fn read(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        self.left =
            self.left.checked_sub(out.len() as u64).ok_or(Fault::Damaged("it names bytes beyond its end"))?;
        self.reader.read_exact(out).map_err(|error| match error.kind() {
            // The file has become shorter since it was opened.
            ErrorKind::UnexpectedEof => Fault::Damaged("it ends too early"),
            _ => Fault::Unreadable(error),
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.read(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the next `bytes` bytes into `out`, and replaces its content.
    fn fill(&mut self, out: &mut Vec<u8>, bytes: u64) -> Result<(), Fault> {
        let beyond = Fault::Damaged("it names bytes beyond its end");
        let bytes = usize::try_from(bytes).ok().filter(|_| bytes <= self.left).ok_or(beyond)?;
        out.clear();
        out.resize(bytes, 0);
        self.read(out)
    }

    /// Reads a `long`.
    fn long(&mut self) -> Result<i64, Fault> {
        let mut bytes = Vec::with_capacity(10);
        loop {
            let [byte] = self.array()?;
            bytes.push(byte);
            if byte < 0x80 || bytes.len() > 10 {
                return Cursor::new(&bytes).long();
            }
        }
    }

    fn length(&mut self) -> Result<u64, Fault> {
        u64::try_from(self.long()?).map_err(|_| Fault::Damaged("a length is negative"))
    }
}

/// The header of a file.
struct Header {
    schema: Vec<u8>,
    codec: Codec,
    sync: Marker,
}

impl Header {
    fn read(input: &mut Input<impl Read>) -> Result<Header, Fault> {
        if input.array()? != AVRO {
            return Err(Fault::Damaged("it does not begin as an Avro file does"));
        }
        let end = input.left.saturating_sub(HEADER_BYTES_MAX);
        let (mut schema, mut codec) = (None, Codec::Null);
        loop {
            let pairs = input.long()?;
            if pairs == 0 {
                break;
            }
            if pairs < 0 {
                input.length()?;
            }
            for _ in 0..pairs.unsigned_abs() {
                let [name, value] = [Header::text(input, end)?, Header::text(input, end)?];
                match &name[..] {
                    b"avro.schema" => schema = Some(value),
                    b"avro.codec" => codec = Codec::of_name(&value)?,
                    _ => {}
                }
            }
        }
        let schema = schema.ok_or(Fault::Damaged("it has no schema"))?;
        Ok(Header { schema, codec, sync: input.array()? })
    }

    /// Reads a name or a value of the header. Returns an error if fewer than `end` bytes of the file would follow it: the header is too large.
    fn text(input: &mut Input<impl Read>, end: u64) -> Result<Vec<u8>, Fault> {
        let bytes = input.length()?;
        if bytes <= input.left && input.left - bytes < end {
            let error = format!("its header has more than {} MiB", HEADER_BYTES_MAX >> 20);
            return Err(Error::input(error).into());
        }
        let mut text = Vec::new();
        input.fill(&mut text, bytes)?;
        Ok(text)
    }
}

struct Reader<R> {
    input: Input<R>,
    header: Header,
    columns: schema::Fields,
    /// The schema of the batches, in which texts are Binary.
    stored: SchemaRef,
    memory: MemoryBound,
    room: Room,
    packed: Vec<u8>,
    block: Vec<u8>,
    /// The number of bytes of the current block that are already read.
    block_at: usize,
    /// The number of the current block, counted from 1.
    block_number: u64,
    /// The number of records of the current block that are not read yet.
    records_left: u64,
    /// The number of records of the file that are already read.
    records: u64,
}

impl<R: Read + Seek> Reader<R> {
    fn open(mut input: R, memory: MemoryBound) -> Result<Reader<R>, Fault> {
        let bytes = input.seek(SeekFrom::End(0)).map_err(Fault::Unreadable)?;
        input.seek(SeekFrom::Start(0)).map_err(Fault::Unreadable)?;
        let mut input = Input { reader: BufReader::with_capacity(BUFFER_BYTES, input), left: bytes };
        let header = Header::read(&mut input)?;
        let columns = schema::columns(&header.schema)?;
        let stored = Arc::new(Schema::new(fields_of(&columns, true)));
        Ok(Reader {
            input,
            header,
            columns,
            stored,
            memory,
            room: Room::new(memory),
            packed: Vec::new(),
            block: Vec::new(),
            block_at: 0,
            block_number: 0,
            records_left: 0,
            records: 0,
        })
    }

    /// Reads the next batch. Returns `None` at the end of the file.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Fault> {
        self.room.clear();
        let mut rows = 0;
        while rows < BATCH_ROWS && !self.room.is_full() {
            if self.records_left > 0 {
                rows += self.read_records(BATCH_ROWS - rows)?;
            } else if !self.next_block()? {
                break;
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        let arrays = finish_fields(&mut self.columns)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.stored), arrays, &options);
        batch.map(Some).map_err(Fault::of)
    }

    /// Reads records of the current block until the batch is full or the block ends. Returns the number of records read.
    fn read_records(&mut self, rows_max: usize) -> Result<usize, Fault> {
        let mut from = Cursor::new(&self.block[self.block_at..]);
        let mut rows = 0;
        while self.records_left > 0 && rows < rows_max && !self.room.is_full() {
            self.room.next_record();
            self.room.take(1)?;
            for (_, column) in &mut self.columns {
                column.read(&mut from, &mut self.room)?;
            }
            rows += 1;
            self.records += 1;
            self.records_left -= 1;
        }
        self.block_at = self.block.len() - from.left();
        if self.records_left == 0 && from.left() > 0 {
            return Err(Fault::Damaged("the block has more bytes than its records"));
        }
        Ok(rows)
    }

    /// Reads the next block. Returns `false` at the end of the file.
    fn next_block(&mut self) -> Result<bool, Fault> {
        if self.input.left == 0 {
            return Ok(false);
        }
        self.block_number += 1;
        (self.block_at, self.records_left) = (0, 0);
        self.block.clear();
        let records = self.input.length()?;
        let bytes = self.input.length()?;
        if bytes <= self.input.left {
            self.memory.check("a block", bytes)?;
        }
        self.input.fill(&mut self.packed, bytes)?;
        if self.input.array::<16>()? != self.header.sync {
            return Err(Fault::Damaged("the block does not end with the marker of the header"));
        }
        match self.header.codec {
            Codec::Null => mem::swap(&mut self.packed, &mut self.block),
            codec => codec.unpack(&self.packed, &mut self.block, self.memory)?,
        }
        let may_be_empty = self.columns.iter().all(|(_, column)| column.may_be_empty());
        if may_be_empty && records > EMPTY_ITEMS_MAX {
            return Err(Fault::Damaged("the block has more than a million records that take no bytes"));
        }
        if records == 0 && !self.block.is_empty() {
            return Err(Fault::Damaged("the block has more bytes than its records"));
        }
        self.records_left = records;
        Ok(true)
    }

    /// Returns the error for a fault in the current block, or in the current record of the block.
    fn explain(&self, fault: Fault, name: &Path) -> Error {
        let (block, record) = (self.block_number, self.records + 1);
        match fault {
            Fault::Unreadable(error) => Error::from_read(name, error),
            Fault::Refused(error) => {
                error.with_words(format!(" (record {record}, in block {block})")).at(Place::file(name))
            }
            fault => {
                let message = match self.records_left {
                    0 => format!("block {block} can't be read"),
                    _ => format!("record {record}, in block {block}, can't be read"),
                };
                damaged(message, fault).at(Place::file(name))
            }
        }
    }
}
