//! Faults planted in sound databases, and what the checker says of them.

mod support;

use proptest::prelude::*;
use sqluice_format::check::{self, Options, Report};
use sqluice_format::database::Header;
use sqluice_format::page::{PENDING_BYTE, PageKind, write_header};
use sqluice_format::record;
use sqluice_format::tree::AppendPage;
use sqluice_format::value::Value;
use support::*;

/// Pages of 512 bytes. Tables with rowids (t: many leaves; big: overflow) and without, an index, a freelist.
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
struct File {
    bytes: Vec<u8>,
    sound: Report,
}

impl File {
    fn of(bytes: Vec<u8>) -> File {
        let sound = assert_sound(&bytes);
        File { bytes, sound }
    }

    fn plain() -> File {
        File::of(sqlite(&format!("PRAGMA page_size = 512; {SQL} DROP TABLE gone;")))
    }

    fn auto_vacuum() -> File {
        let sql = format!("PRAGMA page_size = 512; PRAGMA auto_vacuum = 2; {SQL} DROP TABLE gone;");
        File::of(sqlite(&sql))
    }

    fn pages(&self) -> u32 {
        self.sound.page_count
    }

    fn page_bytes(&self) -> usize {
        self.sound.header.unwrap().geometry.page_bytes()
    }

    fn root(&self, name: &str) -> u32 {
        self.sound.trees.iter().find(|tree| tree.name == name).unwrap().root_page
    }

    fn page(&self, number: u32) -> &[u8] {
        let page_bytes = self.page_bytes();
        &self.bytes[(number as usize - 1) * page_bytes..][..page_bytes]
    }

    fn page_mut(&mut self, number: u32) -> &mut [u8] {
        let page_bytes = self.page_bytes();
        &mut self.bytes[(number as usize - 1) * page_bytes..][..page_bytes]
    }

    fn word(&self, page: u32, at: usize) -> u32 {
        u32::from_be_bytes(self.page(page)[at..at + 4].try_into().unwrap())
    }

    fn set_word(&mut self, page: u32, at: usize, to: u32) {
        self.page_mut(page)[at..at + 4].copy_from_slice(&to.to_be_bytes());
    }

    fn half(&self, page: u32, at: usize) -> usize {
        usize::from(u16::from_be_bytes(self.page(page)[at..at + 2].try_into().unwrap()))
    }

    fn set_half(&mut self, page: u32, at: usize, to: usize) {
        self.page_mut(page)[at..at + 2].copy_from_slice(&(to as u16).to_be_bytes());
    }

    /// Where the pointer of a cell is.
    fn pointer(&self, page: u32, cell: usize) -> usize {
        let header = if page == 1 { 100 } else { 0 };
        header + if self.page(page)[header] < 10 { 12 } else { 8 } + cell * 2
    }

    /// Where a cell is.
    fn cell(&self, page: u32, cell: usize) -> usize {
        let pointer = self.pointer(page, cell);
        self.half(page, pointer)
    }

    fn cells(&self, page: u32) -> usize {
        self.half(page, 3)
    }

    fn child(&self, page: u32, cell: usize) -> u32 {
        let cell = self.cell(page, cell);
        self.word(page, cell)
    }

    /// The overflow pages of the long row in `big`.
    fn chain(&self) -> (usize, Vec<u32>) {
        let root = self.root("big");
        let head = self.cell(root, 2) - 4;
        // The cells stand back to back, the third one first: the second ends where the first begins.
        let head = head.max(self.cell(root, 0) - 4);
        let mut chain = vec![self.word(root, head)];
        while let Some(&page) = chain.last().filter(|&&page| page != 0) {
            chain.push(self.word(page, 0));
        }
        chain.pop();
        assert_eq!(
            chain.len() as u32,
            self.sound
                .trees
                .iter()
                .map(|tree| if tree.name == "big" { tree.overflow_pages } else { 0 })
                .sum()
        );
        (head, chain)
    }

    fn report(&self) -> Report {
        check_bytes(&self.bytes)
    }

    /// Each problem, in order, begins and ends as given: `begin ... end`.
    #[track_caller]
    fn expect(&self, expected: &[&str]) {
        self.expect_in(&self.report(), expected);
    }

    #[track_caller]
    fn expect_in(&self, report: &Report, expected: &[&str]) {
        let found = problems(report);
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines, expected);
        assert_eq!(report.problem_count, expected.len() as u64);
        assert!(!report.is_sound());
    }

    /// The problems contain this one, and SQLite finds the file unsound too.
    #[track_caller]
    fn expect_among(&self, expected: &str) {
        let found = problems(&self.report());
        assert!(found.lines().any(|line| line == expected), "{found}");
    }

    /// SQLite does not like it either.
    #[track_caller]
    fn sqlite_agrees(&self) {
        let home = Home::new();
        assert_ne!(integrity(&home.open_with(&self.bytes)), "ok");
    }
}

#[test]
fn a_page_outside_the_file_is_no_child() {
    let mut file = File::plain();
    let (root, count) = (file.root("t"), file.pages());
    let child = file.child(root, 3);
    for bad in [0, count + 1, u32::MAX] {
        let at = file.cell(root, 3);
        file.set_word(root, at, bad);
        let lines = problems(&file.report());
        let line = format!("t: page {root}: refers to page {bad}, but pages run from 1 to {count}");
        assert_eq!(lines.lines().next(), Some(&line[..]));
        assert!(lines.contains(&format!("page {child}: is never used\n")));
        file.sqlite_agrees();
    }
}

#[test]
fn the_last_page_is_within_the_file() {
    // The last page is a child of something, or the file would not be sound.
    let file = File::plain();
    assert_eq!(u64::from(file.pages()) * 512, file.bytes.len() as u64);
    let cut = &file.bytes[..file.bytes.len() - 512];
    let report = check_bytes(cut);
    let line = format!("the header counts {} pages, the file has {}", file.pages(), file.pages() - 1);
    assert_eq!(report.problems[0].to_string(), line);
    assert_eq!(report.page_count, file.pages() - 1);
}

#[test]
fn a_page_has_one_use() {
    let mut file = File::plain();
    let root = file.root("t");
    let (first, second) = (file.child(root, 0), file.child(root, 1));
    let at = file.cell(root, 1);
    file.set_word(root, at, first);
    file.expect(&[
        &format!("t: page {root}: refers to page {first}, which is already used elsewhere"),
        &format!("index i has 200 entries for {} rows", file.report().trees[1].rows),
        &format!("page {second}: is never used"),
    ]);
    file.sqlite_agrees();
}

#[test]
fn the_lock_byte_page_is_no_child() {
    let file = File::plain();
    let root = file.root("t");
    let child = file.child(root, 0);
    let report = check_with(&file.bytes, (child - 1) * 512);
    assert_eq!(
        report.problems[0].to_string(),
        format!("t: page {root}: refers to page {child}, which has the lock byte")
    );
    assert!(!problems(&report).contains("never used"), "{}", problems(&report));
}

#[test]
fn pages_that_nobody_uses_are_told_as_runs() {
    let mut file = File::plain();
    let pages = file.pages();
    file.bytes.extend([0; 512]);
    file.set_word(1, 28, pages + 1);
    file.expect(&[&format!("page {}: is never used", pages + 1)]);
    file.bytes.extend([0; 1024]);
    file.set_word(1, 28, pages + 3);
    file.expect(&[&format!("page {}: is never used, nor are the 2 after it", pages + 1)]);
    file.sqlite_agrees();
}

#[test]
fn the_freelist_is_as_long_as_the_header_says() {
    let mut file = File::plain();
    let count = file.word(1, 36);
    assert_eq!((file.sound.freelist_pages, file.sound.freelist_trunk_pages), (count, 1));
    assert!(count > 2);
    file.set_word(1, 36, count + 1);
    file.expect(&[&format!("page 1: the freelist has {count} pages, the header says {}", count + 1)]);
    file.sqlite_agrees();
    // One that breaks off has another fault, and one is enough.
    let trunk = file.word(1, 32);
    file.set_word(trunk, 0, 1_000_000);
    file.expect(&[&format!(
        "page {trunk}: refers to page 1000000, but pages run from 1 to {}",
        file.pages()
    )]);
    file.set_word(trunk, 0, 0);
    file.set_word(trunk, 8, 0);
    file.expect_among(&format!("page {trunk}: refers to page 0, but pages run from 1 to {}", file.pages()));
    assert_eq!(file.report().freelist_pages, count - 1);
    file.set_word(1, 32, 1_000_000);
    file.expect_among(&format!("page 1: refers to page 1000000, but pages run from 1 to {}", file.pages()));
}

#[test]
fn a_freelist_page_has_room_for_so_many_leaves() {
    let mut file = File::plain();
    let trunk = file.word(1, 32);
    let count = file.word(1, 36);
    file.set_word(trunk, 4, 127);
    file.expect_among(&format!("page {trunk}: a freelist page can't have 127 leaves"));
    assert_eq!((count > 2, file.report().freelist_pages), (true, 1));
    // 126 is the most, and then it looks for them.
    file.set_word(trunk, 4, 126);
    assert!(!problems(&file.report()).contains("can't have"));
    file.sqlite_agrees();
}

#[test]
fn a_long_freelist_has_several_trunks() {
    let file = File::of(sqlite(
        "PRAGMA page_size = 512; CREATE TABLE t (a); CREATE TABLE u (a); INSERT INTO t VALUES (zeroblob(200000)); DROP TABLE t",
    ));
    assert!(file.sound.freelist_trunk_pages >= 3, "{}", file.sound.freelist_trunk_pages);
    assert!(file.sound.freelist_pages > 390);
    let mut file = file;
    let first = file.word(1, 32);
    let second = file.word(first, 0);
    file.set_word(second, 0, first);
    file.expect_among(&format!("page {second}: refers to page {first}, which is already used elsewhere"));
}

#[test]
fn a_page_is_of_a_kind_and_of_the_right_one() {
    let mut file = File::plain();
    let (t, w) = (file.root("t"), file.root("w"));
    let leaf = file.child(t, 1);
    let index_leaf = file.child(w, 0);
    let (whole, other) = (file.page(leaf).to_vec(), file.page(index_leaf).to_vec());
    file.page_mut(leaf)[0] = 0;
    file.expect_among(&format!("t: page {leaf}: 0 is no kind of B-tree page"));
    file.page_mut(leaf).copy_from_slice(&other);
    file.expect_among(&format!("t: page {leaf}: a page of kind 10 has no place here"));
    file.sqlite_agrees();
    file.page_mut(leaf).copy_from_slice(&whole);
    file.page_mut(index_leaf).copy_from_slice(&whole);
    file.expect_among(&format!("w: page {index_leaf}: a page of kind 13 has no place here"));
    file.sqlite_agrees();
}

#[test]
fn an_index_is_no_table_and_a_table_without_rowids_says_so() {
    let mut file = File::plain();
    let (t, i) = (file.root("t"), file.root("i"));
    // Swap the two roots in the schema: one byte each.
    let places: Vec<usize> = (0..5).map(|cell| file.cell(1, cell)).chain([0]).filter(|&at| at != 0).collect();
    let swap = |file: &mut File, at: usize, name: &str, from: u32, to: u32| {
        let page = file.page_mut(1);
        let text = format!("{name}{name}").into_bytes();
        let from_at = (at..at + 40).find(|&p| page[p..].starts_with(&text)).map(|p| p + text.len());
        if let Some(p) = from_at.filter(|&p| u32::from(page[p]) == from) {
            page[p] = to as u8;
            return true;
        }
        false
    };
    assert!(t < 128 && i < 128);
    assert!(places.iter().any(|&at| swap(&mut file, at, "t", t, i)), "t");
    let found = problems(&file.report());
    assert!(found.contains(&format!("t: page {i}: a table with rowids has its rows in an index")), "{found}");
    assert!(found.contains(&format!("page {t}: is never used")) || found.contains("never used"), "{found}");
}

#[test]
fn cell_pointers_end_before_the_cells() {
    let mut file = File::plain();
    let root = file.root("t");
    let leaf = file.child(root, 0);
    let whole = file.page(leaf).to_vec();
    let cells = file.cells(leaf);
    let content = file.half(leaf, 5);
    file.set_half(leaf, 3, 260);
    file.expect_among(&format!(
        "t: page {leaf}: 260 cell pointers end at byte 528, cells begin at byte {content} of 512"
    ));
    file.page_mut(leaf).copy_from_slice(&whole);
    file.set_half(leaf, 5, 8 + cells * 2 - 1);
    file.expect_among(&format!(
        "t: page {leaf}: {cells} cell pointers end at byte {}, cells begin at byte {} of 512",
        8 + cells * 2,
        8 + cells * 2 - 1
    ));
    for (stored, content) in [(513, 513), (0, 65536)] {
        file.set_half(leaf, 5, stored);
        file.expect_among(&format!(
            "t: page {leaf}: {cells} cell pointers end at byte {}, cells begin at byte {content} of 512",
            8 + cells * 2
        ));
    }
    file.sqlite_agrees();
}

#[test]
fn cells_lie_within_their_area_and_page() {
    let mut file = File::plain();
    let root = file.root("t");
    let leaf = file.child(root, 0);
    let pointer = file.pointer(leaf, 1);
    let content = file.half(leaf, 5);
    let last = file.cell(leaf, 0);
    for bad in [content - 1, 509, 65535] {
        file.set_half(leaf, pointer, bad);
        file.expect(&[
            &format!("t: page {leaf}: cell 1 is at byte {bad}, outside the cells"),
            "index i has 200 entries for 199 rows",
        ]);
        file.sqlite_agrees();
    }
    // The last 4 bytes of the page are no whole cell.
    file.set_half(leaf, pointer, 508);
    file.page_mut(leaf)[508..].copy_from_slice(&[3, 1, 2, 0]);
    file.expect_among(&format!("t: page {leaf}: cell 1 does not fit the page"));
    let mut file = File::plain();
    file.page_mut(leaf)[last] = 127;
    file.expect_among(&format!("t: page {leaf}: cell 0 does not fit the page"));
    file.sqlite_agrees();
    // A payload that would overflow, its head behind the end of the page.
    file.page_mut(leaf)[last..last + 2].copy_from_slice(&[0x84, 0]);
    file.expect_among(&format!("t: page {leaf}: cell 0 does not fit the page"));
    // And one that no SQLite would read: 2^31.
    file.page_mut(leaf)[last..last + 5].copy_from_slice(&[0x88, 0x80, 0x80, 0x80, 0]);
    file.expect_among(&format!("t: page {leaf}: cell 0 does not fit the page"));
}

#[test]
fn every_byte_of_a_page_is_accounted_for() {
    let mut file = File::plain();
    let root = file.root("t");
    let leaf = file.child(root, 0);
    let whole = file.page(leaf).to_vec();
    let content = file.half(leaf, 5);
    // A fragment that is none.
    file.page_mut(leaf)[7] = 1;
    file.expect(&[&format!("t: page {leaf}: 0 bytes are lost between the cells, the page says 1")]);
    file.sqlite_agrees();
    // The cells begin further left than the first of them.
    file.page_mut(leaf)[7] = 0;
    file.set_half(leaf, 5, content - 3);
    file.expect(&[&format!("t: page {leaf}: 3 bytes are lost between the cells, the page says 0")]);
    file.sqlite_agrees();
    file.page_mut(leaf)[7] = 3;
    assert!(file.report().is_sound());
    // One cell too few.
    file.page_mut(leaf).copy_from_slice(&whole);
    let cells = file.cells(leaf);
    let gone = file.cell(leaf, cells - 1);
    let size = file.cell(leaf, cells - 2) - gone;
    assert_eq!(gone, content);
    file.set_half(leaf, 3, cells - 1);
    file.expect_among(&format!("t: page {leaf}: {size} bytes are lost between the cells, the page says 0"));
    // One cell twice.
    file.page_mut(leaf).copy_from_slice(&whole);
    let (to, at) = (file.cell(leaf, 1), file.pointer(leaf, 2));
    file.set_half(leaf, at, to);
    file.expect_among(&format!("t: page {leaf}: byte {to} is used twice"));
    file.sqlite_agrees();
}

/// A database with freeblocks, the page that has them, and where they are.
fn with_freeblocks() -> (File, u32, Vec<usize>) {
    let file = File::of(sqlite(
        "PRAGMA page_size = 512; CREATE TABLE t (a);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20) INSERT INTO t SELECT 'twelve bytes' FROM n;
         DELETE FROM t WHERE rowid IN (5, 9, 10, 14)",
    ));
    let mut blocks = vec![file.half(2, 1)];
    while let Some(&at) = blocks.last().filter(|&&at| at != 0) {
        blocks.push(file.half(2, at));
    }
    blocks.pop();
    assert_eq!(blocks.len(), 3);
    (file, 2, blocks)
}

#[test]
fn freeblocks_ascend_within_the_cells_and_have_four_bytes() {
    let (sound, page, blocks) = with_freeblocks();
    let file = sound.clone();
    let content = file.half(page, 5);
    let size = file.half(page, blocks[0] + 2);
    let cases = [
        (1, content - 1, format!("a freeblock is at byte {}, outside {content} to 508", content - 1)),
        (1, 509, format!("a freeblock is at byte 509, outside {content} to 508")),
        (blocks[2], 509, format!("a freeblock is at byte 509, outside {} to 508", blocks[2] + size + 4)),
        (
            blocks[1],
            blocks[0],
            format!("a freeblock is at byte {}, outside {} to 508", blocks[0], blocks[1] + 2 * size + 4),
        ),
        (
            blocks[0],
            blocks[0] + size + 3,
            format!(
                "a freeblock is at byte {}, outside {} to 508",
                blocks[0] + size + 3,
                blocks[0] + size + 4
            ),
        ),
        (blocks[0] + 2, 3, format!("the freeblock at byte {} has 3 bytes", blocks[0])),
        (
            blocks[2] + 2,
            513 - blocks[2],
            format!("the freeblock at byte {} has {} bytes", blocks[2], 513 - blocks[2]),
        ),
        (blocks[1] + 2, 2 * size + 1, format!("byte {} is used twice", blocks[1] + 2 * size)),
        (blocks[1] + 2, 2 * size - 1, "1 bytes are lost between the cells, the page says 0".to_owned()),
        (1, blocks[1], format!("{size} bytes are lost between the cells, the page says 0")),
    ];
    for (at, to, what) in cases {
        let mut file = sound.clone();
        file.set_half(page, at, to);
        file.expect(&[&format!("t: page {page}: {what}")]);
        file.sqlite_agrees();
    }
    // One at the very end of the cells is fine as far as its place goes, but takes bytes twice.
    let mut file = sound;
    file.set_half(page, blocks[2], 508);
    file.page_mut(page)[508..].copy_from_slice(&[0, 0, 0, 4]);
    file.expect(&[&format!("t: page {page}: byte 508 is used twice")]);
}

/// Page 2 is an interior page with these children, or a chain of such pages and a leaf.
fn tree_of(pages: Vec<Vec<u8>>) -> Vec<u8> {
    let mut file = Pages::new(geometry(512, 0));
    for page in pages {
        file.append_page(&page);
    }
    file.finish(&[entry("t", 2, "CREATE TABLE t (a)")])
}

fn leaf(rowid: u8) -> Vec<u8> {
    let mut page = vec![0; 512];
    write_header(&mut page, PageKind::LeafTable, 1, 507);
    page[8..10].copy_from_slice(&507u16.to_be_bytes());
    page[507..].copy_from_slice(&[3, rowid, 2, 1, 7]);
    page
}

fn interior(cells: &[(u8, u8)], right: u8) -> Vec<u8> {
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

#[track_caller]
fn expect_tree(pages: Vec<Vec<u8>>, expected: &[&str]) {
    let found = problems(&check_bytes(&tree_of(pages)));
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn only_an_empty_root_has_no_cells() {
    let mut empty = vec![0; 512];
    write_header(&mut empty, PageKind::LeafTable, 0, 512);
    expect_tree(vec![empty.clone()], &[]);
    let what = "a page other than an empty root has no cells";
    expect_tree(vec![interior(&[(3, 5)], 4), leaf(5), empty], &[&format!("t: page 4: {what}")]);
    expect_tree(vec![interior(&[], 3), leaf(5)], &[&format!("t: page 2: {what}")]);
    let pages =
        vec![interior(&[(3, 5)], 4), interior(&[], 5), interior(&[(6, 8)], 7), leaf(1), leaf(7), leaf(9)];
    expect_tree(pages, &[&format!("t: page 3: {what}")]);
}

#[test]
fn all_leaves_are_equally_deep() {
    let what = "t: page 2: its children are not equally deep";
    expect_tree(vec![interior(&[(3, 5)], 4), leaf(5), interior(&[(5, 6)], 6), leaf(6), leaf(7)], &[what]);
    expect_tree(vec![interior(&[(4, 6)], 3), leaf(7), interior(&[(5, 5)], 6), leaf(5), leaf(6)], &[what]);
    expect_tree(vec![interior(&[(3, 5)], 4), leaf(5), leaf(6)], &[]);
}

#[test]
fn a_tree_has_twenty_levels_at_most() {
    let chain = |levels: u8| {
        let mut pages: Vec<Vec<u8>> = (0..levels - 1).map(|i| interior(&[], i + 3)).collect();
        pages.push(leaf(1));
        problems(&check_bytes(&tree_of(pages)))
    };
    assert!(!chain(20).contains("levels"));
    assert!(chain(21).contains("t: page 22: the tree has more than 20 levels\n"));
}

#[test]
fn rowids_ascend_and_keep_to_their_dividers() {
    let two =
        |divider: u8, first: u8, second: u8| vec![interior(&[(3, divider)], 4), leaf(first), leaf(second)];
    expect_tree(two(5, 5, 6), &[]);
    expect_tree(two(5, 1, 127), &[]);
    expect_tree(
        two(5, 6, 7),
        &["t: page 3: rowid 6 is larger than the page above allows", "t: page 2: rowid 5 does not ascend"],
    );
    expect_tree(two(5, 1, 5), &["t: page 4: rowid 5 does not ascend"]);
    expect_tree(two(5, 1, 4), &["t: page 4: rowid 4 does not ascend"]);
    // Three levels: what the root says holds for the rightmost leaf below its child.
    let three = |second: u8, divider: u8| {
        vec![
            interior(&[(3, 20)], 4),
            interior(&[(5, divider)], 6),
            interior(&[(7, 30)], 8),
            leaf(5),
            leaf(second),
            leaf(25),
            leaf(35),
        ]
    };
    expect_tree(three(20, 10), &[]);
    expect_tree(
        three(21, 10),
        &["t: page 6: rowid 21 is larger than the page above allows", "t: page 2: rowid 20 does not ascend"],
    );
    expect_tree(
        three(20, 21),
        &["t: page 3: rowid 21 is larger than the page above allows", "t: page 6: rowid 20 does not ascend"],
    );
    // On one leaf.
    let mut file = File::plain();
    let root = file.root("t");
    let leaf = file.child(root, 0);
    let (a, b) = (file.pointer(leaf, 0), file.pointer(leaf, 1));
    let (first, second) = (file.half(leaf, a), file.half(leaf, b));
    file.set_half(leaf, a, second);
    file.set_half(leaf, b, first);
    file.expect(&[&format!("t: page {leaf}: rowid 1000 does not ascend")]);
    file.sqlite_agrees();
}

#[test]
fn a_chain_of_overflow_pages_is_as_long_as_the_payload() {
    let sound = File::plain();
    let (head, chain) = sound.clone().chain();
    let root = sound.root("big");
    let [.., before_last, last] = chain[..] else { panic!("{chain:?}") };
    let mut file = sound.clone();
    file.set_word(before_last, 0, 0);
    file.expect(&[
        &format!("big: page {before_last}: an overflow chain ends too early"),
        &format!("page {last}: is never used"),
    ]);
    file.sqlite_agrees();
    let mut file = sound.clone();
    file.set_word(last, 0, 99);
    file.expect(&[&format!("big: page {last}: an overflow chain goes on to page 99 after its end")]);
    file.sqlite_agrees();
    let mut file = sound.clone();
    file.set_word(root, head, 0);
    file.expect_among(&format!("big: page {root}: an overflow chain ends too early"));
    file.sqlite_agrees();
    let mut file = sound;
    file.set_word(before_last, 0, chain[0]);
    file.expect(&[
        &format!("big: page {before_last}: refers to page {}, which is already used elsewhere", chain[0]),
        &format!("page {last}: is never used"),
    ]);
    file.sqlite_agrees();
}

/// A table of one leaf with this record.
fn of_record(bytes: &[u8]) -> String {
    let bytes = database(geometry(512, 0), &[(1, bytes.to_vec())], 1000);
    problems(&check_bytes(&bytes))
}

#[test]
fn a_record_is_described_by_its_header_to_the_last_byte() {
    let header = "its header does not end where it should";
    let reserved = "it has a serial type of 10 or 11";
    let body = "its values do not take the bytes that there are";
    let at = |bytes: usize| 512 - bytes - 2;
    for (record, why) in [
        (&[1, 0][..], header),
        (&[0, 0], header),
        (&[3, 0], header),
        (&[0x80, 2], header),
        (&[2, 0x81], header),
        (&[3, 0, 0x81, 5], header),
        (&[2, 10], reserved),
        (&[3, 11, 0], reserved),
        (&[2, 1], body),
        (&[2, 1, 0, 0], body),
        (&[2, 0, 0], body),
        (&[2, 7, 0, 0], body),
        (&[10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], body),
    ] {
        let line = format!("t: page 2: the cell at byte {} is no record: {why}\n", at(record.len()));
        assert_eq!(of_record(record), line, "{record:?}");
    }
    for record in [&[2, 0][..], &[2, 1, 5], &[0x80, 3, 0], &[3, 0x80, 0], &[4, 8, 9, 0]] {
        assert_eq!(of_record(record), "", "{record:?}");
    }
    // Values whose bytes add up to more than 64 bits.
    let huge = [&[0x81, 0x12][..], &[0xff; 144]].concat();
    assert!(of_record(&huge).ends_with(&format!("{body}\n")));
}

#[test]
fn a_record_header_may_overflow() {
    let record = |columns: usize| {
        let mut record = Vec::new();
        record::encode(&vec![Value::Int(300); columns], &mut record);
        record
    };
    for columns in [100, 400, 470, 480, 600, 2000] {
        assert_eq!(of_record(&record(columns)), "", "{columns}");
        let mut bad = record(columns);
        bad[columns] = 3;
        let found = of_record(&bad);
        assert!(found.ends_with("its values do not take the bytes that there are\n"), "{columns}: {found}");
    }
}

#[test]
fn rows_of_the_schema_are_what_sqlite_makes_of_them() {
    let row = |values: &[Value<'_>]| {
        let mut out = Vec::new();
        record::encode(values, &mut out);
        out
    };
    let text = |s: &'static str| Value::Text(s.as_bytes());
    let check = |values: &[Value<'_>]| {
        // Page 1 is a leaf with the row of t and this one.
        let first = row(&[text("table"), text("t"), text("t"), Value::Int(2), text("CREATE TABLE t (a)")]);
        let mut bytes = tree_of(vec![leaf(1)]);
        let (second, mut at) = (row(values), 512);
        for (i, record) in [first, second].iter().enumerate() {
            at -= record.len() + 2;
            bytes[at..at + 2].copy_from_slice(&[record.len() as u8, i as u8 + 1]);
            bytes[at + 2..at + 2 + record.len()].copy_from_slice(record);
            bytes[108 + i * 2..110 + i * 2].copy_from_slice(&(at as u16).to_be_bytes());
        }
        write_header(&mut bytes[100..], PageKind::LeafTable, 2, at);
        problems(&check_bytes(&bytes)).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let sql = text("CREATE x");
    let no_row = ["sqlite_schema: 1 rows are not (type, name, table, root page, statement)"];
    assert_eq!(check(&[text("view"), text("v"), text("v"), Value::Int(0)]), no_row);
    assert_eq!(check(&[text("view"), text("v"), text("v"), Value::Int(0), sql, sql]), no_row);
    assert_eq!(check(&[text("view"), text("v"), text("v"), text("0"), sql]), no_row);
    assert_eq!(check(&[text("view"), text("v"), text("v"), Value::Real(0.0), sql]), no_row);
    assert_eq!(check(&[text("view"), text("v"), Value::Null, Value::Int(0), sql]), no_row);
    assert_eq!(check(&[text("view"), text("v"), text("v"), Value::Int(0), Value::Int(5)]), no_row);
    assert_eq!(check(&[Value::Blob(b"view"), text("v"), text("v"), Value::Int(0), sql]), no_row);
    let object = |kind, root, sql| check(&[text(kind), text("o"), text("t"), root, sql]);
    let virtual_table = text("create Virtual TABLE o USING x");
    for (kind, root, sql) in [
        ("view", Value::Int(0), sql),
        ("trigger", Value::Int(0), sql),
        ("trigger", Value::Null, sql),
        ("table", Value::Int(0), virtual_table),
        ("table", Value::Null, virtual_table),
    ] {
        assert!(object(kind, root, sql).is_empty(), "{kind} {root:?}");
    }
    let one = |what: &str| vec![format!("sqlite_schema: {what}")];
    assert_eq!(object("thing", Value::Int(0), sql), one("the schema has a thing o: there is no such thing"));
    assert_eq!(object("view", Value::Int(0), Value::Null), one("view o has no statement"));
    assert_eq!(object("table", Value::Int(1), sql), one("table o can't have root page 1"));
    assert_eq!(object("table", Value::Int(-7), sql), one("table o can't have root page -7"));
    assert_eq!(object("index", Value::Int(0), sql), one("index o can't have root page 0"));
    assert_eq!(object("view", Value::Int(1), sql), one("view o has root page 1, but nothing to keep there"));
    assert_eq!(
        object("table", Value::Int(2), virtual_table)[0],
        "sqlite_schema: table o has root page 2, but nothing to keep there"
    );
    assert_eq!(object("table", Value::Int(2), sql), ["o: refers to page 2, which is already used elsewhere"]);
    assert_eq!(
        object("table", Value::Int(1 << 40), sql),
        one(&format!("table o can't have root page {}", 1u64 << 40))
    );
}

#[test]
fn an_index_belongs_to_a_table_and_has_as_many_entries() {
    for (index, sound) in [
        ("CREATE INDEX i ON t (a)", false),
        ("CREATE INDEX i ON T (a DESC, b)", false),
        ("CREATE INDEX i ON t (a) WHERE a > 5", true),
    ] {
        let home = Home::new();
        let db = open(&home.path);
        db.execute_batch(&format!("CREATE TABLE T (a, b); INSERT INTO t VALUES (1, 2), (6, 7); {index}"))
            .unwrap();
        let mut file = File::of(home.bytes());
        // The index loses its last entry, as far as its page goes.
        let root = file.root("i");
        let (cells, gone) = (file.cells(root), file.half(root, 5));
        let next = if cells > 1 { file.cell(root, cells - 2) } else { 4096 };
        file.set_half(root, 3, cells - 1);
        file.set_half(root, 5, next);
        assert!(gone < next);
        if sound {
            assert!(file.report().is_sound(), "{}", problems(&file.report()));
        } else {
            file.expect(&["index i has 1 entries for 2 rows"]);
            file.sqlite_agrees();
        }
    }
    let home = Home::new();
    let db = open(&home.path);
    db.execute_batch("CREATE TABLE t (a UNIQUE); PRAGMA writable_schema = on; UPDATE sqlite_schema SET tbl_name = 'u' WHERE type = 'index'").unwrap();
    let report = check_bytes(&home.bytes());
    assert_eq!(problems(&report), "index sqlite_autoindex_t_1 is of u, which is no table\n");
}

#[test]
fn the_header_says_what_is_so() {
    let sound = File::plain();
    let with = |at: usize, to: u8| {
        let mut file = sound.clone();
        file.bytes[at] = to;
        let found = problems(&file.report());
        found.trim_end().to_owned()
    };
    assert_eq!(with(18, 3), "page 1: the write version is 3");
    assert_eq!(with(19, 0), "page 1: the read version is 0");
    assert_eq!(with(18, 2) + &with(19, 2), "");
    assert_eq!(with(47, 5), "page 1: the schema format is 5, not 1 to 4");
    assert_eq!(with(47, 0), "page 1: the schema format is 0, not 1 to 4");
    assert_eq!(with(47, 1) + &with(47, 4), "");
    assert_eq!(with(59, 4), "page 1: the text encoding is 4, not 1 to 3");
    assert_eq!(with(59, 0), "page 1: the text encoding is 0, not 1 to 3");
    assert_eq!(with(67, 1), "page 1: incremental vacuum is on without auto_vacuum");
    for at in [72, 80, 91] {
        assert_eq!(with(at, 1), "page 1: bytes 72 to 91 of the header are not all zero");
    }
    assert_eq!(with(0, b's'), "page 1: the file does not begin as a SQLite database does");
    assert_eq!(with(17, 1), "page 1: the header names no legal page size and reserved bytes");
    assert_eq!(with(21, 1), "page 1: the payload fractions in the header are not 64, 32 and 32");
    // What may be anything.
    for at in [27, 43, 51, 63, 71, 95, 99] {
        assert_eq!(with(at, 77), "", "{at}");
    }
    let short = check_bytes(&sound.bytes[..99]);
    assert_eq!(problems(&short), "page 1: the file is shorter than the 100 bytes of a database header\n");
    assert_eq!((short.header, short.problem_count), (None, 1));
}

#[test]
fn a_file_of_no_bytes_or_no_tables_is_a_database() {
    assert!(assert_sound(&[]).trees.is_empty());
    for sql in [
        "PRAGMA user_version = 7",
        "PRAGMA auto_vacuum = 1; PRAGMA user_version = 7",
        "CREATE TABLE t (a); DROP TABLE t",
    ] {
        let report = assert_sound(&sqlite(sql));
        assert_eq!((report.trees.len(), report.trees[0].rows, report.trees[0].depth), (1, 0, 1));
    }
}

#[test]
fn the_page_count_holds_if_its_change_counter_does() {
    let mut file = File::plain();
    let pages = file.pages();
    let whole = file.bytes.clone();
    // What comes after the last page is no part of the database.
    file.bytes.extend([7; 700]);
    let report = assert_sound(&file.bytes);
    assert_eq!((report.page_count, report.trailing_bytes), (pages, 700));
    assert_eq!(file.sound.trailing_bytes, 0);
    // Then the size of the file counts.
    file.bytes = whole;
    file.set_word(1, 28, 3);
    file.set_word(1, 92, 12345);
    assert_eq!(assert_sound(&file.bytes).page_count, pages);
    file.set_word(1, 28, 0);
    let counter = file.word(1, 24);
    file.set_word(1, 92, counter);
    assert_eq!(assert_sound(&file.bytes).page_count, pages);
    file.bytes.push(0);
    file.expect(&["the file ends within a page"]);
    file.bytes.truncate(300);
    file.expect(&["the file ends within a page"]);
    file.set_word_of_header(28, 1);
    file.expect(&["the header counts 1 pages, the file has 0"]);
}

impl File {
    fn set_word_of_header(&mut self, at: usize, to: u32) {
        self.bytes[at..at + 4].copy_from_slice(&to.to_be_bytes());
    }
}

#[test]
fn a_report_lists_some_problems_and_counts_all() {
    let mut file = File::plain();
    let root = file.root("t");
    for cell in 0..10 {
        let at = file.cell(root, cell);
        file.set_word(root, at, 0);
    }
    let Ok(report) = check::check(
        &mut &file.bytes[..],
        file.bytes.len() as u64,
        &Options { problems_max: 4, ..Options::default() },
    );
    assert_eq!(report.problems.len(), 4);
    assert!(report.problem_count > 10);
    assert_eq!(Options::default().problems_max, 100);
    assert_eq!(Options::default().pending_byte, PENDING_BYTE);
}

#[test]
fn the_schema_alone_is_read_when_that_is_asked_for() {
    struct Counted<'a>(&'a [u8], Vec<u32>);
    impl check::ReadPage for Counted<'_> {
        type Error = u32;
        fn read_page(&mut self, number: u32, into: &mut [u8]) -> Result<(), u32> {
            self.1.push(number);
            let start = (number as usize - 1) * into.len();
            into.copy_from_slice(self.0.get(start..start + into.len()).ok_or(number)?);
            Ok(())
        }
    }
    let file = File::plain();
    let mut pages = Counted(&file.bytes, Vec::new());
    let options = Options { schema_only: true, ..Options::default() };
    let report = check::check(&mut pages, file.bytes.len() as u64, &options).unwrap();
    assert!(report.is_sound(), "{}", problems(&report));
    let names: Vec<&str> = report.trees.iter().map(|tree| &tree.name[..]).collect();
    assert_eq!(names, ["sqlite_schema", "t", "big", "w", "i"]);
    assert_eq!(report.trees[4].table, "t");
    assert!(report.trees[0].rows == 5 && report.trees[1].rows == 0 && report.trees[1].depth == 0);
    assert!(pages.1.len() < 8, "{:?}", pages.1);
    // What can't be read ends the check.
    let Err(page) = check::check(&mut Counted(&file.bytes[..2000], Vec::new()), 1 << 20, &Options::default())
    else {
        panic!("the file is shorter than it says")
    };
    assert!(page > 3);
}

#[test]
fn pointer_maps_say_what_each_page_is() {
    let file = File::auto_vacuum();
    assert!(file.sound.freelist_pages > 0 && file.sound.pointer_map_pages > 0);
    let (_, chain) = file.chain();
    let (t, trunk) = (file.root("t"), file.word(1, 32));
    let leaf = file.child(t, 0);
    let free = file.word(trunk, 8);
    let big = file.root("big");
    for (page, kind, parent) in
        [(t, 1, 0), (trunk, 2, 0), (free, 2, 0), (chain[0], 3, big), (chain[1], 4, chain[0]), (leaf, 5, t)]
    {
        let (map, at) = place_in_map(page);
        let (map_page, entry) = (map, at);
        assert_eq!((file.page(map_page)[entry], file.word(map_page, entry + 1)), (kind, parent));
        let mut other = file.clone();
        other.page_mut(map_page)[entry] = 7;
        other.expect(&[&format!(
            "{}page {map_page}: the pointer map says kind 7 and parent {parent} of page {page}, but it is {kind} and {parent}",
            tree_name(kind, page, t, big)
        )]);
        other.sqlite_agrees();
        let mut other = file.clone();
        other.set_word(map_page, entry + 1, parent + 1);
        other.expect(&[&format!(
            "{}page {map_page}: the pointer map says kind {kind} and parent {} of page {page}, but it is {kind} and {parent}",
            tree_name(kind, page, t, big),
            parent + 1
        )]);
        other.sqlite_agrees();
    }
}

fn tree_name(kind: u8, _page: u32, _t: u32, _big: u32) -> &'static str {
    match kind {
        1 | 5 => "t: ",
        2 => "",
        _ => "big: ",
    }
}

/// Pages of 512 bytes have maps of 102 entries: the map of page `number`, and where in it.
fn place_in_map(number: u32) -> (u32, usize) {
    let map = (number - 2) / 103 * 103 + 2;
    (map, (number - map - 1) as usize * 5)
}

#[test]
fn a_pointer_map_is_no_child_and_the_largest_root_is_named() {
    let mut file = File::auto_vacuum();
    let root = file.root("t");
    let at = file.cell(root, 0);
    file.set_word(root, at, 2);
    file.expect_among(&format!("t: page {root}: refers to page 2, which is a pointer map"));
    file.sqlite_agrees();
    let mut file = File::auto_vacuum();
    let largest = file.word(1, 52);
    file.set_word(1, 52, largest + 1);
    file.expect(&[&format!("page 1: the largest root page is {largest}, the header says {}", largest + 1)]);
    file.sqlite_agrees();
    // No map without auto_vacuum: its page is of no use then.
    file.set_word(1, 52, 0);
    file.expect_among("page 2: is never used");
    file.expect_among("page 1: incremental vacuum is on without auto_vacuum");
}

/// Whether SQLite's complaint is about the file's structure, which is what the checker promises to find.
fn is_structural(complaint: &str) -> bool {
    let beyond = [
        "missing from index",
        "non-unique entry",
        "malformed database schema",
        "PRIMARY KEY order",
        "NULL value in",
        "values differ from index",
        "rowid not at end",
    ];
    complaint.lines().any(|line| !beyond.iter().any(|known| line.contains(known)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn what_sqlite_finds_is_found(
        auto_vacuum in any::<bool>(),
        faults in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![0..16usize, 0..512usize], any::<u8>()), 1..3),
        swap in prop::option::weighted(0.2, any::<[prop::sample::Index; 2]>()),
    ) {
        let mut file = sample(auto_vacuum).clone();
        for (page, at, to) in faults {
            let page = page.index(file.pages() as usize) as u32 + 1;
            // Behind the cell pointers of page 1 are the statements, which only SQLite reads.
            file.page_mut(page)[if page == 1 { at % 118 } else { at }] = to;
        }
        if let Some(pages) = swap {
            let [a, b] = pages.map(|page| page.index(file.pages() as usize) as u32 + 1);
            let page = file.page(a).to_vec();
            let other = file.page(b).to_vec();
            file.page_mut(a).copy_from_slice(&other);
            file.page_mut(b).copy_from_slice(&page);
        }
        let home = Home::new();
        let complaint = integrity(&home.open_with(&file.bytes));
        let report = file.report();
        prop_assert!(complaint == "ok" || !is_structural(&complaint) || !report.is_sound(), "{}", complaint);
    }

    #[test]
    fn no_bytes_make_the_checker_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..4000), pages in 0..9u32, auto_vacuum in 0..3u32) {
        let mut header = Header::new(geometry(512, bytes.first().map_or(0, |byte| byte % 33)), pages, 1);
        header.freelist_trunk = pages / 2;
        header.largest_root = auto_vacuum;
        let n = bytes.len().min(100);
        bytes[..n].copy_from_slice(&header.to_bytes()[..n]);
        check_bytes(&bytes);
    }
}

/// The two databases, made once.
fn sample(auto_vacuum: bool) -> &'static File {
    static FILES: std::sync::LazyLock<[File; 2]> =
        std::sync::LazyLock::new(|| [File::plain(), File::auto_vacuum()]);
    &FILES[usize::from(auto_vacuum)]
}
