//! Tests that generated rows satisfy the constraints after values were exchanged between rows: SQLite inserts the rows into the declared
//! tables.

use rusqlite::{Connection, params_from_iter};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::{Schema, quoted};

use super::{Constraint, Unkept, may_be_dropped, settle, without};
use crate::spec::Spec;
use crate::sqlite_rows::rows;

/// Generates the rows of a schema and inserts them into its tables, without the constraints that were dropped.
fn made(sql: &str, all: &[u64]) -> (Connection, Vec<Unkept>) {
    let schema = Schema::parse(sql, "s.sql".as_ref()).unwrap();
    let mut spec = Spec::new(&schema).unwrap_or_else(|error| panic!("{error}"));
    let unkept = settle(&schema, &mut spec, (1, all), &Cancel::new()).unwrap();
    let (text, _) = without(&schema, &unkept);
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    for ((table, spec), count) in schema.tables.iter().zip(&spec.tables).zip(all) {
        let places = vec!["?"; table.columns.len()].join(", ");
        let mut insert =
            connection.prepare(&format!("INSERT INTO {} VALUES ({places})", quoted(&table.name))).unwrap();
        for row in rows(spec.source_among(1, all, 0, *count).unwrap(), table).unwrap() {
            insert.execute(params_from_iter(&row)).unwrap_or_else(|error| panic!("{error}: {row:?} {text}"));
        }
    }
    (connection, unkept)
}

fn number(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn exchanging_values_between_rows_satisfies_constraints_and_keeps_value_counts() {
    let sql = "CREATE TABLE t (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL, -- gen: shares('a': 70, 'b': 20, 'c': 10)
        low INT, -- gen: quantiles(0, 100)
        high INT, -- gen: quantiles(0, 200)
        n INT NOT NULL, -- gen: shares(1: 5, 2: 4, 3: 1)
        mail TEXT, -- gen: pool(900, pattern('AAAaaa'))
        CHECK (low <= high), CONSTRAINT c CHECK (kind <> 'c' OR n < 3));
        CREATE UNIQUE INDEX one ON t (low) WHERE kind = 'c';
        CREATE UNIQUE INDEX two ON t (lower(mail), n);";
    let (connection, unkept) = made(sql, &[1000]);
    assert_eq!(unkept, []);
    for (condition, expected) in [("kind = 'a'", 700), ("kind = 'c'", 100), ("n = 3", 100), ("n = 1", 500)] {
        let found = number(&connection, &format!("SELECT count(*) FROM t WHERE {condition}"));
        assert!((found - expected).abs() <= 5, "{condition}: {found}");
    }
}

#[test]
fn rows_get_a_key_that_uses_nearly_all_combinations_of_values() {
    let sql = "CREATE TABLE t (kind TEXT, -- gen: shares('a', 'b', 'c')
        region INT, -- gen: pool(30, int(1, 30))
        day INT, -- gen: shares(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
        PRIMARY KEY (kind, region, day)) WITHOUT ROWID;";
    for rows in [900, 860, 500] {
        let (connection, unkept) = made(sql, &[rows]);
        let kinds = number(&connection, "SELECT count(DISTINCT kind) * 1000 + count(DISTINCT day) FROM t");
        assert_eq!((unkept, kinds), (Vec::new(), 3010), "{rows}");
    }
}

#[test]
fn impossible_constraints_and_foreign_keys_to_them_are_dropped_from_the_schema() {
    let sql = "-- constraints: may be dropped
        CREATE TABLE p (a INT, -- gen: 1
        b INT NOT NULL, -- gen: shares(1, 2)
        CONSTRAINT k UNIQUE (a, b), CHECK (a + b = 7) ON CONFLICT ABORT, PRIMARY KEY (b, a)) STRICT, WITHOUT ROWID;
        CREATE TABLE c (x INT, -- gen: 5
        y INT, -- gen: 5
        FOREIGN KEY (x, y) REFERENCES p (a, b) ON DELETE CASCADE, CHECK (x > 4 AND y > 4));
        CREATE UNIQUE INDEX i ON c (x) WHERE y > 0;";
    let schema = Schema::parse(sql, "s.sql".as_ref()).unwrap();
    assert!(may_be_dropped(&schema));
    let (connection, unkept) = made(sql, &[10, 10]);
    let words: Vec<String> =
        unkept.iter().map(|one| one.constraint.in_words(&schema.tables[one.table])).collect();
    assert!(words.contains(&"CHECK (a + b = 7)".to_owned()), "{words:?}");
    assert!(words.contains(&"UNIQUE of index i".to_owned()), "{words:?}");
    assert_eq!(
        number(
            &connection,
            "SELECT count(*) FROM sqlite_schema WHERE name = 'i' AND sql NOT LIKE '%UNIQUE%'"
        ),
        1
    );
    assert!(
        !unkept
            .iter()
            .any(|one| matches!(&one.constraint, Constraint::Check(text) if text.contains("x > 4")))
    );
}

#[test]
fn a_column_with_two_parents_refers_to_both() {
    let sql = "CREATE TABLE p (id INTEGER PRIMARY KEY);
        CREATE TABLE q (id INTEGER PRIMARY KEY -- gen: row() * 2
        );
        CREATE TABLE c (x INT REFERENCES p REFERENCES q -- gen: ref(p.id, rows(1: 1, 2: 1))
        );";
    let (connection, unkept) = made(sql, &[100, 100, 140]);
    assert_eq!(unkept, []);
    assert_eq!(number(&connection, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert!(number(&connection, "SELECT count(DISTINCT x) FROM c") >= 40);
}
