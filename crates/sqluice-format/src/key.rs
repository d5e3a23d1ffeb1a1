//! The order of keys in an index ([§2.3](https://www.sqlite.org/fileformat2.html#representation_of_sql_indices),
//! [datatypes §4.1](https://www.sqlite.org/datatype3.html#sort_order)).
//!
//! NULL < numbers, integers and floats by their exact value < text by its collation < blobs; a descending column the other
//! way round; column after column.

use std::cmp::Ordering;

use crate::record;
use crate::value::Value;

/// How text is compared ([datatypes §7](https://www.sqlite.org/datatype3.html#collation)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Collation {
    /// Byte by byte.
    #[default]
    Binary,
    /// As `Binary`, the ASCII letters A to Z folded to a to z.
    NoCase,
    /// As `Binary`, spaces at the end left out.
    RTrim,
}

/// One column of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyColumn {
    /// How its text is compared.
    pub collation: Collation,
    /// Whether large values come first.
    pub descending: bool,
}

/// The order of records by their first columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyOrder {
    columns: Box<[KeyColumn]>,
}

impl KeyOrder {
    /// The order by so many columns.
    pub fn new(columns: impl Into<Box<[KeyColumn]>>) -> KeyOrder {
        KeyOrder { columns: columns.into() }
    }

    /// The columns of the key.
    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    /// Compares two records by the columns of the key.
    ///
    /// # Panics
    /// When these are no records, or have fewer columns.
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare_columns(a, b, self.columns.len())
    }

    /// Compares two records by the first `columns` columns of the key.
    ///
    /// # Panics
    /// As [`KeyOrder::compare`].
    pub fn compare_columns(&self, a: &[u8], b: &[u8], columns: usize) -> Ordering {
        let (a, b) = (record::decode(a).expect("a record"), record::decode(b).expect("a record"));
        let pairs = a.iter().zip(&b).zip(&self.columns).take(columns);
        pairs
            .map(|((a, b), column)| column.compare(a, b))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Whether one of the first `columns` columns of the key is NULL in this record: then UNIQUE takes it as different from
    /// every other.
    ///
    /// # Panics
    /// As [`KeyOrder::compare`].
    pub fn has_null(&self, record: &[u8], columns: usize) -> bool {
        let values = record::decode(record).expect("a record");
        values.iter().take(columns).any(|value| *value == Value::Null)
    }

    /// The first 16 bytes of the normalized key as a number: of two records with different prefixes, that with the smaller
    /// prefix comes first. Equal prefixes tell nothing.
    ///
    /// # Panics
    /// As [`KeyOrder::compare`].
    pub fn prefix(&self, _record: &[u8]) -> u128 {
        0
    }
}

impl KeyColumn {
    /// Compares two values.
    pub fn compare(self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        let class = |value: &Value<'_>| match value {
            Value::Null => 0,
            Value::Int(_) | Value::Real(_) => 1,
            Value::Text(_) => 2,
            Value::Blob(_) => 3,
        };
        let order = match (a, b) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Real(a), Value::Real(b)) => a.partial_cmp(b).expect("no NaN"),
            (Value::Int(a), Value::Real(b)) => compare_int_real(*a, *b),
            (Value::Real(a), Value::Int(b)) => compare_int_real(*b, *a).reverse(),
            (Value::Text(a), Value::Text(b)) => self.collation.compare(a, b),
            (Value::Blob(a), Value::Blob(b)) => a.cmp(b),
            _ => class(a).cmp(&class(b)),
        };
        if self.descending { order.reverse() } else { order }
    }
}

impl Collation {
    /// Compares two texts.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Collation::Binary => a.cmp(b),
            Collation::RTrim => trimmed(a).cmp(trimmed(b)),
            // Letters as far as the first NUL, then the lengths: SQLite compares with a function for C strings.
            Collation::NoCase => {
                let until_nul = |text: &[u8]| text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
                let folded = |text: &[u8]| text[..until_nul(text)].to_ascii_lowercase();
                folded(a).cmp(&folded(b)).then(a.len().cmp(&b.len()))
            }
        }
    }
}

fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}

/// Compares an integer with a float by their exact values.
fn compare_int_real(int: i64, real: f64) -> Ordering {
    if real >= 9_223_372_036_854_775_808.0 {
        return Ordering::Less;
    }
    if real < -9_223_372_036_854_775_808.0 {
        return Ordering::Greater;
    }
    // In range: what the cast cuts off decides only where the integers are equal.
    let whole = real as i64;
    int.cmp(&whole).then_with(|| (whole as f64).partial_cmp(&real).expect("no NaN"))
}
