//! Merges runs of key-only items. Only their keys are merged, because each key decodes to its item.
//!
//! ```text
//!  run ──> [keys] ─┐
//!                  ├─> [keys] ─┐       each stream merges two others, a few keys at a time, within the L1 cache
//!  run ──> [keys] ─┘           ├─> [keys]
//!  run ──> [keys] ─────────────┘
//! ```
//!
//! The CPU can't predict which of two keys is smaller, so no branch of the inner loop depends on it. Equal keys stand for identical items,
//! so their order does not matter.

use sqluice_core::error::Result;

use super::item_reader::RunSlice;
use super::key_reader::KeyReader;
use super::run::{RunWriter, STRETCH};
use crate::sort::items::halves::{first_word, word};
use crate::sort::items::item::Decoded;
use crate::sort::items::keys::{Form, partition_point};
use crate::sort::items::order::{Item, Order};
use crate::sort::spill::prefetch::Prefetch;

/// The number of keys that a merge returns at a time. The keys are then written to a run in whole stretches of [`STRETCH`] halves.
const KEYS: usize = STRETCH;
/// The size in bytes of the keys that a stream buffers for the stream that merges it.
const BYTES_BETWEEN: usize = 2 << 10;

/// The memory in bytes that merging takes for each run besides its blocks: a merge of n runs has 2n - 1 streams.
pub(in crate::sort) const STREAM_BYTES: usize = 2 * BYTES_BETWEEN;

/// The items of slices of several runs of key-only items. The keys of all runs have one form, or can be converted to this form when they
/// are read.
pub(in crate::sort) struct KeyRuns<'a, const HALVES: usize> {
    order: &'a Order,
    reading: Reading<'a>,
    stream: Stream<'a, HALVES>,
}

/// The parameters with which a merge reads its runs.
struct Reading<'a> {
    /// The form of the merged keys, to which shorter keys are converted.
    form: Form,
    block_bytes: usize,
    prefetch: &'a Prefetch,
}

/// A stream of keys in order, read in batches.
struct Stream<'a, const HALVES: usize> {
    source: Source<'a, HALVES>,
    /// A word that is not greater than the first word of any key of the stream.
    from: u128,
    /// `true` if no key was read yet, so that the stream has taken no memory for blocks.
    waits: bool,
    /// The last batch of keys. The keys before `at` were taken already.
    keys: Vec<[u64; HALVES]>,
    at: usize,
}

/// The source of the keys of a stream.
enum Source<'a, const HALVES: usize> {
    /// No keys are left.
    Ended,
    /// A slice of a run that is not read yet.
    Slice(RunSlice<'a>),
    Reader(KeyReader<'a>),
    /// Two streams to merge. The `from` of the second stream is not smaller than the `from` of the first.
    Two(Box<[Stream<'a, HALVES>; 2]>),
}

impl<'a, const HALVES: usize> KeyRuns<'a, HALVES> {
    /// Begins to merge slices of runs to keys of the form `form`. Spilled runs are read in blocks of `block_bytes` bytes.
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

    /// Calls `each` with the items in order, each decoded from its key by `decode`, and with the first word of each key.
    #[inline]
    pub(in crate::sort) fn try_for_each(
        mut self,
        decode: impl Fn(&mut Decoded, &Order, [u64; HALVES]),
        mut each: impl FnMut(Item<'_>, u128) -> Result<()>,
    ) -> Result<()> {
        // Keys are decoded in batches. If `each` read a record right after `decode` wrote it, in words of another size, the CPU would stall
        // (failed store forwarding).
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

    /// Appends all keys, in order, to the run of `writer`. Returns the prefix of the last item.
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
    /// Creates a stream that merges slices of runs. Each slice is given with a word that is not greater than the first word of any of its
    /// keys. The slices must be in the order of these words.
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

    /// Replaces `keys`, which must all be taken, by the next `count` keys, or by all that are left.
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
            // No keys are left, so the source and the buffer are dropped, which frees their memory.
            (*source, *keys) = (Source::Ended, Vec::new());
        }
        Ok(())
    }

    /// Returns the keys of the batch that are not taken yet. Reads the next batch if all were taken.
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
    // A stream is not read before its first key may be the next, because the memory suffices only for the blocks of runs that overlap.
    let before = if second.waits { a.partition_point(|key| first_word(key) < second.from) } else { 0 };
    let b = if before > 0 { &[] } else { second.rest(reading)? };
    let (from_first, from_second) = match (a, b) {
        (a, []) => (if before > 0 { before } else { a.len() }, 0),
        ([], b) => (0, b.len()),
        // All keys of one batch sort before the other batch, so they are copied without comparing each. This is common if the streams
        // hardly overlap.
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

/// Fills `merged` with the smallest keys of two sorted lists. Each list must have at least as many keys as `merged`. Returns the number of
/// keys taken from `first`. The same loop fills the front half and the back half of `merged`: as neither depends on the other, the CPU
/// works on both at once.
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

/// Returns the smaller of the keys `first[a]` and `second[b]`, and advances the position of the returned key.
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
    // An `if` would be compiled to a branch. Instead, the first key is XORed with the bits in which both keys differ, or with 0.
    let changes = u64::from(is_second).wrapping_neg();
    std::array::from_fn(|half| from_first[half] ^ (from_first[half] ^ from_second[half]) & changes)
}

/// Returns `true` if `a` sorts before `b`, without a branch.
#[inline]
fn is_less<const HALVES: usize>(a: &[u64; HALVES], b: &[u64; HALVES]) -> bool {
    let ((a, last_of_a), (b, last_of_b)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
    // Each word overrides the result of the words after it, from the last word to the first, as in a subtraction with borrow.
    let words = a.iter().zip(b).rev().map(|(a, b)| (word(*a), word(*b)));
    words.fold(last_of_a < last_of_b, |less, (a, b)| (a < b) | (a == b) & less)
}
