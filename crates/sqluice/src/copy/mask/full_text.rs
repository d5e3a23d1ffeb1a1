//! Full-text tables that a copy rebuilds because their text is masked or rows of it are left out. Their index of the text is not copied.
//!
//! | content | rows |
//! |---|---|
//! | stored in the table | the rows of the source, with their new values |
//! | another table or view | `rebuild`, from the copy |
//! | none | refused: the index can't be rebuilt without the text |

use std::collections::HashSet;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Context;
use sqluice_core::schema::quoted;
use sqluice_core::sqlite_error::failed;
use sqluice_engine::full_text::declaration::Declaration;
use sqluice_engine::full_text::table::{Means, rebuild};
use sqluice_engine::options::WriteOptions;
use sqluice_reader::{Snapshot, StoredObject};

use super::columns::{Masks, TableMasks, column_names};
use super::insert::Insertion;
use super::source::Masking;
use crate::copy::Opened;
use crate::copy::by_sqlite::{in_new_file, means_of_text};
use crate::copy::verify::of_application;
use sqluice_core::schema::virtual_table::VirtualTableSql;

/// A full-text table to rebuild.
pub(in crate::copy) struct FullText {
    pub(in crate::copy) name: String,
    sql: String,
    /// `true` for FTS5; `false` for its predecessors FTS3 and FTS4.
    is_fts5: bool,
    /// `true` if the text is in another table or view.
    is_external: bool,
    masks: Option<TableMasks>,
}

impl FullText {
    /// Returns the full-text tables among the copied objects.
    ///
    /// # Errors
    /// If a table does not store its text, or a mask names a virtual table that is not a full-text table or whose text is in another table.
    pub(in crate::copy) fn all(objects: &[&StoredObject], masks: &Masks) -> Result<Vec<FullText>> {
        let mut all = Vec::new();
        for object in objects.iter().filter(|object| object.kind == "table" && object.tree.is_none()) {
            let sql = object.sql.clone().unwrap_or_default();
            let made = VirtualTableSql::of(&sql);
            let module = made.module.to_ascii_lowercase();
            let of_table = masks.virtual_tables.get(&object.name.to_ascii_lowercase());
            if !matches!(&*module, "fts3" | "fts4" | "fts5") {
                if of_table.is_some() {
                    let message = format!(
                        "table {} is a virtual table of {module}, which no mask can change",
                        object.name
                    );
                    return Err(Error::input(message).hint(message![
                        "leave it out: ",
                        Setting::Table,
                        " names others"
                    ]));
                }
                continue;
            }
            let content = made.option("content");
            let has_no_text = content.as_deref().is_some_and(|content| content.trim().is_empty());
            if has_no_text {
                let message = format!(
                    "full-text table {} has the words of the source, and not their text",
                    object.name
                );
                return Err(Error::input(message).hint("leave it out, and fill it again afterwards"));
            }
            if content.is_some() && of_table.is_some() {
                let message = format!("the text of {} is in another table", object.name);
                return Err(Error::input(message).hint("mask the columns of that table"));
            }
            all.push(FullText {
                name: object.name.clone(),
                sql,
                is_fts5: module == "fts5",
                is_external: content.is_some(),
                masks: of_table.cloned(),
            });
        }
        Ok(all)
    }

    /// Returns the full-text tables that must be made again: their text is in a table with left-out rows, or in a view.
    ///
    /// # Errors
    /// As [`FullText::all`].
    pub(in crate::copy) fn of_fewer_rows(opened: &Opened) -> Result<Vec<FullText>> {
        let is_reduced = |object: &&StoredObject| {
            let made = VirtualTableSql::of(object.sql.as_deref().unwrap_or_default());
            let Some(content) = made.option("content") else { return false };
            let is_stored =
                opened.schema.tables.iter().any(|table| table.name.eq_ignore_ascii_case(&content));
            !content.trim().is_empty() && (opened.remade(&content).is_some() || !is_stored)
        };
        let copied = opened
            .objects
            .iter()
            .filter(|object| object.kind == "table" && object.tree.is_none() && opened.selection.has(object));
        FullText::all(&copied.filter(is_reduced).collect::<Vec<_>>(), &Masks::default())
    }

    /// Returns `true` if the table stores its text itself.
    pub(super) fn keeps_text(&self) -> bool {
        !self.is_external
    }

    /// Returns `true` if `shadow` is a shadow table of this table. `shadow` is in lower case, and `shadows` has the names of all shadow
    /// tables.
    pub(in crate::copy) fn owns(&self, shadow: &str, shadows: &HashSet<String>) -> bool {
        shadows.contains(shadow)
            && shadow.strip_prefix(&self.name.to_ascii_lowercase()).is_some_and(|rest| rest.starts_with('_'))
    }

    /// Creates and fills the tables in the file at a path.
    ///
    /// # Errors
    /// If SQLite can't create or fill a table.
    pub(in crate::copy) fn finish(
        tables: &[FullText],
        source: &Snapshot,
        (path, options): (&Path, &WriteOptions),
        context: &Context<'_>,
    ) -> Result<()> {
        let means = means_of_text(options, path, context)?;
        in_new_file(path, &context.cancel, |connection| {
            tables.iter().try_for_each(|table| table.make(connection, source, &means))
        })
    }

    fn make(&self, to: &Connection, source: &Snapshot, means: &Means<'_>) -> Result<()> {
        let cancel = means.cancel;
        let cannot = |error| of_application(failed(error, &format!("make table {}", self.name)), &self.name);
        to.execute_batch(&self.sql).map_err(cannot)?;
        let name = quoted(&self.name);
        let from = source.connection();
        if self.is_fts5 {
            self.configure(&from, to).map_err(cannot)?;
        }
        let fill = || {
            let filled = rebuild(to, &self.name, means).map(drop);
            filled.map_err(|error| of_application(error, &self.name))
        };
        if self.is_external {
            return fill();
        }
        let columns = column_names(&from, &self.name);
        let masks = self.masks.clone().unwrap_or_else(|| TableMasks::none(&self.name, columns.len()));
        let rowid = columns.len();
        let masking = Masking {
            masks,
            read: (0..=rowid).collect(),
            columns: rowid + 1,
            shows_keys: false,
            left_out: None,
        };
        let listed: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let listed = format!("{}, rowid", listed.join(", "));
        // The rowid is the last value, and the first column of the table of texts.
        let own_content = Declaration::of(to, &self.name).map_err(cannot)?.ok();
        let own_content = own_content.and_then(|declaration| declaration.own_content());
        let values: Vec<String> = (1..=rowid).map(|number| format!("?{number}")).collect();
        let values = values.join(", ");
        let insert = match &own_content {
            Some(content) => format!("INSERT INTO main.{content} VALUES (?{}, {values})", rowid + 1),
            None => format!("INSERT INTO {name} ({listed}) VALUES ({values}, ?{})", rowid + 1),
        };
        let is_converted = source.header().used_text_encoding() != 1;
        let context = Context::default().cancel(cancel);
        let insertion = Insertion { table: &self.name, masking: &masking, is_converted, context: &context };
        let select = format!("SELECT {listed} FROM {name}");
        insertion.copy(&from, &select, to, &insert)?;
        if own_content.is_some() { fill() } else { Ok(()) }
    }

    /// Copies the configuration of an FTS5 table (its `_config` table) to the new table, except the version of the format.
    fn configure(&self, from: &Connection, to: &Connection) -> rusqlite::Result<()> {
        let config =
            format!("SELECT k, v FROM {} WHERE k <> 'version'", quoted(&format!("{}_config", self.name)));
        let Ok(mut config) = from.prepare(&config) else { return Ok(()) };
        let settings = config.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let settings: Vec<(String, Value)> = settings.collect::<rusqlite::Result<_>>()?;
        let name = quoted(&self.name);
        let mut set = to.prepare(&format!("INSERT INTO {name} ({name}, rank) VALUES (?1, ?2)"))?;
        for setting in settings {
            set.execute(setting)?;
        }
        Ok(())
    }
}
