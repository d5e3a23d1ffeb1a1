//! A check that is divided into parts, which several threads can read in parallel.
//!
//! ```text
//!                   root                  the top of a tree is read first, and again at the end
//!          ┌─────────┼─────────┐
//!        part      part      part         each on any thread: figures, problems, sums, first and last key
//!          └─────────┼─────────┘
//!                  join                   the walk through the whole file, which takes over the findings of parts
//! ```
//!
//! Dividing a check changes nothing but its duration. If the report could depend on the order of the parts, for example because two parts
//! reach the same page or the keys of a part do not follow those of the previous part, the entire file is checked again in order. So the
//! report never depends on timing.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::btree::DEPTH_MAX;
use super::checker::{Checker, Page};
use super::claims::Use;
use super::content::{Content, Walk};
use super::done::{Done, PageInTree};
use super::{Begun, Options, ReadPage, Report, Tree, TreeKind, begin, check, is_table};
use crate::page::PageKind;

/// The number of parts at which a tree is not divided further.
const PARTS_WANTED: usize = 64;

/// The page size from which single leaves are parts: a root may have thousands of smaller leaves.
const LARGE_LEAF_BYTES: usize = 16 << 10;

/// A check that is divided into parts.
#[derive(Debug)]
pub struct Parts<'o> {
    file_bytes: u64,
    options: Options<'o>,
    begun: Begun<'o>,
    parts: Vec<SubtreeOfTree>,
}

/// A part of a check: a subtree of a B-tree, which begins at the page `place`.
#[derive(Clone, Debug)]
struct SubtreeOfTree {
    /// The tree that has the subtree, without statistics.
    tree: Tree,
    /// The position in the schema table of the row that names the tree.
    row: usize,
    place: PageInTree,
}

impl<'o> Parts<'o> {
    /// Reads the header, the freelist, the schema table and the top of each tree. With [`Options::schema_only`] or [`Options::only`], no
    /// top is read, and the check has no parts.
    ///
    /// # Errors
    /// When `pages` returns an error.
    pub fn new<P: ReadPage>(
        pages: &mut P,
        file_bytes: u64,
        options: &Options<'o>,
    ) -> Result<Parts<'o>, P::Error> {
        let begun = begin(pages, file_bytes, options)?;
        let mut parts = Vec::new();
        // Dividing pays off only if all trees are read.
        let whole = !options.schema_only && options.only.is_none();
        if let (Some(common), true) = (&begun.common, whole) {
            let mut checker = Checker::new(pages, common, Report::default());
            for (row, entry) in begun.rows.iter().enumerate() {
                if let Some(tree) = checker.tree_of(entry) {
                    checker.divide(row, tree, &mut parts)?;
                }
            }
        }
        Ok(Parts { file_bytes, options: *options, begun, parts })
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns `true` if the check has no parts.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the findings before any part is read, among them the header and the number of pages.
    pub fn report(&self) -> &Report {
        &self.begun.report
    }

    /// Reads a part. Parts may be read on any thread and in any order, each of them once.
    ///
    /// # Errors
    /// When `pages` returns an error.
    ///
    /// # Panics
    /// If the part does not exist.
    pub fn run<P: ReadPage>(&self, part: usize, pages: &mut P) -> Result<Done, P::Error> {
        let SubtreeOfTree { tree, row, place } = self.parts[part].clone();
        let common = self.begun.common.as_ref().expect("a database that has parts has a header");
        let mut checker = Checker::new(pages, common, Report::default());
        let mut walk = Walk::new(tree.kind == TreeKind::Table, Content::Unknown);
        let mut depth = None;
        checker.begin_tree(tree);
        // A disputed check reads everything again, so this part is skipped.
        if !common.disputed.load(Ordering::Relaxed) {
            if place.parent != 0 {
                walk = Walk::new(walk.table, Content::of(checker.tree(), common));
                if checker.claim(place.page, Use::Child, place.parent)? {
                    depth = checker.subtree(&mut walk, place)?;
                    walk.compute();
                }
            } else if checker.claim(place.page, Use::Root, 0)? {
                checker.walk(&self.begun.rows[row], None)?;
                walk.sums = std::mem::take(&mut checker.details[0].sums);
            }
        }
        Ok(Done {
            place,
            depth,
            report: checker.report,
            rowids: walk.rowids,
            keys: walk.keys,
            sums: walk.sums,
        })
    }

    /// Joins the findings of all parts, and checks everything in the file that is in no part.
    ///
    /// # Errors
    /// When `pages` returns an error.
    pub fn finish<P: ReadPage>(self, done: Vec<Done>, pages: &mut P) -> Result<Report, P::Error> {
        let Begun { common, report, rows } = self.begun;
        let Some(common) = common else { return Ok(report) };
        let done: HashMap<u32, Done> = done.into_iter().map(|done| (done.place.page, done)).collect();
        let mut checker = Checker::new(pages, &common, report);
        checker.everything(&rows, &done)?;
        if common.disputed.load(Ordering::Relaxed) {
            return check(pages, self.file_bytes, &self.options);
        }
        Ok(checker.report)
    }
}

impl<P: ReadPage> Checker<'_, '_, P> {
    /// Divides a tree. Faults of the tree are ignored here: they are found when its parts are joined.
    fn divide(&mut self, row: usize, tree: Tree, parts: &mut Vec<SubtreeOfTree>) -> Result<(), P::Error> {
        let root = tree.root_page;
        let place = PageInTree::root(root);
        let mut found = tree.kind;
        let mut places = vec![place];
        let mut page = Page::default();
        let large_leaves = self.common.geometry.page_bytes() >= LARGE_LEAF_BYTES;
        // The loop is bounded because a damaged page may be its own child.
        for _ in 0..DEPTH_MAX {
            if places.len() >= PARTS_WANTED {
                break;
            }
            let mut below = Vec::new();
            for &place in &places {
                if place.page == 0 || place.page > self.common.page_count || below.len() > 1 << 20 {
                    return Ok(());
                }
                if self.take_apart(&mut page, place.page)?.is_some() || !page.layout.faults.is_empty() {
                    return Ok(());
                }
                if place.page == root && !is_table(page.layout.kind) && tree.kind == TreeKind::Table {
                    found = TreeKind::WithoutRowid;
                }
                below.extend(children(&page, place));
            }
            let Some(first) = below.first() else { break };
            if first.page == 0 || first.page > self.common.page_count {
                return Ok(());
            }
            let leaves = self.read(first.page)?;
            let leaves = PageKind::from_byte(leaves[0]).is_none_or(PageKind::is_leaf);
            if leaves && !large_leaves {
                break;
            }
            places = below;
            if leaves {
                break;
            }
        }
        // A tree that is a single part gets its kind when it is read, and a wrong kind is reported then.
        let kind = if places[0].parent == 0 { tree.kind } else { found };
        let tree = Tree { kind, ..tree };
        parts.extend(places.into_iter().map(|place| SubtreeOfTree { tree: tree.clone(), row, place }));
        Ok(())
    }

    /// Adds the findings of a part as if the part had just been read. Returns its depth; `None` if it is unknown, or if the part does not
    /// follow what was read before it.
    pub(super) fn join(&mut self, walk: &mut Walk<'_>, place: PageInTree, done: &Done) -> Option<u32> {
        let key = walk.content.key();
        let fits = place == done.place
            && walk.rowids.join(done.rowids)
            && key.is_none_or(|key| walk.keys.join(key, &done.keys));
        if !fits {
            self.common.disputed.store(true, Ordering::Relaxed);
            return None;
        }
        for (sum, part) in walk.sums.iter_mut().zip(&done.sums) {
            sum.add_all(*part);
        }
        self.take_report(&done.report);
        done.depth
    }

    /// Adds the findings of a tree that was read as a whole.
    pub(super) fn join_whole(&mut self, done: &Done) {
        self.take_report(&done.report);
        let whole = &done.report.trees[0];
        (self.tree().kind, self.tree().depth) = (whole.kind, whole.depth);
        if let Some(current) = self.current {
            self.details[current].sums.clone_from(&done.sums);
        }
    }

    /// Adds the statistics and problems of a part of the current tree.
    fn take_report(&mut self, part: &Report) {
        let found = &part.trees[0];
        let tree = self.tree();
        tree.rows += found.rows;
        tree.leaf_pages += found.leaf_pages;
        tree.interior_pages += found.interior_pages;
        tree.overflow_pages += found.overflow_pages;
        tree.payload_bytes += found.payload_bytes;
        tree.used_bytes += found.used_bytes;
        tree.unused_bytes += found.unused_bytes;
        for problem in &part.problems {
            self.problem_of(problem.clone());
        }
        let unlisted = part.problem_count - part.problems.len() as u64;
        self.report.problem_count += unlisted;
        if let Some(current) = self.current {
            self.details[current].problem_count += unlisted;
        }
    }

    /// Returns the findings of the part that is the whole tree, if this part has been read.
    pub(super) fn whole<'d>(&self, root: u32, done: &'d HashMap<u32, Done>) -> Option<&'d Done> {
        done.get(&root).filter(|done| done.place.parent == 0)
    }
}

/// Returns the places of a page's children.
fn children(page: &Page, place: PageInTree) -> Vec<PageInTree> {
    let Page { layout, .. } = page;
    let Some(right_child) = layout.right_child else { return Vec::new() };
    let table = is_table(layout.kind);
    let below = |page: u32, upper| PageInTree { page, parent: place.page, level: place.level + 1, upper };
    let cells = layout.cells.iter().map(|cell| below(cell.child, table.then_some(cell.rowid)));
    cells.chain([below(right_child, place.upper)]).collect()
}
