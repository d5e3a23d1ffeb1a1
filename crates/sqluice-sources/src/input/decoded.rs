//! Turns the raw bytes of an input into text: recognises the compression and the encoding by the first bytes, and adds a decoder for each.

use std::io::Read;
use std::path::Path;

use sqluice_core::error::{Error, Result};

use super::InputOptions;
use super::compression::{Compression, MemberStarts};
use super::encoding::{self, Encoding};
use super::foreign::{self, HEAD_BYTES, MAGIC_BYTES_MAX};
use super::peek::Peek;
use super::transcode::Transcode;

/// A reader of the text of an input.
pub(super) struct Decoded<'a> {
    pub(super) reader: Box<dyn Read + Send + 'a>,
    pub(super) compression: Option<Compression>,
    pub(super) encoding: Option<Encoding>,
    /// The offsets of the compressed data's members in the text. Unknown if the text is transcoded to UTF-8.
    pub(super) member_starts: MemberStarts,
}

/// A reader of the decompressed bytes of an input.
pub(super) struct Decompressed<'a> {
    pub(super) bytes: Peek<'a>,
    pub(super) compression: Option<Compression>,
    member_starts: MemberStarts,
}

impl<'a> Decompressed<'a> {
    /// Opens the bytes of `raw`, whose name in messages is `name`. `in_archive` is `true` if `raw` is a member of an archive.
    ///
    /// # Errors
    /// If nothing can be read, or this build does not support the compression.
    pub(super) fn new(
        raw: Box<dyn Read + Send + 'a>,
        name: &Path,
        in_archive: bool,
    ) -> Result<Decompressed<'a>> {
        let unreadable = |error| Error::from_read(name, error);
        let mut bytes = Peek::new(raw);
        let member_starts = MemberStarts::default();
        let compression = Compression::of_data(bytes.peek(MAGIC_BYTES_MAX));
        bytes.failed_at_once().map_err(unreadable)?;
        if let Some(compression) = compression {
            compression.refuse_unbuilt(name)?;
            let decompressed = compression.decompress(bytes, name, in_archive, member_starts.clone());
            bytes = Peek::new(Box::new(decompressed.map_err(unreadable)?));
        }
        Ok(Decompressed { bytes, compression, member_starts })
    }
}

impl<'a> Decoded<'a> {
    /// Opens the text of `raw`, whose name in messages is `name`. The text is decoded on the thread that reads it, and faults of the content are
    /// reported by its reads. `in_archive` is `true` if `raw` is a member of an archive.
    ///
    /// # Errors
    /// If nothing can be read, or the format is not supported.
    pub(super) fn new(
        raw: Box<dyn Read + Send + 'a>,
        name: &Path,
        in_archive: bool,
        options: &InputOptions,
    ) -> Result<Decoded<'a>> {
        let Decompressed { bytes: mut input, compression, member_starts } =
            Decompressed::new(raw, name, in_archive)?;
        if foreign::is_likely(input.peek(MAGIC_BYTES_MAX))
            && let Some(foreign) = foreign::of_bytes(input.peek(HEAD_BYTES))
        {
            if !options.workbooks || !foreign::is_workbook(input.peek(HEAD_BYTES), name) {
                return Err(foreign.error(name));
            }
            let reader = Box::new(input);
            return Ok(Decoded { reader, compression, encoding: None, member_starts });
        }
        let (encoding, mark_bytes) = Encoding::of_text(options.encoding, input.peek(encoding::HEAD_BYTES));
        input.skip(mark_bytes);
        let byte = compression.is_none().then_some(mark_bytes as u64);
        let reader: Box<dyn Read + Send + 'a> = match encoding {
            Some(encoding) => Box::new(Transcode::new(input, name.to_owned(), encoding, byte)),
            None => Box::new(input),
        };
        let member_starts = if encoding.is_none() { member_starts } else { MemberStarts::default() };
        Ok(Decoded { reader, compression, encoding, member_starts })
    }
}
