//! Column affinity: what a declared type makes of the values that reach a column
//! ([datatype3 §3](https://www.sqlite.org/datatype3.html#type_affinity)).
//!
//! The rule is what the bundled SQLite stores when the value is bound to a plain INSERT into a table without indexes and
//! CHECKs: whole floats in REAL columns are stored as integers there, elsewhere not always.
//!
//! | affinity | NULL, blob | integer | float | text |
//! |---|---|---|---|---|
//! | BLOB | as it is | as it is | as it is | as it is |
//! | TEXT | as it is | its digits | [`Converter`] | as it is |
//! | INTEGER, NUMERIC | as it is | as it is | [`real_to_int`] | [`text_to_number`] |
//! | REAL | as it is | [`stored_real_of_int`] | [`stored_real`] | [`text_to_number`] |

mod number;

use std::io::Write;

use rusqlite::Connection;

use crate::batch::Value;
pub use number::text_to_number;

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

/// What INTEGER and NUMERIC affinity make of a float: the integer that it is, if it is one, but neither the largest nor
/// the smallest there is.
#[inline]
pub fn real_to_int(real: f64) -> Value<'static> {
    let int = real as i64;
    if int as f64 == real && int != i64::MIN && int != i64::MAX { Value::Int(int) } else { Value::Real(real) }
}

/// Integers that a REAL column stores as such: those of six bytes and less.
const STORED_AS_INT: std::ops::RangeInclusive<i64> = -(1 << 47)..=(1 << 47) - 1;

/// What REAL affinity stores for a float.
#[inline]
pub fn stored_real(real: f64) -> Value<'static> {
    let int = real as i64;
    if int as f64 == real && STORED_AS_INT.contains(&int) { Value::Int(int) } else { Value::Real(real) }
}

/// What REAL affinity stores for an integer.
#[inline]
pub fn stored_real_of_int(int: i64) -> Value<'static> {
    if STORED_AS_INT.contains(&int) { Value::Int(int) } else { Value::Real(int as f64) }
}

/// What a value means for a column that is another name for the rowid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rowid {
    /// This rowid.
    Given(i64),
    /// NULL: the next.
    Next,
    /// None: SQLite says "datatype mismatch".
    Mismatch,
}

/// The rowid that a value means.
pub fn to_rowid(value: &Value<'_>) -> Rowid {
    let number = match *value {
        Value::Text(text) => text_to_number(text, Affinity::Integer),
        Value::Real(real) => real_to_int(real),
        other => other,
    };
    match number {
        Value::Int(int) => Rowid::Given(int),
        Value::Null => Rowid::Next,
        _ => Rowid::Mismatch,
    }
}

/// Applies affinity to one value at a time: the plain way, and for what is rare.
///
/// How SQLite spells a float is its own affair (neither `%.17g` nor the shortest form), so SQLite is asked.
#[derive(Debug, Default)]
pub struct Converter {
    text: Vec<u8>,
    sqlite: Option<Connection>,
}

impl Converter {
    /// What a column of `affinity` stores for `value`. A NaN is NULL.
    pub fn apply<'v>(&'v mut self, value: Value<'v>, affinity: Affinity) -> Value<'v> {
        match (value, affinity) {
            (Value::Real(real), _) if real.is_nan() => Value::Null,
            (Value::Int(int), Affinity::Real) => stored_real_of_int(int),
            (Value::Real(real), Affinity::Real) => stored_real(real),
            (Value::Real(real), Affinity::Integer | Affinity::Numeric) => real_to_int(real),
            (Value::Text(text), Affinity::Integer | Affinity::Numeric | Affinity::Real) => {
                text_to_number(text, affinity)
            }
            (Value::Int(int), Affinity::Text) => {
                self.text.clear();
                write!(self.text, "{int}").expect("a Vec takes everything");
                Value::Text(&self.text)
            }
            (Value::Real(real), Affinity::Text) => {
                self.text = self.spell(real).expect("SQLite in memory spells a float");
                Value::Text(&self.text)
            }
            (value, _) => value,
        }
    }

    fn spell(&mut self, real: f64) -> rusqlite::Result<Vec<u8>> {
        let sqlite = match &mut self.sqlite {
            Some(sqlite) => sqlite,
            none => none.insert(Connection::open_in_memory()?),
        };
        let mut statement = sqlite.prepare_cached("SELECT CAST(?1 AS TEXT)")?;
        statement.query_row([real], |row| Ok(row.get_ref(0)?.as_bytes()?.to_vec()))
    }
}
