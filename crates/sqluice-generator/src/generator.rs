//! What makes the values of a column, and what it may know.
//!
//! ```text
//!  fill       rows first..first + count, in vector loops            what every table is made with
//!  fill_at    rows that come in any order                           what ref() asks of the parent's column
//!  nth        value i of a numbered domain                          what distinct() and ascending() ask
//! ```
//!
//! Invariant: a generator gives a row the same value whatever other rows it is asked for, and knows nothing but its key, the
//! seed, and how many rows each table has.

use std::cell::RefCell;
use std::fmt;

use sqluice_core::batch::ROWS_MAX;
use sqluice_core::error::{Error, Result, Setting};

use super::random::{Key, below64};
use super::vector::{RowRange, Vector};

/// What all tables of a run have in common.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    /// The rows of each table, in the schema's order; `None`: not given.
    pub(crate) rows: Vec<Option<u64>>,
}

impl World {
    /// How many rows a table has, for a column that refers to it.
    pub(crate) fn rows_of(&self, table: usize, name: &str) -> Result<u64> {
        let rows = self.rows.get(table).copied().flatten();
        rows.ok_or_else(|| {
            Error::usage(format!("the row count of {name} is missing, which other tables refer to"))
                .hint(Setting::Rows.to(format!("{name}=1000")))
        })
    }
}

/// The parents that columns of a batch have drawn. Columns that follow the same reference draw them once.
#[derive(Debug, Default)]
pub(crate) struct Drawn(RefCell<Vec<(Key, RowRange, Vec<u64>)>>);

impl Drawn {
    /// Forgets all: the next rows are other ones.
    pub(crate) fn clear(&mut self) {
        self.0.get_mut().clear();
    }

    /// What was drawn with this key for these rows, or what `draw` gives.
    pub(crate) fn get_or(
        &self,
        (key, rows): (Key, RowRange),
        out: &mut [u64],
        draw: impl FnOnce(&mut [u64]) -> Result<()>,
    ) -> Result<()> {
        if let Some((.., known)) = self.0.borrow().iter().find(|it| it.0 == key && it.1 == rows) {
            out.copy_from_slice(known);
            return Ok(());
        }
        draw(out)?;
        self.0.borrow_mut().push((key, rows, out.to_vec()));
        Ok(())
    }
}

/// For which column, and among which tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) key: Key,
    pub(crate) world: &'a World,
    /// What other columns of the batch have drawn.
    drawn: Option<&'a Drawn>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(key: Key, world: &'a World) -> Self {
        Scope { key, world, drawn: None }
    }

    /// For a column of a batch whose columns share what they draw.
    pub(crate) fn sharing(self, drawn: &'a Drawn) -> Self {
        Scope { drawn: Some(drawn), ..self }
    }

    /// Parents of rows that follow each other: drawn by this column, or by another one with the same key before.
    pub(crate) fn draw_once(
        self,
        rows: RowRange,
        out: &mut [u64],
        draw: impl FnOnce(&mut [u64]) -> Result<()>,
    ) -> Result<()> {
        match self.drawn {
            Some(drawn) => drawn.get_or((self.key, rows), out, draw),
            None => draw(out),
        }
    }

    /// For the `index`th thing that an expression is made of.
    pub(crate) fn child(self, index: u64) -> Self {
        self.with_key(self.key.child(index))
    }

    /// For another column.
    pub(crate) fn with_key(self, key: Key) -> Self {
        Scope { key, ..self }
    }
}

/// The storage class of values other than NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// None but NULL.
    Null,
    Int,
    Real,
    Text,
    Blob,
    /// Of several classes, or only known when they are made.
    Any,
}

impl Class {
    /// The class of values that come from either.
    pub(crate) fn or(self, other: Class) -> Class {
        match (self, other) {
            (Class::Null, class) | (class, Class::Null) => class,
            (one, other) if one == other => one,
            _ => Class::Any,
        }
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self, Class::Int | Class::Real | Class::Null | Class::Any)
    }

    pub(crate) fn is_text(self) -> bool {
        matches!(self, Class::Text | Class::Null | Class::Any)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Null => "NULL",
            Class::Int => "an integer",
            Class::Real => "a real",
            Class::Text => "a text",
            Class::Blob => "a blob",
            Class::Any => "any value",
        })
    }
}

/// Makes values of one column.
pub(crate) trait Generate: fmt::Debug + Send + Sync {
    /// Makes the values of `rows`.
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()>;

    /// Makes the values of the rows of these numbers, [`ROWS_MAX`] at most.
    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let mut one = Vector::default();
        out.values();
        for &first in rows {
            self.fill(at, RowRange { first, count: 1 }, &mut one)?;
            out.push(one.get(0));
        }
        out.settle();
        Ok(())
    }

    /// How large the values are.
    fn size(&self) -> Size;

    /// What the values are, NULL aside.
    fn class(&self) -> Class;

    /// Whether a value may be NULL.
    fn nullable(&self) -> bool {
        false
    }

    /// Whether row 0 gets 1, row 1 gets 2 and so on.
    fn counts_rows(&self) -> bool {
        false
    }

    /// Its values, if they are numbered.
    fn domain(&self) -> Option<&dyn Domain> {
        None
    }

    /// Its values as a function of a share of the rows, if they are one.
    fn by_share(&self) -> Option<&dyn ByShare> {
        None
    }

    /// Its values in groups of rows that have the same one, if it has any.
    fn groups(&self) -> Option<&dyn Groups> {
        None
    }

    /// What names rows of another table, if the values come from there.
    fn parent(&self) -> Option<&dyn Parent> {
        None
    }

    /// The most rows that can have values, if limited.
    fn rows_max(&self, _: &World) -> Result<Option<u64>> {
        Ok(None)
    }
}

/// Values that are numbered from 0, in ascending order where they have one; all different.
pub(crate) trait Domain {
    /// How many; at least 1.
    fn count(&self, world: &World) -> Result<u64>;

    /// Makes the values of these numbers, [`ROWS_MAX`] at most.
    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()>;

    /// Whether there are different values for numbers from the count on, too.
    fn is_endless(&self) -> bool {
        false
    }
}

/// Makes values of shares: fractions of the rows, of 2^64 each, which a column spreads evenly over its rows. So a value that has a
/// twentieth of the shares has a twentieth of the rows, and not about that.
pub(crate) trait ByShare {
    /// Makes the values of these rows, [`ROWS_MAX`] at most, whose shares are given.
    fn make(&self, at: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()>;
}

/// A row's place. All numbers are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// The group.
    pub(crate) group: u64,
    /// The row's number within its group.
    pub(crate) ordinal: u64,
    /// The row's number where the rows of a group follow each other.
    pub(crate) position: u64,
}

/// Rows in groups.
pub(crate) trait Groups {
    /// Where these rows are; `None`: in no group.
    fn places(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<Placed>>) -> Result<()>;
}

/// Makes the values of rows by drawing each from a domain, all as likely.
pub(crate) fn draw(domain: &dyn Domain, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
    let count = domain.count(at.world)?;
    let mut numbers = [0; ROWS_MAX];
    let numbers = &mut numbers[..rows.count];
    at.key.map64(rows.first, numbers, |bits| below64(bits, count));
    domain.nth(at, numbers, out)
}

/// Draws a value of a domain for each of these rows, which may be in any order.
pub(crate) fn draw_at(domain: &dyn Domain, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
    let count = domain.count(at.world)?;
    let numbers: Vec<u64> = rows.iter().map(|&row| below64(at.key.word(row), count)).collect();
    domain.nth(at, &numbers, out)
}

/// Names rows of a table.
pub(crate) trait Parent {
    /// Which table, by its number in the schema.
    fn table(&self) -> usize;

    /// The column of that table whose value is taken, if it is always the same.
    fn column(&self) -> Option<usize>;

    /// The number of the parent's row for each of `rows`; `None`: it has none.
    fn rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<u64>>) -> Result<()>;
}

/// Bytes of a value: what plans are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// In a record, roughly, on average.
    pub(crate) mean: u64,
    /// In memory, at most.
    pub(crate) max: u64,
}

impl Size {
    pub(crate) const fn exactly(bytes: u64) -> Size {
        Size { mean: bytes, max: bytes }
    }
}
