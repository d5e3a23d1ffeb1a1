//! Entities become rows: their keys, their fields, their JSON. A chunk at a time, and while SQLite takes one the next is made.

use std::sync::mpsc::{SyncSender, sync_channel};

use serde::de::DeserializeOwned;
use serde::ser::{self, Serialize};
use sqluice_core::batch::Value;
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::{Cells, Rows};

use super::Kind;
use super::extract;
use super::field::{Field, Key};

/// Entities of a chunk at most.
const CHUNK_ENTITIES: usize = 4096;

/// Bytes of JSON after which a chunk ends.
const CHUNK_BYTES: usize = 4 << 20;

/// The number of entities that are worth a thread.
const THREAD_ENTITIES: usize = 500;

/// Rows of a chunk, in the order of their keys, each of which it has once: the last entity with a key counts.
pub(super) struct Chunk {
    pub(super) rows: Rows<'static>,
    /// How many entities it was made of.
    entities: usize,
}

/// What is used again from chunk to chunk.
#[derive(Default)]
struct Buffers {
    json: Vec<u8>,
    ends: Vec<usize>,
    order: Vec<usize>,
    fields: Vec<Field<'static>>,
}

/// Makes rows of entities, and hands them to `take` in order, as many as it likes.
///
/// # Errors
/// When an entity can't become JSON, or `take` fails.
pub(super) fn each<T: Serialize + Sync>(
    kind: &Kind<T>,
    entities: &[T],
    mut take: impl FnMut(&Chunk) -> Result<()>,
) -> Result<()> {
    if entities.len() < THREAD_ENTITIES {
        return chunks(kind, entities, |chunk| take(&chunk?));
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(1);
        scope.spawn(move || send(kind, entities, &sender));
        receiver.iter().try_for_each(|chunk| take(&chunk?))
    })
}

fn send<T: Serialize>(kind: &Kind<T>, entities: &[T], sender: &SyncSender<Result<Chunk>>) {
    // If the receiver has ended, its error is reported elsewhere.
    let _ = chunks(kind, entities, |chunk| sender.send(chunk).map_err(|_| Error::interrupted()));
}

fn chunks<T: Serialize>(
    kind: &Kind<T>,
    mut entities: &[T],
    mut take: impl FnMut(Result<Chunk>) -> Result<()>,
) -> Result<()> {
    let mut buffers = Buffers::default();
    while !entities.is_empty() {
        let chunk = buffers.chunk(kind, entities);
        entities = chunk.as_ref().map_or(&[], |chunk| &entities[chunk.entities..]);
        take(chunk)?;
    }
    Ok(())
}

impl Buffers {
    /// Rows of the first entities.
    fn chunk<T: Serialize>(&mut self, kind: &Kind<T>, entities: &[T]) -> Result<Chunk> {
        self.json.clear();
        self.ends.clear();
        self.order.clear();
        for entity in entities.iter().take(CHUNK_ENTITIES) {
            serde_json::to_writer(&mut self.json, entity).map_err(|error| kind.no_json(entity, error))?;
            self.ends.push(self.json.len());
            if self.json.len() >= CHUNK_BYTES {
                break;
            }
        }
        let entities = &entities[..self.ends.len()];
        self.put_in_order(|entity| kind.ty.key.of(&entities[entity]));
        let columns = kind.ty.fields.len() + 2;
        let mut cells = vec![Cells::default(); columns];
        for at in &self.order {
            let entity = &entities[*at];
            let json = &self.json[at.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[*at]];
            cells[0].push(kind.ty.key.of(entity).value());
            kind.fields(entity, json, &mut self.fields).map_err(|error| kind.no_json(entity, error))?;
            for (cells, field) in cells[1..].iter_mut().zip(&self.fields) {
                cells.push(field.value());
            }
            cells[columns - 1].push(Value::Text(json));
        }
        let rows = Rows::from_cells(self.order.len(), cells);
        Ok(Chunk { rows, entities: entities.len() })
    }

    /// Sorts by keys, so that SQLite finds the place of a row beside that of the row before.
    fn put_in_order<'e>(&mut self, key: impl Fn(usize) -> Key<'e>) {
        self.order.extend(0..self.ends.len());
        let sorted = self.order.is_sorted_by(|one, other| key(*one) < key(*other));
        if !sorted {
            // Of the same key the last is sorted first, and stays.
            self.order.sort_unstable_by(|one, other| key(*one).cmp(&key(*other)).then(other.cmp(one)));
            self.order.dedup_by(|next, one| key(*next) == key(*one));
        }
    }
}

impl<T> Kind<T> {
    /// The fields of an entity, in their order.
    fn fields(&self, entity: &T, json: &[u8], fields: &mut Vec<Field<'static>>) -> serde_json::Result<()> {
        self.by_paths(json, fields)?;
        self.ty.access(entity, fields);
        Ok(())
    }

    fn by_paths(&self, json: &[u8], fields: &mut Vec<Field<'static>>) -> serde_json::Result<()> {
        fields.clear();
        fields.resize(self.ty.fields.len(), Field::Null);
        // It costs nothing without paths.
        let json =
            if self.paths.is_empty() { "" } else { str::from_utf8(json).map_err(ser::Error::custom)? };
        if json.is_empty() { Ok(()) } else { extract::fields(&self.paths, json, fields) }
    }

    fn no_json(&self, entity: &T, error: serde_json::Error) -> Error {
        let key = self.ty.key.of(entity);
        Error::input(format!("{} {key} can't become JSON", self.ty.name)).because(error)
    }
}

impl<T: DeserializeOwned> Kind<T> {
    /// An entity of its JSON.
    ///
    /// # Errors
    /// When it is no such entity; `key` names it.
    pub(super) fn decode(&self, json: &[u8], key: impl FnOnce() -> String) -> Result<T> {
        serde_json::from_slice(json).map_err(|error| {
            Error::input(format!("{} {} is not what the program takes it for", self.ty.name, key()))
                .hint("its JSON was written by another program, or another version of this one")
                .because(error)
        })
    }

    /// The fields of a value that is stored: what paths lead to in its JSON, and what functions make of the entity.
    ///
    /// # Errors
    /// When it is no such entity, and functions need one.
    pub(super) fn fields_of_stored(
        &self,
        json: &[u8],
        key: impl FnOnce() -> String,
        fields: &mut Vec<Field<'static>>,
    ) -> Result<()> {
        // What is no JSON has no fields; reading it reports the error.
        if self.by_paths(json, fields).is_err() {
            fields.fill(Field::Null);
        }
        if self.ty.has_accessors() {
            self.ty.access(&self.decode(json, key)?, fields);
        }
        Ok(())
    }
}
