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
