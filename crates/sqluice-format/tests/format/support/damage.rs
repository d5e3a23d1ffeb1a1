//! Databases to damage, and assertions about the problems that the checker finds.

use sqluice_format::check::Report;
use sqluice_format::page::{PageKind, write_header};
use sqluice_format::tree::AppendPage;

use super::{Home, Pages, assert_sound, check_bytes, entry, geometry, integrity, problems, sqlite};

/// The statements that make the database, with pages of 512 bytes: `t` has many leaves, `big` has an overflow chain, `w` has no rowids, and
/// the pages of `gone` become the freelist.
const SQL: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, a, b);
    CREATE TABLE big (a);
    CREATE TABLE w (k PRIMARY KEY, v) WITHOUT ROWID;
    CREATE TABLE gone (a);
    CREATE INDEX i ON t (a);
    CREATE VIEW v AS SELECT a FROM t;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200)
        INSERT INTO t SELECT i * 1000, 'some text ' || i, zeroblob(i % 7 * 10) FROM n;
    INSERT INTO big VALUES (1), (zeroblob(2000)), (3);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 90)
        INSERT INTO w SELECT 'key ' || i, zeroblob(i % 10 * 40) FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9) INSERT INTO gone SELECT zeroblob(400) FROM n;
";

/// A database to damage.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    pub(crate) sound: Report,
}

impl File {
    pub(crate) fn of(bytes: Vec<u8>) -> File {
        let sound = assert_sound(&bytes);
        File { bytes, sound }
    }

    pub(crate) fn plain() -> File {
        File::of(sqlite(&format!("PRAGMA page_size = 512; {SQL} DROP TABLE gone;")))
    }

    pub(crate) fn auto_vacuum() -> File {
        let sql = format!("PRAGMA page_size = 512; PRAGMA auto_vacuum = 2; {SQL} DROP TABLE gone;");
        File::of(sqlite(&sql))
    }

    pub(crate) fn pages(&self) -> u32 {
        self.sound.page_count
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.sound.header.unwrap().geometry.page_bytes()
    }

    pub(crate) fn root(&self, name: &str) -> u32 {
        self.sound.trees.iter().find(|tree| tree.name == name).unwrap().root_page
    }

    pub(crate) fn page(&self, number: u32) -> &[u8] {
        let page_bytes = self.page_bytes();
        &self.bytes[(number as usize - 1) * page_bytes..][..page_bytes]
    }

    pub(crate) fn page_mut(&mut self, number: u32) -> &mut [u8] {
        let page_bytes = self.page_bytes();
        &mut self.bytes[(number as usize - 1) * page_bytes..][..page_bytes]
    }

    pub(crate) fn word(&self, page: u32, at: usize) -> u32 {
        u32::from_be_bytes(self.page(page)[at..at + 4].try_into().unwrap())
    }

    pub(crate) fn set_word(&mut self, page: u32, at: usize, to: u32) {
        self.page_mut(page)[at..at + 4].copy_from_slice(&to.to_be_bytes());
    }

    pub(crate) fn half(&self, page: u32, at: usize) -> usize {
        usize::from(u16::from_be_bytes(self.page(page)[at..at + 2].try_into().unwrap()))
    }

    pub(crate) fn set_half(&mut self, page: u32, at: usize, to: usize) {
        self.page_mut(page)[at..at + 2].copy_from_slice(&(to as u16).to_be_bytes());
    }

    /// Returns the offset of the pointer of a cell.
    pub(crate) fn pointer(&self, page: u32, cell: usize) -> usize {
        let header = if page == 1 { 100 } else { 0 };
        header + if self.page(page)[header] < 10 { 12 } else { 8 } + cell * 2
    }

    /// Returns the offset of a cell.
    pub(crate) fn cell(&self, page: u32, cell: usize) -> usize {
        let pointer = self.pointer(page, cell);
        self.half(page, pointer)
    }

    pub(crate) fn cells(&self, page: u32) -> usize {
        self.half(page, 3)
    }

    pub(crate) fn child(&self, page: u32, cell: usize) -> u32 {
        let cell = self.cell(page, cell);
        self.word(page, cell)
    }

    /// Returns the overflow pages of the long row in `big`, and the offset of the number of the first on its leaf.
    pub(crate) fn chain(&self) -> (usize, Vec<u32>) {
        // Cells are written from the end of the page: the long one, the second, ends where the first begins.
        let root = self.root("big");
        let head = self.cell(root, 0) - 4;
        let mut chain = vec![self.word(root, head)];
        while chain[chain.len() - 1] != 0 {
            chain.push(self.word(chain[chain.len() - 1], 0));
        }
        chain.pop();
        assert_eq!(chain.len(), 4);
        (head, chain)
    }

    pub(crate) fn report(&self) -> Report {
        check_bytes(&self.bytes)
    }

    /// Asserts that the checker finds exactly these problems.
    #[track_caller]
    pub(crate) fn expect(&self, expected: &[&str]) {
        let report = self.report();
        let found = problems(&report);
        assert_eq!(found.lines().collect::<Vec<_>>(), expected);
        assert_eq!(report.problem_count, expected.len() as u64);
    }

    /// Asserts that this is one of the problems.
    #[track_caller]
    pub(crate) fn expect_among(&self, expected: &str) {
        let found = problems(&self.report());
        assert!(found.lines().any(|line| line == expected), "{found}");
    }

    /// Asserts that SQLite finds the file damaged, too.
    #[track_caller]
    pub(crate) fn sqlite_agrees(&self) {
        let home = Home::new();
        assert_ne!(integrity(&home.open_with(&self.bytes)), "ok");
    }
}

/// Returns a database whose table `t` has these pages, with the root first. They are pages 2, 3, ... of the file.
pub(crate) fn tree_of(pages: Vec<Vec<u8>>) -> Vec<u8> {
    let mut file = Pages::new(geometry(512, 0));
    for page in pages {
        file.append_page(&page);
    }
    file.finish(&[entry("t", 2, "CREATE TABLE t (a)")])
}

/// Returns a leaf with one row.
pub(crate) fn leaf(rowid: u8) -> Vec<u8> {
    let mut page = vec![0; 512];
    write_header(&mut page, PageKind::LeafTable, 1, 507);
    page[8..10].copy_from_slice(&507u16.to_be_bytes());
    page[507..].copy_from_slice(&[3, rowid, 2, 1, 7]);
    page
}

/// Returns an interior page with these cells, (child, rowid), and the right-most child.
pub(crate) fn interior(cells: &[(u8, u8)], right: u8) -> Vec<u8> {
    let mut page = vec![0; 512];
    let content = 512 - cells.len() * 5;
    write_header(&mut page, PageKind::InteriorTable, cells.len(), content);
    page[11] = right;
    for (i, &(child, rowid)) in cells.iter().enumerate() {
        let at = 512 - (i + 1) * 5;
        page[12 + i * 2..14 + i * 2].copy_from_slice(&(at as u16).to_be_bytes());
        page[at..at + 5].copy_from_slice(&[0, 0, 0, child, rowid]);
    }
    page
}
