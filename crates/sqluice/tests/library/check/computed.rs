//! Partial indexes, and indexes on expressions and generated columns: `check` compares their entries with the rows, as SQLite's
//! `integrity_check` does.

use std::path::Path;

use proptest::prelude::*;
use rusqlite::{Connection, params, params_from_iter};
use sqluice::check::{Check, Checked, UnverifiedKind};

use crate::support::files::{Home, integrity};
use crate::support::{Random, cases};
use crate::write::expressions::{Made, schema, value};

const ENCODINGS: [&str; 4] = ["UTF-8", "UTF-8", "UTF-16le", "UTF-16be"];

/// Checks with one and with several threads, asserts that both find the same, and returns the findings.
fn checked(path: &Path) -> Checked {
    let of = |threads| Check::new(path).threads(threads).run().unwrap();
    let (one, many) = (of(1), of(3));
    assert_eq!(problems(&one), problems(&many));
    assert_eq!(one.unverified, many.unverified);
    many
}

fn problems(checked: &Checked) -> Vec<String> {
    let ours = checked.report.problems.iter().map(ToString::to_string);
    ours.chain(checked.sqlite_problems.iter().cloned()).collect()
}

/// Returns `true` if `check` reports an index that it did not compare with the rows.
fn left_out(checked: &Checked) -> bool {
    let kinds = [UnverifiedKind::PartialIndex, UnverifiedKind::ExpressionIndex];
    checked.unverified.iter().any(|unverified| kinds.contains(&unverified.what))
}

fn valid_schema(random: &mut Random) -> Made {
    loop {
        let made = schema(random);
        if Connection::open_in_memory().unwrap().execute_batch(&made.sql).is_ok() {
            return made;
        }
    }
}

/// Makes a database with random rows. Rows that SQLite refuses are left out.
fn database(path: &Path, random: &mut Random, made: &Made) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "encoding", random.pick(&ENCODINGS)).unwrap();
    connection.execute_batch(&format!("PRAGMA page_size = 512; BEGIN; {}", made.sql)).unwrap();
    let names: Vec<String> = made.columns.iter().map(|column| format!("\"{column}\"")).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!("INSERT INTO t ({}) VALUES ({marks})", names.join(", "));
    let mut statement = connection.prepare(&sql).unwrap();
    for number in 1..=random.pick(&[0, 3, 30, 300, 2500]) {
        let id = (made.columns[0] == "id").then_some(rusqlite::types::Value::Integer(number));
        let row: Vec<_> = id.into_iter().chain((0..3).map(|_| value(random))).collect();
        // A row that SQLite refuses is left out.
        let _ = statement.execute(params_from_iter(row));
    }
    drop(statement);
    connection.execute_batch("COMMIT").unwrap();
}

/// Returns the statements of the indexes, with their names.
fn statements(sql: &str) -> Vec<(String, String)> {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    let mut statement = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Returns SQLite's message about the database, or `None` if SQLite can't check it.
fn integrity_of(path: &Path) -> Option<String> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("PRAGMA integrity_check").ok()?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0)).ok()?;
    Some(lines.collect::<rusqlite::Result<Vec<_>>>().ok()?.join("; "))
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn check_finds_no_fault_in_computed_indexes_of_sound_databases(seed in any::<u64>()) {
        let mut random = Random(seed);
        let home = Home::new();
        let path = home.path("x.db");
        let made = valid_schema(&mut random);
        database(&path, &mut random, &made);
        prop_assert_eq!(integrity(&Connection::open(&path).unwrap()), "ok");
        let checked = checked(&path);
        prop_assert!(checked.is_sound(), "{:?}\n{}", problems(&checked), made.sql);
        prop_assert!(!left_out(&checked), "{:?}\n{}", checked.unverified, made.sql);
    }

    #[test]
    fn check_finds_a_changed_index_statement_that_integrity_check_finds(seed in any::<u64>()) {
        let mut random = Random(seed);
        let home = Home::new();
        let path = home.path("x.db");
        let made = valid_schema(&mut random);
        database(&path, &mut random, &made);
        let others = statements(&valid_schema(&mut random).sql);
        let indexes = statements(&made.sql);
        prop_assume!(!others.is_empty() && !indexes.is_empty());
        let (name, _) = &indexes[random.below(indexes.len())];
        let (other, sql) = &others[random.below(others.len())];
        let sql = sql.replacen(&format!("INDEX {other} "), &format!("INDEX {name} "), 1);
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "writable_schema", true).unwrap();
        connection.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = ?2", params![sql, name]).unwrap();
        drop(connection);
        let Some(said) = integrity_of(&path) else { return Ok(()) };
        let checked = checked(&path);
        // SQLite's integrity_check does not look for entries without a row, so `check` may find a fault that SQLite does not.
        prop_assert!(
            said == "ok" || !checked.is_sound() || left_out(&checked),
            "{}\n{}\n{}",
            said, made.sql, sql
        );
    }
}

/// Makes a table with computed indexes, changes the file by `change`, and returns the problems that `check` finds.
fn planted(change: &str) -> Vec<String> {
    let home = Home::new();
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, n INT, up AS (upper(a)));
        INSERT INTO t (a, n) VALUES ('one', 1), ('two', 2), ('three', 3), ('Two', 4);
        CREATE INDEX some ON t (n) WHERE n > 2; CREATE INDEX lowered ON t (lower(a)); CREATE INDEX raised ON t (up, n);
        CREATE UNIQUE INDEX once ON t (a || 'x') WHERE n < 4;
        PRAGMA writable_schema = on;";
    connection.execute_batch(sql).unwrap();
    connection.execute_batch(change).unwrap();
    drop(connection);
    problems(&checked(&path))
}

/// Returns SQL that replaces `from` by `to` in the statement of an object, by writable_schema.
fn replaced(name: &str, from: &str, to: &str) -> String {
    format!("UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = '{name}'")
}

#[test]
fn check_names_the_rows_of_missing_superfluous_wrong_and_repeated_index_entries() {
    let found = planted(&replaced("some", "n > 2", "n > 1"));
    assert_eq!(found, ["t: page 2: row 2 is missing from index some"]);
    let found = planted(&replaced("some", "n > 2", "n > 3"));
    assert!(found.len() == 1 && found[0].ends_with("the entry of row 3 has no row in t"), "{found:?}");
    let found = planted(&replaced("lowered", "lower(a)", "upper(a)"));
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].ends_with("the entry of row 1 differs from the row in t"), "{found:?}");
    let found = planted(&replaced("t", "upper(a)", "upper(a) || n"));
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].starts_with("raised: "), "{found:?}");
    // An index that was declared unique afterwards has two equal keys.
    let home = Home::new();
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    let sql = "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x'), ('X'), ('y');
        CREATE INDEX once ON t (lower(a)) WHERE a > 'A'; PRAGMA writable_schema = on;
        UPDATE sqlite_schema SET sql = replace(sql, 'INDEX', 'UNIQUE INDEX') WHERE name = 'once'";
    connection.execute_batch(sql).unwrap();
    drop(connection);
    let found = problems(&checked(&path));
    assert!(found.len() == 1 && found[0].ends_with("which UNIQUE forbids"), "{found:?}");
}

#[test]
fn check_names_an_index_with_a_function_of_an_application_as_not_verified() {
    let home = Home::new();
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    let sql = "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x'); CREATE INDEX i ON t (lower(a)); CREATE INDEX j ON t (a) WHERE a > '';
        PRAGMA writable_schema = on;
        UPDATE sqlite_schema SET sql = replace(sql, 'lower', 'folded') WHERE name = 'i'";
    connection.execute_batch(sql).unwrap();
    drop(connection);
    let checked = checked(&path);
    assert!(checked.is_sound());
    let said: Vec<String> =
        checked.unverified.iter().map(|part| format!("{} {}", part.what, part.name)).collect();
    assert_eq!(said, ["index on expressions i (no such function: folded)"]);
}
