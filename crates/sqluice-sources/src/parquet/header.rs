//! Parses the headers of the pages of Parquet files.

use parquet::basic::Encoding;
use parquet::errors::ParquetError;

use super::thrift::{INTS, STRUCT, TRUE, Thrift, Wanted};

/// The fields of a page's header.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    pub(super) kind: i64,
    pub(super) bytes: i64,
    pub(super) packed_bytes: i64,
    pub(super) values: i64,
    pub(super) nulls: i64,
    pub(super) rows: i64,
    pub(super) encoding: i64,
    pub(super) definition_encoding: i64,
    pub(super) repetition_encoding: i64,
    pub(super) definition_bytes: i64,
    pub(super) repetition_bytes: i64,
    pub(super) uncompressed: bool,
    pub(super) sorted: bool,
}

/// The code of data pages.
pub(super) const DATA: i64 = 0;
/// The code of dictionary pages.
pub(super) const DICTIONARY: i64 = 2;
/// The code of data pages of version 2.
pub(super) const DATA_V2: i64 = 3;

impl Header {
    /// Parses a header. Returns the header and its length in bytes; `None` if the bytes are not a header, or only the start of one.
    pub(super) fn read(bytes: &[u8]) -> Option<(Header, usize)> {
        let mut thrift = Thrift::new(bytes);
        let mut header = Header::default();
        let mut found = 0;
        thrift.fields(|thrift, id, kind| {
            let field = match (id, kind) {
                (1, kind) if INTS.contains(&kind) => &mut header.kind,
                (2, kind) if INTS.contains(&kind) => &mut header.bytes,
                (3, kind) if INTS.contains(&kind) => &mut header.packed_bytes,
                (5 | 7 | 8, STRUCT) => {
                    header.details(thrift, id)?;
                    return Some(Wanted::Yes);
                }
                _ => return Some(Wanted::No),
            };
            *field = thrift.int()?;
            found |= 1 << id;
            Some(Wanted::Yes)
        })?;
        (found == 0b1110).then(|| (header, thrift.at()))
    }

    /// Parses the struct with the details of one page type. `of` is the id of the struct's field.
    fn details(&mut self, thrift: &mut Thrift<'_>, of: i64) -> Option<()> {
        thrift.fields(|thrift, id, kind| {
            let field = match (of, id) {
                (7, 3) => {
                    self.sorted = kind == TRUE;
                    return Some(Wanted::Yes);
                }
                (8, 7) => {
                    self.uncompressed = kind != TRUE;
                    return Some(Wanted::Yes);
                }
                _ if !INTS.contains(&kind) => return Some(Wanted::No),
                (_, 1) => &mut self.values,
                (5 | 7, 2) | (8, 4) => &mut self.encoding,
                (5, 3) => &mut self.definition_encoding,
                (5, 4) => &mut self.repetition_encoding,
                (8, 2) => &mut self.nulls,
                (8, 3) => &mut self.rows,
                (8, 5) => &mut self.definition_bytes,
                (8, 6) => &mut self.repetition_bytes,
                _ => return Some(Wanted::No),
            };
            *field = thrift.int()?;
            Some(Wanted::Yes)
        })
    }
}

/// Returns the encoding with the given code.
pub(super) fn encoding(number: i64) -> Result<Encoding, ParquetError> {
    #[expect(deprecated, reason = "old files have it")]
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        other => return Err(ParquetError::General(format!("a page has the unknown encoding {other}"))),
    })
}
