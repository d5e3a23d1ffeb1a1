//! Pages in wrong places: leaves that changed places, and copies of leaves.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sqluice_format::page::{Geometry, PageKind, PageSize};
use sqluice_format::salvage::{Salvage, Types};

use super::support::{recovered, rows};

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

fn root_of(path: &Path, name: &str) -> u32 {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    Connection::open(path).unwrap().query_row(sql, [name], |row| row.get(0)).unwrap()
}

fn leaves(bytes: &[u8], root: u32) -> Vec<usize> {
    let geometry = Geometry::new(PageSize::new(PAGE_BYTES as u32).unwrap(), 0).unwrap();
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

fn swap(path: &Path, one: usize, other: usize) {
    change(path, |pages| {
        let (one, other) = (one.min(other) - 1, one.max(other) - 1);
        let (before, after) = pages.split_at_mut(other);
        before[one].swap_with_slice(after[0]);
    });
}

fn copy(path: &Path, from: usize, to: usize) {
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

#[test]
fn leaves_that_two_tables_may_have_lost_go_to_neither() {
    let statements = format!(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY, v TEXT);
         {MANY} INSERT INTO a SELECT i, 'a ' || i FROM n; {MANY} INSERT INTO b SELECT i + 10000, 'b ' || i FROM n"
    );
    with(&statements, ["a", "b"], |path, [of_a, _]| {
        let all = rows(path);
        let roots = ["a", "b"].map(|table| root_of(path, table) as usize);
        // The children and keys of the one root, and all of the other.
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
