//! What a column without a comment gets: an expression, written in the language itself, that its declaration suggests.
//!
//! | declared | values |
//! |---|---|
//! | INTEGER PRIMARY KEY and any other name of the rowid | `row()` |
//! | any INT that is UNIQUE or a PRIMARY KEY by itself; TEXT that is one | `row()`; `text(20, 20)` |
//! | BOOL, BOOLEAN | `choice(0, 1)` |
//! | TINYINT; SMALLINT, INT2; any other INT | `int(0, 127)`; `int(0, 32767)`; `int(0, 1000000)` |
//! | CHAR(n), CHARACTER(n), NCHAR(n) | `text(n, n)` |
//! | VARCHAR(n) and other texts with a length | `text(1, n)` |
//! | TEXT | `text(1, 20)` |
//! | REAL, FLOAT, DOUBLE | `real(0, 1000)` |
//! | DATE; DATETIME, TIMESTAMP | `date(...)`; `timestamp(...)` of the years 2000 to 2029 |
//! | NUMERIC(p), DECIMAL(p, s) | `int(0, 10^p - 1)`, `real(0, 10^(p-s) - 1)` |
//! | NUMERIC, DECIMAL, no type, ANY | `int(0, 1000000)` |
//! | BLOB, BLOB(n) | `blob(1, 32)`, `blob(1, n)` |
//!
//! None is NULL. Lengths are cut at [`LENGTH`].

use crate::affinity::Affinity;
use crate::schema::index::{Index, IndexColumn, Indexed};
use crate::schema::{Column, Table};

/// The longest value that a declared length makes.
const LENGTH: u64 = 1000;

/// The expression for column `index` of `table`; `None` where SQLite computes the value.
pub(crate) fn expression(table: &Table, index: usize) -> Option<String> {
    let column = &table.columns[index];
    if column.generated.is_some() {
        return None;
    }
    if table.rowid_alias == Some(index) {
        return Some("row()".to_owned());
    }
    Some(of_type(column, is_key(table, index)))
}

/// Whether no two rows may have the same value.
fn is_key(table: &Table, index: usize) -> bool {
    let alone = |key: &Index| match key.columns[..key.key_columns] {
        [IndexColumn { value: Indexed::Column(column), .. }] => column == index && key.unique,
        _ => false,
    };
    table.indexes.iter().chain(&table.clustered).any(alone)
}

fn of_type(column: &Column, is_key: bool) -> String {
    let declared = column.declared_type.to_ascii_uppercase();
    let has = |part| declared.contains(part);
    let sizes = sizes(&declared);
    let length = sizes.first().map(|size| (*size).clamp(1, LENGTH));
    if has("BOOL") {
        return "choice(0, 1)".to_owned();
    }
    match (column.affinity, length) {
        (Affinity::Integer, _) if is_key => "row()".to_owned(),
        (Affinity::Text, None) if is_key => "text(20, 20)".to_owned(),
        (Affinity::Integer, _) if has("TINYINT") => "int(0, 127)".to_owned(),
        (Affinity::Integer, _) if has("SMALLINT") || has("INT2") => "int(0, 32767)".to_owned(),
        (Affinity::Text, Some(n)) if has("CHAR") && !has("VAR") => format!("text({n}, {n})"),
        (Affinity::Text, Some(n)) => format!("text(1, {n})"),
        (Affinity::Text, None) => "text(1, 20)".to_owned(),
        (Affinity::Real, _) => "real(0, 1000)".to_owned(),
        (Affinity::Blob, Some(n)) if has("BLOB") => format!("blob(1, {n})"),
        (Affinity::Blob, None) if has("BLOB") => "blob(1, 32)".to_owned(),
        (Affinity::Numeric, _) if has("DATETIME") || has("TIMESTAMP") => {
            "timestamp('2000-01-01 00:00:00', '2029-12-31 23:59:59')".to_owned()
        }
        (Affinity::Numeric, _) if has("DATE") => "date('2000-01-01', '2029-12-31')".to_owned(),
        (Affinity::Numeric, Some(_)) => numeric(&sizes),
        _ => "int(0, 1000000)".to_owned(),
    }
}

/// NUMERIC(precision) or NUMERIC(precision, scale).
fn numeric(sizes: &[u64]) -> String {
    let scale = sizes.get(1).copied().unwrap_or(0);
    // 18 digits fit an i64.
    let whole = sizes[0].saturating_sub(scale).min(18) as u32;
    match 10_i64.pow(whole) - 1 {
        high if scale == 0 => format!("int(0, {high})"),
        high => format!("real(0, {})", high.max(1)),
    }
}

/// The numbers in the parentheses of a declared type.
fn sizes(declared: &str) -> Vec<u64> {
    let Some((_, sizes)) = declared.split_once('(') else { return Vec::new() };
    sizes.trim_end_matches(')').split(',').map_while(|size| size.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r#gen::functions::compile;
    use crate::r#gen::parse::parse;
    use crate::schema::Schema;
    use std::path::Path;

    #[test]
    fn declarations_suggest_values() {
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
            ("DATE", "date('2000-01-01', '2029-12-31')"),
            ("DATETIME", "timestamp('2000-01-01 00:00:00', '2029-12-31 23:59:59')"),
            ("TIMESTAMP(6)", "timestamp('2000-01-01 00:00:00', '2029-12-31 23:59:59')"),
            ("BLOB", "blob(1, 32)"),
            ("BLOB(8)", "blob(1, 8)"),
            ("", "int(0, 1000000)"),
        ] {
            let sql = format!("CREATE TABLE t (c {declared})");
            let schema = Schema::parse(sql, Path::new("x")).unwrap();
            let expression = expression(&schema.tables[0], 0).unwrap();
            assert_eq!(expression, expected, "{declared}");
            compile(&parse(&expression, 0).unwrap()).unwrap();
        }
    }

    #[test]
    fn what_may_be_there_once_alone_seldom_repeats_itself() {
        for (columns, expected) in [
            ("c INT UNIQUE", "row()"),
            ("c INTEGER PRIMARY KEY DESC", "row()"),
            ("c TEXT PRIMARY KEY", "text(20, 20)"),
            ("c TEXT, PRIMARY KEY (c)", "text(20, 20)"),
            ("c INT, d INT, UNIQUE (c, d)", "int(0, 1000000)"),
            ("d INT, c INT, UNIQUE (d, c)", "int(0, 1000000)"),
            ("c CHAR(6) UNIQUE", "text(6, 6)"),
        ] {
            let sql =
                format!("CREATE TABLE t ({columns}); CREATE TABLE u (c INT PRIMARY KEY, d) WITHOUT ROWID");
            let schema = Schema::parse(sql, Path::new("x")).unwrap();
            let of = |table: &Table| expression(table, table.column("c").unwrap());
            assert_eq!(of(&schema.tables[0]).as_deref(), Some(expected), "{columns}");
            assert_eq!(of(&schema.tables[1]).as_deref(), Some("row()"));
        }
    }

    #[test]
    fn the_rowid_counts_and_generated_columns_get_nothing() {
        let sql = "CREATE TABLE t (a INT AS (b + 1), b INTEGER PRIMARY KEY, c AS (a) STORED)";
        let schema = Schema::parse(sql.to_owned(), Path::new("x")).unwrap();
        let expressions = [0, 1, 2].map(|index| expression(&schema.tables[0], index));
        assert_eq!(expressions, [None, Some("row()".to_owned()), None]);
    }
}
