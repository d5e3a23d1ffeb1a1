//! Repairs the metadata of Arrow IPC messages that old writers did not align.
//!
//! ```text
//!  offset of the root | ... | Message ──> RecordBatch ──> variadicBufferCounts: count | numbers of 64 bits | ...
//! ```
//!
//! `variadicBufferCounts` is a list of 64-bit numbers: the number of data buffers of each view column. In a valid
//! [flatbuffer](https://flatbuffers.dev/internals/), such a list starts at a multiple of 8 bytes. Old writers, such as polars before 2.0,
//! put it anywhere, and readers that verify flatbuffers refuse it. This module appends an aligned copy of the list to the metadata and lets
//! the record batch refer to the copy.
//!
//! Invariant: metadata that readers accept is not changed.

/// The index of the field in a message that tells what the message contains.
const HEADER_TYPE: usize = 1;
/// The index of the field in a message that refers to the content.
const HEADER: usize = 2;
/// The index of the field in a dictionary batch that refers to the record batch with the values.
const DATA: usize = 1;
/// The index of the field in a record batch that refers to the list of buffer counts.
const COUNTS: usize = 4;

/// The value of `HEADER_TYPE` in a message that contains a dictionary batch.
const DICTIONARY_BATCH: u8 = 2;
/// The value of `HEADER_TYPE` in a message that contains a record batch.
const RECORD_BATCH: u8 = 3;

/// Returns equivalent metadata in which the list of buffer counts starts at a multiple of 8 bytes.
pub(super) fn aligned(mut metadata: Vec<u8>) -> Vec<u8> {
    if let Some((field, list)) = unaligned_counts(&metadata) {
        let list = list.to_vec();
        while metadata.len() % 8 != 4 {
            metadata.push(0);
        }
        if let Ok(offset) = u32::try_from(metadata.len() - field) {
            metadata[field..field + 4].copy_from_slice(&offset.to_le_bytes());
            metadata.extend(list);
        }
    }
    metadata
}

/// Returns the position of the reference to the list of buffer counts, and the bytes of the list, if the list is not aligned.
fn unaligned_counts(metadata: &[u8]) -> Option<(usize, &[u8])> {
    let message = referred(metadata, 0)?;
    let header = referred(metadata, field(metadata, message, HEADER)?)?;
    let batch = match *metadata.get(field(metadata, message, HEADER_TYPE)?)? {
        RECORD_BATCH => header,
        DICTIONARY_BATCH => referred(metadata, field(metadata, header, DATA)?)?,
        _ => return None,
    };
    let field = field(metadata, batch, COUNTS)?;
    let list = referred(metadata, field)?;
    let count = usize::try_from(number(metadata, list)?).ok()?;
    let bytes = metadata.get(list..list.checked_add(count.checked_mul(8)?.checked_add(4)?)?)?;
    (list % 8 != 4).then_some((field, bytes))
}

/// Returns the position that the reference at `at` points to.
fn referred(metadata: &[u8], at: usize) -> Option<usize> {
    at.checked_add(usize::try_from(number(metadata, at)?).ok()?)
}

/// Returns the position of a field of a table, if the table has the field.
fn field(metadata: &[u8], table: usize, index: usize) -> Option<usize> {
    let back = i64::from(number(metadata, table)?.cast_signed());
    let places = usize::try_from(i64::try_from(table).ok()?.checked_sub(back)?).ok()?;
    let of_field = 4 + 2 * index;
    if usize::from(short(metadata, places)?) < of_field + 2 {
        return None;
    }
    match short(metadata, places.checked_add(of_field)?)? {
        0 => None,
        after => table.checked_add(after.into()),
    }
}

fn number(metadata: &[u8], at: usize) -> Option<u32> {
    metadata.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn short(metadata: &[u8], at: usize) -> Option<u16> {
    metadata.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}
