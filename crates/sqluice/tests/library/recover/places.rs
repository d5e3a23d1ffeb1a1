//! Tests of `recover` with pages in wrong places: leaves and roots that changed places, and copies of them.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sqluice::recover::RecoverReport;
use sqluice_format::page::{Geometry, PageKind, PageSize};
use sqluice_format::salvage::{Salvage, Types};
use sqluice_format::view::PageView;

use super::support::{Rows, recovered, rows};

pub(super) const PAGE_BYTES: usize = 1024;

/// Makes a database from statements, and calls `test` with its path, and the leaves below the roots of these tables or indexes, in order.
pub(super) fn with<const TREES: usize>(
    statements: &str,
    trees: [&str; TREES],
    test: impl FnOnce(&Path, [Vec<usize>; TREES]),
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&format!("PRAGMA page_size = {PAGE_BYTES}; {statements}")).unwrap();
    let bytes = fs::read(&path).unwrap();
    let leaves = trees.map(|name| leaves(&bytes, root_of(&path, name)));
    test(&path, leaves);
}

pub(super) fn root_of(path: &Path, name: &str) -> u32 {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    Connection::open(path).unwrap().query_row(sql, [name], |row| row.get(0)).unwrap()
}

pub(super) fn geometry() -> Geometry {
    Geometry::new(PageSize::new(PAGE_BYTES as u32).unwrap(), 0).unwrap()
}

fn leaves(bytes: &[u8], root: u32) -> Vec<usize> {
    let geometry = geometry();
    let mut salvage = Salvage::default();
    let at = (root as usize - 1) * PAGE_BYTES;
    match salvage.read(&bytes[at..at + PAGE_BYTES], root, geometry, &mut Types::new()) {
        Some(PageKind::LeafTable | PageKind::LeafIndex) => vec![root as usize],
        _ => salvage.children.iter().flat_map(|(child, _)| leaves(bytes, *child)).collect(),
    }
}

pub(super) fn change(path: &Path, change: impl FnOnce(&mut [&mut [u8]])) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes.chunks_mut(PAGE_BYTES).collect::<Vec<_>>());
    fs::write(path, bytes).unwrap();
}

pub(super) fn swap(path: &Path, one: usize, other: usize) {
    change(path, |pages| {
        let (one, other) = (one.min(other) - 1, one.max(other) - 1);
        let (before, after) = pages.split_at_mut(other);
        before[one].swap_with_slice(after[0]);
    });
}

pub(super) fn copy(path: &Path, from: usize, to: usize) {
    change(path, |pages| {
        let page = pages[from - 1].to_vec();
        pages[to - 1].copy_from_slice(&page);
    });
}

pub(super) const MANY: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 600)";

#[test]
fn leaves_that_changed_places_are_put_back_also_if_their_rows_lack_the_last_column() {
    let statements = format!(
        "CREATE TABLE t (a, b TEXT); {MANY} INSERT INTO t SELECT i, 'text ' || i FROM n;
         ALTER TABLE t ADD COLUMN c INT; ALTER TABLE t ADD COLUMN d TEXT DEFAULT 'none'"
    );
    with(&statements, ["t"], |path, [leaves]| {
        let all = rows(path);
        swap(path, leaves[2], leaves[5]);
        let (target, report) = recovered(path);
        assert!(report.saved.damaged);
        assert!(rows(&target) == all, "{:?}", report.saved);
        assert!(report.saved.tables[0].by_gap > 0, "{:?}", report.saved);
    });
}

#[test]
fn a_copy_of_a_leaf_takes_no_unique_keys_of_rows_that_trees_name() {
    let statements = format!(
        "CREATE TABLE a (v TEXT, u INT UNIQUE); CREATE TABLE b (v TEXT, u INT UNIQUE);
         {MANY} INSERT INTO a SELECT 'a ' || i, i * 3 FROM n;
         {MANY} INSERT INTO b (rowid, v, u) SELECT i + 1000, 'b ' || i, i * 3 FROM n"
    );
    with(&statements, ["a", "b"], |path, [of_a, of_b]| {
        let all = rows(path);
        copy(path, of_b[1], of_a[3]);
        copy(path, of_a[1], of_b[3]);
        let (target, report) = recovered(path);
        let found = rows(&target);
        for table in ["a", "b"] {
            let missing = all[table].iter().filter(|row| !found[table].contains(row)).count();
            let about = report.saved.tables.iter().find(|about| about.name == table).unwrap();
            assert_eq!(about.lost_page_count, 1, "{:?}", report.saved);
            assert!(missing < 100, "{table}: {missing} rows are missing: {:?}", report.saved);
            let new = found[table].iter().filter(|row| !all[table].contains(row)).count() as u64;
            assert!(new <= about.by_shape, "{table}: {new} rows of the other table: {:?}", report.saved);
        }
    });
}

#[test]
fn a_leaf_of_a_table_without_rowids_is_known_by_its_keys() {
    let statements = format!(
        "CREATE TABLE a (k INT PRIMARY KEY, v TEXT) WITHOUT ROWID; CREATE TABLE b (k INT PRIMARY KEY, v TEXT) WITHOUT ROWID;
         {MANY} INSERT INTO a SELECT i * 2, 'a ' || i FROM n;
         {MANY} INSERT INTO b SELECT i * 2 + 100000, 'b ' || i FROM n"
    );
    with(&statements, ["a", "b"], |path, [of_a, of_b]| {
        let all = rows(path);
        swap(path, of_a[2], of_b[4]);
        let (target, report) = recovered(path);
        let found = rows(&target);
        for table in ["a", "b"] {
            let about = report.saved.tables.iter().find(|about| about.name == table).unwrap();
            let new = found[table].iter().filter(|row| !all[table].contains(row)).count() as u64;
            assert!(new <= about.by_shape, "{table}: {new} rows of the other table: {:?}", report.saved);
            assert!(about.by_shape > 0, "{:?}", report.saved);
        }
        let total: usize = found.values().map(Vec::len).sum();
        assert_eq!(total, 1200, "{:?}", report.saved);
    });
}

#[test]
fn a_leaf_stays_in_its_table_if_the_key_of_its_parent_has_a_flipped_bit() {
    // The rows of the second table lack a column that was added later, and look like entries of an index.
    let statements = format!(
        "CREATE TABLE t (k INT PRIMARY KEY, v TEXT) WITHOUT ROWID; {MANY} INSERT INTO t SELECT i + 1000, 'text ' || i FROM n;
         CREATE TABLE s (k INT PRIMARY KEY, v TEXT) WITHOUT ROWID; {MANY} INSERT INTO s SELECT i + 1000, 'other text ' || i FROM n;
         ALTER TABLE s ADD COLUMN d TEXT DEFAULT 'none'"
    );
    for table in ["t", "s"] {
        with(&statements, [], |path, []| {
            let all = rows(path);
            let root = root_of(path, table);
            let mut salvage = Salvage::default();
            change(path, |pages| {
                let page = &mut *pages[root as usize - 1];
                salvage.read(page, root, geometry(), &mut Types::new());
                assert!(salvage.entries.len() > 4 && salvage.is_whole);
                // The record begins with three bytes of a header, and the first of the two bytes of the key.
                let record = salvage.entries[3].cell.local.start;
                assert_eq!(page[record..record + 2], [3, 2]);
                page[record + 3] ^= 0x40;
            });
            let (target, report) = recovered(path);
            let found = rows(&target);
            assert!(report.saved.damaged);
            let missing = all[table].iter().filter(|row| !found[table].contains(row)).count();
            assert_eq!(missing, 1, "{table}: {:?}", report.saved);
            let about = report.saved.tables.iter().find(|about| about.name == table).unwrap();
            assert!(about.by_shape > 10, "{table}: {:?}", report.saved);
            assert!(
                found.iter().all(|(name, rows)| name == table || rows == &all[name]),
                "{:?}",
                report.saved
            );
        });
    }
}

#[test]
fn a_root_in_the_place_of_another_tables_leaf_gives_that_table_no_rows_unsaid() {
    let statements = format!(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY, v TEXT);
         {MANY} INSERT INTO a SELECT i, 'a ' || i FROM n; {MANY} INSERT INTO b SELECT i + 10000, 'b ' || i FROM n"
    );
    for is_copied in [false, true] {
        for at in 0..8 {
            with(&statements, ["a", "b"], |path, [of_a, of_b]| {
                let all = rows(path);
                let root = root_of(path, "b") as usize;
                let leaf = of_a[at % of_a.len()];
                match is_copied {
                    true => copy(path, root, leaf),
                    false => swap(path, root, leaf),
                }
                let (target, report) = recovered(path);
                let found = rows(&target);
                assert!(report.saved.damaged);
                for table in ["a", "b"] {
                    let about = report.saved.tables.iter().find(|about| about.name == table).unwrap();
                    let new = found[table].iter().filter(|row| !all[table].contains(row)).count() as u64;
                    assert!(
                        new <= about.by_shape,
                        "leaf {at}, {table}: {new} other rows: {:?}",
                        report.saved
                    );
                }
                let anywhere: String = found.values().flatten().map(|row| format!("{row}|")).collect();
                let is_left =
                    |row: &&String| anywhere.contains(&format!("{}|", row.rsplit('|').next().unwrap()));
                let lost = all.values().flatten().filter(|row| !is_left(row)).count();
                let of_leaf = if is_copied { all["a"].len() / of_a.len() * 2 } else { 0 };
                assert!(
                    lost <= of_leaf,
                    "leaf {at} of {}: {lost} rows are lost: {:?}",
                    of_b.len(),
                    report.saved
                );
            });
        }
    }
}

/// Returns the number of a recovered table's rows that the original table does not have, and asserts that the report counts at least
/// as many rows as assigned to the table by their shape alone.
fn assert_new_rows_are_said(found: &Rows, all: &Rows, report: &RecoverReport, table: &str) -> u64 {
    let about = report.saved.tables.iter().find(|about| about.name == table).unwrap();
    let new = found[table].iter().filter(|row| !all[table].contains(row)).count() as u64;
    assert!(new <= about.by_shape, "{table}: {new} rows of the other table: {:?}", report.saved);
    new
}

#[test]
fn a_root_that_is_a_copy_of_another_tables_root_takes_no_rows_of_that_table() {
    let statements = format!(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY, v TEXT);
         {MANY} INSERT INTO a SELECT i, 'a ' || i FROM n; {MANY} INSERT INTO b SELECT i + 10000, 'b ' || i FROM n"
    );
    for (from, to) in [("a", "b"), ("b", "a")] {
        with(&statements, [], |path, []| {
            let all = rows(path);
            copy(path, root_of(path, from) as usize, root_of(path, to) as usize);
            let (target, report) = recovered(path);
            let found = rows(&target);
            assert!(all[from].iter().all(|row| found[from].contains(row)), "{:?}", report.saved);
            assert_new_rows_are_said(&found, &all, &report, to);
        });
    }
}

#[test]
fn a_leaf_of_few_rows_stays_in_its_tree_if_a_rowid_is_damaged() {
    let statements = format!(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);
         {MANY} INSERT INTO t SELECT i * 2, 'text ' || hex(zeroblob(200)) || i FROM n"
    );
    with(&statements, ["t"], |path, [leaves]| {
        let all = rows(path);
        let geometry = geometry();
        let mut salvage = Salvage::default();
        let leaf = leaves[40];
        change(path, |pages| {
            let page = &mut *pages[leaf - 1];
            salvage.read(page, leaf as u32, geometry, &mut Types::new());
            assert_eq!(salvage.entries.len(), 2);
            // The first of the two bytes of the second rowid: 162 becomes 34.
            let record = salvage.entries[1].cell.local.start;
            assert!(salvage.entries[1].cell.rowid < 256);
            page[record - 2] ^= 1;
        });
        let first = salvage.entries[0].cell.rowid;
        let (target, report) = recovered(path);
        let found = rows(&target);
        assert!(report.saved.damaged);
        let row = all["t"].iter().find(|row| row.starts_with(&format!("{first}|"))).unwrap();
        assert!(found["t"].contains(row), "{:?}", report.saved);
        assert_eq!(found["t"].len(), 599, "{:?}", report.saved);
    });
}

#[test]
fn a_copy_of_a_leaf_of_a_table_without_rowids_is_not_a_table_made_from_another() {
    let columns = "(k INT PRIMARY KEY, v TEXT) WITHOUT ROWID";
    let statements = format!(
        "CREATE TABLE a {columns}; CREATE TABLE b {columns}; {MANY} INSERT INTO a SELECT i * 2, 'a ' || i FROM n;
         {MANY} INSERT INTO b SELECT i * 3, 'the longer text of b ' || i FROM n"
    );
    with(&statements, ["a", "b"], |path, [of_a, of_b]| {
        let all = rows(path);
        copy(path, of_b[0], of_a[0]);
        let (target, report) = recovered(path);
        assert!(report.saved.damaged);
        let found = rows(&target);
        assert!(assert_new_rows_are_said(&found, &all, &report, "a") > 0, "{:?}", report.saved);
        assert!(found["b"] == all["b"], "{:?}", report.saved);
    });
}

#[test]
fn entries_of_an_index_are_no_rows_of_a_table_without_rowids() {
    // The entries have the fields of the rows, and other values.
    let statements = format!(
        "CREATE TABLE t (k INT PRIMARY KEY, v) WITHOUT ROWID; CREATE TABLE b (v BLOB); CREATE INDEX b_v ON b (v);
         {MANY} INSERT INTO t SELECT i * 2, i FROM n; {MANY} INSERT INTO b SELECT CAST('text ' || i * 7 AS BLOB) FROM n"
    );
    with(&statements, ["t", "b_v"], |path, [of_t, of_index]| {
        let all = rows(path);
        swap(path, of_t[1], of_index[1]);
        let (target, report) = recovered(path);
        let found = rows(&target);
        assert!(found["t"].iter().all(|row| all["t"].contains(row)), "{:?}", report.saved);
        assert!(found["b"] == all["b"], "{:?}", report.saved);
    });
}

#[test]
fn a_lost_table_without_rowids_gets_no_entries_of_its_index() {
    // The entries are pairs of integers, as the rows are.
    let statements = format!(
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITHOUT ROWID; CREATE INDEX t_v ON t (v);
         {MANY} INSERT INTO t SELECT i * 2, i * 7 % 1000 FROM n"
    );
    with(&statements, [], |path, []| {
        let all = rows(path);
        let roots = ["t", "t_v"].map(|name| root_of(path, name) as usize);
        change(path, |pages| roots.into_iter().for_each(|root| pages[root - 1].fill(0)));
        let (target, report) = recovered(path);
        let found = rows(&target);
        assert!(found["t"].iter().all(|row| all["t"].contains(row)), "{:?}", report.saved);
        let saved: usize = found.values().map(Vec::len).sum();
        assert!(saved > 1000, "rows and entries are all saved: {:?}", report.saved);
    });
}

#[test]
fn short_entries_of_another_databases_index_are_no_rows_of_a_table_without_rowids() {
    let statements = format!(
        "CREATE TABLE t (k INT PRIMARY KEY, v TEXT, w TEXT) WITHOUT ROWID;
         {MANY} INSERT INTO t SELECT i * 2, 'text ' || i, 'more of it ' || i FROM n"
    );
    let other =
        format!("CREATE TABLE o (n); CREATE INDEX o_n ON o (n); {MANY} INSERT INTO o SELECT i * 2 FROM n");
    with(&other, ["o_n"], |other, [of_index]| {
        let foreign = fs::read(other).unwrap();
        with(&statements, ["t"], |path, [of_t]| {
            let all = rows(path);
            // The keys of the first leaf of the index are among those of the table's first leaf.
            let (from, to) = ((of_index[0] - 1) * PAGE_BYTES, of_t[0]);
            let mut page = foreign[from..from + PAGE_BYTES].to_vec();
            let kept = PageView::new(&page, 2, geometry()).map(|view| view.cells().min(8)).unwrap();
            page[3..5].copy_from_slice(&(kept as u16).to_be_bytes());
            change(path, |pages| pages[to - 1].copy_from_slice(&page));
            let (target, report) = recovered(path);
            assert!(report.saved.damaged);
            let found = rows(&target);
            assert!(found["t"].iter().all(|row| all["t"].contains(row)), "{:?}", report.saved);
        });
    });
}

#[test]
fn a_gap_that_ends_with_the_last_row_of_a_leaf_counts_more_than_a_lost_table() {
    let statements = format!(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY, v TEXT);
         INSERT INTO a VALUES (1, 'of a'); {MANY} INSERT INTO b SELECT i, 'b ' || i FROM n"
    );
    with(&statements, ["b"], |path, [leaves]| {
        let all = rows(path);
        let root = root_of(path, "a") as usize;
        change(path, |pages| pages[root - 1].fill(0));
        swap(path, leaves[0], leaves[4]);
        let (target, report) = recovered(path);
        assert!(report.saved.damaged);
        assert!(rows(&target)["b"] == all["b"], "{:?}", report.saved);
    });
}

#[test]
fn interior_pages_stay_in_their_tree_among_leaves_in_wrong_places() {
    let statements = "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)
           INSERT INTO t SELECT i, hex(zeroblob(100)) || i FROM n";
    with(statements, ["t"], |path, [leaves]| {
        let all = rows(path);
        let bytes = fs::read(path).unwrap();
        let root = root_of(path, "t");
        let mut salvage = Salvage::default();
        let page = &bytes[(root as usize - 1) * PAGE_BYTES..][..PAGE_BYTES];
        salvage.read(page, root, geometry(), &mut Types::new());
        let children: Vec<usize> = salvage.children.iter().map(|(child, _)| *child as usize).collect();
        assert!((4..8).contains(&children.len()) && leaves.len() > 400, "{children:?}");
        // Leaves lie where all interior pages but one were.
        for (at, child) in children.iter().enumerate().skip(1) {
            swap(path, *child, leaves[at]);
        }
        let (target, report) = recovered(path);
        let found = rows(&target);
        assert!(report.saved.damaged);
        assert!(found["t"].iter().all(|row| all["t"].contains(row)), "{:?}", report.saved);
        // The first interior page still names those of its leaves that were not swapped, so their rows are found in `t`.
        let lost = all["t"].iter().filter(|row| !found["t"].contains(row)).count();
        let elsewhere: usize = found.values().map(Vec::len).sum();
        assert!(lost < 400 && elsewhere == 2000, "{lost} of {elsewhere}: {:?}", report.saved);
    });
}

#[test]
fn leaves_that_two_tables_may_have_lost_go_to_neither() {
    let statements = format!(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY, v TEXT);
         {MANY} INSERT INTO a SELECT i, 'a ' || i FROM n; {MANY} INSERT INTO b SELECT i + 10000, 'b ' || i FROM n"
    );
    with(&statements, ["a", "b"], |path, [of_a, _]| {
        let all = rows(path);
        let roots = ["a", "b"].map(|table| root_of(path, table) as usize);
        // The first root loses its children and keys, and the other root all of its bytes.
        change(path, |pages| {
            pages[roots[0] - 1][PAGE_BYTES / 2..].fill(0);
            pages[roots[1] - 1].fill(0);
        });
        let (target, report) = recovered(path);
        let found = rows(&target);
        for table in ["a", "b"] {
            let other = found[table].iter().filter(|row| !all[table].contains(row)).count();
            assert_eq!(other, 0, "{table}: {:?}", report.saved);
        }
        let saved: usize = found.values().map(Vec::len).sum();
        assert_eq!(saved, 1200, "{} leaves: {:?}", of_a.len(), report.saved);
    });
}

#[test]
fn foreign_keys_that_refer_to_lost_rows_are_counted() {
    let statements = format!(
        "CREATE TABLE parents (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE children (parent INT REFERENCES parents (id));
         {MANY} INSERT INTO parents SELECT i, 'parent ' || i FROM n;
         {MANY} INSERT INTO children SELECT i FROM n"
    );
    with(&statements, ["parents"], |path, [leaves]| {
        change(path, |pages| pages[leaves[1] - 1].fill(0));
        let (target, report) = recovered(path);
        let lost = 600 - rows(&target)["parents"].len() as u64;
        let children = report.saved.tables.iter().find(|table| table.name == "children").unwrap();
        assert!(lost > 0);
        assert_eq!(children.orphans, lost, "{:?}", report.saved);
    });
}
