//! Leaves of tables of one shape, which only indexes, keys and gaps tell apart.

use std::path::Path;

use rusqlite::Connection;
use sqluice_format::salvage::{Salvage, Types};

use super::places::{MANY, PAGE_BYTES, change, copy, geometry, root_of, swap, with};
use super::support::{Rows, recovered, rows};

/// Asserts that a recovery finds damage, and all rows in their tables.
fn assert_all_are_found(path: &Path, all: &Rows) {
    let (target, report) = recovered(path);
    let found = rows(&target);
    assert!(report.saved.damaged);
    for (table, rows) in all {
        let missing = rows.iter().filter(|row| !found[table].contains(row)).count();
        let new = found[table].iter().filter(|row| !rows.contains(row)).count();
        assert_eq!((missing, new), (0, 0), "{table}: missing and new rows: {:?}", report.saved);
    }
}

/// Asserts that a recovery finds damage, and no row in a table that it was never in. Returns the found rows.
fn assert_none_is_new(path: &Path, all: &Rows) -> Rows {
    let (target, report) = recovered(path);
    let found = rows(&target);
    assert!(report.saved.damaged);
    for (table, rows) in all {
        let new = found[table].iter().filter(|row| !rows.contains(row)).count();
        assert_eq!(new, 0, "{table}: new rows: {:?}", report.saved);
    }
    found
}

/// Two tables of one shape with the same rowids and the same unique numbers.
fn twins(rows: usize, indexes: &str) -> String {
    format!(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT, u INT UNIQUE); CREATE TABLE b (id INTEGER PRIMARY KEY, v TEXT, u INT UNIQUE);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows}) INSERT INTO a SELECT i, 'a ' || (i * 7 % 1000), i FROM n;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows}) INSERT INTO b SELECT i, 'b ' || (i * 3 % 1000), i FROM n;
         {indexes}"
    )
}

/// The page numbers of an interior page's children.
fn children(path: &Path, page: u32) -> Vec<usize> {
    let bytes = std::fs::read(path).unwrap();
    let mut salvage = Salvage::default();
    let at = (page as usize - 1) * PAGE_BYTES;
    salvage.read(&bytes[at..at + PAGE_BYTES], page, geometry(), &mut Types::new());
    salvage.children.iter().map(|(child, _)| *child as usize).collect()
}

const BY_TEXT: &str = "CREATE INDEX a_v ON a (v); CREATE INDEX b_v ON b (v, u DESC);";

#[test]
fn indexes_tell_which_of_two_exchanged_roots_is_which() {
    let statements = "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY, v TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20) INSERT INTO a SELECT i, 'a ' || i FROM n;
        INSERT INTO b SELECT id, 'b ' || id FROM a; CREATE INDEX a_v ON a (v); CREATE INDEX b_v ON b (v); CREATE INDEX b_id ON b (v, id)";
    with(statements, [], |path, []| {
        let all = rows(path);
        swap(path, root_of(path, "a") as usize, root_of(path, "b") as usize);
        assert_all_are_found(path, &all);
    });
}

#[test]
fn indexes_tell_which_table_has_a_leaf_that_both_may_have_lost() {
    for encoding in ["UTF-8", "UTF-16le"] {
        let statements = format!("PRAGMA encoding = '{encoding}'; {}", twins(600, BY_TEXT));
        with(&statements, ["a", "b"], |path, [of_a, of_b]| {
            let all = rows(path);
            let roots = ["a", "b"].map(|table| root_of(path, table) as usize);
            change(path, |pages| roots.into_iter().for_each(|root| pages[root - 1].fill(0)));
            assert!(of_a.len() > 8 && of_b.len() > 8);
            assert_all_are_found(path, &all);
        });
    }
}

#[test]
fn an_index_that_knows_no_row_of_its_table_is_not_believed() {
    with(&twins(600, BY_TEXT), [], |path, []| {
        let all = rows(path);
        swap(path, root_of(path, "a_v") as usize, root_of(path, "b_v") as usize);
        assert_all_are_found(path, &all);
    });
}

#[test]
fn a_root_of_another_table_gives_no_rows_that_the_index_lacks() {
    let columns = "(k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID";
    let statements = format!(
        "CREATE TABLE a {columns}; CREATE TABLE b {columns}; CREATE INDEX b_v ON b (v);
         {MANY} INSERT INTO a SELECT 'key ' || (i * 7), 'a ' || i FROM n; {MANY} INSERT INTO b SELECT 'key ' || (i * 3), 'b ' || i FROM n"
    );
    with(&statements, ["a"], |path, [of_a]| {
        let all = rows(path);
        copy(path, of_a[3], root_of(path, "b") as usize);
        let found = assert_none_is_new(path, &all);
        // The overwritten root of `b`, an interior page of a WITHOUT ROWID table, had rows in its cells. These rows are lost.
        assert!(found["a"] == all["a"] && found["b"].len() > 560, "{}", found["b"].len());
    });
}

#[test]
fn a_page_of_an_index_at_the_end_of_a_table_without_rowids_is_none_of_its_leaves() {
    // The entries have the columns of the rows, in another order, and their keys come after those of the table.
    let statements = format!(
        "CREATE TABLE t (k TEXT PRIMARY KEY, n, v TEXT) WITHOUT ROWID; CREATE INDEX t_v ON t (v, n DESC);
         {MANY} INSERT INTO t SELECT 'key ' || (i * 7), i, 'text ' || i FROM n"
    );
    with(&statements, ["t", "t_v"], |path, [of_t, of_index]| {
        let all = rows(path);
        copy(path, of_index[0], of_t[of_t.len() - 1]);
        let found = assert_none_is_new(path, &all);
        assert!(found["t"].len() > 550);
    });
}

#[test]
fn a_page_with_other_keys_than_its_parent_says_takes_nothing_from_the_table_that_has_it() {
    let columns = "(k INT PRIMARY KEY, v TEXT) WITHOUT ROWID";
    let statements = format!(
        "CREATE TABLE a {columns}; CREATE TABLE b {columns}; {MANY} INSERT INTO a SELECT i * 2, 'a ' || i FROM n;
         {MANY} INSERT INTO b SELECT i * 3, 'b ' || i FROM n"
    );
    with(&statements, ["a", "b"], |path, [of_a, of_b]| {
        let all = rows(path);
        copy(path, of_b[4], of_a[1]);
        let found = assert_none_is_new(path, &all);
        assert!(found["b"] == all["b"]);
        let (_, report) = recovered(path);
        assert!(report.saved.tables.iter().all(|table| table.by_shape == 0), "{:?}", report.saved);
    });
}

#[test]
fn leaves_of_one_interior_page_that_lie_elsewhere_do_not_keep_the_others_out() {
    let statements = format!(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE o (x, y, z);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) INSERT INTO t SELECT i, hex(zeroblob(100)) || i FROM n;
         {MANY} INSERT INTO o SELECT i, 'o ' || i, i FROM n"
    );
    with(&statements, ["t", "o"], |path, [of_t, of_o]| {
        let all = rows(path);
        let interior = children(path, root_of(path, "t"));
        let below = children(path, interior[1] as u32);
        swap(path, below[10], of_o[1]);
        swap(path, interior[1], of_t[of_t.len() - 5]);
        assert_all_are_found(path, &all);
    });
}

#[test]
fn a_leaf_of_another_table_below_a_root_that_lies_elsewhere_goes_back() {
    let statements = format!(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE o (x, y, z);
         {MANY} INSERT INTO t SELECT i, 't ' || i FROM n; {MANY} INSERT INTO o (rowid, x, y, z) SELECT i * 5, i, 'o ' || i, i FROM n"
    );
    with(&statements, ["t", "o"], |path, [of_t, of_o]| {
        let all = rows(path);
        swap(path, of_t[of_t.len() - 1], of_o[of_o.len() - 2]);
        swap(path, root_of(path, "t") as usize, of_o[3]);
        assert_all_are_found(path, &all);
    });
}

#[test]
fn leaves_of_a_table_that_the_schema_lost_are_no_rows_of_one_whose_gaps_are_elsewhere() {
    let statements = format!(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY, v TEXT);
         {MANY} INSERT INTO a SELECT i, 'a ' || i FROM n; {MANY} INSERT INTO b SELECT i + 10000, 'b ' || i FROM n"
    );
    with(&statements, ["b"], |path, [of_b]| {
        let mut all = rows(path);
        all.remove("a");
        let connection = Connection::open(path).unwrap();
        let forget = "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'a'";
        connection.execute_batch(forget).unwrap();
        drop(connection);
        change(path, |pages| pages[of_b[2] - 1].fill(0));
        let found = assert_none_is_new(path, &all);
        assert_eq!(found["lost_and_found_1"].len(), 600);
    });
}
