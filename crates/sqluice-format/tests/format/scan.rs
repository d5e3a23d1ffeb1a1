//! Scans of trees: they return all entries of trees that SQLite wrote. Each planted fault ends a scan with an error, and no random damage
//! makes a scan panic.

use crate::support::values::Owned;
use crate::support::*;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice_format::check::ReadPage;
use sqluice_format::database::Header;
use sqluice_format::key::{KeyColumn, KeyOrder};
use sqluice_format::page::Geometry;
use sqluice_format::record;
use sqluice_format::scan::{Cursor, Damage, Kind, Leaf, Reader, Scan, ScanError, Tree, Visit};
use sqluice_format::value::{Class, SerialType};
use sqluice_format::varint;

/// Returns the tree at `root` of a database.
fn tree(bytes: &[u8], root_page: u32, kind: Kind) -> Tree {
    let geometry = Header::from_bytes(bytes).unwrap().geometry;
    Tree { root_page, kind, geometry, page_count: (bytes.len() / geometry.page_bytes()) as u32 }
}

/// Returns all entries. The parts are read from the last to the first.
fn scan(bytes: &[u8], tree: Tree, fields: usize) -> Result<Vec<Row>, Damage> {
    let damaged = |error| match error {
        ScanError::Damaged(damage) => damage,
        ScanError::Stopped(never) => match never {},
    };
    let mut pages = bytes;
    let scan = Scan::new(&mut pages, tree).map_err(damaged)?.with_fields(fields);
    let mut reader = Reader::default();
    let mut parts = Vec::new();
    for part in (0..scan.parts()).rev() {
        let mut entries: Vec<Row> = Vec::new();
        let each = |rowid, record: &[u8]| {
            entries.push((rowid, record.to_vec()));
            Ok(())
        };
        scan.read(part, &mut pages, &mut reader, each).map_err(damaged)?;
        parts.push(entries);
    }
    Ok(parts.into_iter().rev().flatten().collect())
}

/// Returns the entries from the first one on for which `before` is false.
fn from(
    bytes: &[u8],
    tree: Tree,
    before: impl FnMut(i64, &[u8]) -> bool,
) -> Result<Vec<Row>, ScanError<std::convert::Infallible>> {
    let mut pages = bytes;
    let mut cursor = Cursor::new(tree);
    let mut is_left = cursor.seek(&mut pages, before)?;
    let mut rows = Vec::new();
    while is_left {
        assert!(cursor.position().is_some());
        rows.push((cursor.rowid(), cursor.record().to_vec()));
        is_left = cursor.next(&mut pages)?;
    }
    assert_eq!(cursor.position(), None);
    Ok(rows)
}

fn root(db: &Connection, name: &str) -> u32 {
    db.query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [name], |row| row.get(0)).unwrap()
}

/// Returns the rows of a query, each as the values of a record.
fn queried(db: &Connection, sql: &str) -> Vec<Vec<Owned>> {
    let mut statement = db.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns).map(|column| Ok(Owned::from(row.get_ref(column)?))).collect::<rusqlite::Result<Vec<_>>>()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn decoded(record: &[u8]) -> Vec<Owned> {
    record::decode(record).unwrap().iter().map(Owned::from).collect()
}

/// Makes a database whose rows were inserted in any order, changed and deleted, some of them large.
fn lived_in(page_bytes: u32, rows: &[(i64, usize)], deleted: i64) -> Home {
    let home = Home::new();
    let db = open(&home.path);
    db.execute_batch(&format!(
        "PRAGMA page_size = {page_bytes};
         CREATE TABLE t (a, b, c);
         CREATE INDEX ab ON t (a DESC, b);
         CREATE TABLE w (k, v, PRIMARY KEY (k)) WITHOUT ROWID;
         BEGIN"
    ))
    .unwrap();
    for (rowid, bytes) in rows {
        let text = "x".repeat(*bytes);
        db.execute(
            "INSERT OR REPLACE INTO t (rowid, a, b, c) VALUES (?1, ?1 % 7, ?2, zeroblob(?3))",
            (rowid, &text, *bytes as i64 / 2),
        )
        .unwrap();
        db.execute("INSERT OR REPLACE INTO w VALUES (?1 || ?2, ?2)", (&text, rowid)).unwrap();
    }
    db.execute_batch(&format!(
        "DELETE FROM t WHERE rowid % {deleted} = 0; DELETE FROM w WHERE v % {deleted} = 0;
         UPDATE t SET b = b || 'y' WHERE rowid % 5 = 1; COMMIT"
    ))
    .unwrap();
    home
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn a_scan_returns_what_a_query_of_sqlite_returns(
        page_bytes in prop::sample::select(&PAGE_SIZES[..]),
        rows in prop::collection::vec((any::<i16>().prop_map(i64::from), prop_oneof![8 => 0..40usize, 1 => 200..9000usize]), 0..600),
        deleted in 2..9i64,
    ) {
        let home = lived_in(page_bytes, &rows, deleted);
        let (db, bytes) = (open(&home.path), home.bytes());
        let found = scan(&bytes, tree(&bytes, root(&db, "t"), Kind::Table), usize::MAX).unwrap();
        let found: Vec<Vec<Owned>> =
            found.iter().map(|(rowid, record)| [vec![Owned::Int(*rowid)], decoded(record)].concat()).collect();
        prop_assert!(found == queried(&db, "SELECT rowid, * FROM t ORDER BY rowid"));
        for (name, sql) in [
            ("ab", "SELECT a, b, rowid FROM t ORDER BY a DESC, b, rowid"),
            ("w", "SELECT k, v FROM w ORDER BY k"),
        ] {
            let found = scan(&bytes, tree(&bytes, root(&db, name), Kind::Index), usize::MAX).unwrap();
            let found: Vec<Vec<Owned>> = found.iter().map(|(_, record)| decoded(record)).collect();
            prop_assert!(found == queried(&db, sql), "{name}");
        }
    }

    #[test]
    fn a_cursor_returns_the_entries_of_a_scan_from_any_position(
        page_bytes in prop::sample::select(&PAGE_SIZES[..]),
        rows in prop::collection::vec((any::<i16>().prop_map(i64::from), prop_oneof![8 => 0..40usize, 1 => 200..9000usize]), 0..600),
        deleted in 2..9i64,
        places in prop::collection::vec(any::<prop::sample::Index>(), 8),
    ) {
        let home = lived_in(page_bytes, &rows, deleted);
        let (db, bytes) = (open(&home.path), home.bytes());
        let binary = KeyColumn::default();
        let descending = KeyColumn { descending: true, ..binary };
        for (name, kind, order) in [
            ("t", Kind::Table, KeyOrder::new([])),
            ("ab", Kind::Index, KeyOrder::new([descending, binary, binary])),
            ("w", Kind::Index, KeyOrder::new([binary])),
        ] {
            let tree = tree(&bytes, root(&db, name), kind);
            let all = scan(&bytes, tree, usize::MAX).unwrap();
            prop_assert!(from(&bytes, tree, |_, _| false).unwrap() == all);
            prop_assert!(from(&bytes, tree, |_, _| true).unwrap().is_empty());
            let mut cursor = Cursor::new(tree);
            let last = cursor.last(&mut &bytes[..]).unwrap().then(|| (cursor.rowid(), cursor.record().to_vec()));
            prop_assert_eq!(last.as_ref(), all.last());
            for place in places.iter().filter(|_| !all.is_empty()) {
                let at = place.index(all.len());
                let (rowid, record) = &all[at];
                let before = |other: i64, entry: &[u8]| match kind {
                    Kind::Table => other < *rowid,
                    Kind::Index => order.compare(entry, record).is_lt(),
                };
                prop_assert!(from(&bytes, tree, before).unwrap() == all[at..], "{name} from {at} on");
            }
        }
    }

    #[test]
    fn samples_of_a_tree_ascend_and_each_group_of_parts_except_the_last_gives_one_sample(
        page_bytes in prop::sample::select(&PAGE_SIZES[..4]),
        rows in prop::collection::vec((any::<i16>().prop_map(i64::from), 0..90usize), 0..900),
        part_bytes in 1..20_000usize,
        parts in 1..4usize,
        trees in 1..9usize,
    ) {
        let home = lived_in(page_bytes, &rows, 5);
        let (db, bytes) = (open(&home.path), home.bytes());
        for (name, kind) in [("t", Kind::Table), ("ab", Kind::Index), ("w", Kind::Index)] {
            let mut pages = &bytes[..];
            let tree = tree(&bytes, root(&db, name), kind);
            let scan = Scan::in_parts_of(&mut pages, tree, part_bytes).unwrap();
            let (mut reader, mut all) = (Reader::default(), Vec::new());
            for part in 0..scan.parts() {
                let each = |rowid, record: &[u8]| {
                    all.push((rowid, record.to_vec()));
                    Ok(())
                };
                scan.read(part, &mut pages, &mut reader, each).unwrap();
            }
            let runs = scan.parts().div_ceil(parts);
            for number in 0..trees {
                let mut samples = Vec::new();
                let each = |rowid, record: &[u8]| {
                    samples.push(match kind {
                        Kind::Index => all.iter().position(|(_, entry)| entry == record).unwrap(),
                        // An interior cell may have the rowid of a deleted row, so the place of the rowid among the rows is taken.
                        Kind::Table => all.partition_point(|(row, _)| *row <= rowid),
                    });
                    Ok(())
                };
                scan.samples(parts, (2 * number + 1, 2 * trees), &mut pages, &mut reader, each).unwrap();
                prop_assert!(samples.is_sorted_by(|a, b| a < b) && samples.len() <= runs);
                // Each run of parts but the last has an entry above its leaves. A tree of a single leaf has no such entry.
                prop_assert!(samples.len() + 1 >= runs);
            }
        }
    }

    #[test]
    fn wanted_fields_on_overflow_pages_are_read(
        rows in prop::collection::vec((any::<i16>().prop_map(i64::from), 300..9000usize), 1..20),
        fields in 0..4usize,
    ) {
        let home = lived_in(512, &rows, 1000);
        let (db, bytes) = (open(&home.path), home.bytes());
        let tree = tree(&bytes, root(&db, "t"), Kind::Table);
        let whole = scan(&bytes, tree, usize::MAX).unwrap();
        let wanted = scan(&bytes, tree, fields).unwrap();
        prop_assert_eq!(whole.len(), wanted.len());
        for ((_, whole), (_, wanted)) in whole.iter().zip(&wanted) {
            let (header, mut at) = varint::read(whole).unwrap();
            let mut end = header as usize;
            for _ in 0..fields.min(3) {
                let (serial, n) = varint::read(&whole[at..]).unwrap();
                (at, end) = (at + n, end + SerialType(serial).content_bytes().unwrap() as usize);
            }
            prop_assert!(wanted.len() >= end && wanted.len() < end + 512);
            prop_assert_eq!(&whole[..wanted.len()], &wanted[..]);
            prop_assert_eq!(SerialType(0).class(), Some(Class::Null));
        }
    }

    #[test]
    fn damaged_bytes_never_make_a_scan_or_a_cursor_panic(
        page_bytes in prop::sample::select(&PAGE_SIZES[..3]),
        seed in any::<u64>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..40),
        fields in prop_oneof![Just(usize::MAX), 0..4usize],
    ) {
        let rows: Vec<(i64, usize)> =
            (0..300).map(|i| (i * 3, if (i as u64 ^ seed).is_multiple_of(40) { 3000 } else { 12 })).collect();
        let home = lived_in(page_bytes, &rows, 4);
        let (db, mut bytes) = (open(&home.path), home.bytes());
        let trees = [("t", Kind::Table), ("ab", Kind::Index), ("w", Kind::Index)]
            .map(|(name, kind)| tree(&bytes, root(&db, name), kind));
        let pages = bytes.len() / page_bytes as usize;
        for (at, byte, in_header) in flips {
            let at = match in_header {
                // The changed byte is in a page header, in the cell pointers, or at the beginning of an overflow page.
                true => at.index(pages * 20) / 20 * page_bytes as usize + at.index(pages * 20) % 20,
                false => at.index(bytes.len()),
            };
            bytes[at] = byte;
        }
        for tree in trees {
            // The damage may change the page size in the file, but not the page size that was read before the damage.
            let _ = scan(&bytes, tree, fields);
            let _ = from(&bytes, tree, |_, _| false);
            for other in [Kind::Table, Kind::Index] {
                let _ = scan(&bytes, Tree { kind: other, root_page: tree.root_page % 7 + 1, ..tree }, fields);
            }
        }
    }
}

/// Returns a table of three levels on pages of 512 bytes.
fn tall() -> (Vec<u8>, Tree) {
    let rows: Vec<Row> = (1..2000).map(|rowid| (rowid * 3, record_of(60, rowid as u8))).collect();
    let geometry = geometry(512, 0);
    let bytes = database(geometry, &rows, 16);
    let db = Home::new();
    let tree = tree(&bytes, root(&db.open_with(&bytes), "t"), Kind::Table);
    assert_eq!(scan(&bytes, tree, usize::MAX).unwrap(), rows);
    (bytes, tree)
}

fn page_at(bytes: &mut [u8], geometry: Geometry, number: u32) -> &mut [u8] {
    &mut bytes[geometry.offset(number) as usize..][..geometry.page_bytes()]
}

/// Returns the first child of a page, and the offset of its number.
fn first_child(bytes: &[u8], geometry: Geometry, number: u32) -> (u32, usize) {
    let start = geometry.offset(number) as usize;
    let at = start + usize::from(u16::from_be_bytes([bytes[start + 12], bytes[start + 13]]));
    (u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()), at)
}

#[test]
fn the_scan_of_a_circular_tree_ends_with_damage() {
    let (mut bytes, tree) = tall();
    let Tree { geometry, root_page, .. } = tree;
    let (child, _) = first_child(&bytes, geometry, root_page);
    // Make the parent the last child of a page below the root.
    page_at(&mut bytes, geometry, child)[8..12].copy_from_slice(&root_page.to_be_bytes());
    assert!(scan(&bytes, tree, usize::MAX).is_err());
    // Make the root its own first child.
    let (_, at) = first_child(&bytes, geometry, root_page);
    bytes[at..at + 4].copy_from_slice(&root_page.to_be_bytes());
    assert_eq!(scan(&bytes, tree, usize::MAX).unwrap_err().what, "the tree is too deep");
}

#[test]
fn a_leaf_page_that_occurs_twice_in_a_tree_is_damage() {
    let (mut bytes, tree) = tall();
    let Tree { geometry, root_page, .. } = tree;
    let (child, _) = first_child(&bytes, geometry, root_page);
    let (leaf, _) = first_child(&bytes, geometry, child);
    page_at(&mut bytes, geometry, child)[8..12].copy_from_slice(&leaf.to_be_bytes());
    let damage = scan(&bytes, tree, usize::MAX).unwrap_err();
    assert_eq!(damage, Damage { page: leaf, what: "its rowids do not ascend" });
}

#[test]
fn pages_outside_the_file_and_the_lock_byte_page_are_damage() {
    let (mut bytes, tree) = tall();
    let Tree { geometry, root_page, page_count, .. } = tree;
    for beyond in [0, page_count + 1, u32::MAX, geometry.lock_page()] {
        let tree = Tree { root_page: beyond, ..tree };
        assert!(scan(&bytes, tree, usize::MAX).is_err(), "{beyond}");
    }
    page_at(&mut bytes, geometry, root_page)[8..12].copy_from_slice(&(page_count + 1).to_be_bytes());
    let damage = scan(&bytes, tree, usize::MAX).unwrap_err();
    assert_eq!(damage.what, "it has a child that is no page of the file");
}

#[test]
fn a_leaf_that_is_not_as_deep_as_others_is_damage() {
    let (mut bytes, tree) = tall();
    let Tree { geometry, root_page, .. } = tree;
    let (child, at) = first_child(&bytes, geometry, root_page);
    let (leaf, _) = first_child(&bytes, geometry, child);
    // The first child of the root stays as deep as it was. The second child becomes a leaf, which is less deep.
    let second = usize::from(u16::from_be_bytes([
        bytes[geometry.offset(root_page) as usize + 14],
        bytes[geometry.offset(root_page) as usize + 15],
    ])) + geometry.offset(root_page) as usize;
    assert_ne!(second, at);
    bytes[second..second + 4].copy_from_slice(&leaf.to_be_bytes());
    assert_eq!(scan(&bytes, tree, usize::MAX).unwrap_err().what, "a leaf is not as deep as others");
}

#[test]
fn the_schema_table_on_page_1_is_scanned() {
    let home = lived_in(512, &[(1, 10)], 9);
    let (db, bytes) = (open(&home.path), home.bytes());
    let found = scan(&bytes, tree(&bytes, 1, Kind::Table), usize::MAX).unwrap();
    let found: Vec<Vec<Owned>> = found.iter().map(|(_, record)| decoded(record)).collect();
    assert_eq!(found, queried(&db, "SELECT * FROM sqlite_schema"));
}

#[test]
fn the_caller_of_a_scan_may_stop_it() {
    /// Pages that report an error of their own.
    struct Pages<'a>(&'a [u8]);
    impl ReadPage for Pages<'_> {
        type Error = String;
        fn read_page(&mut self, number: u32, into: &mut [u8]) -> Result<(), String> {
            let Ok(()) = self.0.read_page(number, into);
            Ok(())
        }
    }
    let (bytes, tree) = tall();
    let mut pages = Pages(&bytes);
    let scan = Scan::new(&mut pages, tree).unwrap();
    let mut seen = 0;
    let stopped = scan.read(0, &mut pages, &mut Reader::default(), |rowid, _| {
        seen += 1;
        if rowid == 30 { Err("enough".to_owned()) } else { Ok(()) }
    });
    assert_eq!((stopped, seen), (Err(ScanError::Stopped("enough".to_owned())), 10));
}

/// Takes every second leaf as a whole, and the entries of the others.
struct SomeLeaves {
    leaves: usize,
    taken: usize,
    /// The number of taken leaves that are not packed.
    scattered: usize,
    entries: Vec<(i64, Vec<u8>)>,
}

impl<E> Visit<E> for SomeLeaves {
    const TAKES_LEAVES: bool = true;

    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool, E> {
        self.leaves += 1;
        if self.leaves.is_multiple_of(2) {
            return Ok(false);
        }
        self.taken += 1;
        self.scattered += usize::from(!leaf.is_packed());
        let entries = (0..leaf.entries()).map(|entry| leaf.entry(entry));
        self.entries.extend(entries.map(|(rowid, record)| (rowid, record.to_vec())));
        assert_eq!(leaf.records().count(), leaf.entries());
        Ok(true)
    }

    fn entry(&mut self, rowid: i64, record: &[u8], _: bool) -> Result<(), E> {
        self.entries.push((rowid, record.to_vec()));
        Ok(())
    }
}

/// Reads a tree by its leaves, as far as [`SomeLeaves`] takes them, and compares the result with the entries that are read one by one.
fn by_leaves(bytes: &[u8], tree: Tree) -> SomeLeaves {
    let mut pages = bytes;
    // Each part of a scan can be read only once, so a second scan reads the entries one by one.
    let scan = |pages: &mut &[u8]| {
        [Scan::new(pages, tree), Scan::in_parts_of(pages, tree, 4096)].map(Result::unwrap)
    };
    let (first, second) = (scan(&mut pages), scan(&mut pages));
    let mut all = SomeLeaves { leaves: 0, taken: 0, scattered: 0, entries: Vec::new() };
    for (scan, again) in first.into_iter().zip(second) {
        all.entries.clear();
        let mut one_by_one = Vec::new();
        let mut reader = Reader::default();
        for part in 0..scan.parts() {
            scan.visit(part, &mut pages, &mut reader, &mut all).unwrap();
            let each = |rowid, record: &[u8]| {
                one_by_one.push((rowid, record.to_vec()));
                Ok(())
            };
            again.read(part, &mut pages, &mut reader, each).unwrap();
        }
        assert_eq!(all.entries, one_by_one);
    }
    all
}

#[test]
fn samples_for_eight_trees_are_spread_evenly() {
    const ROWS: i64 = 100_000;
    let home = Home::new();
    let db = open(&home.path);
    db.execute_batch(&format!(
        "CREATE TABLE t(a);
         WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT {ROWS})
         INSERT INTO t SELECT value FROM n;
         CREATE INDEX i ON t(a);"
    ))
    .unwrap();
    let bytes = home.bytes();
    for (name, kind) in [("t", Kind::Table), ("i", Kind::Index)] {
        let mut pages = &bytes[..];
        let scan = Scan::in_parts_of(&mut pages, tree(&bytes, root(&db, name), kind), 4096).unwrap();
        let mut samples = vec![0, ROWS];
        for number in 0..8 {
            let each = |rowid, record: &[u8]| {
                samples.push(if kind == Kind::Table { rowid } else { record::last_int(record).unwrap() });
                Ok(())
            };
            scan.samples(1, (2 * number + 1, 16), &mut pages, &mut Reader::default(), each).unwrap();
        }
        samples.sort_unstable();
        let widest = samples.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(widest < 3 * ROWS / samples.len() as i64, "{widest} of {ROWS}, {} samples", samples.len());
    }
}

#[test]
fn entries_of_whole_leaves_equal_entries_read_one_by_one() {
    let (bytes, tree) = tall();
    let SomeLeaves { leaves, taken, scattered, .. } = by_leaves(&bytes, tree);
    assert!(taken > 50 && taken == leaves.div_ceil(2) && scattered == 0, "{taken} of {leaves}, {scattered}");
}

#[test]
fn entries_of_leaves_with_gaps_equal_entries_read_one_by_one() {
    let rows: Vec<(i64, usize)> = (0..900).map(|row| (row * 7919 % 901, row as usize % 40)).collect();
    let home = lived_in(1024, &rows, 3);
    let (db, bytes) = (open(&home.path), home.bytes());
    for (name, kind) in [("t", Kind::Table), ("ab", Kind::Index), ("w", Kind::Index)] {
        let tree = tree(&bytes, root(&db, name), kind);
        let SomeLeaves { leaves, taken, scattered, .. } = by_leaves(&bytes, tree);
        assert!(scattered > 0, "{name}: {scattered} of {taken} of {leaves}");
    }
}
