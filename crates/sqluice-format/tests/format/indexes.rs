//! Index B-trees of random entries: SQLite finds the databases sound, reads the entries, and can change them.

use crate::support::index::*;
use crate::support::*;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice_format::cell;
use sqluice_format::chunk::Chunk;
use sqluice_format::page::Geometry;
use sqluice_format::record;
use sqluice_format::tree::IndexTree;
use sqluice_format::value::Value;

fn encoded(values: &[Value<'_>]) -> Vec<u8> {
    let mut record = Vec::new();
    record::encode(values, &mut record);
    record
}

/// A database with the table `t (a)` and an index on `a`, written in chunks, and the entries of that index.
struct Indexed {
    bytes: Vec<u8>,
    entries: Vec<Vec<u8>>,
    root: u32,
}

/// Returns blobs of these sizes in ascending order: the first bytes are a counter, the rest is filler.
fn blobs(sizes: &[usize]) -> Vec<Vec<u8>> {
    let blob = |(number, &bytes): (u32, &usize)| {
        let mut blob = number.to_be_bytes()[1..].to_vec();
        blob.resize(bytes, number as u8 | 1);
        blob
    };
    let mut blobs: Vec<_> = (0..).zip(sizes).map(blob).collect();
    blobs.sort();
    blobs
}

fn indexed(geometry: Geometry, sizes: &[usize], capacity: u32, cut: impl Fn(usize) -> bool) -> Indexed {
    let blobs = blobs(sizes);
    let rows: Vec<Row> = (1..).zip(&blobs).map(|(id, blob)| (id, encoded(&[Value::Blob(blob)]))).collect();
    let entries: Vec<_> =
        (1..).zip(&blobs).map(|(id, blob)| encoded(&[Value::Blob(blob), Value::Int(id)])).collect();
    let mut pages = Pages::new(geometry);
    let table = pages.table(&rows, 64);
    let root = pages.index(&entries, capacity, cut);
    let schema =
        [entry("t", table, "CREATE TABLE t (a)"), index_entry("i", "t", root, "CREATE INDEX i ON t (a)")];
    Indexed { bytes: pages.finish(&schema), entries, root }
}

/// Compares the entries with the expected ones, by SQL and from the pages.
fn assert_sqlite_takes(indexed: &Indexed) -> (Home, Connection) {
    let report = assert_sound(&indexed.bytes);
    assert_eq!(report.trees[2].rows, indexed.entries.len() as u64);
    assert_eq!(entries(&indexed.bytes, indexed.root), indexed.entries);
    let home = Home::new();
    let db = home.open_with(&indexed.bytes);
    assert_eq!(integrity(&db), "ok");
    let mut select = db.prepare("SELECT a, rowid FROM t INDEXED BY i WHERE a >= x'' ORDER BY a").unwrap();
    let found = select.query_map([], |row| {
        let (blob, rowid): (Vec<u8>, i64) = (row.get(0)?, row.get(1)?);
        Ok(encoded(&[Value::Blob(&blob), Value::Int(rowid)]))
    });
    assert_eq!(found.unwrap().collect::<Result<Vec<_>, _>>().unwrap(), indexed.entries);
    drop(select);
    (home, db)
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let short = prop::collection::vec(0..12usize, 1..900);
    let mixed = prop_oneof![6 => 0..60usize, 3 => 60..300usize, 1 => 300..4000usize];
    let long = prop_oneof![3 => 80..120usize, 2 => 400..600usize, 1 => 0..4usize];
    prop_oneof![short, prop::collection::vec(mixed, 1..200), prop::collection::vec(long, 1..300)]
}

fn root_of_index(db: &Connection) -> u32 {
    db.query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'i'", [], |row| row.get(0)).unwrap()
}

/// Returns the numbers of leaves, interior pages and overflow pages of the index `i`.
fn pages_of_index(db: &Connection) -> [i64; 3] {
    let sql = "SELECT sum(pagetype = 'leaf'), sum(pagetype = 'internal'), sum(pagetype = 'overflow')
               FROM dbstat WHERE name = 'i'";
    db.query_row(sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).unwrap()
}

/// Inserts, updates and deletes rows by SQLite, and asserts that SQLite and our checker still find the file sound.
fn assert_sqlite_can_change(home: &Home, db: &Connection) {
    for sql in [
        "INSERT INTO t (a) SELECT randomblob(length(a)) FROM t LIMIT 50",
        "DELETE FROM t WHERE rowid % 2 = 0",
        "UPDATE t SET a = randomblob(300) WHERE rowid % 5 = 0",
        "DELETE FROM t WHERE rowid % 7 > 0",
        "REINDEX",
        "VACUUM",
        "DELETE FROM t",
    ] {
        db.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(integrity(db), "ok", "{sql}");
        assert_sound(&home.bytes());
    }
}

fn never(_: usize) -> bool {
    false
}

#[test]
fn indexes_of_every_page_size_are_read_and_changed_by_sqlite() {
    for page_bytes in PAGE_SIZES {
        for reserved in [0, 1, 8, 32, 255] {
            if page_bytes == 512 && reserved > 32 {
                continue;
            }
            let large = page_bytes as usize;
            let sizes: Vec<_> = (0..150).map(|i| if i % 50 == 7 { large * 2 + i } else { i * 3 }).collect();
            let (home, db) = assert_sqlite_takes(&indexed(geometry(page_bytes, reserved), &sizes, 8, never));
            assert_sqlite_can_change(&home, &db);
        }
    }
}

#[test]
fn index_payloads_around_every_overflow_boundary_are_read_by_sqlite() {
    for (page_bytes, reserved) in [(512, 0), (512, 32), (1024, 3), (4096, 0), (65536, 0)] {
        let geometry = geometry(page_bytes, reserved);
        let (max, page) = (cell::index_local_max(geometry), cell::overflow_page_payload(geometry));
        let min = (geometry.usable_bytes() - 12) * 32 / 255 - 23;
        let edges = [max, min + page, max + page, min + 2 * page, max + 2 * page];
        // The record of a blob and a number has three to six bytes besides the blob, so some of these sizes give a record of exactly the
        // edge.
        let sizes: Vec<usize> = edges.into_iter().flat_map(|edge| edge - 8..edge).collect();
        for order in [1, 7, 11] {
            let sizes: Vec<usize> = (0..sizes.len()).map(|i| sizes[i * order % sizes.len()]).collect();
            for capacity in [4, 1000] {
                assert_sqlite_takes(&indexed(geometry, &sizes, capacity, never));
            }
        }
    }
}

#[test]
fn trees_of_every_size_are_sound_and_no_larger_than_those_of_sqlite() {
    // Four entries a leaf and five children a page: up to five levels.
    let all = vec![95; 2200];
    let twin = Home::new();
    let db = open(&twin.path);
    db.execute_batch("PRAGMA page_size = 512; CREATE TABLE t (a)").unwrap();
    for blob in blobs(&all) {
        db.execute("INSERT INTO t VALUES (?1)", [blob]).unwrap();
    }
    let edges = [5usize, 25, 125, 625].map(|leaves| leaves * 5 - 1);
    let around = edges.into_iter().flat_map(|edge| [edge, 2 * edge]).flat_map(|edge| edge - 7..edge + 7);
    for count in (1..130).chain(around.filter(|count| (130..=all.len()).contains(count))) {
        let ours = indexed(geometry(512, 0), &all[..count], 1000, never);
        let (_home, ours) = assert_sqlite_takes(&ours);
        db.execute_batch(&format!("CREATE INDEX i ON t (a) WHERE rowid <= {count}")).unwrap();
        let (ours, theirs) = (pages_of_index(&ours), pages_of_index(&db));
        db.execute_batch("DROP INDEX i").unwrap();
        assert!(
            ours[0] <= theirs[0] && ours.iter().sum::<i64>() <= theirs.iter().sum(),
            "{count} entries: {ours:?} {theirs:?}"
        );
    }
}

#[test]
fn cells_padded_to_four_bytes_are_read_and_changed_by_sqlite() {
    for values in [&[0][..], &[1], &[0, 1]] {
        let entries: Vec<_> = values.iter().map(|&value| encoded(&[Value::Int(value)])).collect();
        for cut in [2, 3] {
            let mut pages = Pages::new(geometry(512, 0));
            let root = pages.index(&entries, 1, |i| i == cut);
            let bytes = pages.finish(&[entry("t", root, "CREATE TABLE t (k PRIMARY KEY) WITHOUT ROWID")]);
            assert_sound(&bytes);
            let home = Home::new();
            let db = home.open_with(&bytes);
            assert_eq!(integrity(&db), "ok");
            let mut select = db.prepare("SELECT k FROM t").unwrap();
            let found = select.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<i64>, _>>();
            assert_eq!(found.unwrap(), values);
            db.execute_batch(
                "UPDATE t SET k = 2 - k; DELETE FROM t WHERE k > 1; INSERT INTO t VALUES (0), ('x')",
            )
            .unwrap();
            assert_eq!(integrity(&db), "ok");
        }
    }
}

#[test]
fn an_empty_index_is_an_empty_leaf() {
    let mut pages = Pages::new(geometry(1024, 0));
    let table = pages.index(&[], 3, never);
    let bytes = pages.finish(&[entry("t", table, "CREATE TABLE t (k PRIMARY KEY) WITHOUT ROWID")]);
    assert_sound(&bytes);
    assert_eq!(integrity(&Home::new().open_with(&bytes)), "ok");
}

/// Returns a chunk of pages of 512 bytes with `entries` entries of about 100 bytes, of which a leaf takes four, and the entries.
fn chunk_of(entries: u32, capacity: u32) -> (Chunk, Vec<Vec<u8>>) {
    let mut chunk = Chunk::new(geometry(512, 0), capacity);
    let entries: Vec<Vec<u8>> =
        (1..=entries).map(|i| encoded(&[Value::Int(i.into()), Value::Blob(&[7; 95])])).collect();
    for entry in &entries {
        assert!(chunk.push_entry(entry));
    }
    (chunk, entries)
}

#[test]
fn a_divider_stands_between_two_leaves_and_before_the_next_chunk() {
    for (entries, more, leaves, dividers) in [
        (1, false, &[1][..], &[][..]),
        (2, true, &[1], &[2]),
        (4, false, &[4], &[]),
        (4, true, &[3], &[4]),
        // The fifth entry has no room. A divider needs a leaf after it, so the fourth becomes the divider.
        (5, false, &[3, 1], &[4]),
        (5, true, &[4], &[5]),
        (6, false, &[4, 1], &[5]),
        // The second leaf has only the sixth entry, which must become a divider. So the fifth moves into the leaf, and the fourth becomes a
        // divider.
        (6, true, &[3, 1], &[4, 6]),
        (7, true, &[4, 1], &[5, 7]),
        (10, false, &[4, 3, 1], &[5, 9]),
        (10, true, &[4, 4], &[5, 10]),
    ] {
        let (mut chunk, records) = chunk_of(entries, 9);
        chunk.finish_entries(more);
        let cells: Vec<u8> = chunk.bytes().chunks(512).map(|page| page[4]).collect();
        assert_eq!(cells, leaves, "{entries} {more}");
        let cells: Vec<&[u8]> = chunk.dividers().map(|divider| &divider.cell[1..]).collect();
        let expected: Vec<&[u8]> = dividers.iter().map(|&i: &usize| &records[i - 1][..]).collect();
        assert_eq!(cells, expected, "{entries} {more}");
        assert_eq!((chunk.rows(), chunk.leaves().len()), (entries.into(), leaves.len()));
    }
}

#[test]
fn a_chunk_is_full_after_its_last_leaf_and_a_divider() {
    for capacity in [1, 2, 5] {
        let full = capacity * 5;
        let (mut chunk, _) = chunk_of(full, capacity);
        assert!(!chunk.push_entry(&[2, 9, 0]));
        assert_eq!((chunk.page_count(), chunk.finished_pages()), (capacity, capacity - 1));
        chunk.finish_entries(true);
        assert_eq!((chunk.page_count(), chunk.finished_pages()), (capacity, capacity));
        assert_eq!(chunk.dividers().len(), capacity as usize);
        // At the end of the index, the divider must be followed by a leaf.
        let (mut chunk, _) = chunk_of(full, capacity);
        chunk.finish_entries(false);
        assert_eq!((chunk.page_count(), chunk.dividers().len()), (capacity + 1, capacity as usize));
        chunk.clear();
        assert_eq!((chunk.page_count(), chunk.dividers().len(), chunk.leaves().len()), (0, 0, 0));
    }
}

#[test]
fn a_chunk_takes_any_two_entries_whatever_its_capacity() {
    let huge: Vec<_> = (1..4).map(|i| encoded(&[Value::Blob(&[i; 5000])])).collect();
    let mut chunk = Chunk::new(geometry(512, 0), 2);
    assert!(chunk.push_entry(&huge[0]) && chunk.push_entry(&huge[1]));
    assert!(!chunk.push_entry(&huge[2]));
    // A chunk that has used its capacity still takes an entry that needs no further page.
    assert!(chunk.push_entry(&encoded(&[Value::Blob(&[3])])));
    chunk.finish_entries(true);
    assert_eq!((chunk.leaves().len(), chunk.dividers().len(), chunk.rows()), (1, 1, 3));
    let bytes = chunk.bytes().to_vec();
    chunk.bytes_mut().fill(0xaa);
    chunk.clear();
    for entry in &huge[..2] {
        assert!(chunk.push_entry(entry));
    }
    assert!(chunk.push_entry(&encoded(&[Value::Blob(&[3])])));
    chunk.finish_entries(true);
    assert_eq!(chunk.bytes(), bytes, "a recycled chunk gives the same bytes");
}

#[test]
fn push_last_entry_adds_an_entry_of_any_size_to_a_full_chunk() {
    for capacity in [1, 2, 5] {
        for bytes in [0, 95, 200, 5000] {
            for more in [false, true] {
                let (mut chunk, mut records) = chunk_of(capacity * 5, capacity);
                records.push(encoded(&[Value::Int(1000), Value::Blob(&vec![9; bytes])]));
                assert!(!chunk.push_entry(records.last().unwrap()));
                chunk.push_last_entry(records.last().unwrap());
                let mut pages = Pages::new(geometry(512, 0));
                if more {
                    // The entry is the divider before the next chunk: no chunk began with it alone.
                    records.push(encoded(&[Value::Int(2000)]));
                }
                let root = pages.index_of_chunk(&mut chunk, &records[records.len() - usize::from(more)..]);
                let sql = "CREATE TABLE t (k PRIMARY KEY, v) WITHOUT ROWID";
                let bytes = pages.finish(&[entry("t", root, sql)]);
                assert_eq!(assert_sound(&bytes).trees[1].rows, records.len() as u64);
                assert_eq!(entries(&bytes, root), records);
                assert_eq!(integrity(&Home::new().open_with(&bytes)), "ok");
            }
        }
    }
}

#[test]
fn the_cell_of_an_overflowing_divider_ends_with_the_first_page_of_its_chain() {
    let mut chunk = Chunk::new(geometry(512, 0), 20);
    for i in 1..4 {
        assert!(chunk.push_entry(&encoded(&[Value::Blob(&[i; 700])])));
    }
    chunk.finish_entries(true);
    chunk.relocate(30);
    let [divider] = chunk.dividers().collect::<Vec<_>>()[..] else { panic!("one divider") };
    let first = divider.overflow.unwrap();
    assert_eq!(divider.cell[divider.cell.len() - 4..], (30 + first).to_be_bytes());
    assert_eq!(chunk.bytes()[first as usize * 512 + 10], 3);
    let local = divider.cell.len() - 6;
    assert_eq!(cell::index_split(704, geometry(512, 0)).local, local);
    assert!(
        chunk.links().iter().all(|link| link.to != first || link.at / 512 > 0),
        "no leaf names it any longer"
    );
}

#[test]
#[should_panic(expected = "two entries or more")]
fn a_chunk_of_one_entry_must_be_the_last_of_its_index() {
    chunk_of(1, 3).0.finish_entries(true);
}

#[test]
#[should_panic(expected = "a divider is left over")]
fn an_index_tree_that_ends_with_a_divider_is_refused() {
    let mut pages = Pages::new(geometry(512, 0));
    let mut tree = IndexTree::new(geometry(512, 0));
    tree.add(2, Some(&[3, 2, 1, 5]), &mut pages);
    tree.finish(&mut pages);
}

#[test]
#[should_panic(expected = "a leaf came after the last one")]
fn a_leaf_after_a_leaf_without_a_divider_is_refused() {
    let mut pages = Pages::new(geometry(512, 0));
    let mut tree = IndexTree::new(geometry(512, 0));
    tree.add(2, None, &mut pages);
    tree.add(3, None, &mut pages);
    tree.finish(&mut pages);
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn sqlite_reads_all_entries_of_random_indexes(
        sizes in sizes(),
        page_bytes in prop::sample::select(vec![512u32, 512, 1024, 4096, 65536]),
        reserved in 0..33u8,
        capacity in 1..40u32,
        cuts in 2..200u64,
    ) {
        let cut = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 & 0xffff < 0x10000 / cuts;
        assert_sqlite_takes(&indexed(geometry(page_bytes, reserved), &sizes, capacity, cut));
    }

    #[test]
    fn random_indexes_have_no_more_leaves_than_those_of_sqlite(
        sizes in sizes(),
        page_bytes in prop::sample::select(vec![512u32, 512, 1024, 4096]),
    ) {
        let indexed = indexed(geometry(page_bytes, 0), &sizes, 1000, never);
        let home = Home::new();
        let db = home.open_with(&indexed.bytes);
        let ours = pages_of_index(&db);
        db.execute_batch("DROP INDEX i; CREATE INDEX i ON t (a)").unwrap();
        let theirs = pages_of_index(&db);
        // The number of leaves is minimal. The number of interior pages depends on the lengths of the entries that become dividers.
        prop_assert_eq!(ours[2], theirs[2]);
        prop_assert!(ours[0] <= theirs[0] && ours[1] <= 2 * theirs[1] + 1, "{:?} {:?}", ours, theirs);
        prop_assert_eq!(entries(&home.bytes(), root_of_index(&db)), indexed.entries);
    }
}
