//! Reads the content of a lap's database with SQLite: the rows of the table, and the number of entries of each index.

use std::path::Path;

use crate::db::{read, sound};
use crate::found::Found;

/// Reads the content of a database, and runs SQLite's integrity_check on it if `integrity_check` is `true`.
pub(crate) fn verify(file: &Path, integrity_check: bool) -> anyhow::Result<Found> {
    let db = read(file)?;
    if integrity_check {
        sound(&db, "integrity_check")?;
    }
    let table: String =
        db.query_row("SELECT name FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))?;
    let value: String = db.query_row(
        "SELECT name FROM pragma_table_info(?1) WHERE type = 'INTEGER' AND pk = 0 LIMIT 1",
        [&table],
        |row| row.get(0),
    )?;
    Found::of(&db, &table, &value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::data::{Index, Keys};
    use crate::index::laps::{create_index, insert};
    use rusqlite::Connection;

    const USER: &str = include_str!("plain.sql");

    fn user(folder: &Path, damage: &str) -> anyhow::Result<Found> {
        let file = folder.join("user.db");
        let _ = std::fs::remove_file(&file);
        let db = Connection::open(&file)?;
        db.execute_batch(USER)?;
        db.execute_batch(
            "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
             INSERT INTO user SELECT i, printf('%06d', i * 7919 % 1000000), 5, i % 2 FROM n",
        )?;
        drop(db);
        create_index(Index::named("by_area")?, &file, 2)?;
        Connection::open(&file)?.execute_batch(damage)?;
        verify(&file, true)
    }

    #[test]
    fn the_entries_of_an_index_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let found = user(folder.path(), "").unwrap();
        assert_eq!((found.rows, found.sum, &*found.first, &*found.last), (500, 2500, "1", "500"));
        assert_eq!(found.indexes, [("by_area".to_owned(), 500)].into());
    }

    #[test]
    fn an_index_that_lacks_an_entry_is_found() {
        let folder = tempfile::tempdir().unwrap();
        // The schema is changed so that SQLite takes the index for a partial one, and does not update it with the row.
        let damage = "PRAGMA writable_schema = 1;
            UPDATE sqlite_schema SET sql = sql || ' WHERE age < 99' WHERE name = 'by_area';
            PRAGMA writable_schema = RESET;
            UPDATE user SET age = 99 WHERE id = 7;
            PRAGMA writable_schema = 1;
            UPDATE sqlite_schema SET sql = replace(sql, ' WHERE age < 99', '') WHERE name = 'by_area';
            PRAGMA writable_schema = RESET;";
        let error = user(folder.path(), damage).unwrap_err();
        assert!(error.to_string().contains("integrity_check says"), "{error}");
        let found = verify(&folder.path().join("user.db"), false).unwrap();
        assert_eq!((found.rows, &found.indexes), (500, &[("by_area".to_owned(), 499)].into()));
    }

    #[test]
    fn inserted_rows_equal_those_of_the_csv_file() {
        let folder = tempfile::tempdir().unwrap();
        for (keys, defaults) in [(Keys::Uuid, false), (Keys::Uuid, true), (Keys::Shuffled, false)] {
            let name = format!("{} {defaults}", keys.name());
            let (file, csv) = (folder.path().join(name), folder.path().join("x.csv"));
            insert(keys, &file, 1000, defaults).unwrap();
            let found = verify(&file, true).unwrap();
            crate::index::data::csv(keys, 1000, &csv).unwrap();
            let text = std::fs::read_to_string(&csv).unwrap();
            let values = text.lines().skip(1).map(|line| line.split_once(',').unwrap().1);
            let sum: i64 = values.map(|value| value.parse::<i64>().unwrap()).sum();
            assert_eq!((found.rows, found.sum), (1000, sum));
        }
    }
}
