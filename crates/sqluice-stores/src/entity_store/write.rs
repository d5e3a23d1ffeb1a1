//! Writes many entities at once.
//!
//! ```text
//!  chunk of rows, in the order of their keys
//!     │   one query: which keys exist, and do their fields and their JSON differ?
//!     ├── new key ──────────────────> INSERT ... SELECT FROM sqluice_rows(?1)
//!     ├── fields differ ────────────> UPDATE ... WHERE rowid = ?1: the JSON, and the fields that differ in any row of the chunk
//!     ├── only the JSON differs ────> UPDATE ... WHERE rowid = ?1: the JSON, so no index is touched
//!     └── nothing differs ──────────> nothing
//! ```
//!
//! Statements are OR FAIL: a batch that fails is rolled back as a whole, so SQLite need not be able to undo a single statement. If a batch
//! changes so much of an index that sorting it again is cheaper, the index is dropped before the batch and created again afterwards. The
//! first chunk decides this.
//!
//! Unique fields need to be unique only after the batch: entities may exchange their values. SQLite checks each row, however. If SQLite
//! finds the same value twice, the batch is rolled back, the unique fields of its entities are set to NULL, and the batch is written again.
//! If SQLite refuses the batch again, the error names both entities.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row};
use serde::Serialize;
use sqluice_core::batch::Value;
use sqluice_core::batch::describe;
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::{Column, Rows};
use sqluice_core::sqlite_error::is_of_values;

use super::encode;
use super::layout::Sql;
use super::{Kind, failed};

/// The minimum number of entities in a batch for which indexes are rebuilt. After a rebuild, every reader must read the schema again.
const REMAKE_ENTITIES: usize = 1000;

/// An index is rebuilt only if the table has at most this many rows per entity of the batch.
const REMAKE_ROWS: usize = 2;

/// An index is rebuilt only if the stored JSON of an entity has at most this many bytes on average: creating an index scans the table,
/// whose pages may no longer be in the cache.
const REMAKE_VALUE_BYTES: usize = 1000;

/// The numbers of entities that a call has written, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The number of new entities.
    pub new: u64,
    /// The number of existing entities that were changed.
    pub changed: u64,
    /// The number of existing entities that were equal to the new ones, and so were not written.
    pub same: u64,
}

/// The reason why a batch was not written.
enum Failure {
    /// An error of SQLite: a value is not unique.
    NotUnique(Error),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Other(error)
    }
}

/// The place at which a batch begins, and to which it is rolled back after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// The start of a transaction. The owner of the transaction rolls it back, so SQLite need not keep old versions of pages for the batch.
    Transaction,
    /// A savepoint within a transaction.
    Savepoint,
}

impl Begin {
    /// Returns the SQL for beginning a batch, rolling back and beginning again, rolling back finally, and ending successfully.
    const fn sql(self) -> [&'static str; 4] {
        match self {
            Begin::Transaction => ["", "ROLLBACK; BEGIN IMMEDIATE", "", ""],
            Begin::Savepoint => [
                "SAVEPOINT sqluice_batch",
                "ROLLBACK TO sqluice_batch",
                "ROLLBACK TO sqluice_batch; RELEASE sqluice_batch",
                "RELEASE sqluice_batch",
            ],
        }
    }
}

/// Writes all entities or, after an error, none. A failed batch is rolled back, except if it began with the transaction: then the caller
/// must roll back.
///
/// # Errors
/// When an entity can't become JSON, a field is not unique, or SQLite can't write.
pub(super) fn write_many<T: Serialize + Sync>(
    connection: &Connection,
    kind: &Kind<T>,
    entities: &[T],
    begin: Begin,
) -> Result<Written> {
    let run = |sql: &str| connection.execute_batch(sql).map_err(|error| kind.cannot_write(error));
    let [start, again, failed, end] = begin.sql();
    run(start)?;
    let mut batch =
        Batch { connection, kind, entities: entities.len(), remade: None, written: Written::default() };
    let written = batch.write(entities).or_else(|failure| match failure {
        Failure::NotUnique(_) => {
            run(again)?;
            kind.must_be_known(connection)?;
            give_up_unique(connection, kind, entities)?;
            // The second attempt rebuilds no indexes, because it needs them to find the other entity with the same value.
            batch = Batch { remade: Some(Vec::new()), written: Written::default(), ..batch };
            batch.write(entities)
        }
        other => Err(other),
    });
    match written {
        Ok(written) => run(end).map(|()| written),
        Err(Failure::NotUnique(error) | Failure::Other(error)) => {
            run(failed)?;
            Err(error)
        }
    }
}

fn give_up_unique<T: Serialize + Sync>(
    connection: &Connection,
    kind: &Kind<T>,
    entities: &[T],
) -> Result<()> {
    let Some(sql) = kind.sql.give_up_unique() else { return Ok(()) };
    encode::each(kind, entities, |chunk| {
        execute(connection, &sql, chunk).map(drop).map_err(|error| kind.cannot_write(error))
    })
}

/// Runs a statement with rows as its parameter.
fn execute(connection: &Connection, sql: &str, rows: &Rows<'_>) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached(sql)?;
    rows.lend(&mut statement, 1, |statement| statement.execute())?
}

/// A batch while it is written.
struct Batch<'a, T> {
    connection: &'a Connection,
    kind: &'a Kind<T>,
    entities: usize,
    /// The fields whose indexes are dropped and created again after the batch; `None` until the first chunk has decided.
    remade: Option<Vec<usize>>,
    written: Written,
}

/// The rows of a chunk: those with new keys, and those with existing keys, grouped by the columns that change.
struct Sorted {
    new: Vec<usize>,
    /// Rows in which an indexed field changes: (position in the chunk, rowid).
    fields: Vec<(usize, i64)>,
    /// Rows whose stored JSON (column `value`) changes while all indexed fields stay: (position in the chunk, rowid).
    value: Vec<(usize, i64)>,
    /// For each field, the number of rows in which it changes.
    differ: Vec<usize>,
    /// The number of rows whose stored JSON stays. Fields of these rows may still change if unique fields were set to NULL.
    same: usize,
}

impl<T: Serialize + Sync> Batch<'_, T> {
    fn write(&mut self, entities: &[T]) -> Result<Written, Failure> {
        let mut not_unique = None;
        let done = encode::each(self.kind, entities, |chunk| {
            self.chunk(chunk).map_err(|failure| match failure {
                Failure::Other(error) => error,
                // This error only makes `each` stop: the caller gets `not_unique`.
                Failure::NotUnique(error) => {
                    not_unique = Some(error);
                    Error::interrupted()
                }
            })
        });
        match not_unique {
            Some(error) => return Err(Failure::NotUnique(error)),
            None => done?,
        }
        for field in self.remade.take().unwrap_or_default() {
            let create = &self.kind.sql.fields[field].create_index;
            self.connection.execute_batch(create).map_err(|error| self.refused(error, None))?;
        }
        Ok(self.written)
    }
}

impl<T> Batch<'_, T> {
    fn chunk(&mut self, rows: &Rows<'_>) -> Result<(), Failure> {
        let sorted = self.sort(rows).map_err(|error| self.kind.cannot_write(error))?;
        if self.remade.is_none() {
            self.remade = Some(self.drop_indexes(rows, &sorted)?);
        }
        let sql = &self.kind.sql;
        let differ: Vec<usize> = (0..sql.fields.len()).filter(|field| sorted.differ[*field] > 0).collect();
        self.update(&differ, rows, &sorted.fields)?;
        self.update(&[], rows, &sorted.value)?;
        match sorted.new.len() == rows.len() {
            true => self.run(&sql.insert, rows, rows)?,
            false => self.run(&sql.insert, rows, &picked(rows, &sorted.new))?,
        }
        self.written.new += sorted.new.len() as u64;
        self.written.changed += (rows.len() - sorted.new.len() - sorted.same) as u64;
        self.written.same += sorted.same as u64;
        Ok(())
    }

    fn run(&self, sql: &str, chunk: &Rows<'_>, rows: &Rows<'_>) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        execute(self.connection, sql, rows).map(drop).map_err(|error| self.refused(error, Some(chunk)))
    }

    /// Sets the given fields and the stored JSON of existing rows to the values of a chunk. `numbers` has each row's position in the
    /// chunk and its rowid. Rows are updated one by one, because an UPDATE ... FROM would first copy all rows to a temporary table.
    fn update(&self, fields: &[usize], rows: &Rows<'_>, numbers: &[(usize, i64)]) -> Result<(), Failure> {
        if numbers.is_empty() {
            return Ok(());
        }
        let value = rows.columns() - 1;
        let columns = || std::iter::once(value).chain(fields.iter().map(|field| field + 1));
        let update = || {
            let mut update = self.connection.prepare_cached(&self.kind.sql.update(fields))?;
            for (number, rowid) in numbers {
                update.raw_bind_parameter(1, rowid)?;
                for (parameter, column) in (2..).zip(columns()) {
                    update.raw_bind_parameter(parameter, bound(rows.get(*number, column)))?;
                }
                update.raw_execute()?;
            }
            Ok(())
        };
        update().map_err(|error| self.refused(error, Some(rows)))
    }

    /// Compares the rows of a chunk with the stored rows that have the same keys.
    fn sort(&self, rows: &Rows<'_>) -> rusqlite::Result<Sorted> {
        let sql = &self.kind.sql;
        let fields = sql.fields.len();
        let mut sorted = Sorted {
            new: Vec::new(),
            fields: Vec::new(),
            value: Vec::new(),
            differ: vec![0; fields],
            same: 0,
        };
        let is_empty = self.connection.prepare_cached(&sql.is_empty)?.query_row([], |row| row.get(0))?;
        if is_empty {
            sorted.new.extend(0..rows.len());
            return Ok(sorted);
        }
        let mut compare = self.connection.prepare_cached(&sql.compare)?;
        rows.lend(&mut compare, 1, |compare| {
            let mut next = 0;
            let mut found = compare.query();
            while let Some(row) = found.next()? {
                // The rows are in the order of the batch, counted from 1, and each key occurs at most once.
                let number = row.get::<_, i64>(0)? as usize - 1;
                sorted.new.extend(next..number);
                next = number + 1;
                sorted.put(number, rows, row)?;
            }
            sorted.new.extend(next..rows.len());
            Ok(sorted)
        })?
    }

    /// Drops the indexes that are cheaper to rebuild than to update. Returns the numbers of their fields.
    fn drop_indexes(&self, rows: &Rows<'_>, sorted: &Sorted) -> Result<Vec<usize>> {
        if self.entities < REMAKE_ENTITIES || value_bytes(rows) > REMAKE_VALUE_BYTES * rows.len() {
            return Ok(Vec::new());
        }
        let cannot_write = |error| self.kind.cannot_write(error);
        let sql = &self.kind.sql;
        let rows_max = (self.entities * REMAKE_ROWS) as i64;
        let existing: i64 = self
            .connection
            .query_row(&sql.count_up_to(), [rows_max + 1], |row| row.get(0))
            .map_err(cannot_write)?;
        let mut remade: Vec<usize> = (0..sql.fields.len()).collect();
        // A changed field costs an index two changes: the old entry is removed, and a new one is added.
        remade.retain(|field| {
            existing <= rows_max && sorted.new.len() + 2 * sorted.differ[*field] >= rows.len()
        });
        for field in &remade {
            self.connection.execute_batch(&sql.fields[*field].drop_index).map_err(cannot_write)?;
        }
        Ok(remade)
    }

    fn refused(&self, error: rusqlite::Error, chunk: Option<&Rows<'_>>) -> Failure {
        let is_of_values = is_of_values(&error);
        let error = self.kind.not_unique(self.connection, error, chunk);
        if is_of_values { Failure::NotUnique(error) } else { Failure::Other(error) }
    }
}

impl Sorted {
    /// Adds a row of the query `Sql::compare` for the entity at position `number` of the chunk. The row has a rowid in column 1, `true`
    /// in column 2 if the JSON is equal, and then the stored fields.
    fn put(&mut self, number: usize, rows: &Rows<'_>, row: &Row<'_>) -> rusqlite::Result<()> {
        let rowid = row.get(1)?;
        let mut is_other = false;
        for (field, differ) in self.differ.iter_mut().enumerate() {
            if !is_same(row.get_ref(field + 3)?, rows.get(number, field + 1)) {
                *differ += 1;
                is_other = true;
            }
        }
        let is_same: bool = row.get(2)?;
        self.same += usize::from(is_same);
        match is_other {
            true => self.fields.push((number, rowid)),
            false if !is_same => self.value.push((number, rowid)),
            false => {}
        }
        Ok(())
    }
}

/// Returns the total number of bytes of the JSON of a chunk.
fn value_bytes(rows: &Rows<'_>) -> usize {
    let value = rows.columns() - 1;
    let bytes = |row| match rows.get(row, value) {
        Some(Value::Text(json)) => json.len(),
        _ => 0,
    };
    (0..rows.len()).map(bytes).sum()
}

/// Returns the rows at these positions of a chunk.
fn picked<'r>(rows: &'r Rows<'_>, numbers: &[usize]) -> Rows<'r> {
    columns((0..rows.columns()).map(|column| of(rows, numbers.iter().copied(), column)))
}

/// Returns `true` if a field is stored with the same value and type.
fn is_same(stored: ValueRef<'_>, value: Option<Value<'_>>) -> bool {
    match (stored, value) {
        (ValueRef::Integer(stored), Some(Value::Int(int))) => stored == int,
        (ValueRef::Real(stored), Some(Value::Real(real))) => stored == real,
        (ValueRef::Text(stored), Some(Value::Text(text))) => stored == text,
        (ValueRef::Blob(stored), Some(Value::Blob(blob))) => stored == blob,
        // SQLite stores NULL for NaN.
        (ValueRef::Null, Some(Value::Real(real))) => real.is_nan(),
        (ValueRef::Null, None | Some(Value::Null)) => true,
        _ => false,
    }
}

/// Returns a value of a chunk as a parameter.
fn bound(value: Option<Value<'_>>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match value {
        Some(Value::Int(int)) => ValueRef::Integer(int),
        Some(Value::Real(real)) => ValueRef::Real(real),
        Some(Value::Text(text)) => ValueRef::Text(text),
        Some(Value::Blob(blob)) => ValueRef::Blob(blob),
        Some(Value::Null) | None => ValueRef::Null,
    })
}

fn of<'r>(rows: &'r Rows<'_>, numbers: impl Iterator<Item = usize>, column: usize) -> Column<'r> {
    numbers.map(|number| rows.get(number, column).unwrap_or(Value::Null)).collect()
}

/// Returns rows that consist of these columns. All columns must have the same length.
fn columns<'r>(columns: impl Iterator<Item = Column<'r>>) -> Rows<'r> {
    Rows::new(columns).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Finds two entities with the same value of a unique field. One of them is in `chunk`, and the other in the table or also in `chunk`; if
/// `chunk` is `None`, both are in the table. Returns the index of the field in the definition, and the two keys and the value as texts for
/// a message. Returns `None` if no value occurs twice.
fn same_unique(
    connection: &Connection,
    sql: &Sql,
    chunk: Option<&Rows<'_>>,
) -> rusqlite::Result<Option<(usize, [String; 3])>> {
    for (field, _) in sql.unique() {
        let queries = match chunk {
            Some(_) => sql.same_unique(field).to_vec(),
            None => vec![sql.same_unique_in_table(field)],
        };
        for query in queries {
            let mut statement = connection.prepare(&query)?;
            let found = match chunk {
                Some(rows) => rows.lend(&mut statement, 1, |query| first(query.query()))??,
                None => first(statement.query([])?)?,
            };
            if let Some(found) = found {
                return Ok(Some((field, found)));
            }
        }
    }
    Ok(None)
}

/// Returns the first three values of the first row as texts for a message, or `None` if no row exists.
fn first(mut rows: rusqlite::Rows<'_>) -> rusqlite::Result<Option<[String; 3]>> {
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some([shown(row, 0)?, shown(row, 1)?, shown(row, 2)?]))
}

/// Returns the value of a column as text for a message. A long value is truncated.
pub(super) fn shown(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(describe(&match row.get_ref(column)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(int) => Value::Int(int),
        ValueRef::Real(real) => Value::Real(real),
        ValueRef::Text(text) => Value::Text(text),
        ValueRef::Blob(blob) => Value::Blob(blob),
    }))
}

impl<T> Kind<T> {
    /// Returns the error for rows that SQLite refused, or for an index that it could not create (`chunk` is then `None`). If two entities
    /// have the same value of a unique field, the error names both.
    pub(super) fn not_unique(
        &self,
        connection: &Connection,
        error: rusqlite::Error,
        chunk: Option<&Rows<'_>>,
    ) -> Error {
        if !is_of_values(&error) {
            return self.cannot_write(error);
        }
        match same_unique(connection, &self.sql, chunk) {
            Ok(Some((field, [one, other, value]))) => {
                let (name, field) = (&self.ty.name, &self.ty.fields[field].name);
                let message = format!("{name} {one} and {name} {other} have the same {field}, {value}");
                Error::input(message)
                    .hint("a unique field has each value once: nothing of the batch was written")
            }
            // No two entities with the same value were found, so the message is SQLite's.
            Ok(None) => self.cannot_write(error),
            Err(other) => self.cannot_write(other),
        }
    }

    pub(super) fn cannot_write(&self, error: rusqlite::Error) -> Error {
        failed(error, &format!("write entities of type {}", self.ty.name), &self.path)
    }

    pub(super) fn cannot_read(&self, error: rusqlite::Error) -> Error {
        failed(error, &format!("read entities of type {}", self.ty.name), &self.path)
    }
}
