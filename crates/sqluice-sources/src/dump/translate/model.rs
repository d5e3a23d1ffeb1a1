//! The tables that the statements of a dump declare, in the terms of the dump.

use std::collections::HashMap;

use sqlparser::tokenizer::Token;

use super::Dialect;

/// The schema and the name of a table, type or sequence.
pub(super) type Name = (Option<String>, String);

/// A table of the dump.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) name: Name,
    pub(super) line: u64,
    pub(super) columns: Vec<Column>,
    /// The position of each column by its name, in lower case for MySQL.
    pub(super) places: HashMap<String, usize>,
    pub(super) primary_key: Option<Vec<Part>>,
    pub(super) indexes: Vec<Index>,
    pub(super) foreign_keys: Vec<ForeignKey>,
    pub(super) checks: Vec<Check>,
    pub(super) comment: Option<String>,
    /// `true` if the table's texts compare without case, `false` if they compare with case, `None` if the dump says nothing.
    pub(super) ignores_case: Option<bool>,
    /// The number that AUTO_INCREMENT gives next, if the dump says so.
    pub(super) next_number: Option<i64>,
    /// The table that a partition belongs to.
    pub(super) partition_of: Option<Name>,
}

impl Table {
    /// Adds a column, or replaces the column of this name.
    pub(super) fn put(&mut self, column: Column, dialect: Dialect) {
        let key = dialect.key(&column.name);
        match self.places.get(&key) {
            Some(&place) => self.columns[place] = column,
            None => {
                self.places.insert(key, self.columns.len());
                self.columns.push(column);
            }
        }
    }

    /// Gives a column another name and definition.
    pub(super) fn change(&mut self, old: &str, column: Column, dialect: Dialect) -> bool {
        let Some(place) = self.places.remove(&dialect.key(old)) else { return false };
        self.places.insert(dialect.key(&column.name), place);
        self.columns[place] = column;
        true
    }

    /// Removes a foreign key, a CHECK or a unique key by its name. PostgreSQL names those that have no name after table and column.
    pub(super) fn drop_constraint(&mut self, name: &str, dialect: Dialect) -> bool {
        let table = &self.name.1;
        let is = |own: &Option<String>, columns: &[String], suffix: &str| match own {
            Some(own) => dialect.key(own) == dialect.key(name),
            None => dialect == Dialect::Postgres && name == format!("{table}_{}_{suffix}", columns.join("_")),
        };
        let count = |table: &Table| table.foreign_keys.len() + table.checks.len() + table.indexes.len();
        let before = count(self);
        self.foreign_keys.retain(|key| !is(&key.name, &key.columns, "fkey"));
        self.checks.retain(|check| !is(&check.name, &[], "check"));
        self.indexes.retain(|index| !(index.unique && is(&index.name, &index.column_names(), "key")));
        count(self) < before
    }

    /// Returns the position of a column.
    pub(super) fn place(&self, name: &str, dialect: Dialect) -> Option<usize> {
        self.places.get(&dialect.key(name)).copied()
    }

    pub(super) fn column(&mut self, name: &str, dialect: Dialect) -> Option<&mut Column> {
        let place = self.place(name, dialect)?;
        Some(&mut self.columns[place])
    }
}

/// A column of the dump.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) declared: SourceType,
    pub(super) not_null: bool,
    pub(super) default: Option<Vec<Token>>,
    pub(super) generated: Option<Generated>,
    /// `true` for AUTO_INCREMENT, SERIAL and IDENTITY.
    pub(super) auto: bool,
    /// The sequence from which the column takes its numbers, if the dump names it.
    pub(super) sequence: Option<Name>,
    pub(super) comment: Option<String>,
    /// `true` if texts compare without case, `false` if they compare with case, `None` if the column says nothing.
    pub(super) ignores_case: Option<bool>,
}

/// The expression of a generated column.
#[derive(Clone, Debug)]
pub(super) struct Generated {
    pub(super) expression: Vec<Token>,
    pub(super) stored: bool,
}

/// A type of the dump.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceType {
    /// The name in lower case, such as `double precision`, and its schema.
    pub(super) name: Name,
    /// The arguments in parentheses: digits, or the values of ENUM and SET.
    pub(super) arguments: Vec<String>,
    pub(super) unsigned: bool,
    pub(super) array: bool,
}

/// A part of a key or an index.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// A column.
    Column {
        /// The name in the dump.
        name: String,
        /// `true` if the order is descending.
        descending: bool,
    },
    /// An expression.
    Expression {
        /// The tokens without the order.
        tokens: Vec<Token>,
        /// `true` if the order is descending.
        descending: bool,
    },
}

/// An index or a unique key.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) name: Option<String>,
    pub(super) unique: bool,
    pub(super) parts: Vec<Part>,
    pub(super) filter: Option<Vec<Token>>,
    pub(super) line: u64,
}

impl Index {
    /// Returns the names of the columns; expressions have none.
    fn column_names(&self) -> Vec<String> {
        let names = self.parts.iter().filter_map(|part| match part {
            Part::Column { name, .. } => Some(name.clone()),
            Part::Expression { .. } => None,
        });
        names.collect()
    }
}

/// A foreign key.
#[derive(Clone, Debug)]
pub(super) struct ForeignKey {
    pub(super) name: Option<String>,
    pub(super) columns: Vec<String>,
    pub(super) parent: Name,
    pub(super) parent_columns: Vec<String>,
    /// The actions and what is said about deferring, in SQLite's words.
    pub(super) clauses: String,
    pub(super) line: u64,
}

/// A CHECK of a table or a column.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) name: Option<String>,
    pub(super) expression: Vec<Token>,
    pub(super) line: u64,
}

/// A type that the dump creates.
#[derive(Debug)]
pub(super) enum CreatedType {
    /// An enumeration of these texts.
    Enum(Vec<String>),
    /// A domain.
    Domain(Domain),
}

/// A domain: a type with conditions.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    pub(super) base: SourceType,
    pub(super) not_null: bool,
    pub(super) default: Option<Vec<Token>>,
    pub(super) checks: Vec<Check>,
}
