//! Rewrites the SQL text of the schema for a masked copy: removes comments and, on request, literals.
//!
//! ```text
//!  sqlite_schema ── comments removed ──> literals removed, with `strip_literals` ──> sqlite_schema of the copy
//!                                        └── indexes with literals left out, unless unique
//! ```
//!
//! A literal stays if the copy needs it: in a generated column, in a unique index, in the arguments of a virtual table, and in the
//! DEFAULT of a column that older, shorter records lack: they take their value from the DEFAULT.

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::quoted;
use sqluice_format::record;
use sqluice_format::value::Value;
use sqluice_reader::StoredObject;

use super::super::Opened;
use super::columns::Masks;
use super::report::StrippedText;
use crate::schema_text::{self, Names};

/// The number of the field `sql` in a row of `sqlite_schema`, counted from 0.
const SQL_FIELD: usize = 4;

/// The changes that were made to the SQL text of the schema.
pub(in crate::copy) struct Texts {
    pub(super) names: Names,
    /// The objects whose comments were removed.
    pub(super) comments: Vec<String>,
    pub(super) stripped: Vec<StrippedText>,
}

impl Texts {
    /// Rewrites the SQL text of the copied objects. If `strips` is `true`, literals are removed, too.
    ///
    /// # Errors
    /// If a row of `sqlite_schema` is damaged.
    pub(in crate::copy) fn rewrite(opened: &mut Opened, masks: &Masks, strips: bool) -> Result<Texts> {
        let connection = opened.snapshot.connection();
        let names = Names::of(&opened.schema, &connection);
        drop(connection);
        let mut texts = Texts { names, comments: Vec::new(), stripped: Vec::new() };
        let encoding = opened.snapshot.header().used_text_encoding();
        let mut objects = std::mem::take(&mut opened.objects);
        for object in &mut objects {
            let Some(sql) = object.sql.clone().filter(|_| opened.selection.has(object)) else { continue };
            let mut new = schema_text::without_comments(&sql);
            if new.is_some() {
                texts.comments.push(object.describe());
            }
            if strips {
                let sql = new.as_deref().unwrap_or(&sql);
                match texts.stripped(object, sql, opened, masks) {
                    Some(Stripped::Text(text)) => new = Some(text),
                    Some(Stripped::LeftOut) => {
                        opened.selection.leave_out(object);
                        continue;
                    }
                    None => {}
                }
            }
            if let Some(new) = new {
                set_sql(object, new, encoding)?;
            }
        }
        opened.objects = objects;
        Ok(texts)
    }

    /// Returns the SQL text of an object without the literals that it can lose, or [`Stripped::LeftOut`] for an index with literals that is
    /// not unique. Both are recorded in `stripped`. Returns `None` if the object keeps all literals.
    fn stripped(
        &mut self,
        object: &StoredObject,
        sql: &str,
        opened: &Opened,
        masks: &Masks,
    ) -> Option<Stripped> {
        let before = schema_text::literals(sql, &self.names).len();
        if before == 0 {
            return None;
        }
        let declared = opened.schema.table(&object.table);
        let text = match &*object.kind {
            "index" => {
                let index =
                    declared?.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&object.name));
                if index.is_none_or(|index| index.unique) {
                    return None;
                }
                let (object, literals) = (object.describe(), before);
                self.stripped.push(StrippedText { object, literals, left_out: true });
                return Some(Stripped::LeftOut);
            }
            // Keep the literals of a virtual table: they are settings of its module.
            "table" if object.tree.is_none() => return None,
            "table" => {
                let connection = opened.snapshot.connection();
                let is_rewritten = masks.has(&opened.schema, &object.name);
                let may_lose = |column: &str, default: &str| {
                    is_rewritten || !has_value(&connection, &object.name, column, default)
                };
                let text = schema_text::stripped_table(sql, &self.names, may_lose);
                if !is_accepted(&text) && is_accepted(sql) {
                    return None;
                }
                text
            }
            _ => schema_text::stripped_body(sql, &self.names),
        };
        let literals = before - schema_text::literals(&text, &self.names).len();
        if literals == 0 {
            return None;
        }
        self.stripped.push(StrippedText { object: object.describe(), literals, left_out: false });
        Some(Stripped::Text(text))
    }
}

/// The result of removing the literals of an object.
enum Stripped {
    Text(String),
    /// The object is left out.
    LeftOut,
}

/// Returns `true` if any row of a table has the value of a DEFAULT, or if SQLite can't tell. The record of such a row may lack the column,
/// so the row may need the DEFAULT.
fn has_value(connection: &Connection, table: &str, column: &str, default: &str) -> bool {
    let sql = format!("SELECT 1 FROM {} WHERE {} IS ({default}) LIMIT 1", quoted(table), quoted(column));
    connection.prepare(&sql).and_then(|mut statement| statement.exists([])).unwrap_or(true)
}

/// Returns `true` if SQLite accepts a CREATE TABLE statement.
fn is_accepted(sql: &str) -> bool {
    Connection::open_in_memory().is_ok_and(|connection| connection.execute_batch(sql).is_ok())
}

/// Sets the SQL text of an object, in the object and in its row of `sqlite_schema`.
fn set_sql(object: &mut StoredObject, sql: String, encoding: u32) -> Result<()> {
    let bytes: Vec<u8> = match encoding {
        2 => sql.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        3 => sql.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        _ => sql.clone().into_bytes(),
    };
    let damaged = || Error::input("a row of sqlite_schema is not a valid record");
    let mut record = Vec::new();
    let mut values = record::decode(&object.record).map_err(|_| damaged())?;
    *values.get_mut(SQL_FIELD).ok_or_else(damaged)? = Value::Text(&bytes);
    record::encode(&values, &mut record);
    (object.record, object.sql) = (record, Some(sql));
    Ok(())
}
