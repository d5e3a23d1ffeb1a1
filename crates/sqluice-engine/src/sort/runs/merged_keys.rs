//! Merges runs of key-only items.
//!
//! ```text
//!  run ──> [keys] ─┐
//!                  ├─> [keys] ─┐       two streams are merged into one, a few keys at a time, within the L1 cache
//!  run ──> [keys] ─┘           ├─> [keys]
//!  run ──> [keys] ─────────────┘
//! ```
//!
//! No branch depends on the order of the keys, which is unpredictable. Equal keys stand for equal items, so their order does not matter.

use sqluice_core::error::Result;

use super::item_reader::RunSlice;
use super::key_reader::KeyReader;
use super::run::{RunWriter, STRETCH};
use crate::sort::items::halves::{first_word, word};
use crate::sort::items::item::Decoded;
use crate::sort::items::keys::{Form, partition_point};
use crate::sort::items::order::{Item, Order};
use crate::sort::spill::prefetch::Prefetch;

/// The number of keys that a merge returns at a time, in whole stretches of a run.
const KEYS: usize = STRETCH;
/// The size of the keys that are buffered between two streams, in bytes.
const BYTES_BETWEEN: usize = 2 << 10;

/// The memory in bytes that merging takes for each run besides its blocks: a merge has nearly twice as many streams as runs.
pub(in crate::sort) const STREAM_BYTES: usize = 2 * BYTES_BETWEEN;

/// The items of several runs of keys, which all have one form or can be read in this form.
pub(in crate::sort) struct KeyRuns<'a, const HALVES: usize> {
    order: &'a Order,
    reading: Reading<'a>,
    stream: Stream<'a, HALVES>,
}

/// The options for reading runs.
struct Reading<'a> {
    /// The form of the merged keys.
    form: Form,
    block_bytes: usize,
    prefetch: &'a Prefetch,
}

/// A stream of keys in order, read in batches.
struct Stream<'a, const HALVES: usize> {
    source: Source<'a, HALVES>,
    /// A lower bound of the first words of the keys.
    from: u128,
    /// `true` if no key was read yet.
    waits: bool,
    /// The keys read so far. The next key is at `at`.
    keys: Vec<[u64; HALVES]>,
    at: usize,
}

/// The source of keys.
enum Source<'a, const HALVES: usize> {
    /// No keys are left.
    Ended,
    /// A part that is not read yet.
    Slice(RunSlice<'a>),
    Reader(KeyReader<'a>),
    /// Two streams to merge. The first stream does not begin after the second.
    Two(Box<[Stream<'a, HALVES>; 2]>),
}

impl<'a, const HALVES: usize> KeyRuns<'a, HALVES> {
    /// Merges parts, each read in blocks of `block_bytes`.
    pub(in crate::sort) fn new(
        (order, form): (&'a Order, Form),
        parts: Vec<RunSlice<'a>>,
        block_bytes: usize,
        prefetch: &'a Prefetch,
    ) -> KeyRuns<'a, HALVES> {
        let mut parts: Vec<_> = parts.into_iter().map(|part| (part.word_min(form), part)).collect();
        parts.sort_by_key(|(from, _)| *from);
        KeyRuns { order, reading: Reading { form, block_bytes, prefetch }, stream: Stream::new(&parts) }
    }

    /// Decodes the keys with `decode`, and calls `each` with the items in order and the first word of each key.
    #[inline]
    pub(in crate::sort) fn try_for_each(
        mut self,
        decode: impl Fn(&mut Decoded, &Order, [u64; HALVES]),
        mut each: impl FnMut(Item<'_>, u128) -> Result<()>,
    ) -> Result<()> {
        // Records are decoded in batches: reading a record with other word sizes just after writing it would stall (store forwarding).
        let mut decoded = [Decoded::NONE; 16];
        loop {
            self.stream.fill(KEYS, &self.reading)?;
            if self.stream.keys.is_empty() {
                return Ok(());
            }
            for keys in self.stream.keys.chunks(decoded.len()) {
                for (decoded, key) in decoded.iter_mut().zip(keys) {
                    decode(decoded, self.order, *key);
                }
                for (decoded, key) in decoded.iter().zip(keys) {
                    each(decoded.item(), first_word(key))?;
                }
            }
        }
    }

    /// Appends all keys to a run, and returns the prefix of the last item.
    pub(in crate::sort) fn write(mut self, writer: &mut RunWriter) -> Result<u128> {
        let (order, form) = (self.order, self.reading.form);
        let mut last_prefix = 0;
        loop {
            self.stream.fill(KEYS, &self.reading)?;
            let Some(last) = self.stream.keys.last() else { return Ok(last_prefix) };
            last_prefix = form.prefix(order, last);
            writer.push_keys(order, form, self.stream.keys.as_flattened())?;
        }
    }
}

impl<'a, const HALVES: usize> Stream<'a, HALVES> {
    /// Creates a stream of the keys of parts, which are given in the order of their first words.
    fn new(parts: &[(u128, RunSlice<'a>)]) -> Stream<'a, HALVES> {
        let from = parts.first().map_or(0, |(from, _)| *from);
        let source = match parts {
            [] => Source::Ended,
            [(_, part)] => Source::Slice(*part),
            _ => {
                let (first, second) = parts.split_at(parts.len() / 2);
                Source::Two(Box::new([first, second].map(Stream::new)))
            }
        };
        Stream { source, from, waits: true, keys: Vec::new(), at: 0 }
    }

    /// Reads the next `count` keys, or all remaining keys. The previous keys must have been taken.
    fn fill(&mut self, count: usize, reading: &Reading<'a>) -> Result<()> {
        let Stream { source, waits, keys, at, .. } = self;
        (*waits, *at) = (false, 0);
        keys.clear();
        if let Source::Slice(part) = source {
            let form = part.form().unwrap_or(reading.form);
            *source = Source::Reader(part.key_reader(form, reading.block_bytes, reading.prefetch));
        }
        match source {
            Source::Reader(reader) => reader.read(count, keys)?,
            Source::Two(streams) => while keys.len() < count && merge_some(streams, count, keys, reading)? {},
            Source::Ended | Source::Slice(_) => {}
        }
        if keys.is_empty() {
            // An ended source frees its memory.
            (*source, *keys) = (Source::Ended, Vec::new());
        }
        Ok(())
    }

    /// Fills the stream if all its keys were taken, and returns the next keys.
    fn rest(&mut self, reading: &Reading<'a>) -> Result<&[[u64; HALVES]]> {
        if self.at == self.keys.len() {
            self.fill(BYTES_BETWEEN / size_of::<[u64; HALVES]>(), reading)?;
        }
        Ok(&self.keys[self.at..])
    }
}

/// Appends some keys of two streams to `keys`, up to `count` keys in all. Returns `true` if any key was appended.
fn merge_some<'a, const HALVES: usize>(
    [first, second]: &mut [Stream<'a, HALVES>; 2],
    count: usize,
    keys: &mut Vec<[u64; HALVES]>,
    reading: &Reading<'a>,
) -> Result<bool> {
    let room = count - keys.len();
    let a = first.rest(reading)?;
    // A later stream is read only when needed, because the memory does not hold all blocks at once.
    let before = if second.waits { a.partition_point(|key| first_word(key) < second.from) } else { 0 };
    let b = if before > 0 { &[] } else { second.rest(reading)? };
    let (from_first, from_second) = match (a, b) {
        (a, []) => (if before > 0 { before } else { a.len() }, 0),
        ([], b) => (0, b.len()),
        // All keys of one stream sort before the other stream, as mostly if streams hardly overlap.
        ([.., last], [next, ..]) if is_less(last, next) => (a.len(), 0),
        ([next, ..], [.., last]) if is_less(last, next) => (0, b.len()),
        (a, b) => {
            let (start, n) = (keys.len(), a.len().min(b.len()).min(room));
            keys.resize(start + n, [0; HALVES]);
            let from_first = merge(a, b, &mut keys[start..]);
            first.at += from_first;
            second.at += n - from_first;
            return Ok(true);
        }
    };
    let (from_first, from_second) = (from_first.min(room), from_second.min(room));
    keys.extend_from_slice(&a[..from_first]);
    keys.extend_from_slice(&b[..from_second]);
    first.at += from_first;
    second.at += from_second;
    Ok(from_first + from_second > 0)
}

/// Fills `merged` with the first keys of both lists. Each list must have at least as many keys as `merged`. Returns the number of keys
/// taken from `first`. Both halves of `merged` are filled in the same loop, so that their dependency chains overlap.
#[inline]
fn merge<const HALVES: usize>(
    first: &[[u64; HALVES]],
    second: &[[u64; HALVES]],
    merged: &mut [[u64; HALVES]],
) -> usize {
    let middle = merged.len() / 2;
    let from_first = partition_point(middle, |at| !is_less(&second[middle - 1 - at], &first[at]));
    let (mut low, mut high) = ((0, 0), (from_first, middle - from_first));
    let (front, back) = merged.split_at_mut(middle);
    for (before, after) in front.iter_mut().zip(&mut *back) {
        *before = next_of(first, second, &mut low);
        *after = next_of(first, second, &mut high);
    }
    if let Some(last) = back.get_mut(middle) {
        *last = next_of(first, second, &mut high);
    }
    high.0
}

/// Returns the smaller of the keys at two positions, and advances its position.
#[inline]
fn next_of<const HALVES: usize>(
    first: &[[u64; HALVES]],
    second: &[[u64; HALVES]],
    (a, b): &mut (usize, usize),
) -> [u64; HALVES] {
    let (from_first, from_second) = (&first[*a], &second[*b]);
    let is_second = is_less(from_second, from_first);
    *a += usize::from(!is_second);
    *b += usize::from(is_second);
    // A conditional would be compiled to a branch. XOR with the differing bits selects the second key instead.
    let changes = u64::from(is_second).wrapping_neg();
    std::array::from_fn(|half| from_first[half] ^ (from_first[half] ^ from_second[half]) & changes)
}

/// Returns `true` if `a` sorts before `b`, without a branch.
#[inline]
fn is_less<const HALVES: usize>(a: &[u64; HALVES], b: &[u64; HALVES]) -> bool {
    let ((a, last_of_a), (b, last_of_b)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
    // Words are compared from the last to the first, as in a subtraction with borrow.
    let words = a.iter().zip(b).rev().map(|(a, b)| (word(*a), word(*b)));
    words.fold(last_of_a < last_of_b, |less, (a, b)| (a < b) | (a == b) & less)
}
