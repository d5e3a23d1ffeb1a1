//! Converts entities to rows: their keys, fields and JSON.
//!
//! ```text
//!  number     0    1    2    3
//!  entity     eve  ann  bob  ann     order   3  2  0     numbers of entities in the order of their keys: the last entity of each key
//!                                              │
//!  calling thread   SQLite takes chunk 1       │         each chunk is in the order of the keys, and so are the chunks
//!  second thread    makes chunk 2 <────────────┘         in buffers whose rows SQLite has taken
//! ```

use std::sync::mpsc::{channel, sync_channel};

use serde::de::DeserializeOwned;
use serde::ser::{self, Serialize};
use sqluice_core::batch::Value;
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::{Cells, Rows};

use super::Kind;
use super::define::KeyOf;
use super::extract;
use super::field::{Field, Key};

/// The maximum number of entities in a chunk. SQLite waits until the first chunk is made, so a chunk must be small. Each chunk costs a
/// statement, as much as a few rows, so a chunk must not be too small.
const CHUNK_ENTITIES: usize = 1024;

/// The size of JSON at which a chunk ends.
const CHUNK_BYTES: usize = 1 << 20;

/// The number of entities from which a second thread pays off.
const THREAD_ENTITIES: usize = 500;

/// Converts entities to rows, chunk by chunk, and passes each chunk to `take`. Rows are in the order of their keys, also across chunks, so
/// that SQLite finds the place of each row next to the previous row. Each key occurs once: the last entity with the key counts.
///
/// # Errors
/// When an entity can't become JSON, or `take` fails.
pub(super) fn each<T: Serialize + Sync>(
    kind: &Kind<T>,
    entities: &[T],
    mut take: impl FnMut(&Rows<'static>) -> Result<()>,
) -> Result<()> {
    let order = by_key(&kind.ty.key, entities);
    let mut encoder = Encoder { kind, entities, order: &order, fields: Vec::new() };
    if order.len() < THREAD_ENTITIES {
        let mut cells = Vec::new();
        while let Some(rows) = encoder.chunk(cells) {
            let rows = rows?;
            take(&rows)?;
            cells = rows.into_cells();
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        let (sender, chunks) = sync_channel(1);
        let (give_back, done_with) = channel();
        scope.spawn(move || {
            while let Some(rows) = encoder.chunk(done_with.try_recv().unwrap_or_default()) {
                // The receiver stops early only after an error, which `each` returns.
                if sender.send(rows).is_err() {
                    break;
                }
            }
        });
        chunks.iter().try_for_each(|rows| {
            let rows = rows?;
            take(&rows)?;
            // The encoder thread may have finished already; then nobody needs the cells.
            let _ = give_back.send(rows.into_cells());
            Ok(())
        })
    })
}

/// Returns the indexes of entities in the order of their keys. If several entities have the same key, only the last one is included.
///
/// Keys are first compared by their heads: for text, the eight bytes after the common prefix of all keys. So most keys are read only once.
fn by_key<T>(key: &KeyOf<T>, entities: &[T]) -> Vec<usize> {
    if entities.is_sorted_by(|one, next| key.of(one) < key.of(next)) {
        return (0..entities.len()).collect();
    }
    let common = common_bytes(entities.iter().map(|entity| key.of(entity)));
    let mut heads: Vec<(u64, usize)> =
        entities.iter().map(|entity| head(&key.of(entity), common)).zip(0..).collect();
    let of = |number: usize| key.of(&entities[number]);
    heads.sort_unstable_by(|&(head, one), &(other_head, other)| {
        head.cmp(&other_head).then_with(|| of(one).cmp(&of(other))).then(other.cmp(&one))
    });
    heads.dedup_by(|next, one| next.0 == one.0 && of(next.1) == of(one.1));
    heads.into_iter().map(|(_, number)| number).collect()
}

/// Returns the length in bytes of the common prefix of all keys; 0 for integer keys.
fn common_bytes<'e>(mut keys: impl Iterator<Item = Key<'e>>) -> usize {
    let Some(Key::Text(first)) = keys.next() else { return 0 };
    let same = |one: &str, other: &str| one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    keys.fold(first.len(), |common, key| match key {
        Key::Text(text) => common.min(same(&text, &first)),
        Key::Int(_) => 0,
    })
}

/// Returns a number for a key: the integer, or the first eight bytes after the common prefix. Heads sort like their keys, but different
/// keys may have the same head.
fn head(key: &Key<'_>, common: usize) -> u64 {
    match key {
        Key::Int(int) => int.cast_unsigned() ^ 1 << 63,
        Key::Text(text) => {
            let mut head = [0; 8];
            let bytes = text.as_bytes().get(common..).unwrap_or_default();
            let len = bytes.len().min(head.len());
            head[..len].copy_from_slice(&bytes[..len]);
            u64::from_be_bytes(head)
        }
    }
}

struct Encoder<'e, T> {
    kind: &'e Kind<T>,
    entities: &'e [T],
    /// The indexes of the entities that no chunk has yet.
    order: &'e [usize],
    fields: Vec<Field<'static>>,
}

impl<T: Serialize> Encoder<'_, T> {
    /// Returns the next chunk in reused cells, or `None` after the last chunk or an error.
    fn chunk(&mut self, cells: Vec<Cells>) -> Option<Result<Rows<'static>>> {
        if self.order.is_empty() {
            return None;
        }
        let rows = self.rows(cells);
        if rows.is_err() {
            self.order = &[];
        }
        Some(rows)
    }

    fn rows(&mut self, mut cells: Vec<Cells>) -> Result<Rows<'static>> {
        cells.resize_with(self.kind.ty.fields.len() + 2, Cells::default);
        cells.iter_mut().for_each(Cells::clear);
        let [keys, fields @ .., values] = &mut *cells else { unreachable!("there are two at least") };
        for entity in self.order.iter().take(CHUNK_ENTITIES).map(|number| &self.entities[*number]) {
            let no_json = |error| self.kind.no_json(entity, error);
            keys.push(self.kind.ty.key.of(entity).value());
            values.push_text_by(|json| serde_json::to_writer(json, entity)).map_err(no_json)?;
            let Some(Value::Text(json)) = values.get(values.len() - 1) else { unreachable!("it is text") };
            self.kind.fields(entity, json, &mut self.fields).map_err(no_json)?;
            for (cells, field) in fields.iter_mut().zip(&self.fields) {
                cells.push(field.value());
            }
            if values.bytes() >= CHUNK_BYTES {
                break;
            }
        }
        let rows = keys.len();
        self.order = &self.order[rows..];
        Ok(Rows::from_cells(rows, cells))
    }
}

impl<T> Kind<T> {
    /// Replaces `fields` by the values of the indexed fields of an entity, in the order of the definition.
    fn fields(&self, entity: &T, json: &[u8], fields: &mut Vec<Field<'static>>) -> serde_json::Result<()> {
        self.by_paths(json, fields)?;
        self.ty.access(entity, fields);
        Ok(())
    }

    fn by_paths(&self, json: &[u8], fields: &mut Vec<Field<'static>>) -> serde_json::Result<()> {
        fields.clear();
        fields.resize(self.ty.fields.len(), Field::Null);
        // The check for valid UTF-8 is skipped if the type has no paths.
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
    /// Decodes an entity from its JSON.
    ///
    /// # Errors
    /// When the JSON does not fit the type. `key` returns the name of the entity for the message.
    pub(super) fn decode(&self, json: &[u8], key: impl FnOnce() -> String) -> Result<T> {
        serde_json::from_slice(json).map_err(|error| {
            Error::input(format!(
                "the JSON of {} {} does not fit the type in the program",
                self.ty.name,
                key()
            ))
            .hint("its JSON was written by another program, or another version of this one")
            .because(error)
        })
    }

    /// Sets the fields of a stored value, from the paths in its JSON and the functions of the entity.
    ///
    /// # Errors
    /// When a function needs the entity and the JSON does not fit the type.
    pub(super) fn fields_of_stored(
        &self,
        json: &[u8],
        key: impl FnOnce() -> String,
        fields: &mut Vec<Field<'static>>,
    ) -> Result<()> {
        // Invalid JSON has no fields; reading the entity reports the error.
        if self.by_paths(json, fields).is_err() {
            fields.fill(Field::Null);
        }
        if self.ty.has_accessors() {
            self.ty.access(&self.decode(json, key)?, fields);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn by_key_returns_the_last_entity_of_each_key_in_key_order(
            prefix in "[a-c]{0,12}",
            texts in prop::collection::vec("[ab\\x00é]{0,12}", 0..60),
            ints in prop::collection::vec(prop_oneof![any::<i64>(), -3..3_i64], 0..60),
        ) {
            let texts: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
            let last: BTreeMap<&str, usize> = texts.iter().map(String::as_str).zip(0..).collect();
            let order = by_key(&KeyOf::Text(Box::new(|text: &String| text)), &texts);
            prop_assert_eq!(order, last.into_values().collect::<Vec<_>>());
            let last: BTreeMap<i64, usize> = ints.iter().copied().zip(0..).collect();
            let order = by_key(&KeyOf::Int(Box::new(|int: &i64| *int)), &ints);
            prop_assert_eq!(order, last.into_values().collect::<Vec<_>>());
        }
    }
}
