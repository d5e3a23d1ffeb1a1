//! The records of a tree that another reader walks: whether they are records, hold what the schema allows, and which entries they add up
//! to.
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

/// The records of a tree, or of a part of one, in any order. Nothing is allocated for a record.
#[derive(Debug)]
pub struct Records<'t> {
    content: Content<'t>,
    /// The text encoding of the database, as its header numbers it.
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
    /// It is not a record, and why.
    NoRecord(&'static str),
    /// It has another number of fields than the index: the number that it has, and that of the index.
    Fields(usize, usize),
    /// A field of a row holds what its column does not take: the column, and what it holds.
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

    /// Records of which nothing is known.
    pub fn unknown() -> Records<'static> {
        Records::new(Content::Unknown, 0, 0)
    }

    /// The rows of a table in a database of that text encoding.
    pub fn of_table(table: &'t Table, encoding: u32) -> Records<'t> {
        let demanded = Demanded::of(table);
        Records::new(Content::Rows { table, demanded }, encoding, table.indexes.len())
    }

    /// The entries of an index.
    pub fn of_index(index: &'t Index) -> Records<'t> {
        Records::new(Content::Entries(index), 0, 1)
    }

    /// Adds a whole record, and its rowid if it has one.
    ///
    /// # Errors
    /// The first fault of the record.
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

    /// Returns what the records add up to.
    pub fn totals(self) -> Totals {
        Totals(self.sums)
    }
}

#[cold]
fn no_record(error: RecordError) -> Wrong {
    Wrong::NoRecord(why_no_record(error))
}

/// Looks at the values of a row, and remembers a header with which every row fits.
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

/// The sums over the records of a tree: for a table, the entries that each of its indexes must have; for an
/// index, its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals(Vec<Sum>);

impl Totals {
    /// Adds the records of another part of the same tree.
    pub fn add(&mut self, other: &Totals) {
        self.0.resize(self.0.len().max(other.0.len()), Sum::default());
        for (sum, other) in self.0.iter_mut().zip(&other.0) {
            sum.add_all(*other);
        }
    }

    /// Returns how an index with these entries differs from what the rows of its table demand of their `index`th index: the entries that it
    /// has, and those that it must have. `None`: it agrees, or is not known.
    pub fn differs(&self, index: usize, entries: &Totals) -> Option<(u64, u64)> {
        let (demanded, found) = (self.0.get(index)?, entries.0.first()?);
        (demanded != found).then_some((found.entries, demanded.entries))
    }
}
