//! The rows that are added to databases. A row is a function of its number, so CSV files and INSERTs have the same rows.

use std::io::Write;
use std::path::Path;

use crate::db::{close, open, read};
use crate::lines;
use crate::random::mixed;

/// A row of `user` without its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User {
    /// The area, of six digits.
    pub(crate) area: [u8; 6],
    pub(crate) age: i64,
    pub(crate) active: i64,
}

impl User {
    /// Returns the user of row `row`, counted from 0.
    pub(crate) fn of(row: u64) -> User {
        let bits = mixed(row);
        let mut area = [b'0'; 6];
        let mut number = ((bits >> 32) * 1_000_000) >> 32;
        for digit in area.iter_mut().rev() {
            *digit += (number % 10) as u8;
            number /= 10;
        }
        User { area, age: [5, 10, 15][(bits >> 1) as usize % 3], active: (bits & 1) as i64 }
    }
}

/// The table of [`User`]s.
pub(crate) const USER: &str = "CREATE TABLE user (id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL)";

/// A row of `item`: id, key, value.
pub(crate) type Item = [i64; 3];

/// Returns row `row` of `item`, counted from 0, with a random key.
pub(crate) fn item(row: u64) -> Item {
    let id = row as i64 + 1;
    let (key, value) = (mixed(row) % 1_000_000_000_000, mixed(!row) % 1_000_000);
    [id, key as i64, value as i64]
}

/// Writes `rows` rows of `item` from row `first` on as a CSV file, and syncs it.
pub(crate) fn items(first: u64, rows: u64, file: &Path) -> anyhow::Result<()> {
    lines(file, "id,key,value", |to| {
        for row in first..first + rows {
            let [id, key, value] = item(row);
            writeln!(to, "{id},{key},{value}")?;
        }
        Ok(())
    })
}

/// A row of `plain` and of `product`: name, price in cents, stock.
pub(crate) type Product = (String, u64, u64);

/// Returns row `row` of `product`, counted from 0.
pub(crate) fn product(row: u64) -> Product {
    const TOWNS: [&str; 8] = ["Oslo", "Bonn", "Rome", "Ulm", "Graz", "Turin", "Lyon", "Bern"];
    let bits = mixed(row);
    let town = TOWNS[(bits >> 61) as usize];
    (format!("{:06} {town}", bits % 1_000_000), mixed(!row) % 100_000, (bits >> 32) % 100)
}

/// Writes `rows` rows of `product` from row `first` on as a CSV file, and syncs it.
pub(crate) fn products(first: u64, rows: u64, file: &Path) -> anyhow::Result<()> {
    lines(file, "id,name,price,stock", |to| {
        for row in first..first + rows {
            let (name, cents, stock) = product(row);
            writeln!(to, "{},{name},{}.{:02},{stock}", row + 1, cents / 100, cents % 100)?;
        }
        Ok(())
    })
}

/// Makes a database with `rows` rows of `plain`, and of `product`.
pub(crate) fn with_products(schema: &str, rows: u64, file: &Path) -> anyhow::Result<()> {
    let db = open(file, &format!("BEGIN; {schema}"))?;
    for table in ["plain", "product"] {
        let mut insert =
            db.prepare(&format!("INSERT INTO {table} (id, name, price, stock) VALUES (?1, ?2, ?3, ?4)"))?;
        for row in 0..rows {
            let (name, cents, stock) = product(row);
            insert.execute((row as i64 + 1, name, cents as f64 / 100.0, stock as i64))?;
        }
    }
    db.execute_batch("COMMIT")?;
    close(db, file)
}

/// Writes the table `user2` of a database to a CSV file, and syncs the file.
pub(crate) fn users(database: &Path, file: &Path) -> anyhow::Result<()> {
    let db = read(database)?;
    let mut all = db.prepare("SELECT id, area, age, active FROM user2 ORDER BY id")?;
    let mut rows = all.query([])?;
    lines(file, "id,area,age,active", |to| {
        while let Some(row) = rows.next()? {
            let (id, age, active): (i64, i64, i64) = (row.get(0)?, row.get(2)?, row.get(3)?);
            writeln!(to, "{id},{},{age},{active}", row.get_ref(1)?.as_str()?)?;
        }
        Ok(())
    })
}
