//! B-trees of other databases that are copied, and how the parts of one must fit each other.

pub(crate) mod onto_pages;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sqluice_core::error::{Assumption, Error, Result};
use sqluice_format::cell;
use sqluice_format::key::KeyOrder;
use sqluice_format::page::Geometry;
use sqluice_format::scan::Kind;

use crate::trees::leaf_list::LeafList;
use crate::trees::made_from::source_tree::Piece;
use crate::trees::workers::part_ends::EntryEnds;

/// Decides by its record whether a row is copied.
pub type Keep<'a> = dyn Fn(&[u8]) -> bool + Sync + 'a;

/// A B-tree that is copied, or several one after another: then their rowids ascend from one to the next.
pub(crate) struct CopyTree<'a> {
    /// What it is, for messages: `index i`.
    pub(crate) what: &'a str,
    pub(crate) kind: Kind,
    pub(crate) pieces: Vec<Piece<'a>>,
    /// The order that its entries must have; `None`: they are copied in the order in which they are.
    pub(crate) order: Option<KeyOrder>,
    /// Bytes of the largest payload that does not overflow in the copy.
    pub(crate) payload_bytes_max: usize,
    /// Which rows are copied; `None`: all.
    pub(crate) keep: Option<&'a Keep<'a>>,
    /// Where its leaves are listed, if another process makes its interior pages.
    pub(crate) leaves: Option<Mutex<LeafList>>,
    /// Leaves that were taken as they are.
    pub(crate) relocated: AtomicU64,
    /// Whether an entry was found that does not follow the one before.
    pub(crate) out_of_order: AtomicBool,
}

impl<'a> CopyTree<'a> {
    /// A tree of that kind with all entries of the pieces, whose entries must have that order, for pages of `geometry`.
    pub(crate) fn new(
        what: &'a str,
        kind: Kind,
        pieces: Vec<Piece<'a>>,
        order: Option<KeyOrder>,
        geometry: Geometry,
    ) -> CopyTree<'a> {
        let payload_bytes_max = match kind {
            Kind::Table => cell::table_leaf_local_max(geometry),
            Kind::Index => cell::index_local_max(geometry),
        };
        CopyTree {
            what,
            kind,
            pieces,
            order,
            payload_bytes_max,
            keep: None,
            leaves: None,
            relocated: AtomicU64::new(0),
            out_of_order: AtomicBool::new(false),
        }
    }
}

impl CopyTree<'_> {
    pub(crate) fn parts(&self) -> usize {
        self.pieces.iter().map(|piece| piece.scan.parts()).sum()
    }

    /// The error for a part that does not follow the part before.
    pub(crate) fn check_follows(&self, before: &EntryEnds, after: &EntryEnds) -> Result<()> {
        match &self.order {
            Some(order) if !before.last.is_empty() && !after.first.is_empty() => {
                self.check_order(order, &before.last, &after.first)
            }
            _ => Ok(()),
        }
    }

    /// The error for an entry that does not follow the one before. Both must have the columns of the order.
    #[inline]
    pub(crate) fn check_order(&self, order: &KeyOrder, before: &[u8], after: &[u8]) -> Result<()> {
        if order.compare(before, after).is_lt() { Ok(()) } else { Err(self.out_of_order()) }
    }

    /// The error for an entry that does not follow the one before.
    #[cold]
    pub(crate) fn out_of_order(&self) -> Error {
        self.out_of_order.store(true, Ordering::Relaxed);
        Error::input(format!("{} is out of order", self.what)).refuting(Assumption::EntryOrder)
    }
}
