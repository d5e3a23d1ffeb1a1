//! The filters and computed columns of the part `expressions`, which sqluice and DuckDB (with its extension for SQLite) apply during a
//! load, and the verification of their databases.

use std::ffi::OsString;
use std::path::Path;

use anyhow::ensure;
use rusqlite::Connection;

use crate::db::{numbers, read, sound};
use crate::words;

/// The columns that are added, each with its expression. SQLite and DuckDB compute the same values.
const ADDED: [(&str, &str); 3] = [
    ("comment_lower", "lower(l_comment)"),
    ("net", "l_extendedprice * (1 - l_discount)"),
    ("month", "substr(l_shipdate, 1, 7)"),
];

/// A filter that keeps all rows.
pub(crate) const ALL: &str = "l_quantity > 0";

/// A filter that keeps half of the rows.
pub(crate) const HALF: &str = "l_quantity <= 25";

/// Numeric expressions whose sums over all rows must be equal in all databases. Floats have at most two decimals.
const SUMMED: [&str; 10] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "CAST(round(l_quantity * 100) AS INTEGER)",
    "CAST(round(l_extendedprice * 100) AS INTEGER) * (l_orderkey % 1009)",
    "CAST(round(l_discount * 100) AS INTEGER) * (l_partkey % 1009)",
    "CAST(round(l_tax * 100) AS INTEGER) * (l_partkey % 1013)",
    "length(l_returnflag || l_linestatus || l_shipdate || l_commitdate || l_receiptdate) * l_linenumber",
    "length(l_shipinstruct || l_shipmode || l_comment) * (l_orderkey % 1013)",
];

/// Returns the `--set` flags of `sqluice load` that add the columns.
pub(crate) fn added() -> Vec<OsString> {
    ADDED.iter().flat_map(|(name, expression)| words!["--set", format!("{name}={expression}")]).collect()
}

/// Returns the column list of a SELECT that adds the columns.
pub(crate) fn columns() -> String {
    format!("*{}", ADDED.map(|(name, expression)| format!(", {expression} AS {name}")).concat())
}

/// The content of a database, which must be equal for all ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// The number of rows, and the sums of [`SUMMED`].
    all: Vec<i64>,
    /// The number of rows that the filter [`HALF`] keeps, and the sums over these rows.
    half: Vec<i64>,
}

impl Content {
    /// Reads the content of a database, after a quick_check. With `has_added`, the added columns must have the values that SQLite computes.
    pub(crate) fn of(has_added: bool, file: &Path) -> anyhow::Result<Content> {
        let db = read(file)?;
        sound(&db, "quick_check")?;
        if has_added {
            for (name, expression) in ADDED {
                let sql = format!("SELECT count(*) FROM lineitem WHERE {name} IS NOT {expression}");
                let wrong: i64 = db.query_row(&sql, [], |row| row.get(0))?;
                ensure!(wrong == 0, "{wrong} rows have a wrong {name}");
            }
        }
        Ok(Content { all: sums(&db, "1")?, half: sums(&db, HALF)? })
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> i64 {
        self.all[0]
    }

    /// Returns `true` if the filter [`HALF`] keeps some rows and leaves others out.
    pub(crate) fn is_filtered_by_half(&self) -> bool {
        self.half[0] > 0 && self.half[0] < self.all[0]
    }

    /// Returns the content that a database has after the filter [`HALF`].
    pub(crate) fn filtered(&self) -> Content {
        Content { all: self.half.clone(), half: self.half.clone() }
    }
}

/// Returns the number of rows for which a condition is true, and the sums of [`SUMMED`] over them.
fn sums(db: &Connection, condition: &str) -> anyhow::Result<Vec<i64>> {
    let sums: String = SUMMED.map(|expression| format!(", coalesce(sum({expression}), 0)")).concat();
    let sql = format!("SELECT count(*){sums} FROM lineitem WHERE {condition}");
    numbers(db, &sql)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::data::SCHEMA;

    /// Returns the content of four rows, of which the filter keeps three, after a change.
    fn content(change: &str) -> anyhow::Result<Content> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("x.db");
        let db = Connection::open(&file)?;
        db.execute_batch(SCHEMA)?;
        let row = "17.0, 17954.55, 0.04, 0.02, 'N', 'O', '1996-03-13', 'b', 'c', 'd', 'TRUCK', 'Egular'";
        for order in 1..=4 {
            db.execute_batch(&format!("INSERT INTO lineitem VALUES ({order}, 2, 3, 1, {row})"))?;
        }
        db.execute_batch("UPDATE lineitem SET l_quantity = 26 WHERE l_orderkey = 2")?;
        for (name, expression) in ADDED {
            db.execute_batch(&format!(
                "ALTER TABLE lineitem ADD COLUMN {name}; UPDATE lineitem SET {name} = {expression}"
            ))?;
        }
        db.execute_batch(change)?;
        drop(db);
        Content::of(true, &file)
    }

    #[test]
    fn the_expected_content_of_filtered_rows_is_computed_from_all_rows() {
        let all = content("").unwrap();
        assert_eq!((all.rows(), all.is_filtered_by_half()), (4, true));
        let half = content("DELETE FROM lineitem WHERE l_orderkey = 2").unwrap();
        assert_eq!(all.filtered(), half);
        assert!(!half.is_filtered_by_half());
    }

    #[test]
    fn a_wrong_loaded_or_computed_value_is_found() {
        let expected = content("").unwrap();
        for change in [
            "l_partkey = 3",
            "l_quantity = 18",
            "l_tax = 0.03, l_discount = l_discount",
            "l_comment = 'egulars', comment_lower = 'egulars'",
            "l_shipmode = 'MAIL'",
        ] {
            let sql = format!("UPDATE lineitem SET {change} WHERE l_orderkey = 1");
            assert_ne!(content(&sql).unwrap(), expected, "{change}");
        }
        for (name, change) in [
            ("comment_lower", "comment_lower = 'Egular'"),
            ("net", "net = net + 0.001"),
            ("month", "month = NULL"),
        ] {
            let sql = format!("UPDATE lineitem SET {change} WHERE l_orderkey = 1");
            let error = content(&sql).unwrap_err().to_string();
            assert_eq!(error, format!("1 rows have a wrong {name}"));
        }
    }
}
