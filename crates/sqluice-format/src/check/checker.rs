//! The state of a check: the part shared by all threads, and the findings of one thread.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use super::claims::Claims;
use super::digest::Sum;
use super::layout::Layout;
use super::{Options, Problem, ReadPage, Report, Tree, spec};
use crate::database::Header;
use crate::page::Geometry;

/// The state of a check that all threads share.
#[derive(Debug)]
pub(super) struct Common<'o> {
    pub(super) header: Header,
    pub(super) geometry: Geometry,
    pub(super) page_count: u32,
    pub(super) options: Options<'o>,
    pub(super) claims: Claims,
    /// `true` if the findings depend on the order in which the parts were read, for example because two parts claimed the same page.
    pub(super) disputed: AtomicBool,
    tables: HashMap<String, &'o spec::Table>,
}

/// The findings of one thread so far.
pub(super) struct Checker<'c, 'o, P> {
    pub(super) pages: &'c mut P,
    pub(super) common: &'c Common<'o>,
    pub(super) report: Report,
    /// Details of each tree, in the order of the report's trees.
    pub(super) details: Vec<Detail>,
    /// The position in the report's trees of the tree that is being read; `None` outside of trees.
    pub(super) current: Option<usize>,
    /// `true` if all pages have been claimed and some are being read again.
    pub(super) again: bool,
    /// The page number of the pointer-map page that was read last (0 for none), and the bytes of this page.
    pub(super) map: (u32, Vec<u8>),
    /// Pages whose buffers can be reused.
    pub(super) spare: Vec<Page>,
    /// A reusable buffer for payloads that overflow.
    pub(super) kept: Vec<u8>,
}

/// The bytes of a page and their layout.
#[derive(Default)]
pub(super) struct Page {
    pub(super) bytes: Vec<u8>,
    pub(super) layout: Layout,
}

/// Details of a tree that the report does not show.
#[derive(Clone, Debug, Default)]
pub(super) struct Detail {
    /// For an index, the sum over its entries. For a table, a sum for each of its indexes, over the entries that the index must have; the
    /// sum of a partial index stays empty unless its entries are computed.
    pub(super) sums: Vec<Sum>,
    pub(super) problem_count: u64,
}

impl<'o> Common<'o> {
    pub(super) fn new(header: Header, page_count: u32, options: &Options<'o>) -> Common<'o> {
        let tables = options.tables.iter().map(|table| (table.name.to_ascii_lowercase(), table));
        Common {
            header,
            geometry: header.geometry,
            page_count,
            options: *options,
            claims: Claims::new(page_count),
            disputed: AtomicBool::new(false),
            tables: tables.collect(),
        }
    }

    /// Returns the schema's description of a table.
    pub(super) fn table(&self, name: &str) -> Option<&'o spec::Table> {
        self.tables.get(&name.to_ascii_lowercase()).copied()
    }
}

impl<'c, 'o, P: ReadPage> Checker<'c, 'o, P> {
    pub(super) fn new(pages: &'c mut P, common: &'c Common<'o>, report: Report) -> Checker<'c, 'o, P> {
        Checker {
            pages,
            common,
            details: vec![Detail::default(); report.trees.len()],
            report,
            current: None,
            again: false,
            map: (0, Vec::new()),
            spare: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Reports a broken rule in the current tree.
    pub(super) fn problem(&mut self, page: Option<u32>, what: String) {
        let tree = self.current.map(|current| self.report.trees[current].name.clone());
        self.problem_of(Problem { page, tree, what });
    }

    /// Reports an oddity of the header that SQLite accepts.
    pub(super) fn remark(&mut self, what: String) {
        self.report.remarks.push(Problem { page: Some(1), tree: None, what });
    }

    /// Reports a problem, whatever page and tree it names.
    pub(super) fn problem_of(&mut self, problem: Problem) {
        self.report.problem_count += 1;
        if let Some(current) = self.current {
            self.details[current].problem_count += 1;
        }
        if self.report.problems.len() < self.common.options.problems_max {
            self.report.problems.push(problem);
        }
    }

    /// Adds a tree to the report and makes it the current tree.
    pub(super) fn begin_tree(&mut self, tree: Tree) {
        self.current = Some(self.report.trees.len());
        self.report.trees.push(tree);
        self.details.push(Detail::default());
    }

    /// Returns the tree that is being read.
    pub(super) fn tree(&mut self) -> &mut Tree {
        let current = self.current.expect("a tree is being read");
        &mut self.report.trees[current]
    }

    pub(super) fn read(&mut self, number: u32) -> Result<Vec<u8>, P::Error> {
        let mut page = vec![0; self.common.geometry.page_bytes()];
        self.pages.read_page(number, &mut page)?;
        Ok(page)
    }
}
