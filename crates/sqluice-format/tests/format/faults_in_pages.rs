//! Faults planted in B-tree pages, overflow chains and records: the checker finds each one and names its place.

use crate::support::damage::*;
use crate::support::*;
use sqluice_format::page::{PageKind, write_header};
use sqluice_format::record;
use sqluice_format::value::Value;

#[test]
fn a_child_outside_the_file_is_reported() {
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
fn a_file_that_lacks_its_last_page_is_reported() {
    // In a sound file, the last page is the child of some page.
    let file = File::plain();
    assert_eq!(u64::from(file.pages()) * 512, file.bytes.len() as u64);
    let cut = &file.bytes[..file.bytes.len() - 512];
    let report = check_bytes(cut);
    let line = format!("the header counts {} pages, the file has {}", file.pages(), file.pages() - 1);
    assert_eq!(report.problems[0].to_string(), line);
    assert_eq!(report.page_count, file.pages() - 1);
}

#[test]
fn a_page_that_two_cells_refer_to_is_reported() {
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
fn the_lock_byte_page_as_a_child_is_reported() {
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
fn consecutive_unused_pages_are_reported_together() {
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
fn a_page_of_an_unknown_kind_or_the_kind_of_another_tree_is_reported() {
    let mut file = File::plain();
    let (t, w) = (file.root("t"), file.root("w"));
    let leaf = file.child(t, 1);
    let index_leaf = file.child(w, 0);
    let (whole, other) = (file.page(leaf).to_vec(), file.page(index_leaf).to_vec());
    file.page_mut(leaf)[0] = 0;
    file.expect_among(&format!("t: page {leaf}: 0 is not a kind of B-tree page"));
    file.page_mut(leaf).copy_from_slice(&other);
    file.expect_among(&format!("t: page {leaf}: a page of kind 10 belongs to a tree of another kind"));
    file.sqlite_agrees();
    file.page_mut(leaf).copy_from_slice(&whole);
    file.page_mut(index_leaf).copy_from_slice(&whole);
    file.expect_among(&format!("w: page {index_leaf}: a page of kind 13 belongs to a tree of another kind"));
    file.sqlite_agrees();
}

#[test]
fn a_content_start_within_the_cell_pointers_or_past_the_page_is_reported() {
    let mut file = File::plain();
    let root = file.root("t");
    let leaf = file.child(root, 0);
    let whole = file.page(leaf).to_vec();
    let cells = file.cells(leaf);
    let content = file.half(leaf, 5);
    file.set_half(leaf, 3, 260);
    file.expect_among(&format!(
        "t: page {leaf}: 260 cell pointers end at byte 528, but cells begin at byte {content} of 512"
    ));
    file.page_mut(leaf).copy_from_slice(&whole);
    file.set_half(leaf, 5, 8 + cells * 2 - 1);
    file.expect_among(&format!(
        "t: page {leaf}: {cells} cell pointers end at byte {}, but cells begin at byte {} of 512",
        8 + cells * 2,
        8 + cells * 2 - 1
    ));
    for (stored, content) in [(513, 513), (0, 65536)] {
        file.set_half(leaf, 5, stored);
        file.expect_among(&format!(
            "t: page {leaf}: {cells} cell pointers end at byte {}, but cells begin at byte {content} of 512",
            8 + cells * 2
        ));
    }
    file.sqlite_agrees();
}

#[test]
fn cells_outside_the_content_area_or_the_page_are_reported() {
    let mut file = File::plain();
    let root = file.root("t");
    let leaf = file.child(root, 0);
    let pointer = file.pointer(leaf, 1);
    let content = file.half(leaf, 5);
    let last = file.cell(leaf, 0);
    for bad in [content - 1, 509, 65535] {
        file.set_half(leaf, pointer, bad);
        file.expect(&[
            &format!("t: page {leaf}: cell 1 is at byte {bad}, outside the cell content area"),
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
    // A payload that would overflow, whose local part would end after the page.
    file.page_mut(leaf)[last..last + 2].copy_from_slice(&[0x84, 0]);
    file.expect_among(&format!("t: page {leaf}: cell 0 does not fit the page"));
    // A payload of 2^31 bytes, which SQLite never reads, and one of a byte less, which lacks its overflow pages.
    let first = file.half(leaf, 5);
    let mut huge = File::plain();
    huge.page_mut(leaf)[first..first + 5].copy_from_slice(&[0x87, 0xff, 0xff, 0xff, 0x7f]);
    assert!(!problems(&huge.report()).contains("does not fit"), "{}", problems(&huge.report()));
    file.page_mut(leaf)[last..last + 5].copy_from_slice(&[0x88, 0x80, 0x80, 0x80, 0]);
    file.expect_among(&format!("t: page {leaf}: cell 0 does not fit the page"));
}

#[test]
fn lost_bytes_and_bytes_used_twice_are_reported() {
    let mut file = File::plain();
    let root = file.root("t");
    let leaf = file.child(root, 0);
    let whole = file.page(leaf).to_vec();
    let content = file.half(leaf, 5);
    // The header counts a fragment that does not exist.
    file.page_mut(leaf)[7] = 1;
    file.expect(&[&format!("t: page {leaf}: 0 bytes are lost between the cells, but the page says 1")]);
    file.sqlite_agrees();
    // The header says that the cells begin before the first cell.
    file.page_mut(leaf)[7] = 0;
    file.set_half(leaf, 5, content - 3);
    file.expect(&[&format!("t: page {leaf}: 3 bytes are lost between the cells, but the page says 0")]);
    file.sqlite_agrees();
    file.page_mut(leaf)[7] = 3;
    assert!(file.report().is_sound());
    // The header counts one cell too few.
    file.page_mut(leaf).copy_from_slice(&whole);
    let cells = file.cells(leaf);
    let gone = file.cell(leaf, cells - 1);
    let size = file.cell(leaf, cells - 2) - gone;
    assert_eq!(gone, content);
    file.set_half(leaf, 3, cells - 1);
    file.expect_among(&format!(
        "t: page {leaf}: {size} bytes are lost between the cells, but the page says 0"
    ));
    // Two cell pointers lead to one cell.
    file.page_mut(leaf).copy_from_slice(&whole);
    let (to, at) = (file.cell(leaf, 1), file.pointer(leaf, 2));
    file.set_half(leaf, at, to);
    file.expect_among(&format!("t: page {leaf}: byte {to} is used twice"));
    file.sqlite_agrees();
}

/// Returns a database with freeblocks, the page that has them, and their offsets.
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
fn freeblocks_out_of_order_or_place_or_of_impossible_size_are_reported() {
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
        (blocks[0] + 2, 3, format!("the freeblock at byte {} has an impossible size: 3 bytes", blocks[0])),
        (
            blocks[2] + 2,
            513 - blocks[2],
            format!("the freeblock at byte {} has an impossible size: {} bytes", blocks[2], 513 - blocks[2]),
        ),
        (blocks[1] + 2, 2 * size + 1, format!("byte {} is used twice", blocks[1] + 2 * size)),
        (blocks[1] + 2, 2 * size - 1, "1 bytes are lost between the cells, but the page says 0".to_owned()),
        (1, blocks[1], format!("{size} bytes are lost between the cells, but the page says 0")),
    ];
    for (at, to, what) in cases {
        let mut file = sound.clone();
        file.set_half(page, at, to);
        file.expect(&[&format!("t: page {page}: {what}")]);
        file.sqlite_agrees();
    }
    // A freeblock at the very end of the cells is in an allowed place, but its bytes are used twice.
    let mut file = sound;
    file.set_half(page, blocks[2], 508);
    file.page_mut(page)[508..].copy_from_slice(&[0, 0, 0, 4]);
    file.expect(&[&format!("t: page {page}: byte 508 is used twice")]);
}

#[track_caller]
fn expect_tree(pages: Vec<Vec<u8>>, expected: &[&str]) {
    let found = problems(&check_bytes(&tree_of(pages)));
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn freeblocks_may_be_as_close_as_four_bytes() {
    // A row of one NULL is a cell of four bytes. Every second row is deleted.
    let sql = "PRAGMA page_size = 512; CREATE TABLE t (a);
        INSERT INTO t VALUES (NULL), (NULL), (NULL), (NULL), (NULL); DELETE FROM t WHERE rowid IN (2, 4)";
    let file = File::of(sqlite(sql));
    let first = file.half(2, 1);
    assert_eq!((file.half(2, first), file.half(2, first + 2)), (first + 8, 4));
}

#[test]
fn a_page_without_cells_is_reported_unless_it_is_an_empty_root() {
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
fn children_of_unequal_depth_are_reported() {
    let what = "t: page 2: its children are not equally deep";
    expect_tree(vec![interior(&[(3, 5)], 4), leaf(5), interior(&[(5, 6)], 6), leaf(6), leaf(7)], &[what]);
    expect_tree(vec![interior(&[(4, 6)], 3), leaf(7), interior(&[(5, 5)], 6), leaf(5), leaf(6)], &[what]);
    expect_tree(vec![interior(&[(3, 5)], 4), leaf(5), leaf(6)], &[]);
}

#[test]
fn a_tree_of_more_than_twenty_levels_is_reported() {
    let chain = |levels: u8| {
        let mut pages: Vec<Vec<u8>> = (0..levels - 1).map(|i| interior(&[], i + 3)).collect();
        pages.push(leaf(1));
        problems(&check_bytes(&tree_of(pages)))
    };
    assert!(!chain(20).contains("levels"));
    assert!(chain(21).contains("t: page 22: the tree has more than 20 levels\n"));
}

#[test]
fn a_page_below_itself_is_reported() {
    let what = "refers to page 2, which is already used elsewhere";
    let none = "t: page 2: a page other than an empty root has no cells";
    expect_tree(vec![interior(&[], 2)], &[none, &format!("t: page 2: {what}")]);
    let twice = format!("t: page 3: {what}");
    let other = "t: page 3: refers to page 3, which is already used elsewhere";
    expect_tree(vec![interior(&[], 3), interior(&[(3, 5)], 2)], &[none, other, &twice]);
}

#[test]
fn rowids_that_do_not_ascend_or_exceed_their_divider_are_reported() {
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
    // Three levels: the limit in the root applies to the rightmost leaf below its child.
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
    // A rowid that does not ascend, and one that is too large, are found within a single leaf, too.
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
fn an_overflow_chain_that_is_too_short_too_long_or_circular_is_reported() {
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

/// Returns the problems of a database whose table has one leaf with this record, one problem per line.
fn of_record(bytes: &[u8]) -> String {
    let bytes = database(geometry(512, 0), &[(1, bytes.to_vec())], 1000);
    problems(&check_bytes(&bytes))
}

#[test]
fn a_record_whose_header_does_not_describe_all_of_its_bytes_is_reported() {
    let header = "its header does not end where it should";
    let reserved = "it has a serial type of 10 or 11";
    let body = "its values take more or fewer bytes than it has";
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
        let line = format!("t: page 2: the cell at byte {} is not a record: {why}\n", at(record.len()));
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
fn a_record_header_on_overflow_pages_is_checked() {
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
        assert!(found.ends_with("its values take more or fewer bytes than it has\n"), "{columns}: {found}");
    }
}
