//! Tests of partial indexes, and of indexes on expressions and generated columns.

use super::*;
use crate::expressions::terms;

#[test]
fn sqlite_fills_the_automatic_index_of_a_unique_generated_column_after_the_rows_are_written() {
    let sql = "CREATE TABLE t (a INT, b INT AS (a % 3) UNIQUE)";
    for (rows, twice) in [("(1), (2), (NULL), (NULL)", false), ("(1), (2), (4), (5)", true)] {
        let plain = "CREATE TABLE t (a INT, b INT AS (a % 3)); CREATE TABLE e (x UNIQUE)";
        let waiting = Waiting::new(plain, &format!("INSERT INTO t VALUES {rows}"));
        declare(&waiting, sql);
        let connection = Connection::open(waiting.path()).unwrap();
        connection
            .execute_batch(
                "PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET name = 'sqlite_autoindex_t_1', tbl_name = 't' WHERE type = 'index';
                 UPDATE sqlite_schema SET sql = 'CREATE TABLE e (x)' WHERE name = 'e'",
            )
            .unwrap();
        drop(connection);
        let schema = Schema::parse(format!("{sql}; CREATE TABLE e (x)"), Path::new("x.sql")).unwrap();
        let plan = planned(&schema, None, &WriteOptions::default());
        let waiting = Waiting { schema, plan, ..waiting };
        if twice {
            let failure = waiting.fails();
            assert_eq!(
                failure.message,
                "table t: rows 1 and 3 have the same key in unique index sqlite_autoindex_t_1"
            );
            assert_eq!((failure.hint.as_str(), failure.record), ("\"b\" = 1", Some(("t".to_owned(), 3))));
        } else {
            let connection = waiting.finished();
            assert_eq!(text(&connection, "SELECT a FROM t WHERE b = 2"), "2");
        }
    }
}

#[test]
fn partial_and_expression_indexes_are_made_and_used() {
    let sql = "CREATE TABLE t (a TEXT, b INT);
               CREATE INDEX i ON t (lower(a) COLLATE nocase DESC, b) WHERE b > 1;
               CREATE UNIQUE INDEX u ON t (a || ',' || b) /* WHERE */ WHERE a <> ') ON (' -- end";
    let rows = "INSERT INTO t SELECT value || 'X', value FROM json_each('[1, 2, 3, 4]')";
    let connection = Waiting::new(sql, rows).finished();
    let plan = text(
        &connection,
        "EXPLAIN QUERY PLAN SELECT * FROM t WHERE lower(a) = '2x' COLLATE nocase AND b > 1",
    );
    assert!(plan.contains("USING INDEX i"), "{plan}");
    let failure = Waiting::new(
        sql,
        "INSERT INTO t VALUES ('x', 1), ('y', 2), ('z', NULL), ('z', NULL), ('y', 2), ('x', 1)",
    )
    .fails();
    assert_eq!(failure.message, "table t: rows 2 and 5 have the same key in unique index u");
    assert_eq!(failure.hint, "a || ',' || b = 'y,2'");
    assert_eq!(failure.record, Some(("t".to_owned(), 5)));
}

#[test]
fn keys_that_are_equal_in_the_collation_of_the_index_are_duplicates() {
    let sql = "CREATE TABLE t (a TEXT, k INTEGER PRIMARY KEY); CREATE UNIQUE INDEX i ON t (a COLLATE nocase) WHERE k > 0";
    let failure = Waiting::new(sql, "INSERT INTO t VALUES ('x', 10), ('y', 11), ('X', 12)").fails();
    assert_eq!(failure.message, "table t: rows 10 and 12 have the same key in unique index i");
    assert_eq!((failure.hint.as_str(), failure.record), ("\"a\" = 'X'", None));
}

#[test]
fn the_terms_of_an_index_are_found_in_its_statement() {
    let table = "CREATE TABLE t (a, \"b,(\" TEXT, c);";
    for (sql, key, filter) in [
        ("CREATE INDEX i ON t (a)", &["\"a\""][..], None),
        ("CREATE INDEX \"ON\" ON t (a ASC, \"b,(\" DESC)", &["\"a\"", "\"b,(\""], None),
        (
            "CREATE UNIQUE INDEX IF NOT EXISTS i ON [t] /* ( */ (max(a, ',') DESC, (c + 1) COLLATE nocase ASC) WHERE a > 1 -- )",
            &["max(a, ',')", "(c + 1) COLLATE nocase"],
            Some("a > 1 -- )"),
        ),
        ("CREATE INDEX i ON t(a || 'WHERE', c)WHERE(c)", &["a || 'WHERE'", "\"c\""], Some("(c)")),
    ] {
        let schema = Schema::parse(format!("{table} {sql}"), Path::new("x.sql")).unwrap();
        let terms = terms(&schema.tables[0].indexes[0], &schema.tables[0]).unwrap();
        assert_eq!(terms.key, key, "{sql}");
        assert_eq!(terms.filter.as_deref().map(str::trim), filter, "{sql}");
    }
}
