//! Tests of the expressions that are derived from the declarations of columns.

use std::path::Path;

use super::*;
use crate::functions::compile;

/// Returns the default expression of a column of a table.
fn expression(schema: &Schema, table: usize, column: usize) -> Option<String> {
    Defaults::of(schema, &Comments::default(), &vec![true; schema.tables.len()]).unwrap().expressions[table]
        [column]
        .clone()
}

#[test]
fn the_declared_type_of_a_column_gives_the_default_expression() {
    for (declared, expected) in [
        ("INTEGER", "int(0, 1000000)"),
        ("TINYINT(1)", "int(0, 127)"),
        ("SMALLINT", "int(0, 32767)"),
        ("BOOLEAN", "choice(0, 1)"),
        ("CHAR(6)", "text(6, 6)"),
        ("NATIVE CHARACTER(70)", "text(70, 70)"),
        ("VARCHAR(70)", "text(1, 70)"),
        ("VARYING CHARACTER (255)", "text(1, 255)"),
        ("NVARCHAR(1000000)", "text(1, 1000)"),
        ("CHAR(0)", "text(1, 1)"),
        ("TEXT", "text(1, 20)"),
        ("CLOB", "text(1, 20)"),
        ("DOUBLE PRECISION", "real(0, 1000)"),
        ("DECIMAL(10, 2)", "real(0, 99999999)"),
        ("DECIMAL(2,2)", "real(0, 1)"),
        ("NUMERIC(5)", "int(0, 99999)"),
        ("NUMERIC(99)", "int(0, 999999999999999999)"),
        ("NUMERIC", "int(0, 1000000)"),
        ("DATE", "date('2000-01-01', '2025-12-31')"),
        ("DATETIME", "timestamp('2000-01-01 00:00:00', '2025-12-31 23:59:59')"),
        ("TIMESTAMP(6)", "timestamp('2000-01-01 00:00:00', '2025-12-31 23:59:59')"),
        ("BLOB", "blob(1, 32)"),
        ("BLOB(8)", "blob(1, 8)"),
        ("", "int(0, 1000000)"),
    ] {
        let sql = format!("CREATE TABLE t (c {declared})");
        let schema = Schema::parse(sql, Path::new("x")).unwrap();
        let expression = expression(&schema, 0, 0).unwrap();
        assert_eq!(expression, expected, "{declared}");
        compile(&parse(&expression, 0).unwrap()).unwrap();
    }
}

#[test]
fn the_columns_of_a_unique_key_get_expressions_without_duplicates() {
    for (columns, expected) in [
        ("c INT UNIQUE", "row()"),
        ("c INTEGER PRIMARY KEY DESC", "row()"),
        ("c TEXT PRIMARY KEY", "text(20, 20)"),
        ("c TEXT, PRIMARY KEY (c)", "text(20, 20)"),
        ("c INT, d INT, UNIQUE (c, d)", "distinct(int(0, 1000000))"),
        ("d INT, c INT, UNIQUE (d, c)", "distinct(int(0, 1000000))"),
        ("c CHAR(6) UNIQUE", "distinct(text(6, 6))"),
    ] {
        let sql = format!("CREATE TABLE t ({columns}); CREATE TABLE u (c INT PRIMARY KEY, d) WITHOUT ROWID");
        let schema = Schema::parse(sql, Path::new("x")).unwrap();
        let of = |table: usize| expression(&schema, table, schema.tables[table].column("c").unwrap());
        assert_eq!(of(0).as_deref(), Some(expected), "{columns}");
        assert_eq!(of(1).as_deref(), Some("row()"));
    }
}

#[test]
fn a_rowid_alias_gets_row_and_generated_columns_get_no_expression() {
    let sql = "CREATE TABLE t (a INT AS (b + 1), b INTEGER PRIMARY KEY, c AS (a) STORED)";
    let schema = Schema::parse(sql.to_owned(), Path::new("x")).unwrap();
    let expressions = [0, 1, 2].map(|index| expression(&schema, 0, index));
    assert_eq!(expressions, [None, Some("row()".to_owned()), None]);
}

#[test]
fn bounds_that_no_integer_reaches_make_an_expression_that_compiles_or_none() {
    for check in ["c > 1e19", "c < -1e19", "c >= 9223372036854775807.0", "c > 1e308 * 10", "c < 1e19"] {
        let sql = format!("CREATE TABLE t (c INTEGER CHECK ({check}))");
        let schema = Schema::parse(sql, Path::new("x")).unwrap();
        if let Some(expression) = expression(&schema, 0, 0) {
            compile(&parse(&expression, 0).unwrap()).unwrap();
        }
    }
}
