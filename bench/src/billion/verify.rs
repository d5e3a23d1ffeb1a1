//! Verification: SQLite counts the rows that a lap wrote, and checks values.

use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context, ensure};
use rusqlite::params;

use crate::db::read;

/// Values are checked in this number of rows at the start of the table, and in as many at its end. The row count covers the whole table.
const LOOKED_AT: i64 = 1_000_000;

/// Checks that the table has `rows` rows, numbered from 1, and that the rows at both ends have the right values.
pub(crate) fn verify(file: &Path, rows: u64) -> anyhow::Result<()> {
    let rows = i64::try_from(rows).context("SQLite numbers rows with 63 bits")?;
    let db = read(file)?;
    let ask = |sql: &str| db.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
    // Three queries, because SQLite has a fast plan for each: count without reading rows, and find the first and the last rowid.
    let found = ask("SELECT count(*) FROM user")?.unwrap_or(0);
    ensure!(found == rows, "{} has {found} rows instead of {rows}", file.display());
    if rows == 0 {
        return Ok(());
    }
    let (first, last) = (ask("SELECT min(id) FROM user")?, ask("SELECT max(id) FROM user")?);
    ensure!(first == Some(1) && last == Some(rows), "{} is not numbered 1 to {rows}", file.display());
    let wrong = |ids: RangeInclusive<i64>| {
        let sql = "SELECT count(*) FROM user WHERE id BETWEEN ? AND ? AND NOT coalesce(typeof(area) = 'text'
            AND area GLOB '[0-9][0-9][0-9][0-9][0-9][0-9]' AND age IN (5, 10, 15) AND active IN (0, 1), 0)";
        db.query_row(sql, params![ids.start(), ids.end()], |row| row.get::<_, i64>(0))
    };
    let wrong = wrong(1..=rows.min(LOOKED_AT))? + wrong((rows - LOOKED_AT).max(1)..=rows)?;
    ensure!(wrong == 0, "{} holds {wrong} rows with wrong values", file.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billion::laps::insert;
    use crate::db::open;

    #[test]
    fn verify_finds_a_wrong_number_of_rows() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("few.db");
        insert(&file, 99).unwrap();
        let error = verify(&file, 100).unwrap_err();
        assert!(error.to_string().contains("99 rows instead of 100"), "{error}");
        verify(&file, 99).unwrap();
    }

    #[test]
    fn verify_finds_a_wrong_value_or_rowid() {
        let folder = tempfile::tempdir().unwrap();
        for (file, damage) in [
            ("age.db", "UPDATE user SET age = 6 WHERE id = 50"),
            ("area.db", "UPDATE user SET area = '12345' WHERE id = 50"),
            ("null.db", "UPDATE user SET area = NULL WHERE id = 50"),
            ("id.db", "UPDATE user SET id = 1000 WHERE id = 50"),
        ] {
            let file = folder.path().join(file);
            insert(&file, 99).unwrap();
            open(&file, damage).unwrap();
            // The row that got the id 1000 makes the last rowid too large: the rows are not numbered 1 to 99.
            assert!(verify(&file, 99).is_err(), "{damage}");
        }
    }
}
