//! Compares a type's definition with the stored definition, and rebuilds the type's table in one transaction if they differ.

use rusqlite::{Connection, OptionalExtension};
use serde::de::DeserializeOwned;
use sqluice_core::batch::Value;
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::{Cells, Rows};

use super::Kind;
use super::field::Field;
use super::layout;
use super::write::shown;

/// The maximum number of entities that are rebuilt at a time, and the maximum size of their JSON.
const ROWS: usize = 1024;
const BYTES: usize = 4 << 20;

/// The result of comparing a type with its stored definition.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The store does not have the type.
    No,
    /// The definitions are equal.
    Same,
    /// The stored definition has other fields.
    Otherwise,
}

impl<T> Kind<T> {
    /// Compares the type with its stored definition.
    ///
    /// # Errors
    /// When the stored keys are of another kind, or SQLite can't read.
    pub(super) fn known(&self, connection: &Connection) -> Result<Known> {
        let Some(definition) = self.stored_definition(connection)? else { return Ok(Known::No) };
        if definition == self.definition {
            return Ok(Known::Same);
        }
        let known: super::define::Definition = serde_json::from_str(&definition).map_err(|error| {
            Error::target(format!("the stored definition of type {} can't be read", self.ty.name))
                .hint("it was written by another version of the program")
                .because(error)
        })?;
        if known.key != self.ty.key.kind() {
            let message = format!("the keys of type {} are of another kind in the store", self.ty.name);
            return Err(Error::usage(message).hint("a type keeps the kind of its keys: give it another name"));
        }
        Ok(Known::Otherwise)
    }

    fn stored_definition(&self, connection: &Connection) -> Result<Option<String>> {
        let read = || {
            let mut statement = connection.prepare_cached(layout::DEFINITION)?;
            statement.query_row([&self.ty.name], |row| row.get(0)).optional()
        };
        read().map_err(|error| self.cannot_read(error))
    }

    /// Checks that the stored definition of the type has not changed.
    ///
    /// # Errors
    /// When another program has redefined the type, or SQLite can't read.
    pub(super) fn must_be_known(&self, connection: &Connection) -> Result<()> {
        if self.stored_definition(connection)?.as_ref() == Some(&self.definition) {
            return Ok(());
        }
        let message = format!("another program has changed the definition of type {}", self.ty.name);
        Err(Error::target(message).hint("programs that share a store must agree on its types"))
    }

    fn remember(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute(layout::DEFINE, [&self.ty.name, &self.definition]).map(drop)
    }

    /// Creates the table of a new type.
    ///
    /// # Errors
    /// When another object has the name of the type, or SQLite can't write.
    pub(super) fn create(&self, connection: &Connection) -> Result<()> {
        let cannot_write = |error| self.cannot_write(error);
        let is_taken = connection
            .query_row(layout::HAS_OBJECT, [&self.ty.name], |row| row.get(0))
            .map_err(cannot_write)?;
        if is_taken {
            let message =
                format!("another table or index of the store has the name of type {}", self.ty.name);
            return Err(Error::target(message).hint("give the type another name"));
        }
        connection.execute_batch(&self.sql.create()).map_err(cannot_write)?;
        self.remember(connection).map_err(cannot_write)
    }
}

impl<T: DeserializeOwned> Kind<T> {
    /// Rebuilds the table and all indexes from the stored values.
    ///
    /// # Errors
    /// When an entity can't be read, a field is not unique, or SQLite can't write.
    pub(super) fn rebuild(&self, connection: &Connection) -> Result<()> {
        let cannot_write = |error| self.cannot_write(error);
        connection.execute_batch(&self.sql.create_rebuilt()).map_err(cannot_write)?;
        let insert = self.sql.insert_rebuilt();
        let mut from = Some(i64::MIN);
        while let Some(start) = from
            && let Some((last, rows)) = self.next_rows(connection, start)?
        {
            let copied = connection
                .prepare_cached(&insert)
                .and_then(|mut insert| rows.lend(&mut insert, 1, |insert| insert.execute())?);
            copied.map_err(cannot_write)?;
            from = last.checked_add(1);
        }
        connection.execute_batch(&self.sql.swap_rebuilt()).map_err(cannot_write)?;
        connection
            .execute_batch(&self.sql.create_indexes())
            .map_err(|error| self.not_unique(connection, error, None))?;
        self.remember(connection).map_err(cannot_write)
    }

    /// Returns the next rows to rebuild, from the rowid `from` on, and the rowid of the last of them. Returns `None` if no rows are left.
    fn next_rows(&self, connection: &Connection, from: i64) -> Result<Option<(i64, Rows<'static>)>> {
        let columns = self.ty.fields.len() + 2;
        let mut cells = vec![Cells::default(); columns];
        let (mut last, mut number, mut fields) = (None, 0, Vec::<Field<'static>>::new());
        let cannot_read = |error| self.cannot_read(error);
        let sql = self.sql.scan();
        let mut statement = connection.prepare_cached(&sql).map_err(cannot_read)?;
        let mut found = statement.query([from]).map_err(cannot_read)?;
        while let Some(row) = found.next().map_err(cannot_read)? {
            let json = row.get_ref(2).and_then(|json| Ok(json.as_str()?)).map_err(cannot_read)?;
            let key = || shown(row, 1).unwrap_or_default();
            self.fields_of_stored(json.as_bytes(), key, &mut fields)?;
            match row.get_ref(1).map_err(cannot_read)? {
                rusqlite::types::ValueRef::Integer(int) => cells[0].push(Value::Int(int)),
                key => cells[0].push(Value::Text(key.as_bytes().unwrap_or_default())),
            }
            for (cells, field) in cells[1..].iter_mut().zip(&fields) {
                cells.push(field.value());
            }
            cells[columns - 1].push(Value::Text(json.as_bytes()));
            last = Some(row.get(0).map_err(cannot_read)?);
            number += 1;
            if number == ROWS || cells[columns - 1].bytes() >= BYTES {
                break;
            }
        }
        Ok(last.map(|last| (last, Rows::from_cells(number, cells))))
    }
}
