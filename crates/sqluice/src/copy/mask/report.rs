//! The parts of the plan and report of a copy that are about masks.

use std::fmt;

use serde::Serialize;

/// The plan of the masks: the masked columns, and warnings and remarks about values that the copy does not hide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MaskPlan {
    /// `true` if the secret key is random and not stored, so that the new values differ in each run.
    pub random_key: bool,
    /// The masked columns, in the order of the schema; those of virtual tables are last.
    pub columns: Vec<MaskedColumn>,
    /// Warnings about columns without a mask that look personal.
    pub warnings: Vec<MaskWarning>,
    /// The columns without a mask that hold values of masked columns.
    pub second_places: Vec<SecondPlace>,
    /// Remarks about other values that a reader of the copy may learn.
    pub remarks: Vec<Remark>,
    /// Remarks about masks that hide little.
    pub weak: Vec<Remark>,
    /// The values in the SQL text of the schema that the copy keeps, by their places.
    pub literals: Vec<CopiedLiteral>,
    /// The objects whose SQL text had comments, which the copy does not have.
    pub comments: Vec<String>,
    /// The objects that lost literals, or are left out because of their literals.
    pub stripped: Vec<StrippedText>,
    /// The full-text tables that are rebuilt.
    pub rebuilt: Vec<String>,
    /// The tables of statistics that are left out because they contain values.
    pub dropped: Vec<String>,
}

/// A masked column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MaskedColumn {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// The expression of the mask.
    pub mask: String,
    /// `true` if different values stay different.
    pub keeps_different: bool,
    /// The referenced column whose mask the column shares, such as `customers.id`; `None` if the mask file names the column itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
}

/// A column without a mask that looks personal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MaskWarning {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// The kind of data that the column seems to have, such as `an e-mail address`.
    pub what: String,
    /// The evidence for this kind: `name`, `values`, or `keys` beside the values or in JSON, such as `password`.
    pub by: String,
    /// The number of values of this kind; if the name is the evidence, the number of all values that are not NULL.
    pub count: u64,
}

/// A column without a mask that holds values of a masked column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SecondPlace {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// The masked column, such as `customers.name`.
    pub masked: String,
    /// The number of values that are a text of the masked column, or contain one in JSON or a blob. A text of several masked columns counts
    /// for one of them only.
    pub count: u64,
}

/// A remark about values that masks do not change, or hide little.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Remark {
    /// The subject: a column as `table.column`, or an object such as `trigger log`.
    pub about: String,
    /// The remark.
    pub what: String,
}

/// Values in the SQL text of a schema object, which the copy keeps. Only their places are reported, not the values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopiedLiteral {
    /// The object, such as `table orders`.
    pub object: String,
    /// The places of the values in the object's text: the clause, line and column, such as `DEFAULT at 2:13`.
    pub places: Vec<String>,
}

/// An object of the schema that loses literals in the copy, or is left out because of its literals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StrippedText {
    /// The object, such as `table orders`.
    pub object: String,
    /// The number of literals that are not copied.
    pub literals: usize,
    /// `true` if the whole object is left out.
    pub left_out: bool,
}

impl fmt::Display for StrippedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StrippedText { object, literals, left_out } = self;
        let s = if *literals == 1 { "" } else { "s" };
        match left_out {
            true => write!(f, "{object} is left out, with its {literals} literal{s}"),
            false => write!(f, "{object} loses {literals} literal{s}"),
        }
    }
}

impl Remark {
    pub(super) fn new(about: impl Into<String>, what: impl Into<String>) -> Remark {
        Remark { about: about.into(), what: what.into() }
    }
}

impl fmt::Display for MaskedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MaskedColumn { table, column, mask, keeps_different, follows } = self;
        write!(f, "mask {table}.{column}: {mask}")?;
        if let Some(parent) = follows {
            write!(f, ", as {parent}, which it refers to")?;
        }
        if *keeps_different {
            f.write_str("; different values stay different")?;
        }
        Ok(())
    }
}

impl fmt::Display for MaskWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MaskWarning { table, column, what, by, count } = self;
        write!(f, "{table}.{column} has no mask and looks like {what}, by ")?;
        match &**by {
            "name" => f.write_str("its name"),
            "keys" => write!(f, "the keys beside {count} of its values"),
            _ => write!(f, "{count} of its values"),
        }
    }
}

impl fmt::Display for SecondPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SecondPlace { table, column, masked, count } = self;
        let occur = if *count == 1 { "occurs" } else { "occur" };
        write!(
            f,
            "{table}.{column} has no mask, and {count} of its values {occur} in {masked}, which is masked"
        )
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.about, self.what)
    }
}

impl fmt::Display for CopiedLiteral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the text of {} is copied, with literals: {}", self.object, self.places.join(", "))
    }
}

/// Formats the plan as `--dry-run` prints it, with a line for each item.
impl fmt::Display for MaskPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.random_key {
            true => writeln!(f, "masked with a random key, which is not stored")?,
            false => writeln!(f, "masked with a key of yours: the same key gives the same values")?,
        }
        self.columns.iter().try_for_each(|column| writeln!(f, "{column}"))?;
        self.rebuilt.iter().try_for_each(|table| writeln!(f, "table {table}: made again of the new rows"))?;
        self.dropped.iter().try_for_each(|table| {
            writeln!(f, "left out: table {table}, which has samples of column values")
        })?;
        if !self.comments.is_empty() {
            writeln!(f, "comments are removed: {}", self.comments.join(", "))?;
        }
        self.stripped.iter().try_for_each(|text| writeln!(f, "{text}"))?;
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))?;
        self.second_places.iter().try_for_each(|place| writeln!(f, "warning: {place}"))?;
        self.remarks.iter().try_for_each(|remark| writeln!(f, "not masked: {remark}"))?;
        self.weak.iter().try_for_each(|remark| writeln!(f, "weak mask: {remark}"))?;
        self.literals.iter().try_for_each(|literal| writeln!(f, "{literal}"))
    }
}
