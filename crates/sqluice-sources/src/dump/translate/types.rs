//! Translates types of MySQL and PostgreSQL to declared types of SQLite.

use super::Dialect;
use super::model::SourceType;
use crate::dump::conversion::{Conversion, Element};

/// The kind of a column's values, which decides how expressions may use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Number,
    /// A decimal that is stored as text, to keep all its digits.
    DecimalText,
    Float,
    Text,
    Blob,
    Boolean,
    /// A text with its own order: that of the values in its enumeration.
    Enum,
    /// A date and time in UTC.
    Moment,
    /// A value that SQLite neither compares nor computes like the source.
    Opaque,
}

/// A translated type.
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    /// The declared type; empty if the column stores values of any type.
    pub(super) declared: &'static str,
    pub(super) conversion: Conversion,
    pub(super) kind: Kind,
    /// `true` if the type compares texts without case.
    pub(super) ignores_case: bool,
}

fn mapped(declared: &'static str, conversion: Conversion, kind: Kind) -> Mapped {
    Mapped { declared, conversion, kind, ignores_case: false }
}

/// Translates a type. `is_enum` is `true` if the dump creates the type as an enumeration.
pub(super) fn map(source: &SourceType, dialect: Dialect, is_enum: bool) -> Mapped {
    if source.array {
        let element = SourceType { array: false, ..source.clone() };
        let delimiter = if element.name.1 == "box" { b';' } else { b',' };
        let element = match (map(&element, dialect, is_enum), element.name.1.as_str()) {
            (_, "json" | "jsonb") => Element::Json,
            (_, "money") => Element::Text,
            (Mapped { kind: Kind::Boolean, .. }, _) => Element::Boolean,
            (Mapped { kind: Kind::Moment, .. }, _) => Element::Moment,
            (Mapped { kind: Kind::Integer | Kind::Number | Kind::DecimalText | Kind::Float, .. }, _) => {
                Element::Number
            }
            _ => Element::Text,
        };
        return mapped("TEXT", Conversion::Array { element, delimiter }, Kind::Opaque);
    }
    if is_enum {
        return mapped("TEXT", Conversion::None, Kind::Enum);
    }
    let text = mapped("TEXT", Conversion::None, Kind::Text);
    let opaque = mapped("TEXT", Conversion::None, Kind::Opaque);
    let integer = mapped("INTEGER", Conversion::None, Kind::Integer);
    let blob = mapped("BLOB", Conversion::Blob, Kind::Blob);
    match (source.name.1.as_str(), dialect) {
        ("bigint" | "int8", Dialect::MySql) if source.unsigned => {
            mapped("", Conversion::UnsignedBigInt, Kind::Integer)
        }
        ("serial", Dialect::MySql) => mapped("", Conversion::UnsignedBigInt, Kind::Integer),
        (
            "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "int1" | "int2" | "int3"
            | "int4" | "int8" | "middleint" | "year" | "serial" | "bigserial" | "smallserial" | "serial2"
            | "serial4" | "serial8" | "oid" | "xid" | "xid8" | "cid",
            _,
        ) => integer,
        ("bool" | "boolean", Dialect::MySql) => integer,
        ("bool" | "boolean", Dialect::Postgres) => mapped("INTEGER", Conversion::Boolean, Kind::Boolean),
        ("bit", Dialect::MySql) => match source.arguments.first().map(String::as_str) {
            Some("64") => mapped("", Conversion::Bit, Kind::Integer),
            _ => mapped("INTEGER", Conversion::Bit, Kind::Integer),
        },
        ("decimal" | "numeric" | "dec" | "fixed" | "number", _) => decimal(source, dialect),
        ("float" | "double" | "real" | "double precision" | "float4" | "float8", Dialect::Postgres) => {
            mapped("REAL", Conversion::Float, Kind::Float)
        }
        ("float" | "double" | "real" | "double precision" | "float4" | "float8", Dialect::MySql) => {
            mapped("REAL", Conversion::None, Kind::Float)
        }
        ("bytea", Dialect::Postgres) => mapped("BLOB", Conversion::Bytea, Kind::Blob),
        (
            "binary" | "varbinary" | "blob" | "tinyblob" | "mediumblob" | "longblob" | "raw"
            | "long varbinary" | "vector",
            Dialect::MySql,
        ) => blob,
        (
            "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring"
            | "multipolygon" | "geometrycollection" | "geomcollection",
            Dialect::MySql,
        ) => mapped("BLOB", Conversion::Blob, Kind::Opaque),
        ("date", _) => mapped("TEXT", Conversion::Civil { time: false }, Kind::Text),
        ("timestamp" | "datetime", _) => mapped("TEXT", Conversion::Civil { time: true }, Kind::Text),
        ("enum", Dialect::MySql) => mapped("TEXT", Conversion::None, Kind::Enum),
        ("timestamptz", Dialect::Postgres) => mapped("TEXT", Conversion::Moment, Kind::Moment),
        (
            "char" | "character" | "bpchar" | "nchar" | "national character" | "national char",
            Dialect::Postgres,
        ) => mapped("TEXT", Conversion::Unpadded, Kind::Text),
        ("citext", Dialect::Postgres) => Mapped { ignores_case: true, ..text },
        (
            "char" | "character" | "varchar" | "character varying" | "char varying" | "text" | "tinytext"
            | "mediumtext" | "longtext" | "national varchar" | "national character" | "national char"
            | "nchar" | "nvarchar" | "varchar2" | "long" | "long varchar" | "long text" | "bpchar" | "name"
            | "uuid" | "json" | "jsonb",
            _,
        ) => text,
        // PostgreSQL writes all times in one form. Times of MySQL may be negative or longer than a day, so they are opaque.
        ("time", Dialect::Postgres) => text,
        _ => opaque,
    }
}

/// Returns the type of a decimal. It is the type that a decimal column of a Parquet file gets if its values are not read before the type is
/// chosen.
fn decimal(source: &SourceType, dialect: Dialect) -> Mapped {
    let number = |at: usize| source.arguments.get(at).and_then(|digits| digits.parse::<i32>().ok());
    let digits = match (number(0), dialect) {
        (None, Dialect::Postgres) => i32::MAX,
        (digits, _) => digits.unwrap_or(10),
    };
    let whole = number(1).unwrap_or(0) <= 0;
    match (digits, whole) {
        (..=18, true) => mapped("INTEGER", Conversion::None, Kind::Integer),
        (..=15, false) => mapped("NUMERIC", Conversion::None, Kind::Number),
        _ => mapped("TEXT", Conversion::None, Kind::DecimalText),
    }
}
