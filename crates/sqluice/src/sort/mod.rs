//! Items in any order in, in key order out.
//!
//! Index entries and rows that do not come in the order of their keys are sorted here, outside the tree, and then streamed
//! into pages.

use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_format::key::KeyOrder;

use crate::error::Result;

/// How items are ordered. What is equal by this goes on by rowid, then by the bytes of the records, so the order is total.
#[derive(Clone, Debug)]
pub enum Order {
    /// By the key columns of their records, then by number.
    Record(KeyOrder),
    /// By rowid, then by number.
    Rowid,
}

/// What is sorted. What the layout does not keep is 0 when it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The rowid.
    pub rowid: i64,
    /// The number of the row in its input.
    pub number: u64,
    /// The record.
    pub record: &'a [u8],
}

/// What is kept of items, and how they are ordered.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The order.
    pub order: Order,
    /// Whether rowids are kept.
    pub rowid: bool,
    /// Whether numbers are kept.
    pub number: bool,
}

impl Order {
    fn prefix(&self, item: &Item<'_>) -> u128 {
        match self {
            Order::Record(key) => key.prefix(item.record),
            Order::Rowid => (u128::from((item.rowid ^ i64::MIN) as u64) << 64) | u128::from(item.number),
        }
    }

    fn compare(&self, a: &Item<'_>, b: &Item<'_>) -> Ordering {
        let key = match self {
            Order::Record(key) => key.compare(a.record, b.record),
            Order::Rowid => a.rowid.cmp(&b.rowid),
        };
        key.then(a.number.cmp(&b.number)).then(a.rowid.cmp(&b.rowid)).then(a.record.cmp(b.record))
    }
}

/// Temporary space, shared by all sorters of a run.
#[derive(Debug)]
pub struct Spill {
    _folder: PathBuf,
}

impl Spill {
    /// Space in this folder. There is no file until something is spilled.
    pub fn new(folder: PathBuf) -> Spill {
        Spill { _folder: folder }
    }
}

/// An item and its bytes.
#[derive(Debug)]
struct Owned {
    rowid: i64,
    number: u64,
    record: Vec<u8>,
}

impl Owned {
    fn item(&self) -> Item<'_> {
        Item { rowid: self.rowid, number: self.number, record: &self.record }
    }
}

/// One thing that is sorted: an index, a table. All workers share it.
#[derive(Debug)]
pub struct Sorter {
    layout: Layout,
    items: Mutex<Vec<Owned>>,
}

/// Takes the items of one worker.
#[derive(Debug)]
pub struct Buffer<'a> {
    sorter: &'a Sorter,
    items: Vec<Owned>,
}

/// All items in order, cut into ranges.
#[derive(Debug)]
pub struct Sorted {
    order: Order,
    items: Vec<Owned>,
    range_items: usize,
}

/// The items of a range, one after another.
#[derive(Debug)]
pub struct Merge<'a> {
    order: &'a Order,
    items: std::slice::Iter<'a, Owned>,
    prefix: u128,
}

impl Sorter {
    /// Sorts items of this layout. Each of its buffers takes `buffer_bytes` bytes of memory, all included.
    pub fn new(layout: Layout, _buffer_bytes: usize, _spill: &Arc<Spill>) -> Sorter {
        Sorter { layout, items: Mutex::default() }
    }

    /// A buffer, one for each worker.
    pub fn buffer(&self) -> Buffer<'_> {
        Buffer { sorter: self, items: Vec::new() }
    }

    /// What all buffers were flushed into, in order. Merging takes `memory_bytes` bytes for `mergers` ranges at a time.
    ///
    /// # Errors
    /// When there is no temporary space.
    pub fn sorted(self, _memory_bytes: usize, _mergers: usize) -> Result<Sorted> {
        let mut items = self.items.into_inner().unwrap_or_else(PoisonError::into_inner);
        let order = self.layout.order;
        items.sort_by(|a, b| order.compare(&a.item(), &b.item()));
        Ok(Sorted { order, items, range_items: 1 << 20 })
    }
}

impl Buffer<'_> {
    /// Takes an item; sorts and spills when the buffer is full.
    ///
    /// # Errors
    /// When there is no temporary space.
    pub fn push(&mut self, item: Item<'_>) -> Result<()> {
        let layout = &self.sorter.layout;
        self.items.push(Owned {
            rowid: if layout.rowid { item.rowid } else { 0 },
            number: if layout.number { item.number } else { 0 },
            record: item.record.to_vec(),
        });
        Ok(())
    }

    /// Hands over what is left.
    ///
    /// # Errors
    /// When there is no temporary space.
    pub fn flush(&mut self) -> Result<()> {
        self.sorter.items.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.items);
        Ok(())
    }
}

impl Sorted {
    /// All items.
    pub fn items(&self) -> u64 {
        self.items.len() as u64
    }

    /// How many ranges there are: none only where there are no items. A range has at least two items, the last at least
    /// one.
    pub fn ranges(&self) -> usize {
        self.items.len().div_ceil(self.range_items)
    }

    /// The items of a range. Several can be merged at once, on any threads.
    ///
    /// # Errors
    /// When what was spilled can't be read.
    pub fn range(&self, index: usize) -> Result<Merge<'_>> {
        let start = index * self.range_items;
        let end = self.items.len().min(start + self.range_items);
        Ok(Merge { order: &self.order, items: self.items[start..end].iter(), prefix: 0 })
    }
}

impl Merge<'_> {
    /// The next item in order, `None` after the last of the range.
    ///
    /// # Errors
    /// When what was spilled can't be read.
    #[allow(
        clippy::should_implement_trait,
        reason = "the item lives until the next call, which no iterator can say"
    )]
    pub fn next(&mut self) -> Result<Option<Item<'_>>> {
        let Some(next) = self.items.next() else { return Ok(None) };
        self.prefix = self.order.prefix(&next.item());
        Ok(Some(next.item()))
    }

    /// The prefix of the key of the item that came last: items with unequal prefixes have unequal keys.
    pub fn prefix(&self) -> u128 {
        self.prefix
    }
}
