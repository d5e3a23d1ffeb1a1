//! B-trees that are made from a tree of another database, or from several trees one after another.

mod entry_order;
pub(crate) mod onto_pages;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

use sqluice_format::cell;
use sqluice_format::key::KeyOrder;
use sqluice_format::page::Geometry;
use sqluice_format::scan::Kind;

use crate::trees::leaf_list::LeafList;
use crate::trees::made_from::source_tree::Piece;

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
}
