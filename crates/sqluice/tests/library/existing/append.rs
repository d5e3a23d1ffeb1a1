//! Rows appended to an existing table, compared with a copy into which SQLite inserts the same rows.

use crate::support::existing::{
    Old, add, assert_same_content, assert_whole, content, copied, old, one, schema,
};
use crate::support::files::{Home, integrity};
use crate::support::keys::{Row, insert, source};
use crate::support::rows::Owned;
use crate::support::{Random, cases};
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::error::Assumption;
use sqluice::options::WriteOptions;

/// A table, the rows that it has and those that it gets.
#[derive(Clone, Debug)]
struct Case {
    old: Old,
    declared: &'static str,
    /// The rowid of the first existing row, and the number of existing rows.
    first: i64,
    rows: usize,
    /// The number of rows that were inserted after the existing rows and then deleted.
    gone: usize,
    new_rows: usize,
    /// The distance of the first new rowid from the last old one. `None`: the new rows have no rowids.
    given: Option<i64>,
    /// Bytes of the largest value.
    bytes: usize,
    chunk_bytes: usize,
    seed: u64,
}

const PLAIN: &str = "t (x)";
const NUMBERED: &str = "t (id INTEGER PRIMARY KEY, x)";
const COUNTED: &str = "t (x, id INTEGER PRIMARY KEY AUTOINCREMENT)";

fn case() -> impl Strategy<Value = Case> {
    let declared = prop_oneof![Just(PLAIN), Just(NUMBERED), Just(COUNTED)];
    let first = prop_oneof![3 => Just(1), 1 => Just(-70), 1 => Just(1 << 40), 1 => Just(i64::MAX - 20_000)];
    let rows = prop_oneof![1 => Just(0), 2 => 1..6usize, 3 => 6..300usize, 2 => 300..4000usize];
    let new_rows = prop_oneof![1 => Just(0), 3 => 1..5usize, 3 => 5..300usize, 2 => 300..4000usize];
    let given = prop_oneof![2 => Just(None), 3 => Just(Some(1)), 2 => Just(Some(50)), 1 => Just(Some(0))];
    let bytes = prop_oneof![3 => Just(20usize), 2 => Just(120), 1 => Just(3000)];
    let chunk_bytes = prop_oneof![Just(4096usize), Just(70_000), Just(8 << 20)];
    (old(), declared, first, (rows, 0..3usize, new_rows), given, (bytes, chunk_bytes), any::<u64>()).prop_map(
        |(old, declared, first, (rows, gone, new_rows), given, (bytes, chunk_bytes), seed)| {
            let given = if declared == PLAIN { None } else { given };
            Case { old, declared, first, rows, gone, new_rows, given, bytes, chunk_bytes, seed }
        },
    )
}

impl Case {
    fn value(&self, random: &mut Random) -> Owned {
        let bytes = if random.one_in(20) { self.bytes * 4 } else { self.bytes };
        match random.below(4) {
            0 => Owned::Int(random.next() as i64),
            1 => Owned::Text(vec![b'x'; random.below(bytes)]),
            _ => Owned::Blob(vec![7; random.below(bytes)]),
        }
    }

    fn row(&self, rowid: Owned, value: Owned) -> Row {
        match self.declared {
            PLAIN => vec![value],
            NUMBERED => vec![rowid, value],
            _ => vec![value, rowid],
        }
    }

    /// Makes the table in an existing database.
    fn fill(&self, path: &std::path::Path) {
        let mut database = Connection::open(path).unwrap();
        let random = &mut Random(self.seed);
        let transaction = database.transaction().unwrap();
        transaction.execute_batch(&format!("CREATE TABLE {}", self.declared)).unwrap();
        let mut add = transaction.prepare("INSERT INTO t (rowid, x) VALUES (?1, ?2)").unwrap();
        for number in 0..self.rows + self.gone {
            add.execute(rusqlite::params![self.first + number as i64 * 2, self.value(random)]).unwrap();
        }
        drop(add);
        let last = self.first + self.rows as i64 * 2 - 2;
        transaction.execute("DELETE FROM t WHERE rowid > ?1", [last]).unwrap();
        transaction.commit().unwrap();
        database.close().unwrap();
    }

    fn new_rows(&self, last: Option<i64>) -> Vec<Row> {
        let random = &mut Random(!self.seed);
        let mut rowid = last.unwrap_or(-3) + self.given.unwrap_or(0);
        let rows = (0..self.new_rows).map(|_| {
            let value = self.value(random);
            let given = if self.given.is_some() { Owned::Int(rowid) } else { Owned::Null };
            rowid += 1 + random.below(2) as i64;
            self.row(given, value)
        });
        rows.collect()
    }
}

fn compare(case: &Case) {
    let home = Home::new();
    let path = home.path("ours.db");
    case.old.create(&path);
    case.fill(&path);
    let twin_path = copied(&home, &path, "twin.db");
    let mut twin = Connection::open(&twin_path).unwrap();
    let last: Option<i64> = one(&twin, "SELECT max(rowid) FROM t");
    let rows = case.new_rows(last);
    let before = content(&twin);
    let options = WriteOptions::new().threads(2).tune(|tuning| tuning.chunk_bytes = case.chunk_bytes);
    let schema = schema(&format!("CREATE TABLE {}", case.declared));
    let added = add(&path, &schema, vec![source(&rows, 97)], &options);
    if case.given == Some(0) && last.is_some() && !rows.is_empty() {
        let error = added.unwrap_err();
        assert!(error.refuted() == Some(Assumption::RowOrder), "{error}");
        assert!(error.message().contains(" is not greater than "), "{error}");
        assert_whole(&path, case.old.mode());
        assert!(content(&Connection::open(&path).unwrap()) == before, "it is as it was");
        return;
    }
    let report = added.unwrap_or_else(|error| panic!("{error}: {error:?}"));
    assert_eq!(report.rows, rows.len() as u64);
    let transaction = twin.transaction().unwrap();
    insert(&transaction, "t", sqluice::options::OnConflict::Abort, &rows).unwrap();
    transaction.commit().unwrap();
    assert_whole(&path, case.old.mode());
    let ours = Connection::open(&path).unwrap();
    let rowids = "SELECT group_concat(rowid) FROM (SELECT rowid FROM t ORDER BY rowid)";
    assert_eq!(one::<Option<String>>(&ours, rowids), one::<Option<String>>(&twin, rowids));
    assert_same_content(&ours, &twin);
    for database in [&ours, &twin] {
        database
            .execute_batch(
                "INSERT INTO t (x) SELECT x FROM t LIMIT 500; DELETE FROM t WHERE rowid % 3 = 0;
                 CREATE INDEX later ON t (x); UPDATE t SET x = x || 'y' WHERE rowid % 5 = 0",
            )
            .unwrap();
        assert_eq!(integrity(database), "ok");
    }
    assert_same_content(&ours, &twin);
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn appended_rows_equal_those_that_sqlite_inserts(case in case()) {
        compare(&case);
    }
}

#[test]
fn a_table_grows_correctly_over_40_appends() {
    let home = Home::new();
    let path = home.path("ours.db");
    Old { page_bytes: 512, wal: true, ..Old::default() }.create(&path);
    let database = Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE t (x)").unwrap();
    database.close().unwrap();
    let schema = schema("CREATE TABLE t (x)");
    let mut count = 0;
    for round in 0..40_usize {
        let rows: Vec<Row> = (0..round * 7).map(|row| vec![Owned::Text(vec![b'a'; row % 200])]).collect();
        count += rows.len();
        add(&path, &schema, vec![source(&rows, 50)], &WriteOptions::default()).unwrap();
        assert_whole(&path, "wal");
        let database = Connection::open(&path).unwrap();
        assert_eq!(
            one::<i64>(&database, "SELECT count(*) + max(rowid) FROM t UNION SELECT 0 ORDER BY 1 DESC"),
            2 * count as i64
        );
    }
}

#[test]
fn appending_beyond_the_largest_rowid_is_refused_and_changes_nothing() {
    let home = Home::new();
    let path = home.path("ours.db");
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch("CREATE TABLE t (x); INSERT INTO t (rowid, x) VALUES (9223372036854775805, 1)")
        .unwrap();
    database.close().unwrap();
    let schema = schema("CREATE TABLE t (x)");
    let rows = |count: usize| vec![source(&vec![vec![Owned::Int(1)]; count], 50)];
    let error = add(&path, &schema, rows(3), &WriteOptions::default()).unwrap_err();
    assert!(error.refuted() == Some(Assumption::RowOrder), "{error}");
    assert_whole(&path, "delete");
    add(&path, &schema, rows(2), &WriteOptions::default()).unwrap();
    let database = Connection::open(&path).unwrap();
    assert_eq!(one::<i64>(&database, "SELECT max(rowid) FROM t"), i64::MAX);
}
