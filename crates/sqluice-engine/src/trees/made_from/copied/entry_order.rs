//! Verifies the order of the entries of a copied tree while the tree is read: within each leaf, from leaf to leaf, and from part to part. A
//! tree without an order is copied in its existing order.

use std::sync::atomic::Ordering;

use sqluice_core::error::{Assumption, Error, Result};
use sqluice_format::key::KeyOrder;
use sqluice_format::record;
use sqluice_format::scan::Leaf;
use sqluice_reader::pages::damaged;

use super::CopyTree;
use super::onto_pages::Taker;
use crate::trees::workers::part_ends::EntryEnds;

impl CopyTree<'_> {
    /// Returns an error if a part does not follow the part before.
    pub(crate) fn check_follows(&self, before: &EntryEnds, after: &EntryEnds) -> Result<()> {
        match &self.order {
            Some(order) if !before.last.is_empty() && !after.first.is_empty() => {
                self.check_order(order, &before.last, &after.first)
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if an entry does not follow the entry before. Both entries must have the columns of the order.
    #[inline]
    pub(crate) fn check_order(&self, order: &KeyOrder, before: &[u8], after: &[u8]) -> Result<()> {
        if order.compare(before, after).is_lt() { Ok(()) } else { Err(self.out_of_order()) }
    }

    /// Marks the tree as out of order. Returns the error for an entry that does not follow the entry before.
    #[cold]
    pub(crate) fn out_of_order(&self) -> Error {
        self.out_of_order.store(true, Ordering::Relaxed);
        Error::input(format!("{} is out of order", self.what)).refuting(Assumption::EntryOrder)
    }
}

impl Taker<'_, '_, '_, '_> {
    /// Verifies the entries of a leaf. If the tree has an order, each entry must follow the entry before.
    pub(super) fn verify_leaf(&mut self, leaf: &Leaf<'_>) -> Result<()> {
        if let (Some(records), Some(verified)) = (&mut self.records, &self.piece.verified) {
            for entry in 0..leaf.entries() {
                let (rowid, record) = leaf.entry(entry);
                let added = records.add(rowid, record);
                added.map_err(|wrong| verified.wrong(&wrong, rowid, Some(leaf.number())))?;
            }
        }
        let Some(order) = &self.tree.order else { return Ok(()) };
        let mut before: Option<&[u8]> = None;
        for record in leaf.records() {
            match before {
                None => self.verify(record)?,
                Some(before) => self.verify_after(order, before, record)?,
            }
            before = Some(record);
        }
        if let Some(last) = before {
            self.ends.set_last(last);
        }
        Ok(())
    }

    /// Verifies an entry against the last entry of the part. Remembers the first entry of a part.
    pub(super) fn verify(&mut self, record: &[u8]) -> Result<()> {
        match &self.tree.order {
            Some(order) if !self.ends.last.is_empty() => self.verify_after(order, &self.ends.last, record),
            _ => {
                self.check_record(record)?;
                self.ends.first.extend_from_slice(record);
                Ok(())
            }
        }
    }

    /// Verifies an entry against `before`, which must be verified already.
    #[inline]
    pub(super) fn verify_after(&self, order: &KeyOrder, before: &[u8], record: &[u8]) -> Result<()> {
        match order.ascends_alike(before, record) {
            Some(true) => Ok(()),
            Some(false) => Err(self.tree.out_of_order()),
            None => {
                self.check_record(record)?;
                self.tree.check_order(order, before, record)
            }
        }
    }

    /// Returns an error if an entry is not a valid record with all columns of the order.
    #[inline]
    pub(super) fn check_record(&self, record: &[u8]) -> Result<()> {
        let columns = self.tree.order.as_ref().map_or(0, |order| order.columns().len());
        if record::count_fields(record).is_ok_and(|fields| fields >= columns) {
            return Ok(());
        }
        Err(damaged(self.piece.view.path, &format!("an entry of {} is not a valid record", self.tree.what)))
    }
}
