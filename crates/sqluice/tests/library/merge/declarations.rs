//! Merges of tables that the sources declare differently: added columns, other spellings, and differences that are refused.

use sqluice::options::WriteOptions;

use super::Made;

/// Merges two databases with a row each. Returns the notes about the table, or the message.
fn merged(one: &str, other: &str) -> Result<Vec<String>, String> {
    let made = Made::by(&[
        &format!("{one}; INSERT INTO t (id) VALUES (1)"),
        &format!("{other}; INSERT INTO t (id) VALUES (2)"),
    ]);
    let merge = made.merge().add_columns(true);
    match merge.run() {
        Ok(report) => {
            assert_eq!(super::twin::integrity(&made.target), "ok");
            Ok(report.tables[0].notes.clone())
        }
        Err(error) => {
            assert!(!made.target.exists());
            Err(error.to_string())
        }
    }
}

#[test]
fn a_merge_refuses_declarations_that_store_or_accept_different_values_and_names_the_difference() {
    for (one, other, said) in [
        (
            "id INTEGER PRIMARY KEY, zip INTEGER",
            "id INTEGER PRIMARY KEY, zip TEXT",
            "column zip is INTEGER in",
        ),
        ("id INTEGER PRIMARY KEY, a", "id INTEGER PRIMARY KEY, a NUMERIC", "column a is without a type in"),
        (
            "id INTEGER PRIMARY KEY, a TEXT",
            "id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE",
            "column a is COLLATE BINARY in",
        ),
        (
            "id INTEGER PRIMARY KEY, a DEFAULT 1",
            "id INTEGER PRIMARY KEY, a NOT NULL DEFAULT 1",
            "column a is allowed to be NULL in",
        ),
        (
            "id INTEGER PRIMARY KEY, a INT",
            "id INTEGER PRIMARY KEY, a INT AS (id * 2)",
            "column a is not generated in",
        ),
        (
            "id INTEGER PRIMARY KEY, a INT AS (id * 2)",
            "id INTEGER PRIMARY KEY, a INT AS (id * 3)",
            "generated as (id * 2)",
        ),
        (
            "id INTEGER PRIMARY KEY, a INT AS (id)",
            "id INTEGER PRIMARY KEY, a INT AS (id) STORED",
            "stored in",
        ),
        ("id INTEGER PRIMARY KEY, a", "id INTEGER PRIMARY KEY, a UNIQUE", "UNIQUE of column a is in"),
        (
            "id INTEGER PRIMARY KEY, a",
            "id INTEGER PRIMARY KEY, a CHECK (a > 0)",
            "CHECK (a > 0) of column a is in",
        ),
        (
            "id INTEGER PRIMARY KEY, a CHECK (a > 0)",
            "id INTEGER PRIMARY KEY, a CHECK (a > 1)",
            "CHECK (a > 1) of column a is in",
        ),
        (
            "id INTEGER PRIMARY KEY, a REFERENCES t",
            "id INTEGER PRIMARY KEY, a",
            "REFERENCES t of column a is in",
        ),
        (
            "id INTEGER PRIMARY KEY, a REFERENCES t",
            "id INTEGER PRIMARY KEY, a REFERENCES t ON DELETE CASCADE",
            "ON DELETE CASCADE",
        ),
        ("id INTEGER PRIMARY KEY, a", "id INTEGER, a PRIMARY KEY", "PRIMARY KEY of column id is in"),
        ("id INTEGER PRIMARY KEY, a", "id INT PRIMARY KEY, a", "column id is the rowid in"),
        (
            "id INTEGER, a, PRIMARY KEY (id)",
            "id INTEGER, a, b DEFAULT 5, PRIMARY KEY (id, b)",
            "PRIMARY KEY (id, b)",
        ),
        (
            "id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT REPLACE",
            "id INTEGER PRIMARY KEY, a UNIQUE",
            "ON CONFLICT REPLACE",
        ),
    ] {
        let made = |columns: &str| format!("CREATE TABLE t ({columns})");
        for (one, other) in [(made(one), made(other)), (made(other), made(one))] {
            let message = merged(&one, &other).unwrap_err();
            assert!(message.starts_with("table t can't be merged: "), "{message}");
            assert!(message.contains("1.db") && message.contains("2.db"), "{message}");
        }
        let message = merged(&made(one), &made(other)).unwrap_err();
        assert!(message.contains(said), "{message}");
    }
    let message = merged(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT) STRICT",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)",
    );
    assert!(message.unwrap_err().contains("it is STRICT in"));
    let message = merged(
        "CREATE TABLE t (id TEXT PRIMARY KEY, a INT)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, a INT) WITHOUT ROWID",
    );
    assert!(message.unwrap_err().contains("it is WITHOUT ROWID in"));
}

#[test]
fn a_merge_notes_harmless_differences_between_declarations() {
    for (one, other, said) in [
        ("id INTEGER PRIMARY KEY, a TEXT", "id INTEGER PRIMARY KEY, a VARCHAR(20)", "column a is TEXT in"),
        ("id INTEGER PRIMARY KEY, a TEXT", "\"id\" integer, [A] text, PRIMARY KEY (id)", "in other words"),
        (
            "id INTEGER PRIMARY KEY, a DEFAULT 1",
            "id INTEGER PRIMARY KEY, a DEFAULT 2",
            "column a is DEFAULT 1 in",
        ),
        (
            "id INTEGER PRIMARY KEY, a CHECK (a > 0)",
            "id INTEGER PRIMARY KEY, a, CHECK ((\"a\" > 0))",
            "in other words",
        ),
        ("id INTEGER PRIMARY KEY, a", "id INTEGER PRIMARY KEY AUTOINCREMENT, a", "it is AUTOINCREMENT in"),
        ("id INTEGER PRIMARY KEY, a, b", "id INTEGER PRIMARY KEY, b, a", "in other words"),
    ] {
        let notes = merged(&format!("CREATE TABLE t ({one})"), &format!("CREATE TABLE t ({other})")).unwrap();
        assert!(notes.len() == 1 && notes[0].contains(said), "{notes:?}");
    }
}

#[test]
fn a_merge_that_adds_columns_keeps_their_whole_declarations() {
    let made = Made::by(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT -- the first\n, UNIQUE (a, id) -- end\n); INSERT INTO t VALUES (1, 10);",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b TEXT COLLATE NOCASE NOT NULL DEFAULT 'n' CHECK (b <> ''), c INT REFERENCES t (id),
            d INT AS (a * 2), UNIQUE (a, id), CHECK (c < 100 OR c IS NULL)); INSERT INTO t VALUES (2, 20, 'B', 2);",
    ]);
    made.run(&made.merge().add_columns(true)).unwrap();
    assert_eq!(made.query("SELECT id, a, b, c, d FROM t"), ["1 10 n NULL 20", "2 20 B 2 40"]);
    assert_eq!(made.query("SELECT id FROM t WHERE b = 'b'"), ["2"]);
    let sql = made.query("SELECT sql FROM sqlite_schema WHERE name = 't'").concat();
    for text in [
        "b TEXT COLLATE NOCASE NOT NULL DEFAULT 'n' CHECK (b <> '')",
        "c INT REFERENCES t (id)",
        "d INT AS (a * 2)",
        "CHECK (c < 100 OR c IS NULL)",
    ] {
        assert!(sql.contains(text), "{sql}");
    }
}

#[test]
fn a_merge_cannot_add_a_not_null_column_without_a_default_to_existing_rows() {
    let with = "CREATE TABLE t (id INTEGER PRIMARY KEY, b INT NOT NULL); INSERT INTO t VALUES (1, 1)";
    let without = "CREATE TABLE t (id INTEGER PRIMARY KEY)";
    for scripts in [[with, without], [without, with]] {
        let made = Made::by(&scripts);
        made.run(&made.merge().add_columns(true)).unwrap();
        let scripts = scripts.map(|script| {
            if script == without {
                "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (2)"
            } else {
                script
            }
        });
        let made = Made::by(&scripts);
        let message = made.refused(&made.merge().add_columns(true));
        assert!(message.contains("column b is NOT NULL without a DEFAULT in"), "{message}");
    }
}

#[test]
fn sources_of_a_merge_must_declare_an_added_column_equally() {
    let one = "CREATE TABLE t (id INTEGER PRIMARY KEY)";
    let made = Made::by(&[
        one,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, zip INTEGER); INSERT INTO t VALUES (1, 501)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, zip TEXT); INSERT INTO t VALUES (2, '00501')",
    ]);
    let message = made.refused(&made.merge().add_columns(true));
    assert!(message.contains("column zip is INTEGER in") && message.contains("TEXT in"), "{message}");
    let made = Made::by(&[
        one,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b CHECK (b > a)); INSERT INTO t VALUES (1, 1, 2)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (2, 3)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY CHECK (id <> c), b, c); INSERT INTO t VALUES (3, 3, 4)",
    ]);
    made.run(&made.merge().add_columns(true)).unwrap();
    assert_eq!(made.query("SELECT id, a, b, c FROM t"), ["1 1 2 NULL", "2 NULL 3 NULL", "3 NULL 3 4"]);
    let sql = made.query("SELECT sql FROM sqlite_schema").concat();
    assert!(sql.contains("CHECK (id <> c)") && sql.contains("CHECK (b > a)"), "{sql}");
}

#[test]
fn a_unique_column_that_one_source_lacks_is_merged_and_one_that_each_source_lacks_is_refused() {
    let with = "CREATE TABLE t (id INTEGER PRIMARY KEY, code TEXT UNIQUE); INSERT INTO t VALUES (1, 'x')";
    let without = "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (2)";
    for scripts in [[with, without], [without, with]] {
        let made = Made::by(&scripts);
        made.run(&made.merge().add_columns(true)).unwrap();
        assert_eq!(made.query("SELECT id, code FROM t ORDER BY id"), ["1 x", "2 NULL"]);
    }
    let other = "CREATE TABLE t (id INTEGER PRIMARY KEY, mail TEXT UNIQUE); INSERT INTO t VALUES (3, 'y')";
    let made = Made::by(&[with, other]);
    let merge = made.merge().add_columns(true).write(WriteOptions::new());
    assert!(made.refused(&merge).contains("UNIQUE columns that others lack"));
}
