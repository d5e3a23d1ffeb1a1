//! Arrow IPC: a file, which ends with a footer that says where its batches are, or a stream of them.

use std::io::{Read, Seek};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

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
    let unreadable = |error| damaged(error, place.clone());
    let of = |place: Place| {
        move |batch: Result<RecordBatch, ArrowError>| batch.map_err(|error| damaged(error, place.clone()))
    };
    if file {
        let reader = FileReader::try_new_buffered(input, None).map_err(unreadable)?;
        return Ok((reader.schema(), Box::new(reader.map(of(place)))));
    }
    let reader = StreamReader::try_new_buffered(input, None).map_err(unreadable)?;
    Ok((reader.schema(), Box::new(reader.map(of(place)))))
}

fn damaged(error: ArrowError, place: Place) -> Error {
    Error::input("this is no Arrow IPC, or it is damaged")
        .at(place)
        .because(error)
        .hint("is it cut short, or still being written?")
}
