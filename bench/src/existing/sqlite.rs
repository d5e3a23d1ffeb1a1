//! The laps of SQLite, and of the functions `sqluice::insert` and `sqluice_rows`. Each uses a journal, in the journal mode of the file, and
//! is synced.

use std::ops::Range;
use std::path::Path;

use anyhow::Context as _;
use rusqlite::{Statement, params};
use sqluice::batch::{Batch, Bytes, Column, ROWS_MAX, Spans, Values};
use sqluice::insert::{self, Insert};
use sqluice::progress::Context;
use sqluice::rows::{self, Rows};
use sqluice::schema::Schema;
use sqluice::source::{Part, Sink, Source};

use super::data::{USER, User, item};
use crate::db::{close, open};

/// The PRAGMAs of all laps, so that only the statements differ. The INSERTs of the ways `rows` and `unrolled_*` use OR FAIL, so that SQLite
/// need not prepare to undo a single statement: after a failure, the transaction is rolled back anyway.
const PRAGMAS: &str = "PRAGMA synchronous = FULL;";

/// The number of rows in a statement with `sqluice_rows`, and in a part of `sqluice::insert`.
const BATCH: u64 = 4096;

/// Settings for a faster sort: more memory, and so fewer sorted runs to merge, and two threads.
const TUNED: &str = "PRAGMA cache_size = -200000; PRAGMA threads = 2;";

/// Copies a table of `source` into a new table: if both declarations are equal, SQLite copies records without decoding them.
pub(crate) fn attach(file: &Path, source: &Path, table: &str) -> anyhow::Result<()> {
    let db = open(file, PRAGMAS)?;
    db.execute("ATTACH ? AS src", params![source.to_str().context("a path is UTF-8")?])?;
    let declared: String =
        db.query_row("SELECT sql FROM src.sqlite_schema WHERE name = ?", [table], |row| row.get(0))?;
    db.execute_batch(&format!(
        "BEGIN; {declared}; INSERT INTO main.{table} SELECT * FROM src.{table}; COMMIT"
    ))?;
    close(db, file)
}

/// Fills a new table with `sqluice::insert`, which runs the statements of [`insert_rows`] while a thread creates the rows.
pub(crate) fn insert(file: &Path, rows: u64) -> anyhow::Result<()> {
    let db = open(file, PRAGMAS)?;
    db.execute_batch(&format!("BEGIN; {USER}"))?;
    let schema = Schema::parse(USER.to_owned(), "user.sql".as_ref())?;
    let table = &schema.tables[0];
    let users = Box::new(Users(0..rows));
    insert::insert(&db, table, users, &Insert::new(table), None, &Context::default())?;
    db.execute_batch("COMMIT")?;
    close(db, file)
}

/// The rows of `user` with these numbers, as a source whose parts have at most [`BATCH`] rows.
struct Users(Range<u64>);

impl Source for Users {
    fn next_part(&mut self) -> sqluice::error::Result<Option<Box<dyn Part>>> {
        let first = self.0.start;
        self.0.start = (first + BATCH).min(self.0.end);
        let part = Users(first..self.0.start);
        Ok((!part.0.is_empty()).then(|| Box::new(part) as Box<dyn Part>))
    }
}

impl Part for Users {
    fn first_row(&self) -> u64 {
        self.0.start
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> sqluice::error::Result<()> {
        let mut first = self.0.start;
        while first < self.0.end {
            let next = (first + ROWS_MAX as u64).min(self.0.end);
            batch(first, next, |batch| sink.rows(batch)).map_err(|refused| refused.first().1)?;
            first = next;
        }
        Ok(())
    }
}

/// Fills a new table through `sqluice_rows`, a batch at a time.
pub(crate) fn insert_rows(file: &Path, rows: u64) -> anyhow::Result<()> {
    let db = open(file, PRAGMAS)?;
    rows::register(&db)?;
    db.execute_batch(&format!("BEGIN; {USER}"))?;
    {
        let mut insert =
            db.prepare("INSERT OR FAIL INTO user SELECT c1, c2, c3, c4 FROM sqluice_rows(?1)")?;
        let mut first = 0;
        while first < rows {
            let next = (first + BATCH).min(rows);
            insert_batch(&mut insert, first, next)?;
            first = next;
        }
    }
    db.execute_batch("COMMIT")?;
    close(db, file)
}

fn insert_batch(insert: &mut Statement<'_>, first: u64, next: u64) -> anyhow::Result<()> {
    batch(first, next, |batch| {
        Rows::from_batch(batch)?.lend(insert, 1, |insert| insert.execute())??;
        Ok(())
    })
}

/// Creates rows of `user` in memory and lends them to `use_it`.
fn batch<R>(first: u64, next: u64, use_it: impl FnOnce(&Batch<'_>) -> R) -> R {
    let id: Vec<i64> = (first..next).map(|row| row as i64 + 1).collect();
    let (mut area, mut age, mut active) = (Vec::new(), Vec::new(), Vec::new());
    for user in (first..next).map(User::of) {
        area.extend_from_slice(&user.area);
        age.push(user.age);
        active.push(user.active);
    }
    let columns = [
        Values::Int(&id),
        Values::Text(Bytes { data: &area, spans: Spans::Fixed(6) }),
        Values::Int(&age),
        Values::Int(&active),
    ];
    use_it(&Batch { rows: age.len(), columns: columns.map(Column::new).to_vec() })
}

/// Fills a new table with a prepared INSERT of `degree` rows.
pub(crate) fn insert_unrolled(file: &Path, rows: u64, degree: usize) -> anyhow::Result<()> {
    let db = open(file, PRAGMAS)?;
    db.execute_batch(&format!("BEGIN; {USER}"))?;
    {
        let mut full = db.prepare(&unrolled(degree))?;
        let whole = rows - rows % degree as u64;
        for first in (0..whole).step_by(degree) {
            insert_once(&mut full, first..first + degree as u64)?;
        }
        if whole < rows {
            insert_once(&mut db.prepare(&unrolled((rows - whole) as usize))?, whole..rows)?;
        }
    }
    db.execute_batch("COMMIT")?;
    close(db, file)
}

fn unrolled(rows: usize) -> String {
    format!("INSERT OR FAIL INTO user VALUES {}", vec!["(?, ?, ?, ?)"; rows].join(", "))
}

fn insert_once(statement: &mut Statement<'_>, rows: Range<u64>) -> anyhow::Result<()> {
    let mut parameter = 0;
    for row in rows {
        let User { area, age, active } = User::of(row);
        statement.raw_bind_parameter(parameter + 1, row as i64 + 1)?;
        statement.raw_bind_parameter(parameter + 2, str::from_utf8(&area)?)?;
        statement.raw_bind_parameter(parameter + 3, age)?;
        statement.raw_bind_parameter(parameter + 4, active)?;
        parameter += 4;
    }
    statement.raw_execute()?;
    Ok(())
}

/// Appends rows to `item`. With `drop_index`, the index is dropped first and created again at the end.
pub(crate) fn append(file: &Path, first: u64, rows: u64, drop_index: bool) -> anyhow::Result<()> {
    let db = open(file, PRAGMAS)?;
    db.execute_batch("BEGIN IMMEDIATE")?;
    let index: String =
        db.query_row("SELECT sql FROM sqlite_schema WHERE name = 'by_key'", [], |row| row.get(0))?;
    if drop_index {
        db.execute_batch("DROP INDEX by_key")?;
    }
    {
        let mut insert = db.prepare("INSERT INTO item VALUES (?, ?, ?)")?;
        for row in first..first + rows {
            for (at, value) in item(row).into_iter().enumerate() {
                insert.raw_bind_parameter(at + 1, value)?;
            }
            insert.raw_execute()?;
        }
    }
    if drop_index {
        db.execute_batch(&index)?;
    }
    db.execute_batch("COMMIT")?;
    close(db, file)
}

/// The index, which `sqluice index` also creates.
pub(crate) const BY_AREA: &str = "CREATE INDEX by_area ON user (area)";

/// Creates an index, with the defaults or with faster settings that have no risk.
pub(crate) fn create_index(file: &Path, tuned: bool) -> anyhow::Result<()> {
    let db = open(file, PRAGMAS)?;
    if tuned {
        db.execute_batch(TUNED)?;
    }
    db.execute_batch(BY_AREA)?;
    close(db, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::existing::verify::verify;

    const CHECK: &str = "integrity_check";

    #[test]
    fn every_way_of_inserting_with_sqlite_stores_the_same_rows() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        insert_rows(&file("rows"), 2345).unwrap();
        let expected = verify(&file("rows"), CHECK).unwrap();
        assert_eq!(expected.tables["user"].rows, 2345);
        insert(&file("insert"), 2345).unwrap();
        assert_eq!(verify(&file("insert"), CHECK).unwrap(), expected);
        for degree in [1, 10, 200] {
            let name = file(&degree.to_string());
            insert_unrolled(&name, 2345, degree).unwrap();
            assert_eq!(verify(&name, CHECK).unwrap(), expected, "{degree}");
        }
        attach(&file("attach"), &file("rows"), "user").unwrap();
        assert_eq!(verify(&file("attach"), CHECK).unwrap(), expected);
    }

    #[test]
    fn an_append_that_first_drops_the_index_creates_the_index_again_with_all_rows() {
        let folder = tempfile::tempdir().unwrap();
        let found = [false, true].map(|drop_index| {
            let file = folder.path().join(drop_index.to_string());
            open(&file, include_str!("item.sql")).unwrap();
            append(&file, 0, 500, false).unwrap();
            append(&file, 500, 300, drop_index).unwrap();
            verify(&file, CHECK).unwrap()
        });
        assert_eq!(found[0], found[1]);
        assert_eq!(found[0].tables["item"].indexes["by_key"], 800);
    }
}
