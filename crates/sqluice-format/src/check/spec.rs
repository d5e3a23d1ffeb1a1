//! The schema's description of tables and indexes: plain data from a caller that parses SQL.
//!
//! ```text
//!  table (a, id INTEGER PRIMARY KEY, v AS (a + 1), c)         record     | a | id: NULL | c |     fields 0, 1, 2
//!  index on (c DESC, a)                                       record     | c | a | rowid |        Field(2), Field(0), Rowid
//!  table (a, k, PRIMARY KEY (k)) WITHOUT ROWID                record     | k | a |                fields 0, 1
//!  index on (a)                                               record     | a | k |                Field(1), Field(0)
//! ```

use std::fmt::Debug;
use std::sync::Arc;

pub use super::utf16::Utf16;
use crate::key::KeyOrder;
use crate::value::{Class, Value};

/// A table, as the schema describes it.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The name of the table.
    pub name: String,
    /// The fields of a record, in order. Generated columns that are not stored have no field.
    pub fields: Vec<Field>,
    /// The field that is an alias of the rowid. Records hold NULL in this field.
    pub rowid_field: Option<usize>,
    /// The primary key of a WITHOUT ROWID table, whose records are sorted by these leading fields; `None` for a table with rowids.
    pub key: Option<Key>,
    /// The indexes, in any order.
    pub indexes: Vec<Index>,
    /// The computation of index entries by the caller, if any index is [`Index::computed`].
    pub computed: Option<Computed>,
}

/// The entries of indexes that the caller computes from rows.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The fields of a row that the entries depend on.
    pub fields: Vec<usize>,
    /// The computation of the entries.
    pub by: Arc<dyn ComputeEntries>,
}

/// Computes entries of indexes for any number of threads.
pub trait ComputeEntries: Debug + Send + Sync {
    /// Begins a computation on one thread.
    fn begin(&self) -> Box<dyn ComputedEntries>;
}

/// A computation of entries on one thread.
pub trait ComputedEntries {
    /// Takes a row: the rowid, which only counts if the table has rowids, and the values of [`Computed::fields`]. Returns `true` if the
    /// rows so far should be computed now.
    fn push(&mut self, rowid: i64, values: &mut dyn Iterator<Item = Value<'_>>) -> bool;

    /// Computes the entries of the rows so far, and forgets the rows. Calls `each` with the position of the index in [`Table::indexes`],
    /// the number of the row, counted from 0 over these rows, and the values of the entry. Returns `false` if entries can't be computed.
    fn compute(&mut self, each: &mut dyn FnMut(usize, usize, &[Value<'_>])) -> bool;
}

/// A field of a table's records.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name of the column.
    pub name: String,
    /// The values that the field may hold.
    pub takes: Takes,
    /// The value of the field for records that end before the field.
    pub default: Constant,
}

/// The values that a field may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// `true` if NULL is permitted.
    pub null: bool,
    /// `true` if integers are permitted.
    pub int: bool,
    /// `true` if floats are permitted.
    pub real: bool,
    /// `true` if text is permitted.
    pub text: bool,
    /// `true` if text that is a number, apart from surrounding spaces, is permitted. Numeric affinity would have converted such text to a
    /// number.
    pub numeric_text: bool,
    /// `true` if blobs are permitted.
    pub blob: bool,
}

/// A value that owns its bytes.
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

/// An index, as the schema describes it.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The name of the index.
    pub name: String,
    /// The source of each field of the index's records.
    pub fields: Vec<Source>,
    /// The order of the records.
    pub key: Key,
    /// `true` if the index has a WHERE and so may leave rows out.
    pub partial: bool,
    /// `true` if [`Table::computed`] computes the entries.
    pub computed: bool,
}

/// The source of a field of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The field with this number, counted from 0, of the table's record.
    Field(usize),
    /// The rowid of the table's row.
    Rowid,
    /// A value that SQLite computes. The checker ignores the value unless the index is [`Index::computed`].
    Computed,
}

/// The sort key of records.
#[derive(Clone, Debug, Default)]
pub struct Key {
    /// The order by the leading fields, as many as make records unique; `None` if a collation is unknown.
    pub order: Option<KeyOrder>,
    /// The number of leading fields that no two records may share, unless one of these fields is NULL; `None` if records may share them.
    pub unique_fields: Option<usize>,
    /// The encoding of the text, if text must be converted before it is compared: UTF-16 with a collation other than BINARY.
    pub converted: Option<Utf16>,
}

impl Takes {
    /// The permission for every value.
    pub const ANYTHING: Takes =
        Takes { null: true, int: true, real: true, text: true, numeric_text: true, blob: true };

    /// Returns `true` if values of this class are permitted, as far as the class decides.
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
    /// Returns the value, borrowed.
    pub fn value(&self) -> Value<'_> {
        match self {
            Constant::Null => Value::Null,
            Constant::Int(int) => Value::Int(*int),
            Constant::Real(real) => Value::Real(*real),
            Constant::Text(text) => Value::Text(text),
            Constant::Blob(blob) => Value::Blob(blob),
        }
    }

    /// Returns the storage class.
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
