//! Verifies the database of a lap: SQLite reads all values, and their hashes are summed up.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use anyhow::{Context, ensure};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde::{Deserialize, Serialize};

use super::data::{COLUMNS, NUMBERS};
use crate::db::{read, sound};

/// The key of `lineitem`, as positions of its columns: the number of the order, and the number of the line within the order.
const KEY: [usize; 2] = [0, 3];

/// The content of the table, which must be equal for all loaders of the file. It does not depend on the order of the rows, nor on the type
/// of a column of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) rows: u64,
    /// The name of each column, and the sum of the hashes of its values. A value is hashed with the key of its row, so the sum changes if
    /// two rows exchange a value.
    columns: Vec<(String, u64)>,
}

impl Sums {
    /// Returns the sums of a file that has all rows `n` times.
    pub(crate) fn times(&self, n: u64) -> Sums {
        let columns = self.columns.iter().map(|(name, sum)| (name.clone(), sum.wrapping_mul(n)));
        Sums { rows: self.rows * n, columns: columns.collect() }
    }

    /// Returns the names of the columns that differ.
    pub(crate) fn differing(&self, other: &Sums) -> String {
        let pairs = self.columns.iter().zip(&other.columns);
        let names: Vec<&str> =
            pairs.filter(|(mine, theirs)| mine != theirs).map(|((name, _), _)| &**name).collect();
        names.join(", ")
    }
}

/// Sums up the table of a database, and runs SQLite's quick_check on it if `quick_check` is `true`.
pub(crate) fn verify(file: &Path, quick_check: bool) -> anyhow::Result<Sums> {
    if quick_check {
        sound(&read(file)?, "quick_check")?;
    }
    sums(file).with_context(|| format!("{} holds no line items", file.display()))
}

/// Returns the number of rows of all tables of a database, after a quick_check.
pub(crate) fn rows_of_all(file: &Path) -> anyhow::Result<u64> {
    let database = read(file)?;
    sound(&database, "quick_check")?;
    let mut tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = tables.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let rows = names.iter().map(|name| {
        let count = format!("SELECT count(*) FROM \"{}\"", name.replace('"', "\"\""));
        database.query_row(&count, [], |row| row.get::<_, i64>(0))
    });
    Ok(rows.sum::<Result<i64, _>>()? as u64)
}

fn sums(file: &Path) -> anyhow::Result<Sums> {
    let db = read(file)?;
    let names = db.prepare("SELECT * FROM lineitem")?.column_names().map(str::to_owned).collect::<Vec<_>>();
    ensure!(names.len() == COLUMNS, "it has {} columns", names.len());
    let ends = "SELECT (SELECT min(rowid) FROM lineitem), (SELECT max(rowid) FROM lineitem)";
    let (first, last) = db.query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (first, last): (i64, i64) = Option::zip(first, last).context("it has no rows")?;
    let rowids = last.checked_sub(first).context("rowids are too far apart")?;

    // Each core gets a range of rowids.
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let range = usize::try_from(rowids)? / cores + 1;
    let parts = thread::scope(|scope| {
        let ranges = (first..=last).step_by(range).map(|from| from..=from.saturating_add(range as i64 - 1));
        let parts: Vec<_> =
            ranges.map(|range| scope.spawn(|| sums_of(&read(file)?, &names, range))).collect();
        let joined = parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.collect::<anyhow::Result<Vec<_>>>()
    })?;

    let mut columns: Vec<(String, u64)> = names.into_iter().map(|name| (name, 0)).collect();
    for (_, sums) in &parts {
        for ((_, column), sum) in columns.iter_mut().zip(sums) {
            *column = column.wrapping_add(*sum);
        }
    }
    Ok(Sums { rows: parts.iter().map(|(rows, _)| rows).sum(), columns })
}

/// Returns the number of rows with these rowids, and the sum of each column.
fn sums_of(
    db: &Connection,
    names: &[String],
    rowids: RangeInclusive<i64>,
) -> anyhow::Result<(u64, [u64; COLUMNS])> {
    let mut items = db.prepare("SELECT *, rowid FROM lineitem WHERE rowid BETWEEN ?1 AND ?2")?;
    let (mut rows, mut sums) = (0, [0_u64; COLUMNS]);
    let mut read = items.query((rowids.start(), rowids.end()))?;
    while let Some(row) = read.next()? {
        rows += 1;
        let wrong = |column: usize| {
            let rowid = row.get(COLUMNS).unwrap_or(0_i64);
            format!("{} of row {rowid}", names[column])
        };
        let mut key = DefaultHasher::new();
        for column in KEY {
            hundredths(row.get_ref(column)?).with_context(|| wrong(column))?.hash(&mut key);
        }
        for (column, sum) in sums.iter_mut().enumerate() {
            let (value, mut hasher) = (row.get_ref(column)?, key.clone());
            match column < NUMBERS {
                true => hundredths(value).with_context(|| wrong(column))?.hash(&mut hasher),
                false => text(value).with_context(|| wrong(column))?.hash(&mut hasher),
            }
            *sum = sum.wrapping_add(hasher.finish());
        }
    }
    Ok((rows, sums))
}

/// Returns a text value. The time 00:00:00 after a date, which pandas stores for a cell with a date, is cut off.
fn text(value: ValueRef<'_>) -> anyhow::Result<&str> {
    let text = value.as_str()?;
    Ok(text.strip_suffix(" 00:00:00").unwrap_or(text))
}

/// Returns a number with at most two decimals, of any type, multiplied by 100.
fn hundredths(value: ValueRef<'_>) -> anyhow::Result<i64> {
    let number = match value {
        ValueRef::Integer(int) => return int.checked_mul(100).context("an integer is too large"),
        ValueRef::Real(real) => real,
        ValueRef::Text(_) => value.as_str()?.parse()?,
        _ => anyhow::bail!("is no number: {value:?}"),
    };
    let (hundredths, whole) = (number * 100.0, (number * 100.0).round());
    ensure!((hundredths - whole).abs() < 1e-6, "has more than two decimals: {number}");
    Ok(whole as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::data::SCHEMA;

    /// Returns the sums of two rows, with the declared types or as text, `times` times, and with damage.
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
    fn column_sums_do_not_depend_on_the_types_of_numbers_or_the_order_of_rows() {
        let expected = sums(false, 1, "").unwrap();
        assert_eq!(expected.rows, 2);
        assert_eq!(sums(true, 1, "").unwrap(), expected);
        assert_eq!(sums(true, 10, "").unwrap(), expected.times(10));
        assert_eq!(sums(false, 1, "UPDATE lineitem SET rowid = -rowid").unwrap(), expected);
    }

    #[test]
    fn a_wrong_value_is_found_in_every_column() {
        let expected = sums(false, 1, "").unwrap();
        for (damage, columns) in [
            ("l_partkey = 3", "l_partkey"),
            ("l_suppkey = 2", "l_suppkey"),
            ("l_quantity = 18", "l_quantity"),
            ("l_extendedprice = 17954.56", "l_extendedprice"),
            ("l_discount = 0.05", "l_discount"),
            ("l_tax = 0.03", "l_tax"),
            ("l_returnflag = 'A'", "l_returnflag"),
            ("l_linestatus = 'F'", "l_linestatus"),
            ("l_shipdate = '1996-03-14'", "l_shipdate"),
            ("l_commitdate = '1996-03-14'", "l_commitdate"),
            ("l_receiptdate = ' '", "l_receiptdate"),
            ("l_shipinstruct = 'NONE'", "l_shipinstruct"),
            ("l_shipmode = 'TRUCE', l_comment = 'eguler'", "l_shipmode, l_comment"),
        ] {
            let other = sums(false, 1, &format!("UPDATE lineitem SET {damage} WHERE rowid = 1")).unwrap();
            assert_eq!((other.rows, other.differing(&expected)), (2, columns.to_owned()), "{damage}");
            assert_ne!(other, expected);
        }
        // All values are hashed with the key.
        for key in ["l_orderkey = 2", "l_linenumber = 2"] {
            let other = sums(false, 1, &format!("UPDATE lineitem SET {key} WHERE rowid = 1")).unwrap();
            assert_eq!(other.differing(&expected).split(", ").count(), COLUMNS, "{key}");
        }
    }

    #[test]
    fn column_sums_ignore_the_time_of_midnight_after_a_date() {
        let expected = sums(false, 1, "").unwrap();
        let at =
            |time: &str| sums(false, 1, &format!("UPDATE lineitem SET l_shipdate = l_shipdate || ' {time}'"));
        assert_eq!(at("00:00:00").unwrap(), expected);
        assert_eq!(at("00:00:01").unwrap().differing(&expected), "l_shipdate");
    }

    #[test]
    fn column_sums_differ_if_two_rows_exchange_a_value() {
        let exchange = "UPDATE lineitem SET l_comment = iif(rowid = 1, 'ly final', 'egular')";
        let (expected, other) = (sums(false, 1, "").unwrap(), sums(false, 1, exchange).unwrap());
        assert_eq!(other.differing(&expected), "l_comment");
    }

    #[test]
    fn missing_rows_change_the_column_sums_and_values_of_wrong_types_are_errors() {
        let expected = sums(false, 1, "").unwrap();
        assert_eq!(sums(false, 1, "DELETE FROM lineitem WHERE rowid = 2").unwrap().rows, 1);
        assert_ne!(sums(false, 1, "DELETE FROM lineitem WHERE rowid = 2").unwrap(), expected);
        for (damage, reason) in [
            ("DELETE FROM lineitem", "no rows"),
            ("UPDATE lineitem SET l_discount = NULL WHERE rowid = 2", "l_discount of row 2"),
            ("UPDATE lineitem SET l_tax = 0.0200001 WHERE rowid = 1", "l_tax of row 1"),
            ("UPDATE lineitem SET l_tax = 'x' WHERE rowid = 1", "l_tax of row 1"),
            ("UPDATE lineitem SET l_comment = NULL WHERE rowid = 1", "l_comment of row 1"),
            ("UPDATE lineitem SET l_shipmode = x'00' WHERE rowid = 1", "l_shipmode of row 1"),
            ("ALTER TABLE lineitem DROP COLUMN l_comment", "15 columns"),
        ] {
            let error = format!("{:#}", sums(false, 1, damage).unwrap_err());
            assert!(error.contains(reason), "{damage}: {error}");
        }
    }
}
