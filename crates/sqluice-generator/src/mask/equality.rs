//! The equality of old values: two values get the same mask if SQLite finds them equal in a comparison with their column.
//!
//! ```text
//!  5, 5.0                     the integer 5
//!  'Ann', 'ANN'    NOCASE     'ann'
//!  'Ann', 'Ann  '  RTRIM      'Ann'
//!  '05', 5                    the integer 5, if the parent column is numeric
//! ```

use sqluice_core::affinity::{self, Affinity};
use sqluice_core::batch::{Column, Value, Values};

use super::key::MaskKey;
use super::siphash::SipKey;

/// A built-in collation of SQLite, or the union of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Collation {
    /// BINARY: texts are equal if their bytes are.
    #[default]
    Binary,
    /// NOCASE: ASCII case is ignored.
    NoCase,
    /// RTRIM: trailing spaces are ignored.
    RTrim,
    /// The union of NOCASE and RTRIM.
    NoCaseRTrim,
}

impl Collation {
    /// Returns a collation in which texts are equal if they are equal in either of two collations.
    #[must_use]
    pub fn or(self, other: Collation) -> Collation {
        match (self, other) {
            (Collation::Binary, one) | (one, Collation::Binary) => one,
            (one, other) if one == other => one,
            _ => Collation::NoCaseRTrim,
        }
    }

    /// Returns the collation called `name`; `None` if it is not built into SQLite.
    pub fn of_name(name: &str) -> Option<Collation> {
        [("BINARY", Collation::Binary), ("NOCASE", Collation::NoCase), ("RTRIM", Collation::RTrim)]
            .into_iter()
            .find(|(known, _)| name.eq_ignore_ascii_case(known))
            .map(|(_, collation)| collation)
    }
}

/// The equality of the values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Equality {
    /// The collation of texts.
    pub collation: Collation,
    /// `true` if a text that looks like a number equals the number.
    pub numeric: bool,
}

impl Equality {
    /// Converts whole reals, and texts that equal numbers, to numbers; returns any other value unchanged.
    #[inline]
    pub(super) fn number<'v>(self, value: Value<'v>) -> Value<'v> {
        match value {
            // `i64::MIN` is exact as a real, unlike `i64::MAX`.
            Value::Real(real) if real == i64::MIN as f64 => Value::Int(i64::MIN),
            Value::Real(real) => affinity::real_to_int(real),
            Value::Text(text) if self.numeric => match affinity::text_to_number(text, Affinity::Numeric) {
                number @ (Value::Int(_) | Value::Real(_)) => number,
                _ => value,
            },
            value => value,
        }
    }

    /// Returns the normal form of a text: equal texts have the same normal form. `folded` is a buffer for it.
    #[inline]
    fn text<'t>(self, text: &'t [u8], folded: &'t mut Vec<u8>) -> &'t [u8] {
        let text = match self.collation {
            Collation::RTrim | Collation::NoCaseRTrim => {
                let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
                &text[..end]
            }
            Collation::Binary | Collation::NoCase => text,
        };
        match self.collation {
            Collation::Binary | Collation::RTrim => text,
            Collation::NoCase | Collation::NoCaseRTrim => {
                folded.clear();
                folded.extend_from_slice(text);
                // NOCASE compares texts only up to a NUL, and then their lengths.
                let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
                folded[..end].make_ascii_lowercase();
                folded[end..].fill(0);
                folded
            }
        }
    }
}

/// Returns `true` if the validity bitmap of a column says that the row's value is NULL.
#[inline]
pub(super) fn is_null(column: &Column<'_>, row: usize) -> bool {
    column.validity.is_some_and(|validity| !validity.get(row))
}

/// A hash function that gives equal values the same 64 bits.
#[derive(Clone)]
pub(super) struct ValueHash {
    ints: SipKey,
    reals: SipKey,
    texts: SipKey,
    blobs: SipKey,
}

impl ValueHash {
    pub(super) fn new(key: &MaskKey, purpose: &str) -> ValueHash {
        let of = |class: &str| key.derived(&format!("{purpose}: {class}"));
        ValueHash { ints: of("integer"), reals: of("real"), texts: of("text"), blobs: of("blob") }
    }

    /// Returns the hash of a value. Callers don't use the hash of NULL, which stays NULL.
    #[inline]
    pub(super) fn of(&self, value: Value<'_>, equality: Equality, folded: &mut Vec<u8>) -> u64 {
        match equality.number(value) {
            Value::Null => 0,
            Value::Int(int) => self.ints.hash_words([int.cast_unsigned()])[0],
            Value::Real(real) => self.reals.hash_words([real.to_bits()])[0],
            Value::Text(text) => self.texts.hash(equality.text(text, folded)),
            Value::Blob(blob) => self.blobs.hash(blob),
        }
    }

    /// Computes the hashes of a column.
    pub(super) fn fill(
        &self,
        column: &Column<'_>,
        rows: usize,
        equality: Equality,
        (hashes, folded): (&mut Vec<u64>, &mut Vec<u8>),
    ) {
        hashes.clear();
        match column.values {
            Values::Int(ints) => {
                let (fours, rest) = ints[..rows].as_chunks::<4>();
                hashes
                    .extend(fours.iter().flat_map(|four| self.ints.hash_words(four.map(i64::cast_unsigned))));
                hashes.extend(rest.iter().map(|int| self.ints.hash_words([int.cast_unsigned()])[0]));
            }
            Values::Text(texts) if !equality.numeric => {
                for row in 0..rows {
                    let hash = match is_null(column, row) {
                        true => 0,
                        false => self.texts.hash(equality.text(texts.get(row), folded)),
                    };
                    hashes.push(hash);
                }
            }
            _ => hashes.extend((0..rows).map(|row| self.of(column.get(row), equality, folded))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rusqlite::Connection;

    fn value() -> impl Strategy<Value = rusqlite::types::Value> {
        use rusqlite::types::Value as Owned;
        let text = prop_oneof![
            "[aAbB]{0,3} {0,2}",
            "[aA]{0,2}\u{0}[aA]{0,2}",
            "-?0?[0-9]{1,2}(\\.[05])?",
            "[äÄß]{1,2}"
        ];
        prop_oneof![
            (-3..3_i64).prop_map(Owned::Integer),
            prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(1 << 53)].prop_map(Owned::Integer),
            (-6..6_i64).prop_map(|half| Owned::Real(half as f64 / 2.0)),
            prop_oneof![Just(9.007199254740992e15), Just(i64::MIN as f64), Just(9.3e18), Just(-0.0)]
                .prop_map(Owned::Real),
            text.prop_map(Owned::Text),
            "[ab]{0,2}".prop_map(|text| Owned::Blob(text.into_bytes())),
        ]
    }

    fn borrowed(value: &rusqlite::types::Value) -> Value<'_> {
        use rusqlite::types::Value as Owned;
        match value {
            Owned::Null => Value::Null,
            Owned::Integer(int) => Value::Int(*int),
            Owned::Real(real) => Value::Real(*real),
            Owned::Text(text) => Value::Text(text.as_bytes()),
            Owned::Blob(blob) => Value::Blob(blob),
        }
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn values_have_equal_hashes_if_sqlite_finds_them_equal(a in value(), b in value(), collation in 0..3_usize) {
            let name = ["BINARY", "NOCASE", "RTRIM"][collation];
            let connection = Connection::open_in_memory().unwrap();
            let sql = format!("SELECT ?1 = ?2 COLLATE {name}");
            let equal: bool = connection.query_row(&sql, (&a, &b), |row| row.get(0)).unwrap();
            let equality = Equality { collation: Collation::of_name(name).unwrap(), numeric: false };
            let hash = ValueHash::new(&MaskKey::new([7; 16]).unwrap(), "test");
            let of = |value| hash.of(borrowed(value), equality, &mut Vec::new());
            prop_assert_eq!(of(&a) == of(&b), equal);
        }

        #[test]
        fn a_text_has_the_hash_of_a_number_that_equals_it_in_a_numeric_column(a in value(), b in value()) {
            let connection = Connection::open_in_memory().unwrap();
            let sql = "SELECT CASE WHEN typeof(?1) = 'text' OR typeof(?2) = 'text' THEN
                       (SELECT n = m FROM t) ELSE ?1 = ?2 END";
            connection.execute_batch("CREATE TABLE t (n NUMERIC, m NUMERIC)").unwrap();
            connection.execute("INSERT INTO t VALUES (?1, ?2)", (&a, &b)).unwrap();
            let equal: bool = connection.query_row(sql, (&a, &b), |row| row.get(0)).unwrap();
            let hash = ValueHash::new(&MaskKey::new([7; 16]).unwrap(), "test");
            let equality = Equality { collation: Collation::Binary, numeric: true };
            let of = |value| hash.of(borrowed(value), equality, &mut Vec::new());
            prop_assert_eq!(of(&a) == of(&b), equal);
        }
    }
}
