//! Translates the schema of a MySQL or PostgreSQL dump to a schema of SQLite.
//!
//! ```text
//! statement ── tokens ──> create, statement ──> model ──── types, expression ──> finish ──> SQL of SQLite
//!                         parse it              tables     translate             tries out each table in SQLite
//! ```
//!
//! `sqlparser` splits statements into tokens and parses expressions. The clauses around expressions are parsed here, because dumps have
//! clauses that `sqlparser` does not know, and a clause without a counterpart in SQLite is left out without its whole statement.
//!
//! Modules, from the bottom up:
//!
//! * `tokens`: the tokens of a statement; `model`: tables as the dump declares them; `types`: the types of their columns as types of SQLite
//! * `pieces`, `casts`, `expression`, `functions`: translated expressions; `defaults`: translated DEFAULT clauses
//! * `create`: CREATE TABLE; `sequences`: counters and their next numbers; `statement`: the parser of all statements
//! * `new_table`, `foreign_keys`, `finish`: the translated tables as SQL
//!
//! * Invariant: a statement that may change rows or tables, and can't be parsed, is an error.
//! * Invariant: a constraint never refuses a row that the source accepts. A constraint with another meaning in SQLite is left out with a
//!   note.
//! * Invariant: the time for a statement is proportional to its length, for any number of tables.

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

/// The database system that a dump is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// MySQL and MariaDB.
    MySql,
    /// PostgreSQL.
    Postgres,
}

impl Dialect {
    /// Returns the key for looking up a column. Column names of MySQL are not case-sensitive.
    fn key(self, name: &str) -> String {
        match self {
            Dialect::MySql => name.to_lowercase(),
            Dialect::Postgres => name.to_owned(),
        }
    }
}

/// Translates the statements of one database of a dump; see the description of the module.
#[derive(Debug)]
pub struct Translator {
    dialect: Dialect,
    /// The mode of MySQL, which decides whether double quotes enclose names.
    sql_mode: SqlMode,
    /// The schema for names without a schema, which old dumps of PostgreSQL set as `search_path`.
    schema: Option<String>,
    /// The tables in the order of the dump; `None` for a dropped table.
    tables: Vec<Option<Table>>,
    places: HashMap<Name, usize>,
    types: HashMap<Name, CreatedType>,
    sequences: HashMap<Name, Sequence>,
    left_out: Vec<LeftOut>,
    left_out_names: HashSet<(String, String)>,
    notes: Vec<Note>,
    /// The columns that have NaN in some rows. Each is given by the names of its table and of the column in SQLite.
    with_nan: HashSet<(String, String)>,
}

/// The schema of a dump as SQL of SQLite.
#[derive(Clone, Debug, Default)]
pub struct Translated {
    /// CREATE TABLE and CREATE INDEX statements, all tables first.
    pub statements: Vec<String>,
    /// The tables of the dump in its order, including partitions.
    pub tables: Vec<TranslatedTable>,
    /// The statements and clauses that were left out, because SQLite has no counterpart, or because they can't be understood.
    pub left_out: Vec<LeftOut>,
    /// Differences between tables of the dump and their translations, in the order of the dump.
    pub notes: Vec<Note>,
}

/// A table of the dump, and the SQLite table that gets its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslatedTable {
    /// The schema in the dump: always present for PostgreSQL.
    pub schema: Option<String>,
    /// The name in the dump.
    pub name: String,
    /// The name of the SQLite table that gets the rows. The rows of a partition go to the SQLite table of its parent.
    pub into: String,
    /// The columns in the order of the dump.
    pub columns: Vec<TranslatedColumn>,
    /// The next number of the table's counter minus 1: the counter has returned no larger number. `None` if the dump does not state the
    /// next number, or if the table in SQLite is not AUTOINCREMENT.
    pub largest_given: Option<i64>,
}

/// A column of the dump, and the SQLite column that gets its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslatedColumn {
    /// The name in the dump.
    pub name: String,
    /// The name in SQLite; `None` for a generated column that was left out.
    pub into: Option<String>,
    /// The conversion of the column's values.
    pub conversion: Conversion,
    /// `true` if the column is generated, so that the dump has no values for it.
    pub generated: bool,
    /// The reason why SQLite can't compute the column's default, for a row without a value of this column; `None` if such a row gets the
    /// DEFAULT or NULL.
    pub no_default: Option<String>,
}

/// A statement, or a part of a statement, that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The kind of the left-out object, such as `trigger` or `fulltext index`.
    pub kind: String,
    /// The name of the left-out object in the dump; empty if the object has none.
    pub name: String,
    /// The line of the statement.
    pub line: u64,
    /// The reason why the object was left out, in words.
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
    /// Creates a translator without any tables.
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

    /// Leaves out NOT NULL of a column that has NaN in some rows, because SQLite stores NaN as NULL. Both names are names in SQLite.
    pub fn note_nan(&mut self, table: &str, column: &str) {
        self.with_nan.insert((table.to_owned(), column.to_owned()));
    }

    /// Returns the schema for names without a schema: the schema that `SET search_path` of an old PostgreSQL dump sets, or `public`; `None`
    /// for MySQL.
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
