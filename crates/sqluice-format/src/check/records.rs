//! Checks the records of a tree that another reader walks: each must be well-formed and hold values that the schema permits. The sums over
//! the entries of an index and of its table must be equal.
//!
//! ```text
//!  rows of t      ──> Records ──> Totals: a sum for each index of t ──┐
//!                                                                    ├── equal?
//!  entries of ti  ──> Records ──> Totals: one sum ────────────────────┘
//! ```

use std::fmt;

use super::content::why_no_record;
use super::digest::Sum;
use super::entries::{self, Demanded};
use super::fields::Fields;
use super::spec::{Index, Table};
use crate::record::RecordError;

/// A checker for the records of a tree, or of a part of a tree, in any order. Records cost no allocations.
#[derive(Debug)]
pub struct Records<'t> {
    content: Content<'t>,
    /// The text encoding of the database, as numbered in its header.
    encoding: u32,
    fields: Fields,
    sums: Vec<Sum>,
}

#[derive(Debug)]
enum Content<'t> {
    Unknown,
    Rows { table: &'t Table, demanded: Demanded },
    Entries(&'t Index),
}

/// A fault of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The payload is not a record, for the given reason.
    NoRecord(&'static str),
    /// The record has a wrong number of fields: the number of its fields, and the number that the index demands.
    Fields(usize, usize),
    /// A field of a row holds a value that its column does not permit: the name of the column, and the kind of value.
    Value(String, &'static str),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::NoRecord(why) => write!(f, "it is not a record: {why}"),
            Wrong::Fields(found, expected) => write!(f, "it has {found} fields, not {expected}"),
            Wrong::Value(column, what) => write!(f, "it has {what} in {column}, which does not take that"),
        }
    }
}

impl<'t> Records<'t> {
    fn new(content: Content<'t>, encoding: u32, sums: usize) -> Records<'t> {
        Records { content, encoding, fields: Fields::default(), sums: vec![Sum::default(); sums] }
    }

    /// Creates a checker for records that the schema does not describe.
    pub fn unknown() -> Records<'static> {
        Records::new(Content::Unknown, 0, 0)
    }

    /// Creates a checker for the rows of a table in a database with this text encoding.
    pub fn of_table(table: &'t Table, encoding: u32) -> Records<'t> {
        let demanded = Demanded::of(table);
        Records::new(Content::Rows { table, demanded }, encoding, table.indexes.len())
    }

    /// Creates a checker for the entries of an index.
    pub fn of_index(index: &'t Index) -> Records<'t> {
        Records::new(Content::Entries(index), 0, 1)
    }

    /// Checks an entire record and adds it to the sums. `rowid` counts only in a rowid table.
    ///
    /// # Errors
    /// When the record has a fault. The error is the first fault.
    #[inline]
    pub fn add(&mut self, rowid: i64, record: &[u8]) -> Result<(), Wrong> {
        let Records { content, encoding, fields, sums } = self;
        fields.read(record, record.len() as u64).map_err(no_record)?;
        match content {
            Content::Unknown => {}
            Content::Rows { table, demanded } => {
                if !fields.fits() {
                    fit(table, fields, (record, *encoding))?;
                }
                demanded.of_row(table, fields, (rowid, record), |index, entry| sums[index].add(entry));
            }
            Content::Entries(index) => {
                if fields.len() != index.fields.len() {
                    return Err(Wrong::Fields(fields.len(), index.fields.len()));
                }
                sums[0].add(entries::found(index, fields, record));
            }
        }
        Ok(())
    }

    /// Returns the number of fields of the last record.
    pub fn last_fields(&self) -> usize {
        self.fields.len()
    }

    /// Returns the sums over the records.
    pub fn totals(self) -> Totals {
        Totals(self.sums)
    }
}

#[cold]
fn no_record(error: RecordError) -> Wrong {
    Wrong::NoRecord(why_no_record(error))
}

/// Checks the values of a row. Remembers the header if every row with this header fits the table.
#[cold]
fn fit(table: &Table, fields: &mut Fields, (record, encoding): (&[u8], u32)) -> Result<(), Wrong> {
    let mut wrong = None;
    let fits = entries::misfits(table, fields, (record, encoding), |field, what| {
        wrong.get_or_insert_with(|| Wrong::Value(field.name.clone(), what));
    });
    if fits {
        fields.set_fits();
    }
    wrong.map_or(Ok(()), Err)
}

/// The sums over the records of a tree. For an index, one sum over its entries. For a table, a sum for each of its indexes, over the
/// entries that the index must have; the sum of a partial or computed index stays empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals(Vec<Sum>);

impl Totals {
    /// Adds the sums of another part of the same tree.
    pub fn add(&mut self, other: &Totals) {
        self.0.resize(self.0.len().max(other.0.len()), Sum::default());
        for (sum, other) in self.0.iter_mut().zip(&other.0) {
            sum.add_all(*other);
        }
    }

    /// Compares these sums, which are those of a table, with those of its index at position `index`, which must be neither partial nor
    /// computed. If they differ, returns the number of entries of the index and the number of entries that the rows demand. Returns `None`
    /// if they agree, or if either sum is unknown.
    pub fn differs(&self, index: usize, entries: &Totals) -> Option<(u64, u64)> {
        let (demanded, found) = (self.0.get(index)?, entries.0.first()?);
        (demanded != found).then_some((found.entries, demanded.entries))
    }
}
