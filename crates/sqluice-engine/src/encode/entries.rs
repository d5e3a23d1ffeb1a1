//! Encodes rows and index entries as records for the sorters.
//!
//! ```text
//!  stored columns ──> | b | a | rowid |                 an index on (b, a) of a table with rowids
//!  and rowids     ──> | k | a | all other columns |     the rows of a WITHOUT ROWID table with PRIMARY KEY (k, a)
//!                 ──> | all columns |                   rows with rowids, to be sorted by rowid
//!  record       ────> | b | a | rowid |                 an entry of a row that is stored as it is
//! ```

use sqluice_core::error::Result;
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::schema::{Generated, Table};
use sqluice_format::key::{PAIRED_NULL, paired_int};
use sqluice_format::record;
use sqluice_format::value::{FIXED_BYTES, SerialType};
use sqluice_format::varint;

use super::Rowids;
use super::computed::IndexPlace;
use super::stored::{Serials, Stored};
use crate::sort::{Buffer, SLACK_BYTES};

/// A column of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Column(usize),
    Rowid,
}

/// A column that has only integers and NULLs.
enum Ints<'a> {
    Null,
    All(&'a [i64]),
    Some { bits: &'a [i64], serials: &'a [u8] },
    Rowids(Rowids<'a>),
}

impl Ints<'_> {
    /// Converts the first `rows` values to `halves`. A half is a value as a 64-bit number that sorts like the value; two halves form the
    /// key of a record of two integers or NULLs ([`sqluice_format::key::KeyOrder::pair`]). Returns `false` if a value is `i64::MIN`, which
    /// has no half.
    fn pair(&self, rows: usize, halves: &mut Vec<u64>) -> bool {
        halves.clear();
        match self {
            Ints::Null => halves.resize(rows, PAIRED_NULL),
            Ints::All(ints) => halves.extend(ints[..rows].iter().map(|int| paired_int(*int))),
            Ints::Some { bits, serials } => {
                halves.extend(bits[..rows].iter().zip(*serials).map(|(int, serial)| match serial {
                    0 => PAIRED_NULL,
                    _ => paired_int(*int),
                }));
                let is_null = |row: usize| serials[row] == 0;
                return (0..rows).all(|row| halves[row] != PAIRED_NULL || is_null(row));
            }
            Ints::Rowids(rowids) => halves.extend((0..rows).map(|row| paired_int(rowids.get(row)))),
        }
        matches!(self, Ints::Null) || !halves.contains(&PAIRED_NULL)
    }

    #[inline]
    fn get(&self, row: usize) -> Option<i64> {
        match self {
            Ints::Null => None,
            Ints::All(ints) => Some(ints[row]),
            Ints::Some { bits, serials } => (serials[row] != 0).then_some(bits[row]),
            Ints::Rowids(rowids) => Some(rowids.get(row)),
        }
    }
}

impl Field {
    fn ints<'a>(self, stored: &[Stored<'a>], rowids: Rowids<'a>) -> Option<Ints<'a>> {
        const REAL: u8 = SerialType::REAL.0 as u8;
        let Field::Column(column) = self else { return Some(Ints::Rowids(rowids)) };
        match stored[column] {
            Stored::Null => Some(Ints::Null),
            Stored::Numbers { serials: Serials::Same(0), .. } => Some(Ints::Null),
            Stored::Numbers { serials: Serials::Same(serial), bits } => {
                (serial != REAL).then_some(Ints::All(bits))
            }
            Stored::Numbers { serials: Serials::Each { serials, .. }, bits } => {
                (!serials.contains(&REAL)).then_some(Ints::Some { bits, serials })
            }
            Stored::Bytes { .. } | Stored::Mixed { .. } => None,
        }
    }
}

/// The serial types and the values of a record's fields.
#[derive(Debug, Default)]
pub(crate) struct RecordFields {
    serials: Vec<u64>,
    /// The offset in the record at which each value begins, and that at which the last one ends.
    starts: Vec<usize>,
}

impl RecordFields {
    /// Reads the header of a sound record.
    pub(crate) fn read(&mut self, record: &[u8]) {
        let RecordFields { serials, starts } = self;
        serials.clear();
        starts.clear();
        let (header, mut at) = varint::read(record).unwrap_or_default();
        let header = (header as usize).min(record.len());
        let mut start = header;
        while at < header {
            let (serial, n) = match record[at] {
                byte @ ..0x80 => (u64::from(byte), 1),
                _ => varint::read(&record[at..]).unwrap_or((0, 1)),
            };
            at += n;
            serials.push(serial);
            starts.push(start);
            start += content_bytes(serial);
        }
        starts.push(start);
    }

    /// Returns the value of a field if it is an integer or NULL, which is `Some(None)`.
    fn int(&self, field: usize, record: &[u8]) -> Option<Option<i64>> {
        match self.serials[field] {
            0 => Some(None),
            1..=6 => Some(Some(record::int(self.content(field, record)))),
            serial @ (8 | 9) => Some(Some(serial as i64 - 8)),
            _ => None,
        }
    }

    fn is_text(&self, field: usize) -> bool {
        self.serials[field] >= 13 && self.serials[field] % 2 == 1
    }

    fn range(&self, field: usize) -> (usize, usize) {
        (self.starts[field], self.starts[field + 1])
    }

    fn content<'r>(&self, field: usize, record: &'r [u8]) -> &'r [u8] {
        let (start, end) = self.range(field);
        &record[start..end]
    }
}

/// An encoder of records for a sorter, with its buffer.
pub(crate) struct Entries<'s> {
    fields: Vec<Field>,
    /// The position of the index's rows in [`Completed::kept`](super::computed::Completed::kept); `None` if the index has all rows.
    kept: Option<usize>,
    buffer: Buffer<'s>,
    /// The serial types of the current row.
    serials: Vec<u64>,
    /// The values of the current row, if all are integers or NULL.
    ints: Vec<Option<i64>>,
    /// The halves of the pairs of a batch: those of the first value and those of the second value of each record.
    halves: [Vec<u64>; 2],
}

impl<'s> Entries<'s> {
    fn new(fields: Vec<Field>, kept: Option<usize>, buffer: Buffer<'s>) -> Entries<'s> {
        let (serials, ints, halves) = (Vec::new(), Vec::new(), Default::default());
        Entries { fields, kept, buffer, serials, ints, halves }
    }

    /// Creates an encoder of the entries of an index, or of the rows of a WITHOUT ROWID table. `place` says where the computed terms of
    /// the index are.
    pub(crate) fn of_index(
        index: &Index,
        place: IndexPlace,
        table: &Table,
        buffer: Buffer<'s>,
    ) -> Entries<'s> {
        let mut terms = place.first_term..;
        let fields = index.columns.iter().map(|column| match column.value {
            Indexed::Column(column) if Some(column) != table.rowid_alias => Field::Column(column),
            Indexed::Column(_) | Indexed::Rowid => Field::Rowid,
            Indexed::Expression => Field::Column(terms.next().unwrap_or(usize::MAX)),
        });
        let fields = fields.collect();
        Entries::new(fields, place.kept, buffer)
    }

    /// Creates an encoder of the rows of a table with rowids.
    pub(crate) fn of_rows(table: &Table, buffer: Buffer<'s>) -> Entries<'s> {
        let stored = |column: &usize| table.columns[*column].generated != Some(Generated::Virtual);
        let fields = (0..table.columns.len()).filter(stored).map(Field::Column).collect();
        Entries::new(fields, None, buffer)
    }

    /// Pushes the rows of a batch to the sorter. `numbers` has the number of each row's record in the source, counted from 1. `kept` has,
    /// for each partial index, `true` for each row that the index has.
    pub(super) fn push(
        &mut self,
        (stored, kept): (&[Stored<'_>], &[Vec<bool>]),
        rowids: Rowids<'_>,
        rows: usize,
        numbers: Rowids<'_>,
    ) -> Result<()> {
        let kept = self.kept.map(|index| &*kept[index]);
        if self.push_pairs(stored, kept, rowids, rows)? {
            return Ok(());
        }
        let Entries { fields, buffer, serials, .. } = self;
        serials.clear();
        serials.resize(fields.len(), 0);
        let mut ints: Option<Vec<Ints<'_>>> = match buffer.takes_ints() {
            true => fields.iter().map(|field| field.ints(stored, rowids)).collect(),
            false => None,
        };
        let mut values = vec![None; fields.len()];
        let text = match fields[..] {
            [Field::Column(text), second] if buffer.takes_texts() => {
                Some(&stored[text]).zip(second.ints(stored, rowids))
            }
            _ => None,
        };
        for row in (0..rows).filter(|row| kept.is_none_or(|kept| kept[*row])) {
            if let Some((text, second)) = &text
                && let Some(int) = second.get(row)
            {
                let is_pushed = match text.text(row) {
                    Some((data, range)) => buffer.push_text(data, range, int)?,
                    None => text.serial(row) == 0 && buffer.push_pair_of([None, Some(int)])?,
                };
                if is_pushed {
                    continue;
                }
            }
            if let Some(columns) = &ints {
                for (value, column) in values.iter_mut().zip(columns) {
                    *value = column.get(row);
                }
                if buffer.push_ints(&values)? {
                    continue;
                }
                // The buffer gets this row as an encoded record, and takes no plain integers after it.
                ints = None;
            }
            let rowid = rowids.get(row);
            let (mut types, mut body) = (0, 0);
            for (serial, field) in serials.iter_mut().zip(&*fields) {
                *serial = match *field {
                    Field::Column(column) => stored[column].serial(row),
                    Field::Rowid => SerialType::of_int(rowid).0,
                };
                types += if *serial < 0x80 { 1 } else { varint::len(*serial) };
                body += content_bytes(*serial);
            }
            let header = record::header_bytes(types);
            let number = numbers.get(row).wrapping_sub(1) as u64;
            buffer.push_with(rowid, number, header + body, |room| {
                let mut at = varint::write(room, header as u64);
                for serial in &*serials {
                    at += varint::write(&mut room[at..], *serial);
                }
                for (serial, field) in serials.iter().zip(&*fields) {
                    let content = Content { serial: *serial, bytes: content_bytes(*serial) };
                    match *field {
                        Field::Column(column) => content.write(&stored[column], row, &mut room[at..]),
                        Field::Rowid => content.write_int(rowid, &mut room[at..]),
                    }
                    at += content.bytes;
                }
            })?;
        }
        Ok(())
    }

    /// Returns the number of leading fields of a table's records, up to the last field that the entries have.
    pub(crate) fn record_fields(&self) -> usize {
        let end = |field: &Field| if let Field::Column(column) = field { column + 1 } else { 0 };
        self.fields.iter().map(end).max().unwrap_or(0)
    }

    /// Pushes the entry of a row whose record the table stores as it is. Fields have the numbers of their columns.
    pub(crate) fn push_record(&mut self, rowid: i64, record: &[u8], row: &RecordFields) -> Result<()> {
        let Entries { fields, buffer, serials, ints, .. } = self;
        let int = |field: &Field| match *field {
            Field::Column(column) => row.int(column, record),
            Field::Rowid => Some(Some(rowid)),
        };
        if let [first, second] = &fields[..]
            && let Some(second) = int(second)
        {
            let is_pushed = match (*first, second) {
                (Field::Column(column), Some(second)) if row.is_text(column) && buffer.takes_texts() => {
                    buffer.push_text(record, row.range(column), second)?
                }
                _ => match int(first) {
                    Some(first) => buffer.push_pair_of([first, second])?,
                    None => false,
                },
            };
            if is_pushed {
                return Ok(());
            }
        } else if buffer.takes_ints() {
            ints.clear();
            ints.extend(fields.iter().map_while(int));
            if ints.len() == fields.len() && buffer.push_ints(ints)? {
                return Ok(());
            }
        }
        serials.clear();
        serials.extend(fields.iter().map(|field| match *field {
            Field::Column(column) => row.serials[column],
            Field::Rowid => SerialType::of_int(rowid).0,
        }));
        let header = record::header_bytes(serials.iter().map(|serial| varint::len(*serial)).sum());
        let body: usize = serials.iter().map(|serial| content_bytes(*serial)).sum();
        buffer.push_with(rowid, 0, header + body, |room| {
            let mut at = varint::write(room, header as u64);
            for serial in &*serials {
                at += varint::write(&mut room[at..], *serial);
            }
            for (serial, field) in serials.iter().zip(&*fields) {
                let bytes = content_bytes(*serial);
                match *field {
                    Field::Column(column) => {
                        room[at..at + bytes].copy_from_slice(row.content(column, record))
                    }
                    Field::Rowid => Content { serial: *serial, bytes }.write_int(rowid, &mut room[at..]),
                }
                at += bytes;
            }
        })
    }

    /// Pushes the rows of a batch to the sorter if all rows are pairs of integers or NULLs and the sorter takes pairs. Returns `true` if
    /// the rows were pushed.
    fn push_pairs(
        &mut self,
        stored: &[Stored<'_>],
        kept: Option<&[bool]>,
        rowids: Rowids<'_>,
        rows: usize,
    ) -> Result<bool> {
        let Entries { fields, buffer, halves: [first, second], .. } = self;
        let [a, b] = fields[..] else { return Ok(false) };
        if !buffer.takes_pairs() {
            return Ok(false);
        }
        let (Some(a), Some(b)) = (a.ints(stored, rowids), b.ints(stored, rowids)) else { return Ok(false) };
        if !a.pair(rows, first) || !b.pair(rows, second) {
            return Ok(false);
        }
        if let Some(kept) = kept {
            for halves in [&mut *first, &mut *second] {
                let mut row = 0..rows;
                halves.retain(|_| row.next().is_some_and(|row| kept[row]));
            }
        }
        buffer.push_pairs(first, second)?;
        Ok(true)
    }

    /// Passes the remaining items to the sorter.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.buffer.flush()
    }
}

/// Returns the number of bytes of a value of this serial type.
#[inline]
fn content_bytes(serial: u64) -> usize {
    match FIXED_BYTES.get(serial as usize) {
        Some(bytes) => usize::from(*bytes),
        None => (serial.saturating_sub(12) / 2) as usize,
    }
}

/// A value of a record under construction.
#[derive(Clone, Copy)]
struct Content {
    serial: u64,
    bytes: usize,
}

impl Content {
    /// Writes the value of `row` to the start of `room`, which is [`SLACK_BYTES`] longer than the value: a short value is stored as a whole
    /// word, as a call of `memcpy` takes longer than the copy.
    #[inline]
    fn write(self, stored: &Stored<'_>, row: usize, room: &mut [u8]) {
        match stored {
            Stored::Null => {}
            Stored::Numbers { bits, .. } => self.write_int(bits[row], room),
            Stored::Bytes { bytes, .. } => {
                // NULL has no bytes, so its span is ignored.
                if self.serial == 0 {
                    return;
                }
                let start = bytes.range(row).start;
                match bytes.data[start..].first_chunk::<SLACK_BYTES>() {
                    Some(word) if self.bytes <= SLACK_BYTES => room[..SLACK_BYTES].copy_from_slice(word),
                    _ => room[..self.bytes].copy_from_slice(bytes.get(row)),
                }
            }
            Stored::Mixed { .. } => {
                room[..self.bytes].copy_from_slice(stored.content(row, &mut [0; 8]));
            }
        }
    }

    /// Writes the low bytes of `int`.
    #[inline]
    fn write_int(self, int: i64, room: &mut [u8]) {
        let unused = 64 - 8 * self.bytes as u32;
        let word = int.checked_shl(unused).unwrap_or(0);
        room[..8].copy_from_slice(&word.to_be_bytes());
    }
}
