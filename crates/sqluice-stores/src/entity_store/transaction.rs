//! Reads and writes of entities, on the connection of a transaction or of a reader.

use std::cell::RefCell;

use rusqlite::{Connection, OptionalExtension, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::{Column, Rows};

use super::field::Key;
use super::query::{Filter, Query, Statement};
use super::write::{self, Begin, Written};
use super::{Entities, Kind};

/// A transaction, whose reads and writes are atomic. See [`EntityStore::transaction`](super::EntityStore::transaction).
pub struct Transaction<'c> {
    connection: &'c Connection,
    /// The id of the store. Entities of another store are refused.
    store: usize,
    /// The types whose stored definitions this transaction has checked already.
    seen: RefCell<Vec<String>>,
}

impl<'c> Transaction<'c> {
    pub(super) fn new(connection: &'c Connection, store: usize) -> Transaction<'c> {
        Transaction { connection, store, seen: RefCell::default() }
    }

    /// Returns the entities as this transaction sees them.
    fn of<'t, T>(&'t self, entities: &'t Entities<T>) -> Result<On<'t, T>> {
        if entities.store_id() != self.store {
            return Err(Error::usage(format!("type {} belongs to another store", entities.name())));
        }
        let on = On { connection: self.connection, kind: entities.kind() };
        let mut seen = self.seen.borrow_mut();
        if !seen.iter().any(|name| name == entities.name()) {
            on.kind.must_be_known(self.connection)?;
            seen.push(entities.name().to_owned());
        }
        Ok(on)
    }
}

/// The methods of [`Entities`] with the same names, within this transaction.
///
/// # Errors
/// Like [`Entities`], and when the entities belong to another store, or another program has redefined the type.
impl Transaction<'_> {
    /// Writes an entity.
    #[allow(clippy::missing_errors_doc, reason = "said above, once for all")]
    pub fn write<T>(&self, entities: &Entities<T>, entity: &T) -> Result<Written>
    where
        T: Serialize + Sync,
    {
        self.write_many(entities, std::slice::from_ref(entity))
    }

    /// Writes all entities or, after an error, none.
    pub fn write_many<T>(&self, entities: &Entities<T>, many: &[T]) -> Result<Written>
    where
        T: Serialize + Sync,
    {
        self.of(entities)?.write_many(many, Begin::Savepoint)
    }

    /// Reads an entity.
    pub fn read<'k, T: DeserializeOwned>(
        &self,
        entities: &Entities<T>,
        key: impl Into<Key<'k>>,
    ) -> Result<Option<T>> {
        self.of(entities)?.read(&key.into())
    }

    /// Reads entities by many keys.
    pub fn read_many<'k, T: DeserializeOwned, K: Into<Key<'k>>>(
        &self,
        entities: &Entities<T>,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<T>>> {
        self.of(entities)?.read_many(keys)
    }

    /// Finds entities.
    pub fn query<T: DeserializeOwned>(
        &self,
        entities: &Entities<T>,
        query: impl Into<Query>,
    ) -> Result<Vec<T>> {
        self.of(entities)?.query(&query.into())
    }

    /// Counts entities.
    pub fn count<T>(&self, entities: &Entities<T>, filter: &Filter) -> Result<u64> {
        self.of(entities)?.count(filter)
    }

    /// Deletes an entity.
    pub fn delete<'k, T>(&self, entities: &Entities<T>, key: impl Into<Key<'k>>) -> Result<bool> {
        self.of(entities)?.delete(&key.into())
    }

    /// Deletes entities by many keys.
    pub fn delete_many<'k, T, K: Into<Key<'k>>>(
        &self,
        entities: &Entities<T>,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64> {
        self.of(entities)?.delete_many(keys)
    }

    /// Deletes entities by their fields.
    pub fn delete_where<T>(&self, entities: &Entities<T>, filter: &Filter) -> Result<u64> {
        self.of(entities)?.delete_where(filter)
    }
}

/// The entities of a type, on a connection.
pub(super) struct On<'a, T> {
    pub(super) connection: &'a Connection,
    pub(super) kind: &'a Kind<T>,
}

impl<T> On<'_, T> {
    pub(super) fn write_many(&self, many: &[T], begin: Begin) -> Result<Written>
    where
        T: Serialize + Sync,
    {
        if many.is_empty() {
            Ok(Written::default())
        } else {
            write::write_many(self.connection, self.kind, many, begin)
        }
    }

    pub(super) fn read(&self, key: &Key<'_>) -> Result<Option<T>>
    where
        T: DeserializeOwned,
    {
        self.check(key)?;
        let json = self
            .connection
            .prepare_cached(&self.kind.sql.read)
            .and_then(|mut read| read.query_row([key.bound()], |row| row.get::<_, String>(0)).optional());
        let json = json.map_err(|error| self.kind.cannot_read(error))?;
        json.map(|json| self.kind.decode(json.as_bytes(), || key.to_string())).transpose()
    }

    pub(super) fn read_many<'k, K: Into<Key<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<T>>>
    where
        T: DeserializeOwned,
    {
        let (keys, rows) = self.keys(keys)?;
        let cannot_read = |error| self.kind.cannot_read(error);
        let mut found: Vec<Option<T>> = keys.iter().map(|_| None).collect();
        let mut read = self.connection.prepare_cached(&self.kind.sql.read_many).map_err(cannot_read)?;
        let mut values = read.query([rows]).map_err(cannot_read)?;
        while let Some(row) = values.next().map_err(cannot_read)? {
            // The rows are counted from 1.
            let at = row.get::<_, i64>(0).map_err(cannot_read)? as usize - 1;
            let json = row.get_ref(1).and_then(|json| Ok(json.as_bytes()?)).map_err(cannot_read)?;
            if let Some(found) = found.get_mut(at) {
                *found = Some(self.kind.decode(json, || keys[at].to_string())?);
            }
        }
        Ok(found)
    }

    pub(super) fn query(&self, query: &Query) -> Result<Vec<T>>
    where
        T: DeserializeOwned,
    {
        let Statement { sql, parameters } = query.statement(&self.kind.ty, "SELECT key, value")?;
        let cannot_read = |error| self.kind.cannot_read(error);
        let mut statement = self.connection.prepare_cached(&sql).map_err(cannot_read)?;
        let mut rows = statement.query(params_from_iter(&parameters)).map_err(cannot_read)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(cannot_read)? {
            let json = row.get_ref(1).and_then(|json| Ok(json.as_bytes()?)).map_err(cannot_read)?;
            found.push(self.kind.decode(json, || write::shown(row, 0).unwrap_or_default())?);
        }
        Ok(found)
    }

    /// Returns SQLite's plan for a query, one line per step.
    pub(super) fn plan(&self, query: &Query) -> Result<Vec<String>> {
        let Statement { sql, parameters } =
            query.statement(&self.kind.ty, "EXPLAIN QUERY PLAN SELECT key, value")?;
        let read = || {
            let mut statement = self.connection.prepare(&sql)?;
            let lines = statement.query_map(params_from_iter(&parameters), |row| row.get(3))?;
            lines.collect::<rusqlite::Result<_>>()
        };
        read().map_err(|error| self.kind.cannot_read(error))
    }

    pub(super) fn count(&self, filter: &Filter) -> Result<u64> {
        let Statement { sql, parameters } = filter.statement(&self.kind.ty, "SELECT count(*)")?;
        let count = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut count| count.query_row(params_from_iter(&parameters), |row| row.get::<_, i64>(0)));
        count.map(i64::cast_unsigned).map_err(|error| self.kind.cannot_read(error))
    }

    pub(super) fn delete(&self, key: &Key<'_>) -> Result<bool> {
        self.check(key)?;
        let deleted = self
            .connection
            .prepare_cached(&self.kind.sql.delete)
            .and_then(|mut delete| delete.execute([key.bound()]));
        deleted.map(|rows| rows > 0).map_err(|error| self.kind.cannot_write(error))
    }

    pub(super) fn delete_many<'k, K: Into<Key<'k>>>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64> {
        let (_, rows) = self.keys(keys)?;
        let deleted = self
            .connection
            .prepare_cached(&self.kind.sql.delete_many)
            .and_then(|mut delete| delete.execute([rows]));
        deleted.map(|rows| rows as u64).map_err(|error| self.kind.cannot_write(error))
    }

    pub(super) fn delete_where(&self, filter: &Filter) -> Result<u64> {
        let Statement { sql, parameters } = filter.statement(&self.kind.ty, "DELETE")?;
        let deleted = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut delete| delete.execute(params_from_iter(&parameters)));
        deleted.map(|rows| rows as u64).map_err(|error| self.kind.cannot_write(error))
    }

    /// Checks that keys have the kind of the type's keys. Returns the keys, and the rows that pass them to SQLite.
    fn keys<'k, K: Into<Key<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<(Vec<Key<'k>>, Rows<'static>)> {
        let keys: Vec<Key<'k>> = keys.into_iter().map(K::into).collect();
        keys.iter().try_for_each(|key| self.check(key))?;
        let column: Column<'_> = keys.iter().map(Key::value).collect();
        let rows = Rows::column(column).into_owned();
        Ok((keys, rows))
    }

    fn check(&self, key: &Key<'_>) -> Result<()> {
        if self.kind.ty.key.takes(key) {
            return Ok(());
        }
        let (name, wanted) = (
            &self.kind.ty.name,
            match key {
                Key::Int(_) => "text",
                Key::Text(_) => "integers",
            },
        );
        Err(Error::usage(format!("{name} has keys of {wanted}, and {key} is not one")))
    }
}
