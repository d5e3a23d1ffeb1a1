//! Arguments about the format of files and the conversion of their values.

use clap::ValueEnum;
use sqluice::error::Error;
use sqluice::export::FileFormat;
use sqluice::load::FileKind;
#[cfg(feature = "parquet")]
use sqluice::source::arrow::{DecimalAs, TimestampAs};
use sqluice::source::csv::Delimiter;

use crate::terms::rendered;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Fields separated by commas, or by the delimiter that is given or recognised
    Csv,
    /// Fields separated by tabs
    Tsv,
    /// JSON objects, one per line
    Ndjson,
    /// JSON: an array of objects, or objects one after another
    Json,
    /// Parquet
    Parquet,
    /// An Arrow IPC file or stream
    Arrow,
}

/// How decimals are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decimal {
    /// Numbers if these hold all digits of the type (15, or 18 without a fraction); otherwise text
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

impl From<Format> for FileKind {
    fn from(format: Format) -> FileKind {
        match format {
            Format::Csv | Format::Tsv => FileKind::Csv,
            Format::Ndjson => FileKind::Ndjson,
            Format::Json => FileKind::Json,
            Format::Parquet => FileKind::Parquet,
            Format::Arrow => FileKind::Arrow,
        }
    }
}

impl From<Format> for FileFormat {
    fn from(format: Format) -> FileFormat {
        match format {
            Format::Csv => FileFormat::Csv,
            Format::Tsv => FileFormat::Tsv,
            Format::Ndjson => FileFormat::Ndjson,
            Format::Json => FileFormat::Json,
            Format::Parquet => FileFormat::Parquet,
            Format::Arrow => FileFormat::Arrow,
        }
    }
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
