//! The schema of a dump of MySQL or PostgreSQL as a schema of SQLite.
//!
//! ```text
//! statement ── tokens ──> create, statement ──> model ── types, expression ──> finish ──> SQL of SQLite
//!                         what it says          tables    in SQLite's words     asks SQLite about each table
//! ```
//!
//! `sqlparser` divides statements into tokens and reads expressions. The clauses around expressions are read here, because dumps have
//! clauses that it does not know, and a clause without a counterpart is left out by itself rather than with its statement.
//!
//! Modules, from the bottom up:
//!
//! * `tokens`; `model`: tables in the terms of the dump; `types`: types in SQLite's words
//! * `pieces`, `casts`, `expression`, `functions`: expressions in SQLite's words; `defaults`: the values of columns that rows leave out
//! * `create`, `sequences`, `statement`: what statements say
//! * `new_table`, `foreign_keys`, `finish`: the tables as SQL
//!
//! * Invariant: a statement that may change rows or tables, and is not understood, is an error.
//! * Invariant: a constraint never refuses a row that the source has. Where SQLite means something else, the constraint is left out with a
//!   note.
//! * Invariant: a statement costs time in proportion to its own length, for any number of tables.

mod casts;
mod create;
mod defaults;
mod expression;
mod finish;
mod foreign_keys;
mod functions;
mod model;
mod new_table;
mod pieces;
mod sequences;
mod statement;
#[cfg(test)]
mod tests;
mod tokens;
mod types;

use std::collections::{HashMap, HashSet};

use model::{CreatedType, Name, Table};
use sequences::Sequence;

use crate::dump::Conversion;
use crate::dump::sql_mode::SqlMode;

/// The program that a dump is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// MySQL and MariaDB.
    MySql,
    /// PostgreSQL.
    Postgres,
}

impl Dialect {
    /// Returns the key under which a column is found: MySQL's names of columns have no case.
    fn key(self, name: &str) -> String {
        match self {
            Dialect::MySql => name.to_lowercase(),
            Dialect::Postgres => name.to_owned(),
        }
    }
}

/// Translates the statements of one database of a dump; see the module's description.
#[derive(Debug)]
pub struct Translator {
    dialect: Dialect,
    /// Decides whether double quotes enclose names in MySQL.
    sql_mode: SqlMode,
    /// The schema of names without a schema, which old dumps of PostgreSQL set by `search_path`.
    schema: Option<String>,
    /// The tables in the order of the dump; `None` for a dropped table.
    tables: Vec<Option<Table>>,
    places: HashMap<Name, usize>,
    types: HashMap<Name, CreatedType>,
    sequences: HashMap<Name, Sequence>,
    left_out: Vec<LeftOut>,
    left_out_names: HashSet<(String, String)>,
    notes: Vec<Note>,
    /// The tables and columns of SQLite whose rows have NaN.
    with_nan: HashSet<(String, String)>,
}

/// The schema of a dump in SQLite's words.
#[derive(Clone, Debug, Default)]
pub struct Translated {
    /// CREATE TABLE and CREATE INDEX statements, all tables first.
    pub statements: Vec<String>,
    /// The tables of the dump, in its order, with the partitions.
    pub tables: Vec<TranslatedTable>,
    /// The statements and clauses without a counterpart in SQLite.
    pub left_out: Vec<LeftOut>,
    /// The differences between tables of the dump and their translations, in the order of the dump.
    pub notes: Vec<Note>,
}

/// A table of the dump, and the table of SQLite that takes its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslatedTable {
    /// The schema in the dump: always present for PostgreSQL.
    pub schema: Option<String>,
    /// The name in the dump.
    pub name: String,
    /// The name in SQLite. Partitions have the name of their parent.
    pub into: String,
    /// The columns in the order of the dump.
    pub columns: Vec<TranslatedColumn>,
    /// The largest number that the counter of the table has given, if the dump says so and SQLite's table is AUTOINCREMENT.
    pub largest_given: Option<i64>,
}

/// A column of the dump, and the column of SQLite that takes its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslatedColumn {
    /// The name in the dump.
    pub name: String,
    /// The name in SQLite; `None` for a generated column that was left out.
    pub into: Option<String>,
    /// The conversion of values.
    pub conversion: Conversion,
    /// `true` if the database computes the values, so that the dump has none.
    pub generated: bool,
    /// The reason why the value of a row that leaves the column out is not known; `None` if it is the DEFAULT or NULL.
    pub no_default: Option<String>,
}

/// A statement, or a part of one, without a counterpart in SQLite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The kind, such as `trigger` or `fulltext index`.
    pub kind: String,
    /// The name in the dump; empty if it has none.
    pub name: String,
    /// The line of the statement.
    pub line: u64,
    /// The reason in words.
    pub why: &'static str,
}

/// A difference between a table of the dump and its translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The line of the statement.
    pub line: u64,
    /// The difference in words.
    pub text: String,
}

impl Translator {
    /// Creates a translator that knows no table yet.
    pub fn new(dialect: Dialect) -> Translator {
        Translator {
            dialect,
            sql_mode: SqlMode::default(),
            schema: None,
            tables: Vec::new(),
            places: HashMap::new(),
            types: HashMap::new(),
            sequences: HashMap::new(),
            left_out: Vec::new(),
            left_out_names: HashSet::new(),
            notes: Vec::new(),
            with_nan: HashSet::new(),
        }
    }

    /// Declares a column without NOT NULL, because its rows have NaN, which SQLite stores as NULL. Both names are those of SQLite.
    pub fn note_nan(&mut self, table: &str, column: &str) {
        self.with_nan.insert((table.to_owned(), column.to_owned()));
    }

    /// Returns the schema of names without a schema, as `SET search_path` of old dumps of PostgreSQL says; `public` if none was set.
    pub fn schema(&self) -> Option<&str> {
        match self.dialect {
            Dialect::MySql => None,
            Dialect::Postgres => Some(self.schema.as_deref().unwrap_or("public")),
        }
    }

    fn resolved(&self, name: Name) -> Name {
        create::resolved(name, self.schema.as_deref(), self.dialect)
    }

    fn put_table(&mut self, table: Table) {
        let place = *self.places.entry(table.name.clone()).or_insert(self.tables.len());
        if place == self.tables.len() {
            self.tables.push(Some(table));
        } else {
            self.tables[place] = Some(table);
        }
    }

    fn note(&mut self, line: u64, text: String) {
        self.notes.push(Note { line, text });
    }

    fn leave_out(&mut self, kind: &str, name: String, line: u64, why: &'static str) {
        if self.left_out_names.insert((kind.to_owned(), name.clone())) {
            self.left_out.push(LeftOut { kind: kind.to_owned(), name, line, why });
        }
    }
}
