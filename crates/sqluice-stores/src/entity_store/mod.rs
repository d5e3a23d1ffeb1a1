//! `EntityStore`: typed JSON entities with indexed fields, in a database that opens in plain `sqlite3`.
//!
//! ```text
//!  struct Person ──serde──> {"id":"ann","email":"ann@example.com","age":41}
//!                             │ key       │ field                   │ field
//!                           ┌─┴───┬───────┴─────────┬───────────────┴────┬───────────────────┐
//!    table "person"         │ key │ "email"         │ "age"              │ value             │      each has an index, except value
//!                           └─────┴─────────────────┴────────────────────┴───────────────────┘
//! ```
//!
//! ```
//! # use serde::{Serialize, Deserialize};
//! use sqluice_stores::entity_store::{EntityStore, EntityType, field};
//!
//! #[derive(Serialize, Deserialize, Debug, PartialEq)]
//! struct Person {
//!     id: String,
//!     email: String,
//!     age: u32,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("people.db");
//! let store = EntityStore::open(&file)?;
//! let people = store.define(
//!     EntityType::text("person", |person: &Person| &person.id)
//!         .unique("email", "$.email")
//!         .index_by("age", |person| person.age.into()),
//! )?;
//!
//! let person = |id: &str, age| Person { id: id.to_owned(), email: format!("{id}@example.com"), age };
//! people.write_many(&[person("ann", 41), person("bob", 17), person("eve", 29)])?;
//!
//! assert_eq!(people.read("bob")?, Some(person("bob", 17)));
//! let grown_up = people.query(field("age").at_least(18).order("age").limit(10))?;
//! assert_eq!(grown_up, [person("eve", 29), person("ann", 41)]);
//!
//! store.transaction(|transaction| {
//!     let mut bob = transaction.read(&people, "bob")?.expect("bob exists");
//!     bob.age += 1;
//!     transaction.write(&people, &bob)?;
//!     transaction.delete(&people, "ann")
//! })?;
//! assert_eq!(people.count(&field("age").at_least(18))?, 2);
//! # Ok(()) }
//! ```
//!
//! In `sqlite3`, `SELECT value ->> '$.email' FROM person WHERE age >= 18` finds the e-mail addresses of these persons. `layout.rs`
//! describes the tables.
//!
//! * [`Entities::write_many`] writes a batch in a few statements, whatever its size (`write.rs`). An entity that is already stored in the
//!   same form is not written, and the index of an unchanged field is not touched. `bench/stores` measures the speed.
//! * A store is in WAL mode: any number of threads read while one thread writes. A reader sees only whole batches and transactions. Stores
//!   and [`Entities`] can be shared by threads and cloned.
//! * If the fields of a type have changed, [`EntityStore::define`] rebuilds its table in one transaction.
//! * Other programs may read the tables and write other tables. If they write a row of a type, they must set its fields correctly.
//!
//! Invariant: a batch or a transaction is in the store entirely or not at all, even if the program is killed at any time. Killing the
//! program does not undo a batch that was reported as written. A power failure does not either if the store is [`Options::durable`],
//! which is the default.
//!
//! Invariant: memory is limited to a few chunks of 1,024 entities or 1 MiB of JSON, 16 bytes per entity of a batch, and the page cache.

mod connection;
mod define;
mod encode;
mod extract;
mod field;
mod layout;
mod path;
mod query;
mod rebuild;
mod transaction;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use rusqlite::Connection;
use serde::Serialize;
use serde::de::DeserializeOwned;

use connection::{Readers, lock};
use path::Node;
use rebuild::Known;
use sqluice_core::error::{Error, Result};
use sqluice_core::setters;
use sqluice_core::sqlite_error::{self, full_disk};
use transaction::On;

pub use define::EntityType;
pub use field::{Field, Key};
pub use query::{FieldName, Filter, Query, all, field};
pub use transaction::Transaction;
pub use write::Written;

/// The options of a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// `true` if a power failure can't undo reported transactions (`PRAGMA synchronous = FULL`). If `false` (`NORMAL`), a power failure
    /// may undo the last transactions; a crash of the program can't.
    pub durable: bool,
    /// The time to wait for another process that writes.
    pub busy_timeout: Duration,
    /// The size of the page cache of each connection in bytes.
    pub cache_bytes: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { durable: true, busy_timeout: connection::BUSY_TIMEOUT, cache_bytes: 16 << 20 }
    }
}

setters! { Options:
    /// Sets if reported transactions survive a power failure; see [`Options::durable`].
    durable(durable: bool) = durable;
    /// Sets the time to wait for another process that writes.
    busy_timeout(timeout: Duration) = timeout;
    /// Sets the size of the page cache of each connection in bytes.
    cache_bytes(bytes: usize) = bytes;
}

impl Options {
    /// Creates the default options: durable, and 16 MiB of cache per connection.
    pub fn new() -> Options {
        Options::default()
    }
}

/// A database of entities; see the module's description.
#[derive(Clone)]
pub struct EntityStore {
    shared: Arc<Shared>,
}

struct Shared {
    readers: Readers,
    writer: Mutex<Connection>,
    /// The thread that runs a transaction; `None` if no thread does.
    writing: Mutex<Option<ThreadId>>,
    /// The definitions of the types that were defined since the store was opened, by the names of the types.
    defined: Mutex<BTreeMap<String, String>>,
}

/// A type, and the values derived from it: the SQL, the tree of JSON paths, and the definition that is stored.
struct Kind<T> {
    ty: EntityType<T>,
    /// The definition of the type in the table `sqluice_entity_type`, as JSON.
    definition: String,
    paths: Node,
    sql: layout::Sql,
    /// The file of the store.
    path: PathBuf,
}

/// Returns the error for a failed operation of SQLite on the store at `path`.
fn failed(error: rusqlite::Error, what: &str, path: &Path) -> Error {
    match full_disk::is_it(&error, path) {
        true => full_disk::error(error, &format!("{what} in"), path).about(path),
        false => sqlite_error::failed(error, what),
    }
}

impl EntityStore {
    /// Opens the store in a file, or creates it.
    ///
    /// # Errors
    /// When the file is not a database, is the database of another program, or can't be opened or switched to WAL mode.
    pub fn open(path: impl AsRef<Path>) -> Result<EntityStore> {
        EntityStore::open_with(path, &Options::default())
    }

    /// Opens the store in a file, or creates it, with the given options.
    ///
    /// # Errors
    /// Like [`EntityStore::open`].
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<EntityStore> {
        let (writer, readers) = connection::open_store(path.as_ref(), options)?;
        let (writing, defined) = Default::default();
        Ok(EntityStore { shared: Arc::new(Shared { readers, writer: Mutex::new(writer), writing, defined }) })
    }

    /// Returns the entities of a type. Creates the type if it is new to the store, and rebuilds its table if its fields have changed.
    ///
    /// # Errors
    /// When a name or a path is invalid, the type has already been defined differently since the store was opened, its keys have another
    /// kind in the store, another table or index has its name, this thread is in a transaction, or an existing entity does not fit: it
    /// can't be read, or a field that must be unique is not.
    pub fn define<T: DeserializeOwned>(&self, ty: EntityType<T>) -> Result<Entities<T>> {
        // A thread in a transaction must not wait for a thread that defines a type: that thread waits for the end of the transaction.
        self.shared.refuse_in_transaction("define types before the transaction")?;
        let paths = ty.paths()?;
        let definition = ty.definition();
        let sql = layout::Sql::new(&ty.name, &definition);
        let definition = serde_json::to_string(&definition)
            .map_err(|error| Error::usage(format!("type {} can't be defined", ty.name)).because(error))?;
        let kind = Kind { ty, definition, paths, sql, path: self.shared.readers.path().to_owned() };
        let mut defined = lock(&self.shared.defined);
        // SQLite ignores the case of names.
        let name = kind.ty.name.to_ascii_lowercase();
        if defined.get(&name).is_some_and(|definition| *definition != kind.definition) {
            let message = format!("type {} has been defined differently in this store", kind.ty.name);
            return Err(Error::usage(message).hint("open the store again"));
        }
        let known = kind.known(&*self.shared.readers.take()?)?;
        if known != Known::Same {
            self.shared.transaction(|connection| match kind.known(connection)? {
                Known::No => kind.create(connection),
                Known::Same => Ok(()),
                Known::Otherwise => kind.rebuild(connection),
            })?;
        }
        defined.insert(name, kind.definition.clone());
        Ok(Entities { shared: Arc::clone(&self.shared), kind: Arc::new(kind) })
    }

    /// Runs a transaction: its changes are committed if `run` returns `Ok`, and discarded otherwise. No other thread or process writes
    /// meanwhile. Within the transaction, read and write through [`Transaction`]: [`Entities`] themselves still read the state before the
    /// transaction.
    ///
    /// # Errors
    /// When `run` returns an error, the thread is already in a transaction, or SQLite fails.
    pub fn transaction<R>(&self, run: impl FnOnce(&Transaction<'_>) -> Result<R>) -> Result<R> {
        self.shared.transaction(|connection| run(&Transaction::new(connection, self.shared.id())))
    }
}

impl fmt::Debug for EntityStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityStore").field("readers", &self.shared.readers).finish_non_exhaustive()
    }
}

impl Shared {
    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn refuse_in_transaction(&self, hint: &str) -> Result<()> {
        if *lock(&self.writing) != Some(std::thread::current().id()) {
            return Ok(());
        }
        Err(Error::usage("a transaction is under way in this thread").hint(hint))
    }

    fn transaction<R>(&self, run: impl FnOnce(&Connection) -> Result<R>) -> Result<R> {
        self.refuse_in_transaction("inside a transaction, write through its Transaction")?;
        let writer = lock(&self.writer);
        let _writing = Writing::new(&self.writing);
        let run_sql = |sql: &str, what: &str| {
            writer.execute_batch(sql).map_err(|error| failed(error, what, self.readers.path()))
        };
        run_sql("BEGIN IMMEDIATE", "begin a transaction")?;
        let rollback = Rollback(&writer);
        let done = run(&writer)?;
        run_sql("COMMIT", "commit a transaction")?;
        std::mem::forget(rollback);
        Ok(done)
    }
}

/// A guard that marks the current thread as the writing thread.
struct Writing<'s>(&'s Mutex<Option<ThreadId>>);

impl Writing<'_> {
    fn new(writing: &Mutex<Option<ThreadId>>) -> Writing<'_> {
        *lock(writing) = Some(std::thread::current().id());
        Writing(writing)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        *lock(self.0) = None;
    }
}

/// A guard that rolls a transaction back when it is dropped, also in a panic.
struct Rollback<'c>(&'c Connection);

impl Drop for Rollback<'_> {
    fn drop(&mut self) {
        // SQLite may already have rolled back the transaction.
        if !self.0.is_autocommit() {
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

/// The entities of a type in a store. They can be cloned, and shared by threads.
pub struct Entities<T> {
    shared: Arc<Shared>,
    kind: Arc<Kind<T>>,
}

impl<T> Clone for Entities<T> {
    fn clone(&self) -> Entities<T> {
        Entities { shared: Arc::clone(&self.shared), kind: Arc::clone(&self.kind) }
    }
}

impl<T> fmt::Debug for Entities<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entities").field("type", &self.kind.ty).finish_non_exhaustive()
    }
}

impl<T> Entities<T> {
    /// Returns the name of the type.
    pub fn name(&self) -> &str {
        &self.kind.ty.name
    }

    fn kind(&self) -> &Kind<T> {
        &self.kind
    }

    fn store_id(&self) -> usize {
        self.shared.id()
    }

    /// Writes an entity, replacing an existing entity with the same key.
    ///
    /// # Errors
    /// Like [`Entities::write_many`].
    pub fn write(&self, entity: &T) -> Result<Written>
    where
        T: Serialize + Sync,
    {
        self.write_many(std::slice::from_ref(entity))
    }

    /// Writes all entities or, after an error, none, replacing existing entities with the same keys. If several entities have the
    /// same key, the last one is stored.
    ///
    /// # Errors
    /// When an entity can't become JSON, two entities would have the same value of a unique field after the batch, another program has
    /// redefined the type, this thread is in a transaction, or SQLite can't write.
    pub fn write_many(&self, entities: &[T]) -> Result<Written>
    where
        T: Serialize + Sync,
    {
        if entities.is_empty() {
            return Ok(Written::default());
        }
        self.writing(|on| on.write_many(entities, write::Begin::Transaction))
    }

    /// Reads the entity with a key. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// When the key is of the wrong kind, the stored value does not fit the type, or SQLite can't read.
    pub fn read<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<T>>
    where
        T: DeserializeOwned,
    {
        self.reading(|on| on.read(&key.into()))
    }

    /// Reads the entities of many keys in one query. The result has an element for each key, in the same order: `None` if the entity is
    /// missing.
    ///
    /// # Errors
    /// Like [`Entities::read`].
    pub fn read_many<'k, K: Into<Key<'k>>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<T>>>
    where
        T: DeserializeOwned,
    {
        self.reading(|on| on.read_many(keys))
    }

    /// Returns the entities that match a query, in the order of the query.
    ///
    /// # Errors
    /// When a field is not indexed, a key is compared with a value of another kind, a stored value does not fit the type, or SQLite can't
    /// read.
    pub fn query(&self, query: impl Into<Query>) -> Result<Vec<T>>
    where
        T: DeserializeOwned,
    {
        self.reading(|on| on.query(&query.into()))
    }

    /// Returns SQLite's plan for a query, one line per step: `SEARCH person USING INDEX person.age (age>?)`.
    ///
    /// # Errors
    /// When a field is not indexed, a key is compared with a value of another kind, or SQLite can't read.
    pub fn plan(&self, query: impl Into<Query>) -> Result<Vec<String>> {
        self.reading(|on| on.plan(&query.into()))
    }

    /// Returns the number of entities that match a filter; use [`all`] to count all.
    ///
    /// # Errors
    /// When a field is not indexed, a key is compared with a value of another kind, or SQLite can't read.
    pub fn count(&self, filter: &Filter) -> Result<u64> {
        self.reading(|on| on.count(filter))
    }

    /// Deletes an entity. Returns `false` if it did not exist.
    ///
    /// # Errors
    /// When the key is of the wrong kind, another program has redefined the type, this thread is in a transaction, or SQLite can't write.
    pub fn delete<'k>(&self, key: impl Into<Key<'k>>) -> Result<bool> {
        self.writing(|on| on.delete(&key.into()))
    }

    /// Deletes entities by many keys. Returns the number of entities that existed.
    ///
    /// # Errors
    /// Like [`Entities::delete`].
    pub fn delete_many<'k, K: Into<Key<'k>>>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64> {
        self.writing(|on| on.delete_many(keys))
    }

    /// Deletes the entities that match a filter. Returns their number.
    ///
    /// # Errors
    /// When a field is not indexed, a key is compared with a value of another kind, another program has redefined the type, this thread
    /// is in a transaction, or SQLite can't write.
    pub fn delete_where(&self, filter: &Filter) -> Result<u64> {
        self.writing(|on| on.delete_where(filter))
    }

    /// Recomputes all fields from the stored JSON and rebuilds the indexes. Call this after a change of a function that computes a field.
    ///
    /// # Errors
    /// When an entity can't be read, a field is not unique, another program has redefined the type, this thread is in a transaction, or
    /// SQLite can't write.
    pub fn rebuild(&self) -> Result<()>
    where
        T: DeserializeOwned,
    {
        self.writing(|on| on.kind.rebuild(on.connection))
    }

    fn reading<R>(&self, read: impl FnOnce(On<'_, T>) -> Result<R>) -> Result<R> {
        let connection = self.shared.readers.take()?;
        read(On { connection: &connection, kind: &self.kind })
    }

    fn writing<R>(&self, write: impl FnOnce(On<'_, T>) -> Result<R>) -> Result<R> {
        self.shared.transaction(|connection| {
            self.kind.must_be_known(connection)?;
            write(On { connection, kind: &self.kind })
        })
    }
}
