//! The parts of the plan and report of a copy that are about left-out rows.

use std::fmt;

use serde::Serialize;
use sqluice_core::size::grouped;

use crate::copy::options::Sample;

/// The condition and the sample that choose the rows of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RowSelection {
    /// The table.
    pub table: String,
    /// The conditions. All of them hold for the kept rows.
    #[serde(rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The sample; `None` without one. In JSON it is a text such as `1%` or `1000`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// The columns of the key whose hash chooses the sample.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sampled_by: Vec<String>,
}

impl fmt::Display for RowSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}: only rows", self.table)?;
        let mut before = " for which ";
        for filter in &self.filters {
            write!(f, "{before}{filter}")?;
            before = ", and ";
        }
        match &self.sample {
            Some(sample) => {
                let before = if self.filters.is_empty() { " of" } else { ", of these" };
                write!(f, "{before} a sample of {sample} by {}", self.sampled_by.join(", "))
            }
            None => Ok(()),
        }
    }
}

/// The rows that a copy has left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SelectedRows {
    /// The tables with a condition, a sample or left-out rows, in the order of the schema.
    pub tables: Vec<LeftOutRows>,
    /// The references to tables with left-out rows, if they have rows to count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<BrokenReference>,
    /// `true` if the copy is masked and has conditions. Conditions compare the values of the source, not the new values.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sees_old_values: bool,
}

/// The left-out rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LeftOutRows {
    /// The table.
    pub table: String,
    /// The number of left-out rows.
    pub rows: u64,
    /// The number of rows for which the condition was not true.
    pub filtered: u64,
    /// The number of `filtered` rows for which the condition was NULL.
    pub filtered_null: u64,
    /// The number of rows for which the condition was true, but that are not in the sample.
    pub not_sampled: u64,
    /// The number of rows that were left out because they refer to left-out rows.
    pub children: u64,
}

/// A reference to a table with left-out rows, with the counts of the rows that it affects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BrokenReference {
    /// The table that refers.
    pub table: String,
    /// The referring columns.
    pub columns: Vec<String>,
    /// The parent table.
    pub parent: String,
    /// `declared` by the schema, `given` by the user, or `found` by name and values.
    pub how: &'static str,
    /// The number of kept rows that refer to left-out rows.
    pub orphans: u64,
    /// The number of rows that were left out because they refer to left-out rows.
    pub left_out: u64,
    /// The number of kept rows that refer to no row of the source.
    pub broken_before: u64,
}

impl fmt::Display for LeftOutRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeftOutRows { table, rows, filtered, filtered_null, not_sampled, children } = self;
        let noun = if *rows == 1 { "row" } else { "rows" };
        write!(f, "{} {noun} of {table}", grouped(*rows))?;
        let mut parts = Vec::new();
        if *filtered > 0 {
            let null = match filtered_null {
                0 => String::new(),
                null => format!(" (NULL for {})", grouped(*null)),
            };
            parts.push(format!("{} by the condition{null}", grouped(*filtered)));
        }
        if *not_sampled > 0 {
            parts.push(format!("{} not in the sample", grouped(*not_sampled)));
        }
        if *children > 0 {
            parts.push(format!("{} whose parents are left out", grouped(*children)));
        }
        if parts.is_empty() { Ok(()) } else { write!(f, ": {}", parts.join(", ")) }
    }
}

impl BrokenReference {
    /// Returns the kept orphans in words, such as `5 rows of orders (customer_id) to customers`.
    pub(super) fn describe_orphans(&self) -> String {
        let noun = if self.orphans == 1 { "row" } else { "rows" };
        let found = if self.how == "found" { ", by its name" } else { "" };
        let BrokenReference { table, columns, parent, orphans, .. } = self;
        format!("{} {noun} of {table} ({}) to {parent}{found}", grouped(*orphans), columns.join(", "))
    }
}

impl fmt::Display for BrokenReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BrokenReference { table, columns, parent, how, orphans, left_out, broken_before } = self;
        write!(f, "{table} ({}) refers to {parent}", columns.join(", "))?;
        if *how == "found" {
            write!(f, " (by its name)")?;
        }
        let mut before = ": ";
        for (count, what) in [
            (left_out, "left out with their parents"),
            (orphans, "kept without their parents"),
            (broken_before, "kept without a parent also in the source"),
        ] {
            if *count > 0 {
                let noun = if *count == 1 { "row" } else { "rows" };
                write!(f, "{before}{} {noun} {what}", grouped(*count))?;
                before = ", ";
            }
        }
        Ok(())
    }
}
