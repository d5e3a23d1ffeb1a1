//! Columns into cells: where every row's cell begins is known, here its bytes are written.
//!
//! ```text
//!  cell     | payload size | rowid | header size | type type type ... | value value value ... |
//!             Head::before_types                 ^ header cursor       ^ body cursor
//! ```
//!
//! A cursor is a place a row plus an offset that all rows share. While columns are uniform only the offset moves; a
//! column that varies moves each row's place.

use std::ops::Range;

use sqluice_core::batch::{Bytes, Spans};
use sqluice_format::record;
use sqluice_format::value::FIXED_BYTES;
use sqluice_format::varint;

use super::stored::{BytesSerials, Serials, Stored, Width, bytes_of};
use super::{Rowids, Sizes};

/// Space for a run of rows, used again for every one.
#[derive(Debug, Default)]
pub(super) struct RowsOnPages {
    header: Cursor,
    body: Cursor,
}

/// Where the next byte of every row goes.
#[derive(Debug, Default)]
struct Cursor {
    places: Vec<u32>,
    offset: usize,
}

impl RowsOnPages {
    /// The places of `n` cells, to be filled in.
    pub(super) fn places(&mut self, n: usize) -> &mut [u32] {
        self.header.places.resize(n, 0);
        &mut self.header.places
    }
}

/// What stands before the serial types when all rows are alike, and the types themselves where they are, too.
#[derive(Debug)]
pub(super) struct Head {
    payload: Vec<u8>,
    /// Header size and serial types; zeros for those that vary.
    header: Vec<u8>,
}

impl Head {
    pub(super) fn new(stored: &[Stored<'_>], sizes: &Sizes) -> Head {
        let (mut payload, mut header) = (Vec::new(), Vec::new());
        if sizes.uniform {
            varint::push(&mut payload, sizes.payload[0] as u64);
            varint::push(&mut header, record::header_bytes(sizes.types[0] as usize) as u64);
            for column in stored {
                varint::push(&mut header, column.uniform().0.unwrap_or(0));
            }
        }
        Head { payload, header }
    }
}

/// Writes the cells of `rows`, whose places are in `space`.
pub(super) fn write(
    bytes: &mut [u8],
    rows: Range<usize>,
    rowids: Rowids<'_>,
    stored: &[Stored<'_>],
    sizes: &Sizes,
    head: &Head,
    space: &mut RowsOnPages,
) {
    let RowsOnPages { header, body } = space;
    header.places.truncate(rows.len());
    let types_done = match rowids {
        Rowids::From(first) if sizes.uniform => {
            let first = first + rows.start as i64;
            let before_types = head.payload.len() + varint::len(first as u64) + head.header.len();
            write_alike_heads(bytes, &header.places, first, head);
            let types = sizes.types[0] as usize;
            body.places.clone_from(&header.places);
            (header.offset, body.offset) = (before_types - types, before_types);
            true
        }
        _ => {
            write_heads(bytes, rows.clone(), rowids, sizes, header, body);
            false
        }
    };
    for (column, &after) in stored.iter().zip(&sizes.after) {
        write_column(bytes, rows.clone(), (column, after), types_done, header, body);
    }
}

/// Payload size, rowid, header size and types where all but the rowid is the same in every row.
fn write_alike_heads(bytes: &mut [u8], places: &[u32], first_rowid: i64, head: &Head) {
    let mut rowid = first_rowid;
    let mut places = places;
    while !places.is_empty() {
        // Rowids that differ only in the lowest seven bits, which are the last byte of the varint (below nine bytes).
        let in_group = if varint::len(rowid as u64) == 9 { 1 } else { 128 - (rowid & 127) as usize };
        let (group, rest) = places.split_at(in_group.min(places.len()));
        let mut template = head.payload.clone();
        varint::push(&mut template, rowid as u64);
        let rowid_end = template.len();
        template.extend_from_slice(&head.header);
        write_counting(bytes, group, &template, rowid_end - 1);
        rowid = rowid.wrapping_add(group.len() as i64);
        places = rest;
    }
}

/// Copies `template` to every place, its byte `counter` one more each time: it does not overflow.
fn write_counting(bytes: &mut [u8], places: &[u32], template: &[u8], counter: usize) {
    let len = template.len();
    let (Some(head), Some(tail)) = (template.first_chunk::<8>(), template.last_chunk::<8>()) else {
        return write_counting_bytes(bytes, places, template, counter);
    };
    if counter >= 8 || len > 16 {
        return write_counting_bytes(bytes, places, template, counter);
    }
    // Two words, which may share some bytes: the one that counts is written last.
    let mut head = u64::from_be_bytes(*head);
    let step = 1 << (8 * (7 - counter));
    for &place in places {
        let to = &mut bytes[place as usize..][..len];
        to[len - 8..].copy_from_slice(tail);
        to[..8].copy_from_slice(&head.to_be_bytes());
        head = head.wrapping_add(step);
    }
}

/// Copies templates of any length like [`write_counting`].
fn write_counting_bytes(bytes: &mut [u8], places: &[u32], template: &[u8], counter: usize) {
    for (&place, count) in places.iter().zip(u64::from(template[counter])..) {
        let to = &mut bytes[place as usize..][..template.len()];
        to.copy_from_slice(template);
        to[counter] = count as u8;
    }
}

/// Payload size, rowid, header size and types where rows differ. Moves the cursors behind them.
fn write_heads(
    bytes: &mut [u8],
    rows: Range<usize>,
    rowids: Rowids<'_>,
    sizes: &Sizes,
    header: &mut Cursor,
    body: &mut Cursor,
) {
    body.places.clear();
    (header.offset, body.offset) = (0, 0);
    for (place, row) in header.places.iter_mut().zip(rows) {
        let (payload, types) = (sizes.payload[sizes.index(row)], sizes.types[sizes.index(row)] as usize);
        let cell = &mut bytes[*place as usize..];
        let mut at = varint::write(cell, payload as u64);
        at += varint::write(&mut cell[at..], rowids.get(row) as u64);
        at += varint::write(&mut cell[at..], record::header_bytes(types) as u64);
        *place += at as u32;
        body.places.push(*place + types as u32);
    }
}

/// The serial types and values of a column, after which each row has at least `after` bytes of other values. `types_done`: types that are the
/// same in all rows are written already.
fn write_column(
    bytes: &mut [u8],
    rows: Range<usize>,
    (column, after): (&Stored<'_>, usize),
    types_done: bool,
    header: &mut Cursor,
    body: &mut Cursor,
) {
    if let (Some(serial), Some(_)) = column.uniform() {
        let mut buffer = [0; varint::BYTES_MAX];
        let n = varint::write(&mut buffer, serial);
        if !types_done {
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
        Stored::Bytes { bytes: strings, serials: BytesSerials::Same { len, .. } } => {
            put_fixed_bytes(bytes, body, rows.map(|row| strings.get(row)), *len);
        }
        Stored::Bytes { bytes: strings, serials: BytesSerials::Each(serials) } => {
            put_types(bytes, header, &serials[rows.clone()]);
            for (to, row) in body.places.iter_mut().zip(rows) {
                // What stands in the place of a NULL may lie anywhere.
                let len = bytes_of(serials[row]);
                if len > 0 {
                    let at = *to as usize + body.offset;
                    put_bytes(bytes, at, strings.data, strings.range(row).start, (len, after));
                    *to += len as u32;
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

/// Serial types of strings. Where all take one byte, all rows' cursors move alike.
fn put_types(bytes: &mut [u8], header: &mut Cursor, serials: &[u32]) {
    if serials.iter().all(|&serial| serial < 128) {
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

/// Integers and floats of `width` bytes.
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

/// Numbers of any width each.
fn put_varying_numbers(bytes: &mut [u8], body: &mut Cursor, serials: &[u8], bits: &[i64], after: usize) {
    let numbers = body.places.iter_mut().zip(serials).zip(bits);
    if after >= 8 {
        for ((place, &serial), number) in numbers {
            let width = FIXED_BYTES[serial as usize];
            let at = *place as usize + body.offset;
            // What follows the number in these is written later.
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

/// The low `width` bytes of a number, and zeros.
#[inline]
fn at_start(number: i64, width: usize) -> [u8; 8] {
    // By less than its bits at a time, for `width` may be 0.
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

/// Writes `len` bytes that begin at `start` of `data`; the row has at least `after` bytes that are written later.
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

/// The most bytes of which a few are written at a time.
const WORD_BYTES: usize = 16;

/// Writes the first `len` of these bytes. No branch depends on `len`, which is unpredictable: the others are written as they
/// were.
#[inline]
fn put_start(to: &mut [u8; WORD_BYTES], from: &[u8; WORD_BYTES], len: usize) {
    // The lower 0 to 16 bytes of a word.
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

/// As [`put_start`] of half as many bytes, at most 8.
#[inline]
fn put_start_of_8(to: &mut [u8; 8], from: &[u8; 8], len: usize) {
    // By less than its bits at a time, for `len` may be 8.
    let lower = !(u64::MAX << (4 * len) << (4 * len));
    let (before, word) = (u64::from_le_bytes(*to), u64::from_le_bytes(*from));
    *to = (before ^ (before ^ word) & lower).to_le_bytes();
}

/// Strings of `len` bytes each.
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

/// Strings of `HALF` to twice `HALF` bytes: the first `HALF` and the last, which may share some.
fn put_twice<'a, const HALF: usize>(bytes: &mut [u8], body: &Cursor, rows: impl Iterator<Item = &'a [u8]>) {
    for (&place, row) in body.places.iter().zip(rows) {
        let to = &mut bytes[place as usize + body.offset..][..row.len()];
        copy_twice::<HALF>(to, row);
    }
}

#[inline]
fn copy_twice<const HALF: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(head), Some(tail)) = (from.first_chunk::<HALF>(), from.last_chunk::<HALF>()) {
        let n = from.len();
        to[..HALF].copy_from_slice(head);
        to[n - HALF..n].copy_from_slice(tail);
    }
}

/// Copies `from` to the start of `to`; most strings and numbers are short, and a call of memcpy costs more than they do.
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
