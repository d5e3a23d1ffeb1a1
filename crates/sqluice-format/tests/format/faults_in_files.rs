//! Faults planted in the header, the freelist, the schema and the pointer maps: the checker finds each one. Faults planted at random: the
//! checker finds a file unsound if SQLite's integrity_check finds structural damage.

use crate::support::damage::*;
use crate::support::*;
use proptest::prelude::*;
use sqluice_format::check::{self, Options, TreeKind};
use sqluice_format::database::Header;
use sqluice_format::page::{PENDING_BYTE, PageKind, write_header};
use sqluice_format::record;
use sqluice_format::value::Value;

#[test]
fn a_freelist_that_breaks_off_or_differs_from_the_header_is_reported() {
    let mut file = File::plain();
    let count = file.word(1, 36);
    assert_eq!((file.sound.freelist_pages, file.sound.freelist_trunk_pages), (count, 1));
    assert!(count > 2);
    file.set_word(1, 36, count + 1);
    file.expect(&[&format!("page 1: the freelist has {count} pages, the header says {}", count + 1)]);
    file.sqlite_agrees();
    // If the freelist breaks off, only that is reported, and not its wrong length.
    let trunk = file.word(1, 32);
    file.set_word(trunk, 0, 1_000_000);
    file.expect(&[&format!(
        "page {trunk}: refers to page 1000000, but pages run from 1 to {}",
        file.pages()
    )]);
    file.set_word(trunk, 0, 0);
    let leaf = file.word(trunk, 8);
    file.set_word(trunk, 8, 0);
    file.set_word(1, 36, count);
    file.expect(&[
        &format!("page {trunk}: refers to page 0, but pages run from 1 to {}", file.pages()),
        &format!("page {leaf}: is never used"),
    ]);
    assert_eq!(file.report().freelist_pages, count - 1);
    file.set_word(1, 32, 1_000_000);
    file.expect_among(&format!("page 1: refers to page 1000000, but pages run from 1 to {}", file.pages()));
}

#[test]
fn a_trunk_page_with_more_leaves_than_fit_is_reported() {
    let mut file = File::plain();
    let trunk = file.word(1, 32);
    let count = file.word(1, 36);
    file.set_word(trunk, 4, 127);
    file.expect_among(&format!("page {trunk}: a freelist page can't have 127 leaves"));
    assert_eq!((count > 2, file.report().freelist_pages), (true, 1));
    // A trunk page of this size has at most 126 leaves.
    file.set_word(trunk, 4, 126);
    assert!(!problems(&file.report()).contains("can't have"));
    file.sqlite_agrees();
}

#[test]
fn a_trunk_page_that_refers_to_an_earlier_trunk_page_is_reported() {
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
fn a_table_with_rowids_whose_root_is_an_index_page_is_reported() {
    let mut file = File::plain();
    let (t, i) = (file.root("t"), file.root("i"));
    // The row of the schema: ... t, t, root page, CREATE ...
    let page = file.page_mut(1);
    let row = [b"tt", &[t as u8][..], b"CREATE TABLE t"].concat();
    let at = page.windows(row.len()).position(|bytes| bytes == row).unwrap();
    page[at + 2] = i as u8;
    file.expect_among(&format!("t: page {i}: a table with rowids has its rows in an index"));
    file.expect_among(&format!("i: refers to page {i}, which is already used elsewhere"));
    let kind = |name: &str| file.sound.trees.iter().find(|tree| tree.name == name).unwrap().kind;
    assert_eq!([kind("t"), kind("w"), kind("i")], [TreeKind::Table, TreeKind::WithoutRowid, TreeKind::Index]);
    assert_eq!(file.report().trees[1].kind, TreeKind::WithoutRowid);

    // The root of a table is a leaf of an index.
    let mut file = File::plain();
    let (big, leaf) = (file.root("big"), file.child(i, 0));
    let leaf = file.page(leaf).to_vec();
    file.page_mut(big).copy_from_slice(&leaf);
    file.expect_among(&format!("big: page {big}: a table with rowids has its rows in an index"));
}

#[test]
fn rows_of_the_schema_table_that_sqlite_would_not_write_are_reported() {
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
    let no_row =
        ["sqlite_schema: 1 row does not have valid values of type, name, tbl_name, rootpage and sql"];
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
    assert_eq!(object("thing", Value::Int(0), sql), one("the schema has a thing o: no such kind exists"));
    assert_eq!(object("view", Value::Int(0), Value::Null), one("view o has no statement"));
    assert_eq!(object("table", Value::Int(1), sql), one("table o can't have root page 1"));
    assert_eq!(object("table", Value::Int(-7), sql), one("table o can't have root page -7"));
    assert_eq!(object("index", Value::Int(0), sql), one("index o can't have root page 0"));
    assert_eq!(object("view", Value::Int(1), sql), one("view o has root page 1, not 0"));
    assert_eq!(
        object("table", Value::Int(2), virtual_table)[0],
        "sqlite_schema: table o has root page 2, not 0"
    );
    assert_eq!(object("table", Value::Int(2), sql), ["o: refers to page 2, which is already used elsewhere"]);
    assert_eq!(
        object("table", Value::Int(1 << 40), sql),
        one(&format!("table o can't have root page {}", 1u64 << 40))
    );
}

#[test]
fn an_index_that_lacks_entries_or_a_table_is_reported_unless_it_may_be_partial() {
    let fill = "x".repeat((1 << 20) + 100);
    for (index, sound) in [
        ("CREATE INDEX i ON t (a)".to_owned(), false),
        ("CREATE INDEX i ON T (a DESC, b)".to_owned(), false),
        ("CREATE INDEX i ON t (a) WHERE a > 5".to_owned(), true),
        // A statement whose end is not read could end with WHERE.
        (format!("CREATE INDEX i ON t (a) /* {fill} */"), true),
    ] {
        let home = Home::new();
        let db = open(&home.path);
        db.execute_batch(&format!("CREATE TABLE T (a, b); INSERT INTO t VALUES (1, 2), (6, 7); {index}"))
            .unwrap();
        let mut file = File::of(home.bytes());
        // The last entry of the index is removed from its page.
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
    assert_eq!(problems(&report), "index sqlite_autoindex_t_1 is of u, which is not a table\n");
}

#[test]
fn a_partial_index_whose_where_follows_a_megabyte_of_comment_is_sound() {
    let fill = "x".repeat((1 << 20) + 100);
    let sql = format!(
        "CREATE TABLE t (a); INSERT INTO t VALUES (1), (9); CREATE INDEX i ON t (a) /* {fill} */ WHERE a > 5"
    );
    let report = assert_sound(&sqlite(&sql));
    assert_eq!((report.trees[1].rows, report.trees[2].rows), (2, 1));
}

#[test]
fn cells_of_less_than_four_bytes_count_as_four_used_bytes() {
    let report =
        assert_sound(&sqlite("CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID; INSERT INTO t VALUES (0), (1)"));
    assert_eq!(
        (report.trees[1].rows, report.trees[1].payload_bytes, report.trees[1].used_bytes),
        (2, 4, 8 + 4 + 8)
    );
}

#[test]
fn a_check_of_some_tables_or_of_their_edges_finds_only_damage_there() {
    let sound = File::of(sqlite(
        "PRAGMA page_size = 512; CREATE TABLE t (a, b); CREATE TABLE u (a); CREATE INDEX i ON t (b);
         WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) INSERT INTO t SELECT i, 'text ' || i FROM n;
         INSERT INTO u SELECT b FROM t",
    ));
    let found = |file: &File, tables: &[&str], edges| {
        let options = Options { only: Some(check::Only { tables, edges }), ..Options::default() };
        let Ok(report) = check::check(&mut &file.bytes[..], file.bytes.len() as u64, &options);
        report.problem_count
    };
    let pages = sound.pages();
    let (mut at_edges, mut anywhere) = (0, 0);
    for page in 2..=pages {
        let mut file = sound.clone();
        file.bytes[(page as usize - 1) * 512] = 99;
        let (edges, whole, other) =
            (found(&file, &["T"], true), found(&file, &["t"], false), found(&file, &["u"], false));
        assert!(edges <= whole && (whole == 0 || other == 0), "page {page}: {edges} {whole} {other}");
        assert!(whole + other > 0, "page {page}");
        at_edges += edges;
        anywhere += whole;
    }
    assert!((6..=14).contains(&at_edges) && anywhere > 10 * at_edges, "{at_edges} {anywhere}");
    assert_eq!(found(&sound, &["t", "u"], true) + found(&sound, &["t", "u"], false), 0);
}

#[test]
fn unusual_header_fields_that_sqlite_accepts_are_remarks() {
    let sound = File::plain();
    let reserved = "bytes 72 to 91 of the header, which are reserved, are not all zero";
    for (at, to, what) in [
        (18, 0, "the write version in the header is 0, and SQLite treats it like 1"),
        (18, 3, "the write version is 3: SQLite reads it, and does not write to it"),
        (19, 0, "the read version in the header is 0, and SQLite treats it like 1"),
        (47, 0, "the schema format is 0, not 1 to 4: SQLite takes it as 1"),
        (59, 0, "the text encoding is 0, not 1 to 3: SQLite takes it as UTF-8"),
        (59, 4, "the text encoding is 4, not 1 to 3: SQLite takes it as UTF-8"),
        (59, 5, "the text encoding is 5, not 1 to 3: SQLite takes it as UTF-8"),
        (72, 1, reserved),
        (80, 1, reserved),
        (91, 1, reserved),
    ] {
        let mut file = sound.clone();
        file.bytes[at] = to;
        let report = file.report();
        let remarks: Vec<String> = report.remarks.iter().map(ToString::to_string).collect();
        assert_eq!((problems(&report).as_str(), remarks), ("", vec![format!("page 1: {what}")]));
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.db");
        std::fs::write(&path, &file.bytes).unwrap();
        let said = rusqlite::Connection::open(&path).unwrap();
        let said: String = said.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(said, "ok", "{what}");
    }
}

#[test]
fn wrong_fields_of_the_header_are_found() {
    let sound = File::plain();
    let with = |at: usize, to: u8| {
        let mut file = sound.clone();
        file.bytes[at] = to;
        let found = problems(&file.report());
        found.trim_end().to_owned()
    };
    assert_eq!(with(19, 3), "page 1: the read version is 3");
    assert_eq!(with(18, 2) + &with(19, 2), "");
    assert_eq!(with(47, 5), "page 1: the schema format is 5, not 1 to 4");
    assert_eq!(with(47, 1) + &with(47, 4), "");
    assert_eq!(with(67, 1), "page 1: incremental vacuum is on without auto_vacuum");
    assert_eq!(with(0, b's'), "page 1: the file does not begin with the bytes \"SQLite format 3\"");
    assert_eq!(with(17, 1), "page 1: the header names no legal page size and reserved bytes");
    assert_eq!(with(21, 1), "page 1: the payload fractions in the header are not 64, 32 and 32");
    // The fields of the header at these offsets may have any value.
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
fn the_page_count_of_the_header_is_used_only_if_its_change_counter_is_current() {
    let mut file = File::plain();
    let pages = file.pages();
    let whole = file.bytes.clone();
    // Bytes after the last page do not belong to the database.
    file.bytes.extend([7; 700]);
    let report = assert_sound(&file.bytes);
    assert_eq!((report.page_count, report.trailing_bytes), (pages, 700));
    assert_eq!(file.sound.trailing_bytes, 0);
    // Without a valid page count in the header, the size of the file gives the number of pages.
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
    for bytes in [300, 100] {
        file.bytes.truncate(bytes);
        file.expect(&["the file ends within a page"]);
    }
    file.bytes[28..32].copy_from_slice(&1u32.to_be_bytes());
    file.expect(&["the header counts 1 pages, the file has 0"]);
}

#[test]
fn a_report_lists_problems_up_to_a_limit_and_counts_all() {
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
fn a_check_of_the_schema_alone_lists_the_trees_without_reading_them() {
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
    // A page that can't be read ends the check with its error.
    let Err(page) = check::check(&mut Counted(&file.bytes[..2000], Vec::new()), 1 << 20, &Options::default())
    else {
        panic!("the file is shorter than it says")
    };
    assert!(page > 3);
}

#[test]
fn wrong_entries_of_pointer_maps_are_found() {
    let file = File::auto_vacuum();
    assert!(file.sound.freelist_pages > 0 && file.sound.pointer_map_pages > 0);
    let (_, chain) = file.chain();
    let (t, big, trunk) = (file.root("t"), file.root("big"), file.word(1, 32));
    let (leaf, free) = (file.child(t, 0), file.word(trunk, 8));
    for (tree, page, kind, parent) in [
        ("t: ", t, 1, 0),
        ("", trunk, 2, 0),
        ("", free, 2, 0),
        ("big: ", chain[0], 3, big),
        ("big: ", chain[1], 4, chain[0]),
        ("t: ", leaf, 5, t),
    ] {
        let (map, at) = place_in_map(page);
        assert_eq!((file.page(map)[at], file.word(map, at + 1)), (kind, parent));
        let expect = |file: &File, said: u8, of: u32| {
            file.expect(&[&format!(
                "{tree}page {map}: the pointer map says kind {said} and parent {of} of page {page}, but it is {kind} and {parent}"
            )]);
            file.sqlite_agrees();
        };
        let mut other = file.clone();
        other.page_mut(map)[at] = 7;
        expect(&other, 7, parent);
        let mut other = file.clone();
        other.set_word(map, at + 1, parent + 1);
        expect(&other, kind, parent + 1);
    }
}

/// Returns the map page of page `number`, and the offset of its entry. Maps of pages of 512 bytes have 102 entries.
fn place_in_map(number: u32) -> (u32, usize) {
    let map = (number - 2) / 103 * 103 + 2;
    (map, (number - map - 1) as usize * 5)
}

#[test]
fn a_pointer_map_as_a_child_and_a_wrong_largest_root_are_reported() {
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
    // Without auto_vacuum there is no map, so its page is unused.
    file.set_word(1, 52, 0);
    file.expect_among("page 2: is never used");
    file.expect_among("page 1: incremental vacuum is on without auto_vacuum");
}

/// Returns true if SQLite's message is about the structure of the file, which the checker must find, too.
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
    #![proptest_config(cases(150))]

    #[test]
    fn every_fault_that_integrity_check_finds_is_found(
        auto_vacuum in any::<bool>(),
        faults in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![0..16usize, 0..512usize], any::<u8>()), 1..3),
        swap in prop::option::weighted(0.2, any::<[prop::sample::Index; 2]>()),
    ) {
        let mut file = sample(auto_vacuum).clone();
        for (page, at, to) in faults {
            let page = page.index(file.pages() as usize) as u32 + 1;
            // The statements after the cell pointers of page 1 are left out, because only SQLite reads them.
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

/// Returns one of two databases, which are made once: without auto_vacuum, or with it.
fn sample(auto_vacuum: bool) -> &'static File {
    static FILES: std::sync::LazyLock<[File; 2]> =
        std::sync::LazyLock::new(|| [File::plain(), File::auto_vacuum()]);
    &FILES[usize::from(auto_vacuum)]
}
