//! Column affinity: what a declared type makes of the values that reach a column
//! ([datatype3](https://www.sqlite.org/datatype3.html#type_affinity)).
//!
//! Everything here answers one question: which value lies in the file after the bundled SQLite has run a bound
//! `INSERT` into a table without indexes and CHECKs. (With them, SQLite 3.54 writes some whole numbers of REAL
//! columns as floats; `typeof` and value are the same.)
//!
//! ```text
//!               BLOB   TEXT           INTEGER, NUMERIC        REAL
//!  integer      as is  its digits     as is                   as is if it takes at most 6 bytes, else a float
//!  float        as is  "%!.17g"       integer if it is whole  ... and then as above
//!  text         as is  as is          number if it looks so   ... and then as above
//!  blob, NULL   as is  as is          as is                   as is
//!  NaN          NULL   NULL           NULL                    NULL
//! ```
//!
//! [`apply`] is that drawing, one value at a time: the slow, obvious twin. Encoders go column by column with
//! [`part_to_number`], [`stored_real`] and the like.
//!
//! Invariant: nothing here depends on a locale, a connection or a setting.

mod float;
mod number;

pub use float::real_to_text;
pub use number::{Loss, part_to_number, text_to_number, text_to_number_checked, text_to_number_slow};
pub use number::{POINT, Padded, Short, decimal, eight_digits, repeat, whole};

use sqluice_format::value::{Class, Value};

/// The affinity of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// Keeps every value unchanged (also called NONE).
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
    /// Whether it makes numbers of text that looks like one.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Affinity::Numeric | Affinity::Integer | Affinity::Real)
    }

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

/// What a column of `affinity` stores when `value` is bound to it
/// ([§3](https://www.sqlite.org/datatype3.html#type_affinity)). The slow twin of everything else here.
///
/// Text that is made of a number lies in `scratch`, whose old content is dropped.
pub fn apply<'a>(value: Value<'a>, affinity: Affinity, scratch: &'a mut Vec<u8>) -> Value<'a> {
    match (value, affinity) {
        (Value::Real(real), _) if real.is_nan() => Value::Null,
        (Value::Null | Value::Blob(_), _) | (_, Affinity::Blob) => value,
        (Value::Text(_), Affinity::Text) => value,
        (Value::Int(int), Affinity::Text) => {
            scratch.clear();
            int_to_text(int, scratch);
            Value::Text(scratch)
        }
        (Value::Real(real), Affinity::Text) => {
            scratch.clear();
            real_to_text(real, scratch);
            Value::Text(scratch)
        }
        (Value::Text(text), _) => text_to_number_slow(text, affinity),
        (Value::Int(int), Affinity::Real) => stored_real_of_int(int),
        (Value::Int(_), _) => value,
        (Value::Real(real), Affinity::Real) => stored_real(real),
        (Value::Real(real), _) => real_to_int(real),
    }
}

/// What INTEGER and NUMERIC affinity make of a float: the integer, where it is whole and strictly between the
/// ends of the 64-bit integers ([§3](https://www.sqlite.org/datatype3.html#type_affinity)), else NULL for a NaN
/// and the float itself.
#[inline]
pub fn real_to_int(real: f64) -> Value<'static> {
    // The cast saturates, and takes a NaN to 0: neither end of the range is ever a "whole number".
    let int = real as i64;
    if int as f64 == real && int != i64::MIN && int != i64::MAX {
        Value::Int(int)
    } else if real.is_nan() {
        Value::Null
    } else {
        Value::Real(real)
    }
}

/// What REAL affinity stores for a float: the integer where that is whole and takes at most six bytes
/// ([§2.1](https://www.sqlite.org/fileformat2.html#record_format), "small floating point values"); -0.0 is 0.
#[inline]
pub fn stored_real(real: f64) -> Value<'static> {
    // A whole number outside becomes an integer on the way, and the same float again.
    let int = real as i64;
    if int as f64 == real && takes_at_most_six_bytes(int) {
        Value::Int(int)
    } else if real.is_nan() {
        Value::Null
    } else {
        Value::Real(real)
    }
}

/// What REAL affinity stores for an integer: itself where it takes at most six bytes, else the nearest float.
#[inline]
pub fn stored_real_of_int(int: i64) -> Value<'static> {
    if takes_at_most_six_bytes(int) { Value::Int(int) } else { Value::Real(int as f64) }
}

/// -2^47 <= int < 2^47: serial types 1 to 5, 8 and 9.
#[inline]
fn takes_at_most_six_bytes(int: i64) -> bool {
    (-(1 << 47)..1 << 47).contains(&int)
}

/// Appends what TEXT affinity makes of an integer: its decimal digits.
pub fn int_to_text(int: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = int.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if int < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// The types that columns of a STRICT table may have ([STRICT tables](https://www.sqlite.org/stricttables.html)).
///
/// What such a column stores is what its [`affinity`](StrictType::affinity) makes of the value, bytes and all,
/// or an error where that does not [`fit`](StrictType::fits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrictType {
    /// INT and INTEGER.
    Integer,
    /// REAL.
    Real,
    /// TEXT.
    Text,
    /// BLOB.
    Blob,
    /// ANY: keeps every value unchanged.
    Any,
}

impl StrictType {
    /// The type of that name, or `None`, which SQLite refuses in a STRICT table.
    pub fn of_declared_type(declared: &str) -> Option<StrictType> {
        let types = [
            ("INT", StrictType::Integer),
            ("INTEGER", StrictType::Integer),
            ("REAL", StrictType::Real),
            ("TEXT", StrictType::Text),
            ("BLOB", StrictType::Blob),
            ("ANY", StrictType::Any),
        ];
        types.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(declared)).map(|(_, strict)| strict)
    }

    /// What happens to a value before its class is looked at. ANY differs here from a column that is declared ANY
    /// in a plain table, which is NUMERIC.
    pub const fn affinity(self) -> Affinity {
        match self {
            StrictType::Integer => Affinity::Integer,
            StrictType::Real => Affinity::Real,
            StrictType::Text => Affinity::Text,
            StrictType::Blob | StrictType::Any => Affinity::Blob,
        }
    }

    /// Whether a value of that class may be stored, once [`affinity`](StrictType::affinity) is applied to it. SQLite's
    /// error otherwise is "cannot store TEXT value in INT column".
    pub const fn fits(self, stored: Class) -> bool {
        match (self, stored) {
            (_, Class::Null) | (StrictType::Any, _) => true,
            // Whole numbers are stored as integers in REAL columns, too.
            (StrictType::Integer | StrictType::Real, Class::Int) | (StrictType::Real, Class::Real) => true,
            (StrictType::Text, Class::Text) | (StrictType::Blob, Class::Blob) => true,
            _ => false,
        }
    }

    /// Its name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            StrictType::Integer => "INTEGER",
            StrictType::Real => "REAL",
            StrictType::Text => "TEXT",
            StrictType::Blob => "BLOB",
            StrictType::Any => "ANY",
        }
    }
}

/// What a value asks of an INTEGER PRIMARY KEY ([rowids](https://www.sqlite.org/lang_createtable.html#rowid)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rowid {
    /// This rowid.
    Given(i64),
    /// NULL: the largest rowid of the table, plus one.
    Next,
    /// SQLite says "datatype mismatch".
    Mismatch,
}

/// The rowid that a value asks for. A whole float will do, over all of the 64-bit integers but for the upper end
/// (the lower end is not taken from text); so will text of one, white space around it and all.
pub fn to_rowid(value: Value<'_>) -> Rowid {
    match value {
        Value::Int(int) => Rowid::Given(int),
        Value::Null => Rowid::Next,
        Value::Real(real) if real.is_nan() => Rowid::Next,
        Value::Real(real) => {
            let whole = (-TWO_POW_63..TWO_POW_63).contains(&real) && real as i64 as f64 == real;
            if whole { Rowid::Given(real as i64) } else { Rowid::Mismatch }
        }
        Value::Text(text) => match text_to_number(text, Affinity::Integer) {
            Value::Int(int) => Rowid::Given(int),
            _ => Rowid::Mismatch,
        },
        Value::Blob(_) => Rowid::Mismatch,
    }
}

const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;
