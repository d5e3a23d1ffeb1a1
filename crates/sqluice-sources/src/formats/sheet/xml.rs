//! A streaming XML parser with limits, for the parts of a workbook.
//!
//! It supports only what workbooks need: elements, attributes, text, character references, and the five predefined entities. A document type
//! could define other entities, even some that expand without end, so a document type is an error.
//!
//! Invariant: a tag, or a text between two tags, takes at most [`Limits::row_bytes_max`] bytes of memory, and elements are nested at most
//! [`DEPTH_MAX`] deep.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, BytesText, Event};
use sqluice_core::error::{Error, Result};

use super::limits::Limits;
use super::package::{PartReader, damaged};

/// The maximum depth of nested elements.
const DEPTH_MAX: usize = 256;

/// The size of the buffer for inflated bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// The number of events between two checks for cancellation.
const EVENTS_BETWEEN_CHECKS: u32 = 1 << 14;

/// The parser of a part.
pub(super) struct Xml {
    reader: Reader<Bounded>,
    depth: usize,
    limits: Limits,
    events: u32,
    /// `true` once an element has been read.
    begun: bool,
}

impl Xml {
    pub(super) fn new(part: PartReader, limits: &Limits) -> Xml {
        let bounded = Bounded {
            inner: BufReader::with_capacity(BUFFER_BYTES, part),
            left: 0,
            bytes_max: limits.row_bytes_max,
        };
        let mut reader = Reader::from_reader(bounded);
        // The name of an end tag must be that of its start tag.
        reader.config_mut().check_end_names = true;
        Xml { reader, depth: 0, limits: limits.clone(), events: 0, begun: false }
    }

    /// Returns the next event. Returns an error if the part ends before its root element ends.
    pub(super) fn next<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Event<'b>> {
        buffer.clear();
        self.events += 1;
        if self.events.is_multiple_of(EVENTS_BETWEEN_CHECKS) {
            self.limits.check_cancel()?;
        }
        let bounded = self.reader.get_mut();
        bounded.left = bounded.bytes_max;
        let event = self.reader.read_event_into(buffer).map_err(fault)?;
        match event {
            Event::Start(_) => {
                self.begun = true;
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(damaged(format!("its elements are nested more than {DEPTH_MAX} deep")));
                }
            }
            Event::Empty(_) => self.begun = true,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::Eof if self.depth > 0 || !self.begun => {
                return Err(damaged("a part of it ends too early"));
            }
            Event::DocType(_) => return Err(damaged("a part of it has a document type")),
            _ => {}
        }
        Ok(event)
    }

    /// Skips the rest of the element that has just begun, with its end tag.
    pub(super) fn skip(&mut self, buffer: &mut Vec<u8>) -> Result<()> {
        let depth = self.depth;
        loop {
            if let Event::Eof | Event::End(_) = self.next(buffer)?
                && self.depth < depth
            {
                return Ok(());
            }
        }
    }

    /// Appends the text of the element that has just begun to `out`, up to its end tag. Text in nested elements is skipped.
    pub(super) fn text(&mut self, buffer: &mut Vec<u8>, out: &mut String) -> Result<()> {
        let depth = self.depth;
        let start = out.len();
        loop {
            match self.next(buffer)? {
                Event::Text(text) if self.depth == depth => push_text(&text, out)?,
                Event::CData(text) if self.depth == depth => {
                    out.push_str(&text.xml10_content().map_err(|_| not_utf8())?);
                }
                Event::GeneralRef(entity) if self.depth == depth => push_entity(&entity, out)?,
                Event::End(_) if self.depth < depth => return Ok(()),
                Event::Eof => return Err(damaged("a part of it ends too early")),
                _ => {}
            }
            self.limits.check_row(out.len() - start)?;
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn part(&self) -> &PartReader {
        self.reader.get_ref().inner.get_ref()
    }
}

/// Appends the text of an event.
pub(super) fn push_text(text: &BytesText<'_>, out: &mut String) -> Result<()> {
    out.push_str(&text.xml10_content().map_err(|_| not_utf8())?);
    Ok(())
}

/// Appends the character that a reference stands for.
pub(super) fn push_entity(entity: &BytesRef<'_>, out: &mut String) -> Result<()> {
    let unknown = || damaged("a part of it has an entity that XML does not define");
    if let Some(character) = entity.resolve_char_ref().map_err(|_| unknown())? {
        out.push(character);
        return Ok(());
    }
    out.push(match &entity[..] {
        b"lt" => '<',
        b"gt" => '>',
        b"amp" => '&',
        b"apos" => '\'',
        b"quot" => '"',
        _ => return Err(unknown()),
    });
    Ok(())
}

/// Returns the value of the attribute with this local name, with escapes as they are in the file.
pub(super) fn raw_attribute<'e>(element: &'e BytesStart<'_>, name: &[u8]) -> Result<Option<Cow<'e, [u8]>>> {
    for attribute in element.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| damaged(error.to_string()))?;
        if attribute.key.local_name().as_ref() == name {
            return Ok(Some(attribute.value));
        }
    }
    Ok(None)
}

/// Returns the value of the attribute with this local name, with escapes decoded.
pub(super) fn attribute(element: &BytesStart<'_>, name: &[u8]) -> Result<Option<String>> {
    raw_attribute(element, name)?.map(|value| unescaped(&value).map(Cow::into_owned)).transpose()
}

/// Decodes the escapes in the value of an attribute.
pub(super) fn unescaped(value: &[u8]) -> Result<Cow<'_, str>> {
    let text = str::from_utf8(value).map_err(|_| not_utf8())?;
    quick_xml::escape::unescape(text).map_err(|error| damaged(error.to_string()))
}

/// Returns `true` if the value of a boolean attribute is true.
pub(super) fn is_true(value: &[u8]) -> bool {
    matches!(value.trim_ascii(), b"1" | b"true")
}

fn not_utf8() -> Error {
    damaged("a part of it is not UTF-8")
}

/// Returns the error for an error of the parser. An error of reading the part is returned unchanged.
fn fault(error: quick_xml::Error) -> Error {
    match error {
        quick_xml::Error::Io(error) => {
            match std::sync::Arc::try_unwrap(error).map(io::Error::downcast::<Error>) {
                Ok(Ok(error)) => error,
                Ok(Err(error)) => damaged(error.to_string()),
                Err(error) => damaged(error.to_string()),
            }
        }
        error => damaged(error.to_string()),
    }
}

/// A reader that returns an error if the parser takes more than `left` bytes for one event.
struct Bounded {
    inner: BufReader<PartReader>,
    left: usize,
    bytes_max: usize,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}

impl BufRead for Bounded {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            let error = format!("a tag or a text of the workbook has more than {} bytes", self.bytes_max);
            return Err(Error::input(error).into());
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
        self.inner.consume(bytes);
    }
}
