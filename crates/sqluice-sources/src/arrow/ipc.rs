//! Reads Arrow IPC: a file, whose footer lists the offsets of its batches, or a stream of batches.
//!
//! ```text
//!  stream   schema | dictionary | batch | batch ...
//!  file     ARROW1 | schema | dictionary | batch | batch ... | footer | length of the footer | ARROW1
//!  message  ff ff ff ff | length of metadata | metadata: kind, version, length of body | body
//! ```
//!
//! Invariant: before memory is allocated, every length is compared with the rest of the file, and the size of a decompressed body with the
//! memory of the load.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::iter;
use std::path::Path;
use std::sync::Arc;
use std::vec;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_footer_length, read_record_batch};
use arrow_ipc::{
    Block, Endianness, Message, MessageHeader, MetadataVersion, root_as_footer, root_as_message,
};
use arrow_schema::SchemaRef;
use sqluice_core::error::{Error, Place, Result};

use super::aligned::aligned;
use super::bound::MemoryBound;
use super::damaged::{BoxedError, read_damaged};

/// The first bytes of a message in an Arrow IPC stream. In streams of old versions, messages begin with the length instead.
const ARROW_STREAM: &[u8] = &[0xff; 4];

/// The number of bytes at the end of a file: the length of the footer, and the closing magic bytes.
const TAIL_BYTES: u64 = 10;

/// An iterator over record batches.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Reads the schema and the batches of `input`. `name` is its name in messages. `file` is `true` for a file and `false` for a stream.
///
/// # Errors
/// If the input is not Arrow IPC, is damaged, is of an unsupported kind, needs too much memory, or can't be read.
pub fn read(
    input: impl Read + Seek + Send + 'static,
    file: bool,
    name: &Path,
    memory: MemoryBound,
) -> Result<(SchemaRef, Batches)> {
    let place = Place::file(name);
    let mut reader = sound(&place, || Reader::open(input, file, memory))?;
    let schema = Arc::clone(&reader.schema);
    let mut is_sound = true;
    let batches = iter::from_fn(move || {
        let batch = is_sound.then(|| sound(&place, || reader.next_batch()).transpose()).flatten();
        is_sound = matches!(batch, Some(Ok(_)));
        batch
    });
    Ok((schema, Box::new(batches)))
}

/// Calls `read`. An error of the Arrow crate becomes the error of a damaged file. An error of this project is passed on.
fn sound<T>(place: &Place, read: impl FnOnce() -> Result<T, BoxedError>) -> Result<T> {
    read_damaged(read).map_err(|error| match error.downcast::<Error>() {
        Ok(refused) => refused.at(place.clone()),
        Err(error) => Error::input("this is not an Arrow IPC file, or it is damaged")
            .at(place.clone())
            .because(error)
            .hint("is it cut short, or still being written?"),
    })
}

struct Reader<R> {
    input: R,
    /// The length of the input.
    bytes: u64,
    /// The offset of the next read.
    at: u64,
    /// The positions of a file's batches; `None` for a stream.
    blocks: Option<vec::IntoIter<Block>>,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The memory that each dictionary takes.
    dictionary_bytes: HashMap<i64, u64>,
    memory: MemoryBound,
}

impl<R: Read + Seek> Reader<R> {
    fn open(mut input: R, file: bool, memory: MemoryBound) -> Result<Reader<R>, BoxedError> {
        let bytes = input.seek(SeekFrom::End(0))?;
        let schema = SchemaRef::new(arrow_schema::Schema::empty());
        let mut reader = Reader {
            input,
            bytes,
            at: 0,
            blocks: None,
            schema,
            dictionaries: HashMap::new(),
            dictionary_bytes: HashMap::new(),
            memory,
        };
        reader.input.seek(SeekFrom::Start(0))?;
        if file {
            reader.open_file()?;
            return Ok(reader);
        }
        let metadata = reader.next_metadata()?.ok_or("it has no schema")?;
        let message = message_of(&metadata)?;
        reader.schema = schema_of(message.header_as_schema().ok_or("it does not begin with a schema")?)?;
        let body = reader.body(&message)?;
        drop(body);
        Ok(reader)
    }

    fn open_file(&mut self) -> Result<(), BoxedError> {
        let tail_at = self.bytes.checked_sub(TAIL_BYTES).ok_or("it is too short")?;
        self.go_to(tail_at)?;
        let mut tail = [0; TAIL_BYTES as usize];
        self.input.read_exact(&mut tail)?;
        let footer_bytes = read_footer_length(tail)? as u64;
        self.go_to(tail_at.checked_sub(footer_bytes).ok_or("its footer is longer than the file")?)?;
        let footer = self.take(footer_bytes)?;
        let footer = root_as_footer(&footer).map_err(|error| format!("its footer: {error}"))?;
        // Files of old versions have no version in the footer, which reads as V1. Their messages contain the version.
        if footer.version() != MetadataVersion::V1 {
            check_version(footer.version())?;
        }
        self.schema = schema_of(footer.schema().ok_or("its footer has no schema")?)?;
        for block in footer.dictionaries().iter().flatten() {
            let metadata = self.block(block)?;
            let message = message_of(&metadata)?;
            if message.header_type() != MessageHeader::DictionaryBatch {
                return Err("the footer lists something else as a dictionary".into());
            }
            self.dictionary(&message)?;
        }
        let blocks: Vec<Block> = footer.recordBatches().iter().flatten().copied().collect();
        self.blocks = Some(blocks.into_iter());
        Ok(())
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, BoxedError> {
        loop {
            let metadata = match &mut self.blocks {
                None => self.next_metadata()?,
                Some(blocks) => match blocks.next() {
                    Some(block) => Some(self.block(&block)?),
                    None => None,
                },
            };
            let Some(metadata) = metadata else { return Ok(None) };
            let message = message_of(&metadata)?;
            match message.header_type() {
                MessageHeader::DictionaryBatch => self.dictionary(&message)?,
                MessageHeader::RecordBatch => {
                    let batch = message.header_as_record_batch().ok_or("a batch has no header")?;
                    let body = self.body(&message)?;
                    self.memory.check("a record batch, decompressed,", inflated(&batch, &body)?)?;
                    let schema = Arc::clone(&self.schema);
                    let version = message.version();
                    return Ok(Some(read_record_batch(
                        &body,
                        batch,
                        schema,
                        &self.dictionaries,
                        None,
                        &version,
                    )?));
                }
                MessageHeader::Tensor | MessageHeader::SparseTensor => {
                    return Err(unsupported("it has a tensor, and only tables are supported"));
                }
                other => {
                    return Err(format!("there is a message of kind {} among its batches", other.0).into());
                }
            }
        }
    }

    fn dictionary(&mut self, message: &Message<'_>) -> Result<(), BoxedError> {
        let dictionary = message.header_as_dictionary_batch().ok_or("a dictionary has no header")?;
        let body = self.body(message)?;
        let data = dictionary.data().ok_or("a dictionary has no values")?;
        let bytes = inflated(&data, &body)?;
        let before = self.dictionary_bytes.entry(dictionary.id()).or_default();
        *before = if dictionary.isDelta() { before.saturating_add(bytes) } else { bytes };
        let all = self.dictionary_bytes.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        self.memory.check("the dictionaries, decompressed,", all)?;
        read_dictionary(&body, dictionary, &self.schema, &mut self.dictionaries, &message.version())?;
        Ok(())
    }

    /// Reads the metadata of the next message of a stream.
    fn next_metadata(&mut self) -> Result<Option<Vec<u8>>, BoxedError> {
        // A stream may end without the mark for its end.
        if self.at == self.bytes {
            return Ok(None);
        }
        let mut length = self.length()?;
        if length == u32::MAX {
            length = self.length()?;
        }
        Ok(if length == 0 { None } else { Some(aligned(self.take(length.into())?)) })
    }

    fn length(&mut self) -> Result<u32, BoxedError> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads the metadata of a message of a file. The body of the message follows.
    fn block(&mut self, block: &Block) -> Result<Vec<u8>, BoxedError> {
        self.go_to(u64::try_from(block.offset())?)?;
        let mut metadata = self.take(u64::try_from(block.metaDataLength())?)?;
        let before = if metadata.starts_with(ARROW_STREAM) { 8 } else { 4 };
        if metadata.len() < before {
            return Err("a message is too short".into());
        }
        Ok(aligned(metadata.split_off(before)))
    }

    /// Reads the body of the message whose metadata was read last.
    fn body(&mut self, message: &Message<'_>) -> Result<Buffer, BoxedError> {
        let bytes = self.left(u64::try_from(message.bodyLength())?)?;
        let mut body = MutableBuffer::try_from_len_zeroed(bytes)?;
        self.input.read_exact(&mut body)?;
        self.at += bytes as u64;
        Ok(body.into())
    }

    fn take(&mut self, bytes: u64) -> Result<Vec<u8>, BoxedError> {
        let mut taken = vec![0; self.left(bytes)?];
        self.input.read_exact(&mut taken)?;
        self.at += bytes;
        Ok(taken)
    }

    /// Converts `bytes` to a length in memory, after a check that the input has this number of bytes left.
    fn left(&self, bytes: u64) -> Result<usize, BoxedError> {
        match self.at.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
            true => Ok(usize::try_from(bytes)?),
            false => Err("it refers to bytes beyond its end".into()),
        }
    }

    fn go_to(&mut self, at: u64) -> Result<(), BoxedError> {
        self.at = self.input.seek(SeekFrom::Start(at))?;
        Ok(())
    }
}

fn unsupported(why: impl Into<String>) -> BoxedError {
    Error::input(why.into()).into()
}

/// Parses the metadata of a message, and checks its version.
fn message_of(metadata: &[u8]) -> Result<Message<'_>, BoxedError> {
    let message = root_as_message(metadata).map_err(|error| format!("a message: {error}"))?;
    check_version(message.version())?;
    Ok(message)
}

fn check_version(version: MetadataVersion) -> Result<(), BoxedError> {
    match version {
        MetadataVersion::V4 | MetadataVersion::V5 => Ok(()),
        MetadataVersion::V1 | MetadataVersion::V2 | MetadataVersion::V3 => Err(unsupported(format!(
            "its Arrow metadata is of version {}, from before 2018; versions 4 and 5 are supported",
            version.0 + 1
        ))),
        MetadataVersion(other) => Err(unsupported(format!(
            "its Arrow metadata is of the unknown version {}; versions 4 and 5 are supported",
            i32::from(other) + 1
        ))),
    }
}

fn schema_of(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, BoxedError> {
    match schema.endianness() {
        Endianness::Little => Ok(Arc::new(try_fb_to_schema(schema)?)),
        Endianness::Big => {
            Err(Error::input("its numbers are big-endian, and only little-endian ones are supported")
                .hint("write it on a little-endian machine, or as Parquet")
                .into())
        }
        Endianness(other) => Err(unsupported(format!("its numbers are of the unknown byte order {other}"))),
    }
}

/// Returns the total size of a batch's buffers after decompression, as the file declares it; 0 if the batch is not compressed. The
/// decompressors stop at this size.
fn inflated(batch: &arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<u64, BoxedError> {
    if batch.compression().is_none() {
        return Ok(0);
    }
    let mut all = 0u64;
    for buffer in batch.buffers().iter().flatten().filter(|buffer| buffer.length() > 0) {
        let at = usize::try_from(buffer.offset())?;
        let declared =
            at.checked_add(8).and_then(|end| body.get(at..end)).ok_or("a buffer is outside its body")?;
        match i64::from_le_bytes(declared.try_into()?) {
            // The buffer is not compressed.
            -1 => {}
            bytes => all = all.saturating_add(u64::try_from(bytes)?),
        }
    }
    Ok(all)
}
