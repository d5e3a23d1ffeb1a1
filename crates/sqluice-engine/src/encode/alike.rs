//! Encodes rows whose cells have the same size. The cells are adjacent, so the values of a column are at equal distances.
//!
//! ```text
//!  cell   | payload size | rowid | header size | type type type ... | value value value ... |
//!           Head::template ---------------------------------------->
//! ```

use sqluice_core::batch::{Bytes, Spans};
use sqluice_format::cell;
use sqluice_format::chunk::Run;
use sqluice_format::record;
use sqluice_format::value::FIXED_BYTES;
use sqluice_format::varint;

use super::scatter::copy_twice;
use super::stored::{BytesSerials, Serials, Stored, Width};

/// The part of a cell before the values. Only the rowid and varying serial types differ between rows.
#[derive(Debug)]
pub(super) struct Head {
    payload_bytes: usize,
    /// The bytes of the head, with room for the longest rowid.
    template: Vec<u8>,
    rowid_at: usize,
    /// The bytes of the header size and the serial types. Serial types that vary from row to row are zeros.
    header: Vec<u8>,
    types_bytes: usize,
}

impl Head {
    pub(super) fn new(stored: &[Stored<'_>], payload_bytes: usize, types_bytes: usize) -> Head {
        let (mut template, mut header) = (Vec::new(), Vec::new());
        varint::push(&mut template, payload_bytes as u64);
        varint::push(&mut header, record::header_bytes(types_bytes) as u64);
        for column in stored {
            varint::push(&mut header, column.uniform().0.unwrap_or(0));
        }
        Head { payload_bytes, rowid_at: template.len(), template, header, types_bytes }
    }

    /// Writes the cells of the rows from `first_row` on into `runs`, the reserved runs of cells in `bytes`. The varints of all rowids must
    /// have the same length as the varint of `first_rowid`.
    pub(super) fn write_rows(
        &mut self,
        bytes: &mut [u8],
        runs: &[Run],
        (first_row, first_rowid): (usize, i64),
        stored: &[Stored<'_>],
    ) {
        let cell_bytes = cell::table_leaf_bytes(self.payload_bytes, first_rowid);
        let values_at = self.rowid_at + varint::len(first_rowid as u64) + self.header.len();
        let (mut row, mut rowid) = (first_row, first_rowid);
        for run in runs {
            let rows = run.rows as usize;
            let cells = &mut bytes[run.start as usize..][..rows * cell_bytes];
            self.write(cells, cell_bytes, rowid);
            let mut column =
                Cells { cells, cell_bytes, type_at: values_at - self.types_bytes, value_at: values_at };
            for stored in stored {
                column.write(stored, row);
            }
            row += rows;
            rowid = rowid.wrapping_add(rows as i64);
        }
    }

    /// Writes the heads of adjacent cells.
    fn write(&mut self, mut cells: &mut [u8], cell_bytes: usize, first_rowid: i64) {
        let mut rowid = first_rowid;
        while !cells.is_empty() {
            // `alike` is the number of rowids from `rowid` on that differ only in their lowest seven bits. In a varint of less than nine
            // bytes, these are the last byte.
            let alike = if varint::len(rowid as u64) == 9 { 1 } else { 128 - (rowid & 127) as usize };
            let rest = cells.len().saturating_sub(alike * cell_bytes);
            let (others, group) = cells.split_at_mut(rest);
            self.template.truncate(self.rowid_at);
            varint::push(&mut self.template, rowid as u64);
            let counter = self.template.len() - 1;
            self.template.extend_from_slice(&self.header);
            write_counting(group, cell_bytes, &mut self.template, counter);
            rowid = rowid.wrapping_add((group.len() / cell_bytes) as i64);
            cells = others;
        }
    }
}

/// Copies `template` to the start of every cell. From cell to cell, its byte at `counter` is incremented, which must not overflow.
fn write_counting(cells: &mut [u8], cell_bytes: usize, template: &mut Vec<u8>, counter: usize) {
    // The bytes after the template are overwritten later.
    template.resize(template.len().max(cell_bytes.min(8)), 0);
    let len = template.len();
    let cells = cells.rchunks_exact_mut(cell_bytes);
    if let (..8, ..=16, Some(head), Some(tail)) =
        (counter, len, template.first_chunk::<8>(), template.last_chunk::<8>())
    {
        // The template is written as two words, which may overlap. The word with the counter is written last.
        let mut head = u64::from_be_bytes(*head);
        let step = 1 << (8 * (7 - counter));
        for cell in cells {
            let to = &mut cell[..len];
            to[len - 8..].copy_from_slice(tail);
            to[..8].copy_from_slice(&head.to_be_bytes());
            head = head.wrapping_add(step);
        }
        return;
    }
    for (cell, count) in cells.zip(u64::from(template[counter])..) {
        cell[..len].copy_from_slice(template);
        cell[counter] = count as u8;
    }
}

/// Adjacent cells in reverse order of rows, and the offset of the next column in each cell.
struct Cells<'a> {
    cells: &'a mut [u8],
    cell_bytes: usize,
    type_at: usize,
    value_at: usize,
}

impl Cells<'_> {
    /// Writes the values of a column from `row` on, and their serial types if they vary.
    fn write(&mut self, column: &Stored<'_>, row: usize) {
        match column {
            Stored::Null => self.type_at += 1,
            Stored::Numbers { serials: Serials::Same(serial), bits } => {
                self.type_at += 1;
                self.numbers(FIXED_BYTES[*serial as usize].into(), &bits[row..]);
            }
            Stored::Numbers { serials: Serials::Each { serials, width: Width::Same(width) }, bits } => {
                let at = self.type_at;
                self.each(serials[row..].iter(), |cell, &serial| cell[at] = serial);
                self.type_at += 1;
                self.numbers(*width, &bits[row..]);
            }
            Stored::Bytes { bytes, serials: BytesSerials::Same { serial, len } } => {
                self.type_at += varint::len(*serial);
                match bytes {
                    Bytes { data, spans: Spans::Fixed(_) } => {
                        self.strings(*len, data[row * len..].chunks_exact((*len).max(1)));
                    }
                    _ => {
                        let rows = row..row + self.cells.len() / self.cell_bytes;
                        self.strings(*len, rows.map(|row| bytes.get(row)));
                    }
                }
            }
            Stored::Numbers { .. } | Stored::Bytes { .. } | Stored::Mixed { .. } => {
                debug_assert!(false, "rows of one size have no column of more than one width");
            }
        }
    }

    /// Calls `write` for each value and its cell.
    #[inline(always)]
    fn each<V>(&mut self, values: impl Iterator<Item = V>, write: impl Fn(&mut [u8], V)) {
        for (cell, value) in self.cells.rchunks_exact_mut(self.cell_bytes).zip(values) {
            write(cell, value);
        }
    }

    /// Writes integers and floats of `width` bytes.
    fn numbers(&mut self, width: usize, bits: &[i64]) {
        match width {
            0 => {}
            1 => self.numbers_of::<1>(bits),
            2 => self.numbers_of::<2>(bits),
            3 => self.numbers_of::<3>(bits),
            4 => self.numbers_of::<4>(bits),
            6 => self.numbers_of::<6>(bits),
            _ => self.numbers_of::<8>(bits),
        }
        self.value_at += width;
    }

    fn numbers_of<const WIDTH: usize>(&mut self, bits: &[i64]) {
        let at = self.value_at;
        self.each(bits.iter(), |cell, number| {
            cell[at..at + WIDTH].copy_from_slice(&number.to_be_bytes()[8 - WIDTH..]);
        });
    }

    /// Writes strings of `len` bytes each.
    fn strings<'s>(&mut self, len: usize, strings: impl Iterator<Item = &'s [u8]>) {
        let value = self.value_at..self.value_at + len;
        match len {
            0 => {}
            1 => self.each(strings, |cell, string| cell[value.start] = string[0]),
            2..=3 => self.each(strings, |cell, string| copy_twice::<2>(&mut cell[value.clone()], string)),
            4..=7 => self.each(strings, |cell, string| copy_twice::<4>(&mut cell[value.clone()], string)),
            8..=16 => self.each(strings, |cell, string| copy_twice::<8>(&mut cell[value.clone()], string)),
            _ => self.each(strings, |cell, string| cell[value.clone()].copy_from_slice(string)),
        }
        self.value_at = value.end;
    }
}
