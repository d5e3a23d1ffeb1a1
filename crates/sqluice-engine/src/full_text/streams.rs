//! The occurrences of all terms in consecutive rows: for each term a stream of bytes, to which an occurrence adds one or two.
//!
//! ```text
//!  stream       00 row      a row that has the term: the distance of its number from that of the row before
//!               01 column   another column than the first; with detail=column, the columns are places like positions
//!               place       the distance from the place before in the column, + 2
//!
//!  Stream       | last row, column, place | first and last block | bytes that wait |     one for each term, in a cache line
//!                                             │
//!  block        | next | used | bytes ... | ──> | next | used | bytes ... |               from 64 bytes on, each twice as long
//!  slabs        [block block block block ][ block block ]
//! ```
//!
//! All numbers are varints. No place is 0 or 1, so a 0 that begins a varint begins a row. Columns and places are as in the entries of a
//! doclist. An entry begins with the number of their bytes. A stream does not have it, as it is known only at the end of a row.
//!
//! An occurrence of a frequent term finds the cache line of its term in the CPU cache. The lines of other terms are brought there for many
//! occurrences at once.

use sqluice_core::error::Result;
use sqluice_format::fts5::{Detail, EntryList};
use sqluice_format::varint;

/// The number of bytes that wait in a stream.
const WAITING_BYTES: usize = 42;

/// The largest number of bytes of an occurrence: a row, a column and a place.
const OCCURRENCE_BYTES_MAX: usize = 1 + 5 + 1 + 3 + 5;

/// The binary logarithm of the number of streams that are allocated at once.
const STREAMS_SHIFT: u32 = 10;

/// The number of pieces of `Streams::streams` that stay in the second-level cache by themselves.
const CACHED_PIECES: usize = 2;

/// The number of bytes of a slab.
const SLAB_BYTES: usize = 1 << 18;

/// Places of blocks are multiples of this number of bytes.
const UNIT_BYTES: usize = 16;

/// The number of places of blocks in a slab.
const SLAB_UNITS: u32 = (SLAB_BYTES / UNIT_BYTES) as u32;

/// The number of bytes before the bytes of a block.
const HEAD_BYTES: usize = 8;

/// The binary logarithms of the sizes of the first block of a stream, and of the largest one.
const BLOCK_SHIFTS: (u8, u8) = (6, 13);

/// The stream of a term.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Stream {
    /// The number of the last row, from 1 on; 0 for an empty stream.
    row: u32,
    place: u32,
    /// The places of the first and the last block, in units. They count only if `block_shift` is not 0.
    first_block: u32,
    last_block: u32,
    column: u16,
    /// The number of bytes used in the last block, with its head.
    used: u16,
    /// The binary logarithm of the size of the last block; 0 without a block.
    block_shift: u8,
    waiting: u8,
    bytes: [u8; WAITING_BYTES],
}

const EMPTY: Stream = Stream {
    row: 0,
    place: 0,
    first_block: 0,
    last_block: 0,
    column: 0,
    used: 0,
    block_shift: 0,
    waiting: 0,
    bytes: [0; WAITING_BYTES],
};

/// The place of an occurrence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The number of the row, from 0 on.
    pub(super) row: u32,
    pub(super) column: u16,
    pub(super) position: u32,
}

/// The streams of all terms.
#[derive(Debug)]
pub(super) struct Streams {
    detail: Detail,
    /// The streams, in pieces that never move.
    streams: Vec<Vec<Stream>>,
    blocks: Blocks,
    /// The bytes of a stream that lies in blocks.
    whole: Vec<u8>,
}

/// The blocks of all streams.
#[derive(Debug, Default)]
struct Blocks {
    slabs: Vec<Vec<u8>>,
    /// The number of slabs that are in use, and the number of units that are used of the last one.
    slabs_used: usize,
    units_used: u32,
}

impl Streams {
    pub(super) fn new(detail: Detail) -> Streams {
        Streams { detail, streams: Vec::new(), blocks: Blocks::default(), whole: Vec::new() }
    }

    /// Returns the bytes of memory that streams and blocks take.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.streams.len() << STREAMS_SHIFT) * size_of::<Stream>() + self.blocks.slabs_used * SLAB_BYTES
    }

    /// Makes room for `terms` terms, whose numbers are smaller than this.
    pub(super) fn reserve(&mut self, terms: usize) {
        while self.streams.len() << STREAMS_SHIFT < terms {
            self.streams.push(vec![EMPTY; 1 << STREAMS_SHIFT]);
        }
    }

    /// Brings the streams of terms into the CPU cache, all at once.
    #[inline]
    pub(super) fn fetch(&self, terms: &[u32]) {
        // Few streams are in the cache already.
        if self.streams.len() <= CACHED_PIECES {
            return;
        }
        std::hint::black_box(terms.iter().fold(0, |all, term| all ^ self.stream(*term).row));
    }

    #[inline]
    fn stream(&self, term: u32) -> &Stream {
        &self.streams[(term >> STREAMS_SHIFT) as usize][term as usize & ((1 << STREAMS_SHIFT) - 1)]
    }

    /// Adds an occurrence of a term. Places come in ascending order, except that several may be equal.
    #[inline]
    pub(super) fn push(&mut self, term: u32, place: Place) {
        let Streams { detail, streams, blocks, .. } = self;
        let stream =
            &mut streams[(term >> STREAMS_SHIFT) as usize][term as usize & ((1 << STREAMS_SHIFT) - 1)];
        match detail {
            Detail::Full => stream.push_position(place, blocks),
            Detail::Column => stream.push_column(place, blocks),
            Detail::None => stream.push_row(place, blocks),
        }
    }

    /// Calls `each` with the doclist of each term that has occurrences, in parts of about `doclist_bytes` bytes, and removes all occurrences.
    /// `rowids` are those of the rows.
    ///
    /// # Errors
    /// The error of `each`.
    pub(super) fn take_all(
        &mut self,
        rowids: &[i64],
        doclist_bytes: usize,
        mut each: impl FnMut(u32, &EntryList) -> Result<()>,
    ) -> Result<()> {
        let Streams { detail, streams, blocks, whole } = self;
        let mut entries = EntryList::default();
        for (number, stream) in streams.iter_mut().flatten().enumerate() {
            if stream.row == 0 {
                continue;
            }
            let waiting = &stream.bytes[..stream.waiting.into()];
            let bytes = if stream.block_shift == 0 {
                waiting
            } else {
                blocks.read(stream, whole);
                whole.extend_from_slice(waiting);
                &whole[..]
            };
            let (mut at, mut row) = (0, 0);
            while at < bytes.len() {
                // The mark of a row, and its distance.
                let Some((distance, n)) = varint::first(&bytes[at + 1..]) else { break };
                row += distance as usize;
                let start = at + 1 + n;
                at = start + end_of_row(&bytes[start..]);
                entries.push_row(*detail, rowids[row - 1], (false, true), &bytes[start..at]);
                if entries.bytes() >= doclist_bytes {
                    each(number as u32, &entries)?;
                    entries.clear();
                }
            }
            if entries.doclist().is_some() {
                each(number as u32, &entries)?;
                entries.clear();
            }
            *stream = EMPTY;
        }
        blocks.clear();
        Ok(())
    }

    /// Forgets all streams, which must be empty.
    pub(super) fn clear(&mut self) {
        self.streams.clear();
    }
}

impl Stream {
    /// Adds an occurrence with its position.
    #[inline]
    fn push_position(&mut self, place: Place, blocks: &mut Blocks) {
        let at = self.room(blocks);
        let rows = place.row + 1 - self.row;
        let column = self.column & mask(rows == 0) as u16;
        let is_same_column = column == place.column;
        let before = self.place & mask(rows == 0 && is_same_column);
        // Positions are below 2^31, as texts are.
        let distance = place.position - before + 2;
        let written = if rows < 0x4000 && place.column < 0x80 && distance < 0x4000 {
            let mut word = Word::default();
            // A frequent term is in this row already, or not: no branch could foretell it.
            word.push(u64::from(short_varint(rows)) << 8, (8 + short_varint_bits(rows)) & mask(rows > 0));
            let of_column = mask(!is_same_column);
            word.push(u64::from((1 | u32::from(place.column) << 8) & of_column), 16 & of_column);
            word.push(u64::from(short_varint(distance)), short_varint_bits(distance));
            self.bytes[at..at + size_of::<u64>()].copy_from_slice(&word.bytes.to_le_bytes());
            word.bits as usize / 8
        } else {
            let out = &mut self.bytes[at..];
            let mut n = 0;
            if rows > 0 {
                out[0] = 0;
                n += 1 + varint::write(&mut out[1..], rows.into());
            }
            if !is_same_column {
                out[n] = 1;
                n += 1 + varint::write(&mut out[n + 1..], place.column.into());
            }
            n + varint::write(&mut out[n..], distance.into())
        };
        (self.row, self.column, self.place) = (place.row + 1, place.column, place.position);
        self.waiting = (at + written) as u8;
    }

    /// Adds an occurrence with its column.
    fn push_column(&mut self, place: Place, blocks: &mut Blocks) {
        if self.row == place.row + 1 {
            if self.column == place.column {
                return;
            }
        } else {
            self.push_row(place, blocks);
            self.place = 0;
        }
        let at = self.room(blocks);
        let n = varint::write(&mut self.bytes[at..], (u32::from(place.column) - self.place + 2).into());
        (self.column, self.place) = (place.column, place.column.into());
        self.waiting = (at + n) as u8;
    }

    /// Adds an occurrence of which only the row is kept.
    fn push_row(&mut self, place: Place, blocks: &mut Blocks) {
        let rows = place.row + 1 - self.row;
        if rows == 0 {
            return;
        }
        let at = self.room(blocks);
        self.bytes[at] = 0;
        let n = varint::write(&mut self.bytes[at + 1..], rows.into());
        self.row = place.row + 1;
        self.waiting = (at + 1 + n) as u8;
    }

    /// Returns the offset at which the bytes of an occurrence have room.
    #[inline]
    fn room(&mut self, blocks: &mut Blocks) -> usize {
        if usize::from(self.waiting) > WAITING_BYTES - OCCURRENCE_BYTES_MAX {
            blocks.flush(self);
        }
        usize::from(self.waiting)
    }
}

/// The next bytes of a stream. They are put together in a register, since a copy of a few bytes of unknown number is a call.
#[derive(Default)]
struct Word {
    bytes: u64,
    bits: u32,
}

impl Word {
    /// Appends the lowest `bits` bits of `bytes`, whose other bits are 0.
    #[inline]
    fn push(&mut self, bytes: u64, bits: u32) {
        self.bytes |= bytes << self.bits;
        self.bits += bits;
    }
}

/// Returns a number of which all bits are set if `is_set`, and none otherwise.
#[inline]
fn mask(is_set: bool) -> u32 {
    u32::from(is_set).wrapping_neg()
}

/// Returns the varint of a value below 0x4000, with its first byte lowest.
#[inline]
fn short_varint(value: u32) -> u32 {
    let long = (value >> 7 | 0x80) & 0xff | (value & 0x7f) << 8;
    if value >= 0x80 { long } else { value }
}

/// Returns the number of bits of the varint of a value below 0x4000.
#[inline]
fn short_varint_bits(value: u32) -> u32 {
    8 + 8 * u32::from(value >= 0x80)
}

/// Returns the number of bytes before the next row.
#[inline]
fn end_of_row(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGHEST: u64 = 0x80 * ONES;
    // A 0 after a byte with its highest bit set ends a varint.
    let mut before = 0;
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The highest bit of each byte that is 0: no carry leaves a byte.
        let zeros = !(((word & !HIGHEST) + !HIGHEST) | word) & HIGHEST;
        let ends = zeros & !(word << 8 | before);
        if ends != 0 {
            return 8 * number + ends.trailing_zeros() as usize / 8;
        }
        before = word >> 56;
    }
    for (number, &byte) in rest.iter().enumerate() {
        if byte == 0 && before & 0x80 == 0 {
            return 8 * words.len() + number;
        }
        before = byte.into();
    }
    bytes.len()
}

impl Blocks {
    /// Moves the waiting bytes of a stream to its last block.
    #[inline(never)]
    fn flush(&mut self, stream: &mut Stream) {
        let waiting = usize::from(stream.waiting);
        if stream.block_shift == 0 || usize::from(stream.used) + waiting > 1 << stream.block_shift {
            self.add(stream);
        }
        let start = self.start(stream.last_block) + usize::from(stream.used);
        let slab = self.slab(stream.last_block);
        self.slabs[slab][start..start + waiting].copy_from_slice(&stream.bytes[..waiting]);
        stream.used += u16::from(stream.waiting);
        stream.waiting = 0;
    }

    fn slab(&self, block: u32) -> usize {
        (block / SLAB_UNITS) as usize
    }

    /// Returns the offset of a block in its slab.
    fn start(&self, block: u32) -> usize {
        (block % SLAB_UNITS) as usize * UNIT_BYTES
    }

    /// Adds a block to a stream.
    fn add(&mut self, stream: &mut Stream) {
        let (least, most) = BLOCK_SHIFTS;
        let shift = if stream.block_shift == 0 { least } else { (stream.block_shift + 1).min(most) };
        let units = (1_u32 << shift) / UNIT_BYTES as u32;
        if self.slabs_used == 0 || self.units_used + units > SLAB_UNITS {
            (self.slabs_used, self.units_used) = (self.slabs_used + 1, 0);
            if self.slabs.len() < self.slabs_used {
                self.slabs.push(vec![0; SLAB_BYTES]);
            }
        }
        let block = (self.slabs_used - 1) as u32 * SLAB_UNITS + self.units_used;
        self.units_used += units;
        if stream.block_shift == 0 {
            stream.first_block = block;
        } else {
            self.end(stream, block);
        }
        (stream.last_block, stream.block_shift, stream.used) = (block, shift, HEAD_BYTES as u16);
    }

    /// Writes the head of the last block of a stream.
    fn end(&mut self, stream: &Stream, next: u32) {
        let (slab, start) = (self.slab(stream.last_block), self.start(stream.last_block));
        let head = &mut self.slabs[slab][start..start + HEAD_BYTES];
        head[..4].copy_from_slice(&next.to_be_bytes());
        head[4..].copy_from_slice(&u32::from(stream.used).to_be_bytes());
    }

    /// Reads the blocks of a stream.
    fn read(&self, stream: &Stream, whole: &mut Vec<u8>) {
        whole.clear();
        let mut block = stream.first_block;
        while block != stream.last_block {
            let bytes = &self.slabs[self.slab(block)][self.start(block)..];
            let [a, b, c, d, e, f, g, h] = *bytes.first_chunk::<HEAD_BYTES>().expect("a block has a head");
            whole.extend_from_slice(&bytes[HEAD_BYTES..u32::from_be_bytes([e, f, g, h]) as usize]);
            block = u32::from_be_bytes([a, b, c, d]);
        }
        let bytes = &self.slabs[self.slab(block)][self.start(block)..];
        whole.extend_from_slice(&bytes[HEAD_BYTES..stream.used.into()]);
    }

    /// Frees all blocks, and keeps their memory.
    fn clear(&mut self) {
        (self.slabs_used, self.units_used) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use sqluice_testkit::full_text::stored_positions;

    use super::*;

    #[test]
    fn streams_give_the_entries_of_each_row() {
        for detail in [Detail::Full, Detail::Column, Detail::None] {
            let mut streams = Streams::new(detail);
            for round in 0..3_u32 {
                let rowids: Vec<i64> = (0..3000).map(|row| i64::from(row * row) - 5000).collect();
                let mut lists = vec![EntryList::default(); 40];
                streams.reserve(2000);
                for (row, rowid) in rowids.iter().enumerate() {
                    for (term, list) in lists.iter_mut().enumerate() {
                        // Term 0 is in every row, and term 39 in every fortieth.
                        if row % (term + 1) > 0 {
                            continue;
                        }
                        let count = 1 + (row * term) as u32 % 70;
                        let occurrences: Vec<(u32, u32)> = (0..count)
                            .map(|number| (number / 20 * 150, number % 20 * (round * 3000 + 60)))
                            .collect();
                        for &(column, position) in &occurrences {
                            let place = Place { row: row as u32, column: column as u16, position };
                            streams.push(50 * term as u32, place);
                        }
                        let positions = stored_positions(&occurrences, detail == Detail::Full);
                        list.push_row(detail, *rowid, (false, true), &positions);
                    }
                }
                let mut found = 0;
                let mut parts: Vec<EntryList> = vec![EntryList::default(); lists.len()];
                let take = |number: u32, entries: &EntryList| {
                    assert_eq!(number % 50, 0);
                    found += 1;
                    parts[number as usize / 50].push_doclist(&entries.doclist().unwrap());
                    Ok(())
                };
                streams.take_all(&rowids, 4000, take).unwrap();
                assert!(found > lists.len(), "{found}");
                for (part, list) in parts.iter().zip(&lists) {
                    assert_eq!(part.doclist(), list.doclist());
                }
                streams.take_all(&rowids, 4000, |_, _| panic!("all were taken")).unwrap();
            }
        }
    }
}
