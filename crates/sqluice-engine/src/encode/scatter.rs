//! Writes columns into cells of any sizes. The position of every row's cell is known.
//!
//! ```text
//!  cell     | payload size | rowid | header size | type type type ... | value value value ... |
//!                                                ^ header cursor       ^ body cursor
//! ```
//!
//! A cursor is a place for each row plus an offset that all rows share. A uniform column moves only the offset. A varying column moves the
//! place of each row.

use std::ops::Range;

use sqluice_core::batch::{Bytes, Spans};
use sqluice_format::record;
use sqluice_format::value::FIXED_BYTES;
use sqluice_format::varint;

use super::stored::{BytesSerials, Serials, Stored, Width, bytes_of};
use super::{Rowids, Sizes};

/// The buffers for a run of rows, which are reused for every run.
#[derive(Debug, Default)]
pub(super) struct RowsOnPages {
    header: Cursor,
    body: Cursor,
}

/// The position of the next byte of every row.
#[derive(Debug, Default)]
struct Cursor {
    places: Vec<u32>,
    offset: usize,
}

impl RowsOnPages {
    /// Returns the places of `n` cells, for the caller to fill in.
    pub(super) fn places(&mut self, n: usize) -> &mut [u32] {
        self.header.places.resize(n, 0);
        &mut self.header.places
    }
}

/// The serial types of a row, if each type takes one byte. A type that varies from row to row is 0 here.
#[derive(Debug)]
pub(super) struct ShortTypes {
    /// The types, padded with zeros to a multiple of [`WORD_BYTES`].
    template: Vec<u8>,
    columns: usize,
}

impl ShortTypes {
    /// Returns `None` if a type takes more than one byte.
    pub(super) fn new(stored: &[Stored<'_>], sizes: &Sizes) -> Option<ShortTypes> {
        let columns = stored.len();
        if !sizes.types.iter().all(|&types| types as usize == columns) {
            return None;
        }
        let mut template: Vec<u8> =
            stored.iter().map(|column| column.uniform().0.unwrap_or(0) as u8).collect();
        template.resize(columns.next_multiple_of(WORD_BYTES), 0);
        Some(ShortTypes { template, columns })
    }
}

/// Writes the cells of `rows`. Their places are in `space`.
pub(super) fn write(
    bytes: &mut [u8],
    rows: Range<usize>,
    rowids: Rowids<'_>,
    stored: &[Stored<'_>],
    sizes: &Sizes,
    short_types: Option<&ShortTypes>,
    space: &mut RowsOnPages,
) {
    let RowsOnPages { header, body } = space;
    header.places.truncate(rows.len());
    write_heads(bytes, rows.clone(), rowids, sizes, header, body);
    if let Some(types) = short_types {
        write_short_types(bytes, types, &header.places, &sizes.payload[rows.clone()]);
    }
    for (column, &after) in stored.iter().zip(&sizes.after) {
        write_column(bytes, rows.clone(), (column, after), short_types.is_some(), header, body);
    }
}

/// Writes payload size, rowid and header size, and moves the cursors after them.
fn write_heads(
    bytes: &mut [u8],
    rows: Range<usize>,
    rowids: Rowids<'_>,
    sizes: &Sizes,
    header: &mut Cursor,
    body: &mut Cursor,
) {
    (header.offset, body.offset) = (0, 0);
    body.places.resize(rows.len(), 0);
    let (payload, types) = (&sizes.payload[rows.clone()], &sizes.types[rows.clone()]);
    let places = header.places.iter_mut().zip(&mut body.places);
    for (((place, values_at), (&payload, &types)), row) in places.zip(payload.iter().zip(types)).zip(rows) {
        let cell = &mut bytes[*place as usize..];
        let rowid = rowids.get(row) as u64;
        let len = match cell.first_chunk_mut() {
            Some(cell) if rowid < varint::SHORT_END && types < 126 && (16..1 << 14).contains(&payload) => {
                write_short_head(cell, payload, rowid, types)
            }
            _ => {
                let mut at = varint::write(cell, payload.into());
                at += varint::write(&mut cell[at..], rowid);
                at + varint::write(&mut cell[at..], record::header_bytes(types as usize) as u64)
            }
        };
        *place += len as u32;
        *values_at = *place + types;
    }
}

/// Writes a payload size of at most two bytes, a rowid of at most eight bytes, and a header size of one byte. Returns the number of these
/// bytes. Further bytes of `cell` may be overwritten, as they are written later.
#[inline]
fn write_short_head(cell: &mut [u8; 16], payload: u32, rowid: u64, types: u32) -> usize {
    let ([first, second], payload_len) = match payload {
        ..128 => ([payload as u8, 0], 1),
        _ => ([0x80 | (payload >> 7) as u8, payload as u8 & 0x7f], 2),
    };
    cell[..2].copy_from_slice(&[first, second]);
    let (rowid, rowid_len) = varint::short(rowid);
    cell[payload_len..payload_len + 8].copy_from_slice(&rowid);
    // The length is at most ten bytes, which the compiler can't deduce.
    let len = payload_len + rowid_len;
    cell[len & 15] = 1 + types as u8;
    len + 1
}

/// Writes the serial types of all rows at `places`. Rows with a payload of enough bytes get the whole padded template at once.
fn write_short_types(bytes: &mut [u8], types: &ShortTypes, places: &[u32], payload: &[u32]) {
    let template = &types.template[..];
    for (&place, &payload) in places.iter().zip(payload) {
        let at = place as usize;
        // The payload includes the header size of one or two bytes. The bytes after the types are written later.
        if payload as usize >= 2 + template.len() {
            match template.first_chunk::<WORD_BYTES>() {
                Some(word) if template.len() == WORD_BYTES => {
                    bytes[at..at + WORD_BYTES].copy_from_slice(word)
                }
                _ => bytes[at..at + template.len()].copy_from_slice(template),
            }
        } else {
            copy(&mut bytes[at..], &template[..types.columns]);
        }
    }
}

/// Writes the serial types and values of a column. Each row has at least `after` bytes of further values. With `short_types`, types take
/// one byte each, and uniform types are already written.
fn write_column(
    bytes: &mut [u8],
    rows: Range<usize>,
    (column, after): (&Stored<'_>, usize),
    short_types: bool,
    header: &mut Cursor,
    body: &mut Cursor,
) {
    if let (Some(serial), Some(_)) = column.uniform() {
        let mut buffer = [0; varint::BYTES_MAX];
        let n = varint::write(&mut buffer, serial);
        if !short_types {
            put_short(bytes, &header.places, header.offset, |_| &buffer[..n]);
        }
        header.offset += n;
    }
    match column {
        Stored::Null => {}
        Stored::Numbers { serials: Serials::Same(serial), bits } => {
            let width = FIXED_BYTES[*serial as usize] as usize;
            put_numbers(bytes, body, width, &bits[rows]);
        }
        Stored::Numbers { serials: Serials::Each { serials, width }, bits } => {
            let (serials, bits) = (&serials[rows.clone()], &bits[rows]);
            for (&place, &serial) in header.places.iter().zip(serials) {
                bytes[place as usize + header.offset] = serial;
            }
            header.offset += 1;
            match *width {
                Width::Same(width) => put_numbers(bytes, body, width, bits),
                Width::Varies => put_varying_numbers(bytes, body, serials, bits, after),
            }
        }
        Stored::Bytes {
            bytes: Bytes { data, spans: Spans::Fixed(_) },
            serials: BytesSerials::Same { len, .. },
        } => {
            let data = &data[rows.start * len..rows.end * len];
            put_fixed_bytes(bytes, body, data.chunks_exact((*len).max(1)), *len);
        }
        Stored::Bytes {
            bytes: Bytes { data, spans: Spans::Anywhere(spans) },
            serials: BytesSerials::Same { len, .. },
        } => {
            put_fixed_bytes(
                bytes,
                body,
                spans[rows].iter().map(|span| &data[span.start as usize..][..*len]),
                *len,
            );
        }
        Stored::Bytes { bytes: strings, serials: BytesSerials::Same { len, .. } } => {
            put_fixed_bytes(bytes, body, rows.map(|row| strings.get(row)), *len);
        }
        Stored::Bytes { bytes: strings, serials: BytesSerials::Each(serials) } => {
            let serials = &serials[rows.clone()];
            put_types(bytes, header, serials, short_types);
            match strings.spans {
                Spans::Anywhere(spans) => {
                    let starts = spans[rows].iter().map(|span| span.start as usize);
                    put_varying_bytes(bytes, body, serials, (strings.data, starts), after);
                }
                _ => {
                    let starts = rows.map(|row| strings.range(row).start);
                    put_varying_bytes(bytes, body, serials, (strings.data, starts), after);
                }
            }
        }
        Stored::Mixed { .. } => {
            for ((at, to), row) in header.places.iter_mut().zip(&mut body.places).zip(rows) {
                let n = varint::write(&mut bytes[*at as usize + header.offset..], column.serial(row));
                *at += n as u32;
                let mut number = [0; 8];
                let content = column.content(row, &mut number);
                copy(&mut bytes[*to as usize + body.offset..], content);
                *to += content.len() as u32;
            }
        }
    }
}

/// Writes strings of any lengths, which begin at `starts`.
#[inline]
fn put_varying_bytes(
    bytes: &mut [u8],
    body: &mut Cursor,
    serials: &[u32],
    (data, starts): (&[u8], impl Iterator<Item = usize>),
    after: usize,
) {
    for ((to, &serial), start) in body.places.iter_mut().zip(serials).zip(starts) {
        // The span of a NULL is arbitrary, so the length comes from the serial type, which gives 0 for NULL.
        let len = bytes_of(serial);
        if len > 0 {
            put_bytes(bytes, *to as usize + body.offset, data, start, (len as usize, after));
            *to += len;
        }
    }
}

/// Writes serial types of strings. If all types are `short`, of one byte, the cursors of all rows move by the same offset.
fn put_types(bytes: &mut [u8], header: &mut Cursor, serials: &[u32], short: bool) {
    if short {
        for (&place, &serial) in header.places.iter().zip(serials) {
            bytes[place as usize + header.offset] = serial as u8;
        }
        header.offset += 1;
        return;
    }
    for (place, &serial) in header.places.iter_mut().zip(serials) {
        *place += varint::write(&mut bytes[*place as usize + header.offset..], u64::from(serial)) as u32;
    }
}

/// Writes integers and floats of `width` bytes.
fn put_numbers(bytes: &mut [u8], body: &mut Cursor, width: usize, bits: &[i64]) {
    fn put<const WIDTH: usize>(bytes: &mut [u8], body: &Cursor, bits: &[i64]) {
        for (&place, number) in body.places.iter().zip(bits) {
            let at = place as usize + body.offset;
            bytes[at..at + WIDTH].copy_from_slice(&number.to_be_bytes()[8 - WIDTH..]);
        }
    }
    match width {
        0 => {}
        1 => put::<1>(bytes, body, bits),
        2 => put::<2>(bytes, body, bits),
        3 => put::<3>(bytes, body, bits),
        4 => put::<4>(bytes, body, bits),
        6 => put::<6>(bytes, body, bits),
        _ => put::<8>(bytes, body, bits),
    }
    body.offset += width;
}

/// Writes numbers of any widths.
fn put_varying_numbers(bytes: &mut [u8], body: &mut Cursor, serials: &[u8], bits: &[i64], after: usize) {
    let numbers = body.places.iter_mut().zip(serials).zip(bits);
    if after >= 8 {
        for ((place, &serial), number) in numbers {
            let width = FIXED_BYTES[serial as usize];
            let at = *place as usize + body.offset;
            // The bytes after the number are written later.
            bytes[at..at + 8].copy_from_slice(&at_start(*number, width.into()));
            *place += u32::from(width);
        }
        return;
    }
    for ((place, &serial), number) in numbers {
        let width = FIXED_BYTES[serial as usize] as usize;
        put_number(bytes, *place as usize + body.offset, *number, width);
        *place += width as u32;
    }
}

/// Returns the low `width` bytes of a number, followed by zeros.
#[inline]
fn at_start(number: i64, width: usize) -> [u8; 8] {
    // The shift is split in two, as `width` may be 0 and a shift by all bits is invalid.
    let unused = 32 - 4 * width;
    (number << unused << unused).to_be_bytes()
}

/// Writes the low `width` bytes of a number.
#[inline]
fn put_number(bytes: &mut [u8], at: usize, number: i64, width: usize) {
    match bytes[at..].first_chunk_mut::<8>() {
        Some(to) => put_start_of_8(to, &at_start(number, width), width),
        None => copy(&mut bytes[at..], &number.to_be_bytes()[8 - width..]),
    }
}

/// Writes `len` bytes from `start` of `data`. At least `after` further bytes of the row are written later.
#[inline]
fn put_bytes(bytes: &mut [u8], at: usize, data: &[u8], start: usize, (len, after): (usize, usize)) {
    if len <= WORD_BYTES
        && let Some(to) = bytes[at..].first_chunk_mut::<WORD_BYTES>()
        && let Some(from) = data[start..].first_chunk()
    {
        if after >= WORD_BYTES {
            *to = *from;
            return;
        }
        return put_start(to, from, len);
    }
    copy(&mut bytes[at..], &data[start..start + len]);
}

/// The bytes that [`put_start`] reads and writes at once.
const WORD_BYTES: usize = 16;

/// Writes the first `len` bytes of `from`. No branch depends on `len`, which is unpredictable: the other bytes of `to` are rewritten
/// unchanged.
#[inline]
fn put_start(to: &mut [u8; WORD_BYTES], from: &[u8; WORD_BYTES], len: usize) {
    // The masks of the lower 0 to 16 bytes of a word.
    const LOWER: [u128; WORD_BYTES + 1] = {
        let mut masks = [u128::MAX; WORD_BYTES + 1];
        let mut bytes = 0;
        while bytes < WORD_BYTES {
            masks[bytes] = (1 << (8 * bytes)) - 1;
            bytes += 1;
        }
        masks
    };
    let (before, word) = (u128::from_le_bytes(*to), u128::from_le_bytes(*from));
    *to = (before ^ (before ^ word) & LOWER[len]).to_le_bytes();
}

/// Writes the first `len` of at most 8 bytes, like [`put_start`].
#[inline]
fn put_start_of_8(to: &mut [u8; 8], from: &[u8; 8], len: usize) {
    // The shift is split in two, as `len` may be 8 and a shift by all bits is invalid.
    let lower = !(u64::MAX << (4 * len) << (4 * len));
    let (before, word) = (u64::from_le_bytes(*to), u64::from_le_bytes(*from));
    *to = (before ^ (before ^ word) & lower).to_le_bytes();
}

/// Writes strings of `len` bytes each.
fn put_fixed_bytes<'a>(
    bytes: &mut [u8],
    body: &mut Cursor,
    rows: impl Iterator<Item = &'a [u8]>,
    len: usize,
) {
    if len > 0 {
        match len {
            1 => {
                for (&place, row) in body.places.iter().zip(rows) {
                    bytes[place as usize + body.offset] = row[0];
                }
            }
            2..=3 => put_twice::<2>(bytes, body, rows),
            4..=7 => put_twice::<4>(bytes, body, rows),
            8..=16 => put_twice::<8>(bytes, body, rows),
            _ => {
                for (&place, row) in body.places.iter().zip(rows) {
                    bytes[place as usize + body.offset..][..len].copy_from_slice(row);
                }
            }
        }
    }
    body.offset += len;
}

/// Writes strings of `HALF` to twice `HALF` bytes: the first `HALF` and the last `HALF` bytes, which may overlap.
fn put_twice<'a, const HALF: usize>(bytes: &mut [u8], body: &Cursor, rows: impl Iterator<Item = &'a [u8]>) {
    for (&place, row) in body.places.iter().zip(rows) {
        let to = &mut bytes[place as usize + body.offset..][..row.len()];
        copy_twice::<HALF>(to, row);
    }
}

/// Copies `from`, of `HALF` to twice `HALF` bytes.
#[inline]
pub(super) fn copy_twice<const HALF: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(head), Some(tail)) = (from.first_chunk::<HALF>(), from.last_chunk::<HALF>()) {
        let n = from.len();
        to[..HALF].copy_from_slice(head);
        to[n - HALF..n].copy_from_slice(tail);
    }
}

/// Copies `from` to the start of `to`. For short strings and numbers, a call of `memcpy` takes longer than the copy.
#[inline]
fn copy(to: &mut [u8], from: &[u8]) {
    match from.len() {
        0 => {}
        1 => to[0] = from[0],
        2..=3 => copy_twice::<2>(to, from),
        4..=7 => copy_twice::<4>(to, from),
        8..=16 => copy_twice::<8>(to, from),
        17..=32 => copy_twice::<16>(to, from),
        n => to[..n].copy_from_slice(from),
    }
}

/// Copies a few bytes to the same offset of every row.
fn put_short<'a>(bytes: &mut [u8], places: &[u32], offset: usize, content: impl Fn(usize) -> &'a [u8]) {
    for (row, &place) in places.iter().enumerate() {
        copy(&mut bytes[place as usize + offset..], content(row));
    }
}
