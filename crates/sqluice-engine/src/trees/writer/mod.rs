//! The writer of a pass, which receives chunks from all workers in any order and writes their pages in the order of the input.

mod interior_pages;
pub(crate) mod page_numbers;

use std::collections::BTreeMap;

use crossbeam_channel::Receiver;
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_core::schema::Table;
use sqluice_core::source::BadRow;

use self::interior_pages::Growing;
use self::page_numbers::Appender;
use crate::encode::{LastRowid, RowidRange, not_after_last, null_among_numbers, out_of_order};
use crate::output::Output;
use crate::reject::RejectFile;
use crate::trees::made_from::{BuiltTree, TreeCopy, Trees};
use crate::trees::workers::message::{Message, PartId, Returns, Sealed};
use crate::trees::workers::part_ends::{EntryEnds, ItemEnds, PartEnds, PiecePositions};

/// The output of a pass, and what else the writer uses: the reject file if bad rows are kept, the progress display, and the cancel flag.
pub(crate) struct PassContext<'a> {
    pub(crate) output: &'a mut dyn Output,
    pub(crate) rejects: Option<&'a mut RejectFile>,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) cancel: &'a Cancel,
}

/// The number of bytes of waiting pages at which the writer writes them, even if further messages have arrived.
const WRITE_BYTES: usize = 32 << 20;

/// The writer of a pass, which handles the messages of all workers in the order of the parts.
pub(crate) struct Writer<'a, 'o> {
    trees: &'a Trees<'a>,
    appender: &'a mut Appender,
    around: &'a mut PassContext<'o>,
    /// The trees of the pass that are finished, in the order of `trees`. The tree after them in `trees` is the current tree.
    made: Vec<BuiltTree>,
    tree: Growing<'a>,
    current: BuiltTree,
    last_rowid: Option<LastRowid>,
    /// The first and the last item of the part before, if the tree is built from sorted runs.
    items: Option<Box<ItemEnds>>,
    /// The first and the last entry of the part before, if the tree is a copied index.
    entries: Option<Box<EntryEnds>>,
    /// The positions at which the part before begins and ends in each piece, if the tree is a united tree.
    positions: Option<Box<PiecePositions>>,
}

impl<'a, 'o> Writer<'a, 'o> {
    pub(crate) fn new(
        trees: &'a Trees<'a>,
        appender: &'a mut Appender,
        around: &'a mut PassContext<'o>,
    ) -> Writer<'a, 'o> {
        let tree = Growing::new(trees, 0, appender.geometry());
        let (made, current, last_rowid) = (Vec::new(), BuiltTree::default(), trees.last_rowid(0));
        let (items, entries, positions) = (None, None, None);
        Writer { trees, appender, around, made, tree, current, last_rowid, items, entries, positions }
    }

    pub(crate) fn write_all(
        mut self,
        from_workers: &Receiver<(PartId, u64, Message)>,
        returns: &[Returns],
    ) -> Result<Vec<BuiltTree>> {
        let mut early = BTreeMap::new();
        let mut turn = (0, 0);
        // Waits for one message, then takes all messages that have arrived by then, so that their pages are written in one system call.
        while let Ok(message) = from_workers.recv() {
            self.around.cancel.check()?;
            for (id, sequence, message) in std::iter::once(message).chain(from_workers.try_iter()) {
                early.insert((id.part, sequence), (id.tree, message));
            }
            while let Some((tree, message)) = early.remove(&turn) {
                while self.made.len() < tree {
                    self.finish_tree()?;
                }
                turn = if self.take(message, returns)? { (turn.0 + 1, 0) } else { (turn.0, turn.1 + 1) };
                if self.appender.waiting_bytes() >= WRITE_BYTES {
                    self.flush(returns)?;
                }
            }
            match self.appender.is_due() {
                true => self.flush(returns)?,
                false => self.give_back(returns),
            }
        }
        // The remaining messages are errors of workers that failed after their last part, when they passed their last entries to the
        // sorters.
        for (_, message) in early.into_values() {
            self.take(message, returns)?;
        }
        while self.made.len() < self.trees.len() {
            self.finish_tree()?;
        }
        self.flush(returns)?;
        Ok(self.made)
    }

    /// Handles the next message in order. Returns `true` if the message is the last of its part.
    fn take(&mut self, message: Message, returns: &[Returns]) -> Result<bool> {
        match message {
            Message::Pages(sealed) => self.append(sealed)?,
            Message::BadRows { worker, rows } => {
                for bad in &rows {
                    self.reject(bad)?;
                }
                let _ = returns[worker].bad_rows.send(());
            }
            Message::End { worker, input_bytes, rows, ends } => {
                self.check_ends(ends)?;
                self.around.progress.advance(Amount { rows, bytes: input_bytes });
                // Sending may fail, also in other places, because a worker without further parts may have ended.
                let _ = returns[worker].parts.send(());
                return Ok(true);
            }
            Message::Failed { error, ends } => {
                // If the rows before the error do not follow the part before, this fault is reported instead: it comes first in the input.
                self.check_ends(ends)?;
                return Err(error);
            }
        }
        Ok(false)
    }

    fn append(&mut self, sealed: Sealed) -> Result<()> {
        let (pages, rows) = (sealed.chunk.page_count(), sealed.chunk.rows());
        let leaves = sealed.chunk.leaves().len() as u64;
        self.tree.append(sealed, self.appender)?;
        let tree = &mut self.current.tree;
        tree.entries += rows;
        tree.leaf_pages += leaves;
        tree.overflow_pages += u64::from(pages) - leaves;
        Ok(())
    }

    /// Writes the waiting pages, and returns their chunks, emptied, to the workers.
    fn flush(&mut self, returns: &[Returns]) -> Result<()> {
        let progress = self.around.progress;
        self.appender.flush(self.around.output, |sealed| give_back(sealed, progress, returns))
    }

    /// Returns the small chunks to their workers before their pages are written, because the appender has copied these pages.
    fn give_back(&mut self, returns: &[Returns]) {
        let progress = self.around.progress;
        self.appender.give_back(|sealed| give_back(sealed, progress, returns));
    }

    fn reject(&mut self, bad: &BadRow) -> Result<()> {
        self.current.rejected.add(bad);
        self.around.progress.advance(Amount { rows: 1, bytes: 0 });
        match &mut self.around.rejects {
            Some(rejects) => rejects.add(bad),
            None => unreachable!("a worker keeps bad rows when they have a file"),
        }
    }

    /// Returns an error if a part does not follow the part before: `ends` are the first and the last entry of the part.
    fn check_ends(&mut self, ends: PartEnds) -> Result<()> {
        match ends {
            PartEnds::None => Ok(()),
            PartEnds::Rowids { rowids, place } => self.check_order(rowids, place),
            PartEnds::Items(items) => {
                if let (Trees::Runs(trees), Some(before)) = (self.trees, &self.items) {
                    trees[self.made.len()].check_ends(before, &items)?;
                }
                self.current.largest_rowid = self.current.largest_rowid.max(items.largest_rowid);
                self.items = Some(items);
                Ok(())
            }
            PartEnds::Entries(entries) => {
                if let (Some(TreeCopy::Copied(tree)), Some(before)) = (self.tree_copy(), &self.entries) {
                    tree.check_follows(before, &entries)?;
                }
                self.entries = Some(entries);
                Ok(())
            }
            PartEnds::Positions(positions) => {
                if let (Some(TreeCopy::United(tree)), Some(before)) = (self.tree_copy(), &self.positions) {
                    tree.check_follows(before, &positions)?;
                }
                self.positions = Some(positions);
                Ok(())
            }
        }
    }

    fn tree_copy(&self) -> Option<&'a TreeCopy<'a>> {
        match self.trees {
            Trees::Copy(trees) => trees.get(self.made.len()),
            _ => None,
        }
    }

    fn check_order(&mut self, rowids: RowidRange, place: Option<Place>) -> Result<()> {
        let RowidRange { first, last, first_assumed } = rowids;
        let wrong = |error: Error| match place {
            Some(place) => Err(error.at(place)),
            None => Err(error),
        };
        let Trees::Rows(trees) = self.trees else { unreachable!("rows belong to sources") };
        let Table { columns, rowid_alias, .. } = trees[self.made.len()].table;
        let name = rowid_alias.map_or("rowid", |alias| &columns[alias].name);
        match self.last_rowid {
            Some(before) if first_assumed && !before.counted => return wrong(null_among_numbers(name)),
            Some(before) if before.rowid >= first && self.current.largest_rowid.is_none() => {
                return wrong(not_after_last(name, before.rowid, first));
            }
            Some(before) if before.rowid >= first => {
                return wrong(out_of_order(name, before.rowid, first));
            }
            _ => self.last_rowid = Some(last),
        }
        self.current.largest_rowid = Some(last.rowid);
        Ok(())
    }

    fn finish_tree(&mut self) -> Result<()> {
        let next = self.made.len() + 1;
        let growing = Growing::new(self.trees, next, self.appender.geometry());
        let tree = std::mem::replace(&mut self.tree, growing);
        let written = &mut self.current.tree;
        let empty = written.leaf_pages == 0;
        written.root_page = tree.finish(self.appender)?;
        written.leaf_pages += u64::from(empty && written.root_page > 0);
        // The appender counts interior pages, but also the empty leaf of a tree without entries, which is no interior page.
        let appended = self.appender.take_appended();
        written.interior_pages = if empty { 0 } else { appended };
        self.made.push(std::mem::take(&mut self.current));
        self.last_rowid = self.trees.last_rowid(next);
        (self.items, self.entries, self.positions) = (None, None, None);
        self.appender.check()
    }
}

/// Empties a written chunk and returns it to its worker.
fn give_back(sealed: Sealed, progress: &dyn Progress, returns: &[Returns]) {
    let Sealed { worker, mut chunk, mut hashes } = sealed;
    progress.advance(Amount { rows: chunk.rows(), bytes: 0 });
    chunk.clear();
    hashes.clear();
    // A chunk that no worker made, such as a chunk of `sqlite_sequence`, goes back to nobody.
    if let Some(returns) = returns.get(worker) {
        let _ = returns.chunks.send((chunk, hashes));
    }
}

impl Trees<'_> {
    fn len(&self) -> usize {
        match self {
            Trees::Rows(trees) => trees.len(),
            Trees::Runs(trees) => trees.len(),
            Trees::Copy(trees) => trees.len(),
        }
    }

    /// Returns the largest rowid that a table had before the pass, after which the new rows must follow. Returns `None` for a new or empty
    /// table.
    fn last_rowid(&self, index: usize) -> Option<LastRowid> {
        let Trees::Rows(trees) = self else { return None };
        // `counted` is `true`, so NULL as the rowid of the first new row is allowed, and means the number of the row.
        let rowid = trees.get(index)?.edge.as_ref()?.largest_rowid?;
        Some(LastRowid { rowid, counted: true })
    }
}
