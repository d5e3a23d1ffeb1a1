//! B-trees made from a tree of another database, or from several trees in sequence.

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

/// A function that returns `true` if the row with a record is copied.
pub type Keep<'a> = dyn Fn(&[u8]) -> bool + Sync + 'a;

/// A copy of one B-tree, or of several B-trees in sequence. The rowids of several trees ascend from one tree to the next.
pub(crate) struct CopyTree<'a> {
    /// The name of the tree in messages: `index i`.
    pub(crate) what: &'a str,
    pub(crate) kind: Kind,
    pub(crate) pieces: Vec<Piece<'a>>,
    /// The order that the entries must have; `None` if the entries are copied in their existing order.
    pub(crate) order: Option<KeyOrder>,
    /// The largest number of bytes of a payload without overflow pages in the copy.
    pub(crate) payload_bytes_max: usize,
    /// The filter of the copied rows; `None` if all rows are copied.
    pub(crate) keep: Option<&'a Keep<'a>>,
    /// The list of leaves, if another process builds the interior pages.
    pub(crate) leaves: Option<Mutex<LeafList>>,
    /// The number of leaves that were copied unchanged.
    pub(crate) relocated: AtomicU64,
    /// `true` if a source's entries are out of order.
    pub(crate) out_of_order: AtomicBool,
}

impl<'a> CopyTree<'a> {
    /// Creates a copy of all entries of `pieces` for pages of `geometry`. The entries must have the order `order`, if given.
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
