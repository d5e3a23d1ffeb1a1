//! What a record's header says, field by field ([§2.1](https://www.sqlite.org/fileformat2.html#record_format)).
//!
//! A record may be a gigabyte, its last field a blob that is not needed. So a header is read from the record's first bytes,
//! and [`wanted_bytes`] says how many of them are needed.

use super::digest;
use crate::record::{self, RecordError};
use crate::value::{Class, SerialType, Value};
use crate::varint;

/// SQLite takes no longer header: 32,767 serial types of three bytes, and its own size.
const HEADER_BYTES_MAX: u64 = 98_307;

/// Short headers that are kept: rows of a table have few.
const HEADERS: usize = 8;

/// The fields of one record. Kept from record to record, so that nothing is allocated for each, and a header that was read before is not
/// read again.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Short headers, each at the place that its bytes say; then one of any other record.
    headers: [Header; HEADERS + 1],
    /// Which of them the record has.
    at: usize,
}

/// A header that was read.
#[derive(Debug, Default)]
struct Header {
    /// Its bytes, zeros behind them; 0 of a long one, and of one that is wrong.
    word: u64,
    payload: u64,
    fields: Vec<Field>,
    /// Whether a row with it has nothing to object to.
    fits: bool,
}

/// A field of a record.
#[derive(Clone, Copy, Debug)]
struct Field {
    serial: SerialType,
    class: Class,
    /// The bytes of the record at which its value begins and ends.
    at: u64,
    end: u64,
}

impl Fields {
    /// Reads the header of a record of `payload` bytes, which begins with `start`.
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

    /// Whether a row with the same header was said to [fit](Fields::set_fits).
    #[inline]
    pub(super) fn fits(&self) -> bool {
        self.headers[self.at].fits
    }

    /// Says that there is nothing to object to in a row with this header, whatever its values are.
    pub(super) fn set_fits(&mut self) {
        self.headers[self.at].fits = true;
    }

    /// The number of fields.
    pub(super) fn len(&self) -> usize {
        self.fields().len()
    }

    /// The storage class of a field, if the record has it.
    pub(super) fn class(&self, field: usize) -> Option<Class> {
        Some(self.fields().get(field)?.class)
    }

    /// The value of a field in the record of which `start` is the beginning, if the record has it.
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

    /// The hash of a field's value in the record of which `start` is the beginning, if the record has it: that of [`digest::value`].
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

/// An odd number whose product has the bits of a header in its highest ones.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A header of at most 8 bytes, zeros behind it.
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
        // A row has a column.
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

/// How many bytes of a record are needed for its header and its first `fields` fields, as far as `start` shows; never more
/// than `payload`, of which the record consists.
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
    fn a_record_is_wanted_as_far_as_the_last_field_that_is_asked_for() {
        let mut record = Vec::new();
        let (text, blob) = ([b'x'; 300], [7; 1000]);
        record::encode(&[Value::Int(300), Value::Text(&text), Value::Blob(&blob), Value::Null], &mut record);
        let payload = record.len() as u64;
        let header = u64::from(record[0]);
        let wanted = [header, header + 2, header + 302, payload, payload, payload];
        for (fields, wanted) in wanted.into_iter().enumerate() {
            assert_eq!(wanted_bytes(&record, payload, fields), wanted, "{fields}");
            // The header must be complete first.
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
    fn a_header_has_as_many_bytes_as_sqlite_takes() {
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
