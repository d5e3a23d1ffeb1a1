//! A translated table, and its CREATE TABLE statement.

use std::collections::HashSet;

use rusqlite::Connection;
use sqluice_core::schema::quoted;

use super::Dialect;
use super::model::{Name, Table};
use super::pieces::{Known, Why};
use super::types::Mapped;

/// A translated column.
pub(super) struct NewColumn {
    pub(super) name: String,
    pub(super) mapped: Mapped,
    pub(super) not_null: bool,
    pub(super) default: Option<String>,
    pub(super) generated: Option<String>,
    pub(super) checks: Vec<String>,
    pub(super) ignores_case: bool,
    /// `Some` for an INTEGER PRIMARY KEY; `true` if it is AUTOINCREMENT. Before the primary key is translated: `Some(true)` for a counter.
    pub(super) rowid: Option<bool>,
    /// The sequence that numbers the rows of the column, if the dump names it.
    pub(super) sequence: Option<Name>,
    /// The reason why SQLite can't compute the column's default, for a row without a value of this column; `None` if such a row gets the
    /// DEFAULT or NULL.
    pub(super) no_default: Option<Why>,
    /// `false` for a generated column that was left out.
    pub(super) kept: bool,
}

/// A translated table.
pub(super) struct NewTable {
    pub(super) name: String,
    pub(super) columns: Vec<NewColumn>,
    /// The SQL of each key, CHECK and foreign key.
    pub(super) constraints: Vec<String>,
}

/// Names that are already used, without regard to case.
#[derive(Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// Marks a name as used, and returns it: the first name in `wished` that is not used yet, or else the last one with a number.
    pub(super) fn give(&mut self, wished: &[&str]) -> String {
        for name in wished {
            if self.0.insert(name.to_ascii_lowercase()) {
                return (*name).to_owned();
            }
        }
        let last = wished.last().copied().unwrap_or_default();
        let free = (2..)
            .map(|number| format!("{last}_{number}"))
            .find(|name| self.0.insert(name.to_ascii_lowercase()));
        free.unwrap_or_default()
    }
}

/// Returns the error message of SQLite, without the statement.
pub(super) fn words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } | rusqlite::Error::SqliteFailure(_, Some(msg)) => {
            format!("SQLite says: {msg}")
        }
        other => format!("SQLite says: {other}"),
    }
}

pub(super) fn known(column: &NewColumn) -> Known {
    Known { sql: quoted(&column.name), kind: column.mapped.kind, ignores_case: column.ignores_case }
}

pub(super) fn known_column(table: &Table, new: &NewTable, name: &str, dialect: Dialect) -> Option<Known> {
    let column = &new.columns[table.place(name, dialect)?];
    column.kept.then(|| known(column))
}

pub(super) fn column_list(new: &NewTable, places: &[usize]) -> String {
    places.iter().map(|at| quoted(&new.columns[*at].name)).collect::<Vec<_>>().join(", ")
}

impl NewTable {
    /// Creates the table in the test database, prepares an INSERT, and drops the table. Returns SQLite's message if it refuses either.
    pub(super) fn try_out(&self, probe: &Connection) -> Result<(), Why> {
        let table = Table::default();
        let tried = probe.execute_batch(&self.sql(&table)).and_then(|()| {
            let name = quoted(&self.name);
            let asked = probe.prepare(&format!("INSERT INTO {name} DEFAULT VALUES")).map(drop);
            probe.execute_batch(&format!("DROP TABLE {name}"))?;
            asked
        });
        tried.map_err(|error| words(&error))
    }

    /// Returns the CREATE TABLE statement. Comments of the dump become comments in the SQL.
    pub(super) fn sql(&self, table: &Table) -> String {
        let mut lines: Vec<(String, Option<&str>)> = Vec::new();
        for (at, column) in self.columns.iter().enumerate().filter(|(_, column)| column.kept) {
            let comment = table.columns.get(at).and_then(|column| column.comment.as_deref());
            lines.push((column.sql(), comment));
        }
        lines.extend(self.constraints.iter().map(|constraint| (constraint.clone(), None)));
        let mut sql = format!("CREATE TABLE {} (", quoted(&self.name));
        comment(table.comment.as_deref(), &mut sql);
        let last = lines.len().saturating_sub(1);
        for (at, (line, text)) in lines.into_iter().enumerate() {
            sql += &format!("\n  {line}{}", if at < last { "," } else { "" });
            comment(text, &mut sql);
        }
        sql + "\n)"
    }
}

/// Appends a comment to a line of SQL. Each line of the comment becomes a `--` comment.
fn comment(text: Option<&str>, sql: &mut String) {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
    let text = text.replace('\0', " ");
    for (at, line) in text.split(['\n', '\r']).filter(|line| !line.trim().is_empty()).enumerate() {
        *sql += &format!("{}-- {}", if at == 0 { " " } else { "\n  " }, line.trim());
    }
}

impl NewColumn {
    pub(super) fn sql(&self) -> String {
        let mut sql = quoted(&self.name);
        let mut add = |words: &str| {
            sql.push(' ');
            sql += words;
        };
        if !self.mapped.declared.is_empty() {
            add(self.mapped.declared);
        }
        if self.ignores_case {
            add("COLLATE NOCASE");
        }
        match self.rowid {
            Some(true) => add("PRIMARY KEY AUTOINCREMENT"),
            Some(false) => add("PRIMARY KEY"),
            None if self.not_null => add("NOT NULL"),
            None => {}
        }
        if let Some(default) = &self.default {
            add(&format!("DEFAULT {default}"));
        }
        if let Some(generated) = &self.generated {
            add(generated);
        }
        for check in &self.checks {
            add(&format!("CHECK ({check})"));
        }
        sql
    }
}
