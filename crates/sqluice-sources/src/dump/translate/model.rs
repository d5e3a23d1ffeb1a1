//! The tables, columns, keys and types that a dump declares, as they are in the dump.

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
    /// `true` if texts of the table are compared without case, `false` if with case, `None` if the dump does not say it.
    pub(super) ignores_case: Option<bool>,
    /// The next number of AUTO_INCREMENT, if the dump says it.
    pub(super) next_number: Option<i64>,
    /// The parent table, if the table is a partition.
    pub(super) partition_of: Option<Name>,
}

impl Table {
    /// Adds a column, or replaces the column with this name.
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

    /// Replaces the column `old` by another one, which may have another name. Returns `false` if there is no column `old`.
    pub(super) fn change(&mut self, old: &str, column: Column, dialect: Dialect) -> bool {
        let Some(place) = self.places.remove(&dialect.key(old)) else { return false };
        self.places.insert(dialect.key(&column.name), place);
        self.columns[place] = column;
        true
    }

    /// Removes the foreign key, CHECK or unique key with this name, and returns `false` if there is none. For a constraint without a name,
    /// PostgreSQL forms one from table and column.
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

    /// Returns the index of a column in [`Table::columns`].
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
    /// The sequence that numbers the rows of the column, if the dump names it.
    pub(super) sequence: Option<Name>,
    pub(super) comment: Option<String>,
    /// `true` if texts of the column are compared without case, `false` if with case, `None` if its declaration does not say it.
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
    /// The name, such as `double precision`, and its schema. A name without quotes is in lower case.
    pub(super) name: Name,
    /// The arguments in parentheses: digits, or the values of ENUM and SET.
    pub(super) arguments: Vec<String>,
    pub(super) unsigned: bool,
    pub(super) array: bool,
}

/// A part of a key or an index: a column or an expression.
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
        /// The tokens of the expression, without ASC or DESC.
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
    /// Returns the names of the columns, without expressions.
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
    /// The ON DELETE, ON UPDATE and DEFERRABLE clauses, as SQL of SQLite.
    pub(super) clauses: String,
    pub(super) line: u64,
}

/// A CHECK constraint of a table or a column.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) name: Option<String>,
    pub(super) expression: Vec<Token>,
    pub(super) line: u64,
}

/// A type that the dump creates with CREATE TYPE or CREATE DOMAIN.
#[derive(Debug)]
pub(super) enum CreatedType {
    /// An enumeration with these values.
    Enum(Vec<String>),
    /// A domain.
    Domain(Domain),
}

/// A domain: a type with CHECK constraints.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    pub(super) base: SourceType,
    pub(super) not_null: bool,
    pub(super) default: Option<Vec<Token>>,
    pub(super) checks: Vec<Check>,
}

/// Returns the words of a note for a constraint or an index of a table, such as `CHECK positive` or `CHECK without a name`.
pub(super) fn named(kind: &str, name: Option<&str>) -> String {
    name.map_or_else(|| format!("{kind} without a name"), |name| format!("{kind} {name}"))
}
