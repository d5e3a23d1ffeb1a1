//! Arguments about the format of files and the conversion of their values.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sqluice::error::Error;
use sqluice::export::{self, OutputFormat};
use sqluice::load::{self, FileFormat};
#[cfg(feature = "parquet")]
use sqluice::source::arrow::{DecimalAs, TimestampAs};
use sqluice::source::csv::Delimiter;

use crate::terms::rendered;

/// Returns the parser of `--format`, by the names in a list of formats and a phrase about each.
fn named<T: Send + Sync + 'static>(
    formats: &'static [&'static T],
    describe: impl Fn(&'static T) -> (&'static str, &'static str),
    find: fn(&str) -> Result<&'static T, Error>,
) -> impl TypedValueParser<Value = &'static T> {
    let value = |format: &&'static T| {
        let (name, about) = describe(format);
        PossibleValue::new(name).help(about)
    };
    PossibleValuesParser::new(formats.iter().map(value)).try_map(move |name| find(&name))
}

/// Returns the parser of the formats that `load` reads.
pub(crate) fn input() -> impl TypedValueParser<Value = &'static FileFormat> {
    named(load::formats::ALL, |format| (format.name, format.about), |name| name.parse())
}

/// Returns the parser of the formats that `export` writes.
pub(crate) fn output() -> impl TypedValueParser<Value = &'static OutputFormat> {
    named(export::formats::ALL, |format| (format.name, format.about), |name| name.parse())
}

/// How decimals are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decimal {
    /// Numbers if these hold all digits; otherwise text
    Auto,
    /// Text, with all digits
    Text,
    /// The nearest float
    Real,
}

/// How timestamps are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Timestamp {
    /// ISO 8601 text
    Iso,
    /// Integers: the time since 1970, in the unit of the column
    Unix,
}

/// What has a role in CSV: a character, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    None,
    Character(u8),
}

impl Role {
    pub(crate) fn character(self) -> Option<u8> {
        match self {
            Role::None => None,
            Role::Character(character) => Some(character),
        }
    }
}

/// One character of ASCII, or a name for one.
pub(crate) fn character(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0) => Ok(*byte),
        _ => Err(format!("{text:?} is not one character of ASCII, such as ; or \\t")),
    }
}

/// A character, or `none`.
pub(crate) fn role(text: &str) -> Result<Role, String> {
    match text {
        "" | "none" => Ok(Role::None),
        _ => character(text).map(Role::Character),
    }
}

/// What separates fields.
pub(crate) fn delimiter(text: &str) -> Result<Delimiter, String> {
    text.parse().map_err(|error: Error| rendered(error.what()))
}

#[cfg(feature = "parquet")]
impl From<Decimal> for DecimalAs {
    fn from(what: Decimal) -> DecimalAs {
        match what {
            Decimal::Auto => DecimalAs::Auto,
            Decimal::Text => DecimalAs::Text,
            Decimal::Real => DecimalAs::Real,
        }
    }
}

#[cfg(feature = "parquet")]
impl From<Timestamp> for TimestampAs {
    fn from(what: Timestamp) -> TimestampAs {
        match what {
            Timestamp::Iso => TimestampAs::Iso,
            Timestamp::Unix => TimestampAs::Unix,
        }
    }
}
