//! Rows that can't be stored as given: the error names the row and the reason, and no file is left.

#![cfg(feature = "load")]

use std::path::{Path, PathBuf};

use crate::support::cases;
use crate::support::files::{Home, integrity, open};
use crate::support::rows::{Owned, OwnedBatch, OwnedColumn};
use crate::support::source::InMemory;
use proptest::prelude::*;
use sqluice::error::{Error, ErrorKind};
use sqluice::load::Load;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice::schema::Schema;
use sqluice::source::Source;
use sqluice::write::write_tables;

fn schema(sql: &str) -> Schema {
    Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap()
}

/// Loads CSV text into a table `t`; gives the rows back as SQL literals.
fn load(sql: &str, csv: &str) -> Result<Vec<String>, Error> {
    let home = Home::new();
    let (file, target) = (home.path("t.csv"), home.path("x.db"));
    std::fs::write(&file, csv).unwrap();
    let load = Load::new(&target, [&file]).schema(schema(sql));
    let result = load.run();
    if result.is_err() {
        assert_eq!(home.names(), ["t.csv"], "nothing is left behind");
    }
    result?;
    let database = open(&target);
    assert_eq!(integrity(&database), "ok");
    let columns = schema(sql).tables[0].columns.len();
    let names: Vec<String> = (0..columns).map(|i| format!("quote(c{i})")).collect();
    let named: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
    let sql = format!(
        "WITH r (id, {}) AS (SELECT rowid, * FROM t) SELECT id || ': ' || concat_ws(' ', {}) FROM r ORDER BY id",
        named.join(", "),
        names.join(", ")
    );
    let mut statement = database.prepare(&sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    Ok(rows.collect::<Result<_, _>>().unwrap())
}

/// Returns message, line and column of the error.
fn refused(sql: &str, csv: &str) -> (String, u64, u64) {
    let error = load(sql, csv).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    let place = error.place().unwrap_or_else(|| panic!("{error} has no place"));
    assert_eq!(place.file.file_name(), Some("t.csv".as_ref()));
    (error.message().to_owned(), place.line.unwrap(), place.column.unwrap())
}

const ALIAS: &str = "CREATE TABLE t (a TEXT, id INTEGER PRIMARY KEY)";

#[test]
fn rows_without_a_rowid_are_numbered_from_1() {
    let counted = ["1: 'x' 1", "2: 'y' 2", "3: 'z' 3"];
    assert_eq!(load(ALIAS, "a,id\nx,\ny,\nz,\n").unwrap(), counted);
    assert_eq!(load(ALIAS, "a\nx\ny\nz\n").unwrap(), counted, "the file has no such column");
    assert_eq!(load(ALIAS, "a,id\nx,1\ny,\nz,3\n").unwrap(), counted, "the numbers agree with the count");
}

#[test]
fn rowids_may_be_written_in_every_form_that_sqlite_accepts() {
    let rows = load(ALIAS, "a,id\na,-5\nb, 7 \nc,8.0\nd,1e3\ne,9223372036854775807\n").unwrap();
    assert_eq!(
        rows,
        [
            "-5: 'a' -5",
            "7: 'b' 7",
            "8: 'c' 8",
            "1000: 'd' 1000",
            "9223372036854775807: 'e' 9223372036854775807"
        ]
    );
}

#[test]
fn rowids_may_be_in_any_order_or_missing_but_not_repeated() {
    assert_eq!(load(ALIAS, "a,id\nx,5\nyy,3\n").unwrap(), ["3: 'yy' 3", "5: 'x' 5"]);
    assert_eq!(load(ALIAS, "id,a\n5,x\n,y\n").unwrap(), ["5: 'x' 5", "6: 'y' 6"]);
    assert_eq!(
        load(ALIAS, "id,a\n,x\n,y\n7,z\n,u\n").unwrap(),
        ["1: 'x' 1", "2: 'y' 2", "7: 'z' 7", "8: 'u' 8"]
    );
    for (csv, message, line, column) in [
        ("a,id\nx,5\ny,5\n", "UNIQUE constraint failed: t.id = 5 (rows 1 and 2: lines 2 and 3)", 3, 3),
        ("id,a\n1,x\nseven,y\n", "'seven' in column id, which is INTEGER PRIMARY KEY", 3, 1),
        ("id,a\n1,x\n2.5,y\n", "'2.5' in column id, which is INTEGER PRIMARY KEY", 3, 1),
    ] {
        assert_eq!(refused(ALIAS, csv), (message.to_owned(), line, column), "{csv}");
    }
}

#[test]
fn null_in_a_column_that_is_not_null_is_an_error_with_its_place() {
    let sql = "CREATE TABLE t (a TEXT NOT NULL, b INTEGER NOT NULL, c)";
    let null = |column| format!("NULL in column {column}, which is NOT NULL");
    assert_eq!(refused(sql, "a,b,c\nx,1,\n\"\",,3\n,4,\n"), (null("b"), 3, 4));
    assert_eq!(
        refused(sql, "a,b,c\nx,1,\n,2,\ny,,\n"),
        (null("a"), 3, 1),
        "the first row counts, not the column"
    );
    assert_eq!(refused(sql, "b,a\n1,x\n,y\n,\n"), (null("b"), 3, 1));
    let ok = load(sql, "a,b,c\n\"\",1,\n").unwrap();
    assert_eq!(ok, ["1: '' 1 NULL"]);
    // A column that the file does not have is NULL, or its DEFAULT.
    let error = load(sql, "a\nx\n").unwrap_err();
    assert!(error.message().contains(&null("b")), "{error}");
    let with_default = "CREATE TABLE t (a TEXT NOT NULL, b INTEGER NOT NULL DEFAULT '7', c DEFAULT 'it''s')";
    assert_eq!(load(with_default, "a\nx\n").unwrap(), ["1: 'x' 7 'it''s'"]);
    let error = load("CREATE TABLE t (a, b DEFAULT (changes()))", "a\nx\n").unwrap_err();
    assert!(error.message().contains("DEFAULT changes()"), "{error}");
}

#[test]
fn a_value_that_a_strict_column_refuses_is_an_error_with_its_place() {
    let sql = "CREATE TABLE t (i INT, r REAL, s TEXT, b BLOB, x ANY) STRICT";
    assert_eq!(
        load(sql, "i,r,s,x\n 5 ,1e1,7,7\n,,,\n").unwrap(),
        ["1: 5 10.0 '7' NULL '7'", "2: NULL NULL NULL NULL NULL"]
    );
    let in_column =
        |value, column, kind| format!("'{value}' in column {column}, which is {kind} of a STRICT table");
    assert_eq!(refused(sql, "i,s\n1,x\n5.5,y\n"), (in_column("5.5", "i", "INTEGER"), 3, 1));
    assert_eq!(refused(sql, "s,i\nx,1\ny,five\n"), (in_column("five", "i", "INTEGER"), 3, 3));
    assert_eq!(refused(sql, "r\n1.5\n1.5x\n"), (in_column("1.5x", "r", "REAL"), 3, 1));
    assert_eq!(refused(sql, "b\n\nx\n"), (in_column("x", "b", "BLOB"), 3, 1));
    let error = load("CREATE TABLE t (i INT NOT NULL) STRICT", "i\n1\n\"\"\n").unwrap_err();
    assert_eq!(error.message(), in_column("", "i", "INTEGER"));
}

#[test]
fn a_file_with_an_unknown_column_or_without_a_declared_table_is_refused() {
    let error = load(ALIAS, "a,b\n1,2\n").unwrap_err();
    assert!(error.message().contains("no column \"b\""), "{error}");
    let error = load("CREATE TABLE u (a)", "a\n1\n").unwrap_err();
    assert_eq!(error.message(), "x.sql declares no table t");
}

/// Writes rows with these rowids (`None`: NULL), with as many rows in each part as `cuts` says, in turn.
fn write(target: Option<&PathBuf>, rowids: &[Option<i64>], cuts: &[usize]) -> Result<(), Error> {
    let value = |rowid: &Option<i64>| rowid.map_or(Owned::Null, Owned::Int);
    let batches =
        rowids.iter().map(|rowid| OwnedBatch { rows: 1, columns: vec![OwnedColumn::of(vec![value(rowid)])] });
    let source: Box<dyn Source> = Box::new(InMemory::new(batches.collect(), cuts));
    let schema = schema("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    let options = WriteOptions::new().threads(2);
    let target = target.map(PathBuf::as_path);
    write_tables(target, &schema, vec![source], &options, &Context::default()).map(drop)
}

#[test]
fn rowids_out_of_order_at_the_border_of_two_parts_are_reported_with_both_rowids() {
    let message = |rowids: &[Option<i64>]| write(None, rowids, &[2]).unwrap_err().message().to_owned();
    let some = |rowids: [i64; 4]| rowids.map(Some);
    assert_eq!(message(&some([1, 7, 6, 8])), "id = 6 comes after 7, which is larger");
    assert_eq!(message(&some([1, 7, 7, 8])), "id = 7 is in two rows");
    assert_eq!(
        message(&[Some(1), Some(7), None, None]),
        "NULL in column id among rows that have numbers in it"
    );
    assert_eq!(message(&[None, None, Some(2), Some(3)]), "id = 2 is in two rows");
    assert!(write(None, &[None, None, Some(9), Some(10)], &[2]).is_ok());
    assert!(write(None, &some([i64::MIN, -1, 0, i64::MAX]), &[2]).is_ok());
}

#[test]
fn repeated_keys_near_the_border_of_two_parts_are_reported_with_their_lines() {
    // A line has 32 bytes, so the second part begins at about line 32,768.
    let text = |wrong: usize| -> String {
        let row = |row| format!("{:9},{:21}\n", if row == wrong { 5 } else { row }, row);
        "id,a\n".to_owned() + &(1..33_000).map(row).collect::<String>()
    };
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, a)";
    for wrong in 32_762..32_775 {
        let (message, line, column) = refused(sql, &text(wrong));
        let lines = format!("rows 5 and {wrong}: lines 6 and {}", wrong + 1);
        assert_eq!(message, format!("UNIQUE constraint failed: t.id = 5 ({lines})"));
        assert_eq!((line, column), (wrong as u64 + 1, 1));
    }
}

#[test]
fn a_malformed_row_is_reported_rather_than_an_earlier_repeated_key() {
    // The parts are as in the test above. The second part has a row that lacks a field.
    for wrong in 32_762..32_775 {
        let row = |row: i32| match row {
            32_800 => "ragged\n".to_owned(),
            _ => format!("{:9},{row:21}\n", if row == wrong { 5 } else { row }),
        };
        let csv = "id,a\n".to_owned() + &(1..33_000).map(row).collect::<String>();
        let (message, ..) = refused("CREATE TABLE t (id INTEGER PRIMARY KEY, a)", &csv);
        assert_eq!(message, "the record ends after field 1: the header has 2");
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// The stored rows, and whether the run is refused, do not depend on the cut into parts, and equal those of SQLite.
    #[test]
    fn rowids_are_accepted_or_refused_independently_of_the_division_into_parts(
        rows in prop::collection::vec((0..6u8, 0..4i64), 1..30),
        cuts in prop::collection::vec(1..6usize, 1..4),
    ) {
        let mut last = 0;
        let rowids: Vec<Option<i64>> = rows
            .iter()
            .map(|&(kind, gap)| {
                last += match kind { 0 if gap == 0 => 0, 1 => 1 + gap / 3, _ => 1 };
                (kind < 4).then_some(last)
            })
            .collect();
        let whole = write(None, &rowids, &[100]);
        let home = Home::new();
        let path = home.path("x.db");
        let cut = write(Some(&path), &rowids, &cuts);
        // The cut may decide which of several wrong rows is named.
        prop_assert_eq!(whole.is_ok(), cut.is_ok(), "{:?} {:?}", whole, cut);
        if whole.is_ok() {
            let twin = rusqlite::Connection::open_in_memory().unwrap();
            twin.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY)").unwrap();
            for rowid in &rowids {
                twin.execute("INSERT INTO t VALUES (?1)", [rowid]).unwrap();
            }
            let read = |database: &rusqlite::Connection| -> String {
                database.query_row("SELECT group_concat(id) FROM (SELECT id FROM t ORDER BY id)", [], |row| row.get(0)).unwrap()
            };
            prop_assert_eq!(read(&open(&path)), read(&twin));
        }
    }
}

#[test]
fn two_rows_with_one_key_are_named_by_their_numbers_whatever_the_first_rowid_is() {
    let schema = schema("CREATE TABLE t (a INTEGER UNIQUE)");
    for first_rowid in [1, 0, -5, 1000, i64::MIN, i64::MAX - 9] {
        let values = [1, 2, 3, 4, 5, 6, 3, 8, 9, 10];
        let batches = values
            .map(|value| OwnedBatch { rows: 1, columns: vec![OwnedColumn::of(vec![Owned::Int(value)])] });
        let source: Box<dyn Source> = Box::new(InMemory::new(batches.into(), &[3]));
        let options = WriteOptions::new().threads(2).first_rowid(first_rowid);
        let mut error = write_tables(None, &schema, vec![source], &options, &Context::default()).unwrap_err();
        assert_eq!(error.without_hint(), "UNIQUE constraint failed: t.a = 3");
        let rows = error.take_duplicate().unwrap().rows;
        assert_eq!(rows.to_string(), "rows 3 and 7", "first rowid {first_rowid}");
    }
}
