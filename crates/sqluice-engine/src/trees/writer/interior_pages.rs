//! Builds the interior pages of a B-tree from its leaves. Leaves are added in order, and the root is built last.
//!
//! If the tree exists already, its root keeps its page number. If such a tree gets only one leaf, this leaf becomes the root, so it must
//! not get a number of its own. So a first chunk with a single leaf is held until another chunk arrives or the input ends.

use std::sync::{Mutex, PoisonError};

use sqluice_core::error::Result;
use sqluice_format::chunk::{Chunk, Leaf};
use sqluice_format::page::{Geometry, PageKind};
use sqluice_format::scan::Kind;
use sqluice_format::tree::{self, AppendPage, Child, IndexTree, TableTree};

use super::page_numbers::{Appender, append_empty_leaf};
use crate::options::WritePath;
use crate::trees::existing_trees::Edge;
use crate::trees::leaf_list::LeafList;
use crate::trees::made_from::{TreeCopy, Trees};
use crate::trees::workers::message::Sealed;

/// A tree under construction.
pub(crate) struct Growing<'a> {
    levels: Levels<'a>,
    /// The root page, if the tree exists already.
    root_page: Option<u32>,
    /// The right edge of the existing tree, after which leaves are added; `None` if the tree is written anew.
    edge: Option<&'a Edge>,
    /// The first chunk of an existing tree, if it has a single leaf and no other chunk has arrived.
    held: Option<Sealed>,
    begun: bool,
}

/// The interior pages of a tree under construction, by the kind of the tree.
enum Levels<'a> {
    /// No pages: the rows of the tree go to a sorter in this pass, or the pass has no tree with this index.
    None,
    /// No interior pages, but a leaf list, from which another process builds the interior pages.
    Listed(&'a Mutex<LeafList>),
    Table(TableTree),
    Index(IndexTree),
}

impl<'a> Growing<'a> {
    /// Begins to build tree `index` of a pass.
    pub(crate) fn new(trees: &'a Trees<'_>, index: usize, geometry: Geometry) -> Growing<'a> {
        let (levels, root_page, edge) = match trees {
            Trees::Rows(trees) => match trees.get(index) {
                Some(tree) if tree.write_path == WritePath::Pages => {
                    (Levels::Table(TableTree::new(geometry)), tree.root_page, tree.edge.as_ref())
                }
                _ => (Levels::None, None, None),
            },
            Trees::Runs(trees) => match trees.get(index) {
                Some(tree) if tree.rowids => (Levels::Table(TableTree::new(geometry)), tree.root_page, None),
                Some(tree) => (Levels::Index(IndexTree::new(geometry)), tree.root_page, None),
                None => (Levels::None, None, None),
            },
            Trees::Copy(trees) => {
                let tree = trees.get(index);
                let levels = match (tree.and_then(TreeCopy::leaf_list), tree.map(TreeCopy::kind)) {
                    (Some(list), _) => Levels::Listed(list),
                    (None, Some(Kind::Table)) => Levels::Table(TableTree::new(geometry)),
                    (None, Some(Kind::Index)) => Levels::Index(IndexTree::new(geometry)),
                    (None, None) => Levels::None,
                };
                (levels, None, None)
            }
        };
        Growing { levels, root_page, edge, held: None, begun: false }
    }

    /// Appends the pages of a chunk, and adds its leaves to the tree.
    pub(crate) fn append(&mut self, sealed: Sealed, pages: &mut Appender) -> Result<()> {
        // A chunk without leaves, whose rows were all refused, only goes back to its worker.
        if sealed.chunk.leaves().is_empty() {
            return pages.append_chunk(sealed, |_| ()).map(drop);
        }
        let nothing_there = self.edge.is_none_or(|edge| edge.largest_rowid.is_none());
        let first = self.root_page.is_some() && nothing_there && !self.begun && self.held.is_none();
        if first && sealed.chunk.leaves().len() == 1 {
            self.held = Some(sealed);
            return Ok(());
        }
        if let Some(held) = self.held.take() {
            self.append_leaves(held, pages)?;
        }
        self.append_leaves(sealed, pages)
    }

    fn append_leaves(&mut self, sealed: Sealed, pages: &mut Appender) -> Result<()> {
        if !std::mem::replace(&mut self.begun, true)
            && let Some(edge) = self.edge
        {
            self.begin(edge, pages);
        }
        let levels = &self.levels;
        let (first, children) = pages.append_chunk(sealed, |chunk| Children::of(chunk, levels))?;
        children.add_to(&mut self.levels, first, pages)
    }

    /// Begins with the interior pages on the right edge of the existing tree. A root that was a leaf is moved to a new page.
    fn begin(&mut self, edge: &Edge, pages: &mut Appender) {
        let Some(last_rowid) = edge.largest_rowid else { return };
        let mut tree = TableTree::growing(pages.geometry(), edge.levels.clone());
        if let Some(leaf) = &edge.leaf {
            let page = pages.append_page(leaf);
            tree.add_leaf(Child { page, last_rowid }, pages);
        }
        pages.reuse(edge.interior_pages.iter().copied());
        self.levels = Levels::Table(tree);
    }

    /// Builds the remaining interior pages and the root. Returns the number of the root page; 0 if the tree has no pages of its own.
    pub(crate) fn finish(self, pages: &mut Appender) -> Result<u32> {
        let Growing { levels, root_page, held, begun, .. } = self;
        let Some(root_page) = root_page else {
            return Ok(match levels {
                Levels::None | Levels::Listed(_) => 0,
                Levels::Table(_) if !begun => append_empty_leaf(PageKind::LeafTable, pages),
                Levels::Index(_) if !begun => append_empty_leaf(PageKind::LeafIndex, pages),
                Levels::Table(tree) => tree.finish(pages),
                Levels::Index(tree) => tree.finish(pages),
            });
        };
        if let Some(held) = held {
            pages.append_below_root(root_page, held)?;
        } else if begun {
            let geometry = pages.geometry();
            let mut root = vec![0; geometry.page_bytes()];
            match levels {
                Levels::None | Levels::Listed(_) => {}
                Levels::Table(tree) => {
                    let children = tree.finish_root(0, pages);
                    tree::write_interior(&mut root, 0, geometry, &children);
                }
                Levels::Index(tree) => tree.finish_root(&mut root, pages),
            }
            pages.overwrite_root(root_page, root);
        }
        Ok(root_page)
    }
}

/// The leaves of a chunk, as the interior pages above them refer to them.
enum Children {
    Table(Vec<Leaf>),
    /// The page of each leaf of an index, and the divider after the leaf: the cell of the entry between this leaf and the next.
    Index(Vec<(u32, Option<Vec<u8>>)>),
}

impl Children {
    /// Returns the leaves of a chunk. The pages of the chunk must be numbered, because dividers link to overflow pages.
    fn of(chunk: &Chunk, levels: &Levels<'_>) -> Children {
        let leaves = chunk.leaves();
        match levels {
            Levels::Index(_) => {
                let mut dividers = chunk.dividers().map(|divider| divider.cell.to_vec());
                Children::Index(leaves.iter().map(|leaf| (leaf.page, dividers.next())).collect())
            }
            _ => Children::Table(leaves.to_vec()),
        }
    }

    /// Adds the leaves to the interior pages or to the leaf list. `first` is the number of the chunk's first page.
    fn add_to(self, levels: &mut Levels<'_>, first: u32, pages: &mut Appender) -> Result<()> {
        let geometry = pages.geometry();
        let number = |page| geometry.nth_page(first, page);
        match (self, levels) {
            (Children::Table(leaves), Levels::Table(tree)) => {
                for leaf in leaves {
                    tree.add_leaf(Child { page: number(leaf.page), last_rowid: leaf.last_rowid }, pages);
                }
            }
            (Children::Table(leaves), Levels::Listed(list)) => {
                let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
                for leaf in leaves {
                    list.add(Child { page: number(leaf.page), last_rowid: leaf.last_rowid })?;
                }
            }
            (Children::Index(leaves), Levels::Index(tree)) => {
                for (leaf, divider) in leaves {
                    tree.add(number(leaf), divider.as_deref(), pages);
                }
            }
            _ => unreachable!("pages belong to a tree"),
        }
        Ok(())
    }
}
