//! Column affinity: what a declared type makes of the values that reach a column
//! ([datatype3](https://www.sqlite.org/datatype3.html#type_affinity)).

/// The affinity of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// Keeps whatever comes (also called NONE).
    Blob,
    /// Turns numbers into text.
    Text,
    /// Turns text that looks like a number into one.
    Numeric,
    /// As `Numeric`; differs only in CAST.
    Integer,
    /// As `Numeric`, and integers become floats (stored as integers where that is shorter).
    Real,
}

impl Affinity {
    /// The affinity of a declared type, by the five rules of
    /// [§3.1](https://www.sqlite.org/datatype3.html#determination_of_column_affinity).
    pub fn of_declared_type(declared: &str) -> Affinity {
        let upper = declared.to_ascii_uppercase();
        let has = |part| upper.contains(part);
        if has("INT") {
            Affinity::Integer
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            Affinity::Text
        } else if has("BLOB") || upper.is_empty() {
            Affinity::Blob
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            Affinity::Real
        } else {
            Affinity::Numeric
        }
    }
}
use crate::batch::Value;
/// t
#[derive(Debug, Default)]
pub struct Converter;
impl Converter {
    /// t
    pub fn apply<'v>(&'v mut self, v: Value<'v>, _: Affinity) -> Value<'v> {
        v
    }
}
/// t
pub enum Rowid {
    /// t
    Given(i64),
    /// t
    Next,
    /// t
    Mismatch,
}
/// t
pub fn to_rowid(v: &Value<'_>) -> Rowid {
    match v {
        Value::Int(i) => Rowid::Given(*i),
        Value::Null => Rowid::Next,
        _ => Rowid::Mismatch,
    }
}
/// t
pub fn stored_real_of_int(i: i64) -> Value<'static> {
    Value::Int(i)
}
/// t
pub fn stored_real(i: f64) -> Value<'static> {
    Value::Real(i)
}
/// t
pub fn real_to_int(i: f64) -> Value<'static> {
    Value::Real(i)
}
/// t
pub fn text_to_number<'a>(t: &'a [u8], _: Affinity) -> Value<'a> {
    Value::Text(t)
}
