//! The default expressions of declared types.
//!
//! | declared | values |
//! |---|---|
//! | BOOL, BOOLEAN | `choice(0, 1)` |
//! | TINYINT; SMALLINT, INT2; any other INT | `int(0, 127)`; `int(0, 32767)`; `int(0, 1000000)` |
//! | CHAR(n), CHARACTER(n), NCHAR(n) | `text(n, n)` |
//! | VARCHAR(n) and other texts with a length | `text(1, n)` |
//! | TEXT | `text(1, 20)` |
//! | REAL, FLOAT, DOUBLE | `real(0, 1000)` |
//! | DATE; DATETIME, TIMESTAMP | `date(...)`; `timestamp(...)` of the years 2000 to 2025 |
//! | NUMERIC(p), DECIMAL(p, s) | `int(0, 10^p - 1)`, `real(0, 10^(p-s) - 1)` |
//! | NUMERIC, DECIMAL, no type, ANY | `int(0, 1000000)` |
//! | BLOB, BLOB(n) | `blob(1, 32)`, `blob(1, n)` |
//!
//! If values must differ, numbers get `row()`, and texts and blobs get a fixed length. Lengths are limited to [`LENGTH`].

use sqluice_core::affinity::Affinity;
use sqluice_core::schema::Column;

use crate::functions::compile;
use crate::parse::parse;

/// The maximum length of values, in characters or bytes, even if the declared type allows more.
const LENGTH: u64 = 1000;

/// The length, in characters, at which no two random texts are equal in practice.
const NEVER_TWICE: u64 = 20;

/// The expression for integers without bounds.
pub(super) const INTEGERS: &str = "int(0, 1000000)";

/// Returns an expression that fits the declared type of a column.
pub(super) fn expression(column: &Column) -> String {
    let declared = column.declared_type.to_ascii_uppercase();
    let has = |part| declared.contains(part);
    let sizes = sizes(&declared);
    let length = sizes.first().map(|size| (*size).clamp(1, LENGTH));
    if has("BOOL") {
        return "choice(0, 1)".to_owned();
    }
    match (column.affinity, length) {
        (Affinity::Integer, _) if has("TINYINT") => "int(0, 127)".to_owned(),
        (Affinity::Integer, _) if has("SMALLINT") || has("INT2") => "int(0, 32767)".to_owned(),
        (Affinity::Text, Some(n)) if has("CHAR") && !has("VAR") => format!("text({n}, {n})"),
        (Affinity::Text, Some(n)) => format!("text(1, {n})"),
        (Affinity::Text, None) => "text(1, 20)".to_owned(),
        (Affinity::Real, _) => "real(0, 1000)".to_owned(),
        (Affinity::Blob, Some(n)) if has("BLOB") => format!("blob(1, {n})"),
        (Affinity::Blob, None) if has("BLOB") => "blob(1, 32)".to_owned(),
        (Affinity::Numeric, _) if has("DATETIME") || has("TIMESTAMP") => {
            "timestamp('2000-01-01 00:00:00', '2025-12-31 23:59:59')".to_owned()
        }
        (Affinity::Numeric, _) if has("DATE") => "date('2000-01-01', '2025-12-31')".to_owned(),
        (Affinity::Numeric, Some(_)) => numeric(&sizes),
        _ => INTEGERS.to_owned(),
    }
}

/// Returns expressions for a column whose values must differ, the likeliest first. `least` and `most` limit the length of texts and blobs;
/// `folded` is `true` if the key ignores case.
pub(super) fn distinct(column: &Column, least: Option<i64>, most: Option<i64>, folded: bool) -> Vec<String> {
    let length = |most: Option<i64>| most.and_then(|most| u64::try_from(most).ok());
    let most = [length(most), length_of(column)].into_iter().flatten().min().unwrap_or(LENGTH);
    let width = NEVER_TWICE.max(length(least).unwrap_or(0)).min(most).max(1);
    let blob = column.declared_type.to_ascii_uppercase().contains("BLOB");
    match column.affinity {
        Affinity::Text if folded => vec![format!("distinct(hex({width}))")],
        Affinity::Text if width >= NEVER_TWICE => vec![format!("text({width}, {width})")],
        Affinity::Text => vec![format!("distinct(text({width}, {width}))")],
        Affinity::Blob if blob && width >= NEVER_TWICE => vec![format!("blob({width}, {width})")],
        Affinity::Blob if blob => vec![format!("distinct(blob({width}, {width}))")],
        _ => vec!["row()".to_owned()],
    }
}

fn length_of(column: &Column) -> Option<u64> {
    sizes(&column.declared_type.to_ascii_uppercase()).first().copied()
}

/// Returns the number of characters that the declared type of a text column allows, such as 20 for VARCHAR(20). Returns `None` if the type
/// has no length or is no text.
pub(super) fn length(column: &Column) -> Option<u64> {
    let declared = column.declared_type.to_ascii_uppercase();
    length_of(column)
        .filter(|_| declared.contains("CHAR") || declared.contains("TEXT") || declared.contains("CLOB"))
}

/// Returns the scale of NUMERIC(precision, scale), or 0.
pub(super) fn scale(column: &Column) -> u64 {
    sizes(&column.declared_type).get(1).copied().unwrap_or(0)
}

/// Returns the size of the longest value of an expression, in bytes. Returns `None` if the expression names a column, or is `json(...)`,
/// whose values can't be shortened.
pub(super) fn longest(expression: &str) -> Option<u64> {
    let expr = parse(expression, 0).ok().filter(|_| !expression.starts_with("json("))?;
    compile(&expr).ok().map(|generator| generator.size().max)
}

/// Returns the expression for NUMERIC(precision) or NUMERIC(precision, scale).
fn numeric(sizes: &[u64]) -> String {
    let scale = sizes.get(1).copied().unwrap_or(0);
    // Numbers of 18 digits fit in an i64.
    let whole = sizes[0].saturating_sub(scale).min(18) as u32;
    match 10_i64.pow(whole) - 1 {
        high if scale == 0 => format!("int(0, {high})"),
        high => format!("real(0, {})", high.max(1)),
    }
}

/// Returns the numbers in the parentheses of a declared type.
fn sizes(declared: &str) -> Vec<u64> {
    let Some((_, sizes)) = declared.split_once('(') else { return Vec::new() };
    sizes.trim_end_matches(')').split(',').map_while(|size| size.trim().parse().ok()).collect()
}
