//! A value that owns its bytes, with conversions from the values of the format and of rusqlite.

use sqluice_format::value::Value;

/// A value that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Owned {
    Null,
    Int(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl Owned {
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Owned::Null => Value::Null,
            Owned::Int(i) => Value::Int(*i),
            Owned::Real(r) => Value::Real(*r),
            Owned::Text(bytes) => Value::Text(bytes),
            Owned::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

impl From<&Value<'_>> for Owned {
    fn from(value: &Value<'_>) -> Owned {
        match *value {
            Value::Null => Owned::Null,
            Value::Int(int) => Owned::Int(int),
            Value::Real(real) => Owned::Real(real),
            Value::Text(bytes) => Owned::Text(bytes.to_vec()),
            Value::Blob(bytes) => Owned::Blob(bytes.to_vec()),
        }
    }
}

impl From<rusqlite::types::ValueRef<'_>> for Owned {
    fn from(value: rusqlite::types::ValueRef<'_>) -> Owned {
        use rusqlite::types::ValueRef::{Blob, Integer, Null, Real, Text};
        match value {
            Null => Owned::Null,
            Integer(int) => Owned::Int(int),
            Real(real) => Owned::Real(real),
            Text(bytes) => Owned::Text(bytes.to_vec()),
            Blob(bytes) => Owned::Blob(bytes.to_vec()),
        }
    }
}
