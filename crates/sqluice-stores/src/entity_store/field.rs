//! The values by which an entity is found: its key and its indexed fields.

use std::borrow::Cow;
use std::fmt;

use rusqlite::types::{ToSqlOutput, ValueRef};

use sqluice_core::batch::Value;

/// The key of an entity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key<'a> {
    /// The key of a type with integer keys.
    Int(i64),
    /// The key of a type with text keys, which are compared byte by byte.
    Text(Cow<'a, str>),
}

impl Key<'_> {
    /// Converts the key to one that borrows nothing.
    pub fn into_owned(self) -> Key<'static> {
        match self {
            Key::Int(int) => Key::Int(int),
            Key::Text(text) => Key::Text(Cow::Owned(text.into_owned())),
        }
    }

    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Key::Int(int) => Value::Int(*int),
            Key::Text(text) => Value::Text(text.as_bytes()),
        }
    }

    /// Returns the key as a parameter of a statement.
    pub(super) fn bound(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(match self {
            Key::Int(int) => ValueRef::Integer(*int),
            Key::Text(text) => ValueRef::Text(text.as_bytes()),
        })
    }
}

/// Formats the key like SQL: `7`, `'ann'`.
impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Int(int) => write!(f, "{int}"),
            Key::Text(text) => write!(f, "'{text}'"),
        }
    }
}

impl From<i64> for Key<'_> {
    fn from(int: i64) -> Self {
        Key::Int(int)
    }
}

impl<'a> From<&'a str> for Key<'a> {
    fn from(text: &'a str) -> Key<'a> {
        Key::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Key<'a> {
    fn from(text: &'a String) -> Key<'a> {
        Key::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Key<'_> {
    fn from(text: String) -> Self {
        Key::Text(Cow::Owned(text))
    }
}

/// The value of an indexed field, or a value to compare it with. NULLs sort first, then integers and reals by their numeric values, then
/// text, byte by byte.
#[derive(Clone, Debug, PartialEq)]
pub enum Field<'a> {
    /// NULL: the field is missing or `null`.
    Null,
    /// An integer; `true` is 1 and `false` is 0.
    Int(i64),
    /// Any other number.
    Real(f64),
    /// Text; an array or an object is its JSON.
    Text(Cow<'a, str>),
}

impl Field<'_> {
    /// Converts the value to one that borrows nothing.
    pub fn into_owned(self) -> Field<'static> {
        match self {
            Field::Null => Field::Null,
            Field::Int(int) => Field::Int(int),
            Field::Real(real) => Field::Real(real),
            Field::Text(text) => Field::Text(Cow::Owned(text.into_owned())),
        }
    }

    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Field::Null => Value::Null,
            Field::Int(int) => Value::Int(*int),
            Field::Real(real) => Value::Real(*real),
            Field::Text(text) => Value::Text(text.as_bytes()),
        }
    }

    /// Returns the value as a parameter of a statement.
    pub(super) fn bound(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(match self {
            Field::Null => ValueRef::Null,
            Field::Int(int) => ValueRef::Integer(*int),
            Field::Real(real) => ValueRef::Real(*real),
            Field::Text(text) => ValueRef::Text(text.as_bytes()),
        })
    }
}

macro_rules! from_integers {
    ($($kind:ty)*) => {$(
        impl From<$kind> for Field<'_> {
            fn from(int: $kind) -> Self {
                Field::Int(i64::from(int))
            }
        }
    )*};
}

from_integers! { bool i8 i16 i32 i64 u8 u16 u32 }

impl From<f64> for Field<'_> {
    fn from(real: f64) -> Self {
        Field::Real(real)
    }
}

impl<'a> From<&'a str> for Field<'a> {
    fn from(text: &'a str) -> Field<'a> {
        Field::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Field<'a> {
    fn from(text: &'a String) -> Field<'a> {
        Field::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Field<'_> {
    fn from(text: String) -> Self {
        Field::Text(Cow::Owned(text))
    }
}

impl<'a, T: Into<Field<'a>>> From<Option<T>> for Field<'a> {
    fn from(value: Option<T>) -> Field<'a> {
        value.map_or(Field::Null, T::into)
    }
}

impl<'a> From<Key<'a>> for Field<'a> {
    fn from(key: Key<'a>) -> Field<'a> {
        match key {
            Key::Int(int) => Field::Int(int),
            Key::Text(text) => Field::Text(text),
        }
    }
}
