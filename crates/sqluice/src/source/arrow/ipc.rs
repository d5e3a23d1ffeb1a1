//! Arrow IPC: a file, which ends with a footer that says where its batches are, or a stream of them.

use std::io::{Read, Seek};
use std::iter;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::read_damaged;
use crate::error::{Error, Place, Result};

/// What a file begins with.
pub const FILE_MAGIC: &[u8] = b"ARROW1";

/// What a stream begins with: no length of old streams.
pub const STREAM_MAGIC: &[u8] = &[0xff; 4];

/// Record batches, one after another.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// The schema and the batches of `input`, which messages call `name`; `file` says that it is a file, and no stream.
///
/// # Errors
/// When it is neither, is damaged, or can't be read.
pub fn read(
    input: impl Read + Seek + Send + 'static,
    file: bool,
    name: &Path,
) -> Result<(SchemaRef, Batches)> {
    let place = Place::file(name);
    if file {
        let reader = sound(&place, || FileReader::try_new_buffered(input, None))?;
        return Ok((reader.schema(), batches(reader, place)));
    }
    let reader = sound(&place, || StreamReader::try_new_buffered(input, None))?;
    Ok((reader.schema(), batches(reader, place)))
}

/// The batches of a reader, up to the first that is damaged.
fn batches(
    mut reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    place: Place,
) -> Batches {
    let mut is_sound = true;
    Box::new(iter::from_fn(move || {
        let batch = is_sound.then(|| sound(&place, || reader.next().transpose()).transpose()).flatten();
        is_sound = matches!(batch, Some(Ok(_)));
        batch
    }))
}

/// What `read` reads, unless that is damaged.
fn sound<T>(place: &Place, read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T> {
    read_damaged(read).map_err(|error| {
        Error::input("this is no Arrow IPC, or it is damaged")
            .at(place.clone())
            .because(error)
            .hint("is it cut short, or still being written?")
    })
}
