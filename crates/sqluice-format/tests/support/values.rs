//! Values for random tests.

use sqluice_format::value::Value;

/// A value that owns its bytes.
#[derive(Clone, Debug)]
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
