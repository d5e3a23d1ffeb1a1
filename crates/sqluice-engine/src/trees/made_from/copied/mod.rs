//! B-trees that copy a tree of another database, or several trees, one after another.

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

/// A filter of rows: a function that is called with the record of each row and returns `true` if the row is copied.
pub type Keep<'a> = dyn Fn(&[u8]) -> bool + Sync + 'a;

/// A copy of one B-tree, or of several B-trees of the same kind, one after another. With several tables, all rowids of a table are greater
/// than the rowids of the table before.
pub(crate) struct CopyTree<'a> {
    /// The name of the tree in messages: `index i`.
    pub(crate) what: &'a str,
    pub(crate) kind: Kind,
    pub(crate) pieces: Vec<Piece<'a>>,
    /// The order that the entries must have; `None` if the entries are copied in their existing order.
    pub(crate) order: Option<KeyOrder>,
    /// The largest number of bytes of a record that needs no overflow page in the copy.
    pub(crate) payload_bytes_max: usize,
    /// The filter of the copied rows; `None` if all rows are copied.
    pub(crate) keep: Option<&'a Keep<'a>>,
    /// The leaf list to write, if another process builds the interior pages.
    pub(crate) leaves: Option<Mutex<LeafList>>,
    /// The number of leaves that were copied unchanged.
    pub(crate) relocated: AtomicU64,
    /// `true` if the entries of a source were found out of order.
    pub(crate) out_of_order: AtomicBool,
}

impl<'a> CopyTree<'a> {
    /// Creates the tree that copies all entries of `pieces` to pages of `geometry`. If `order` is given, it is an error if the entries are
    /// not in this order.
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
