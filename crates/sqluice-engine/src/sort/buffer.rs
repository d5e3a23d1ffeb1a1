//! The buffer of one thread, which holds pushed items until it is full. Then the items are sorted and spilled to the temporary file as a
//! run.
//!
//! ```text
//!  arena      [item][item][item]...       in the order of pushes
//!  places       0     17    31            the offset of each item
//!  prefixes     p     p     p             the prefix of each item's key
//! ```
//!
//! Entries of integers and short text are key-only: the buffer has only their keys, in `keys`. So sorting reads no items at scattered
//! places, and less memory is needed. All keys of a buffer have the same form ([`Form`]). An item that does not fit this form converts all
//! keys to the next form to the right that the item fits:
//!
//! ```text
//!  items of two columns            Short ──> Pair ──> Word ──> Words ──> full items     Short, Pair: integers or NULL, of 32 or 64 bits
//!  other items                                        Word ──> Words ──> full items     Word, Words: normalized keys of 16 or 32 bytes
//!  the first item begins with a UUID                           Uuid ───> full items     Uuid: a UUID and at most a number or NULL
//! ```

use std::cmp::Ordering;

use sqluice_core::error::Result;
use sqluice_format::key::{DECODED_BYTES_MAX, PAIRED_NULL, paired_int, short_half};
use sqluice_platform::memory;

use crate::sort::Sorter;
use crate::sort::items::halves::halves;
use crate::sort::items::item::{self, HEAD_BYTES_MAX};
use crate::sort::items::keys::{Form, Keys};
use crate::sort::items::order::{Cut, Item, Layout};
use crate::sort::items::radix::{self, Items, SCRATCH_BYTES, Scratch};
use crate::sort::items::sample::Samples;
use crate::sort::runs::run::{MemoryRun, RunWriter, SortedRun, write_bytes};

/// The memory in bytes of a full item besides its bytes in the arena: its prefix, its place, and the scratch memory of sorting.
const ITEM_BYTES: usize = size_of::<u128>() + size_of::<u32>() + SCRATCH_BYTES;

/// The number of bytes after a record that its writer may overwrite. So short values can be copied as whole words, which is faster.
pub const SLACK_BYTES: usize = 16;

/// The size in bytes of a word of a normalized key.
const WORD_BYTES: usize = size_of::<u128>();

/// The number of items after which the average item size is roughly known. Memory for all further items is then reserved at once.
const MEASURED: usize = 1000;

/// A buffer for the items of one thread.
pub struct Buffer<'a> {
    sorter: &'a Sorter,
    /// The keys of the items, while all items are key-only; `held` is empty then. `None` once the items are full items in `held`.
    keys: Option<Keys>,
    held: Held,
    samples: Samples,
    scratch: Scratch,
    /// The number of bytes of memory that the items may take before they are spilled.
    items_bytes: usize,
    writer: RunWriter,
}

/// The full items, in the order in which they were pushed.
#[derive(Default)]
struct Held {
    /// The bytes of the items, one after another. Bytes from `end` on are arbitrary.
    arena: Vec<u8>,
    end: usize,
    places: Vec<u32>,
    prefixes: Vec<u128>,
    /// The largest `end` and the largest number of items so far: memory that is never written takes no space.
    written: (usize, usize),
}

/// A view of the full items for sorting: an item is found by its index in `places`.
struct Seen<'a> {
    layout: &'a Layout,
    arena: &'a [u8],
    places: &'a [u32],
}

impl Seen<'_> {
    #[inline]
    fn bytes_and_item(&self, place: u32) -> (&[u8], Item<'_>) {
        let place = place as usize;
        let found = item::find(self.layout, self.arena, place).expect("a place of an item");
        (&self.arena[place..found.end], found.item(self.arena))
    }

    fn item(&self, index: u32) -> Item<'_> {
        self.bytes_and_item(self.places[index as usize]).1
    }
}

impl Items for Seen<'_> {
    fn prefix_at(&self, index: u32, depth: usize) -> u128 {
        self.layout.order.prefix_at(&self.item(index), depth)
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        self.layout.order.compare(&self.item(a), &self.item(b))
    }

    fn fetch(&self, indexes: impl Iterator<Item = u32>) {
        let mut places = [0; item::FETCHED];
        let mut count = 0;
        for (place, index) in places.iter_mut().zip(indexes) {
            *place = self.places[index as usize];
            count += 1;
        }
        item::fetch(self.arena, &places[..count], self.arena.len() / self.places.len());
    }
}

/// Returns the form with which the keys of an empty buffer begin.
fn first_form(sorter: &Sorter) -> Form {
    if sorter.layout.order.has_pairs() { Form::Short } else { Form::Word }
}

impl<'a> Buffer<'a> {
    pub(super) fn new(sorter: &'a Sorter, buffer_bytes: usize) -> Buffer<'a> {
        let write_bytes = write_bytes(buffer_bytes / 32);
        Buffer {
            sorter,
            keys: sorter.layout.is_of_records().then(|| Keys::new(first_form(sorter))),
            held: Held::default(),
            samples: Samples::new(sorter.ranges),
            scratch: Scratch::default(),
            items_bytes: buffer_bytes.saturating_sub(2 * write_bytes),
            writer: RunWriter::new(&sorter.spill, write_bytes),
        }
    }

    /// Pushes an item. If the buffer is full, sorts and spills the earlier items.
    ///
    /// # Errors
    /// If temporary space runs out.
    pub fn push(&mut self, item: Item<'_>) -> Result<()> {
        let Item { rowid, number, record } = item;
        self.push_with(rowid, number, record.len(), |room| room[..record.len()].copy_from_slice(record))
    }

    /// Pushes an item whose record is not written yet: `write` writes the record of `record_bytes` bytes. `write` may overwrite
    /// [`SLACK_BYTES`] bytes after the record.
    ///
    /// # Errors
    /// The errors of [`Buffer::push`].
    #[inline]
    pub fn push_with(
        &mut self,
        rowid: i64,
        number: u64,
        record_bytes: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let needed = HEAD_BYTES_MAX + record_bytes + SLACK_BYTES;
        self.make_room(needed)?;
        let layout = &self.sorter.layout;
        let Held { arena, end, places, prefixes, .. } = &mut self.held;
        let place = *end;
        let arena = room(arena, place + needed);
        let start = place + item::write_head(layout, rowid, number, record_bytes, &mut arena[place..]);
        let item_end = start + record_bytes;
        write(&mut arena[start..item_end + SLACK_BYTES]);
        let item = layout.kept(Item { rowid, number, record: &arena[start..item_end] });
        let (order, samples) = (&layout.order, &mut self.samples);
        let pair = if layout.is_of_records() { order.pair_of(item.record) } else { None };
        let Some(keys) = &mut self.keys else {
            let (prefix, is_word) = match layout.is_of_records() {
                true => order.decodable_prefix(item.record),
                false => (order.prefix(&item), false),
            };
            samples.see(layout, &item, pair, prefix, is_word);
            prefixes.push(prefix);
            *end = item_end;
            places.push(place as u32);
            return Ok(());
        };
        if let Some(pair) = pair.filter(|_| matches!(keys.form, Form::Short | Form::Pair)) {
            samples.see_pair(order, pair);
            return self.push_pair(pair);
        }
        if keys.form == Form::Uuid
            && let Some(key) = order.uuid_key(item.record)
        {
            samples.see(layout, &item, None, order.prefix(&item), false);
            keys.push(&key);
            return Ok(());
        }
        let (prefix, is_word) = match keys.form {
            Form::Short | Form::Pair | Form::Word => order.decodable_prefix(item.record),
            Form::Words | Form::Uuid => (0, false),
        };
        if keys.form == Form::Word && is_word {
            samples.see(layout, &item, pair, prefix, true);
            keys.push(&halves(prefix));
            return Ok(());
        }
        let key = if is_word { None } else { order.decodable_key(item.record) };
        if keys.form == Form::Words
            && let Some((key, key_bytes)) = key
        {
            samples.see(layout, &item, pair, key[0], key_bytes <= WORD_BYTES);
            keys.push(key.map(halves).as_flattened());
            return Ok(());
        }
        // The item does not fit the form of the keys, so all keys change their form, and the item is pushed again.
        let record = item.record.to_vec();
        match (is_word, key) {
            _ if keys.form == Form::Uuid => self.hold_items()?,
            (true, _) => self.hold_keys(Form::Word)?,
            (false, Some(_)) => self.hold_keys(Form::Words)?,
            (false, None) if keys.len() == 0 && order.uuid_key(&record).is_some() => self.hold_uuids(),
            (false, None) => self.hold_items()?,
        }
        self.push(Item { rowid, number, record: &record })
    }

    /// Appends a pair, the key of a record of two integers or NULLs, to the keys. The keys must have the form `Short` or `Pair` and room
    /// for the pair.
    #[inline]
    fn push_pair(&mut self, pair: u128) -> Result<()> {
        let short = self.sorter.layout.order.short_of_pair(pair);
        if short.is_none() && self.keys.as_ref().is_some_and(|keys| keys.form == Form::Short) {
            self.hold_keys(Form::Pair)?;
        }
        if let Some(keys) = &mut self.keys {
            match short {
                Some(short) if keys.form == Form::Short => keys.push(&[short]),
                _ => keys.push(&halves(pair)),
            }
        }
        Ok(())
    }

    /// Returns `true` if [`Buffer::push_pairs`] may be called: the keys have the form `Short` or `Pair`.
    pub fn takes_pairs(&self) -> bool {
        self.keys.as_ref().is_some_and(|keys| matches!(keys.form, Form::Short | Form::Pair))
    }

    /// Pushes the record of two integers or NULLs, without encoding it, if the buffer stores it as a key. Otherwise returns `false`, and
    /// the caller must encode and [push](Buffer::push) the record.
    ///
    /// # Errors
    /// The errors of [`Buffer::push`].
    #[inline]
    pub fn push_pair_of(&mut self, values: [Option<i64>; 2]) -> Result<bool> {
        let order = &self.sorter.layout.order;
        if !order.has_pairs() || values.contains(&Some(i64::MIN)) {
            return Ok(false);
        }
        let pair = order.pair(values.map(|value| value.map_or(PAIRED_NULL, paired_int)));
        if self.takes_pairs() {
            self.make_room(0)?;
            self.samples.see_pair(order, pair);
            self.push_pair(pair)?;
            return Ok(true);
        }
        let Some((prefix, _)) = order.decodable_prefix_of_ints(&values) else { return Ok(false) };
        if self.keys.is_some() {
            self.make_room(0)?;
        }
        let Some(keys) = &mut self.keys else { return Ok(false) };
        self.samples.see_pair(order, pair);
        keys.push(&[prefix, 0].map(halves).as_flattened()[..keys.form.halves()]);
        Ok(true)
    }

    /// Pushes a record of two integers or NULLs for each position of `first` and `second`, which have the halves for both values
    /// ([`sqluice_format::key::KeyOrder::pair`]). The buffer must [take pairs](Buffer::takes_pairs).
    ///
    /// # Errors
    /// The errors of [`Buffer::push`].
    pub fn push_pairs(&mut self, mut first: &[u64], mut second: &[u64]) -> Result<()> {
        let order = &self.sorter.layout.order;
        let is_short =
            |list: &[u64]| list.iter().fold(0, |all, half| all | short_half(*half)) <= u32::MAX.into();
        if self.keys.as_ref().is_some_and(|keys| keys.form == Form::Short)
            && !(is_short(first) && is_short(second))
        {
            self.hold_keys(Form::Pair)?;
        }
        while !first.is_empty() {
            self.make_room(0)?;
            let Some(keys) = &mut self.keys else { return Ok(()) };
            // Pushes only as many pairs as fit before the buffer must be spilled or more memory be reserved.
            let all = (self.items_bytes / keys.form.key_bytes()).min(u32::MAX as usize);
            let all = if keys.len() < MEASURED { all.min(MEASURED) } else { all };
            let now = all.saturating_sub(keys.len()).clamp(1, first.len());
            let (of_first, of_second) = (first.split_at(now), second.split_at(now));
            for (first, second) in of_first.0.iter().zip(of_second.0) {
                let pair = order.pair([*first, *second]);
                self.samples.see_pair(order, pair);
                match keys.form {
                    Form::Short => keys.push(&[order.short_pair([*first, *second].map(short_half))]),
                    _ => keys.push(&halves(pair)),
                }
            }
            (first, second) = (of_first.1, of_second.1);
        }
        Ok(())
    }

    /// Returns `true` if [`Buffer::push_text`] may push records: the keys have the form `Word`, `Words` or `Uuid`.
    pub fn takes_texts(&self) -> bool {
        self.keys.as_ref().is_some_and(|keys| matches!(keys.form, Form::Word | Form::Words | Form::Uuid))
    }

    /// Pushes the record of a text and an integer, without encoding it, if the buffer stores it as a key. The text is `data[start..end]`.
    /// Otherwise returns `false`, and the caller must encode and [push](Buffer::push) the record.
    ///
    /// # Errors
    /// The errors of [`Buffer::push`].
    #[inline]
    pub fn push_text(&mut self, data: &[u8], (start, end): (usize, usize), int: i64) -> Result<bool> {
        let order = &self.sorter.layout.order;
        if self.keys.as_ref().is_some_and(|keys| keys.form == Form::Uuid) {
            return self.push_uuid(data, (start, end), int);
        }
        let Some((key, key_bytes, int_bytes)) = order.decodable_key_of_text(data, (start, end), int) else {
            return Ok(false);
        };
        let is_word = key_bytes <= WORD_BYTES;
        let takes = |keys: &Keys| keys.form == Form::Words || keys.form == Form::Word && is_word;
        if !self.keys.as_ref().is_some_and(takes) {
            return Ok(false);
        }
        let record_bytes = 3 + (end - start) + int_bytes;
        if is_word {
            self.samples.see_word(key[0], record_bytes);
        } else {
            // If the text has fewer than 8 bytes, the last 8 bytes of the record reach into its header, which `record_end` does not know.
            let Some(last) = record_end(&data[start..end], int, int_bytes) else { return Ok(false) };
            self.samples.see_words(key[0], last, record_bytes, || Cut::of_whole(&key));
        }
        self.make_room(0)?;
        match &mut self.keys {
            Some(keys) if keys.form == Form::Word => keys.push(&halves(key[0])),
            Some(keys) => keys.push(key.map(halves).as_flattened()),
            None => unreachable!("a spill keeps the form"),
        }
        Ok(true)
    }

    /// Does the work of [`Buffer::push_text`] while the keys have the form `Uuid`: pushes the record of a UUID and an integer.
    #[inline]
    fn push_uuid(&mut self, data: &[u8], (start, end): (usize, usize), int: i64) -> Result<bool> {
        let order = &self.sorter.layout.order;
        let Some((key, prefix, int_bytes)) = order.uuid_key_of_text(data, (start, end), int) else {
            return Ok(false);
        };
        let Some(last) = record_end(&data[start..end], int, int_bytes) else { return Ok(false) };
        let record_bytes = 3 + (end - start) + int_bytes;
        self.samples.see_words(prefix, last, record_bytes, || Form::Uuid.place(order, &key).1);
        self.make_room(0)?;
        if let Some(keys) = &mut self.keys {
            keys.push(&key);
        }
        Ok(true)
    }

    /// Returns `true` if [`Buffer::push_ints`] may push records: the keys have the form `Word`, and records of two columns are no pairs.
    pub fn takes_ints(&self) -> bool {
        !self.sorter.layout.order.has_pairs()
            && self.keys.as_ref().is_some_and(|keys| keys.form == Form::Word)
    }

    /// Pushes the record of these integers and NULLs, without encoding it, if the buffer stores it as a key. Otherwise returns `false`, and
    /// the caller must encode and [push](Buffer::push) the record. Records of two columns go to [`Buffer::push_pair_of`].
    ///
    /// # Errors
    /// The errors of [`Buffer::push`].
    #[inline]
    pub fn push_ints(&mut self, values: &[Option<i64>]) -> Result<bool> {
        if !self.takes_ints() {
            return Ok(false);
        }
        let Some((prefix, record_bytes)) = self.sorter.layout.order.decodable_prefix_of_ints(values) else {
            return Ok(false);
        };
        self.make_room(0)?;
        if let Some(keys) = &mut self.keys {
            self.samples.see_word(prefix, record_bytes);
            keys.push(&halves(prefix));
        }
        Ok(true)
    }

    /// Returns the number of items in the buffer.
    #[inline]
    fn len(&self) -> usize {
        self.keys.as_ref().map_or(self.held.prefixes.len(), Keys::len)
    }

    /// Spills all items if the buffer has no room for one more item. `needed` is the number of bytes that the item needs in the arena, also
    /// if it is only encoded there before its key is stored; 0 if only a key is pushed.
    #[inline]
    fn make_room(&mut self, needed: usize) -> Result<()> {
        let arena_bytes = self.held.end + needed;
        let each = self.keys.as_ref().map_or(ITEM_BYTES, |keys| keys.form.key_bytes());
        if arena_bytes + (self.len() + 1) * each > self.items_bytes
            // Offsets in the arena and indexes of items have 32 bits.
            || arena_bytes.max(self.len()) > u32::MAX as usize
        {
            self.spill()?;
        }
        if self.len() == MEASURED {
            self.reserve();
        }
        Ok(())
    }

    #[cold]
    fn reserve(&mut self) {
        match &mut self.keys {
            Some(keys) => keys.reserve(self.items_bytes / keys.form.key_bytes()),
            None => self.held.reserve(self.items_bytes),
        }
    }

    /// Converts all keys of the buffer to keys of the form `form`, which later items also get. If a key does not fit into the form `Word`,
    /// the form is `Words`.
    #[cold]
    fn hold_keys(&mut self, form: Form) -> Result<()> {
        let longest = if form == Form::Pair { form } else { Form::Words };
        if self.len() * longest.key_bytes() > self.items_bytes {
            self.spill()?;
        }
        self.scratch = Scratch::default();
        let order = &self.sorter.layout.order;
        self.keys = self.keys.take().map(|keys| keys.in_form(order, form));
        if self.len() > MEASURED {
            self.reserve();
        }
        Ok(())
    }

    /// Gives the keys the form `Uuid`. The buffer must be empty.
    #[cold]
    fn hold_uuids(&mut self) {
        self.scratch = Scratch::default();
        self.keys = Some(Keys::new(Form::Uuid));
    }

    /// Converts all keys of the buffer to full items. Later items are stored as full items, too.
    #[cold]
    fn hold_items(&mut self) -> Result<()> {
        let arena_bytes = self.len() * (1 + DECODED_BYTES_MAX);
        if self.len() * ITEM_BYTES + arena_bytes > self.items_bytes || arena_bytes > u32::MAX as usize {
            self.spill()?;
        }
        // Fewer full items will fit, so they need less scratch memory.
        self.scratch = Scratch::default();
        let order = &self.sorter.layout.order;
        let Held { arena, end, places, prefixes, .. } = &mut self.held;
        if let Some(keys) = self.keys.take() {
            keys.decode(order, |decoded| {
                let item_end = *end + decoded.bytes().len();
                room(arena, item_end)[*end..item_end].copy_from_slice(decoded.bytes());
                places.push(*end as u32);
                prefixes.push(order.prefix(&decoded.item()));
                *end = item_end;
            });
        }
        if self.len() > MEASURED {
            self.reserve();
        }
        Ok(())
    }

    /// Sorts the items and writes them to the temporary file.
    #[cold]
    fn spill(&mut self) -> Result<()> {
        let layout = &self.sorter.layout;
        if self.len() == 0 {
            return Ok(());
        }
        if let Some(keys) = &mut self.keys {
            keys.sort(&mut self.scratch);
            let run = self.writer.keys(&layout.order, keys)?;
            self.sorter.take(SortedRun::File(run), keys.len() as u64, &mut self.samples);
            keys.clear();
            return Ok(());
        }
        let Held { arena, places, prefixes, .. } = &mut self.held;
        let items = Seen { layout, arena, places };
        let mut order =
            radix::sort(prefixes, &items, &mut self.scratch).map(|index| items.places[index as usize]);
        let Some(last) = order.clone().next_back() else { return Ok(()) };
        let mut next = Vec::with_capacity(item::FETCHED);
        let item_bytes = arena.len() / places.len();
        loop {
            next.clear();
            next.extend(order.by_ref().take(item::FETCHED));
            if next.is_empty() {
                break;
            }
            item::fetch(arena, &next, item_bytes);
            for place in &next {
                let (bytes, item) = items.bytes_and_item(*place);
                self.writer.push(bytes, || layout.order.place(&item))?;
            }
        }
        let run = self.writer.finish(layout.order.prefix(&items.bytes_and_item(last).1))?;
        self.sorter.take(SortedRun::File(run), places.len() as u64, &mut self.samples);
        self.held.clear(self.items_bytes);
        Ok(())
    }

    /// Sorts the remaining items and passes them to the sorter as a run in memory.
    ///
    /// # Errors
    /// None at present: nothing is written to disk.
    pub fn flush(&mut self) -> Result<()> {
        let Held { mut arena, end, places, mut prefixes, .. } = std::mem::take(&mut self.held);
        let layout = &self.sorter.layout;
        if let Some(keys) = &mut self.keys {
            let form = keys.form;
            let keys = std::mem::replace(keys, Keys::new(form));
            return self.flush_keys(keys);
        }
        let items = Seen { layout, arena: &arena, places: &places };
        let order = radix::sort(&mut prefixes, &items, &mut self.scratch);
        // The prefixes are no longer needed, and are freed before more memory is allocated.
        drop(prefixes);
        let sorted: Vec<u32> = order.map(|index| places[index as usize]).collect();
        self.scratch = Scratch::default();
        self.writer.shrink();
        drop(places);
        arena.truncate(end);
        arena.shrink_to_fit();
        let count = sorted.len() as u64;
        if let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) {
            let mut run = MemoryRun { arena, places: sorted, first_prefix: 0, last_prefix: 0 };
            let prefix = |run: &MemoryRun, place| layout.order.prefix(&run.item(layout, place));
            (run.first_prefix, run.last_prefix) = (prefix(&run, first), prefix(&run, last));
            self.sorter.take(SortedRun::Memory(run), count, &mut self.samples);
        }
        Ok(())
    }

    fn flush_keys(&mut self, mut keys: Keys) -> Result<()> {
        keys.sort(&mut self.scratch);
        self.scratch = Scratch::default();
        self.writer.shrink();
        keys.shrink();
        let count = keys.len() as u64;
        if count > 0 {
            self.sorter.take(SortedRun::Keys(keys), count, &mut self.samples);
        }
        Ok(())
    }
}

/// Returns the last 8 bytes of the record of a text and an integer that takes `int_bytes` bytes in the record. Returns `None` if the text
/// has fewer than 8 bytes.
#[inline]
fn record_end(text: &[u8], int: i64, int_bytes: usize) -> Option<[u8; 8]> {
    let mut ends = [0; 16];
    ends[..8].copy_from_slice(text.last_chunk::<8>()?);
    ends[8..].copy_from_slice(&int.wrapping_shl(64 - 8 * int_bytes as u32).to_be_bytes());
    ends[int_bytes..].first_chunk().copied()
}

/// Makes `arena` at least `bytes` bytes long and returns all its bytes. If the arena grows, it gets some more bytes in reserve.
#[inline]
fn room(arena: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    const STEP: usize = 64 << 10;
    if arena.len() < bytes {
        arena.resize(bytes + STEP, 0);
    }
    arena
}

impl Held {
    /// Reserves memory for as many items of the average size so far as `items_bytes` bytes allow, so that the arena is not reallocated. An
    /// eighth more is reserved, for items that are shorter or longer than so far.
    fn reserve(&mut self, items_bytes: usize) {
        let with_others = |count: usize| count + count / 8;
        let each = self.end / self.places.len() + 1;
        let items = items_bytes / (each + ITEM_BYTES);
        // After a spill, the arena is usually large enough already.
        if self.arena.len() < each * items {
            let mut arena = vec![0; with_others(each * items)];
            memory::advise_large(&mut arena);
            arena[..self.end].copy_from_slice(&self.arena[..self.end]);
            self.arena = arena;
        }
        let more = with_others(items).saturating_sub(self.places.len());
        self.places.reserve_exact(more);
        self.prefixes.reserve_exact(more);
        memory::advise_large(&mut self.places);
        memory::advise_large(&mut self.prefixes);
    }

    /// Removes all items. Frees the memory if too much of it was written, because short items were followed by long ones, or long items by
    /// short ones.
    fn clear(&mut self, items_bytes: usize) {
        let (end, items) = self.written;
        self.written = (end.max(self.end), items.max(self.places.len()));
        if self.written.0 + ITEM_BYTES * self.written.1 > items_bytes + items_bytes / 4 {
            *self = Held::default();
        }
        self.end = 0;
        self.places.clear();
        self.prefixes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills items with `end` bytes, and removes them. Returns `true` if the memory of the items is kept.
    fn keeps(held: &mut Held, (end, items): (usize, usize), items_bytes: usize) -> bool {
        held.arena.resize(held.arena.len().max(2 * items_bytes), 0);
        held.end = end;
        held.places.resize(items, 0);
        held.clear(items_bytes);
        held.arena.capacity() > 0
    }

    #[test]
    fn memory_that_was_reserved_but_not_written_does_not_count() {
        let (mut held, bytes) = (Held::default(), 1 << 20);
        let many = bytes / ITEM_BYTES;
        // Long items reserve an arena of twice the bytes, of which half is never written.
        for _ in 0..3 {
            assert!(keeps(&mut held, (bytes / 2, many / 2), bytes));
            assert!(keeps(&mut held, (bytes / 4 * 3, many / 4), bytes));
        }
        // Only short items after only long ones.
        assert!(!keeps(&mut held, (bytes / 4, many / 4 * 3), bytes));
        assert!(keeps(&mut held, (bytes / 4, many / 4 * 3), bytes));
    }
}
