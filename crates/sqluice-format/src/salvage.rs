//! The entries of a B-tree page that may be damaged ([§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)).
//!
//! ```text
//!  cell pointers   p0   p1   p2   p3          the count may be damaged: pointers end where the first cell begins
//!                   │    │    │    └─ beyond the page               lost
//!                   │    │    └────── within the cell of p1         lost: no byte is used twice
//!                   │    └─────────── a header, types and lengths that agree: an entry
//!                   └──────────────── as p1, but its rowid follows that of p1: an entry out of order
//! ```
//!
//! A page gives all entries that are sound by themselves, whatever became of the others.

use crate::cell::PAGE_NUMBER_BYTES;
use crate::page::{CELL_POINTER_BYTES, DATABASE_HEADER_BYTES, Geometry, PageKind};
use crate::scan::Leaf;
use crate::value::{Class, SerialType};
use crate::varint;
use crate::view::{CellView, PageView};

/// The weight of an entry whose rowid is in order, when entries overlap and the heaviest set without overlaps is kept: more than that of
/// three entries out of order.
const IN_ORDER: usize = 16;

/// The weight of an entry whose rowid is out of order.
const OUT_OF_ORDER: usize = 5;

/// The entries of a page, and what is known about the page.
#[derive(Clone, Debug, Default)]
pub struct Salvage {
    /// The sound entries, in the order of their pointers.
    pub entries: Vec<Entry>,
    /// The children that an interior page names, in order, each with the largest rowid below it; the last child has none. Pages of indexes
    /// have no rowids.
    pub children: Vec<(u32, Option<i64>)>,
    /// The number of cells that are not sound.
    pub lost: usize,
    /// `true` if the page has no fault.
    pub is_whole: bool,
    /// The numbers of fields and the kinds of values of the rows of a table's leaf. Only counts if the page is whole.
    pub shape: Shape,
    order: Vec<usize>,
    missing: Vec<usize>,
    spans: Vec<(usize, usize)>,
    /// A bit for each byte of the page at which a cell begins.
    starts: Vec<u64>,
}

/// The numbers of fields and the kinds of values of all rows of a leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape {
    /// `true` if the headers of all records are on the leaf, so that the shape counts.
    pub is_known: bool,
    /// The least number of fields of a row.
    pub fewest: usize,
    /// For each field that some row has, the storage classes of its values, each as the bit [`Shape::bit`].
    pub classes: Vec<u8>,
}

impl Shape {
    /// Returns the bit of a storage class.
    pub fn bit(class: Class) -> u8 {
        1 << class as u8
    }

    fn clear(&mut self) {
        (self.is_known, self.fewest) = (true, usize::MAX);
        self.classes.clear();
    }

    /// Adds the fields of a record whose serial types are `record[1..header]`. Returns `false`, and adds nothing, if a field has a serial
    /// type of several bytes, or the record is not sound.
    #[inline]
    fn add_short(&mut self, record: &[u8], header: usize) -> bool {
        let Some(serials) = record.get(1..header) else { return false };
        let of = |serial: &u8| SHORT[usize::from(serial & 0x7f)];
        let body: usize = serials.iter().map(|serial| usize::from(of(serial).0)).sum();
        // A serial type of several bytes has the highest bit, and so has a class that no value has.
        let all = serials.iter().fold(0, |all, serial| all | serial | of(serial).1);
        if all & NO_CLASS != 0 || header + body != record.len() {
            return false;
        }
        if self.classes.len() < serials.len() {
            self.classes.resize(serials.len(), 0);
        }
        self.fewest = self.fewest.min(serials.len());
        self.classes.iter_mut().zip(serials).for_each(|(classes, serial)| *classes |= of(serial).1);
        true
    }

    fn add(&mut self, types: &[u64]) {
        self.fewest = self.fewest.min(types.len());
        if self.classes.len() < types.len() {
            self.classes.resize(types.len(), 0);
        }
        for (classes, serial) in self.classes.iter_mut().zip(types) {
            *classes |= SerialType(*serial).class().map_or(0, Shape::bit);
        }
    }
}

/// The bit in [`SHORT`] of serial types that no value has.
const NO_CLASS: u8 = 0x80;

/// The number of bytes, and the bit of the storage class, of each serial type of one byte.
const SHORT: [(u8, u8); 128] = {
    let mut all = [(0, NO_CLASS); 128];
    let mut serial = 0;
    while serial < all.len() {
        let (bytes, class) = match serial {
            0 => (0, Class::Null),
            1..=4 => (serial, Class::Int),
            5 => (6, Class::Int),
            6 => (8, Class::Int),
            7 => (8, Class::Real),
            8 | 9 => (0, Class::Int),
            10 | 11 => {
                serial += 1;
                continue;
            }
            _ if serial % 2 == 1 => ((serial - 13) / 2, Class::Text),
            _ => ((serial - 12) / 2, Class::Blob),
        };
        all[serial] = (bytes as u8, 1 << class as u8);
        serial += 1;
    }
    all
};

/// A sound entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The local part of the entry.
    pub cell: CellView,
    /// The number of its cell pointer.
    pub number: usize,
    /// `true` if the rowids of the page ascend up to this entry and after it.
    pub in_order: bool,
    /// The offset in the record of a serial type with a damaged bit, and the byte that makes the record sound.
    pub mended: Option<(usize, u8)>,
}

/// The serial types of the fields of a record, in order.
pub type Types = Vec<u64>;

/// Reads the serial types of a record of `payload_bytes` bytes that begins with `start`. Returns `None` if the record is not sound, and
/// `Some(false)` if its header does not end within `start`.
pub fn read_types(start: &[u8], payload_bytes: usize, types: &mut Types) -> Option<bool> {
    types.clear();
    let (header, mut at) = varint::read(start)?;
    let header = usize::try_from(header).ok().filter(|header| *header <= payload_bytes && *header >= at)?;
    let Some(bytes) = start.get(..header) else { return Some(false) };
    let mut body = 0u64;
    while at < header {
        let (serial, n) = match bytes[at] {
            byte @ ..0x80 => (u64::from(byte), 1),
            _ => varint::read(&bytes[at..])?,
        };
        at += n;
        body = body.checked_add(SerialType(serial).content_bytes()?)?;
        types.push(serial);
    }
    (body == (payload_bytes - header) as u64).then_some(true)
}

/// The longest header of a record in which a damaged bit is looked for.
const MENDED_HEADER_BYTES_MAX: usize = 128;

/// Finds the damaged bit in the serial types of a record whose header and size do not agree: the bit whose inversion makes them agree.
/// Returns the offset of its byte, and the mended byte. If several bits of one byte qualify, the right one is not known; the byte is then
/// that of NULL if one of the bits gives NULL. Returns `None` if no bit qualifies, or if several do and this rule does not decide.
fn mended_type(start: &[u8], payload_bytes: usize, types: &mut Types) -> Option<(usize, u8)> {
    let (header, first) = varint::read(start)?;
    let header = usize::try_from(header).ok().filter(|header| *header <= MENDED_HEADER_BYTES_MAX)?;
    let mut bytes = start.get(..header)?.to_vec();
    let mut found: Option<(usize, u8)> = None;
    for at in first..header {
        let byte = bytes[at];
        for bit in 0..8 {
            bytes[at] = byte ^ 1 << bit;
            // The header is enough: the values are not read.
            if read_header(&bytes, payload_bytes, types) {
                found = match found {
                    None => Some((at, bytes[at])),
                    Some((other, mended)) if other == at && (mended == 0 || bytes[at] == 0) => Some((at, 0)),
                    Some(_) => return None,
                };
            }
        }
        bytes[at] = byte;
    }
    found
}

/// Returns `true` if the serial types of a header take as many bytes as its record has.
fn read_header(header: &[u8], payload_bytes: usize, types: &mut Types) -> bool {
    header.len() <= payload_bytes && read_types(header, payload_bytes, types) == Some(true)
}

impl Salvage {
    /// Reads the page `number`. Returns its kind, or `None` if the bytes are not a B-tree page.
    pub fn read(
        &mut self,
        bytes: &[u8],
        number: u32,
        geometry: Geometry,
        types: &mut Types,
    ) -> Option<PageKind> {
        self.entries.clear();
        self.children.clear();
        self.missing.clear();
        (self.lost, self.is_whole) = (0, false);
        self.shape.clear();
        let clipped: Vec<u8>;
        let (view, was_clipped) = match PageView::new(bytes, number, geometry) {
            Some(view) if !has_pointers_in_cells(bytes, number, view.cells()) => (view, false),
            _ => {
                if let Some(filling) = Salvage::of_filling_cells(bytes, number, geometry, types) {
                    *self = filling;
                    return PageKind::from_byte(bytes[places(bytes, number)?.0]);
                }
                clipped = with_count(bytes, number, geometry, None)?;
                (PageView::new(&clipped[..], number, geometry)?, true)
            }
        };
        let kind = view.kind();
        if kind == PageKind::InteriorTable {
            self.read_interior(&view, was_clipped);
            return Some(kind);
        }
        let mut cell_bytes = 0;
        let mut ascends = true;
        let mut before: Option<i64> = None;
        self.spans.clear();
        self.starts.clear();
        self.starts.resize(view.usable_bytes() / 64 + 1, 0);
        for index in 0..view.cells() {
            // Thousands of pointers to one cell with many fields would read its header thousands of times.
            if view.start(index).is_some_and(|start| !self.is_new(start)) {
                self.lost += 1;
                continue;
            }
            if kind == PageKind::InteriorIndex
                && let Some(child) = view.child(index)
            {
                self.children.push((child, None));
            }
            let mut read =
                |cell: &CellView| read_types(view.bytes(cell.local.clone()), cell.payload_bytes, types);
            let sound = view.entry(index).and_then(|cell| read(&cell).map(|is_read| (cell, is_read)));
            let Some((cell, is_read)) = sound else {
                self.lost += 1;
                self.missing.push(index);
                continue;
            };
            match is_read {
                true if !kind.is_index() => self.shape.add(types),
                _ => self.shape.is_known &= is_read,
            }
            let bytes = view.cell_bytes(index, &cell);
            cell_bytes += bytes;
            ascends &= kind.is_index() || before.is_none_or(|before| before < cell.rowid);
            before = Some(cell.rowid);
            let end = cell.local.end + if cell.overflow.is_some() { PAGE_NUMBER_BYTES } else { 0 };
            self.spans.push((end - bytes.min(end), end));
            self.entries.push(Entry { cell, number: index, in_order: true, mended: None });
        }
        if kind == PageKind::InteriorIndex
            && let Some(child) = view.child(view.cells())
        {
            self.children.push((child, None));
        }
        let is_filled = self.lost == 0 && !was_clipped && view.is_filled_by(cell_bytes);
        if is_filled && ascends && (!kind.is_index() || self.are_apart()) {
            self.is_whole = true;
            return Some(kind);
        }
        if !was_clipped
            && self.lost > 0
            && let Some(filling) = Salvage::of_filling_cells(bytes, number, geometry, types)
        {
            *self = filling;
            return Some(kind);
        }
        self.find_by_records(&view, types);
        self.drop_overlapping(&view);
        Some(kind)
    }

    /// Reads the shape of a table's leaf that has no fault, no overflowing row, and its cells in the order of their rowids, one after
    /// another. Returns the number of rows, and the first and the last rowid. Returns `None` for any other page.
    pub fn read_packed(
        &mut self,
        bytes: &[u8],
        number: u32,
        geometry: Geometry,
        types: &mut Types,
    ) -> Option<(usize, (i64, i64))> {
        let view = PageView::new(bytes, number, geometry)?;
        let leaf = Leaf::of(&view, geometry, None).filter(|leaf| leaf.is_packed() && !leaf.is_index())?;
        self.shape.clear();
        for record in leaf.records() {
            let header = usize::from(*record.first()?);
            if !(1..0x80).contains(&header) || !self.shape.add_short(record, header) {
                if read_types(record, record.len(), types) != Some(true) {
                    return None;
                }
                self.shape.add(types);
            }
        }
        Some((leaf.entries(), (leaf.entry(0).0, leaf.last_rowid())))
    }

    /// Reads a leaf whose number of cells is damaged, if its first cells fill it from the start of its cells to its end, with the free
    /// blocks, and do not overlap. The pointers alone don't tell the number, as the bytes behind the last one may look like pointers, too.
    fn of_filling_cells(bytes: &[u8], number: u32, geometry: Geometry, types: &mut Types) -> Option<Salvage> {
        let (header_at, pointers) = places(bytes, number)?;
        let page = bytes.get(..geometry.usable_bytes())?;
        let word = |at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
        let most = word(header_at + 5).checked_sub(pointers)? / CELL_POINTER_BYTES;
        let most = most.min(word(header_at + 3));
        let limited = with_count(bytes, number, geometry, Some(most))?;
        let view = PageView::new(&limited[..], number, geometry).filter(|view| view.kind().is_leaf())?;
        let mut cell_bytes = 0;
        let count = (0..view.cells()).find_map(|index| {
            // The sizes of more cells than a page has room for do not count.
            cell_bytes += view.entry(index).map_or(page.len(), |cell| view.cell_bytes(index, &cell));
            view.is_filled_by(cell_bytes).then_some(index + 1)
        })?;
        if count == word(header_at + 3) {
            return None;
        }
        let filled = with_count(bytes, number, geometry, Some(count))?;
        let mut salvage = Salvage::default();
        salvage.read(&filled, number, geometry, types)?;
        let is_right = salvage.is_whole && salvage.are_apart();
        salvage.is_whole = false;
        is_right.then_some(salvage)
    }

    /// Marks the byte at which a cell begins. Returns `false` if another cell begins there.
    fn is_new(&mut self, start: usize) -> bool {
        let (word, bit) = (&mut self.starts[start / 64], 1 << (start % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Saves cells that were read as lost. First, cells whose payload size is damaged: the record, measured by its serial types, ends where
    /// the next cell begins or the page ends. It may also end before this place, because a free block may follow, if the stated size
    /// differs from the size of the record in a single bit. Second, cells that end at this place by their stated size, but have a damaged
    /// bit in a serial type.
    fn find_by_records(&mut self, view: &PageView<&[u8]>, types: &mut Types) {
        if self.missing.is_empty() {
            return;
        }
        let mut starts: Vec<usize> = (0..view.cells()).filter_map(|index| view.start(index)).collect();
        starts.push(view.usable_bytes());
        starts.sort_unstable();
        for index in std::mem::take(&mut self.missing) {
            let Some(start) = view.start(index) else { continue };
            let next = starts.get(starts.partition_point(|other| *other <= start)).copied();
            let by_record = view.entry_by_record(index).filter(|cell| {
                let is_record = read_types(view.bytes(cell.local.clone()), cell.payload_bytes, types);
                let is_one_bit = || {
                    let stated = view.payload_bytes(index).unwrap_or(0);
                    (stated ^ cell.payload_bytes as u64).is_power_of_two()
                };
                let is_free = |next: usize| cell.local.end == next || cell.local.end < next && is_one_bit();
                is_record == Some(true) && next.is_some_and(is_free)
            });
            let by_size = || {
                let cell = view.entry(index)?;
                let end = cell.local.end + if cell.overflow.is_some() { PAGE_NUMBER_BYTES } else { 0 };
                if next != Some(end) {
                    return None;
                }
                let mended = mended_type(view.bytes(cell.local.clone()), cell.payload_bytes, types)?;
                Some((cell, end, Some(mended)))
            };
            let found = by_record.map(|cell| (cell.local.end, cell)).map(|(end, cell)| (cell, end, None));
            if let Some((cell, end, mended)) = found.or_else(by_size) {
                self.spans.push((start, end));
                self.entries.push(Entry { cell, number: index, in_order: true, mended });
                self.lost -= 1;
            }
        }
        let mut by_number: Vec<usize> = (0..self.entries.len()).collect();
        by_number.sort_by_key(|&at| self.entries[at].number);
        self.entries = by_number.iter().map(|&at| self.entries[at].clone()).collect();
        self.spans = by_number.iter().map(|&at| self.spans[at]).collect();
    }

    fn read_interior(&mut self, view: &PageView<&[u8]>, was_clipped: bool) {
        let (mut before, mut ascends) = (None, true);
        for index in 0..view.cells() {
            match (view.child(index), view.interior_rowid(index)) {
                (Some(child), Some(rowid)) => {
                    ascends &= before.is_none_or(|before| before < rowid);
                    before = Some(rowid);
                    self.children.push((child, Some(rowid)));
                }
                _ => self.lost += 1,
            }
        }
        if let Some(child) = view.child(view.cells()) {
            self.children.push((child, None));
        }
        self.is_whole = self.lost == 0
            && ascends
            && !was_clipped
            && view.interior_cell_bytes().is_some_and(|bytes| view.is_filled_by(bytes));
    }

    /// Returns `true` if no two cells overlap.
    fn are_apart(&mut self) -> bool {
        let Salvage { order, spans, .. } = self;
        order.clear();
        order.extend(0..spans.len());
        order.sort_unstable_by_key(|&at| spans[at]);
        order.windows(2).all(|pair| spans[pair[0]].1 <= spans[pair[1]].0)
    }

    /// Marks the entries out of order. Then keeps the entries with the largest total weight among which no two overlap, and drops the
    /// others: an entry whose size is damaged covers several others. Entries in order weigh more than others, and entries that end where
    /// another cell begins weigh a little more.
    fn drop_overlapping(&mut self, view: &PageView<&[u8]>) {
        if !view.kind().is_index() {
            self.mark_order();
        }
        let mut starts: Vec<usize> = (0..view.cells()).filter_map(|index| view.start(index)).collect();
        starts.push(view.usable_bytes());
        starts.sort_unstable();
        let Salvage { order, spans, entries, .. } = self;
        let weight = |at: usize| {
            let of_order = if entries[at].in_order { IN_ORDER } else { OUT_OF_ORDER };
            of_order + usize::from(starts.binary_search(&spans[at].1).is_ok())
        };
        order.clear();
        order.extend(0..spans.len());
        order.sort_unstable_by_key(|&at| (spans[at].1, at));
        // `best` has the largest weight without overlaps for each number of first spans. `before` has, for each span, the number of spans
        // that end before it begins, if the span adds weight.
        let mut best: Vec<usize> = vec![0];
        let mut before = Vec::with_capacity(order.len());
        for (count, &at) in order.iter().enumerate() {
            let free = order[..count].partition_point(|&other| spans[other].1 <= spans[at].0);
            let (with, without) = (best[free] + weight(at), best[count]);
            best.push(with.max(without));
            before.push(if with > without { Some(free) } else { None });
        }
        let mut kept = vec![false; entries.len()];
        let mut count = order.len();
        while count > 0 {
            count = match before[count - 1] {
                Some(free) => {
                    kept[order[count - 1]] = true;
                    free
                }
                None => count - 1,
            };
        }
        let mut kept = kept.into_iter();
        let before = entries.len();
        entries.retain(|_| kept.next().unwrap_or(false));
        self.lost += before - entries.len();
    }

    /// Sets `in_order` of each entry: `true` for the entries of the longest ascending subsequence of rowids.
    fn mark_order(&mut self) {
        let rowids: Vec<i64> = self.entries.iter().map(|entry| entry.cell.rowid).collect();
        let mut tails: Vec<usize> = Vec::new();
        let mut before = vec![usize::MAX; rowids.len()];
        for at in 0..rowids.len() {
            let place = tails.partition_point(|&tail| rowids[tail] < rowids[at]);
            before[at] = if place > 0 { tails[place - 1] } else { usize::MAX };
            match tails.get_mut(place) {
                // The first of equal rowids counts.
                Some(tail) if rowids[*tail] == rowids[at] => {}
                Some(tail) => *tail = at,
                None => tails.push(at),
            }
        }
        self.entries.iter_mut().for_each(|entry| entry.in_order = false);
        let mut at = tails.last().copied().unwrap_or(usize::MAX);
        while at != usize::MAX {
            self.entries[at].in_order = true;
            at = before[at];
        }
    }
}

/// Returns the offset of the page header, and of the cell pointers.
fn places(page: &[u8], number: u32) -> Option<(usize, usize)> {
    let header_at = if number == 1 { DATABASE_HEADER_BYTES } else { 0 };
    let kind = PageKind::from_byte(*page.get(header_at)?)?;
    Some((header_at, header_at + kind.header_bytes()))
}

/// Returns the number of cell pointers up to the byte at which the first of their cells begins.
fn natural_count(page: &[u8], pointers: usize, max: usize) -> usize {
    let mut first = page.len();
    let mut count = 0;
    while count < max {
        let at = pointers + count * CELL_POINTER_BYTES;
        let end = at + CELL_POINTER_BYTES;
        let Some(&[high, low]) = page.get(at..end) else { break };
        if end > first {
            break;
        }
        let cell = usize::from(u16::from_be_bytes([high, low]));
        // An impossible pointer is counted, but does not move the end of the pointers: the next pointer may be sound.
        if cell >= end && cell < page.len() {
            first = first.min(cell);
        }
        count += 1;
    }
    count
}

/// Returns `true` if more than a quarter of the cell pointers name a place before the end of the pointers. Then bytes of cells are taken
/// for pointers, and the number of cells is wrong.
fn has_pointers_in_cells(page: &[u8], number: u32, cells: usize) -> bool {
    let Some((_, pointers)) = places(page, number) else { return false };
    // If the number of cells is right, all pointers but a few damaged ones name a place behind the pointers.
    let end = pointers + cells * CELL_POINTER_BYTES;
    let within = (0..cells).filter(|index| {
        let at = pointers + index * CELL_POINTER_BYTES;
        page.get(at..at + CELL_POINTER_BYTES)
            .is_some_and(|bytes| usize::from(u16::from_be_bytes([bytes[0], bytes[1]])) < end)
    });
    within.count() * 4 > cells
}

/// Returns a copy of the page whose header states `count` cells or, without `count`, the number that [`natural_count`] finds.
fn with_count(bytes: &[u8], number: u32, geometry: Geometry, count: Option<usize>) -> Option<Vec<u8>> {
    let page = bytes.get(..geometry.usable_bytes())?;
    let (header_at, pointers) = places(page, number)?;
    let cells = usize::from(u16::from_be_bytes([page[header_at + 3], page[header_at + 4]]));
    let count = count.unwrap_or_else(|| natural_count(page, pointers, cells));
    let mut copy = bytes.to_vec();
    copy[header_at + 3..header_at + 5].copy_from_slice(&(count as u16).to_be_bytes());
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageSize;
    use crate::record;
    use crate::value::Value;

    fn geometry() -> Geometry {
        Geometry::new(PageSize::new(512).unwrap(), 0).unwrap()
    }

    /// Returns a leaf with the rows 1 to `rows`, each with one text.
    fn leaf(rows: i64) -> Vec<u8> {
        let mut page = vec![0; 512];
        let mut content = 512;
        for rowid in 1..=rows {
            let mut payload = Vec::new();
            record::encode(&[Value::Text(format!("row {rowid}").as_bytes())], &mut payload);
            let mut cell = Vec::new();
            varint::push(&mut cell, payload.len() as u64);
            varint::push(&mut cell, rowid as u64);
            cell.extend_from_slice(&payload);
            content -= cell.len();
            page[content..content + cell.len()].copy_from_slice(&cell);
            let pointer = 8 + (rowid as usize - 1) * 2;
            page[pointer..pointer + 2].copy_from_slice(&(content as u16).to_be_bytes());
        }
        crate::page::write_header(&mut page, PageKind::LeafTable, rows as usize, content);
        page
    }

    fn rowids(page: &[u8]) -> (Vec<i64>, Vec<i64>, bool) {
        let mut salvage = Salvage::default();
        assert_eq!(salvage.read(page, 2, geometry(), &mut Types::new()), Some(PageKind::LeafTable));
        let of = |in_order: bool| {
            let entries = salvage.entries.iter().filter(|entry| entry.in_order == in_order);
            entries.map(|entry| entry.cell.rowid).collect()
        };
        (of(true), of(false), salvage.is_whole)
    }

    #[test]
    fn an_entry_whose_size_is_damaged_takes_no_entries_that_it_covers() {
        let mut page = leaf(20);
        let at = usize::from(u16::from_be_bytes([page[8 + 2 * 11], page[8 + 2 * 11 + 1]]));
        // The text of row 12 becomes 24 bytes longer, and the cell still has a record. It covers the cells of the rows before it.
        page[at] += 24;
        page[at + 3] += 48;
        let (in_order, _, is_whole) = rowids(&page);
        assert!(!is_whole);
        assert_eq!(in_order, (1..=20).filter(|rowid| *rowid != 12).collect::<Vec<_>>());
    }

    #[test]
    fn a_damaged_number_of_cells_is_found_by_the_bytes_that_they_fill() {
        let mut page = leaf(9);
        page[4] ^= 32;
        // Arbitrary bytes after the pointers stand for those of former pointers and cells.
        for (at, byte) in page[26..300].iter_mut().enumerate() {
            *byte = (at * 37 % 251) as u8;
        }
        assert_eq!(rowids(&page), ((1..=9).collect(), vec![], false));
    }

    #[test]
    fn an_entry_of_an_index_with_a_damaged_size_is_found_by_its_record() {
        let mut page = vec![0; 512];
        let mut content = 512;
        for number in 0..6usize {
            let (mut payload, text) = (Vec::new(), format!("key {number}"));
            record::encode(&[Value::Text(text.as_bytes()), Value::Int(7)], &mut payload);
            let mut cell = vec![payload.len() as u8];
            cell.extend_from_slice(&payload);
            content -= cell.len();
            page[content..content + cell.len()].copy_from_slice(&cell);
            page[8 + number * 2..10 + number * 2].copy_from_slice(&(content as u16).to_be_bytes());
        }
        crate::page::write_header(&mut page, PageKind::LeafIndex, 6, content);
        let entries = |page: &[u8]| {
            let mut salvage = Salvage::default();
            let kind = salvage.read(page, 2, geometry(), &mut Types::new());
            (kind, salvage.entries.len(), salvage.is_whole)
        };
        assert_eq!(entries(&page), (Some(PageKind::LeafIndex), 6, true));
        let third = usize::from(u16::from_be_bytes([page[12], page[13]]));
        page[third] ^= 4;
        assert_eq!(entries(&page), (Some(PageKind::LeafIndex), 6, false));
    }

    #[test]
    fn a_damaged_bit_of_a_serial_type_loses_no_row() {
        for bit in 0..8 {
            let mut page = leaf(20);
            let at = usize::from(u16::from_be_bytes([page[8 + 2 * 11], page[8 + 2 * 11 + 1]]));
            let serial = page[at + 3];
            page[at + 3] ^= 1 << bit;
            let mut salvage = Salvage::default();
            salvage.read(&page, 2, geometry(), &mut Types::new());
            // If the lowest bit changes, the text becomes a blob of the same length. The record is then sound, and nothing is mended.
            let mended = (bit > 0).then_some((1, serial));
            assert_eq!((salvage.entries.len(), salvage.entries[11].mended), (20, mended), "bit {bit}");
        }
    }

    #[test]
    fn a_damaged_serial_type_that_may_have_been_several_becomes_null() {
        let mut types = Types::new();
        assert_eq!(mended_type(&[3, 0, 1], 3, &mut types), Some((2, 0)), "NULL, or the integer 1");
        assert_eq!(mended_type(&[3, 1, 1, 7], 4, &mut types), None, "either of the two");
        assert_eq!(mended_type(&[3, 2, 1, 7, 7, 7], 6, &mut types), None, "no damage");
    }

    #[test]
    fn a_packed_leaf_has_the_facts_that_its_entries_show() {
        let (sound, mut types) = (leaf(20), Types::new());
        let (mut packed, mut salvage) = (Salvage::default(), Salvage::default());
        let mut found = 0;
        let flips = (0..512 * 8).map(Some).chain([None]);
        for flip in flips {
            let mut page = sound.clone();
            if let Some(bit) = flip {
                page[bit / 8] ^= 1 << (bit % 8);
            }
            let Some((rows, rowids)) = packed.read_packed(&page, 2, geometry(), &mut types) else { continue };
            found += 1;
            assert_eq!(salvage.read(&page, 2, geometry(), &mut types), Some(PageKind::LeafTable));
            let of = |entry: Option<&Entry>| entry.unwrap().cell.rowid;
            let ends = (of(salvage.entries.first()), of(salvage.entries.last()));
            assert!(salvage.is_whole && salvage.entries.len() == rows && ends == rowids, "{flip:?}");
            assert_eq!(packed.shape, salvage.shape, "{flip:?}");
        }
        assert!(found > 100, "{found}: values can be any bytes");
    }

    #[test]
    fn a_sound_page_is_whole() {
        assert_eq!(rowids(&leaf(20)), ((1..=20).collect(), vec![], true));
    }

    #[test]
    fn a_damaged_cell_loses_itself_alone() {
        let mut page = leaf(20);
        let cell = usize::from(u16::from_be_bytes([page[16], page[17]]));
        page[cell + 3] = 10;
        let (found, _, is_whole) = rowids(&page);
        assert_eq!((found, is_whole), ((1..=20).filter(|rowid| *rowid != 5).collect(), false));
    }

    #[test]
    fn of_equal_pointers_one_counts() {
        let mut page = leaf(20);
        page.copy_within(16..18, 18);
        page.copy_within(16..18, 20);
        let mut salvage = Salvage::default();
        salvage.read(&page, 2, geometry(), &mut Types::new());
        assert_eq!((salvage.entries.len(), salvage.lost, salvage.is_whole), (18, 2, false));
    }

    #[test]
    fn a_wrong_payload_size_loses_no_cell() {
        let mut page = leaf(20);
        let cell = usize::from(u16::from_be_bytes([page[16], page[17]]));
        for size in [3, 9, 100] {
            page[cell] = size;
            assert_eq!(rowids(&page), ((1..=20).collect(), vec![], false), "{size}");
        }
    }

    #[test]
    fn a_wrong_number_of_cells_loses_no_cell() {
        let mut page = leaf(20);
        for cells in [21u16, 200, 60_000] {
            page[3..5].copy_from_slice(&cells.to_be_bytes());
            let (mut found, more, is_whole) = rowids(&page);
            found.extend(more);
            found.sort_unstable();
            assert_eq!((found, is_whole), ((1..=20).collect(), false), "{cells} cells");
        }
    }

    #[test]
    fn swapped_pointers_keep_both_rows_and_a_repeated_pointer_gives_one() {
        let mut page = leaf(20);
        let (second, third) = ([page[10], page[11]], [page[12], page[13]]);
        page[10..12].copy_from_slice(&third);
        page[12..14].copy_from_slice(&second);
        let (found, others, is_whole) = rowids(&page);
        assert_eq!((found.len(), others.len(), is_whole), (19, 1, false));
        page[10..12].copy_from_slice(&second);
        let (found, others, _) = rowids(&page);
        assert_eq!((found, others), ((1..=20).filter(|rowid| *rowid != 3).collect(), vec![]));
    }

    #[test]
    fn types_whose_lengths_differ_from_the_payload_are_no_record() {
        let mut types = Types::new();
        assert_eq!(read_types(&[2, 1, 9], 3, &mut types), Some(true));
        assert_eq!(types, [1]);
        assert_eq!(read_types(&[2, 1, 9], 4, &mut types), None);
        assert_eq!(read_types(&[2, 10], 2, &mut types), None);
        assert_eq!(read_types(&[3, 1], 300, &mut types), Some(false), "the header goes on elsewhere");
        assert_eq!(read_types(&[], 0, &mut types), None);
    }
}
