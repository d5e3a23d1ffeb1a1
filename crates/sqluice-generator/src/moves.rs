//! Values that rows take from other rows of their table, so that the rows satisfy a constraint.
//!
//! ```text
//!  row     0    1    2    3                      the generator's values of a column
//!          a    b    a    c
//!  moves                2 -> 3, 3 -> 2           rows 2 and 3 exchange their values
//!  stored  a    b    c    a
//! ```

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The rows of a column that take the value of another row: a map from the row to the other row.
pub(crate) type Moved = HashMap<u64, u64>;

/// The moved rows of columns, by the index of the table in the schema and the index of the column in the table.
type MovedColumns = HashMap<(usize, usize), Arc<Moved>>;

/// The moved rows of all columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves(Option<Arc<MovedColumns>>);

impl Moves {
    /// No rows are moved.
    pub(crate) const NONE: Moves = Moves(None);

    /// Returns these moves, with the moved rows of some columns of `table` added.
    pub(crate) fn with(&self, table: usize, columns: impl IntoIterator<Item = (usize, Moved)>) -> Moves {
        let mut all: MovedColumns = self.0.as_deref().cloned().unwrap_or_default();
        let moved = columns.into_iter().filter(|(_, moved)| !moved.is_empty());
        all.extend(moved.map(|(column, moved)| ((table, column), Arc::new(moved))));
        Moves((!all.is_empty()).then(|| Arc::new(all)))
    }

    /// Returns the moved rows of a column, if any.
    pub(crate) fn of(&self, table: usize, column: usize) -> Option<Arc<Moved>> {
        self.0.as_ref()?.get(&(table, column)).cloned()
    }

    /// Returns, for each of these rows of a column, the row whose value it takes.
    pub(crate) fn sources<'r>(&self, table: usize, column: usize, rows: &'r [u64]) -> Cow<'r, [u64]> {
        match self.0.as_ref().and_then(|all| all.get(&(table, column))) {
            Some(moved) => Cow::Owned(sources(moved, rows.iter().copied())),
            None => Cow::Borrowed(rows),
        }
    }
}

/// Returns, for each of these rows, the row whose value it takes.
pub(crate) fn sources(moved: &Moved, rows: impl Iterator<Item = u64>) -> Vec<u64> {
    rows.map(|row| moved.get(&row).copied().unwrap_or(row)).collect()
}
