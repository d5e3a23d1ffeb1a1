//! Copies trees of other databases onto pages, part by part: full leaves as they are, other leaves entry by entry.
//!
//! ```text
//!  source     [packed] [packed] [half  ] [packed] ... [packed]
//!                 │        │        └─ entries ─┴─ ...   │        entries fill new leaves until a new and a source leaf end together
//!                 v        v        v       v            v
//!  copy       [packed] [packed] [new     ] [new     ] [packed]
//! ```

use std::sync::atomic::Ordering;

use sqluice_core::error::{Error, Result};
use sqluice_format::check::Records;
use sqluice_format::scan::{Kind, Leaf, Reader, Visit};
use sqluice_reader::pages::FilePages;

use super::CopyTree;
use crate::trees::keys::unique::CANCEL_ITEMS;
use crate::trees::made_from::source_tree::{Piece, part_of};
use crate::trees::workers::message::Task;
use crate::trees::workers::part_ends::{EntryEnds, PartEnds};
use crate::trees::workers::worker::{Done, Filling};

/// The number of leaves after which the pages that were finished are hashed, while they are still in the CPU cache.
const HASHED_LEAVES: u64 = 16;

/// The copier of one worker, which copies parts of one tree.
pub(crate) struct Copier<'a> {
    tree: &'a CopyTree<'a>,
    /// The position in the tree's `pieces` of the piece that was read last, and the reader of its pages; `None` before the first part.
    pages: Option<(usize, FilePages<'a>)>,
    reader: Reader,
    record: Vec<u8>,
}

impl<'a> Copier<'a> {
    pub(crate) fn new(tree: &'a CopyTree<'a>) -> Copier<'a> {
        Copier { tree, pages: None, reader: Reader::default(), record: Vec::new() }
    }

    /// Copies one part of the tree onto pages. Also returns the first and the last entry, which the writer compares with the parts before
    /// and after.
    pub(crate) fn copy(&mut self, filling: &mut Filling<'_, '_>, task: Task) -> (Result<Done>, PartEnds) {
        let Task::Part(part) = task else { unreachable!("a tree is copied by parts") };
        let Copier { tree, pages, reader, record } = self;
        let is_last = part + 1 == tree.parts();
        let (number, part) = part_of(&tree.pieces, part);
        let piece = &tree.pieces[number];
        let pages = match pages {
            Some((of, pages)) if *of == number => pages,
            other => &mut other.insert((number, piece.view.pages())).1,
        };
        let ends = EntryEnds::default();
        let records = piece.verified.map(|verified| verified.records());
        let mut taker =
            Taker { tree, piece, filling, ends, record, records, leaves: 0, entries: 0, left_out: 0 };
        let read = piece.scan.visit(part, pages, reader, &mut taker);
        let Taker { ends, left_out, records, .. } = taker;
        let done = read.map_err(|error| piece.failed(error)).and_then(|()| {
            if let (Some(verified), Some(records)) = (piece.verified, records) {
                verified.add(records);
            }
            match tree.kind {
                Kind::Table => filling.finish_leaves(),
                Kind::Index => filling.finish_entries(!is_last)?,
            }
            Ok(Done { rows: left_out, input_bytes: 0 })
        });
        let ends = if tree.order.is_some() { PartEnds::Entries(Box::new(ends)) } else { PartEnds::None };
        (done, ends)
    }
}

/// A visitor that copies the leaves and entries of a part.
pub(super) struct Taker<'t, 'f, 'w, 's> {
    pub(super) tree: &'t CopyTree<'t>,
    pub(super) piece: &'t Piece<'t>,
    filling: &'f mut Filling<'w, 's>,
    pub(super) ends: EntryEnds,
    /// The buffer for a changed record.
    record: &'f mut Vec<u8>,
    /// The verification of the records of the part so far; `None` if the tree is not verified.
    pub(super) records: Option<Records<'t>>,
    leaves: u64,
    entries: usize,
    /// The number of rows that are not copied.
    left_out: u64,
}

impl Visit<Error> for Taker<'_, '_, '_, '_> {
    const TAKES_LEAVES: bool = true;

    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool> {
        self.leaves += 1;
        if self.leaves.is_multiple_of(HASHED_LEAVES) {
            self.filling.cancelled()?;
            self.filling.hash_finished();
        }
        let Taker { tree, piece, .. } = *self;
        if tree.keep.is_some() || !piece.changes.is_none() {
            return Ok(false);
        }
        let is_relocated = piece.takes_leaves && leaf.is_full();
        if !is_relocated && leaf.payload_bytes_max() > tree.payload_bytes_max {
            return Ok(false);
        }
        self.verify_leaf(leaf)?;
        if is_relocated && self.filling.push_leaf(leaf)? {
            tree.relocated.fetch_add(1, Ordering::Relaxed);
        } else {
            self.filling.push_cells(leaf)?;
        }
        Ok(true)
    }

    #[inline]
    fn entry(&mut self, rowid: i64, record: &[u8], _: bool) -> Result<()> {
        self.entries += 1;
        if self.entries.is_multiple_of(CANCEL_ITEMS) {
            self.filling.cancelled()?;
            self.filling.hash_finished();
        }
        let Taker { tree, piece, .. } = *self;
        if let (Some(records), Some(verified)) = (&mut self.records, &piece.verified) {
            records.add(rowid, record).map_err(|wrong| verified.wrong(&wrong, rowid, None))?;
        }
        match tree.kind {
            Kind::Table if tree.keep.is_some_and(|keep| !keep(record)) || piece.changes.leaves_out(rowid) => {
                self.left_out += 1;
                Ok(())
            }
            Kind::Table => {
                let record = piece.record(record, self.record)?;
                self.filling.push_row(piece.rowid(rowid)?, record)
            }
            Kind::Index => {
                if tree.order.is_some() {
                    self.verify(record)?;
                    self.ends.set_last(record);
                }
                // Changes don't affect the order of the entries, so the entries are compared as they are in the source.
                let record = piece.record(record, self.record)?;
                self.filling.push_entry(record)
            }
        }
    }
}
