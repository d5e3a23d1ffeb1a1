//! The fields of a record according to its header ([§2.1](https://www.sqlite.org/fileformat2.html#record_format)).
//!
//! A record may have a gigabyte, most of it in a last field that is not needed. So a header is read from the record's first bytes, and
//! [`wanted_bytes`] returns the number of bytes needed.

use super::digest;
use crate::record::{self, RecordError};
use crate::value::{Class, SerialType, Value};
use crate::varint;

/// The longest header that SQLite accepts: 32,768 serial types of three bytes, and three bytes for its own size.
const HEADER_BYTES_MAX: u64 = 98_307;

/// The number of short headers that are cached: the rows of a table have few different headers.
const HEADERS: usize = 8;

/// The fields of one record. The value is reused from record to record to avoid allocations and to avoid parsing the same header again.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// The cached short headers, each at the position that its bytes hash to, followed by one header for any other record.
    headers: [Header; HEADERS + 1],
    /// The index in `headers` of the current record's header.
    at: usize,
}

/// A parsed header.
#[derive(Debug, Default)]
struct Header {
    /// The header's bytes, padded with zeros; 0 for a long or invalid header.
    word: u64,
    payload: u64,
    fields: Vec<Field>,
    /// `true` if every row with this header fits its table, whatever its values are.
    fits: bool,
}

/// A field of a record.
#[derive(Clone, Copy, Debug)]
struct Field {
    serial: SerialType,
    class: Class,
    /// The offsets in the record where the value begins and ends.
    at: u64,
    end: u64,
}

impl Fields {
    /// Parses the header of a record of `payload` bytes that begins with `start`.
    #[inline]
    pub(super) fn read(&mut self, start: &[u8], payload: u64) -> Result<(), RecordError> {
        let word = short_header(start).unwrap_or(0);
        self.at =
            if word == 0 { HEADERS } else { (word.wrapping_mul(SPREAD) >> (64 - HEADERS.ilog2())) as usize };
        let header = &mut self.headers[self.at];
        if word != 0 && header.word == word && header.payload == payload {
            return Ok(());
        }
        header.word = 0;
        header.read(start, payload)?;
        header.word = word;
        Ok(())
    }

    fn fields(&self) -> &[Field] {
        &self.headers[self.at].fields
    }

    /// Returns `true` if [`set_fits`](Fields::set_fits) was called for a row with the same header.
    #[inline]
    pub(super) fn fits(&self) -> bool {
        self.headers[self.at].fits
    }

    /// Marks this header: every row with it fits its table, whatever its values are.
    pub(super) fn set_fits(&mut self) {
        self.headers[self.at].fits = true;
    }

    /// Returns the number of fields.
    pub(super) fn len(&self) -> usize {
        self.fields().len()
    }

    /// Returns the storage class of a field, if the record has the field.
    pub(super) fn class(&self, field: usize) -> Option<Class> {
        Some(self.fields().get(field)?.class)
    }

    /// Returns the value of a field, if the record has the field and `start`, the record's first bytes, contains it.
    pub(super) fn value<'r>(&self, field: usize, start: &'r [u8]) -> Option<Value<'r>> {
        let Field { serial, class, at, end } = *self.fields().get(field)?;
        let content = start.get(usize::try_from(at).ok()?..usize::try_from(end).ok()?)?;
        Some(match class {
            Class::Null => Value::Null,
            Class::Int if serial.0 >= 8 => Value::Int(serial.0 as i64 - 8),
            Class::Int => Value::Int(record::int(content)),
            Class::Real => Value::Real(f64::from_bits(record::int(content) as u64)),
            Class::Text => Value::Text(content),
            Class::Blob => Value::Blob(content),
        })
    }

    /// Returns the hash of a field's value, as [`digest::value`] does, if the record has the field and `start`, the record's first bytes,
    /// contains it.
    #[inline]
    pub(super) fn digest(&self, field: usize, start: &[u8]) -> Option<u64> {
        let Field { serial, class, at, end } = *self.fields().get(field)?;
        let (at, end) = (usize::try_from(at).ok()?, usize::try_from(end).ok()?);
        let content = start.get(at..end)?;
        Some(match class {
            Class::Null => digest::NULL,
            Class::Int if serial.0 >= 8 => digest::int(serial.0 as i64 - 8),
            Class::Int => match start[..end].last_chunk() {
                Some(word) => {
                    digest::int(i64::from_be_bytes(*word) << (64 - 8 * (end - at)) >> (64 - 8 * (end - at)))
                }
                None => digest::int(record::int(content)),
            },
            Class::Real => digest::real(f64::from_bits(record::int(content) as u64)),
            Class::Text => digest::text(&start[..end], at),
            Class::Blob => digest::blob(&start[..end], at),
        })
    }
}

/// An odd number: the highest bits of its product with a header depend on all bits of the header.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the header of a record as a word, padded with zeros, or `None` if it is longer than 8 bytes.
#[inline]
fn short_header(start: &[u8]) -> Option<u64> {
    let first = match start.first_chunk() {
        Some(first) => *first,
        None => {
            let mut first = [0; 8];
            first[..start.len()].copy_from_slice(start);
            first
        }
    };
    let word = u64::from_be_bytes(first);
    let bytes = word >> 56;
    (2..=start.len().min(8) as u64).contains(&bytes).then(|| word & u64::MAX << (64 - 8 * bytes))
}

impl Header {
    fn read(&mut self, start: &[u8], payload: u64) -> Result<(), RecordError> {
        (self.payload, self.fits) = (payload, false);
        self.fields.clear();
        let (header, mut at) = varint::read(start).ok_or(RecordError::Header)?;
        // A row has at least one column.
        if header <= at as u64 || header > payload.min(HEADER_BYTES_MAX) {
            return Err(RecordError::Header);
        }
        let header = start.get(..header as usize).ok_or(RecordError::Header)?;
        let mut end = header.len() as u64;
        while at < header.len() {
            let serial = match header[at] {
                byte @ ..0x80 => {
                    at += 1;
                    SerialType(u64::from(byte))
                }
                _ => {
                    let (serial, n) = varint::read(&header[at..]).ok_or(RecordError::Header)?;
                    at += n;
                    SerialType(serial)
                }
            };
            let (Some(bytes), Some(class)) = (serial.content_bytes(), serial.class()) else {
                return Err(RecordError::ReservedType);
            };
            let at = end;
            end = end.checked_add(bytes).ok_or(RecordError::Body)?;
            self.fields.push(Field { serial, class, at, end });
        }
        if end == payload { Ok(()) } else { Err(RecordError::Body) }
    }
}

/// Returns the number of bytes that a record's header and its first `fields` fields take, as far as `start` shows. The result is at most
/// `payload`, the size of the record.
pub(super) fn wanted_bytes(start: &[u8], payload: u64, fields: usize) -> u64 {
    let Some((header, mut at)) = varint::read(start) else {
        return payload.min(varint::BYTES_MAX as u64);
    };
    let header = header.min(HEADER_BYTES_MAX).min(payload);
    let Some(types) = start.get(..header as usize) else { return header };
    let mut end = header;
    for _ in 0..fields {
        let Some((serial, n)) = types.get(at..).and_then(varint::read) else { break };
        at += n;
        end = end.saturating_add(SerialType(serial).content_bytes().unwrap_or(0));
    }
    end.min(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_bytes_of_a_record_are_its_header_and_its_first_fields() {
        let mut record = Vec::new();
        let (text, blob) = ([b'x'; 300], [7; 1000]);
        record::encode(&[Value::Int(300), Value::Text(&text), Value::Blob(&blob), Value::Null], &mut record);
        let payload = record.len() as u64;
        let header = u64::from(record[0]);
        let wanted = [header, header + 2, header + 302, payload, payload, payload];
        for (fields, wanted) in wanted.into_iter().enumerate() {
            assert_eq!(wanted_bytes(&record, payload, fields), wanted, "{fields}");
            // The header must be complete first, so its bytes are wanted whatever the number of fields.
            assert_eq!(wanted_bytes(&record[..2], payload, fields), header);
        }
        assert_eq!(wanted_bytes(&[], payload, 1), 9);
        assert_eq!(wanted_bytes(&[], 3, 1), 3);
        let mut fields = Fields::default();
        fields.read(&record[..header as usize + 302], payload).unwrap();
        assert_eq!(fields.value(1, &record[..header as usize + 302]), Some(Value::Text(&text)));
        assert_eq!(fields.value(2, &record[..header as usize + 302]), None);
        assert_eq!(fields.value(4, &record), None);
        assert_eq!((fields.len(), fields.class(2), fields.class(4)), (4, Some(Class::Blob), None));
    }

    #[test]
    fn a_header_of_more_bytes_than_sqlite_accepts_is_refused() {
        let header = |bytes: usize| {
            let mut record = vec![0; bytes];
            let mut size = Vec::new();
            varint::push(&mut size, bytes as u64);
            record[..size.len()].copy_from_slice(&size);
            Fields::default().read(&record, bytes as u64)
        };
        assert_eq!(header(98_307), Ok(()));
        assert_eq!(header(98_308), Err(RecordError::Header));
    }
}
