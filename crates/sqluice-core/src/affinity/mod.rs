//! Column affinity: the conversion of values by the declared type of a column
//! ([datatype3](https://www.sqlite.org/datatype3.html#type_affinity)).
//!
//! This module answers one question: which value does the file have after the bundled SQLite has run an `INSERT` with a bound value into a
//! table without indexes and CHECKs? (With them, SQLite 3.54 writes some whole numbers of REAL columns as floats; `typeof` and value are
//! the same.)
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
//! [`apply`] implements this table for one value, slowly and plainly. Encoders convert whole columns with faster functions for a single
//! class of values, such as [`part_to_number`] and [`stored_real`].
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
    /// Turns text that looks like a number into a number.
    Numeric,
    /// Converts as `Numeric`; differs only in CAST.
    Integer,
    /// Converts as `Numeric`, and turns integers into floats (stored as integers if that is shorter).
    Real,
}

impl Affinity {
    /// Returns `true` if the affinity turns text that looks like a number into a number.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Affinity::Numeric | Affinity::Integer | Affinity::Real)
    }

    /// Returns the affinity of a declared type, by the five rules of
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

/// Returns the value that a column of `affinity` stores for the bound `value` ([§3](https://www.sqlite.org/datatype3.html#type_affinity)).
/// All other conversions here give the same values faster.
///
/// The text of a number is written to `scratch`, whose old content is dropped.
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

/// Converts a float as INTEGER and NUMERIC affinity do: to an integer if it is whole and strictly between the ends of the 64-bit integers
/// ([§3](https://www.sqlite.org/datatype3.html#type_affinity)). A NaN becomes NULL; other floats stay as they are.
#[inline]
pub fn real_to_int(real: f64) -> Value<'static> {
    // The cast saturates, and turns a NaN into 0: neither end of the range counts as a whole number.
    let int = real as i64;
    if int as f64 == real && int != i64::MIN && int != i64::MAX {
        Value::Int(int)
    } else if real.is_nan() {
        Value::Null
    } else {
        Value::Real(real)
    }
}

/// Returns the value that REAL affinity stores for a float: an integer if the float is whole and the integer takes at most six bytes
/// ([§2.1](https://www.sqlite.org/fileformat2.html#record_format), "small floating point values"). -0.0 becomes 0, and a NaN becomes NULL.
#[inline]
pub fn stored_real(real: f64) -> Value<'static> {
    // SQLite turns larger whole floats into integers, too, but stores them as the same floats again.
    let int = real as i64;
    if int as f64 == real && takes_at_most_six_bytes(int) {
        Value::Int(int)
    } else if real.is_nan() {
        Value::Null
    } else {
        Value::Real(real)
    }
}

/// Returns the value that REAL affinity stores for an integer: the integer if it takes at most six bytes, else the nearest float.
#[inline]
pub fn stored_real_of_int(int: i64) -> Value<'static> {
    if takes_at_most_six_bytes(int) { Value::Int(int) } else { Value::Real(int as f64) }
}

/// Returns `true` for -2^47 <= int < 2^47: serial types 1 to 5, 8 and 9.
#[inline]
fn takes_at_most_six_bytes(int: i64) -> bool {
    (-(1 << 47)..1 << 47).contains(&int)
}

/// Appends the text that TEXT affinity makes of an integer: its decimal digits.
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

/// The types of columns in STRICT tables ([STRICT tables](https://www.sqlite.org/stricttables.html)).
///
/// A column of a STRICT table stores the value that its [`affinity`](StrictType::affinity) makes, byte by byte, or refuses a value that
/// does not [`fit`](StrictType::fits).
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
    /// Returns the type with the given name; `None` if SQLite refuses the name in a STRICT table.
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

    /// Returns the affinity that converts a value before its class is checked. ANY differs here from a column that is declared ANY in a
    /// plain table, which is NUMERIC.
    pub const fn affinity(self) -> Affinity {
        match self {
            StrictType::Integer => Affinity::Integer,
            StrictType::Real => Affinity::Real,
            StrictType::Text => Affinity::Text,
            StrictType::Blob | StrictType::Any => Affinity::Blob,
        }
    }

    /// Returns `true` if a value of the given class may be stored, once the [`affinity`](StrictType::affinity) is applied. Otherwise SQLite
    /// reports "cannot store TEXT value in INT column".
    pub const fn fits(self, stored: Class) -> bool {
        match (self, stored) {
            (_, Class::Null) | (StrictType::Any, _) => true,
            // REAL columns store whole numbers as integers, too.
            (StrictType::Integer | StrictType::Real, Class::Int) | (StrictType::Real, Class::Real) => true,
            (StrictType::Text, Class::Text) | (StrictType::Blob, Class::Blob) => true,
            _ => false,
        }
    }

    /// Returns the name in SQL.
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

/// The rowid that a value of an INTEGER PRIMARY KEY stands for ([rowids](https://www.sqlite.org/lang_createtable.html#rowid)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rowid {
    /// The value is this rowid.
    Given(i64),
    /// The value is NULL: SQLite chooses the rowid, usually the largest rowid of the table, plus one.
    Next,
    /// No rowid: SQLite reports "datatype mismatch".
    Mismatch,
}

/// Returns the rowid that a value stands for. A whole float in the range of 64-bit integers is a rowid, and so is the text of such a
/// number, also with white space around it. The exception is the lowest 64-bit integer, written as a float: its text is a
/// [`Rowid::Mismatch`].
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
