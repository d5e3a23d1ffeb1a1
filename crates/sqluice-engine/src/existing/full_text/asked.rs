//! Full-text tables over a table that get its new rows because the user asks for it: no trigger adds them.
//!
//! | rows of the table | the index |
//! |---|---|
//! | written as pages | the new rows are appended, as for a table with triggers |
//! | inserted by SQLite, with rowids after the last one | the same, after the rows |
//! | inserted by SQLite, in any other way | temporary triggers of the documented form add them |
//! | replaced: the whole table, or rows with the keys of new ones | the index is made again |

use sqluice_core::error::Result;
use sqluice_core::schema::virtual_table::VirtualTableSql;
use sqluice_core::schema::{Table, quoted};

use super::declared::triggers_of;
use super::request::{Content, Request, TextColumn};
use crate::existing::Transaction;
use crate::full_text::declaration::columns;
use crate::full_text::table::{Means, rebuild};
use crate::plan::AskedTexts;

/// The state of the full-text tables while SQLite inserts the rows of their table.
pub(crate) enum AskedState {
    /// The rows after this rowid are new.
    After(Option<i64>),
    /// These temporary triggers add the rows.
    Triggers(Vec<String>),
}

impl Transaction<'_> {
    /// Prepares the full-text tables of `table` for rows that SQLite inserts.
    ///
    /// # Errors
    /// If SQLite can't create triggers.
    pub(crate) fn begin_asked(&self, table: &Table, asked: &AskedTexts) -> Result<AskedState> {
        if !asked.by_triggers {
            let last = self.last_rowid(table)?;
            // After the largest rowid, SQLite gives any that is free.
            if last != Some(i64::MAX) {
                return Ok(AskedState::After(last));
            }
        }
        let mut names = Vec::new();
        for name in &asked.names {
            for (number, sql) in self.temporary_triggers(table, name)?.into_iter().enumerate() {
                self.execute(&sql)?;
                names.push(format!("{name}_{}", ["ai", "ad", "au"][number]));
            }
        }
        Ok(AskedState::Triggers(names))
    }

    /// Completes the full-text tables of `table` after its rows were inserted.
    ///
    /// # Errors
    /// If an index is damaged, or can't be written.
    pub(crate) fn end_asked(
        &self,
        table: &Table,
        asked: &AskedTexts,
        state: AskedState,
        means: &Means<'_>,
    ) -> Result<()> {
        match state {
            AskedState::After(last) => {
                let first = last.map_or(i64::MIN, |last| last + 1);
                asked.names.iter().try_for_each(|name| self.append_text(name, table, first, means))
            }
            AskedState::Triggers(names) => {
                names.iter().try_for_each(|name| self.execute(&format!("DROP TRIGGER temp.{}", quoted(name))))
            }
        }
    }

    /// Makes the index of full-text tables again.
    ///
    /// # Errors
    /// If a table can't be read, or an index can't be written.
    pub(crate) fn remake_asked(&self, asked: &AskedTexts, means: &Means<'_>) -> Result<()> {
        asked.names.iter().try_for_each(|name| rebuild(self.connection(), name, means).map(drop))
    }

    fn temporary_triggers(&self, table: &Table, name: &str) -> Result<Vec<String>> {
        let cannot = |error| self.failed(error, "read");
        let sql = "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)";
        let sql: String = self.connection().query_row(sql, [name], |row| row.get(0)).map_err(cannot)?;
        let columns = columns(self.connection(), name).map_err(cannot)?;
        let request = Request {
            table: table.name.clone(),
            columns: columns.into_iter().map(|name| TextColumn { name, is_indexed: true }).collect(),
            name: name.to_owned(),
            content: Content::External,
            tokenize: None,
            prefix: None,
            options: Vec::new(),
            triggers: true,
        };
        let rowid = VirtualTableSql::of(&sql).option("content_rowid").unwrap_or_else(|| "rowid".to_owned());
        Ok(triggers_of(&request, "CREATE TEMP TRIGGER", &table.name, &rowid))
    }
}
