//! The descriptions of columns in plans and reports: the declared type, the texts for NULL, the values that prevented another type, and a
//! value that the type changes.

use std::path::PathBuf;

use serde::Serialize;
use sqluice_core::schema::Table;

use super::path_as_text;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ColumnReport {
    /// The name of the column.
    pub name: String,
    /// The declared type, which may be empty.
    #[serde(rename = "type")]
    pub declared_type: String,
    /// The conversion of its text that the user requested, if any: `date %d.%m.%Y`.
    pub conversion: Option<String>,
    /// The texts that other programs write for NULL, if the column keeps such texts among numbers or dates.
    pub nulls: Option<NullMarkers>,
    /// The numeric type that the column nearly has, and the values that prevent it. `None` if the user declares the type, or if too many
    /// values are no numbers.
    pub missed: Option<MissedType>,
    /// A value that the declared type changes, if the sample has one.
    pub changed: Option<ChangedText>,
}

/// Texts that other programs write for NULL, and that a column keeps. The counts are those of the values that were read for the types: the
/// sample of a large file, or all values if the sample did not decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NullMarkers {
    /// The most frequent texts for NULL in the column, such as `NA`.
    pub tokens: Vec<String>,
    /// `true` if the setting `null` would turn these texts into NULL. `false` for formats with typed values, such as JSON: there only a
    /// null without quotes is NULL.
    pub readable: bool,
    /// The number type that the column would have without the texts for NULL; `None` if some other value is no number.
    #[serde(rename = "type")]
    pub near: Option<&'static str>,
    /// The first text for NULL in the column.
    pub value: String,
    /// The file of the value.
    #[serde(serialize_with = "path_as_text")]
    pub file: Option<PathBuf>,
    /// The line of the value, counted from 1.
    pub line: Option<u64>,
    /// The number of values that are texts for NULL.
    pub nulls: u64,
    /// The number of all values, including the texts for NULL.
    pub values: u64,
}

/// The reason why a column is TEXT although nearly all of its values are numbers. The counts are those of the values that were read for the
/// types: the sample of a large file, or all values if the sample did not decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MissedType {
    /// The type that the column nearly has: INTEGER or REAL.
    #[serde(rename = "type")]
    pub near: &'static str,
    /// The first value that prevented the type. A long value is truncated.
    pub value: String,
    /// The file of the value.
    #[serde(serialize_with = "path_as_text")]
    pub file: Option<PathBuf>,
    /// The line of the value, counted from 1.
    pub line: Option<u64>,
    /// The number of counted values.
    pub values: u64,
    /// The number of values that are no numbers. If 0, the value that prevented the type is a number, but not in the form that a float
    /// prints: `1.10` beside `1.9`.
    pub others: u64,
    /// `true` if `others` is an upper bound: stretches of mostly text count as text, and are not read.
    pub at_most: bool,
    /// `true` if the values that are no numbers are NULL markers in quotes, such as `"NA"`. The setting `null` reads only texts without
    /// quotes.
    pub quoted: bool,
    /// The settings with which the values that are no numbers would be read as numbers, each with its value: `thousands`, `price=,`.
    pub read_by: Vec<(&'static str, String)>,
    /// The signs or separators of a value, such as `a currency`, if no setting reads this value and the other values of the column as
    /// numbers. A numeric type would keep the value as text.
    pub signs: Option<&'static str>,
}

/// A text that a declared type changes: `01234` becomes 1234.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangedText {
    /// The first such value of the sample.
    pub value: String,
    /// The value that is stored for the text.
    pub becomes: String,
    /// The file of the value.
    #[serde(serialize_with = "path_as_text")]
    pub file: Option<PathBuf>,
    /// The line of the value, counted from 1.
    pub line: Option<u64>,
}

impl MissedType {
    /// Creates a missed type with the first value that prevented it.
    pub fn new(near: &'static str, value: impl Into<String>) -> MissedType {
        MissedType {
            near,
            value: value.into(),
            file: None,
            line: None,
            values: 0,
            others: 0,
            at_most: false,
            quoted: false,
            read_by: Vec::new(),
            signs: None,
        }
    }
}

impl NullMarkers {
    /// Creates markers of NULL: the texts that may stand for NULL, and the first value of the column that is one of them.
    pub fn new(tokens: Vec<String>, value: impl Into<String>) -> NullMarkers {
        let (value, file, line) = (value.into(), None, None);
        NullMarkers { tokens, readable: false, near: None, value, file, line, nulls: 0, values: 0 }
    }
}

impl ChangedText {
    /// Creates a changed text with the value that is stored for it.
    pub fn new(value: impl Into<String>, becomes: impl Into<String>) -> ChangedText {
        ChangedText { value: value.into(), becomes: becomes.into(), file: None, line: None }
    }
}

impl ColumnReport {
    /// Returns the reports of a table's columns.
    pub(super) fn all(table: &Table) -> Vec<ColumnReport> {
        // The rowids of a dump are read as a column that the table does not have.
        let is_rowid = |index| table.rowid_alias == Some(index) && table.columns[index].generated.is_some();
        let declared = table.columns.iter().enumerate().filter(|(index, _)| !is_rowid(*index));
        let columns = declared.map(|(_, column)| ColumnReport {
            name: column.name.clone(),
            declared_type: column.declared_type.clone(),
            conversion: None,
            nulls: None,
            missed: None,
            changed: None,
        });
        columns.collect()
    }
}
