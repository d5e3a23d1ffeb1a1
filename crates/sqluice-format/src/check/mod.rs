//! Checks a database against every rule of the file format.
//!
//! [`check`] walks an entire database, from any writer, and reports broken rules and statistics of each tree:
//!
//! ```text
//!  header ──> freelist ──> schema table ──> each B-tree that it names ──> indexes beside tables ──> pages that nothing names
//!             each page that the check reaches is claimed in a bitmap: a page claimed twice, or never, is a fault
//! ```
//!
//! * Each page is used once: by a B-tree, an overflow chain, the freelist, a pointer map, or the lock byte.
//! * B-trees: pages have the expected kind, all leaves are equally deep, and only a root may be without cells. Cells, freeblocks and
//!   fragments cover every byte behind the cell pointers. Rowids ascend and stay within their dividers.
//! * Payloads: the local and overflowing parts match the payload size, a chain has the right length, and the record header describes the
//!   payload to its last byte.
//! * The header, the pointer maps of auto_vacuum databases and the rows of the schema table agree with the content of the file.
//! * If [`Options::tables`] describes the tables and indexes: keys ascend, including those on interior pages, and are unique where
//!   required; an index has exactly the entries that the rows of its table demand; fields hold only types, and NULL, that their columns
//!   permit.
//!
//! The checker shares no code with the writers except the vocabulary: page kinds, varints, serial types, the split of payloads between cell
//! and overflow pages, the order of keys. It is as simple as the speed of a disk permits: [`Parts`] lets several threads read in parallel,
//! and no page, cell or row costs an allocation.
//!
//! SQLite's own `integrity_check` remains responsible for CHECK constraints, virtual tables, and the order of keys by collations that are
//! not built in. The caller computes the entries of partial indexes and of indexes on expressions ([`spec::Computed`]). If the format's
//! description and SQLite disagree, a file written by SQLite is right: serial types 8 and 9 occur below schema format 4 (VACUUM copies
//! them), and pages may have more than 60 fragmented bytes (from SQLite before 3.8).
//!
//! Memory: one bit per page, one page buffer per level, the names in the schema table, two keys, and the current row up to its last field
//! that matters. An index that differs from its table takes 1 MiB and about a 4096th of its entries in addition.

mod agree;
mod btree;
mod checker;
mod claims;
mod content;
mod digest;
mod done;
mod entries;
mod fields;
mod freelist;
mod layout;
mod parts;
mod payload;
mod records;
mod schema;
mod sequence;
pub mod spec;
mod usage;
mod utf16;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;

use crate::database::{Header, HeaderError, encoding_name};
use crate::page::{DATABASE_HEADER_BYTES, Geometry, PAGE_NUMBER_MAX, PENDING_BYTE, PageKind};
use checker::{Checker, Common};
pub use claims::Claims;
pub use done::Done;
pub use parts::Parts;
pub use records::{Records, Totals, Wrong};

/// The source of the pages.
///
/// The check asks for each page of the file about once, so an implementation can count progress, or stop the check early by returning an
/// error.
pub trait ReadPage {
    /// The reason why a page could not be read.
    type Error;

    /// Fills `into` with the start of page `number`, which begins at byte `(number - 1) * page size` of the file.
    ///
    /// `into` is a whole page, except at the beginning of a check, which asks for the first 100 bytes of page 1 to find the page size.
    /// Every page that is asked for lies entirely within the file.
    ///
    /// # Errors
    /// When the page can't be read. The error ends the check.
    fn read_page(&mut self, number: u32, into: &mut [u8]) -> Result<(), Self::Error>;
}

/// A database in memory.
impl ReadPage for &[u8] {
    type Error = Infallible;

    fn read_page(&mut self, number: u32, into: &mut [u8]) -> Result<(), Infallible> {
        let start = (number as usize - 1) * into.len();
        into.copy_from_slice(&self[start..start + into.len()]);
        Ok(())
    }
}

/// The options of a check.
#[derive(Clone, Copy, Debug)]
pub struct Options<'o> {
    /// The tables of the schema, with their indexes. The payloads of a B-tree that is not described here are only checked to be records.
    pub tables: &'o [spec::Table],
    /// The maximum number of problems that the report lists; further problems are only counted.
    pub problems_max: usize,
    /// `true` if only the header, the freelist and the schema table are read. The other B-trees are listed without statistics.
    pub schema_only: bool,
    /// The tables to read; `None` for all. If it is given, the check neither compares indexes with their tables nor looks for unused pages.
    pub only: Option<Only<'o>>,
    /// The offset of the lock byte: see [`Geometry::with_pending_byte`].
    pub pending_byte: u32,
}

impl Default for Options<'_> {
    fn default() -> Options<'static> {
        Options { tables: &[], problems_max: 100, schema_only: false, only: None, pending_byte: PENDING_BYTE }
    }
}

/// The trees to read in addition to the schema table.
#[derive(Clone, Copy, Debug)]
pub struct Only<'o> {
    /// The names of the tables. The trees of these tables and of their indexes are read.
    pub tables: &'o [&'o str],
    /// `true` if only the first and the last child of each interior page are read, and no overflow pages: the time does not depend on the
    /// number of rows.
    pub edges: bool,
}

/// The findings of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The database header; `None` if the file is empty, which is a valid database, or has no valid header.
    pub header: Option<Header>,
    /// The number of pages of the database.
    pub page_count: u32,
    /// The number of bytes behind the last page: left by an interrupted writer and ignored by SQLite.
    pub trailing_bytes: u64,
    /// The B-trees: the schema table, then the trees that it names, in its order. If [`Options::only`] is given, only the trees of these
    /// tables follow.
    pub trees: Vec<Tree>,
    /// The number of pages on the freelist, including its trunk pages.
    pub freelist_pages: u32,
    /// The number of trunk pages of the freelist.
    pub freelist_trunk_pages: u32,
    /// The number of pointer-map pages of an auto_vacuum database; 0 if not all trees were read.
    pub pointer_map_pages: u32,
    /// The first problems found, at most [`Options::problems_max`].
    pub problems: Vec<Problem>,
    /// The number of all problems, including those that are not listed.
    pub problem_count: u64,
    /// Harmless deviations from the format that SQLite accepts.
    pub remarks: Vec<Problem>,
    /// The indexes that were not compared with their tables, because an entry could not be computed ([`spec::Table::computed`]): for each
    /// the name of the table and the name of the index.
    pub uncompared: Vec<(String, String)>,
}

impl Report {
    /// Returns `true` if the check found no problems.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }
}

/// The kind of content of a B-tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// The rows of a table, by rowid.
    Table,
    /// The rows of a WITHOUT ROWID table, by primary key.
    WithoutRowid,
    /// The entries of an index.
    Index,
}

/// A B-tree and its statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The kind of the tree's content.
    pub kind: TreeKind,
    /// The name of the table or index.
    pub name: String,
    /// The name of the table that the tree belongs to: the tree's own name, if it is a table.
    pub table: String,
    /// The root page of the tree.
    pub root_page: u32,
    /// The number of rows or index entries.
    pub rows: u64,
    /// The number of levels: 1 for a root that is a leaf, 0 if the tree was not read.
    pub depth: u32,
    /// The number of leaf pages.
    pub leaf_pages: u32,
    /// The number of interior pages.
    pub interior_pages: u32,
    /// The number of overflow pages.
    pub overflow_pages: u32,
    /// The size of all records.
    pub payload_bytes: u64,
    /// The number of used bytes on the tree's pages: headers, cell pointers, cells and overflowing payload.
    pub used_bytes: u64,
    /// The number of free bytes on the tree's pages; reserved bytes are neither used nor free.
    pub unused_bytes: u64,
}

impl Tree {
    fn new(kind: TreeKind, name: String, table: String, root_page: u32) -> Tree {
        Tree {
            kind,
            name,
            table,
            root_page,
            rows: 0,
            depth: 0,
            leaf_pages: 0,
            interior_pages: 0,
            overflow_pages: 0,
            payload_bytes: 0,
            used_bytes: 0,
            unused_bytes: 0,
        }
    }

    /// Returns the number of all pages of the tree.
    pub fn pages(&self) -> u32 {
        self.leaf_pages + self.interior_pages + self.overflow_pages
    }
}

/// A rule of the file format that the database breaks, and the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The page, if the problem is on a single page.
    pub page: Option<u32>,
    /// The table or index, if the problem is in a single one.
    pub tree: Option<String>,
    /// A description of the problem.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tree) = &self.tree {
            write!(f, "{tree}: ")?;
        }
        if let Some(page) = self.page {
            write!(f, "page {page}: ")?;
        }
        f.write_str(&self.what)
    }
}

/// Checks the database in a file of `file_bytes` bytes.
///
/// The file must not change during the check, and no write-ahead log may hold newer pages than those from `pages`.
///
/// # Errors
/// When `pages` returns an error. Faults of the database are problems in the report.
pub fn check<P: ReadPage>(pages: &mut P, file_bytes: u64, options: &Options<'_>) -> Result<Report, P::Error> {
    let Begun { common, report, rows } = begin(pages, file_bytes, options)?;
    let Some(common) = common else { return Ok(report) };
    let mut checker = Checker::new(pages, &common, report);
    checker.everything(&rows, &HashMap::new())?;
    Ok(checker.report)
}

/// A check of which the header, the freelist and the schema table have been read.
#[derive(Debug)]
struct Begun<'o> {
    /// The state of the check, or `None` if nothing else is to be read.
    common: Option<Common<'o>>,
    report: Report,
    rows: Vec<schema::Row>,
}

fn begin<'o, P: ReadPage>(
    pages: &mut P,
    file_bytes: u64,
    options: &Options<'o>,
) -> Result<Begun<'o>, P::Error> {
    if file_bytes == 0 {
        return Ok(Begun { common: None, report: Report::default(), rows: Vec::new() });
    }
    let mut start = [0; DATABASE_HEADER_BYTES];
    let header = if file_bytes < DATABASE_HEADER_BYTES as u64 {
        Err(HeaderError::Short)
    } else {
        pages.read_page(1, &mut start)?;
        Header::from_bytes(&start)
    };
    let header = match header {
        Ok(header) => header,
        Err(error) => return Ok(Begun { common: None, report: no_database(error), rows: Vec::new() }),
    };
    let header = Header { geometry: header.geometry.with_pending_byte(options.pending_byte), ..header };
    let mut report = Report { header: Some(header), ..Report::default() };
    let page_bytes = header.geometry.page_bytes() as u64;
    let in_file = u32::try_from(file_bytes / page_bytes).unwrap_or(PAGE_NUMBER_MAX);
    let in_header =
        (header.change_counter == header.valid_for && header.page_count != 0).then_some(header.page_count);
    report.page_count = in_header.unwrap_or(in_file).min(in_file);
    report.trailing_bytes = file_bytes - u64::from(report.page_count) * page_bytes;
    let common = Common::new(header, report.page_count, options);
    let mut checker = Checker::new(pages, &common, report);
    if let Some(count) = in_header.filter(|&count| count > in_file) {
        checker.problem(None, format!("the header counts {count} pages, the file has {in_file}"));
    }
    if in_header.is_none() && !file_bytes.is_multiple_of(page_bytes) {
        checker.problem(None, "the file ends within a page".to_owned());
    }
    let mut rows = Vec::new();
    if common.page_count > 0 {
        checker.header(&start);
        checker.freelist()?;
        rows = checker.schema_table()?;
        checker.current = None;
        checker.header_and_schema(&rows);
    }
    let report = checker.report;
    Ok(Begun { common: (common.page_count > 0).then_some(common), report, rows })
}

fn no_database(error: HeaderError) -> Report {
    let what = match error {
        HeaderError::Short => "the file is shorter than the 100 bytes of a database header",
        HeaderError::Magic => "the file does not begin with the bytes \"SQLite format 3\"",
        HeaderError::PageSize => "the header names no legal page size and reserved bytes",
        HeaderError::PayloadFractions => "the payload fractions in the header are not 64, 32 and 32",
    };
    let problem = Problem { page: Some(1), tree: None, what: what.to_owned() };
    Report { problems: vec![problem], problem_count: 1, ..Report::default() }
}

impl<P: ReadPage> Checker<'_, '_, P> {
    /// Checks the header fields that do not depend on other pages.
    fn header(&mut self, bytes: &[u8; DATABASE_HEADER_BYTES]) {
        let header = self.common.header;
        match header.write_version {
            1 | 2 => {}
            0 => self.remark("the write version in the header is 0, and SQLite treats it like 1".to_owned()),
            other => self
                .remark(format!("the write version is {other}: SQLite reads it, and does not write to it")),
        }
        match header.read_version {
            1 | 2 => {}
            0 => self.remark("the read version in the header is 0, and SQLite treats it like 1".to_owned()),
            other => self.problem(Some(1), format!("the read version is {other}")),
        }
        if header.schema_format > 4 {
            self.problem(Some(1), format!("the schema format is {}, not 1 to 4", header.schema_format));
        }
        if header.text_encoding > 3 {
            let taken = encoding_name(header.used_text_encoding());
            let encoding = header.text_encoding;
            self.remark(format!("the text encoding is {encoding}, not 1 to 3: SQLite takes it as {taken}"));
        }
        if header.incremental_vacuum != 0 && header.largest_root == 0 {
            self.problem(Some(1), "incremental vacuum is on without auto_vacuum".to_owned());
        }
        if bytes[72..92].iter().any(|&byte| byte != 0) {
            self.remark("bytes 72 to 91 of the header, which are reserved, are not all zero".to_owned());
        }
    }

    /// Checks all trees, apart from the parts that are `done`, and looks for unused pages.
    fn everything(&mut self, rows: &[schema::Row], done: &HashMap<u32, Done>) -> Result<(), P::Error> {
        let schema_only = self.common.options.schema_only;
        for row in rows {
            let Some(tree) = self.tree_of(row) else { continue };
            let is_named =
                |only: Only<'_>| only.tables.iter().any(|name| name.eq_ignore_ascii_case(&tree.table));
            if !self.common.options.only.is_none_or(is_named) {
                continue;
            }
            let root = tree.root_page;
            self.begin_tree(tree);
            if schema_only {
                continue;
            }
            match self.whole(root, done) {
                Some(done) => self.join_whole(done),
                None if self.claim(root, claims::Use::Root, 0)? => self.walk(row, Some(done))?,
                None => {}
            }
        }
        self.current = None;
        if !schema_only && self.common.options.only.is_none() {
            self.compare_counts(rows);
            self.compare_indexes()?;
            self.unused_pages();
        }
        Ok(())
    }

    /// Checks the header fields that depend on the schema.
    fn header_and_schema(&mut self, rows: &[schema::Row]) {
        let header = self.common.header;
        // SQLite writes the schema format and the text encoding with the first table, so both are 0 only in a database without tables.
        if !rows.is_empty() && header.schema_format == 0 {
            self.remark("the schema format is 0, not 1 to 4: SQLite takes it as 1".to_owned());
        }
        if !rows.is_empty() && header.text_encoding == 0 {
            self.remark("the text encoding is 0, not 1 to 3: SQLite takes it as UTF-8".to_owned());
        }
        let largest = rows.iter().map(|row| row.root_page).max().unwrap_or(1).max(1);
        if header.largest_root != 0 && i64::from(header.largest_root) != largest {
            let what = format!("the largest root page is {largest}, the header says {}", header.largest_root);
            self.problem(Some(1), what);
        }
    }
}

/// Returns `true` if a page of this kind belongs to a table.
fn is_table(kind: PageKind) -> bool {
    matches!(kind, PageKind::InteriorTable | PageKind::LeafTable)
}

/// Returns the big-endian 32-bit number at offset `at`.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Returns the big-endian 16-bit number at offset `at`.
fn half_word(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// Returns the pointer-map page that describes page `number`, or `number` itself if that page is a pointer map.
fn pointer_map_page(number: u32, geometry: Geometry) -> u32 {
    let pages_each = (geometry.usable_bytes() / POINTER_BYTES) as u32 + 1;
    geometry.skip_lock_page((number - 2) / pages_each * pages_each + 2)
}

/// The size of a pointer-map entry: a kind and a page number.
const POINTER_BYTES: usize = 5;
