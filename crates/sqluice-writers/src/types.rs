//! Chooses the types of columns in Parquet and Arrow files, from the declared types and the values.
//!
//! ```text
//!  INTEGER, INT, ...                  64-bit integers
//!  REAL, DOUBLE, ...                  doubles
//!  TEXT, VARCHAR, ...                 text
//!  BLOB                               bytes
//!  DATE, DATETIME, TIMESTAMP          dates or timestamps if dates are wanted and most values are text
//!  DECIMAL, NUMERIC                   doubles if all values are numbers that doubles hold exactly
//!  no type                            the type of most values; integers among floats are doubles if doubles hold all of them exactly
//!  all others                         the type of most values
//! ```
//!
//! With [`Mixed::Text`], a column is text instead if any of its values has another type.

use std::ops::AddAssign;

use sqluice_core::affinity::Affinity;
use sqluice_core::batch::{Batch, Column, Value, Values};
use sqluice_core::error::Result;
use sqluice_core::source::{BadText, Part, Refused, WithBadText};

use crate::in_order::Encode;
use crate::unfit::Mixed;

/// The kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Integers of 64 bits.
    Int,
    /// Doubles.
    Real,
    /// Text.
    Text,
    /// Bytes.
    Blob,
    /// Days since 1970.
    Date,
    /// Microseconds since 1970, without a time zone.
    Timestamp,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnType {
    /// The kind of the values.
    pub kind: Kind,
    /// `true` if integers that a double holds exactly are converted to doubles.
    pub int_as_real: bool,
    /// `true` if numbers are converted to text.
    pub number_as_text: bool,
}

impl ColumnType {
    /// Returns the type as a word, such as `real+int`, which [`ColumnType::from_word`] parses.
    pub fn word(&self) -> String {
        let kind = match self.kind {
            Kind::Int => "int",
            Kind::Real => "real",
            Kind::Text => "text",
            Kind::Blob => "blob",
            Kind::Date => "date",
            Kind::Timestamp => "timestamp",
        };
        let int_as_real = if self.int_as_real { "+int" } else { "" };
        let number_as_text = if self.number_as_text { "+number" } else { "" };
        format!("{kind}{int_as_real}{number_as_text}")
    }

    /// Parses a word that [`ColumnType::word`] has returned; `None` for any other word.
    pub fn from_word(word: &str) -> Option<ColumnType> {
        let (rest, number_as_text) = word.strip_suffix("+number").map_or((word, false), |rest| (rest, true));
        let (rest, int_as_real) = rest.strip_suffix("+int").map_or((rest, false), |rest| (rest, true));
        let kind = match rest {
            "int" => Kind::Int,
            "real" => Kind::Real,
            "text" => Kind::Text,
            "blob" => Kind::Blob,
            "date" => Kind::Date,
            "timestamp" => Kind::Timestamp,
            _ => return None,
        };
        Some(ColumnType { kind, int_as_real, number_as_text })
    }
}

/// The declaration of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The declared type; empty if the column has none.
    pub declared_type: String,
    /// The affinity of the declared type.
    pub affinity: Affinity,
    /// `true` if the column is an expression of a query. Its numbers may be both integers and floats.
    pub is_expression: bool,
}

/// The number of values of each kind in a column, without NULLs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Integers that a double holds exactly.
    ints: u64,
    /// Integers that no double holds exactly.
    wide_ints: u64,
    reals: u64,
    texts: u64,
    blobs: u64,
}

/// Returns `true` if a double holds the integer exactly.
pub(crate) fn fits_double(int: i64) -> bool {
    // `int as f64` may be 2^63, which is no i64.
    int.unsigned_abs() <= 1 << 53 || (int as f64 as i128) == i128::from(int)
}

impl Seen {
    /// Counts the first `rows` values of a column.
    fn see(&mut self, column: &Column<'_>, rows: usize) {
        let valid = || (0..rows).filter(|row| column.validity.is_none_or(|validity| validity.get(*row)));
        match column.values {
            Values::Null => {}
            Values::Int(ints) => {
                let wide = valid().filter(|row| !fits_double(ints[*row])).count() as u64;
                self.wide_ints += wide;
                self.ints += valid().count() as u64 - wide;
            }
            Values::Real(_) => self.reals += valid().count() as u64,
            Values::Text(_) => self.texts += valid().count() as u64,
            Values::Blob(_) => self.blobs += valid().count() as u64,
            Values::Any(_) => {
                for row in 0..rows {
                    match column.get(row) {
                        Value::Null => {}
                        Value::Int(int) if fits_double(int) => self.ints += 1,
                        Value::Int(_) => self.wide_ints += 1,
                        Value::Real(_) => self.reals += 1,
                        Value::Text(_) => self.texts += 1,
                        Value::Blob(_) => self.blobs += 1,
                    }
                }
            }
        }
    }

    /// Returns `true` if some values can't be stored in a column of the given kind.
    fn has_others(&self, kind: Kind, int_as_real: bool) -> bool {
        let Seen { ints, wide_ints, reals, texts, blobs } = *self;
        let others = match kind {
            Kind::Int => reals + texts + blobs,
            Kind::Real if int_as_real => wide_ints + texts + blobs,
            Kind::Real => ints + wide_ints + texts + blobs,
            Kind::Text | Kind::Date | Kind::Timestamp => ints + wide_ints + reals + blobs,
            Kind::Blob => ints + wide_ints + reals + texts,
        };
        others > 0
    }

    /// Returns the kind that most values have; `None` if all values are NULL.
    fn most(&self, int_as_real: bool) -> Option<Kind> {
        let Seen { ints, wide_ints, reals, texts, blobs } = *self;
        let (all_ints, numbers) = (ints + wide_ints, ints + wide_ints + reals);
        let number = match () {
            () if reals == 0 => (all_ints, Kind::Int),
            () if int_as_real => (numbers, Kind::Real),
            () if all_ints > reals => (all_ints, Kind::Int),
            () => (reals, Kind::Real),
        };
        let most =
            [number, (texts, Kind::Text), (blobs, Kind::Blob)].into_iter().max_by_key(|(count, _)| *count);
        most.filter(|(count, _)| *count > 0).map(|(_, kind)| kind)
    }
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Seen) {
        self.ints += other.ints;
        self.wide_ints += other.wide_ints;
        self.reals += other.reals;
        self.texts += other.texts;
        self.blobs += other.blobs;
    }
}

impl Declared {
    /// Returns the kind that the declaration determines, or `None` if the values decide.
    fn kind(&self) -> Option<Kind> {
        match self.affinity {
            Affinity::Integer => Some(Kind::Int),
            Affinity::Real => Some(Kind::Real),
            Affinity::Text => Some(Kind::Text),
            Affinity::Blob => (!self.declared_type.is_empty()).then_some(Kind::Blob),
            Affinity::Numeric => None,
        }
    }

    /// Returns `true` if the type depends on the values.
    pub fn needs_values(&self, mixed: Mixed) -> bool {
        self.kind().is_none() || mixed == Mixed::Text
    }

    fn has(&self, part: &str) -> bool {
        self.declared_type.to_ascii_uppercase().contains(part)
    }

    /// Returns the type of a column with the given values.
    pub fn column_type(&self, seen: &Seen, mixed: Mixed, dates: bool) -> ColumnType {
        // Without a declared type, SQLite stores integers among floats as integers. They become doubles if doubles hold all of them.
        let is_untyped = self.declared_type.is_empty();
        let int_as_real = matches!(self.affinity, Affinity::Numeric | Affinity::Real)
            || self.is_expression
            || (is_untyped && seen.wide_ints == 0);
        let is_decimal = self.affinity == Affinity::Numeric && (self.has("DEC") || self.has("NUM"));
        let date = match () {
            () if !dates => None,
            () if self.has("TIMESTAMP") || self.has("DATETIME") => Some(Kind::Timestamp),
            () if self.has("DATE") => Some(Kind::Date),
            () => None,
        };
        let mut kind = self.kind();
        // The values of a DECIMAL or NUMERIC column are doubles if all of them are numbers that doubles hold.
        if kind.is_none() && is_decimal && !seen.has_others(Kind::Real, true) {
            kind = Some(Kind::Real);
        }
        let mut kind = kind.or_else(|| seen.most(int_as_real)).unwrap_or(Kind::Text);
        if let (Kind::Text, Some(date)) = (kind, date) {
            kind = date;
        }
        let is_mixed = mixed == Mixed::Text && seen.has_others(kind, int_as_real);
        if is_mixed {
            kind = Kind::Text;
        }
        ColumnType { kind, int_as_real, number_as_text: is_mixed }
    }
}

/// An encoder that only counts: its piece is the number of values of each kind, for each column of the part.
pub struct SeeAll {
    columns: usize,
}

impl SeeAll {
    /// Creates an encoder for parts with this number of columns.
    pub fn new(columns: usize) -> SeeAll {
        SeeAll { columns }
    }
}

impl Encode for SeeAll {
    type Piece = Vec<Seen>;

    fn encode(&self, part: &mut dyn Part) -> Result<Vec<Seen>> {
        let mut all = vec![Seen::default(); self.columns];
        let see = |batch: &Batch<'_>| -> Result<(), Refused> {
            all.iter_mut().zip(&batch.columns).for_each(|(seen, column)| seen.see(column, batch.rows));
            Ok(())
        };
        part.decode(&mut WithBadText(BadText::Replace, see))?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_with_one_value_of_another_kind_is_text_on_request() {
        let untyped =
            Declared { declared_type: String::new(), affinity: Affinity::Blob, is_expression: false };
        let kinds = [
            (Value::Int(1), Kind::Int),
            (Value::Int(i64::MAX), Kind::Int),
            (Value::Real(0.5), Kind::Real),
            (Value::Text(b"a"), Kind::Text),
            (Value::Blob(b"a"), Kind::Blob),
        ];
        for ((most, kind), (other, of_other)) in
            kinds.iter().flat_map(|a| kinds.iter().map(move |b| (*a, *b)))
        {
            let values = [most, most, Value::Null, other, most];
            let mut seen = Seen::default();
            seen.see(&Column::new(Values::Any(&values)), values.len());
            let of = |mixed| untyped.column_type(&seen, mixed, false);
            // A column with integers and floats has the type of floats.
            let is_double = |value| matches!(value, Value::Int(1) | Value::Real(_));
            let (kind, of_other) = match is_double(most) && is_double(other) && kind != of_other {
                true => (Kind::Real, Kind::Real),
                false => (kind, of_other),
            };
            let is_mixed = kind != of_other;
            let expected = if is_mixed { Kind::Text } else { kind };
            let as_text = of(Mixed::Text);
            assert_eq!((as_text.kind, as_text.number_as_text), (expected, is_mixed), "{most:?} {other:?}");
            assert_eq!(
                (of(Mixed::Null).kind, of(Mixed::Null).number_as_text),
                (kind, false),
                "{most:?} {other:?}"
            );
        }
    }
}
