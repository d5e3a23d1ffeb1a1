//! Finds the reason why the Parquet crate refuses a file: encryption, an unsupported feature, or damage.

use std::io::Read;

use sqluice_core::error::Error;

use super::FilePart;
use super::thrift::{INTS, STRUCT, Thrift, Wanted};

/// The magic bytes of a Parquet file whose footer is encrypted.
const ENCRYPTED_PARQUET: &[u8] = b"PARE";

/// The highest known code of a converted type.
const CONVERTED_TYPE_MAX: i64 = 21;
/// The highest known code of a physical type.
const PHYSICAL_TYPE_MAX: i64 = 7;
/// The highest known code of a compression codec.
const CODEC_MAX: i64 = 7;

/// The maximum size of a footer that is searched for unsupported features.
const FOOTER_BYTES_MAX: u64 = 64 << 20;

/// Returns the error of a file with an unsupported feature; `None`: the file is damaged.
pub(super) fn why(input: &FilePart) -> Option<Error> {
    let tail_at = input.bytes.checked_sub(8)?;
    let read = |at, bytes: u64| {
        let mut buffer = vec![0; usize::try_from(bytes).ok()?];
        FilePart { at, ..input.clone() }.read_exact(&mut buffer).ok()?;
        Some(buffer)
    };
    let tail = read(tail_at, 8)?;
    if tail.ends_with(ENCRYPTED_PARQUET) {
        return Some(encrypted());
    }
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let footer = read(tail_at.checked_sub(length)?, length.min(FOOTER_BYTES_MAX))?;
    let mut found = None;
    // An unsupported feature is reported even if the rest of the footer is damaged.
    let _ = Thrift::new(&footer).fields(|thrift, id, kind| {
        match (id, kind) {
            (2, 9) => thrift.list(|thrift, kind| schema_element(thrift, kind, &mut found))?,
            (4, 9) => thrift.list(|thrift, kind| row_group(thrift, kind, &mut found))?,
            (8, STRUCT) => {
                found = Some(encrypted());
                return Some(Wanted::No);
            }
            _ => return Some(Wanted::No),
        }
        Some(Wanted::Yes)
    });
    found
}

pub(super) fn encrypted() -> Error {
    Error::input("the file is encrypted")
        .hint("decrypt it with the program that wrote it: encrypted Parquet is not supported")
}

fn unsupported(name: &[u8], what: &str) -> Error {
    let name = String::from_utf8_lossy(name);
    Error::input(format!("column {name} has {what}, which is not supported"))
        .hint("write the file again with another program, such as pyarrow")
}

fn schema_element(thrift: &mut Thrift<'_>, kind: u8, found: &mut Option<Error>) -> Option<Wanted> {
    if kind != STRUCT {
        return Some(Wanted::No);
    }
    let (mut name, mut physical, mut converted) = (&b""[..], None, None);
    thrift.fields(|thrift, id, kind| {
        match (id, kind) {
            (4, 8) => name = thrift.binary()?,
            (1, kind) if INTS.contains(&kind) => physical = Some(thrift.int()?),
            (6, kind) if INTS.contains(&kind) => converted = Some(thrift.int()?),
            _ => return Some(Wanted::No),
        }
        Some(Wanted::Yes)
    })?;
    if let Some(other) = physical.filter(|number| !(0..=PHYSICAL_TYPE_MAX).contains(number)) {
        found.get_or_insert_with(|| unsupported(name, &format!("the unknown type {other}")));
    }
    if let Some(other) = converted.filter(|number| !(0..=CONVERTED_TYPE_MAX).contains(number)) {
        found.get_or_insert_with(|| unsupported(name, &format!("the unknown converted type {other}")));
    }
    Some(Wanted::Yes)
}

fn row_group(thrift: &mut Thrift<'_>, kind: u8, found: &mut Option<Error>) -> Option<Wanted> {
    if kind != STRUCT {
        return Some(Wanted::No);
    }
    thrift.fields(|thrift, id, kind| match (id, kind) {
        (1, 9) => thrift.list(|thrift, kind| column_chunk(thrift, kind, found)).map(|()| Wanted::Yes),
        _ => Some(Wanted::No),
    })?;
    Some(Wanted::Yes)
}

fn column_chunk(thrift: &mut Thrift<'_>, kind: u8, found: &mut Option<Error>) -> Option<Wanted> {
    if kind != STRUCT {
        return Some(Wanted::No);
    }
    thrift.fields(|thrift, id, kind| match (id, kind) {
        (3, STRUCT) => column_metadata(thrift, found).map(|()| Wanted::Yes),
        // The column is encrypted.
        (8, STRUCT) => {
            found.get_or_insert_with(encrypted);
            Some(Wanted::No)
        }
        _ => Some(Wanted::No),
    })?;
    Some(Wanted::Yes)
}

fn column_metadata(thrift: &mut Thrift<'_>, found: &mut Option<Error>) -> Option<()> {
    let (mut name, mut codec) = (&b""[..], None);
    thrift.fields(|thrift, id, kind| {
        match (id, kind) {
            (3, 9) => thrift.list(|thrift, kind| match kind {
                8 => {
                    name = thrift.binary()?;
                    Some(Wanted::Yes)
                }
                _ => Some(Wanted::No),
            })?,
            (4, kind) if INTS.contains(&kind) => codec = Some(thrift.int()?),
            _ => return Some(Wanted::No),
        }
        Some(Wanted::Yes)
    })?;
    if let Some(other) = codec.filter(|number| !(0..=CODEC_MAX).contains(number)) {
        found.get_or_insert_with(|| unsupported(name, &format!("the unknown compression {other}")));
    }
    Some(())
}
