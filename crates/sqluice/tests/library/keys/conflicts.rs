//! Rows with the same key: `ignore` and `replace` keep the rows that SQLite keeps, and `abort` reports the key.

use std::path::Path;

use crate::support::cases;
use crate::support::files::{Home, integrity, open};
use crate::support::keys::{Row, ask, insert, source};
use crate::support::rows::Owned;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::error::{Error, ErrorKind};
use sqluice::options::{OnConflict, WriteOptions};
use sqluice::progress::Context;
use sqluice::schema::Schema;
use sqluice::write::write_tables;

/// Writes rows, and returns the rows that table `t` has then, in the order of the table.
fn ours(sql: &str, rows: &[Row], options: &WriteOptions, batch_rows: usize) -> Result<Vec<Row>, Error> {
    let home = Home::new();
    let path = home.path("x.db");
    let schema = Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap();
    let sources = vec![source(rows, batch_rows)];
    let written = write_tables(Some(&path), &schema, sources, options, &Context::default());
    if written.is_err() {
        assert_eq!(home.names(), [""; 0], "nothing is left behind");
    }
    written?;
    let database = open(&path);
    assert_eq!(integrity(&database), "ok");
    Ok(ask(&database, "SELECT * FROM t NOT INDEXED", &[]).unwrap())
}

/// Lets SQLite insert the rows, and returns those that it keeps.
fn theirs(sql: &str, rows: &[Row], on_conflict: OnConflict) -> Result<Vec<Row>, String> {
    let twin = Connection::open_in_memory().unwrap();
    twin.execute_batch(sql).unwrap();
    insert(&twin, "t", on_conflict, rows).map_err(|error| error.to_string())?;
    ask(&twin, "SELECT * FROM t NOT INDEXED", &[])
}

fn options(on_conflict: OnConflict) -> WriteOptions {
    WriteOptions::new().threads(2).on_conflict(on_conflict)
}

/// Returns rows of integers.
fn ints<const N: usize>(rows: &[[i64; N]]) -> Vec<Row> {
    rows.iter().map(|row| row.map(Owned::Int).to_vec()).collect()
}

fn text(text: &str) -> Owned {
    Owned::Text(text.as_bytes().to_vec())
}

/// Returns the values in the error of a run with these rows. The error must name the columns that SQLite's error names.
fn refused(sql: &str, rows: &[Row]) -> String {
    let error = ours(sql, rows, &options(OnConflict::Abort), 100).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    let said = theirs(sql, rows, OnConflict::Abort).unwrap_err();
    let message = error.message();
    let (columns, values) = message.split_once(" = ").unwrap_or_else(|| panic!("{error}"));
    assert_eq!(columns, said);
    values.to_owned()
}

#[test]
fn a_row_that_was_ignored_or_replaced_causes_no_conflict() {
    let sql = "CREATE TABLE t (a UNIQUE, b UNIQUE)";
    let rows = ints(&[[1, 1], [1, 2], [3, 2]]);
    let ignored = ours(sql, &rows, &options(OnConflict::Ignore), 100).unwrap();
    assert_eq!(ignored, ints(&[[1, 1], [3, 2]]));
    let replaced = ours(sql, &rows, &options(OnConflict::Replace), 100).unwrap();
    assert_eq!(replaced, ints(&[[3, 2]]));
}

#[test]
fn one_row_can_replace_several_rows() {
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b UNIQUE, c UNIQUE)";
    let rows = ints(&[[1, 1, 1], [2, 2, 2], [3, 3, 3], [1, 2, 3], [4, 1, 1]]);
    let replaced = ours(sql, &rows, &options(OnConflict::Replace), 100).unwrap();
    assert_eq!(replaced, ints(&[[1, 2, 3], [4, 1, 1]]));
}

#[test]
fn a_key_that_two_rows_have_is_reported_with_its_columns_and_values() {
    let two =
        |a: Owned, b: Owned| vec![vec![a.clone(), b.clone()], vec![Owned::Int(7), text("other")], vec![a, b]];
    let x3 = || two(text("x"), Owned::Int(3));
    assert_eq!(refused("CREATE TABLE t (a, b, UNIQUE (a, b))", &x3()), "('x', 3)");
    assert_eq!(refused("CREATE TABLE t (a, b, PRIMARY KEY (b, a)) WITHOUT ROWID", &x3()), "(3, 'x')");
    assert_eq!(refused("CREATE TABLE t (a TEXT PRIMARY KEY, b)", &x3()), "'x'");
    assert_eq!(refused("CREATE TABLE t (b, a INTEGER PRIMARY KEY DESC)", &ints(&[[1, 3], [2, 3]])), "3");
    let index = "CREATE TABLE t (a, b); CREATE UNIQUE INDEX i ON t (b DESC, a COLLATE NOCASE)";
    assert_eq!(refused(index, &x3()), "(3, 'x')");
    let blob = Owned::Blob(vec![0xab, 0]);
    assert_eq!(refused("CREATE TABLE t (a UNIQUE, b)", &two(blob, Owned::Null)), "a blob of 2 bytes");
}

#[test]
fn keys_are_equal_exactly_if_sqlite_finds_them_equal() {
    let pairs = [
        (Owned::Int(1), Owned::Real(1.0)),
        (Owned::Real(0.0), Owned::Real(-0.0)),
        (Owned::Int(1 << 53), Owned::Real(9_007_199_254_740_992.0)),
        (Owned::Int((1 << 53) + 1), Owned::Real(9_007_199_254_740_992.0)),
        (Owned::Int(i64::MAX), Owned::Real(9_223_372_036_854_775_808.0)),
        (Owned::Int(i64::MIN), Owned::Real(-9_223_372_036_854_775_808.0)),
        (text("a"), text("A")),
        (text("a"), text("a  ")),
        (text("a\0b"), text("A\0B")),
        (text("é"), text("É")),
        (text("a"), Owned::Blob(b"a".to_vec())),
        (text("1"), Owned::Int(1)),
        (Owned::Null, Owned::Null),
    ];
    // The key has another column with the number of the pair, so that only the two values of a pair can be equal.
    let rows = |one: fn(&(Owned, Owned)) -> &Owned| {
        pairs.iter().zip(0..).map(move |(pair, number)| vec![Owned::Int(number), one(pair).clone()])
    };
    let rows: Vec<Row> = rows(|pair| &pair.0).chain(rows(|pair| &pair.1)).collect();
    for declared in ["", "TEXT", "INTEGER", "REAL", "BLOB"] {
        for collation in ["BINARY", "NOCASE", "RTRIM"] {
            for sql in [
                format!("CREATE TABLE t (n, a {declared} COLLATE {collation}, UNIQUE (n, a))"),
                format!(
                    "CREATE TABLE t (n, a {declared}); CREATE UNIQUE INDEX i ON t (a COLLATE {collation} DESC, n)"
                ),
            ] {
                for on_conflict in [OnConflict::Ignore, OnConflict::Replace] {
                    let mine = ours(&sql, &rows, &options(on_conflict), 5).unwrap();
                    assert_eq!(mine, theirs(&sql, &rows, on_conflict).unwrap(), "{sql}, {on_conflict:?}");
                }
            }
        }
    }
}

#[test]
fn one_of_many_rows_with_the_same_key_is_kept() {
    let sql = "CREATE TABLE t (a UNIQUE, b)";
    let rows = ints(&(0..5000).map(|row| [row % 2, row]).collect::<Vec<_>>());
    for (on_conflict, first) in [(OnConflict::Ignore, 0), (OnConflict::Replace, 4998)] {
        let left = ours(sql, &rows, &options(on_conflict), 37).unwrap();
        assert_eq!(left, ints(&[[0, first], [1, first + 1]]));
    }
}

/// Generates a table of four columns, some keys of which no two rows may share.
fn table() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        3 => Just(String::new()),
        1 => Just("PRIMARY KEY (a)".to_owned()),
        1 => Just("PRIMARY KEY (b DESC, c)".to_owned()),
    ];
    let columns = prop::sample::subsequence(vec!["a", "b", "c DESC", "d COLLATE NOCASE"], 1..3);
    let uniques = prop::collection::vec(columns, 0..4);
    let types = prop_oneof![Just("INTEGER"), Just("INT"), Just("REAL")];
    (key, uniques, types, any::<bool>(), any::<bool>()).prop_map(|(key, uniques, a, indexes, rowid)| {
        let mut lines = vec![format!("a {a}, b, c, d TEXT")];
        let mut after = String::new();
        for (index, columns) in uniques.iter().enumerate() {
            let columns = columns.join(", ");
            if indexes && index % 2 == 0 {
                after += &format!("; CREATE UNIQUE INDEX i{index} ON t ({columns})");
            } else {
                lines.push(format!("UNIQUE ({columns})"));
            }
        }
        let options = if rowid || key.is_empty() { "" } else { "WITHOUT ROWID" };
        // The PRIMARY KEY constraint stands before or after all UNIQUE constraints.
        if !key.is_empty() {
            lines.insert(if indexes { 1 } else { lines.len() }, key);
        }
        format!("CREATE TABLE t ({}) {options}{after}", lines.join(", "))
    })
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn ignore_and_replace_keep_the_same_rows_as_sqlite(
        sql in table(),
        rows in prop::collection::vec([0..9i64, 0..6i64, 0..6i64, 0..30i64], 1..60),
        replace in any::<bool>(),
        batch_rows in 1..30usize,
        threads in 1..4usize,
    ) {
        let on_conflict = if replace { OnConflict::Replace } else { OnConflict::Ignore };
        let rows: Vec<Row> = rows
            .iter()
            .map(|&[a, b, c, d]| {
                // In column c, 5 stands for NULL, unless c belongs to the PRIMARY KEY.
                let c = if c == 5 && !sql.contains("PRIMARY KEY (b DESC, c)") { Owned::Null } else { Owned::Int(c) };
                let b = if b == 4 { Owned::Real(1.0) } else { Owned::Int(b) };
                vec![Owned::Int(a), b, c, text(["x", "X", "y", "z "][d as usize % 4])]
            })
            .collect();
        let options = options(on_conflict).threads(threads).tune(|tuning| tuning.chunk_bytes = 20_000);
        let mine = ours(&sql, &rows, &options, batch_rows).unwrap();
        prop_assert_eq!(mine, theirs(&sql, &rows, on_conflict).unwrap(), "{}", sql);
    }

    #[test]
    fn a_run_fails_because_of_a_repeated_key_exactly_if_sqlite_fails(
        sql in table(),
        rows in prop::collection::vec([0..40i64, 0..40i64, 0..40i64, 0..40i64], 1..9),
        batch_rows in 1..5usize,
    ) {
        // Only a load sorts rows by their INTEGER PRIMARY KEY; other sources must give them in order.
        let sql = sql.replace("a INTEGER", "a INT");
        let rows: Vec<Row> = rows
            .iter()
            .map(|&[a, b, c, d]| vec![Owned::Int(a), Owned::Int(b), Owned::Int(c), text(&format!("{d}"))])
            .collect();
        let (mine, twins) =
            (ours(&sql, &rows, &options(OnConflict::Abort), batch_rows), theirs(&sql, &rows, OnConflict::Abort));
        match (mine, twins) {
            (Ok(mine), Ok(twins)) => prop_assert_eq!(mine, twins, "{}", sql),
            (Err(error), Err(_)) => prop_assert!(error.message().starts_with("UNIQUE constraint failed: t."), "{}", error),
            (mine, twins) => prop_assert!(false, "ours: {:?}, the twin's: {:?}", mine, twins),
        }
    }
}
