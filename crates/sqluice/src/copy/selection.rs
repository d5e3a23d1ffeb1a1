//! Chooses the objects of a database that are copied, and finds the objects that break because others are left out.

use std::collections::HashSet;

use rusqlite::Connection;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::{Schema, quoted};
use sqluice_core::similar;
use sqluice_core::sqlite_error::failed;
use sqluice_engine::trees::Keep;
use sqluice_format::database::Header;
use sqluice_format::record;
use sqluice_format::value::Value;
use sqluice_reader::{Snapshot, StoredObject};

use super::Copy;

/// The prefix of the names of SQLite's own tables, which are always copied.
const INTERNAL: &str = "sqlite_";

/// The copied objects of a database.
pub(super) struct Selection {
    /// The kinds and names of left-out objects, in lower case.
    left_out: HashSet<(String, String)>,
    broken: Vec<String>,
}

impl Selection {
    /// Returns the objects that the options select.
    ///
    /// # Errors
    /// If a table does not exist, or an object would break and [`Copy::force`] is not set.
    pub(super) fn new(
        copy: &Copy,
        snapshot: &Snapshot,
        schema: &Schema,
        objects: &[StoredObject],
    ) -> Result<Selection> {
        let mut selection = Selection { left_out: HashSet::new(), broken: Vec::new() };
        if copy.tables.is_empty() && copy.exclude_tables.is_empty() && !copy.no_indexes {
            return Ok(selection);
        }
        let names: Vec<&str> = objects
            .iter()
            .filter(|object| is_relation(object))
            .map(|object| object.name.as_str())
            .filter(|name| !name.starts_with(INTERNAL))
            .collect();
        for name in copy.tables.iter().chain(&copy.exclude_tables) {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                let message = format!("{} has no table or view {name}", snapshot.name().display());
                return Err(Error::usage(message).hint(similar::hint(name, names.iter().copied())));
            }
        }
        let shadows = snapshot.shadow_tables()?;
        let is_among = |list: &[String], name: &str| {
            owners(name, &shadows, objects)
                .iter()
                .any(|owner| list.iter().any(|listed| listed.eq_ignore_ascii_case(owner)))
        };
        let has_table = |name: &str| {
            name.starts_with(INTERNAL)
                || ((copy.tables.is_empty() || is_among(&copy.tables, name))
                    && !is_among(&copy.exclude_tables, name))
        };
        let is_plain_index = |object: &StoredObject| {
            let table = schema.table(&object.table);
            let index = table.and_then(|table| {
                table.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&object.name))
            });
            object.kind == "index" && object.sql.is_some() && index.is_some_and(|index| !index.unique)
        };
        for object in objects {
            if !has_table(&object.table) || (copy.no_indexes && is_plain_index(object)) {
                selection.left_out.insert(key(object));
            }
        }
        selection.broken = selection
            .find_broken(schema, objects)
            .map_err(|error| failed(error, "test the views and triggers without the left-out objects"))?;
        match &selection.broken[..] {
            broken @ [_, ..] if !copy.force => {
                Err(Error::usage(format!("the copy would break {}", broken.join("; ")))
                    .hint(message!["leave these out, too, or copy anyway: ", Setting::Force]))
            }
            _ => Ok(selection),
        }
    }

    /// Returns `true` if an object is copied.
    pub(super) fn has(&self, object: &StoredObject) -> bool {
        !self.left_out.contains(&key(object))
    }

    /// Leaves out an object on which no other object depends, such as an index that is not unique.
    pub(super) fn leave_out(&mut self, object: &StoredObject) {
        self.left_out.insert(key(object));
    }

    /// Returns the objects that do not work in the copy, because they need left-out objects.
    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }

    /// Returns a filter for the rows of an object, or `None` if all rows are copied. The filter removes the rows of SQLite's own tables
    /// that are about left-out objects.
    pub(super) fn keep<'a>(&'a self, object: &StoredObject, header: &Header) -> Option<Box<Keep<'a>>> {
        let is_statistics = object.name.starts_with("sqlite_stat");
        if self.left_out.is_empty() || !(is_statistics || object.name == "sqlite_sequence") {
            return None;
        }
        let encoding = header.used_text_encoding();
        Some(Box::new(move |record: &[u8]| {
            let Ok(values) = record::decode(record) else { return true };
            let is_kept = |kind: &str, value: Option<&Value<'_>>| match value {
                Some(Value::Text(name)) => {
                    let name = text(name, encoding).to_ascii_lowercase();
                    !self.left_out.contains(&(kind.to_owned(), name))
                }
                _ => true,
            };
            is_kept("table", values.first()) && (!is_statistics || is_kept("index", values.get(1)))
        }))
    }

    /// Returns the views, triggers and references that work in the source, but not without the left-out objects.
    fn find_broken(&self, schema: &Schema, objects: &[StoredObject]) -> rusqlite::Result<Vec<String>> {
        let all: Vec<&StoredObject> = objects.iter().collect();
        let kept: Vec<&StoredObject> = objects.iter().filter(|object| self.has(object)).collect();
        let (before, after) = (working(&all, &kept, schema)?, working(&kept, &kept, schema)?);
        let mut broken: Vec<String> = kept
            .iter()
            .filter(|object| before.contains(&key(object)) && !after.contains(&key(object)))
            .map(|object| object.describe())
            .collect();
        let is_left_out =
            |name: &str| self.left_out.contains(&("table".to_owned(), name.to_ascii_lowercase()));
        for table in schema.tables.iter().filter(|table| !is_left_out(&table.name)) {
            let parents = table.references.iter().map(|reference| reference.parent.as_str());
            let mut parents: Vec<&str> = parents.filter(|parent| is_left_out(parent)).collect();
            parents.dedup();
            let of_parent = |parent| format!("the foreign key of table {} to {parent}", table.name);
            broken.extend(parents.into_iter().map(of_parent));
        }
        Ok(broken)
    }
}

fn key(object: &StoredObject) -> (String, String) {
    (object.kind.clone(), object.name.to_ascii_lowercase())
}

/// Returns `true` if an object is a table or a view.
fn is_relation(object: &StoredObject) -> bool {
    matches!(&*object.kind, "table" | "view")
}

/// Returns the name of a table and, if the table is a shadow table, of its virtual table. A table is left out if its virtual table is.
fn owners<'n>(name: &'n str, shadows: &HashSet<String>, objects: &'n [StoredObject]) -> Vec<&'n str> {
    let lower = name.to_ascii_lowercase();
    let mut owners = vec![name];
    if shadows.contains(&lower) {
        let virtual_tables = objects.iter().filter(|object| object.kind == "table" && object.tree.is_none());
        let is_owner = |object: &&StoredObject| {
            let owner = object.name.to_ascii_lowercase();
            lower.strip_prefix(&owner).is_some_and(|rest| rest.starts_with('_'))
        };
        owners.extend(
            virtual_tables.filter(is_owner).map(|object| &*object.name).max_by_key(|name| name.len()),
        );
    }
    owners
}

/// Returns the virtual table that a shadow table belongs to; for any other table, the table itself.
pub(crate) fn owner<'n>(name: &'n str, shadows: &HashSet<String>, objects: &'n [StoredObject]) -> &'n str {
    owners(name, shadows, objects).last().copied().unwrap_or(name)
}

/// Returns the views and triggers of `tested` that SQLite can compile in a database with the objects of `present`.
fn working(
    present: &[&StoredObject],
    tested: &[&StoredObject],
    schema: &Schema,
) -> rusqlite::Result<HashSet<(String, String)>> {
    let connection = Connection::open_in_memory()?;
    // A missing parent of a foreign key must not make a statement fail here: `find_broken` finds missing parents itself.
    connection.execute_batch("PRAGMA foreign_keys = OFF")?;
    let make = |kind: &str| {
        let of_kind =
            present.iter().filter(|object| object.kind == kind && !object.name.starts_with(INTERNAL));
        for sql in of_kind.filter_map(|object| object.sql.as_ref()) {
            // The error is ignored: a virtual table with an unknown module fails with and without the left-out objects.
            let _ = connection.execute_batch(sql);
        }
    };
    ["table", "index", "view"].into_iter().for_each(make);
    let compiles = |sql: &str| connection.prepare(&format!("EXPLAIN {sql}")).is_ok();
    let mut working = HashSet::new();
    for object in tested {
        let works = match (&*object.kind, &object.sql) {
            ("view", _) => compiles(&format!("SELECT * FROM {}", quoted(&object.name))),
            ("trigger", Some(sql)) => {
                connection.execute_batch("SAVEPOINT trigger_alone")?;
                let works = connection.execute_batch(sql).is_ok()
                    && changes(&object.table, schema, &connection)?.iter().all(|sql| compiles(sql));
                connection.execute_batch("ROLLBACK TO trigger_alone; RELEASE trigger_alone")?;
                works
            }
            _ => continue,
        };
        if works {
            working.insert(key(object));
        }
    }
    Ok(working)
}

/// Returns statements that compile all triggers of a table or view.
fn changes(table: &str, schema: &Schema, connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let name = quoted(table);
    let columns: Vec<String> = match schema.table(table) {
        Some(table) => table
            .columns
            .iter()
            .filter(|column| column.generated.is_none())
            .map(|column| quoted(&column.name))
            .collect(),
        None => {
            let view = connection.prepare(&format!("SELECT * FROM {name}"));
            let names = view.map(|view| view.column_names().map(quoted).collect());
            names.unwrap_or_default()
        }
    };
    let mut changes = vec![format!("INSERT INTO {name} DEFAULT VALUES"), format!("DELETE FROM {name}")];
    if !columns.is_empty() {
        let set: Vec<String> = columns.iter().map(|column| format!("{column} = {column}")).collect();
        changes.push(format!("UPDATE {name} SET {}", set.join(", ")));
    }
    // Only kinds of change that have an INSTEAD OF trigger are compiled: a view refuses the others.
    if schema.table(table).is_none() {
        changes.retain(|sql| {
            let refused = connection.prepare(&format!("EXPLAIN {sql}")).err();
            !refused.is_some_and(|error| error.to_string().contains("because it is a view"))
        });
    }
    Ok(changes)
}

/// Decodes a text of the database.
fn text(bytes: &[u8], encoding: u32) -> String {
    let units = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match encoding {
        2 => units(u16::from_le_bytes),
        3 => units(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}
