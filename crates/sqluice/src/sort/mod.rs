//! placeholder until the sorter is merged: everything in memory.
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sqluice_format::key::KeyOrder;

use crate::error::Result;

pub(crate) enum Order {
    Record(KeyOrder),
    Rowid,
}
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) rowid: i64,
    pub(crate) number: u64,
    pub(crate) record: &'a [u8],
}
pub(crate) struct Layout {
    pub(crate) order: Order,
    pub(crate) rowid: bool,
    pub(crate) number: bool,
}
pub(crate) struct Spill;
impl Spill {
    pub(crate) fn new(_: PathBuf) -> Spill {
        Spill
    }
}
type Owned = (i64, u64, Vec<u8>);
pub(crate) struct Sorter {
    layout: Layout,
    items: Mutex<Vec<Owned>>,
}
pub(crate) struct Buffer<'s> {
    sorter: &'s Sorter,
    items: Vec<Owned>,
}
pub(crate) struct Sorted {
    items: Vec<Owned>,
}
pub(crate) struct Merge<'s> {
    items: &'s [Owned],
    at: Cell<usize>,
}
impl Sorter {
    pub(crate) fn new(layout: Layout, _: usize, _: &Arc<Spill>) -> Sorter {
        Sorter { layout, items: Mutex::default() }
    }
    pub(crate) fn buffer(&self) -> Buffer<'_> {
        Buffer { sorter: self, items: Vec::new() }
    }
    pub(crate) fn sorted(self, _: usize, _: usize) -> Result<Sorted> {
        let mut items = self.items.into_inner().unwrap();
        match &self.layout.order {
            Order::Rowid => items.sort(),
            Order::Record(order) => items.sort_by(|a, b| {
                order.compare(&a.2, &b.2).then(a.1.cmp(&b.1)).then(a.0.cmp(&b.0)).then(a.2.cmp(&b.2))
            }),
        }
        for item in &mut items {
            if !self.layout.rowid {
                item.0 = 0;
            }
            if !self.layout.number {
                item.1 = 0;
            }
        }
        Ok(Sorted { items })
    }
}
impl Buffer<'_> {
    pub(crate) fn push(&mut self, item: Item<'_>) -> Result<()> {
        self.items.push((item.rowid, item.number, item.record.to_vec()));
        Ok(())
    }
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.sorter.items.lock().unwrap().append(&mut self.items);
        Ok(())
    }
}
impl Sorted {
    pub(crate) fn items(&self) -> u64 {
        self.items.len() as u64
    }
    pub(crate) fn ranges(&self) -> usize {
        self.items.len().div_ceil(50)
    }
    pub(crate) fn range(&self, index: usize) -> Result<Merge<'_>> {
        // The last range may hold a single item.
        let start = index * 50;
        let end = (start + 50).min(self.items.len());
        Ok(Merge { items: &self.items[start..end], at: Cell::new(0) })
    }
}
impl Merge<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<Item<'_>>> {
        let at = self.at.get();
        self.at.set(at + 1);
        Ok(self.items.get(at).map(|(rowid, number, record)| Item { rowid: *rowid, number: *number, record }))
    }
    pub(crate) fn prefix(&self) -> u128 {
        0
    }
}
