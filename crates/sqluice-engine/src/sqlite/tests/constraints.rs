//! Tests of errors about foreign keys and unique keys.

use super::*;

#[test]
fn errors_name_rows_of_without_rowid_tables_by_their_keys() {
    let sql = "CREATE TABLE t (b, k TEXT, l INT, PRIMARY KEY (k DESC, l)) WITHOUT ROWID;
               CREATE UNIQUE INDEX i ON t (b % 3) WHERE b < 10";
    let failure = Waiting::new(sql, "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2), (4, 'z', 1)").fails();
    assert_eq!(
        failure.message,
        "table t: rows (k = 'x', l = 1) and (k = 'z', l = 1) have the same key in unique index i"
    );
    let sql = "CREATE TABLE p (a UNIQUE); CREATE TABLE t (k PRIMARY KEY, p REFERENCES p (a)) WITHOUT ROWID";
    let failure =
        Waiting::new(sql, "INSERT INTO p VALUES (1); INSERT INTO t VALUES ('x', 1), ('y', 2), ('z', 3)")
            .fails();
    assert_eq!(failure.message, "table t, row (k = 'y'): p has no row for p = 2");
    assert_eq!(failure.hint, "2 such rows");
}

#[test]
fn a_table_whose_columns_have_all_names_of_the_rowid_is_still_checked() {
    let parent = "CREATE TABLE p (a UNIQUE);";
    let sql = format!("{parent} CREATE TABLE t (rowid, _rowid_, oid REFERENCES p (a))");
    let failure = Waiting::new(&sql, "INSERT INTO t VALUES (1, 2, 3)").fails();
    assert_eq!(failure.message, "table t, row somewhere: p has no row for oid = 3");
    let sql = format!("{parent} CREATE TABLE t (rowid INTEGER PRIMARY KEY, _rowid_, oid REFERENCES p (a))");
    let failure = Waiting::new(&sql, "INSERT INTO t VALUES (7, 2, 0)").fails();
    assert_eq!(failure.message, "table t, row (rowid = 7): p has no row for oid = 0");
}

#[test]
fn orphans_are_named_with_their_values_and_their_parents() {
    let sql = "CREATE TABLE p (id INTEGER PRIMARY KEY, a TEXT, b TEXT, UNIQUE (a, b));
               CREATE TABLE c (p INT REFERENCES p, x TEXT, y TEXT, FOREIGN KEY (x, y) REFERENCES p (a, b))";
    let parents = "INSERT INTO p VALUES (1, 'a', 'b');";
    Waiting::new(sql, &format!("{parents} INSERT INTO c VALUES (1, 'a', 'b'), (NULL, 'x', NULL)")).finished();
    let failure = Waiting::new(
        sql,
        &format!("{parents} INSERT INTO c VALUES (1, 'a', 'b'), (2, 'a', 'b'), (1, 'a', 'c')"),
    )
    .fails();
    assert_eq!(failure.message, "table c, row 2: p has no row for p = 2");
    assert_eq!(failure.hint, "2 such rows; next: row 3: p has no row for x = 'a', y = 'c'");
    let without = WriteOptions { foreign_keys: Some(false), ..WriteOptions::default() };
    Waiting::with(sql, "INSERT INTO c VALUES (2, 'a', 'b')", without).finished();
}

#[test]
fn a_reference_to_an_undeclared_table_is_reported() {
    let sql = "CREATE TABLE c (a REFERENCES nobody)";
    Waiting::new(sql, "").finished();
    let failure = Waiting::new(sql, "INSERT INTO c VALUES (1), (2)").fails();
    assert_eq!(failure.message, "table c references nobody, which the schema does not declare");
    assert!(failure.hint.contains("2 rows"), "{}", failure.hint);
    let sql = "CREATE TABLE p (a); CREATE TABLE c (a REFERENCES p (a))";
    Waiting::new(sql, "").finished();
    let failure = Waiting::new(sql, "INSERT INTO c VALUES (1)").fails();
    assert!(
        failure.message.contains("foreign key mismatch") && failure.hint.contains("UNIQUE"),
        "{failure:?}"
    );
}
