//! Tests of CHECK, NOT NULL of VIRTUAL columns, and foreign keys.

use proptest::prelude::*;
use sqluice_core::sqlite_error::{is_of_values, said};

use super::*;

#[test]
fn a_check_that_fails_names_the_first_rows_and_their_values() {
    let sql = "CREATE TABLE t (a INT, age INT CONSTRAINT adult CHECK (age > 0 -- years)\n), name TEXT,
               CHECK (name <> ')' OR a))";
    let failure = Waiting::new(
        sql,
        "INSERT INTO t VALUES (1, 5, 'x'), (0, NULL, ')'), (1, 1, ')'), (1, -3, NULL), (1, -4, ''), (1, -5, '')",
    )
    .fails();
    assert_eq!(failure.message, "table t, row 2: CHECK (name <> ')' OR a) fails, name = ')', a = 0");
    assert_eq!(
        failure.hint,
        "4 such rows; next: row 4: CHECK (age > 0 -- years)) fails, age = -3; row 5: CHECK (age > 0 -- years)) fails, age = -4"
    );
}

#[test]
fn rows_without_rowids_are_named_by_their_keys() {
    let sql = "CREATE TABLE t (b CHECK (b < 10), k TEXT, l INT, PRIMARY KEY (k DESC, l)) WITHOUT ROWID;
               CREATE UNIQUE INDEX i ON t (b % 3) WHERE b < 10";
    let failure = Waiting::new(sql, "INSERT INTO t VALUES (10, 'x', 1), (11, 'y', 2)").fails();
    assert_eq!(failure.message, "table t, row (k = 'y', l = 2): CHECK (b < 10) fails, b = 11");
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
    let sql = "CREATE TABLE t (rowid, _rowid_, oid CHECK (oid > 0))";
    let failure = Waiting::new(sql, "INSERT INTO t VALUES (1, 2, 3), (1, 2, 0)").fails();
    assert_eq!(failure.message, "table t, row somewhere: CHECK (oid > 0) fails, oid = 0");
    let sql = "CREATE TABLE t (rowid INTEGER PRIMARY KEY, _rowid_, oid CHECK (oid > 0))";
    let failure = Waiting::new(sql, "INSERT INTO t VALUES (7, 2, 0)").fails();
    assert_eq!(failure.message, "table t, row (rowid = 7): CHECK (oid > 0) fails, oid = 0");
}

#[test]
fn more_constraints_than_one_query_takes_are_all_checked() {
    let checks: Vec<String> = (0..170).map(|i| format!("CHECK (a <> {i})")).collect();
    let sql = format!("CREATE TABLE t (a, {})", checks.join(", "));
    for i in [0, 49, 50, 169] {
        let failure = Waiting::new(&sql, &format!("INSERT INTO t VALUES (-1), ({i})")).fails();
        assert_eq!(failure.message, format!("table t, row 2: CHECK (a <> {i}) fails, a = {i}"));
    }
}

#[test]
fn null_in_a_virtual_column_that_is_not_null_is_found() {
    let sql = "CREATE TABLE t (a INT, b INT AS (a + 1) NOT NULL)";
    Waiting::new(sql, "INSERT INTO t VALUES (1)").finished();
    let waiting =
        Waiting::new("CREATE TABLE t (a INT, b INT AS (a + 1) VIRTUAL)", "INSERT INTO t VALUES (1), (NULL)");
    declare(&waiting, sql);
    let failure =
        Waiting { schema: Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap(), ..waiting }.fails();
    assert_eq!(failure.message, "table t, row 2: NOT NULL of column b fails, b = NULL");
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
fn a_parent_that_is_not_declared_is_told() {
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

/// Expressions for a CHECK, with text that looks like the end of the CHECK.
const EXPRESSIONS: [&str; 16] = [
    "a > 0",
    "b <> ')'",
    "(a IS NULL OR (a < 7)) AND typeof(b) <> 'blob'",
    "a BETWEEN -2 AND 8 -- CHECK (0)\n",
    "a /* ) CHECK (0) */ <> 5",
    "\"check\" IS NOT 'CHECK (0)'",
    "[c (d)] <> 'it''s ('",
    "`e)` IS NULL OR length(`e)`) > 1",
    "\"c\"\")\" NOT IN (1, 2, (3))",
    "CASE WHEN a THEN b = 'x' ELSE 1 END",
    "coalesce(a, 1)",
    "b NOT LIKE '%)%' ESCAPE '('",
    "x'29' <> b",
    "rowid <> 3",
    "t.a <> 4",
    "NULL OR a <> 6 /* unended ( */",
];

#[derive(Clone, Debug)]
struct Ddl {
    sql: String,
    rows: Vec<[usize; 6]>,
}

fn ddl() -> impl Strategy<Value = Ddl> {
    let constraint = (0..EXPRESSIONS.len(), 0..6usize).prop_map(|(expression, around)| {
        let expression = EXPRESSIONS[expression];
        match around {
            0 => format!("CHECK({expression})"),
            1 => format!("CONSTRAINT \"CHECK (0)\" check /* CHECK ( */ ({expression})"),
            2 => format!("Check -- (\n (({expression}))"),
            3 => format!("CONSTRAINT 'x)' CHECK ( {expression} ) ON CONFLICT IGNORE"),
            _ => format!("CHECK (\n{expression}\n)"),
        }
    });
    let columns = [
        "a INT",
        "b TEXT DEFAULT ('CHECK (0)')",
        "\"check\"",
        "[c (d)]",
        "`e)` -- CHECK (0)\n",
        "\"c\"\")\" NUM",
    ];
    let of_columns = prop::collection::vec((0..6usize, constraint.clone()), 0..4);
    let of_table = prop::collection::vec(constraint, 0..4);
    let rows =
        prop::collection::vec([0..8usize, 0..8usize, 0..8usize, 0..8usize, 0..8usize, 0..8usize], 0..12);
    (of_columns, of_table, rows).prop_map(move |(of_columns, of_table, rows)| {
        let mut parts: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        for (column, constraint) in of_columns {
            // Only table constraints accept an ON CONFLICT clause here.
            parts[column] += &format!(" {}", constraint.trim_end_matches(" ON CONFLICT IGNORE"));
        }
        parts.extend(of_table);
        Ddl { sql: format!("CREATE TABLE t ({})", parts.join(",\n")), rows }
    })
}

const LITERALS: [&str; 8] = ["NULL", "5", "-3", "'x'", "')'", "x'29'", "6.5", "'CHECK (0)'"];

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn rows_fail_exactly_when_sqlite_refuses_them(ddl in ddl()) {
        let (ours, twin) = (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
        ours.execute_batch(&format!("{}; PRAGMA ignore_check_constraints = ON", ddl.sql)).unwrap();
        twin.execute_batch(&ddl.sql).unwrap();
        let table = Schema::parse(ddl.sql.clone(), Path::new("x.sql")).unwrap().tables.remove(0);
        let mut refused = Vec::new();
        for (row, values) in (1..).zip(&ddl.rows) {
            let values: Vec<&str> = values.iter().map(|&value| LITERALS[value]).collect();
            let sql = format!(
                "INSERT INTO t (rowid, a, b, \"check\", [c (d)], `e)`, \"c\"\")\") VALUES ({row}, {})",
                values.join(", ")
            );
            ours.execute_batch(&sql).unwrap();
            if let Err(error) = twin.execute_batch(&sql) {
                prop_assert!(is_of_values(&error), "{}", error);
                refused.push((row, said(error)));
            }
        }
        let failure = checks::check(&ours, &table).err();
        match (refused.first(), &failure) {
            (None, None) => {}
            (Some((row, _)), Some(error)) => {
                prop_assert!(error.message().starts_with(&format!("table t, row {row}: CHECK (")), "{}", error);
                let count = refused.len();
                let hint = error.hint_text().unwrap();
                prop_assert!(hint.starts_with(&format!("{count} such rows")) || count == 1, "{}", hint);
            }
            _ => prop_assert!(false, "{:?}, {:?}", refused, failure),
        }
        // SQLite names an unnamed constraint by its expression, or by the quoted name at the start of the expression.
        for (_, said) in refused {
            let name = said.trim_start_matches("CHECK constraint failed: ").to_owned();
            let is_named = |sql: &&str| {
                let first = token::tokens(sql).into_iter().find(|token| !token.is_comment());
                sql.trim() == name || first.and_then(|token| token.name(sql)).as_ref() == Some(&name)
            };
            let found = ["CHECK (0)", "x)"].contains(&name.as_str())
                || token::checks(&table.sql).iter().any(is_named);
            prop_assert!(found, "{}: {:?}", name, token::checks(&table.sql));
        }
    }
}
