//! What the schema says of tables and indexes: plain data, from a caller that parses SQL.
//!
//! ```text
//!  table (a, id INTEGER PRIMARY KEY, v AS (a + 1), c)         record     | a | id: NULL | c |     fields 0, 1, 2
//!  index on (c DESC, a)                                       record     | c | a | rowid |        Field(2), Field(0), Rowid
//!  table (a, k, PRIMARY KEY (k)) WITHOUT ROWID                record     | k | a |                fields 0, 1
//!  index on (a)                                               record     | a | k |                Field(1), Field(0)
//! ```

pub use super::utf16::Utf16;
use crate::key::KeyOrder;
use crate::value::{Class, Value};

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// What its records hold, in their order: generated columns that are not stored have no field.
    pub fields: Vec<Field>,
    /// The field that is another name for the rowid. Records hold NULL in it.
    pub rowid_field: Option<usize>,
    /// The order of its records by their first fields, which is the primary key, if it has no rowids.
    pub key: Option<Key>,
    /// Its indexes, in any order.
    pub indexes: Vec<Index>,
}

/// A field of a table's records.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name of its column.
    pub name: String,
    /// What it may hold.
    pub takes: Takes,
    /// What a record means that ends before it.
    pub default: Constant,
}

/// The values that a field may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// NULL.
    pub null: bool,
    /// Integers.
    pub int: bool,
    /// Floats.
    pub real: bool,
    /// Text.
    pub text: bool,
    /// Text that is a number, spaces around it aside: numeric affinity would have made it one.
    pub numeric_text: bool,
    /// Blobs.
    pub blob: bool,
}

/// A value that is owned.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Constant {
    /// SQL NULL.
    #[default]
    Null,
    /// An integer.
    Int(i64),
    /// A float.
    Real(f64),
    /// Text in the encoding of the database.
    Text(Vec<u8>),
    /// Bytes.
    Blob(Vec<u8>),
}

/// An index.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// What each field of its records holds.
    pub fields: Vec<Source>,
    /// Their order.
    pub key: Key,
    /// Whether it leaves rows out: it has a WHERE.
    pub partial: bool,
}

/// The source of a field of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The field of the table's record with that number.
    Field(usize),
    /// The rowid.
    Rowid,
    /// Something that SQLite computes. It is not looked at.
    Computed,
}

/// The order of records.
#[derive(Clone, Debug, Default)]
pub struct Key {
    /// By their leading fields, all that make records unique; `None` when a collation is not known.
    pub order: Option<KeyOrder>,
    /// The number of leading fields in which no two records are equal, unless one of these is NULL.
    pub unique_fields: Option<usize>,
    /// The encoding of text that must be converted to be compared: in UTF-16, where a collation is not BINARY.
    pub converted: Option<Utf16>,
}

impl Takes {
    /// Anything.
    pub const ANYTHING: Takes =
        Takes { null: true, int: true, real: true, text: true, numeric_text: true, blob: true };

    /// Whether a value of this class is allowed, as far as the class decides.
    #[inline]
    pub(super) fn class(self, class: Class) -> bool {
        match class {
            Class::Null => self.null,
            Class::Int => self.int,
            Class::Real => self.real,
            Class::Text => self.text,
            Class::Blob => self.blob,
        }
    }
}

impl Constant {
    /// The value, borrowed.
    pub fn value(&self) -> Value<'_> {
        match self {
            Constant::Null => Value::Null,
            Constant::Int(int) => Value::Int(*int),
            Constant::Real(real) => Value::Real(*real),
            Constant::Text(text) => Value::Text(text),
            Constant::Blob(blob) => Value::Blob(blob),
        }
    }

    /// Its storage class.
    pub(super) fn class(&self) -> Class {
        match self {
            Constant::Null => Class::Null,
            Constant::Int(_) => Class::Int,
            Constant::Real(_) => Class::Real,
            Constant::Text(_) => Class::Text,
            Constant::Blob(_) => Class::Blob,
        }
    }
}
