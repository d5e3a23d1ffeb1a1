//! Tests of `recover` with lost rows of which indexes have columns.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sqluice::options::WriteOptions;
use sqluice::recover::{Recover, RecoverReport};

use super::places::{MANY, PAGE_BYTES, change, with};
use super::support::{assert_sound, recovered, rows};

/// Recovers a database with the columns of lost rows.
fn from_indexes(path: &Path, threads: usize) -> (std::path::PathBuf, RecoverReport) {
    let target = path.with_extension("indexes");
    let _ = fs::remove_file(&target);
    let write = WriteOptions::new().threads(threads);
    let report = Recover::new(path, &target).from_indexes(true).write(write).run().unwrap();
    assert_sound(&target);
    (target, report)
}

/// Returns the rowids of a table.
fn rowids(path: &Path, table: &str) -> BTreeSet<i64> {
    let connection = Connection::open(path).unwrap();
    let mut select = connection.prepare(&format!("SELECT rowid FROM {table}")).unwrap();
    select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn indexes_tell_which_rows_are_lost_and_give_their_columns() {
    for (encoding, alias) in [("UTF-8", "id INTEGER PRIMARY KEY, "), ("UTF-16le", "")] {
        let statements = format!(
            "PRAGMA encoding = '{encoding}';
             CREATE TABLE t ({alias}name TEXT, born REAL, city TEXT, note);
             {MANY} INSERT INTO t (rowid, name, born, city, note)
               SELECT i * 2, 'name ' || i, 1900 + i, CASE WHEN i % 5 THEN 'city ' || i % 7 END, 'a longer note of row ' || i FROM n;
             CREATE INDEX by_name ON t (name, born DESC); CREATE INDEX by_city ON t (city);
             CREATE INDEX by_lower ON t (lower(note)) WHERE born > 2000"
        );
        with(&statements, ["t"], |path, [leaves]| {
            let all = rowids(path, "t");
            let original = path.with_extension("original");
            fs::copy(path, &original).unwrap();
            change(path, |pages| {
                pages[leaves[3] - 1].fill(0);
                pages[leaves[4] - 1].fill(0x77);
                // The header of a record is damaged, so that one row is lost.
                let page = &mut pages[leaves[8] - 1];
                let cell = usize::from(u16::from_be_bytes([page[8], page[9]]));
                page[cell + 3..cell + 7].fill(0xff);
            });
            let (target, report) = recovered(path);
            let lost: BTreeSet<i64> = all.difference(&rowids(&target, "t")).copied().collect();
            assert!(lost.len() > 10, "{:?}", report.saved);
            let about = &report.saved.tables[0];
            assert_eq!(about.indexed_lost_rows, lost.len() as u64, "{about:?}");
            let names: Vec<&str> = about.witnesses.iter().map(|witness| &*witness.index).collect();
            assert!(names.starts_with(&["by_name", "by_city"]), "{names:?}");
            let witness = &about.witnesses[0];
            assert_eq!((witness.rows, &*witness.columns.concat()), (lost.len() as u64, "nameborn"));
            let told: BTreeSet<i64> =
                witness.rowids.iter().flat_map(|range| range.first..=range.last).collect();
            assert!(told.is_subset(&lost) && told.len() == 20.min(lost.len()), "{told:?}");
            assert!(rows(&target).keys().all(|table| !table.starts_with("lost_and_found")));

            let (target, report) = from_indexes(path, 1);
            let found = report.saved.lost_and_found.last().unwrap();
            assert_eq!((found.rows, found.of_table.as_deref()), (lost.len() as u64, Some("t")));
            let connection = Connection::open(&target).unwrap();
            let attach = format!("ATTACH '{}' AS original", original.display());
            connection.execute_batch(&attach).unwrap();
            // Each saved column is that of the original row.
            let sql = format!(
                "SELECT count(*) FROM {0} f JOIN original.t o ON o.rowid = f.source_rowid
                 WHERE (f.name, f.born, f.city) IS (o.name, o.born, o.city) AND typeof(f.born) IS typeof(o.born)
                   AND f.by_lower_1 IS CASE WHEN o.born > 2000 THEN lower(o.note) END",
                found.table
            );
            let equal: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            assert_eq!(equal, lost.len() as i64);
            assert!(rowids(&target, &found.table) == lost);
            let (other, again) = from_indexes(path, 4);
            assert_eq!(again.saved.tables[0].witnesses, report.saved.tables[0].witnesses);
            assert!(rows(&other) == rows(&target));
        });
    }
}

#[test]
fn a_table_whose_leaves_are_all_lost_is_known_by_its_index() {
    let statements = format!(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE other (a INT);
         {MANY} INSERT INTO t SELECT i, 'name ' || i FROM n; CREATE INDEX by_name ON t (name)"
    );
    with(&statements, ["t"], |path, [leaves]| {
        change(path, |pages| leaves.iter().for_each(|leaf| pages[leaf - 1].fill(0)));
        let recover = Recover::new(path, path.with_extension("indexes")).from_indexes(true);
        let prepared = recover.prepare(&Default::default()).unwrap();
        let witness = &prepared.plan().tables[0].witnesses[0];
        assert_eq!((witness.rows, witness.rowids.len()), (600, 1));
        assert_eq!((witness.rowids[0].first, witness.rowids[0].last), (1, 600));
        assert_eq!((prepared.plan().lost_and_found[0].rows, prepared.plan().rows), (600, 600));
        let (target, report) = from_indexes(path, 2);
        assert_eq!(report.saved.rows, 600);
        assert_eq!(rows(&target)["lost_and_found_1"].len(), 600);
    });
}

#[test]
fn indexes_of_tables_that_lost_nothing_tell_nothing() {
    let statements = format!(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE u (a INT UNIQUE);
         {MANY} INSERT INTO t SELECT i, 'name ' || i FROM n; {MANY} INSERT INTO u SELECT i FROM n;
         CREATE INDEX by_name ON t (name); CREATE INDEX by_id ON t (id)"
    );
    with(&statements, ["by_name", "t"], |path, [of_index, _]| {
        change(path, |pages| pages[of_index[2] - 1].fill(0));
        let (target, report) = from_indexes(path, 1);
        assert!(report.saved.damaged);
        assert!(report.saved.tables.iter().all(|table| table.witnesses.is_empty()), "{:?}", report.saved);
        assert_eq!(rows(&target).len(), 2);
        assert_eq!(PAGE_BYTES, report.saved.page_bytes);
    });
}
