//! Verifies that the entries of a copied index are in order, while they are read: within each leaf, from leaf to leaf, and from part to
//! part. If the tree has no `order`, nothing is compared, and the entries are copied in their existing order.

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
    /// Returns an error if the first entry of the part `after` does not follow the last entry of the part `before`.
    pub(crate) fn check_follows(&self, before: &EntryEnds, after: &EntryEnds) -> Result<()> {
        match &self.order {
            Some(order) if !before.last.is_empty() && !after.first.is_empty() => {
                self.check_order(order, &before.last, &after.first)
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if the entry `after` does not follow the entry `before`. Both must be valid records with all columns of the order.
    #[inline]
    pub(crate) fn check_order(&self, order: &KeyOrder, before: &[u8], after: &[u8]) -> Result<()> {
        if order.compare(before, after).is_lt() { Ok(()) } else { Err(self.out_of_order()) }
    }

    /// Marks the tree as out of order, so that the next attempt sorts it. Returns the error for an entry that does not follow the entry
    /// before.
    #[cold]
    pub(crate) fn out_of_order(&self) -> Error {
        self.out_of_order.store(true, Ordering::Relaxed);
        Error::input(format!("{} is out of order", self.what)).refuting(Assumption::EntryOrder)
    }
}

impl Taker<'_, '_, '_, '_> {
    /// Verifies the records of a leaf if the source is verified. If the tree has an order, also verifies that each entry follows the entry
    /// before.
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

    /// Verifies that an entry follows the last entry of the part so far, and is a valid record. If the entry is the first of the part,
    /// remembers it for the check against the part before.
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

    /// Verifies that an entry follows the entry `before`, which must be verified already, and is a valid record.
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
