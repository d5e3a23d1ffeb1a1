//! The writer: chunks in any order in, pages in order out.

use std::collections::BTreeMap;

use crossbeam_channel::Receiver;
use sqluice_format::chunk::Chunk;
use sqluice_format::page::{Geometry, PageKind};
use sqluice_format::tree::{Child, IndexTree, TableTree};

use super::appender::{Appender, append_empty_leaf};
use super::merge::{Ends, MergeTree};
use super::pass::{Edges, Made, Message, PartId, Returns, Sealed, Surroundings, Trees};
use crate::encode::{LastRowid, RowidRange, null_among_numbers, out_of_order};
use crate::error::{Error, Place, Result};
use crate::plan::Road;
use crate::progress::Amount;
use crate::schema::Table;
use crate::source::BadRow;

/// Bytes that are written at once, when there is so much.
const WRITE_BYTES: usize = 32 << 20;

/// Puts what the workers make in order.
pub(super) struct Writer<'a, 'o> {
    trees: &'a Trees<'a>,
    appender: &'a mut Appender,
    around: &'a mut Surroundings<'o>,
    /// Finished trees.
    made: Vec<Made>,
    tree: Growing,
    current: Made,
    last_rowid: Option<LastRowid>,
    /// The end of what is sorted so far.
    ends: Option<Box<Ends>>,
}

/// The interior pages of the tree that is being made.
enum Growing {
    /// The rows go to a sorter.
    None,
    Table(TableTree),
    Index(IndexTree),
}

impl<'a, 'o> Writer<'a, 'o> {
    pub(super) fn new(
        trees: &'a Trees<'a>,
        appender: &'a mut Appender,
        around: &'a mut Surroundings<'o>,
    ) -> Writer<'a, 'o> {
        let tree = Growing::new(trees, 0, appender.geometry());
        let (made, current) = (Vec::new(), Made::default());
        Writer { trees, appender, around, made, tree, current, last_rowid: None, ends: None }
    }

    pub(super) fn write_all(
        mut self,
        from_workers: &Receiver<(PartId, u64, Message)>,
        returns: &[Returns],
    ) -> Result<Vec<Made>> {
        let mut early = BTreeMap::new();
        let mut turn = (0, 0);
        // Wait for one message, then take all that are there: so much can be written at once.
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
            self.flush(returns)?;
        }
        // What went wrong after the last part of a worker.
        for (_, message) in early.into_values() {
            self.take(message, returns)?;
        }
        while self.made.len() < self.trees.len() {
            self.finish_tree()?;
        }
        self.flush(returns)?;
        Ok(self.made)
    }

    /// Takes the message whose turn it is; says whether it is the last of its part.
    fn take(&mut self, message: Message, returns: &[Returns]) -> Result<bool> {
        match message {
            Message::Pages(sealed) => self.append(sealed)?,
            Message::BadRows { worker, rows } => {
                for bad in &rows {
                    self.reject(bad)?;
                }
                let _ = returns[worker].bad_rows.send(());
            }
            Message::End { worker, input_bytes, rows, edges } => {
                self.check_edges(edges)?;
                self.around.progress.advance(Amount { rows, bytes: input_bytes });
                // A worker that has no more parts may be gone; so below.
                let _ = returns[worker].parts.send(());
                return Ok(true);
            }
            Message::Failed { error, edges } => {
                // Rows that are out of order come before what else is wrong.
                self.check_edges(edges)?;
                return Err(error);
            }
        }
        Ok(false)
    }

    fn append(&mut self, sealed: Sealed) -> Result<()> {
        let (pages, rows) = (sealed.chunk.page_count(), sealed.chunk.rows());
        let leaves = sealed.chunk.leaves().len() as u64;
        let tree = &self.tree;
        let (first, children) = self.appender.append_chunk(sealed, |chunk| Children::of(chunk, tree))?;
        children.add_to(&mut self.tree, first, self.appender);
        let tree = &mut self.current.tree;
        tree.entries += rows;
        tree.leaf_pages += leaves;
        tree.overflow_pages += u64::from(pages) - leaves;
        Ok(())
    }

    /// Writes what waits, and gives the workers their chunks back.
    fn flush(&mut self, returns: &[Returns]) -> Result<()> {
        let progress = self.around.progress;
        self.appender.flush(self.around.output, |Sealed { worker, mut chunk, mut hashes }| {
            progress.advance(Amount { rows: chunk.rows(), bytes: 0 });
            chunk.clear();
            hashes.clear();
            let _ = returns[worker].chunks.send((chunk, hashes));
        })
    }

    fn reject(&mut self, bad: &BadRow) -> Result<()> {
        self.current.rejected += 1;
        self.around.progress.advance(Amount { rows: 1, bytes: 0 });
        match &mut self.around.rejects {
            Some(rejects) => rejects.add(bad),
            None => unreachable!("a worker keeps bad rows when there is a file for them"),
        }
    }

    /// The rows of a part must come after those of the part before.
    fn check_edges(&mut self, edges: Edges) -> Result<()> {
        match edges {
            Edges::None => Ok(()),
            Edges::Rowids { rowids, place } => self.check_order(rowids, place),
            Edges::Sorted(ends) => {
                if let (Trees::Merge(trees), Some(before)) = (self.trees, &self.ends) {
                    trees[self.made.len()].check_ends(before, &ends)?;
                }
                self.current.largest_rowid = self.current.largest_rowid.max(ends.largest_rowid);
                self.ends = Some(ends);
                Ok(())
            }
        }
    }

    fn check_order(&mut self, rowids: RowidRange, place: Option<Place>) -> Result<()> {
        let RowidRange { first, last, first_assumed } = rowids;
        let wrong = |error: Error| match place {
            Some(place) => Err(error.at(place)),
            None => Err(error),
        };
        let Trees::Rows(trees) = self.trees else { unreachable!("rows come from sources") };
        let Table { columns, rowid_alias, .. } = trees[self.made.len()].table;
        let name = rowid_alias.map_or("rowid", |alias| &columns[alias].name);
        match self.last_rowid {
            Some(before) if first_assumed && !before.counted => return wrong(null_among_numbers(name)),
            Some(before) if before.rowid >= first => {
                return wrong(out_of_order(name, before.rowid, first));
            }
            _ => self.last_rowid = Some(last),
        }
        self.current.largest_rowid = Some(last.rowid);
        Ok(())
    }

    fn finish_tree(&mut self) -> Result<()> {
        let geometry = self.appender.geometry();
        let next = Growing::new(self.trees, self.made.len() + 1, geometry);
        let tree = std::mem::replace(&mut self.tree, next);
        let empty = self.current.tree.leaf_pages == 0;
        let written = &mut self.current.tree;
        match tree {
            Growing::None => {}
            tree if empty => {
                let kind =
                    if matches!(tree, Growing::Table(_)) { PageKind::LeafTable } else { PageKind::LeafIndex };
                written.leaf_pages = 1;
                written.root_page = append_empty_leaf(kind, self.appender);
            }
            Growing::Table(tree) => written.root_page = tree.finish(self.appender),
            Growing::Index(tree) => written.root_page = tree.finish(self.appender),
        }
        written.interior_pages = self.appender.take_appended().saturating_sub(u64::from(empty));
        self.made.push(std::mem::take(&mut self.current));
        self.last_rowid = None;
        self.ends = None;
        self.appender.check()
    }
}

impl Trees<'_> {
    fn len(&self) -> usize {
        match self {
            Trees::Rows(trees) => trees.len(),
            Trees::Merge(trees) => trees.len(),
        }
    }
}

impl Growing {
    /// What tree `index` of a pass becomes.
    fn new(trees: &Trees<'_>, index: usize, geometry: Geometry) -> Growing {
        match trees {
            Trees::Rows(trees) => match trees.get(index).map(|tree| tree.road) {
                Some(Road::Pages) => Growing::Table(TableTree::new(geometry)),
                _ => Growing::None,
            },
            Trees::Merge(trees) => match trees.get(index) {
                Some(MergeTree { rowids: true, .. }) => Growing::Table(TableTree::new(geometry)),
                Some(_) => Growing::Index(IndexTree::new(geometry)),
                None => Growing::None,
            },
        }
    }
}

/// The leaves of a chunk, for the level above.
enum Children {
    Table(Vec<sqluice_format::chunk::Leaf>),
    /// Each with the cell of the divider after it.
    Index(Vec<(u32, Option<Vec<u8>>)>),
}

impl Children {
    /// Of a chunk whose pages have their numbers.
    fn of(chunk: &Chunk, tree: &Growing) -> Children {
        let leaves = chunk.leaves();
        match tree {
            Growing::Index(_) => {
                let mut dividers = chunk.dividers().map(|divider| divider.cell.to_vec());
                Children::Index(leaves.iter().map(|leaf| (leaf.page, dividers.next())).collect())
            }
            _ => Children::Table(leaves.to_vec()),
        }
    }

    /// Adds them to the tree, the chunk being at page `first` now.
    fn add_to(self, tree: &mut Growing, first: u32, pages: &mut Appender) {
        let geometry = pages.geometry();
        let number = |page| geometry.nth_page(first, page);
        match (self, tree) {
            (Children::Table(leaves), Growing::Table(tree)) => {
                for leaf in leaves {
                    tree.add_leaf(Child { page: number(leaf.page), last_rowid: leaf.last_rowid }, pages);
                }
            }
            (Children::Index(leaves), Growing::Index(tree)) => {
                for (leaf, divider) in leaves {
                    tree.add(number(leaf), divider.as_deref(), pages);
                }
            }
            _ => unreachable!("pages come for a tree"),
        }
    }
}
