//! The generator of a column's values, and its inputs.
//!
//! ```text
//!  fill       rows first..first + count, in vector loops            for the rows of every table
//!  fill_at    rows in any order                                     for example for ref(), which takes values of parent rows
//!  nth        value i of a numbered domain                          for example for distinct() and ascending()
//! ```
//!
//! Invariant: a row's value does not depend on which other rows are generated with it. A generator's only inputs are its key, the seed, the
//! row count of each table, and the [`Moves`] of the tables that it refers to.

use std::cell::RefCell;
use std::fmt;

use sqluice_core::batch::ROWS_MAX;
use sqluice_core::error::{Error, Result, Setting};

use super::moves::Moves;
use super::random::{Key, below64};
use super::vector::{RowRange, Vector};

/// The inputs that all tables of a run share.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    /// The row count of each table, in the schema's order; `None` if the count is unknown.
    pub(crate) rows: Vec<Option<u64>>,
    /// The rows whose values are taken from other rows, so that all rows satisfy the constraints.
    pub(crate) moves: Moves,
}

impl World {
    /// Creates the inputs for tables in which no row takes values of another row.
    pub(crate) const fn new(seed: u64, rows: Vec<Option<u64>>) -> World {
        World { seed, rows, moves: Moves::NONE }
    }

    /// Returns the row count of a table, for a column that refers to the table.
    pub(crate) fn rows_of(&self, table: usize, name: &str) -> Result<u64> {
        let rows = self.rows.get(table).copied().flatten();
        rows.ok_or_else(|| {
            Error::usage(format!("the row count of {name} is missing, which other tables refer to"))
                .hint(Setting::Rows.to(format!("{name}=1000")))
        })
    }
}

/// The parent rows drawn for the current batch: columns that follow the same reference need the same parents, which are drawn only once.
#[derive(Debug, Default)]
pub(crate) struct Drawn(RefCell<Vec<(Key, RowRange, Vec<u64>)>>);

impl Drawn {
    /// Forgets all draws, before the next batch.
    pub(crate) fn clear(&mut self) {
        self.0.get_mut().clear();
    }

    /// Copies the parents drawn earlier with this key for these rows to `out`, or else calls `draw` and remembers the result.
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

/// The inputs of a generator: the key of its random bits, and what all tables of a run share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) key: Key,
    pub(crate) world: &'a World,
    /// The parents that other columns of the batch have drawn; `None` if each column draws its own.
    drawn: Option<&'a Drawn>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(key: Key, world: &'a World) -> Self {
        Scope { key, world, drawn: None }
    }

    /// Returns this scope with `drawn`, in which the columns of a batch share drawn parents.
    pub(crate) fn sharing(self, drawn: &'a Drawn) -> Self {
        Scope { drawn: Some(drawn), ..self }
    }

    /// Draws the parents of consecutive rows, or copies them if a column with the same key has drawn them.
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

    /// Returns the scope of the `index`th inner expression, which has random bits of its own.
    pub(crate) fn child(self, index: u64) -> Self {
        self.with_key(self.key.child(index))
    }

    /// Returns this scope with the random key of another column.
    pub(crate) fn with_key(self, key: Key) -> Self {
        Scope { key, ..self }
    }
}

/// The storage class of values other than NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Only NULL.
    Null,
    Int,
    Real,
    Text,
    Blob,
    /// Several classes, or a class that is unknown until the values are generated.
    Any,
}

impl Class {
    /// Returns the class of values that come from `self` or `other`.
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

/// A generator of one column's values.
pub(crate) trait Generate: fmt::Debug + Send + Sync {
    /// Generates the values of `rows`.
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()>;

    /// Generates the values of the rows with these numbers, [`ROWS_MAX`] at most.
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

    /// Returns the size of the values.
    fn size(&self) -> Size;

    /// Returns the storage class of the values other than NULL.
    fn class(&self) -> Class;

    /// Returns `true` if a value may be NULL.
    fn nullable(&self) -> bool {
        false
    }

    /// Returns `true` if the values are 1, 2, 3 and so on: row 0 gets 1.
    fn counts_rows(&self) -> bool {
        false
    }

    /// Returns the numbered domain of the values, if the values have one.
    fn domain(&self) -> Option<&dyn Domain> {
        None
    }

    /// Returns the generator as a function of shares, if its values have exact proportions; see [`ByShare`].
    fn by_share(&self) -> Option<&dyn ByShare> {
        None
    }

    /// Returns the groups of rows with equal values, if the generator can number the rows of a group.
    fn groups(&self) -> Option<&dyn Groups> {
        None
    }

    /// Returns the parent rows that the values come from, if the column refers to rows of a table.
    fn parent(&self) -> Option<&dyn Parent> {
        None
    }

    /// Returns the maximum number of rows that the generator has values for, if there is a limit.
    fn rows_max(&self, _: &World) -> Result<Option<u64>> {
        Ok(None)
    }
}

/// Distinct values that are numbered from 0, in ascending order if they have an order.
pub(crate) trait Domain {
    /// Returns the number of values, at least 1.
    fn count(&self, world: &World) -> Result<u64>;

    /// Generates the values with these numbers, [`ROWS_MAX`] at most.
    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()>;

    /// Returns `true` if the values go on after [`Domain::count`]: larger numbers have values, too, and no value is repeated.
    fn is_endless(&self) -> bool {
        false
    }
}

/// A generator of values from shares. Each row has a share, a number from 0 to 2^64 - 1, and the shares of all rows are evenly spread. So a
/// value that is chosen for a twentieth of the shares has a twentieth of the rows, up to about one row in ten thousand.
pub(crate) trait ByShare {
    /// Generates the values of these rows, [`ROWS_MAX`] at most, from their shares.
    fn make(&self, at: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()>;

    /// Returns `count` different integers in ascending order, with the same distribution as the values. Returns `None` unless the values
    /// are integers of a range with at least `count` integers.
    fn different_ints(&self, _count: u64) -> Option<Vec<i64>> {
        None
    }
}

/// The place of a row in a generator that groups rows with equal values. All numbers are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// The number of the group among all groups.
    pub(crate) group: u64,
    /// The number of the row among the rows of its group.
    pub(crate) ordinal: u64,
    /// The position of the row among all rows of the table, if these are ordered by group.
    pub(crate) position: u64,
}

/// A generator that divides the rows of a table into groups with equal values.
pub(crate) trait Groups {
    /// Appends the place of each row to `out`; `None` if the row is in no group.
    fn places(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<Placed>>) -> Result<()>;
}

/// Generates the values of rows by drawing each from a domain with equal probability.
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

/// A generator whose values are taken from parent rows.
pub(crate) trait Parent {
    /// Returns the index of the referenced table in the schema.
    fn table(&self) -> usize;

    /// Returns the column of the referenced table whose value is taken, if that column is the same for all rows.
    fn column(&self) -> Option<usize>;

    /// Replaces the content of `out` by the number of the parent row of each of `rows`; `None` if the row has no parent.
    fn rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<u64>>) -> Result<()>;
}

/// The size of a value in bytes, an estimate for planning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// The average number of bytes in a record, roughly.
    pub(crate) mean: u64,
    /// The maximum number of bytes in memory.
    pub(crate) max: u64,
}

impl Size {
    pub(crate) const fn exactly(bytes: u64) -> Size {
        Size { mean: bytes, max: bytes }
    }
}
