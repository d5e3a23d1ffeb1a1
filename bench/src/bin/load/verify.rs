//! A wrong result can't be fast: what a lap left is summed up by SQLite.

use std::path::Path;

use anyhow::{Context, ensure};
use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};

/// What must be the same whoever loaded the file. Sums are whole numbers, so that neither their order nor the type
/// that a column was given counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) rows: i64,
    orderkey: i64,
    /// Decimals in hundredths, as the three that follow.
    quantity: i64,
    extendedprice: i64,
    discount: i64,
    tax: i64,
    first_comment: String,
    last_comment: String,
}

impl Sums {
    /// Those of a file that has all rows so many times.
    pub(crate) fn times(&self, n: i64) -> Sums {
        Sums {
            rows: self.rows * n,
            orderkey: self.orderkey * n,
            quantity: self.quantity * n,
            extendedprice: self.extendedprice * n,
            discount: self.discount * n,
            tax: self.tax * n,
            ..self.clone()
        }
    }
}

/// Sums up the table of a database, which is sound as far as SQLite's quick_check tells, if that is asked for.
pub(crate) fn verify(file: &Path, quick_check: bool) -> anyhow::Result<Sums> {
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| format!("cannot open {}", file.display()))?;
    if quick_check {
        let found: String = db.query_row("PRAGMA quick_check", [], |row| row.get(0))?;
        ensure!(found == "ok", "quick_check says: {found}");
    }
    let sums = ["l_quantity", "l_extendedprice", "l_discount", "l_tax"]
        .map(|column| format!("sum(CAST(round({column} * 100) AS INTEGER))"));
    let sql = format!(
        "SELECT count(*), sum(CAST(l_orderkey AS INTEGER)), {}, min(l_comment), max(l_comment) FROM lineitem",
        sums.join(", ")
    );
    let sums = db.query_row(&sql, [], |row| {
        Ok(Sums {
            rows: row.get(0)?,
            orderkey: row.get(1)?,
            quantity: row.get(2)?,
            extendedprice: row.get(3)?,
            discount: row.get(4)?,
            tax: row.get(5)?,
            first_comment: row.get(6)?,
            last_comment: row.get(7)?,
        })
    });
    sums.with_context(|| format!("{} holds no line items", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::SCHEMA;

    /// Two rows, under the declared types or as text, `times` over, and then damaged.
    fn sums(text: bool, times: usize, damage: &str) -> anyhow::Result<Sums> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("x.db");
        let db = Connection::open(&file)?;
        let schema = SCHEMA.replace("INTEGER", if text { "TEXT" } else { "INTEGER" });
        db.execute_batch(&schema.replace("REAL", if text { "TEXT" } else { "REAL" }))?;
        for _ in 0..times {
            db.execute_batch(
                "INSERT INTO lineitem VALUES
                ('1','2','3','1','17','17954.55','0.04','0.02','N','O','1996-03-13','','','','TRUCK','egular'),
                ('3','5','3','2','36','34850.16','0.09','0.06','N','O','1996-04-12','','','','MAIL','ly final');",
            )?;
        }
        db.execute_batch(damage)?;
        drop(db);
        verify(&file, true)
    }

    #[test]
    fn the_types_of_columns_do_not_count() {
        let expected = sums(false, 1, "").unwrap();
        assert_eq!((expected.rows, expected.quantity, expected.extendedprice), (2, 5300, 5_280_471));
        assert_eq!(sums(true, 1, "").unwrap(), expected);
        assert_eq!(sums(true, 10, "").unwrap(), expected.times(10));
    }

    #[test]
    fn a_wrong_value_is_found() {
        let expected = sums(false, 1, "").unwrap();
        for damage in [
            "DELETE FROM lineitem WHERE rowid = 2",
            "UPDATE lineitem SET l_orderkey = 2 WHERE rowid = 1",
            "UPDATE lineitem SET l_quantity = 18 WHERE rowid = 1",
            "UPDATE lineitem SET l_extendedprice = 17954.56 WHERE rowid = 1",
            "UPDATE lineitem SET l_discount = NULL WHERE rowid = 1",
            "UPDATE lineitem SET l_tax = 0.03 WHERE rowid = 1",
            "UPDATE lineitem SET l_comment = 'regular' WHERE rowid = 1",
        ] {
            assert_ne!(sums(false, 1, damage).unwrap(), expected, "{damage}");
        }
        assert!(sums(false, 1, "DELETE FROM lineitem").is_err());
    }
}
